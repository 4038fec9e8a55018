#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs with planted patterns and planted near misses of every rule:

  random_graphs.py --probe build/tests/rule-probe [--n 20000] [--seed 1] [--keep FILE]
      [--family NAME] [--all] [--chip CHIP]

Each graph has one pattern or two with random sizes and constants (cases/), as the rule takes it
or with one thing broken: a condition, an edge, an inner value that others want. Around them stand
random nodes: in front of inputs, behind outputs, and beside them. The verifier and the evaluator
must agree before and after the rule alone and before and after -O2; what is planted must be taken,
and a near miss must be explained by what was broken. --all: with all fusions that are off by
default, those of scopes and approximate ones, for the chip of --chip; without it, every fourth
batch of graphs is run so.
The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import rulecases  # noqa: E402
import rulefile  # noqa: E402

BATCH = 500
# Ops of one operand that no rule has, so that they never become part of what is planted.
NEUTRAL = {'f': ('Sin', 'Cos', 'Atan', 'Asinh'), 'i': ('BitwiseNot',),
           'b': ()}
KINDS = {'f16': 'f', 'f32': 'f', 'f64': 'f', 'i32': 'i', 'i64': '', 'bool': 'b'}


def around_inputs(signature, rng):
    """Random chains in front of inputs: new signature and statements."""
    found = []

    def replace(m):
        name, dtype, dims = m.groups()
        ops = NEUTRAL.get(KINDS.get(dtype, ''), ())
        if not ops or rng.random() < 0.4:
            return m.group(0)
        last = f'%in_{name}'
        for i in range(rng.randint(1, 2)):
            found.append((last, rng.choice(ops), name, i))
            last = f'%in_{name}_{i}'
        return f'%in_{name}: {dtype}[{dims}]'

    left, arrow, right = signature.partition(' -> ')
    left = re.sub(r'%(\w+): (\w+)\[([^\]]*)\]', replace, left)
    statements = []
    for k, (operand, op, name, i) in enumerate(found):
        last = k + 1 == len(found) or found[k + 1][2] != name
        result = f'%{name}' if last else f'%in_{name}_{i}'
        statements.append(f'{result} = {op}({operand})')
    return left + arrow + right, statements


def behind_outputs(signature, rng, roots):
    """Random chains behind outputs; the type is unknown here, so they only look at the shape. A
    rule with such a root would come near to them too, and explain that."""
    left, arrow, right = signature.partition(' -> ')
    names = re.findall(r'%(\w+)', right)
    statements, outputs = [], []
    for name in names:
        outputs.append('%' + name)
        if rng.random() < 0.5 and name == 'y' and 'Shape' not in roots:
            statements.append('%behind = Shape(%y)')
            if rng.random() < 0.5 and 'ReduceMax' not in roots:
                statements.append('%behind2 = ReduceMax(%behind)')
                outputs.append('%behind2')
            else:
                outputs.append('%behind')
    return f'{left}{arrow}({", ".join(outputs)})', statements


def beside(signature, rng):
    """Nodes that have nothing to do with what is planted."""
    left, arrow, right = signature.partition(' -> ')
    n, statements, last = rng.randint(0, 4), [], '%beside'
    for i in range(n):
        op = rng.choice(NEUTRAL['f'])
        other = rng.choice(['%beside', last])
        statements.append(f'%beside{i} = {op}({last})' if rng.random() < 0.6 else
                          f'%beside{i} = Mod({last}, {other}) {{fmod=1}}')
        last = f'%beside{i}'
    if not n:
        return signature, []
    first = left.rstrip(')') + (', ' if '%' in left else '') + f'%beside: f32[{rng.randint(1, 4)}])'
    return f'{first}{arrow}{right.rstrip(")")}, {last})', statements


def mixed(parts, rng):
    """Statements of several lists in a random order that keeps the order of each."""
    parts, out = [list(p) for p in parts if p], []
    while parts:
        chosen = rng.choice(parts)
        out.append(chosen.pop(0))
        parts = [p for p in parts if p]
    return out


def planted(case, rng, roots):
    """A case with random nodes around it, none of them one of the ops `roots`."""
    signature, body = rulecases.statements_of(case, rng)
    front = []
    if not (case.sort == rulecases.OUTPUT and case.rule.forwards):  # an input keeps its name
        signature, front = around_inputs(signature, rng)
    signature, back = behind_outputs(signature, rng, roots)
    return signature, front + body + back


def roots_of(case):
    return {op for s in case.rule.spellings for op in s.nodes[-1].ops}


def is_apart(case, other):
    """Whether the rule of a case has no root among the nodes of another one, which runs."""
    if not other.fires and (other.rule.kind == 'expand' or other.sort == rulecases.CONDITION):
        return False  # it may be no model that runs
    if re.search(r'i64\[|\[\*\]|\?', other.lines[0]):  # random numbers are no shape
        return False
    ops = set(re.findall(r'= ([\w.:]+)\(', '\n'.join(other.lines).replace('"', '')))
    return not ops & roots_of(case)


def joined(first, second):
    """One signature of two; the names of the second get a prefix."""
    second = [re.sub(r'([%@])(\w+)', r'\1q_\2', s) for s in [second[0]] + second[1]]
    a, b = (s.split(' -> ') for s in (first[0], second[0]))
    both = [', '.join(filter(None, (x[1:-1], y[1:-1]))) for x, y in zip(a, b)]
    return f'({both[0]}) -> ({both[1]})', second[1:]


def graph(case, other, rng):
    signature, lines = planted(case, rng, roots_of(case))
    if is_apart(case, other) and rng.random() < 0.5:
        signature, more = joined((signature, lines), planted(other, rng, roots_of(case)))
        lines = mixed([lines, more], rng)
    signature, side = beside(signature, rng)
    lines = mixed([lines, side], rng)
    about = f'# rule {case.rule.name}\n# {case.sort} {case.what}'
    return rulecases.module_of(about, signature, lines)


def batch(program, seed, templates, rules, more):
    rng = random.Random(seed)
    any_case = lambda: rng.choice(rulecases.cases_of(rng.choice(rules), templates, rng))
    cases = [any_case() for _ in range(BATCH)]
    texts = [graph(c, any_case(), rng) for c in cases]
    p = subprocess.run([program, '--pipeline', *more], input='// -----\n'.join(texts),
                       capture_output=True, text=True, check=False)
    rows = [line.split('\t') for line in p.stdout.splitlines()]
    rows += [['', '', '0', 'ERROR', f'the probe ended with {p.returncode}', '', '']] * (
        len(cases) - len(rows))
    return [(c, t, rulecases.problem(c, r)) for c, t, r in zip(cases, texts, rows)]


def switches(args, i):
    """What the probe is told of the i-th batch: every fourth one has it all, another one is for
    ONNX Runtime."""
    if args.onnxruntime or (not args.all and i % 4 == 1):
        return ['--onnxruntime']
    if not args.all and i % 4 != 3:
        return []
    chip = args.chip or (not args.all and i % 8 == 7 and 'Ascend310P3')
    return ['--all', chip] if chip else ['--all']


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--probe', required=True)
    p.add_argument('--n', type=int, default=20000)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep', help='write the graphs that fail to this file')
    p.add_argument('--family', help='only rules of this file')
    p.add_argument('--all', action='store_true', help='also what is off by default')
    p.add_argument('--chip', help='of --all')
    p.add_argument('--onnxruntime', action='store_true', help='the same, for ONNX Runtime')
    args = p.parse_args()
    templates = rulecases.read()
    rules = [r for r in rulefile.load().values() if r.name in templates
             and args.family in (None, r.family)]
    numbers = range((args.n + BATCH - 1) // BATCH)
    one = lambda i: batch(args.probe, args.seed * 1000003 + i, templates, rules, switches(args, i))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [r for part in pool.map(one, numbers) for r in part]
    failed = [(c, t, why) for c, t, why in results if why]
    for case, _, why in failed[:50]:
        print(f'FAIL {case.rule.name} {case.sort} {case.what}: {why}')
    if args.keep and failed:
        with open(args.keep, 'w', encoding='utf-8') as f:
            f.write('// -----\n'.join(text for _, text, _ in failed))
    sorts = collections.Counter('taken' if c.fires else 'near miss' for c, _, _ in results)
    print(', '.join(f'{n} {sort}' for sort, n in sorted(sorts.items())))
    print(f'{len(results) - len(failed)} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
