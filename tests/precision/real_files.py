#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Precision files as users wrote them (../shared/realworld, where it is there): mix lists, dtypes
of ops, nodes to keep, implementation modes of kernels.

  real_files.py --tailor BIN

A reader of this test's own says what each file asks for. A model is made of nodes that it names,
and `explain` must show what was asked for: colours, kept nodes, dtypes. All that is said about a
file is in real_files.tsv, with the reason why it is true; a line there that is not said fails too.
The last line is 'N passed, M failed, K skipped'."""
import argparse
import collections
import json
import os
import re
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REAL = os.path.join(os.path.dirname(ROOT), 'shared', 'realworld')
KINDS = ('mixlist', 'dtypes', 'keep_dtype', 'precision_ini')

# NPU type -> a node that is judged as it, over the inputs of HEAD.
NODES = {'Add': 'Add(%x, %x)', 'Mul': 'Mul(%x, %z)', 'Sub': 'Sub(%x, %x)',
         'RealDiv': 'Div(%x, %x)', 'SoftmaxV2': 'Softmax(%x)', 'LogSoftmaxV2': 'LogSoftmax(%x)',
         'Relu': 'Relu(%x)', 'Exp': 'Exp(%x)', 'Neg': 'Neg(%x)', 'Sqrt': 'Sqrt(%x)',
         'Sigmoid': 'Sigmoid(%x)', 'Pow': 'Pow(%x, %x)', 'Minimum': 'Min(%x, %x)',
         'Maximum': 'Max(%x, %x)', 'MatMulV2': 'Gemm(%x, %m, %b)', 'Gemm': 'Gemm(%x, %m, %b)',
         'BatchMatMulV2': 'MatMul(%s, %t)', 'Gelu': 'Gelu(%x) {approximate="tanh"}'}
HEAD = ('graph @g(%x: f32[2,3], %z: f32[2,3], %m: f32[3,3], %s: f32[2,2,3], %t: f32[2,3,3],'
        ' %b: f32[3]) -> ')
SHORT = {'float16': 'f16', 'float32': 'f32', 'float': 'f32', 'bfloat16': 'bf16'}


def read_text(path):
    with open(path, encoding='utf-8') as f:
        return f.read().replace('\r', '')


def model_of(nodes):
    """Text of a model of (node name, type)."""
    lines = [f'  %r{i} = {NODES[kind]}\n'.replace(')', f') @{name}')
             for i, (name, kind) in enumerate(nodes)]
    outputs = ', '.join(f'%r{i}' for i in range(len(nodes)))
    return f'{HEAD}({outputs}) {{\n{"".join(lines)}}}\n'


# ---- what files ask for: (nodes, options, check of explain's nodes by name) ----------------------

def mixlist(text):
    lists = json.loads(re.sub(r'//[^\n]*', '', text))
    wanted = {}
    for colour, edits in lists.items():
        for kind in edits.get('to-remove', []):
            wanted.setdefault(kind, 'gray')
        for kind in edits.get('to-add', []):
            wanted[kind] = colour.split('-')[0]
    nodes = [(kind, kind) for kind in wanted if kind in NODES]

    def check(found):
        for name, _ in nodes:
            if found[name]['colour'] != wanted[name]:
                yield f'{name} is {found[name]["colour"]}, the file says {wanted[name]}'
    return nodes, ['--precision-mode=allow_mix_precision', '--modify-mixlist'], check


def keep_dtype(text):
    nodes = [(s.strip(), 'Relu') for s in text.splitlines() if s.strip()]

    def check(found):
        for name, _ in nodes:
            rules = {t['rule'] for t in found[name]['tensors']}
            if rules != {'kept'}:
                yield f'{name} is judged by {sorted(rules)}, not kept'
    return nodes, ['--precision-mode=force_fp16', '--keep-dtype'], check


def dtypes(text):
    wanted = {}
    for line in text.splitlines():
        m = re.fullmatch(r'(OpType::)?([^:]+)::?InputDtype:(.*?),?OutputDtype:(.*)', line.strip())
        if m:
            kind = m.group(2) if m.group(1) else m.group(2).split('_')[0]
            wanted[m.group(2)] = (kind, m.group(3).split(','), m.group(4).split(','))
    nodes = [(name, kind) for name, (kind, _, _) in wanted.items() if kind in NODES]

    def check(found):
        for name, _ in nodes:
            for t in found[name]['tensors']:
                side, which = ('input', 1) if 'input' in t else ('output', 2)
                asked = wanted[name][which]
                dtype = asked[t[side]] if t[side] < len(asked) else ''
                if dtype and (t['chosen'], t['rule']) != (SHORT[dtype], 'customized'):
                    yield f'{name} {side} {t[side]}: {t["chosen"]} ({t["rule"]}), not {dtype}'
    return nodes, ['--precision-mode=force_fp32', '--customize-dtypes'], check


def precision_ini(text):  # an entry that fits nothing would be said; 310P has Gelu, A2 GeluV2
    pairs = [s.split('=') for s in text.splitlines() if '=' in s]
    nodes = [(name.strip(), name.strip().split('/')[-1]) for name, _ in pairs]
    return nodes, ['--soc-version=Ascend310P3', '--op-precision-mode'], lambda found: ()


# ---- running ------------------------------------------------------------------------------------

def said(text, path):
    """Warnings and errors about a file, without its name and line."""
    return [re.sub(rf'^{re.escape(path)}(:\d+)*: ', '', s) for s in text.splitlines()
            if re.search(r'\b(warning|error): ', s)]


def without_idle(lines, nodes):
    """Types of a mix list that the model has no node of are named in one line: those alone."""
    judged = {kind for _, kind in nodes}
    left, wrong = [], []
    for line in lines:
        idle = re.match(r'warning: \d+ entr(y|ies) matched nothing: ', line)
        names = set(re.findall(r"'([^']+)'", line)) if idle else set()
        if names & judged:
            wrong.append(f'{sorted(names & judged)} fit nodes')
        if not idle:
            left.append(line)
    return left, wrong


def run(args, work, kind, path):
    """(what was said about the file, problems)."""
    nodes, options, check = globals()[kind](read_text(path))
    model = os.path.join(work, 'model.tir')
    with open(model, 'w', encoding='utf-8') as f:
        f.write(model_of(nodes or [('relu', 'Relu')]))
    options = options[:-1] + [f'{options[-1]}={path}']
    what = (['convert', model, '-o', os.path.join(work, 'm.air'), '--summary=none']
            if kind == 'precision_ini' else ['explain', model, '--json'])
    p = guard.run([args.tailor, *what, *options], capture_output=True, text=True)
    lines = said(p.stderr, path)
    lines, wrong = without_idle(lines, nodes) if kind == 'mixlist' else (lines, [])
    if p.returncode:
        return lines, [f'exit {p.returncode}: {p.stderr.strip()[:300]}']
    found = {n['node']: n for n in json.loads(p.stdout)['nodes']} if '--json' in what else {}
    return lines, wrong + list(check(found))


def read_list():
    rows = collections.defaultdict(dict)
    with open(os.path.join(HERE, 'real_files.tsv'), encoding='utf-8') as f:
        for line in f:
            if not line.startswith('#'):
                name, words, reason = line.rstrip('\n').split('\t')
                rows[name][words] = reason
    return rows


def judge(name, lines, problems, listed):
    """All that is wrong with one file."""
    left = dict(listed)
    for line in lines:
        if left.pop(line, None) is None:
            problems.append(f'says "{line}", which is not in real_files.tsv')
    problems += [f'does not say "{words}"; remove it from real_files.tsv' for words in left]
    return [f'{name}: {p}' for p in problems]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    if not os.path.isdir(REAL):
        print('skip: the files of real projects are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with open(os.path.join(REAL, 'MANIFEST.tsv'), encoding='utf-8') as f:
        files = [line.split('\t')[:2] for line in f]
    listed, passed, problems = read_list(), 0, []
    with tempfile.TemporaryDirectory() as work:
        for name, kind in files:
            if kind in KINDS:
                lines, wrong = run(args, work, kind, os.path.join(REAL, name))
                wrong = judge(name, lines, wrong, listed.pop(name, {}))
                passed += not wrong
                problems += wrong
    problems += [f'{name}: listed in real_files.tsv, but there is no such file' for name in listed]
    for problem in problems:
        print('FAIL ' + problem)
    print(f'{passed} passed, {len(problems)} failed, 0 skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
