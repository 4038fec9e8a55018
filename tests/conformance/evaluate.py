#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Evaluates every model that comes with reference data, and compares: `tailor verify MODEL DATA`.

  evaluate.py --tailor BIN --set official|corpus [--only TEXT] [--exact] [--doc FILE] [--update]

official: all models of the suite. corpus: those whose data ONNX Runtime reproduces.
evaluation.tsv lists what does not hold and why; a case that is listed and holds fails too, so that
the list stays true. --update rewrites the list: reasons that a person wrote for cases that still
fail stay, the others are the first words of the tool. --doc compares FILE with the table made from
the list, or with --update writes it. The last line is 'N passed, M failed, K skipped', the skipped
being those of the list."""
import argparse
import concurrent.futures
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

LIST = os.path.join(HERE, 'evaluation.tsv')
HEAD = ('# SPDX-License-Identifier: Apache-2.0\n'
        '# set\tcase\treason: why the evaluator does not reproduce the reference data\n')
LEAST = {'official': 950, 'corpus': 0}  # models that must reproduce their data
CPU_SECONDS = 300
DIFFERS = 5
OWN_WORDS = ('the evaluator has no kernel', 'differs', 'exit', 'no end')


def evaluate(args, case):
    """None when the references are reproduced, else a reason."""
    argv = [args.tailor, 'verify', case.path, case.data, '--threads=1']
    try:
        p = guard.run(argv + (['--exact'] if args.exact else []), cpu=CPU_SECONDS,
                      capture_output=True, text=True, errors='replace')
    except subprocess.TimeoutExpired:
        return f'no end after {CPU_SECONDS} s of CPU time'
    if p.returncode == 0:
        return None
    if p.returncode == DIFFERS:
        return next(s for s in p.stdout.splitlines() if s.startswith('differs'))[:200]
    lines = [s for s in p.stderr.splitlines() if 'error: ' in s or 'ERROR' in s]
    words = lines[0].split('error: ', 1)[-1] if lines else p.stderr.strip()[-200:]
    crash = f'exit {p.returncode}: ' if p.returncode not in (2, 3) else ''
    return crash + words.split(" ('")[0][:200]


def read_list():
    rows = {}
    with open(LIST, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                which, case, reason = line.rstrip('\n').split('\t')
                rows[which, case] = reason
    return rows


def write_list(rows):
    with open(LIST, 'w', encoding='utf-8') as f:
        f.write(HEAD)
        for (which, case), reason in sorted(rows.items()):
            f.write(f'{which}\t{case}\t{reason}\n')


def document(rows, n):
    """The table of docs/evaluator.md: of the official suite, which everybody has."""
    rest = {case: reason for (which, case), reason in rows.items() if which == 'official'}
    out = [f'{n - len(rest)} of the {n} official models of ONNX give their reference outputs (rtol '
           '1e-3, atol 1e-7, or one unit', 'in the last place of types that are coarser than '
           'that). The others:', '', '| model | why not |', '|---|---|']
    out += [f'| {case} | {reason.replace("|", chr(92) + "|")} |'
            for case, reason in sorted(rest.items())]
    return '\n'.join(out) + '\n'


def check_document(args, table):
    """Problems with the table in the document; writes it with --update."""
    with open(args.doc, encoding='utf-8') as f:
        text = f.read()
    mark, end = '<!-- table: tests/conformance/evaluate.py -->\n', '<!-- end -->'
    start = text.index(mark) + len(mark)
    new = text[:start] + table + text[text.index(end, start):]
    if args.update:
        with open(args.doc, 'w', encoding='utf-8') as f:
            f.write(new)
    return [] if args.update or new == text else [f'{args.doc} is not current: run with --update']


def choose(args):
    cases = [c for c in models.SETS[args.set](ROOT) if c.data]
    if args.set == 'corpus':
        cases = [c for c in cases if c.reproduced]
    return [c for c in cases if not args.only or args.only in c.name]


def update(args, cases, reasons, known):
    rows = {k: v for k, v in known.items() if k[0] != args.set or args.only}
    for case, reason in zip(cases, reasons):
        key = args.set, case.name
        rows.pop(key, None)
        if reason is not None:
            told = known.get(key, '')
            by_hand = told and not told.startswith(OWN_WORDS)
            rows[key] = told if by_hand else reason.replace('\t', ' ')
    write_list(rows)
    return rows


def judge(args, cases, reasons, known):
    """Counts of passed and listed cases, and the problems."""
    passed, listed, problems = 0, 0, []
    for case, reason in zip(cases, reasons):
        why = known.get((args.set, case.name))
        if reason is None and why is None:
            passed += 1
        elif reason is None:
            problems.append(f'{case.name}: holds now; remove it from evaluation.tsv ("{why}")')
        elif why is None:
            problems.append(f'{case.name}: {reason}')
        else:
            listed += 1
    if not args.only and passed < LEAST[args.set]:
        problems.append(f'{passed} models pass, at least {LEAST[args.set]} must')
    gone = {k[1] for k in known if k[0] == args.set} - {c.name for c in cases}
    if not args.only:
        problems += [f'{name}: listed in evaluation.tsv, but there is no such model'
                     for name in sorted(gone)]
    return passed, listed, problems


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--set', required=True, choices=models.SETS)
    p.add_argument('--only', help='cases whose name contains this')
    p.add_argument('--exact', action='store_true', help='as constant folding computes')
    p.add_argument('--doc', help='the table of what does not hold')
    p.add_argument('--update', action='store_true', help='rewrite the list and the table')
    args = p.parse_args()
    cases = choose(args)
    if not cases:
        print(f'{args.set}: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = list(pool.map(lambda c: evaluate(args, c), cases))
    known = read_list()
    if args.update:
        known = update(args, cases, reasons, known)
    passed, listed, problems = judge(args, cases, reasons, known)
    if args.doc and not args.only:
        problems += check_document(args, document(known, len(cases)))
    for problem in problems:
        print('FAIL ' + problem)
    print(f'{args.set}: {len(cases)} models with data; reproduced {passed}, listed {listed}')
    print(f'{passed} passed, {len(problems)} failed, {listed} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
