#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Changes at random what commands are given: the files that they read back from one another, and
their own options. Whatever it is, a command ends with a documented exit code, says why it failed,
and no sanitizer reports anything.

  commands.py --tailor BIN [--n N] [--lines N] [--seed S] [--jobs J] [--only KIND]

BIN is best built with sanitizers. --n: changed files of each kind (batches, options, reproducers,
explanations, errors of layers); --lines: command lines. The last line is
'N passed, M failed, K skipped'."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402

DOCUMENTED = (0, 1, 2, 3, 4, 5)
REPORT = 99
MODEL = '''graph @g(%x: f32[2,3], %w: f32[3,4]) -> (%y) {
  const %k: f32[4] = [1.0, 2.0, 3.0, 4.0]
  %t = MatMul(%x, %w) @first
  %a = Add(%t, %k) @bias
  %u = Softmax(%a) @sm
  %y = Relu(%u) @last
}
'''
STEP = '''graph @g(%x: f32[4,2], %t: f32[4,1], %w: f32[2,1] = [1.0, 1.0]) -> (%L, %w_new) {
  const %lr = f32[] 0.1
  %y = MatMul(%x, %w)
  %e = Sub(%y, %t)
  %sq = Mul(%e, %e)
  %L = ReduceMean(%sq) {keepdims=0}
  %xt = Transpose(%x) {perm=[1, 0]}
  %gw = MatMul(%xt, %e)
  %d = Mul(%lr, %gw)
  %w_new = Sub(%w, %d)
  state %w -> %w_new
  gradient %w -> %gw
}
'''
RULES = ('rules 1\nrule Own : graph numerics exact {\n  match { %y = Neg(%x) }\n'
         '  replace { %y = Mul(%x, const -1.0) }\n}\n')
BATCH = [{'model': 'm.tir', 'outputs': ['o1.air'], 'options': {'precision-mode': 'force_fp16'}},
         {'command': 'convert', 'model': 'm.tir', 'outputs': ['o2.onnx', 'o3.tir'],
          'options': {'quiet': True, 'fusion': 'LayerNorm:off'}}]
ODD = [0, -1, 1e308, None, True, False, [], {}, '', 'x', 99999999999999999999, 2 ** 31, 2 ** 32,
       2 ** 63, 0.5, '\0', '../x', '/dev/full', 'é', 'a' * 5000, [[]], {'a': {}}, '-', '--', '@x']
WORDS = ['', '0', '1', '-1', '2', 'x', 'm.tir', 's.tir', 'o.air', 'dir', '/dev/null', 'x:2,3',
         'x:1~4,3', 'sm:0', 'first,sm', '*', 'force_fp16', 'range', 'Ascend310P3', 'true', 'off',
         'A:off', '1e-3', 'nan', '99999999999999999999', 'NCHW', 'x=1', '1,2;3', 'f16', 'all',
         '-', '--', 'a' * 300, 'é', 'infer-shapes,clean-up', 'r.tlr']
COMMANDS = ('convert', 'opt', 'passes', 'explain', 'ops', 'info', 'run', 'verify', 'simulate-ranks',
            'diff-precision', 'diff', 'extract', 'bisect', 'reduce', 'precision-search',
            'test-rules', 'cache', 'options', 'help')
TWO_MODELS = ('verify', 'diff', 'diff-precision')
NO_MODEL = ('cache', 'options', 'help', 'ops', 'passes')
# Options that run programs of others, wait for something, or are about the exit code.
LEFT_OUT = ('--check', '--runner', '--watch', '--memory-limit', '--sandbox', '--atc-exit')


# ---- changes -------------------------------------------------------------------------------------

def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def change_once(rng, value):
    """Another value, or another place for one, somewhere in a JSON value."""
    path = rng.choice([p for p in places(value) if p] or [()])
    if not path:
        return rng.choice(ODD)
    inside, key, kind = at(value, path[:-1]), path[-1], rng.random()
    if kind < 0.55:
        inside[key] = rng.choice(ODD)
    elif kind < 0.7:
        inside[key] = json.loads(json.dumps(at(value, rng.choice(list(places(value))))))
    elif kind < 0.85:
        del inside[key]
    elif isinstance(inside, list):
        inside.insert(key, inside[key])
    else:
        inside[key + 'x'] = inside.pop(key)
    return value


def changed(rng, text):
    """JSON with a few changes that leave it JSON, or one time in five with a few that do not."""
    if rng.random() < 0.2:
        at_byte = rng.randrange(len(text))
        return text[:at_byte] + rng.choice(['', '"', '}', '[', '\\u0000', '9' * 400]) + \
            text[at_byte + rng.randrange(3):]
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 3])):
        value = change_once(rng, value)
    return json.dumps(value)


# ---- running -------------------------------------------------------------------------------------

class Commands:
    def __init__(self, tailor, folder, seed):
        self.tailor, self.folder, self.seed = tailor, folder, seed
        self.env = dict(os.environ, LC_ALL='C',
                        ASAN_OPTIONS=f'exitcode={REPORT}:allocator_may_return_null=1',
                        UBSAN_OPTIONS=f'exitcode={REPORT}:halt_on_error=1')
        for name, text in (('m.tir', MODEL), ('s.tir', STEP), ('r.tlr', RULES)):
            self.write(name, text)
        self.files = self.originals()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def run(self, words, folder=None):
        return guard.run([self.tailor, *words], cwd=folder or self.folder, env=self.env,
                         capture_output=True, text=True, errors='replace',
                         stdin=subprocess.DEVNULL)

    def originals(self):
        """kind: (file, its text, the command that reads it back)"""
        self.run(['convert', 'm.tir', '-q', '-o', 'half.onnx', '--precision-mode=force_fp16',
                  '--options-json=made.json'])
        self.run(['opt', 'm.tir', '-q', '-o', 'x.tir', '--precision-mode=force_fp16',
                  '--reproducer=made'])
        explained = self.run(['explain', '--precision', '--json', 'm.tir']).stdout
        self.write('other.json', explained)
        layers = self.run(['verify', '--layers', '--json', 'm.tir', 'half.onnx']).stdout
        return {
            'batch': ('b.json', json.dumps(BATCH), ['convert', '--batch', 'b.json', '-q']),
            'options': ('o.json', self.read('made.json'), ['convert', '@o.json']),
            'reproducer': ('made/reproducer.json', self.read('made/reproducer.json'),
                           ['replay', 'made']),
            'explanation': ('e.json', explained, ['diff-precision', 'e.json', 'other.json']),
            'errors': ('l.json', layers, ['view', 'm.tir', '--errors=l.json', '-o', 'v.html']),
        }

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding='utf-8') as f:
            return f.read()

    def judge(self, what, words, folder=None):
        """What is wrong with the end of a command, or None."""
        try:
            p = self.run(words, folder)
        except subprocess.TimeoutExpired:
            return f'{what}: {words} does not end'
        if p.returncode not in DOCUMENTED or 'runtime error' in p.stderr:
            return f'{what}: {words} ends with {p.returncode}: {p.stderr[:1500]}'
        if p.returncode not in (0, 5) and 'error' not in p.stderr:
            return f'{what}: {words} ends with {p.returncode} and does not say why'
        return None

    def file(self, kind, i):
        """Changes the i-th time a file of a kind, in a folder of its own."""
        rng = random.Random(f'{self.seed} {kind} {i}')
        name, text, words = self.files[kind]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for other in ('m.tir', 'other.json', 'made/input.tir', name):
                os.makedirs(os.path.dirname(os.path.join(folder, other)), exist_ok=True)
                with open(os.path.join(folder, other), 'w', encoding='utf-8') as f:
                    f.write(changed(rng, text) if other == name else self.read(other))
            return self.judge(f'{kind} {i}', words, folder)

    # ---- command lines ---------------------------------------------------------------------------

    def options(self, command):
        """[(option, what its help shows behind it)]"""
        text = self.run(['help', command, '--help-all']).stdout
        found = sorted(set(re.findall(r'(--[a-z][a-z0-9-]+)(?:\[?=([^\s,]+))?', text)))
        return [(o, shown) for o, shown in found if o not in LEFT_OUT]

    def value(self, rng, shown):
        """A value that suits what the help shows, most of the time."""
        if '|' in shown and rng.random() < 0.8:
            return rng.choice(shown.strip('[]').split('|'))
        if 'FILE' in shown and rng.random() < 0.8:
            return rng.choice(['m.tir', 'other.json', 'r.tlr', 'new'])
        return rng.choice(WORDS)

    def line(self, i):
        rng = random.Random(f'{self.seed} line {i}')
        command = rng.choice(COMMANDS)
        words = [command]
        if command in NO_MODEL:
            words.append(rng.choice(['stats', 'verify', 'Add', 'convert', 'x']))
        else:
            words += rng.choices(['m.tir', 's.tir', 'missing'], [5, 4, 1],
                                 k=1 + (command in TWO_MODELS))
        for option, shown in rng.choices(self.known[command], k=rng.choice([1, 2, 2, 3])):
            words.append(f'{option}={self.value(rng, shown)}' if shown else option)
        if rng.random() < 0.5 and command in ('convert', 'opt', 'extract', 'reduce'):
            words += ['-o', rng.choice(['o.air', 'o.onnx', 'o.tir', '-'])]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for name in ('m.tir', 's.tir', 'r.tlr', 'other.json'):
                os.link(os.path.join(self.folder, name), os.path.join(folder, name))
            return self.judge(f'line {i}', words, folder)


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=25)
    p.add_argument('--lines', type=int, default=150)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--only', default='')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands(os.path.abspath(args.tailor), folder, args.seed)
        commands.known = {c: commands.options(c) for c in COMMANDS}
        jobs = [(commands.file, kind, i) for kind in commands.files for i in range(args.n)
                if args.only in kind]
        jobs += [(commands.line, i) for i in range(args.lines) if args.only in 'line']
        with ThreadPoolExecutor(args.jobs) as pool:
            wrong = [w for w in pool.map(lambda job: job[0](*job[1:]), jobs) if w]
    for problem in wrong:
        print('FAIL', problem)
    print(f'{len(jobs) - len(wrong)} passed, {len(wrong)} failed, 0 skipped')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
