#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for training steps whose rewriting is wrong without a word.

  train.py --tailor BIN [--n N] [--seed S] [--jobs J] [--keep DIR]

Steps are made at random: layers with activations, some in f16 behind casts of the step's own;
gradients that are clipped, decayed, reshaped, cast, chosen or squashed before the update; SGD,
momentum or Adam; updates inside an If. Two kinds of pairs in turn:
  scaled  the step with its loss scaled by a power of two against the step itself. Such a scale
          changes no bit of a float but in overflow and underflow, so states must be equal within
          f32 rounding; in f16, the scaled step may not be farther from the step in f32 than twice
          the unscaled one, or than what rounding does to that.
  ranks   `simulate-ranks`: 2 or 4 ranks against one on the joined batch.
A refusal (exit 2 or 3) that names the reason is right: the step may be one that cannot be scaled.
The last line is 'N passed, M failed, K skipped'."""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import jitter  # noqa: E402

NEAR = 1e-5  # f32 rounding of an update, as a share of the greatest element
SCALES = [1, 16, 1024, 65536, 2 ** 20]


class Step:
    """Text of a training step. Two with the same seed and other rows are the same step."""

    def __init__(self, seed, rows, half=True):
        self.rng = random.Random(seed)
        self.lines, self.consts, self.inputs, self.outputs = [], [], [], ['L']
        self.count, self.rows = 0, rows
        self.half = self.rng.random() < 0.5 and half
        self.low = 'f16' if self.half else 'f32'
        self.build()

    def name(self, hint='t'):
        self.count += 1
        return f'{hint}{self.count}'

    def op(self, op, operands, attrs='', result=None):
        result = result or self.name()
        self.lines.append(f'  %{result} = {op}({", ".join("%" + o for o in operands)})'
                          + (f' {{{attrs}}}' if attrs else ''))
        return result

    def const(self, value, kind='f32', dims=''):
        name = self.name('c')
        self.consts.append(f'  const %{name} = {kind}[{dims}] {value}')
        return name

    def param(self, hint, dims, least=-1.0):
        n = 1
        for d in dims:
            n *= d
        name = self.name(hint)
        values = ', '.join(f'{self.rng.uniform(least, 1):.4f}' for _ in range(n))
        self.inputs.append(f'%{name}: f32[{",".join(map(str, dims))}] = [{values}]')
        return name

    def cast(self, value, kind):
        if not self.half:
            return value
        return self.op('Cast', [value], 'to=1' if kind == 'f32' else 'to=10')

    def build(self):
        r = self.rng
        widths = [r.randint(1, 4) for _ in range(r.randint(2, 4))]
        self.inputs.append(f'%x: f32[{self.rows},{widths[0]}]')
        h, layers = self.cast('x', 'f16'), []
        for a, b in zip(widths, widths[1:]):
            w, bias = self.param('w', [a, b]), self.param('b', [b])
            w16 = self.cast(w, 'f16')
            y = self.op('Add', [self.op('MatMul', [h, w16]), self.cast(bias, 'f16')])
            kind = r.choice(['', 'Relu', 'Tanh'])
            z = self.op(kind, [y]) if kind else y
            layers.append((h, w, w16, bias, [a, b], kind, y, z))
            h = z
        wide = self.cast(h, 'f32')
        self.op('ReduceMean', [self.op('Mul', [wide, wide])], 'keepdims=0', 'L')
        self.backward(self.cast(self.op('Mul', [wide, self.const(2.0 / (self.rows * widths[-1]))]),
                                'f16'), layers)

    def backward(self, dy, layers):
        r, kind = self.rng, self.rng.choice(['sgd', 'momentum', 'adam'])
        for x, w, w16, bias, dims, act, y, z in reversed(layers):
            if act == 'Relu':
                dy = self.op('Where', [self.op('Greater', [y, self.const('0.0', self.low)]), dy,
                                       self.const('0.0', self.low)])
            elif act == 'Tanh':
                dy = self.op('Mul', [dy, self.op('Sub', [self.const('1.0', self.low),
                                                         self.op('Mul', [z, z])])])
            gw = self.op('MatMul', [self.op('Transpose', [x], 'perm=[1, 0]'), dy])
            gb = self.op('ReduceSum', [dy, self.const('[0]', 'i64', '1')], 'keepdims=0')
            for p, g, d in ((w, gw, dims), (bias, gb, dims[1:])):
                if r.random() < 0.1:
                    continue  # frozen
                self.update(p, self.changed(g, d, p), d, kind)
            dy = self.op('MatMul', [dy, self.op('Transpose', [w16], 'perm=[1, 0]')])

    def changed(self, g, dims, p):
        """The gradient as the update reads it, in f32."""
        r, low = self.rng, self.low
        for _ in range(r.randint(0, 2)):
            how = r.choice(['clip', 'view', 'identity', 'transpose', 'tanh', 'where', 'scale',
                            'norm'])
            if how == 'clip':
                g = self.op('Clip', [g, self.const('-0.25', low), self.const('0.25', low)])
            elif how == 'view':
                g = self.op('Reshape', [self.op('Flatten', [g], 'axis=0'), self.const(
                    f'[{", ".join(map(str, dims))}]', 'i64', str(len(dims)))])
            elif how == 'identity':
                g = self.op('Identity', [g])
            elif how == 'transpose' and len(dims) == 2:
                g = self.op('Transpose', [self.op('Transpose', [g], 'perm=[1, 0]')], 'perm=[1, 0]')
            elif how == 'tanh':
                g = self.op('Tanh', [g])
            elif how == 'where':
                small = self.op('Less', [self.op('Abs', [g]), self.const('0.5', low)])
                g = self.op('Where', [small, g, self.const('0.125', low)])
            elif how == 'scale':
                g = self.op('Mul', [g, self.const('0.5', low)])
            elif how == 'norm':
                n = self.op('Sqrt', [self.op('ReduceSum', [self.op('Mul', [g, g])], 'keepdims=0')])
                g = self.op('Div', [g, self.op('Add', [n, self.const('0.5', low)])])
        return self.cast(g, 'f32')

    def update(self, p, g, dims, kind):
        r = self.rng
        if r.random() < 0.3:
            g = self.op('Add', [g, self.op('Mul', [p, self.const('0.01')])])
        if kind == 'momentum':
            m = self.param('m', dims)
            g = self.op('Add', [self.op('Mul', [m, self.const('0.9')]), g])
            self.outputs.append(g)
        elif kind == 'adam':
            m, v = self.param('m', dims), self.param('v', dims, 0.0)
            a = self.op('Add', [self.op('Mul', [m, self.const('0.9')]),
                                self.op('Mul', [g, self.const('0.1')])])
            b = self.op('Add', [self.op('Mul', [v, self.const('0.99')]),
                                self.op('Mul', [self.op('Mul', [g, g]), self.const('0.01')])])
            self.outputs += [a, b]
            g = self.op('Div', [a, self.op('Add', [self.op('Sqrt', [b]), self.const('0.01')])])
        d = self.op('Mul', [g, self.const('0.1')])
        how = r.random()
        if how < 0.1:
            n = self.name()
            self.lines.append(
                f'  %{n} = If(%{self.const("true", "bool")}) '
                f'{{then_branch=graph @t{n}() -> (%a{n}) {{ %a{n} = Sub(%{p}, %{d}) }}, '
                f'else_branch=graph @e{n}() -> (%b{n}) '
                f'{{ %b{n} = Identity(%{p}) }}}}')
            self.outputs.append(n)
        elif how < 0.2 and len(dims) == 2:
            flat = self.const('[-1]', 'i64', '1')
            s = self.op('Sub', [self.op('Reshape', [p, flat]), self.op('Reshape', [d, flat])])
            shape = self.const(f'[{dims[0]}, {dims[1]}]', 'i64', '2')
            self.outputs.append(self.op('Reshape', [s, shape]))
        else:
            self.outputs.append(self.op('Sub', [p, d]))

    def text(self):
        outputs = ', '.join('%' + o for o in self.outputs)
        return '\n'.join([f'graph @g({", ".join(self.inputs)}) -> ({outputs}) {{',
                          *self.consts, *self.lines, '}', ''])


def run(argv):
    return guard.run(argv, capture_output=True, text=True, errors='replace',
                     stdin=subprocess.DEVNULL)


def outputs_of(tailor, path, folder):
    """{name: array} of a run, or the words of the error."""
    p = run([tailor, 'run', path, '-O0', '-q', '--threads=1', '-o', folder])
    if p.returncode:
        return p.stderr
    found = {}
    for file in os.listdir(folder):
        if file.startswith('output_'):
            tensor = onnx.TensorProto()
            with open(os.path.join(folder, file), 'rb') as f:
                tensor.ParseFromString(f.read())
            found[tensor.name] = numpy_helper.to_array(tensor).astype(numpy.float64)
    return found


def apart(a, b):
    """Greatest difference as a share of the greatest element."""
    if a.shape != b.shape:
        return numpy.inf
    scale = numpy.max(numpy.abs(b), initial=0)
    worst = numpy.max(numpy.abs(a - b), initial=0)
    return 0.0 if worst == 0 else numpy.inf if not worst < numpy.inf else worst / (scale or 1)


class Refused(Exception):
    pass


class Wrong(Exception):
    pass


def done(p, what):
    if p.returncode in (2, 3):
        raise Refused(p.stderr)
    if p.returncode:
        raise Wrong(f'{what}: exit {p.returncode}: {p.stderr[-400:]}{p.stdout[-400:]}')


def try_scaled(tailor, seed, folder):
    rng = random.Random(f'scale {seed}')
    step = Step(seed, 3)
    source, path, new = (os.path.join(folder, n) for n in ('step.tir', 'plain.tir', 'scaled.tir'))
    with open(source, 'w', encoding='utf-8') as f:
        f.write(step.text())
    done(run([tailor, 'convert', source, '-q', '-o', path]), 'convert')
    scale = rng.choice(SCALES)
    kind = rng.choice(['FixedLossScaleManager","loss_scale":%d' % scale,
                       'ExponentialUpdateLossScaleManager","init_loss_scale":%d,'
                           '"incr_every_n_steps":1000,"decr_every_n_nan_or_inf":2,"decr_ratio":0.5'
                           % scale])
    done(run([tailor, 'convert', source, '-q', '-o', new, '--is-loss-scale=true',
              '--loss-scale-manager={"type":"' + kind + '}']), 'convert')
    plain = outputs_of(tailor, path, os.path.join(folder, 'a'))
    scaled = outputs_of(tailor, new, os.path.join(folder, 'b'))
    for found in (plain, scaled):
        if isinstance(found, str):
            raise Wrong('run: ' + found)
    if not all(f.all() for n, f in scaled.items() if n == 'tlr.ls.finite'):
        return 'overflowed'
    exact, rounding = None, Rounding(tailor, source, folder)
    for name, a in plain.items():
        if name not in scaled:
            raise Wrong(f'output {name} is gone')
        if apart(scaled[name], a) <= NEAR:
            continue
        if step.half and exact is None:
            exact = exact_outputs(tailor, seed, folder)
        if not step.half or (apart(scaled[name], exact[name]) > 2 * apart(a, exact[name]) + NEAR and
                             apart(scaled[name], a) > 2 * rounding.of(name, a)):
            raise Wrong(f'scale {scale}: {name} is {apart(scaled[name], a):.3g} apart')
    return 'equal'


class Rounding:
    """What f16 may do to a step: the outputs of its twins, made when first asked for."""

    def __init__(self, tailor, source, folder):
        self.tailor, self.source, self.folder, self.twins = tailor, source, folder, None

    def of(self, name, plain):
        if self.twins is None:
            model = os.path.join(self.folder, 'twin.onnx')
            done(run([self.tailor, 'convert', self.source, '-q', '-O0', '-o', model]), 'convert')
            self.twins = [outputs_of(self.tailor, t, t + '.out')
                          for t in jitter.twins(model, os.path.join(self.folder, 'twin'), 4)]
        return max(apart(t[name], plain) for t in self.twins)


def exact_outputs(tailor, seed, folder):
    """Those of the same step with every cast to f16 taken out."""
    text = Step(seed, 3).text()
    text = re.sub(r'Cast\((%\w+)\) \{to=10\}', r'Identity(\1)', text)
    text = re.sub(r'f16\[\]', 'f32[]', text)
    path = os.path.join(folder, 'exact.tir')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    found = outputs_of(tailor, path, os.path.join(folder, 'c'))
    if isinstance(found, str):
        raise Wrong('run of the step in f32: ' + found)
    return found


def try_ranks(tailor, seed, folder):
    rng = random.Random(f'ranks {seed}')
    ranks, paths = rng.choice([2, 4]), []
    for rows in (2, 2 * ranks):
        paths.append(os.path.join(folder, f'{rows}.tir'))
        with open(paths[-1], 'w', encoding='utf-8') as f:
            f.write(Step(seed, rows, half=False).text())
    more = rng.choice([[], ['--is-loss-scale=true', '--loss-scale-manager='
                            '{"type":"FixedLossScaleManager","loss_scale":1024}']])
    done(run([tailor, 'simulate-ranks', paths[0], '-n', str(ranks), '--joined=' + paths[1],
              '--steps=2', '--rtol=1e-4', *more]), f'{ranks} ranks {"scaled" if more else ""}')
    return 'equal'


def try_seed(args, seed):
    """(what became of it, details)"""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return (try_ranks if seed % 2 else try_scaled)(args.tailor, seed, folder), ''
        except Refused as e:
            return 'refused', str(e)
        except (Wrong, subprocess.TimeoutExpired) as e:
            if args.keep:
                os.makedirs(args.keep, exist_ok=True)
                shutil.copytree(folder, os.path.join(args.keep, str(seed)), dirs_exist_ok=True)
            return 'wrong', str(e)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=200)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--keep', help='folder for steps that show a fault')
    p.add_argument('--refusals', action='store_true', help='print why steps are refused')
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    seeds = range(args.seed, args.seed + args.n)
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(lambda s: try_seed(args, s), seeds))
    for seed, (what, detail) in zip(seeds, found):
        if what == 'wrong':
            print(f'FAIL seed {seed}: {detail}')
    counts = collections.Counter(what for what, _ in found)
    if args.refusals:
        names = r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+"
        why = collections.Counter(re.sub(names, '_', d.split('error: ')[-1].split('\n')[0])
                                  for w, d in found if w == 'refused')
        for text, n in why.most_common():
            print(f'refused {n}: {text}')
    print('train: ' + ', '.join(f'{n} {what}' for what, n in sorted(counts.items())))
    print(f'{counts["equal"] + counts["overflowed"]} passed, {counts["wrong"]} failed, 0 skipped')
    return 1 if counts['wrong'] else 0


if __name__ == '__main__':
    sys.exit(main())
