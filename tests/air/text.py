#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Text dumps of GE's graphs, written by GE's rules from AIR files, are read as those files are.

  tests/air/text.py --tailor T [--every N] [FOLDER...]

Each model is converted to AIR; the file is written as ge_proto_*.txt and as ge_onnx_*.pbtxt. Both
are read and written as AIR again without passes. The first must give the bytes of the AIR file. The
second has no lists of types and no nested attributes: a model without these must give the same
bytes too, and what cannot be told from a dump must be refused or warned of.

Default folders: the corpus beside the project and Debian's ONNX models."""
import argparse
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import hostile  # noqa: E402
import round_trip  # noqa: E402

ENUM_DTYPE = {0: 'DT_UNDEFINED', 1: 'DT_FLOAT', 2: 'DT_FLOAT16', 3: 'DT_INT8', 4: 'DT_UINT8',
              5: 'DT_INT16', 6: 'DT_UINT16', 7: 'DT_INT32', 8: 'DT_INT64', 9: 'DT_UINT32',
              10: 'DT_UINT64', 11: 'DT_BOOL', 12: 'DT_DOUBLE', 13: 'DT_STRING', 16: 'DT_COMPLEX64',
              17: 'DT_COMPLEX128', 23: 'DT_RESOURCE', 26: 'DT_VARIANT', 27: 'DT_BF16',
              28: 'DT_INT4'}
ENUM_LIST = ['NONE', 'STRING', 'INT', 'FLOAT', 'BOOL', 'BYTES', 'TENSOR_DESC', 'TENSOR', 'GRAPH',
             'NAMED_ATTRS', 'DATA_TYPE']
# Messages of a ModelDef: number -> (name, kind). Kinds: a message, or how a value is printed.
MODEL = {1: ('name', 's'), 2: ('version', 'i'), 3: ('custom_version', 's'), 7: ('graph', 'GRAPH'),
         11: ('attr', 'ENTRY')}
MESSAGES = {
    'GRAPH': {1: ('name', 's'), 4: ('input', 's'), 5: ('output', 's'), 6: ('op', 'OP'),
              11: ('attr', 'ENTRY')},
    'OP': {1: ('name', 's'), 2: ('type', 's'), 5: ('input', 's'), 10: ('attr', 'ENTRY'),
           20: ('has_out_attr', 'b'), 21: ('id', 'i'), 22: ('stream_id', 'i'),
           24: ('src_name', 's'), 25: ('src_index', 'i'), 32: ('is_input_const', 'b'),
           33: ('input_desc', 'DESC'), 34: ('output_desc', 'DESC'), 35: ('subgraph_name', 's')},
    'ENTRY': {1: ('key', 's'), 2: ('value', 'ATTR')},
    'ATTR': {1: ('list', 'LIST'), 2: ('s', 's'), 3: ('i', 'i'), 4: ('f', 'f'), 5: ('b', 'b'),
             7: ('bt', 's'), 10: ('func', 'NAMED'), 11: ('td', 'DESC'), 12: ('t', 'TENSOR'),
             13: ('g', 'GRAPH'), 14: ('list_list_int', 'INTS'), 15: ('dt', 'i'),
             16: ('list_list_float', 'FLOATS')},
    'LIST': {2: ('s', 's'), 3: ('i', 'i'), 4: ('f', 'f'), 5: ('b', 'b'), 7: ('bt', 's'),
             8: ('td', 'DESC'), 9: ('t', 'TENSOR'), 10: ('g', 'GRAPH'), 11: ('na', 'NAMED'),
             12: ('dt', 'i'), 20: ('val_type', 'list')},
    'NAMED': {1: ('name', 's'), 2: ('attr', 'ENTRY')},
    'INTS': {1: ('list_list_i', 'ROW')}, 'ROW': {1: ('list_i', 'i')},
    'FLOATS': {1: ('list_list_f', 'FROW')}, 'FROW': {1: ('list_f', 'f')},
    'DESC': {1: ('name', 's'), 2: ('dtype', 'dtype'), 3: ('shape', 'SHAPE'), 4: ('layout', 's'),
             5: ('attr', 'ENTRY'), 9: ('has_out_attr', 'b'), 14: ('device_type', 's'),
             16: ('real_dim_cnt', 'i')},
    'SHAPE': {1: ('dim', 'i')},
    'TENSOR': {1: ('desc', 'DESC'), 2: ('data', 's')}}


# ---- protobuf text, as its library prints it -----------------------------------------------------

def quoted(data):
    out = []
    for byte in data:
        escape = {10: '\\n', 13: '\\r', 9: '\\t', 34: '\\"', 39: "\\'", 92: '\\\\'}.get(byte)
        out.append(escape or (chr(byte) if 32 <= byte < 127 else f'\\{byte:03o}'))
    return '"' + ''.join(out) + '"'


def number(value):
    return value - (1 << 64) if value >> 63 else value


def real(bits):
    value = struct.unpack('<f', bits)[0]
    if value != value or value in (float('inf'), float('-inf')):
        return str(value)
    return f'{value:.9g}'


def scalars(kind, wire, value):
    """The texts of a field; a packed one has many."""
    if kind == 's':
        return [quoted(value)]
    if kind == 'f':
        return [real(value[i:i + 4]) for i in range(0, len(value), 4)]
    if wire == 2:  # packed
        values, at = [], 0
        while at < len(value):
            n = shift = 0
            while True:
                byte = value[at]
                at += 1
                n |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            values.append(n)
    else:
        values = [value]
    return [{'b': ('false', 'true')[bool(v)], 'i': str(number(v)),
             'dtype': ENUM_DTYPE.get(v, str(v)),
             'list': f'VT_LIST_{ENUM_LIST[v]}' if v < 11 else str(v)}[kind] for v in values]


def print_message(data, fields, out, indent=''):
    for n, wire, value in hostile.decode(data):
        name, kind = fields[n]
        if kind in MESSAGES:
            out.append(f'{indent}{name} {{\n')
            print_message(value, MESSAGES[kind], out, indent + '  ')
            out.append(indent + '}\n')
        else:
            out.extend(f'{indent}{name}: {text}\n' for text in scalars(kind, wire, value))


def ge_proto(data):
    sys.setrecursionlimit(10000)
    out = []
    print_message(data, MODEL, out)
    return ''.join(out)


# ---- the dump in the shape of ONNX ---------------------------------------------------------------

def fields_of(data, n):
    return [v for number_, _, v in hostile.decode(data) if number_ == n]


def first(data, n, other):
    found = fields_of(data, n)
    return found[0] if found else other


def unpacked(data, n, kind):
    return [t for m, wire, v in hostile.decode(data) if m == n for t in scalars(kind, wire, v)]


class Dump:
    """GE's rules: attributes by name; members of nodes, descs and tensors are attributes. level:
    1 is all, 2 leaves strings and weights out."""

    def __init__(self, level=1):
        self.level = level
        self.lost = False  # the model has what a dump has no form for

    def value(self, name, value, suffix=''):
        """Attributes (name, type, [lines]) of an AttrDef."""
        if not value:
            return []
        n, wire, body = hostile.decode(value)[0]
        if n == 2:
            return [(name + suffix, 'STRING', ['s: ' + quoted(body)])] if self.level == 1 else []
        if n in (3, 5):
            return [(name + suffix, 'INT', [f'i: {number(body)}'] if body else [])]
        if n == 4:
            return [(name + suffix, 'FLOAT', ['f: ' + real(body)] if body != b'\0' * 4 else [])]
        if n == 12:
            return self.tensor(name, body, suffix)
        if n == 14:
            return [(f'{name}{suffix}_{i}', 'INTS', ['ints: ' + t for t in unpacked(row, 1, 'i')])
                    for i, row in enumerate(fields_of(body, 1))]
        if n == 1:
            return self.list_value(name + suffix, body)
        self.lost = True
        return []

    def list_value(self, name, body):
        kind = first(body, 20, 0)
        lines = {1: ('STRINGS', 'strings: ', 2, 's'), 2: ('INTS', 'ints: ', 3, 'i'),
                 3: ('FLOATS', 'floats: ', 4, 'f'), 4: ('INTS', 'ints: ', 5, 'i')}.get(kind)
        if not lines:
            self.lost = self.lost or kind != 0
            return []
        texts = unpacked(body, lines[2], lines[3])
        if not texts:
            self.lost = True
        if not texts or (kind == 1 and self.level != 1):
            return []
        return [(name, lines[0], [lines[1] + t for t in texts])]

    def tensor(self, name, body, suffix):
        desc = first(body, 1, b'')
        out = [(f'{name}_desc_dtype{suffix}', 'STRING',
                ['s: ' + quoted(ENUM_DTYPE[first(desc, 2, 0)].encode())]),
               (f'{name}_desc_layout{suffix}', 'STRING', ['s: ' + quoted(first(desc, 4, b''))])]
        dims = unpacked(first(desc, 3, b''), 1, 'i')
        if dims:
            out.append((f'{name}_desc_shape{suffix}', 'INTS', ['ints: ' + t for t in dims]))
        if self.level == 1:
            out.append((f'{name}_data{suffix}', 'STRING', ['s: ' + quoted(first(body, 2, b''))]))
        return out

    def desc(self, side, i, body):
        prefix = f'{side}_desc_'
        dims = ['ints: ' + t for t in unpacked(first(body, 3, b''), 1, 'i')]
        dtype = 's: ' + quoted(ENUM_DTYPE[first(body, 2, 0)].encode())
        layout = 's: ' + quoted(first(body, 4, b''))
        out = [(f'{prefix}dtype:{i}', 'STRING', [dtype]),
               (f'{prefix}origin_dtype:{i}', 'STRING', [dtype]),
               (f'{prefix}shape:{i}', 'INTS', dims), (f'{prefix}layout:{i}', 'STRING', [layout]),
               (f'{prefix}size:{i}', 'INT', []),
               (f'{prefix}device_type:{i}', 'STRING', ['s: "NPU"'])]
        entries = dict((first(e, 1, b'').decode(), first(e, 2, b'')) for e in fields_of(body, 5))
        for key, attr in entries.items():
            if key == 'origin_format':
                out.append((f'{prefix}origin_layout:{i}', 'STRING',
                            ['s: ' + quoted(first(attr, 2, b''))]))
            elif key == 'origin_shape':
                texts = unpacked(first(attr, 1, b''), 3, 'i')
                out.append((f'{prefix}origin_shape:{i}', 'INTS', ['ints: ' + t for t in texts]))
            elif not key.startswith(('origin_', 'format_for_int')):
                out += self.value(f'{prefix}attr_{key}', attr, f':{i}')
        return out

    def node(self, op, indent):
        name = first(op, 1, b'').decode()
        attrs = [('id', 'INT', [f'i: {number(first(op, 21, 0))}']),
                 ('stream_id', 'INT', [f'i: {number(first(op, 22, 0))}'])]
        for side, n in (('input', 33), ('output', 34)):
            descs = fields_of(op, n)
            attrs.append((f'{side}_desc_nums', 'INT', [f'i: {len(descs)}']))
            for i, body in enumerate(descs):
                attrs += self.desc(side, i, body)
        for entry in fields_of(op, 10):
            key, value = first(entry, 1, b'').decode(), first(entry, 2, b'')
            if key in ('_input_name_key', '_input_name_value'):
                texts = unpacked(first(value, 1, b''), *((2, 's') if key.endswith('key')
                                                         else (3, 'i')))
                kind = 'strings' if key.endswith('key') else 'ints'
                attrs.append((key, kind.upper(), [f'{kind}: {t}' for t in texts]))
            elif not key.startswith(('_ir_', '_output_name_', '_opt_input', 'is_input_const')):
                attrs += self.value(key, value)
        out = [f'{indent}node {{\n']
        out += [f'{indent}  input: {quoted(e)}\n' for e in fields_of(op, 5)]
        out += [f'{indent}  name: {quoted(name.encode())}\n',
                f'{indent}  op_type: {quoted(b"ge:" + first(op, 2, b""))}\n']
        for attr, kind, lines in sorted(attrs):
            out += [f'{indent}  attribute {{\n{indent}    name: {quoted(attr.encode())}\n']
            out += [f'{indent}    {line}\n' for line in lines]
            out += [f'{indent}    type: {kind}\n{indent}  }}\n']
        return ''.join(out) + f'{indent}}}\n'

    def graph(self, body, indent):
        return (f'{indent}name: {quoted(first(body, 1, b""))}\n'
                + ''.join(self.node(op, indent) for op in fields_of(body, 6)))

    def model(self, data):
        graphs = fields_of(data, 7)
        out = ['ir_version: 6\n', f'producer_name: {quoted(first(data, 1, b""))}\n', 'graph {\n',
               self.graph(graphs[0], '  ')]
        for body in graphs[1:]:
            out.append(f'  node {{\n    name: {quoted(first(body, 1, b""))}\n'
                       '    op_type: "subgraph"\n    attribute {\n      name: "graph"\n      g {\n'
                       + self.graph(body, '        ') + '      }\n      type: GRAPH\n    }\n  }\n')
        return ''.join(out) + '}\n'


def ge_onnx(data, level=1):
    """(text, whether the model has what such a text lacks)"""
    dump = Dump(level)
    return dump.model(data), dump.lost


# ---- texts that are wrong ------------------------------------------------------------------------

DESC = 'dtype: DT_FLOAT shape { dim: 2 } layout: "ND"'
NODE = f"""op {{ name: "x" type: "Data" input: "" attr {{ key: "index" value {{ i: 0 }} }}
  input_desc {{ {DESC} }} output_desc {{ {DESC} }} }}
op {{ name: "r" type: "Relu" input: "x:0" input_desc {{ {DESC} }} output_desc {{ {DESC} }} }}
"""
OUTPUT = f"""op {{ name: "o" type: "NetOutput" input: "r:0" input_desc {{ {DESC} }} }}
}}
"""


def model_text(extra='', before=''):
    """A model of a ReLU; `extra` is inside its graph in line 6."""
    return f'name: "m"\n{before}graph {{\n{NODE}{extra}\n{OUTPUT}'


def deep(n):
    """Named attributes within each other."""
    return 'attr { key: "d" value { func { ' * n + '} } } ' * n


# name, text, line of the message, words of the message (None: it is read)
SYNTAX = [
    ('plain', model_text(), None, None),
    ('comment', '# a dump\n\n' + model_text(), None, None),
    ('byte_order_mark', '\xef\xbb\xbf' + model_text(), None, None),
    ('carriage_returns', model_text().replace('\n', '\r\n'), None, None),
    ('separators', model_text('attr { key: "k", value { i: 1; }; },'), None, None),
    ('angles', model_text('attr < key: "k" value < i: 1 > >'), None, None),
    ('colon_before_message', model_text('attr: { key: "k" value: { i: 1 } }'), None, None),
    ('short_list', model_text('attr { key: "k" value { list { i: [1, 2, -3] val_type: VT_LIST_INT'
                              ' } } }'), None, None),
    ('empty_list', model_text('attr { key: "k" value { list { i: [] val_type: 2 } } }'), None,
     None),
    ('strings_in_a_row', model_text('attr { key: "k" "ey" \'s\' value { s: "a" } }'), None, None),
    ('escapes', model_text(r'attr { key: "\a\b\f\n\r\t\v\\\'\"\?\0\1\12\377\x7f\u00e9'
                           r'\U0001f600" }'),
     None, None),
    ('numbers', model_text('attr { key: "k" value { list { f: [1, -1.5, .5, 2., 1e-05, 3f, inf, '
                           '-inf, nan, 0x10] val_type: VT_LIST_FLOAT } } }'), None, None),
    ('hexadecimal', model_text('attr { key: "k" value { i: 0x7fffffffffffffff } }'), None, None),
    ('octal', model_text('attr { key: "k" value { i: 0777 } }'), None, None),
    ('smallest', model_text('attr { key: "k" value { i: -9223372036854775808 } }'), None, None),
    ('unknown_field', model_text('new_field: 7 newer { a: "b" c { d: [1, "x"] } } [ext.of]: 3'),
     None, None),
    ('unknown_number', model_text('99: 7 98 { 1: "x" }'), None, None),
    ('attr_groups', model_text('op { name: "n" type: "T" attr_groups { a { b: 1 } } }'), None,
     None),
    ('deep_enough', model_text(deep(15)), None, None),
    ('too_deep', model_text(deep(400)), 6, 'nest'),
    ('too_deep_unknown', model_text('u {' * 5000 + '}' * 5000), 6, 'nest'),
    ('too_deep_lists', model_text('u: ' + '[' * 5000), 6, 'nest'),
    ('integer_beyond', model_text('attr { key: "k" value { i: 18446744073709551616 } }'), 6,
     'integer'),
    ('integer_below', model_text('attr { key: "k" value { i: -9223372036854775809 } }'), 6,
     'integer'),
    ('integer_of_text', model_text('attr { key: "k" value { i: "1" } }'), 6, 'integer'),
    ('integer_of_float', model_text('attr { key: "k" value { i: 1.5 } }'), 6, 'integer'),
    ('octal_of_nine', model_text('attr { key: "k" value { i: 09 } }'), 6, 'integer'),
    ('float_of_word', model_text('attr { key: "k" value { f: one } }'), 6, 'number'),
    ('bool_of_number', model_text('attr { key: "k" value { b: 2 } }'), 6, 'true or false'),
    ('bool_negative', model_text('attr { key: "k" value { b: -1 } }'), 6, 'true or false'),
    ('dtype_unknown_name', model_text('op { name: "n" type: "T" output_desc { dtype: DT_NEW } }'),
     6, 'DT_NEW'),
    ('val_type_unknown_name', model_text('attr { key: "k" value { list { val_type: VT_X } } }'), 6,
     'VT_X'),
    ('no_colon', model_text('op { name "n" }'), 6, "':' was expected"),
    ('no_value', model_text('op { name: }'), 6, 'string'),
    ('message_of_scalar', model_text('op: 5'), 6, 'message'),
    ('scalar_of_message', model_text('op { name { } }'), 6, "':' was expected"),
    ('name_twice', model_text('op { name: "a" name: "b" }'), 6, 'twice'),
    ('two_values', model_text('attr { key: "k" value { i: 1 s: "x" } }'), 6, 'second value'),
    ('string_open', model_text('op { name: "n\n" }'), 6, 'not ended'),
    ('string_to_the_end', 'name: "m"\ngraph {\nop { name: "n', 3, 'not ended'),
    ('escape_at_the_end', 'name: "m"\ngraph {\nop { name: "n\\', 3, 'not ended'),
    ('escape_unknown', model_text('op { name: "\\q" }'), 6, 'escape'),
    ('escape_large', model_text('op { name: "\\777" }'), 6, 'larger than a byte'),
    ('escape_x', model_text('op { name: "\\xg" }'), 6, 'without digits'),
    ('escape_surrogate', model_text('op { name: "\\ud800" }'), 6, 'code point'),
    ('escape_far', model_text('op { name: "\\U00110000" }'), 6, 'code point'),
    ('escape_short', model_text('op { name: "\\u12" }'), 6, 'code point'),
    ('brace_missing', 'name: "m"\ngraph {\n' + NODE, 6, 'the text ends'),
    ('brace_too_many', model_text() + '}\n', 9, 'name of a field'),
    ('angle_closed_by_brace', model_text('attr < key: "k" }'), 6, 'name of a field'),
    ('list_open', model_text('attr { key: "k" value { list { i: [1, 2 } } }'), 6, "']'"),
    ('list_of_one_field', model_text('op { name: ["a"] }'), 6, 'string'),
    ('zero_byte', model_text('\0'), 6, 'name of a field'),
    ('zero_byte_at_the_top', model_text() + '\0name: "n"', 9, 'name of a field'),
    ('edge_to_nothing', model_text('op { name: "n"\ntype: "Relu" input: "gone:0" input_desc { } '
                                   'output_desc { } }'), 6, 'its graph does not have'),
    ('two_of_one_name', model_text('op { name: "r" type: "Relu" }'), 6, 'two nodes'),
    ('no_graph', 'name: "m"\nversion: 1\n', None, 'no graph'),
    ('dim_below', model_text('op { name: "n" type: "T" output_desc { dtype: 1 shape { dim: -9 } } '
                             '}'), 6, 'dim below -1'),
]


def dump_attr(name, value, kind):
    return f'attribute {{ name: "{name}" {value} type: {kind} }} '


def dump_node(name, kind, inputs=(), attrs='', outputs=1):
    edges = ''.join(f'input: "{e}" ' for e in inputs)
    descs = ''.join(dump_attr(f'{side}_desc_dtype:{i}', 's: "DT_FLOAT"', 'STRING')
                    + dump_attr(f'{side}_desc_shape:{i}', 'ints: 2', 'INTS')
                    for side, n in (('input', len(inputs)), ('output', outputs)) for i in range(n))
    return f'node {{ {edges}name: "{name}" op_type: "ge:{kind}" {attrs}{descs}}} '


DATA = dump_node('x', 'Data', [''])
SINK = dump_node('o', 'NetOutput', ['r:0'], outputs=0)
RELU = dump_node('r', 'Relu', ['x:0'])
IF = (DATA + dump_node('c', 'Data', ['']) + dump_node('r', 'If', ['c:0', 'x:0']) + SINK)


def body(name):
    return (f'node {{ name: "{name}" op_type: "subgraph" attribute {{ name: "graph" g {{ '
            + dump_node('x', 'Data', [''], dump_attr('_parent_node_index', 'i: 1', 'INT'))
            + RELU + SINK + '} type: GRAPH } } ')


# name, nodes from line 5 on, line among these, words
DUMPS = [
    ('dump_plain', DATA + RELU + SINK, None, None),
    ('dump_if', IF + body('r_0_then_branch') + body('r_1_else_branch'), None, None),
    ('dump_if_backwards', IF + body('r_else_branch') + body('r_then_branch'), None, None),
    ('dump_if_only_owner', IF + body('first') + body('second'), None, None),
    ('dump_if_one_body', IF + body('r_0_then_branch'), None, 'else_branch'),
    ('dump_if_three_bodies', IF + body('r_1') + body('r_2') + body('r_3'), 1, 'owns graphs'),
    ('dump_graph_of_nobody', DATA + RELU + SINK + body('r_0_then_branch'), None, 'belongs to'),
    ('dump_two_graphs_of_one_name', IF + body('r_1') + body('r_1'), 1, 'two graphs'),
    ('dump_subgraph_without_graph', DATA + RELU + SINK + 'node { name: "s" op_type: "subgraph" }',
     1, "'graph'"),
    ('dump_onnx', DATA + SINK + '\nnode { name: "r" input: "x" op_type: "Relu" }', 2, "'ge:'"),
    ('dump_attribute_twice', DATA + SINK + dump_node('r', 'Relu', ['x:0'], dump_attr(
        'k', 'i: 1', 'INT') * 2), 1, 'twice'),
    ('dump_attribute_untyped', DATA + SINK + '\n' + dump_node('r', 'Relu', ['x:0'],
                                                              'attribute { name: "k" i: 1 } '),
     2, 'type'),
    ('dump_attribute_of_tensors', DATA + SINK + dump_node('r', 'Relu', ['x:0'], dump_attr(
        'k', '', 'TENSORS')), 1, 'type'),
    ('dump_dtype_unknown', DATA + SINK + dump_node('r', 'Relu', ['x:0'], dump_attr(
        'output_desc_dtype:1', 's: "DT_NEW"', 'STRING')), 1, 'DT_NEW'),
    ('dump_desc_far', DATA + SINK + dump_node('r', 'Relu', ['x:0'], dump_attr(
        'output_desc_dtype:99999999999', 's: "DT_FLOAT"', 'STRING')), 1, 'descs'),
    ('dump_descs_many', DATA + SINK + dump_node('r', 'Relu', ['x:0'], dump_attr(
        'output_desc_nums', 'i: 99999999999', 'INT')), 1, 'descs'),
    ('dump_descs_counted', DATA + SINK + RELU + ''.join(
        dump_node(f'n{i}', 'Relu', ['x:0'], dump_attr('output_desc_nums', 'i: 65536', 'INT'))
        for i in range(40)), 1, 'descs'),
    ('dump_edge_to_nothing', DATA + SINK + '\n\n' + dump_node('r', 'Relu', ['gone:0']), 3,
     'its graph does not have'),
    ('dump_tensor_short', DATA + SINK + RELU + dump_node('w', 'Const', (), dump_attr(
        'value_desc_dtype', 's: "DT_FLOAT"', 'STRING') + dump_attr(
            'value_desc_shape', 'ints: 3', 'INTS') + dump_attr('value_data', 's: "abc"', 'STRING')),
     1, 'its shape needs 12'),
    ('dump_without_weights', DATA + SINK + RELU + dump_node('w', 'Const', (), dump_attr(
        'value_desc_dtype', 's: "DT_FLOAT"', 'STRING')), None, None),
    ('dump_without_descs', 'node { name: "x" op_type: "ge:Data" output: "x:0" } node { input: "x:0"'
     ' output: "r:0" name: "r" op_type: "ge:Relu" } node { input: "r:0" name: "o" op_type: '
     '"ge:NetOutput" }', None, None),
    ('dump_no_net_output', DATA + RELU + 'output { name: "r" type { tensor_type { elem_type: 1 } } '
     '}', None, None),
]


# ---- good files ----------------------------------------------------------------------------------

class Texts:
    def __init__(self, tool, room):
        self.tool, self.room = tool, room
        self.passed = self.lossy = 0
        self.failed = []

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, check=False)

    def file(self, name, content):
        path = os.path.join(self.room, name)
        with open(path, 'wb') as f:
            f.write(content if isinstance(content, bytes) else content.encode('latin1'))
        return path

    def check(self, what, why):
        self.passed += why is None
        if why:
            self.failed.append(f'{what}: {why}')

    def same(self, name, text, data):
        """None if the text is read as the file whose bytes are data."""
        out = os.path.join(self.room, 'again.air')
        done = self.run('convert', self.file(name, text), '-o', out, '-q', '-O0')
        if done.returncode:
            return done.stderr.decode()[:300]
        with open(out, 'rb') as f:
            return None if f.read() == data else 'other bytes'

    def lossless(self, name, text, lost, data):
        """As same; of a model that a dump cannot hold it asks that the dump is read."""
        if not lost:
            return self.same(name, text, data)
        self.lossy += 1
        done = self.run('info', self.file(name, text))
        return None if done.returncode in (0, 1) else done.stderr.decode()[:300]

    def refused(self, name, text, line, words, suffix):
        """None if the text is refused at this line (None: anywhere) with these words."""
        done = self.run('info', self.file(f'{name}.{suffix}', text))
        said = done.stderr.decode(errors='replace')
        if words is None:
            return None if done.returncode in (0, 1) else f'is not read: {said}'
        if done.returncode not in (2, 3, 4) or words not in said:
            return f'exit {done.returncode}, the message lacks {words!r}: {said}'
        place = f'{name}.{suffix}:{line}:' if line else f'{name}.{suffix}'
        return None if place in said else f'the message lacks {place!r}: {said}'

    def structures(self):
        """What is wrong in the structure of an AIR file is wrong in its text, and is said so."""
        files = hostile.Hostile(self.tool, self.room)
        for name, seed, change, words in hostile.CASES:
            model = hostile.Model(files.seeds[seed])
            change(model)
            if words == 'malformed':
                continue  # bytes that no text has
            text = ge_proto(model.data())
            if name == 'constant_without_value':
                words = None  # a dump without weights
            if name == 'no_graph':
                words = 'protobuf text'  # of any message
            self.check(f'{name} as ge_proto', self.refused(name, text, None, words, 'txt')
                       if words != '' else self.ends(name, text))

    def ends(self, name, text):
        done = self.run('info', self.file(name + '.txt', text))
        return None if done.returncode in (0, 1, 2) else f'exit {done.returncode}'

    def syntax(self):
        for name, text, line, words in SYNTAX:
            self.check(name, self.refused(name, text, line, words, 'txt'))
        for name, body, line, words in DUMPS:
            text = f'ir_version: 6\nproducer_name: "m"\ngraph {{\n  name: "g"\n{body}\n}}\n'
            self.check(name, self.refused(name, text, line and line + 4, words, 'pbtxt'))
        whole = (NODE + OUTPUT).encode()
        for i in range(1, len(whole), 7):
            text = b'name: "m"\ngraph {\n' + whole[:i]
            done = self.run('info', self.file('cut.txt', text))
            self.check(f'cut at {i}', None if done.returncode == 2 else f'exit {done.returncode}')

    def model(self, path):
        air = os.path.join(self.room, 'model.air')
        if self.run('convert', path, '-o', air, '-q').returncode:
            return
        with open(air, 'rb') as f:
            data = f.read()
        if len(data) > 4 << 20:
            return
        self.check(f'{path} as ge_proto', self.same('ge_proto_1.txt', ge_proto(data), data))
        text, lost = ge_onnx(data)
        self.check(f'{path} as ge_onnx', self.lossless('ge_onnx_1.pbtxt', text, lost, data))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as room:
        texts = Texts(args.tailor, room)
        texts.structures()
        texts.syntax()
        for path in round_trip.models(args.folders or round_trip.FOLDERS, args.every):
            texts.model(path)
    for line in texts.failed:
        print('FAIL', line)
    print(f'{texts.lossy} models have what a dump in the shape of ONNX leaves out', file=sys.stderr)
    print(f'{texts.passed} passed, {len(texts.failed)} failed, 0 skipped')
    return 1 if texts.failed else 0


if __name__ == '__main__':
    sys.exit(main())
