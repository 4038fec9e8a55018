#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""chips.py --tailor BIN [--full] [--only TEXT] [--jobs N]

Models for every chip of ir/chip/soc.tbl in every precision mode, and without one. Each conversion
gives an AIR file all of whose nodes have dtypes that the chip's table has, as
tests/oracle/op_columns.py judges with a reader and tables of its own, or exit code 3 and a message
with a code. What only AI CPUs can run is said in the summary, and so is what the chip computes in
halves though nobody asked.
Without a mode everything converts but bfloat16 on chips that lack it; quantized models convert in
every mode where the chip has products of f32. The atc line of the summary names the chip and keeps
the dtypes, which then are all the table's.

Without --full: a chip of each family, and for each a part of the models in each mode. With it, all
names, and besides every tenth model of the corpus and the training steps of bench/make_models.py.
The last line is 'N passed, M failed'."""
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
sys.path[:0] = [HERE, *(os.path.join(ROOT, 'tests', d) for d in ('oracle', 'conformance'))]
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import chip_models  # noqa: E402
import models  # noqa: E402
import op_columns  # noqa: E402

MODES = {'--precision_mode=': ('force_fp16', 'allow_fp32_to_fp16', 'allow_mix_precision',
                               'allow_mix_precision_fp16', 'must_keep_origin_dtype', 'force_fp32',
                               'cube_fp16in_fp32out', 'allow_mix_precision_bf16',
                               'allow_fp32_to_bf16'),
         '--precision_mode_v2=': ('fp16', 'origin', 'cube_fp16in_fp32out', 'mixed_float16',
                                  'mixed_bfloat16', 'cube_hif8', 'mixed_hif8')}
STEPS = ('train_mlp_sgd', 'train_mlp_momentum', 'train_mlp_adam', 'train_transformer_adam')
CODE = re.compile(r'\[([EP]\w*\d{2,})\]')
OK, INVALID, UNSUPPORTED = 0, 2, 3


def chips():
    """[(name, family, table, has bf16)] of ir/chip/soc.tbl; of a series, a member of it."""
    with open(os.path.join(ROOT, 'ir', 'chip', 'soc.tbl'), encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    families = {i: (table, bf16 == 'true') for i, table, bf16 in
                re.findall(r'^SOC\((\w+),\s*"[^"]*",\s*(\w+),\s*(\w+),', text, re.M)}
    names = re.findall(r'^CHIP\("([^"]+)", (\w+)\)', text, re.M)
    names += [(prefix + '9' * int(n), family) for prefix, n, family in
              re.findall(r'^SERIES\("([^"]+)", (\d+), (\w+)\)', text, re.M)]
    return [(name, family, *families[family]) for name, family in names]


TABLES = {'A2': op_columns.load('ascend910b'), '910': op_columns.load('ascend910')}


def is_quantized(name):
    return name.startswith(('quantized', 'dynamic_quantized', 'integer_convolution'))


def refusal(case, code, text):
    """Why a conversion that did not succeed is a failure, or None."""
    name, _, words, chip, mode = case
    first = (re.findall(r'error: .*', text) or [text[-200:]])[0]
    if code not in (UNSUPPORTED,) and not (code == INVALID and name.startswith('corpus/')):
        return f'exit {code}: {first}'
    if not CODE.search(text) and not name.startswith('corpus/'):
        return f'no code: {first}'
    lacks = 'bf16' in words and not chip[3]
    if name.startswith('corpus/') or lacks:
        return None
    if not mode:
        return f'the default of the chip refuses: {first}'
    if is_quantized(name) and chip[2] == 'A2' and 'E20101' not in text:
        return f'a quantized model is refused: {first}'
    return None


def atc_line(summary, chip, path):
    """What is wrong with the line that tells how to go on."""
    line = summary['next']
    for part in (f'--soc_version={chip}', f'--model={path}', '--framework=1',
                 '--precision_mode=must_keep_origin_dtype'):
        if part not in line:
            return f'no {part} in {line}'
    return None


def problem(args, folder, number, case):
    """What is wrong with one conversion, or None."""
    _, path, _, chip, mode = case
    out = os.path.join(folder, f'{number}.air')
    argv = [args.tailor, 'convert', path, '-o', out, '--soc_version=' + chip[0], '--summary=json']
    p = guard.run(argv + ([mode] if mode else []), capture_output=True, text=True,
                  errors='replace', check=False)
    text = p.stdout + p.stderr
    if p.returncode:
        return refusal(case, p.returncode, text)
    found = op_columns.judge(out, TABLES[chip[2]], list(TABLES.values()))
    os.remove(out)
    summary = json.loads(text[text.index('{"model"'):])
    bad = [t for kind, t in found
           if kind in ('float', 'absent') and not op_columns.plain_cast(t, chip[3])]
    bad += [t for kind, t in found if kind == 'cube' and re.search(r' (f32|f16|bf16|hif8)', t)]
    if bad:
        return f'{len(bad)} nodes are outside of the table: {bad[0]}'
    said = summary['dtypes']['ai_cpu']['nodes']
    if said != len(found):
        return f'{len(found)} nodes are for AI CPUs, the summary says {said}'
    return atc_line(summary, chip[0], out)


def lowered(args, folder, text, chip):
    """What the summary says of the model of `text` on a chip without f32 products."""
    path = os.path.join(folder, 'said.tir')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    p = guard.run([args.tailor, 'convert', path, '-o', os.path.join(folder, 'said.air'),
                   '--soc_version=' + chip], capture_output=True, text=True, check=False)
    return re.findall(r'^  dtypes   .*', p.stdout + p.stderr, re.M)


def cases(args, folder):
    """(model name, path, words, chip, mode) of all that is to be tried."""
    files = []
    for name, (text, words) in chip_models.models().items():
        path = os.path.join(folder, name + '.tir')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        files.append((name, path, words))
    if args.full:
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        *STEPS], capture_output=True, check=True)
        files += [('corpus/' + s, os.path.join(folder, s + '.onnx'), ()) for s in STEPS]
        files += [('corpus/' + c.name, c.path, ()) for c in list(models.corpus(ROOT))[::10]
                  if c.ort]
    modes = [''] + [option + m for option, ms in MODES.items() for m in ms]
    seen, turn = set(), 0
    for chip in chips():
        if not args.full and chip[1] in seen:
            continue
        seen.add(chip[1])
        for mode in modes:
            for name, path, words in files:
                turn += 1
                if args.only and args.only not in f'{name} {chip[0]} {mode}':
                    continue
                small = name.startswith('corpus/') and chip[0] not in ('Ascend910A', 'Ascend310P3',
                                                                       'Ascend910B1', 'Ascend950')
                part = not args.full and mode and not is_quantized(name) and turn % 3
                if not small and not part:
                    yield name, path, words, chip, mode


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--full', action='store_true')
    ap.add_argument('--only', default='')
    ap.add_argument('--jobs', type=int, default=os.cpu_count())
    args = ap.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = list(cases(args, folder))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            found = pool.map(lambda j: problem(args, folder, *j), enumerate(jobs))
            for (name, _, _, chip, mode), why in zip(jobs, found):
                passed += not why
                failed += bool(why)
                if why:
                    print(f'FAIL {name} on {chip[0]} {mode or "without a mode"}: {why}')
        for chip in ('Ascend910A', 'Ascend310', 'Ascend310P3'):
            said = lowered(args, folder, chip_models.conv_norm(), chip)
            want = (f'  dtypes   the model\'s own; as allow_fp32_to_fp16 f16 in 2 nodes, for which '
                    f'{chip} has no f32: Conv2D `bn/Conv` the first')
            passed += said == [want]
            failed += said != [want]
            if said != [want]:
                print(f'FAIL summary on {chip}: {said}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
