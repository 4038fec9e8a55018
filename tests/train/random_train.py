#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random training steps: what is recognised of them, and what the passes keep.

  random_train.py --tailor BIN [--n N] [--seed S] [--jobs J]

Each step is layers of MatMul with bias, backward by hand, weights that are shared or frozen, clips
and decay, SGD, momentum or Adam; in some, gradients of experts are added up in a group of their own
already. For each:
  every parameter and its raw gradient are found, frozen ones are not;
  the passes, tail and schedule among them, change no value of one rank (I1), leave the graph sound
  (I2) and the states as many as they were;
  another order of nodes gives the same report and trace, and with other names too the same order
  of collectives in every group (I3);
  a second run of the passes changes nothing (I4);
  the ONNX file is one for its checker and computes the same (I5);
  no stage of the schedule is slower than one before it, none beats its bound, and no bucket
  strategy gives a step that is shorter by more than a launch than that of `auto` (every
  eighth step).
`make random` tries 10,000 of them."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import onnx
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

# With 8 ranks there is a tail; the sum of one rank's gradients without a mean is what they were.
OPTIONS = ['--graph-run-mode=1', '--is-distributed=true', '--rank-size=8', '--average=none',
           '--is-tailing-optimization=true', '--optimizer-is-tailing-optimization=true']
PASSES = 'infer-shapes,train-detect,grad-allreduce,ar-bucket,tail-opt,schedule'
STRATEGIES = [['--bucket-strategy=single'], ['--bucket-strategy=none'],
              ['--bucket-strategy=default', '--bucket-pad=0'],
              ['--bucket-strategy=bytes', '--bucket-first=16', '--bucket-cap=64'],
              ['--bucket-strategy=combine', '--bucket-members=2'],
              ['--bucket-strategy=auto']]
SLACK = 0.002  # us: reports have three decimals
UNSEEN = 5  # us: a launch and an event, which the estimate by which `auto` chooses may miss


class Step:
    """Nodes of a training step; `order` shuffles what may be shuffled, `prefix` renames it all."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.nodes, self.inputs, self.outputs = [], [], []
        self.consts, self.expected, self.frozen = [], {}, []
        self.count = 0
        self.experts = self.rng.random() < 0.25
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
            if self.experts and r.random() < 0.4:
                g = self.op('npu.hcom::HcomAllReduce', [g],
                            'reduction="sum", group="experts", fusion=1, fusion_id=-1')
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
    return guard.run(argv, input=text, capture_output=True, text=True)


def fail(seed, what, detail, text):
    print(f'FAIL seed {seed}: {what}: {detail}\n{text}')
    return False


def collectives(text, back):
    """By group: operands of its collectives in the order in which they are run."""
    found = {}
    for line in text.splitlines():
        m = re.match(r'.* = npu\.hcom::HcomAllReduce\((.*?)\).*group="(\w+)"', line)
        if m:
            operands = [back(o.strip('% ')) for o in m.group(1).split(',')]
            found.setdefault(m.group(2), []).append(operands)
    return found


def states(text):
    return sum(line.startswith('  state ') for line in text.splitlines())


def opt(tailor, path, outputs, options, text=None):
    return run([tailor, 'opt', f'--passes={PASSES}', '--verify-each', path, *options,
                *(f'--output={o}' for o in outputs)], text)


def check_report(report):
    """What is wrong with the times of a step, or None."""
    times = [s['step_time'] for s in report['stages']]
    if any(b > a + SLACK for a, b in zip(times[1:], times[2:])) or times[-1] > times[0] + SLACK:
        return f'slower than before: {times}'
    if report['efficiency'] and report['efficiency'] > 1:
        return f'beats its bound: {report["efficiency"]}'
    return None


def check_strategies(tailor, path, folder, options):
    """`auto` against the other strategies: the step that the simulation sees."""
    times = []
    for strategy in STRATEGIES:
        report = os.path.join(folder, 'times.json')
        p = opt(tailor, path, [os.path.join(folder, 'times.tir')],
                [*options, *strategy, f'--schedule-report={report}'])
        if p.returncode:
            return p.stderr
        with open(report, encoding='utf-8') as f:
            times.append(json.load(f)['step_time'])
    return None if times[-1] <= min(times) + UNSEEN else f'auto takes {times[-1]} of {times}'


def check_order(tailor, step, rng, folder, options):
    """Report and trace of the same nodes in another order."""
    files = []
    for text in (step.text(), step.text(step.shuffled(rng))):
        names = [os.path.join(folder, n) for n in ('order.json', 'order.trace')]
        p = opt(tailor, '-', ['-'], [*options, f'--schedule-report={names[0]}',
                                     f'--trace={names[1]}'], text)
        if p.returncode:
            return p.stderr
        files.append([])
        for name in names:
            with open(name, encoding='utf-8') as f:
                files[-1].append(f.read())
    return None if files[0] == files[1] else f'{files[0][0]}\n{files[1][0]}'


def try_passes(tailor, step, rng, path, folder):
    """What is wrong with the rewritten step: (what, detail), or None."""
    options = [*OPTIONS, f'--hw-preset={rng.choice(["ascend910", "ascend910b", "unit"])}',
               f'--hcom-parallel={rng.choice(["true", "true", "false"])}',
               f'--tail-mode={rng.choice(["late_commit", "late"])}']
    strategy = rng.choice(STRATEGIES)
    lowering = rng.choice(['multi', 'multi', 'concat'])
    chosen = [*options, *strategy, f'--bucket-lowering={lowering}']
    made, file, report = (os.path.join(folder, n) for n in ('made.tir', 'made.onnx', 'report.json'))
    p = opt(tailor, path, [made, file], [*chosen, f'--schedule-report={report}'])
    if p.returncode:
        return 'passes', p.stderr
    with open(made, encoding='utf-8') as f:
        one = f.read()
    if states(one) != len(step.outputs) - 1:  # all but the loss
        return 'states', one
    for other in (made, file):
        p = run([tailor, 'verify', path, other, '--rtol=0', '--atol=0',
                 f'--threads={rng.randint(1, 4)}'])
        if p.returncode:
            return 'values', p.stdout + p.stderr + one
    model = onnx.load(file)
    model.ir_version = min(model.ir_version, onnx.IR_VERSION)  # nothing newer is in it
    onnx.checker.check_model(model)
    with open(report, encoding='utf-8') as f:
        wrong = check_report(json.load(f))
    if wrong:
        return 'times', wrong
    again = opt(tailor, made, ['-'], chosen)
    if again.stdout != one:
        return 'idempotence', again.stderr + again.stdout + one
    wrong = check_order(tailor, step, rng, folder, chosen)
    if wrong:
        return 'order of nodes', wrong
    renamed = step.text(step.shuffled(rng), lambda n: 'z' + n[::-1])
    moved = opt(tailor, '-', ['-'], chosen, renamed)
    a = collectives(one, lambda n: n)
    b = collectives(moved.stdout, lambda n: n[1:][::-1])
    if lowering == 'multi' and a != b:
        return 'order', f'{a}\n{b}\n{moved.stderr}'
    if step.seed % 8 == 0:
        wrong = check_strategies(tailor, path, folder, options)
        if wrong:
            return 'strategies', wrong
    return None


def try_seed(tailor, seed):
    step = Step(seed)
    text = step.text()
    with tempfile.TemporaryDirectory() as folder:
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
        try:
            wrong = try_passes(tailor, step, random.Random(seed + 1), path, folder)
        except (OSError, ValueError, onnx.checker.ValidationError, subprocess.TimeoutExpired) as e:
            wrong = (type(e).__name__, str(e))
    return fail(seed, *wrong, text) if wrong else True


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=60)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    args = p.parse_args()
    tailor = os.path.abspath(args.tailor)
    with ThreadPoolExecutor(args.jobs) as pool:
        good = sum(pool.map(lambda i: try_seed(tailor, args.seed + i), range(args.n)))
    print(f'{good} passed, {args.n - good} failed, 0 skipped')
    sys.exit(good != args.n)


if __name__ == '__main__':
    main()
