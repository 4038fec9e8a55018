#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ops whose sizes are open reach the NPU and compute the same there.

  open_sizes.py --tailor BIN [--only TEXT] [--sample N] [--table FILE] [--soc CHIP]

Each graph of open_cases.py, and networks of bench/make_models.py whose sizes are open, become AIR
with these dims open, which the independent air_check.py accepts, and the evaluator compares them
with their NPU form at three sizes. open_sizes.tsv lists what
has no NPU form while its sizes are open, and why; a case that is listed and holds fails too.
--sample N takes every Nth case. --table writes what became of each case. The last line is
'N passed, M failed, K skipped', the skipped being those of the list."""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import open_cases  # noqa: E402

LIST = os.path.join(HERE, 'open_sizes.tsv')
UNMAPPED = 3
# Sizes of the open dims in alphabetical order; a batch is as large as the number of the run.
SIZES = ((6, 7, 9, 8), (12, 8, 6, 10), (7, 11, 13, 6))
# Three sizes of each network.
IMAGES = (('H=64', 'W=96'), ('H=128', 'W=64'), ('H=96', 'W=160'))
BATCHES = tuple((*sizes, f'N={n}') for n, sizes in enumerate(IMAGES, 1))
NETWORKS = {'ppocr_det': BATCHES, 'yolov5n_open': BATCHES, 'segment_bilinear': BATCHES,
            'whisper_encoder': (('N=1', 'T=40'), ('N=2', 'T=66'), ('N=3', 'T=101')),
            'detector_nms': IMAGES}
HOLDS, FORMLESS, WRONG = 'holds', 'no form', 'wrong'
DIM = re.compile(r'"([A-Z]\d?)"')


def dims_of(text, run):
    names = sorted(set(DIM.findall(text)))
    sizes = {n: run + 1 if n == 'N' else SIZES[run][i % 4] for i, n in enumerate(names)}
    return [f'--dim={n}={size}' for n, size in sizes.items()]


def told(p):
    lines = [s for s in p.stderr.splitlines() if 'error: ' in s] or p.stdout.splitlines() or ['']
    return lines[-1].split('error: ')[-1]


def graphs(args):
    """(name, file, --dim options of each run) of the graphs"""
    for name, text in open_cases.cases():
        path = os.path.join(args.work, name.replace('/', '_') + '.tir')
        yield name, path, [dims_of(text, run) for run in range(len(SIZES))], text


def networks(args):
    """The same of the networks, which are made here."""
    subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'bench', 'make_models.py'), args.work,
                    *NETWORKS], check=True, stdout=subprocess.DEVNULL)
    for name, runs in NETWORKS.items():
        path = os.path.join(args.work, name + '.onnx')
        yield f'network/{name}', path, [[f'--dim={d}' for d in dims] for dims in runs], None


def check(args, name, path, runs, text):
    """(name, what became of it, details, AIR file)"""
    if text is not None:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
    air = os.path.splitext(path)[0] + '.air'
    chip = '--soc-version=' + args.soc
    p = guard.run([args.tailor, 'convert', path, '-q', '-o', air, chip],
                  capture_output=True, text=True)
    if p.returncode:
        return name, FORMLESS if p.returncode == UNMAPPED else WRONG, told(p), None
    for dims in runs:
        p = guard.run([args.tailor, 'verify', path, '--npu', chip, '--rtol=1e-4',
                       '--atol=1e-5', '--threads=1', *dims], capture_output=True, text=True)
        if p.returncode:
            return name, WRONG, f'{told(p)} {" ".join(dims)}', None
    return name, HOLDS, '', air


def refused(files):
    """Those of the AIR files that the independent checker does not accept, with its first word."""
    found = {}
    for start in range(0, len(files), 100):
        part = files[start:start + 100]
        p = subprocess.run(
            ['/usr/bin/python3', os.path.join(ROOT, 'tests/oracle/air_check.py'), '--json',
             '--protos', os.path.join(ROOT, 'tests/oracle/protos.json')] + part,
            capture_output=True, text=True, check=False)
        reports = json.loads(p.stdout)
        for path, report in zip(part, reports if isinstance(reports, list) else [reports]):
            errors = [e for e in report.get('findings', report.get('errors', []))
                      if e.get('severity', 'error').lower() == 'error']
            if errors:
                found[path] = json.dumps(errors[0])[:200]
    return found


def read_list():
    with open(LIST, encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if line.strip() and line[0] != '#']
    return {pattern: reason for pattern, reason in rows}


def judge(args, found):
    """Counts of cases that hold and of listed ones, and the problems."""
    known, used, passed, listed, problems = read_list(), set(), 0, 0, []
    for name, what, detail in found:
        why = next((p for p in known if fnmatch.fnmatchcase(name, p)), None)
        used.add(why)
        if what == HOLDS and why is None:
            passed += 1
        elif what == HOLDS:
            problems.append(f'{name}: holds, and open_sizes.tsv lists {why}')
        elif what == FORMLESS and why is not None:
            listed += 1
        else:
            problems.append(f'{name}: {detail}')
    if not args.only and args.sample == 1:
        problems += [f'open_sizes.tsv: no case is {p}' for p in known if p not in used]
    return passed, listed, problems


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--soc', default='Ascend910B1', help='chip')
    p.add_argument('--only', help='cases whose name contains this')
    p.add_argument('--sample', type=int, default=1, help='every Nth case')
    p.add_argument('--table', help='write what became of each case to this file')
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix='tailor-open-') as args.work, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = [*networks(args), *graphs(args)]
        cases = [c for c in cases if not args.only or args.only in c[0]][::args.sample]
        rows = list(pool.map(lambda c: check(args, *c), cases))
        bad = refused([row[3] for row in rows if row[3]])
    found = [(name, WRONG, 'air_check: ' + bad[air]) if air in bad else (name, what, detail)
             for name, what, detail, air in rows]
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in found)
    passed, listed, problems = judge(args, found)
    for problem in problems:
        print('FAIL ' + problem)
    counts = collections.Counter(what for _, what, _ in found)
    print(f'{len(cases)} graphs and networks with open sizes; ' +
          ', '.join(f'{what} {n}' for what, n in sorted(counts.items())))
    print(f'{passed} passed, {len(problems)} failed, {listed} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
