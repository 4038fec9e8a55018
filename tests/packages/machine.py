#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program for another machine, run by qemu, or with musl as its C library: unit tests, golden
files, conversions and evaluations, whose bytes must be those of the program for this machine.

  machine.py --machine aarch64|armhf|i386|musl|s390x --tailor BIN --build FOLDER
             [--n 200] [--every 8]

FOLDER is made by scripts/cross, without a warning. i386 does without qemu too, where this kernel
runs its programs. Converted are models of Debian's libonnx-testdata and the graphs
of tests/oom, n of them, to ONNX, to AIR and back, and to text in turns. As many of those models are
evaluated on their own data, with results as .pb and .npy in turns; a NaN that arithmetic makes has
a sign on x86 alone. Of the golden files every eighth is read, where qemu is not needed all;
--every 1 reads all, which takes qemu an hour."""
import argparse
import array
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
            'armhf': ('arm-linux-gnueabihf-gcc', 'qemu-arm'),
            'i386': ('i686-linux-gnu-gcc', 'qemu-i386'),
            'musl': ('musl-gcc',),
            's390x': ('s390x-linux-gnu-gcc', 'qemu-s390x')}


def emulation(machine, build):
    return [MACHINES[machine][1], '-L', os.path.abspath(build + '.sysroot')]


def starter(machine, build):
    """(what runs a program of the machine, whether it takes its time)"""
    if machine == 'musl':
        return [], False
    root = os.path.abspath(build + '.sysroot')
    libraries = os.path.join(root, 'lib', f'{machine}-linux-gnu')
    loader = [os.path.join(libraries, 'ld-linux.so.2'), '--library-path',
              libraries + ':' + os.path.join(root, 'usr', 'lib', f'{machine}-linux-gnu')]
    try:
        tool = os.path.join(build, 'tools', 'tailor')
        if machine == 'i386' and subprocess.run([*loader, tool, '--version'], capture_output=True,
                                                check=False).returncode == 0:
            return loader, False
    except OSError:
        pass  # this kernel runs no programs of 32 bits
    return emulation(machine, build), True


def models(n):
    found = sorted(glob.glob(os.path.join(ROOT, 'tests', 'oom', '*.tir')))
    nodes = sorted(glob.glob(os.path.join(OFFICIAL, '*', '*', 'model.onnx')))
    step = max(1, len(nodes) // max(1, n - len(found)))
    return (found + nodes[::step])[:n]


def files_of(folder):
    """Paths and bytes of the files in a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, 'rb') as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


# How models are converted, in turns: a suffix, and options.
WAYS = (('onnx', ()), ('air', ()), ('onnx', ('--external-weight=1',)),
        ('air', ('--external-weight=1',)), ('tir', ()))


def convert(tool, path, way, folder):
    """(exit code, what the files have or messages say). What was an AIR file is read as well."""
    suffix, options = way
    os.makedirs(folder)
    out = os.path.join(folder, f'model.{suffix}')
    lines = [[path, '-o', out, *options]]
    if suffix == 'air':
        lines.append([out, '-o', os.path.join(folder, 'back.tir')])
    for line in lines:
        p = guard.run([*tool, 'convert', *line, '--quiet', '--summary=none'], capture_output=True,
                      text=True, cpu=600)
        if p.returncode:
            return p.returncode, p.stderr.replace(folder, '')
    return 0, {name: data.replace(folder.encode(), b'') for name, data in files_of(folder).items()}


# For element types of .npy: the words of that size, and the NaN that arithmetic makes on x86.
NANS = {b"'<f2'": ('H', 0xfe00), b"'<f4'": ('I', 0xffc00000), b"'<f8'": ('Q', 0xfff8 << 48)}


def without_nan_signs(data):
    """A .npy file with the NaN of x86 as that of other machines."""
    for code, (word, nan) in NANS.items():
        if code in data[:64]:
            words = array.array(word, data)
            return array.array(word, (w & nan >> 1 if w == nan else w for w in words)).tobytes()
    return data


def evaluate(tool, path, form, folder):
    """(exit code, what the files have or messages say)"""
    os.makedirs(folder)
    data = os.path.join(os.path.dirname(path), 'test_data_set_0')
    p = guard.run([*tool, 'run', path, '-q', '--exact', '--seed=7', f'--format={form}',
                   '--output', folder, *(['--input', data] if os.path.isdir(data) else [])],
                  capture_output=True, text=True, cpu=600)
    if p.returncode:
        return p.returncode, p.stderr.replace(folder, '')
    return 0, {name: without_nan_signs(data) for name, data in files_of(folder).items()}


def compared(here, there, n, what, ways):
    """(passed, failed): runs of a function on n models with both programs."""
    def differs(job):
        number, path = job
        way = ways[number % len(ways)]
        mine, other = (what(tool, path, way, os.path.join(work, f'{number}.{place}'))
                       for place, tool in (('here', [here]), ('with', there)))
        if mine != other:
            print(f'FAIL machine: {what.__name__} {path} {way}: exit codes {mine[0]} and '
                  f'{other[0]}{other[1][-300:] if other[0] else ""}')
        written.append(not mine[0])
        return mine != other
    written = []
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = sum(pool.map(differs, enumerate(models(n))))
    print(f'{what.__name__}: {len(written)} models, {sum(written)} written, '
          f'{len(written) - sum(written)} refused, {failed} different')
    return len(written) - failed, failed


def unit_tests(emulator, build):
    p = subprocess.run([*emulator, os.path.join(build, 'tests', 'unit-tests')], capture_output=True,
                       text=True, check=False, cwd=ROOT)
    print('unit tests:', p.stdout.strip().splitlines()[-1] if p.stdout.strip() else p.stderr)
    return (0, 1) if p.returncode else (1, 0)


def refusal(there):
    """A processor without SSE2 is told by its name, and nothing is computed in another way."""
    p = subprocess.run([there[0], '-cpu', 'pentium3', *there[1:], '--version'], capture_output=True,
                       text=True, check=False)
    good = p.returncode == 3 and p.stderr.startswith('tailor: error: this processor lacks SSE2')
    print(f'without SSE2: {"refused" if good else (p.returncode, p.stdout + p.stderr)}')
    return int(good), int(not good)


def late(there):
    """A model of the year 2050 is read as any other."""
    with tempfile.TemporaryDirectory() as work:
        path = shutil.copy(models(1)[0], work)
        os.utime(path, (2524608000, 2524608000))
        p = subprocess.run([*there, 'info', path], capture_output=True, text=True, check=False)
    print('a file of 2050:', p.stderr if p.returncode else 'read')
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
    p.add_argument('--every', type=int)
    args = p.parse_args()
    for program in MACHINES[args.machine]:
        if not shutil.which(program):
            print(f'skip {args.machine}: {program} is not installed\n0 passed, 0 failed, 1 skipped')
            return 0
    made = subprocess.run([os.path.join(ROOT, 'scripts', 'cross'), args.machine, args.build,
                           'tools/tailor', 'tests/unit-tests'],
                          capture_output=True, text=True, check=False)
    if made.returncode or 'warning:' in made.stdout:
        print(f'FAIL {args.machine}: {made.stdout[-1500:]}{made.stderr[-1500:]}\n'
              '0 passed, 1 failed, 0 skipped')
        return 1
    emulator, slow = starter(args.machine, args.build)
    there = [*emulator, os.path.abspath(os.path.join(args.build, 'tools', 'tailor'))]
    results = [unit_tests(emulator, args.build),
               compared(args.tailor, there, args.n, convert, WAYS),
               compared(args.tailor, there, args.n, evaluate, ('pb', 'npy')),
               late(there),
               golden(there, args.every or (8 if slow else 1))]
    if args.machine == 'i386':
        results.append(refusal([*emulation('i386', args.build), there[-1]]))
    passed, failed = (sum(x) for x in zip(*results))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
