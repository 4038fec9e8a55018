# SPDX-License-Identifier: Apache-2.0
"""Formulas of optimizers, written from their definitions, for tests/train/formulas.py. They compute
with more digits than what is tested, and know how far arithmetic in a dtype may be off: each number
goes along with a bound on its error, to which each operation adds one rounding (running error
analysis). A planted flaw makes a formula wrong on purpose."""
import numpy as np

FLAWS = {'sign': 'the step has the wrong sign', 'correction': 'no bias correction',
         'root': 'epsilon is added below the root', 'square': 'g in the place of g^2',
         'decay': 'no decay and no regularization', 'ahead': 'momentum does not look ahead',
         'first': 'the first step scales its gradient like later ones',
         'ratio': 'no ratio of norms'}


class Num:
    """Numbers of 64 bits in their mantissa, and a bound on the error of each. eps: distance of 1
    and the next number of the dtype; tiny: its smallest number, where results underflow."""

    def __init__(self, value, error, of):
        self.v, self.e, self.of = value, error, of

    def new(self, value, carried):
        return Num(value, carried + np.maximum(abs(value) * self.of.eps,
                                               self.of.smallest_subnormal), self.of)

    def __add__(self, b):
        return self.new(self.v + b.v, self.e + b.e)

    def __sub__(self, b):
        return self.new(self.v - b.v, self.e + b.e)

    def __mul__(self, b):
        return self.new(self.v * b.v, abs(self.v) * b.e + abs(b.v) * self.e)

    def __truediv__(self, b):
        q = self.v / b.v
        return self.new(q, (self.e + abs(q) * b.e) / abs(b.v))

    def sqrt(self):
        r = np.sqrt(self.v)
        return self.new(r, np.where(self.v > 0, self.e / np.where(r > 0, r, 1), np.sqrt(self.e)))

    def power(self, n):
        """n: integers without error. Pow is within one unit in the last place, its base within
        one rounding."""
        r = self.v ** n
        return self.new(r, abs(r) * (n * self.e / np.maximum(abs(self.v), self.of.tiny)
                                     + self.of.eps))


def numbers(dtype):
    """Returns what makes a Num of an array that is exact, and of one that is rounded first."""
    of = np.finfo(dtype)

    def exact(a):
        a = np.asarray(a, np.longdouble)
        return Num(a, np.zeros_like(a), of)

    def rounded(a):
        a = exact(a)
        return a.new(a.v, a.e)
    return exact, rounded


def flip(flaw, w, d):
    return w + d if flaw == 'sign' else w - d


def below(flaw, h, eps):
    return (h + eps).sqrt() if flaw == 'root' else h.sqrt() + eps


def square(flaw, g):
    return g if flaw == 'square' else g * g


def moments(case, n, g, v, h, flaw):
    a, b, one = n(case['alpha']), n(case['beta']), n(1)
    return a * v + (one - a) * g, b * h + (one - b) * square(flaw, g)


def regularized(case, n, g, x, flaw):
    norm = case['norm_coefficient']
    return g if flaw == 'decay' or norm == 0 else n(norm) * x + g


def adam(case, n, t, rate, tensors, flaw):
    """ai.onnx.preview.training: X, G, V, H -> X, V, H."""
    x, g, v, h = tensors
    a, b, one = n(case['alpha']), n(case['beta']), n(1)
    v, h = moments(case, n, regularized(case, n, g, x, flaw), v, h, flaw)
    if t > 0 and flaw != 'correction':
        rate = rate * ((one - b.power(t)).sqrt() / (one - a.power(t)))
    y = flip(flaw, x, rate * v / below(flaw, h, n(case['epsilon'])))
    post = case['norm_coefficient_post']
    return [y if flaw == 'decay' or post == 0 else (one - n(post)) * y, v, h]


def adagrad(case, n, t, rate, tensors, flaw):
    x, g, h = tensors
    g = regularized(case, n, g, x, flaw)
    h = h + square(flaw, g)
    if case['decay_factor'] and flaw != 'decay':
        rate = rate / (n(1) + n(case['decay_factor']) * n(t))
    return [flip(flaw, x, rate * g / below(flaw, h, n(case['epsilon']))), h]


def momentum(case, n, t, rate, tensors, flaw):
    x, g, v = tensors
    g = regularized(case, n, g, x, flaw)
    a = n(case['alpha'])
    v = a * v + (n(case['beta']) * g if t > 0 or flaw == 'first' else g)
    s = g + a * v if case['mode'] == 'nesterov' and flaw != 'ahead' else v
    return [flip(flaw, x, rate * s), v]


def adamw(case, n, t, rate, tensors, flaw):
    """com.microsoft, W, G, M1, M2 -> W, M1, M2. adam_mode 0: decay of the old weights, both moments
    corrected; 1: decay of the new ones, the rate corrected."""
    w, g, m, v = tensors
    a, b, one = n(case['alpha']), n(case['beta']), n(1)
    m, v = moments(case, n, g, m, v, flaw)
    shrink = one if flaw == 'decay' else one - rate * n(case['weight_decay'])
    correct = case['correct_bias'] and t > 0 and flaw != 'correction'
    c1, c2 = (one - a.power(t), one - b.power(t)) if correct else (one, one)
    if case['adam_mode'] == 0:
        d = rate * (m / c1) / below(flaw, v / c2, n(case['epsilon']))
        return [flip(flaw, w * shrink, d), m, v]
    d = rate * c2.sqrt() / c1 * m / below(flaw, v, n(case['epsilon']))
    return [flip(flaw, w, d) * shrink, m, v]


def sgd(_case, _n, _t, rate, tensors, flaw):
    return [flip(flaw, tensors[0], rate * tensors[1])]


# ---- single steps, all of whose numbers are operands ---------------------------------------------

def apply_one(o, flaw, decay=None):
    m = o['m'] * o['b1'] + o['g'] * o['a1']
    v = o['v'] * o['b2'] + square(flaw, o['g']) * o['a2']
    u = m / below(flaw, v, o['eps'])
    if decay is not None and flaw != 'decay':
        u = u + o['p'] * decay
    return [v, m, flip(flaw, o['p'], u * o['lr'])]


def apply_one_with_decay(o, flaw):
    return apply_one(o, flaw, o['decay'])


def lamb_update(o, flaw):
    """The ratio of norms counts where both are above 0."""
    ratio = Num(np.longdouble(1), np.longdouble(0), o['p'].of)
    if o['pn'].v > 0 and o['un'].v > 0 and flaw != 'ratio':
        ratio = o['pn'] / o['un']
    return [flip(flaw, o['p'], ratio * o['lr'] * o['u'])]


def lamb_next(o, flaw):
    m = o['m'] * o['b1'] + o['g'] * o['a1']
    v = o['v'] * o['b2'] + o['gg'] * o['a2']
    mc, vc = (m, v) if flaw == 'correction' else (m / o['c1'], v / o['c2'])
    w = mc / (vc + o['eps']).sqrt()
    if flaw != 'decay':
        w = o['p'] * o['decay'] + w
    return [w, m, v, mc / below(flaw, vc, o['eps'])]


def apply_momentum(o, flaw, nesterov=False):
    a = o['accum'] * o['momentum'] + o['g']
    s = o['g'] + a * o['momentum'] if nesterov and flaw != 'ahead' else a
    return [flip(flaw, o['var'], s * o['lr']), a]


def apply_nesterov(o, flaw):
    return apply_momentum(o, flaw, True)


def apply_adam(o, flaw):
    one = Num(np.longdouble(1), np.longdouble(0), o['g'].of)
    m = o['b1'] * o['m'] + (one - o['b1']) * o['g']
    v = o['b2'] * o['v'] + (one - o['b2']) * square(flaw, o['g'])
    rate = o['lr']
    if flaw != 'correction':
        rate = rate * (one - o['p2']).sqrt() / (one - o['p1'])
    return [flip(flaw, o['var'], rate * m / below(flaw, v, o['eps'])), m, v]
