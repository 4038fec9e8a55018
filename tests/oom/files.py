#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with one call of the operating system failing or doing half, or a signal arriving
before it: afterwards all files are the new ones or all are the old ones, nothing else is there, and
all memory was given back. A failure ends with exit code 4 and a message, a signal with 128 and its
number. A file that becomes empty, is removed or written to while it is read is such a failure; or
all is made of the old one, or all of the new.

  files.py --tailor BIN --faults LIB [--sample N] [--only TEXT] [--jobs N] [--show]

LIB is the library of faults.c. --sample takes N faults of every other command and each kind; 0
takes all."""
import argparse
import errno
import os
import re
import shutil
import signal
import struct
import sys

sys.dont_write_bytecode = True
import commands  # noqa: E402  (beside this file)
import memory  # noqa: E402
import runs  # noqa: E402
from runs import guard  # noqa: E402

IO_EXIT, ATC_EXIT = 4, 255
NO_SHELL = 'the shell cannot run the command'
OLD_TIME = 1600000000
OLD = {'out.air': 'old', 'out.onnx': 'old', 'out.d': 'old', 'out.json': 'old', 'out.html': 'old',
       'report.json': 'old', 'ranges.out': 'old', 'mix.out': 'old'}
COMMANDS = [
    'convert model.tir -o out.air',
    'convert model.tir -o new.tir -o out.air -o out.onnx -o new.pbtxt --depfile=out.d '
    '--fusion-result=out.json',
    f'convert model.tir -o out.air {commands.PROFILES}=out.json',
    'convert weights.tir -o out.onnx --external-weight=1',
    'convert computed.tir -O0 -o out.onnx',
    'convert weights.tir -o out.air -o new.onnx --external-weight=2',
    'convert weights.tir -o new.air -o other.air --external-weight=1',
    'convert --batch jobs.json --external-weight=1',
    'convert counted.tir -o out.onnx -o new.tir --accelerate-train-mode="fast|step|0.9" '
    '--observe-step=step --total-step=10000 --depfile=out.d',
    'opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 '
    '--hw-preset=unit scheduled.tir -o new.tir --trace=out.json --timeline=out.html '
    '--schedule-report=report.json',
    'opt model.tir -o out.onnx -o new.tir --depfile=out.d',
    f'explain model.tir --page=out.html {commands.MIXED}',
    f'view model.tir -o out.html {commands.MIXED}',
    f'explain model.tir --suggest-mixlist=mix.out {commands.MIXED}',
    'extract small.tir --from t --to y -o out.air -o out.onnx --data folder',
    'run small.tir --output folder --record-ranges=ranges.out --dump-tensors=dump',
]
# How calls fail, beside EIO; None: not with EIO.
ERRORS = {
    **{name: (errno.ENOSPC,) for name in ('write', 'pwrite', 'writev', 'fsync', 'ftruncate', 'open',
                                          'link', 'linkat', 'rename', 'mkdir', 'mkstemp', 'mkdtemp',
                                          'copy_file_range')},
    'renameat2': (errno.EINVAL, errno.ENOSPC), 'mmap': (None, errno.ENOMEM, errno.ENODEV),
    'fork': (None, errno.EAGAIN, errno.ENOMEM), 'pthread_create': (None, errno.EAGAIN),
    'posix_spawnp': (None, errno.EAGAIN, errno.ENOMEM), 'pipe': (None, errno.EMFILE),
    'dup2': (None, errno.EBUSY), 'memfd_create': (None, errno.EMFILE, errno.ENOMEM),
    'waitpid': (None, errno.EINTR), 'flock': (None, errno.ENOLCK),
    'opendir': (errno.ENOMEM,), 'realpath': (errno.ENOMEM,),
}
INTERRUPTED = ('read', 'write', 'pread', 'pwrite', 'writev', 'flock')
MANY_FILES = ('open', 'opendir', 'mkstemp')
DONE_BEFORE = re.compile('--verify|--batch|^atc ')  # other jobs; what is verified or compiled then
# Processes side by side, and a cache that waits for clocks: the n-th call is not always the same.
SHIFTING = re.compile('--batch|--cache-dir|bisect|reduce|replay|--reproducer')
IN_PARTS = ('read', 'write', 'pread', 'pwrite', 'writev', 'copy_file_range')
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def errors_of(name):
    """Numbers of the errors with which a call fails."""
    more = ERRORS.get(name, ())
    found = list(more[1:]) if None in more else [errno.EIO, *more]
    found += [errno.EINTR] if name in INTERRUPTED else []
    return found + ([errno.EMFILE] if name in MANY_FILES else [])


def faults(calls):
    """(what it is, what faults.c is told) for each call and each way in which it goes wrong."""
    for n, names in calls:
        label = '/'.join(sorted(names))
        for number in sorted({number for name in names for number in errors_of(name)}):
            yield f'{label} {n} {errno.errorcode[number]}', {'call': f'any:{n}:{number}'}
        if names.intersection(IN_PARTS):
            yield f'half of call {n}', {'short': n}
        number = SIGNALS[n % len(SIGNALS)]  # one handler takes them all
        yield f'{number.name} {n}', {'signal': f'{int(number)}:{n}'}


# Files that become empty while a command reads them: its model, weights beside it, an input.
READERS = [
    ('model.onnx', 'convert model.onnx -o out.air'),
    ('model.onnx', 'convert model.onnx -o new.tir'),
    ('model.onnx', 'opt model.onnx'), ('model.onnx', 'info model.onnx'),
    ('model.onnx', 'explain model.onnx --fusion'), ('model.onnx', 'run model.onnx'),
    ('model.onnx', f'explain model.onnx --page=out.html {commands.MIXED}'),
    ('model.onnx', 'verify model.onnx model.onnx'), ('model.onnx.data', 'info model.onnx'),
    ('model.onnx.data', 'convert model.onnx -o out.onnx'),
    ('model.onnx.data', 'convert model.onnx -o out.air --external-weight=1'),
    ('model.onnx.data', 'run model.onnx'), ('model.onnx.data', 'verify model.onnx model.onnx'),
    ('x.npy', 'run model.onnx --input x=x.npy'), ('weights.tir', 'convert weights.tir -o out.air'),
    ('mix.json', f'convert model.onnx -o out.air {commands.MIXED} --modify-mixlist=mix.json'),
    ('switch.cfg', 'convert model.onnx -o out.air --fusion-switch-file=switch.cfg'),
    ('model.onnx', f'convert model.onnx -o out.air -o out.onnx {commands.MIXED}'),
    ('model.onnx', 'view model.onnx -o out.html'), ('model.onnx', 'diff model.onnx model.onnx'),
    ('model.onnx', 'extract model.onnx --from a --to y -o out.onnx --data folder'),
    ('model.onnx.data', 'extract model.onnx --from a --to y -o out.onnx --data folder'),
    ('model.onnx.data', 'view model.onnx -o out.html'),
    ('model.onnx.data', 'diff model.onnx model.onnx'),
    ('model.onnx.data', 'explain model.onnx --precision ' + commands.MIXED),
    ('model.onnx.data', 'convert --batch models.json'),
    ('model.onnx', 'convert --batch models.json'),
    ('model.air', 'convert model.air -o out.onnx'), ('model.air', 'run model.air'),
    ('x.npy', 'verify model.onnx model.onnx --input x=x.npy'),
]


# The same with a cache, which must not serve one version for the other.
CACHED = [
    ('weights.tir', 'convert weights.tir -o out.air --cache-dir=new'),
    ('mix.json', f'convert weights.tir -o out.air {commands.MIXED} --modify-mixlist=mix.json '
                 '--cache-dir=new'),
]


class Run(runs.Run):
    """One command line under all faults."""

    def files(self):
        return OLD

    def judge(self, fault, outcome):
        """What is wrong with an ending, or ''."""
        if outcome.all == self.whole.all:
            return self.leaked(outcome)
        return self.judge_files(fault, outcome) or self.judge_ending(fault, outcome)

    def judge_files(self, fault, outcome):
        """All are old, or all are new; jobs of a batch each for themselves, and what is verified is
        there before."""
        files, new = outcome.files, self.whole.files
        if 'unlink' in fault or 'rmdir' in fault or SHIFTING.search(self.command):
            # What cannot be removed stays.
            files = {f: v for f, v in files.items() if not os.path.basename(f).startswith('.')
                     and not f.startswith(('$TMPDIR', *runs.CACHES)) and f != 'made/'}
            if outcome.code == 0 and 'made/' in new:
                files['made/'] = ''
        if fault.startswith('SIG') and outcome.code > 128 and \
                self.command.startswith('reduce'):
            return ''  # the smallest model so far
        if files in (self.start, new):
            if outcome.code == 0 and files != new:
                return 'exit code 0, but the old files'
            return 'failed, but the new files' if outcome.code not in (0, self.whole.code) and \
                files != self.start and not DONE_BEFORE.search(self.command) else ''
        wrong = sorted(f for f in {*files, *new}
                       if files.get(f) not in (self.start.get(f), new.get(f)))
        if not wrong and '--batch' in self.command and outcome.code:
            return ''
        some = sorted(f for f in new if files.get(f) == new[f] != self.start.get(f))
        return f'neither the old files nor the new: wrong {wrong}, new {some}'

    def judge_ending(self, fault, outcome):
        """Exit code and messages."""
        code, text = outcome.code, outcome.text
        if fault.startswith('SIG'):
            number = getattr(signal, fault.split()[0])  # or it comes before anybody listens
            ends = [128 + number, -number, *([ATC_EXIT] if '--atc-exit' in self.command else [])]
            in_child = '--check' in self.command and 'writing was interrupted' in text[1]
            return '' if code in ends or in_child else f'exit code {code}: {text!r}'
        if code == self.whole.code:  # it does without; what it says of that are warnings
            added = [line for line in text[1].splitlines()
                     if line not in self.whole.text[1].splitlines()]
            if text[0] == self.whole.text[0] and (not added or ': warning: ' in added[0]):
                return self.leaked(outcome)
        if code == memory.INTERNAL and memory.MEMORY in text[1] and \
                (fault.endswith('ENOMEM') or 'mmap' in fault):
            return self.leaked(outcome)
        if '--check' in self.command and NO_SHELL in ''.join(text):
            return ''  # what a shell that is not there yet does
        good = code in (IO_EXIT, ATC_EXIT if '--atc-exit' in self.command else IO_EXIT) and \
            ('error' in text[1])
        return self.leaked(outcome) if good else f'exit code {code}: {text!r}'

    def check(self):
        """(passed, failures)"""
        if not self.whole.counts:
            return 0, [f'{self.command!r} does not work: {self.whole.text[1][-300:]!r}']
        passed, bad = 0, []
        for fault, settings in self.sampled(list(faults(self.calls()))):
            problem = self.judge(fault, self.call(**settings))
            passed += not problem
            bad += [f'{self.command!r}, {fault}: {problem[:600]}'] if problem else []
        return passed, bad


def npy(value):
    """An array of 2 x 300 equal numbers."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 300), }"
    head += b' ' * (117 - len(head)) + b'\n'
    return (b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head
            + struct.pack('<f', value) * 600)


class Change(Run):
    """One command line whose input is cut to nothing, removed, replaced by another file or
    rewritten in the middle."""

    def __init__(self, args, scratch, command, number):
        self.name, command = command
        self.forms = [f for f in ('onnx', 'air') if f'model.{f}' in command
                      or f == 'onnx' and 'models.json' in command]
        self.replaced, self.made = False, None
        super().__init__(args, scratch, command, number)

    def make(self, where, model):
        """The model as the files of other formats: {name: bytes}."""
        for form in self.forms:
            guard.run([self.args.tailor, 'convert', os.path.join('..', model), '-q', '-o',
                       f'model.{form}', *(['--external-weight=1'] if form == 'onnx' else [])],
                      cwd=where, check=True)
        return {f: runs.read(os.path.join(where, f)).encode('latin-1')
                for f in os.listdir(where)}

    def make_all(self, where):
        """Inputs, and the others."""
        other = commands.WEIGHTS.replace(' Sub(', ' Add(')
        with open(os.path.join(where, 'weights.tir.next'), 'w', encoding='utf-8') as f:
            f.write(other)
        made = os.path.join(where, 'made')
        os.mkdir(made)
        found = {'weights.tir.next': other.encode(), 'x.npy': npy(0), 'x.npy.next': npy(2),
                 **self.make(made, 'weights.tir')}
        for f, text in self.make(made, 'weights.tir.next').items():
            found[f + '.next'] = text if not f.endswith('.data') else text[4:] + text[:4]
        shutil.rmtree(made)
        found['mix.json.next'] = b'{"black-list":{"to-add":["Mul"]}}'
        found['switch.cfg.next'] = b'{"Switch":{"GraphFusion":{"ALL":"on"}}}'
        return found

    def folder(self, name):
        """Beside each input lies NAME.next: another model, of the same weights, or other data."""
        where = super().folder(name)
        self.made = found = self.made or self.make_all(where)
        for f, text in found.items():
            if not f.endswith('.next') or f == self.name + '.next':
                with open(os.path.join(where, f), 'wb') as out:
                    out.write(text)
        for f in set(os.listdir(where)):
            if f.endswith('.next') and f != self.name + '.next':
                os.remove(os.path.join(where, f))
        if self.replaced:
            os.rename(f'{where}/{self.name}.next', f'{where}/{self.name}')
        os.utime(f'{where}/{self.name}', (OLD_TIME, OLD_TIME))  # clocks of files are coarse
        return where

    def files(self):
        models = '[{"model": "model.onnx", "outputs": ["out.air"]},' \
                 ' {"model": "model.onnx", "outputs": ["out.onnx"]}]'
        return {**super().files(), 'models.json': models}

    def others(self, files):
        """Files but the one that is changed."""
        return {f: v for f, v in files.items() if f not in (self.name, self.name + '.next')}

    def judge(self, fault, outcome):
        """All as it was read before the change, or as after it; or 4 with a message; or it was
        empty or torn when it was read: 2, and 1 for a file of options."""
        code, text, files = outcome.all
        left = self.others(files)
        whole = [self.others(w) for w in (self.whole.files, self.other.files, self.start)]
        if '--batch' in self.command:  # each job reads for itself
            good = all(v in [w.get(f) for w in whole] for f, v in left.items())
        else:
            good = left in whole[:2] and text[0] in (self.whole.text[0], self.other.text[0]) or code
        if code == 0 or not good:
            return self.leaked(outcome) if good else f'exit code {code}, other files'
        if '--batch' not in self.command and left != whole[2]:
            return f'exit code {code}, but left {sorted(f for f in left if f not in whole[2])}'
        # A half of each may be nothing that can be read.
        torn = 1 if self.name in commands.FILES and not self.name.endswith('.tir') else 2
        if '--check' in self.command and NO_SHELL in ''.join(text):
            return ''  # what a shell that is not there yet does
        good = code in (IO_EXIT, torn if fault in ('truncate', 'rewrite') else IO_EXIT) and \
            ': error: ' in text[1]
        return self.leaked(outcome) if good else f'exit code {code}: {text[1][-300:]!r}'

    def check(self):
        """(passed, failures)"""
        self.replaced, self.spare = True, None
        self.other = self.call()
        self.replaced, self.spare = False, None
        if self.whole.code or self.other.code:
            return 0, [f'{self.command!r} does not work: {self.whole.text[1][-300:]!r}']
        passed, bad = 0, []
        for fault in ('truncate', 'remove', 'replace', 'rewrite'):
            for n, _ in self.sampled(self.calls()):
                problem = self.judge(fault, self.call(**{fault: f'{self.name}:{n}'}))
                passed += not problem
                bad += [f'{self.command!r}, {self.name}, {fault} at {n}: {problem}'] \
                    if problem else []
        return passed, bad


class Cached(Change):
    """The same, and the next run gives what belongs to the file that is there then."""

    def again(self, where):
        changed = runs.read(os.path.join(where, self.name)) \
            if os.path.exists(os.path.join(where, self.name)) else None
        guard.run([self.args.tailor, *runs.shlex.split(self.command)], cwd=where,
                  capture_output=True)
        return changed, runs.contents(where)['out.air']

    def judge(self, fault, outcome):
        """As above; what a file that was removed or torn gives is no matter."""
        changed, made = outcome.again
        for known in (self.whole, self.other):
            if changed == known.again[0] and made != known.again[1]:
                return 'the next run gives what another file made'
        return super().judge(fault, outcome)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    runs.add_arguments(ap)
    args = ap.parse_args()
    more = [c for c in commands.COMMANDS if c not in COMMANDS]

    def kind(run_args, scratch, command, number):
        chosen = Run if isinstance(command, str) else Cached if command in CACHED else Change
        return chosen(run_args, scratch, command, number)
    return runs.run_commands(args, kind, [c for c in COMMANDS + more + READERS + CACHED
                                          if args.only in str(c)])


if __name__ == '__main__':
    sys.exit(main())
