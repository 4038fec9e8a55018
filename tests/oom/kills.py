#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that write files, killed with SIGKILL: afterwards each file is the old one or the new
one, whole, and the next run makes all of them new and leaves nothing else there.

  kills.py --tailor BIN --faults LIB [--sample N] [--random N] [--only TEXT] [--jobs N]

Kills come before a call of the operating system, each in turn (LIB, of faults.c), and with --random
at N moments of each command, spread over the time that it takes. --sample takes N calls of each."""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import commands  # noqa: E402  (beside this file)
import files  # noqa: E402
import runs  # noqa: E402

COMMANDS = [
    'convert model.tir -o out.air',
    'convert weights.tir -o out.onnx --external-weight=1',
    'convert weights.tir -o out.air --external-weight=1',
    'convert weights.tir -o new.air -o out.onnx -o new.tir --external-weight=1 --depfile=out.d',
    'convert weights.tir -o out.air --cache-dir=cache --external-weight=1',
    'convert --batch jobs.json --external-weight=1',
    f'explain model.tir --page=out.html {commands.MIXED}',
]


def hidden(files_):
    return sorted(f for f in files_ if os.path.basename(f).startswith('.'))


class Killed(files.Run):
    """One command line, killed again and again."""

    may_go = ()  # files that may be missing until the next run

    def finish(self, where, code):
        """Judges what a killed command left in `where`, then runs it again; '' or what is wrong."""
        left = runs.contents(where)
        torn = [f for f in left if not os.path.basename(f).startswith('.') and 'cache/' not in f
                and left[f] not in (self.start.get(f), self.whole.files.get(f))]
        lost = [f for f in self.start if f not in left and f not in self.may_go]
        p = subprocess.run([self.args.tailor, *self.command_words()], cwd=where,
                           capture_output=True, text=True, errors='replace', check=False)
        now = runs.contents(where)
        shutil.rmtree(where)
        if code not in (0, -signal.SIGKILL, 128 + signal.SIGKILL):  # the last: of a job
            return f'exit code {code}'
        if torn or lost:
            return f'torn {torn}, lost {lost}'
        if p.returncode:
            return f'the next run ends with {p.returncode}: {p.stderr[-300:]}'
        wrong = [f for f, text in self.whole.files.items()
                 if 'cache/' not in f and now.get(f) != text]
        return f'after the next run: wrong {wrong}, litter {hidden(now)}' \
            if wrong or hidden(now) else ''

    def command_words(self):
        return runs.shlex.split(self.command)

    def killed_at(self, n):
        """Killed before call n."""
        where = self.folder(f'k{n}')
        env = self.environment(signal=f'{int(signal.SIGKILL)}:{n}')
        p = subprocess.run([self.args.tailor, *self.command_words()], cwd=where, env=env,
                           capture_output=True, check=False)
        return self.finish(where, p.returncode)

    def killed_after(self, number, seconds):
        """Killed when that time has gone by."""
        where = self.folder(f'r{number}')
        with subprocess.Popen([self.args.tailor, *self.command_words()], cwd=where,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as p:
            time.sleep(seconds)
            os.killpg(p.pid, signal.SIGKILL)  # and the jobs of a batch
        return self.finish(where, p.returncode)

    def check(self):
        """(passed, failures)"""
        if self.whole.code or self.whole.files == self.start or not self.whole.counts:
            return 0, [f'{self.command!r} does not work: {self.whole.text[1][-300:]!r}']
        problems = [self.killed_at(n) for n, _ in self.sampled(self.calls())]
        begin = time.monotonic()
        self.call()
        most = 1.2 * (time.monotonic() - begin)
        moments = random.Random(1)
        problems += [self.killed_after(i, most * moments.random())
                     for i in range(self.args.random)]
        bad = [f'{self.command!r}, {i}: {p}' for i, p in enumerate(problems) if p]
        return len(problems) - len(bad), bad


class Pair(Killed):
    """A model and its weights in another file, both of which are replaced: an old model never lies
    beside new weights. It may be missing instead."""

    may_go = ('out.onnx', 'out.air')

    def folder(self, name):
        """With the pair that another model has become."""
        where = super().folder(name)
        path = os.path.join(where, 'weights.tir')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(commands.WEIGHTS.replace('[0.0, ', '[7.0, ').replace(' Sub(', ' Add('))
        subprocess.run([self.args.tailor, *self.command_words()], cwd=where, check=True,
                       capture_output=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(commands.WEIGHTS)
        return where

    def finish(self, where, code):
        left = runs.contents(where)
        model = next(f for f in self.may_go if f in self.command)
        weights = [f for f in self.whole.files if f.endswith(('.data', '_combined'))]
        assert weights and model in self.start, 'the command has no weights beside its model'
        mixed = left.get(model) == self.start[model] and [
            f for f in weights if left.get(f) != self.start[f]]
        problem = super().finish(where, code)
        return f'the old {model} beside new {mixed}' if mixed else problem


PAIRS = ['convert weights.tir -o out.onnx --external-weight=1',
         'convert weights.tir -o out.air --external-weight=2']


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    runs.add_arguments(ap)
    ap.add_argument('--random', type=int, default=0, metavar='N', help='kills at moments in time')
    args = ap.parse_args()
    alone = [c for c in COMMANDS if args.only in c]
    pairs = [c for c in PAIRS if args.only in c]

    def kind(run_args, scratch, command, number):
        return (Killed if number < len(alone) else Pair)(run_args, scratch, command, number)
    return runs.run_commands(args, kind, alone + pairs)


if __name__ == '__main__':
    sys.exit(main())
