#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs of awkward shapes, whose conversion once cost more than its share as they grew: a sample
of bench/adversarial.py, smaller. Instructions are counted.

  growth.py --tailor BIN

The last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'bench'))
import adversarial  # noqa: E402
import counting  # noqa: E402

MOST = 1.15
# shape: (smaller size, what grew with it)
SAMPLE = {
    'chain_cast_there_and_back': (500, 'lists of what a node comes from, until they are full'),
    'readers_matmul': (100, 'pairs and triples of products of one input'),
    'readers_identity': (200, 'readers that lose their producer one by one'),
    'wide_concat': (200, 'operands of one node, looked up each by each'),
    'wide_split': (200, 'results of one node'),
    'ifs': (100, 'bodies'),
}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    if counting.missing():
        print(f'skip: {counting.missing()}\n0 passed, 0 failed, 1 skipped')
        return 0
    failed = 0
    for name, (size, grew) in SAMPLE.items():
        found = adversarial.growth(os.path.abspath(args.tailor), name, 'air', size)
        if not found or found[0] > MOST:
            failed += 1
            print(f'FAIL {name} ({grew}): ' +
                  (f'grows with the size to the power {found[0]:.2f}, at most {MOST} is allowed'
                   if found else 'does not convert'))
    print(f'{len(SAMPLE) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
