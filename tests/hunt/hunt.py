#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for results that are wrong without a word: models of all kinds are changed at random by
mutations that know the structure of a graph, and two forms of each result must compute the same.

  hunt.py --tailor BIN [--ort DIR] [--part onnx|npu] [--n N] [--seed S] [--keep DIR] [--refusals N]

onnx: the changed model and what `tailor convert` makes of it, both in ONNX Runtime.
npu:  the changed model and its NPU form, both in the evaluator.

A pair counts when the changed model runs (twice the same). It is wrong when the new model does not
load or run, or computes something else. A difference is rounding, and nothing else, when it is at
most BOUND times what the changed model itself differs from its twins, in which each float value is
multiplied by 1 plus or minus a few units in its last place. explained.tsv has the other differences
that are no fault, each with cause and bound. A refusal (exit 2 or 3) is no wrong result; crashes,
hangs and exit 70 are faults. The last line is 'N passed, M failed, K skipped'."""
import argparse
import collections
import json
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
sys.path[:0] = [HERE, os.path.join(ROOT, 'tests'), os.path.join(ROOT, 'tests', 'conformance')]
import onnx  # noqa: E402

import guard  # noqa: E402
import facts  # noqa: E402
import jitter  # noqa: E402
import models  # noqa: E402
import mutations  # noqa: E402

VARIANTS = [['--target=onnxruntime'], [], ['--target=onnx'], ['-O0'], ['-O1']]
RANDOM = re.compile(rb'Bernoulli|Multinomial|RandomNormal|RandomUniform|Dropout')
EXTERNAL = re.compile(rb'external_data|location')
LARGEST = 400_000  # bytes of a model that is changed
CHUNK = 400
TWINS = 4
BOUND = 16  # times the difference of the twins
RTOL, ATOL = '1e-4', '1e-5'
GENERATED = ['bert_tiny', 'gpt2_tiny', 'llama_1k']
ENDLESS = 'it does not end'
# elements of more than one shape: a warning says that the NPU form of the input takes those of one
RAGGED = 'the elements of the sequence that was given cannot be stacked'
Case = collections.namedtuple('Case', 'name path done options new data')


def base_models(args):
    """[(name, path, folder of data)] of what is changed."""
    found = [(c.name, c.path, c.data) for which in ('corpus', 'official')
             for c in models.SETS[which](ROOT) if c.ort is not False and
             os.path.getsize(c.path) <= LARGEST and is_alone(c.path)]
    folder = os.path.join(args.work, 'models')
    subprocess.run(['/usr/bin/python3', os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                    *GENERATED], check=True, capture_output=True)
    found += [(n, os.path.join(folder, n + '.onnx'), None) for n in GENERATED] * 3
    return found


def is_alone(path):
    """Whether a model draws no random numbers and needs no other file."""
    with open(path, 'rb') as f:
        text = f.read()
    return not RANDOM.search(text) and not EXTERNAL.search(text)


def read(path):
    model = onnx.load(path, load_external_data=False)
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # ops that this onnx does not know
        return model


def guarded(argv):
    """Runs a command; its exit code, output and error text."""
    try:
        p = guard.run(argv, capture_output=True, text=True, errors='replace',
                      stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return -1, '', ENDLESS
    return p.returncode, p.stdout, p.stderr


def changed(args, bases, number):
    """Writes changed model `number`; (name, path, what was done, folder of data), or None."""
    rng = random.Random(f'{args.seed}.{number}')
    name, path, data = rng.choice(bases)
    try:
        model = read(path)
        signature = [v.SerializeToString() for v in model.graph.input]
        done = mutations.mutate(model, rng, rng.choice([1, 1, 2, 2, 3, 4]))
        new = os.path.join(args.work, f'{number}.onnx')
        onnx.save(model, new)
    except Exception as e:  # a model that this onnx cannot read or write again
        return None if args.quiet else print(f'note: {name}: {type(e).__name__} {e}'[:200])
    if not done:
        return None
    same = signature == [v.SerializeToString() for v in model.graph.input]
    return name, new, done, data if same and data else '-'


def says(case, text):
    return f'{case.name} ({os.path.basename(case.path)} {" ".join(case.options)}): {text}; ' + \
        '; '.join(case.done)


class Hunt:
    def __init__(self, args):
        self.args, self.passed, self.rounding = args, 0, 0
        self.explained = collections.Counter()
        self.refused, self.failed, self.not_run = collections.Counter(), [], 0
        self.refusals = []
        self.reasons = facts.reasons(os.path.join(HERE, 'explained.tsv'))

    def fail(self, case, text, narrow=False):
        told = says(case, text)
        cause = facts.explains(self.reasons, self.args.tailor, case, text, narrow)
        if cause:
            self.explained[cause] += 1
            return
        self.failed.append(told)
        print('FAIL ' + told, flush=True)
        self.keep(case)

    def count(self):
        return self.passed + self.rounding + len(self.failed) + sum(self.explained.values())

    def ran(self, case, code, err):
        """Whether a command of ours came to a result; else says what became of it."""
        if code == 0:
            return True
        if code == 1 and ('value' in err or RAGGED in err):  # data that does not fit the inputs
            self.not_run += 1
        elif code in (2, 3):
            words = (err.split('error: ')[-1] if 'error: ' in err else err).split('\n')[0]
            self.refused[re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+", '_', words)[:150]] += 1
            self.refusals.append((case, words))
        else:
            self.fail(case, f'exit {code}: {err.strip()[-300:]}')
        return False

    def ort(self, rows, *options):
        """{case: (status, detail)} of ort_batch.js."""
        listing = os.path.join(self.args.work, 'rows.tsv')
        with open(listing, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in rows)
        batch = os.path.join(ROOT, 'tests', 'ort', 'ort_batch.js')
        p = subprocess.run(['node', batch, listing, '--ort', self.args.ort, *options],
                           capture_output=True, text=True, check=False)
        if p.returncode not in (0, 1):
            sys.exit(f'the runtime does not start: {p.stderr.strip()[:500]}')
        cells = [line.split('\t') for line in p.stdout.splitlines() if '\t' in line]
        return {c[0]: (c[1], ' '.join(c[2:])) for c in cells}

    # ---- onnx -----------------------------------------------------------------------------------

    def convert(self, case):
        return guarded([self.args.tailor, 'convert', case.path, '-q', '-o', case.new,
                        *case.options])

    def onnx_chunk(self, found, pool):
        cases = []
        for i, (name, path, done, data) in enumerate(found):
            for k in ((i, i + 1) if i % 2 else (0, i)):
                options = VARIANTS[k % len(VARIANTS)]
                cases.append(Case(name, path, done, options, f'{path[:-5]}.{k % 5}.new.onnx', data))
        rows = []
        for case, (code, _, err) in zip(cases, pool.map(self.convert, cases)):
            if self.ran(case, code, err):
                rows.append(case)
        lines = [(str(i), c.path, c.new, c.data) for i, c in enumerate(rows)]
        found = self.ort(lines, '--rtol', RTOL, '--atol', ATOL, '--units', '4')
        doubtful = []
        for i, case in enumerate(rows):
            status, detail = found.get(str(i), ('lost', ''))
            if status == 'ok':
                self.passed += 1
            elif status == 'orig-fails':
                self.not_run += 1
            elif status == 'differs':
                doubtful.append((case, 'differs: ' + detail))
            else:
                doubtful.append((case, f'{status}: {detail}'))
        self.judge_onnx(doubtful)
        self.ask_about_refusals()

    def ask_about_refusals(self):
        """With --refusals: those of models that ONNX Runtime runs."""
        rows = [(str(i), c.path, c.path, c.data) for i, (c, _) in enumerate(self.refusals)]
        found = self.ort(rows) if rows and self.args.refusals else {}
        for i, (case, words) in enumerate(self.refusals):
            if found.get(str(i), ('',))[0] == 'ok':
                print('refused, but ONNX Runtime runs it: ' + says(case, words)[:300], flush=True)
                self.keep(case)
        self.refusals = []

    def keep(self, case):
        if self.args.keep:
            os.makedirs(self.args.keep, exist_ok=True)
            shutil.copy(case.path, self.args.keep)

    def judge_onnx(self, doubtful):
        """Rounding, or more than that: measured against twins of the changed model."""
        rows, there = [], []
        for i, (case, detail) in enumerate(doubtful):
            twins = jitter.twins(case.path, case.path[:-5], TWINS)
            there.append(len(twins))
            rows.append((f'{i} self', case.path, case.path, case.data))
            rows.append((f'{i} new', case.path, case.new, case.data))
            rows += [(f'{i} {k}', case.path, t, case.data) for k, t in enumerate(twins)]
        found = self.ort(rows, '--measure') if rows else {}
        for i, (case, detail) in enumerate(doubtful):
            measured = [numbers(found.get(f'{i} {k}')) for k in ['new', *range(there[i])]]
            if not any(measured[1:]):  # ONNX Runtime does not take the twins: a fault of its own
                measured[1:] = self.evaluated_twins(case)
            if found.get(f'{i} self', ('',))[0] != 'ok':
                self.not_run += 1
            elif is_rounding(measured[0], measured[1:]):
                self.rounding += 1
            else:
                self.fail(case, detail)

    # ---- npu ------------------------------------------------------------------------------------

    def verify(self, case, second='--npu'):
        options = ['--threads=1', '--json', '--tensors=0', '--rtol=' + RTOL, '--atol=' + ATOL,
                   *(o for o in case.options if second == '--npu')]
        if case.data != '-' and os.path.exists(os.path.join(case.data, 'input_0.pb')):
            options.append('--input=' + case.data)
        return guarded([self.args.tailor, 'verify', case.path, second, *options])

    def npu_chunk(self, found, pool):
        chips = ['Ascend910B1', 'Ascend310P3', 'Ascend910A']
        cases = [Case(n, p, done, ['--soc-version=' + chips[i % 3]], '', data)
                 for i, (n, p, done, data) in enumerate(found)]
        for case, (code, out, err) in zip(cases, pool.map(self.verify, cases)):
            if code == 0:
                self.passed += 1
            elif code == 5:
                self.judge_npu(case, json.loads(out))
            elif err == ENDLESS:  # a loop whose condition was changed
                self.not_run += 1
            elif not self.ran(case, code, err) and code in (2, 3) and 'evaluat' in err:
                self.not_run += 1

    def evaluated_twins(self, case, unit=None):
        found = []
        for path in jitter.twins(case.path, case.path[:-5], TWINS, unit):
            code, out, _ = self.verify(case, path)
            if code in (0, 5):
                found.append([(r['name'], 1, shares(r)) for r in json.loads(out)['outputs']])
        return found

    def halves(self, case):
        """What halves may do to the NPU form: the last place of one times the root of the number of
        roundings to it, as a share of the greatest element. 0: it has no halves that the model has
        not."""
        _, out, _ = guarded([self.args.tailor, 'verify', case.path, '--npu', '--threads=1',
                             '--json', '--tensors=0', *case.options])
        found = json.loads(out)['tolerance'] if out else {}
        return found['share'] if found.get('dtype') in ('f16', 'bf16') else 0

    def judge_npu(self, case, report):
        new = [(r['name'], 1, shares(r)) for r in report['outputs']]
        narrow = self.halves(case)
        unit = jitter.UNITS[onnx.TensorProto.FLOAT16] if narrow else None
        if is_rounding(new, self.evaluated_twins(case, unit), max(1e-5, narrow)):
            self.rounding += 1
        else:
            bad = [r for r in report['outputs'] if r.get('off')]
            self.fail(case, 'differs: ' + json.dumps(bad)[:300], bool(narrow))


def shares(row):
    """Greatest error as a share of the greatest element; None where there is none."""
    if 'reason' in row or row['max_abs'] is None:
        return None
    return row['max_abs'] / (row['largest'] or 1) if row['max_abs'] else 0.0


def numbers(found):
    """[(output, cosine, share)] that ort_batch.js --measure says, or None."""
    if not found or found[0] != 'ok':
        return None
    return [(o['name'], o.get('cosine'), o.get('share', None if 'error' in o else 0.0))
            for o in json.loads(found[1])]


def is_rounding(new, twins, least=1e-5):
    twins = [t for t in twins if t]
    if not new:
        return False
    for i, (_, _, share) in enumerate(new):
        moved = [t[i][2] for t in twins]
        if share is None:  # a number against infinity or NaN: rounding only if twins do that
            if all(m is not None for m in moved):  # also where there are no twins
                return False
        elif share > max(least, BOUND * max((m if m is not None else 1e9 for m in moved),
                                             default=0)):
            return False
    return True


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', help='folder with onnxruntime-node, for --part onnx')
    p.add_argument('--part', default='onnx', choices=['onnx', 'npu'])
    p.add_argument('--n', type=int, default=300, help='pairs')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--only', help='models whose name contains this')
    p.add_argument('--keep', help='folder for models that show a fault')
    p.add_argument('--quiet', action='store_true')
    p.add_argument('--refusals', type=int, default=0, help='print so many kinds of refusals')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as args.work:
        bases = [b for b in base_models(args) if not args.only or args.only in b[0]]
        hunt, number = Hunt(args), 0
        with ThreadPoolExecutor(args.jobs) as pool:
            while hunt.count() < args.n:
                found = [changed(args, bases, number + i) for i in range(min(CHUNK, args.n))]
                number += len(found)
                found = [f for f in found if f]
                (hunt.onnx_chunk if args.part == 'onnx' else hunt.npu_chunk)(found, pool)
                for f in os.listdir(args.work):
                    if f.endswith('.onnx'):
                        os.remove(os.path.join(args.work, f))
    for text, n in hunt.refused.most_common(args.refusals):
        print(f'refused {n}: {text}')
    for cause, n in sorted(hunt.explained.items()):
        print(f'explained {n}: {cause}')
    print(f'{args.part}: {number} changed models; {hunt.passed} equal, {hunt.rounding} within what '
          f'rounding moves, {sum(hunt.refused.values())} refused, {hunt.not_run} do not run')
    print(f'{hunt.passed + hunt.rounding} passed, {len(hunt.failed)} failed, '
          f'{sum(hunt.explained.values())} skipped')
    return 1 if hunt.failed else 0


if __name__ == '__main__':
    sys.exit(main())
