#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What models say that is odd but valid, and what is not: each model is converted to ONNX at two
levels and to AIR. No run may crash or end with an internal error; what is written is looked at, and
ONNX Runtime computes the same before and after.

  tests/reader/run.py --tailor PROGRAM [--ort DIR] [PART OF A NAME]"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import element_types  # noqa: E402
import flags  # noqa: E402
import guard  # noqa: E402
import integers  # noqa: E402
import limits  # noqa: E402
import names  # noqa: E402
import operands  # noqa: E402

GROUPS = {'names': names, 'operands': operands, 'flags': flags, 'limits': limits,
          'integers': integers, 'element_types': element_types}
LEVELS = ('0', '2')


def convert(args, source, target, *more):
    """(exit code, what was said). A conversion of these models that takes minutes hangs."""
    p = guard.run([args.tailor, 'convert', source, '-o', target, *more],
                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.returncode, p.stdout


def says(case, code, text):
    """Refusals have the words of the case; where nothing may be refused, warnings do."""
    return case.said in text or not (code or case.codes == (0,))


def judge(args, case, folder):
    """(what is wrong, models written)"""
    os.makedirs(folder)
    source = os.path.join(folder, 'model.onnx')
    onnx.save(case.model, source)
    written = []
    for level in LEVELS:
        target = os.path.join(folder, f'level{level}.onnx')
        code, text = convert(args, source, target, '-O' + level)
        if code not in case.codes or not says(case, code, text):
            return f'-O{level}: exit {code}: {text[:300]}', written
        if code:
            continue
        made = onnx.load(target)
        wrong = case.check(made) if case.check else ''
        if wrong:
            return f'-O{level}: {wrong}', written
        written.append(target)
    code, text = convert(args, source, os.path.join(folder, 'm.air'), '--allow-unmapped')
    if code not in case.air or not says(case, code, text):
        return f'AIR: exit {code}: {text[:300]}', written
    return '', written


def compare(args, rows, scratch):
    """{(case, level): what differs} in ONNX Runtime."""
    listing = os.path.join(scratch, 'list.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        for i, level, source, target in rows:
            f.write(f'{i}:{level}\t{source}\t{target}\t-\n')
    p = subprocess.run(['node', os.path.join(HERE, '../ort/ort_batch.js'), listing, '--ort',
                        args.ort, '--rtol', '1e-6'], text=True, stdout=subprocess.PIPE, check=False)
    found, ran = {}, 0
    for line in p.stdout.splitlines():
        case, status, *detail = (line + '\t').split('\t')
        ran += status == 'ok'
        if ':' in case and status not in ('ok', 'orig-fails'):
            found[int(case.split(':')[0])] = f'ONNX Runtime: {status}: {" ".join(detail)}'
    return found, ran


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--ort')
    parser.add_argument('part', nargs='?', default='')
    args = parser.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    cases = [(f'{group}: {case.name}', case) for group, module in GROUPS.items()
             for case in module.cases() if args.part in f'{group}: {case.name}']
    with tempfile.TemporaryDirectory(prefix='tailor-reader-') as scratch:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda i: judge(args, cases[i][1],
                                                    os.path.join(scratch, str(i))),
                                    range(len(cases))))
        rows = [(i, os.path.basename(target), os.path.join(scratch, str(i), 'model.onnx'), target)
                for i, (wrong, written) in enumerate(results) if not wrong and cases[i][1].same
                for target in written]
        differ, ran = compare(args, rows, scratch) if args.ort and rows else ({}, 0)
    failed = 0
    for i, (name, _) in enumerate(cases):
        wrong = results[i][0] or differ.get(i, '')
        failed += bool(wrong)
        if wrong:
            print(f'FAIL {name}: {wrong}')
    if args.ort:
        print(f'{ran} of {len(rows)} pairs equal to their originals in ONNX Runtime')
    print(f'{len(cases) - failed} passed, {failed} failed, {0 if args.ort else 1} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
