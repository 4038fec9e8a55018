#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps in numbers: ranks against the joined batch, scaled losses against unscaled ones,
and what happens when a gradient overflows.

  steps.py --tailor BIN [--ort DIR] [--full] [--every K]

--full: also 8 ranks, and 100 steps beside unscaled ones (a minute)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import golden_cases  # noqa: E402
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, 'tests', 'golden', 'tail-opt')
OPTIMIZERS = ('sgd', 'momentum', 'adam')
BATCH = {'mlp': 16, 'transformer': 4}
MANAGERS = [{'type': 'FixedLossScaleManager', 'loss_scale': 1024},
            {'type': 'FixedLossScaleManager', 'loss_scale': 1024, 'drop_overflow_update': False},
            {'type': 'ExponentialUpdateLossScaleManager', 'init_loss_scale': 1024,
             'incr_every_n_steps': 5, 'decr_ratio': 0.5},
            {'type': 'DynamicLossScaleManager', 'init_loss_scale': 65536, 'scale_window': 4}]

# Example 8.1 of the specification with a moment: m.out = m + g, w.out = w - lr * m.out.
STEP = '''graph @step(%x: f32[1,2], %t: f32[1,1], %w: f32[2,1] = [1.0, 1.0],
            %m: f32[2,1] = [0.0, 0.0], %lr: f32[] = 0.1) -> (%L, %w.out, %m.out) {
  const %one: f32[] = 1.0
  const %two: f32[] = 2.0
  %y = MatMul(%x, %w)
  %e = Sub(%y, %t)
  %sq = Mul(%e, %e)
  %L = ReduceMean(%sq) {keepdims=0}
  %k = Mul(%one, %two)
  %ge = Mul(%e, %k)
  %xt = Transpose(%x)
  %gw = MatMul(%xt, %ge)
  %m.out = Add(%m, %gw)
  %d = Mul(%lr, %m.out)
  %w.out = Sub(%w, %d)
}
'''
# The same with a count of steps, by which the moment is divided.
COUNTED = (STEP.replace('%lr: f32[] = 0.1)', '%n: f32[] = 7.0, %lr: f32[] = 0.1)')
           .replace('%m.out) {', '%m.out, %n.out) {')
           .replace('%d = Mul(%lr, %m.out)',
                    '%n.out = Add(%n, %one)\n  %q = Div(%m.out, %n.out)\n  %d = Mul(%lr, %q)')
           [:-2] + ''.join(f'  state %{v} -> %{v}.out\n' for v in 'wmn') + '}\n')
# A gradient that is given: w.out = w - g.
GIVEN = '''graph @step(%g0: f32[2], %w: f32[2] = [1.0, 1.0]) -> (%L, %w.out) {
  const %one: f32[] = 1.0
  %p = Mul(%g0, %w)
  %L = ReduceSum(%p) {keepdims=0}
  %g = Mul(%g0, %one)
  %w.out = Sub(%w, %g)
  gradient %w -> %g
  state %w -> %w.out
}
'''
# Two of them, for two ranks to share.
SHARED = '''graph @step(%g0: f32[2], %h0: f32[1], %w: f32[2] = [1.0, 1.0],
            %v: f32[1] = [1.0]) -> (%L, %w.out, %v.out) {
  const %one: f32[] = 1.0
  %p = Mul(%g0, %w)
  %L = ReduceSum(%p) {keepdims=0}
  %g = Mul(%g0, %one)
  %h = Mul(%h0, %one)
  %w.out = Sub(%w, %g)
  %v.out = Sub(%v, %h)
  gradient %w -> %g
  gradient %v -> %h
  state %w -> %w.out
  state %v -> %v.out
}
'''


class Failed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Failed(what)


def is_rounding(state):
    """Adding one number to all scores of a softmax changes nothing: the gradient of the bias of
    keys is 0, and what is computed of it is rounding alone (1e-10), for which there is no
    relative error. It moves the bias itself by less than 1e-5 of its elements."""
    return state['name'].endswith('key.bias_momentum') and state['largest'] < 1e-9


class Steps:
    def __init__(self, args, folder):
        self.tool = os.path.abspath(args.tailor)
        self.full = args.full
        self.folder = folder
        self.ort = os.path.abspath(args.ort) if args.ort else None

    def command(self, argv, codes=(0,)):
        env = dict(os.environ)
        if self.ort:
            env['NODE_PATH'] = os.path.join(self.ort, 'node_modules')
        p = guard.run([self.tool, *argv], cwd=self.folder, capture_output=True,
                      text=True, cpu=300, env=env)
        need(p.returncode in codes,
             f'{" ".join(argv)}: exit {p.returncode}\n{p.stdout[-600:]}{p.stderr[-600:]}')
        return p.stdout

    def simulate(self, argv):
        return json.loads(self.command(['simulate-ranks', *argv, '--json'], (0, 5)))

    # ---- models ----
    def model(self, name):
        path = os.path.join(self.folder, name + '.onnx')
        if not os.path.exists(path):
            p = subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'),
                                self.folder, name], capture_output=True, text=True, check=False)
            need(p.returncode == 0, p.stderr)
        return path

    def ranks(self, kind, optimizer, ranks, *options):
        """Means over ranks are the gradient of the joined batch."""
        name = f'train_{kind}_{optimizer}'
        # 1e-3 for Adam: where a gradient is almost 0, the sign of its rounding moves the weight.
        # Else each error is at most 1e-5 of the greatest element of its tensor, and nothing more.
        atol = '1e-3' if optimizer == 'adam' else '0'
        got = self.simulate([self.model(name), '-n', str(ranks), '--steps=3', '--joined',
                             self.model(f'{name}_B{ranks * BATCH[kind]}'), '--rtol=1e-5',
                             f'--atol={atol}', *options])
        need(got['ranks_identical'], 'ranks differ')
        off = [s for s in got['states'] if not s['equal'] and not is_rounding(s)]
        need(not off, f'not the joined batch: {off[:3]}')
        need(got['loss']['max_rel'] <= 1e-5, f'not the loss of the joined batch: {got["loss"]}')

    def scaled(self, kind, optimizer, manager):
        """Scales that are powers of two change no bit: without other rewrites (-O0)."""
        got = self.simulate([self.model(f'train_{kind}_{optimizer}'), '-n', '1', '-O0', '--steps',
                             '100' if self.full else '20', '--rtol=0', '--atol=0',
                             '--is-loss-scale=true',
                             '--loss-scale-manager=' + json.dumps(manager)])
        need(got['equal'] and got['skipped'] == 0, f'{got["loss"]}, skipped {got["skipped"]}')

    def exploding(self, optimizer):
        """A model whose gradients overflow with a large scale: 1/n of its loss is 1000."""
        path = os.path.join(self.folder, f'exploding_{optimizer}.tir')
        if not os.path.exists(path):
            text = self.command(['opt', self.model(f'train_mlp_{optimizer}'), '--passes='])
            need(text.count(' = 0.0625\n') == 1, 'no factor 1/n in the model')
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text.replace(' = 0.0625\n', ' = 1000.0\n'))
        return path

    def overflow(self, optimizer, form):
        """A scale that makes each step overflow leaves every state as it is, on all ranks."""
        manager = {'type': 'ExponentialUpdateLossScaleManager', 'init_loss_scale': 3e38,
                   'incr_every_n_steps': 5, 'decr_every_n_nan_or_inf': 1000}
        got = self.simulate([self.exploding(optimizer), '-n', '2', '--steps', '3',
                             f'--update-form={form}', '--is-loss-scale=true',
                             '--loss-scale-manager=' + json.dumps(manager)])
        need(got['skipped'] == 3 and got['ranks_identical'], f'{got["skipped"]} of 3 are skipped')
        need(all(s['max_abs'] == 0 for s in got['states']), 'a state has changed')

    # ---- small graphs ----
    def rewrite(self, text, *options):
        """The step as ONNX, rewritten."""
        with open(os.path.join(self.folder, 'step.tir'), 'w', encoding='utf-8') as f:
            f.write(text)
        self.command(['opt', 'step.tir', '-o', 'step.onnx', '--verify-each', '-q',
                      '--is-loss-scale=true', *options])

    def run(self, runner, **values):
        """Outputs by name."""
        return self.run_file('step.onnx', runner, values)

    def run_file(self, file, runner, values):
        argv = ['run', file, '-o', 'out', '--format=npy', '--json', *runner]
        for name, value in values.items():
            path = os.path.join(self.folder, f'{name}.npy')
            np.save(path, np.array(value, np.float32))
            argv.append(f'--input={name.replace("__", "/")}={path}')
        names = [o['name'] for o in json.loads(self.command(argv))['outputs']]
        return {name: np.load(os.path.join(self.folder, 'out', f'output_{i}.npy'))
                for i, name in enumerate(names)}

    def runners(self):
        runner = os.path.join(ROOT, 'tools', 'runners', 'onnxruntime.js')
        return [['--exact']] + ([['--runner', f'node {runner}']] if self.ort else [])

    def listing(self, form):
        """Both checks of 8.1: s=8, lr=0.1."""
        manager = {'type': 'ExponentialUpdateLossScaleManager', 'init_loss_scale': 8,
                   'incr_every_n_steps': 3}
        self.rewrite(STEP, '--loss-scale-manager=' + json.dumps(manager), f'--update-form={form}')
        for runner in self.runners():
            out = self.run(runner, x=[[1, 2]], t=[[1]])
            need(out['L'] == 4 and out['tlr.ls.finite'], f'{out}')
            need(np.allclose(out['w.out'], [[0.6], [0.2]], rtol=1e-6), f'{out}')
            need(np.array_equal(out['m.out'], [[4], [8]]), f'{out}')
            need(out['tlr.ls.good.out'] == 1 and out['tlr.ls.bad.out'] == 0, f'{out}')
            out = self.run(runner, x=[[1e20, 2]], t=[[1]])
            need(not out['tlr.ls.finite'] and np.all(out['w.out'] == 1), f'{out}')
            need(np.all(out['m.out'] == 0) and out['tlr.ls.bad.out'] == 1, f'{out}')
            need(out['tlr.ls.good.out'] == 0 and out['tlr.ls.scale.out'] == 8, f'{out}')

    def one_of_two(self, status, mode):
        """8.30: overflow on one rank skips the step on both, and both scales shrink."""
        manager = {'type': 'torch_amp', 'init_scale': 8}
        self.rewrite(COUNTED, '--loss-scale-manager=' + json.dumps(manager),
                     '--is-distributed=true', '--rank-size=2', '--verify-ranks=2',
                     f'--status={status}', f'--tail-mode={mode}')
        for runner in self.runners():
            out = self.run(runner, r0__x=[[1, 2]], r0__t=[[1]], r1__x=[[1e20, 2]], r1__t=[[1]])
            for rank in ('r0/', 'r1/'):
                need(not out[rank + 'tlr.ls.finite'], f'{out}')
                need(np.all(out[rank + 'w.out'] == 1), f'{out}')
                need(np.all(out[rank + 'm.out'] == 0) and out[rank + 'n.out'] == 7, f'{out}')
                need(out[rank + 'tlr.ls.scale.out'] == 4, f'{out}')
            out = self.run(runner, r0__x=[[1, 2]], r0__t=[[1]], r1__x=[[1, 2]], r1__t=[[1]])
            for rank in ('r0/', 'r1/'):
                need(out[rank + 'tlr.ls.finite'] and out[rank + 'n.out'] == 8, f'{out}')
                need(np.array_equal(out[rank + 'm.out'], [[4], [8]]), f'{out}')

    def is_finite(self):
        """8.31: an infinity is found; zeros of large numbers add up to zero."""
        self.rewrite(GIVEN, '--loss-scale-manager={"type":"FixedLossScaleManager","loss_scale":1}')
        for runner in self.runners():
            for value, finite in (([1, np.inf], False), ([np.nan, 1], False), ([1, -np.inf], False),
                                  ([1e38, 1e38], True), ([3e38, -3e38], True)):
                out = self.run(runner, g0=value)
                need(bool(out['tlr.ls.finite']) == finite, f'{value}: {out}')

    def sum_overflows(self, mode, finite):
        """3.4: what each predicate says when local gradients are finite and their sum is not."""
        self.rewrite(GIVEN, '--loss-scale-manager={"type":"FixedLossScaleManager","loss_scale":1}',
                     '--is-distributed=true', '--rank-size=2', '--verify-ranks=2',
                     f'--tail-mode={mode}')
        for runner in self.runners():
            out = self.run(runner, r0__g0=[3e38, 1], r1__g0=[3e38, 1])
            need(bool(out['r0/tlr.ls.finite']) == finite, f'{mode}: {out}')
            need(finite or np.all(out['r1/w.out'] == 1), f'{mode}: {out}')
            out = self.run(runner, r0__g0=[1, 2], r1__g0=[3, 4])
            need(bool(out['r0/tlr.ls.finite']) and np.array_equal(out['r1/w.out'], [-1, -2]),
                 f'{mode}: {out}')

    def shard_overflows(self, mode, status):
        """A sum that one rank alone has overflows: all ranks skip the step."""
        self.rewrite(SHARED, '--loss-scale-manager={"type":"FixedLossScaleManager","loss_scale":1}',
                     '--is-distributed=true', '--rank-size=2', '--verify-ranks=2', '--wus=1',
                     f'--tail-mode={mode}', f'--status={status}')
        fine = {'r0__g0': [1, 2], 'r1__g0': [3, 4], 'r0__h0': [1], 'r1__h0': [5]}
        for runner in self.runners():
            for bad in ({}, {'r0__g0': [3e38, 1], 'r1__g0': [3e38, 1]},
                        {'r0__h0': [3e38], 'r1__h0': [3e38]}, {'r1__h0': [np.nan]},
                        {'r0__g0': [np.inf, 1]}):
                out = self.run(runner, **{**fine, **bad})
                for rank in ('r0/', 'r1/'):
                    want = ([1, 1], [1]) if bad else ([-1, -2], [-2])
                    need(bool(out[rank + 'tlr.ls.finite']) == (not bad), f'{bad}: {out}')
                    need(np.array_equal(out[rank + 'w.out'], want[0]) and
                         np.array_equal(out[rank + 'v.out'], want[1]), f'{bad}: {out}')

    def exported(self, *options):
        """The ranks of a model side by side, in ONNX Runtime as in the evaluator."""
        if not self.ort:
            return
        runner = self.runners()[1]
        self.command(['convert', self.model('train_transformer_sgd'), '-o', 'ranks.onnx', '-q',
                      '--is-distributed=true', '--rank-size=2', '--verify-ranks=2',
                      *(options or ('--is-loss-scale=true', '--loss-scale-manager=torch_amp')),
                      '--summary=none'])
        self.command(['verify', 'ranks.onnx', 'ranks.onnx', *runner, '--atol=1e-5', '--rtol=1e-3'])

    def tail(self, name, count):
        """A golden of tail-opt computes the same as before, but for rounding: Adagrad divides by
        the root of what may be almost 0."""
        case = golden_cases.read(os.path.join(GOLDEN, name)).cases[0]
        before, after = case.module, case.after
        for side, text in (('before', before), ('after', after)):
            with open(os.path.join(self.folder, f'{side}.tir'), 'w', encoding='utf-8') as f:
                f.write(text)
        argv = ['verify', 'before.tir', 'after.tir', '--rtol=1e-3', '--atol=1e-5']
        if '%t: i64' in before:
            np.save(os.path.join(self.folder, 't.npy'),
                    np.array([count] if '%t: i64[1]' in before else count, np.int64))
            argv.append('--input=t=t.npy')
        self.command(argv)

    def initial(self, everything):
        """2.2: what rank 0 starts from reaches all ranks, bit by bit; one rank keeps its own."""
        bare = STEP.replace(' = [1.0, 1.0]', '').replace(' = [0.0, 0.0]', '')  # to be fed anywhere
        bare = bare[:-2] + '  state %w -> %w.out\n  state %m -> %m.out\n}\n'
        with open(os.path.join(self.folder, 'bare.tir'), 'w', encoding='utf-8') as f:
            f.write(bare)
        for ranks in (0, 2, 3):
            self.command(['convert', 'bare.tir', '-o', 'bare.onnx', '--summary=none',
                          '--is-distributed=true', f'--rank-size={ranks or 8}',
                          f'--verify-ranks={ranks}', f'--broadcast-states={int(everything)}'])
            names = ['w', 'm'] if everything else ['w']
            prefixes = [f'r{k}__' for k in range(ranks)] or ['']
            values = {p + n: [[k + 0.5], [i - 3e-39]] for k, p in enumerate(prefixes)
                      for i, n in enumerate(names)}
            for runner in self.runners():
                out = self.run_file('bare.init.onnx', runner, values)
                need(len(out) == len(values), f'{len(values)} states, {list(out)}')
                for name, value in out.items():
                    root = name.rpartition('/')[2].partition('.')[0]
                    want = np.array(values[prefixes[0] + root], np.float32)
                    need(np.array_equal(value, want), f'{ranks} ranks: {name}')

    # ---- all ----
    def cases(self):
        for kind in ('mlp', 'transformer'):
            for optimizer in OPTIMIZERS:
                for ranks in (1, 2, 4, 8) if self.full else (1, 2, 4):
                    yield (f'{ranks} ranks, {kind}, {optimizer}', self.ranks, kind, optimizer,
                           ranks)
                for i, manager in enumerate(MANAGERS):
                    if self.full or (i + len(optimizer) + len(kind)) % 2 or kind == 'mlp':
                        yield (f'scaled, {kind}, {optimizer}, {manager["type"]}', self.scaled, kind,
                               optimizer, manager)
        scaled = ('--is-loss-scale=true', '--loss-scale-manager=torch_amp')
        for options in (('--average=fold', *scaled), ('--average=fold',), ('--average=post_mul',),
                        ('--average=pre_div', *scaled), ('--rank-size=0', *scaled),
                        ('--flag-in-bucket=1', '--bucket-strategy=single', *scaled),
                        ('--bucket-strategy=none', '--bucket-lowering=concat', *scaled)):
            yield f'ranks, {" ".join(options)}', self.ranks, 'mlp', 'momentum', 2, *options
        for optimizer in OPTIMIZERS:
            for ranks in (2, 4):
                yield (f'{ranks} ranks, shards, {optimizer}', self.ranks, 'mlp', optimizer, ranks,
                       '--wus=1')
        yield ('shards, scaled', self.ranks, 'transformer', 'adam', 2, '--wus=1',
               '--tail-mode=early_local', *scaled)
        for mode, status in (('late', 'isfinite'), ('late_commit', 'isfinite'),
                             ('late_commit', 'npu')):
            yield f'shards overflow, {mode}, {status}', self.shard_overflows, mode, status
            yield (f'shards, scaled, {mode}, {status}', self.ranks, 'mlp', 'adam', 2, '--wus=1',
                   f'--tail-mode={mode}', f'--status={status}', *scaled)
        yield 'shards, exported', self.exported, '--wus=1'
        for form in ('where', 'if'):
            for optimizer in OPTIMIZERS:
                yield f'overflow, {optimizer}, {form}', self.overflow, optimizer, form
            yield f'listing, {form}', self.listing, form
        for status in ('isfinite', 'npu'):
            yield f'one of two, {status}', self.one_of_two, status, 'late'
        yield 'one of two, early', self.one_of_two, 'isfinite', 'early_local'
        yield 'is finite', self.is_finite
        for mode, finite in (('early_local', True), ('early_bound', False), ('late', False),
                             ('late_commit', False)):
            yield f'sum overflows, {mode}', self.sum_overflows, mode, finite
        yield 'initial values', self.initial, True
        yield 'initial values of parameters', self.initial, False
        yield 'exported', self.exported
        for name in sorted(os.listdir(GOLDEN)):
            if name.startswith(('decomposed-', 'norm-', 'clipped-')):
                for count in (0, 3):
                    yield f'{name} at step {count}', self.tail, name, count


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--ort')
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--every', type=int, default=1, help='one of so many cases')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, check, *values in list(Steps(args, folder).cases())[::args.every]:
            try:
                check(*values)
                passed += 1
            except (Failed, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f'FAIL {name}: {e}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
