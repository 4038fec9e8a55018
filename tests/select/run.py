#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of operator selection: rows.tsv says which NPU types an op may become under which
guards, as what precision judges them, and with which dtype columns and colour.

  run.py --tailor BIN [--op NAME] [--seed N]

1. The op tables offer each row: the same type, judged type and guard, or changed.tsv says why not.
2. The built-in op information has each judged type with that colour and those columns.
3. For each candidate a node is made whose guard holds (sampled; a second reading of the guard
   language judges) and `tailor opt --passes=select` must choose what the first guard that holds
   says, on a chip of either family, for every node sampled on the way."""
import argparse
import csv
import glob
import os
import random
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(ROOT, 'scripts')]
import guard  # noqa: E402
import npu_guard  # noqa: E402  (beside this file)
from gen_op_info import read_table  # noqa: E402
from op_tables import DTYPES, read_tables  # noqa: E402

CHIPS = {'a2': 'Ascend910B1', '910': 'Ascend910A'}
LETTERS = {'f16': 'h', 'f32': 'f', 'bf16': 'b', 'f64': 'd', 'i8': 'c', 'i16': 's', 'i32': 'i',
           'i64': 'l', 'u8': 'u', 'u16': 't', 'u32': 'w', 'u64': 'q', 'bool': 'o', 'i4': 'n',
           'c32': 'x', 'c64': 'z', 'qi8': 'C', 'qu8': 'U', 'qi32': 'I'}
# Element types whose elements the textual form writes one by one.
WRITTEN = {'f16', 'f32', 'bf16', 'f64', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64',
           'bool'}
ROUNDS, PER_ROUND = 100, 60
# The .tir of a node cannot say it: the opset of the file, or a check by computing places. Or no
# sample has it: an operand without elements.
ELSEWHERE = re.compile(r'\bsource_opset\b|tf_nearest|numel\(in1\) == 0')


def read(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        lines = [line for line in f if not line.startswith('#')]
    return list(csv.DictReader(lines, delimiter='\t', quoting=csv.QUOTE_NONE))


def squeeze(text):
    return re.sub(r'\s+', '', text)


# ---- 1: the op tables --------------------------------------------------------------------------

def key_of(name):
    domain, _, base = name.rpartition('::')
    return {'ge': 'npu', 'fused': 'tl'}.get(domain, domain), base


def check_tables(rows, ops, changed):
    for row in rows:
        domain, base = key_of(row['op'])
        if domain in ('npu', 'tl'):
            if ('npu', row['type']) not in ops:
                yield f"{row['op']}: there is no prototype npu::{row['type']}"
            continue
        op = ops.get((domain, base))
        want = [squeeze(row[k]).replace('-', '') if k != 'guard' else squeeze(row[k])
                for k in ('guard', 'type', 'judged')]
        have = [[squeeze(c['guard']), c['type'], c['judged']] for c in op['npu']] if op else []
        if want not in have and row['op'] not in changed:
            yield f"{row['op']}: no candidate {want}, and changed.tsv has no reason"


# ---- 2: op information -------------------------------------------------------------------------

def column(op, k):
    def side(slots):
        return ''.join(LETTERS.get(s[2][k], '?') for s in slots)
    return (side([s for s in op['in'] if s[1] != 'OPTIONAL']),
            side([s for s in op['in'] if s[1] == 'OPTIONAL']), side(op['out']))


def fits(pattern, letters):
    return len(pattern) == len(letters) and all(p in ('*', '?', c) for p, c in
                                                zip(pattern, letters))


def is_column(text, have):
    inputs, _, outputs = text.partition('>')
    inputs, _, optional = inputs.partition('/')
    return fits(inputs, have[0]) and fits(outputs, have[2]) and (
        not optional or fits(optional, have[1]))


def check_info(rows, tables):
    seen = set()
    for row in rows:
        for table, which in (('ascend910b', 'a2'), ('ascend910', '910')):
            columns, colour = row['columns_' + which], row['colour_' + which]
            key = (table, row['judged'], columns, colour)
            if columns == '-' or row['judged'] == '-' or key in seen:
                continue
            seen.add(key)
            op = tables[table].get(row['judged'])
            if not op or op['colour'][0] != colour:
                yield f"{table} {row['judged']}: colour is not {colour}"
                continue
            have = [column(op, k) for k in range(op.get('columns', 0))]
            want = [c for c in columns.split(',') if c != '..']
            # Later libraries give shape operands a type of their own: any letter may come first.
            lost = [c for c in want if not any(is_column(c, h) or is_column('?' + c, h)
                                               for h in have)]
            if lost:
                yield f"{table} {row['judged']}: no column {lost}"


# ---- 3: selection ------------------------------------------------------------------------------

class Sampler:
    def __init__(self, op, rng):
        self.op, self.rng = op, rng
        self.trees = [npu_guard.parse(c['guard']) for c in op['npu']]
        found = {v for tree in self.trees for v in npu_guard.literals(tree)}
        self.numbers = sorted({int(v) for v in found if isinstance(v, float) and v == int(v)} |
                              {0, 1, 2})
        self.texts = sorted({v for v in found if isinstance(v, str)} | {'other'})
        self.mood = ''
        words = set(re.findall(r'\w+', ' '.join(c['guard'] for c in op['npu'])))
        alias = {'int4': 'i4', 'int8': 'i8', 'int16': 'i16', 'int32': 'i32', 'int64': 'i64',
                 'uint8': 'u8', 'uint16': 'u16', 'uint32': 'u32', 'uint64': 'u64'}
        self.dtypes = {alias.get(w, w) for w in words} & set(DTYPES)

    def dtype(self, allowed):
        good = sorted(allowed - {'str'}) or sorted(allowed)
        named = [d for d in good if d in self.dtypes]
        return self.rng.choice(named if named and self.rng.random() < 0.5 else good)

    def dims(self):
        if self.mood == 'backward':
            return [2]
        rank = self.rng.choice([r for r in self.numbers if 0 <= r <= 6] + [1, 2, 3, 4, 5])
        dims = [self.rng.choice([1, 2, 3, 4, 8]) for _ in range(rank)]
        if dims and self.rng.random() < 0.2:
            dims[self.rng.randrange(rank)] = None
        return dims

    def constant(self, dtype, dims, index):
        n = npu_guard.count(dims)
        if n is None or n > 64 or dtype not in WRITTEN or (
                self.mood in ('', 'few') and self.rng.random() < 0.4):
            return None
        if self.mood == 'zero':
            return [False if dtype == 'bool' else 0] * n
        if self.mood == 'backward' and dtype in ('i32', 'i64'):
            return [-2**31 + 1 if index == 2 else -1] * n
        if dtype == 'bool':
            return [self.rng.choice([False, True])] * n
        if self.rng.random() < 0.3:
            return [0] * n
        return [self.rng.choice([1, 1, 2, 3] + [-1] * (dtype[0] != 'u'))] * n

    def port(self, var_types, p, index=0):
        dtypes, kinds, shared = self.op['vars'][p['type']]
        if 'tensor' not in kinds:
            return None
        if not shared or p['type'] not in var_types or p['het']:
            var_types[p['type']] = self.dtype(dtypes)
        dtype, dims = var_types[p['type']], self.dims()
        port = {'dtype': dtype, 'dims': dims, 'const': self.constant(dtype, dims, index)}
        if dtype == 'i32' and self.rng.random() < 0.3:
            port.update(const=None, cube=True)
        return port

    def inputs(self, var_types):
        out = []
        for p in self.op['in']:
            if p['kind'] == 'VARIADIC':
                n = self.rng.choice([max(1, k) if k < 5 else k + 1 for k in self.numbers if k < 99]
                                    + [3, 5])
                same = self.rng.random() < 0.5
                ports = [self.port(var_types, p) for _ in range(n)]
                out += [dict(q, dims=ports[0]['dims'], const=None) if q and same else q
                        for q in ports]
            elif p['kind'] == 'OPTIONAL' and self.rng.random() < (
                    0.9 if self.mood == 'few' else 0.5):
                out.append(None)
            else:
                out.append(self.port(var_types, p, len(out)))
        while out and out[-1] is None:
            out.pop()
        return out

    def outputs(self, var_types):
        out = []
        for i, p in enumerate(self.op['out']):
            times = self.rng.choice([1, 2, 3]) if p['kind'] == 'VARIADIC' else 1
            for _ in range(times):
                port = self.port(var_types, p)
                used = i == 0 or p['kind'] == 'VARIADIC' or self.rng.random() < (
                    0.1 if self.mood == 'few' else 0.5)
                out.append(dict(port, const=None, cube=False) if port and used else None)
        return out

    def attr(self, a):
        if a['kind'] == 'i':
            return self.rng.choice(self.numbers + [-1, -2, -3])
        if a['kind'] == 'flag':  # an int that nodes hold as 0 or 1
            return self.rng.choice([0, 1])
        if a['kind'] == 'b':
            return self.rng.choice([False, True])
        if a['kind'] == 'f':
            return self.rng.choice([float(n) for n in self.numbers] + [0.5, 1.67326, 1.0507])
        if a['kind'] == 's':
            return self.rng.choice(self.texts or ['x'])
        if a['kind'] == 'is':
            return [self.rng.choice([1, 1, 2, 300])] * self.rng.choice([1, 2])
        if a['kind'] == 'fs':
            return [0.5]
        return ['x'] if a['kind'] == 'ss' else None

    def node(self, soc):
        var_types = {}
        self.mood = self.rng.choice(['', '', '', 'zero', 'backward', 'few'])
        inputs = self.inputs(var_types)
        attrs, defaults = {}, {}
        for a in self.op['attr']:
            chosen = self.attr(a)
            if chosen is not None and (a['required'] or self.rng.random() < 0.5):
                attrs[a['name']] = chosen
            if a['default'] is not None:
                defaults[a['name']] = plain(a['kind'], a['default'])
        return npu_guard.Node(inputs, self.outputs(var_types), attrs, defaults, soc)


def plain(kind, default):
    """A default of the op table as a Python value; lists come as (kind, items)."""
    if kind in ('is', 'fs', 'ss'):
        return [plain(kind[:-1], v) for v in default[1]]
    if kind == 'f':
        return float(default.rstrip('F'))
    if kind in ('i', 'flag', 'b'):
        return int(re.search(r'-?\d+', default.replace('INT64_C', '')).group())
    return default


def type_text(port):
    dims = ','.join('?' if d is None else str(d) for d in port['dims'])
    return f"{port['dtype']}[{dims}]"


def literal(v):
    if isinstance(v, bool):
        return 'true' if v else 'false'
    if isinstance(v, list):
        return '[' + ', '.join(literal(x) for x in v) + ']'
    return f'"{v}"' if isinstance(v, str) else repr(v)


def const_text(port):
    items = port['const']
    if port['dtype'] in ('f16', 'f32', 'bf16', 'f64'):
        items = [float(x) for x in items]
    return literal(items if port['dims'] else items[0])


def statement(op, k, node, inputs, outputs, consts):
    """Text of node k; adds its inputs, outputs and constants to the lists."""
    operands = []
    for i, p in enumerate(node.inputs):
        name = f'%n{k}_{i}'
        if p is None:
            operands.append('_')
            continue
        operands.append(name)
        if p.get('cube'):
            inputs += [f'{name}_a: i8[?,?]', f'{name}_b: i8[?,?]']
            consts.append(f'  {name} = MatMulInteger({name}_a, {name}_b) : {type_text(p)}')
        elif p['const'] is None:
            inputs.append(f'{name}: {type_text(p)}')
        else:
            consts.append(f'  const {name}: {type_text(p)} = {const_text(p)}')
    results = [f'%r{k}_{i}' if p else '_' for i, p in enumerate(node.outputs)]
    types = [type_text(p) if p else '?' for p in node.outputs]
    fixed = sum(p['kind'] == 'REQUIRED' for p in op['out'])
    while len(results) > fixed and results[-1] == '_':
        results.pop()
        types.pop()
    outputs += [r for r in results if r != '_']
    name = (op['domain'] + '::' if op['domain'] else '') + op['name']
    attrs = ', '.join(f'{a}={literal(v)}' for a, v in node.attrs.items())
    return (f"  {', '.join(results)} = {name}({', '.join(operands)}) @n{k}"
            f"{' {' + attrs + '}' if attrs else ''} : {', '.join(types)}")


def module(op, nodes):
    inputs, outputs, consts = [], [], []
    body = [statement(op, k, n, inputs, outputs, consts) for k, n in enumerate(nodes)]
    head = ''
    if op['domain']:
        head = f'module {{\n  opset "" 21\n  opset "{op["domain"]}" 1\n}}\n\n'
    return (head + f"graph @g({', '.join(inputs)}) -> ({', '.join(outputs)}) {{\n" +
            '\n'.join(consts + body) + '\n}\n')


def chosen_by_tailor(tool, op, nodes, chip):
    """Candidates as Tailor prints them, or what it says instead."""
    p = guard.run([tool, 'opt', '--passes=select', '--soc-version=' + chip, '-o', '-', '-'],
                  input=module(op, nodes), capture_output=True, text=True)
    if p.returncode:
        return p.stderr.strip().splitlines()[0] if p.stderr else f'exit {p.returncode}'
    found = {}
    chosen = r'@n(\d+) .* npu (\S+)(?: (\d+))?(?: judged \S+)?$'
    for k, kind, number in re.findall(chosen, p.stdout, re.M):
        first = next((i for i, c in enumerate(op['npu']) if (c['type'] or 'none') == kind), -1)
        found[int(k)] = int(number) if number else first
    return found


def expected(trees, node):
    return next((i for i, tree in enumerate(trees) if npu_guard.holds(node, tree)), -1)


def check_op(tool, op, rng):
    """(candidates reached, problems)."""
    sampler, reached = Sampler(op, rng), set()
    goal = {i for i, c in enumerate(op['npu']) if not ELSEWHERE.search(c['guard'])}
    for turn in range(ROUNDS):
        soc = sorted(CHIPS)[turn % 2]
        nodes = [sampler.node(soc) for _ in range(PER_ROUND)]
        want = [expected(sampler.trees, n) for n in nodes]
        have = chosen_by_tailor(tool, op, nodes, CHIPS[soc])
        if isinstance(have, str):
            return reached, [have]
        for k, n in enumerate(nodes):
            if have.get(k) != want[k]:
                return reached, [f'on {CHIPS[soc]} candidate {have.get(k)} instead of {want[k]}:\n'
                                 + module(op, [n])]
        reached |= set(want)
        if goal <= reached and turn:
            break
    missed = [op['npu'][i]['guard'] for i in sorted(goal - reached)]
    return reached, [f'no sampled node has the guard {g!r}' for g in missed]


def can_sample(op):
    """Bodies and values that are no tensors need more than a sampled line."""
    tensors = all('tensor' in v[1] for v in op['vars'].values())
    required = [a['kind'] for a in op['attr'] if a['required']]
    return 'body' not in op['traits'] and tensors and not (
        set(required) - {'i', 'flag', 'f', 's', 'b', 'is', 'fs', 'ss'})


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--op', default='')
    ap.add_argument('--seed', type=int, default=1)
    args = ap.parse_args()
    tables = read_tables(glob.glob(os.path.join(ROOT, 'ir', 'ops', '*.tbl')))
    info = {}
    for name in ('ascend910b', 'ascend910'):
        info[name] = read_table(os.path.join(ROOT, 'ir', 'chip', 'op_info', name + '.tbl'), info)
    rows, changed = read('rows.tsv'), {r['op'] for r in read('changed.tsv')}
    problems = [] if args.op else [*check_tables(rows, tables.ops, changed),
                                   *check_info(rows, info)]
    passed, elsewhere = (0 if args.op else 2 * len(rows)) - len(problems), 0
    for (domain, name), op in sorted(tables.ops.items()):
        if not op['npu'] or (args.op and args.op != name):
            continue
        if not can_sample(op):
            elsewhere += len(op['npu'])
            continue
        reached, bad = check_op(args.tailor, op, random.Random(f'{args.seed} {domain} {name}'))
        passed += len(reached)
        problems += [f'{domain}::{name}: {b}' for b in bad]
        elsewhere += sum(bool(ELSEWHERE.search(c['guard'])) for c in op['npu'])
    for p in problems:
        print('FAIL', p)
    print(f'{elsewhere} candidates are in golden tests only: bodies, sequences, older opsets')
    print(f'{passed} passed, {len(problems)} failed, 0 skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
