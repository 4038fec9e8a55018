#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps in two precisions: what --accelerate-train-mode writes.

  variants.py --tailor BIN [--ort DIR]

Steps of bench/make_models.py. In ONNX Runtime the high variant must compute what the step itself
does, and the low one the same within what f16 can hold; in bf16, which ONNX Runtime lacks kernels
for, `tailor verify` compares. The plan is checked against the formulas of the specification,
computed here in f32, for random totals, losses and ratios."""
import argparse
import json
import os
import random
import re
import struct
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = ('train_mlp_sgd', 'train_mlp_momentum', 'train_mlp_adam', 'train_transformer_sgd')
# f16 has 11 bits: 5e-4 of a number, of sums of some dozen products a few times that. What gradients
# change of parameters is a hundredth of them.
LOW = ('1e-2', '1e-3')
HIGH = ('1e-5', '1e-6')
# bf16 has 8 bits, and a Relu near 0 may open in one variant only: second moments hold the squares.
BF16 = '0.99'


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, good, said=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {said}')

    def skip(self, why):
        self.skipped += 1
        print(f'skipped: {why}')


def run(argv, **more):
    return guard.run(argv, capture_output=True, text=True, **more)


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def convert(tool, model, out, mode, *more):
    return run([tool, 'convert', model, '-o', out, '--accelerate-train-mode=' + mode,
                '--summary=none', *more])


LOSS = ('--observe-loss=loss', '--final-loss=0.5')


def write_variants(tally, tool, work, name):
    p = convert(tool, f'{work}/{name}.onnx', f'{work}/{name}.v.onnx', 'fast|loss', *LOSS)
    tally.check(f'{name}: is converted', p.returncode == 0, p.stderr)
    if p.returncode:
        return False
    with open(f'{work}/{name}.v.switch.json', encoding='utf-8') as f:
        plan = json.load(f)
    states = {a: b for a, b in plan['state']}
    tally.check(f'{name}: every parameter is a state',
                states.get('fc0.weight') == 'fc0.weight_out' or 'mlp' not in name, states)
    with open(f'{work}/{name}.v.low.onnx', 'rb') as f:
        low = f.read()
    with open(f'{work}/{name}.v.high.onnx', 'rb') as f:
        high = f.read()
    tally.check(f'{name}: the low variant is lowered', b'_to_float16' in low)
    tally.check(f'{name}: the high variant is not', b'_to_float16' not in high)
    return True


def compare_in_ort(tally, ort, work, names, variant, tolerance):
    listing = f'{work}/{variant}.tsv'
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines(f'{n}\t{work}/{n}.onnx\t{work}/{n}.v.{variant}.onnx\t-\n' for n in names)
    p = run(['node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing, '--ort', ort,
             '--rtol', tolerance[0], '--atol', tolerance[1]])
    said = {line.split('\t')[0]: line.split('\t')[1:] for line in p.stdout.splitlines()
            if '\t' in line}
    for n in names:
        tally.check(f'{n}: {variant} variant in ONNX Runtime', said.get(n, [''])[0] == 'ok',
                    said.get(n) or p.stderr[-500:])


def check_bf16(tally, tool, work, name):
    p = convert(tool, f'{work}/{name}.onnx', f'{work}/{name}.b.onnx', 'fast1|loss', *LOSS)
    tally.check(f'{name}: is converted to bf16', p.returncode == 0, p.stderr)
    p = run([tool, 'verify', f'{work}/{name}.b.low.onnx', f'{work}/{name}.b.high.onnx',
             '--tensors=0', '--cosine=' + BF16])
    tally.check(f'{name}: bf16 against the high variant', p.returncode == 0, p.stdout[-600:])


def check_air(tally, tool, work, name):
    """Both variants and every weight that they name."""
    p = convert(tool, f'{work}/{name}.onnx', f'{work}/air/{name}.air', 'fast|loss', *LOSS)
    tally.check(f'{name}: is converted to AIR', p.returncode == 0, p.stderr)
    for variant in ('low', 'high'):
        p = run([sys.executable, os.path.join(ROOT, 'tests/oracle/air_check.py'),
                 f'{work}/air/{name}.{variant}.air'])
        tally.check(f'{name}: {variant} AIR file', p.returncode == 0, (p.stdout + p.stderr)[-600:])


def communication(path):
    """Collectives of a .tir file in order: names and what they reduce."""
    with open(path, encoding='utf-8') as f:
        return [re.sub(r'^.*?@(\S+) (\{.*?\}).*$', r'\1 \2', line.strip()) for line in f
                if '::Hcom' in line]


def check_distributed(tally, tool, work, name):
    """Passes of training graphs run once for each variant, and give both the same states."""
    p = convert(tool, f'{work}/{name}.onnx', f'{work}/{name}.d.tir', 'fast|loss', *LOSS,
                '--is_distributed=true', '--rank_size=4', '--is_loss_scale=true',
                '--loss_scale_manager=DynamicLossScaleManager')
    tally.check(f'{name}: is distributed', p.returncode == 0, p.stderr)
    if p.returncode:
        return
    low, high = (communication(f'{work}/{name}.d.{v}.tir') for v in ('low', 'high'))
    tally.check(f'{name}: both variants communicate alike', low and low == high, (low, high))
    with open(f'{work}/{name}.d.switch.json', encoding='utf-8') as f:
        states = json.load(f)['state']
    tally.check(f'{name}: the loss scale goes on', ['tlr.ls.scale', 'tlr.ls.scale.out'] in states,
                states)


STEP = '''graph @g(%x: f32[2,2], %w: f32[2,2], %step: i64[]) -> (%loss, %w.out) {
  %y = MatMul(%x, %w)
  %loss = ReduceMean(%y) {keepdims=0}
  %t = Transpose(%x) {perm=[1, 0]}
  %g = MatMul(%t, %y)
  %s = Cast(%step) {to=1}
  %r = Sub(%loss, %s)
  %d = Mul(%g, %r)
  %w.out = Sub(%w, %d)
  state %w -> %w.out
}
'''


def check_plans(tally, tool, work):
    rng = random.Random(33)
    model = f'{work}/step.tir'
    with open(model, 'w', encoding='utf-8') as f:
        f.write(STEP)
    for i in range(24):
        by_step = i % 2 == 0
        ratio = rng.uniform(0.2, 0.9) if by_step else rng.uniform(1.01, 1.5)
        end = rng.randrange(1, 10 ** rng.randrange(1, 9)) if by_step else rng.uniform(1e-3, 20)
        pair = (['--observe-step=step', f'--total-step={end}'] if by_step else
                ['--observe-loss=loss', f'--final-loss={end!r}'])
        trigger = 'step' if by_step else 'loss'
        p = convert(tool, model, f'{work}/plan.tir', f'fast|{trigger}|{ratio!r}', *pair)
        if p.returncode:
            tally.check(f'plan {i}', False, p.stderr)
            continue
        with open(f'{work}/plan.switch.json', encoding='utf-8') as f:
            plan = json.load(f)
        at = f32(f32(end) * f32(ratio))
        at = int(at) if by_step else at
        tally.check(f'plan {i}: {end} * {ratio}',
                    f32(plan['switch_at']) == f32(at) and f32(plan['ratio']) == f32(ratio) and
                    plan['one_shot'] is True and plan['state'] == [['w', 'w.out']], plan)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort')
    args = p.parse_args()
    tool = os.path.abspath(args.tailor)
    tally = Tally()
    with tempfile.TemporaryDirectory() as work:
        check_plans(tally, tool, work)
        made = run([sys.executable, os.path.join(ROOT, 'bench/make_models.py'), work, *MODELS])
        if made.returncode:
            tally.skip('models of bench/make_models.py: ' + made.stderr.strip().splitlines()[-1])
            names = []
        else:
            os.mkdir(f'{work}/air')
            names = [n for n in MODELS if write_variants(tally, tool, work, n)]
        for n in names:
            check_bf16(tally, tool, work, n)
            check_air(tally, tool, work, n)
            check_distributed(tally, tool, work, n)
        if args.ort and names:
            compare_in_ort(tally, args.ort, work, names, 'low', LOW)
            compare_in_ort(tally, args.ort, work, names, 'high', HIGH)
        elif names:
            tally.skip('ONNX Runtime for Node is not installed')
    print(f'{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped')
    return 1 if tally.failed else 0


if __name__ == '__main__':
    sys.exit(main())
