#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the cost model says of steps that belong together. The step with a scaled loss never takes
less than the plain one, whatever the optimizer, machine, manager and number of ranks. What is
chosen by default never takes longer than what can be asked for: a stream for updates
(hcom_parallel) or none, tail optimization or none, buckets of another strategy. What is chosen
otherwise than was asked is said, and recorded.

  estimates.py --tailor BIN"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'tests'))
import golden_cases  # noqa: E402
import guard  # noqa: E402

MODELS = [f'train_{net}_{opt}' for net in ('mlp', 'transformer')
          for opt in ('sgd', 'momentum', 'adam', 'momentum_preview', 'adam_preview')]
MACHINES = ('ascend910', 'ascend910b', 'ascend910_93')
MANAGERS = ('{"type":"FixedLossScaleManager","loss_scale":1024}', 'torch_amp')
SCALED = ['--is-loss-scale=true', f'--loss-scale-manager={MANAGERS[0]}']
TAIL = ['--is-tailing-optimization=true', '--optimizer-is-tailing-optimization=true']


class Estimates:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.known = os.path.abspath(tool), folder, {}
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        *MODELS], check=True, stdout=subprocess.DEVNULL)

    def step_time(self, model, *options):
        key = (model, *options)
        if key not in self.known:
            report = os.path.join(self.folder, 'report.json')
            guard.run([self.tool, 'opt', model + '.onnx', '-o', 'out.tir', '-q',
                       '--graph-run-mode=1', f'--schedule-report={report}', *options],
                      check=True, cwd=self.folder)
            with open(report, encoding='utf-8') as f:
                self.known[key] = json.load(f)['step_time']
        return self.known[key]

    def text(self, model, *options):
        """What the program prints, remarks included."""
        p = guard.run([self.tool, *options[:1], model, '-o', *options[1:], '--remarks',
                       '--graph-run-mode=1', '--is-distributed=true'], check=True,
                      cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.stdout.decode()

    def choices(self):
        """(what, whether it is so) of what is chosen."""
        for model, machine, ranks, scaled in itertools.product(MODELS, MACHINES, (2, 8), (0, 1)):
            common = [f'--hw-preset={machine}', '--is-distributed=true', f'--rank-size={ranks}']
            common += SCALED if scaled else []
            ours = self.step_time(model, *common, *TAIL)
            others = [[], ['--hcom-parallel=false'], ['--hcom-parallel=false', *TAIL]]
            others += [[f'--bucket-strategy={s}', *tail] for s in ('single', 'none', 'default')
                       for tail in ([], TAIL)]
            for other in others:
                yield (f'{model}, {" ".join(common + other)}',
                       ours <= self.step_time(model, *common, *other) * (1 + 1e-9))

    def truths(self):
        """(what, whether it is so) of what is said."""
        common = ['--hw-preset=ascend910', '--rank-size=2', *SCALED]
        model = 'train_mlp_momentum.onnx'
        for asked in ([], ['--hcom-parallel=true']):
            said = self.text(model, 'convert', 'step.air', *common, *asked)
            with open(os.path.join(self.folder, 'step.air'), 'rb') as f:
                air = f.read()
            yield f'a stream that loses is off, {asked}', 'hcom_parallel is off' in said
            yield f'no node is in that stream, {asked}', b'_stream_label' not in air
            at = air.find(b'tailor.run.hcom_parallel')
            yield f'and the file says so, {asked}', b'false' in air[at:at + 40]
            if asked:
                yield 'so does the key that was given', 'recorded ge.hcomParallel = 0' in said
        for name, options, waits in (
                ('nothing that waits', [], False), ('a check of overflow', SCALED, True)):
            said = self.text('train_transformer_adam.onnx', 'opt', 'out.tir', *TAIL,
                             '--hw-preset=ascend910b', '--rank-size=8', '--bucket-strategy=none',
                             *options)
            yield name, ('own gradients wait for the last bucket' in said) != waits
        golden = os.path.join(ROOT, 'tests', 'golden', 'tail-opt', 'clipped-to-a-norm.tir')
        with open(os.path.join(self.folder, 'norm.tir'), 'w', encoding='utf-8') as f:
            f.write(golden_cases.read(golden).cases[0].module)
        said = self.text('norm.tir', 'opt', 'out.tir', *TAIL, '--rank-size=8')
        yield 'a norm over all gradients', 'own gradients wait for the last bucket' not in said
        said = self.text(os.path.join(ROOT, 'tests', 'train', 'losing_tail.tir'), 'convert',
                         'step.air', *TAIL, '--rank-size=8', '--hw-preset=ascend910', *SCALED,
                         '--bucket-strategy=none', '--update-form=if', '--tail-mode=late')
        yield 'a tail that loses is said', 'is_tailing_optimization is off' in said
        yield 'and the key is off', 'recorded ge.exec.isTailingOptimization = 0' in said
        with open(os.path.join(self.folder, 'step.air'), 'rb') as f:
            air = f.read()
        at = air.find(b'tailor.run.is_tailing_optimization')
        yield 'in the file too', b'false' in air[at:at + 60]

    def check(self):
        failed = passed = 0
        for what, good in itertools.chain(self.truths(), self.choices()):
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'FAIL {what}')
        for model, machine, manager, ranks in itertools.product(MODELS, MACHINES, MANAGERS, (1, 8)):
            common = [f'--hw-preset={machine}']
            if ranks > 1:
                common += ['--is-distributed=true', f'--rank-size={ranks}']
            plain = self.step_time(model, *common)
            scaled = self.step_time(model, *common, '--is-loss-scale=true',
                                    f'--loss-scale-manager={manager}')
            good = scaled >= plain * (1 - 1e-9)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'FAIL {model}, {machine}, {manager}, {ranks} ranks: {scaled} us with a '
                      f'scaled loss, {plain} us without')
        return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        passed, failed = Estimates(args.tailor, folder).check()
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
