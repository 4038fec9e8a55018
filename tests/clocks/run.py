#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks that go back and jump: the same files and exit codes, and no duration that is negative or
longer than the jumps. A cache serves and keeps what it should, also with entries of the future.

  run.py --tailor BIN --clock LIB [--only TEXT]

LIB is the library of clock.c."""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

DAY = 86400
# An hour and a hundred years back, a day ahead; beyond 2106 and 2262.
JUMPS = [-3600, -100 * 365 * DAY, DAY, 300 * 365 * DAY]
MODEL = ('graph @g(%x: f32[2,3]) -> (%y) {{\n  const %w: f32[3,3] = [{}]\n'
         '  %t = MatMul(%x, %w)\n  %e = Exp(%t)\n  %y = Relu(%e)\n}}\n')
COMMANDS = [
    'convert m.tir -o new.air -o new.onnx --summary=json --time-passes --trace-compiler=trace.json',
    'convert m.tir -o new.air --time-passes --stats',
    'convert m.tir -o new.air --max-time=60',
    'convert --batch jobs.json --summary=text',
    'opt m.tir -o new.tir --time-passes --stats=json --trace-compiler=trace.json',
    'run m.tir --output folder', 'verify m.tir m.tir --json', 'info m.tir --json',
    'explain m.tir --fusion --json',
]
DURATION = re.compile(r'([\d.]+) (ms|s)\b')
SCALE = {'ms': 1e-3, 's': 1, 'nanoseconds': 1e-9, 'ns': 1e-9}


class Wrong(Exception):
    """What is wrong."""


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def model(seed):
    return MODEL.format(', '.join(f'{seed % 900 + 100}.{i}5' for i in range(9)))


class Place:
    """A folder with models."""

    def __init__(self, args):
        self.args, self.dir = args, tempfile.mkdtemp(prefix='tailor-clocks-')
        write(self.at('m.tir'), model(1))
        write(self.at('jobs.json'), '[{"model": "m.tir", "outputs": ["a.air"]},'
                                    ' {"model": "m.tir", "outputs": ["b.onnx"]}]')

    def at(self, *path):
        return os.path.join(self.dir, *path)

    def run(self, command, clock=''):
        env = {k: v for k, v in os.environ.items() if k != 'TAILOR_CACHE_DIR'}
        if clock:
            env.update(LD_PRELOAD=self.args.clock, CLOCK=clock, CLOCK_COUNT=self.at('count'))
        p = guard.run([self.args.tailor, *shlex.split(command)], cwd=self.dir, capture_output=True,
                      text=True, env={**env, 'LC_ALL': 'C'})
        return p

    def files(self):
        """Bytes of the files by name, without those that hold times."""
        found = {}
        for base, _, names in os.walk(self.dir):
            for name in names:
                if name not in ('count', 'trace.json'):
                    with open(os.path.join(base, name), 'rb') as f:
                        found[os.path.relpath(os.path.join(base, name), self.dir)] = f.read()
        return found

    def reads(self):
        with open(self.at('count'), encoding='ascii') as f:
            return sum(int(n) for n in f.read().split())


def seconds_of(value, name=''):
    """Durations in JSON: members whose names say so."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from seconds_of(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from seconds_of(v, name)
    elif isinstance(value, (int, float)):
        if name in ('ts', 'dur'):
            yield value * 1e-6
        elif name.rpartition('_')[2] in ('ns', 'nanoseconds', 'ms'):
            yield value * SCALE[name.rpartition('_')[2]]


def durations(place, p):
    """Seconds that a command names, on either output and in its trace."""
    for text in (p.stdout, p.stderr):
        for number, unit in DURATION.findall(text):
            yield float(number) * SCALE[unit]
        for line in text.splitlines():
            if line.startswith('{'):
                try:
                    yield from seconds_of(json.loads(line))
                except ValueError:
                    pass
    if p.stdout.startswith('{') and p.stdout.count('\n') > 1:
        yield from seconds_of(json.loads(p.stdout))
    if os.path.exists(place.at('trace.json')):
        with open(place.at('trace.json'), encoding='utf-8') as f:
            yield from seconds_of(json.load(f))


def commands(args, command):
    """One command under all jumps of both clocks."""
    place = Place(args)
    right = place.run(command)
    files = place.files()
    shutil.rmtree(place.dir)
    if right.returncode:
        raise Wrong(f'{command}: {right.stderr}')
    read = 0
    for clock in ('monotonic', 'realtime'):
        for jump in JUMPS:
            for every in (1, 2, 3):
                place = Place(args)
                p = place.run(command, f'{clock}:{jump}:{every}')
                about = f'{command}, {clock} {jump} s each {every}'
                if p.returncode != right.returncode or place.files() != files:
                    raise Wrong(f'{about}: {p.returncode}, {p.stderr[-300:]}')
                reads = place.reads()  # a sum of durations may have a jump of each
                long = [s for s in durations(place, p) if not 0 <= s <= reads * abs(jump) + 120]
                if long:
                    raise Wrong(f'{about}: durations of {long[:3]} s')
                read += reads
                shutil.rmtree(place.dir)
    return read


def expect(got, wanted, what):
    if got != wanted:
        raise Wrong(f'{what}: {got}, not {wanted}')


def counted(place, command, clock=''):
    """('hit' or 'miss', bytes of m.air) of a conversion with a cache."""
    def hits():
        p = place.run('cache stats --cache-dir=cache --json')
        return json.loads(p.stdout)['hits'] if p.returncode == 0 else 0
    before = hits()
    p = place.run(command + ' --cache-dir=cache', clock)
    expect(p.returncode, 0, command + p.stderr)
    with open(place.at('m.air'), 'rb') as f:
        return 'hit' if hits() > before else 'miss', f.read()


def cached(place):
    """Hits and misses are the same whatever the clock says; an edit is seen."""
    for mode in ('copy', 'hard'):
        line = f'convert m.tir -o m.air --cache-link={mode}'
        for jump in JUMPS:
            for every in (1, 2, 3):
                clock = f'realtime:{jump}:{every}'
                write(place.at('m.tir'), model(abs(jump) % 800 + every))
                place.run('convert m.tir -o m.air')
                with open(place.at('m.air'), 'rb') as f:
                    right = f.read()
                shutil.rmtree(place.at('cache'), ignore_errors=True)
                for wanted in ('miss', 'hit', 'hit'):
                    os.remove(place.at('m.air'))
                    expect(counted(place, line, clock), (wanted, right), f'{line} {clock}')
                before = counted(place, line, clock)[1]
                write(place.at('m.tir'), model(abs(jump) % 800 + every + 4))  # the same size
                what, after = counted(place, line, clock)
                expect((what, after != before), ('miss', True), f'{line} {clock}, edited')


def future(place):
    """A cache that was used while the clock was ahead keeps what is in use now, and loses what is
    not: times of entries are set."""
    line = 'convert m.tir -o m.air'
    for year in (2099, 2500):
        shutil.rmtree(place.at('cache'), ignore_errors=True)
        for i in range(8):
            write(place.at('m.tir'), model(i))
            counted(place, line)
        then = int((year - 1970) * 365.2425 * DAY)
        for base, folders, names in os.walk(place.at('cache')):
            for name in folders + names:
                os.utime(os.path.join(base, name), (then, then))
        bytes_now = json.loads(place.run('cache stats --cache-dir=cache --json').stdout)['bytes']
        limit = max(bytes_now * 9 // 10, 1)
        p = place.run(f'cache trim --cache-dir=cache --cache-size={limit}')
        expect(p.returncode, 0, 'trim')
        for i in range(30, 36):
            write(place.at('m.tir'), model(i))
            expect(counted(place, line)[0], 'miss', f'{year}: new model {i}')
            expect(counted(place, line)[0], 'hit', f'{year}: the same again, {i}')
            expect(place.run('cache trim --cache-dir=cache').returncode, 0, 'trim')
            expect(counted(place, line)[0], 'hit', f'{year}: after a trim, {i}')


def old_inputs(place):
    """Models and outputs with times long ago and far ahead are files like others."""
    for when in (0, 1, 4102444800, 16725225600):
        os.utime(place.at('m.tir'), (when, when))
        for wanted in ('miss', 'hit'):
            shutil.rmtree(place.at('cache'), ignore_errors=True) if wanted == 'miss' else None
            expect(counted(place, 'convert m.tir -o m.air')[0], wanted, f'a model of {when}')
        os.utime(place.at('m.air'), (when, when))
        before = os.stat(place.at('m.air')).st_mtime_ns
        for clock in ('', 'realtime:-3600:1'):
            p = place.run('convert m.tir -o m.air --write-if-changed', clock)
            expect((p.returncode, os.stat(place.at('m.air')).st_mtime_ns), (0, before),
                   f'--write-if-changed, an output of {when}')


def limited(place):
    """--max-time counts processor time: a clock that jumps ends no command, nor does one that
    stands still keep it."""
    heavy = ('graph @g(%x: f32[600,600]) -> (%y) {\n  %a0 = MatMul(%x, %x)\n'
             + ''.join(f'  %a{i + 1} = MatMul(%a{i}, %x)\n' for i in range(4000))
             + '  %y = Relu(%a4000)\n}\n')
    write(place.at('heavy.tir'), heavy)
    for clock in ('monotonic', 'realtime'):
        start = time.process_time()
        p = place.run('run heavy.tir --max-time=1', f'{clock}:-{DAY}:1')
        expect(('--max-time' in p.stderr, p.returncode), (True, 2), f'{clock}: {p.stderr[-200:]}')
        assert time.process_time() - start < 60


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--clock', required=True)
    ap.add_argument('--only', default='')
    args = ap.parse_args()
    args.tailor, args.clock = os.path.abspath(args.tailor), os.path.abspath(args.clock)
    passed, failed, read = 0, 0, 0
    tests = [(c, lambda c=c: commands(args, c)) for c in COMMANDS]
    tests += [(f.__name__, lambda f=f: f(Place(args))) for f in (cached, future, old_inputs,
                                                                 limited)]
    for name, test in tests:
        if args.only not in name:
            continue
        try:
            read += test() or 0
            passed += 1
        except Wrong as e:
            failed += 1
            print(f'FAIL {name}: {e}', flush=True)
    if not args.only and not read:
        failed += 1
        print('FAIL no clock was read under the library')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
