#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NPU ops that other tools write: what `run` computes for an AIR file with one such op, against the
op's formula in NumPy; and the file becomes ONNX.

  tests/air/foreign_ops.py --tailor T

A row of CASES: the call as textual IR has it, its operands by name, and the results. Operands whose
names begin with c are constants of the file, the others inputs."""
import argparse
import os
import sys
import tempfile

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

RNG = np.random.default_rng(7)
TYPES = {'float32': 'f32', 'int32': 'i32', 'int64': 'i64', 'bool': 'bool'}


def normal(*dims):
    return RNG.normal(size=dims).astype(np.float32)


def ints(*values, dtype=np.int32):
    return np.array(values, dtype)


def one(value, dtype=np.int32):
    return np.array(value, dtype)


def softplus(x):
    return np.log1p(np.exp(x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(x, gamma, beta, eps):
    mean = x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)
    return [(x - mean) * rstd * gamma + beta, mean, rstd]


def windows(x, size, stride, best):
    """Windows over the last two dims that begin and end in the image (VALID)."""
    h, w = ((d - size) // stride + 1 for d in x.shape[2:])
    return np.array([[[[best(x[n, c, i * stride:i * stride + size, j * stride:j * stride + size])
                        for j in range(w)] for i in range(h)] for c in range(x.shape[1])]
                     for n in range(x.shape[0])], np.float32)


def one_hot(x, depth, on, off):
    return np.where(x[..., None] == np.arange(depth), np.float32(on), np.float32(off))


def lstm(x, w, b, h, c, forget):
    steps = []
    for t in range(x.shape[0]):
        i, j, f, o = np.split(np.concatenate([x[t], h], 1) @ w + b, 4, axis=1)
        c = sigmoid(f + forget) * c + sigmoid(i) * np.tanh(j)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.array(steps)


def scatter(indices, updates, shape):
    out = np.zeros(shape, np.float32)
    for i, place in enumerate(indices):
        out[tuple(place)] += updates[i]
    return out


def corners(x, size):
    """Bilinear, with the corners of the images on each other."""
    h, w = x.shape[2:]
    out = np.zeros((*x.shape[:2], *size), np.float32)
    for i in range(size[0]):
        for j in range(size[1]):
            a, b = i * (h - 1) / (size[0] - 1), j * (w - 1) / (size[1] - 1)
            p, q = min(int(a), h - 2), min(int(b), w - 2)
            s, t = a - p, b - q
            out[..., i, j] = ((1 - s) * ((1 - t) * x[..., p, q] + t * x[..., p, q + 1])
                              + s * ((1 - t) * x[..., p + 1, q] + t * x[..., p + 1, q + 1]))
    return out


A, B, C = normal(2, 3), normal(2, 3), normal(2, 3)
M, N, V = normal(3, 4), normal(4, 5), normal(5)
IMAGE = normal(1, 2, 4, 4)
TINY = np.array([0.0, 1e-6, -1e-6, 0.3, -0.7, 5.0, 60.0], np.float32)
WHOLE, OTHER = ints(7, -7, 6, -5, 0), ints(2, 2, -4, -3, 9)
KEEP = np.array([[True, False, True], [False, False, True]])
X, W, BIAS = normal(3, 2, 4), normal(9, 20), normal(20)
H, CELL = normal(1, 2, 5), normal(1, 2, 5)
HALVES = ('AvgPool',)  # ops that the chip has in halves only: the conversion casts

CASES = [
    ('AddV2(%a, %b)', {'a': A, 'b': B}, [A + B]),
    ('AddN(%a, %b, %d) {N=3}', {'a': A, 'b': B, 'd': C}, [A + B + C]),
    ('Addcdiv(%a, %b, %d, %e)', {'a': A, 'b': B, 'd': C, 'e': V[:1]}, [A + V[0] * B / C]),
    ('Addcmul(%a, %b, %d, %e)', {'a': A, 'b': B, 'd': C, 'e': V[:1]}, [A + V[0] * B * C]),
    ('ApplyAdagradV2(%a, %b, %lr, %e, %g)',
     {'a': A, 'b': np.abs(B), 'lr': one(0.1, np.float32), 'e': one(1e-3, np.float32), 'g': C},
     [A - 0.1 * C / (np.sqrt(np.abs(B) + C * C) + 1e-3)]),
    ('ArgMaxV2(%a, %c) {dtype=dtype(i32)}', {'a': A, 'c': one(1)},
     [A.argmax(1).astype(np.int32)]),
    ('ArgMin(%a, %c) {dtype=dtype(i64)}', {'a': A, 'c': one(1)}, [A.argmin(1)]),
    ('ArgMinWithValue(%a) {dimension=0, keep_dims=true}', {'a': A},
     [A.argmin(0, keepdims=True).astype(np.int32), A.min(0, keepdims=True)]),
    ('AvgPool(%a) {ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], padding="VALID", data_format="NCHW"}',
     {'a': IMAGE}, [windows(IMAGE, 2, 2, np.mean)]),
    ('Axpy(%a, %b) {alpha=0.5}', {'a': A, 'b': B}, [A + B * np.float32(0.5)]),
    ('BatchMatMulV3(%a, %b) {adj_x2=true}', {'a': normal(2, 3, 4), 'b': normal(2, 5, 4)},
     lambda a, b: [a @ b.transpose(0, 2, 1)]),
    ('BiasAdd(%a, %b) {data_format="NCHW"}', {'a': IMAGE, 'b': V[:2]},
     [IMAGE + V[:2].reshape(2, 1, 1)]),
    ('BiasAdd(%a, %b)', {'a': IMAGE, 'b': V[:4]}, [IMAGE + V[:4]]),
    ('ClipByValueV2(%a, %l, %h)', {'a': A, 'l': V[:1] * 0 - 0.5, 'h': V[:1] * 0 + 0.5},
     [A.clip(-0.5, 0.5)]),
    ('Concat(%c, %a, %b) {N=2}', {'c': one(1), 'a': A, 'b': B}, [np.concatenate([A, B], 1)]),
    ('ConcatV2D(%a, %b) {concat_dim=0, N=2}', {'a': A, 'b': B}, [np.concatenate([A, B], 0)]),
    ('CumprodD(%a) {axis=1}', {'a': A}, [A.cumprod(1)]),
    ('CumsumD(%a) {axis=1, reverse=true}', {'a': A}, [A[:, ::-1].cumsum(1)[:, ::-1]]),
    ('DivNoNan(%a, %b)', {'a': A, 'b': B * KEEP}, [np.where(KEEP, A / B, 0)]),
    ('DynamicRNN(%x, %w, %b, _, %h, %d) {cell_type="LSTM", forget_bias=0.5}',
     {'x': X, 'w': W, 'b': BIAS, 'h': H, 'd': CELL},
     [lstm(X, W, BIAS, H[0], CELL[0], 0.5)] * 2),
    ('Eltwise(%a, %b) {N=2, mode=0}', {'a': A, 'b': B}, [A * B]),
    ('Eltwise(%a, %b, %d) {N=3}', {'a': A, 'b': B, 'd': C}, [A + B + C]),
    ('Eltwise(%a, %b, %d) {N=3, mode=2}', {'a': A, 'b': B, 'd': C},
     [np.maximum(np.maximum(A, B), C)]),
    ('Erfc(%a)', {'a': ints(0, 1, 2, dtype=np.float32)}, [np.array([1, 0.157299, 0.004677735])]),
    ('EuclideanNorm(%a, %c) {keep_dims=true}', {'a': A, 'c': ints(1)},
     [np.sqrt((A * A).sum(1, keepdims=True))]),
    ('ExpandD(%a) {shape=[4, 2, 3]}', {'a': A}, [np.broadcast_to(A, (4, 2, 3))]),
    ('ExpandDims(%a, %c)', {'a': A, 'c': one(-1)}, [A[..., None]]),
    ('Expm1(%a)', {'a': TINY}, [np.expm1(TINY)]),
    ('Fills(%a) {value=2.5}', {'a': A}, [np.full_like(A, 2.5)]),
    ('FlattenV2(%a)', {'a': IMAGE}, [IMAGE.reshape(1, -1)]),
    ('FlattenV2(%a) {axis=2}', {'a': IMAGE}, [IMAGE.reshape(1, 2, -1)]),
    ('FloorDiv(%a, %b)', {'a': WHOLE, 'b': OTHER}, [WHOLE // OTHER]),
    ('FloorDiv(%a, %b)', {'a': A, 'b': B}, [np.floor(A / B)]),
    ('Gather(%a, %c)', {'a': A, 'c': ints(1, 0, 1)}, [A[[1, 0, 1]]]),
    ('GatherV2D(%a, %c) {axis=1}', {'a': A, 'c': ints(2, 0)}, [A[:, [2, 0]]]),
    ('HardShrink(%a) {lambd=0.6}', {'a': A}, [np.where(np.abs(A) > 0.6, A, 0)]),
    ('InplaceAddRmsNorm(%a, %b, %g) {epsilon=0.001}', {'a': A, 'b': B, 'g': C[0]},
     lambda a, b, g: [(a + b) / np.sqrt(((a + b) ** 2).mean(1, keepdims=True) + 0.001) * g,
                      1 / np.sqrt(((a + b) ** 2).mean(1, keepdims=True) + 0.001), a + b]),
    ('Inv(%a)', {'a': A}, [1 / A]),
    ('L2Loss(%a)', {'a': A}, [np.float32((A * A).sum() / 2)]),
    ('LayerNormV3(%a, %b, %d) {begin_norm_axis=1, begin_params_axis=-1, epsilon=0.001}',
     {'a': A, 'b': B[0], 'd': C[0]}, layer_norm(A, B[0], C[0], 0.001)),
    ('LinSpace(%a, %b, %c)', {'a': V[:1], 'b': V[1:2], 'c': ints(5)},
     [np.linspace(V[0], V[1], 5).astype(np.float32)]),
    ('LinSpace(%a, %b, %c)', {'a': V[:1], 'b': V[1:2], 'c': ints(1)}, [V[:1]]),
    ('Log1p(%a)', {'a': TINY}, [np.log1p(TINY)]),
    ('LogSigmoid(%a)', {'a': A}, [-softplus(-A)]),
    ('MaskedFill(%a, %m, %v)', {'a': A, 'm': KEEP, 'v': V[:1]}, [np.where(KEEP, V[0], A)]),
    ('MatMul(%a, %b, %d) {transpose_x1=true}', {'a': M.T.copy(), 'b': N, 'd': V}, [M @ N + V]),
    ('MatMulV3(%a, %b) {transpose_x2=true}', {'a': M, 'b': N.T.copy()}, [M @ N]),
    ('MaxPool(%a) {ksize=[1, 1, 2, 2], strides=[1, 1, 1, 1], padding="VALID", data_format="NCHW"}',
     {'a': IMAGE}, [windows(IMAGE, 2, 1, np.max)]),
    ('MirrorPad(%a, %c) {mode="REFLECT"}', {'a': A, 'c': np.array([[0, 1], [2, 0]], np.int32)},
     [np.pad(A, [[0, 1], [2, 0]], mode='reflect')]),
    ('NotEqual(%a, %b)', {'a': WHOLE, 'b': ints(7, 7, 6, 5, 0)}, [WHOLE != [7, 7, 6, 5, 0]]),
    ('OneHot(%a, %c, %on, %off)', {'a': ints(1, -1, 3, 0), 'c': one(3), 'on': one(5, np.float32),
                                   'off': one(-1, np.float32)},
     [one_hot(ints(1, -1, 3, 0), 3, 5, -1)]),
    ('OneHotD(%a, %on, %off) {depth=4, axis=0}', {'a': ints(1, 3), 'on': one(1, np.float32),
                                                  'off': one(0, np.float32)},
     [one_hot(ints(1, 3), 4, 1, 0).T]),
    ('OnesLike(%a)', {'a': WHOLE}, [np.ones_like(WHOLE)]),
    ('Pack(%a, %b) {axis=1, N=2}', {'a': A, 'b': B}, [np.stack([A, B], 1)]),
    ('Pad(%a, %c)', {'a': A, 'c': np.array([[1, 0], [0, 2]], np.int32)},
     [np.pad(A, [[1, 0], [0, 2]])]),
    ('PadV2(%a, %c, %v)', {'a': A, 'c': np.array([[1, 0], [0, 2]], np.int32),
                           'v': one(9, np.float32)},
     [np.pad(A, [[1, 0], [0, 2]], constant_values=9)]),
    ('ReduceAllD(%a) {axes=[1]}', {'a': KEEP}, [KEEP.all(1)]),
    ('ReduceAnyD(%a) {axes=[0], keep_dims=true}', {'a': KEEP}, [KEEP.any(0, keepdims=True)]),
    ('ReduceMaxD(%a) {axes=[0]}', {'a': A}, [A.max(0)]),
    ('ReduceMeanD(%a) {axes=[0, 1], keep_dims=true}', {'a': A}, [A.mean(keepdims=True)]),
    ('ReduceMinD(%a) {axes=[-1]}', {'a': A}, [A.min(-1)]),
    ('ReduceProdD(%a) {axes=[1]}', {'a': A}, [A.prod(1)]),
    ('ReduceSumD(%a) {axes=[1], keep_dims=true}', {'a': A}, [A.sum(1, keepdims=True)]),
    ('ResizeBilinearV2(%a, %c) {align_corners=true}', {'a': IMAGE, 'c': ints(7, 3)},
     [corners(IMAGE, (7, 3))]),
    ('ReverseV2(%a, %c)', {'a': A, 'c': ints(0, 1)}, [A[::-1, ::-1]]),
    ('ReverseV2D(%a) {axis=[1]}', {'a': A}, [A[:, ::-1]]),
    ('Rint(%a)', {'a': ints(0.5, 1.5, -2.5, 2.6, dtype=np.float32)}, [np.array([0, 2, -2, 3.0])]),
    ('Scale(%a, %s, %b)', {'a': IMAGE, 's': V[:2], 'b': V[2:4]},
     [IMAGE * V[:2].reshape(2, 1, 1) + V[2:4].reshape(2, 1, 1)]),
    ('ScatterNd(%i, %a, %c)', {'i': np.array([[1], [3], [1]], np.int32), 'a': V[:3],
                               'c': ints(5)}, [scatter([[1], [3], [1]], V[:3], 5)]),
    ('Select(%m, %a, %b)', {'m': np.array([True, False]), 'a': A, 'b': B},
     [np.stack([A[0], B[1]])]),
    ('Select(%m, %a, %b)', {'m': KEEP, 'a': A, 'b': B}, [np.where(KEEP, A, B)]),
    ('Slice(%a, %c, %d)', {'a': IMAGE, 'c': ints(0, 1, 1, 0), 'd': ints(1, 1, -1, 2)},
     [IMAGE[0:1, 1:2, 1:, 0:2]]),
    ('SliceV2(%a, %c, %d)', {'a': A, 'c': ints(1, 0), 'd': ints(-1, 2)}, [A[1:, :2]]),
    ('SoftShrink(%a) {lambd=0.3}', {'a': A}, [np.sign(A) * np.maximum(np.abs(A) - 0.3, 0)]),
    ('SoftplusV2(%a) {beta=2.0, threshold=1.0}', {'a': A},
     [np.where(A * 2 > 1, A, softplus(A * 2) / 2)]),
    ('Sort(%a) {descending=true}', {'a': A},
     [-np.sort(-A), np.argsort(-A, kind='stable').astype(np.int32)]),
    ('SplitD(%a) {split_dim=1, num_split=2}', {'a': M}, [M[:, :2], M[:, 2:]]),
    ('SplitVD(%a) {split_dim=1, num_split=2, size_splits=[1, 3]}', {'a': M},
     [M[:, :1], M[:, 1:]]),
    ('SquaredDifference(%a, %b)', {'a': A, 'b': B}, [(A - B) ** 2]),
    ('SquaredRelu(%a)', {'a': A}, [np.maximum(A, 0) ** 2]),
    ('StridedSlice(%a, %c, %d, %e)', {'a': IMAGE[0, 0], 'c': ints(0, -1), 'd': ints(4, -4),
                                      'e': ints(2, -1)}, [IMAGE[0, 0, 0:4:2, -1:-4:-1]]),
    ('StridedSliceD(%a) {begin=[1, 0], end=[3, 4], strides=[1, 2]}', {'a': IMAGE[0, 0]},
     [IMAGE[0, 0, 1:3, 0:4:2]]),
    ('Threshold(%a) {threshold=0.2}', {'a': A}, [(A > 0.2).astype(np.float32)]),
    ('TileD(%a) {multiples=[2, 1]}', {'a': A}, [np.tile(A, (2, 1))]),
    ('TopKV2(%a, %c) {largest=false}', {'a': A, 'c': one(2)},
     [np.sort(A)[:, :2], np.argsort(A)[:, :2].astype(np.int32)]),
    ('TransposeV2(%a, %c)', {'a': IMAGE, 'c': ints(0, 2, 3, 1)}, [IMAGE.transpose(0, 2, 3, 1)]),
    ('Tril(%a) {diagonal=-1}', {'a': M}, [np.tril(M, -1)]),
    ('Triu(%a) {diagonal=1}', {'a': M}, [np.triu(M, 1)]),
    ('Trunc(%a)', {'a': ints(-1.7, 1.7, 0.2, dtype=np.float32)}, [np.array([-1, 1, 0.0])]),
    ('TruncateDiv(%a, %b)', {'a': WHOLE, 'b': OTHER},
     [np.trunc(WHOLE / OTHER).astype(np.int32)]),
    ('TruncateMod(%a, %b)', {'a': WHOLE, 'b': OTHER}, [np.fmod(WHOLE, OTHER)]),
    ('Where(%a)', {'a': KEEP}, [np.argwhere(KEEP)]),
    ('Xlogy(%a, %b)', {'a': A * KEEP, 'b': np.abs(B) * KEEP},
     [np.where(KEEP, A * np.log(np.abs(B)), 0)]),
    ('ZerosLike(%a)', {'a': KEEP}, [np.zeros_like(KEEP)]),
]


def spelled(array):
    name = TYPES[array.dtype.name]
    return f"{name}[{','.join(map(str, array.shape))}]"


def literal(array):
    values = [str(v).lower() for v in array.flatten().tolist()]
    return values[0] if array.ndim == 0 else f"[{', '.join(values)}]"


def text(call, operands, results):
    given = [n for n in operands if not n.startswith('c')]
    names = [f'%out{i}' for i in range(len(results))]
    head, _, attrs = call.partition(' {')
    lines = ['module {', '  form npu', '}', '',
             f"graph @g({', '.join(f'%{n}: {spelled(operands[n])}' for n in given)}) -> "
             f"({', '.join(names)}) {{"]
    lines += [f'  const %{n}: {spelled(v)} = {literal(v)}' for n, v in operands.items()
              if n.startswith('c')]
    lines += [f"  {', '.join(names)} = npu::{head} @node {{{attrs or '}'} : "
              f"{', '.join(map(spelled, results))}", '}', '']
    return '\n'.join(lines)


def check(tool, room, call, operands, results):
    """None, or what is wrong."""
    def run(*argv):
        done = guard.run([tool, *argv], capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if 'error: ' in line] or ['']
        return None if done.returncode == 0 else f'{argv[0]}: {done.returncode} {said[0][:300]}'

    tir, air, onnx = (os.path.join(room, n) for n in ('a.tir', 'a.air', 'a.onnx'))
    with open(tir, 'w', encoding='utf-8') as f:
        f.write(text(call, operands, results))
    inputs = []
    for name, value in operands.items():
        if not name.startswith('c'):
            np.save(os.path.join(room, name + '.npy'), value)
            inputs.append(f"--input={name}={os.path.join(room, name + '.npy')}")
    out = os.path.join(room, 'out')
    why = (run('convert', tir, '-o', air, '-q', '-O0')
           or run('run', air, *inputs, '-o', out, '--format=npy', '-q')
           or run('convert', air, '-o', onnx, '-q') or run('verify', air, onnx, *inputs, '-q'))
    if why:
        return why
    for i, want in enumerate(results):
        got = np.load(os.path.join(out, f'output_{i}.npy'))
        if got.shape != want.shape or got.dtype != want.dtype:
            return f'result {i} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}'
        rtol = 2e-3 if call.startswith(HALVES) else 2e-5
        if not np.allclose(got, want, rtol=rtol, atol=rtol / 100):
            return f'result {i} is {got.flatten()[:6]}, not {want.flatten()[:6]}'
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    failed = 0
    for call, operands, results in CASES:
        wanted = results(*operands.values()) if callable(results) else results
        wanted = [np.asarray(r, np.float32) if np.asarray(r).dtype == np.float64
                  else np.asarray(r) for r in wanted]
        with tempfile.TemporaryDirectory() as room:
            why = check(args.tailor, room, call, operands, wanted)
        failed += why is not None
        if why:
            print(f'FAIL {call}: {why}')
    print(f'{len(CASES) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
