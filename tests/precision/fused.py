#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the policy of ranges protects stays protected when it is fused.

  fused.py --tailor BIN [--every N] [--only TEXT] [--keep FOLDER]

The first case of each rule's golden file is a trap where the policy keeps some of its nodes wide,
by `explain` of the model as it is. It is converted without fusions and with them, in modes that
lower, and run on inputs of several sizes; so are the models that take the logarithm, the inverse or
the exponential of its results, where small numbers matter. Fused, outputs are as near to those of
f32 as unfused: their cosine similarity is no less, or at least 0.999. f32 is what the model
computes or, where its parts lose numbers already, what its fused form does.

Products (those of passes/precision/range_ops.tbl) round their results to the low dtype, fused or
not: they are not tried with logarithms and inverses, which enlarge that, nor with inputs that a
product takes out of f16. A rule of numerics reassociating makes as many roundings in another order,
so that its error may be up to three times that of the parts: the distance of the cosine from 1 goes
with the square of the error. --every N takes every N-th of the rules, with each of their modes and
ends. The last line is 'N passed, M failed, K skipped'."""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402
import traps  # noqa: E402

GOLDEN = os.path.join(ROOT, 'tests', 'golden', 'rules')
MODES = {m: traps.MODES[m] for m in ('fp16', 'mixed_float16', 'O3 in bf16')}
ENDS = {'': '', 'Log': '  %{0}.abs = Abs({1})\n  %{0} = Log(%{0}.abs)\n',
        'Reciprocal': '  %{0} = Reciprocal({1})\n', 'Exp': '  %{0} = Exp({1})\n'}
SIZES = (0.01, 1, 40, 300)  # sums of products of the last are beyond f16
OTHER_ORDER = 9  # times the distance of the cosine from 1: three times the error
# Cosines of equal quality differ as much: fused and single nodes sum in other orders.
NOISE = 1e-5


def reassociating():
    """Names of rules that add or multiply in another order."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, 'passes', 'rules', '*.tlr')):
        with open(path, encoding='utf-8') as f:
            found.update(re.findall(r'^rule (\w+) .*\bnumerics reassociating\b', f.read(), re.M))
    return found


def products():
    """Names of ops that add up products."""
    with open(os.path.join(ROOT, 'passes', 'precision', 'range_ops.tbl'), encoding='utf-8') as f:
        rows = re.findall(r'^RANGE\((\w+), (\w+), [^,]+, [^,]+, ([^)]*)\)', f.read(), re.M)
    kinds = ('MATMUL', 'GEMM', 'CONV', 'DECONV', 'ATTEND')
    names = [op for op, kind, flags in rows if kind in kinds or 'PRODUCT' in flags]
    return [re.sub('^tl_', 'tl::', name).replace('com_microsoft_', 'com.microsoft::')
            for name in names]


def with_end(text, end):
    """The model with another op behind each output."""
    if not end:
        return text
    m = re.search(r'-> \((.*?)\) \{', text)
    outputs = [o.split(':')[0].strip() for o in m[1].split(',')]
    names = [f'end{i}' for i in range(len(outputs))]
    lines = ''.join(end.format(*pair) for pair in zip(names, outputs))
    close = text.index('\n}', m.end()) + 1
    return (text[:m.start(1)] + ', '.join('%' + n for n in names) + text[m.end(1):close] + lines +
            text[close:])


def float_inputs(text):
    signature = re.search(r'^graph @\w+\((.*?)\) ->', text, re.M | re.S)[1]
    for name, dims in re.findall(r'%([\w.]+): f32\[([\d,]*)\]', signature):
        yield name, [int(d) for d in dims.split(',') if d]


def graph_of(path):
    """The text without what says where nodes came from."""
    with open(path, encoding='utf-8') as f:
        return re.sub(r' meta .*', '', f.read())


def nearest(references, outputs):
    return max(min(traps.cosine(a, b) for a, b in zip(r, outputs)) for r in references)


class Case:
    """A rule's model with one end, in one mode."""

    def __init__(self, args, rule, text, end, mode):
        self.reordered = rule.split('.')[0] in args.reassociating
        self.args, self.text, self.mode, self.end = args, text, mode, end
        self.about = ', '.join(filter(None, (rule, end, mode)))
        self.folder = os.path.join(args.folder, self.about.replace(', ', '.').replace(' ', '_'))

    def convert(self, name, *options):
        path = os.path.join(self.folder, name + '.tir')
        traps.call(self.args, 'convert', self.model, '-q', '-o', path, *options)
        return path

    def values(self, size):
        rng = np.random.default_rng(1)
        given = []
        for name, dims in float_inputs(self.text):
            path = os.path.join(self.folder, f'{name}.{size}.npy')
            np.save(path, (rng.normal(size=dims) * size).astype(np.float32))
            given.append(f'--input={name}={path}')
        return given

    def evaluate(self, path, given):
        return traps.evaluate(self.args, path, path + '.d', given)

    def is_trap(self):
        """Is a node kept that is fused with others?"""
        os.makedirs(self.folder)
        self.model = os.path.join(self.folder, 'model.tir')
        with open(self.model, 'w', encoding='utf-8') as f:
            f.write(self.text)
        p = guard.run([self.args.tailor, 'explain', self.model, '-q', '-O1', '--json',
                       *MODES[self.mode], traps.RANGE], capture_output=True, text=True,
                      check=False)
        if p.returncode:  # an f64 that no chip takes, the logarithm of an integer
            return False
        if not any(t['rule'] == 'range' for n in json.loads(p.stdout)['nodes']
                   for t in n['tensors']):
            return False
        self.parts = self.convert('parts', '-O1', *MODES[self.mode], traps.RANGE)
        self.fused = self.convert('fused', *MODES[self.mode], traps.RANGE)
        return graph_of(self.parts) != graph_of(self.fused)

    def run(self):
        """What is wrong, None: it is no trap."""
        try:
            if not self.is_trap():
                return None
            wide = self.convert('wide')
            multiplies = any(f'= {op}(' in graph_of(wide) + self.text for op in self.args.products)
            if multiplies and self.end:
                return None
            for size in SIZES[:-1] if multiplies else SIZES:
                given = self.values(size)
                references = [self.evaluate(self.model, given), self.evaluate(wide, given)]
                parts = nearest(references[:1], self.evaluate(self.parts, given))
                fused = nearest(references, self.evaluate(self.fused, given))
                if self.reordered:
                    parts = 1 - OTHER_ORDER * (1 - parts)
                if fused < min(parts - NOISE, traps.LEAST):
                    return f'inputs of {size}: {fused:.6f} fused, {parts:.6f} in parts'
        except RuntimeError as e:
            return None if 'no kernel' in str(e) else str(e)
        return ''


def cases(args):
    paths = [path for path in sorted(golden_runner.tests_under([GOLDEN]))
             if not golden_cases.PART.search(path)]
    for path in paths[::args.every]:
        rule = os.path.basename(path)[:-len('.tir')]
        text = golden_cases.read(path).first.module
        if args.only not in rule or not list(float_inputs(text)):
            continue
        for name, end in ENDS.items():
            for mode in MODES:
                yield Case(args, rule, with_end(text, end), name, mode)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--keep')
    args = p.parse_args()
    args.tailor, args.products = os.path.abspath(args.tailor), products()
    args.reassociating = reassociating()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        args.folder = args.keep or folder
        for case, problem in pool.map(lambda c: (c, c.run()), cases(args)):
            failed += bool(problem)
            passed += problem == ''
            if problem:
                print(f'FAIL {case.about}: {problem}', flush=True)
    if not passed:
        print('FAIL no rule has a trap')
    print(f'{passed} passed, {failed + (not passed)} failed, 0 skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
