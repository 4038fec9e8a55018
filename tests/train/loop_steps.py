#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""iterations-per-loop in numbers: one run of the model with K steps in a loop gives what K runs of
the step give, one after the other, each from the states that the last one left.

  loop_steps.py --tailor BIN [--ort DIR] [--steps K]

Losses of every step and all states are compared: bit by bit in our evaluator, and with --ort in
ONNX Runtime, which fuses nodes in a body differently, up to rounding. The loop is tried as it is,
and with collectives, buckets, tail and schedule in its body, where one rank without a mean computes
the same."""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLERANCES = {'evaluator': 0.0, 'ONNX Runtime': 1e-6}
RANKS = ['--is-distributed=true', '--rank-size=8', '--average=none', '--hw-preset=ascend910b',
         '--bucket-strategy=bytes', '--bucket-first=100', '--bucket-cap=2000',
         '--is-tailing-optimization=true', '--optimizer-is-tailing-optimization=true']
# Further options, and the models for which they are tried.
VARIANTS = {'as it is': ([], ('mlp_sgd', 'mlp_momentum', 'transformer_adam')),
            'for ranks': (RANKS, ('mlp_momentum', 'transformer_adam')),
            'in place': ([*RANKS, '--inplace-state=1'], ('mlp_sgd',))}
MODELS = ['train_mlp_sgd', 'train_mlp_momentum', 'train_transformer_adam']


# Steps that add gradients of four batches up before they update: what starts anew is chosen,
# multiplied by a remainder, or made in a branch. A largest norm and a switch go along.
ACCUMULATING = '''graph @accumulating(%x: f32[8,3], %t: f32[8,2], %v: f32[3,4] = [{v}],
    %w: f32[4,2] = [{w}], %rate: f32[] = 0.1, %micro: i64[] = 0, %acc: f32[4,2] = [{zeros}],
    %most: f32[] = 0.0, %odd: bool[] = false)
    -> (%loss, %count, %sum, %weight, %v.new, %highest, %flipped) {{
  const %k: f32[] = 0.125
  const %one: f32[] = 1.0
  const %next: i64[] = 1
  const %four: i64[] = 4
  const %none: i64[] = 0
  const %start: f32[4,2] = [{zeros}]
  %h = MatMul(%x, %v)
  %y = MatMul(%h, %w)
  %e = Sub(%y, %t)
  %sq = Mul(%e, %e)
  %loss = ReduceMean(%sq) {{keepdims=0}}
  %ge = Mul(%e, %k)
  %ht = Transpose(%h) {{perm=[1, 0]}}
  %gw = MatMul(%ht, %ge)
  %wt = Transpose(%w) {{perm=[1, 0]}}
  %gh = MatMul(%ge, %wt)
  %xt = Transpose(%x) {{perm=[1, 0]}}
  %gv = MatMul(%xt, %gh)
  %dv = Mul(%gv, %rate)
  %v.new = Sub(%v, %dv)
  %norm = ReduceL2(%gw) {{keepdims=0}}
  %highest = Max(%most, %norm)
  %flipped = Not(%odd)
  %n = Add(%micro, %next)
  %due = Equal(%n, %four)
  %all = Add(%acc, %gw)
  %dw = Mul(%all, %rate)
  %w1 = Sub(%w, %dw)
{update}}}
'''
UPDATES = {'chosen': '''  %count = Where(%due, %none, %n)
  %sum = Where(%due, %start, %all)
  %weight = Where(%due, %w1, %w)
''', 'multiplied': '''  %count = Mod(%n, %four)
  %now = Cast(%due) {to=1}
  %later = Sub(%one, %now)
  %sum = Mul(%all, %later)
  %part = Mul(%dw, %now)
  %weight = Sub(%w, %part)
''', 'in a branch': '''  %count, %sum, %weight = If(%due) {
    then_branch=graph @update() -> (%a, %b, %c) {
      %a = Identity(%none)
      %b = Identity(%start)
      %c = Identity(%w1)
    },
    else_branch=graph @wait() -> (%d, %f, %g) {
      %d = Identity(%n)
      %f = Identity(%all)
      %g = Identity(%w)
    }
  }
'''}


def accumulating(kind):
    rng = np.random.default_rng(11)
    numbers = {name: ', '.join(f'{x:.6f}' for x in rng.standard_normal(n) / 2)
               for name, n in (('v', 12), ('w', 8))}
    return ACCUMULATING.format(zeros=', '.join(['0.0'] * 8), update=UPDATES[kind], **numbers)


def command(argv, folder):
    p = guard.run(argv, cwd=folder, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f'{" ".join(argv)}: {p.returncode}\n{p.stderr}')
    return p.stdout


class Model:
    """A file and the names of its inputs and outputs."""

    def __init__(self, tool, path):
        self.tool = tool
        self.path = path
        text = command([tool, 'opt', path, '--passes=', '-q'], '.')
        head = next(line for line in text.splitlines() if line.startswith('graph '))
        inputs, outputs = head[head.index('(') + 1:].split(') -> (')
        self.inputs = [part.strip()[1:].split(':')[0] for part in split_commas(inputs)]
        self.types = [part.split(':', 1)[1].strip() for part in split_commas(inputs)]
        self.outputs = [part.strip(' {)%') for part in outputs.split(',')]
        self.states = {line.split()[1][1:]: line.split()[3][1:] for line in text.splitlines()
                       if line.startswith('  state ')}

    def run(self, folder, values, runner):
        """Outputs by name for inputs by name; others keep their defaults."""
        argv = [self.tool, 'run', self.path, '-o', 'out', '--format=npy', '-q', *runner]
        for number, (name, value) in enumerate(values.items()):
            path = os.path.join(folder, f'in{number}.npy')
            np.save(path, value)
            argv.append(f'--input={name}={path}')
        command(argv, folder)
        return {name: np.load(os.path.join(folder, 'out', f'output_{i}.npy'))
                for i, name in enumerate(self.outputs)}


def take_defaults(path, names):
    """First values of states, which the file has no longer: ONNX Runtime for Node can be handed no
    input that has a default."""
    model = onnx.load(path)
    found = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer
             if t.name in names}
    kept = [t for t in model.graph.initializer if t.name not in names]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, path)
    return found


def split_commas(text):
    """Parts between commas that stand outside of brackets."""
    parts, depth = [''], 0
    for c in text:
        depth += (c in '[(') - (c in '])')
        if c == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += c
    return parts


def draw(rng, model, data, k):
    """K values of every input that is fed step by step."""
    values = {}
    for name in data:
        dtype, shape = model.types[model.inputs.index(name)].split('[')[:2]
        dims = [int(d) for d in shape.split(']')[0].split(',') if d.strip()]
        if name == 'step':
            values[name] = np.arange(k, dtype=np.int64)
        elif dtype == 'i64':
            values[name] = rng.integers(0, 10, [k] + dims, dtype=np.int64)
        else:
            values[name] = rng.standard_normal([k] + dims).astype(np.float32)
    return values


def compare(step, loop, start, data, k, runner, folder, tolerance):
    state, losses = dict(start), []
    for i in range(k):
        out = step.run(folder, {**{n: v[i] for n, v in data.items()}, **state}, runner)
        state = {name: out[new] for name, new in step.states.items()}
        losses.append(out['loss'])
    out = loop.run(folder, {**data, **start}, runner)
    pairs = [(new, out[new], state[name]) for name, new in loop.states.items()]
    pairs += [('loss.steps', out['loss.steps'], np.array(losses)),
              ('loss', out['loss'], losses[-1])]
    wrong = []
    for name, a, b in pairs:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        worst = float(np.max(np.abs(a - b)))
        if worst > tolerance * max(1.0, float(np.max(np.abs(b)))):
            wrong.append(f'{name} by {worst:.3g}')
    if len(set(map(float, losses))) < k:
        wrong.append('losses do not change')
    return wrong


def try_loop(tool, source, steps, variant, runners):
    """(engine, what differs) of K steps in a loop against K runs of the step."""
    folder = os.path.dirname(source)
    paths = [source + suffix for suffix in ('.step.onnx', '.loop.onnx')]
    text = os.path.join(folder, 'step.tir')
    command([tool, 'opt', source, '-O0', '--graph_run_mode=1', '-o', paths[0], '-o', text], folder)
    declared = Model(tool, text)
    if source.endswith('.tir') and len(declared.states) != 6:
        raise RuntimeError(f'{source}: {len(declared.states)} states, not 6')
    start = take_defaults(paths[0], declared.states)
    step = Model(tool, paths[0])
    data = draw(np.random.default_rng(7), step,
                [n for n in step.inputs
                 if n not in declared.states and n not in ('learning_rate', 'rate')], steps)
    command([tool, 'opt', source, '-O0', f'--iterations_per_loop={steps}', '--verify-each',
             *VARIANTS[variant][0], '-o', paths[1]], folder)
    take_defaults(paths[1], declared.states)
    loop = Model(tool, paths[1])
    step.states = loop.states = declared.states
    for engine, runner in runners.items():
        yield engine, compare(step, loop, start, data, steps, runner, folder, TOLERANCES[engine])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort')
    p.add_argument('--steps', type=int, default=3)
    p.add_argument('--every', type=int, default=1, help='one of so many steps')
    args = p.parse_args()
    tool = os.path.abspath(args.tailor)
    runners = {'evaluator': []}
    if args.ort:
        node = os.path.join(os.path.abspath(args.ort), 'node_modules')
        script = os.path.join(ROOT, 'tools', 'runners', 'onnxruntime.js')
        runners['ONNX Runtime'] = [f'--runner=env NODE_PATH={node} node {script}']
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        command([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder, *MODELS],
                folder)
        tries = [(os.path.join(folder, name + '.onnx'), args.steps, variant)
                 for name in MODELS for variant in VARIANTS if name.endswith(VARIANTS[variant][1])]
        for kind in UPDATES:
            source = os.path.join(folder, kind.replace(' ', '-') + '.tir')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(accumulating(kind))
            tries += [(source, steps, 'as it is') for steps in (3, 4, 9)]
        for source, steps, variant in tries[::args.every]:
            for engine, wrong in try_loop(tool, source, steps, variant, runners):
                passed += not wrong
                failed += bool(wrong)
                if wrong:
                    print(f'FAIL {os.path.basename(source)} {steps} steps {variant} in {engine}: '
                          f'{", ".join(wrong)}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
