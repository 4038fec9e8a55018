#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/ci/Dockerfile without Docker: each stage is a system by debootstrap, and its lines are
done in a chroot. The command of the last stage then converts a model there.

  dockerfile.py [--folder DIR]

Needs root, debootstrap and a mirror. Knows FROM, WORKDIR, COPY, RUN and CMD. DIR is kept."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import chroot  # noqa: E402

DOCKERFILE = os.path.join(chroot.ROOT, 'examples', 'ci', 'Dockerfile')
PATHS = {'PATH': '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'}


def instructions():
    """[(word, rest)], comments dropped and continued lines joined."""
    with open(DOCKERFILE, encoding='utf-8') as f:
        text = re.sub(r'^#.*\n', '', f.read(), flags=re.M).replace('\\\n', ' ')
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def begin(folder, base):
    """A fresh system; the first one is made, the others are copies."""
    if not os.path.exists(base):
        chroot.need('debootstrap', 'debootstrap', '--variant=minbase', 'bookworm', base,
                    chroot.mirror())
        shutil.copytree('/etc/apt/apt.conf.d', os.path.join(base, 'etc/apt/apt.conf.d'),
                        dirs_exist_ok=True)
    chroot.need('copy', 'cp', '-a', base, folder)


def inside(folder, path, current='/'):
    return os.path.join(folder, os.path.join(current, path).lstrip('/'))


def copy(words, folder, stages, current):
    """COPY, from the sources of the last commit or from another stage."""
    source, target = words[-2:]
    to = inside(folder, target, current)
    os.makedirs(to, exist_ok=True)
    if words[0].startswith('--from='):
        chroot.need('COPY', 'cp', '-a', inside(stages[words[0][7:]], source) + '/.', to)
        return
    assert source == '.', words
    chroot.need('COPY', 'sh', '-c', 'git archive HEAD | tar x -C "$1"', 'sh', to, cwd=chroot.ROOT)


def build(work):
    """(folder of the last stage, its command)"""
    stages, folder, current, command = {}, None, '/', []
    for word, rest in instructions():
        if word == 'FROM':
            words = rest.split()
            assert words[0] == 'debian:12-slim', rest
            folder, current = os.path.join(work, f'stage-{len(stages)}'), '/'
            stages[words[2] if len(words) > 2 else str(len(stages))] = folder
            begin(folder, os.path.join(work, 'base'))
        elif word == 'WORKDIR':
            current = rest
            os.makedirs(inside(folder, current), exist_ok=True)
        elif word == 'COPY':
            copy(rest.split(), folder, stages, current)
        elif word == 'RUN':
            chroot.need(f'RUN {rest}', 'chroot', folder, 'sh', '-c', f'cd {current} && {rest}',
                        env={**PATHS, 'DEBIAN_FRONTEND': 'noninteractive'})
        elif word == 'CMD':
            command = json.loads(rest)
        else:
            raise AssertionError(f'{word} is not known here')
    return folder, command


def check(folder, command):
    with open(inside(folder, '/m.tir'), 'w', encoding='utf-8') as f:
        f.write(chroot.MODEL)
    failed, lines = 0, [command, ['tailor', 'convert', '/m.tir', '-o', '/m.air', '-q'],
                        ['tailor', 'verify', '/m.tir', '/m.air']]
    for line in lines:
        p = chroot.run('chroot', folder, *line, env=PATHS)
        failed += p.returncode != 0
        if p.returncode:
            print(f'FAIL dockerfile: {line}: exit code {p.returncode}: {p.stdout[-1500:]}')
    compilers = [name for name in ('gcc', 'cc', 'meson') if os.path.exists(
        inside(folder, f'/usr/bin/{name}'))]
    if compilers:
        failed += 1
        print(f'FAIL dockerfile: the image has {compilers}')
    print(f'{len(lines) + 1 - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--folder')
    args = p.parse_args()
    if os.geteuid() or not shutil.which('debootstrap'):
        print('skip dockerfile: needs root and debootstrap\n0 passed, 0 failed, 1 skipped')
        return 0
    work = args.folder or tempfile.mkdtemp(prefix='tailor-docker-')
    try:
        return check(*build(work))
    finally:
        if not args.folder:
            subprocess.run(['rm', '-rf', work], check=False)


if __name__ == '__main__':
    sys.exit(main())
