#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs documents that show a session, word for word.

  run.py --tailor BIN FILE...

A block behind a line '`NAME`:' is the file NAME. In a console block, a line '$ command' is run in a
folder of its own for the document; what stands below must be what it prints, messages included. A
line that ends in '...' matches any rest, a line '...' any number of lines."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r'(?:^`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$', re.M | re.S)


def pattern(lines):
    parts = []
    for line in lines:
        if line == '...':
            parts.append(r'(?:.*\n)*')
        elif line.endswith('...'):
            parts.append(re.escape(line[:-3]) + r'.*\n')
        else:
            parts.append(re.escape(line) + r'\n')
    return re.compile(''.join(parts) + r'\Z')


def sessions(text):
    """(command, expected lines) of a console block."""
    for part in re.split(r'^\$ ', text, flags=re.M)[1:]:
        command, *lines = part.rstrip('\n').split('\n')
        yield command, lines


def run_document(path, tool):
    passed = failed = 0
    folder = tempfile.mkdtemp(prefix='tailor-docs-')
    os.makedirs(folder + '/bin')
    os.makedirs(folder + '/work')
    os.symlink(os.path.abspath(tool), folder + '/bin/tailor')
    env = dict(os.environ, PATH=folder + '/bin:' + os.environ['PATH'], LC_ALL='C')
    with open(path, encoding='utf-8') as f:
        text = f.read()
    for name, kind, body in BLOCK.findall(text):
        if name:
            with open(os.path.join(folder, 'work', name), 'w', encoding='utf-8') as f:
                f.write(body)
        for command, lines in sessions(body) if kind == 'console' else ():
            p = subprocess.run(['sh', '-c', command], cwd=folder + '/work', env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                               stdin=subprocess.DEVNULL, check=False)
            good = pattern(lines).match(p.stdout) is not None
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'FAIL {path}: $ {command}\ngot:\n{p.stdout}')
    shutil.rmtree(folder)
    return passed, failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    counts = [run_document(path, args.tailor) for path in args.paths]
    passed, failed = (sum(n) for n in zip(*counts))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
