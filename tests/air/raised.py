#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""AIR files as ONNX: each model is converted to AIR and the file to ONNX; ONNX Runtime must load
that model and give the numbers of the original.

  tests/air/raised.py --tailor T --ort DIR [--every N] [FOLDER...]

--every: of all models. What is left out is printed with its reason. A model counts if it has an
AIR form and ONNX Runtime runs the original, or else if it runs the new model and the original has
reference data, which the new one has to give then. Known reasons for another result (KNOWN) are
counted apart; anything else fails, and so does a share of equal models below LEAST. Default
folders: the corpus beside the project and Debian's ONNX models."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import round_trip  # noqa: E402

LEAST = 0.9
BATCH = os.path.join(os.path.dirname(HERE), 'ort', 'ort_batch.js')
DATA = ('test_data_set_0', 'ort_data_set_0')
RTOL, ATOL, UNITS = '1e-3', '1e-4', '8'  # units: of halves, which the runtime sums in any order
# What models have in their paths -> why the results may differ.
STEP = 'the NPU rounds quantized numbers at other places: elements differ by a step'
KNOWN = {
    'node/test_bernoulli': 'numbers drawn at random are no data to compare with',
    'onnx_node/test_bernoulli': 'numbers drawn at random are no data to compare with',
    'node/test_adam_multiple': "the reference data is of epsilon 1e-2, which the node does not say",
    'node/test_dft': 'a transform that is a product rounds elements that are 0 to other small ones',
    'qdq': STEP,
    'layout_transform_nonconst_broadcast_input': STEP,
    'skip_layer_norm_no_beta_with_cast': 'ONNX Runtime rounds no sum of halves before a norm '
                                         'of rows that are nearly alike',
    'maxunpool_export_with_output_shape': 'ONNX Runtime counts indices within output_shape, ONNX '
                                          'and the NPU within the shape that was pooled',
}


def known(path):
    return next((why for part, why in KNOWN.items() if part in path), None)


class Raised:
    def __init__(self, args, room):
        self.args, self.room = args, room
        self.rows, self.failed = [], []
        self.left = collections.Counter()

    def run(self, *argv):
        return guard.run([self.args.tailor, *argv, '-q'], capture_output=True, text=True,
                         check=False)

    def convert(self, number, path):
        air, onnx = (os.path.join(self.room, f'{number}.{s}') for s in ('air', 'onnx'))
        if self.run('convert', path, '-o', air).returncode:
            self.left['no AIR form'] += 1
            return
        done = self.run('convert', air, '-o', onnx)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if 'error: ' in line] or ['no word']
            self.failed.append(f'{path}: not written: {said[0][:300]}')
            return
        folders = [os.path.join(os.path.dirname(path), f) for f in DATA]
        self.rows.append((path, path, onnx, next(filter(os.path.isdir, folders), '-')))

    def compare(self):
        """Number of models that ONNX Runtime computes alike."""
        listing = os.path.join(self.room, 'list.tsv')
        with open(listing, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in self.rows)
        done = subprocess.run(['node', BATCH, listing, '--ort', self.args.ort, '--rtol', RTOL,
                               '--atol', ATOL, '--units', UNITS, '--data'],
                              capture_output=True, text=True, check=False)
        equal = 0
        for line in done.stdout.splitlines():
            path, status, detail = (line.split('\t') + ['', ''])[:3]
            if line.startswith('#'):
                continue
            equal += status == 'ok'
            by_data = detail.startswith('data: ')
            self.left['equal to the data: ONNX Runtime runs it from AIR only'] += (
                by_data and status == 'ok')
            if status == 'orig-fails':
                self.left['ONNX Runtime runs neither the original nor the one from AIR'] += 1
            elif status != 'ok' and known(path):
                self.left[known(path)] += 1
            elif status != 'ok':
                self.failed.append(f'{path}: {status}: {detail[:300]}')
        return equal


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as room:
        raised = Raised(args, room)
        for i, path in enumerate(round_trip.models(args.folders or round_trip.FOLDERS, args.every)):
            raised.convert(i, path)
        equal = raised.compare() if raised.rows else 0
    different = sum(n for why, n in raised.left.items() if why in KNOWN.values())
    for line in raised.failed:
        print('FAIL', line)
    for why, n in raised.left.most_common():
        print(f'{n} models: {why}', file=sys.stderr)
    total = equal + different + len(raised.failed)
    if equal < LEAST * total:
        raised.failed.append('share')
        print(f'FAIL {equal} of {total} models are equal, fewer than {LEAST:.0%}')
    print(f'{equal} passed, {len(raised.failed)} failed, {different} skipped')
    return 1 if raised.failed else 0


if __name__ == '__main__':
    sys.exit(main())
