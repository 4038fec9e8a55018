#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The training step that training_info of an ONNX model describes.

  training_info.py --tailor BIN

Models are written byte by byte (tests/hostile/wire.py). One step of the plain model is known by
hand: x=[1,2], w=[1,1], t=1 give y=3, e=2, L=4, gw=[4,8], with rate 0.1 the next w is [0.6,0.2]."""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'hostile'))
from wire import block, node, number, value  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

PREVIEW = 'ai.onnx.preview.training'


def f32(name, dims, *numbers):
    return block(5, b''.join(number(1, d) for d in dims) + number(2, 1) + block(8, name) +
                 block(9, struct.pack(f'<{len(numbers)}f', *numbers)))


def i64(name, n):
    return block(5, number(2, 7) + block(8, name) + block(9, struct.pack('<q', n)))


def pair(field, key, to):
    return block(field, (block(1, key) if key else b'') + (block(2, to) if to else b''))


NET = (node('MatMul', ['x', 'w'], ['y']) + node('Sub', ['y', 't'], ['e']) +
       node('Mul', ['e', 'e'], ['L']) + block(2, 'net') + f32('w', [2, 1], 1, 1) +
       block(11, value('x', [1, 2])) + block(11, value('t', [1, 1])) +
       block(12, value('L', [1, 1])))
PLAIN = (node('Mul', ['e', 'two'], ['ge']) + node('Transpose', ['x'], ['xt']) +
         node('MatMul', ['xt', 'ge'], ['gw']) + node('Mul', ['lr', 'gw'], ['d']) +
         node('Sub', ['w', 'd'], ['w_new']) + node('Add', ['n', 'one'], ['n_new']) +
         block(2, 'algorithm') + f32('two', [], 2) + f32('lr', [], .1) + i64('n', 0) +
         i64('one', 1) + block(12, value('w_new', [2, 1])))
BINDINGS = pair(4, 'w', 'w_new') + pair(4, 'n', 'n_new')


def names(attr, texts):
    return block(5, block(1, attr) + b''.join(block(9, t) for t in texts) + number(20, 8))


def scalar(attr, x, kind):
    body = block(4, x) if kind == 3 else b'\x15' + struct.pack('<f', x)
    return block(5, block(1, attr) + body + number(20, kind))


MOMENTUM = (node('Gradient', ['w', 'x', 't'], ['gw'], names('xs', ['w']) +
                 names('zs', ['x', 't']) + scalar('y', 'L', 3), PREVIEW) +
            node('Momentum', ['R', 'n', 'w', 'gw', 'v'], ['w_new', 'v_new'],
                 scalar('alpha', .9, 1) + scalar('beta', 1., 1) +
                 scalar('norm_coefficient', 0., 1) + scalar('mode', 'standard', 3), PREVIEW) +
            node('Add', ['n', 'one'], ['n_new']) + f32('R', [], .1) + f32('v', [2, 1], 0, 0) +
            i64('n', 0) + i64('one', 1))


def info(algorithm, bindings, more=b''):
    return block(20, more + block(2, algorithm) + bindings)


def model(infos, version=8, net=NET):
    return (number(1, version) + block(7, net) + block(8, number(2, 16)) +
            block(8, block(1, PREVIEW) + number(2, 1)) + infos)


class Run:
    def __init__(self, tailor, folder):
        self.tailor, self.folder = tailor, folder
        self.passed = self.failed = 0

    def check(self, what, good, seen=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {seen}')

    def call(self, data, command, *options):
        path = os.path.join(self.folder, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(data)
        p = guard.run([self.tailor, command, path, *options], capture_output=True,
                      text=True, cwd=self.folder)
        return p.returncode, p.stdout, p.stderr

    def step(self, data, *options):
        out = os.path.join(self.folder, 'm.tir')
        if os.path.exists(out):
            os.remove(out)
        code, _, messages = self.call(data, 'opt', '-o', out, '--graph-run-mode=1', *options)
        if code:
            return code, '', messages
        with open(out, encoding='utf-8') as f:
            return code, f.read(), messages


def steps(run):
    plain = model(info(PLAIN, BINDINGS))
    _, text, messages = run.step(plain, '--passes=infer-shapes')
    head = '(%x: f32[1,2], %t: f32[1,1], %w: f32[2,1] = [1.0, 1.0], %n: i64[] = 0)'
    run.check('states are inputs with defaults, next values outputs',
              f'graph @net{head} -> (%L, %w_new, %n_new)' in text and
              'state %w -> %w_new' in text and 'state %n -> %n_new' in text, text + messages)
    _, shown, _ = run.call(plain, 'info', '--train')
    run.check('info recognises the parameter',
              'gradient gw (MatMul)  update w_new (Sub)' in shown and
              'state   n -> n_new' in shown, shown)
    passes = '--passes=infer-shapes,train-detect,grad-allreduce'
    _, text, messages = run.step(plain, passes, '--is-distributed=true', '--rank-size=4')
    run.check('the sum of the raw gradient and its mean', 'HcomAllReduce(%gw)' in text and
              '= 4.0' in text and '%d = Mul(%lr, %gw/Div)' in text, text + messages)
    _, text, messages = run.step(model(info(MOMENTUM, BINDINGS + pair(4, 'v', 'v_new'))), passes,
                                 '--is-distributed=true', '--rank-size=4')
    run.check('Gradient and Momentum', 'HcomAllReduce(%gw)' in text and
              'Gradient(%w, %x, %t)' in text and
              '%w, %gw/Div, %v)' in text and 'W-TRN-OPAQUE' in messages,
              text + messages)
    out = os.path.join(run.folder, 'kept.onnx')
    run.call(plain, 'opt', '-o', out)
    with open(out, 'rb') as f:
        run.check('without training it is carried along', info(PLAIN, BINDINGS) in f.read())
    named = NET + block(11, value('w', [2, 1]))
    _, text, messages = run.step(model(info(PLAIN, BINDINGS), net=named), '--passes=infer-shapes')
    run.check('an initializer that is an input already', text.count('%w: f32[2,1] = ') == 1,
              text + messages)


# Runs behind PLAIN: s sums up losses, q next values of w.
LATER = (node('Add', ['s', 'L'], ['s_new']) + node('Sub', ['q', 'w'], ['q_new']) +
         node('Add', ['n', 'once'], ['k_new']) + f32('s', [1, 1], 0) + f32('q', [2, 1], 0, 0) +
         i64('k', 0) + i64('once', 1))
LATER_BINDINGS = pair(4, 's', 's_new') + pair(4, 'q', 'q_new') + pair(4, 'k', 'k_new')
AGAIN = (node('Gradient', ['w'], ['gv'], names('xs', ['w']) + scalar('y', 'L', 3), PREVIEW) +
         f32('v', [2, 1], 0, 0))


def several(run):
    """What a later one reads is what the earlier one has left: w is [0.6,0.2] and L is 0."""
    two = model(info(PLAIN, BINDINGS) + info(LATER, LATER_BINDINGS))
    _, text, messages = run.step(two, '--passes=infer-shapes')
    run.check('forward once more', 'MatMul(%x, %w)' in text and 'MatMul(%x, %w_new)' in text and
              '%s_new = Add(%s, %L_1)' in text, text + messages)
    run.check('next values', '%q_new = Sub(%q, %w_new)' in text and
              '%k_new = Add(%n_new, %once)' in text and '%n_new = Add(%n, %one)' in text,
              text + messages)
    with open(os.path.join(run.folder, 'm.tir'), 'w', encoding='utf-8') as f:
        f.write(text.replace('%x: f32[1,2]', '%x: f32[1,2] = [1.0, 2.0]')
                .replace('%t: f32[1,1]', '%t: f32[1,1] = [1.0]'))
    p = subprocess.run([run.tailor, 'run', 'm.tir', '--exact', '--json', '-o', 'out',
                        '--format=npy'], capture_output=True, text=True, check=False,
                       cwd=run.folder)
    names_out = [o['name'] for o in json.loads(p.stdout)['outputs']] if p.returncode == 0 else []
    run.check('it runs', 's_new' in names_out, p.stdout + p.stderr)
    for name, want in (('s_new', (0,)), ('q_new', (-.6, -.2)), ('L', (4,))):
        with open(os.path.join(run.folder, 'out', f'output_{names_out.index(name)}.npy'),
                  'rb') as f:
            got = struct.unpack(f'<{len(want)}f', f.read()[-4 * len(want):])
        run.check(name, all(abs(a - b) < 1e-6 for a, b in zip(got, want)), f'{got}')
    swapped = model(info(LATER, LATER_BINDINGS) + info(PLAIN, BINDINGS))
    _, text, messages = run.step(swapped, '--passes=infer-shapes')
    run.check('the other way around nothing is done twice', text.count('MatMul(%x, ') == 1 and
              '%q_new = Sub(%q, %w)' in text, text + messages)
    _, text, messages = run.step(two, '--passes=infer-shapes,train-detect,grad-allreduce',
                                 '--is-distributed=true', '--rank-size=4')
    run.check('ranks', text.count('npu.hcom::HcomAllReduce(') == 1 and 'HcomAllReduce(%gw)' in text,
              text + messages)


def refusals(run):
    cases = [
        ('no initializer', model(info(PLAIN, pair(4, 'x', 'w_new'))), 'not an initializer'),
        ('nobody', model(info(PLAIN, pair(4, 'nobody', 'w_new'))), 'not an initializer'),
        ('no next value', model(info(PLAIN, pair(4, 'w', 'nobody'))), 'nothing defines'),
        ('twice', model(info(PLAIN, BINDINGS + pair(4, 'w', 'w_new'))), 'twice'),
        ('no key', model(info(PLAIN, pair(4, '', 'w_new'))), 'lacks a name'),
        ('no value', model(info(PLAIN, pair(4, 'w', ''))), 'lacks a name'),
        ('two alike', model(info(PLAIN, BINDINGS) * 2), "'ge'"),  # equal constants may be twice
        ('one key in two', model(info(PLAIN, BINDINGS) + info(LATER, pair(4, 'w', 's_new'))),
         'twice'),
        ('a bound value of before', model(info(PLAIN, BINDINGS) +
                                          info(f32('s', [1, 1], 0), pair(4, 's', 'L'))),
         "training_info 2 binds 'L', which depends on values that an earlier"),
        ('a gradient of before', model(info(PLAIN, BINDINGS) +
                                       info(AGAIN, pair(4, 'v', 'gv'))),
         'differentiates'),
        ('more than anybody has', model(info(b'', b'') * 65), 'more than 64 training_info'),
        ('old', model(info(PLAIN, BINDINGS), version=6), 'needs ir_version 7'),
        ('clash', model(info(NET, pair(4, 'w', 'y'))), 'w'),
        ('undefined', model(info(node('Neg', ['nobody'], ['z']), b'')), 'nobody'),
        ('cut off', model(info(PLAIN[:-3], BINDINGS)), 'malformed'),
        ('cut off binding', model(info(PLAIN, block(4, b'\x0a\x7fw'))), 'malformed'),
        ('cut off info', model(block(20, b'\x12\x7f')), 'malformed'),
    ]
    for what, data, want in cases:
        code, _, messages = run.step(data, '--passes=infer-shapes')
        run.check(what, code in (1, 2, 3) and want in messages, f'{code} {messages}')
    reset = model(info(PLAIN, BINDINGS, block(1, block(2, 'reset'))))
    code, _, messages = run.step(reset, '--passes=infer-shapes')
    run.check('reset', code == 0 and 'W-TRN-RESET' in messages, messages)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(os.path.abspath(args.tailor), folder)
        steps(run)
        several(run)
        refusals(run)
    print(f'{run.passed} passed, {run.failed} failed, 0 skipped')
    return 1 if run.failed else 0


if __name__ == '__main__':
    sys.exit(main())
