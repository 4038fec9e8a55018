#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages in a system of their own: scripts/deb, a chroot by debootstrap, apt, and what
the READMEs do.

  chroot.py [--folder DIR] [--built]

Needs root, debootstrap and a mirror. DIR is kept (default: a folder that is removed). --built takes
the packages that dist/ has."""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = '''graph @g(%x: f32[2,3]) -> (%y) {
  %a = Identity(%x)
  %y = Relu(%a)
}
'''
# Of this source inside the chroot, for the sessions of the READMEs; the program is the package's.
SOURCE = ('README.md', 'README.zh-CN.md', 'tests/docs/run.py', 'tests/guard.py')
# What is done inside, and what its output must contain.
STEPS = (
    ('tailor --version', 'tailor '),
    ('cd /t && tailor convert m.tir -o m.air --summary=none -q && ls -s m.air', 'm.air'),
    ('cd /t && tailor convert m.tir -o m.onnx --summary=none -q && tailor verify m.tir m.onnx',
     'equal'),
    ('python3 /t/tests/docs/run.py --tailor /usr/bin/tailor --models /t/models /t/README.md '
     '/t/README.zh-CN.md', ' 0 failed'),
    ('zcat /usr/share/man/man1/tailor.1.gz', 'convert'),
    ('bash -c "source /usr/share/bash-completion/completions/tailor && complete -p tailor"',
     'complete'),
    ('cd /usr/share/doc/libtailor-dev/examples/tour && mkdir -p /t/out && '
     'cc tour.c $(pkg-config --cflags --libs tailor) -o /t/tour && /t/tour /t/out',
     'all of it works'),
    ('cd /t && python3 -c "import tailor; m = tailor.load(\'m.onnx\'); print(m.optimize())"',
     '<tailor.Model of 1 nodes>'),
    ('apt-get purge -y -q tailor libtailor1 libtailor-dev python3-tailor && '
     'test -z "$(find /usr /etc /var/lib/dpkg/info -name "*tailor*")" && echo nothing is left',
     'nothing is left'),
)


def run(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)


def need(what, *argv, **more):
    p = run(*argv, **more)
    if p.returncode:
        print(f'FAIL packages: {what}: {p.stdout[-2000:]}\n0 passed, 1 failed, 0 skipped')
        sys.exit(1)


def mirror():
    """The first mirror that apt knows here."""
    parts = sorted(glob.glob('/etc/apt/sources.list.d/*.list') +
                   glob.glob('/etc/apt/sources.list.d/*.sources'))
    for path in ['/etc/apt/sources.list', *parts]:
        if not os.path.exists(path):
            continue
        with open(path, encoding='utf-8') as f:
            words = [w for line in f if not line.startswith('#') for w in line.split()]
        for word in words:
            if word.startswith('http') and 'security' not in word:
                return word
    return 'http://deb.debian.org/debian'


def furnish(folder):
    """Puts into the chroot what the steps use, beside the packages."""
    there = os.path.join(folder, 't')
    for name in SOURCE:
        os.makedirs(os.path.dirname(os.path.join(there, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(there, name))
    need('models', '/usr/bin/python3', os.path.join(ROOT, 'bench', 'make_models.py'),
         os.path.join(there, 'models'), 'bert_tiny')
    with open(os.path.join(there, 'm.tir'), 'w', encoding='utf-8') as f:
        f.write(MODEL)
    for path in glob.glob(os.path.join(ROOT, 'dist', '*.deb')):
        if 'dbgsym' not in path:
            shutil.copy(path, there)


def make_system(folder):
    if not os.path.exists(os.path.join(folder, 'etc')):
        need('debootstrap', 'debootstrap', '--variant=minbase', 'bookworm', folder, mirror())
    settings = 'etc/apt/apt.conf.d'
    if os.path.exists('/' + settings):
        shutil.copytree('/' + settings, os.path.join(folder, settings), dirs_exist_ok=True)
    furnish(folder)
    # Debian's images leave documents out; here the examples of a package are a part of the test.
    need('apt-get install', 'chroot', folder, 'sh', '-c',
         'rm -f /etc/dpkg/dpkg.cfg.d/docker* && apt-get update -q && '
         'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev '
         'pkg-config bash-completion /t/*.deb')


def check(folder):
    counts = [0, 0]
    for command, expected in STEPS:
        p = run('chroot', folder, 'sh', '-c', command, env=dict(os.environ, LC_ALL='C.UTF-8'))
        good = p.returncode == 0 and expected in p.stdout
        counts[not good] += 1
        if not good:
            print(f'FAIL packages: {command}: exit code {p.returncode}: {p.stdout[-1500:]}')
    print(f'{counts[0]} passed, {counts[1]} failed, 0 skipped')
    return 1 if counts[1] else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--folder')
    p.add_argument('--built', action='store_true')
    args = p.parse_args()
    if os.geteuid() or not shutil.which('debootstrap') or not shutil.which('dpkg-buildpackage'):
        print('skip packages: needs root, debootstrap and dpkg-dev\n0 passed, 0 failed, 1 skipped')
        return 0
    if not args.built:
        need('scripts/deb', os.path.join(ROOT, 'scripts', 'deb'))
    folder = args.folder or tempfile.mkdtemp(prefix='tailor-chroot-')
    try:
        make_system(folder)
        return check(folder)
    finally:
        if not args.folder:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
