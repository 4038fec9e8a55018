#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many models become AIR, and why the others do not.

  shares.py --tailor BIN [--set corpus|official] [--table FILE] [--only TEXT]

Counts the models that ONNX Runtime loads, once with all dims open as they are in the file, and once
with the rows and columns of images fixed: dims 2 and 3 of inputs of rank 4 that are open become 64.
What has no NPU form is listed by reason, with the models, in Markdown; --table writes that to a
file. The share must not fall below what LEAST says. The last line is
'N passed, M failed, K skipped': a failure is a share that fell, or a model that ends in another way
than with AIR or the message about NPU forms."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import models  # noqa: E402

LEAST = {'corpus': 96.5, 'official': 0.0}  # percent
UNMAPPED = 3
SIDE = 64
AS_IT_IS, FIXED = 'as it is', 'H and W fixed'
BOUNDARY = r'^(input|output) .*(holds strings|is no tensor)'
# What a message says, and the row of the table that it becomes.
REASONS = ((r'holds strings|takes or gives strings', 'strings at the boundary or inside'),
           (r'is no tensor', 'sequences, maps, optionals or sparse tensors at the boundary'),
           (r'(TreeEnsemble|TfIdfVectorizer|SVM)\w*', 'classical machine learning: {0}'),
           (r'(BeamSearch|GreedySearch|Sampling)', 'whole decoding loop in one op: {0}'),
           (r'does not take this element type', 'element types that the NPU op lacks'),
           (r'NPU form: ([\w.:]+)', 'no form of {0}'))


def run(args, path, *more):
    with tempfile.TemporaryDirectory() as folder:
        p = guard.run([args.tailor, 'convert', path, '-q', '-o', os.path.join(folder, 'm.air'),
                       *more], capture_output=True, text=True, errors='replace')
    lines = [s for s in p.stderr.splitlines() if 'error: ' in s] or ['']
    return p.returncode, lines[0].split('error: ', 1)[-1]


def image_shapes(args, path):
    """--input-shape that fixes open rows and columns, or None where none are open."""
    p = guard.run([args.tailor, 'info', path, '--json'], capture_output=True, text=True,
                  errors='replace')
    shapes = []
    for port in json.loads(p.stdout)['inputs'] if p.returncode == 0 else []:
        dims = port.get('shape') or []
        if len(dims) == 4 and not all(isinstance(d, int) for d in dims[2:]):
            sizes = [d if isinstance(d, int) else SIDE if i > 1 else -1 for i, d in enumerate(dims)]
            shapes.append(f'{port["name"]}:{",".join(map(str, sizes))}')
    return '--input-shape=' + ';'.join(shapes) if shapes else None


def convert(args, case):
    """{how: (exit code, message)} of a model"""
    first = run(args, case.path)
    shapes = image_shapes(args, case.path)
    return {AS_IT_IS: first, FIXED: run(args, case.path, shapes) if shapes else first}


def reason_of(message):
    for pattern, words in REASONS:
        found = re.search(pattern, message)
        if found:
            return words.format(*found.groups())
    return message


def table(cases, found):
    """Markdown: a line for each reason."""
    out = ['| reason | models | which |', '|---|---|---|']
    why = collections.defaultdict(list)
    for case, result in zip(cases, found):
        code, message = result[AS_IT_IS]
        if code:
            why[reason_of(message)].append(case.name)
    for reason, names in sorted(why.items(), key=lambda x: (-len(x[1]), x[0])):
        out.append(f'| {reason} | {len(names)} | {", ".join(names)} |')
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--set', default='corpus', choices=models.SETS)
    p.add_argument('--only', help='models whose name contains this')
    p.add_argument('--table', help='write the table of reasons to this file')
    args = p.parse_args()
    cases = [c for c in models.SETS[args.set](ROOT)
             if c.ort is not False and (not args.only or args.only in c.name)]
    if not cases:
        print(f'{args.set}: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda c: convert(args, c), cases))
    problems = [f'{c.name}, {how}: exit {code}: {message}' for c, r in zip(cases, found)
                for how, (code, message) in r.items() if code not in (0, UNMAPPED)]
    for how in (AS_IT_IS, FIXED):
        good = sum(r[how][0] == 0 for r in found)
        share = 100 * good / len(cases)
        print(f'NPU form, {args.set} {how}: {good} of {len(cases)} models, {share:.1f} %')
        if not args.only and share < LEAST[args.set]:
            problems.append(f'{how}: {share:.1f} %, at least {LEAST[args.set]} must be')
        plain = [r for r in found if not re.search(BOUNDARY, r[how][1])]
        print(f'    of the {len(plain)} whose inputs and outputs are tensors of numbers: '
              f'{100 * good / max(len(plain), 1):.1f} %')
    lines = table(cases, found)
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
    print('\n'.join(lines))
    for problem in problems:
        print('FAIL ' + problem)
    print(f'{2 * len(cases) - len(problems)} passed, {len(problems)} failed, 0 skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
