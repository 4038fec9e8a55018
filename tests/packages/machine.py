#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program for another machine, run by qemu: unit tests, golden files, and conversions, whose
bytes must be those of the program for this machine.

  machine.py --machine aarch64|armhf --tailor BIN --build FOLDER [--n 200] [--every 8]

FOLDER is made by scripts/cross. Converted are models of Debian's libonnx-testdata and the
graphs of tests/oom, n of them, to ONNX and to AIR in turns. Of the golden files every eighth is
read; --every 1 reads all, which takes an hour."""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

OFFICIAL = '/usr/lib/python3/dist-packages/onnx/backend/test/data'
MACHINES = {'aarch64': ('aarch64-linux-gnu-gcc', 'qemu-aarch64'),
            'armhf': ('arm-linux-gnueabihf-gcc', 'qemu-arm')}


def models(n):
    found = sorted(glob.glob(os.path.join(ROOT, 'tests', 'oom', '*.tir')))
    nodes = sorted(glob.glob(os.path.join(OFFICIAL, '*', '*', 'model.onnx')))
    step = max(1, len(nodes) // max(1, n - len(found)))
    return (found + nodes[::step])[:n]


def convert(tool, path, out):
    """(exit code, what the file has or messages say)"""
    p = guard.run([*tool, 'convert', path, '-o', out, '--quiet', '--summary=none'],
                  capture_output=True, text=True)
    if p.returncode:
        return p.returncode, p.stderr
    with open(out, 'rb') as f:
        return 0, f.read()


def conversions(here, there, n):
    """(passed, failed)"""
    def differs(job):
        number, path = job
        out = os.path.join(work, f'{number}.{"air" if number % 2 else "onnx"}')
        mine, other = convert([here], path, out), convert(there, path, out)
        if mine != other:
            print(f'FAIL machine: {path} to {out[-5:]}: exit codes {mine[0]} and {other[0]}')
        written.append(not mine[0])
        return mine != other
    written = []
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = sum(pool.map(differs, enumerate(models(n))))
    print(f'{len(written)} models, {sum(written)} written, {len(written) - sum(written)} refused')
    return len(written) - failed, failed


def unit_tests(emulator, build):
    p = subprocess.run([emulator, os.path.join(build, 'tests', 'unit-tests')], capture_output=True,
                       text=True, check=False, cwd=ROOT)
    print('unit tests:', p.stdout.strip().splitlines()[-1] if p.stdout.strip() else p.stderr)
    return (0, 1) if p.returncode else (1, 0)


def golden(there, every):
    files = sorted(glob.glob(os.path.join(ROOT, 'tests', 'golden', '**', '*.tir'), recursive=True))
    with tempfile.TemporaryDirectory() as work:
        tool = os.path.join(work, 'tailor')  # the runner knows one program
        with open(tool, 'w', encoding='utf-8') as f:
            f.write(f'#!/bin/sh\nexec {" ".join(there)} "$@"\n')
        os.chmod(tool, 0o755)
        p = subprocess.run(['/usr/bin/python3', os.path.join(ROOT, 'tests', 'golden_runner.py'),
                            '--tailor', tool, *files[::every]], capture_output=True, text=True,
                           check=False)
    counts = re.search(r'(\d+) passed, (\d+) failed', p.stdout)
    print(f'golden: {p.stdout[-3000:].strip()}{p.stderr[-1000:]}')
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--machine', required=True, choices=sorted(MACHINES))
    p.add_argument('--tailor', required=True)
    p.add_argument('--build', required=True)
    p.add_argument('--n', type=int, default=200)
    p.add_argument('--every', type=int, default=8)
    args = p.parse_args()
    for program in MACHINES[args.machine]:
        if not shutil.which(program):
            print(f'skip {args.machine}: {program} is not installed\n0 passed, 0 failed, 1 skipped')
            return 0
    made = subprocess.run([os.path.join(ROOT, 'scripts', 'cross'), args.machine, args.build,
                           'tools/tailor', 'tests/unit-tests'],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        print(f'FAIL {args.machine}: {made.stdout[-1500:]}{made.stderr[-1500:]}\n'
              '0 passed, 1 failed, 0 skipped')
        return 1
    emulator = MACHINES[args.machine][1]
    there = [emulator, os.path.abspath(os.path.join(args.build, 'tools', 'tailor'))]
    results = [unit_tests(emulator, args.build), conversions(args.tailor, there, args.n),
               golden(there, args.every)]
    passed, failed = (sum(x) for x in zip(*results))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
