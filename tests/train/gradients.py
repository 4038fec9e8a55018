#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gradient ops of ONNX Runtime's training graphs against finite differences. Each case has a
forward function, written here in NumPy and in f64, and the node whose results are to be its
gradients. What the node gives in our evaluator, and what its NPU form gives, must be what the
forward function does when an element is moved a little. Then the model is written as AIR for two
chips, and each file is judged by the checker of tests/oracle.

  gradients.py --tailor BIN"""
import argparse
import itertools
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from oracle import air_check  # noqa: E402
from gradient_forward import (  # noqa: E402
    average_pool, batch_norm, conv, conv_transpose, fast_gelu, flat, gelu, gru, layer_norm,
    log_softmax, loss_of, lstm, max_pool, row_statistics, same_pads, sigmoid, softmax)

CHIPS = ('Ascend910B1', 'Ascend910A')
MS = 'com.microsoft'
STEP = 1e-5


class Case:
    """forward(*values): what is differentiated; by: indices of the values that have gradients;
    node(values, results): op, domain, operands in place of which 'dY' stands for the gradient, and
    attributes. fixed: operands that are constants of the model. ('dY', PLACES, SHAPE) stands for a
    part of the gradient. gives: the results, of a node that is no gradient."""

    def __init__(self, name, values, forward, by, node, **more):
        self.name, self.values, self.forward, self.by, self.node = name, values, forward, by, node
        self.fixed = more.get('fixed', ())
        self.open = more.get('open', ())
        self.opset = more.get('opset', 17)
        self.results = more.get('results', len(by))
        self.gives = more.get('gives')


# ---- cases ---------------------------------------------------------------------------------------

def elementwise(rng):
    x = rng.uniform(-3, 3, (3, 5))
    for op, fn, by_result, attrs in [
            ('ReluGrad', lambda v: np.maximum(v, 0), True, {}),
            ('SigmoidGrad', sigmoid, True, {}), ('TanhGrad', np.tanh, True, {}),
            ('GeluGrad', gelu, False, {}), ('FastGeluGrad', fast_gelu, False, {}),
            ('QuickGeluGrad', lambda v: v * sigmoid(1.5 * v), False, {'alpha': 1.5}),
            ('LeakyReluGrad', lambda v: np.where(v > 0, v, 0.2 * v), True, {'alpha': 0.2})]:
        other = fn(x) if by_result else x
        yield Case(op, [x], fn, [0], lambda v, y, o=other, op=op, a=attrs: (op, MS, ['dY', o], a))
    yield Case('ReluGrad by what went in', [x], lambda v: np.maximum(v, 0), [0],
               lambda v, y: ('ReluGrad', MS, ['dY', v[0]], {}))
    b = rng.uniform(-1, 1, 5)
    for op, fn in (('BiasGeluGrad_dX', gelu), ('BiasFastGeluGrad_dX', fast_gelu)):
        yield Case(op, [x, b], lambda v, c, fn=fn: fn(v + c), [0],
                   lambda v, y, op=op: (op, MS, ['dY', v[0], v[1]], {}))
    for down in (0, 1):
        yield Case(f'Scale {down}', [x], lambda v, d=down: v / 6 if d else v * 6, [0],
                   lambda v, y, d=down: ('Scale', MS, ['dY', np.array(6, np.int64)],
                                         {'scale_down': d}), fixed=(1,))
    keep = rng.uniform(size=x.shape) > 0.3
    for name, more, fixed in [
            ('', [], ()), (', a ratio', [np.array(0.3, np.float32)], (2,)),
            (', a ratio that is an input', [np.array(0.3, np.float32)], ()),
            (', training', [np.array(0.3, np.float32), np.array(True)], (2, 3)),
            (', training if asked', [np.array(0.3, np.float32), np.array(True)], ()),
            (', not training', [np.array(0.3, np.float32), np.array(False)], (2, 3)),
            (', not training, as asked', [np.array(0.3, np.float32), np.array(False)], ())]:
        share = 1 - float(more[0]) if more else 0.5
        on = len(more) < 2 or bool(more[1])
        yield Case('DropoutGrad' + name, [x],
                   lambda v, s=share, on=on: np.where(keep, v / s, 0) if on else v, [0],
                   lambda v, y, more=more: ('DropoutGrad', MS, ['dY', keep, *more], {}),
                   fixed=fixed)
    for name, b in (('one shape', (3, 5)), ('stretched below', (1, 5)), ('fewer axes', (5,)),
                    ('a column', (3, 1))):
        yield Case(f'DivGrad, {name}', [x, rng.uniform(0.5, 2, b)], lambda v, w: v / w, [0, 1],
                   lambda v, y: ('DivGrad', MS, ['dY', v[0], v[1]], {}))
    yield Case('DivGrad, stretched above', [rng.uniform(1, 2, (1, 5)), rng.uniform(0.5, 2, (3, 5))],
               lambda v, w: v / w, [0, 1], lambda v, y: ('DivGrad', MS, ['dY', v[0], v[1]], {}))


def rows(rng):
    x = rng.uniform(-2, 2, (2, 3, 4))
    for axis in (-1, 1):
        yield Case(f'SoftmaxGrad_13 {axis}', [x], lambda v, a=axis: softmax(v, a), [0],
                   lambda v, y, a=axis: ('SoftmaxGrad_13', MS, ['dY', y], {'axis': a}))
        yield Case(f'LogSoftmaxGrad_13 {axis}', [x], lambda v, a=axis: log_softmax(v, a), [0],
                   lambda v, y, a=axis: ('LogSoftmaxGrad_13', MS, ['dY', y], {'axis': a}))
    for axis in (1, 2):
        yield Case(f'SoftmaxGrad {axis}', [x], flat(softmax, axis), [0],
                   lambda v, y, a=axis: ('SoftmaxGrad', MS, ['dY', y], {'axis': a}))
        yield Case(f'LogSoftmaxGrad {axis}', [x], flat(log_softmax, axis), [0],
                   lambda v, y, a=axis: ('LogSoftmaxGrad', MS, ['dY', y], {'axis': a}))
    for axis, shape in ((2, (4,)), (1, (3, 4))):
        g, b = rng.uniform(0.5, 2, shape), rng.uniform(-1, 1, shape)
        m, r = row_statistics(x, axis)
        yield Case(f'LayerNormalizationGrad {axis}', [x, g, b], layer_norm(axis), [0, 1, 2],
                   lambda v, y, a=axis, m=m, r=r: ('LayerNormalizationGrad', MS,
                                                   ['dY', v[0], v[1], m, r], {'axis': a}))
        _, r = row_statistics(x, axis, mean=False)
        yield Case(f'SimplifiedLayerNormalizationGrad {axis}', [x, g], layer_norm(axis, mean=False),
                   [0, 1], lambda v, y, a=axis, r=r: ('SimplifiedLayerNormalizationGrad', MS,
                                                      ['dY', v[0], v[1], r], {'axis': a}))
    for shape in ((4, 3), (3, 2, 4), (2, 3, 4, 2)):
        data = rng.uniform(-2, 2, shape)
        n = shape[1]
        g, b = rng.uniform(0.5, 2, n), rng.uniform(-1, 1, n)
        axes = (0, *range(2, len(shape)))
        mean, inv = data.mean(axes), 1 / np.sqrt(data.var(axes) + 1e-5)
        yield Case(f'BatchNormalizationGrad {len(shape)}', [data, g, b], batch_norm, [0, 1, 2],
                   lambda v, y, m=mean, r=inv: ('BatchNormalizationGrad', MS,
                                                ['dY', v[0], v[1], m, r], {'epsilon': 1e-5}))


def losses(rng):
    for shape in ((6, 4), (2, 4, 3)):
        labels = rng.integers(0, 4, (shape[0], *shape[2:])).astype(np.int64)
        some = labels.copy()
        some.flat[1] = -100
        x, w = rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, 4)
        for reduction, weights, ignored in itertools.product(
                ('mean', 'sum', 'none'), (None, w), (None, -100, 2)):
            t = some if ignored == -100 else labels
            attrs = {'reduction': reduction}
            if ignored is not None:
                attrs['ignore_index'] = ignored
            more = [] if weights is None else [weights]
            yield Case(f'SoftmaxCrossEntropyLossGrad {len(shape)} {reduction}'
                       f'{"" if weights is None else " weights"}'
                       f'{"" if ignored is None else f" without {ignored}"}', [x],
                       loss_of(t, weights, ignored, reduction), [0],
                       lambda v, y, t=t, a=attrs, more=more: (
                           'SoftmaxCrossEntropyLossGrad', MS,
                           ['dY', log_softmax(v[0], 1), t, *more], a))
        bias = rng.uniform(-1, 1, shape)
        yield Case(f'SoftmaxCrossEntropyLossGrad {len(shape)} bias', [x],
                   lambda v, t=labels, b=bias: np.append(loss_of(t)(v), (b * v).sum()), [0],
                   lambda v, y, t=labels, b=bias: (
                       'SoftmaxCrossEntropyLossGrad', MS,
                       [('dY', 0), log_softmax(v[0], 1), t, None, b], {}))
        for ignored in (None, 1):
            more = [] if ignored is None else [None, np.array(ignored, np.int64)]
            yield Case(f'SoftmaxCrossEntropyLossInternalGrad {len(shape)} {ignored}', [x],
                       loss_of(labels, None, ignored), [0],
                       lambda v, y, t=labels, more=more: (
                           'SoftmaxCrossEntropyLossInternalGrad', MS,
                           ['dY', log_softmax(v[0], 1), t, *more], {}), fixed=(4,))
    nothing = np.full((3,), 1, np.int64)
    yield Case('SoftmaxCrossEntropyLossGrad, all ignored', [rng.uniform(-2, 2, (3, 4))],
               loss_of(nothing, None, 1), [0],
               lambda v, y: ('SoftmaxCrossEntropyLossGrad', MS,
                             ['dY', log_softmax(v[0], 1), nothing], {'ignore_index': 1}))


def shape_of(x):
    return np.array(x.shape, np.int64)


def look_ups(rng):
    x = rng.uniform(-1, 1, (4, 5, 3))
    for axis, shape in ((0, (6,)), (0, (2, 3)), (1, (2, 2)), (2, (4,)), (-2, (3,)), (0, ())):
        i = rng.integers(0, x.shape[axis], shape).astype(np.int64)
        for fixed in ((0,), ()):
            yield Case(f'GatherGrad {axis} {shape} {"" if fixed else "open"}', [x],
                       lambda v, i=i, a=axis: np.take(v, i, a), [0],
                       lambda v, y, i=i, a=axis: ('GatherGrad', MS, [shape_of(v[0]), i, 'dY'],
                                                  {'axis': a}),
                       fixed=fixed if axis == 0 else (0,))
    i = rng.integers(0, 5, (4, 2, 3)).astype(np.int64)
    yield Case('GatherElementsGrad', [x], lambda v: np.take_along_axis(v, i, 1), [0],
               lambda v, y: ('GatherElementsGrad', MS, ['dY', shape_of(v[0]), i], {'axis': 1}),
               fixed=(1,))
    j = np.stack([rng.integers(0, 4, (6,)), rng.integers(0, 5, (6,))], -1).astype(np.int64)
    yield Case('GatherNDGrad', [x], lambda v: v[j[:, 0], j[:, 1]], [0],
               lambda v, y: ('GatherNDGrad', MS, [shape_of(v[0]), j, 'dY'], {}), fixed=(0,))
    k = rng.integers(0, 5, (4, 2, 1)).astype(np.int64)
    yield Case('GatherNDGrad within a batch', [x],
               lambda v: np.stack([v[b][k[b, :, 0]] for b in range(4)]), [0],
               lambda v, y: ('GatherNDGrad', MS, [shape_of(v[0]), k, 'dY'], {'batch_dims': 1}),
               fixed=(0,))
    deep = rng.integers(0, 3, (4, 5, 2, 1)).astype(np.int64)
    yield Case('GatherNDGrad within batches', [x], lambda v: np.take_along_axis(v, deep[..., 0], 2),
               [0], lambda v, y: ('GatherNDGrad', MS, [shape_of(v[0]), deep, 'dY'],
                                  {'batch_dims': 2}), fixed=(0,))


def slices(rng):
    x = rng.uniform(-1, 1, (4, 7, 3))

    def ints(*v):
        return np.array(v, np.int64)
    for name, cut, operands in [
            ('one axis', np.s_[:, 2:5], [ints(2), ints(5), ints(1), ints(1)]),
            ('from the end', np.s_[:, -4:-1], [ints(-4), ints(-1), ints(-2), ints(1)]),
            ('to the end', np.s_[:, 3:], [ints(3), ints(2 ** 62), ints(1), ints(1)]),
            ('far before', np.s_[:, :4], [ints(-99), ints(4), ints(1), ints(1)]),
            ('without axes', np.s_[1:3, 2:4], [ints(1, 2), ints(3, 4)]),
            ('two axes', np.s_[1:3, :, 0:2], [ints(0, 1), ints(2, 3), ints(2, 0)]),
            ('steps', np.s_[:, 0:7:3], [ints(0), ints(7), ints(1), ints(3)]),
            ('backwards', np.s_[:, 5:1:-2], [ints(5), ints(1), ints(1), ints(-2)])]:
        fixed = (1, 2, 3, 4, 5)
        yield Case(f'SliceGrad, {name}', [x], lambda v, c=cut: v[c], [0],
                   lambda v, y, o=operands: ('SliceGrad', MS, ['dY', shape_of(v[0]), *o], {}),
                   fixed=fixed)


def pools(rng):
    for shape, kernel, strides, pads in [
            ((2, 3, 6, 6), [2, 2], [2, 2], [0, 0, 0, 0]),
            ((2, 2, 7, 5), [3, 3], [2, 2], [1, 1, 1, 1]),
            ((1, 2, 5, 5), [3, 2], [1, 1], [0, 1, 1, 0]), ((2, 2, 9), [3], [2], [1, 1]),
            ((1, 2, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0] * 6),
            ((1, 2, 4, 5, 4), [3, 2, 2], [2, 1, 2], [1, 0, 0, 1, 1, 0])]:
        x = rng.permutation(int(np.prod(shape))).reshape(shape) / 7.0
        attrs = {'kernel_shape': kernel, 'strides': strides, 'pads': pads}
        for batch in ((), (0,)) if len(shape) == 4 else ((),):
            yield max_pool_case('', x, kernel, strides, pads, attrs, batch)
        for count in (0, 1):
            yield average_pool_case('', x, kernel, strides, pads, count, attrs)
    yield from cut_pools(rng)
    yield from sized_pools(rng)


def max_pool_case(name, x, kernel, strides, pads, attrs, batch=()):
    at = max_pool(x, kernel, strides, pads)[1]
    return Case(f'MaxPoolGrad{name} {x.shape} {pads} {"open" if batch else ""}', [x],
                lambda v: max_pool(v, kernel, strides, pads)[0], [0],
                lambda v, y: ('MaxPoolGrad', '', ['dY', at], attrs), open=batch)


def average_pool_case(name, x, kernel, strides, pads, count, attrs, beyond=None):
    return Case(f'AveragePoolGrad{name} {x.shape} {pads} {count}', [x],
                lambda v: average_pool(v, kernel, strides, pads, count, beyond), [0],
                lambda v, y: ('AveragePoolGrad', '', ['dY'], {**attrs, 'count_include_pad': count}))


def cut_pools(rng):
    """Windows that reach `beyond` the padding at the end (ceil_mode)."""
    for shape, kernel, strides, pads, beyond in [
            ((2, 3, 7, 6), [2, 2], [2, 2], [0, 0, 0, 0], [1, 0]),
            ((1, 2, 6, 8), [3, 3], [2, 3], [1, 1, 0, 0], [0, 0]),
            ((1, 2, 6, 8), [3, 3], [2, 2], [0, 1, 0, 1], [1, 1]),
            # the last window would begin behind the data: there is none
            ((1, 2, 5, 5), [1, 2], [3, 2], [0, 0, 0, 0], [-1, 1]),
            ((2, 2, 8), [3], [2], [0, 0], [1]),
            ((1, 2, 5, 4, 5), [2, 2, 2], [2, 2, 2], [0] * 6, [1, 0, 1])]:
        n = len(kernel)
        x = rng.permutation(int(np.prod(shape))).reshape(shape) / 7.0
        attrs = {'kernel_shape': kernel, 'strides': strides, 'pads': pads, 'ceil_mode': 1}
        whole = [*pads[:n], *(pads[n + i] + max(0, beyond[i]) for i in range(n))]
        yield max_pool_case(', ceil', x, kernel, strides, whole, attrs)
        for count in (0, 1):
            yield average_pool_case(', ceil', x, kernel, strides, pads, count, attrs, beyond)


def sized_pools(rng):
    for shape, kernel, strides in [((1, 2, 7, 6), [2, 3], [2, 3]), ((2, 2, 8), [4], [3]),
                                   ((1, 2, 3, 4, 5), [2, 2, 3], [1, 2, 2]),
                                   ((1, 2, 5, 7), [1, 2], [2, 3])]:
        x = rng.permutation(int(np.prod(shape))).reshape(shape) / 7.0
        for pad in ('SAME_UPPER', 'SAME_LOWER', 'VALID'):
            pads = [0] * (2 * len(kernel)) if pad == 'VALID' else same_pads(
                shape[2:], kernel, strides, [1] * len(kernel), pad == 'SAME_UPPER')
            attrs = {'kernel_shape': kernel, 'strides': strides, 'auto_pad': pad}
            yield max_pool_case(f', {pad}', x, kernel, strides, pads, attrs)
            for count in (0, 1):
                yield average_pool_case(f', {pad}', x, kernel, strides, pads, count, attrs)


def convolutions(rng):
    for shape, out, kernel, group, strides, pads, dilations in [
            ((2, 3, 6, 6), 4, [3, 3], 1, [1, 1], [1, 1, 1, 1], [1, 1]),
            ((2, 4, 7, 6), 6, [3, 2], 2, [2, 1], [1, 0, 0, 1], [1, 1]),
            ((1, 3, 8, 8), 3, [3, 3], 3, [2, 2], [1, 1, 1, 1], [1, 1]),
            ((1, 2, 9, 8), 2, [2, 3], 1, [3, 2], [0, 0, 0, 0], [2, 1]),
            ((2, 3, 9), 4, [3], 1, [2], [1, 1], [1]),
            ((2, 4, 9), 6, [3], 2, [2], [0, 1], [1]),
            ((1, 2, 4, 5, 4), 2, [2, 2, 2], 1, [2, 1, 2], [0] * 6, [1, 1, 1]),
            ((2, 4, 3, 4, 5), 2, [2, 2, 3], 2, [1, 2, 2], [1, 0, 1, 0, 1, 1], [1, 1, 1])]:
        x = rng.uniform(-1, 1, shape)
        w = rng.uniform(-1, 1, (out, shape[1] // group, *kernel))
        b = rng.uniform(-1, 1, out)
        attrs = {'group': group, 'strides': strides, 'pads': pads, 'dilations': dilations,
                 'kernel_shape': kernel}
        sizes = (group, strides, pads, dilations)
        name = f'{shape} {kernel} group {group} {strides} {pads} {dilations}'
        yield Case(f'ConvGrad {name}', [x, w, b],
                   lambda v, f, c, s=sizes: conv(v, f, c, *s), [0, 1, 2],
                   lambda v, y, a=attrs: ('ConvGrad', MS, ['dY', v[0], v[1]], a))
        if group == 1 and len(shape) == 4:
            yield Case(f'ConvGrad without data {name}', [x, w, b],
                       lambda v, f, c, s=sizes: conv(v, f, c, *s), [None, 1, None],
                       lambda v, y, a=attrs: ('ConvGrad', MS, ['dY', v[0], v[1]], a))
            yield Case(f'ConvGrad of data {name}', [x, w, b],
                       lambda v, f, c, s=sizes: conv(v, f, c, *s), [0, None, None],
                       lambda v, y, a=attrs: ('ConvGrad', MS, ['dY', v[0], v[1]], a))
    for shape, out, group, strides, pads in [((2, 3, 4, 4), 2, 1, [2, 2], [1, 1, 1, 1]),
                                             ((1, 4, 3, 4), 3, 2, [1, 2], [0, 0, 0, 0])]:
        x = rng.uniform(-1, 1, shape)
        w = rng.uniform(-1, 1, (shape[1], out, 3, 3))
        b = rng.uniform(-1, 1, out * group)
        attrs = {'group': group, 'strides': strides, 'pads': pads, 'kernel_shape': [3, 3]}
        yield Case(f'ConvTransposeGrad {shape} group {group}', [x, w, b],
                   lambda v, f, c, g=group, s=strides, p=pads: conv_transpose(v, f, c, g, s, p,
                                                                              [1, 1]),
                   [0, 1, 2],
                   lambda v, y, a=attrs: ('ConvTransposeGrad', MS, ['dY', v[0], v[1]], a))
    yield from sized_convolutions(rng)
    yield from sized_transposed(rng)


def sized_convolutions(rng):
    for shape, out, kernel, group, strides, dilations in [
            ((1, 2, 7, 6), 3, [3, 2], 1, [2, 1], [1, 2]),
            ((1, 4, 5, 7), 2, [1, 2], 2, [2, 3], [1, 1]), ((2, 2, 9), 3, [4], 1, [2], [1]),
            ((1, 2, 3, 4, 5), 2, [2, 2, 2], 1, [1, 2, 2], [1] * 3)]:
        x = rng.uniform(-1, 1, shape)
        w = rng.uniform(-1, 1, (out, shape[1] // group, *kernel))
        b = rng.uniform(-1, 1, out)
        for pad in ('SAME_UPPER', 'SAME_LOWER', 'VALID'):
            pads = [0] * (2 * len(kernel)) if pad == 'VALID' else same_pads(
                shape[2:], kernel, strides, dilations, pad == 'SAME_UPPER')
            attrs = {'group': group, 'strides': strides, 'dilations': dilations, 'auto_pad': pad}
            sizes = (group, strides, pads, dilations)
            yield Case(f'ConvGrad, {pad} {shape} {kernel} group {group}', [x, w, b],
                       lambda v, f, c, s=sizes: conv(v, f, c, *s), [0, 1, 2],
                       lambda v, y, a=attrs: ('ConvGrad', MS, ['dY', v[0], v[1]], a))


def sized_transposed(rng):
    """What says how large the result is says how it is padded: the whole of what is there, or that
    and zeros behind it (more), is cut or filled to it."""
    for shape, kernel, strides, more, size in [
            ((1, 2, 3, 4), [3, 4], [2, 1], [0, 0], None),
            ((1, 2, 3, 3), [1, 2], [2, 3], [0, 0], None),
            ((1, 2, 3, 4), [3, 3], [2, 2], [1, 0], None),
            ((1, 2, 3, 4), [3, 3], [2, 2], [0, 0], [6, 8]),
            ((1, 2, 3, 4), [3, 3], [2, 2], [1, 1], [5, 10]), ((2, 2, 5), [4], [2], [1], None),
            ((1, 2, 3, 2, 2), [2, 3, 2], [2, 2, 1], [0] * 3, None)]:
        n = len(kernel)
        x = rng.uniform(-1, 1, shape)
        w = rng.uniform(-1, 1, (2, 3, *kernel))
        b = rng.uniform(-1, 1, 3)
        whole = [(shape[2 + i] - 1) * strides[i] + kernel[i] + more[i] for i in range(n)]
        for pad in ('SAME_UPPER', *(('SAME_LOWER', 'VALID') if size is None else ('NOTSET',))):
            to = whole if pad == 'VALID' else size or [shape[2 + i] * strides[i] for i in range(n)]
            cut = [max(0, a - b) for a, b in zip(whole, to)]
            less = [c // 2 if pad == 'SAME_UPPER' else c - c // 2 for c in cut]
            pads = less + [c - a for c, a in zip(cut, less)]
            past = [m + max(0, b - a) for m, a, b in zip(more, whole, to)]
            attrs = {'strides': strides, 'auto_pad': pad, 'output_padding': more,
                     **({'output_shape': size} if size else {})}
            yield Case(f'ConvTransposeGrad, {pad} {shape} {kernel} {more} to {to}', [x, w, b],
                       lambda v, f, c, s=strides, p=pads, m=past: conv_transpose(
                           v, f, c, 1, s, p, [1] * len(s), m),
                       [0, 1, 2],
                       lambda v, y, a=attrs: ('ConvTransposeGrad', MS, ['dY', v[0], v[1]], a))


def layer(rng, gates, steps, batch=2, size=3, hidden=2):
    """X, W, R, B and first states of a recurrent layer."""
    shapes = [(steps, batch, size), (1, gates * hidden, size), (1, gates * hidden, hidden),
              (1, 2 * gates * hidden)] + [(1, batch, hidden)] * (2 if gates == 4 else 1)
    return [rng.uniform(-1, 1, s) for s in shapes]


def together(outs, last):
    """All states, and of those in `last` the one of the last step, in a row."""
    return np.concatenate([outs[0].ravel()] + [outs[i][-1].ravel() for i in last])


def played(rng):
    """Quantization that is only played, whose gradient goes back where it was within bounds; sums
    and copies with factors."""
    x = rng.uniform(-3, 3, (3, 5))
    for zero, least, most in ((0.0, -2, 2), (3.0, 0, 7), (0.5, -3, 4)):
        q = np.trunc(np.rint(x / 0.75) + zero)
        inside, attrs = (q >= least) & (q <= most), {'quant_min': least, 'quant_max': most}
        yield Case(f'FakeQuant {zero}', [x], lambda v: v, range(2),
                   lambda v, y, z=zero, a=attrs: ('FakeQuant', MS, [
                       v[0], np.array(0.75, np.float32), np.array([z], np.float32)], a),
                   gives=[(np.clip(q, least, most) - zero) * 0.75, inside])
        yield Case(f'FakeQuantGrad {zero}', [x], lambda v, m=inside: np.where(m, v, 0), [0],
                   lambda v, y, m=inside: ('FakeQuantGrad', MS, ['dY', m], {}))
    a, b, c = (rng.uniform(-1, 1, (2, 3)) for _ in range(3))
    for more, third in (([], {}), ([c], {'scale_2': -3.0}), ([c], {})):
        attrs = {'scale_0': 0.5, 'scale_1': 2.0, **third}
        yield Case(f'ScaledSum {len(more)} {third}', [a], lambda v: v, range(1),
                   lambda v, y, m=more, t=attrs: ('ScaledSum', MS, [a, b, *m], t),
                   gives=[0.5 * a + 2 * b + third.get('scale_2', 0) * c])
        yield Case(f'BatchScale {len(more)} {third}', [a], lambda v: v, range(2 + len(more)),
                   lambda v, y, t=attrs: ('BatchScale', MS, [a], t),
                   gives=[0.5 * a, 2 * a, third.get('scale_2', 0) * a][:2 + len(more)])


def parts(v, last):
    """The gradient of what together() gives, as operands."""
    shape = (len(v[0]), 1, *v[4].shape[1:])
    n, m = int(np.prod(shape)), v[4].size
    return [('dY', slice(0, n), shape)] + [
        ('dY', slice(n + i * m, n + (i + 1) * m), v[4].shape) for i in range(last)]


def recurrent(rng):
    for steps, attrs in ((1, {}), (3, {}), (5, {'activations': ['Sigmoid', 'Tanh', 'Tanh']})):
        v, attrs = layer(rng, 4, steps), {'hidden_size': 2, **attrs}
        p = rng.uniform(-1, 1, (1, 6))
        for hole in (None, p):
            h, c, g = lstm(*v, hole)
            yield Case(f'LSTMTraining {steps} {"" if hole is None else "peepholes"}', v,
                       lambda *a: lstm(*a)[0], range(5),
                       lambda v, y, a=attrs, p=hole: ('LSTMTraining', MS, [
                           *v[:4], None, *v[4:], *([] if p is None else [p])], a),
                       gives=[h, h[-1], c[-1], c, g])
        yield Case(f'LSTMGrad {steps}', v, lambda *a: together(lstm(*a), (0, 1)), range(6),
                   lambda v, y, a=attrs: ('LSTMGrad', MS, [
                       *v[:4], None, *v[4:], None, *lstm(*v), *parts(v, 2)], a))
        yield Case(f'LSTMGrad {steps}, the last h alone, of weights', v,
                   lambda *a: lstm(*a)[0][-1], [None, 1, 2, None],
                   lambda v, y, a=attrs: ('LSTMGrad', MS, [
                       *v[:4], None, *v[4:], None, *lstm(*v), None, 'dY'], a))
    v = [*layer(rng, 4, 2)[:4], np.zeros((1, 2, 2)), np.zeros((1, 2, 2))]
    yield Case('LSTMGrad from zeros', v, lambda *a: lstm(*a)[0], range(4),
               lambda v, y: ('LSTMGrad', MS, [*v[:4], None, None, None, None, *lstm(*v), 'dY'],
                             {'hidden_size': 2}))
    for steps, after in itertools.product((1, 4), (0, 1)):
        v, attrs = layer(rng, 3, steps), {'hidden_size': 2, 'linear_before_reset': after}
        h, g = gru(*v, after)
        yield Case(f'GRUTraining {steps} {after}', v, lambda *a, t=after: gru(*a, t)[0], range(3),
                   lambda v, y, a=attrs: ('GRUTraining', MS, [*v[:4], None, v[4]], a),
                   gives=[h, h[-1], g])
        yield Case(f'GRUGrad {steps} {after}', v,
                   lambda *a, t=after: together(gru(*a, t), (0,)), range(5),
                   lambda v, y, a=attrs, t=after: ('GRUGrad', MS, [
                       *v[:4], None, v[4], *gru(*v, t), *parts(v, 1)], a))


def allowed(options):
    """Share of the greatest element that results may be off by. The chip of the first generation
    has convolutions and pools of halves alone: some units in the last place of a half there."""
    return 8 * 2 ** -10 if f'--soc-version={CHIPS[1]}' in options else 1e-4


def all_cases():
    rng = np.random.default_rng(5)
    for family in (elementwise, rows, losses, look_ups, slices, pools, convolutions,
                   recurrent, played):
        yield from family(rng)


# ---- running -------------------------------------------------------------------------------------

def differences(case, dy):
    """What sum(dy * forward) does when an element moves, for each value that has a gradient."""
    def scalar(values):
        return float((dy * case.forward(*values)).sum())
    found = []
    for k in case.by:
        if k is None:
            found.append(None)
            continue
        g = np.zeros(case.values[k].shape)
        for at in np.ndindex(*g.shape):
            moved = []
            for sign in (1, -1):
                values = [v.copy() for v in case.values]
                values[k][at] += sign * STEP
                moved.append(scalar(values))
            g[at] = (moved[0] - moved[1]) / (2 * STEP)
        found.append(g)
    return found


def as_tensor(v):
    return v.astype(np.float32) if v.dtype == np.float64 else v


def build(case, dy):
    """The model and the values of its inputs."""
    op, domain, operands, attrs = case.node(case.values, case.forward(*case.values))
    inputs, constants, values, names = [], [], {}, []
    for i, v in enumerate(operands):
        if v is None:
            names.append('')
            continue
        if isinstance(v, tuple):
            v = dy.flat[v[1]].reshape(v[2] if len(v) > 2 else ())
        v = as_tensor(np.asarray(dy if isinstance(v, str) else v))
        names.append(f'in{i}')
        if i in case.fixed:
            constants.append(numpy_helper.from_array(v, f'in{i}'))
            continue
        dims = ['n' if k in case.open else d for k, d in enumerate(v.shape)]
        inputs.append(helper.make_tensor_value_info(
            f'in{i}', numpy_helper.from_array(v).data_type, dims))
        values[f'in{i}'] = v
    outputs, results = [], []
    for i, k in enumerate(case.by):
        results.append('' if k is None else f'out{i}')
        if k is not None:
            like = case.gives[i] if case.gives else case.values[k]
            dims = ['n' if d in case.open else n for d, n in enumerate(like.shape)]
            kind = TensorProto.BOOL if like.dtype == bool else TensorProto.FLOAT
            outputs.append(helper.make_tensor_value_info(f'out{i}', kind, dims))
    node = helper.make_node(op, names, results, name='g', domain=domain, **attrs)
    graph = helper.make_graph([node], 'g', inputs, outputs, constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid('', case.opset), helper.make_opsetid(MS, 1)]), values


class Runner:
    def __init__(self, tool, folder):
        self.tool, self.folder = os.path.abspath(tool), folder

    def call(self, *argv):
        p = guard.run([self.tool, *argv], cwd=self.folder, capture_output=True, text=True)
        if p.returncode:
            raise AssertionError(f'{" ".join(argv)}: exit {p.returncode}: {p.stderr[-400:]}')

    def values(self, given, *options):
        argv = ['run', 'm.onnx', '-o', 'out', '--format=npy', *options]
        for name, v in given.items():
            np.save(os.path.join(self.folder, name + '.npy'), v)
            argv.append(f'--input={name}={name}.npy')
        self.call(*argv)
        n = len(onnx.load(os.path.join(self.folder, 'm.onnx')).graph.output)
        return [np.load(os.path.join(self.folder, 'out', f'output_{i}.npy')) for i in range(n)]

    def check(self, case):
        rng = np.random.default_rng(11)
        dy = np.asarray(rng.uniform(0.5, 1.5, np.shape(case.forward(*case.values))))
        if case.name.endswith('bias'):  # its forward function adds what the bias is the slope of
            dy = np.array([dy.flat[0], 1.0])
        model, given = build(case, dy)
        onnx.save(model, os.path.join(self.folder, 'm.onnx'))
        want = case.gives or [g for g in differences(case, dy) if g is not None]
        for options in ((), *(('--npu', f'--soc-version={c}') for c in CHIPS)):
            got = self.values(given, *options)
            for i, (a, b) in enumerate(zip(got, want)):
                worst = np.abs(a.astype(np.float64) - b).max()
                assert a.shape == b.shape, f'{options}: result {i}: {a.shape}, not {b.shape}'
                assert worst <= allowed(options) * max(1, np.abs(b).max()), \
                    f'{options}: result {i} is off by {worst}'
        for chip in CHIPS:
            self.call('convert', 'm.onnx', '-o', 'm.air', '-q', f'--soc-version={chip}',
                      '--precision_mode=must_keep_origin_dtype' if chip == CHIPS[0]
                      else '--precision_mode=allow_fp32_to_fp16')
            wrong = air_check.fault(os.path.join(self.folder, 'm.air'))
            assert not wrong, f'{chip}: {wrong[:600]}'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.tailor, folder)
        for case in all_cases():
            if args.only not in case.name:
                continue
            try:
                runner.check(case)
                passed += 1
            except (AssertionError, OSError, ValueError) as e:
                failed += 1
                print(f'FAIL {case.name}: {e}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
