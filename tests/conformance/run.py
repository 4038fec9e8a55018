#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every model of a set through Tailor and checks what comes out.

  run.py --tailor BIN [--sanitized BIN] [--sanitize-every N] --set official|corpus [--ort DIR]
         [--every N] [--plain-every N] [--work DIR] [--table F]

Per model: import, verify, print -> parse -> print to the same bytes, ONNX re-export at -O0 and -O2,
inferred output types against reference outputs, AIR where every op has an NPU form (checked by the
independent air_check.py), and with --ort the numbers of original and results in ONNX Runtime: those
of -O2, and of every Nth model those of -O0 too.
exceptions.tsv lists, per case and check, what does not hold and why; an exception that no longer
fails is reported as a failure too, so the list stays true. The last line is
'N passed, M failed, K skipped'.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
import reference  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

FILES = {'onnx': '0.onnx', 'onnx-O2': '2.onnx'}
UNMAPPED = 3  # exit code of a model with ops that have no NPU form


def call(argv):
    try:
        p = guard.run(argv, capture_output=True, text=True, errors='replace')
        return p.returncode, p.stderr.strip() or p.stdout.strip()
    except subprocess.TimeoutExpired:
        return 124, f'no end after {guard.CPU_SECONDS} s of CPU time'


def first_line(text):
    lines = [s for s in text.splitlines() if 'error' in s] or text.splitlines() or ['']
    return lines[0][:300]


def same_file(a, b):
    with open(a, 'rb') as x, open(b, 'rb') as y:
        return x.read() == y.read()


class Run:
    """Outcome of one case: check name -> None (holds) or a reason."""

    def __init__(self, args, index, case):
        self.args, self.case = args, case
        self.reader = args.tailor if index % args.sanitize_every else args.sanitized
        self.dir = os.path.join(args.work, f'{index:04d}')
        self.checks = {}
        self.unmapped = None
        self.ops, self.formless = set(), set()
        os.makedirs(self.dir, exist_ok=True)

    def out(self, name):
        return os.path.join(self.dir, name)

    def check(self, name, argv):
        code, text = call(argv)
        self.checks[name] = None if code == 0 else f'exit {code}: {first_line(text)}'
        return code == 0

    def everything(self):
        tool, model = self.args.tailor, self.case.path
        if not self.check('import', [self.reader, 'opt', model, '-O0', '--verify-each',
                                     '-o', self.out('a.tir')]):
            return self
        if self.check('parse', [self.reader, 'opt', self.out('a.tir'), '--passes=',
                                '--verify-each', '-o', self.out('b.tir')]):
            same = same_file(self.out('a.tir'), self.out('b.tir'))
            self.checks['fixpoint'] = None if same else 'the second print differs'
        self.check('onnx', [tool, 'convert', model, '-q', '-O0', '-o', self.out('0.onnx')])
        self.check('onnx-O2', [tool, 'convert', model, '-q', '-O2', '-o', self.out('2.onnx')])
        self.types()
        self.air()
        return self

    def types(self):
        """Inferred output types against the reference outputs; op types with an NPU form."""
        p = guard.run([self.args.tailor, 'info', self.case.path, '--json'],
                      capture_output=True, text=True)
        if p.returncode:
            self.checks['types'] = f'info: exit {p.returncode}: {first_line(p.stderr)}'
            return
        info = json.loads(p.stdout)
        self.ops, self.formless = set(info['ops']), set(info['without_npu_form'])
        if self.case.data:
            self.checks['types'] = reference.compare(info['outputs'], self.case.data)

    def air(self):
        code, text = call([self.args.tailor, 'convert', self.case.path, '-q', '-o',
                           self.out('m.air')])
        if code == UNMAPPED:
            self.unmapped = first_line(text)
        else:
            self.formless = set()
            self.checks['air'] = None if code == 0 else f'exit {code}: {first_line(text)}'
        if self.case.ort:  # what has no NPU form is an exception with its reason
            self.checks['mapped'] = self.unmapped


def check_air(runs):
    """One process for many files: python starts slower than it checks."""
    done = [r for r in runs if r.checks.get('air', 'x') is None]
    for start in range(0, len(done), 100):
        part = done[start:start + 100]
        p = subprocess.run(
            ['/usr/bin/python3', os.path.join(ROOT, 'tests/oracle/air_check.py'), '--json',
             '--protos', os.path.join(ROOT, 'tests/oracle/protos.json')]
            + [r.out('m.air') for r in part], capture_output=True, text=True, check=False)
        reports = json.loads(p.stdout)
        for r, report in zip(part, reports if isinstance(reports, list) else [reports]):
            errors = [e for e in report.get('findings', report.get('errors', []))
                      if e.get('severity', 'error').lower() == 'error']
            if errors:
                r.checks['air'] = 'air_check: ' + json.dumps(errors[0])[:240]


def compare_numbers(part, args, check, name, tolerance):
    """Original against result in ONNX Runtime: case name -> (status, detail)."""
    listing = os.path.join(args.work, name + '.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        for r in part:
            f.write('\t'.join((r.case.name, r.case.path, r.out(FILES[check]),
                               r.case.data or '-')) + '\n')
    p = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing, '--ort',
                        args.ort, '--rtol', tolerance[0], '--atol', tolerance[1]],
                       capture_output=True, text=True, check=False)
    rows = [line.split('\t', 2) for line in p.stdout.splitlines() if line.count('\t') >= 2]
    return {row[0]: (row[1], row[2]) for row in rows}


def check_numbers(runs, args, check, name, tolerances):
    """Tightest tolerance first; what only holds at a later one is returned as a list. A model that
    ONNX Runtime cannot run is not counted."""
    part = [r for r in runs if r.checks.get(check, 'x') is None and r.case.ort is not False]
    loose = []
    for step, tolerance in enumerate(tolerances):
        found = compare_numbers(part, args, check, name, tolerance)
        again = []
        for r in part:
            status, detail = found.get(r.case.name, ('orig-fails', ''))
            if status == 'orig-fails':
                continue
            r.checks[name] = None if status == 'ok' else f'{status} {detail}'[:300]
            if status == 'ok' and step > 0:
                loose.append(r.case.name)
            elif status == 'differs':
                again.append(r)
        part = again
    return loose


def read_exceptions(which):
    rows = {}
    with open(os.path.join(HERE, 'exceptions.tsv'), encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                of, case, check, reason = line.rstrip('\n').split('\t')
                if of == which:
                    rows[case, check] = reason
    return rows


def judge(runs, which):
    expected = read_exceptions(which)
    passed, failed, excepted = 0, [], 0
    for r in runs:
        for check, reason in sorted(r.checks.items()):
            known = expected.pop((r.case.name, check), None)
            if reason is None and known is None:
                passed += 1
            elif reason is not None and known is not None:
                excepted += 1
            elif reason is None:
                failed.append((r.case.name, check, f'holds now; remove the exception "{known}"'))
            else:
                failed.append((r.case.name, check, reason))
    return passed, failed, excepted


def write_table(path, runs):
    """case, check, reason of everything that does not hold, and what is not mapped to the NPU."""
    with open(path, 'w', encoding='utf-8') as f:
        for r in runs:
            for check, reason in sorted(r.checks.items()):
                if reason is not None:
                    f.write(f'{r.case.name}\t{check}\t{reason}\n')
            if r.unmapped:
                f.write(f'{r.case.name}\tunmapped\t{r.unmapped}\n')


def print_coverage(runs):
    """Share of (model, op type) pairs with an NPU form, over models that ONNX Runtime loads, and
    the op types that lack one with the number of models they occur in."""
    loaded = [r for r in runs if r.case.ort is not False]
    pairs = sum(len(r.ops) for r in loaded)
    lacking = collections.Counter(op for r in loaded for op in r.formless)
    share = 100 * (pairs - sum(lacking.values())) / max(pairs, 1)
    print(f'NPU form: {share:.1f} % of {pairs} (model, op type) pairs; without: ' +
          ', '.join(f'{op} {n}' for op, n in sorted(lacking.items(), key=lambda x: (-x[1], x[0]))))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--sanitized', help='an ASan+UBSan build for import and parse')
    p.add_argument('--sanitize-every', type=int, default=1, help='its share: every Nth model')
    p.add_argument('--set', required=True, choices=models.SETS)
    p.add_argument('--ort', help='folder with node_modules/onnxruntime-node')
    p.add_argument('--plain-every', type=int, default=1, help='-O0 runs for every Nth model')
    p.add_argument('--every', type=int, default=1, help='every Nth model')
    p.add_argument('--work', help='keep the files here')
    p.add_argument('--table', help='write what does not hold to this file')
    p.add_argument('--only', help='cases whose name contains this')
    args = p.parse_args()
    args.sanitized = args.sanitized or args.tailor
    keep = args.work
    args.work = args.work or tempfile.mkdtemp(prefix='tailor-conformance-')
    cases = [c for c in models.SETS[args.set](ROOT) if not args.only or args.only in c.name]
    cases = cases[::args.every]
    if not cases:
        print(f'{args.set}: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda ic: Run(args, *ic).everything(), enumerate(cases)))
    check_air(runs)
    if args.ort:
        some = runs[::args.plain_every]
        loose = check_numbers(some, args, 'onnx', 'numbers', [('0', '0'), ('1e-5', '1e-7')])
        check_numbers(runs, args, 'onnx-O2', 'numbers-O2', [('1e-4', '1e-6')])
        print(f'equal to 1e-5 but not bitwise ({len(loose)}): ' + ' '.join(loose))
    passed, failed, excepted = judge(runs, args.set)
    if args.table:
        write_table(args.table, runs)
    for name, check, reason in failed:
        print(f'FAIL {name}: {check}: {reason}')
    per = collections.Counter(c for r in runs for c, reason in r.checks.items() if reason is None)
    print(f'{args.set}: {len(cases)} models; ' +
          ', '.join(f'{c} {n}' for c, n in sorted(per.items())) +
          f'; not fully mapped to the NPU {sum(1 for r in runs if r.unmapped)}')
    print_coverage(runs)
    if not keep:
        shutil.rmtree(args.work, ignore_errors=True)
    print(f'{passed} passed, {len(failed)} failed, {excepted} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
