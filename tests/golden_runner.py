#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: one .tir file holds a command, the IR before and the IR after.

  golden_runner.py --tailor BIN [--update] [--dump DIR] PATH...

Line 1 is '# RUN: opt ARGS'; what follows up to a line '----' is fed to `tailor opt ARGS` on
standard input, and what it prints must equal the text below the line. '# FAIL: text' lines beside
'# RUN:' demand a failing run whose messages contain the text. --update rewrites the part below the
line; --dump keeps both modules as files for a numeric comparison. The printed result is run through
the same command once more: passes must be idempotent."""
import argparse
import os
import re
import shlex
import subprocess
import sys

SEPARATOR = '----\n'


def tests_under(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for base, dirs, files in os.walk(path):
            dirs.sort()
            for name in sorted(files):
                if name.endswith('.tir'):
                    yield os.path.join(base, name)


def run(tool, arguments, text):
    argv = [tool] + shlex.split(arguments) + ['-o', '-', '-']
    p = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=60, check=False)
    return p.returncode, p.stdout, p.stderr


# What fused nodes say of their origin is tested in tests/cli/trace.t; here it would hide the graph.
TRACE = re.compile(r' meta "(?:_datadump_\w+|pass_name)" "(?:[^"\\]|\\.)*"')


def directives(lines):
    found = {'RUN': None, 'FAIL': []}
    for line in lines:
        if not line.startswith('#'):
            break
        head, _, rest = line[1:].strip().partition(':')
        if head == 'RUN':
            found['RUN'] = rest.strip()
        elif head == 'FAIL':
            found['FAIL'].append(rest.strip())
    return found


def comments(lines):
    """The leading comment block: directives and what the test is about."""
    n = 0
    while n < len(lines) and lines[n].startswith('#'):
        n += 1
    return n


def check_failure(tool, what, text):
    code, _, messages = run(tool, what['RUN'], text)
    if code == 0:
        return 'the command succeeded, a failure was expected'
    missing = [m for m in what['FAIL'] if m not in messages]
    return f'message lacks "{missing[0]}":\n{messages}' if missing else None


def check(tool, path, update, dump):
    with open(path, encoding='utf-8') as f:
        before, separator, after = f.read().partition('\n' + SEPARATOR)
    lines = before.splitlines(keepends=True)
    what = directives(lines)
    if not what['RUN']:
        return 'no "# RUN:" line'
    text = ''.join(lines[comments(lines):]) + '\n'
    if what['FAIL']:
        return check_failure(tool, what, text)
    code, out, messages = run(tool, what['RUN'], text)
    if code:
        return f'exit {code}: {messages.strip()}'
    shown = TRACE.sub('', out)
    if update:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(before.rstrip('\n') + '\n' + SEPARATOR + shown)
        return None
    if not separator or shown != after:
        return f'expected:\n{after}got:\n{shown}'
    if dump:
        stem = os.path.join(dump, os.path.relpath(path, os.getcwd()).replace(os.sep, '_'))
        for suffix, module in (('.before.tir', text), ('.after.tir', out)):
            with open(stem + suffix, 'w', encoding='utf-8') as f:
                f.write(module)
    code, again, messages = run(tool, what['RUN'], out)
    if code or again != out:
        return f'not idempotent: {messages}\n{again}'
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--update', action='store_true')
    p.add_argument('--dump')
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    passed = failed = 0
    for path in tests_under(args.paths):
        problem = check(args.tailor, path, args.update, args.dump)
        if problem:
            failed += 1
            print(f'FAIL {path}: {problem}')
        else:
            passed += 1
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
