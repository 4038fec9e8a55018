#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Quantized models end to end: what the NPU computes with integers is what the model says.

  quantized.py --tailor BIN [--ort DIR] [--n 40] [--seed 1] [--sample N] [--only TEXT] [--table F]

Random networks of convolutions, products and Gemm, quantized as exporters do it: QDQ and QLinear
forms, u8 and i8, weights of nine bits, scales of tensors and of channels, zero points, biases of
i32, of f32, none; products with weights of four bits. All their scales are powers of two, so that
no number is rounded but where the model says so, and results must be equal to the last bit: the
evaluator on the original and on the NPU form, on two lines of chips, with and without approximate
fusions; ONNX Runtime on the original and on the result for the NPU. Of their products none may be
left in floats.

Then the quantized models of the corpus and of the official suite, their results against the
originals in ONNX Runtime. There AscendQuant's scale is the inverse of the model's, and a product
is scaled once instead of three times: an output may differ by rounding, or where it depends on what
was quantized by two steps in one element of a hundred. --table writes what each became. --sample N
takes every Nth model. The last line is 'N passed, M failed, K skipped'."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

FORM = ('infer-shapes,fold-constants,clean-up,graph-fusion,common-subexpressions,dead-nodes,'
        'expand,select,lower')
MARKS = (b'QuantizeLinear', b'QLinear', b'MatMulInteger', b'ConvInteger', b'DynamicQuantize')
CHIPS = (('Ascend910B1', 'reassociating'), ('Ascend310P3', 'approximate'))
FLOAT_PRODUCT = re.compile(r'npu::(Conv2D|MatMulV2|BatchMatMulV2)\(.* : f(?:16|32)\[')
COUNTED = ('Conv2D', 'MatMulV2', 'BatchMatMulV2', 'AscendQuant', 'AscendDequant', 'AscendRequant')


# ---- random networks -----------------------------------------------------------------------------

class Network:
    """Text of a network; `products`: how many of its nodes are to become products of integers."""

    def __init__(self, rng):
        self.rng, self.lines, self.n, self.products = rng, [], 0, 0

    def constant(self, dtype, dims, values):
        self.n += 1
        data = '[' + ', '.join(map(str, values)) + ']' if dims else str(values[0])
        self.lines.append(f'  const %c{self.n}: {dtype}[{",".join(map(str, dims))}] = {data}')
        return f'%c{self.n}'

    def node(self, op, operands, attrs=''):
        self.n += 1
        attrs = ' {' + attrs + '}' if attrs else ''
        self.lines.append(f'  %v{self.n} = {op}({", ".join(operands)}) @n{self.n}{attrs}')
        return f'%v{self.n}'

    def power(self):
        return 2.0 ** self.rng.randrange(-4, 3)

    def byte(self):
        """(dtype, zero point) of what is quantized on the way. Even: AscendQuant rounds half to
        even with the zero point added, QuantizeLinear before it is."""
        return self.rng.choice((('u8', self.rng.choice((0, 128, self.rng.randrange(0, 256, 2)))),
                                ('i8', self.rng.choice((0, self.rng.randrange(-128, 128, 2))))))

    def quantized(self, x, scale, dtype, point):
        return self.node('QuantizeLinear', [x, self.constant('f32', [], [scale]),
                                            self.constant(dtype, [], [point])])

    def dequantized(self, q, scale, dtype, point):
        return self.node('DequantizeLinear', [q, self.constant('f32', [], [scale]),
                                              self.constant(dtype, [], [point])])

    def through(self, x, scale):
        dtype, point = self.byte()
        return self.dequantized(self.quantized(x, scale, dtype, point), scale, dtype, point)

    def weights(self, dims, channels, axis, scales, u8=True, wide=True):
        """Small ones, so that sums are exact in f32 too; of u8, with a zero point, at times, which
        may leave nine bits of some (`wide`), in one input channel or in all."""
        rng, n = self.rng, 1
        for d in dims:
            n *= d
        one = rng.random() < 0.4
        at = [scales[0]] if one else scales
        shape = [] if one else [channels]
        dtype, zero = 'i8', 0
        if rng.random() < 0.5 and u8:
            dtype, zero = 'u8', rng.choice((128, rng.randrange(100, 156)))
        values = [zero + rng.randrange(-100, 101) for _ in range(n)]
        if dtype == 'u8' and wide and rng.random() < 0.6:
            zero = rng.choice((1, 90, 139, 255))
            every, window = rng.random() < 0.3, n // (dims[0] * dims[1])
            for i in range(n):
                channel = i // dims[1] if axis else i // window % dims[1]
                low, high = (0, 255) if every or channel == 1 else (zero - 100, zero + 100)
                values[i] = rng.randrange(max(low, 0), min(high, 255) + 1)
        w = self.constant(dtype, dims, values)
        more = [self.constant('f32', shape, at), self.constant(dtype, shape, [zero] * len(at))]
        return [w] + more, at, f'axis={axis}'

    def bias(self, channels, scale, at):
        kind = self.rng.choice(('none', 'i32', 'f32'))
        if kind == 'none':
            return []
        if kind == 'f32':
            return [self.constant('f32', [channels],
                                  [self.rng.randrange(-64, 64) / 8 for _ in range(channels)])]
        shape = [] if len(at) == 1 else [channels]
        values = [self.rng.randrange(-500, 500) for _ in range(channels)]
        return [self.node('DequantizeLinear',
                          [self.constant('i32', [channels], values),
                           self.constant('f32', shape, [scale * s for s in at])], 'axis=0')]

    def product(self, x, dims, scale):
        """(result, its dims) of x, dequantized by the scale."""
        rng = self.rng
        self.products += 1
        if len(dims) == 4:
            out, group = rng.choice((2, 4, 8, 8)), rng.choice((1, 1, 2))
            kernel = rng.choice((1, 3))
            w, at, axis = self.weights([out, dims[1] // group, kernel, kernel], out, 0,
                                       [self.power() for _ in range(out)], wide=group == 1)
            pads = kernel // 2
            y = self.node('Conv', [x, self.node('DequantizeLinear', w, axis),
                                   *self.bias(out, scale, at)],
                          f'group={group}, pads=[{pads}, {pads}, {pads}, {pads}]')
            return y, [dims[0], out, *dims[2:]]
        out, turned = rng.choice((3, 5, 8, 8)), rng.randrange(2)
        gemm = rng.random() < 0.6
        shape = [out, dims[1]] if gemm and turned else [dims[1], out]
        w, at, axis = self.weights(shape, out, 0 if gemm and turned else 1,
                                   [self.power() for _ in range(out)])
        weight = self.node('DequantizeLinear', w, axis)
        if not gemm:
            return self.node('MatMul', [x, weight]), [dims[0], out]
        return self.node('Gemm', [x, weight, *self.bias(out, scale, at)],
                         f'transB={turned}'), [dims[0], out]

    def qlinear(self, x, dims, scale):
        """The same of what is quantized, as one node."""
        rng, (dtype, point) = self.rng, self.byte()
        to, to_point = dtype, rng.randrange(0, 128, 2)  # ONNX Runtime has no others
        self.products += 1
        q = self.quantized(x, scale, dtype, point)
        result = 2.0 ** rng.randrange(0, 4)
        operands = [q, self.constant('f32', [], [scale]), self.constant(dtype, [], [point])]
        out = rng.choice((2, 4))
        image = len(dims) == 4
        w, at, _ = self.weights([out, dims[1], 1, 1] if image else [dims[1], out], out, 0,
                                [self.power() for _ in range(out)], dtype == 'u8')
        operands += w + [self.constant('f32', [], [result]), self.constant(to, [], [to_point])]
        if image and rng.random() < 0.5:
            operands.append(self.constant('i32', [out], [rng.randrange(-500, 500)
                                                         for _ in range(out)]))
        y = self.node('QLinearConv' if image else 'QLinearMatMul', operands)
        return (self.dequantized(y, result, to, to_point),
                [dims[0], out, *dims[2:]] if image else [dims[0], out])

    def text(self):
        rng = self.rng
        dims = rng.choice(([1, 4, 5, 4], [3, 4]))
        shape = ','.join(map(str, dims))
        head, x = f'%x: f32[{shape}]', '%x'
        if rng.random() < 0.25:  # bytes from outside
            scale = 2.0 ** rng.randrange(-2, 3)
            head = f'%x: u8[{shape}]'
            x, dims = self.product(self.dequantized('%x', scale, 'u8', rng.randrange(256)), dims,
                                   scale)
        for _ in range(rng.randrange(1, 4)):
            scale = 2.0 ** rng.randrange(-2, 3)
            if rng.random() < 0.25:
                x, dims = self.qlinear(x, dims, scale)
                continue
            old, before = dims, self.through(x, scale)
            x, dims = self.product(before, dims, scale)
            if rng.random() < 0.5:
                x = self.node('Relu', [x])
            if dims == old and rng.random() < 0.5:
                x = self.node('Add', [x, before])
        y = self.node('Identity', [self.through(x, 2.0 ** rng.randrange(0, 5))])
        return f'graph @g({head}) -> ({y}) {{\n' + '\n'.join(self.lines) + '\n}\n'


# ---- running -------------------------------------------------------------------------------------

def call(argv):
    try:
        p = guard.run(argv, capture_output=True, text=True, errors='replace')
    except subprocess.TimeoutExpired:
        return 124, '', 'no end'
    lines = [s for s in p.stderr.splitlines() if 'error' in s] or ['']
    return p.returncode, p.stdout, lines[0]


def npu_counts(args, path, form, *options):
    """NPU ops of a model's NPU form by type, and how many products are of floats; or None."""
    code, _, _ = call([args.tailor, 'opt', path, '-q', '--passes=' + FORM, '-o', form, *options])
    if code:
        return None, 0
    with open(form, encoding='utf-8') as f:
        out = f.read()
    found = collections.Counter(re.findall(r' = npu::(\w+)\(', out))
    return found, len(FLOAT_PRODUCT.findall(out))


def check_network(args, folder, seed):
    """Problems of one network, and its row for ONNX Runtime."""
    network = Network(random.Random(seed))
    path, name = os.path.join(folder, f'{seed}.tir'), f'network {seed}'
    with open(path, 'w', encoding='utf-8') as f:
        f.write(network.text())
    found = []
    for chip, numerics in CHIPS:
        options = ['--soc-version=' + chip, '--numerics=' + numerics]
        form = os.path.join(folder, f'{seed}.{chip}.tir')
        counts, floats = npu_counts(args, path, form, *options)
        if counts is None or floats:
            found.append(f'{name}: {floats} of {network.products} products are of floats on {chip}')
        code, out, words = call([args.tailor, 'verify', path, form, '--rtol=0', '--atol=0', '-q',
                                 f'--seed={seed}', '--json'])
        if code:
            found.append(f'{name}: the NPU form differs on {chip}: {words or out[:300]}')
    pair = [os.path.join(folder, f'{seed}.{which}.onnx') for which in 'ab']
    for file, options in zip(pair, (['-O0'], ['-O2', '--target=npu'])):
        code, _, words = call([args.tailor, 'convert', path, '-q', '-o', file, *options])
        if code:
            return found + [f'{name}: {words}'], None
    return found, (name, *pair, '-')


def nibbles(r, dtype, block, point):
    """A product with weights of four bits, more of them than folding makes larger by itself."""
    k, n = 160, 132
    shape = [k // block, n] if block else [n]
    scales = math.prod(shape)
    points = f'  const %z: {dtype}{shape} = hex("{r.randbytes(scales // 2).hex()}")\n'
    where = f'{{axis=0, block_size={block}}}' if block else '{axis=1}'
    return (f'graph @g(%a: f32[3,{k}]) -> (%y) {{\n'
            f'  const %q: {dtype}[{k},{n}] = hex("{r.randbytes(k * n // 2).hex()}")\n'
            f'  const %s: f32{shape} = {[r.choice([0.5, 0.25, 2.0]) for _ in range(scales)]}\n' +
            (points if point else '') +
            f'  %w = DequantizeLinear(%q, %s{", %z" if point else ""}) {where}\n'
            '  %y = MatMul(%a, %w)\n}\n')


def check_nibbles(args, folder):
    """Problems of such products, of which one op and one constant must be left, and how many hold.
    No chip has an op that makes these weights wider."""
    found, cases = [], list(itertools.product(CHIPS, ('u4', 'i4'), (0, 32), (False, True)))
    for (chip, _), dtype, block, point in cases:
        path, form = os.path.join(folder, 'nibbles.tir'), os.path.join(folder, 'nibbles.npu.tir')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(nibbles(random.Random(args.seed), dtype, block, point))
        counts, _ = npu_counts(args, path, form, '--soc-version=' + chip)
        told = f'{dtype}, block {block}, zero points {point}, {chip}'
        if counts != {'BatchMatMulV2': 1}:
            found.append(f'{told}: became {dict(counts or {})}')
            continue
        code, out, words = call([args.tailor, 'verify', path, form, '--rtol=0', '--atol=0', '-q'])
        if code:
            found.append(f'{told}: the NPU form differs: {words or out[:300]}')
    return found, len(cases) - len(found)


def is_quantized(path):
    if os.path.getsize(path) > 50 << 20:
        return False
    with open(path, 'rb') as f:
        data = f.read()
    return any(mark in data for mark in MARKS)


def convert_model(args, folder, i, case):
    """(case, row of the table, row for ONNX Runtime or None)"""
    file = os.path.join(folder, f'm{i}.onnx')
    code, _, words = call([args.tailor, 'convert', case.path, '-q', '-o', file])
    counts, _ = npu_counts(args, case.path, file[:-4] + 'tir')
    told = ', '.join(f'{op} {counts[op]}' for op in COUNTED if counts[op]) if counts else 'no form'
    row = (case.name, case.path, file, case.data or '-') if code == 0 else None
    return case, words or told or 'arithmetic', row


def compare(args, folder, name, rows, *tolerance):
    listing = os.path.join(folder, name + '.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines('\t'.join(row) + '\n' for row in rows)
    p = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing, '--ort',
                        args.ort, *tolerance], capture_output=True, text=True, check=False)
    lines = [line.split('\t', 2) for line in p.stdout.splitlines() if line.count('\t') >= 2]
    return {cells[0]: (cells[1], cells[2]) for cells in lines}


def judge_models(args, folder, done):
    """{case name: (what became of it, detail)}: the tightest bound first."""
    rows = [row for _, _, row in done if row]
    found = {}
    for what, bound in (('equal', ('--rtol', '0', '--atol', '0')),
                        ('rounding', ('--rtol', '1e-4', '--atol', '1e-5'))):
        now = compare(args, folder, what, rows, *bound)
        for row in list(rows):
            status, detail = now.get(row[0], ('orig-fails', ''))
            if status == 'differs':
                found[row[0]] = ('differs', detail)
                continue
            found[row[0]] = (what if status == 'ok' else status, detail)
            rows.remove(row)
    measured = compare(args, folder, 'steps', rows, '--measure')
    for name, (status, detail) in measured.items():
        outputs = json.loads(detail) if status == 'ok' else []
        if outputs and all(o.get('cosine', 0) >= 0.9999 and o.get('share', 1) <= 0.05
                           for o in outputs):
            found[name] = ('steps', detail)
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort')
    p.add_argument('--n', type=int, default=40)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--sample', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--table')
    args = p.parse_args()
    skipped, rows, table = 0, [], []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems, passed = check_nibbles(args, folder)
        seeds = range(args.seed, args.seed + args.n)
        for found, row in pool.map(lambda s: check_network(args, folder, s), seeds):
            problems += found
            passed += 2 * len(CHIPS) - len(found)
            rows += [row] if row else []
        if args.ort:
            for name, (status, detail) in compare(args, folder, 'networks', rows, '--rtol', '0',
                                                  '--atol', '0').items():
                passed += status == 'ok'
                if status != 'ok':
                    problems.append(f'{name}: {status} in ONNX Runtime: {detail}')
            cases = [c for which in models.SETS.values() for c in which(ROOT)
                     if args.only in c.name and is_quantized(c.path)][::args.sample]
            done = list(pool.map(lambda ic: convert_model(args, folder, *ic), enumerate(cases)))
            judged = judge_models(args, folder, done)
            for case, told, row in done:
                what, detail = judged.get(case.name, ('not converted', told))
                table.append(f'{case.name}\t{what}\t{told}\n')
                passed += what in ('equal', 'rounding', 'steps')
                skipped += what in ('not converted', 'orig-fails')
                if what in ('differs', 'new-fails'):
                    problems.append(f'{case.name}: {what}: {detail}')
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines(sorted(table))
    counts = collections.Counter(line.split('\t')[1] for line in table)
    print('models: ' + ', '.join(f'{what} {n}' for what, n in sorted(counts.items())))
    for problem in problems:
        print('FAIL', problem[:400])
    print(f'{passed} passed, {len(problems)} failed, {skipped} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
