#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs passes in orders that no pipeline has, as people who debug passes do. Whatever the order,
the verifier passes what each pass leaves, or the model is refused by name; what is written can be
read, and computes what the model computes.

  orders.py --tailor BIN [--n N] [--seed S] [--jobs J]

--n: runs, each of up to eight passes over a golden module or an official model of ONNX. The last
line is 'N passed, M failed, K skipped'."""
import argparse
import glob
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE)]
import guard  # noqa: E402

MODELS = ('/usr/share/libonnx-testdata/**/*.onnx', os.path.join(ROOT, 'tests/golden/*/*.tir'))
LARGEST = 300000
REFUSED = (1, 2, 3)
DIFFERS = 5
# With these numbers may differ.
OPTIONS = (['--opt-level=2'], ['--soc-version=Ascend310P3'], ['--fusion=ALL:off'],
           ['--precision-mode=force_fp16'], ['--precision-mode-v2=mixed_bfloat16'],
           ['--numerics=approximate'], ['--rank-size=4'], ['--iterations-per-loop=2'],
           ['--is-loss-scale=true', '--rank-size=2'], ['--order=memory'])
# Which numbers are drawn depends on which nodes there are. A value that contradicts the model:
# conversions may go by what the model says.
RANDOM = (b'Random', b'Bernoulli', b'Multinomial', b'Dropout')
CONTRADICTS = 'in this run, but the model says'


class Orders:
    def __init__(self, tool):
        self.tool = tool
        self.models = sorted(p for pattern in MODELS for p in glob.glob(pattern, recursive=True)
                             if os.path.getsize(p) <= LARGEST)
        rows = [line.split() for line in self.run('passes').stdout.splitlines()[1:]]
        self.every = [row[0] for row in rows]
        self.canonical = [row[0] for row in rows if row[2] == 'any']

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, text=True, errors='replace')

    @staticmethod
    def module(path, folder):
        """A model as a file; of a golden file its first part."""
        if not path.endswith('.tir'):
            return path
        with open(path, encoding='utf-8', errors='surrogateescape') as f:
            text = f.read().split('\n----')[0] + '\n'
        copy = os.path.join(folder, 'in.tir')
        with open(copy, 'w', encoding='utf-8', errors='surrogateescape') as f:
            f.write(text)
        return copy

    def differs(self, model, out):
        """What is wrong with the numbers, or None. Models that random inputs do not suit tell
        nothing."""
        with open(model, 'rb') as f:
            data = f.read()
        if any(op in data for op in RANDOM) or self.run('run', model).returncode:
            return None
        p = self.run('verify', model, out)
        if p.returncode in (0, 3) or CONTRADICTS in p.stderr:
            return None
        return f'verify ends with {p.returncode}: {p.stdout[-300:]}{p.stderr[-300:]}'

    def one(self, seed):
        """What is wrong with one run, or None."""
        rng = random.Random(seed)
        path = rng.choice(self.models)
        pool = rng.choice((self.canonical, self.every))
        passes = ','.join(rng.choices(pool, k=rng.randint(1, 8)))
        options = rng.choice(OPTIONS) if rng.random() < 0.4 else []
        with tempfile.TemporaryDirectory() as folder:
            model, out = self.module(path, folder), os.path.join(folder, 'out.tir')
            argv = ['opt', model, '--passes=' + passes, '--verify-each', '-o', out, '-q', *options]
            p = self.run(*argv)
            what = f'{os.path.relpath(path, ROOT)}, seed {seed}: opt --passes={passes} {options}'
            if p.returncode:
                refused = p.returncode in REFUSED and 'error: ' in p.stderr
                return None if refused else f'{what} ends with {p.returncode}: {p.stderr[-500:]}'
            if options:
                read = self.run('info', out)
                if read.returncode <= 1 or self.run('info', model).returncode > 1:
                    return None
                return f'{what}: not read: {read.stderr[-300:]}'
            problem = self.differs(model, out)
            return problem and f'{what}: {problem}'


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=150)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    args = p.parse_args()
    orders = Orders(os.path.abspath(args.tailor))
    with ThreadPoolExecutor(args.jobs) as pool:
        wrong = [w for w in pool.map(orders.one, range(args.seed, args.seed + args.n)) if w]
    for problem in wrong:
        print('FAIL', problem)
    print(f'{args.n - len(wrong)} passed, {len(wrong)} failed, 0 skipped')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
