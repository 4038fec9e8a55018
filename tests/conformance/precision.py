#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Converts every model of the corpus that ONNX Runtime loads under each mode of precision, and
compares the result with the original.

  precision.py --tailor BIN --ort DIR [--sample N] [--only TEXT] [--modes NAME,...] [--update]
               [--table FILE] [--work DIR]

Every result loads in ONNX Runtime: to that there is no exception. Its outputs are compared in ONNX
Runtime; those of bfloat16, which it has no kernels for, and of what it loads but does not run, in
Tailor's evaluator. How close they must be is said below, a mode a row, and why. precision.tsv lists
what is further off, and why; a line that names a mode in which a case holds fails too, so that the
list stays true. --update rewrites it: reasons that a person wrote stay.

--sample N takes every Nth model of the manifest, those of precision.tsv, and no other. --table
writes what became of each result. The last line is 'N passed, M failed, K skipped', the skipped
being those of the list."""
import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
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

LIST = os.path.join(HERE, 'precision.tsv')
HEAD = ('# SPDX-License-Identifier: Apache-2.0\n'
        '# case\tmodes\treason: why outputs are further off than the modes allow (precision.py)\n')
DIFFERS = 5

# The greatest error as a share of the greatest element, and the least cosine similarity. f16 has 11
# significant bits: a number that is rounded once is off by 2^-12 of the greatest element at most,
# and a network rounds its numbers many times over, so 2^-8 is sixteen such errors at once. bf16 has
# three bits less. Without a low type only fusions round elsewhere, as in `corpus`. By range no
# element is bounded, but the direction of each output is.
F16 = {'share': 2 ** -8, 'cosine': 0.9999}
BF16 = {'share': 2 ** -5, 'cosine': 0.999}
F32 = {'share': 1e-4, 'cosine': 0.999999}
RANGE = {'share': float('inf'), 'cosine': 0.999}

Mode = collections.namedtuple('Mode', 'name options bounds runtime', defaults=[True])
LOWERING = [Mode('force_fp16', ['--precision-mode=force_fp16'], F16),
            Mode('allow_mix_precision', ['--precision-mode=allow_mix_precision'], F16),
            Mode('O1', ['--amp-level=O1'], F16),
            Mode('O2', ['--amp-level=O2'], F16),
            Mode('O3', ['--amp-level=O3'], F16),
            Mode('mixed_bfloat16', ['--precision-mode-v2=mixed_bfloat16'], BF16, False)]
BY_RANGE = [m._replace(name=m.name + '+range', bounds=RANGE,
                       options=m.options + ['--precision-policy=range']) for m in LOWERING]
MODES = [Mode('must_keep_origin_dtype', ['--precision-mode=must_keep_origin_dtype'], F32),
         *LOWERING, *BY_RANGE]
# The same mode under its other names: the same bytes.
TWINS = {'allow_mix_precision': ['--precision-mode-v2=mixed_float16'],
         'mixed_bfloat16': ['--precision-mode=allow_mix_precision_bf16']}

SAME, OFF, NOT_COMPARED, BROKEN = 'same', 'off', 'not compared', 'broken'
# What ONNX Runtime says of models that are right: no kernel for halves (of the versions in use).
LACKS = ('is not supported with Scatter', 'Could not find an implementation')


class Result:
    """One model in one mode."""

    def __init__(self, case, mode, path):
        self.case, self.mode, self.path = case, mode, path
        self.name = f'{case.name} {mode.name}'
        self.what, self.detail = None, ''

    def end(self, what, detail=''):
        self.what, self.detail = what, detail

    def judge(self, outputs):
        """Of rows with cosine and share, or error; null stands for an infinite share."""
        for row in outputs:
            if 'error' in row:
                return self.end(BROKEN, f'{row["name"]}: {row["error"]}')
            share = float('inf') if row.get('share', 0) is None else row.get('share', 0)
            cosine = 1 if row.get('cosine', 1) is None else row.get('cosine', 1)
            if not (cosine >= self.mode.bounds['cosine'] and share <= self.mode.bounds['share']):
                return self.end(OFF, f'{row["name"]}: cosine {cosine:.6f}, off by {share:.3g} of '
                                     'the greatest element')
        return self.end(SAME)


def first_line(text):
    lines = [s for s in text.splitlines() if 'error' in s] or text.strip().splitlines() or ['']
    return lines[0][:300]


def call(args, *words):
    try:
        p = guard.run([args.tailor, *words], capture_output=True, text=True, errors='replace')
        return p.returncode, p.stdout, p.stderr
    except subprocess.TimeoutExpired:
        return 124, '', f'no end after {guard.CPU_SECONDS} s of CPU time'


def convert(args, result):
    """Writes the model of a result, and sees that the mode's other name makes the same one."""
    code, _, text = call(args, 'convert', result.case.path, '-q', *result.mode.options, '-o',
                         result.path)
    if code:
        return result.end(BROKEN, f'exit {code}: {first_line(text)}')
    twin = TWINS.get(result.mode.name)
    if twin:
        other = result.path + '.twin.onnx'
        call(args, 'convert', result.case.path, '-q', *twin, '-o', other)
        if not filecmp.cmp(result.path, other, shallow=False):
            result.end(BROKEN, f'{twin[0]} makes another model')
        os.unlink(other)
    return None


def in_runtime(args, results, *options):
    """Compares in ONNX Runtime; [(result, why)] of what it does not run."""
    listing = os.path.join(args.work, 'list.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines(f'{i}\t{r.case.path}\t{r.path}\t{r.case.data or "-"}\n'
                     for i, r in enumerate(results))
    p = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing, '--ort',
                        args.ort, '--measure', *options], capture_output=True, text=True,
                       check=False)
    if p.returncode not in (0, 1):
        sys.exit(p.stderr)
    rest = []
    for line in p.stdout.splitlines():
        cells = line.split('\t')
        if len(cells) < 3:
            continue
        result = results[int(cells[0])]
        if cells[1] == 'ok':
            result.judge(json.loads(cells[2]))
        elif cells[1] == 'orig-fails' or any(s in cells[2] for s in LACKS):
            rest.append((result, cells[2]))
        else:
            result.end(BROKEN, cells[2])
    return rest


def inputs_of(args, case):
    """Options that give a case its inputs: its data, or random ones with dims of 2 or of 1."""
    if case.data:
        return [['--input=' + case.data]]
    code, out, _ = call(args, 'info', case.path, '--json')
    rows = json.loads(out)['inputs'] if code == 0 else []
    dims = {d for row in rows for d in row.get('shape') or [] if isinstance(d, str)}
    return [[f'--dim={d}=2' for d in sorted(dims)], []]


def in_evaluator(args, result, why=''):
    """Compares in the evaluator; `why` says why ONNX Runtime does not."""
    for given in inputs_of(args, result.case):
        code, out, text = call(args, 'verify', result.case.path, result.path, '--json',
                               '--tensors=0', '--threads=1', '--cosine=0', *given)
        if code in (0, DIFFERS):
            break
    else:
        return result.end(NOT_COMPARED, f'{why}; {first_line(text)}')
    rows = json.loads(out)['outputs']
    for row in rows:
        if 'reason' in row:
            row['error'] = row['reason']
        elif row.get('max_abs', 0) is None:
            row['share'] = None
        else:
            row['share'] = row.get('max_abs', 0) / (row.get('largest') or 1)
    return result.judge(rows)


def everything(args, cases):
    """All results of the cases, compared."""
    chosen = [m for m in MODES if not args.modes or m.name in args.modes]
    results = [Result(c, m, os.path.join(args.work, f'{i}.{j}.onnx'))
               for i, c in enumerate(cases) for j, m in enumerate(chosen)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda r: convert(args, r), results))
        rest = in_runtime(args, [r for r in results if r.what is None and r.mode.runtime])
        unread = [r for r, why in rest if 'Type Error' in why]  # its own functions, unoptimized
        rest = [p for p in rest if p[0] not in unread] + in_runtime(args, unread, '--basic')
        rest += [(r, '') for r in results if r.what is None and not r.mode.runtime]
        list(pool.map(lambda p: in_evaluator(args, *p), rest))
    return results


# ---- the list -----------------------------------------------------------------------------------

def read_list():
    """{(case, mode): reason}"""
    rows = {}
    with open(LIST, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                case, names, reason = line.rstrip('\n').split('\t')
                rows.update({(case, mode): reason for mode in names.split(',')})
    return rows


def update(results, known):
    """Rewrites the list: modes with a reason in common share a line."""
    lines = collections.defaultdict(list)
    for r in results:
        if r.what == OFF:
            told = next((known[r.case.name, m.name] for m in (r.mode, *MODES)
                         if (r.case.name, m.name) in known), r.detail)
            lines[r.case.name, told].append(r.mode.name)
    with open(LIST, 'w', encoding='utf-8') as f:
        f.write(HEAD)
        f.writelines(f'{case}\t{",".join(names)}\t{reason}\n'
                     for (case, reason), names in sorted(lines.items()))
    return read_list()


def judge(results, known):
    """Counts of passed and listed results, and the problems."""
    passed, listed, problems = 0, 0, []
    for r in results:
        why = known.get((r.case.name, r.mode.name))
        if r.what == BROKEN:
            problems.append(f'{r.name}: {r.detail}')
        elif r.what == SAME and why is not None:
            problems.append(f'{r.name}: holds now; remove it from precision.tsv ("{why}")')
        elif r.what == SAME:
            passed += 1
        elif r.what == OFF and why is None:
            problems.append(f'{r.name}: {r.detail}')
        elif why is not None:
            listed += 1
    return passed, listed, problems


def choose(args, known):
    """The cases, and the lines of the list that name none."""
    cases = [c for c in models.corpus(ROOT) if c.ort]
    names = {c.name for c in cases}
    unknown = sorted({k for k in known if k[0] not in names or k[1] not in {m.name for m in MODES}})
    listed = {case for case, _ in known}
    return ([c for i, c in enumerate(cases) if (i % args.sample == 0 or c.name in listed)
             and args.only in c.name], unknown if names else [])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True, help='folder with node_modules/onnxruntime-node')
    p.add_argument('--sample', type=int, default=1, help='every Nth case, and those of the list')
    p.add_argument('--only', default='', help='cases whose name contains this')
    p.add_argument('--modes', help='comma-separated: ' + ', '.join(m.name for m in MODES))
    p.add_argument('--update', action='store_true', help='rewrite the list')
    p.add_argument('--table', help='write what became of each result to this file')
    p.add_argument('--work', help='keep the models here')
    args = p.parse_args()
    args.modes = args.modes.split(',') if args.modes else []
    known = read_list()
    cases, unknown = choose(args, known)
    if not cases:
        print('corpus: the models are not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with tempfile.TemporaryDirectory(prefix='tailor-precision-') as folder:
        args.work = args.work or folder
        os.makedirs(args.work, exist_ok=True)
        results = everything(args, cases)
    if args.update and not (args.only or args.modes or args.sample > 1):
        known = update(results, known)
    passed, listed, problems = judge(results, known)
    problems += [f'{case} {mode}: listed in precision.tsv, but there is no such case or mode'
                 for case, mode in unknown]
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join((r.case.name, r.mode.name, r.what, r.detail)) + '\n'
                         for r in results)
    for problem in problems:
        print('FAIL ' + problem)
    counts = collections.Counter(r.what for r in results)
    print(f'corpus: {len(cases)} models in {len(results) // len(cases)} modes; '
          + ', '.join(f'{what} {n}' for what, n in sorted(counts.items())))
    print(f'{passed} passed, {len(problems)} failed, {listed} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
