#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tailor precision-search over networks that break in f16 (search_models.py).

  search.py --tailor BIN [--only TEXT]

Of each network: without a kept node the tolerance is not met; with those that were found it is,
by each of the files alone, which is shown by converting and verifying; without any one group it
is not; they take no more memory traffic than what the policy of ranges keeps, if that meets the
tolerance; the search takes at most 60 evaluations. On the median of all networks it keeps at most
half of the nodes that the policy keeps. Then: what the command refuses, and what it says where
nothing can be found. The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import json
import os
import statistics
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import search_models  # noqa: E402

MOST = 60
SMALL = '''graph @g(%x: f32[4,16]) -> (%y) {
  const %c: f32[] = 3000.0
  %s = Mul(%x, %c)
  %p = Mul(%s, %s)
  %q = Sqrt(%p)
  %y = Div(%q, %c)
}
'''
WRONG = '''rules 1

rule WrongSqrt : graph numerics exact {
  match { %y = Sqrt(%x) }
  replace { %y = Neg(%x) }
}
'''


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, holds, what):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f'FAIL {what}', flush=True)
        return holds


def call(args, folder, *words):
    return guard.run([args.tailor, *words], cwd=folder, capture_output=True, text=True,
                     check=False)


def meets(args, folder, model, options, tolerance):
    """Whether the model that is converted with these options computes what it did."""
    p = call(args, folder, 'convert', model, *options, '--precision-policy=none', '-q',
             '-o', 'low.air')
    if p.returncode:
        return p.stderr
    return call(args, folder, 'verify', model, 'low.air', '--input=x=x.npy',
                f'--cosine={tolerance}', '--tensors=0').returncode == 0


def examine(args, name, folder, t):
    """Checks one network; returns the ratio of what is kept to what the policy keeps."""
    make, tolerance, mode = search_models.MODELS[name]
    text, x = make()
    model, chosen = f'{name}.tir', f'--precision-mode-v2={mode}'
    with open(os.path.join(folder, model), 'w', encoding='utf-8') as f:
        f.write(text)
    np.save(os.path.join(folder, 'x.npy'), x)
    p = call(args, folder, 'precision-search', model, '--input=x=x.npy', chosen,
             f'--cosine={tolerance}', '-o', name, '--json')
    if not t.check(p.returncode == 0, f'{name}: status {p.returncode}: {p.stderr[:200]}'):
        return None
    found = json.loads(p.stdout)
    t.check(not found['none']['equal'] and meets(args, folder, model, [chosen], tolerance) is False,
            f'{name}: is no trap')
    t.check(found['evaluations'] <= MOST and found['tries'] <= MOST, f'{name}: too many tries')
    t.check(not found['range']['equal'] or found['found']['bytes'] <= found['range']['bytes'],
            f'{name}: dearer than the policy')
    check_files(args, name, folder, found, t)
    check_minimal(args, name, folder, found, t)
    print(f'{name}: lowers {found["lowered"]}, the policy keeps {found["range"]["nodes"]}, found '
          f'{found["found"]["nodes"]} in {found["evaluations"]} evaluations', flush=True)
    return found['found']['nodes'] / max(found['range']['nodes'], 1)


def check_files(args, name, folder, found, t):
    _, tolerance, mode = search_models.MODELS[name]
    for file in found['files']:
        path = f'{name}/{file["name"]}'
        there = os.path.exists(os.path.join(folder, path))
        if 'missing' in file:
            t.check(not there and mode == 'fp16', f'{name}: no {file["name"]}: {file["missing"]}')
            continue
        options = [f'--precision-mode-v2={mode}', f'{file["option"]}={path}']
        t.check(there and meets(args, folder, f'{name}.tir', options, tolerance) is True,
                f'{name}: {file["name"]} alone does not do')


def check_minimal(args, name, folder, found, t):
    _, tolerance, mode = search_models.MODELS[name]
    kept = {n['node'] for n in found['kept']}
    groups = [set(g['nodes']) for g in found['groups']]
    t.check(found['minimal'] and set().union(*groups) == kept, f'{name}: not said to be minimal')
    for group in groups:
        with open(os.path.join(folder, 'less.txt'), 'w', encoding='utf-8') as f:
            f.write(''.join(n + '\n' for n in sorted(kept - group)))
        options = [f'--precision-mode-v2={mode}', '--keep-dtype=less.txt']
        t.check(meets(args, folder, f'{name}.tir', options, tolerance) is False,
                f'{name}: {sorted(group)} need not be kept')


def ends(args, folder, t, status, says, *words):
    p = call(args, folder, 'precision-search', *words)
    t.check(p.returncode == status and says in p.stdout + p.stderr,
            f'{" ".join(words)}: status {p.returncode}, not {status}: {p.stderr[:200]}')


def check_refusals(args, folder, t):
    small = os.path.join(folder, 'small.tir')
    with open(small, 'w', encoding='utf-8') as f:
        f.write(SMALL)
    ends(args, folder, t, 1, 'no model')
    ends(args, folder, t, 1, 'must be a file', '-')
    ends(args, folder, t, 4, 'absent.onnx', 'absent.onnx')
    ends(args, folder, t, 1, 'lowers no node', 'small.tir', '--precision-mode-v2=origin')
    ends(args, folder, t, 1, 'one folder', 'small.tir', '-o', 'a', '-o', 'b')
    ends(args, folder, t, 1, 'not a number', 'small.tir', '--cosine=much')
    ends(args, folder, t, 1, 'from 0 to 1', 'small.tir', '--cosine=1.5')
    ends(args, folder, t, 1, 'names one folder', 'small.tir', '-o', 'small.air')
    ends(args, folder, t, 1, 'the search decides', 'small.tir', '--precision-policy=range')
    ends(args, folder, t, 0, '--emit, --verify: no effect', 'small.tir', '--emit=onnx', '--verify')
    with open(os.path.join(folder, 'wrong.tlr'), 'w', encoding='utf-8') as f:
        f.write(WRONG)
    ends(args, folder, t, 5, 'no set of nodes meets', 'small.tir', '--rules=wrong.tlr',
         '--rtol=1e-6')
    ends(args, folder, t, 0, 'no node has to be kept', 'small.tir', '--cosine=0')
    # nodes without names are kept, too
    p = call(args, folder, 'precision-search', 'small.tir', '--precision-mode-v2=fp16', '-o', 'own')
    t.check(p.returncode == 0 and 'minimal' in p.stdout, f'nodes without names: {p.stderr}')
    t.check(meets_small(args, folder), 'nodes without names: keep_dtype.txt does not do')
    p = call(args, folder, 'convert', 'small.tir', '--precision-search', '-o', 'x.air')
    t.check(p.returncode and 'tailor precision-search MODEL' in p.stderr, 'the hint of convert')
    again = [call(args, folder, 'precision-search', 'small.tir', '--precision-mode-v2=fp16',
                  '--json', f'--threads={n}').stdout for n in (1, 3)]
    t.check(again[0] == again[1] and again[0], 'the number of threads changes the result')


def check_archives(args, folder, t):
    """Inputs of an .npz file are those of .npy files; damaged ones are refused."""
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
    at = lambda name: os.path.join(folder, name)
    np.save(at('x.npy'), x)
    np.savez(at('x.npz'), x=x)
    np.savez_compressed(at('packed.npz'), x=x)
    np.savez(at('other.npz'), z=x)
    with open(at('x.npz'), 'rb') as f:
        data = f.read()
    for name, part in (('cut.npz', data[:-40]), ('empty.npz', b''), ('text.npz', b'no archive'),
                       ('moved.npz', data.replace(b'PK\3\4', b'PK\3\5')),
                       ('nothing.npz', b'PK\5\6' + bytes(18))):
        with open(at(name), 'wb') as f:
            f.write(part)
    both = [json.loads(call(args, folder, 'run', 'small.tir', f'--input={i}', '--json').stdout)
            for i in ('x=x.npy', 'x.npz')]
    t.check(both[0]['outputs'] == both[1]['outputs'], 'an .npz file gives other inputs')
    for name, status, says in (('packed.npz', 3, 'numpy.savez'), ('other.npz', 1, "no input 'z'"),
                               ('cut.npz', 2, 'directory'), ('empty.npz', 2, ''),
                               ('text.npz', 2, 'directory'), ('moved.npz', 2, 'header'),
                               ('nothing.npz', 2, 'no arrays'), ('absent.npz', 4, 'absent.npz')):
        ends(args, folder, t, status, says, 'small.tir', f'--input={name}')


def meets_small(args, folder):
    p = call(args, folder, 'convert', 'small.tir', '--precision-mode-v2=fp16', '-q', '-o', 's.air',
             '--keep-dtype=own/keep_dtype.txt', '--precision-policy=none')
    return p.returncode == 0 and 'W' not in p.stderr and call(
        args, folder, 'verify', 'small.tir', 's.air', '--cosine=0.999').returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    t, ratios = Tally(), []
    with tempfile.TemporaryDirectory() as folder:
        for name in search_models.MODELS:
            if args.only in name:
                ratios.append(examine(args, name, folder, t))
        if not args.only:
            check_refusals(args, folder, t)
            check_archives(args, folder, t)
    ratios = [r for r in ratios if r is not None]
    if not args.only:
        t.check(len(ratios) >= 12 and statistics.median(ratios) <= 0.5,
                f'the median of {len(ratios)} ratios is {statistics.median(ratios or [9]):.2f}')
    print(f'median of what is kept against the policy: {statistics.median(ratios or [9]):.2f}')
    print(f'{t.passed} passed, {t.failed} failed, 0 skipped')
    return t.failed != 0


if __name__ == '__main__':
    sys.exit(main())
