# SPDX-License-Identifier: Apache-2.0
"""Sizes beyond what fits anywhere: such a model is bad or not supported, no internal error."""
import numpy

from models import F, I64, Case, model, node, value

REFUSED = (2, 3)
CODES = (0, 2, 3)
LONG = 'is larger than 64 bits can count'
HUGE = 1 << 62
CUBE = ('shape', numpy.array([1 << 20] * 3))


def ints(name, *values):
    return name, numpy.array(values, numpy.int64)


def scalar(name, number):
    return name, numpy.array(number, numpy.int64)


def of_inputs():
    """Shapes that the model declares."""
    for dims in ([1 << 31, 1 << 31], [1 << 40, 1 << 40], [HUGE, 2], [1 << 31, 1 << 31, 0],
                 [(1 << 63) - 1]):
        x = value('x', F, dims)
        yield Case(f'an input of {dims}', model([node('Relu', ['x'], ['y'])], [x],
                                                [value('y', F, dims)]), CODES, REFUSED, LONG)
    big = [1 << 31, 1 << 31]
    yield Case('a product of matrices of 2^31', model(
        [node('Relu', ['x'], ['a']), node('MatMul', ['a', 'a'], ['b']),
         node('Softmax', ['b'], ['y'])], [value('x', F, big)], [value('y', F, big)]),
        CODES, REFUSED, LONG)
    yield Case('2^31 elements are not too many', model(
        [node('Relu', ['x'], ['y'])], [value('x', F, [1 << 31])], [value('y', F, [1 << 31])]),
        air=(0,))


def made():
    """Results that a few bytes ask for. `use` makes them an operand of what is small."""
    one = ('one', numpy.array([1], numpy.float32))
    bombs = {
        'Expand': ([node('Expand', ['one', 'shape'], ['e'])], [one, CUBE]),
        'Tile': ([node('Tile', ['cube', 'shape'], ['e'])],
                 [('cube', numpy.ones((1, 1, 1), numpy.float32)), CUBE]),
        'ConstantOfShape': ([node('ConstantOfShape', ['shape'], ['e'])], [CUBE]),
        'ConstantOfShape twice': ([node('ConstantOfShape', ['shape'], ['a']),
                                   node('Concat', ['a', 'a'], ['e'], axis=0)],
                                  [ints('shape', HUGE)]),
        'Pad': ([node('Pad', ['one', 'pads'], ['e'])], [one, ints('pads', HUGE, HUGE)]),
        'Pad past the end': ([node('Pad', ['one', 'pads'], ['e'])],
                             [one, ints('pads', (1 << 63) - 1, (1 << 63) - 1)]),
        'OneHot': ([node('OneHot', ['i', 'depth', 'two'], ['e'])],
                   [ints('i', 0, 1), scalar('depth', HUGE),
                    ('two', numpy.array([0, 1], numpy.float32))]),
        'Resize': ([node('Resize', ['one', '', 'scale'], ['e'])],
                   [one, ('scale', numpy.array([3e38], numpy.float32))]),
        'Resize to sizes': ([node('Resize', ['one', '', '', 'size'], ['e'])],
                            [one, ints('size', HUGE)]),
        'Range': ([node('Range', ['a', 'b', 'c'], ['r']), node('Cast', ['r'], ['e'], to=F)],
                  [scalar('a', 0), scalar('b', HUGE), scalar('c', 1)]),
        'Range of all': ([node('Range', ['a', 'b', 'c'], ['r']), node('Cast', ['r'], ['e'], to=F)],
                         [scalar('a', -(1 << 63)), scalar('b', (1 << 63) - 1), scalar('c', 1)]),
        'outer product': ([node('ConstantOfShape', ['shape'], ['a']),
                           node('Einsum', ['a', 'a'], ['e'], equation='i,j->ij')],
                          [ints('shape', 1 << 32)]),
    }
    for name, (nodes, constants) in bombs.items():
        use = [node('ReduceMax', ['e'], ['m'], keepdims=0), node('Add', ['x', 'm'], ['y'])]
        yield Case(f'{name}, used', model(nodes + use, [value('x', F, [2])], [value('y', F, [2])],
                                          constants), CODES, CODES)
        yield Case(f'{name}, an output', model(nodes, [], [value('e')], constants), CODES, CODES)
    yield Case('Range, reduced', model(
        [node('Range', ['a', 'b', 'c'], ['r']), node('ReduceSum', ['r'], ['y'], keepdims=0)],
        [value('x', F, [2])], [value('y', I64)],
        [scalar('a', 0), scalar('b', HUGE), scalar('c', 1)]), CODES, REFUSED, LONG)


def attributes():
    """Sizes that attributes say."""
    x = value('x', F, [1, 1, 4, 4])
    w = ('w', numpy.ones((1, 1, 3, 3), numpy.float32))
    big = (1 << 63) - 1
    for name, attrs in (('pads', {'pads': [HUGE] * 4}), ('dilations', {'dilations': [big, big]}),
                        ('strides', {'strides': [big, big]}), ('strides of 0', {'strides': [0, 0]}),
                        ('group', {'group': big}), ('pads below 0', {'pads': [-big] * 4}),
                        ('kernel_shape', {'kernel_shape': [big, big]})):
        for op in ('Conv', 'ConvTranspose'):
            yield Case(f'{op}: {name}', model([node(op, ['x', 'w'], ['y'], **attrs)], [x],
                                              [value('y')], [w]), CODES, CODES)
        if name != 'group':
            yield Case(f'MaxPool: {name}', model(
                [node('MaxPool', ['x'], ['y'], **{'kernel_shape': [3, 3], **attrs})], [x],
                [value('y')]), CODES, CODES)
    for op, attrs in (('DepthToSpace', {'blocksize': big}), ('SpaceToDepth', {'blocksize': big}),
                      ('DepthToSpace', {'blocksize': 0}), ('Flatten', {'axis': -big}),
                      ('LRN', {'size': big}), ('Split', {'num_outputs': big}),
                      ('EyeLike', {'k': big}), ('Shape', {'start': -big - 1, 'end': big})):
        yield Case(f'{op} {attrs}', model([node(op, ['x'], ['y'], **attrs)], [x], [value('y')],
                                          opset=18), CODES, CODES)


def cases():
    yield from of_inputs()
    yield from made()
    yield from attributes()
