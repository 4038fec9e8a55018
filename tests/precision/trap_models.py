# SPDX-License-Identifier: Apache-2.0
"""Traps of norms, statistics, exponentials, logarithms and quotients; trap_positions.py has the
others."""
import numpy as np
from trap_graph import trap


# ---- norms --------------------------------------------------------------------------------------

def rms_end(g, x, mean):
    root = g.op('Sqrt', g.op('Add', mean, 1e-6))
    return g.op('Mul', g.op('Mul', x, g.op('Reciprocal', root)), g.normal(64))


def big_hidden(g, scale=400.0):
    return g.linear(g.input(g.normal(4, 64)), 64, 64, scale)


@trap('RMS norm, Pow 2, large activations')
def _(g):
    h = big_hidden(g)
    return rms_end(g, h, g.op('ReduceMean', g.op('Pow', h, 2.0), g.ints(-1)))


@trap('RMS norm, x times x, large activations')
def _(g):
    h = big_hidden(g)
    return rms_end(g, h, g.op('ReduceMean', g.op('Mul', h, h), g.ints(-1)))


@trap('RMS norm, x times its twin, large activations')
def _(g):
    x = g.input(g.normal(4, 64))
    w = g.const(g.normal(64, 64, scale=50))
    h = g.op('MatMul', x, w)
    turned = g.op('Transpose', g.op('Transpose', h, perm=[1, 0]), perm=[1, 0])
    return rms_end(g, h, g.op('ReduceMean', g.op('Mul', h, g.op('Identity', turned)), g.ints(-1)))


@trap('RMS norm, Pow 2, tiny activations')
def _(g):
    h = big_hidden(g, 1e-4)
    mean = g.op('ReduceMean', g.op('Pow', h, 2.0), g.ints(-1))
    return g.op('Div', h, g.op('Sqrt', g.op('Add', mean, 1e-12)))


@trap('root of a mean of squares of tiny numbers')
def _(g):
    return g.op('Sqrt', g.op('ReduceMean', g.op('Pow', big_hidden(g, 1e-4), 2.0), g.ints(1)))


@trap('RMS norm, the op')
def _(g):
    return g.op('RMSNormalization', big_hidden(g, 5000.0), g.const(g.normal(64)), axis=-1)


@trap('mean of squares that is given out')
def _(g):
    return g.op('ReduceMean', g.op('Mul', g.op('Pow', big_hidden(g), 2.0), 0.5), g.ints(1))


@trap('layer norm in parts, mean 500')
def _(g):
    x = g.input(g.normal(4, 64, shift=500))
    d = g.op('Sub', x, g.op('ReduceMean', x, g.ints(-1)))
    var = g.op('ReduceMean', g.op('Pow', d, 2.0), g.ints(-1))
    return g.op('Mul', g.op('Div', d, g.op('Sqrt', g.op('Add', var, 1e-5))), g.normal(64))


@trap('layer norm, the op, mean 1000')
def _(g):
    x = g.input(g.normal(4, 64, shift=1000))
    return g.op('LayerNormalization', x, g.const(g.normal(64)), g.const(g.normal(64)), axis=-1)


@trap('layer norm over channels, Pow 2, epsilon 1e-6')
def _(g):
    x = g.input(g.normal(1, 16, 8, 8, scale=1e-3))
    h = g.op('Conv', x, g.const(g.normal(16, 16, 1, 1, scale=0.05)))
    d = g.op('Sub', h, g.op('ReduceMean', h, g.ints(1)))
    var = g.op('ReduceMean', g.op('Pow', d, 2.0), g.ints(1))
    return g.op('Div', d, g.op('Sqrt', g.op('Add', var, 1e-12)))


@trap('instance norm, the op, mean 300')
def _(g):
    x = g.input(g.normal(1, 4, 16, 16, shift=300))
    return g.op('InstanceNormalization', x, g.const(np.ones(4)), g.const(np.zeros(4)))


@trap('group norm in parts')
def _(g):
    x = g.op('Mul', g.input(g.normal(1, 8, 8, 8)), 300.0)
    r = g.op('Reshape', x, g.ints(1, 2, -1))
    d = g.op('Sub', r, g.op('ReduceMean', r, g.ints(2)))
    var = g.op('ReduceMean', g.op('Mul', d, d), g.ints(2))
    n = g.op('Div', d, g.op('Sqrt', g.op('Add', var, 1e-5)))
    return g.op('Mul', g.op('Reshape', n, g.ints(1, 8, 8, 8)), g.normal(8, 1, 1))


@trap('group norm, the op, large numbers')
def _(g):
    x = g.input(g.normal(1, 8, 8, 8, scale=20000))
    return g.op('GroupNormalization', x, g.const(np.ones(8)), g.const(np.zeros(8)), num_groups=2)


@trap('length by ReduceL2, 4096 numbers')
def _(g):
    h = g.linear(g.input(g.normal(4, 64)), 64, 4096, 1500.0)
    return g.op('Div', h, g.op('ReduceL2', h, g.ints(-1)))


@trap('length by ReduceSumSquare')
def _(g):
    h = big_hidden(g)
    return g.op('Div', h, g.op('Sqrt', g.op('ReduceSumSquare', h, g.ints(-1))))


@trap('length by LpNormalization')
def _(g):
    return g.op('LpNormalization', big_hidden(g, 10000.0), axis=-1, p=2)


@trap('length of tiny vectors, not less than 1e-12')
def _(g):
    h = big_hidden(g, 1e-5)
    length = g.op('ReduceL2', h, g.ints(-1))
    return g.op('Div', h, g.op('Max', length, 1e-12))


@trap('cosine similarity')
def _(g):
    a, b = big_hidden(g), big_hidden(g)
    dot = g.op('ReduceSum', g.op('Mul', a, b), g.ints(-1))
    lengths = [g.op('Sqrt', g.op('ReduceSum', g.op('Mul', v, v), g.ints(-1))) for v in (a, b)]
    return g.op('Div', dot, g.op('Max', g.op('Mul', *lengths), 1e-8))


# ---- statistics ---------------------------------------------------------------------------------

@trap('variance by the mean of squares less the square of the mean')
def _(g):
    x = g.input(g.normal(8, 256, scale=g.rng.uniform(0.5, 4, size=(8, 1)), shift=30))
    mean = g.op('ReduceMean', x, g.ints(1))
    return g.op('Sub', g.op('ReduceMean', g.op('Mul', x, x), g.ints(1)), g.op('Mul', mean, mean))


@trap('standard deviation over time, pooled')
def _(g):
    size = g.rng.choice([0.003, 0.1, 1, 3], size=(2, 16, 1))
    x = g.input(g.normal(2, 16, 64, scale=size, shift=20))
    mean = g.op('ReduceMean', x, g.ints(2))
    var = g.op('ReduceMean', g.op('Pow', g.op('Sub', x, mean), 2.0), g.ints(2))
    return g.op('Mul', g.op('Sqrt', g.op('Clip', var, 1e-12, 1e30)), 1 / size)


@trap('distance by parts: squares less twice the products')
def _(g):
    at = g.normal(1, 32, scale=20)
    a, b = g.input(at + g.normal(6, 32, scale=0.5)), g.input(at + g.normal(5, 32, scale=0.5))
    squares = [g.op('ReduceSum', g.op('Pow', v, 2.0), g.ints(1)) for v in (a, b)]
    both = g.op('Add', squares[0], g.op('Transpose', squares[1], perm=[1, 0]))
    dot = g.op('MatMul', a, g.op('Transpose', b, perm=[1, 0]))
    far = g.op('Sub', both, g.op('Mul', dot, 2.0))
    return g.op('Sqrt', g.op('Relu', far))


@trap('distance of points that are far away')
def _(g):
    a, b = g.input(g.normal(8, 1, 3, scale=800)), g.input(g.normal(1, 8, 3, scale=800))
    d = g.op('Sub', a, b)
    return g.op('Sqrt', g.op('ReduceSum', g.op('Mul', d, d), g.ints(2)))


@trap('kernel of Gaussians')
def _(g):
    a, b = g.input(g.normal(8, 1, 16, scale=30)), g.input(g.normal(1, 8, 16, scale=30))
    far = g.op('ReduceSum', g.op('Pow', g.op('Sub', a, b), 2.0), g.ints(2))
    return g.op('Exp', g.op('Mul', far, -1e-5))


@trap('mean square error of many numbers')
def _(g):
    x, y = g.input(g.normal(4, 8192, scale=90)), g.input(g.normal(4, 8192, scale=90))
    d = g.op('Sub', x, y)
    return g.op('ReduceMean', g.op('Mul', d, d), g.ints(1))


@trap('sum of 4000 positive numbers')
def _(g):
    x = g.op('Relu', g.linear(g.input(g.normal(4, 64)), 64, 4000, 60.0))
    return g.op('ReduceSum', x, g.ints(1))


@trap('sum of 60000 numbers')
def _(g):
    return g.op('ReduceSum', g.op('Relu', g.input(g.normal(4, 60000, scale=5))), g.ints(1))


@trap('mean of 65536 numbers')
def _(g):
    return g.op('ReduceMean', g.op('Relu', g.input(g.normal(4, 65536, shift=3))), g.ints(1))


@trap('pool of a whole image, over a sum')
def _(g):
    x = g.op('Relu', g.input(g.normal(1, 8, 96, 96, scale=50)))
    return g.op('Mul', g.op('ReduceSum', x, g.ints(2, 3)), 1 / 9216.0)


@trap('running sum of 8192 numbers')
def _(g):
    x = g.input(g.normal(2, 8192, scale=8, shift=12))
    return g.op('CumSum', x, g.const(1, np.int64))


@trap('moving mean by differences of a running sum')
def _(g):
    x = g.input(g.normal(2, 4096, shift=1))
    c = g.op('CumSum', x, g.const(1, np.int64))
    a = g.op('Slice', c, g.ints(64), g.ints(4096), g.ints(1))
    b = g.op('Slice', c, g.ints(0), g.ints(4032), g.ints(1))
    return g.op('Sub', g.op('Div', g.op('Sub', a, b), 64.0), 1.0)


@trap('matrix of products of a value with itself')
def _(g):
    h = big_hidden(g)
    return g.op('Div', g.op('MatMul', h, g.op('Transpose', h, perm=[1, 0])), 4096.0)


@trap('Einsum of a value with itself')
def _(g):
    h = big_hidden(g)
    return g.op('Sqrt', g.op('Einsum', h, h, equation='bi,bi->b'))


# ---- exponentials and logarithms ----------------------------------------------------------------

@trap('softmax in parts, logits to 40')
def _(g):
    e = g.op('Exp', g.linear(g.input(g.normal(4, 64)), 64, 32, 14.0))
    return g.op('Div', e, g.op('ReduceSum', e, g.ints(-1)))


@trap('logarithm of a sum of exponentials')
def _(g):
    e = g.op('Exp', g.linear(g.input(g.normal(4, 64)), 64, 32, 14.0))
    return g.op('Log', g.op('ReduceSum', e, g.ints(-1)))


@trap('logarithm of a softmax')
def _(g):
    x = g.linear(g.input(g.normal(4, 64)), 64, 32, 20.0)
    return g.op('Log', g.op('Softmax', x, axis=-1))


@trap('logarithm of a sigmoid')
def _(g):
    x = g.linear(g.input(g.normal(4, 64)), 64, 32, 12.0)
    return g.op('Log', g.op('Sigmoid', x))


@trap('binary cross entropy of clipped probabilities')
def _(g):
    x = g.linear(g.input(g.normal(4, 64)), 64, 32, 6.0)
    y = g.input((g.rng.random((4, 32)) < 0.5).astype(np.float32))
    p = g.op('Clip', g.op('Sigmoid', x), 1e-7, 1 - 1e-7)
    one = g.op('Mul', y, g.op('Log', p))
    zero = g.op('Mul', g.op('Sub', 1.0, y), g.op('Log', g.op('Sub', 1.0, p)))
    return g.op('Neg', g.op('Add', one, zero))


@trap('focal loss')
def _(g):
    p = g.op('Sigmoid', g.linear(g.input(g.normal(4, 64)), 64, 32, 12.0))
    rest = g.op('Pow', g.op('Sub', 1.0, p), 2.0)
    return g.op('Mul', g.op('Neg', rest), g.op('Log', g.op('Add', p, 1e-8)))


@trap('divergence of two distributions')
def _(g):
    p, q = (g.op('Softmax', g.linear(g.input(g.normal(4, 64)), 64, 32, 7.0), axis=-1)
            for _ in range(2))
    terms = g.op('Mul', p, g.op('Log', g.op('Div', p, q)))
    return g.op('ReduceSum', terms, g.ints(-1))


@trap('softplus in parts')
def _(g):
    return g.op('Log', g.op('Add', g.op('Exp', big_hidden(g, 12.0)), 1.0))


@trap('softplus of what is far below 0, its logarithm')
def _(g):
    return g.op('Log', g.op('Softplus', g.op('Sub', big_hidden(g, 4.0), 12.0)))


@trap('Swish in parts')
def _(g):
    h = big_hidden(g, 14.0)
    return g.op('Div', h, g.op('Add', g.op('Exp', g.op('Neg', h)), 1.0))


@trap('Gelu by a cube')
def _(g):
    h = big_hidden(g, 60.0)
    cube = g.op('Mul', g.op('Mul', h, h), h)
    inner = g.op('Mul', g.op('Add', h, g.op('Mul', cube, 0.044715)), 0.79788456)
    return g.op('Mul', h, g.op('Add', g.op('Tanh', inner), 1.0))


@trap('squared Relu between products')
def _(g):
    h = g.op('Relu', big_hidden(g, 300.0))
    return g.linear(g.op('Mul', h, h), 64, 16, 1e-3)


@trap('linear attention by exponentials')
def _(g):
    q, k = (g.op('Exp', g.linear(g.input(g.normal(32, 16)), 16, 8, 4.0)) for _ in range(2))
    v = g.input(g.normal(32, 16))
    kt = g.op('Transpose', k, perm=[1, 0])
    top = g.op('MatMul', q, g.op('MatMul', kt, v))
    total = g.op('ReduceSum', kt, g.ints(1))
    return g.op('Div', top, g.op('MatMul', q, total))


@trap('standard deviation out of a logarithm')
def _(g):
    s = g.op('Exp', g.op('Mul', big_hidden(g, 14.0), 0.5))
    return g.op('Mul', s, g.input(g.normal(4, 64)))


@trap('decibels of a power')
def _(g):
    x = g.input(g.normal(4, 1024, scale=np.array([[1e-4], [1e-2], [1], [300]])))
    power = g.op('ReduceMean', g.op('Mul', x, x), g.ints(1))
    return g.op('Mul', g.op('Log', g.op('Add', power, 1e-10)), 4.342945)


@trap('mel spectrogram: frames, power, logarithm')
def _(g):
    n = np.arange(2048)
    wave = 0.3 * np.sin(0.2 * n) + 1e-4 * g.rng.normal(size=2048)
    x = g.input(wave.reshape(1, 1, 2048).astype(np.float32))
    k = np.arange(33)[:, None] * np.arange(64) * 2 * np.pi / 64
    parts = [g.op('Conv', x, g.const((f(k) * np.hanning(64))[:, None]), strides=[32])
             for f in (np.cos, np.sin)]
    power = g.op('Add', *(g.op('Mul', p, p) for p in parts))
    mel = g.op('MatMul', g.const(np.abs(g.normal(8, 33)) * (g.rng.random((8, 33)) < 0.15)), power)
    return g.op('Log', g.op('Clip', mel, 1e-10, 3e38))


@trap('mel spectrogram by products, one over the length')
def _(g):
    x = g.input(g.normal(16, 64, scale=3e-5))
    parts = [g.linear(x, 64, 33) for _ in range(2)]
    power = g.op('Add', *(g.op('Pow', p, 2.0) for p in parts))
    mel = g.op('MatMul', power, g.const(np.abs(g.normal(33, 8)) / 64))
    return g.op('Log', g.op('Max', mel, 1e-12))


# ---- quotients ----------------------------------------------------------------------------------

@trap('one over small numbers')
def _(g):
    return g.op('Reciprocal', g.input(g.rng.uniform(1e-6, 1e-3, (4, 64)).astype(np.float32)))


@trap('one over the root of small numbers')
def _(g):
    x = g.op('Mul', g.op('Sigmoid', g.input(g.normal(4, 64))), 1e-9)
    return g.op('Mul', g.op('Pow', x, -0.5), 1e-4)


@trap('depth out of disparity')
def _(g):
    d = g.op('Sigmoid', g.linear(g.input(g.normal(4, 64)), 64, 32, 5.0))
    return g.op('Div', 1.0, g.op('Add', g.op('Mul', d, 9.99e-1), 1e-5))


@trap('rows of zeros over their sum and 1e-12')
def _(g):
    x = g.normal(4, 8)
    x[1] = 0
    p = g.op('Relu', g.input(x))
    return g.op('Div', p, g.op('Add', g.op('ReduceSum', p, g.ints(1)), 1e-12))


@trap('scaled to 0 .. 1 by least and greatest')
def _(g):
    x = g.input(g.normal(4, 256, scale=0.02, shift=40))
    low, high = g.op('ReduceMin', x, g.ints(1)), g.op('ReduceMax', x, g.ints(1))
    return g.op('Div', g.op('Sub', x, low), g.op('Add', g.op('Sub', high, low), 1e-8))


# ---- larger pieces ------------------------------------------------------------------------------

def length(g, v):
    return g.op('ReduceL2', v, g.ints(1))


@trap('cosine similarity of all pairs')
def _(g):
    a, b = big_hidden(g), big_hidden(g)
    dot = g.op('MatMul', a, g.op('Transpose', b, perm=[1, 0]))
    return g.op('Div', g.op('Div', dot, length(g, a)),
                g.op('Transpose', length(g, b), perm=[1, 0]))


@trap('mean of products of two values')
def _(g):
    return g.op('ReduceMean', g.op('Mul', big_hidden(g), big_hidden(g)), g.ints(1))


@trap('pooling by a cube (GeM)')
def _(g):
    w = g.const(g.normal(8, 8, 1, 1, scale=30))
    h = g.op('Clip', g.op('Conv', g.input(g.normal(1, 8, 16, 16)), w), 1e-6, 3e38)
    return g.op('Pow', g.op('GlobalAveragePool', g.op('Pow', h, 3.0)), 1 / 3)


@trap('batch norm by the numbers of the batch')
def _(g):
    w = g.const(g.normal(8, 3, 1, 1))
    x = g.op('Conv', g.input(g.normal(4, 3, 16, 16, scale=100)), w)
    d = g.op('Sub', x, g.op('ReduceMean', x, g.ints(0, 2, 3)))
    var = g.op('ReduceMean', g.op('Mul', d, d), g.ints(0, 2, 3))
    return g.op('Div', d, g.op('Sqrt', g.op('Add', var, 1e-5)))


@trap('weights that are demodulated')
def _(g):
    w = g.op('Mul', g.input(g.normal(1, 8, 8, 3, 3, scale=200)), g.input(g.normal(1, 1, 8, 1, 1)))
    total = g.op('ReduceSum', g.op('Mul', w, w), g.ints(2, 3, 4))
    w = g.op('Mul', w, g.op('Reciprocal', g.op('Sqrt', g.op('Add', total, 1e-8))))
    x = g.input(g.normal(1, 8, 8, 8))
    return g.op('Conv', x, g.op('Reshape', w, g.ints(8, 8, 3, 3)))


@trap('means weighted by exponentials, running')
def _(g):
    k = g.op('Exp', g.linear(g.input(g.normal(64, 16)), 16, 16, 5.0))
    axis = g.const(0, np.int64)
    top = g.op('CumSum', g.op('Mul', k, g.input(g.normal(64, 16))), axis)
    return g.op('Div', top, g.op('CumSum', k, axis))


@trap('decay between steps out of a running sum')
def _(g):
    a = g.op('Neg', g.op('Softplus', g.linear(g.input(g.normal(256, 16)), 16, 16)))
    c = g.op('CumSum', a, g.const(0, np.int64))
    late = [g.op('Slice', c, g.ints(200 - k), g.ints(256 - k), g.ints(0)) for k in (0, 1)]
    return g.op('Exp', g.op('Sub', *late))


@trap('logit of a clipped probability')
def _(g):
    p = g.op('Clip', g.op('Sigmoid', big_hidden(g, 6.0)), 1e-6, 1 - 1e-6)
    return g.op('Log', g.op('Div', p, g.op('Sub', 1.0, p)))


@trap('codes that are nearest')
def _(g):
    codes = g.normal(64, 16, scale=10)
    x = g.input(codes[g.rng.integers(0, 64, 32)] + g.normal(32, 16, scale=0.3))
    squares = g.op('ReduceSum', g.op('Mul', x, x), g.ints(1))
    dot = g.op('MatMul', g.op('Mul', x, 2.0), g.const(codes.T))
    far = g.op('Add', g.op('Sub', squares, dot), g.const((codes ** 2).sum(1)[None]))
    return g.op('ReduceMin', g.op('Max', far, 0.0), g.ints(1))
