#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs documents that show a session, word for word.

  run.py --tailor BIN [--models DIR] FILE...

A block behind a line '`NAME`:' is the file NAME. In a console block, a line '$ command' is run in a
folder of its own for the document, where the program is build/tools/tailor and in the path, and the
files of --models are in demo-out/, as behind `make demo`; what stands below must be what it prints,
messages included. A line that ends in '...' matches any rest, a line '...' any number of lines;
times are not compared. In a block for the shell whose commands are all of the program, each must
succeed."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

BLOCK = re.compile(r'(?:^`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$', re.M | re.S)


def escaped(line):
    return re.sub(r'[\d\\.]+\\ ms\b', r'[\\d.]+ ms', re.escape(line))


def pattern(lines):
    parts = []
    for line in lines:
        if line == '...':
            parts.append(r'(?:.*\n)*')
        elif line.endswith('...'):
            parts.append(escaped(line[:-3]) + r'.*\n')
        else:
            parts.append(escaped(line) + r'\n')
    return re.compile(''.join(parts) + r'\Z')


def sessions(text):
    """(command, expected lines) of a console block."""
    for part in re.split(r'^\$ ', text, flags=re.M)[1:]:
        command, *lines = part.rstrip('\n').split('\n')
        here = re.search(r"<<'(\w+)'", command)
        end = lines.index(here.group(1)) + 1 if here else 0  # of what the command reads
        yield '\n'.join([command] + lines[:end]), lines[end:]


def shell_commands(text):
    """Commands of a shell block, if the program runs in all of them."""
    commands = re.sub(r'\\\n\s*', '', text).splitlines()
    return commands if all(c.startswith('build/tools/tailor ') for c in commands) else []


def make_folder(tool, models):
    folder = tempfile.mkdtemp(prefix='tailor-docs-')
    for at in ('bin', 'work/build/tools'):
        os.makedirs(os.path.join(folder, at))
        os.symlink(os.path.abspath(tool), os.path.join(folder, at, 'tailor'))
    if models:
        shutil.copytree(models, os.path.join(folder, 'work', 'demo-out'))
    return folder


def run_document(path, tool, models):
    passed = failed = 0
    folder = make_folder(tool, models)
    env = dict(os.environ, PATH=folder + '/bin:' + os.environ['PATH'], LC_ALL='C')
    with open(path, encoding='utf-8') as f:
        text = f.read()
    for name, kind, body in BLOCK.findall(text):
        if name:
            with open(os.path.join(folder, 'work', name), 'w', encoding='utf-8') as f:
                f.write(body)
        runs = list(sessions(body)) if kind == 'console' else []
        runs += [(c, ['...']) for c in shell_commands(body)] if kind == 'sh' else []
        for command, lines in runs:
            p = guard.run(['sh', '-c', command], cwd=folder + '/work', env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL)
            good = pattern(lines).match(p.stdout) is not None and (kind != 'sh' or not p.returncode)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'FAIL {path}: $ {command}\ngot:\n{p.stdout}')
    shutil.rmtree(folder)
    return passed, failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--models', help='folder of models, demo-out/ of the documents')
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    counts = [run_document(path, args.tailor, args.models) for path in args.paths]
    passed, failed = (sum(n) for n in zip(*counts))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
