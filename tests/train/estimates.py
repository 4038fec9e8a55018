#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the cost model says of steps that belong together: the step with a scaled loss never takes less
than the plain one, whatever the optimizer, machine, manager and number of ranks.

  estimates.py --tailor BIN"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = [f'train_{net}_{opt}' for net in ('mlp', 'transformer')
          for opt in ('sgd', 'momentum', 'adam', 'momentum_preview', 'adam_preview')]
MACHINES = ('ascend910', 'ascend910b', 'ascend910_93')
MANAGERS = ('{"type":"FixedLossScaleManager","loss_scale":1024}', 'torch_amp')


class Estimates:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.known = os.path.abspath(tool), folder, {}
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        *MODELS], check=True, stdout=subprocess.DEVNULL)

    def step_time(self, model, *options):
        key = (model, *options)
        if key not in self.known:
            report = os.path.join(self.folder, 'report.json')
            subprocess.run([self.tool, 'opt', model + '.onnx', '-o', 'out.tir', '-q',
                            '--graph-run-mode=1', f'--schedule-report={report}', *options],
                           check=True, cwd=self.folder)
            with open(report, encoding='utf-8') as f:
                self.known[key] = json.load(f)['step_time']
        return self.known[key]

    def check(self):
        failed = passed = 0
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
                print(f'FAIL {model}, {machine}, {manager}, {ranks} ranks: {scaled} us with a scaled '
                      f'loss, {plain} us without')
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
