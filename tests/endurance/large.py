#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes at once, and a model near all limits at once.

  large.py --tailor BIN [--processes N] [--nodes N --gigabytes N]

N processes convert one model at the same time, each into a file of its own and all into one file,
through one cache: all succeed, the bytes are the same, nothing else is left. And a model of N nodes
whose weights are holes of a file of N GB: its output takes no room either, and it is a model with
the same weights. The last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIDE = 16384  # of a weight: 1 GiB in f32
GIB = 1 << 30


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, data):
    """A protobuf field: bytes, text or an integer."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def weight(i):
    """Initializer i: gigabyte i of the file beside the model."""
    where = [('location', 'weights.bin'), ('offset', str(i * GIB)), ('length', str(GIB))]
    return (field(1, SIDE) + field(1, SIDE) + field(2, 1) + field(8, f'w{i}') + field(14, 1) +
            b''.join(field(13, field(1, k) + field(2, v)) for k, v in where))


def value(name):
    shape = field(1, field(1, 1)) + field(1, field(1, SIDE))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def write_giant(folder, nodes, gigabytes):
    """model.onnx: a chain of activations with a product every now and then."""
    with open(os.path.join(folder, 'weights.bin'), 'wb') as f:
        f.truncate(gigabytes * GIB)
    every, parts, last, used = nodes // gigabytes, [], 'x', 0
    for i in range(nodes):
        name, op = f'v{i}', ('Sigmoid', 'Tanh')[i % 2]
        operands = field(1, last)
        if i % every == 0 and used < gigabytes:
            op, operands, used = 'MatMul', operands + field(1, f'w{used}'), used + 1
        parts.append(field(1, operands + field(2, name) + field(3, f'n{i}') + field(4, op)))
        last = name
    parts += [field(2, 'giant')] + [field(5, weight(i)) for i in range(used)]
    parts += [field(11, value('x')), field(12, value(last))]
    model = field(1, 8) + field(8, field(2, 17)) + field(7, b''.join(parts))
    with open(os.path.join(folder, 'model.onnx'), 'wb') as f:
        f.write(model)


def giant(tailor, folder, nodes, gigabytes):
    """(what, whether it holds, details)"""
    write_giant(folder, nodes, gigabytes)
    out = os.path.join(folder, 'out.onnx')
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([tailor, 'convert', os.path.join(folder, 'model.onnx'), '-o', out, '-q',
                        '--summary=none'], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield 'it is converted', p.returncode == 0, p.stderr[-400:]
    if p.returncode:
        return
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f'{nodes} nodes, {gigabytes} GB of sparse weights: {cpu:.2f} s of processor time')
    data = os.stat(out + '.data')
    yield 'weights are as large', data.st_size >= gigabytes * GIB, data.st_size
    yield 'and take no room', data.st_blocks * 512 < 1 << 20, data.st_blocks
    p = subprocess.run([tailor, 'info', out], capture_output=True, text=True, check=False)
    yield 'the result is a model', p.returncode == 0, p.stderr[-400:]


def parallel(tailor, folder, processes):
    """(what, whether it holds, details)"""
    subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                    'llama_1k'], stdout=subprocess.DEVNULL, check=True)
    out = os.path.join(folder, 'out')
    os.mkdir(out)
    started = [subprocess.Popen(
        [tailor, 'convert', os.path.join(folder, 'llama_1k.onnx'), '-q', '--summary=none', '-o',
         os.path.join(out, f'{i}.air'), '-o', os.path.join(out, 'shared.onnx'), '--cache-dir',
         os.path.join(folder, 'cache')], stderr=subprocess.PIPE, text=True)
        for i in range(processes)]
    said = [p.communicate()[1] for p in started]
    yield 'all succeed', all(p.returncode == 0 for p in started), [s for s in said if s][:3]
    files = sorted(os.listdir(out))
    wanted = sorted([f'{i}.air' for i in range(processes)] + ['shared.onnx'])
    yield 'their files are there, and no others', files == wanted, set(files) ^ set(wanted)
    contents = set()
    for name in files:
        with open(os.path.join(out, name), 'rb') as f:
            contents.add((name.endswith('.air'), f.read()))
    yield 'with the same bytes', len(contents) == 2, len(contents)
    p = subprocess.run([tailor, 'cache', 'verify', '--cache-dir', os.path.join(folder, 'cache')],
                       capture_output=True, text=True, check=False)
    yield 'the cache is whole', p.returncode == 0, p.stdout + p.stderr


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--processes', type=int, default=40)
    ap.add_argument('--nodes', type=int, default=10000)
    ap.add_argument('--gigabytes', type=int, default=20)
    args = ap.parse_args()
    tailor, passed, failed = os.path.abspath(args.tailor), 0, 0
    parts = [('processes', lambda f: parallel(tailor, f, args.processes)),
             ('giant', lambda f: giant(tailor, f, args.nodes, args.gigabytes))]
    for name, part in parts:
        folder = tempfile.mkdtemp(prefix='tailor-large-')
        try:
            for what, holds, details in part(folder):
                passed, failed = passed + bool(holds), failed + (not holds)
                if not holds:
                    print(f'FAIL {name}: {what}: {details}')
        finally:
            shutil.rmtree(folder)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
