#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the command line: .t files hold shell commands with their exact output.

  run.py --tailor BIN [--update] PATH...

A line '$ command' runs in a folder of its own per file, with `tailor` on the path. The lines below
it are what must come out: '> text' on standard output, '! text' on standard error, '? N' the exit
status when it is not 0. A line ending in '...' after a text matches any rest. '#' starts a comment.
--update rewrites the expectations."""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

# A command that a shell would only split at blanks: it needs none.
PLAIN = re.compile(r"""tailor(?: +(?:[\w./:=,@%+-]|'[^']*')+)*$""")


def tests_under(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for base, dirs, files in os.walk(path):
            dirs.sort()
            yield from (os.path.join(base, f) for f in sorted(files) if f.endswith('.t'))


def read_cases(lines):
    """Blocks of (text to keep, command or None, expected lines)."""
    cases = [([], None, [])]
    for line in lines:
        if line.startswith('$ '):
            cases.append(([line], line[2:], []))
        elif line[:1] in '>!?' and line and cases[-1][1] is not None:
            cases[-1][2].append(line)
        else:
            cases.append(([line], None, []))
    return cases


def run(command, folder, tool):
    env = dict(os.environ, PATH=folder + '/bin:' + os.environ['PATH'], LC_ALL='C')
    argv = ['sh', '-c', command]
    if PLAIN.match(command):
        argv = [os.path.abspath(tool), *shlex.split(command)[1:]]
    p = guard.run(argv, cwd=folder + '/work', env=env, capture_output=True,
                  stdin=subprocess.DEVNULL, text=True, errors='replace')
    lines = [('> ' + t).rstrip() for t in p.stdout.splitlines()]
    lines += [('! ' + t).rstrip() for t in p.stderr.splitlines()]
    return lines + ([f'? {p.returncode}'] if p.returncode else [])


def matches(expected, got):
    if expected == ['> ...'] or len(expected) != len(got):
        return expected == ['> ...'] and got and all(g.startswith('>') for g in got)
    return all(e == g or (e.endswith('...') and g.startswith(e[:-3]))
               for e, g in zip(expected, got))


def run_file(path, tool, update):
    """Problems found, and the number of cases."""
    with open(path, encoding='utf-8') as f:
        cases = read_cases(f.read().splitlines())
    problems = []
    folder = tempfile.mkdtemp(prefix='tailor-cli-')
    try:
        os.makedirs(folder + '/bin')
        os.makedirs(folder + '/work')
        os.symlink(os.path.abspath(tool), folder + '/bin/tailor')
        for i, (text, command, expected) in enumerate(cases):
            if command is None:
                continue
            got = run(command, folder, tool)
            if not matches(expected, got):
                problems.append(f'{path}: $ {command}\n' + '\n'.join(
                    ['expected:'] + expected + ['got:'] + got))
                cases[i] = (text, command, got)
    finally:
        shutil.rmtree(folder)
    if update and problems:
        with open(path, 'w', encoding='utf-8') as f:
            f.writelines(line + '\n' for text, _, rest in cases for line in text + rest)
        problems = []
    return problems, sum(c[1] is not None for c in cases)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--update', action='store_true')
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    total = failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool: # a file's commands share a folder, files none
        results = pool.map(lambda path: run_file(path, args.tailor, args.update),
                           tests_under(args.paths))
    for problems, n in results:
        total += n
        failed += len(problems)
        for problem in problems:
            print('FAIL ' + problem)
    print(f'{total - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
