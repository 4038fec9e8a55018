#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy traps: networks in miniature (trap_models.py, trap_positions.py) that lose their numbers
in f16 or bf16, each in every mode that lowers, by lists alone and by range, against f32.

  traps.py --tailor BIN [--only TEXT] [--update] [--keep FOLDER]

Both are evaluated with --exact on the inputs of the trap. By range the cosine similarity of each
output is at least 0.999 in every mode, and so it is at -O0, where nothing is fused, and where loops
are While for the NPU. A trap has to
bite: in one mode at least the similarity is lower without the policy, or the trap is one of TAME,
which show that common forms hold. What comes out is the table docs/precision-traps.md: --update
writes it, otherwise it has to be current. The last line is 'N passed, M failed, K skipped'."""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import trap_graph  # noqa: E402
import trap_models  # noqa: E402, F401  (fills trap_graph.TRAPS)
import trap_loops  # noqa: E402, F401
import trap_positions  # noqa: E402, F401

LEAST = 0.999
RANGE = '--precision-policy=range'
MODES = {'mixed_float16': ['--precision-mode-v2=mixed_float16'],
         'fp16': ['--precision-mode-v2=fp16'],
         'mixed_bfloat16': ['--precision-mode-v2=mixed_bfloat16'],
         'O3 in bf16': ['--amp-level=O3', '--amp-dtype=bfloat16']}
TABLE = os.path.join(ROOT, 'docs', 'precision-traps.md')
# Kernels that are one op compute with f32 inside, here as on the NPU, and -inf is a number of f16.
TAME = {'RMS norm, the op', 'group norm, the op, large numbers', 'length by LpNormalization',
        'length of tiny vectors, not less than 1e-12', 'mean of 65536 numbers', 'Swish in parts',
        'Gelu by a cube', 'attention, masks of -1e9 for padding and for the future',
        'attention, masks of the least f32, rows without a key', 'attention, -inf by Where'}


def call(args, *words):
    p = guard.run([args.tailor, *words], capture_output=True, text=True, check=False,
                  errors='replace')
    if p.returncode:
        raise RuntimeError(f'{" ".join(words[:2])}: {p.stderr.strip() or p.stdout.strip()}')
    return p.stdout


def evaluate(args, model, folder, given):
    call(args, 'run', model, '-O0', '-q', '--exact', '--format=npy', '-o', folder, *given)
    names = sorted((n for n in os.listdir(folder) if n.startswith('output_')),
                   key=lambda n: int(n[7:-4]))
    return [np.load(os.path.join(folder, n)).astype(np.float64).ravel() for n in names]


def cosine(a, b):
    """Of two outputs; what is not finite in one of them has to be so in the other."""
    ok = np.isfinite(a)
    if not np.array_equal(ok, np.isfinite(b)):
        return 0.0
    a, b = a[ok], b[ok]
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / length) if length else float(np.array_equal(a, b))


class Trap:
    def __init__(self, args, number, graph):
        self.args, self.graph = args, graph
        self.folder = os.path.join(args.folder, str(number))
        os.makedirs(self.folder)
        self.model = os.path.join(self.folder, 'model.tir')
        with open(self.model, 'w', encoding='utf-8') as f:
            f.write(graph.text())
        self.given = []
        for name, array in graph.inputs.items():
            path = os.path.join(self.folder, name + '.npy')
            np.save(path, array)
            self.given.append(f'--input={name}={path}')
        self.found, self.kept, self.nodes, self.problems = {}, {}, 0, []
        self.plain = 1.0

    def measure(self, mode, *options, suffix='.onnx'):
        name = '.'.join((mode, *options)).replace(' ', '_').replace('=', '_')
        path = os.path.join(self.folder, name + suffix)
        call(self.args, 'convert', self.model, '-q', '--verify-each', '-o', path,
             *MODES[mode], *options)
        outputs = evaluate(self.args, path, path + '.d', self.given)
        return min(cosine(a, b) for a, b in zip(self.reference, outputs))

    def measure_lists(self, mode, *options):
        """By lists an index may come to lie outside of what it is to find."""
        try:
            return self.measure(mode, '--precision-policy=none', *options)
        except RuntimeError as e:
            if 'is outside' not in str(e):
                raise
            return 0.0

    def count(self, mode):
        e = json.loads(call(self.args, 'explain', self.model, '-q', '--json',
                            *MODES[mode], RANGE))
        floats = [[t for t in n['tensors'] if t['original'] == 'f32'] for n in e['nodes']]
        wide = [all(t['chosen'] == 'f32' for t in tensors) for tensors in floats if tensors]
        self.kept[mode], self.nodes = sum(wide), len(wide)

    def run(self):
        try:
            self.reference = evaluate(self.args, self.model, os.path.join(self.folder, 'ref'),
                                      self.given)
            for mode in MODES:
                self.found[mode] = (self.measure_lists(mode),
                                    self.measure(mode, RANGE))
                self.judge(mode + ' by range', self.found[mode][1])
                self.judge(mode + ' by range, -O0', self.measure(mode, RANGE, '-O0'))
                if 'body=' in self.graph.text():
                    self.judge(mode + ' by range, While', self.measure(mode, RANGE, suffix='.tir'))
                self.plain = min(self.plain, self.measure_lists(mode, '-O0'))
                self.count(mode)
        except RuntimeError as e:
            self.problems.append(str(e))
            return self
        bites = min(self.plain, *(lists for lists, _ in self.found.values())) < LEAST
        if bites == (self.graph.name in TAME):
            self.problems.append('bites' if bites else 'does not bite in any mode')
        return self

    def judge(self, where, similarity):
        if similarity < LEAST:
            self.problems.append(f'{where}: cosine {similarity:.6f}')

    def row(self):
        cells = [f'{c:.4f}' if c >= 0.99995 else f'{np.floor(c * 1e4) / 1e4:.4f}'
                 for mode in MODES for c in self.found[mode]]
        kept = ', '.join(str(self.kept[m]) for m in MODES)
        return f'| {self.graph.name} | {" | ".join(cells)} | {kept} of {self.nodes} |\n'


def table(traps):
    head = ('<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
            '<!-- written by tests/precision/traps.py --update -->\n'
            '# How well do the precision policies protect critical values?\n\n'
            'Small networks that lose accuracy in a lower dtype (`tests/precision/trap_*.py`). '
            'Each cell is the smallest\ncosine similarity of an output to f32: by the lists alone '
            '(`--precision-policy=none`) and by range\n(`--precision-policy=range`); an infinite '
            'or NaN output counts as 0. The last column is the number of float nodes\nthat are '
            'f32 by range, for each mode. `tests/run.py --only traps` computes the table '
            'again.\n\n')
    modes = ' | '.join(f'{m}, lists | range' for m in MODES)
    lines = ''.join(t.row() for t in traps)
    return f'{head}| trap | {modes} | f32 |\n|{"---|" * (2 + 2 * len(MODES))}\n{lines}'


def is_near(a, b):
    """Rows of the table; NumPy's sine may differ in its last place elsewhere."""
    a, b = a.split('|'), b.split('|')
    if len(a) != len(b):
        return False
    number = re.compile(r' -?[01]\.\d{4} ')
    return all(x == y or (number.fullmatch(x) and number.fullmatch(y) and
                          abs(float(x) - float(y)) < 0.002) for x, y in zip(a, b))


def check_table(args, text):
    old = ''
    if os.path.exists(TABLE):
        with open(TABLE, encoding='utf-8') as f:
            old = f.read()
    if args.update:
        with open(TABLE, 'w', encoding='utf-8') as f:
            f.write(text)
        return 0
    rows = list(itertools.zip_longest(old.splitlines(), text.splitlines(), fillvalue=''))
    for a, b in rows:
        if not is_near(a, b):
            print(f'FAIL docs/precision-traps.md is not current: traps.py --update\n-{a}\n+{b}')
            return 1
    return 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--only', default='')
    p.add_argument('--update', action='store_true')
    p.add_argument('--keep')
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.keep or folder
        graphs = [g for g in trap_graph.trap_models() if args.only in g.name]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            traps = list(pool.map(lambda t: Trap(args, *t).run(), enumerate(graphs)))
    failed = 0
    for t in traps:
        failed += bool(t.problems)
        for problem in t.problems:
            print(f'FAIL {t.graph.name}: {problem}')
    passed = len(traps) - failed
    if args.only:
        print(''.join(t.row() for t in traps if len(t.found) == len(MODES)), end='')
    elif all(len(t.kept) == len(MODES) for t in traps):
        failed += check_table(args, table(traps))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
