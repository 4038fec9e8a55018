#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of models compute what the models compute there: random cuts of each model are extracted
with the tensors at their border, and the part must give these from these, bit for bit; as AIR, as
near as AIR of the model does.

  tests/extract/parts.py --tailor T [--every N] [--cuts N] [--seed N] [FOLDER...]

Each model is cut as ONNX, and its AIR file as AIR and as ONNX. Default folders: the corpus beside
the project and Debian's ONNX models. Models that cannot be run are left out."""
import argparse
import collections
import json
import os
import random
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'air'))
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import round_trip  # noqa: E402

MEMORY = round_trip.MEMORY
EXACT = ['--rtol=0', '--atol=0']
# What extract may say about values chosen at random.
REFUSALS = ('is on no path to', 'nothing says which type', 'there is nothing between',
            'is a constant', 'is an input of the model', 'no output of the model is computed')
# Why a model may be left out when the part is written in another form than it was read in.
OTHER_FORM = ('has no NPU form', 'have no NPU form', 'have no ONNX form', 'has no ONNX form')


class Parts:
    def __init__(self, args, room):
        self.tool, self.cuts, self.room = args.tailor, args.cuts, room
        self.random = random.Random(args.seed)
        self.passed, self.failed = 0, []
        self.left = collections.Counter()

    def run(self, *argv):
        return guard.run([self.tool, *argv, '-q'], capture_output=True, text=True,
                         check=False, errors='replace')

    def path(self, name):
        return os.path.join(self.room, name)

    def values(self, model):
        """Names of values in the order in which a run makes them, None: it cannot be run."""
        folder = self.path('dump')
        shutil.rmtree(folder, ignore_errors=True)
        done = self.run('run', model, '--dump-tensors', folder, MEMORY)
        if done.returncode:
            return None
        with open(os.path.join(folder, 'index.json'), encoding='utf-8') as f:
            return [name for name in json.load(f).values() if name]

    def own(self, air, names):
        """Names of an AIR file: a run also makes values inside the definitions of NPU ops."""
        text = self.run('opt', air, '--passes=').stdout
        known = set(re.findall(r'%([^\s,()":]+)', text)) | {
            quoted.replace('\\"', '"') for quoted in re.findall(r'%"((?:[^"\\]|\\.)*)"', text)}
        return [name for name in names or [] if name in known]

    def fail(self, model, options, why):
        self.failed.append(f'{model}: {" ".join(options)}: {why.strip()[:300]}')

    def verify(self, part, data, options):
        return self.run('verify', part, data, *options, MEMORY)

    def cut(self, model, names, suffix):
        """One cut; the part is in the form of the model."""
        part, data = self.path('part' + suffix), self.path('data')
        shutil.rmtree(data, ignore_errors=True)
        if os.path.exists(part):
            os.remove(part)
        at = self.random.sample(range(len(names)), min(len(names), self.random.choice((2, 2, 3))))
        at.sort()
        options = ['--to', names[at[-1]]]
        for i in at[:-1]:
            options += ['--from', names[i]]
        other = [] if suffix == '.onnx' else ['-o', self.path('other.onnx')]
        form = ['--format', self.random.choice(('pb', 'pb', 'npy'))]
        done = self.run('extract', model, *options, '-o', part, *other, '--data', data, MEMORY,
                        *form)
        if done.returncode and any(r in done.stderr for r in REFUSALS):
            return
        if done.returncode and (any(r in done.stderr for r in OTHER_FORM)
                                or 'cannot be written: ' in done.stderr):
            self.left['the part has no such form'] += 1
            return
        if done.returncode:
            self.fail(model, options, f'{done.returncode} {done.stderr}')
            return
        for path in [part, *other[1:]]:
            done = self.verify(path, data, EXACT)
            if done.returncode:
                self.fail(model, options, f'{path} differs: {done.stdout}{done.stderr}')
                return
        self.passed += 1

    def model(self, path):
        names = self.values(path)
        if not names or len(names) < 2:
            self.left['cannot be run, or has one value'] += 1
            return
        if self.values(path) != names or self.run('verify', path, path, MEMORY,
                                                  *EXACT).returncode:
            self.left['is random'] += 1
            return
        for _ in range(self.cuts):
            self.cut(path, names, '.onnx')
        air = self.path('model.air')
        if self.run('convert', path, '-o', air).returncode:
            return
        names = self.own(air, self.values(air))
        for _ in range(self.cuts if len(names) > 1 else 0):
            self.cut(air, names, '.air')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=40)
    p.add_argument('--cuts', type=int, default=4)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    with tempfile.TemporaryDirectory() as room:
        parts = Parts(args, room)
        for path in round_trip.models(args.folders or round_trip.FOLDERS, args.every):
            parts.model(path)
    for line in parts.failed:
        print('FAIL', line)
    for why, n in parts.left.most_common():
        print(f'{n}: {why}', file=sys.stderr)
    print(f'{parts.passed} passed, {len(parts.failed)} failed')
    return 1 if parts.failed else 0


if __name__ == '__main__':
    sys.exit(main())
