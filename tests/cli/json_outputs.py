#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What commands print with --json, against docs/json.md.

  json_outputs.py --tailor BIN

Each member that a command prints must be in the table of its section, each member of the table that
is not in parentheses must be printed; the exit status must be that of the document, and nothing may
stand on standard error, which is no terminal. The same of models with more than 2 GiB of weights in
a file that has holes. The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = '''graph @g(%x: f32[2,3]) -> (%y) {
  const %k: f32[] = 2.0
  %e = Exp(%x) @e
  %n = Mul(%e, %k) @n
  %r = Relu(%n) @r
  %y = Tanh(%r) @y
}
'''
RULE = '''rules 1
rule WrongRelu : graph numerics exact {
  match { %y = Relu(%x) }
  replace { %y = LeakyRelu(%x) {alpha=0.1} }
}
'''
ROWS, WIDE = 640, 1 << 20  # of f32: 2.5 GiB
LARGE = f'''graph @g(%x: i64[2]) -> (%y) {{
  const %w: f32[{ROWS},{WIDE}] = file("large.bin", 0, {4 * ROWS * WIDE})
  const %s: i64[1] = [0]
  const %e: i64[1] = [4]
  const %a: i64[1] = [1]
  %g = Gather(%w, %x) @g
  %c = Slice(%g, %s, %e, %a) @c
  %y = Relu(%c) @y
}}
'''
# section of the document, exit status, arguments
CASES = (
    ('info', 0, 'info m.tir'),
    ('info', 0, 'info m.air'),
    ('run', 0, 'run m.tir'),
    ('verify', 0, 'verify m.tir --npu'),
    ('verify', 5, 'verify m.tir other.tir'),
    ('verify', 5, 'verify other.tir m.tir --layers'),
    ('diff', 5, 'diff m.tir other.tir'),
    ('diff', 0, 'diff m.tir m.tir'),
    ('extract', 0, 'extract m.tir --from=n --to=y -o part.tir'),
    ('bisect', 5, 'bisect other.tir --rules=wrong.tlr'),
    ('bisect', 0, 'bisect m.tir'),
    ('reduce', 0, 'reduce other.tir --rules=wrong.tlr -o small.tir'),
    ('precision-search', 0, 'precision-search m.tir --precision-mode-v2=fp16'),
    ('precision-search', 5, 'precision-search other.tir --rules=wrong.tlr --rtol=1e-6'),
    ('replay', 0, 'replay folder'),
    ('explain', 0, 'explain m.tir --rules=wrong.tlr'),
    ('explain --origins', 0, 'explain m.tir --origins'),
    ('explain --origins', 0, 'explain m.tir --origins --node=r'),
    ('explain --why-not', 0, 'explain m.tir --why-not=clean-up --node=r'),
    ('explain --precision', 0, 'explain m.tir --precision-mode=force_fp16'),
    ('test-rules', 5, 'test-rules wrong.tlr --count=10'),
    ('cache stats', 0, 'cache stats --cache-dir=kept'),
    ('cache verify', 0, 'cache verify --cache-dir=kept'),
    ('cache trim', 0, 'cache trim --cache-dir=kept'),
)
# Commands over the large model, where the whole of it is not read into memory.
HUGE = (
    ('info', 0, 'info large.tir'),
    ('run', 0, 'run large.tir --memory-limit=64M'),
    ('verify', 0, 'verify large.tir large.tir'),
    ('diff', 0, 'diff large.tir large.tir'),
    ('extract', 0, 'extract large.tir --from=g --to=y -o part.tir'),
    ('bisect', 5, 'bisect large.tir --rules=wrong.tlr -o x.tir --check=\'! grep -q Leaky {}\''),
    ('reduce', 0, 'reduce large.tir -o small.tir --check=\'! grep -q Relu {}\''),
    ('explain', 0, 'explain large.tir --rules=wrong.tlr'),
    ('test-rules', 0, 'test-rules wrong.tlr large.tir'),
)


def sections():
    """section -> {member: whether it is always there}"""
    with open(os.path.join(ROOT, 'docs', 'json.md'), encoding='utf-8') as f:
        parts = re.split(r'(?m)^## `tailor (.*)`$', f.read())
    found = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        rows = re.findall(r'(?m)^\| (.*?`.*?) \| ', text)
        found[name] = {m: not paren for row in rows
                       for paren, m in re.findall(r'(\(?)`([^`]+)`', row)}
    return found


def members(value, path=''):
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f'{path}.{key}' if path else key
            yield name
            yield from members(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner, path + '[]')


class Tests:
    def __init__(self, tailor, folder):
        self.tailor, self.folder = tailor, folder
        self.documented, self.passed, self.failed = sections(), 0, 0

    def check(self, what, good, more=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {more}')

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def shell(self, line):
        return subprocess.run(['/bin/sh', '-c', f'exec "$T" {line}'], capture_output=True,
                              text=True, check=False, cwd=self.folder,
                              env={**os.environ, 'T': self.tailor})

    def case(self, section, status, line):
        p = self.shell(line + ' --json')
        self.check(f'{line}: status', p.returncode == status, f'{p.returncode} {p.stderr}')
        self.check(f'{line}: standard error', not p.stderr and '\x1b' not in p.stdout, p.stderr)
        try:
            found = dict.fromkeys(members(json.loads(p.stdout)))
        except ValueError:
            self.check(f'{line}: JSON', False, p.stdout[:200])
            return
        patterns = self.documented[section]
        for name in found:
            self.check(f'{line}: {name}', any(fnmatch.fnmatchcase(
                name.replace('[]', '#'), q.replace('[]', '#')) for q in patterns),
                'is not in docs/json.md')
        for name, always in patterns.items():
            self.check(f'{line}: {name}', name in found or not always or '*' in name
                       or (name.split('[]')[0] in found and '[]' in name)
                       or name.startswith('[]'), 'is not printed')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(args.tailor), folder)
        tests.write('m.tir', MODEL)
        tests.write('other.tir', MODEL.replace('2.0', '-2.0'))
        tests.write('wrong.tlr', RULE)
        tests.write('large.tir', LARGE)
        with open(os.path.join(folder, 'large.bin'), 'wb') as f:
            f.truncate(4 * ROWS * WIDE)
        for line in ('convert m.tir -q -o m.air --cache-dir=kept',
                     'convert m.tir -q -o x.air --reproducer=folder'):
            made = tests.shell(line)
            tests.check(line, made.returncode == 0, made.stderr)
        for case in CASES + HUGE:
            tests.case(*case)
        print(f'{tests.passed} passed, {tests.failed} failed, 0 skipped')
        return 1 if tests.failed else 0


if __name__ == '__main__':
    sys.exit(main())
