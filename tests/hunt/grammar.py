#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random models of one node, by a grammar: for each op of recipes.py and recipes_nn.py all pairs of
values of its factors (dtype, rank, attributes, operands that are there, constant or computed) occur
in some model as far as they go together, and at least --least models are drawn. Each is converted,
and compared

  in ONNX Runtime  with what it is converted to: the same numbers;
  in the evaluator with what it is converted to: the same numbers;
  between the two  by the model in which all operands are constants: it folds to its results, which
                   the evaluator computes, and ONNX Runtime computes the same.

  grammar.py --tailor BIN --ort DIR [--least N] [--most N] [--every K] [--seed S] [--only OP,OP]
             [--table FILE] [--keep DIR]

--every K takes every K-th model, from another place for each seed. --table writes a row for each
op: models that were compared, refused by name, and not run by ONNX Runtime. A refusal has exit code
2 or 3 and says why. The last line is 'N passed, M failed, K skipped'."""
import argparse
import collections
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, 'tests')]
import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

import facts  # noqa: E402
import guard  # noqa: E402
import recipes_nn  # noqa: E402,F401
from recipes import ABSENT, RECIPES  # noqa: E402

TRIES = 40
# Since which opset there is a form that recipes use; 17 for all others.
SINCE = {**{op: 18 for op in RECIPES if op.startswith('Reduce')}, 'Split': 18, 'Pad': 19,
         'BitwiseAnd': 18, 'BitwiseOr': 18, 'BitwiseXor': 18, 'BitwiseNot': 18, 'Mish': 18,
         'Gelu': 20, 'GridSample': 20, 'GroupNormalization': 21, 'RMSNormalization': 23,
         'Swish': 24, 'Resize': 18, 'ScatterElements': 18, 'ScatterND': 18, 'AveragePool': 19,
         'LpPool': 18, 'IsInf': 20, 'IsNaN': 20, 'DFT': 20}
Model = collections.namedtuple('Model', 'op factors path constant folder')


# ---- drawing -------------------------------------------------------------------------------------


def pairs_of(choice):
    return set(itertools.combinations(sorted((k, repr(v)) for k, v in choice.items()), 2))


def made(op, choice, rng):
    """(attributes with other facts, operands), or None where the factors do not go together."""
    f = {**choice, 'op': op}
    numbers = numpy.random.default_rng(rng.getrandbits(32))
    operands = RECIPES[op][1](f, numbers)
    return None if operands is None else (f, operands)


def draws(op, least, most, rng):
    """Choices of factors: all pairs occur as far as they go together."""
    factors = {k: list(v) for k, v in RECIPES[op][0].items() if k != 'domain'}
    left = {pair for a, b in itertools.combinations(sorted(factors), 2)
            for pair in itertools.product([(a, repr(v)) for v in factors[a]],
                                          [(b, repr(v)) for v in factors[b]])}
    values = {(k, repr(v)): v for k, vs in factors.items() for v in vs}
    found = []
    while (left or len(found) < least) and len(found) < most:
        wanted = rng.choice(sorted(left)) if left else ()
        best = None
        for _ in range(TRIES):
            choice = {k: rng.choice(v) for k, v in factors.items()}
            choice.update((key[0], values[key]) for key in wanted)
            if made(op, choice, random.Random(0)) is None:
                continue
            gain = len(pairs_of(choice) & left)
            if best is None or gain > best[0]:
                best = gain, choice
            if not left:
                break
        if best is None:
            if not wanted:
                break
            left.discard(wanted)  # the two do not go together
            continue
        left -= pairs_of(best[1])
        found.append(best[1])
    return found


# ---- models --------------------------------------------------------------------------------------

def type_of(array):
    return onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]


def attributes(f):
    found = {k: v for k, v in f.items() if k[0] != '_' and k != 'op' and
             not (isinstance(v, str) and v == ABSENT)}
    if isinstance(found.get('value'), numpy.ndarray):
        found['value'] = numpy_helper.from_array(found['value'])
    return found


def model_of(op, f, operands, constant):
    """constant: all operands are."""
    inputs, initializers, names = [], [], []
    for i, o in enumerate(operands):
        names.append('' if o is None else f'x{i}')
        if o is None:
            continue
        if constant or o.constant:
            initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(o.array)
                                                        .reshape(o.array.shape), names[-1]))
        else:
            inputs.append(helper.make_tensor_value_info(names[-1], type_of(o.array),
                                                        o.array.shape))
    domain = RECIPES[op][0].get('domain', '')
    outputs = [f'y{i}' for i in range(f.get('_outputs', 1))]
    node = helper.make_node(op, names, outputs, name='n', domain=domain, **attributes(f))
    results = [onnx.ValueInfoProto(name=y) for y in outputs]
    graph = helper.make_graph([node], 'g', inputs, results, initializers)
    opset = f.get('_opset', SINCE.get(op, 17))
    sets = [helper.make_opsetid('', opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=sets)
    model.ir_version = 8 if opset < 21 else 10
    return model


def typed(model):
    """The model with types of its outputs, which ONNX Runtime needs no more than their names."""
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # an op that this onnx does not know
        return model


def write(work, op, number, choice, rng):
    f, operands = made(op, choice, rng)
    stem = os.path.join(work, f'{op}.{number}')
    os.makedirs(stem)
    for constant, end in ((False, '.onnx'), (True, '.all.onnx')):
        onnx.save(typed(model_of(op, f, operands, constant)), stem + end)
    fed = [(i, o) for i, o in enumerate(operands) if o is not None and not o.constant]
    for k, (i, o) in enumerate(fed):
        with open(os.path.join(stem, f'input_{k}.pb'), 'wb') as out:
            out.write(numpy_helper.from_array(numpy.ascontiguousarray(o.array)
                                              .reshape(o.array.shape),
                                              f'x{i}').SerializeToString())
    shown = ' '.join(f'{k}={v}' for k, v in sorted(choice.items()))
    return Model(op, shown, stem + '.onnx', stem + '.all.onnx', stem)


# ---- comparing -----------------------------------------------------------------------------------


class Grammar:
    def __init__(self, args):
        self.args, self.failed = args, 0
        self.rows = collections.defaultdict(collections.Counter)
        self.words = collections.Counter()

    def run(self, *argv):
        try:
            p = guard.run([self.args.tailor, *argv], capture_output=True, text=True,
                          errors='replace', stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return -1, '', 'it does not end'
        return p.returncode, p.stdout, p.stderr

    def fail(self, model, text):
        self.failed += 1
        print(f'FAIL {os.path.basename(model.path)} {model.factors}: {text}', flush=True)
        if self.args.keep:
            os.makedirs(self.args.keep, exist_ok=True)
            for path in (model.path, model.constant):
                shutil.copy(path, self.args.keep)
            shutil.copytree(model.folder, os.path.join(self.args.keep, os.path.basename(
                model.folder)), dirs_exist_ok=True)

    def convert(self, model):
        """[exit code and message of both conversions]."""
        return [self.run('convert', '-q', path, '-o', path[:-5] + '.new.onnx',
                         '--target=onnxruntime') for path in (model.path, model.constant)]

    def verify(self, model):
        bounds = ['--rtol=1e-4', '--atol=1e-5']
        if '_type=f2' in model.factors:
            bounds = ['--rtol=2e-3', '--atol=1e-3']
        return self.run('verify', model.path, model.path[:-5] + '.new.onnx', '--threads=1',
                        '--input=' + model.folder, '--tensors=0', *bounds)

    def refused(self, model, code, err):
        """Whether it was refused, and well."""
        if code == 0:
            return False
        if code in (2, 3) and 'error: ' in err:
            self.rows[model.op]['refused'] += 1
            words = err.split('error: ')[-1].split('\n')[0]
            self.words[model.op + ': ' + re.sub(r"'[^']*'|\d+", '_', words)[:120]] += 1
        else:
            self.fail(model, f'exit {code}: {err.strip()[-200:]}')
        return True

    def compare(self, found, pool):
        good = []
        for model, done in zip(found, pool.map(self.convert, found)):
            if not any([self.refused(model, code, err) for code, _, err in done[:1]]):
                good.append((model, done[1][0] == 0))
        for (model, _), (code, out, err) in zip(good, pool.map(self.verify,
                                                               [m for m, _ in good])):
            self.judge_evaluated(model, code, out, err)
        rows = []
        for i, (model, folded) in enumerate(good):
            rows.append((f'{i} new', model.path, model.path[:-5] + '.new.onnx', model.folder))
            if folded:
                rows.append((f'{i} all', model.constant, model.constant[:-5] + '.new.onnx', '-'))
        said = self.ort(rows)
        for i, (model, _) in enumerate(good):
            self.judge_run(model, said.get(f'{i} new'), said.get(f'{i} all'))

    def judge_evaluated(self, model, code, out, err):
        if code == 0:
            self.rows[model.op]['evaluated'] += 1
        elif code == 5:
            self.fail(model, 'the evaluator computes something else of the new model: ' +
                      ' '.join(out.split())[:200])
        elif code not in (1, 2, 3):
            self.fail(model, f'verify: exit {code}: {err.strip()[-200:]}')

    def judge_run(self, model, new, folded):
        if new is None or new[0] == 'orig-fails':
            self.rows[model.op]['not run'] += 1
            return
        self.rows[model.op]['run'] += 1
        for what, found in (('the new model', new), ('the folded model', folded)):
            if found and found[0] not in ('ok', 'orig-fails'):
                text = f'{what} {found[0]}: {found[1]}'[:300]
                if not self.explained(model, text):
                    self.fail(model, text)

    def explained(self, model, text):
        for op, factors, words, _ in self.args.known:
            if re.fullmatch(op, model.op) and re.search(factors, model.factors) and \
                    re.search(words, text):
                self.rows[model.op]['explained'] += 1
                return True
        return False

    def ort(self, rows):
        """{row: (status, detail)} of ort_batch.js."""
        listing = os.path.join(self.args.work, 'rows.tsv')
        with open(listing, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in rows)
        p = subprocess.run(['node', os.path.join(ROOT, 'tests', 'ort', 'ort_batch.js'), listing,
                            '--ort', self.args.ort, '--rtol', '1e-3', '--atol', '1e-4',
                            '--units', '4'], capture_output=True, text=True, check=False)
        if p.returncode not in (0, 1):
            sys.exit(f'the runtime does not start: {p.stderr.strip()[:500]}')
        cells = [line.split('\t') for line in p.stdout.splitlines() if '\t' in line]
        return {c[0]: (c[1], ' '.join(c[2:])) for c in cells}


def table(rows):
    yield '| op | compared in ONNX Runtime | in the evaluator | refused by name | not run by it |'
    yield '|---|---|---|---|---|'
    for op in sorted(rows):
        r = rows[op]
        yield f'| {op} | {r["run"]} | {r["evaluated"]} | {r["refused"]} | {r["not run"]} |'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', default=os.path.join(ROOT, 'tests', 'ort'))
    p.add_argument('--least', type=int, default=50)
    p.add_argument('--most', type=int, default=150)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--only')
    p.add_argument('--table')
    p.add_argument('--keep')
    p.add_argument('--refusals', action='store_true', help='print what refusals say')
    args = p.parse_args()
    args.known = facts.reasons(os.path.join(HERE, 'grammar.tsv'))
    grammar = Grammar(args)
    ops = [op for op in sorted(RECIPES) if not args.only or op in args.only.split(',')]
    number = args.seed
    with tempfile.TemporaryDirectory() as args.work, ThreadPoolExecutor(args.jobs) as pool:
        found = []
        for op in ops:
            for choice in draws(op, args.least, args.most, random.Random(f'{args.seed} {op}')):
                number += 1
                if number % args.every == 0:
                    found.append(write(args.work, op, number, choice,
                                       random.Random(f'{args.seed} {number}')))
        for first in range(0, len(found), 600):
            grammar.compare(found[first:first + 600], pool)
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines(line + '\n' for line in table(grammar.rows))
    if args.refusals:
        for words, n in grammar.words.most_common():
            print(f'{n:5} {words}')
    total = collections.Counter()
    for r in grammar.rows.values():
        total.update(r)
    print(f'{len(ops)} ops, {len(found)} models: ' +
          ', '.join(f'{n} {what}' for what, n in sorted(total.items())))
    print(f'{total["run"]} passed, {grammar.failed} failed, {total["not run"]} skipped')
    return 1 if grammar.failed else 0


if __name__ == '__main__':
    sys.exit(main())
