#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tail_random.py --tailor BIN [--graphs N] [--seed S]: random training steps with buckets, checks
of overflow, conditional and joined updates, gates, barriers and user edges, in one or two groups.
After tail-opt and schedule: verifier clean and acyclic, never slower than before by the simulation,
within the bound, the same again, the same where schedule is left nothing by tail-opt (a pass stands
between them), the same report and trace whatever the order of nodes in the file, data edges as
before where nothing is split, as many states, and collectives of gradients of each group in the
order that they had. `make random` tries 10,000 of them."""
import argparse
import json
import os
import random
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

MODES = ['late_commit', 'late', 'early_local']
BUCKET = re.compile(r'HcomAllReduce\(.*@(A\d+) .*group="(\w+)"')


def step(r):
    """Statements of a random step, each with what it defines and uses; inputs; outputs."""
    layers, size = r.randint(2, 9), r.choice([4, 64, 256])
    f = f'f32[{size},{size}]'
    lines, outs, tail = [], [], []

    def add(text):
        lines.append('  ' + text)

    inputs = [f'%x: {f}', '%lr: f32[]', '%p: bool[]'] + [f'%w{i}: {f}' for i in range(layers)]
    add('const %zero = f32[] 0.0')
    add('const %axes = i64[2] [0, 1]')
    add(f'const %sizes = i64[2] [{size}, {size}]')
    below = '%x'
    for i in range(layers):
        add(f'%f{i} = MatMul({below}, %w{i}) @F{i}')
        below = f'%f{i}'
    reduced, first, n = {}, layers - 1, 0
    groups = r.choice(['g', 'g', 'gh'])
    for i in reversed(range(layers)):
        add(f'%g{i} = MatMul({below}, %f{i}) @B{i}')
        below = f'%g{i}'
        if i == 0 or r.random() < 0.4:
            members = list(range(first, i - 1, -1))
            add(', '.join(f'%r{k}' for k in members) + ' = npu.hcom::HcomAllReduce(' +
                ', '.join(f'%g{k}' for k in members) + f') @A{n} {{reduction="sum", '
                f'group="{r.choice(groups)}", fusion=1}} : ' + ', '.join([f] * len(members)))
            reduced.update({k: n for k in members})
            first, n = i - 1, n + 1
    source = r.choice(['r', 'g'])
    checked = r.random() < 0.7
    if checked:
        for i in range(layers):
            add(f'%z{i} = Mul(%{source}{i}, %zero) meta "tailor.nofold" "1"')
            add(f'%n{i} = ReduceSum(%z{i}, %axes) {{keepdims=0}} meta "tailor.nofold" "1"')
        add('%sum = Sum(' + ', '.join(f'%n{i}' for i in range(layers)) + ')')
        add('%nan = IsNaN(%sum)')
        add('%flag = Cast(%nan) {to=1}')
        add('const %one = i64[1] [1]')
        add('%flag1 = Reshape(%flag, %one)')
        late = f' after %r{r.randrange(layers)}' if r.random() < 0.2 else ''
        add('%all1 = npu.hcom::HcomAllReduce(%flag1) @FLAG {reduction="sum", group="g", fusion=0}'
            f' : f32[1]{late}')
        add('%all = Squeeze(%all1)')
        add('%finite = Equal(%all, %zero)')
    if r.random() < 0.3:
        add('npu.test::NoOp() @ALL label $0 ' + ' '.join(f'after %r{i} gate'
                                                         for i in range(layers)))
        barrier = ' after $0 gate'
    else:
        barrier = ''
    joined = list(range(layers))[:2] if layers > 2 and r.random() < 0.3 else []
    if joined:
        add('%cat = Concat(%r0, %r1) {axis=0}')
        add('%scaled = Mul(%cat, %lr)')
        add('%d0, %d1 = Split(%scaled, %sizes) {axis=0}')
    branch = not checked and r.random() < 0.3
    if branch:
        names = range(layers)
        add(', '.join(f'%o{i}' for i in names) + ' = If(%p) {then_branch=graph () -> (' +
            ', '.join(f'%a{i}' for i in names) + ') { ' +
            ' '.join(f'%s{i} = Mul(%r{i}, %lr) %a{i} = Sub(%w{i}, %s{i})' for i in names) +
            ' }, else_branch=graph () -> (' + ', '.join(f'%e{i}' for i in names) + ') { ' +
            ' '.join(f'%e{i} = Identity(%w{i})' for i in names) + ' }}')
    for i in range(layers):
        if not branch:
            gate = r.choice(['', '', barrier, f' after %r{r.randrange(layers)} gate',
                             f' after %r{r.randrange(layers)}'])
            if i not in joined:
                add(f'%d{i} = Mul(%r{i}, %lr){gate}')
            add(f'%c{i} = Sub(%w{i}, %d{i})')
            add(f'%o{i} = ' + (f'Where(%finite, %c{i}, %w{i})' if checked else f'Identity(%c{i})'))
        outs.append(f'%o{i}')
        tail.append(f'  state %w{i} -> %o{i}')
    tail += [f'  gradient %w{i} -> %g{i}' for i in reversed(range(layers))]
    return inputs, outs, lines, tail


def text_of(inputs, outs, lines, tail):
    return (f'graph @g({", ".join(inputs)}) -> ({", ".join(outs)}) {{\n' +
            '\n'.join(lines + tail) + '\n}\n')


def shuffled(lines, r):
    """Another topological order; collectives keep theirs."""
    defined = {}
    for i, line in enumerate(lines):
        left = line.split('(')[0].split(' = ')[0]
        for v in re.findall(r'%[\w.]+', left):
            defined[v] = i
        if 'label $0' in line:
            defined['$0'] = i
    needs, last = [], None
    for i, line in enumerate(lines):
        need = {defined[v] for v in re.findall(r'%[\w.]+|\$0', line) if defined.get(v, i) != i}
        if 'HcomAllReduce' in line:
            need |= {last} - {None}
            last = i
        needs.append(need)
    done, out = set(), []
    while len(out) < len(lines):
        i = r.choice([k for k in range(len(lines)) if k not in done and needs[k] <= done])
        done.add(i)
        out.append(lines[i])
    return out


def run(tool, folder, name, text, options, between=''):
    report, trace = (os.path.join(folder, name + end) for end in ('.json', '.trace'))
    passes = f'--passes=infer-shapes,tail-opt,{between}schedule'
    p = guard.run([tool, 'opt', passes, '--verify-each', '--graph-run-mode=1',
                   '--is-distributed=true', '--rank-size=8', *options, '-', '-o', '-',
                   f'--schedule-report={report}', f'--trace={trace}'],
                  input=text, text=True, capture_output=True)
    if p.returncode:
        return None, p.stderr, None, None
    with open(report, encoding='utf-8') as f, open(trace, encoding='utf-8') as g:
        return p.stdout, p.stderr, json.load(f), g.read()


def edges(text):
    """Results, op and operands of every node of the step."""
    return sorted(re.findall(r'^  (%[^=]*) = (\S+\(.*?\))', text, re.M))


def buckets(text):
    """Those of each group in their order."""
    found = {}
    for name, group in BUCKET.findall(text):
        found.setdefault(group, []).append(name)
    return found


def one(tool, seed):
    r = random.Random(seed)
    inputs, outs, lines, tail = step(r)
    options = ['--is-tailing-optimization=true', '--optimizer-is-tailing-optimization=true',
               f'--tail-mode={r.choice(MODES)}',
               f'--hw-preset={r.choice(["ascend910", "ascend910b", "unit"])}',
               f'--hcom-parallel={r.choice(["true", "true", "false"])}',
               f'--relax-user-ctrl={r.randint(0, 1)}']
    in_place = r.random() < 0.3
    options.append(f'--inplace-state={int(in_place)}')
    text = text_of(inputs, outs, lines, tail)
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        out, messages, report, trace = run(tool, folder, 'a', text, options)
        if out is None:
            return [f'seed {seed}: {messages}']
        steps = [s['step_time'] for s in report['stages']]
        if len(report['buckets']) > 1 and not in_place and steps[-1] > min(steps) + 0.002:
            problems.append(f'slower than before: {steps}')
        if report['efficiency'] > 1:
            problems.append(f'beats its bound: {report["efficiency"]}')
        if buckets(out) != buckets(text):
            problems.append('buckets in another order')
        whole = not report['splits'] and out.count('@FLAG') == text.count('@FLAG')
        if whole and edges(out) != edges(text):
            problems.append(f'other data edges: {set(edges(out)) ^ set(edges(text))}')
        if text.count('  state ') != out.count('  state '):
            problems.append('states have gone')
        again, *_ = run(tool, folder, 'b', out, options)
        if again != out:
            problems.append('another result from its own result')
        alone = run(tool, folder, 'd', text, options, 'input-shapes,')
        if alone != (out, messages, report, trace):
            problems.append('another result where schedule finds the step by itself')
        other = text_of(inputs, outs, shuffled(lines, r), tail)
        shifted, messages, moved, moved_trace = run(tool, folder, 'c', other, options)
        if moved is None:
            problems.append(f'not in another order: {messages}')
        elif buckets(shifted) != buckets(out):
            problems.append('buckets in another order from another order')
        elif moved != report or moved_trace != trace:
            problems.append(f'another step from another order: {moved["step_time"]}, '
                            f'{report["step_time"]}')
    return [f'seed {seed}: {p}' for p in problems]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--tailor', required=True)
    p.add_argument('--graphs', type=int, default=150)
    p.add_argument('--seed', type=int, default=1)
    args = p.parse_args()
    tool = os.path.abspath(args.tailor)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda s: one(tool, s), range(args.seed, args.seed + args.graphs)))
    for problem in [q for r in results for q in r][:20]:
        print('FAIL', problem)
    failed = sum(bool(r) for r in results)
    print(f'{args.graphs - failed} passed, {failed} failed, 0 skipped')
    sys.exit(bool(failed))


if __name__ == '__main__':
    main()
