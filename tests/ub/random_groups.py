#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""random_groups.py - buffer fusion over random graphs, judged by the independent ub_check.py.

  random_groups.py --tailor BIN [--n N] [--seed S]

Graphs of 4 to 70 nodes in NPU form: elementwise chains with side users, shortcuts that make
cycles when the wrong nodes are joined, reductions, convolutions and products with tails,
quantization, control edges, streams, dumps, unknown sizes, many users. A hundred go into one
module, under one chip and one set of switches; scope ids must be unique across its graphs. Each
group of the result has to satisfy the checker, some passes must come up often enough, the same
text must come out again, and a second run must change nothing. The last line is 'N passed, M
failed, K skipped'."""
import argparse
import collections
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import ub_check  # noqa: E402

FULL, ONES, FLAT = '1,16,8,8', '1,16,1,1', '16,8'
UNARY = 'Relu Sigmoid Tanh Exp Abs Neg Sqrt Gelu Relu6'.split()
BINARY = 'Add Mul Sub Maximum RealDiv'.split()
CHIPS = 'Ascend910B1 Ascend910A Ascend910_9391 Ascend310P3 Ascend950'.split()
PER_MODULE = 100


class Maker:
    """Text of one graph."""

    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.lines, self.values, self.used = [], {}, set()
        self.n = 0
        self.dynamic = rng.random() < 0.08
        self.full = 'n,16,8,8' if self.dynamic else FULL
        self.shapes = {'full': self.full, 'ones': ONES if not self.dynamic else 'n,16,1,1'}
        self.inputs = ['%in0', '%in1']
        self.kinds = {'full': ['%in0', '%in1'], 'ones': [], 'q': []}

    def pick(self, kind):
        """Recent values more often: chains rather than stars."""
        values = self.kinds[kind]
        k = min(int(self.rng.expovariate(0.5)), len(values) - 1)
        return values[-1 - k]

    def clause(self):
        r = self.rng.random()
        if r < 0.02:
            return ' meta "_dump_able" "true"'
        if r < 0.05:
            return ' stream 1'
        if r < 0.07:
            return ' meta "_stream_label" "s0"'
        if r < 0.10 and self.n > 3:
            return f' after %v{self.rng.randrange(1, self.n)}'
        return ''

    def node(self, op, operands, kind, dtype='f16', attrs=''):
        self.n += 1
        name = f'%v{self.n}'
        dims = self.shapes['ones' if kind == 'ones' else 'full']
        clause = self.clause()
        self.lines.append(f'  {name} = npu::{op}({", ".join(operands)}) @n{self.number}_{self.n}'
                          f'{attrs} : {dtype}[{dims}]{clause}')
        self.used.update(operands)
        self.kinds[kind].append(name)
        return name

    def step(self):
        r = self.rng.random()
        full = self.kinds['full']
        if r < 0.38:
            self.node(self.rng.choice(UNARY), [self.pick('full')], 'full')
        elif r < 0.62:
            pair = [self.pick('full'), self.rng.choice(full)]
            self.node(self.rng.choice(BINARY), pair, 'full')
        elif r < 0.70:
            self.node(self.rng.choice(BINARY), [self.pick('full'), '%bias'], 'full')
        elif r < 0.76:
            self.node('ReduceSumD', [self.pick('full')], 'ones',
                      attrs=' {axes=[2, 3], keep_dims=true}')
        elif r < 0.80 and self.kinds['ones']:
            if self.rng.random() < 0.5:
                self.node(self.rng.choice(UNARY), [self.pick('ones')], 'ones')
            else:
                self.node('Add', [self.pick('full'), self.pick('ones')], 'full')
        elif r < 0.90:
            self.node('Conv2D', [self.pick('full'), '%w'], 'full',
                      attrs=' {strides=[1, 1, 1, 1], pads=[0, 0, 0, 0]}')
        elif r < 0.93:
            self.node('BatchMatMulV2', [self.pick('full'), '%m'], 'full')
        elif r < 0.96:
            self.node('MaxPoolV3', [self.pick('full')], 'full',
                      attrs=' {ksize=[1, 1, 1, 1], strides=[1, 1, 1, 1]}')
        else:
            self.node('AscendQuant', [self.pick('full')], 'q', 'i8', ' {scale=1.0, offset=0.0}')

    def text(self):
        for _ in range(self.rng.randrange(4, 70)):
            self.step()
        names = [f'%v{i + 1}' for i in range(self.n)]
        outputs = [v for v in names if v not in self.used]
        outputs += [v for v in names if v in self.used and self.rng.random() < 0.05]
        head = (f'graph @g{self.number}(%in0: f16[{self.full}], %in1: f16[{self.full}], '
                f'%bias: f16[1,16,1,1], %w: f16[16,16,1,1], %m: f16[{self.full}])')
        return f'{head} -> ({", ".join(outputs)}) {{\n' + '\n'.join(self.lines) + '\n}\n'


# ---- reading the result --------------------------------------------------------------------------
NODE = re.compile(r'  (%\w+) = npu::(\w+)\(([^)]*)\) @(\w+)(?: \{(.*?)\})? : \w+\[([^\]]*)\](.*)')
GRAPH = re.compile(r'^graph @(\w+)\((.*?)\) -> \((.*?)\) \{\n(.*?)^\}', re.M | re.S)


def dims_of(text):
    return [int(d) if d.strip().isdigit() else d.strip() for d in text.split(',')]


def read_graph(inputs, outputs, body):
    types = {v: dims_of(d) for v, d in re.findall(r'(%\w+): \w+\[([^\]]*)\]', inputs)}
    made, nodes = {}, []
    finals = set(outputs.split(', '))
    for line in body.splitlines():
        m = NODE.fullmatch(line)
        if not m:
            raise ValueError(f'cannot read {line!r}')
        value, op, operands, name, attrs, dims, clauses = m.groups()
        operands = operands.split(', ')
        scope = re.search(r'fusion_scope=(\d+)', attrs or '')
        ub_pass = re.search(r'pass_name_ub="(\w+)"', attrs or '')
        label = re.search(r'"_stream_label" "(\w+)"', clauses)
        stream = re.search(r'stream (\d+)', clauses)
        types[value] = dims_of(dims)
        nodes.append(ub_check.Node(
            name, op, [(made.get(v), types[v]) for v in operands], [types[value]],
            [made[v] for v in re.findall(r'after (%\w+)', clauses)],
            int(scope.group(1)) if scope else 0, ub_pass.group(1) if ub_pass else '',
            (stream and stream.group(1), label and label.group(1)),
            '_dump_able' not in clauses, value in finals))
        made[value] = len(nodes) - 1
    return nodes


def judge(text, chip, classes, counts):
    """Problems, by graph."""
    homes, wrong = {}, {}
    for name, inputs, outputs, body in GRAPH.findall(text):
        nodes = read_graph(inputs, outputs, body)
        checker = ub_check.Checker(nodes, chip, classes)
        problems = checker.run()
        for scope, members in checker.groups.items():
            counts[nodes[members[0]].ub_pass] += 1
            if homes.setdefault(scope, name) != name:
                problems.append(f'kernel {scope}: in two graphs')
        wrong[name] = problems
    return wrong


def tailor(args, source, *options):
    p = guard.run([args.tailor, 'opt', source, '--passes=ub-fusion', *options],
                  capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr[:2000])
    return p.stdout


def switches(rng):
    r = rng.random()
    if r < 0.6:
        return []
    if r < 0.8:
        return ['--optimization-switch=TbeMultiOutputFusionPass:off;'
                'TbeMultiOutputByWayFusionPass:off;TbeEltwiseFusionPass:off']
    return ['--optimization-switch=TbeEltwiseFusionPass:off;TbeReduceElemwiseFusionPass:off;'
            'TbeConvSingleInFusionPass:off']


def run_module(args, index, classes, counts, folder):
    rng = random.Random(f'{args.seed}/{index}')
    chip = CHIPS[rng.choices(range(5), (35, 35, 10, 15, 5))[0]]
    n = min(PER_MODULE, args.n - index * PER_MODULE)
    source = os.path.join(folder, 'in.tir')
    with open(source, 'w', encoding='utf-8') as f:
        f.write('module {\n  form npu\n}\n\n' +
                '\n'.join(Maker(rng, i).text() for i in range(n)))
    options = [f'--soc-version={chip}', *switches(rng)]
    text = tailor(args, source, *options)
    wrong = judge(text, chip, classes, counts)
    again = os.path.join(folder, 'again.tir')
    with open(again, 'w', encoding='utf-8') as f:
        f.write(text)
    stable = tailor(args, source, *options) == text and tailor(args, again, *options) == text
    failed = 0
    for name, problems in wrong.items():
        failed += bool(problems)
        for problem in problems[:3]:
            print(f'FAIL module {index} ({" ".join(options)}) {name}: {problem}')
    if len(wrong) != n or not stable:
        print(f'FAIL module {index}: {len(wrong)} of {n} graphs, or a run that differs')
        failed = n
    return n - failed, failed


def main():
    parser = argparse.ArgumentParser(description='random graphs through buffer fusion')
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--n', type=int, default=1000)
    parser.add_argument('--seed', default='1')
    args = parser.parse_args()
    classes, counts = ub_check.read_classes(), collections.Counter()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for index in range((args.n + PER_MODULE - 1) // PER_MODULE):
            p, f = run_module(args, index, classes, counts, folder)
            passed, failed = passed + p, failed + f
    for name, n in sorted(counts.items()):
        print(f'{n:7} {name}')
    wanted = ('AutomaticUbFusion TbeEltwiseFusionPass TbeMultiOutputFusionPass '
              'TbeMultiOutputByWayFusionPass TbeReduceElemwiseFusionPass TbeConvSingleInFusionPass '
              'TbePool2dQuantFusionPass').split()
    for name in wanted if args.n >= 500 else []:
        seen = counts[name] >= args.n // 250
        passed, failed = passed + seen, failed + (not seen)
        if not seen:
            print(f'FAIL {name} came up {counts[name]} times only')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
