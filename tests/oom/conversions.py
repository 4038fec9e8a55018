#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions in which the n-th allocation fails, for every n, and requests to arenas: oom.c does
one model, and these are the models. Passes, rules and ops of programs come first (extend.c).

  conversions.py --tests FOLDER [--every N]   (of a build: it has oom-test and oom-extend)

--every N takes every N-th allocation of conversions, and more of what is asked elsewhere.

The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OFFICIAL = '/usr/lib/python3/dist-packages/onnx/backend/test/data/node/'
SUMMARY = re.compile(r'^(\d+) passed, (\d+) failed.*\n?', re.M)
# model, kind of the output, mode of precision ('-': none), optimizer
CASES = (('tests/oom/model.tir', 'air'),
         ('tests/oom/model.tir', 'onnx'),
         ('tests/oom/model.tir', 'onnx', 'force_fp32'),
         ('tests/oom/loops.tir', 'air'),
         ('tests/oom/kernels.tir', 'air'),
         ('tests/oom/quantized.tir', 'air'),
         ('tests/oom/half.tir', 'onnx'),
         ('tests/oom/scaled.tir', 'onnx'),
         ('tests/oom/tail_if.tir', 'onnx'),
         ('tests/oom/tail_lists.tir', 'onnx'),
         ('tests/oom/tail_joins.tir', 'onnx'),
         ('tests/oom/tail_flag.tir', 'onnx'),
         ('tests/oom/tail_early.tir', 'onnx'),
         ('tests/oom/step.tir', 'air', '-', 'tests/oom/optim.tir'),
         ('tests/oom/step.tir', 'air', '-', 'tests/oom/single.tir'),
         (OFFICIAL + 'test_if/model.onnx', 'air'),
         (OFFICIAL + 'test_loop11/model.onnx', 'onnx'),
         (OFFICIAL + 'test_softmax_axis_0_expanded/model.onnx', 'onnx'))


def counted(argv):
    """Runs a program, prints what it says but for its last line, and returns its counts."""
    p = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors='replace', check=False)
    found = SUMMARY.findall(p.stdout)
    print(SUMMARY.sub('', p.stdout), end='')
    if not found:
        print(f'FAIL no closing line; exit {p.returncode}')
        return 0, 1
    passed, failed = (int(n) for n in found[-1])
    return passed, failed or int(p.returncode != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--tests', required=True)
    parser.add_argument('--every', type=int, default=1)
    args = parser.parse_args()
    os.environ['OOM_EVERY'] = str(args.every)
    total = [counted([os.path.join(args.tests, 'oom-extend')])]
    for model, suffix, *more in CASES:
        with tempfile.TemporaryDirectory() as work:
            output = os.path.join(work, 'out.' + suffix)
            total.append(counted([os.path.join(args.tests, 'oom-test'), model, output, *more]))
    passed, failed = (sum(counts) for counts in zip(*total))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
