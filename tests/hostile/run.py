#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile input: whatever it is, the tool ends with a documented exit code and a clear message,
writes nothing it should not, and opens nothing it should not.

  run.py --tailor BIN [--jobs N] [--keep DIR] [--only TEXT]

BIN is best built with -Db_sanitize=address,undefined: every report is a failure. --only runs the
cases whose name contains TEXT; --keep leaves the inputs and outputs in DIR."""
import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import file_cases  # noqa: E402  (beside this file)
import op_info_cases  # noqa: E402
import own_cases  # noqa: E402
import precision_cases  # noqa: E402
import rules_cases  # noqa: E402
import shared_cases  # noqa: E402
import switch_cases  # noqa: E402
import world_cases  # noqa: E402
from sandbox import Sandbox, Skip  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def outcome(job):
    """(verdict, detail) of one case."""
    try:
        problem = job()
    except Skip as e:
        return 'skip', str(e)
    except (OSError, ValueError) as e:
        return 'FAIL', f'the test itself failed: {e!r}'
    return ('FAIL', problem) if problem else ('pass', '')


def all_cases(scratch, box):
    yield from shared_cases.cases(ROOT, scratch, box)
    yield from own_cases.cases(os.path.join(scratch, 'bytes'), box)
    yield from file_cases.cases(os.path.join(scratch, 'files'), box)
    yield from world_cases.cases(os.path.join(scratch, 'world'), box)
    yield from rules_cases.cases(os.path.join(scratch, 'rules'), box)
    yield from switch_cases.cases(os.path.join(scratch, 'switch'), box)
    yield from op_info_cases.cases(os.path.join(scratch, 'op-info'), box)
    yield from precision_cases.cases(os.path.join(scratch, 'precision'), box)


def run(args, scratch):
    box = Sandbox(args.tailor)
    if not box.sanitized:
        print('note: this build has no sanitizers; memory is limited by address space instead')
    cases = [c for c in all_cases(scratch, box) if args.only in c[0]]
    counts = {'pass': 0, 'FAIL': 0, 'skip': 0}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(outcome, [job for _, job in cases])
        for (name, _), (verdict, detail) in zip(cases, results):
            counts[verdict] += 1
            if verdict != 'pass':
                print(f'{verdict}  {name}: {detail}', flush=True)
    print(f'{counts["pass"]} passed, {counts["FAIL"]} failed, {counts["skip"]} skipped')
    return 1 if counts['FAIL'] or not counts['pass'] else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--jobs', type=int, default=os.cpu_count())
    ap.add_argument('--keep', default='')
    ap.add_argument('--only', default='')
    args = ap.parse_args()
    scratch = args.keep or tempfile.mkdtemp(prefix='tailor-hostile-')
    os.makedirs(scratch, exist_ok=True)
    try:
        return run(args, scratch)
    finally:
        if not args.keep:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
