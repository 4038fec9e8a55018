#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`info --memory` against every order of small graphs, and what holds for models.

  memory.py --tailor BIN [--n 40] [--seed 1] [--sample N] [--models NAME,...]

Random graphs with views, ops that compute in place, joins and several results: the peak, its lower
bound and the peak of --order=memory are compared with a count written here from docs/memory.md,
which tries every order. Of the models (bench/make_models.py, and every Nth of the corpus that ONNX
Runtime loads) the lower bound is not above the peak, and --order=memory needs no more. bench/memory
measures the time. The last line is 'N passed, M failed, K skipped'."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import models  # noqa: E402

QUICK = 'bert_tiny,gpt2_tiny'
UNARY, BINARY = ('Sigmoid', 'Exp', 'Abs', 'Sin'), ('Add', 'Mul', 'Sub', 'Max')
JOINS = ('Concat', 'CumSum', 'ReduceMax', 'Softmax', 'Split')
VIEWS = ('Reshape', 'Unsqueeze', 'Squeeze', 'Flatten', 'Identity')
LINE = re.compile(r'^  (%.*?) = ([\w:]+)\((.*?)\).*? : (.*)$')
TYPE = re.compile(r'f32\[([\d,]*)\]')


# ---- random graphs -------------------------------------------------------------------------------

def random_graph(rng):
    """Textual IR of a graph whose values have 8 to 64 elements in one or two dims."""
    sizes, lines, outputs = {'x': 16, 'z': 8}, [], []
    inner = ['  const %axis: i64[1] = [0]']
    for i in range(rng.randint(3, 9)):
        name, kind = f'v{i}', rng.choice('uuubbbccrrst')
        a = rng.choice(list(sizes)[-5:])
        same = [v for v in sizes if sizes[v] == sizes[a] and v != a]
        n = sizes[a]
        if kind == 'u':
            lines.append(f'  %{name} = {rng.choice(UNARY)}(%{a})')
        elif kind == 'b' and same:
            lines.append(f'  %{name} = {rng.choice(BINARY)}(%{a}, %{rng.choice(same)})')
        elif kind == 'c' and n <= 32:
            b = rng.choice(list(sizes))
            n += sizes[b]
            lines.append(f'  %{name} = Concat(%{a}, %{b}) {{axis=0}}')
        elif kind == 'r':  # a view, and an op that keeps it from being folded away
            lines += [f'  %{name}t = Unsqueeze(%{a}, %axis)',
                      f'  %{name} = CumSum(%{name}t, %axis0) {{exclusive={rng.randint(0, 1)}}}',
                      f'  %{name}s = Squeeze(%{name}, %axis)']
            name += 's'
        elif kind == 's' and n % 2 == 0:
            lines.append(f'  %{name}, %{name}b = Split(%{a}) {{axis=0, num_outputs=2}}')
            n //= 2
            sizes[name + 'b'] = n
        else:
            lines.append(f'  %{name} = Softmax(%{a})')
        sizes[name] = n
    outputs = [rng.choice(list(sizes)[2:]), list(sizes)[-1]]
    outputs = list(dict.fromkeys(outputs))
    read = ' '.join(lines)
    ends = [v for v in list(sizes)[2:] if not re.search(rf'[(,] ?%{v}[,)]', read)
            and v not in outputs]
    for i, v in enumerate(ends[:3]):
        lines.append(f'  %o{i} = ReduceMax(%{v})')
        outputs.append(f'o{i}')
    inner.append('  const %axis0: i64[] = 0')
    return '\n'.join([f'graph @g(%x: f32[16], %z: f32[8]) -> '
                      f'({", ".join("%" + o for o in outputs)}) {{', *inner, *lines, '}', ''])


def elements(text):
    n = 1
    for d in text.split(','):
        n *= int(d) if d else 1
    return n


class Graph:
    """The nodes of a printed graph: (op, operands, results), bytes of values, outputs."""

    def __init__(self, text):
        head = text.splitlines()[0]
        self.outputs = re.findall(r'%(\w+)', head.split('->')[1])
        self.nodes, self.bytes = [], {}
        for line in text.splitlines()[1:]:
            found = LINE.match(line)
            if not found:
                assert line.startswith('  const') or line == '}', line
                continue
            names = re.findall(r'%(\w+)', found[1])
            self.nodes.append((found[2], re.findall(r'%(\w+)', found[3]), names))
            for name, dims in zip(names, TYPE.findall(found[4])):
                self.bytes[name] = 4 * elements(dims)
        self.survey()

    def survey(self):
        """Roots of views, buffers and who reads them."""
        self.root = {}
        for op, operands, results in self.nodes:
            for r in results:
                view = op in VIEWS and operands
                self.root[r] = self.root.get(operands[0], operands[0]) if view else r
        given = {self.root.get(o, o) for o in self.outputs}
        self.size = {v: n for v, n in self.bytes.items() if self.root[v] == v and v not in given}
        self.made = [[v for v in results if v in self.size] for _, _, results in self.nodes]
        self.reads = [sorted({self.root.get(o, o) for o in operands} & set(self.size))
                      for _, operands, _ in self.nodes]
        self.users = {v: sum(1 << i for i, r in enumerate(self.reads) if v in r)
                      for v in self.size}
        maker = {r: i for i, (_, _, results) in enumerate(self.nodes) for r in results}
        self.before = [sum(1 << i for i in {maker[o] for o in operands if o in maker})
                       for _, operands, _ in self.nodes]
        self.first = {v: i for i, made in enumerate(self.made) for v in made}

    def cost(self, done, i):
        """Bytes in use while node i runs behind those of `done`."""
        live = sum(n for v, n in self.size.items()
                   if done >> self.first[v] & 1 and self.users[v] & ~done)
        more = sum(self.size[v] for v in self.made[i])
        if self.nodes[i][0] in UNARY + BINARY and self.made[i]:
            own = self.size[self.made[i][0]]
            if any(self.users[v] & ~done == 1 << i and self.size[v] == own for v in self.reads[i]):
                more -= own
        return live + more

    def peak(self):
        done = most = 0
        for i in range(len(self.nodes)):
            most = max(most, self.cost(done, i))
            done |= 1 << i
        return most

    def least(self):
        """The lowest peak of any order."""
        best, order = {0: 0}, [0]
        for done in order:
            for i in range(len(self.nodes)):
                if done >> i & 1 or self.before[i] & ~done:
                    continue
                after, peak = done | 1 << i, max(best[done], self.cost(done, i))
                if after not in best:
                    order.append(after)
                best[after] = min(peak, best.get(after, peak))
        return best[(1 << len(self.nodes)) - 1]


# ---- the command ---------------------------------------------------------------------------------

def run(args, *words):
    p = guard.run([args.tailor, *words], capture_output=True, text=True)
    if p.returncode:
        raise ValueError(f'exit {p.returncode}: {p.stderr.strip()[-300:]}')
    return p.stdout


def measured(args, path, order='given'):
    lines = run(args, 'info', path, '--memory', '--json', f'--order={order}').splitlines()
    facts = json.loads(lines[-1])
    return facts['activations'], facts['activations_at_least']


def graph_fault(args, text, tally):
    """What is wrong with the figures of a graph, None if nothing is."""
    source, path = (os.path.join(args.work, n) for n in ('s.tir', 'm.tir'))
    with open(source, 'w', encoding='utf-8') as f:
        f.write(text)
    printed = run(args, 'opt', source, '-o', '-')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(printed)
    if run(args, 'opt', path, '-o', '-') != printed:
        return None  # it is not what `info` measures
    g = Graph(printed)
    if any(op not in UNARY + BINARY + VIEWS + JOINS for op, _, _ in g.nodes):
        return None  # two of them were fused
    (peak, bound), (lower, _) = measured(args, path), measured(args, path, 'memory')
    least = g.least()
    tally['graphs'] += 1
    tally['tight'] += bound == least
    tally['found'] += lower == least
    tally['better'] += lower < peak
    if peak != g.peak():
        return f'peak {peak}, counted {g.peak()}\n{printed}'
    if bound > least:
        return f'lower bound {bound}, an order needs {least}\n{printed}'
    return None if least <= lower <= peak else f'--order=memory {lower}: {least}..{peak}\n{printed}'


def random_graphs(args):
    tally = {'graphs': 0, 'tight': 0, 'found': 0, 'better': 0}
    for i in range(args.n):
        rng = random.Random(args.seed * 1000003 + i)
        yield f'graph {i} of seed {args.seed}', graph_fault(args, random_graph(rng), tally)
    print('random graphs: {graphs}; the bound is reached in {tight}, --order=memory finds the '
          'least in {found} and is better than the given order in {better}'.format(**tally))


# ---- models --------------------------------------------------------------------------------------

def paths(args):
    """(name, path) of the models."""
    names = [n for n in args.models.split(',') if n]
    p = subprocess.run([sys.executable, os.path.join(ROOT, 'bench/make_models.py'), args.work,
                        *names], capture_output=True, text=True, check=False)
    if names and p.returncode:
        print('skip models of bench/make_models.py: ' + p.stderr.strip().splitlines()[-1])
    for file in sorted(os.listdir(args.work)):
        if file.endswith('.onnx'):
            yield file, os.path.join(args.work, file)
    loaded = [c for c in models.corpus(ROOT) if c.ort]
    for case in loaded[::args.sample] if args.sample else ():
        yield case.name, case.path


def real_models(args):
    counts, refused = {'models': 0, 'better': 0, 'bound': 0}, 0
    for name, path in paths(args):
        try:
            peak, bound = measured(args, path)
            lower, floor = measured(args, path, 'memory')
        except ValueError as e:
            refused += 1
            yield name, None if 'exit 3' in str(e) or 'exit 2' in str(e) else str(e)
            continue
        counts['models'] += 1
        counts['better'] += lower < peak
        counts['bound'] += lower == bound
        fine = bound <= lower <= peak and floor <= lower
        yield name, None if fine else f'bounds {bound}, {floor}; peaks {peak}, {lower}'
    print('models: {models}; --order=memory needs less than the given order in {better}, as little '
          'as the bound in {bound}'.format(**counts) + f'; {refused} without figures')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=40)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--sample', type=int, default=20)
    p.add_argument('--models', default=QUICK)
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-memory-') as args.work:
        for part in (random_graphs, real_models):
            for name, fault in part(args):
                passed += not fault
                failed += bool(fault)
                if fault:
                    print(f'FAIL {name}: {fault}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
