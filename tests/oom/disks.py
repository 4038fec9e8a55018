#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that writes files, onto a real file system (a small tmpfs) that is full, has no
inodes left, or is read-only. The exit code is 4, and the message names a file that was asked for
and the reason; old files keep their bytes, and no room stays taken. With room the same command
succeeds. A cache there costs a warning only.

  disks.py --tailor BIN [--full] [--only TEXT] [--jobs N] [--show]

For each resource and every third command the least amount is searched with which it succeeds. Each
step of the search is judged, every fourth time with the next run; --full takes all commands, all
amounts below, and all next runs. The kernel must allow namespaces of users and mounts
(unshare -rm); files.py has the same faults where it does not, but injected."""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import commands  # noqa: E402  (beside this file)
import runs  # noqa: E402
from runs import guard  # noqa: E402

IO_EXIT, DIFFERS = 4, 5
FULL, READ_ONLY = 'No space left on device', 'Read-only file system'
INSIDE = '--inside'  # the run within the namespaces
PAGE = 4096
ROOM, INODES = 2 << 20, 400  # of each file system
VALUES = 12000  # f32: 12 pages of each of two weights
MODEL = ('graph @g(%x: f32[2,{n}]) -> (%y, %z) {{\n'
         + ''.join('  const %w{}: f32[{{n}}] = [{{w}}]\n'.format(k) for k in range(2))
         + '  %y = Mul(%x, %w0)\n  %z = Sub(%y, %w1)\n}}\n')
OLD = {'out.air': 'old', 'out.onnx': 'old', 'out.d': 'old', 'out.json': 'old', 'out.html': 'old'}
# The working folder is the file system; the models are beside it.
COMMANDS = [
    'convert ../w.tir -o out.air',
    'convert ../w.tir -o new.onnx',
    'convert ../w.tir -o new.tir -o out.air -o out.onnx -o new.pbtxt --depfile=out.d '
    '--fusion-result=out.json',
    'convert ../w.tir -o out.onnx --external-weight=1',
    'convert ../w.tir -o out.air -o new.onnx --external-weight=2',
    'convert --batch ../jobs.json',
    'convert ../w.tir -o out.air -o out.onnx --write-if-changed --depfile=out.d',
    'convert ../w.tir -o out.air --cache-dir=../cache --depfile=out.d',
    'opt ../w.tir -o out.onnx -o new.tir',
    'opt ../w.tir -o out.onnx --dump-dir=states',
    f'explain ../w.tir --page=out.html {commands.MIXED}',
    f'explain ../w.tir --suggest-mixlist=mix.out {commands.MIXED}',
    'view ../w.tir -o out.html',
    'verify ../w.tir ../w.tir --layers --page=out.html',
    'extract ../w.tir --from y --to z -o out.air -o out.onnx --data folder',
    'run ../w.tir --output folder --record-ranges=out.json --dump-tensors=dump',
    'run ../w.tir --output=folder',
    'convert ../w.tir -o out.onnx --reproducer=made',
    'convert ../w.tir -o out.air --dump-dir=states --deps-json=out.d',
    'precision-search ../w.tir -o found',
    'reduce ../wrong.tir --rules=../wrong.tlr -o out.onnx',
    'test-rules ../wrong.tlr --count=2 --failures=made',
    'atc --with=true -- --model=../w.tir --framework=5 --output=out --soc_version=Ascend910B1',
]
# Into a cache on the file system; the output is beside it.
CACHED = ['convert ../w.tir -o ../out.air --cache-dir=cache',
          'convert --batch ../elsewhere.json --cache-dir=cache']
# Standard output is a file there.
STAGED = 'staged'  # standard output, and /tmp has no room
PRINTED = ['convert ../w.tir -o -', 'opt ../w.tir', 'info ../w.tir --json', 'run ../w.tir',
           'explain ../w.tir --fusion --json', 'diff ../w.tir ../w.tir', 'help', 'ops --json',
           'options --json', 'verify ../w.tir ../w.tir --json', 'passes', '--version']


class Disk:
    """A tmpfs with models beside it."""

    def __init__(self, scratch, number):
        self.base = os.path.join(scratch, str(number))
        self.at = os.path.join(self.base, 'disk')
        os.makedirs(self.at)
        # Different bytes, which no export makes smaller.
        text = MODEL.format(n=VALUES, w=', '.join(str(i % 8191 / 8 + 1) for i in range(VALUES)))
        jobs = '[{{"model": "../w.tir", "outputs": ["{0}a.air"]}}, ' \
               '{{"model": "../w.tir", "outputs": ["{0}b.onnx"]}}]'
        files = {'w.tir': text, 'jobs.json': jobs.format(''),
                 'elsewhere.json': jobs.format('../'), 'wrong.tlr': commands.FILES['wrong.tlr'],
                 'wrong.tir': commands.MODELS['small.tir']}
        for name, content in files.items():
            with open(os.path.join(self.base, name), 'w', encoding='utf-8') as f:
                f.write(content)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={ROOM},nr_inodes={INODES}', 'tmpfs',
                        self.at], check=True)

    def fresh(self, old):
        """Nothing on it but old files."""
        subprocess.run(['mount', '-o', 'remount,rw', self.at], check=True)
        subprocess.run(['sh', '-c', 'rm -rf "$1"/* "$1"/.[!.]*', 'sh', self.at], check=True)
        for name, text in old.items():
            with open(os.path.join(self.at, name), 'w', encoding='utf-8') as f:
                f.write(text)

    def leave(self, what, n):
        """Takes all pages or inodes but n."""
        os.mkdir(os.path.join(self.at, 'taken'))
        if what == 'inodes':
            for i in range(self.free('inodes') - n):
                os.close(os.open(os.path.join(self.at, 'taken', str(i)), os.O_CREAT | os.O_WRONLY))
        elif what == 'pages':
            fd = os.open(os.path.join(self.at, 'taken', 'all'), os.O_CREAT | os.O_WRONLY)
            os.posix_fallocate(fd, 0, (self.free('pages') - n) * PAGE)
            os.close(fd)
        else:
            subprocess.run(['mount', '-o', 'remount,ro', self.at], check=True)

    def free(self, what):
        s = os.statvfs(self.at)
        return s.f_ffree if what == 'inodes' else s.f_bavail * s.f_frsize // PAGE

    def make_room(self):
        subprocess.run(['mount', '-o', 'remount,rw', self.at], check=True)
        subprocess.run(['rm', '-rf', os.path.join(self.at, 'taken')], check=True)

    def contents(self):
        return runs.contents(self.at, without='taken')


class Run:
    """One command line on a disk."""

    def __init__(self, args, scratch, command, number):
        self.args, self.command, self.disk = args, command, Disk(scratch, number)
        self.old = {} if command in CACHED else OLD
        self.bad, self.done = [], 0

    def call(self):
        """(exit code, stderr)"""
        shown = os.path.join(self.disk.at if self.command in PRINTED else self.disk.base, 'stdout')
        env = {**os.environ, 'LC_ALL': 'C'}
        env.pop('TAILOR_CACHE_DIR', None)
        with open(shown, 'wb') as out:
            p = guard.run([self.args.tailor, *shlex.split(self.command)], cwd=self.disk.at,
                          env=env, stdout=out, stderr=subprocess.PIPE)
        return p.returncode, p.stderr.decode(errors='replace')

    def start(self):
        """What lies there before the command runs; standard output needs an inode of its own."""
        self.disk.fresh({**self.old, 'stdout': ''} if self.command in PRINTED else self.old)
        return self.disk.contents()

    def problem(self, what, n):
        """(whether it succeeded, what is wrong or '') with n pages or inodes."""
        before = self.start()
        self.disk.leave(what, n)
        free = [self.disk.free(k) for k in ('pages', 'inodes')]
        code, text = self.call()
        after, still = self.disk.contents(), [self.disk.free(k) for k in ('pages', 'inodes')]
        if code == self.usual and self.command not in CACHED:
            good = runs.alike(after, self.whole)
            return True, '' if good else f'exit code {code}, but other files'
        wrong = self.cached(code, text, after) if self.command in CACHED else \
            self.refused(what, code, text, before, after)
        if not wrong and self.command not in PRINTED + CACHED and '--batch' not in self.command \
                and still != free:
            wrong = f'pages and inodes were {free} and are {still}'
        self.disk.make_room()
        if self.args.full or self.done % 4 == 0 or wrong:
            wrong = wrong or self.again()
        return code == 0 and 'W_CACHE' not in text, wrong

    def again(self):
        """What is wrong with the next run, which has room."""
        code, text = self.call()
        if code != self.usual:
            return f'with room again: exit code {code}: {text[-300:]!r}'
        same = runs.alike(self.disk.contents(), self.whole)
        return '' if same or self.command in CACHED else 'with room again: other files'

    def cached(self, code, text, after):
        """What is wrong with a conversion whose cache has no room."""
        if code != 0:
            return f'exit code {code}: {text[-300:]!r}'
        left = [f for f in after if f.startswith('cache/tmp/') and f != 'cache/tmp/']
        return f'left {left}' if left else ''

    def clears(self, what):
        """A cache that fills the disk can be cleared."""
        self.start()
        self.call()
        self.disk.leave(what, 0)
        free = self.disk.free(what)
        p = guard.run([self.args.tailor, 'cache', 'clear', '--cache-dir=cache'], cwd=self.disk.at,
                      capture_output=True, text=True)
        entries = [f for f in self.disk.contents() if '/entry' in f and f.endswith('index')]
        self.done += 1
        if p.returncode or entries or self.disk.free(what) <= free:
            self.bad.append(f'clear with 0 {what} left: {p.returncode}, {entries}, {p.stderr!r}')

    def refused(self, what, code, text, before, after):
        """What is wrong with a failure."""
        reason = READ_ONLY if what == 'read-only' else FULL
        names = [w.lstrip('-').split('=')[-1] for w in shlex.split(self.command)[1:]]
        errors = [line for line in text.splitlines() if ': error: ' in line and reason in line]
        if code != IO_EXIT or not errors:
            return f'exit code {code}: {text[-300:]!r}'
        if self.command in PRINTED:
            names, after = ['standard output', "'-'"], {**after, 'stdout': ''}
        if '--batch' in self.command:  # what other jobs have done is done
            names = ['a.air', 'b.onnx']
            after = {f: v for f, v in after.items() if f not in names}
        if not any(name in errors[0] for name in names if '.tir' not in name or name == 'new.tir'):
            return f'names no file: {errors[0]!r}'
        if after != before:
            return 'changed ' + ' '.join(sorted(f for f in {*after, *before}
                                                if after.get(f) != before.get(f)))
        return ''

    def judged(self, what, n):
        """Whether it succeeded with n."""
        fine, wrong = self.problem(what, n)
        self.done += 1
        if wrong:
            self.bad.append(f'{self.command!r}, {n} {what} left: {wrong}')
        return fine

    def search(self, what):
        """Judges amounts up to the least that is enough."""
        low, high = -1, self.disk.free(what) - 1
        while high - low > 1:
            middle = min((low + high) // 2, 3 * low + 3)  # most need little
            if self.judged(what, middle):
                high = middle
            else:
                low = middle
        for n in range(low) if self.args.full else []:
            self.judged(what, n)

    def check(self):
        """(passed, failures)"""
        self.start()
        code, text = self.call()
        self.whole, self.usual = self.disk.contents(), code
        if code not in (0, DIFFERS):
            return 0, [f'{self.command!r} does not work: {text[-300:]!r}']
        for what in ('pages',) if self.command in PRINTED else ('pages', 'inodes'):
            self.start()
            self.search(what)
            if self.command in CACHED:
                self.clears(what)
        if self.command not in PRINTED and self.judged('read-only', 0):
            self.bad.append(f'{self.command!r} succeeds on a file system that is read-only')
        return self.done - min(self.done, len(self.bad)), self.bad


def staged(args, scratch):
    """(passed, failures): what goes to standard output waits in /tmp, or in memory where that takes
    no files. Where /tmp is full the message says so."""
    disk, bad = Disk(scratch, 'staged'), []
    shutil.copy(args.tailor, os.path.join(disk.base, 'tailor'))  # it may lie below /tmp

    def call(options):
        # The working folder stays what it is when another file system hides it.
        p = guard.run(['unshare', '-m', 'sh', '-c', f'mount -t tmpfs -o {options} tmpfs /tmp && '
                       'exec ./tailor convert w.tir -o - --summary=none'], cwd=disk.base,
                      capture_output=True)
        return p.returncode, p.stdout, p.stderr.decode()
    good = call('size=1M')
    for options in ('nr_inodes=1', 'ro'):
        got = call(options)
        bad += [f'/tmp with {options}: {got[0]}, {got[2]!r}'] if got != good else []
    code, out, text = call('size=16k')
    if code != IO_EXIT or out or f"/tmp what goes to '-': {FULL}" not in text:
        bad.append(f'/tmp that is full: {code}, {text!r}')
    bad += [f'/tmp with room: {good[0]}, {good[2]!r}'] if good[0] or len(good[1]) < VALUES else []
    subprocess.run(['umount', '-l', disk.at], check=True)
    return 4 - len(bad), bad


def allowed():
    """'', or why file systems cannot be mounted here."""
    with tempfile.TemporaryDirectory(prefix='tailor-disks-') as where:
        try:
            p = subprocess.run(['unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', where],
                               capture_output=True, text=True, check=False)
        except OSError as e:
            return str(e)
    return p.stderr.strip()[-200:] if p.returncode else ''


def run_all(args):
    def check(scratch, number, command):
        if command == STAGED:
            return staged(args, scratch)
        run = Run(args, scratch, command, number)
        try:
            return run.check()
        finally:
            subprocess.run(['umount', '-l', run.disk.at], check=True)
    chosen = [c for c in COMMANDS + CACHED + PRINTED + [STAGED] if args.only in c]
    if not args.full and not args.only:
        chosen = chosen[::3]
    return runs.run_all(args, lambda scratch: None, check, chosen)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--full', action='store_true')
    ap.add_argument('--only', default='')
    ap.add_argument('--jobs', type=int, default=os.cpu_count())
    ap.add_argument('--show', action='store_true', help='what each command took')
    ap.add_argument(INSIDE, action='store_true', help=argparse.SUPPRESS)
    args = ap.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    if args.inside:
        return run_all(args)
    why = allowed()
    if why:
        print(f'skipped: no file system can be mounted here: {why}')
        print('0 passed, 0 failed, 1 skipped')
        return 0
    return subprocess.run(['unshare', '-rm', sys.executable, os.path.abspath(__file__),
                           *sys.argv[1:], INSIDE], check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
