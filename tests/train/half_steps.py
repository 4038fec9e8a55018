#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Loss scaling of steps that compute in f16 by casts of their own, against the same step in f32.

  half_steps.py --tailor BIN [--full]

Forward and backward are f16, weights and updates f32 (or f16 as well, in some). Elements are small
whole numbers times 2^-K, so that f16 backward is exact as long as it neither overflows nor
underflows, and an update has to be the f32 step's bit by bit. With K = 26 all gradients underflow
without a scale: where the scale does not suffice the error is at most that of the step without
one. Where it is too much, the step is skipped.
--full takes every spelling with every optimizer, scale and manager, and three steps each."""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROWS, IN, OUT = 4, 3, 2
SCALES = [1, 2 ** 4, 2 ** 8, 2 ** 12, 2 ** 16, 2 ** 20]
F16, F32 = 10, 1
HEADER = ('module {\n  ir_version 10\n  opset "" 21\n  opset "com.microsoft" 1\n'
          '  opset "npu.hcom" 1\n}\n\n')
OPS = ('ort_adam', 'ort_adamw', 'ort_clipped')  # all parameters at once
OPTIMIZERS = ('sgd', 'momentum', 'adam', 'adamw')


class Failed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Failed(what)


class Step:
    """The text of a step. half: backward is f16; else all of it is f32. spelling: what lies between
    a gradient and its update; rows, k: of the batch, and the exponent of what gradients are."""

    def __init__(self, spelling, optimizer, half, k, rows=ROWS):
        self.half, self.k, self.rows, self.spelling = half, k, rows, spelling
        self.to, self.h = (F16, 'f16') if half else (F32, 'f32')
        self.lines, self.consts, self.count = [], [], 0
        self.inputs = [f'%x: f32[{rows},{IN}]', f'%t: f32[{rows},{OUT}]']
        self.outputs, self.states = ['L'], []
        self.build(optimizer)

    def op(self, op, *operands, attrs='', name=None):
        self.count += 1
        name = name or f'v{self.count}'
        self.lines.append(f'  %{name} = {op}({", ".join("%" + o for o in operands)}) {attrs}')
        return name

    def const(self, kind, value):
        self.count += 1
        self.consts.append(f'  const %c{self.count}: {kind} = {value}')
        return f'c{self.count}'

    def number(self, value, half=False):
        return self.const(f'{self.h if half else "f32"}[]', repr(float(value)))

    def cast(self, v, to):
        return self.op('Cast', v, attrs=f'{{to={to}}}')

    def state(self, name, kind, values):
        shape = kind[kind.index('[') + 1:-1]
        text = f'[{", ".join(map(repr, values))}]' if shape else repr(values[0])
        self.inputs.append(f'%{name}: {kind} = {text}')
        self.outputs.append(f'{name}.new')
        self.states.append(name)

    # ---- forward, backward ----
    def build(self, optimizer):
        kind = self.kind = 'f16' if self.spelling == 'masters' else 'f32'
        self.state('w', f'{kind}[{IN},{OUT}]', [0.0, 0.5, 0.0, -0.25, 0.0, 1.0])
        self.state('b', f'{kind}[{OUT}]', [0.0, 0.5])
        k = self.number(2.0 ** -self.k)
        x, w, b = (self.cast(v, self.to) for v in 'xwb')
        table = self.spelling.startswith('table')
        rows = self.const(f'i64[{self.rows}]', ([0, 2, 1, 0] * self.rows)[:self.rows])
        h = self.op('Gather', w, rows) if table else self.op('MatMul', x, w)
        y = self.cast(self.op('Add', h, b), F32)
        loss = self.op('ReduceSum', self.op('Mul', y, 't'), attrs='{keepdims=0}')
        self.op('Mul', loss, k, name='L')
        dy = self.op('Mul', 't', k, name='dy')
        dyh = self.cast(dy, self.to)
        if table:  # the gradient of a Gather: rows are added to a tensor of zeros
            gw = self.op('com.microsoft::GatherGrad', self.const('i64[2]', [IN, OUT]), rows, dyh,
                         name='gw')
        else:
            gw = self.op('MatMul', self.op('Transpose', x), dyh, name='gw')
        gb = self.op('ReduceSum', dyh, self.const('i64[1]', '[0]'), attrs='{keepdims=0}', name='gb')
        grads = getattr(self, self.spelling)({'w': gw, 'b': gb})
        if optimizer in OPS:
            getattr(self, optimizer)(grads)
            return
        for p, g in grads.items():
            getattr(self, optimizer)(p, g)

    # ---- between gradients and updates; each gives f32 ----
    def each(self, grads, change, before=False):
        """change(g) in f16, and the cast; or the cast first."""
        if before:
            return {p: change(self.cast(g, F32)) for p, g in grads.items()}
        return {p: self.cast(change(g), F32) for p, g in grads.items()}

    def plain(self, grads):
        return self.each(grads, lambda g: g)

    def table(self, grads):
        return self.plain(grads)

    def table_bounded(self, grads):
        return self.bounded(grads)

    def copied(self, grads):
        return self.each(grads, lambda g: self.op('Identity', g))

    def viewed(self, grads):
        def view(g):
            flat = self.op('Reshape', g, self.const('i64[1]', '[-1]'))
            dims = [IN, OUT] if g == 'gw' else [OUT]
            return self.op('Reshape', flat, self.const(f'i64[{len(dims)}]', dims))
        return self.each(grads, view)

    def viewed_behind(self, grads):
        grads = self.plain(grads)
        grads['w'] = self.op('Transpose', self.op('Transpose', grads['w']))
        return grads

    def scaled(self, grads):
        return self.each(grads, lambda g: self.op('Mul', g, self.number(0.5, True)))

    def bounded(self, grads, before=False):
        low, high = (self.number(s * 2.0 ** (3 - self.k), not before) for s in (-1, 1))
        return self.each(grads, lambda g: self.op('Clip', g, low, high), before)

    def bounded_behind(self, grads):
        return self.bounded(grads, True)

    def norm(self, grads, half):
        """By the norm of all: squares of gradients underflow f16 by far."""
        parts = [self.op('ReduceSum', self.op('Mul', g, g), attrs='{keepdims=0}')
                 for g in grads.values()]
        n = self.op('Sqrt', self.op('Add', *parts))
        factor = self.op('Div', self.number(2.0 ** (4 - self.k), half),
                         self.op('Add', n, self.number(2.0 ** -24, half)))
        factor = self.op('Min', factor, self.number(1, half))
        return {p: self.op('Mul', g, factor) for p, g in grads.items()}

    def normed(self, grads):
        return self.plain(self.norm(grads, True))

    def normed_behind(self, grads):
        return self.norm(self.plain(grads), False)

    def cast_twice(self, grads):
        """To f32, back to f16, and again."""
        return self.each({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()},
                         lambda g: self.op('Identity', g))

    def cast_in_rounds(self, grads):
        """f32 first, the bounds in f16, then f32 again."""
        return self.bounded({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()})

    def shown(self, grads):
        """Gradients are outputs too, in f16 and in f32; a cast has several users."""
        done = self.plain(grads)
        self.outputs += [grads['w'], done['b']]
        self.op('ReduceMax', done['w'], attrs='{keepdims=0}', name='top')
        self.outputs.append('top')
        return done

    def cast_each(self, grads):
        """Two casts of one gradient, half of each."""
        def parts(g):
            return self.op('Add', *(self.op('Mul', self.cast(g, F32), self.number(0.5))
                                    for _ in 'ab'))
        return {p: parts(g) for p, g in grads.items()}

    def chosen(self, grads):
        """Another f16 gradient by a condition."""
        def choose(g):
            n = self.op('ReduceMax', self.op('Abs', g), attrs='{keepdims=0}')
            c = self.op('Greater', n, self.number(2.0 ** (2 - self.k), True))
            half = self.number(0.5, True)
            self.count += 1
            r = f'v{self.count}'
            self.lines.append(
                f'  %{r} = If(%{c}) {{\n    then_branch=graph @then{r}() -> (%{r}a) {{\n'
                f'      %{r}a = Mul(%{g}, %{half})\n    }},\n    else_branch=graph @else{r}() -> '
                f'(%{r}b) {{\n      %{r}b = Identity(%{g})\n    }}\n  }}')
            return r
        return self.each(grads, choose)

    def selected(self, grads):
        def select(g):
            low = self.op('Less', g, self.number(0, True))
            return self.op('Where', low, self.op('Neg', g), g)
        return self.each(grads, select)

    def in_parts(self, grads):
        """Cut and put together again."""
        def cut(g):
            size = self.const('i64[2]', '[1, 1]' if g == 'gb' else '[2, 1]')
            self.count += 1
            a, b = f'p{self.count}', f'q{self.count}'
            self.lines.append(f'  %{a}, %{b} = Split(%{g}, %{size}) {{axis=0}}')
            return self.op('Concat', a, b, attrs='{axis=0}')
        return self.each(grads, cut)

    def reduced(self, grads):
        """A collective of the model's own, and a mean in f16."""
        def mean(g):
            s = self.op('npu.hcom::HcomAllReduce', g,
                        attrs='{reduction="sum", group="hccl_world_group", fusion=1, fusion_id=-1}')
            return self.op('Div', s, self.number(4, True))
        return self.each(grads, mean)

    def reduced_later(self, grads):
        """Half of it, a copy, and the collective then."""
        return self.reduced({p: self.op('Identity', self.op('Mul', g, self.number(0.5, True)))
                             for p, g in grads.items()})

    def reduced_in_f16(self, grads):
        """Sent in f16, though it was f32 before."""
        return self.reduced({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()})

    def accumulated(self, grads):
        for p, g in self.plain(grads).items():
            kind = f'f32[{IN},{OUT}]' if p == 'w' else f'f32[{OUT}]'
            n = IN * OUT if p == 'w' else OUT
            self.state(p + '_acc', kind, [2.0 ** -self.k] * n)
            grads[p] = self.op('Add', p + '_acc', g, name=p + '_acc.new')
        return grads

    def accumulated_op(self, grads):
        """By the op of ONNX Runtime, which takes f16 into a buffer of f32."""
        for p, g in grads.items():
            kind = f'f32[{IN},{OUT}]' if p == 'w' else f'f32[{OUT}]'
            n = IN * OUT if p == 'w' else OUT
            self.state(p + '_acc', kind, [2.0 ** -self.k] * n)
            self.lines.append(f'  %{p}_done, %{p}_acc.new = com.microsoft::InPlaceAccumulatorV2('
                              f'%{p}_acc, %{g})')
            grads[p] = p + '_acc.new'
        return grads

    def masters(self, grads):
        """Weights of f16, whose update is f16 too."""
        return grads

    # ---- optimizers; states of f16 are computed with in f32, if anything is ----
    def old(self, state):
        return self.cast(state, F32) if self.kind == 'f16' and not self.half else state

    def next(self, state, op, *operands):
        """The next value of a state."""
        if self.kind == 'f16' and not self.half:
            v = self.op(op, *operands)
            self.op('Cast', v, attrs=f'{{to={F16}}}', name=state + '.new')
            return v
        return self.op(op, *operands, name=state + '.new')

    def moment(self, p, suffix, value):
        self.state(p + suffix, f'{self.kind}[{IN},{OUT}]' if p == 'w' else f'{self.kind}[{OUT}]',
                   [value] * (IN * OUT if p == 'w' else OUT))
        return p + suffix

    def rate(self):
        return self.number(2.0 ** min(self.k - 7, 15), self.kind == 'f16')

    def sgd(self, p, g):
        self.next(p, 'Sub', self.old(p), self.op('Mul', self.rate(), g))

    def momentum(self, p, g):
        m = self.moment(p, '_m', 2.0 ** -min(self.k, 20))
        kept = self.op('Mul', self.old(m), self.number(0.875, self.kind == 'f16'))
        v = self.next(m, 'Add', kept, g)
        self.next(p, 'Sub', self.old(p), self.op('Mul', self.rate(), v))

    def average(self, state, value, factor):
        kept = self.op('Mul', state, self.number(factor))
        part = self.op('Mul', value, self.number(1 - factor))
        return self.next(state, 'Add', kept, part)

    def adam(self, p, g, decay=0.0):
        if 'count' not in self.states:
            self.state('count', 'f32[]', [3.0])
            self.next('count', 'Add', 'count', self.number(1))
        m = self.average(self.moment(p, '_m', 2.0 ** -self.k), g, 0.9)
        v = self.average(self.moment(p, '_v', 4.0 ** -self.k), self.op('Mul', g, g), 0.999)
        fixes = [self.op('Sub', self.number(1), self.op('Pow', self.number(f), 'count.new'))
                 for f in (0.9, 0.999)]
        root = self.op('Sqrt', self.op('Div', v, fixes[1]))
        step = self.op('Div', self.op('Div', m, fixes[0]),
                       self.op('Add', root, self.number(2.0 ** -self.k)))
        old = self.op('Mul', p, self.number(1 - 0.01 * decay)) if decay else p
        self.next(p, 'Sub', old, self.op('Mul', self.number(0.01), step))

    def adamw(self, p, g):
        self.adam(p, g, 0.1)

    # ---- ops of ONNX Runtime, which take gradients of f16 ----
    def node(self, text, *results):
        self.lines.append(f'  {", ".join(r if r == "_" else "%" + r for r in results)} = {text}')

    def raw(self, grads):
        return grads

    def ort_adam(self, grads):
        for p, g in grads.items():
            m, v = self.moment(p, '_m', 2.0 ** -self.k), self.moment(p, '_v', 4.0 ** -self.k)
            self.state(f'{p}_count', 'i64[]', [3])
            self.node(f'com.microsoft::AdamOptimizer(%{self.number(0.01)}, %{p}_count, %{p}, %{g}, '
                      f'%{m}, %{v}) {{epsilon={2.0 ** -self.k}}}', f'{p}_count.new', f'{m}.new',
                      f'{v}.new', f'{p}.new')

    def lists(self, grads, clipped=False):
        """Lists of gradients, moments and weights; their norm, where they are clipped."""
        made = [self.op('SequenceConstruct', *at) for at in
                (grads, grads.values(), [p + '_m' for p in grads], [p + '_v' for p in grads])]
        if clipped:
            made[1] = self.op('com.microsoft::InplaceClipGradNorm', made[1],
                              attrs=f'{{max_norm={2.0 ** (2 - self.k)}}}')
        return made

    def ort_adamw(self, grads, clipped=False):
        for p in grads:
            self.moment(p, '_m', 2.0 ** -self.k)
            self.moment(p, '_v', 4.0 ** -self.k)
        lists = ', '.join('%' + v for v in self.lists(grads, clipped))
        self.node(f'com.microsoft::AdamWOptimizer(%{self.number(0.01)}, '
                  f'%{self.const("i64[]", 3)}, {lists}) {{epsilon={2.0 ** -self.k}}}',
                  '_', 'ws', 'ms', 'vs')
        for i, p in enumerate(grads):
            for kind, suffix in zip('wmv', ('', '_m', '_v')):
                self.op('SequenceAt', kind + 's', self.const('i64[]', i),
                        name=p + suffix + '.new')

    def ort_clipped(self, grads):
        self.ort_adamw(grads, True)

    def text(self):
        tail = [f'  state %{s} -> %{s}.new' for s in self.states] + ['  seed %dy', '  loss %L']
        return (HEADER + f'graph @step({", ".join(self.inputs)}) -> '
                f'({", ".join("%" + o for o in self.outputs)}) {{\n' +
                '\n'.join(self.consts + self.lines + tail) + '\n}\n')


SPELLINGS = ('plain', 'table', 'table_bounded', 'copied', 'viewed', 'viewed_behind', 'scaled', 'bounded', 'bounded_behind',
             'normed', 'normed_behind', 'cast_twice', 'cast_in_rounds', 'shown', 'cast_each',
             'chosen', 'selected', 'in_parts', 'reduced', 'reduced_later', 'reduced_in_f16',
             'accumulated', 'accumulated_op')
BOUNDS = ('table_bounded', 'bounded', 'bounded_behind', 'normed', 'normed_behind', 'cast_in_rounds', 'chosen')
MANAGERS = {
    'fixed': lambda s: {'type': 'FixedLossScaleManager', 'loss_scale': s},
    'blind': lambda s: {'type': 'FixedLossScaleManager', 'loss_scale': s,
                        'drop_overflow_update': False},
    'exponential': lambda s: {'type': 'ExponentialUpdateLossScaleManager', 'init_loss_scale': s,
                              'incr_every_n_steps': 100, 'decr_ratio': 0.5},
    'dynamic': lambda s: {'type': 'DynamicLossScaleManager', 'init_loss_scale': s,
                          'scale_window': 100},
    'torch_amp': lambda s: {'type': 'torch_amp', 'init_scale': s}}


def batch(rows, step, rank=0):
    """Whole numbers of at most 3, so that sums of 16 products are exact in f16."""
    rng = np.random.default_rng(100 * step + rank)
    return {'x': rng.integers(-3, 4, (rows, IN)).astype(np.float32),
            't': rng.integers(-3, 4, (rows, OUT)).astype(np.float32)}


def greatest(count):
    """The greatest element of each step's gradients, as a whole number; the least of those."""
    all_of = [batch(ROWS, i) for i in range(count)]
    return min(max(np.abs(b['x'].T @ b['t']).max(), np.abs(b['t'].sum(0)).max()) for b in all_of)


# The step of the head comment with common numbers, and a loss that is not linear.
TINY = """graph @amp(%x: f32[8,16], %target: f32[8,6], %w: f32[16,6]) -> (%loss, %w.new) {
  const %half: f32[] = 5e-09
  const %one: f32[] = 1e-08
  const %rate: f32[] = 1e+06
  %xh = Cast(%x) {to=TO}
  %wh = Cast(%w) {to=TO}
  %yh = MatMul(%xh, %wh)
  %y = Cast(%yh) {to=1}
  %e = Sub(%y, %target)
  %sq = Mul(%e, %e)
  %sum = ReduceSum(%sq) {keepdims=0}
  %loss = Mul(%sum, %half)
  %ge = Mul(%e, %one)
  %geh = Cast(%ge) {to=TO}
  %xt = Transpose(%xh) {perm=[1, 0]}
  %gh = MatMul(%xt, %geh)
  %g = Cast(%gh) {to=1}
  %d = Mul(%g, %rate)
  %w.new = Sub(%w, %d)
  state %w -> %w.new
}
"""


class Tests:
    def __init__(self, args, folder):
        self.tool, self.full, self.folder = os.path.abspath(args.tailor), args.full, folder
        self.known = {}
        self.count = {'exact': 0, 'better': 0, 'skipped': 0}

    def command(self, argv):
        p = subprocess.run([self.tool, *argv], cwd=self.folder, capture_output=True, text=True,
                           check=False)
        need(p.returncode == 0, f'{" ".join(argv)}: exit {p.returncode}\n{p.stderr[-900:]}')
        return p

    def run(self, file, values):
        argv = ['run', file, '-o', 'out', '--format=npy', '--json', '--exact']
        for i, (name, value) in enumerate(values.items()):
            np.save(os.path.join(self.folder, f'in{i}.npy'), value)
            argv.append(f'--input={name}=in{i}.npy')
        names = [o['name'] for o in json.loads(self.command(argv).stdout)['outputs']]
        return {name: np.load(os.path.join(self.folder, 'out', f'output_{i}.npy'))
                for i, name in enumerate(names)}

    def write(self, step, name):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as f:
            f.write(step.text())

    def steps(self, file, count, ranks=0, rows=ROWS):
        """The outputs of each step; states go on from one to the next."""
        states, out = {}, []
        for i in range(count):
            values = dict(states)
            for r in range(max(ranks, 1)):
                prefix = f'r{r}/' if ranks else ''
                values.update({prefix + n: v for n, v in batch(rows, i, r).items()})
            out.append(self.run(file, values))
            states = {n[:-4]: v for n, v in out[-1].items() if n.endswith(('.new', '.out'))}
        return out

    def plain(self, spelling, optimizer, half, k, count, ranks=1):
        """Steps without a scale; those of several ranks on the joined batch."""
        key = (spelling, optimizer, half, k, count, ranks)
        if key in self.known:
            return self.known[key]
        joined = Step(spelling, optimizer, half, k + (ranks - 1).bit_length(), ROWS * ranks)
        if ranks > 1:  # bounds and rates are those of a rank's own gradients
            text = Step(spelling, optimizer, half, k, ROWS * ranks).text()
            text = text.replace(f'= {2.0 ** -k!r}', f'= {2.0 ** -k / ranks!r}', 1)
            joined.text = lambda: text
        self.write(joined, 'plain.tir')
        file = 'plain.tir'
        if optimizer in OPS:  # as arithmetic, which rounds otherwise than the op's kernel
            file = 'plain.onnx'
            self.command(['convert', 'plain.tir', '-o', file, '--summary=none',
                          '--graph-run-mode=1'])
        states, out = {}, []
        for i in range(count):
            parts = [batch(ROWS, i, r) for r in range(ranks)]
            values = {n: np.concatenate([p[n] for p in parts]) for n in 'xt'}
            out.append(self.run(file, {**values, **states}))
            states = {n[:-4]: v for n, v in out[-1].items() if n.endswith('.new')}
        self.known[key] = out
        return out

    def scaled(self, spelling, optimizer, scale, manager, k, options=(), ranks=1):
        """One case: what the scaled f16 step gives, and what it should."""
        # What of masters is f16 in the model and no gradient, as 0.875 * m, is f16 in each step.
        count = 3 if self.full and spelling != 'masters' and k > 7 else 1
        self.write(Step(spelling, optimizer, True, k), 'half.tir')
        argv = ['convert', 'half.tir', '-o', 'half.onnx', '--summary=none', '--is-loss-scale=true',
                '--loss-scale-manager=' + json.dumps(MANAGERS[manager](scale)), *options]
        if ranks > 1:
            argv += ['--is-distributed=true', f'--rank-size={ranks}', f'--verify-ranks={ranks}']
        self.command(argv)
        got = self.steps('half.onnx', count, ranks if ranks > 1 else 0)
        want = self.plain(spelling, optimizer, False, k, count, ranks)
        for r in range(ranks):
            prefix = f'r{r}/' if ranks > 1 else ''
            self.judge([{n[len(prefix):]: v for n, v in o.items() if n.startswith(prefix)}
                        for o in got], want, spelling, optimizer, scale, k,
                       '--wus=1' in options or '--ar-site=boundary' in options)

    def judge(self, got, want, spelling, optimizer, scale, k, own):
        states = Step(spelling, optimizer, True, k).states
        if own:  # other states are a rank's own
            states = ['w', 'b']
        if greatest(len(got)) * 2.0 ** -k * scale > 65504:
            for o in got:
                need(not o['tlr.ls.finite'], 'an overflow is not seen')
            need(np.array_equal(got[-1]['w.new'].ravel(), [0.0, 0.5, 0.0, -0.25, 0.0, 1.0]),
                 'a skipped step has changed weights')
            self.count['skipped'] += 1
            return
        exact = 2.0 ** -k * scale >= 2.0 ** -22  # down to a quarter of it, of means and halves
        # What is f16 behind gradients is f32 with a scale: the step without one has it so, too.
        rough = {'normed': 'normed_behind'}.get(spelling, spelling)
        rough = None if exact else self.plain(rough, optimizer, True, k, len(got))
        for i, (g, w) in enumerate(zip(got, want)):
            for s in states:
                a, b = g[s + '.new'], w[s + '.new']
                if exact:
                    need(np.array_equal(a, b),
                         f'step {i}: {s} is not that of f32 gradients:\n{a}\n{b}')
                else:
                    off = np.abs(a - b).sum()
                    most = np.abs(rough[i][s + '.new'] - b).sum()
                    need(off <= most, f'step {i}: {s} is off by {off}, without a scale by {most}')
        self.count['exact' if exact else 'better'] += 1

    def tiny(self, scale, ranks=0):
        """Gradients of about 1e-8: without a scale 60 of 96 are 0. Behind f16 products of x and the
        loss's gradient, each rounded by 2^-11 of itself, and rounded sums, a gradient is off by
        at most (3 + ranks) * 2^-11 of its terms' sum."""
        rng = np.random.default_rng(7)
        values = {n: rng.normal(size=d).astype(np.float32)
                  for n, d in (('x', (8, 16)), ('target', (8, 6)), ('w', (16, 6)))}
        for name, to in (('half', F16), ('full', F32)):
            with open(os.path.join(self.folder, f'tiny_{name}.tir'), 'w', encoding='utf-8') as f:
                f.write(TINY.replace('TO', str(to)))
        options = [f'--rank-size={ranks}', f'--verify-ranks={ranks}',
                   '--is-distributed=true'] if ranks else []
        self.command(['convert', 'tiny_half.tir', '-o', 'tiny.onnx', '-O0', '--summary=none',
                      '--is-loss-scale=true', *options,
                      '--loss-scale-manager=' + json.dumps(MANAGERS['fixed'](scale))])
        given = {f'r{r}/{n}' if ranks else n: v for n, v in values.items()
                 for r in range(ranks or 1)}
        got = self.run('tiny.onnx', given)['r0/w.new' if ranks else 'w.new'] - values['w']
        want = self.run('tiny_full.tir', values)['w.new'] - values['w']
        e = values['x'] @ values['w'] - values['target']
        terms = 0.01 * np.abs(values['x'].T) @ np.abs(e)
        wrong = np.abs(got - want) > (3 + ranks) * 2.0 ** -11 * terms + 2.0 ** -21
        need(not np.any(wrong), f'{np.sum(wrong)} of 96 updates are wrong')
        self.count['exact'] += 1

    # ---- all ----
    def cases(self):
        """Every spelling with every scale, optimizers and managers in turn (--full: all)."""
        turn = itertools.cycle(itertools.product(OPTIMIZERS, MANAGERS))
        for spelling in SPELLINGS:
            for scale in SCALES:
                for pair in (itertools.product(OPTIMIZERS, MANAGERS) if self.full
                             else [next(turn)]):
                    k = 26
                    yield spelling, pair[0], scale, pair[1], k, ()
                if not spelling.startswith('table') or scale < SCALES[-1]:
                    yield spelling, next(turn)[0], scale, 'fixed', 7, ('-O0',)
            if spelling not in BOUNDS:  # which f16 could not hold
                for scale in SCALES[1:4]:
                    yield spelling, next(turn)[0], scale, 'fixed', 32, ()
        for optimizer, scale in itertools.product(OPTIMIZERS[:2], SCALES):
            yield 'masters', optimizer, scale, 'fixed', 26, ()
            yield 'masters', optimizer, scale, 'exponential', 26, ('--update-form=if', '-O0')
        for optimizer, scale, manager in itertools.product(OPS, SCALES[1:], MANAGERS):
            if self.full or manager == 'fixed':
                yield 'raw', optimizer, scale, manager, 26, ()
        forms = [('--update-form=if',), ('--tail-mode=early_local',),
                 ('--tail-mode=early_bound',), ('--compat-unscale=0', '--bad-run=1')]
        for options, spelling in itertools.product(forms, SPELLINGS):
            yield spelling, next(turn)[0], 2 ** 16, 'fixed', 26, options
        yield from self.rank_cases(turn)

    def rank_cases(self, turn):
        ways = [(), ('--average=post_mul',), ('--average=fold',), ('--ar-dtype=f32',),
                ('--ar-dtype=f32', '--average=pre_div'), ('--wus=1',), ('--flag-in-bucket=1',),
                ('--update-form=if', '-O0'), ('--is-tailing-optimization=true',
                                              '--optimizer-is-tailing-optimization=true')]
        alike = [s for s in SPELLINGS if not s.startswith(('reduced', 'shown'))]
        for ranks, options in itertools.product((2, 4), ways):
            if options == ('--wus=1',) and ranks > 2:
                continue  # two parameters
            for spelling in alike if self.full else alike[ranks // 2::3]:
                if options == ('--wus=1',) and spelling.startswith(('normed', 'table')):
                    continue
                for scale in (2 ** 8, 2 ** 20) if self.full else (2 ** 16,):
                    yield (spelling, next(turn)[0], scale, 'fixed', 26, options, ranks)
        for site in ('accum', 'boundary'):
            for spelling in ('accumulated', 'accumulated_op'):
                yield spelling, 'sgd', 2 ** 16, 'dynamic', 26, ('--ar-site=' + site,), 2


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--full', action='store_true')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(args, folder)
        tiny = [(2.0 ** i, r) for i in (14, 16, 20) for r in (0, 2, 4)]
        for case in [*tiny, *tests.cases()]:
            try:
                (tests.tiny if case in tiny else tests.scaled)(*case)
                passed += 1
            except Failed as e:
                failed += 1
                print(f'FAIL {case}: {e}')
        print(f'updates of f16 steps: {tests.count["exact"]} equal to those of f32 gradients, '
              f'{tests.count["better"]} no worse than without a scale, {tests.count["skipped"]} '
              'skipped')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
