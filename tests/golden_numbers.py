#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests as numeric tests: the module before and the module after a pass are exported to ONNX
and must compute the same in ONNX Runtime.

  golden_numbers.py --tailor BIN --ort DIR PATH...

A pair is skipped, with the reason printed, when it cannot run: NPU ops, ops of other domains,
options that change what the model computes (--out-nodes, --input-shape)."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import golden_runner  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def export(tool, text, path):
    p = subprocess.run([tool, 'opt', '--passes=infer-shapes', '-q', '-o', path, '-'], input=text,
                       capture_output=True, text=True, check=False, timeout=60)
    return None if p.returncode == 0 else p.stderr.strip().splitlines()[0]


def halves(path):
    """(text before, text after) of a test, or a reason why it is no numeric test."""
    with open(path, encoding='utf-8') as f:
        before, separator, after = f.read().partition('\n' + golden_runner.SEPARATOR)
    lines = before.splitlines(keepends=True)
    what = golden_runner.directives(lines)
    if not separator or what['FAIL']:
        return 'expects a failure'
    if '--out-nodes' in what['RUN'] or '--input-shape' in what['RUN']:
        return 'its options change what is computed'
    return ''.join(lines[golden_runner.comments(lines):]) + '\n', after


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as work:
        rows = []
        for i, path in enumerate(golden_runner.tests_under(args.paths)):
            pair = halves(path)
            files = [os.path.join(work, f'{i}.{which}.onnx') for which in ('before', 'after')]
            reason = pair if isinstance(pair, str) else (
                export(args.tailor, pair[0], files[0]) or export(args.tailor, pair[1], files[1]))
            if reason:
                skipped += 1
                print(f'skip {path}: {reason}')
            else:
                rows.append((path, files[0], files[1], '-'))
        listing = os.path.join(work, 'list.tsv')
        with open(listing, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in rows)
        out = subprocess.run(['node', os.path.join(HERE, 'ort', 'ort_batch.js'), listing, '--ort',
                              args.ort, '--rtol', '0', '--atol', '0'], capture_output=True,
                             text=True, check=False).stdout
    for line in out.splitlines():
        cells = line.split('\t')
        if len(cells) < 2:
            continue
        if cells[1] == 'ok':
            passed += 1
        elif cells[1] == 'orig-fails':
            skipped += 1
            print(f'skip {cells[0]}: {" ".join(cells[2:])}')
        else:
            failed += 1
            print(f'FAIL {" ".join(cells)}')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
