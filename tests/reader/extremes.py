#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of every op of the table with one thing that is extreme: an operand that is absent, an
attribute that is huge, negative, empty or no number, a constant or shape beyond what fits. Each
module is converted to AIR and to ONNX. Whatever it is, it is converted or refused with a message:
no run crashes or ends with an internal error.

  tests/reader/extremes.py --tailor PROGRAM [--seed N] [--every N] [--only OP] [--keep DIR]"""
import argparse
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'scripts'), os.path.join(ROOT, 'tests')]
import guard  # noqa: E402
from op_tables import read_tables  # noqa: E402

INTS = (0, -1, 2, 1 << 31, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63))
SIZES = (0, 1 << 31, 1 << 40, (1 << 62))
FLOATS = ('nan', 'inf', '-inf', '0.0', '3.4e38', '-1.0')
# Operands that say a shape, places or counts are constants with these values.
LISTS = ([], [0], [-1], [1 << 31], [1 << 62], [-(1 << 63)], [1 << 20] * 3, [1 << 32, 1 << 32],
         [(1 << 63) - 1, 2])
CODES = (0, 2, 3)
ORDER = 'f32 i64 f16 bool i32 u8 i8 str f64 i16 u16 u32 u64 bf16'.split()


def dtype_of(op, port):
    dtypes, kinds, _ = op['vars'][port['type']]
    if 'tensor' not in kinds:
        return None
    return next((d for d in ORDER if d in dtypes), sorted(dtypes)[0] if dtypes else None)


def literal(dtype, v):
    if dtype in ('f32', 'f16', 'f64', 'bf16'):
        return f'{float(v):g}' if abs(v) < 1 << 40 else f'{float(v):.1e}'
    if dtype == 'bool':
        return 'true' if v else 'false'
    if dtype == 'str':
        return '"a"'
    bits = int(''.join(c for c in dtype if c.isdigit()) or 8)
    low, high = (0, (1 << bits) - 1) if dtype[0] == 'u' else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return str(min(max(v, low), high))


class Module:
    """The text of a module with one node, and what to change in it."""

    def __init__(self, op, rng):
        self.op, self.rng = op, rng
        self.shape = rng.choice(([2, 3], [1, 3, 4, 4], [4], [], [2, 3, 4]))
        self.operands = []
        for p in op['in']:
            count = 1 if p['kind'] != 'VARIADIC' else 2
            self.operands += [{'dtype': dtype_of(op, p), 'shape': list(self.shape),
                               'constant': None, 'absent': False} for _ in range(count)]
        self.attrs = {a['name']: self.usual(a) for a in op['attr'] if a['required']}

    def usual(self, a):
        return {'i': '1', 'flag': '1', 'f': '1.0', 's': '"a"', 'is': '[1]', 'fs': '[1.0]',
                'ss': '["a"]', 'dt': 'f32', 'b': 'true', 'bs': '[true]'}.get(a['kind'])

    def odd(self, a):
        rng = self.rng
        if a['kind'] in ('i', 'flag'):
            return str(rng.choice(INTS))
        if a['kind'] == 'f':
            return rng.choice(FLOATS)
        if a['kind'] == 's':
            return rng.choice(('""', '"x"', '"' + 'y' * 300 + '"'))
        if a['kind'] == 'is':
            count = rng.choice((0, 1, 2, 8))
            return f'[{", ".join(str(rng.choice(INTS)) for _ in range(count))}]'
        if a['kind'] == 'fs':
            return f'[{", ".join(rng.choice(FLOATS) for _ in range(rng.choice((0, 1, 4))))}]'
        return self.usual(a)

    def change(self, kind, at):
        rng = self.rng
        if kind == 'absent':
            self.operands[at]['absent'] = True
        elif kind == 'constant':
            self.operands[at]['constant'] = rng.choice(LISTS)
        elif kind == 'scalar':
            self.operands[at]['constant'] = rng.choice(INTS)
        elif kind == 'shape':
            for o in self.operands if at < 0 else [self.operands[at]]:
                o['shape'] = [rng.choice(SIZES) if rng.random() < 0.6 else 2 for _ in o['shape']]
        elif kind == 'attr':
            a = self.op['attr'][at]
            text = self.odd(a)
            if text is not None:
                self.attrs[a['name']] = text

    def text(self):
        heads, lines, names = [], [], []
        for i, o in enumerate(self.operands):
            if o['absent'] or o['dtype'] is None:
                names.append('_')
                continue
            names.append(f'%x{i}')
            if o['constant'] is None:
                shape = ','.join(map(str, o['shape']))
                heads.append(f'%x{i}: {o["dtype"]}[{shape}]')
            elif isinstance(o['constant'], list):
                words = ', '.join(literal(o['dtype'], v) for v in o['constant'])
                lines.append(f'  const %x{i}: {o["dtype"]}[{len(o["constant"])}] = [{words}]')
            else:
                word = literal(o['dtype'], o['constant'])
                lines.append(f'  const %x{i}: {o["dtype"]}[] = {word}')
        outs = [f'%y{i}' for i in range(max(len(self.op['out']), 1))]
        attrs = ', '.join(f'{k}={v}' for k, v in self.attrs.items() if v is not None)
        domain = self.op['domain']
        name = (f'"{domain}"::' if domain else '') + self.op['name']
        lines.append(f'  {", ".join(outs)} = {name}({", ".join(names)})'
                     + (f' {{{attrs}}}' if attrs else ''))
        head = f'graph @g({", ".join(heads)}) -> ({", ".join(outs)}) {{'
        return '\n'.join([head, *lines, '}', ''])


def changes(op):
    """Every kind of change at every place, and pairs of constants."""
    n = sum(2 if p['kind'] == 'VARIADIC' else 1 for p in op['in'])
    yield ()
    yield (('shape', -1),)
    for i in range(n):
        for kind in ('absent', 'constant', 'constant', 'scalar', 'shape'):
            yield ((kind, i),)
        for k in range(i):
            yield (('scalar', k), ('scalar', i))
            yield (('constant', k), ('constant', i))
    if n > 1:
        yield tuple(('constant', i) for i in range(1, n))
        yield tuple(('scalar', i) for i in range(n))
    for i in range(len(op['attr'])):
        for _ in range(3):
            yield (('attr', i),)
            yield (('shape', -1), ('attr', i))


def modules(args):
    tables = read_tables(glob.glob(os.path.join(ROOT, 'ir/ops/*.tbl')))
    rng = random.Random(args.seed)
    number = 0
    for (domain, name), op in sorted(tables.ops.items()):
        if args.only and name != args.only:
            continue
        for change in changes(op):
            made = Module(op, random.Random(rng.random()))
            number += 1
            if number % args.every:
                continue
            for kind, at in change:
                made.change(kind, at)
            yield f'{domain}::{name} {change}', made.text()


def judge(args, folder, number, text):
    """'' or what went wrong."""
    source = os.path.join(folder, f'{number}.tir')
    with open(source, 'w', encoding='utf-8') as f:
        f.write(text)
    for target, level in (('air', '2'), ('onnx', '2'), ('air', '0')):
        out = os.path.join(folder, f'{number}.{target}')
        p = guard.run([args.tailor, 'convert', '-q', '--allow-unmapped', source, '-o', out,
                       '-O' + level], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      text=True, errors='replace')
        if os.path.exists(out):
            os.remove(out)
        if p.returncode not in CODES or (p.returncode and 'error' not in p.stdout):
            return f'{target} -O{level}: exit {p.returncode}: {p.stdout[-300:]}'
    os.remove(source)
    return ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--every', type=int, default=1)
    parser.add_argument('--only')
    parser.add_argument('--keep')
    args = parser.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    cases = list(modules(args))
    with tempfile.TemporaryDirectory(prefix='tailor-extremes-') as scratch:
        folder = args.keep or scratch
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda i: judge(args, folder, i, cases[i][1]), range(len(cases))))
    failed = 0
    for i, ((name, text), wrong) in enumerate(zip(cases, found)):
        failed += bool(wrong)
        if wrong:
            print(f'FAIL {i} {name}: {wrong}\n{text}')
    print(f'{len(cases) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
