#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make analyze`, second half: integers and bounds, checked by clang while the program runs.

  integers.py --build DIR [--every N] [--keep]

DIR is made if it is not there: UBSan with the bounds of every array whose size clang can tell, and
with -fsanitize=integer, which also takes each implicit conversion that changes a value for a
mistake. Unit tests, golden files and every N-th official model, converted to AIR or ONNX, run in
it: whatever is reported fails."""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OFFICIAL = '/usr/lib/python3/dist-packages/onnx/backend/test/data'
REPORT = re.compile(r'^(\S+?):(\d+):\d+: runtime error: (.*)$', re.M)
PYTHON = '/usr/bin/python3'
# Unsigned numbers wrap and lose bits by the rules of C, and are used for that: `while (n-- > 0)`,
# hashes, random numbers, floats made of integers, and the integers of models, which wrap too
# (signed ones are added as unsigned). All 200 places that the units report were of these kinds.
# Sizes are multiplied by tl_mul_size, and tests/hostile has those that are too large.
# NULL + 0 is legal in the next C and with every compiler (meson.build).
CHECKS = ['-fsanitize=undefined,local-bounds,integer',
          '-fno-sanitize=unsigned-integer-overflow,unsigned-shift-base,pointer-overflow',
          '-fsanitize-recover=all']


def built(build):
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        subprocess.run(['meson', 'setup', build, '-Dbuildtype=plain', '-Doptimization=1',
                        '-Db_ndebug=true', f'-Dc_args={["-g", *CHECKS]}',
                        '-Dc_link_args=-fsanitize=undefined',
                        '-Dwerror=false'], cwd=ROOT, check=True,
                       env={'CC': 'clang', **os.environ}, stdout=subprocess.DEVNULL)
    subprocess.run(['ninja', '-C', build, '--quiet', 'tests/unit-tests', 'tools/tailor'],
                   check=True)


def commands(build, every, work):
    tailor = os.path.join(build, 'tools', 'tailor')
    yield 'units', [os.path.join(build, 'tests', 'unit-tests')]
    yield 'golden files', [PYTHON, 'tests/golden_runner.py', '--tailor', tailor, 'tests/golden']
    models = sorted(glob.glob(os.path.join(OFFICIAL, '*', '*', 'model.onnx')))
    for i, model in enumerate(models[::every]):
        output = os.path.join(work, f'{i}.{("air", "onnx")[i % 2]}')
        yield 'conversions', [tailor, 'convert', model, '-q', '-o', output]


def reports(folder):
    """{(file, line, what)}"""
    found = set()
    for path in glob.glob(os.path.join(folder, 'report.*')):
        with open(path, encoding='utf-8', errors='replace') as f:
            for file, line, what in REPORT.findall(f.read()):
                file = os.path.relpath(os.path.normpath(os.path.join(ROOT, 'b', 'b', file)), ROOT)
                found.add((file, int(line), what))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--every', type=int, default=8)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    built(build)
    ran = collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        env = {**os.environ, 'UBSAN_OPTIONS': f'log_path={work}/report:print_stacktrace=0'}

        def one(job):
            subprocess.run(job[1], cwd=ROOT, env=env, capture_output=True, check=False)
            return job[0]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            ran.update(pool.map(one, commands(build, args.every, work)))
        found = reports(work)
    places = {}
    for file, line, what in sorted(found):
        places.setdefault((file, line), what)
    for (file, line), what in places.items():
        print(f'FAIL {file}:{line}: {what}')
    print(', '.join(f'{n} {what}' for what, n in ran.items()))
    print(f'{sum(ran.values())} passed, {len(places)} failed, 0 skipped')
    return 1 if places else 0


if __name__ == '__main__':
    sys.exit(main())
