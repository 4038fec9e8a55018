# SPDX-License-Identifier: Apache-2.0
"""Printers and commands for gdb: source scripts/gdb/tailor.py

  print *m          a module: its path, form, graphs, nodes
  print n           a tl_node_id or tl_value_id as the textual IR has it
  print *node       the same for a tl_node or tl_value, beside its fields
  tl-node ID        tl-value ID        tl-graph [ID]

Names and types are in the module, which is looked for in the frame: an argument or variable of type
tl_module *, or a struct with a member m of that type."""
import gdb

NONE_DTYPE = 'TL_DTYPE_'


def modules_in(block, frame):
    for symbol in block:
        if not (symbol.is_argument or symbol.is_variable):
            continue
        value = symbol.value(frame) if symbol.needs_frame else symbol.value()
        for _ in range(2):
            kind = value.type.strip_typedefs()
            if kind.code == gdb.TYPE_CODE_PTR and str(kind.target().unqualified()) in (
                    'tl_module', 'struct tl_module') and int(value):
                yield value.dereference()
                break
            if kind.code == gdb.TYPE_CODE_PTR and \
                    kind.target().strip_typedefs().code == gdb.TYPE_CODE_STRUCT and int(value):
                value = value.dereference()
                kind = value.type.strip_typedefs()
            if kind.code != gdb.TYPE_CODE_STRUCT or not any(f.name == 'm' for f in kind.fields()):
                break
            value = value['m']


def module():
    """The module of the nearest frame that has one, or None."""
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        return None
    while frame:
        try:
            block = frame.block()
            while block and not block.is_global and not block.is_static:
                for found in modules_in(block, frame):
                    return found
                block = block.superblock
        except (RuntimeError, gdb.error):
            pass
        frame = frame.older()
    return None


def record(pool, number):
    """Record of a tl_slab as an address."""
    return int(pool['chunks'][number >> 10]) + (number & 1023) * int(pool['record'])


def at(m, pool, kind, number):
    pointer = gdb.lookup_type(kind).pointer()
    return gdb.Value(record(m[pool], number)).cast(pointer).dereference()


def text(m, symbol):
    entry = m['symbols']['entries'][symbol]
    return entry['p'].string(length=int(entry['n'])) if int(entry['n']) else ''


def dim_text(m, dim):
    """A size, a name below -1, or -1: unknown."""
    return str(dim) if dim >= 0 else text(m, -2 - dim) if dim < -1 else '?'


def type_text(m, number):
    t = m['types']['at'][number]
    name = str(gdb.Value(int(t['dtype'])).cast(gdb.lookup_type('tl_dtype'))).lower()
    name = name.replace(NONE_DTYPE.lower(), '')
    if int(t['rank']) < 0:
        return name + '[*]'
    dims = [int(t['dims'][i]) for i in range(int(t['rank']))]
    return f'{name}[{",".join(dim_text(m, d) for d in dims)}]'


def value_text(m, number):
    if not number:
        return '_'
    return '%' + (text(m, int(at(m, 'values', 'tl_value', number)['name'])) or f'#{number}')


def op_text(m, op):
    rows = int(gdb.parse_and_eval('tl_n_op_rows'))
    if op >= 0xfffffffd:
        return {0xfffffffe: 'return', 0xfffffffd: 'erased'}.get(op, 'none')
    if op >= rows:
        row = m['opaque_ops']['at'][op - rows]
        return f'{text(m, int(row["domain"]))}::{text(m, int(row["name"]))}'
    row = gdb.parse_and_eval('tl_op_rows')[op]
    domain = text(m, int(row['domain_symbol']))
    return (domain + '::' if domain else '') + text(m, int(row['name_symbol']))


def node_text(m, node):
    results = [value_text(m, int(node['results']) + i) for i in range(int(node['n_results']))]
    uses = [at(m, 'uses', 'tl_use', int(node['operands']) + i)
            for i in range(int(node['n_operands']))]
    operands = [value_text(m, int(use['value'])) for use in uses]
    name = text(m, int(node['name']))
    return ((', '.join(results) + ' = ' if results else '') + op_text(m, int(node['op'])) +
            f'({", ".join(operands)})' + (f' @{name}' if name else ''))


def full_value_text(m, number):
    if not number:
        return 'no value'
    value = at(m, 'values', 'tl_value', number)
    return f'{value_text(m, number)}: {type_text(m, int(value["type"]))}, ' \
           f'{int(value["n_uses"])} uses'


def graph_lines(m, number):
    g = m['graphs']['at'][number - 1].dereference()
    n = int(g['first'])
    yield f'graph {number} @{text(m, int(g["name"]))}, {int(g["n_nodes"])} nodes'
    while n:
        node = at(m, 'nodes', 'tl_node', n)
        yield f'  {n}: {node_text(m, node)}'
        n = int(node['next'])


class ModulePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        m = self.value
        graphs = int(m['graphs']['n'])
        nodes = sum(int(m['graphs']['at'][i].dereference()['n_nodes']) for i in range(graphs))
        path, form = m['path'].string(), int(m['form'])
        return f'module "{path}": {graphs} graphs, {nodes} nodes, form {form}'


class IdPrinter:
    """An id of a node or a value."""

    def __init__(self, value, describe):
        self.value, self.describe = value, describe

    def to_string(self):
        number, m = int(self.value), module()
        if m is None or not number:
            return str(number)
        try:
            return f'{number}: {self.describe(m, number)}'
        except gdb.error:
            return f'{number} (not readable)'


class RecordPrinter:
    """A node or a value: its text, then its fields."""

    def __init__(self, value, describe):
        self.value, self.describe = value, describe

    def to_string(self):
        m = module()
        return self.describe(m, self.value) if m is not None else 'no module in this frame'

    def children(self):
        for field in self.value.type.strip_typedefs().fields():
            yield field.name, int(self.value[field.name])


def find_printer(value):
    name = value.type.unqualified().name
    node = lambda m, n: node_text(m, at(m, 'nodes', 'tl_node', n))
    found = {'tl_module': lambda: ModulePrinter(value),
             'tl_node_id': lambda: IdPrinter(value, node),
             'tl_value_id': lambda: IdPrinter(value, full_value_text),
             'tl_node': lambda: RecordPrinter(value, node_text),
             'tl_value': lambda: RecordPrinter(
                 value, lambda m, v: f'%{text(m, int(v["name"]))}: {type_text(m, int(v["type"]))}')}
    return found[name]() if name in found else None


class Describe(gdb.Command):
    """A command that takes a number or an expression and prints text about it."""

    def __init__(self, name, describe, default=None):
        super().__init__(name, gdb.COMMAND_DATA)
        self.describe, self.default = describe, default

    def invoke(self, argument, _from_tty):
        m = module()
        if m is None:
            raise gdb.GdbError('no frame has a tl_module')
        number = int(gdb.parse_and_eval(argument)) if argument else self.default
        if number is None:
            raise gdb.GdbError('a number is missing')
        print(self.describe(m, number))


gdb.pretty_printers.append(find_printer)
Describe('tl-node', lambda m, n: node_text(m, at(m, 'nodes', 'tl_node', n)))
Describe('tl-value', full_value_text)
Describe('tl-graph', lambda m, g: '\n'.join(graph_lines(m, g)), 1)
