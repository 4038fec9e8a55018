#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with one allocation failing: it says "out of memory" and nothing else, ends with
exit code 70 and leaves the files as they were; or it does without, and then all is as ever.

  memory.py --tailor BIN --faults LIB [--sample N] [--only TEXT] [--jobs N]

LIB is the library of faults.c; BIN has no sanitizers, which have allocators of their own. --sample
takes N allocations of each command, spread evenly; 0 takes all."""
import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

INTERNAL = 70
MEMORY = 'out of memory'
MIXED = '--soc-version=Ascend910B1 --precision-mode=allow_mix_precision'
LOSS = ('--is-loss-scale=true --loss-scale-manager='
        '\'{"type":"FixedLossScaleManager","loss_scale":1024}\'')
TRAIN = '--graph-run-mode=1 --is-distributed=true --rank-size=4 --soc-version=Ascend910A'
# Training steps, weights of some size, and a model that is evaluated at once.
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
# Open sizes, of which profiles are tried.
PROFILES = '--input-shape=x:-1,3,8,8 --dynamic-batch-size=1,2 --profile-report'
# 2 MiB of numbers, which threads compute.
COMPUTED = ('graph @g(%x: f32[64,4]) -> (%y, %z) {\n'
            '  const %w: f32[64,8192] = view(f32[1] [1.5], 0, [64,8192], [0,0])\n'
            '  %y = Add(%w, %w)\n  %z = Relu(%x)\n}\n')
MODELS = {'computed.tir': COMPUTED, 'scheduled.tir': STEP, 'counted.tir': COUNTED,
          'weights.tir': WEIGHTS,
          'small.tir': 'graph @g(%x: f32[2,3]) -> (%y) {\n  %t = Exp(%x)\n  %y = Relu(%t)\n}\n'}
# What is run in a folder that holds the models of this one and the files below.
FILES = {
    'switch.cfg': '{"Switch":{"GraphFusion":{"ALL":"off","NoSuchPass":"on"}}}',
    'switch.txt': 'SoftmaxFusionPass:off\nNoSuchPass:on\n',
    'mix.json': '{"black-list":{"to-add":["Relu"]}}',
    'keep.cfg': 'OpType::Relu\nnode\n',
    'custom.cfg': 'OpType::Relu::InputDtype:float16,OutputDtype:float16\n',
    'impl.ini': '[ByOpType]\nSoftmaxV2=high_precision\n',
    'map.txt': 'Relu:Relu6\n',
    'ranges.json': '{"tensors":[{"name":"x","min":-1,"max":1}]}',
    'run.json': '{"NPURunConfig":{"precision_mode":"allow_mix_precision","hcom_parallel":true}}',
    'own.tlr': ('rules 1\n\n'
                'rule OwnTwoExps : graph numerics exact about "a clamp of a clamp is one" {\n'
                '  match {\n    %t = Relu(%x)\n    %y = Relu(%t)\n  }\n'
                '  replace {\n    %y = Relu(%x)\n  }\n}\n'),
    'jobs.json': '[{"model": "weights.tir", "outputs": ["out.air"]},'
                 ' {"model": "small.tir", "outputs": ["out.onnx"]}]',
    'old.air': 'old', 'old.onnx': 'old', **MODELS,
}
COMMANDS = [
    'convert model.tir -o out.air',
    'convert model.tir -o out.onnx',
    'convert model.tir -o out.tir -q',
    'convert model.tir -o out.pbtxt --summary=json',
    'convert model.tir -o out.air -o out.onnx -o old.air --depfile=out.d',
    f'convert model.tir -o out.air {PROFILES}=out.json --order=memory',
    f'convert model.tir -o out.onnx {PROFILES} --summary=json',
    'info model.tir --memory --input-shape=x:1~4,3,8,8',
    'info loops.tir --memory --order=memory --json',
    'convert model.tir -o out.onnx --external-weight=1',
    'convert model.tir -o out.air --external-weight=2',
    'convert model.tir -o out.air --fusion-switch-file=switch.cfg --fusion-result=out.json',
    'convert model.tir -o out.air --fusion-switch-file=switch.txt --fusion=NoSuchPass:off',
    'convert model.tir -o out.air --rules=own.tlr --op-name-map=map.txt',
    f'convert model.tir -o out.air {MIXED} --modify-mixlist=mix.json --keep-dtype=keep.cfg',
    f'convert model.tir -o out.onnx {MIXED} --customize-dtypes=custom.cfg',
    f'convert model.tir -o out.air {MIXED} --precision-policy=range --ranges=ranges.json',
    'convert model.tir -o out.air --soc-version=Ascend310P3 --op-precision-mode=impl.ini',
    'convert counted.tir -o out.onnx --run-config=run.json --soc-version=Ascend910B1',
    'convert weights.tir -o out.onnx --external-weight=1',
    'convert computed.tir -O0 -o out.onnx',
    'convert weights.tir -o out.air --external-weight=2',
    'convert --batch jobs.json --external-weight=1',
    'convert loops.tir -o out.air',
    'convert quantized.tir -o out.air',
    f'convert counted.tir -o out.onnx {TRAIN} --trace=out.json --timeline=out.html',
    f'convert counted.tir -o out.air {TRAIN} --schedule-report=report.json',
    'opt scheduled.tir --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true '
    '--rank-size=8 --hw-preset=unit -o out.tir --trace=out.json --tail-explain=tail.json',
    'opt scheduled.tir --passes=infer-shapes,ar-bucket,schedule --graph-run-mode=1 '
    '--is-distributed=true --rank-size=8 --hw-preset=unit --bucket-strategy=auto -o out.tir',
    f'convert counted.tir -o out.onnx {LOSS}',
    'convert --train-model step.tir --optim-model=optim.tir -o out.onnx',
    'convert counted.tir -o out.onnx --accelerate-train-mode="fast|step|0.9" '
    '--observe-step=step --total-step=10000',
    'convert model.tir -o out.air --accelerate-train-mode=fast',
    'convert model.tir --dry-run -o out.air',
    'convert missing.onnx -o out.air',
    'convert model.tir -o out.air --no-such-option',
    'opt model.tir',
    'opt model.tir -o out.tir --verify-each --stats',
    'opt model.tir --print-changed --time-passes -o out.tir',
    'opt model.tir --print-changed --print-changed-form=full --print-only=y -o out.tir',
    'opt model.tir --npu --dump-dir=states -o out.tir',
    'convert model.tir --dump-dir=states --dump-form=pbtxt -o out.air',
    'opt model.tir --stats=json --trace-compiler=/dev/null -o out.tir',
    'convert model.tir --stats --trace-compiler=/dev/null -o out.air',
    'opt model.tir --verify-numerics -o out.tir',
    'explain model.tir --fusion',
    'explain model.tir --why-not=graph-fusion --node=e',
    'explain model.tir --why-not=NegNeg --node=e --json',
    'explain model.tir --fusion --json',
    'explain model.tir --fusion=NoSuchPass',
    'explain model.tir --expand',
    f'explain model.tir --precision {MIXED}',
    f'explain model.tir --precision --json {MIXED}',
    f'explain model.tir --page=out.html {MIXED}',
    f'view model.tir -o out.html {MIXED}',
    'view model.tir small.tir -o out.html', 'view model.tir --against=-O0 -o out.html',
    'verify model.tir model.tir --layers --page=out.html',
    f'explain model.tir --suggest-mixlist=mix.out {MIXED}',
    'info model.tir', 'info model.tir --json', 'info step.tir --train',
    'run model.tir', 'run model.tir --output out --record-ranges=out.json',
    'verify model.tir model.tir', 'verify model.tir --npu',
    'simulate-ranks counted.tir -n 2', 'info counted.tir --train --json',
    'passes', 'passes --fusion', 'passes --fusion --json', 'passes --rules',
    'passes --fusion --fusion-switch-file=switch.cfg',
    'ops', 'ops --json', 'ops Conv', 'ops Conv --soc-version=Ascend910B1', 'ops NoSuchOp',
    'options', 'options --json', 'help', 'help convert', '--version', 'no-such-command',
    'diff-precision a.json b.json',
    'diff model.tir loops.tir', 'diff model.tir model.tir --names --json',
    'diff small.tir loops.tir --stat',
    'extract small.tir --from t --to y -o out.onnx -o out.air --data out',
    'extract small.tir --from nothing --to y -o out.onnx',
    'explain model.tir --origins', 'explain model.tir --origins --json --node=y',
]


class Run:
    """One command line, again and again in fresh folders."""

    def __init__(self, args, scratch, command, number):
        self.args, self.scratch, self.command = args, os.path.join(scratch, str(number)), command
        self.code, self.text, self.outputs, counts = self.call('whole')
        self.counts = counts or [0, 0, 0]  # allocations, calls, changes of names

    def files(self):
        """Files of the folder beside the models of this one, by name."""
        return {**FILES, **self.args.explanations}

    def initial(self):
        """What is in the folder before the command runs."""
        return contents(self.folder('start'))

    def folder(self, name):
        where = os.path.join(self.scratch, name)
        os.makedirs(where)
        for model in os.listdir(HERE):
            if model.endswith('.tir'):
                shutil.copy(os.path.join(HERE, model), where)
        for file, text in self.files().items():
            with open(os.path.join(where, file), 'w', encoding='utf-8') as f:
                f.write(text)
        return where

    def call(self, name, **faults):
        """(exit code, stdout and stderr, files, counts)"""
        where = self.folder(name)
        counts = where + '.counts'
        argv = ['env', 'LC_ALL=C', 'LD_PRELOAD=' + self.args.faults, 'FAULT_COUNTS=' + counts,
                *(f'FAULT_{k.upper()}={v}' for k, v in faults.items()), self.args.tailor]
        p = guard.run([*argv, *shlex.split(self.command)], cwd=where, capture_output=True,
                      text=True, errors='replace')
        files = contents(where)
        found = [int(n) for n in read(counts).split()] if os.path.exists(counts) else None
        shutil.rmtree(where)
        return p.returncode, (stable(p.stdout), stable(p.stderr)), files, found

    def without(self, n):
        """What is wrong when the n-th allocation fails, or ''."""
        code, text, files, _ = self.call(f'n{n}', allocation=n)
        if code < 0 or code > 128:
            return f'died with {code}'
        if (code, text, files) == (self.code, self.text, self.outputs):
            return ''
        if code != INTERNAL or MEMORY not in text[1]:
            return f'exit code {code}: {text[1][-300:]!r}'
        known = set(self.text[1].splitlines())
        for line in text[1].splitlines():
            if line.endswith('_BATCH]'):  # which job it was, and which were left out
                continue
            if ': error: ' in line and MEMORY not in line and line not in known:
                return f'says what is not so: {line}'
            if ': warning: ' in line and line not in known and MEMORY not in line:
                return f'warns of what is not so: {line}'
        left = [f for f in files if files[f] != self.start.get(f)]
        if '--batch' in self.command:  # what other jobs have done is done
            left = [f for f in left if files[f] != self.outputs.get(f)]
        if left or not set(self.start) <= set(files):
            return f'left {sorted(left)}'
        return ''

    def check(self):
        """(passed, failures)"""
        self.start, most = self.initial(), self.counts[0]
        step = max(1, most // self.args.sample) if self.args.sample else 1
        if not most:
            return 0, [f'{self.command!r}: no allocation was seen']
        chosen = range(1, most + 1, step)
        bad = [f'{self.command!r}, allocation {n}: {problem}' for n in chosen
               for problem in [self.without(n)] if problem]
        return len(chosen) - len(bad), bad


def contents(where):
    """Bytes of all files below a folder by name; folders are there too."""
    found = {}
    for base, folders, names in os.walk(where):
        for f in names:
            found[os.path.relpath(os.path.join(base, f), where)] = read(os.path.join(base, f))
        for f in folders:
            found[os.path.relpath(os.path.join(base, f), where) + '/'] = ''
    return found


def read(path):
    with open(path, 'rb') as f:
        return f.read().decode('latin-1')


def stable(text):
    """Without what differs from run to run: times, memory that was used, and what the counts of
    `make coverage` say, for which memory is taken as well."""
    text = re.sub(r'LLVM Profile Error: .*\n', '', text)
    text = re.sub(r'("\w*(nanoseconds|_ns|bytes|memory|ms)\w*": )\d+', r'\1T', text)
    return re.sub(r'\d+(\.\d+)? ?(ms|s)\b|\b\d+\.\d+(?= )', 'T', text)


def explanations(args):
    """Two files for diff-precision."""
    found = {}
    for name, mode in (('a.json', 'force_fp16'), ('b.json', 'allow_mix_precision')):
        p = guard.run([args.tailor, 'explain', os.path.join(HERE, 'model.tir'), '--precision',
                       '--json', '--soc-version=Ascend910B1', '--precision-mode=' + mode],
                      capture_output=True, text=True)
        found[name] = p.stdout
    return found


def add_arguments(ap):
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--faults', required=True)
    ap.add_argument('--sample', type=int, default=0)
    ap.add_argument('--only', default='')
    ap.add_argument('--jobs', type=int, default=os.cpu_count())


def run_all(args, kind, commands):
    """Runs the commands side by side, prints what fails; the exit code."""
    args.tailor, args.faults = os.path.abspath(args.tailor), os.path.abspath(args.faults)
    args.explanations = explanations(args)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-faults-') as scratch, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def check(numbered):
            return kind(args, scratch, numbered[1], numbered[0]).check()
        for good, bad in pool.map(check, enumerate(commands)):
            passed += good
            failed += len(bad)
            for line in bad:
                print('FAIL', line, flush=True)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    add_arguments(ap)
    args = ap.parse_args()
    return run_all(args, Run, [c for c in COMMANDS if args.only in c])


if __name__ == '__main__':
    sys.exit(main())
