#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests as numeric tests: the module before and the module after a pass are exported to ONNX
and must compute the same in ONNX Runtime.

  golden_numbers.py --tailor BIN --ort DIR [--every N] PATH...

--every N takes every N-th file of rules, whose numbers the kind `rules` compares too.

Rules may round elsewhere: the tolerance is that of their class. A pair is skipped, with the reason
printed, when it cannot run: NPU ops, ops of other domains, options that change what the model
computes (--out-nodes, --input-shape). A near miss of a rule that stayed as it was has nothing to
compare."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'rules'))
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402
import rulefile  # noqa: E402
import guard  # noqa: E402

RANDOM = 'it draws random numbers, which are others in ONNX Runtime'
# Messages of models that are right and that ONNX Runtime does not run: no kernel for the dtypes; no
# such op (ai.onnx.preview.training, gradients of its training builds); it reads tables of the whole
# head as tables of the rotated part, as its own contrib op has them; ops of the device, which the
# evaluator alone knows; cubic interpolation of other dims than the last two; CenterCropPad by i32,
# whose function in ONNX mixes types.
LACKS = ('Could not find an implementation', 'is not a registered function/op',
         "Input 'cos_cache' dimension 2 should be same",
         'a module with NPU ops cannot be written as ONNX', 'has no ONNX form',
         "'Cubic' mode only supports", 'of Optype (Max) bound to different types',
         'Error No Op registered for AveragePoolGrad', 'Error No Op registered for MaxPoolGrad')
# Ops of opsets 24 and 26, which it lacks too.
LACKS += ('Error No Op registered for CumProd', 'Error No Op registered for TensorScatter')
# What ONNX Runtime computes otherwise than ONNX says; the evaluator reproduces the reference data
# of the official tests there, and the kind rule_numbers compares these rules with it.
DEVIATES = {
    'expand_resize_crop/': 'it takes what lies beyond the last element, but less than one step '
                           'beyond it, for inside, and scales the size without the region',
    'expand_resize_ratio/': 'it leaves out axes that count from the end',
    'expand_resize_smooth/ExpandResizeCornersScaled': 'it rounds the scaled size down before it '
                                                      'places the corners',
    'expand_resize_smooth/ExpandResizeCubicCornersScaled': 'it rounds the scaled size down before '
                                                           'it places the corners',
    'expand_resize/ExpandResizeScales.tir:3': 'it scales the size without the region',
}
# Open dims get the size 2, for which the window of a convolution can be too large.
TOO_SMALL = 'Invalid input shape: {2,2}'
# Options after which inputs or outputs are others (steps in a loop: tests/train/loop_steps.py).
CHANGES = ('--out-nodes', '--input-shape', '--freeze', '--iterations_per_loop',
           '--dynamic_inputs_shape_range', '--verify-ranks')
# Relative, absolute, and for halves units in the last place of the greatest element.
TOLERANCES = {'exact': ('0', '0', '0'), 'reassociating': ('1e-4', '1e-5', '4'),
              'approximate': ('1e-2', '1e-3', '4')}


def export(tool, text, path):
    passes = 'expand' if '  form spelled\n' in text else 'outline'  # NPU ops by what they mean
    p = guard.run([tool, 'opt', f'--passes=infer-shapes,{passes}-definitions', '-q', '-o',
                   path, '-'], input=text, capture_output=True, text=True)
    return None if p.returncode == 0 else p.stderr.strip().splitlines()[0]


OPS = re.compile(r'= ([\w.:]+)\(')


def is_changed(before, after):
    return OPS.findall(before) != OPS.findall(after)


def pairs(path):
    """[(number, text before, text after)] of a test, or a reason why it is no numeric test."""
    file = golden_cases.read(path)
    run = file.run
    if file.fails:
        return 'expects a failure'
    if any(option in run for option in CHANGES):
        return 'its options change what is computed'
    if re.search(r'--rank-size=(?!1\b)', run):
        return 'means over ranks are not what one rank computes'
    if '--status=ort' in run:
        return 'IsAllFinite is in the training builds of ONNX Runtime alone'
    if '--opt={"type"' in run.replace("'", ''):
        return 'the optimizer is said to do what the graph leaves out'
    if '/precision/' in path:
        return 'other dtypes round elsewhere'
    return [(i + 1, case.module, case.after) for i, case in enumerate(file.cases)
            if case.after is not None and
            ('/rules/' not in path or is_changed(case.module, case.after))]


def class_of(path, rules):
    """Numerics class: that of the rule that a file is named after."""
    if '/cast-motion/' in path or '/loss-scale/half' in path:
        # ONNX Runtime computes halves in f32 and drops casts between: it rounds less than it should
        return 'approximate'
    if any(f'/{p}' in path for p in ('graph-fusion/', 'scope-fusion/', 'expand', 'recurrent',
                                     'loops-to-recurrent/',
                                     'sink-transposes/axes')):
        # their kernels round elsewhere, or add up in another order
        return 'reassociating'
    rule = rules.get(os.path.basename(path).partition('.')[0])
    return rule.numerics if rule and '/rules/' in path else 'exact'


def rows_of(args, work, path, index):
    """Rows for ort_batch.js and (case, reason) of what is skipped."""
    found = pairs(path)
    if isinstance(found, str):
        return [], [(path, found)]
    rows, skipped = [], []
    for i, *pair in found:
        name = f'{path}:{i}'
        files = [os.path.join(work, f'{index}.{i}.{which}.onnx') for which in ('before', 'after')]
        reason = (RANDOM if re.search(r'= Random|Dropout.*seed', pair[0]) else
                  export(args.tailor, pair[0], files[0]) or export(args.tailor, pair[1], files[1]))
        if reason:
            skipped.append((name, reason))
        else:
            rows.append((name, files[0], files[1], '-'))
    return rows, skipped


def compare(args, work, rows, numerics):
    """Lines of ort_batch.js for rows of one class."""
    listing = os.path.join(work, numerics + '.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines('\t'.join(row) + '\n' for row in rows)
    rtol, atol, units = TOLERANCES[numerics]
    p = subprocess.run(['node', os.path.join(HERE, 'ort', 'ort_batch.js'), listing, '--ort',
                        args.ort, '--rtol', rtol, '--atol', atol, '--units', units],
                       capture_output=True, text=True, check=False)
    if p.returncode not in (0, 1):
        sys.exit(f'the runtime does not start: {p.stderr.strip()[:500]}')
    return [line.split('\t') for line in p.stdout.splitlines() if '\t' in line]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    passed, failed, rules, lines = 0, [], rulefile.load(), []
    paths = [path for i, path in enumerate(golden_runner.tests_under(args.paths))
             if '/rules/' not in path or i % args.every == 0]
    with tempfile.TemporaryDirectory() as work:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda ip: rows_of(args, work, ip[1], ip[0]), enumerate(paths)))
        skipped = [s for _, skips in done for s in skips]
        for numerics in TOLERANCES:
            rows = [row for path, (found, _) in zip(paths, done) for row in found
                    if class_of(path, rules) == numerics]
            lines += compare(args, work, rows, numerics) if rows else []
    for cells in lines:
        if cells[1] == 'ok':
            passed += 1
        elif cells[1] == 'orig-fails' or TOO_SMALL in ' '.join(cells[2:]):
            skipped.append((cells[0], ' '.join(cells[2:])))
        elif cells[1] == 'new-fails' and any(part in cells[2] for part in LACKS):
            skipped.append((cells[0], cells[2]))
        elif any(part in cells[0] for part in DEVIATES):
            reason = next(DEVIATES[part] for part in DEVIATES if part in cells[0])
            skipped.append((cells[0], f'ONNX Runtime differs from ONNX: {reason}'))
        else:
            failed.append(cells)
    for name, reason in skipped:
        lacks_kernel = reason == RANDOM or reason.startswith('ONNX Runtime differs') or \
            any(message in reason for message in LACKS)
        if '/rules/' in name and name.endswith(':1') and not lacks_kernel and \
                not golden_cases.PART.search(name[:-len(':1')]):  # each rule runs
            failed.append((name, 'does not run', reason))
        else:
            print(f'skip {name}: {reason}')
    for cells in failed:
        print(f'FAIL {" ".join(cells)}')
    print(f'{passed} passed, {len(failed)} failed, {len(skipped)} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
