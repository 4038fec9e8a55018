#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes after clean-up and fusions, against other optimizers.

  nodes.py --tailor BIN --ort DIR [--work DIR] [--sample N]

Two sets. *Models of bench/make_models.py*: not more nodes than ONNX Runtime's level basic and
OnnxSlim leave (figures below), the bodies of functions counted wherever they are called; outputs
equal in ONNX Runtime; what has functions is the same module when it is read again. *The corpus*,
where ONNX Runtime loads a model: not more nodes for --target=onnx than its level basic leaves in at
least 98 % of them; the others are those of nodes.tsv, with reasons.
--sample N: every N-th model of the corpus only. The last line is 'N passed, M failed, K skipped'.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

SHARE = 0.98
# The bias of keys has a gradient of zero; what rounding leaves of it, Adam divides by its own size.
ADAM = ('train_transformer_adam',)
# Measured once: (ONNX Runtime 1.30 basic, OnnxSlim 0.1.96).
PEERS = {'resnet50': (122, 122), 'mobilenet_v2': (100, 100), 'yolov5n': (236, 236),
         'bert_tiny': (127, 173), 'gpt2_tiny': (194, 233), 'llama_1k': (428, 380),
         'train_transformer_adam': (776, 761), 'llama_100k': (43115, 37797)}
FUSED = {'llama_1k'}  # has tl:: ops, which ONNX output writes as functions
UNRUN = {'llama_100k'}  # ONNX Runtime takes half a minute to load it


def info(tailor, path):
    """What `tailor info --json` says; None when the file cannot be read."""
    p = guard.run([tailor, 'info', path, '--json'], capture_output=True, text=True)
    return json.loads(p.stdout) if p.returncode == 0 else None


def convert(args, path, out, *options):
    p = guard.run([args.tailor, 'convert', path, '-q', '-o', out, *options],
                  capture_output=True, text=True)
    return p.returncode == 0


def total(ops):
    return sum(ops.values())


def difference(a, b):
    """Ops of which a has more than b."""
    more = {op: n - b.get(op, 0) for op, n in a.items() if n > b.get(op, 0)}
    return ' '.join(f'{op}+{n}' for op, n in sorted(more.items()))


class Tally:
    def __init__(self):
        self.counts = [0, 0, 0]

    def passed(self, good, text):
        self.counts[not good] += 1
        if not good:
            print('FAIL', text)

    def skipped(self, text):
        self.counts[2] += 1
        print('skip', text)


# ---- models that bench/ writes -------------------------------------------------------------------


def inlined(args, out):
    """Nodes of a model with the bodies of its tl:: ops in their place."""
    flat = out[:-len('.onnx')] + '.tir'
    p = guard.run([args.tailor, 'opt', '--passes=infer-shapes,expand-definitions', '-q', out,
                   '-o', flat])
    return total(info(args.tailor, flat)['ops']) if p.returncode == 0 else None


def graphs(path):
    """Textual IR from the first graph on, without the bytes of weights or where in files they
    stand: what is joined from several is in the file of the result alone. Outputs are compared
    besides."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    return re.sub(r'= (?:file\([^)]*\)|hex\([^)]*\))', '= bytes', text[text.index('\ngraph @'):])


def same_again(args, before, after):
    """Whether the ONNX file, read again, is the module with tl:: ops that it was written from."""
    module, again = after + '.tir', after + '.again.tir'
    for argv in ([before, '-o', module], [after, '-O0', '-o', again]):
        if guard.run([args.tailor, 'convert', '-q', *argv]).returncode:
            return False
    text = graphs(module)
    return ' = tl::' in text and text == graphs(again)


def equal(args, rows, atol='1e-4'):
    """{model: what ort_batch.js says} of rows (model, before, after)."""
    listing = os.path.join(args.work, 'pairs.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines('\t'.join(row) + '\t-\n' for row in rows)
    p = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing, '--ort',
                        args.ort, '--rtol', '1e-3', '--atol', atol],
                       capture_output=True, text=True, check=False)
    lines = (line.split('\t') for line in p.stdout.splitlines() if '\t' in line)
    return {line[0]: ' '.join(line[1:]) for line in lines}


def peers(args, tally):
    run = subprocess.run([sys.executable, os.path.join(ROOT, 'bench/make_models.py'), args.work,
                          *PEERS], capture_output=True, text=True, check=False)
    if run.returncode:
        tally.skipped('models of bench/make_models.py: ' + run.stderr.strip().splitlines()[-1])
        return
    rows = []
    for model, limits in PEERS.items():
        before, after = (os.path.join(args.work, f'{model}{end}.onnx') for end in ('', '.after'))
        n = inlined(args, after) if convert(args, before, after) else None
        tally.passed(n is not None and n <= min(limits), f'{model}: {n} nodes, others {limits}')
        print(f'{model}: {n} nodes; ONNX Runtime basic {limits[0]}, OnnxSlim {limits[1]}')
        if model in FUSED:
            tally.passed(same_again(args, before, after), f'{model}: read again it is another one')
        if model not in UNRUN:
            rows.append((model, before, after))
    said = equal(args, [r for r in rows if r[0] not in ADAM])
    said.update(equal(args, [r for r in rows if r[0] in ADAM], '1e-3'))
    for model, _, _ in rows:
        tally.passed(said.get(model, '').startswith('ok'), f'{model}: {said.get(model)}')


# ---- the corpus ----------------------------------------------------------------------------------


def reasons():
    """{model of the corpus: why ONNX Runtime leaves fewer nodes}."""
    with open(os.path.join(HERE, 'nodes.tsv'), encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    return dict(rows)


def theirs(args, cases):
    """{index: file that ONNX Runtime optimized}."""
    listing = os.path.join(args.work, 'list.tsv')
    out = [os.path.join(args.work, f'{i}.ort.onnx') for i in range(len(cases))]
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines(f'{case.path}\t{path}\n' for case, path in zip(cases, out))
    run = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_basic.js'), listing, '--ort',
                          args.ort], capture_output=True, text=True, check=False)
    loaded = {line.split('\t')[0] for line in run.stdout.splitlines() if line.endswith('\tok')}
    return {i: out[i] for i, case in enumerate(cases) if case.path in loaded}


def corpus(args, tally):
    cases = [c for c in models.corpus(ROOT) if c.ort][::args.sample]
    if not cases:
        tally.skipped('corpus: the models are not here')
        return
    known, optimized = reasons(), theirs(args, cases)

    def compare(i):
        out = os.path.join(args.work, f'{i}.tailor.onnx')
        a = info(args.tailor, out) if convert(args, cases[i].path, out, '--target=onnx') else None
        b = info(args.tailor, optimized[i])
        return (a['ops'], b['ops']) if a and b else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compared = [(cases[i].name, r) for i, r in zip(optimized, pool.map(compare, optimized))
                    if r]
    more = [(name, a, b) for name, (a, b) in compared if total(a) > total(b)]
    for name, a, b in more:
        tally.passed(name in known, f'{name}: {total(a)} nodes against {total(b)}: '
                     f'{difference(a, b)}; nodes.tsv gives no reason')
    share = 1 - len(more) / max(len(compared), 1)
    sampled = f', every {args.sample}th' if args.sample > 1 else ''
    print(f'corpus: {len(compared)} models{sampled}, not more nodes than ONNX Runtime basic in '
          f'{100 * share:.1f} %; {len(more)} others, with reasons in nodes.tsv')
    if args.sample == 1:
        tally.passed(share >= SHARE, f'{100 * share:.2f} % of the corpus, not {100 * SHARE:.0f} %')
        gone = set(known) - {name for name, _, _ in more}
        tally.passed(not gone, f'nodes.tsv: without reason to be there: {" ".join(sorted(gone))}')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--work')
    p.add_argument('--sample', type=int, default=1)
    args = p.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix='tailor-nodes-') as scratch:
        args.work = args.work or scratch
        os.makedirs(args.work, exist_ok=True)
        peers(args, tally)
        corpus(args, tally)
    print('{} passed, {} failed, {} skipped'.format(*tally.counts))
    return 1 if tally.counts[1] else 0


if __name__ == '__main__':
    sys.exit(main())
