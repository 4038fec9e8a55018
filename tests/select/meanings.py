#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every NPU node that can be emitted has a meaning for the evaluator: a kernel, or a definition
that takes its operands and attributes.

  meanings.py --tailor BIN --probe PROGRAM [--op NAME] [--every N] [--rounds 3] [--seed N]

1. What rules and definitions make: each statement with an NPU op (PROGRAM --made).
2. What the op tables make: nodes of every op with candidates, sampled as run.py does, become NPU
   nodes of a chip of either family. Nodes of one op with the same operands, dtypes and attributes
   that switch (strings, bools, whether a number is the default) form a combination; shapes are
   sampled too, and a definition may ask for sensible ones, so one node of it must have a meaning.
3. What expansions make: the graphs of the golden tests of expansions, whose shapes are sensible, so
   each NPU node must have a meaning.

4. What passes make in C: every NPU op that a source below passes/ names as an op.

meanings.tsv has the ops and combinations without one, with reasons; a line that is not needed fails
too, unless --every N takes every N-th op of 2 and every N-th test of 3 alone. The last line is
'N passed, M failed, 0 skipped'."""
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(ROOT, 'scripts')]
import golden_cases  # noqa: E402
import guard  # noqa: E402
import run as select  # noqa: E402  (beside this file)
from op_tables import read_tables  # noqa: E402

ROUNDS = 8  # of other shapes, where no sample of a combination had sensible ones
CHIPS = ('Ascend910B1', 'Ascend910A')
BETWEEN = '// -----\n'
NODE = re.compile(r'^  (.*?) = npu::(\w+)\((.*?)\)(?: @(\S+))?(?: \{(.*?)\})? : ', re.M)
# Marks that no prototype lists, and numbers that say sizes and places: sampled, not told apart.
MARKS = ('original_type', 'fusion_scope', 'pass_name_ub', 'N', 'num_split', 'T')


def read_known():
    """{(op, part of the combination): reason}"""
    with open(os.path.join(HERE, 'meanings.tsv'), encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    return {(op, part): reason for op, part, reason in rows}


class Verdict:
    """Counts combinations, and finds the lines of meanings.tsv that excuse them."""

    def __init__(self):
        self.known, self.used = read_known(), set()
        self.passed, self.problems = 0, []

    def add(self, op, what, meaning, where=''):
        excuse = next((k for k in self.known if k[0] == op and k[1] in what), None)
        if meaning != 'nothing':
            self.passed += 1
        elif excuse:
            self.used.add(excuse)
        else:
            self.problems.append(f'npu::{op} {what} means nothing: {where}')

    def finish(self, whole):
        for op, part in sorted(set(self.known) - self.used) if whole else ():
            self.problems.append(f'meanings.tsv: npu::{op} {part!r} has a meaning, or is not made')


def rows_of(text):
    return [line.split('\t') for line in text.splitlines()]


def probe(args, modules):
    p = subprocess.run([args.probe], input=BETWEEN.join(modules), capture_output=True, text=True,
                       check=False)
    if p.returncode:
        raise SystemExit(f'the probe ended with {p.returncode}: {p.stderr[-500:]}')
    return rows_of(p.stdout)


# ---- 1: rules ------------------------------------------------------------------------------------

def check_made(args, verdict):
    p = subprocess.run([args.probe, '--made'], capture_output=True, text=True, check=True)
    for rule, line, op, meaning, _ in rows_of(p.stdout):
        verdict.add(op, f'made by {rule}', meaning, f'line {line} of its file')


# ---- 2: op tables --------------------------------------------------------------------------------

def switches(text):
    """Attributes of a node as they tell combinations apart."""
    found = []
    for name, value in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^,\s]+)', text or ''):
        if name in MARKS:
            continue
        whole = value[0] == '"' or value in ('true', 'false')
        found.append(f'{name}={value}' if whole else name)
    return ' '.join(sorted(found))


def types_of(text):
    """{value: dtype} of a module's text"""
    types = dict(re.findall(r'(%[\w/.]+): (\w+)\[', text))
    for results, kinds in re.findall(r'^  (%.*?) = .* : (.*)$', text, re.M):
        for name, kind in zip(results.split(', '), re.findall(r'(\w+)\[[^\]]*\]|\?', kinds)):
            types[name] = kind
    return types


def combinations(text):
    """{name of the node: (op, what tells its combination)}"""
    types, found = types_of(text), {}
    for _, op, operands, name, attrs in NODE.findall(text):
        kinds = [types.get(v, '_') for v in operands.split(', ') if v]
        if len(kinds) > 6:  # many operands of one kind
            kinds = sorted(set(kinds)) + ['...']
        found[name] = (op, f'({", ".join(kinds)}) {switches(attrs)}'.strip())
    return found


class Sampler(select.Sampler):
    """Lists as long as a window has dims, as a rule, and only texts that a guard knows."""
    window = 2

    def attr(self, a):
        if a['kind'] == 'is':
            places = self.window * (2 if a['name'] == 'pads' else 1)
            n = places if self.rng.random() < 0.8 else self.rng.randint(1, 6)
            return [self.rng.choice([1, 1, 2])] * n
        if a['name'] == 'dtype' and a['kind'] == 'i':  # f32, f16, i8, bf16 as GE counts them
            return self.rng.choice([0, 1, 2, 27])
        known = [t for t in self.texts if t != 'other']
        if a['kind'] == 's' and not known:  # its default
            return None if not a['required'] else 'x'
        return self.rng.choice(known) if a['kind'] == 's' else super().attr(a)

    def node(self, soc):
        self.window = self.rng.choice([1, 2, 3])
        return super().node(soc)


    def reshaped(self, node):
        """The node with other shapes and numbers: as many operands, of the same dtypes."""
        rank = self.rng.randint(1, 5)
        dims = [self.rng.choice([1, 2, 3, 4, 8]) for _ in range(rank)]
        same, self.window = self.rng.random() < 0.7, self.rng.choice([1, 2, 3])
        inputs = []
        for i, p in enumerate(node.inputs):
            shape = dims if same else self.dims()
            kept = p and p['const'] is not None and self.constant(p['dtype'], shape, i)
            inputs.append(p and dict(p, const=kept or None, cube=False, dims=shape))
        attrs = {a['name']: self.attr(a) if a['kind'] in ('i', 'is') else node.attrs[a['name']]
                 for a in self.op['attr'] if a['name'] in node.attrs}
        return select.npu_guard.Node(inputs, node.outputs, attrs, node.defaults, node.soc)


def lowered(args, op, key, nodes, chip):
    """Text of the module with the NPU nodes that nodes of an op become."""
    p = guard.run([args.tailor, 'opt', '--passes=select,lower', '--allow-unmapped',
                   '--soc-version=' + CHIPS[chip], '-o', '-', '-'],
                  input=select.module(op, nodes), capture_output=True, text=True)
    if p.returncode:
        raise SystemExit(f'{key}: {p.stderr[:300]}')
    return p.stdout


def sample(args, op, key):
    """[(combination, what it means, why, node, chip)]"""
    sampler = Sampler(op, random.Random(f'{args.seed} {key}'))
    lists = [[sampler.node(chip) for _ in range(select.PER_ROUND)]
             for chip in args.rounds * ['a2', '910']]
    return sampler, look(args, op, key, lists, [k % 2 for k in range(len(lists))])


def look(args, op, key, lists, chips):
    texts = [lowered(args, op, key, nodes, chip) for nodes, chip in zip(lists, chips)]
    parts = [combinations(t) for t in texts]
    out = []
    for number, name, _, meaning, why in probe(args, texts):
        combination = parts[int(number)].get(name)
        if combination and re.fullmatch(r'n\d+', name):
            node = lists[int(number)][int(name[1:])]
            out.append((combination, meaning, why, node, chips[int(number)]))
    return out


def check_op(args, key, op):
    """[(op, combination, meaning, why)] of each combination that nodes of the op become."""
    sampler, found = sample(args, op, key)
    good, bad = {}, {}
    for combination, meaning, why, node, chip in found:
        (bad if meaning == 'nothing' else good)[combination] = (meaning, why, node, chip)
    for combination, (_, _, node, chip) in sorted(bad.items(), key=lambda item: item[0]):
        if combination in good:
            continue
        again = [[sampler.reshaped(node) for _ in range(select.PER_ROUND)] for _ in range(ROUNDS)]
        for other, meaning, *_ in look(args, op, key, again, [chip] * ROUNDS):
            if other == combination and meaning != 'nothing':
                good[combination] = (meaning, '')
    return [(*c, *good[c][:2]) if c in good else (*c, *bad[c][:2])
            for c in sorted({*good, *bad})]


def check_tables(args, verdict):
    tables = read_tables(glob.glob(os.path.join(ROOT, 'ir', 'ops', '*.tbl')))
    chosen = [(f'{k[0]}::{k[1]}', op) for k, op in sorted(tables.ops.items())
              if op['npu'] and select.can_sample(op) and args.op in ('', k[1])][::args.every]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for key, told in zip(chosen, pool.map(lambda k: check_op(args, *k), chosen)):
            for op, what, meaning, why in told:
                verdict.add(op, what, meaning, f'{key[0]}: {why}')


# ---- 3: expansions -------------------------------------------------------------------------------

def expanded(args, path):
    out = []
    file = golden_cases.read(path)
    for case in file.cases:
        for chip in CHIPS if 'soc-version' not in file.head else re.findall(
                r'soc-version=(\w+)', file.head)[:1]:
            p = guard.run([args.tailor, 'opt', '--npu', '--allow-unmapped', '-o', '-',
                           '--soc-version=' + chip, '-'], input=case.module,
                          capture_output=True, text=True)
            if p.returncode == 0:
                out.append(p.stdout)
    return out


def check_expansions(args, verdict):
    paths = [p for p in sorted(glob.glob(os.path.join(ROOT, 'tests', 'golden', '**', '*.tir'),
                                         recursive=True))
             if re.match(r'# RUN: .*\bexpand(,|\s)', open(p, encoding='utf-8').readline())]
    paths = paths[::args.every]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, texts in zip(paths, pool.map(lambda p: expanded(args, p), paths)):
            where = os.path.relpath(path, ROOT)
            parts = [combinations(t) for t in texts]
            for number, name, op, meaning, why in probe(args, texts) if texts else ():
                what = parts[int(number)].get(name, (op, ''))[1]
                verdict.add(op, what, meaning, f'{where}: {why}')


# ---- 4: passes in C ------------------------------------------------------------------------------

def check_sources(args, verdict):
    p = subprocess.run([args.probe, '--prototypes'], capture_output=True, text=True, check=True)
    meanings = dict(rows_of(p.stdout))
    named = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'passes', '**', '*.c'), recursive=True)):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        for op in re.findall(r'TL_OP_npu_(?:[a-z]+_)?(\w+)|TL_SV\("(\w+)"\)', text):
            named.setdefault(op[0] or op[1], os.path.relpath(path, ROOT))
    for op, path in sorted(named.items()):
        if op in meanings:
            verdict.add(op, 'named in C', meanings[op], path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--probe', required=True)
    p.add_argument('--op', default='', help='only nodes of this op of the tables')
    p.add_argument('--every', type=int, default=1, help='a sample of ops and tests')
    p.add_argument('--rounds', type=int, default=3)
    p.add_argument('--seed', type=int, default=1)
    args = p.parse_args()
    verdict = Verdict()
    check_tables(args, verdict)
    if not args.op:
        check_made(args, verdict)
        check_expansions(args, verdict)
        check_sources(args, verdict)
    verdict.finish(not args.op and args.every == 1)
    for problem in sorted(set(verdict.problems)):
        print('FAIL', problem)
    print(f'{verdict.passed} passed, {len(set(verdict.problems))} failed, 0 skipped')
    return 1 if verdict.problems else 0


if __name__ == '__main__':
    sys.exit(main())
