#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every model that maps to the NPU with its NPU form, in the evaluator:
`tailor verify MODEL --npu --rtol=1e-4 --atol=1e-6`.

  npu.py --tailor BIN --set official|corpus [--soc CHIP] [--only TEXT] [--sample N] [--update]
         [--table FILE]

Sums in another order differ by more than that where terms cancel, and so do halves: an output holds
too when its greatest error is at most 1e-4 of its greatest element, or, where there are types
coarser than that, a few units in the last place of it; halves that the default of the chip makes
where it has no kernel of f32 (`lowered_by_chip` of the summary) count among those. Ops without an
NPU form stay ONNX's, so that the others of their models are compared too; models whose inputs or
outputs are no numbers, that cannot be read, or that the evaluator cannot run as they are, are not.
npu.tsv lists what differs and why, a set@CHIP for that chip alone; a case that is listed and holds
fails too, so that the list stays true. --update rewrites the list: reasons that a person wrote
stay. --sample N takes every Nth model. The last line is 'N passed, M failed, K skipped', the
skipped being those of the list."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

LIST = os.path.join(HERE, 'npu.tsv')
HEAD = ('# SPDX-License-Identifier: Apache-2.0\n'
        '# set\tcase\treason: why a model and its NPU form do not compute the same\n')
LEAST = {'official': 1000, 'corpus': 0}  # models that must be the same
CPU_SECONDS = 300
SHARE, UNITS = 1e-4, 8  # of the greatest element; units in its last place
HALF = 2.0 ** -10  # unit of halves
OK, USAGE, INVALID, UNSUPPORTED, IO, DIFFERS = range(6)
OWN_WORDS = ('the evaluator has no kernel', 'differs', 'exit', 'no end')
SAME, SCALED, WRONG = 'same', 'same at the scale of the tensor', 'wrong'
IN_PART, NOT_AT_ALL = 'same where it has an NPU form', 'strings, sequences, optionals'
NO_FORM = '[E10501]'  # what the NPU has no form for
UNREADABLE, NOT_RUN = 'not readable', 'not run'


def words_of(text):
    lines = [s for s in text.splitlines() if 'error: ' in s or 'ERROR' in s]
    return lines[0].split('error: ', 1)[-1] if lines else text.strip()[-200:]


def run(args, *words, merge=False):
    try:
        p = guard.run([args.tailor, *words], capture_output=True, cpu=CPU_SECONDS, text=True,
                      errors='replace')
        return p.returncode, p.stdout + (p.stderr if merge else ''), words_of(p.stderr)
    except subprocess.TimeoutExpired:
        return 124, '', f'no end after {CPU_SECONDS} s of CPU time'


def holds(row, unit):
    scale = max(SHARE, UNITS * unit) * row['largest']
    return 'reason' not in row and (row['off'] == 0 or (row['max_abs'] is not None and
                                                        row['max_abs'] <= scale))


def lowers(args, case, options):
    """Does the chip compute some of the model's f32 in halves?"""
    with tempfile.TemporaryDirectory() as folder:
        mine = [o for o in options if o.startswith(('--soc', '--allow'))]
        _, out, _ = run(args, 'convert', case.path, '-o', os.path.join(folder, 'x.air'),
                        '--summary=json', *mine, merge=True)
    found = re.search(r'"lowered_by_chip": {"nodes": (\d+)', out)
    return bool(found) and found[1] != '0'


def verify(args, case, options):
    """(what became of it, details); None for the first: ops without an NPU form."""
    code, out, words = run(args, 'verify', case.path, '--npu', '--rtol=1e-4', '--atol=1e-6',
                           '--json', *options)
    if code == OK:
        return SAME, ''
    if code == DIFFERS:
        report = json.loads(out)
        inner = report.get('tensors', {}).get('worst', [])  # halves may be inside only
        unit = max(r['unit'] for r in report['outputs'] + inner)
        rows = [r for r in report['outputs'] if not holds(r, unit)]
        if rows and unit < HALF and lowers(args, case, options):
            rows = [r for r in rows if not holds(r, HALF)]
        told = 'differs: ' + json.dumps(rows[0])[:240] if rows else ''
        return (WRONG, told) if rows else (SCALED, '')
    if code == UNSUPPORTED and NO_FORM in words:
        return None, words
    code_alone, _, words_alone = run(args, 'run', case.path, *options)
    if code_alone == OK:
        return WRONG, f'exit {code}: {words}'
    return (UNREADABLE if code_alone in (INVALID, IO) else NOT_RUN), words_alone


def compare(args, case):
    """(what became of it, details)"""
    options = ['--threads=1', '--soc-version=' + args.soc]
    if case.data and os.path.exists(os.path.join(case.data, 'input_0.pb')):
        options.append('--input=' + case.data)
    what, detail = verify(args, case, options)
    if what is None:
        what, detail = verify(args, case, options + ['--allow-unmapped'])
        what = IN_PART if what in (SAME, SCALED) else what or NOT_AT_ALL
    return what, detail


def read_list():
    rows = {}
    with open(LIST, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                which, case, reason = line.rstrip('\n').split('\t')
                rows[which, case] = reason
    return rows


def update(args, found, known):
    rows = {k: v for k, v in known.items() if k[0] != args.set}
    for name, what, detail in found:
        if what == WRONG:
            told = known.get((args.set, name), '')
            by_hand = told and not told.startswith(OWN_WORDS)
            rows[args.set, name] = told if by_hand else detail.replace('\t', ' ')
    with open(LIST, 'w', encoding='utf-8') as f:
        f.write(HEAD + ''.join(f'{which}\t{case}\t{reason}\n'
                               for (which, case), reason in sorted(rows.items())))
    return rows


def judge(args, found, known):
    """Counts of passed and listed cases, and the problems."""
    passed, listed, problems = 0, 0, []
    for name, what, detail in found:
        why = known.get((f'{args.set}@{args.soc}', name), known.get((args.set, name)))
        if what in (SAME, SCALED, IN_PART) and why is None:
            passed += 1
        elif what in (SAME, SCALED, IN_PART):
            problems.append(f'{name}: holds now; remove it from npu.tsv ("{why}")')
        elif what == WRONG and why is None:
            problems.append(f'{name}: {detail}')
        elif what == WRONG:
            listed += 1
    if not args.only and args.sample == 1 and passed < LEAST[args.set]:
        problems.append(f'{passed} models are the same, at least {LEAST[args.set]} must be')
    return passed, listed, problems


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--set', required=True, choices=models.SETS)
    p.add_argument('--only', help='cases whose name contains this')
    p.add_argument('--soc', default='Ascend910B1', help='chip')
    p.add_argument('--sample', type=int, default=1, help='every Nth case')
    p.add_argument('--update', action='store_true', help='rewrite the list')
    p.add_argument('--table', help='write what became of each case to this file')
    args = p.parse_args()
    cases = [c for c in models.SETS[args.set](ROOT) if not args.only or args.only in c.name]
    cases = cases[::args.sample]
    if not cases:
        print(f'{args.set}: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [(c.name, *r) for c, r in zip(cases, pool.map(lambda c: compare(args, c), cases))]
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in found)
    known = read_list()
    if args.update and not args.only and args.sample == 1:
        known = update(args, found, known)
    passed, listed, problems = judge(args, found, known)
    for problem in problems:
        print('FAIL ' + problem)
    counts = collections.Counter(what for _, what, _ in found)
    print(f'{args.set}, {args.soc}: {len(cases)} models; ' +
          ', '.join(f'{what} {n}' for what, n in sorted(counts.items())))
    print(f'{passed} passed, {len(problems)} failed, {listed} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
