#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""AIR files are read as they were written: each model is converted to AIR, the file is read and
written again without passes, and must have the same bytes, files of weights included; and the
evaluator must give the same numbers for the file as for the model (verify).

  tests/air/round_trip.py --tailor T [--every N] [--verify N] [--all-sets] [FOLDER...]

--every: of all models; --verify: of those, how many are also run, 0: none. Each model gets one of
the four option sets in turn, with --all-sets all. Default folders: the corpus beside the project
and Debian's ONNX models. Models of bench/make_models.py are given as a FOLDER."""
import argparse
import filecmp
import glob
import os
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = [os.path.join(os.path.dirname(ROOT), 'shared', 'corpus'), '/usr/share/libonnx-testdata']
SETS = [[], ['--precision-mode=force_fp16'], ['--external-weight=2'],
        ['--soc-version=Ascend310P3', '--deterministic=1']]
LARGE = 64 << 20  # bytes of a model that is left out
MEMORY = '--memory-limit=512M'  # random sizes, as of Range, may ask for any


def files_below(folder):
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            found[os.path.relpath(path, folder)] = path
    return found


def same(left, right):
    """None, or what differs between two folders."""
    a, b = files_below(left), files_below(right)
    if set(a) != set(b):
        return f'other files: {sorted(set(a) ^ set(b))[:4]}'
    for name in sorted(a):
        if not filecmp.cmp(a[name], b[name], shallow=False):
            return f'{name} differs'
    return None


class Trip:
    def __init__(self, tool):
        self.tool = tool
        self.passed = self.refused = 0
        self.failed = []

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, text=True, check=False)

    def excused(self, model, other, options, near):
        """Returns true if the model does the same without AIR: random inputs do not fit, it is
        random itself, an op has no kernel, or f16 is too narrow for its values."""
        chip = [o for o in options if o.startswith('--soc')]
        return (self.run('run', model, MEMORY).returncode
                or self.run('verify', model, '--npu', MEMORY, *chip).returncode
                or self.run('convert', model, '-o', other, '-q', *options).returncode
                or self.run('verify', model, other, MEMORY, *near).returncode)

    def verify(self, model, air, options):
        near = ['--cosine=0.99'] if any('fp16' in o for o in options) else []
        done = self.run('verify', model, air, MEMORY, *near)
        if done.returncode and self.excused(model, air[:-len('air')] + 'onnx', options, near):
            return None
        return None if done.returncode == 0 else f'verify: {done.returncode} {done.stderr[:300]}'

    def model(self, path, options, runs):
        with tempfile.TemporaryDirectory() as room:
            one, two = os.path.join(room, '1'), os.path.join(room, '2')
            os.mkdir(one)
            os.mkdir(two)
            first, second = os.path.join(one, 'm.air'), os.path.join(two, 'm.air')
            done = self.run('convert', path, '-o', first, '-q', *options)
            if done.returncode:
                self.refused += 1
                return
            weights = [o for o in options if o.startswith('--external')]
            done = self.run('convert', first, '-o', second, '-q', '-O0', *weights)
            why = f'cannot be read: {done.stderr[:300]}' if done.returncode else same(one, two)
            if why is None and runs:
                why = self.verify(path, first, options)
            self.passed += why is None
            if why:
                self.failed.append(f'{path} {" ".join(options)}: {why}')


def models(folders, every):
    found = [p for folder in folders
             for p in sorted(glob.glob(os.path.join(folder, '**', '*.onnx'), recursive=True))
             if os.path.getsize(p) < LARGE]
    return found[::every]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--verify', type=int, default=1)
    p.add_argument('--all-sets', action='store_true')
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    trip = Trip(args.tailor)
    for i, path in enumerate(models(args.folders or FOLDERS, args.every)):
        counts = '_range_' in path  # random numbers of steps are too many to run
        runs = args.verify and i % args.verify == 0 and not counts
        for options in SETS if args.all_sets else [SETS[i % len(SETS)]]:
            trip.model(path, options, runs)
    for line in trip.failed:
        print('FAIL', line)
    print(f'{trip.refused} models have no AIR form', file=sys.stderr)
    print(f'{trip.passed} passed, {len(trip.failed)} failed, 0 skipped')
    return 1 if trip.failed else 0


if __name__ == '__main__':
    sys.exit(main())
