# SPDX-License-Identifier: Apache-2.0
"""Norms in pieces, as TensorFlow, Keras, Flax and PyTorch write them: of the last dims, of the
image of channels that are last, of groups of such channels, of channels that are dim 1."""
from spelled import Net

EPSILON = 1e-3


# ---- pieces --------------------------------------------------------------------------------------


def variance(net, x, mean, axes, form):
    if form in ('Pow', 'Mul'):
        d = net.op('Sub', x, mean)
        return net.mean(net.op('Pow', d, net.const(2)) if form == 'Pow' else net.op('Mul', d, d),
                        axes)
    power = form == 'powers'
    squares = [net.op('Pow', v, net.const(2)) if power else net.op('Mul', v, v) for v in (x, mean)]
    v = net.op('Sub', net.mean(squares[0], axes), squares[1])
    return net.op('Max', v, net.const(0)) if form == 'largest' else v


def root(net, v, form):
    """(value, whether it is to be divided by)"""
    e = net.op('Add', *((net.const(EPSILON), v) if form == 'left' else (v, net.const(EPSILON))))
    if form == 'Pow':
        return net.op('Pow', e, net.const(-0.5)), False
    if form == 'inner':
        return net.op('Sqrt', net.op('Reciprocal', e)), False
    if form == 'half':
        return net.op('Pow', e, net.const(0.5)), True
    s = net.op('Sqrt', e)
    if form == 'Reciprocal':
        return net.op('Reciprocal', s), False
    return (net.op('Div', net.const(1), s), False) if form == 'one' else (s, True)


def over(net, v, scale):
    value, divides = scale
    return net.op('Div' if divides else 'Mul', v, value)


def put_together(net, x, mean, scale, gamma, beta, form):
    if form == 'plain':
        y = over(net, net.op('Sub', x, mean), scale)
        y = net.op('Mul', y, gamma) if gamma else y
        return net.op('Add', y, beta) if beta else y
    k = over(net, gamma, scale) if gamma else over(net, net.const(1), scale) if scale[1] \
        else scale[0]
    if form == 'scaled':
        y = net.op('Mul', net.op('Sub', x, mean), k)
        return net.op('Add', y, beta) if beta else y
    y = net.op('Mul', x, k)
    if form == 'TensorFlow':
        m = net.op('Mul', mean, k)
        return net.op('Add', y, net.op('Sub', beta, m)) if beta else net.op('Sub', y, m)
    m = net.op('Mul', net.op('Neg', mean), k)
    return net.op('Add', y, net.op('Add', m, beta) if beta else m)


VARIANCES = ('Pow', 'Mul', 'squares', 'powers', 'largest')
ROOTS = ('divided', 'left', 'half', 'Reciprocal', 'one', 'Pow', 'inner')
FORMS = ('plain', 'scaled', 'TensorFlow', 'Keras 3')
PARTS = ('gb', 'g', 'b', '')
# Of ways to write it, those that frameworks have.
USUAL = (('Mul', 'Reciprocal', 'TensorFlow'), ('Pow', 'divided', 'plain'),
         ('squares', 'Reciprocal', 'TensorFlow'), ('Mul', 'Reciprocal', 'Keras 3'),
         ('Mul', 'Reciprocal', 'scaled'), ('largest', 'one', 'TensorFlow'))


def norm(net, x, axes, way, parts, sizes):
    """sizes: of scale and shift."""
    spread, inverse, form = way
    mean = net.mean(x, axes)
    v = variance(net, x, mean, axes, spread)
    gamma = net.some(*sizes) if 'g' in parts else None
    beta = net.weights(*sizes) if 'b' in parts else None
    return put_together(net, x, mean, root(net, v, inverse), gamma, beta, form)


# ---- models --------------------------------------------------------------------------------------


def last_dims(shape, axes, way, parts, full=False):
    net = Net()
    sizes = [shape[a] for a in axes]
    if full:
        places = [a % len(shape) for a in axes]
        sizes = [n if i in places else 1 for i, n in enumerate(shape)]
    return net.model(norm(net, net.feed(*shape), axes, way, parts, sizes))


def between(write):
    """Channels are last between two Transposes, or in the model."""
    def model(shape, turned, *more):
        net, r = Net(), len(shape)
        if not turned:
            return net.model(write(net, net.feed(*shape), shape, *more))
        x = net.op('Relu', net.feed(shape[0], shape[-1], *shape[1:-1]))
        x = net.op('Transpose', x, perm=[0, *range(2, r), 1])
        y = write(net, x, shape, *more)
        return net.model(net.op('Relu', net.op('Transpose', y, perm=[0, r - 1, *range(1, r - 1)])))
    return model


@between
def instance(net, x, shape, way, parts):
    return norm(net, x, range(1, len(shape) - 1), way, parts, shape[-1:])


@between
def groups(net, x, shape, way, parts, inside, flat):
    """inside: scale and shift are multiplied in the view of groups. flat: rows and columns are one
    dim of it."""
    n, r = 3, len(shape)
    view = [shape[0], *([-1] if flat else shape[1:-1]), n, shape[-1] // n]
    axes = [*range(1, len(view) - 2), len(view) - 1]
    z = net.op('Reshape', x, net.ints(*view))
    sizes = [*[1] * (len(view) - 2), *view[-2:]]
    y = norm(net, z, axes, way, parts if inside else '', sizes)
    y = net.op('Reshape', y, net.ints(-1, *shape[1:r]))
    if not inside:
        y = net.op('Mul', y, net.some(shape[-1])) if 'g' in parts else y
        y = net.op('Add', y, net.weights(shape[-1])) if 'b' in parts else y
    return y


def models():
    """(name, model, most nodes): Transposes and the op, or the op between two others."""
    for spread in VARIANCES:
        for inverse in ROOTS:
            for form in FORMS:
                for parts in ('gb', ''):
                    way = (spread, inverse, form)
                    yield (f'layer {" ".join(way)} {parts}',
                           last_dims((2, 5, 6), [-1], way, parts), 1)
    for shape, axes in (((4, 6), [1]), ((2, 3, 4, 6), [3]), ((2, 3, 4, 6), [-2, -1]),
                        ((2, 3, 4, 6), [1, 2, 3]), ((2, 2, 3, 4, 6), [-1])):
        for way in USUAL:
            for parts in PARTS:
                for full in (False, True):
                    yield (f'layer {shape} {axes} {" ".join(way)} {parts} {full}',
                           last_dims(shape, axes, way, parts, full), 1)
    for shape in ((2, 5, 6), (2, 5, 7, 6), (2, 3, 5, 7, 6)):
        for way in USUAL:
            for parts in PARTS:
                for turned in (False, True):
                    name = f'{shape} {" ".join(way)} {parts} {turned}'
                    yield f'instance {name}', instance(shape, turned, way, parts), 3
                    for inside in (False, True):
                        yield (f'groups {name} {inside}',
                               groups(shape, turned, way, parts, inside, len(shape) == 5), 3)
    for way in USUAL:
        for parts in PARTS:
            net = Net()
            y = norm(net, net.feed(2, 6, 4, 5), [1], way, parts, (6, 1, 1))
            yield f'channels first {" ".join(way)} {parts}', net.model(y), 3
