#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What other converters to f16 are known to get wrong, done right: models in peers/, and weights of
more than 2 GB.

  peers.py --tailor BIN [--ort DIR]

A model begins with lines '# options: SETS' (of options, separated by '|'; each is a run),
'# cosine: X' (the least similarity of outputs), '# shows: N PATTERN' (how often the result matches
it), and '# file NAME: TEXT' (a file beside it; blanks in a .cfg are ends of lines). Every result is
also loaded and run in ONNX Runtime with --ort. The last line is 'N passed, M failed, K skipped'."""
import argparse
import glob
import os
import re
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'hostile'))
import wire  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

SIDE = 24000  # of a square f32 weight: 2.3 GB
MEMORY = 256 << 20  # bytes of private memory that converting it may take


def call(work, *words):
    p = guard.run(words, cwd=work, capture_output=True, text=True, cpu=300)
    return p.returncode, p.stdout, p.stderr.strip()


def directives(text, name):
    return re.findall(rf'^# {name} ?(.*)$', text, re.M)


def prepare(work, text, original, tool):
    for line in directives(text, 'file'):
        name, content = line.split(': ', 1)
        with open(os.path.join(work, name), 'w', encoding='utf-8') as f:
            f.write(content.replace(' ', '\n') if name.endswith('.cfg') else content)
    with open(os.path.join(work, 'model.tir'), 'w', encoding='utf-8') as f:
        f.write(text)
    return call(work, tool, 'convert', 'model.tir', '-q', '-O0', '-o', original)


def problem_of(work, tool, text, options, original, result):
    """'' or what is wrong with one set of options."""
    code, _, told = call(work, tool, 'convert', original, '-q', '--verify-each', '-o', result,
                         *options)
    if code:
        return told
    cosine = directives(text, 'cosine:')[0]
    code, out, told = call(work, tool, 'verify', original, result, '--cosine=' + cosine,
                           '--tensors=0', *(['--rtol=0', '--atol=0'] if cosine == '1' else []))
    if code:
        return out + told
    _, printed, _ = call(work, tool, 'opt', result, '-O0', '-q', '--emit=tir', '-o', '-')
    for line in directives(text, 'shows:'):
        count, pattern = line.split(' ', 1)
        found = len(re.findall(pattern, printed))
        if found != int(count):
            return f'{pattern} is in {found} places, expected in {count}:\n{printed}'
    return ''


def models(args, work):
    """Yields (name, problem); ONNX Runtime has its say at the end."""
    rows = []
    for number, path in enumerate(sorted(glob.glob(os.path.join(HERE, 'peers', '*.tir')))):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        name = os.path.basename(path)[:-4]
        original = os.path.join(work, f'{number}.onnx')
        code, _, told = prepare(work, text, original, args.tailor)
        if code:
            yield name, told
            continue
        for i, options in enumerate(directives(text, 'options:')[0].split(' | ')):
            result = os.path.join(work, f'{number}.{i}.onnx')
            problem = problem_of(work, args.tailor, text, options.split(), original, result)
            yield f'{name} {options}', problem
            if not problem:
                rows.append((f'{name} {options} in ONNX Runtime', original, result, '-'))
    if args.ort:
        yield from in_runtime(args, work, rows)


def in_runtime(args, work, rows):
    """Loads and runs results. ONNX Runtime computes halves in f32 and leaves out roundings between:
    where all of a row is masked, that is much. How close they are was judged before."""
    listing = os.path.join(work, 'list.tsv')
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines('\t'.join(row) + '\n' for row in rows)
    _, out, told = call(work, 'node', os.path.join(ROOT, 'tests/ort/ort_batch.js'), listing,
                        '--ort', args.ort, '--cos', '0.99')
    found = {s.split('\t')[0]: s.split('\t')[1:] for s in out.splitlines() if '\t' in s}
    for name, *_ in rows:
        status, detail = found.get(name, ('nothing said', told))
        yield name, '' if status == 'ok' else f'{status} {detail}'


# ---- more than 2 GB -----------------------------------------------------------------------------

# Element of the weight -> its number, and what is 16 bits of it in f16.
MARKS = {0: (1.0, 0x3c00), 7: (1e5, 0x7bff), 8: (-0.333251953125, 0xb555),
         SIDE * SIDE // 2: (65504.0, 0x7bff), SIDE * SIDE - 1: (2.0 ** -24, 0x0001)}


def large(args, work):
    """A weight of 2.3 GB, nearly all of it a hole in its file, becomes f16 in 256 MB of memory."""
    folder = os.path.join(work, 'large')
    os.mkdir(folder)
    size = SIDE * SIDE * 4
    if shutil.disk_usage(work).free < 2 * size:
        return None
    with open(os.path.join(folder, 'w.bin'), 'wb') as f:
        f.truncate(size)
        for i, (number, _) in MARKS.items():
            f.seek(4 * i)
            f.write(struct.pack('<f', number))
    with open(os.path.join(folder, 'model.onnx'), 'wb') as f:
        f.write(wire.one_weight(('w.bin', '0', str(size)), (SIDE, SIDE)))
    code, _, told = call(folder, 'prlimit', f'--data={MEMORY}', args.tailor, 'convert',
                         'model.onnx', '-q', '--precision-mode=force_fp16', '-o', 'low.onnx')
    if code:
        return told or f'exit {code}'
    return check_large(os.path.join(folder, 'low.onnx'), size // 2)


def check_large(path, size):
    """The f16 weight is the longest field of the file: found by its marks, first and last."""
    total = os.path.getsize(path)
    with open(path, 'rb') as f:
        head = f.read(4096)
        start = head.find(struct.pack('<H', MARKS[0][1]) + bytes(12))
        if start < 0 or total - size > 4096:
            return f'no f16 weight in a file of {total} bytes'
        for i, (number, bits) in MARKS.items():
            f.seek(start + 2 * i)
            found = struct.unpack('<H', f.read(2))[0]
            if found != bits:
                return f'element {i}, {number}: {found:#06x}, expected {bits:#06x}'
    return ''


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', help='folder with node_modules/onnxruntime-node')
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    args.ort = os.path.abspath(args.ort) if args.ort else None
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        found = list(models(args, work)) + [('weights of 2.3 GB', large(args, work))]
    for name, problem in found:
        passed += problem == ''
        failed += bool(problem)
        skipped += problem is None
        if problem is None:
            print(f'skip {name}: the disk is too full')
        elif problem:
            print(f'FAIL {name}: {problem}')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
