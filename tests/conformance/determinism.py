#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Exact evaluation gives the same bytes whatever computes them: 1 or 2 threads, gcc or clang, with
and without the processor's vector units.

  determinism.py --tailor BIN --other BIN [--every N]

Every N-th official model that can be evaluated, and the mobilenet_v2 of the benchmarks, runs with
`--exact --seed 7` on its own or random inputs; hashes of the outputs are compared. The last
line is 'N passed, M failed, K skipped'."""
import argparse
import concurrent.futures
import hashlib
import os
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

# What glibc chooses its functions by; unknown names are ignored by versions that lack them.
PLAIN = 'glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-AVX,-SSE4_2'


def ways(args):
    """(name, program, threads, environment); the first is what the others are compared with."""
    return [('one thread', args.tailor, 1, {}), ('two threads', args.tailor, 2, {}),
            ('other compiler', args.other, 1, {}),
            ('other compiler, two threads', args.other, 2, {}),
            ('no vector units', args.tailor, 1, {'GLIBC_TUNABLES': PLAIN})]


def digest(folder):
    h = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        if name.startswith('output_'):
            with open(os.path.join(folder, name), 'rb') as f:
                h.update(name.encode() + f.read())
    return h.hexdigest()


def run(tool, threads, env, case):
    """Hash of the outputs, or None when the model cannot be evaluated."""
    with tempfile.TemporaryDirectory(prefix='tailor-determinism-') as folder:
        argv = [tool, 'run', case.path, '-q', '--exact', '--seed=7', f'--threads={threads}',
                '--output', folder]
        if case.data:
            argv += ['--input', case.data]
        p = guard.run(argv, capture_output=True, cpu=300,
                      env=dict(os.environ, **env))
        return digest(folder) if p.returncode == 0 else None


def make_model(folder, name):
    subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder, name],
                   check=True, stdout=subprocess.DEVNULL)
    return models.Case(name, os.path.join(folder, name + '.onnx'), None, None)


def check(args, case):
    """None: cannot be evaluated; else the ways that differ."""
    hashes = {name: run(tool, threads, env, case) for name, tool, threads, env in ways(args)}
    first = next(iter(hashes.values()))
    if first is None:
        return None
    return [name for name, h in hashes.items() if h != first]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--other', required=True, help='the same program from another compiler')
    p.add_argument('--every', type=int, default=7, help='take every N-th official model')
    args = p.parse_args()
    cases = list(models.official(ROOT))[::args.every]
    with tempfile.TemporaryDirectory(prefix='tailor-determinism-') as folder:
        cases.append(make_model(folder, 'mobilenet_v2'))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda c: check(args, c), cases))
    for case, result in zip(cases, results):
        if result:
            print(f'FAIL {case.name}: other bytes with {", ".join(result)}')
    failed = sum(1 for r in results if r)
    skipped = sum(1 for r in results if r is None)
    print(f'{len(cases) - failed - skipped} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
