#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps whose updates are written in many ways: each is recognised, or refused by name.

  recognised.py --tailor BIN

Equal: the scaled step changes no bit, and two ranks make what one makes of both batches; so it is
for the steps in recognised/, and for the updates below. Refused: what is scaled, or one rank's own,
reaches a parameter by a way that nobody knows; the message names it, the way and --train-spec."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SCALE = ['--is-loss-scale=true',
         '--loss-scale-manager={"type":"FixedLossScaleManager","loss_scale":1024}']
RANKS = ['--is-distributed=true', '--rank-size=4']

STEP = '''graph @step(%x: f32[8,3], %t: f32[8,2], %v: f32[3,4] = RANDOM, %w: f32[4,2] = RANDOM,
    %rate: f32[] = 0.1, %p: f32[3,3] = RANDOM, %m: f32[3,4] = ZEROS, %on: bool[] = true)
    -> (%L, %w.new, OUTPUTS) {
  const %k: f32[] = 0.125
  const %half: f32[] = 0.5
  const %one: f32[] = 1.0
  const %zero: i64[1] = [0]
  const %two: i64[1] = [2]
  const %three: i64[1] = [3]
  const %flat: i64[1] = [-1]
  const %dims: i64[2] = [3, 4]
  %h = MatMul(%x, %v)
  %r = Tanh(%h)
  %y = MatMul(%r, %w)
  %e = Sub(%y, %t)
  %sq = Mul(%e, %e)
  %L = ReduceMean(%sq) {keepdims=0}
  %ge = Mul(%e, %k)
  %rt = Transpose(%r) {perm=[1, 0]}
  %gw = MatMul(%rt, %ge)
  %wt = Transpose(%w) {perm=[1, 0]}
  %gr = MatMul(%ge, %wt)
  %rr = Mul(%r, %r)
  %or = Sub(%one, %rr)
  %gh = Mul(%gr, %or)
  %xt = Transpose(%x) {perm=[1, 0]}
  %g = MatMul(%xt, %gh)
  %dw = Mul(%gw, %rate)
  %w.new = Sub(%w, %dw)
UPDATE}
'''
PLAIN = '%d = Mul(%g, %rate); %v.new = Sub(%v, %d)'
EQUAL = {
    'plain': PLAIN,
    'product with a matrix': '%q = MatMul(%p, %g); %d = Mul(%q, %rate); %v.new = Sub(%v, %d)',
    'Einsum': '%q = Einsum(%p, %g) {equation="ij,jk->ik"}; %d = Mul(%q, %rate); '
              '%v.new = Sub(%v, %d)',
    'norms': '%nv = ReduceL2(%v) {keepdims=0}; %ng = ReduceL2(%g) {keepdims=0}; '
             '%q = Div(%nv, %ng); %s = Mul(%q, %rate); %d = Mul(%g, %s); %v.new = Sub(%v, %d)',
    'signs': '%s = Sign(%g); %d = Mul(%s, %rate); %v.new = Sub(%v, %d)',
    'squashed': '%a = Abs(%g); %b = Add(%a, %one); %q = Div(%g, %b); %d = Mul(%q, %rate); '
                '%v.new = Sub(%v, %d)',
    'centered': '%mean = ReduceMean(%g, %zero); %q = Sub(%g, %mean); %d = Mul(%q, %rate); '
                '%v.new = Sub(%v, %d)',
    'normalized weight': '%d = Mul(%g, %rate); %n = Sub(%v, %d); %l = ReduceL2(%n) {keepdims=0}; '
                         '%v.new = Div(%n, %l)',
    'least weight': '%d = Mul(%g, %rate); %n = Sub(%v, %d); %v.new = Max(%n, %half)',
    'moment in a branch': '''%v.new, %m.new = If(%on) {
    then_branch=graph @a() -> (%n, %m2) {
      %m1 = Mul(%m, %half)
      %m2 = Add(%m1, %g)
      %d = Mul(%m2, %rate)
      %n = Sub(%v, %d)
    },
    else_branch=graph @b() -> (%o, %q) {
      %o = Identity(%v)
      %q = Identity(%m)
    }
  }''',
    'last gradient': '%c = Sub(%g, %m); %s = Add(%g, %c); %d = Mul(%s, %rate); '
                     '%v.new = Sub(%v, %d); %m.new = Identity(%g)',
    'view': '%g1 = Reshape(%g, %flat); %v1 = Reshape(%v, %flat); %d = Mul(%g1, %rate); '
            '%n = Sub(%v1, %d); %v.new = Reshape(%n, %dims)',
    'transposed': '%g1 = Transpose(%g) {perm=[1, 0]}; %v1 = Transpose(%v) {perm=[1, 0]}; '
                  '%d = Mul(%g1, %rate); %n = Sub(%v1, %d); %v.new = Transpose(%n) {perm=[1, 0]}',
    'other outputs': PLAIN + '; %vt = Transpose(%v) {perm=[1, 0]}; %dx = MatMul(%gh, %vt); '
                             '%norm = ReduceL2(%gh) {keepdims=0}',
}
# What is wrong of the step, and the options that show it.
REFUSED = {
    'joined': ('''%ga = Reshape(%g, %flat); %gb = Reshape(%gw, %flat);
  %gs = Concat(%ga, %gb) {axis=0};
  %va = Reshape(%v, %flat); %vb = Reshape(%w, %flat); %vs = Concat(%va, %vb) {axis=0};
  %d = Mul(%gs, %rate); %n = Sub(%vs, %d); const %sizes: i64[2] = [12, 8];
  %n1, %n2 = Split(%n, %sizes) {axis=0}; %v.new = Reshape(%n1, %dims)''', RANKS),
    'rows': ('''const %at: i64[2,1] = [0, 2]; %ga = GatherND(%g, %at); %va = GatherND(%v, %at);
  %d = Mul(%ga, %rate); %n = Sub(%va, %d); %v.new = ScatterND(%v, %at, %n)''', RANKS),
    'part': ('''%ga = Slice(%g, %zero, %two, %zero); %va = Slice(%v, %zero, %two, %zero);
  %vb = Slice(%v, %two, %three, %zero); %d = Mul(%ga, %rate); %n = Sub(%va, %d);
  %next = Concat(%n, %vb) {axis=0}''', RANKS),
    'unknown op': ('%next = com.acme::Step(%v, %g, %rate) : f32[3,4]', RANKS),
    'loop': ('''const %times: i64[] = 2;
  %v.new = Loop(%times, _, %v) {body=graph @l(%i: i64[], %c: bool[], %u: f32[3,4]) -> (%c2, %u2) {
      %d = Mul(%g, %rate)
      %u2 = Sub(%u, %d)
      %c2 = Identity(%c)
    }
  }''', RANKS),
    'factor': ('%n = ReduceL2(%gh) {keepdims=0}; %q = Div(%rate, %n); %d = Mul(%g, %q); '
               '%v.new = Sub(%v, %d)', RANKS),
    'noise': ('%n = RandomNormalLike(%v); %d = Mul(%g, %rate); %u = Sub(%v, %d); '
              '%v.new = Add(%u, %n)', RANKS),
    'scaled factor': ('%n = ReduceL2(%gh) {keepdims=0}; %q = Div(%rate, %n); %d = Mul(%g, %q); '
                      '%v.new = Sub(%v, %d)', SCALE),
    'scaled square': (PLAIN + '; %square = ReduceSumSquare(%gh) {keepdims=0}', SCALE),
}


def step_of(update):
    lines = [line.strip('; ') for line in re.split(r';\s+', update)]
    made = [name for line in lines for name in re.findall(r'%([\w.]+)', line.split(' = ')[0])]
    outputs = [name for name in made
               if name.endswith('.new') or name in ('next', 'dx', 'norm', 'square')]
    return (STEP.replace('OUTPUTS', ', '.join('%' + name for name in outputs))
            .replace('UPDATE', ''.join(f'  {line}\n' for line in lines)))


def fill(text):
    """Values for the tensors of a step, the same for the same text."""
    rng = np.random.default_rng(3)

    def values(match):
        dims = [int(d) for d in match.group(1).split(',')]
        data = rng.standard_normal(dims) / 2 if match.group(2) == 'RANDOM' else np.zeros(dims)
        return f'f32[{match.group(1)}] = hex("{data.astype(np.float32).tobytes().hex()}")'

    return re.sub(r'f32\[([\d,]+)\] = (RANDOM|ZEROS)', values, text)


def joined(text):
    """The same step for the batches of two ranks."""
    text = text.replace('f32[8,', 'f32[16,').replace('i64[8]', 'i64[16]')
    return re.sub(r'= (-?)0\.125$', r'= \g<1>0.0625', text, flags=re.M)


def run(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def check_equal(tool, path, text):
    wrong = []
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    with open(path + '.joined.tir', 'w', encoding='utf-8') as file:
        file.write(joined(text))
    tries = {'scaled': ['-n', '1', '-O0', '--rtol=0', '--atol=0', '--steps=2', *SCALE],
             'ranks': ['-n', '2', '--steps=2', '--joined', path + '.joined.tir'],
             'both': ['-n', '2', '--steps=2', '--joined', path + '.joined.tir', *SCALE]}
    for what, options in tries.items():
        p = run([tool, 'simulate-ranks', path, *options])
        if p.returncode:
            wrong.append(f'{what}: {p.returncode} {p.stdout}{p.stderr}')
    p = run([tool, 'info', path, '--train'])
    if ' 0 frozen' not in p.stdout or 'untold' in p.stdout:
        wrong.append(p.stdout)
    return wrong


def check_refused(tool, path, text, options):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    out = path + '.onnx'
    p = run([tool, 'convert', path, '-o', out, '-q', *options])
    code = 'E-TRN-LOCAL' if options is RANKS else 'E-TRN-SCALED'
    named = 'node square:' if 'square' in text else 'node v:'
    good = (p.returncode == 3 and code in p.stderr and named in p.stderr and ' -> ' in p.stderr
            and '--train-spec' in p.stderr and not os.path.exists(out))
    return [] if good else [f'{p.returncode} {p.stderr}']


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tool = os.path.abspath(p.parse_args().tailor)
    steps = {name: step_of(update) for name, update in EQUAL.items()}
    folder = os.path.join(HERE, 'recognised')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            steps[name] = file.read()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, 'step.tir')
        results = [(name, check_equal(tool, path, fill(text))) for name, text in steps.items()]
        results += [(name, check_refused(tool, path, fill(step_of(update)), options))
                    for name, (update, options) in REFUSED.items()]
    for name, wrong in results:
        passed += not wrong
        failed += bool(wrong)
        for line in wrong:
            print(f'FAIL {name}: {line}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
