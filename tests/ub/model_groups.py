#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""model_groups.py - kernels of several nodes in real models, judged by the independent ub_check.py.

  model_groups.py --tailor BIN [--sample N] [--doc FILE.md]

Each model of the corpus (every N-th) goes to AIR for a chip with separate cores and for one
without; ops that have no NPU form stay under their own name. Every group has to satisfy the
checker, and the bytes that the conversion says they save have to be those that the checker finds
in the file. --doc converts models of bench/make_models.py too and writes the table of the
document anew (all models must be taken for that). The last line is 'N passed, M failed, K
skipped'."""
import argparse
import collections
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
sys.path[:0] = [HERE, os.path.join(ROOT, 'tests/conformance')]
import models  # noqa: E402
import ub_check  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

CHIPS = ('Ascend910B1', 'Ascend910A')
# name -> sizes of inputs, without which nothing is known of traffic
MADE = collections.OrderedDict([
    ('resnet50', 'input:1,3,224,224'), ('mobilenet_v2', 'input:1,3,224,224'), ('yolov5n', None),
    ('bert_base', 'input_ids:1,128;attention_mask:1,128;token_type_ids:1,128'),
    ('gpt2_small', 'input_ids:1,128'), ('llama_1k', 'input_ids:1,128')])
COUNTS = ('groups', 'nodes', 'saved_bytes', 'traffic_bytes')
LEAST_NODES = 40  # of a model of the corpus in the table
MARKS = ('<!-- table: tests/ub/model_groups.py -->\n', '<!-- end -->')


def convert(args, path, chip, folder, shape):
    """(summary, problems); the summary is None for a model that cannot be converted."""
    out = os.path.join(folder, 'm.air')
    argv = [args.tailor, 'convert', path, '-o', out, '--allow-unmapped', '--summary=json',
            f'--soc-version={chip}', *([f'--input-shape={shape}'] if shape else [])]
    try:
        p = guard.run(argv, capture_output=True, text=True, errors='replace')
    except subprocess.TimeoutExpired:
        return None, [f'no end after {guard.CPU_SECONDS} s of CPU time']
    if p.returncode:
        return None, []
    text = p.stdout + p.stderr
    row = json.loads(text[text.index('{"model"'):].splitlines()[0])
    said = row.setdefault('kernels', dict.fromkeys(COUNTS, 0))  # a model without nodes has none
    problems, groups, saved = ub_check.check_file(out, chip, args.classes)
    if (groups, saved) != (said['groups'], said['saved_bytes']):
        problems.append(f'{groups} kernels save {saved} bytes, the conversion says {said}')
    return row, problems


def run(args, name, path, shape=None):
    rows, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for chip in CHIPS:
            rows[chip], problems = convert(args, path, chip, folder, shape)
            wrong += [f'{name} for {chip}: {p}' for p in problems]
    return name, rows, wrong


# ---- the table -----------------------------------------------------------------------------------
def size(n):
    for unit in ('B', 'KiB', 'MiB'):
        if n < 1024:
            return f'{n} B' if unit == 'B' else f'{n:.1f} {unit}'
        n /= 1024
    return f'{n:.1f} GiB'


def cells(row):
    k = row['kernels']
    share = 100 * k['saved_bytes'] / k['traffic_bytes'] if k['traffic_bytes'] else 0
    return f'{k["groups"]} ({k["nodes"]}) | {size(k["saved_bytes"])} | {share:.1f} %'


def table(made, corpus):
    head = ('| model | nodes | ' + ' | '.join(f'{c}: kernels (nodes) | saved | of traffic'
                                              for c in CHIPS) + ' |\n|---|---|' + '---|' * 6 + '\n')
    text = head
    shown = [(n, r) for n, r, _ in made] + [
        (n, r) for n, r, _ in corpus if all(r.values()) and
        max(r[c]['nodes_npu'] for c in CHIPS) >= LEAST_NODES and
        any(r[c]['kernels']['groups'] for c in CHIPS)]
    for name, rows in shown:
        text += (f'| {name} | {rows[CHIPS[0]]["nodes_npu"]} | ' +
                 ' | '.join(cells(rows[c]) for c in CHIPS) + ' |\n')
    done = [r for _, r, _ in corpus if all(r.values())]
    for chip in CHIPS:
        some = [r[chip]['kernels'] for r in done if r[chip]['kernels']['groups']]
        text += (f'\n{chip}: {len(done)} models of the corpus, {len(some)} with kernels of several '
                 f'nodes, {sum(k["groups"] for k in some)} kernels of '
                 f'{sum(k["nodes"] for k in some)} nodes in all.\n')
    return text


def write_doc(path, text):
    with open(path, encoding='utf-8') as f:
        doc = f.read()
    start, end = (re.escape(m) for m in MARKS)
    if not re.search(start + '.*?' + end, doc, re.S):
        raise SystemExit(f'{path} has no place for the table')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(re.sub(start + '.*?' + end, lambda _: MARKS[0] + text + MARKS[1], doc, flags=re.S))


def made_models(args):
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in MADE.items():
            subprocess.run(['/usr/bin/python3', os.path.join(ROOT, 'bench/make_models.py'), folder,
                            name], check=True, capture_output=True)
            path = os.path.join(folder, name + '.onnx')
            yield run(args, name, path, shape)
            os.remove(path)


def main():
    parser = argparse.ArgumentParser(description='kernels of several nodes in real models')
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--sample', type=int, default=1)
    parser.add_argument('--doc')
    args = parser.parse_args()
    args.classes = ub_check.read_classes()
    cases = list(models.corpus(ROOT))[::args.sample]
    if not cases:
        print('the corpus is not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda c: run(args, c.name, c.path), cases))
    made = list(made_models(args)) if args.doc else []
    passed = failed = skipped = groups = 0
    for _, rows, wrong in results + made:
        failed += bool(wrong)
        skipped += not wrong and not any(rows.values())
        passed += not wrong and any(rows.values())
        groups += sum(r['kernels']['groups'] for r in rows.values() if r)
        for text in wrong:
            print(f'FAIL {text}')
    print(f'{groups} kernels')
    if args.doc:
        write_doc(args.doc, table(made, results))
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
