#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""verify --layers --dumps: what a device recorded, compared with the model.

  dumps.py --tailor BIN

No device is needed: a model with one wrong node plays the device. Its tensors are written under the
names that GE gives to dumps. The wrong node must be ranked first, whether its tensor comes as .npy
or as .bin, and nothing may be ranked when the device is right. Then: what folders, names, shapes
and lists may have wrong. The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import json
import os
import shutil
import sys
import tempfile

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

RIGHT = '''graph @g(%x: f32[4,8], %w: f32[8,8]) -> (%z) {
  %h = MatMul(%x, %w) @"net/h.0"
  %t = Tanh(%h) @"net/t"
  %u = MatMul(%t, %w) @"net/u"
  %s = Sigmoid(%u) @"net/s"
  %z = MatMul(%s, %w) @"net/z"
}
'''
NAMES = {'net/h.0': 'MatMul.net_h_0', 'net/t': 'Tanh.net_t', 'net/u': 'MatMul.net_u',
         'net/s': 'Sigmoid.net_s', 'z': 'MatMul.net_z'}


class Device:
    """A folder with both models, inputs, and dumps of the one that plays the device."""

    def __init__(self, tailor, folder):
        self.tailor, self.folder = tailor, folder
        rng = np.random.default_rng(3)
        self.given = []
        for name, shape in (('x', (4, 8)), ('w', (8, 8))):
            np.save(self.at(name + '.npy'), rng.standard_normal(shape).astype(np.float32))
            self.given.append(f'--input={name}={name}.npy')
        self.write('right.tir', RIGHT)
        self.write('wrong.tir', RIGHT.replace('Sigmoid', 'HardSigmoid'))
        for name in ('right', 'wrong'):
            self.run('convert', f'{name}.tir', '-q', '-o', f'{name}.air')
            self.run('run', f'{name}.air', '-q', f'--dump-tensors={name}', '--format=npy',
                     *self.given)

    def at(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.at(name), 'w', encoding='utf-8') as f:
            f.write(text)

    def run(self, *words):
        return guard.run([self.tailor, *words], cwd=self.folder, capture_output=True,
                         text=True, check=False)

    def dump(self, source, stream=True, as_bin=()):
        """Makes the folder `dev`, as GE writes one."""
        shutil.rmtree(self.at('dev'), ignore_errors=True)
        os.makedirs(self.at('dev/20260101/0/model'))
        with open(self.at(f'{source}/index.json'), encoding='utf-8') as f:
            files = {tensor: file for file, tensor in json.load(f).items()}
        for tensor, name in NAMES.items():
            to = f'dev/20260101/0/model/{name}.3{".7" if stream else ""}.1699.output.0'
            values = np.load(self.at(f'{source}/{files[tensor]}'))
            if tensor in as_bin:
                values.tofile(self.at(to + '.bin'))
            else:
                np.save(self.at(to + '.npy'), values)

    def verify(self, *more, second=('right.air',)):
        return self.run('verify', 'right.tir', *second, '--layers', '--dumps=dev', '--json',
                        *self.given, *more)


def first(p):
    """The tensor that is ranked first; None: none is."""
    found = json.loads(p.stdout)['layers']
    return found['compared'], (found['culprits'] or [None])[0]


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, holds, what):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f'FAIL {what}', flush=True)


def check_ranks(d, t):
    for what, options in (('.npy', {}), ('.bin', {'as_bin': ('net/s',)}),
                          ('names without a stream', {'stream': False})):
        d.dump('wrong', **options)
        p = d.verify()
        t.check(p.returncode == 5 and first(p) == (5, 'net/s'), f'{what}: {p.stderr}')
    p = d.verify(second=('--npu',))
    t.check(p.returncode == 5 and first(p)[1] in ('s', 'net/s'), f'--npu: {p.stderr}')
    d.dump('right')
    p = d.verify()
    t.check(p.returncode == 0 and first(p) == (5, None), f'the right device: {p.stderr}')


def check_partial(d, t):
    """Of some dumps the rest says nothing; another layout is counted; a second run is told."""
    d.dump('wrong')
    where = 'dev/20260101/0/model/'
    os.remove(d.at(where + 'MatMul.net_z.3.7.1699.output.0.npy'))
    blocks = np.zeros((1, 1, 4, 8, 16), np.float16)
    np.save(d.at(where + 'Tanh.net_t.3.7.1699.output.0.npy'), blocks)
    np.save(d.at(where + 'Sigmoid.net_s.3.7.1700.output.0.npy'), np.zeros((4, 8), np.float32))
    np.save(d.at(where + 'Data.x.3.7.1699.input.0.npy'), np.zeros((4, 8), np.float32))
    p = d.verify()
    found = json.loads(p.stdout)
    t.check(found['layers']['other_shape'] == 1 and first(p) == (3, 'net/s'), 'layouts')
    t.check('1 files are of other nodes or of inputs, 1 files are of tensors that an earlier' in
            found['note'], f'note: {found["note"]}')


def check_wrong(d, t):
    d.dump('wrong', as_bin=('net/s',))
    name = 'Sigmoid.net_s.3.7.1699.output.0.bin'
    cases = ((('--dump-shapes=s.txt',), f'{name} f16[8,8]', 5, ''),
             (('--dump-shapes=s.txt',), f'{name} f32[8,8]', 2, 'has 128 bytes, its type needs 256'),
             (('--dump-shapes=s.txt',), f'{name} f32[4', 2, 'not the type of a tensor'),
             (('--dump-shapes=s.txt',), f'{name} f99[4,8]', 2, 'not the type of a tensor'),
             (('--dump-shapes=s.txt',), f'{name} f32[-4,8]', 2, 'not the type of a tensor'),
             (('--dump-shapes=none.txt',), '', 4, 'none.txt'))
    for more, text, status, says in cases:
        d.write('s.txt', text + '\n')
        p = d.verify(*more)
        t.check(p.returncode == status and says in p.stderr, f'{text}: {p.returncode} {p.stderr}')
    os.mkdir(d.at('empty'))
    for words, status, says in ((('--layers', '--dumps=empty'), 1, 'no file is a result'),
                                (('--layers', '--dumps=absent'), 4, 'cannot open the folder'),
                                (('--dumps=dev',), 1, 'without --layers'),
                                (('--layers', '--dump-shapes=s.txt'), 1, 'without --dumps')):
        p = d.run('verify', 'right.tir', 'right.air', *d.given, *words)
        t.check(p.returncode == status and says in p.stderr, f'{words}: {p.returncode} {p.stderr}')
    p = d.run('verify', 'right.tir', 'right.air', '--layers', '--dumps=dev')
    t.check('inputs are random' in p.stderr, 'random inputs are not told')
    with open(d.at('dev/20260101/0/model/Tanh.net_t.3.7.1699.output.0.npy'), 'wb') as f:
        f.write(b'\x93NUMPY')
    p = d.verify()
    t.check(p.returncode == 2 and 'malformed' in p.stderr, f'a damaged file: {p.stderr}')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    args = parser.parse_args()
    t = Tally()
    with tempfile.TemporaryDirectory() as folder:
        d = Device(os.path.abspath(args.tailor), folder)
        check_ranks(d, t)
        check_partial(d, t)
        check_wrong(d, t)
    print(f'{t.passed} passed, {t.failed} failed, 0 skipped')
    return t.failed != 0


if __name__ == '__main__':
    sys.exit(main())
