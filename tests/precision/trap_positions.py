# SPDX-License-Identifier: Apache-2.0
"""Traps of masks, positions, angles, places and counts; trap_models.py has the others."""
import numpy as np
from trap_graph import trap


# ---- attention and masks ------------------------------------------------------------------------

def attention(g, mask, heads=2, length=16):
    shape = (1, heads, length, 8)
    q, k, v = (g.linear(g.input(g.normal(*shape)), 8, 8, 2.0) for _ in range(3))
    s = g.op('MatMul', q, g.op('Transpose', k, perm=[0, 1, 3, 2]))
    p = g.op('Softmax', mask(g.op('Div', s, 2.8284)), axis=-1)
    return g.op('MatMul', p, v)


@trap('attention, masks of -1e9 for padding and for the future')
def _(g):
    future = np.triu(np.full((16, 16), -1e9), 1)
    pad = g.input((np.arange(16) < 11).astype(np.int64).reshape(1, 1, 1, 16))

    def mask(s):
        m = g.op('Mul', g.op('Sub', 1.0, g.op('Cast', pad, to=1)), -1e9)
        return g.op('Add', g.op('Add', s, m), g.const(future))
    return attention(g, mask)


@trap('attention, masks of the least f32, rows without a key')
def _(g):
    least = -3.4028234663852886e38
    keep = np.ones((1, 1, 16, 16), bool)
    keep[:, :, 3] = False

    def mask(s):
        m = g.op('Where', g.input(keep), 0.0, least)
        return g.op('Max', g.op('Add', s, m), least)
    return attention(g, mask)


@trap('attention, two masks that add up')
def _(g):
    keep = np.ones((1, 1, 16, 16), np.float32)
    keep[:, :, 3] = 0
    m = g.op('Mul', g.op('Sub', 1.0, g.input(keep)), -50000.0)
    more = g.op('Mul', g.op('Sub', 1.0, g.input(keep)), -50000.0)
    return attention(g, lambda s: g.op('Add', s, g.op('Add', m, more)))


@trap('attention, -inf by Where')
def _(g):
    keep = np.tril(np.ones((1, 1, 16, 16), bool))
    return attention(g, lambda s: g.op('Where', g.input(keep), s, float('-inf')))


@trap('attention with linear biases (ALiBi), 4096 keys')
def _(g):
    n = 4096
    at = g.op('Cast', g.input(np.arange(n, dtype=np.int64).reshape(1, 1, n)), to=1)
    far = g.op('Abs', g.op('Sub', at, g.const(np.arange(4000, 4008).reshape(1, 8, 1))))
    bias = g.op('Mul', far, g.const(-(2.0 ** -np.arange(1, 5)).reshape(4, 1, 1) / 16))
    s = g.op('Add', g.input(g.normal(4, 8, n)), bias)
    v = g.input(g.normal(4, n, 8))
    return g.op('MatMul', g.op('Softmax', s, axis=-1), v)


@trap('relative positions in buckets (T5)')
def _(g):
    far = g.op('Cast', g.input(np.arange(0, 5000, 3, dtype=np.int64)), to=1)
    log = g.op('Log', g.op('Add', g.op('Div', far, 16.0), 1e-6))
    large = g.op('Add', g.op('Mul', log, 16 / np.log(8.0)), 16.0)
    b = g.op('Where', g.op('Less', far, 16.0), far, g.op('Min', large, 700.0))
    table = g.const(g.normal(701, 4))
    return g.op('Gather', table, g.op('Cast', b, to=7), axis=0)


# ---- positions and angles -----------------------------------------------------------------------

INVERSE = 1 / 10000.0 ** (np.arange(8) / 8.0)


def positions(g, n, *shape):
    return g.op('Cast', g.input(np.arange(n, dtype=np.int64).reshape(shape)), to=1)


@trap('rotary embedding, angles by MatMul')
def _(g):
    f = g.op('MatMul', g.const(INVERSE.reshape(1, 8, 1)), positions(g, 4096, 1, 1, 4096))
    e = g.op('Transpose', f, perm=[0, 2, 1])
    e = g.op('Concat', e, e, axis=-1)
    x = g.input(g.normal(1, 4096, 16))
    half = [g.op('Slice', x, g.ints(a), g.ints(b), g.ints(2)) for a, b in ((0, 8), (8, 16))]
    turned = g.op('Concat', g.op('Neg', half[1]), half[0], axis=-1)
    return g.op('Add', g.op('Mul', x, g.op('Cos', e)), g.op('Mul', turned, g.op('Sin', e)))


@trap('rotary embedding, angles by Einsum')
def _(g):
    f = g.op('Einsum', positions(g, 4096, 4096), g.const(INVERSE), equation='i,j->ij')
    x = g.input(g.normal(4096, 8))
    return g.op('Mul', x, g.op('Cos', f))


@trap('rotary embedding, angles by Mul, positions interpolated')
def _(g):
    at = g.op('Div', positions(g, 8192, 8192, 1), 4.0)
    f = g.op('Mul', at, g.const(INVERSE.reshape(1, 8)))
    return g.op('Mul', g.input(g.normal(8192, 8)), g.op('Sin', f))


@trap('rotary embedding behind products, positions of f32')
def _(g):
    at = g.input(np.arange(2000, 4000, dtype=np.float32).reshape(2000, 1))
    f = g.op('MatMul', at, g.const(INVERSE.reshape(1, 8)))
    x = g.linear(g.input(g.normal(2000, 16)), 16, 8)
    return g.op('Mul', x, g.op('Cos', f))


@trap('embedding of a time step')
def _(g):
    t = g.op('Cast', g.input(np.array([[999], [501], [37]], np.int64)), to=1)
    a = g.op('Mul', t, g.const(INVERSE.reshape(1, 8)))
    return g.linear(g.op('Concat', g.op('Sin', a), g.op('Cos', a), axis=-1), 16, 16)


@trap('embedding of a time step, scaled by 1000')
def _(g):
    t = g.op('Mul', g.input(g.rng.random((16, 1)).astype(np.float32)), 1000.0)
    a = g.op('Mul', t, g.const(np.exp(-np.arange(8) * 0.7).reshape(1, 8)))
    return g.linear(g.op('Concat', g.op('Sin', a), g.op('Cos', a), axis=-1), 16, 16)


@trap('Fourier features of places')
def _(g):
    x = g.input(g.rng.random((64, 2)).astype(np.float32))
    a = g.op('Mul', g.op('MatMul', x, g.const(g.normal(2, 32, scale=60))), 6.2831855)
    return g.op('Concat', g.op('Sin', a), g.op('Cos', a), axis=-1)


@trap('phase of an oscillator, a running sum')
def _(g):
    f = g.input(g.rng.uniform(100, 300, (1, 4096)).astype(np.float32))
    a = g.op('CumSum', g.op('Div', f, 24000.0), g.const(1, np.int64))
    return g.op('Sin', g.op('Mul', a, 6.2831855))


@trap('tangent of what was scaled')
def _(g):
    x = g.input(g.rng.uniform(-40, 40, (4, 64)).astype(np.float32))
    return g.op('Tanh', g.op('Tan', g.op('Mul', x, 3.0)))


@trap('position ids by a running sum of a mask')
def _(g):
    m = g.op('Cast', g.input(g.rng.random((1, 4096)) < 0.95), to=1)
    at = g.op('Sub', g.op('CumSum', m, g.const(1, np.int64)), 1.0)
    table = np.sin(np.arange(4096)[:, None] * np.array([2.0, 0.7, 0.1]))
    return g.op('Gather', g.const(table), g.op('Cast', g.op('Max', at, 0.0), to=7), axis=0)


@trap('indices by Range, scaled and rounded down')
def _(g):
    r = g.op('Range', 0.0, 3000.0, 1.0)
    i = g.op('Floor', g.op('Mul', r, 1.3331))
    table = np.sin(np.arange(4096) * 2.0)
    return g.op('Gather', g.const(table), g.op('Cast', i, to=7), axis=0)


@trap('indices of what the model is given, over 4096 places')
def _(g):
    x = g.input(g.rng.random((512,)).astype(np.float32))
    i = g.op('Cast', g.op('Mul', x, 4095.0), to=7)
    return g.op('Gather', g.const(np.sin(np.arange(4096) * 2.0)), i, axis=0)


@trap('remainder of positions')
def _(g):
    return g.op('Mod', positions(g, 5000, 5000), 7.0, fmod=1)


@trap('coordinates of an image that is enlarged')
def _(g):
    r = positions(g, 6000, 6000)
    at = g.op('Sub', g.op('Mul', g.op('Add', r, 0.5), 0.731), 0.5)
    at = g.op('Max', at, 0.0)
    low = g.op('Floor', at)
    part = g.op('Sub', at, low)
    table = g.const(np.sin(np.arange(4500) * 2.0))
    a = g.op('Gather', table, g.op('Cast', low, to=7), axis=0)
    b = g.op('Gather', table, g.op('Cast', g.op('Add', low, 1.0), to=7), axis=0)
    return g.op('Add', a, g.op('Mul', g.op('Sub', b, a), part))


@trap('places in a large image (GridSample)')
def _(g):
    x = np.sin(np.arange(4096) * 1.0).reshape(1, 1, 1, 4096).astype(np.float32)
    at = g.op('Add', positions(g, 2000, 1, 1, 2000, 1), g.input(g.rng.random((1, 1, 2000, 1))
                                                               .astype(np.float32)))
    u = g.op('Sub', g.op('Div', at, 1023.5), 1.0)
    grid = g.op('Concat', u, g.op('Mul', u, 0.0), axis=-1)
    return g.op('GridSample', g.input(x), grid, mode='bilinear', align_corners=1)


@trap('boxes on a grid of 4096 places')
def _(g):
    off = g.op('Sigmoid', g.linear(g.input(g.normal(4096, 8)), 8, 2))
    grid = np.stack([np.arange(4096), np.arange(4096)[::-1]], 1)
    at = g.op('Add', off, g.const(grid))
    return g.op('Sub', g.op('Mul', at, 8.0), g.input((grid * 8).astype(np.float32)))


# ---- counts -------------------------------------------------------------------------------------

@trap('counts of labels by OneHot')
def _(g):
    ids = np.where(g.rng.random(9000) < 0.7, 1, g.rng.integers(0, 8, 9000))
    hot = g.op('OneHot', g.input(ids), g.const(8, np.int64), g.const([0, 1]), axis=-1)
    n = g.op('ReduceSum', hot, g.ints(0))
    return g.op('Sub', n, g.op('Mul', g.op('Floor', g.op('Div', n, 16.0)), 16.0))


@trap('mean over tokens that count')
def _(g):
    m = g.op('Cast', g.input((np.arange(9000) < 7001).astype(np.int64).reshape(1, 9000, 1)), to=1)
    x = g.op('Mul', g.linear(g.input(g.normal(1, 9000, 8, shift=3)), 8, 8, 30.0), m)
    n = g.op('Clip', g.op('ReduceSum', m, g.ints(1)), 1e-9, 3e38)
    return g.op('Div', g.op('ReduceSum', x, g.ints(1)), n)


@trap('lengths that are compared with positions')
def _(g):
    at = positions(g, 4096, 1, 4096)
    n = g.op('Cast', g.input(np.array([[2049], [3001], [4095]], np.int64)), to=1)
    m = g.op('Cast', g.op('Less', g.op('Add', at, 0.0), g.op('Sub', n, 1.0)), to=1)
    last = g.op('Sub', m, g.op('Concat', g.op('Slice', m, g.ints(1), g.ints(4096), g.ints(1)),
                               g.const(np.zeros((3, 1))), axis=1))
    return last


@trap('ids that are hashed')
def _(g):
    i = g.op('Cast', g.input(g.rng.integers(0, 60000, (256,))), to=1)
    h = g.op('Add', g.op('Mul', i, 31.0), 7.0)
    return g.op('Mod', h, 1024.0, fmod=1)


# ---- others -------------------------------------------------------------------------------------

@trap('attention, logits that are large before they are scaled')
def _(g):
    def product(scale):
        return g.linear(g.input(g.normal(64, 16)), 16, 16, scale)
    q, k = product(60.0), product(60.0)
    s = g.op('Div', g.op('MatMul', q, g.op('Transpose', k, perm=[1, 0])), 3840.0)
    return g.op('MatMul', g.op('Softmax', s, axis=-1), product(1.0))


@trap('rotary embedding, frequencies by Pow')
def _(g):
    e = g.op('Div', g.op('Cast', g.input(np.arange(0, 16, 2)), to=1), 16.0)
    inverse = g.op('Unsqueeze', g.op('Reciprocal', g.op('Pow', 10000.0, e)), g.ints(0))
    a = g.op('Mul', positions(g, 4096, 4096, 1), inverse)
    return g.op('Mul', g.op('Cos', a), g.input(g.normal(4096, 8)))


@trap('days of the week')
def _(g):
    days = g.input(g.rng.integers(18000, 20000, (64,)))
    return g.op('Sin', g.op('Mul', g.op('Cast', days, to=1), 2 * np.pi / 7))
