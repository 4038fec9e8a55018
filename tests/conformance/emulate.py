#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--emulate f16 against ONNX Runtime: op by op within two units in the last place of f16.

  emulate.py --tailor BIN --ort DIR [--every N]

For every official test of one node whose tensors are all f32, a twin with f16 tensors runs in ONNX
Runtime (which computes such nodes in f32 and rounds, or in f16 where it has a kernel), and the
original in Tailor with --emulate f16, on the same inputs rounded to f16. Exceptions are listed in
emulate.tsv with reasons. The last line is 'N passed, M failed, K skipped'; what ONNX Runtime does
not run is skipped.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import models  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError:
    np = None

F32, F16 = 1, 10
ULPS = 2


def is_candidate(model):
    g = model.graph
    if len(g.node) != 1 or g.initializer or any(a.type in (5, 10) for a in g.node[0].attribute):
        return False
    types = [v.type.tensor_type.elem_type for v in list(g.input) + list(g.output)]
    return F32 in types[:1] and F32 in types[-1:] and all(t in (F32, 6, 7, 9) for t in types)


def twin(model):
    """The same node over f16; None when the op does not take it."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for v in list(other.graph.input) + list(other.graph.output):
        if v.type.tensor_type.elem_type == F32:
            v.type.tensor_type.elem_type = F16
    try:
        onnx.checker.check_model(other)
    except Exception:  # pylint: disable=broad-except
        return None
    return other


def read_tensor(path):
    t = onnx.TensorProto()
    with open(path, 'rb') as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t), t.name


def write_tensor(path, array, name):
    with open(path, 'wb') as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


def ulps(a, b):
    """Distance of f16 arrays in representable numbers; NaN equals NaN."""
    def rank(x):
        bits = x.astype(np.float16).view(np.int16).astype(np.int32)
        return np.where(bits < 0, -(bits & 0x7fff), bits)
    both = np.isnan(a) & np.isnan(b)
    one = np.isnan(a) ^ np.isnan(b)
    return np.where(both, 0, np.where(one, 99999, np.abs(rank(a) - rank(b)))).max(initial=0)


def compare(args, folder, case):
    """(status, detail) of one case."""
    model = onnx.load(case.path)
    other = twin(model) if is_candidate(model) and case.data else None
    if other is None:
        return None
    here = os.path.join(folder, case.name.replace('/', '_'))
    narrow, wide, theirs, ours = (os.path.join(here, n) for n in ('f16', 'f32', 'ort', 'out'))
    for d in (narrow, wide, theirs, ours):
        os.makedirs(d)
    onnx.save(other, os.path.join(here, 'f16.onnx'))
    for i, v in enumerate(model.graph.input):
        path = os.path.join(case.data, f'input_{i}.pb')
        if not os.path.exists(path):
            return None
        a, _ = read_tensor(path)
        half = a.astype(np.float16) if a.dtype == np.float32 else a
        write_tensor(os.path.join(narrow, f'input_{i}.pb'), half, v.name)
        write_tensor(os.path.join(wide, f'input_{i}.pb'), half.astype(a.dtype), v.name)
    runner = os.path.join(ROOT, 'tools/runners/onnxruntime.js')
    env = dict(os.environ, NODE_PATH=os.path.join(args.ort, 'node_modules'))
    p = guard.run(['node', runner, os.path.join(here, 'f16.onnx'), narrow, theirs], env=env,
                  capture_output=True, text=True)
    if p.returncode:
        return 'skip', 'ONNX Runtime does not run it'
    p = guard.run([args.tailor, 'run', case.path, '--input', wide, '--emulate', 'f16',
                   '--output', ours, '-q'], capture_output=True, text=True)
    if p.returncode:
        return 'fail', p.stderr.strip().splitlines()[0]
    worst = 0
    for i in range(len(model.graph.output)):
        a, _ = read_tensor(os.path.join(theirs, f'output_{i}.pb'))
        b, _ = read_tensor(os.path.join(ours, f'output_{i}.pb'))
        if a.dtype == np.float16:
            worst = max(worst, int(ulps(a, b)))
    return ('pass' if worst <= ULPS else 'fail'), f'{worst} units in the last place'


def read_exceptions():
    rows = {}
    with open(os.path.join(HERE, 'emulate.tsv'), encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                name, reason = line.rstrip('\n').split('\t')
                rows[name] = reason
    return rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--only')
    p.add_argument('--every', type=int, default=1, help='one case of N')
    args = p.parse_args()
    if np is None:
        print('python3-onnx is not installed\n0 passed, 0 failed, 1 skipped')
        return 0
    cases = [c for c in models.official(ROOT) if not args.only or args.only in c.name]
    cases = cases[::args.every]
    expected = read_exceptions()
    counts = {'pass': 0, 'fail': 0, 'skip': 0}
    with tempfile.TemporaryDirectory(prefix='tailor-emulate-') as folder:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda c: compare(args, folder, c), cases))
    for case, result in zip(cases, results):
        if result is None:
            continue
        status, detail = result
        known = expected.pop(case.name, None) if status != 'skip' else None
        if known and status == 'fail':
            status = 'skip'
        elif known:
            status, detail = 'fail', f'holds now; remove it from emulate.tsv ("{known}")'
        counts[status] += 1
        if status == 'fail':
            print(f'FAIL {case.name}: {detail}')
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    return 1 if counts['fail'] else 0


if __name__ == '__main__':
    sys.exit(main())
