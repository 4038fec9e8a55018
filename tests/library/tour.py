#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/tour, which call every group of functions of libtailor, from C and C++,
own.c, which registers good and bad passes and ops and loads from memory, absent.c, changed.c,
allocator.c and endurance.c, which converts a thousand times.

  tour.py --build FOLDER     those of a build, which is sanitized or not
  tour.py --threads FOLDER   builds them under ThreadSanitizer there, and runs them"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

PROGRAMS = ('tour', 'tour-cpp', 'edit', 'own', 'absent', 'changed', 'allocator', 'endurance')


def build_for_threads(folder):
    """Configures and builds what is needed under ThreadSanitizer; what failed, or None."""
    if not os.path.exists(os.path.join(folder, 'build.ninja')):
        p = subprocess.run(['meson', 'setup', folder, ROOT, '-Dbuildtype=debugoptimized',
                            '-Doptimization=1', '-Db_sanitize=thread', '-Db_lundef=false'],
                           capture_output=True, text=True, check=False)
        if p.returncode:
            return p.stdout
    p = subprocess.run(['ninja', '-C', folder, *('tests/' + name for name in PROGRAMS)],
                       capture_output=True, text=True, check=False)
    return p.stdout if p.returncode else None


def run(path, work):
    """What is wrong with one program, or None."""
    for prefix in ([], ['setarch', '-R']):
        p = guard.run([*prefix, path, work], capture_output=True, text=True)
        if 'unexpected memory mapping' not in p.stderr:  # kernels that randomize more bits
            break
    if p.returncode or p.stdout != 'all of it works\n':
        return f'exit code {p.returncode}: {p.stdout}{p.stderr}'
    return p.stderr or None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build')
    p.add_argument('--threads')
    args = p.parse_args()
    problem = build_for_threads(args.threads) if args.threads else None
    if problem:
        print(f'FAIL tour: {problem}\n0 passed, 1 failed, 0 skipped')
        return 1
    counts = [0, 0, 0]
    for name in PROGRAMS:
        path = os.path.join(args.threads or args.build, 'tests', name)
        if not os.path.exists(path):  # no compiler of C++
            print(f'skip tour: {name} was not built')
            counts[2] += 1
            continue
        with tempfile.TemporaryDirectory() as work:
            problem = run(path, work)
        counts[problem is not None] += 1
        if problem:
            print(f'FAIL tour: {name}: {problem}')
    print(f'{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped')
    return 1 if counts[1] else 0


if __name__ == '__main__':
    sys.exit(main())
