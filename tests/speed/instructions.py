#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of whole commands against tests/speed/instructions.tsv, which has a limit for each
case and the reason for it. valgrind counts: a busy machine changes nothing. Limits are for x86-64
and the compiler that the file names.

  instructions.py --tailor BIN [--only TEXT] [--update]

A case above its limit fails. --update writes limits 2 percent above what was counted; reasons
stay. The last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'bench'))
import counting  # noqa: E402

TABLE = os.path.join(ROOT, 'tests', 'speed', 'instructions.tsv')
MARGIN = 1.02
MIXED = ['--precision-mode=allow_mix_precision']
# case: model (None: no model), options, suffix of the output
CASES = {
    'version': (None, ['--version'], None),
    'llama_1k.onnx': ('llama_1k', [], 'onnx'),
    'llama_1k.air': ('llama_1k', [], 'air'),
    'llama_1k.air.mixed': ('llama_1k', MIXED, 'air'),
    'llama_4k.onnx': ('llama_4k', [], 'onnx'),
    'llama_4k.air': ('llama_4k', [], 'air'),
    'bert_tiny.onnx': ('bert_tiny', [], 'onnx'),
    'bert_tiny.air': ('bert_tiny', [], 'air'),
    'llama_1k.ort': ('llama_1k', ['--target=onnxruntime'], 'onnx'),
    'llama_4k.air.mixed': ('llama_4k', MIXED, 'air'),
    'llama_10k.onnx': ('llama_10k', [], 'onnx'),
    'bert_tiny.air.mixed': ('bert_tiny', MIXED, 'air'),
}


def read_table():
    """(compiler, {case: (limit, reason)}) of the file."""
    compiler, rows = None, {}
    with open(TABLE, encoding='utf-8') as f:
        for line in f:
            if line.startswith('# compiler: '):
                compiler = line[len('# compiler: '):].strip()
            elif line.strip() and not line.startswith('#'):
                case, limit, reason = line.rstrip('\n').split('\t')
                rows[case] = (int(limit), reason)
    return compiler, rows


def write_table(counts, rows):
    with open(TABLE, encoding='utf-8') as f:
        head = [line for line in f if line.startswith('#')]
    with open(TABLE, 'w', encoding='utf-8') as f:
        f.writelines(head)
        for case in CASES:
            limit, reason = rows.get(case, (0, ''))
            if case in counts:
                limit = -(-int(counts[case] * MARGIN) // 10000) * 10000
            f.write(f'{case}\t{limit}\t{reason}\n')


def made_by(tailor):
    """The compiler that built the program: its name and the first number of its version."""
    said = subprocess.run([tailor, '--version'], capture_output=True, text=True, check=True).stdout
    found = re.search(r'^compiler: (\w+ \d+)', said, re.M)
    return found[1] if found else 'unknown'


def count(tailor, case, folder):
    model, options, suffix = CASES[case]
    if model is None:
        return counting.instructions([tailor, *options], folder)
    return counting.instructions([tailor, 'convert', model + '.onnx', '-O2', '-q', '--summary=none',
                                  *options, '-o', 'out.' + suffix], folder)


def reason_to_skip(tailor, compiler):
    if platform.machine() != 'x86_64':
        return 'limits are for x86-64'
    if made_by(tailor) != compiler:
        return f'limits are for {compiler}, this program was built by {made_by(tailor)}'
    return counting.missing()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument('--tailor', required=True)
    p.add_argument('--only', default='')
    p.add_argument('--update', action='store_true')
    a = p.parse_args()
    tailor = os.path.abspath(a.tailor)
    compiler, rows = read_table()
    skip = reason_to_skip(tailor, compiler)
    if skip:
        print(f'skip: {skip}\n0 passed, 0 failed, 1 skipped')
        return 0
    cases = [case for case in CASES if a.only in case]
    failed, counts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        *{CASES[case][0]: 0 for case in cases if CASES[case][0]}], check=True,
                       stdout=subprocess.DEVNULL)
        for case in cases:
            counted, (limit, reason) = count(tailor, case, folder), rows.get(case, (0, ''))
            bad = counted is None or (not a.update and (counted > limit or not reason))
            failed += bad
            counts[case] = counted or 0
            print(f'{"FAIL" if bad else "    "} {case:20} {counted or 0:12,} of {limit:12,}')
    if a.update and not failed:
        write_table(counts, rows)
    if failed:
        print('FAIL: make it cheaper again; or --update, and say in the table why it costs more')
    print(f'{len(cases) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
