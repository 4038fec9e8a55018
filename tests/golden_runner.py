#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: one .tir file holds a command, the IR before and the IR after.

  golden_runner.py --tailor BIN [--update] [--dump DIR] PATH...

Line 1 is '# RUN: opt ARGS'; what follows up to a line '----' is fed to `tailor opt ARGS` on
standard input, and what it prints must equal the text below the line. Lines '// -----' divide a
file into several such cases of one command. '# FAIL: text' lines beside '# RUN:' demand a failing
run whose messages contain the text. --update rewrites the parts below the lines '----'; --dump
keeps both modules as files for a numeric comparison. The printed result is run through the same
command once more: passes must be idempotent."""
import argparse
import concurrent.futures
import os
import re
import shlex
import sys
import guard

SEPARATOR = '----\n'
CASE = '// -----\n'


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
    p = guard.run(argv, input=text, capture_output=True, text=True)
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


def cases_of(text):
    """[(module, expected or None)] of a file, without its leading comments, which are for all."""
    found = []
    for i, part in enumerate(text.split('\n' + CASE)):
        before, separator, after = (part + ('\n' if i < text.count('\n' + CASE) else '')).partition(
            '\n' + SEPARATOR)
        lines = before.splitlines(keepends=True)
        module = ''.join(lines[comments(lines):] if i == 0 else lines) + '\n'
        found.append((module, after if separator else None))
    return found


def updated(text, results):
    parts = text.split('\n' + CASE)
    return CASE.join(part.partition('\n' + SEPARATOR)[0].rstrip('\n') + '\n' + SEPARATOR + out
                     for part, out in zip(parts, results))


def check_case(tool, what, case, dump):
    module, after = case
    code, out, messages = run(tool, what['RUN'], module)
    if code:
        return f'exit {code}: {messages.strip()}'
    shown = TRACE.sub('', out)
    if shown != after:
        return f'expected:\n{after or ""}got:\n{shown}'
    if dump:
        for suffix, text in (('.before.tir', module), ('.after.tir', out)):
            with open(dump + suffix, 'w', encoding='utf-8') as f:
                f.write(text)
    code, again, messages = run(tool, what['RUN'], out)
    if code or again != out:
        return f'not idempotent: {messages}\n{again}'
    return None


def check(tool, path, update, dump):
    """Problems of a file, one for each case that has one, and the number of cases."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    what = directives(text.splitlines(keepends=True))
    cases = cases_of(text)
    if not what['RUN']:
        return ['no "# RUN:" line'], 1
    if what['FAIL']:
        failure = check_failure(tool, what, cases[0][0])
        return [failure] if failure else [], 1
    if update:
        results = [run(tool, what['RUN'], module) for module, _ in cases]
        wrong = [f'exit {code}: {messages.strip()}' for code, _, messages in results if code]
        if not wrong:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(updated(text, [TRACE.sub('', out) for _, out, _ in results]))
        return wrong, len(cases)
    stem = dump and os.path.join(dump, os.path.relpath(path, os.getcwd()).replace(os.sep, '_'))
    problems = [check_case(tool, what, case, stem and f'{stem}.{i}')
                for i, case in enumerate(cases)]
    return [f'case {i + 1}: {p}' for i, p in enumerate(problems) if p], len(cases)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--update', action='store_true')
    p.add_argument('--dump')
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    passed = failed = 0
    paths = list(tests_under(args.paths))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda p: check(args.tailor, p, args.update, args.dump), paths))
    for path, (problems, cases) in zip(paths, results):
        failed += len(problems)
        passed += cases - len(problems)
        for problem in problems:
            print(f'FAIL {path}: {problem}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
