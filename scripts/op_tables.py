# SPDX-License-Identifier: Apache-2.0
"""Reads the op tables. The notation is described at the top of ir/ops/classes.tbl. Every mistake in
a table ends the run with file:line and a sentence."""
import math
import re
import sys

from op_checks import Bad, check_block, check_candidates, need

KINDS = {'i': 'INT', 'f': 'FLOAT', 's': 'STRING', 't': 'TENSOR', 'g': 'GRAPH', 'tp': 'TYPE',
         'sparse': 'SPARSE', 'is': 'INTS', 'fs': 'FLOATS', 'ss': 'STRINGS', 'ts': 'TENSORS',
         'gs': 'GRAPHS', 'tps': 'TYPES', 'b': 'BOOL', 'dt': 'DTYPE', 'bs': 'BOOLS',
         'dts': 'DTYPES', 'iss': 'INT_LISTS', 'flag': 'INT'}
TRAITS = ('commutative elementwise random effect stateful identity body layout deprecated '
          'unfolded weighted images').split()
LOWER = {'rename': 'RENAME', 'attrs': 'ATTRS', 'const_operand': 'CONST_OPERAND',
         'expand': 'EXPAND', 'none': 'NONE'}
DTYPES = ('f32 f16 bf16 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool str c64 c128 f8e4m3fn f8e4m3fnuz '
          'f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1 i4 u4 i2 u2 qi8 qu8 qi16 qu16 qi32 c32 u1 hif8 '
          'resource strref variant').split()
TYPE_KINDS = {'tensor': 'TENSOR', 'sparse': 'SPARSE_TENSOR', 'seq': 'SEQUENCE',
              'optional': 'OPTIONAL', 'map': 'MAP', 'opaque': 'OPAQUE'}
PORT = re.compile(r'(\w+):([\w|]+)(\?|\*\+?)?(~)?$')
ATTR = re.compile(r'(\w+):(\w+)(!|=(.*))?$')
NPU = re.compile(r'(.+?) -> (\S+) (\S+) (\w+) ; (.+?) ; (.+)$')


def logical_lines(path):
    """(line number, indented?, text) with comments dropped and continuations joined."""
    out = []
    with open(path, encoding='utf-8') as f:
        for number, raw in enumerate(f, 1):
            text = raw.rstrip('\n')
            if not text.strip() or text.lstrip().startswith('#'):
                continue
            depth = len(text) - len(text.lstrip(' '))
            if depth >= 6 and out:
                out[-1][2] += ' ' + text.strip()
            else:
                out.append([number, depth > 0, text.strip()])
    return out


def words(text):
    return re.findall(r'(?:[^\s"]|"[^"]*")+', text)


def dtype_enum(d):
    return 'TL_DTYPE_' + {'str': 'STRING', 'strref': 'STRING_REF'}.get(d, d.upper())


class Tables:
    def __init__(self):
        self.classes = {d: ({d}, {'tensor'}) for d in DTYPES}
        self.classes.update({k: (set(), {k}) for k in TYPE_KINDS if k != 'tensor'})
        self.classes['sparse'] = (set(DTYPES), {'sparse'})
        self.ops, self.strings = {}, set()

    def type_set(self, text):
        dtypes, kinds = set(), set()
        for part in text.split('|'):
            need(part in self.classes, f"unknown type class '{part}'")
            dtypes |= self.classes[part][0]
            kinds |= self.classes[part][1]
        return dtypes, kinds

    def port(self, text):
        m = PORT.match(text)
        need(m, f"'{text}' is not a port (name:type, then ?, *, *+ and ~)")
        kind = {None: 'REQUIRED', '?': 'OPTIONAL'}.get(m[3], 'VARIADIC')
        need(not m[4] or kind == 'VARIADIC', f"'{text}': ~ needs a variadic port")
        return {'name': m[1], 'type': m[2], 'kind': kind, 'het': bool(m[4]), 'min': m[3] == '*+'}

    def value(self, kind, text):
        """A default as C text; a string as itself; a list as (kind, items)."""
        if kind in ('is', 'fs', 'ss', 'bs', 'dts', 'iss'):
            need(text[0] == '[' and text[-1] == ']', f"'{text}' is not a list")
            need(kind != 'iss' or text == '[]', "a default list of lists must be empty")
            items = text[1:-1].split(',') if text != '[]' else []
            return kind, [self.value(kind[:-1], item) for item in items]
        if kind == 's':
            need(len(text) > 1 and text[0] == text[-1] == '"', f"'{text}' is not a string")
            self.strings.add(text[1:-1])
            return text[1:-1]
        if kind == 'f':
            need(math.isfinite(float(text)), f"'{text}' is not finite")
            return repr(float(text)) + 'F'
        if kind == 'b':
            need(text in ('true', 'false'), f"'{text}' is not true or false")
            return str(int(text == 'true'))
        if kind == 'dt':
            need(text in DTYPES, f"'{text}' is not a dtype")
            return dtype_enum(text)
        need(kind in ('i', 'flag'), f"kind {kind} has no defaults")
        need(kind == 'i' or text in ('0', '1'), f"'{text}' is not 0 or 1")
        return 'INT64_C(%d)' % int(text)

    def attr(self, text):
        m = ATTR.match(text)
        need(m and m[2] in KINDS, f"'{text}' is not an attribute (name:kind, then ! or =default)")
        self.strings.add(m[1])
        return {'name': m[1], 'kind': m[2], 'required': m[3] == '!',
                'default': None if m[4] is None else self.value(m[2], m[4])}

    def npu(self, text):
        m = NPU.match(text)
        need(m and m[4] in LOWER, 'not "guard -> type judged kind ; operands ; attrs"')
        need((m[4] == 'none') == (m[2] == '-'), "kind none and type - belong together")
        dash = [' '.join(m[i].split()) for i in (2, 3, 5, 6)]
        typ, judged, operands, attrs = ['' if d == '-' else d for d in dash]
        return {'guard': m[1], 'type': typ, 'judged': judged, 'kind': m[4],
                'operands': operands, 'attrs': attrs}

    def line(self, op, text):
        key, _, rest = text.partition(' ')
        need(rest, f"'{key}' says nothing")
        if key in ('in', 'out'):
            op[key] += [self.port(w) for w in words(rest)]
        elif key == 'types':
            for w in words(rest):
                name, _, classes = w.partition('=')
                need(name not in op['vars'] and name not in self.classes,
                     f"type variable '{name}' twice, or the name of a class")
                op['vars'][name] = self.type_set(classes) + (True,)
        elif key == 'attr':
            op['attr'] += [self.attr(w) for w in words(rest)]
        elif key == 'since':
            op['since'] = [int(w) for w in words(rest)]
            need(op['since'] == sorted(set(op['since'])), 'versions must ascend')
        elif key == 'traits':
            need(set(words(rest)) <= set(TRAITS), f"unknown trait in '{rest}'")
            op['traits'] = words(rest)
        elif key == 'infer':
            name, _, arg = rest.partition(' ')
            need(re.match(r'[a-z][a-z0-9_]*$', name), f"'{name}' cannot name a function")
            op['infer'] = (None if name == 'opaque' else name, int(arg or 0))
        elif key == 'eval':
            name, *rest = words(rest)
            need(re.match(r'[a-z][a-z0-9_]*$', name), f"'{name}' cannot name a function")
            fields = {'wide': ('wide', 'true')} | {f'unaligned={i}': ('unaligned', f'1u << {i}')
                                                   for i in range(8)}
            op['eval'] = (name, int(next((w for w in rest if w not in fields), 0)),
                          [fields[w] for w in rest if w in fields])
        elif key == 'express':
            name, _, arg = rest.partition(' ')
            need(re.match(r'[a-z][a-z0-9_]*$', name), f"'{name}' cannot name a function")
            op['express'] = (name, int(arg or 0))
        elif key == 'from':
            op['from'] = rest
        elif key == 'npu':
            op['npu'].append(self.npu(rest))
        else:
            raise Bad(f"unknown line '{key}'")

    def finish(self, op):
        """Adds the classes that ports name directly to the variables of the op."""
        for p in op['in'] + op['out']:
            if p['type'] not in op['vars']:
                op['vars'][p['type']] = self.type_set(p['type']) + (False,)
        check_block(op)

    def read(self, path):
        op, at = None, 0
        try:
            for number, indented, text in logical_lines(path) + [[0, False, 'end']]:
                if op and not indented:
                    at = op['line']
                    self.finish(op)
                at = number
                if indented:
                    need(op, 'line outside an op block')
                    self.line(op, text)
                    continue
                key, *rest = words(text)
                op = None
                need(rest or key == 'end', f"'{key}' names nothing")
                if key == 'class':
                    need(rest[0] not in self.classes, f"class '{rest[0]}' twice")
                    self.classes[rest[0]] = self.type_set('|'.join(rest[1:]))
                elif key == 'word':
                    self.strings.update(w.strip('"') for w in rest)
                elif key == 'op':
                    domain, _, name = rest[0].rpartition('::')
                    need((domain, name) not in self.ops, f"op '{rest[0]}' twice")
                    op = {'domain': domain, 'name': name, 'in': [], 'out': [], 'vars': {},
                          'attr': [], 'since': [], 'traits': [], 'infer': (None, 0),
                          'eval': None, 'express': None, 'npu': [], 'from': '',
                          'line': at, 'path': path}
                    self.ops[domain, name] = op
                    self.strings |= {domain, name}
                else:
                    need(key == 'end', f"unknown block '{key}'")
        except (Bad, ValueError, IndexError) as e:
            sys.exit(f'{path}:{at}: {e}')


def read_tables(paths):
    """Tables of all files; classes first, whatever the order on the command line."""
    tables = Tables()
    for path in sorted(paths, key=lambda p: (not p.endswith('classes.tbl'), p)):
        tables.read(path)
    check_candidates(tables.ops)
    return tables
