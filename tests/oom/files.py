#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that writes files, with one call of the operating system failing, or a signal
arriving before it: afterwards all files are the new ones or all are the old ones, and nothing else
is there. A failure ends with exit code 4 and a message, a signal with 128 and its number.

  files.py --tailor BIN --faults LIB [--sample N] [--only TEXT] [--jobs N]

LIB is the library of faults.c. --sample takes N calls of each command and fault; 0 takes all."""
import argparse
import signal
import sys

sys.dont_write_bytecode = True
import memory  # noqa: E402  (beside this file)

IO_EXIT = 4
EIO, ENOSPC, EINVAL = 5, 28, 22
OLD = {'out.air': 'old', 'out.onnx': 'old', 'out.d': 'old', 'out.json': 'old', 'out.html': 'old',
       'report.json': 'old', 'ranges.out': 'old', 'mix.out': 'old'}
COMMANDS = [
    'convert model.tir -o out.air',
    'convert model.tir -o new.tir -o out.air -o out.onnx -o new.pbtxt --depfile=out.d '
    '--fusion-result=out.json',
    'convert weights.tir -o out.onnx --external-weight=1',
    'convert weights.tir -o out.air -o new.onnx --external-weight=2',
    'convert weights.tir -o new.air -o other.air --external-weight=1',
    'convert counted.tir -o out.onnx -o new.tir --accelerate-train-mode="fast|step|0.9" '
    '--observe-step=step --total-step=10000 --depfile=out.d',
    'opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 '
    '--hw-preset=unit scheduled.tir -o new.tir --trace=out.json --timeline=out.html '
    '--schedule-report=report.json',
    'opt model.tir -o out.onnx -o new.tir --depfile=out.d',
    f'explain model.tir --page=out.html {memory.MIXED}',
    f'explain model.tir --suggest-mixlist=mix.out {memory.MIXED}',
    'run small.tir --output folder --record-ranges=ranges.out --dump-tensors=dump',
]
# A training step and a model that is evaluated at once.
STEP = ('graph @g(%x: f32[4,4], %lr: f32[], %w: f32[4,4], %v: f32[4,4]) -> (%y, %z) {\n'
        '  %g = MatMul(%x, %w) @B1\n'
        '  %r = npu.hcom::HcomAllReduce(%g) @AR1 {reduction="sum", group="g", fusion=1}'
        ' : f32[4,4]\n'
        '  %d = Mul(%r, %lr) @S1\n  %y = Sub(%w, %d) @U1\n  %h = MatMul(%g, %v) @B2\n'
        '  %s = npu.hcom::HcomAllReduce(%h) @AR2 {reduction="sum", group="g", fusion=1}'
        ' : f32[4,4]\n'
        '  %e = Mul(%s, %lr) @S2\n  %z = Sub(%v, %e) @U2\n  state %w -> %y\n  state %v -> %z\n'
        '  gradient %w -> %g\n  gradient %v -> %h\n}\n')
COUNTED = ('graph @g(%x: f32[2,4], %w: f32[4,4], %step: i64[]) -> (%loss, %w.out, %next) {\n'
           '  const %lr: f32[] = 0.125\n  const %one: i64[] = 1\n  %y = MatMul(%x, %w)\n'
           '  %loss = ReduceMean(%y) {keepdims=0}\n  %xt = Transpose(%x) {perm=[1, 0]}\n'
           '  %g = MatMul(%xt, %y)\n  %d = Mul(%g, %lr)\n  %w.out = Sub(%w, %d)\n'
           '  %next = Add(%step, %one)\n  state %w -> %w.out\n  state %step -> %next\n}\n')
WEIGHTS = ('graph @g(%x: f32[2,300]) -> (%y, %z) {\n'
           + ''.join(f'  const %w{k}: f32[300] = '
                     f'[{", ".join(str(k + i / 4) for i in range(300))}]\n' for k in range(3))
           + '  %a = Mul(%x, %w0)\n  %y = Add(%a, %w1)\n  %z = Sub(%a, %w2)\n}\n')
MODELS = {'scheduled.tir': STEP, 'counted.tir': COUNTED, 'weights.tir': WEIGHTS,
          'small.tir': 'graph @g(%x: f32[2,3]) -> (%y) {\n  %t = Exp(%x)\n  %y = Relu(%t)\n}\n'}
# name of the fault, what faults.c is told for the n-th call, and by what it is counted
FAULTS = [
    ('rename', lambda n: {'call': f'change:{n}:{EIO}'}, 'changes'),
    ('no exchange of names', lambda n: {'call': f'renameat2:{n}:{EINVAL}'}, 'changes'),
    ('full at write', lambda n: {'call': f'write:{n}:{ENOSPC}'}, 'calls'),
    ('full at fsync', lambda n: {'call': f'fsync:{n}:{ENOSPC}'}, 'calls'),
    ('open', lambda n: {'call': f'open:{n}:{EIO}'}, 'calls'),
    ('SIGTERM', lambda n: {'signal': f'{int(signal.SIGTERM)}:{n}'}, 'calls'),
    ('SIGINT', lambda n: {'signal': f'{int(signal.SIGINT)}:{n}'}, 'calls'),
    ('SIGHUP', lambda n: {'signal': f'{int(signal.SIGHUP)}:{n}'}, 'calls'),
]


class Run(memory.Run):
    """One command line under all faults."""

    def files(self):
        return {**memory.FILES, **OLD, **MODELS}

    def judge(self, fault, outcome):
        """What is wrong with an ending, or ''."""
        code, text, files, _ = outcome
        if files not in (self.start, self.new):
            changed = sorted(f for f in {*files, *self.new}
                             if files.get(f) not in (self.start.get(f), self.new.get(f)))
            some = sorted(f for f in self.new if files.get(f) == self.new[f] != self.start.get(f))
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


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    memory.add_arguments(ap)
    args = ap.parse_args()
    return memory.run_all(args, Run, [c for c in COMMANDS if args.only in c])


if __name__ == '__main__':
    sys.exit(main())
