#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes after clean-up and fusions, against ONNX Runtime's level basic.

  nodes.py --tailor BIN --ort DIR [--work DIR] [--table FILE]

Over the models of the corpus that ONNX Runtime loads: Tailor's -O2 must not leave more nodes than
ONNX Runtime in at least 98 % of them. What does is listed. The last line is
'N passed, M failed, K skipped', with one check: the share.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402

SHARE = 0.98


def count(tailor, path):
    """Nodes by op, bodies included; None when the file cannot be read."""
    p = subprocess.run([tailor, 'info', path, '--json'], capture_output=True, text=True,
                       check=False, timeout=120)
    return json.loads(p.stdout)['ops'] if p.returncode == 0 else None


def total(ops):
    return sum(ops.values())


def ours(args, index, case):
    out = os.path.join(args.work, f'{index}.tailor.onnx')
    p = subprocess.run([args.tailor, 'convert', case.path, '-q', '-o', out], capture_output=True,
                       text=True, check=False, timeout=120)
    return count(args.tailor, out) if p.returncode == 0 else None


def difference(a, b):
    """Ops of which a has more than b."""
    more = {op: n - b.get(op, 0) for op, n in a.items() if n > b.get(op, 0)}
    return ' '.join(f'{op}+{n}' for op, n in sorted(more.items()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--work')
    p.add_argument('--table')
    args = p.parse_args()
    args.work = args.work or tempfile.mkdtemp(prefix='tailor-nodes-')
    os.makedirs(args.work, exist_ok=True)
    cases = [c for c in models.corpus(ROOT) if c.ort]
    if not cases:
        print('corpus: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    listing = os.path.join(args.work, 'list.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        for i, case in enumerate(cases):
            f.write(f'{case.path}\t{os.path.join(args.work, f"{i}.ort.onnx")}\n')
    run = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_basic.js'), listing, '--ort',
                          args.ort], capture_output=True, text=True, check=False)
    loaded = {line.split('\t')[0] for line in run.stdout.splitlines() if line.endswith('\tok')}
    more, compared = [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda ic: ours(args, *ic), enumerate(cases)))
    for i, (case, result) in enumerate(zip(cases, results)):
        theirs = count(args.tailor, os.path.join(args.work, f'{i}.ort.onnx'))
        if case.path not in loaded or result is None or theirs is None:
            continue
        compared += 1
        if total(result) > total(theirs):
            more.append((case.name, total(result), total(theirs), difference(result, theirs)))
    share = 1 - len(more) / max(compared, 1)
    for name, n, limit, what in more:
        print(f'more nodes: {name}: {n} against {limit}: {what}')
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines(f'{name}\t{n}\t{limit}\t{what}\n' for name, n, limit, what in more)
    print(f'{compared} models, not more nodes than ONNX Runtime basic in {100 * share:.1f} %')
    good = share >= SHARE
    print(f'{int(good)} passed, {int(not good)} failed, 0 skipped')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
