#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Element types of the op table against what ONNX says: operands against types.tsv, where each op
has the dtypes of its row, and more only where the row says why; results against the schemas of
the onnx package, where that is installed. Of a result that ONNX has widened since, the table has at
least what the package knows.

  tests/reader/dtypes.py"""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'scripts'))
from op_tables import read_tables  # noqa: E402

TYPES = {'float': 'f32', 'float16': 'f16', 'bfloat16': 'bf16', 'double': 'f64', 'string': 'str',
         'bool': 'bool', 'complex64': 'c64', 'complex128': 'c128',
         **{f'{sign}int{bits}': f'{sign or "i"}{bits}' for sign in ('', 'u')
            for bits in (8, 16, 32, 64)}}


def rows():
    with open(os.path.join(HERE, 'types.tsv'), encoding='utf-8') as f:
        lines = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    for op, operands, *lists in lines[1:]:
        yield op, operands.split(), [set(words.split()) - {'-'} for words in lists]


def check_operands(ops):
    """(operands looked at, what is wrong)"""
    failed, seen = [], set()
    for name, operands, (dtypes, more, why) in rows():
        op = ops['', name]
        ports = {p['name']: p['type'] for p in op['in']}
        seen.update((name, operand) for operand in operands)
        if bool(more) != bool(why):
            failed.append(f'{name}: what is more needs a reason')
        for operand in operands:
            have = op['vars'][ports[operand]][0] if operand in ports else set()
            if have != dtypes | more:
                failed.append(f'{name}, {operand}: lacks {sorted((dtypes | more) - have)}, has '
                              f'besides {sorted(have - dtypes - more)}')
    return len(seen), failed


def check_results(ops):
    """The same of results; None where there is no package."""
    try:
        from onnx import defs
    except ImportError:
        return None
    failed, seen = [], 0
    besides = {(name, ops['', name]['in'][0]['type']): more for name, _, (_, more, _) in rows()}
    for schema in defs.get_all_schemas():
        op = ops.get((schema.domain, schema.name))
        if not op or schema.deprecated or schema.domain == 'ai.onnx.preview.training':
            continue
        for theirs, ours in zip(schema.outputs, op['out']):
            want = {TYPES[t[7:-1]] for t in theirs.types if t.startswith('tensor(')}
            have = op['vars'][ours['type']][0]
            newer = op['since'][-1] > schema.since_version
            have -= besides.get((schema.name, ours['type']), set()) - want
            seen += 1
            if want - have or (have - want and not newer):
                failed.append(f'{schema.name}, result {ours["name"]}: lacks '
                              f'{sorted(want - have)}, has besides {sorted(have - want)}')
    return seen, failed


def main():
    ops = read_tables(glob.glob(os.path.join(ROOT, 'ir/ops/*.tbl'))).ops
    counts = [check_operands(ops), check_results(ops)]
    failed = [line for count in counts if count for line in count[1]]
    for line in failed:
        print('FAIL', line)
    seen = sum(count[0] for count in counts if count)
    print(f'{seen - len(failed)} passed, {len(failed)} failed, {counts.count(None)} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
