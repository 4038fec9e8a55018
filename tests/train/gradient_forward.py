#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tests/train/gradients.py differentiates: forward functions in NumPy and in f64."""
import itertools
import math

import numpy as np


def erf(x):
    return np.vectorize(math.erf)(x)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    return np.log(softmax(x, axis))


def flat(fn, axis):
    """Below opset 13: over all axes from `axis` on."""
    def run(x):
        return fn(x.reshape(int(np.prod(x.shape[:axis])), -1)).reshape(x.shape)
    return run


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(axis, eps=1e-5, mean=True):
    def run(x, gamma, *beta):
        axes = tuple(range(axis, x.ndim))
        d = x - x.mean(axis=axes, keepdims=True) if mean else x
        y = d / np.sqrt((d * d).mean(axis=axes, keepdims=True) + eps) * gamma
        return y + beta[0] if beta else y
    return run


def row_statistics(x, axis, eps=1e-5, mean=True):
    axes = tuple(range(axis, x.ndim))
    m = x.mean(axis=axes, keepdims=True)
    d = x - m if mean else x
    return m, 1 / np.sqrt((d * d).mean(axis=axes, keepdims=True) + eps)


def along_channels(v, x):
    return v.reshape([1, -1] + [1] * (x.ndim - 2))


def batch_norm(x, gamma, beta, eps=1e-5):
    axes = (0, *range(2, x.ndim))
    m, v = x.mean(axis=axes), x.var(axis=axes)
    n = (x - along_channels(m, x)) / np.sqrt(along_channels(v, x) + eps)
    return n * along_channels(gamma, x) + along_channels(beta, x)


def windows(x, kernel, strides, pads, dilations, fill):
    """x padded, and for each window its first place and the slices that its taps are."""
    n = x.ndim - 2
    size = [x.shape[2 + i] + pads[i] + pads[n + i] for i in range(n)]
    padded = np.full((*x.shape[:2], *size), fill, x.dtype)  # np.pad takes four times as long
    padded[(..., *(slice(pads[i], pads[i] + x.shape[2 + i]) for i in range(n)))] = x
    out = [(padded.shape[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
           for i in range(n)]
    for at in itertools.product(*(range(o) for o in out)):
        cut = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                    for p, s, k, d in zip(at, strides, kernel, dilations))
        yield at, out, padded[(slice(None), slice(None), *cut)]


def conv(x, w, b, group, strides, pads, dilations):
    kernel = w.shape[2:]
    per, each = w.shape[0] // group, w.shape[1]
    y = None
    for at, out, cut in windows(x, kernel, strides, pads, dilations, 0):
        if y is None:
            y = np.zeros((x.shape[0], w.shape[0], *out))
        for g in range(group):
            part = cut[:, g * each:(g + 1) * each].reshape(x.shape[0], -1)
            y[(slice(None), slice(g * per, (g + 1) * per), *at)] = \
                part @ w[g * per:(g + 1) * per].reshape(per, -1).T
    return y + along_channels(b, y)


def conv_transpose(x, w, b, group, strides, pads, dilations, more=None):
    """more: by how many zeros the result is longer before its padding is cut off."""
    n, kernel = x.ndim - 2, w.shape[2:]
    per, each = w.shape[0] // group, w.shape[1]
    size = [(x.shape[2 + i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
            + (more[i] if more else 0) for i in range(n)]
    y = np.zeros((x.shape[0], each * group, *size))
    for at in itertools.product(*(range(s) for s in x.shape[2:])):
        cut = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                    for p, s, k, d in zip(at, strides, kernel, dilations))
        for g in range(group):
            part = x[(slice(None), slice(g * per, (g + 1) * per), *at)]
            y[(slice(None), slice(g * each, (g + 1) * each), *cut)] += np.tensordot(
                part, w[g * per:(g + 1) * per], 1)
    cut = tuple(slice(pads[i], size[i] - pads[n + i]) for i in range(n))
    return y[(slice(None), slice(None), *cut)] + along_channels(b, y)


def max_pool(x, kernel, strides, pads):
    """The maxima, and where in all of x they were."""
    n = x.ndim - 2
    places = np.arange(x.size).reshape(x.shape)
    ones = [1] * n
    y = at_x = None
    for (at, out, cut), (_, _, where) in zip(
            windows(x, kernel, strides, pads, ones, -np.inf),
            windows(places, kernel, strides, pads, ones, -1)):
        if y is None:
            y, at_x = np.zeros((*x.shape[:2], *out)), np.zeros((*x.shape[:2], *out), np.int64)
        rows = cut.reshape(*x.shape[:2], -1)
        best = rows.argmax(-1)
        y[(slice(None), slice(None), *at)] = rows.max(-1)
        at_x[(slice(None), slice(None), *at)] = np.take_along_axis(
            where.reshape(*x.shape[:2], -1), best[..., None], -1)[..., 0]
    return y, at_x


def average_pool(x, kernel, strides, pads, count, beyond=None):
    """beyond: how far windows reach behind the padding at the end, where nothing counts."""
    n = x.ndim - 2
    y = None
    past = [max(0, b) for b in beyond or [0] * n]
    ones = np.pad(np.ones_like(x), [(0, 0), (0, 0)] + [(pads[i], pads[n + i]) for i in range(n)],
                  constant_values=1 if count else 0)
    ones = np.pad(ones, [(0, 0), (0, 0)] + [(0, p) for p in past])
    whole = [*pads[:n], *(pads[n + i] + past[i] for i in range(n))]
    for (at, out, cut), (_, _, inside) in zip(
            windows(x, kernel, strides, whole, [1] * n, 0),
            windows(ones, kernel, strides, [0] * (2 * n), [1] * n, 0)):
        if y is None:
            y = np.zeros((*x.shape[:2], *out))
        axes = tuple(range(2, x.ndim))
        y[(slice(None), slice(None), *at)] = cut.sum(axes) / inside.sum(axes)
    return y


def loss_of(labels, weights=None, ignored=None, reduction='mean'):
    def run(scores):
        p = log_softmax(scores, 1)
        at = np.where(labels == ignored, 0, labels) if ignored is not None else labels
        each = -np.take_along_axis(p, np.expand_dims(at, 1), 1).squeeze(1)
        w = np.ones(labels.shape) if weights is None else weights[at]
        if ignored is not None:
            w = w * (labels != ignored)
        each = each * w
        if reduction == 'none':
            return each
        return np.array(each.sum() / (w.sum() or 1) if reduction == 'mean' else each.sum())
    return run


def same_pads(size, kernel, strides, dilations, upper):
    before, after = [], []
    for n, k, s, d in zip(size, kernel, strides, dilations):
        whole = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        before.append(whole // 2 if upper else whole - whole // 2)
        after.append(whole - before[-1])
    return before + after


def lstm(x, w, r, b, h, c, p=None):
    """All h, all c, and the gates of all steps: input, output, forget, cell. One direction."""
    n = r.shape[-1]
    bias = b[0, :4 * n] + b[0, 4 * n:]
    p = np.zeros(3 * n) if p is None else p[0]
    h, c, found = h[0], c[0], []
    for step in x:
        i, o, f, g = np.split(step @ w[0].T + h @ r[0].T + bias, 4, -1)
        i, f, g = sigmoid(i + p[:n] * c), sigmoid(f + p[2 * n:] * c), np.tanh(g)
        c = f * c + i * g
        o = sigmoid(o + p[n:2 * n] * c)
        h = o * np.tanh(c)
        found.append((h, c, np.concatenate([i, o, f, g], -1)))
    return [np.stack(v)[:, None] for v in zip(*found)]


def gru(x, w, r, b, h, after):
    """All h, and the gates of all steps: update, reset, candidate."""
    n = r.shape[-1]
    wb, rb = b[0, :3 * n], b[0, 3 * n:]
    h, found = h[0], []
    for step in x:
        a = step @ w[0].T + wb
        z, t = np.split(sigmoid((a + h @ r[0].T + rb)[:, :2 * n]), 2, -1)
        rh, bh = r[0][2 * n:].T, rb[2 * n:]
        m = np.tanh(a[:, 2 * n:] + (t * (h @ rh + bh) if after else (t * h) @ rh + bh))
        h = (1 - z) * m + z * h
        found.append((h, np.concatenate([z, t, m], -1)))
    return [np.stack(v)[:, None] for v in zip(*found)]
