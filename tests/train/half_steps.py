#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Loss scaling of steps that compute in f16 by casts of their own, against the same step in f32.

  half_steps.py --tailor BIN [--full]

Forward and backward are f16, weights and updates f32 (or f16 as well, in some). Elements are small
whole numbers times 2^-K, so that f16 backward is exact as long as it neither overflows nor
underflows, and an update has to be the f32 step's bit by bit (within f32 rounding where fusions
compute in another order, that is, without -O0). With K = 26 all gradients underflow without a
scale: where the scale does not suffice the error is at most that of the step without one. Where it
is too much, the step is skipped.
--full takes every spelling with every optimizer, scale and manager, and three steps each."""
import argparse
import itertools
import json
import os
import sys
import tempfile

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from half_step_text import F16, F32, IN, OPS, OUT, OPTIMIZERS, ROWS, SPELLINGS, Step

SCALES = [1, 2 ** 4, 2 ** 8, 2 ** 12, 2 ** 16, 2 ** 20]


class Failed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Failed(what)


BOUNDS = ('table_bounded', 'bounded', 'bounded_behind', 'normed', 'normed_behind',
          'cast_in_rounds', 'chosen', 'unit', 'unit_behind')
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
        p = guard.run([self.tool, *argv], cwd=self.folder, capture_output=True, text=True)
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
            self.command(['convert', 'plain.tir', '-o', file, '--summary=none', '-O0',
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
        # Fusions round an update elsewhere, which has nothing to do with the scale.
        argv = ['convert', 'half.tir', '-o', 'half.onnx', '--summary=none', '--numerics=exact',
                '--is-loss-scale=true',
                '--loss-scale-manager=' + json.dumps(MANAGERS[manager](scale)), *options]
        if ranks > 1:
            argv += ['--is-distributed=true', f'--rank-size={ranks}', f'--verify-ranks={ranks}']
        self.command(argv)
        got = self.steps('half.onnx', count, ranks if ranks > 1 else 0)
        want = self.plain(spelling, optimizer, False, k, count, ranks)
        for r in range(ranks):
            prefix = f'r{r}/' if ranks > 1 else ''
            self.judge([{n[len(prefix):]: v for n, v in o.items() if n.startswith(prefix)}
                        for o in got], want, spelling, optimizer, scale, k, options)

    def is_rounding(self, a, b, options):
        """What fusions make of an optimizer multiplies in another order: some dozen operations, of
        which each may be off by 2^-24 of what it has."""
        return '-O0' not in options and np.abs(a - b).max() <= 16 * 2.0 ** -24 * np.abs(b).max()

    def judge(self, got, want, spelling, optimizer, scale, k, options):
        states = Step(spelling, optimizer, True, k).states
        if {'--wus=1', '--ar-site=boundary'} & set(options):  # others are a rank's own
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
        rough = spelling.replace('_in_f16', '')
        rough += '_behind' * (rough in ('normed', 'unit', 'reduced', 'reduced_later'))
        rough = None if exact else self.plain(rough, optimizer, True, k, len(got))
        for i, (g, w) in enumerate(zip(got, want)):
            for s in states:
                a, b = g[s + '.new'], w[s + '.new']
                if exact:
                    need(np.array_equal(a, b) or self.is_rounding(a, b, options),
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

    def simulated(self, ranks, scale, *options):
        """simulate-ranks: the scaled step of several ranks against the unscaled f16 step on the
        joined batch. One rank: the same bits, as nothing underflows here. Else each rank's gradient
        is rounded by 2^-11 in its products' factor and result and in each sum over ranks, and so
        is the joined one: (ranks + 4) * 2^-11 of the greatest, in every step."""
        for rows in (8, 8 * ranks):
            text = TINY.replace('TO', str(F16)).replace('[8,', f'[{rows},')
            for old, new in (('5e-09', 0.5 / rows), ('1e-08', 1.0 / rows), ('1e+06', 0.125)):
                text = text.replace(f' {old}', f' {new}')
            with open(os.path.join(self.folder, f'batch{rows}.tir'), 'w', encoding='utf-8') as f:
                f.write(text)
        steps = 4 if self.full else 2
        bound = 0 if ranks == 1 else steps * (ranks + 4) * 2.0 ** -11
        p = self.command(['simulate-ranks', 'batch8.tir', '-n', str(ranks), '--steps', str(steps),
                          '--joined', f'batch{8 * ranks}.tir', f'--rtol={bound}', '--atol=0',
                          '--json', '-O0', '--is-loss-scale=true', *options,
                          '--loss-scale-manager=' + json.dumps(MANAGERS['dynamic'](scale))])
        got = json.loads(p.stdout)
        need(got['equal'] and got['ranks_identical'] and got['skipped'] == 0, p.stdout)

    # ---- all ----
    def cases(self):
        """Every spelling with every scale, optimizers and managers in turn (--full: all)."""
        turn = itertools.cycle(itertools.product(OPTIMIZERS, MANAGERS))
        for spelling in SPELLINGS:
            for scale in SCALES:
                for pair in (itertools.product(OPTIMIZERS, MANAGERS) if self.full
                             else [next(turn)]):
                    k = 26
                    yield spelling, pair[0], scale, pair[1], k, ('-O0',)
                if not spelling.startswith('table') or scale < SCALES[-1]:
                    yield spelling, next(turn)[0], scale, 'fixed', 7, ()
            if spelling not in BOUNDS:  # which f16 could not hold
                for scale in SCALES[1:4]:
                    yield spelling, next(turn)[0], scale, 'fixed', 32, ('-O0',)
        for optimizer, scale in itertools.product(OPTIMIZERS[:2], SCALES):
            yield 'masters', optimizer, scale, 'fixed', 26, ()
            yield 'masters', optimizer, scale, 'exponential', 26, ('--update-form=if', '-O0')
        for optimizer, scale, manager in itertools.product(OPS, SCALES[1:], MANAGERS):
            if self.full or manager == 'fixed':
                yield 'raw', optimizer, scale, manager, 26, ('-O0',)
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
        cases = [(tests.tiny, 2.0 ** i, r) for i in (14, 16, 20) for r in (0, 2, 4)]
        cases += [(tests.simulated, r, 2.0 ** i, *o) for r in (1, 2, 4) for i in (0, 4, 10)
                  for o in ((), ('--average=post_mul',), ('--ar-dtype=f32',),
                            ('--update-form=if',))]
        for check, *case in [*cases, *((tests.scaled, *c) for c in tests.cases())]:
            try:
                check(*case)
                passed += 1
            except Failed as e:
                failed += 1
                print(f'FAIL {check.__name__} {case}: {e}')
        print(f'updates of f16 steps: {tests.count["exact"]} equal to those of f32 gradients, '
              f'{tests.count["better"]} no worse than without a scale, {tests.count["skipped"]} '
              'skipped')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
