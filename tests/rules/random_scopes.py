#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs whose nodes are scattered over scopes, told by every source that tells of scopes:

  random_scopes.py --tailor BIN [--n 100] [--seed 1] [--keep FOLDER]

Rules that capture scopes, verified ones too, run over each: the module has to be whole after every
pass, each rewrite and the written ONNX model have to compute what the graph did, and AIR has to be
written. Scopes are nested, interrupted and odd of name; nodes are shared, without a scope, in
bodies of If, and outputs anywhere. The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import os
import random
import shutil
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

SCOPES = ['a', 'a/b', 'a/b/c', 'a/d', 'e', 'e/b', 'e e/é', 'x"y/z', '.', 'a.b/c:d', '', 'b', '*/?',
          'a/b/c/q/q/q']
OPS = ['Relu', 'Neg', 'Tanh', 'Sigmoid', 'Add', 'Mul', 'Sub', 'Max', 'MatMul', 'Concat']
UNARY, BINARY = OPS[:4], OPS[4:8]
RULES = '''rules 1
scope "*/b", "e", "?", "*c", "*" : One general {
  boundary (%x..., const %w...) -> (%y)
} -> my::One
scope "*" : Two general {
  types { MatMul 0 to 3 } boundary (%x..., const %w...) -> (%y, %z)
} -> my::Two
scope "*" : Same general { verify {} boundary (%x..., const %w...) -> (%y) } -> my::Same
scope "*" : Plain general { verify {samples=2} boundary (%x) -> (%y) } -> Relu
scope "*" : Pair general { verify {samples=2} boundary (%x, %y) -> (%z) } -> Add
'''


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


class Graph:
    """A random module: every value is f32[4,4]."""

    def __init__(self, rng):
        self.rng, self.lines, self.constants = rng, [], []
        self.scope = rng.choice(SCOPES)
        values = ['x0', 'x1']
        for i in range(rng.randint(4, 22)):
            if rng.random() < 0.08:
                self.branch(f'v{i}', values)
            else:
                self.node(f'v{i}', values[-6:], '  ')
            values.append(f'v{i}')
        outputs = rng.sample(values[2:], min(len(values) - 2, rng.randint(1, 3)))
        self.outputs = outputs + [values[-1]] * (values[-1] not in outputs)

    def place(self):
        """(name, marks behind the node) that tell of a scope, or of none"""
        rng = self.rng
        if rng.random() < 0.3:
            self.scope = rng.choice(SCOPES)
        parts = [p for p in self.scope.split('/') if p]
        name, form = f'n{rng.randint(0, 10 ** 6)}', rng.random()
        if form < 0.55:
            return '@' + quoted('/'.join(parts + [name])), ''
        if form < 0.75:
            paths = ['.'.join(parts[:i]).replace("'", '') for i in range(len(parts) + 1)] + [name]
            listed = ', '.join(rng.choice(["'%s'", '"%s"']) % p for p in paths)
            return '@' + name, f' meta "pkg.torch.onnx.name_scopes" {quoted(f"[{listed}]")}'
        if form < 0.85:
            text = ': Net/' + ''.join(f'{p}: C{p}/' for p in parts) + 'n: op'
            return '@' + name, f' meta "namespace" {quoted(text)}'
        return ('', '') if form < 0.95 or not parts else (
            '@' + name, f' scope {quoted("/".join(parts))}')

    def constant(self):
        if not self.constants or self.rng.random() < 0.5:
            self.constants.append(f'w{len(self.constants)}')
        return self.rng.choice(self.constants)

    def say(self, indent, result, call, attrs=''):
        name, marks = self.place()
        self.lines.append(f'{indent}%{result} = {call} {name}{attrs}{marks}')

    def node(self, result, values, indent):
        rng, op = self.rng, self.rng.choice(OPS)
        a, b = rng.choice(values), rng.choice(values)
        if op in UNARY:
            self.say(indent, result, f'{op}(%{a})')
        elif op in BINARY:
            self.say(indent, result, f'{op}(%{a}, %{b if rng.random() < 0.7 else self.constant()})')
        elif op == 'MatMul':
            self.say(indent, result, f'MatMul(%{a}, %{self.constant()})')
        else:  # some of another shape
            self.say(indent, result + '_c', f'Concat(%{a}, %{b})', ' {axis=0}')
            self.say(indent, result + '_d', f'ReduceMax(%{result}_c, %axes)', ' {keepdims=0}')
            self.lines.append(f'{indent}%{result} = Add(%{result}_d, %{a})')

    def branch(self, result, values):
        name, marks = self.place()
        self.lines.append(f'  %{result} = If(%c) {name} {{')
        for key, letter in (('then_branch', 't'), ('else_branch', 'e')):
            inner = list(values)
            self.lines.append(f'    {key}=graph @{result}{letter}() -> (%{result}{letter}) {{')
            for i in range(self.rng.randint(1, 4)):
                self.node(f'{result}{letter}{i}', inner, '      ')
                inner.append(f'{result}{letter}{i}')
            self.lines.append(f'      %{result}{letter} = Relu(%{inner[-1]})')
            self.lines.append('    }' + (',' if letter == 't' else ''))
        self.lines.append('  }' + marks)

    def text(self):
        head = 'graph @g(%x0: f32[4,4], %x1: f32[4,4], %c: bool[]) -> ('
        head += ', '.join('%' + o for o in self.outputs) + ') {\n  const %axes: i64[1] = [0]\n'
        for c in self.constants:
            numbers = ', '.join(f'{self.rng.uniform(-1, 1):.2f}' for _ in range(16))
            head += f'  const %{c}: f32[4,4] = [{numbers}]\n'
        return head + '\n'.join(self.lines) + '\n}\n'


def problem(tailor, folder, how):
    """What is wrong with the graph in the folder; None: nothing. *how: options of opt."""
    rules = '--rules=' + os.path.join(folder, 'scopes.tlr')
    file = lambda suffix: os.path.join(folder, 'graph.' + suffix)
    for command in (
            ['opt', file('tir'), rules, '--verify-each', '--verify-numerics', '-o', file('onnx'),
             *how],
            ['verify', file('tir'), file('onnx'), '--tensors=0'],
            ['convert', file('tir'), rules, '--allow-unmapped', '-q', '-o', file('air')],
            ['explain', file('tir'), rules, '-q']):
        p = guard.run([tailor, *command], capture_output=True, text=True, check=False)
        if p.returncode:
            return f'{command[0]} {" ".join(how)}: {(p.stderr or p.stdout).strip()[:200]}'
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=100)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep', help='folder for the graphs that fail')
    args = p.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-scopes-') as folder:
        with open(os.path.join(folder, 'scopes.tlr'), 'w', encoding='utf-8') as f:
            f.write(RULES)
        for i in range(args.n):
            rng = random.Random(args.seed * 1000003 + i)
            with open(os.path.join(folder, 'graph.tir'), 'w', encoding='utf-8') as f:
                f.write(Graph(rng).text())
            how = rng.choice([[], ['-O1'], ['--passes=infer-shapes,scope-fusion']])
            why = problem(args.tailor, folder, how)
            failed += why is not None
            if why:
                print(f'FAIL graph {i} of seed {args.seed}: {why}')
            if why and args.keep:
                os.makedirs(args.keep, exist_ok=True)
                shutil.copy(os.path.join(folder, 'graph.tir'),
                            os.path.join(args.keep, f'{args.seed}-{i}.tir'))
    print(f'{args.n - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
