#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that writes files, with one call of the operating system failing, or a signal
arriving before it: afterwards all files are the new ones or all are the old ones, and nothing else
is there. A failure ends with exit code 4 and a message, a signal with 128 and its number. A file
that becomes empty, is removed or written to while it is read is such a failure; or all is made of
the old one, or all of the new.

  files.py --tailor BIN --faults LIB [--sample N] [--only TEXT] [--jobs N]

LIB is the library of faults.c. --sample takes N calls of each command and fault; 0 takes all."""
import argparse
import os
import shutil
import signal
import struct
import sys

sys.dont_write_bytecode = True
import memory  # noqa: E402  (beside this file)
from memory import guard  # noqa: E402

IO_EXIT = 4
OLD_TIME = 1600000000
EIO, ENOSPC, EINVAL = 5, 28, 22
OLD = {'out.air': 'old', 'out.onnx': 'old', 'out.d': 'old', 'out.json': 'old', 'out.html': 'old',
       'report.json': 'old', 'ranges.out': 'old', 'mix.out': 'old'}
COMMANDS = [
    'convert model.tir -o out.air',
    'convert model.tir -o new.tir -o out.air -o out.onnx -o new.pbtxt --depfile=out.d '
    '--fusion-result=out.json',
    f'convert model.tir -o out.air {memory.PROFILES}=out.json',
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
    f'explain model.tir --page=out.html {memory.MIXED}',
    f'view model.tir -o out.html {memory.MIXED}',
    f'explain model.tir --suggest-mixlist=mix.out {memory.MIXED}',
    'extract small.tir --from t --to y -o out.air -o out.onnx --data folder',
    'run small.tir --output folder --record-ranges=ranges.out --dump-tensors=dump',
]
# name of the fault, what faults.c is told for the n-th call, and by what it is counted
FAULTS = [
    ('rename', lambda n: {'call': f'change:{n}:{EIO}'}, 'changes'),
    ('no exchange of names', lambda n: {'call': f'renameat2:{n}:{EINVAL}'}, 'changes'),
    ('full at write', lambda n: {'call': f'write:{n}:{ENOSPC}'}, 'calls'),
    ('full at pwrite', lambda n: {'call': f'pwrite:{n}:{ENOSPC}'}, 'calls'),
    ('full at fsync', lambda n: {'call': f'fsync:{n}:{ENOSPC}'}, 'calls'),
    ('open', lambda n: {'call': f'open:{n}:{EIO}'}, 'calls'),
    ('SIGTERM', lambda n: {'signal': f'{int(signal.SIGTERM)}:{n}'}, 'calls'),
    ('SIGINT', lambda n: {'signal': f'{int(signal.SIGINT)}:{n}'}, 'calls'),
    ('SIGHUP', lambda n: {'signal': f'{int(signal.SIGHUP)}:{n}'}, 'calls'),
]


# Files that become empty while a command reads them: its model, weights beside it, an input.
READERS = [
    ('model.onnx', 'convert model.onnx -o out.air'),
    ('model.onnx', 'convert model.onnx -o new.tir'),
    ('model.onnx', 'opt model.onnx'), ('model.onnx', 'info model.onnx'),
    ('model.onnx', 'explain model.onnx --fusion'), ('model.onnx', 'run model.onnx'),
    ('model.onnx', f'explain model.onnx --page=out.html {memory.MIXED}'),
    ('model.onnx', 'verify model.onnx model.onnx'), ('model.onnx.data', 'info model.onnx'),
    ('model.onnx.data', 'convert model.onnx -o out.onnx'),
    ('model.onnx.data', 'convert model.onnx -o out.air --external-weight=1'),
    ('model.onnx.data', 'run model.onnx'), ('model.onnx.data', 'verify model.onnx model.onnx'),
    ('x.npy', 'run model.onnx --input x=x.npy'), ('weights.tir', 'convert weights.tir -o out.air'),
    ('mix.json', f'convert model.onnx -o out.air {memory.MIXED} --modify-mixlist=mix.json'),
    ('switch.cfg', 'convert model.onnx -o out.air --fusion-switch-file=switch.cfg'),
    ('model.onnx', f'convert model.onnx -o out.air -o out.onnx {memory.MIXED}'),
    ('model.onnx', 'view model.onnx -o out.html'), ('model.onnx', 'diff model.onnx model.onnx'),
    ('model.onnx', 'extract model.onnx --from a --to y -o out.onnx --data folder'),
    ('model.onnx.data', 'extract model.onnx --from a --to y -o out.onnx --data folder'),
    ('model.onnx.data', 'view model.onnx -o out.html'),
    ('model.onnx.data', 'diff model.onnx model.onnx'),
    ('model.onnx.data', 'explain model.onnx --precision ' + memory.MIXED),
    ('model.onnx.data', 'convert --batch models.json'),
    ('model.onnx', 'convert --batch models.json'),
    ('model.air', 'convert model.air -o out.onnx'), ('model.air', 'run model.air'),
    ('x.npy', 'verify model.onnx model.onnx --input x=x.npy'),
]


class Run(memory.Run):
    """One command line under all faults."""

    def files(self):
        return {**memory.FILES, **OLD}

    def judge(self, fault, outcome):
        """What is wrong with an ending, or ''."""
        code, text, files, _ = outcome
        if files not in (self.start, self.new):
            changed = sorted(f for f in {*files, *self.new}
                             if files.get(f) not in (self.start.get(f), self.new.get(f)))
            some = sorted(f for f in self.new if files.get(f) == self.new[f] != self.start.get(f))
            if changed or '--batch' not in self.command or code == 0:  # else: some jobs are done
                return f'neither the old files nor the new: wrong {changed}, new {some}'
        if code == 0:
            return '' if files == self.new else 'exit code 0, but the old files'
        if files != self.start:
            return f'exit code {code}, but the new files: {text[1][-200:]!r}'
        if fault.startswith('SIG'):
            number = getattr(signal, fault)  # or it comes before anybody listens
            return '' if code in (128 + number, -number) else f'exit code {code}'
        good = code == IO_EXIT and ': error: ' in text[1]
        return '' if good else f'exit code {code}: {text[1][-300:]!r}'

    def check(self):
        """(passed, failures)"""
        self.start = self.initial()
        self.new = self.outputs
        if self.code or self.new == self.start or not self.counts[2]:
            return 0, [f'{self.command!r} does not work: {self.text[1][-300:]!r}']
        passed, bad = 0, []
        for fault, settings, counted in FAULTS:
            most = self.counts[1 if counted == 'calls' else 2]
            step = max(1, most // self.args.sample) if self.args.sample else 1
            for n in range(1, most + 1, step):
                problem = self.judge(fault, self.call(f'n{n}', **settings(n)))
                passed += not problem
                bad += [f'{self.command!r}, {fault} {n}: {problem}'] if problem else []
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
        self.replaced = False
        super().__init__(args, scratch, command, number)

    def make(self, where, model):
        """The model as the files of other formats: {name: bytes}."""
        for form in self.forms:
            guard.run([self.args.tailor, 'convert', os.path.join('..', model), '-q', '-o',
                       f'model.{form}', *(['--external-weight=1'] if form == 'onnx' else [])],
                      cwd=where, check=True)
        return {f: memory.read(os.path.join(where, f)).encode('latin-1')
                for f in os.listdir(where)}

    def folder(self, name):
        """Beside each input lies NAME.next: another model, of the same weights, or other data."""
        where = super().folder(name)
        other = memory.WEIGHTS.replace(' Sub(', ' Add(')
        with open(os.path.join(where, 'weights.tir.next'), 'w', encoding='utf-8') as f:
            f.write(other)
        made = os.path.join(where, 'made')
        os.mkdir(made)
        found = {'x.npy': npy(0), 'x.npy.next': npy(2), **self.make(made, 'weights.tir')}
        for f, text in self.make(made, 'weights.tir.next').items():
            found[f + '.next'] = text if not f.endswith('.data') else text[4:] + text[:4]
        shutil.rmtree(made)
        found['mix.json.next'] = b'{"black-list":{"to-add":["Mul"]}}'
        found['switch.cfg.next'] = b'{"Switch":{"GraphFusion":{"ALL":"on"}}}'
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

    def judge(self, fault, outcome):
        """All as it was read before the change, or as after it; or 4 with a message; or it was
        empty or torn when it was read: 2, and 1 for a file of options."""
        code, text, files, _ = outcome
        left = {f: v for f, v in files.items() if f not in (self.name, self.name + '.next')}
        whole = [{f: v for f, v in w.items() if f not in (self.name, self.name + '.next')}
                 for w in (self.new, self.other, self.start)]
        if '--batch' in self.command:  # each job reads for itself
            good = all(v in [w.get(f) for w in whole] for f, v in left.items())
        else:
            good = left in whole[:2] and text[0] in (self.text[0], self.printed) or code
        if code == 0 or not good:
            return '' if good else f'exit code {code}, other files'
        if '--batch' not in self.command and left != whole[2]:
            return f'exit code {code}, but left {sorted(f for f in left if f not in whole[2])}'
        # A half of each may be nothing that can be read.
        torn = 1 if self.name in memory.FILES and not self.name.endswith('.tir') else 2
        good = code in (IO_EXIT, torn if fault in ('truncate', 'rewrite') else IO_EXIT) and \
            ': error: ' in text[1]
        return '' if good else f'exit code {code}: {text[1][-300:]!r}'

    def check(self):
        """(passed, failures)"""
        self.start, self.new = self.initial(), self.outputs
        self.replaced = True
        code, (self.printed, _), self.other, _ = self.call('other')
        self.replaced = False
        if self.code or code:
            return 0, [f'{self.command!r} does not work: {self.text[1][-300:]!r}']
        passed, bad, most = 0, [], self.counts[1]
        for fault in ('truncate', 'remove', 'replace', 'rewrite'):
            step = max(1, most // self.args.sample) if self.args.sample and \
                fault != 'truncate' else 1
            for n in range(1, most + 1, step):
                problem = self.judge(fault, self.call(f'n{n}', **{fault: f'{self.name}:{n}'}))
                passed += not problem
                bad += [f'{self.command!r}, {self.name}, {fault} at {n}: {problem}'] \
                    if problem else []
        return passed, bad


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    memory.add_arguments(ap)
    args = ap.parse_args()
    return memory.run_all(args, lambda *a: (Run if isinstance(a[2], str) else Change)(*a),
                          [c for c in COMMANDS + READERS if args.only in str(c)])


if __name__ == '__main__':
    sys.exit(main())
