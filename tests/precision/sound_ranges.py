#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The policy of ranges is sound: what the evaluator computes lies within what the policy says.

  sound_ranges.py --tailor BIN [--n 300] [--seed 1] [--models 60] [--keep FOLDER]

Random graphs of the ops in passes/precision/range_ops.tbl, with weights and inputs of very
different sizes, and a sample of the models of the corpus and of the official tests. Each is run
with random inputs while the ranges of all tensors are recorded; the policy is told those of the
graph's inputs and nothing else, and every interval of its explanation has to hold what was
recorded. The share of tensors with an interval is checked too, so that the test cannot pass by
knowing nothing. The last line is 'N passed, M failed, K skipped', counting graphs and models."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'conformance'))
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODE = ['--precision-mode=force_fp16', '--precision-policy=range']
B, C, L = 2, 4, 6  # every value of a random graph is f32[B,C,L], or has a 1 for some of them
UNARY = ('Sigmoid', 'HardSigmoid', 'Tanh', 'Erf', 'Softsign', 'Sin', 'Cos', 'Sign', 'Relu', 'Gelu',
         'HardSwish', 'Mish', 'tl::FastGelu', 'tl::Swish', 'Neg', 'Abs', 'Sqrt', 'Identity', 'Exp')
BINARY = ('Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Add', 'Mul')
REDUCE = ('ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceSum', 'ReduceSumSquare', 'ReduceL2',
          'ReduceLogSumExp', 'ReduceProd')
SIZES = (1e-3, 0.1, 1.0, 1.0, 3.0, 100.0)


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.constants, self.values = [], [], ['x0', 'x1']
        self.n = 0

    def constant(self, shape, size=None, least=-1.0):
        count = 1
        for d in shape:
            count *= d
        size = size or self.rng.choice(SIZES)
        numbers = ', '.join(repr(self.rng.uniform(least, 1.0) * size) for _ in range(count))
        return self.raw('f32', shape, f'[{numbers}]')

    def raw(self, dtype, shape, text):
        name = f'c{len(self.constants)}'
        dims = ','.join(map(str, shape))
        self.constants.append(f'  const %{name}: {dtype}[{dims}] = {text}')
        return name

    def axes(self, *axes):
        return self.raw('i64', [len(axes)], '[' + ', '.join(map(str, axes)) + ']')

    def add(self, op, operands, attrs='', results=1):
        self.n += 1
        name = f'v{self.n}'
        more = ''.join(f', %{name}r{i}' for i in range(1, results))
        text = ', '.join('%' + o if o else '_' for o in operands)
        attrs = ' {' + attrs + '}' if attrs else ''
        self.lines.append(f'  %{name}{more} = {op}({text}) @n{self.n}{attrs}')
        return name

    def pick(self):
        return self.rng.choice(self.values[-8:])

    def reshaped(self, x, shape, op, more, attrs=''):
        flat = self.add('Reshape', [x, self.axes(*shape)])
        return self.add('Reshape', [self.add(op, [flat] + more, attrs), self.axes(B, C, L)])

    def weighted(self, x):
        rng = self.rng
        bias = [self.constant([C])] if rng.random() < 0.7 else []
        kind = rng.randrange(6)
        if kind == 0:
            return self.add('MatMul', [x, self.constant([L, L])])
        if kind == 1:
            return self.add('MatMul', [self.constant([C, C]), x])
        if kind == 2:
            groups = rng.choice((1, 2))
            return self.add('Conv', [x, self.constant([C, C // groups, 3])] + bias,
                            f'group={groups}, pads=[1, 1]')
        if kind == 3:
            groups = rng.choice((1, 2))
            return self.add('ConvTranspose', [x, self.constant([C, C // groups, 3])] + bias,
                            f'group={groups}, pads=[1, 1]')
        if kind == 4:
            trans = rng.randrange(2)
            more = [self.constant([L])] if bias else []
            attrs = f'alpha={rng.uniform(-2, 2)}, beta={rng.uniform(-2, 2)}, transB={trans}'
            return self.reshaped(x, (B * C, L), 'Gemm', [self.constant([L, L])] + more, attrs)
        return self.add('MatMul', [self.add('MatMul', [x, self.pick_square(x)]), x])

    def pick_square(self, x):  # [B,L,C]: no constant at all
        return self.add('Transpose', [x], 'perm=[0, 2, 1]')

    def norm(self, x):
        rng = self.rng
        kind = rng.randrange(11)
        if kind == 8:
            return self.add('tl::AddLayerNorm', [x, self.pick(), self.constant([L]),
                                                 self.constant([L])], results=4)
        if kind == 9:
            return self.add('tl::AddRmsNorm', [x, self.pick(), self.constant([L])], results=3)
        if kind == 10:
            return self.add('tl::GroupNormSilu', [x, self.constant([C]), self.constant([C])],
                            'num_groups=2')
        if kind == 0:
            return self.add('LayerNormalization', [x, self.constant([L]), self.constant([L])])
        if kind == 1:
            return self.add('LayerNormalization', [x, self.constant([C, L])], 'axis=1')
        if kind == 2:
            return self.add('RMSNormalization', [x, self.constant([L])], 'axis=-1')
        if kind == 3:
            return self.add('tl::RmsNorm', [x, self.constant([L])])
        if kind == 4:
            return self.add('GroupNormalization', [x, self.constant([C]), self.constant([C])],
                            'num_groups=2')
        if kind == 5:
            return self.add('InstanceNormalization', [x, self.constant([C]), self.constant([C])])
        if kind == 6:
            return self.add('LpNormalization', [x], f'axis=-1, p={rng.choice((1, 2))}')
        return self.add('BatchNormalization', [x] + [self.constant([C]) for _ in range(3)] +
                        [self.constant([C], least=1e-4)])

    def other(self, x):
        rng = self.rng
        kind = rng.randrange(14)
        if kind == 12:
            both = self.add('Concat', [x, self.pick()], 'axis=2')
            return self.add(rng.choice(('tl::SwiGlu', 'tl::GeGlu', 'tl::Glu')), [both])
        if kind == 13:
            tables = [self.constant([1, C, L]) for _ in range(2)]
            return self.add('tl::RotaryMul', [x] + tables)
        if kind == 0:
            low, high = sorted(rng.uniform(-1, 1) * rng.choice(SIZES) for _ in range(2))
            ends = [self.raw('f32', [], repr(v)) for v in (low, high)]
            return self.add('Clip', [x] + ends)
        if kind == 1:
            power = rng.choice((0.5, 1.0, 2.0, 2.0, 3.0, 4.0))
            return self.add('Pow', [x, self.raw('f32', [], repr(power))])
        if kind == 2:
            return self.add('CumSum', [x, self.raw('i64', [], '2')], f'reverse={rng.randrange(2)}')
        if kind == 3:
            return self.add('Softmax', [x], f'axis={rng.randrange(3)}')
        if kind == 4:
            both = self.add('Concat', [x, self.pick()], 'axis=0')
            return self.add('Slice', [both, self.axes(1), self.axes(1 + B), self.axes(0)])
        if kind == 5:
            return self.add('Cast', [self.add('Cast', [x], 'to=10')], 'to=1')
        if kind == 6:
            return self.add('Attention', [self.pick(), self.pick(), x],
                            'q_num_heads=2, kv_num_heads=2')
        if kind == 7:
            mask = self.raw('f32', [C, C], '[' + ', '.join(
                rng.choice(('0.0', '-1.0e9')) for _ in range(C * C)) + ']')
            return self.add('Attention', [self.pick(), self.pick(), x, mask],
                            'q_num_heads=2, kv_num_heads=2')
        if kind == 8:
            return self.add('Trilu', [x])
        if kind == 9:
            pool = rng.choice(('MaxPool', 'AveragePool'))
            return self.add(pool, [x], 'kernel_shape=[3], pads=[1, 1]')
        if kind == 10:
            return self.add(rng.choice(('GlobalMaxPool', 'GlobalAveragePool')), [x])
        mask = self.raw('bool', [1, 1, L], '[' + ', '.join(
            rng.choice(('true', 'false')) for _ in range(L)) + ']')
        return self.add('Where', [mask, x, self.pick()])

    def node(self):
        rng = self.rng
        x = self.pick()
        kind = rng.random()
        if kind < 0.25:
            y = self.add(rng.choice(UNARY), [x])
        elif kind < 0.45:
            second = self.constant([1, C, 1]) if rng.random() < 0.4 else self.pick()
            y = self.add(rng.choice(BINARY), [x, second])
        elif kind < 0.6:
            y = self.weighted(x)
        elif kind < 0.72:
            y = self.norm(x)
        elif kind < 0.82:
            axes = self.axes(*rng.choice(((2,), (1, 2), (0,))))
            y = self.add('Expand', [self.add(rng.choice(REDUCE), [x, axes]), self.axes(B, C, L)])
        else:
            y = self.other(x)
        if rng.random() < 0.3:  # back to a modest size, so that not everything is unbounded
            y = self.add('Mul', [y, self.constant([1], 0.01)])
        if y.startswith('v') and 'Global' in self.lines[-1]:
            y = self.add('Expand', [y, self.axes(B, C, L)])
        self.values.append(self.add('Add', [y, self.constant([1, 1, L])]))

    def text(self):
        for _ in range(self.rng.randrange(4, 14)):
            self.node()
        outputs = ', '.join('%' + v for v in self.values[-3:])
        return (f'graph @g(%x0: f32[{B},{C},{L}], %x1: f32[{B},{C},{L}]) -> ({outputs}) {{\n' +
                '\n'.join(self.constants + self.lines) + '\n}\n')


# ---- one model ----------------------------------------------------------------------------------

def call(argv, seconds):
    try:
        return guard.run(argv, cpu=seconds, capture_output=True, text=True, errors='replace')
    except subprocess.TimeoutExpired:
        return None


def intervals(explanation):
    found = {}
    for node in explanation['nodes']:
        for t in node['tensors']:
            if 'least' in t:
                found[t['value']] = (t['least'], t['greatest'])
    return found


def check(args, path, folder, seed, seconds=20):
    """(problem or None, tensors with an interval, recorded tensors); None: it cannot run."""
    every, inputs = os.path.join(folder, 'all.json'), os.path.join(folder, 'inputs.json')
    p = call([args.tailor, 'run', path, '-O0', '-q', f'--seed={seed}', f'--record-ranges={every}'],
             seconds)
    if p is None or p.returncode:
        return None
    with open(every, encoding='utf-8') as f:
        recorded = {t['name']: t for t in json.load(f)['tensors']}
    p = call([args.tailor, 'info', path, '--json'], seconds)
    if p is None or p.returncode:
        return None
    names = {i['name'] for i in json.loads(p.stdout)['inputs']}
    given = [t for n, t in recorded.items() if n in names]
    with open(inputs, 'w', encoding='utf-8') as f:
        json.dump({'tensors': given}, f)
    p = call([args.tailor, 'explain', path, '-O0', '-q', '--json', f'--ranges={inputs}', *MODE],
             seconds)
    if p is None or p.returncode:
        return None
    known = intervals(json.loads(p.stdout))
    for name, (least, greatest) in known.items():
        t = recorded.get(name)
        if not t or t['min'] is None:
            continue
        if (least is not None and t['min'] < least) or (greatest is not None and
                                                        t['max'] > greatest):
            return (f'{name} was between {t["min"]} and {t["max"]}, the policy says {least} to '
                    f'{greatest}', 0, 0)
    floats = [n for n in recorded if n not in names]
    return None, sum(n in known for n in floats), len(floats)


def random_graph(args, seed):
    folder = os.path.join(args.folder, str(seed))
    os.makedirs(folder)
    path = os.path.join(folder, 'g.tir')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(Maker(random.Random(seed)).text())
    found = check(args, path, folder, seed)
    if found is None:
        return (f'seed {seed}: the graph does not run', 0, 0)
    return (found[0] and f'seed {seed}: {found[0]}', *found[1:])


def model(args, path):
    folder = tempfile.mkdtemp(dir=args.folder)
    found = check(args, path, folder, 1)
    return found and (found[0] and f'{path}: {found[0]}', *found[1:])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=300)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--models', type=int, default=60, help='of each set')
    p.add_argument('--keep')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.keep or folder
        os.makedirs(args.folder, exist_ok=True)
        paths = []
        for which in ('corpus', 'official'):
            found = [case.path for case in models.SETS[which](ROOT)]
            step = max(1, len(found) // max(1, args.models))
            paths += found[::step] if args.models else []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            graphs = list(pool.map(lambda s: random_graph(args, s),
                                   range(args.seed, args.seed + args.n)))
            found = list(pool.map(lambda m: model(args, m), paths))
    results = graphs + [f for f in found if f]
    problems = [r[0] for r in results if r[0]]
    known, tensors = sum(r[1] for r in graphs), sum(r[2] for r in graphs)
    print(f'random graphs: {known} of {tensors} tensors have an interval')
    if args.n and known < tensors / 2:
        problems.append('less than half of the tensors have an interval')
    for problem in problems[:20]:
        print('FAIL', problem)
    print(f'{len(results) - len(problems)} passed, {len(problems)} failed, '
          f'{len(found) - len(results) + len(graphs)} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
