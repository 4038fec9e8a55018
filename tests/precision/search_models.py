# SPDX-License-Identifier: Apache-2.0
"""Networks that break in f16 in one or two of their many layers, while the policy of ranges, which
knows no values, keeps nodes in all of them. Each is text of the IR and values for its input."""
import numpy as np

MODELS = {}


def model(shape, scale=1.0, tolerance=0.999, mode='mixed_float16'):
    """Registers a function that builds a network from input %x of this shape; numbers of the input
    are normal with this scale."""
    def register(build):
        def make():
            g = Graph(shape)
            y = build(g)
            g.lines.append(f'  %y = Identity({y}) @out')
            rng = np.random.default_rng(7)
            x = (rng.standard_normal(shape) * scale).astype(np.float32)
            return g.text(), x
        MODELS[build.__name__] = (make, tolerance, mode)
        return build
    return register


class Graph:
    def __init__(self, shape):
        self.shape, self.lines, self.consts, self.n = shape, [], [], 0
        self.rng = np.random.default_rng(11)

    def const(self, values, dtype='f32'):
        values = np.asarray(values)
        name = f'%c{len(self.consts)}'
        flat = ', '.join(f'{v:.6g}' if dtype == 'f32' else str(int(v)) for v in values.reshape(-1))
        dims = ','.join(map(str, values.shape))
        self.consts.append(f'  const {name}: {dtype}[{dims}] = '
                           + (f'[{flat}]' if values.shape else flat))
        return name

    def weight(self, *shape, gain=1.0):
        fan = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        return self.const(self.rng.standard_normal(shape) * gain / np.sqrt(fan))

    def op(self, op, *operands, name=None, **attrs):
        self.n += 1
        result = f'%v{self.n}'
        text = ', '.join(f'{k}={v}' for k, v in attrs.items())
        at = f' @{name or "n"}{"" if name else self.n}'
        if name:
            at = f' @"{name}"'
        self.lines.append(f'  {result} = {op}({", ".join(operands)}){at}'
                          + (f' {{{text}}}' if text else ''))
        return result

    def text(self):
        dims = ','.join(map(str, self.shape))
        return (f'graph @g(%x: f32[{dims}]) -> (%y) {{\n' + '\n'.join(self.consts + self.lines)
                + '\n}\n')


# ---- parts ---------------------------------------------------------------------------------------

def dense(g, x, k, n, scope, gain=1.0):
    y = g.op('MatMul', x, g.weight(k, n, gain=gain), name=f'{scope}/MatMul')
    return g.op('Add', y, g.const(np.zeros(n)), name=f'{scope}/Add')


def mean(g, x, scope, axis=-1):
    return g.op('ReduceMean', x, g.const([axis], 'i64'), name=f'{scope}/ReduceMean', keepdims=1)


def power_norm(g, x, p, scope):
    """x by the p-th root of the mean of its p-th powers; no fusion knows it."""
    e = g.op('Pow', g.op('Abs', x, name=f'{scope}/Abs'), g.const(p), name=f'{scope}/Pow')
    m = g.op('Add', mean(g, e, scope), g.const(1e-6), name=f'{scope}/eps')
    return g.op('Div', x, g.op('Pow', m, g.const(1 / p), name=f'{scope}/Root'), name=f'{scope}/Div')


def variance_norm(g, x, scope):
    """By E(x x) - E(x) E(x), a sum of squares over a constant, which no fusion knows."""
    m = mean(g, x, scope + '/mean')
    q = g.op('ReduceSum', g.op('Mul', x, x, name=f'{scope}/square'), g.const([-1], 'i64'),
             name=f'{scope}/sum', keepdims=1)
    q = g.op('Mul', q, g.const(1 / 32 + 1e-4), name=f'{scope}/share')
    v = g.op('Sub', q, g.op('Mul', m, m, name=f'{scope}/mm'), name=f'{scope}/var')
    s = g.op('Sqrt', g.op('Add', v, g.const(1e-3), name=f'{scope}/eps'), name=f'{scope}/Sqrt')
    return g.op('Div', g.op('Sub', x, m, name=f'{scope}/centre'), s, name=f'{scope}/Div')


def scaled(g, x, by, scope):
    return g.op('Mul', x, g.const(by), name=f'{scope}/Mul')


def stack(g, layers, layer, hot, by):
    """Layers in a row; before and behind the hot ones numbers are scaled."""
    x = '%x'
    for i in range(layers):
        x = scaled(g, x, by, f'l{i}/up') if i in hot else x
        x = layer(g, x, f'l{i}')
    return x


# ---- networks ------------------------------------------------------------------------------------

@model((4, 16), mode='fp16')
def cubic_norms(g):
    return stack(g, 8, lambda g, x, s: power_norm(g, dense(g, x, 16, 16, s), 3.0, s + '/norm'),
                 {3}, 100.0)


@model((4, 16), mode='fp16')
def fourth_norms_late(g):
    return stack(g, 6, lambda g, x, s: power_norm(g, dense(g, x, 16, 16, s), 4.0, s + '/norm'),
                 {5}, 60.0)


@model((4, 32), mode='fp16')
def variances(g):
    return stack(g, 8, lambda g, x, s: variance_norm(g, dense(g, x, 32, 32, s), s + '/norm'),
                 {4}, 700.0)


@model((4, 16), mode='fp16')
def exponentials(g):
    """Soft maxima that may also take nothing, one of them of large logits."""
    def layer(g, x, s):
        e = g.op('Exp', dense(g, x, 16, 16, s), name=f'{s}/Exp')
        t = g.op('ReduceSum', e, g.const([-1], 'i64'), name=f'{s}/Sum', keepdims=1)
        d = g.op('Div', e, g.op('Add', t, g.const(1.0), name=f'{s}/one'), name=f'{s}/Div')
        return g.op('Sub', scaled(g, d, 16.0, f'{s}/gain'), g.const(1.0), name=f'{s}/Sub')
    return stack(g, 8, layer, {6}, 12.0)


@model((4, 16), mode='fp16')
def log_sums(g):
    """Log of one and a sum of exponentials in each layer."""
    def layer(g, x, s):
        h = dense(g, x, 16, 16, s)
        e = g.op('Exp', h, name=f'{s}/Exp')
        t = g.op('ReduceSum', e, g.const([-1], 'i64'), name=f'{s}/Sum', keepdims=1)
        t = g.op('Add', t, g.const(1.0), name=f'{s}/one')
        d = g.op('Sub', h, g.op('Log', t, name=f'{s}/Log'), name=f'{s}/Sub')
        return g.op('Tanh', scaled(g, d, 0.3, f'{s}/scale'), name=f'{s}/Tanh')
    return stack(g, 6, layer, {5}, 25.0)


@model((1, 32, 8))
def rotary(g):
    """Angles of positions: those of long wave lengths do not need f32."""
    x = '%x'
    for i in range(6):
        far = 3000.0 if i == 2 else 1.0
        pos = g.op('Mul', g.const(np.arange(32).reshape(1, 32, 1) * far + 0.37),
                   g.op('Abs', g.op('Tanh', x, name=f'l{i}/Tanh'), name=f'l{i}/Abs'),
                   name=f'l{i}/angle')
        pos = g.op('Mul', pos, g.const(0.01), name=f'l{i}/frequency')
        c, s = g.op('Cos', pos, name=f'l{i}/Cos'), g.op('Sin', pos, name=f'l{i}/Sin')
        x = g.op('Add', g.op('Mul', x, c, name=f'l{i}/xc'), g.op('Mul', x, s, name=f'l{i}/xs'),
                 name=f'l{i}/Add')
        x = dense(g, x, 8, 8, f'l{i}/out')
    return x


@model((4, 16))
def distances(g):
    """Distances to prototypes by |x|^2 - 2 x w + |w|^2; one layer is far from the origin."""
    def layer(g, x, s, shift=0.0):
        h = dense(g, x, 16, 16, s)
        h = g.op('Add', h, g.const(shift), name=f'{s}/shift')
        w = g.const(g.rng.standard_normal((16, 16)) * 0.3 + shift)
        q = g.op('ReduceSum', g.op('Mul', h, h, name=f'{s}/hh'), g.const([-1], 'i64'),
                 name=f'{s}/HH', keepdims=1)
        r = g.op('ReduceSum', g.op('Mul', w, w, name=f'{s}/ww'), g.const([0], 'i64'),
                 name=f'{s}/WW', keepdims=1)
        p = g.op('Mul', g.op('MatMul', h, w, name=f'{s}/hw'), g.const(-2.0), name=f'{s}/two')
        d = g.op('Add', g.op('Add', q, p, name=f'{s}/a'), r, name=f'{s}/b')
        return g.op('Mul', d, g.const(0.05), name=f'{s}/scale')
    x = '%x'
    for i in range(6):
        x = g.op('Tanh', layer(g, x, f'l{i}', 25.0 if i == 3 else 0.0), name=f'l{i}/Tanh')
    return x


@model((4, 16))
def reciprocals(g):
    def layer(g, x, s):
        h = g.op('Abs', dense(g, x, 16, 16, s), name=f'{s}/Abs')
        r = g.op('Reciprocal', g.op('Add', h, g.const(1e-6), name=f'{s}/eps'),
                 name=f'{s}/Reciprocal')
        m = g.op('ReduceMean', r, g.const([-1], 'i64'), name=f'{s}/mean', keepdims=1)
        return g.op('Div', r, m, name=f'{s}/Div')
    x = '%x'
    for i in range(6):
        x = scaled(g, x, 2e-5 if i == 4 else 1.0, f'l{i}/down')
        x = layer(g, x, f'l{i}')
    return x


@model((4, 64))
def long_sums(g):
    """Sums of many numbers, of which one leaves the range."""
    def layer(g, x, s):
        h = g.op('Abs', dense(g, x, 64, 64, s), name=f'{s}/Abs')
        c = g.op('CumSum', h, g.const(1, 'i64'), name=f'{s}/CumSum')
        return g.op('Div', c, g.op('ReduceMax', c, g.const([-1], 'i64'), name=f'{s}/max',
                                   keepdims=1), name=f'{s}/Div')
    return stack(g, 6, layer, {1}, 4000.0)


@model((1, 4, 16, 16), tolerance=0.995)
def fpn_neck(g):
    """A neck of ConvTranspose and sums over levels, each normalized by its energy; at one level
    sums grow beyond f16."""
    def level(g, x, s):
        w = g.const(g.rng.standard_normal((4, 4, 3, 3)) * 0.17)
        return g.op('Conv', x, w, name=f'{s}/Conv', pads='[1, 1, 1, 1]')
    feats, x = [], '%x'
    for i in range(3):
        x = level(g, x, f'back{i}')
        feats.append(x)
        x = g.op('MaxPool', x, name=f'back{i}/pool', kernel_shape='[2, 2]', strides='[2, 2]')
    for i in reversed(range(3)):
        w = g.const(g.rng.standard_normal((4, 4, 2, 2)) * (250.0 if i == 1 else 0.5))
        up = g.op('ConvTranspose', x, w, name=f'neck{i}/up', strides='[2, 2]',
                  kernel_shape='[2, 2]')
        up = scaled(g, up, 9.0, f'neck{i}/gain')
        x = g.op('Add', up, feats[i], name=f'neck{i}/sum')
        q = g.op('Mul', x, x, name=f'neck{i}/square')
        e = g.op('ReduceMean', q, g.const([1], 'i64'), name=f'neck{i}/energy', keepdims=1)
        r = g.op('Sqrt', g.op('Add', e, g.const(1e-3), name=f'neck{i}/eps'), name=f'neck{i}/root')
        x = level(g, g.op('Div', x, r, name=f'neck{i}/Div'), f'neck{i}/out')
        x = g.op('Relu', x, name=f'neck{i}/Relu')
    return x


@model((4, 16), mode='fp16')
def residual_growth(g):
    """A residual stream that grows; each branch is normalized by its own length."""
    x = '%x'
    for i in range(8):
        q = g.op('Mul', x, x, name=f'b{i}/square')
        n = g.op('ReduceSum', q, g.const([-1], 'i64'), name=f'b{i}/sum', keepdims=1)
        n = g.op('Sqrt', g.op('Add', n, g.const(1e-4), name=f'b{i}/eps'), name=f'b{i}/root')
        h = dense(g, g.op('Div', x, n, name=f'b{i}/Div'), 16, 16, f'b{i}/mlp')
        x = g.op('Add', x, scaled(g, h, 6.0 ** i * 0.02, f'b{i}/gain'), name=f'b{i}/res')
    return x


@model((2, 2, 8, 8), scale=2.0)
def attention_logits(g):
    """Attention by hand without a fusion: logits of one layer are large."""
    x = '%x'
    for i in range(5):
        q = g.op('Mul', x, g.const(60.0 if i == 2 else 1.0), name=f'a{i}/q')
        k = g.op('Transpose', x, name=f'a{i}/k', perm='[0, 1, 3, 2]')
        t = g.op('MatMul', q, g.op('Mul', k, g.const(0.35), name=f'a{i}/ks'), name=f'a{i}/qk')
        t = g.op('Min', t, g.const(600.0), name=f'a{i}/cap')
        e = g.op('Exp', g.op('Mul', t, g.const(0.02), name=f'a{i}/temperature'), name=f'a{i}/Exp')
        n = g.op('ReduceSum', e, g.const([-1], 'i64'), name=f'a{i}/sum', keepdims=1)
        x = g.op('MatMul', g.op('Div', e, n, name=f'a{i}/Div'), x, name=f'a{i}/pv')
        x = g.op('Mul', x, g.const(2.0), name=f'a{i}/gain')
    return x
