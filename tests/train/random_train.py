#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random training steps: what is recognised of them, and what collectives and buckets keep.

  random_train.py --tailor BIN [--n N] [--seed S]

Each step is layers of MatMul with bias, backward by hand, weights that are shared or frozen, clips
and decay, SGD, momentum or Adam. For each:
  every parameter and its raw gradient are found, frozen ones are not;
  one rank, forced to communicate, computes the same (I1), and the graph is sound (I2);
  other names and another order of nodes give the same order of collectives (I3);
  a second run of the passes changes nothing (I4)."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

OPTIONS = ['--graph-run-mode=1', '--is-distributed=true']
PASSES = 'infer-shapes,train-detect,grad-allreduce,ar-bucket'


class Step:
    """Nodes of a training step; `order` shuffles what may be shuffled, `prefix` renames it all."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.nodes, self.inputs, self.outputs = [], [], []
        self.consts, self.expected, self.frozen = [], {}, []
        self.count = 0
        self.build()

    def name(self, hint='t'):
        self.count += 1
        return f'{hint}{self.count}'

    def op(self, op, operands, attrs='', result=None):
        result = result or self.name()
        self.nodes.append((result, op, list(operands), attrs))
        return result

    def const(self, value):
        name = self.name('c')
        self.consts.append((name, f'f32[] {float(value)}'))
        return name

    def param(self, hint, dims):
        n = 1
        for d in dims:
            n *= d
        name = self.name(hint)
        values = ', '.join(f'{self.rng.uniform(-1, 1):.4f}' for _ in range(n))
        self.inputs.append((name, f'f32[{",".join(map(str, dims))}]', f'[{values}]'))
        return name

    def build(self):
        r = self.rng
        rows, widths = r.randint(1, 4), [r.randint(1, 5) for _ in range(r.randint(2, 5))]
        self.inputs.append(('x', f'f32[{rows},{widths[0]}]', None))
        self.inputs.append(('lr', 'f32[]', None))
        shared = None
        h, layers = 'x', []
        for a, b in zip(widths, widths[1:]):
            if shared and shared[1] == [a, b] and r.random() < 0.7:
                w = shared[0]
            else:
                w = self.param('w', [a, b])
            if shared is None and a == b:
                shared = (w, [a, b])
            bias = self.param('b', [b])
            y = self.op('Add', [self.op('MatMul', [h, w]), bias])
            layers.append((h, w, bias, [a, b]))
            h = y
        self.op('ReduceMean', [self.op('Mul', [h, h])], 'keepdims=0', 'L')
        self.outputs.append('L')
        self.backward(h, layers, 2.0 / (rows * widths[-1]))

    def backward(self, h, layers, factor):
        r = self.rng
        dy = self.op('Mul', [h, self.const(factor)])
        parts = {}
        shapes = {}
        for x, w, bias, dims in reversed(layers):
            xt = self.op('Transpose', [x], 'perm=[1, 0]')
            parts.setdefault(w, []).append(self.op('MatMul', [xt, dy]))
            axes = self.name('c')
            self.consts.append((axes, 'i64[1] [0]'))
            parts.setdefault(bias, []).append(self.op('ReduceSum', [dy, axes], 'keepdims=0'))
            shapes[w], shapes[bias] = dims, dims[1:]
            wt = self.op('Transpose', [w], 'perm=[1, 0]')
            dy = self.op('MatMul', [dy, wt])
        kind = r.choice(['sgd', 'momentum', 'adam'])
        for p, terms in parts.items():
            if r.random() < 0.15:
                self.frozen.append(p)
                continue
            g = terms[0]
            for t in terms[1:]:
                g = self.op('Add', [g, t])
            self.expected[p] = g
            self.update(p, g, shapes[p], kind)

    def update(self, p, g, dims, kind):
        r = self.rng
        if r.random() < 0.3:
            g = self.op('Clip', [g, self.const(-0.5), self.const(0.5)])
        if r.random() < 0.3:
            g = self.op('Add', [g, self.op('Mul', [p, self.const(0.01)])])
        if kind == 'momentum':
            m = self.param('m', dims)
            g = self.op('Add', [self.op('Mul', [m, self.const(0.9)]), g])
            self.outputs.append(g)
        elif kind == 'adam':
            m, v = self.param('m', dims), self.param('v', dims)
            a = self.op('Add', [self.op('Mul', [m, self.const(0.9)]),
                                self.op('Mul', [g, self.const(0.1)])])
            square = self.op('Mul', [v, v])  # keeps the state positive
            b = self.op('Add', [self.op('Mul', [square, self.const(0.9)]),
                                self.op('Mul', [self.op('Mul', [g, g]), self.const(0.1)])])
            self.outputs += [a, b]
            root = self.op('Add', [self.op('Sqrt', [b]), self.const(0.1)])
            g = self.op('Div', [a, root])
        d = self.op('Mul', [g, 'lr'])
        self.outputs.append(self.op('Sub', [p, d]))

    def shuffled(self, rng):
        """Another topological order of the same nodes."""
        made = {n for n, *_ in self.inputs} | {n for n, _ in self.consts}
        left, out = list(self.nodes), []
        while left:
            ready = [n for n in left if all(o in made for o in n[2])]
            node = rng.choice(ready)
            left.remove(node)
            made.add(node[0])
            out.append(node)
        return out

    def text(self, nodes=None, rename=lambda n: n):
        ins = ', '.join(f'%{rename(n)}: {t}' + (f' = {v}' if v else '') for n, t, v in self.inputs)
        lines = [f'graph @g({ins}) -> ({", ".join("%" + rename(o) for o in self.outputs)}) {{']
        lines += [f'  const %{rename(n)} = {v}' for n, v in self.consts]
        for result, op, operands, attrs in nodes or self.nodes:
            args = ', '.join('%' + rename(o) for o in operands)
            lines.append(f'  %{rename(result)} = {op}({args})' + (f' {{{attrs}}}' if attrs else ''))
        return '\n'.join(lines) + '\n}\n'


def run(argv, text=None):
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=60)


def fail(seed, what, detail, text):
    print(f'FAIL seed {seed}: {what}: {detail}\n{text}')
    return False


def collectives(text, back):
    """Operands of collectives in the order of their control edges, and what each waits for."""
    found = []
    for line in text.splitlines():
        m = re.match(r'\s*(.*?) = npu\.hcom::HcomAllReduce\((.*?)\)(.*)', line)
        if m:
            after = re.search(r'after %(\S+?)/HcomAllReduce', m.group(3))
            found.append((tuple(back(o.strip('% ')) for o in m.group(2).split(',')),
                          back(after.group(1)) if after else None))
    return sorted(found, key=str)


def try_seed(tailor, seed, folder):
    step = Step(seed)
    text = step.text()
    path = os.path.join(folder, 'step.tir')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    p = run([tailor, 'info', '--train', '--json', path])
    if p.returncode:
        return fail(seed, 'info', p.stderr, text)
    found = {g['param']: g['gradient'] for g in json.loads(p.stdout)['params']}
    if found != step.expected:
        return fail(seed, 'gradients', f'{found}, expected {step.expected}', text)
    if not step.expected:
        return True
    rng = random.Random(seed + 1)
    strategy = rng.choice([['--bucket-strategy=single'], ['--bucket-strategy=none'],
                           ['--bucket-strategy=default', '--bucket-pad=0'],
                           ['--bucket-strategy=bytes', '--bucket-first=16', '--bucket-cap=64'],
                           ['--bucket-strategy=combine', '--bucket-members=2'],
                           ['--bucket-strategy=auto', '--hw-preset=ascend910b']])
    lowering = rng.choice(['multi', 'multi', 'concat'])
    options = OPTIONS + strategy + [f'--bucket-lowering={lowering}']
    one = run([tailor, 'opt', f'--passes={PASSES}', '--verify-each', '--rank-size=1',
               '--force-allreduce=1', path, *options])
    if one.returncode:
        return fail(seed, 'passes', one.stderr, text)
    other = os.path.join(folder, 'other.tir')
    with open(other, 'w', encoding='utf-8') as f:
        f.write(one.stdout)
    same = run([tailor, 'verify', path, other, '--rtol=0', '--atol=0'])
    if same.returncode:
        return fail(seed, 'values', same.stdout + same.stderr, one.stdout)
    again = run([tailor, 'opt', f'--passes={PASSES}', '--rank-size=1', '--force-allreduce=1', other,
                 *options])
    if again.stdout != one.stdout:
        return fail(seed, 'idempotence', again.stderr + again.stdout, one.stdout)
    if lowering == 'concat':
        return True
    renamed = step.text(step.shuffled(rng), lambda n: 'z' + n[::-1])
    moved = run([tailor, 'opt', f'--passes={PASSES}', '--rank-size=1', '--force-allreduce=1', '-',
                 *options], renamed)
    a = collectives(one.stdout, lambda n: n)
    b = collectives(moved.stdout, lambda n: n[1:][::-1])
    return a == b or fail(seed, 'order', f'{a}\n{b}\n{moved.stderr}', text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=60)
    p.add_argument('--seed', type=int, default=0)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = sum(try_seed(args.tailor, args.seed + i, folder) for i in range(args.n))
    print(f'{good} passed, {args.n - good} failed, 0 skipped')
    sys.exit(good != args.n)


if __name__ == '__main__':
    main()
