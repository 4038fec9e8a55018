#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Element types of the op table against what ONNX says (types.tsv): each op of the table has the
dtypes of its row, and more or fewer only where the row says so. Ops younger than the rows are
skipped.

  tests/reader/dtypes.py"""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'scripts'))
from op_tables import read_tables  # noqa: E402


def rows():
    with open(os.path.join(HERE, 'types.tsv'), encoding='utf-8') as f:
        lines = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    for op, operands, *lists in lines[1:]:
        yield op, operands.split(), [set(words.split()) - {'-'} for words in lists]


def main():
    ops = read_tables(glob.glob(os.path.join(ROOT, 'ir/ops/*.tbl'))).ops
    failed, seen = [], set()
    for name, operands, (dtypes, more, less) in rows():
        op = ops['', name]
        ports = {p['name']: p['type'] for p in op['in']}
        seen.update((name, operand) for operand in operands)
        for operand in operands:
            if operand not in ports:
                failed.append(f'{name} has no operand {operand}')
                continue
            have = op['vars'][ports[operand]][0]
            want = (dtypes | more) - less
            if have != want:
                failed.append(f'{name}, {operand}: lacks {sorted(want - have)}, has besides '
                              f'{sorted(have - want)}')
    for line in failed:
        print('FAIL', line)
    print(f'{len(seen) - len(failed)} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
