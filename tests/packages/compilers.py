#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program by the oldest, the usual and the newest gcc and clang of Debian: it compiles without
a warning, tests among it; unit tests and golden files pass; conversions and evaluations give the
bytes of the usual program.

  compilers.py --tailor BIN --build FOLDER [--n 40] [--only gcc-11,clang-19]

A compiler that is not installed is skipped (scripts/install-deps compilers). FOLDER gets one
build for each."""
import argparse
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(HERE)
import machine  # noqa: E402

COMPILERS = ('gcc-11', 'gcc-12', 'clang-13', 'clang-14', 'clang-16', 'clang-19')


def built(compiler, folder):
    """True if all of the program and its tests compile without a warning."""
    cache = 'ccache ' if shutil.which('ccache') else ''
    if not os.path.exists(os.path.join(folder, 'build.ninja')):
        subprocess.run(['meson', 'setup', folder, ROOT, '-Dbuildtype=release', '-Dwerror=true'],
                       env=dict(os.environ, CC=cache + compiler), check=True, capture_output=True)
    made = subprocess.run(['ninja', '-C', folder, '-k0', '--quiet'], capture_output=True, text=True,
                          check=False)
    if made.returncode:
        print(f'FAIL {compiler}: {made.stdout[-3000:]}{made.stderr[-1000:]}')
    return made.returncode == 0


def check(compiler, args):
    """(passed, failed, skipped)"""
    if not shutil.which(compiler):
        print(f'skip {compiler}: it is not installed')
        return 0, 0, 1
    print(f'{compiler}:')
    folder = os.path.abspath(os.path.join(args.build, compiler))
    if not built(compiler, folder):
        return 0, 1, 0
    tool = [os.path.join(folder, 'tools', 'tailor')]
    results = [(1, 0), machine.unit_tests([], folder),
               machine.compared(args.tailor, tool, args.n, machine.convert, machine.WAYS),
               machine.compared(args.tailor, tool, args.n, machine.evaluate, ('pb', 'npy')),
               machine.golden(tool, 1)]
    return *(sum(x) for x in zip(*results)), 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--build', required=True)
    p.add_argument('--n', type=int, default=40)
    p.add_argument('--only', default=','.join(COMPILERS))
    args = p.parse_args()
    results = [check(compiler, args) for compiler in args.only.split(',')]
    passed, failed, skipped = (sum(x) for x in zip(*results))
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
