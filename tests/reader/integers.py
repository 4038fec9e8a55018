# SPDX-License-Identifier: Apache-2.0
"""Integers of constants at their limits: what is folded is what ONNX Runtime computes, and what
runtimes do not agree on stays in the model."""
import numpy
import onnx

from models import Case, model, node, nodes_of

WIDTHS = (numpy.int8, numpy.uint8, numpy.int16, numpy.uint16, numpy.int32, numpy.uint32,
          numpy.int64, numpy.uint64)
CODES = {numpy.int8: 3, numpy.uint8: 2, numpy.int16: 5, numpy.uint16: 4, numpy.int32: 6,
         numpy.uint32: 12, numpy.int64: 7, numpy.uint64: 13}
ODD_FLOATS = (0.5, -0.5, 255.9, 256, -1, -129, 65536, 2147483648.0, -2147483904.0, 1e10, 9.2e18,
              9.3e18, 2e19, -1e30, numpy.inf, -numpy.inf, numpy.nan)


def edges(dtype):
    limits = numpy.iinfo(dtype)
    return numpy.array([limits.min, limits.max, limits.max // 2 + 1, limits.min + 1, 0, 1, 2, 7],
                       dtype)


def computed(op, arrays, opset=17, **attrs):
    """The op on constants."""
    names = [f'c{i}' for i in range(len(arrays))]
    return model([node(op, names, ['y'], **attrs)], [], [onnx.ValueInfoProto(name='y')],
                 list(zip(names, arrays)), opset)


def stays(op):
    return lambda made: '' if nodes_of(made, op) else f'{op} was folded'


def wrapped():
    """Sums, differences and products wrap."""
    for dtype in WIDTHS:
        v = edges(dtype)
        a, b = numpy.repeat(v, len(v)), numpy.tile(v, len(v))
        for op in ('Add', 'Sub', 'Mul', 'Min', 'Max', 'Less'):
            yield Case(f'{op} of {dtype.__name__}', computed(op, [a, b]), same=True)
        yield Case(f'Abs of {dtype.__name__}', computed('Abs', [v]), same=True)
        if numpy.iinfo(dtype).min:
            yield Case(f'Neg of {dtype.__name__}', computed('Neg', [v]), same=True)
        for other in (numpy.int8, numpy.uint32, numpy.int64):
            yield Case(f'Cast of {dtype.__name__} to {other.__name__}',
                       computed('Cast', [v], to=CODES[other]), same=True)
        for op in ('Add', 'Sub', 'Mul'):
            for count in (1, 2):
                yield Case(f'{op} of {count} {dtype.__name__}', computed(
                    op, [v[1:1 + count], v[7 - count:7]]), same=True)
        few = v[:2]
        yield Case(f'Cast of two {dtype.__name__}', computed('Cast', [few], to=3), same=True)
        yield Case(f'Cast of two more {dtype.__name__}', computed(
            'Cast', [v[1:3]], to=6), same=True)
    for dtype in (numpy.int32, numpy.int64):
        v = edges(dtype)
        yield Case(f'Neg of one {dtype.__name__}', computed('Neg', [v[:1]]), same=True)
        yield Case(f'Abs of one {dtype.__name__}', computed('Abs', [v[:1]]), same=True)
        yield Case(f'ReduceProd of two {dtype.__name__}', computed('ReduceProd', [v[1:3]]),
                   check=stays('ReduceProd'))
        yield Case(f'CumSum of {dtype.__name__}', computed('CumSum', [v, numpy.array(0)]),
                   same=True)
        small = numpy.array([3, -7, 11], dtype)
        for op in ('ReduceProd', 'ReduceL1', 'ReduceSumSquare', 'ReduceMean', 'ReduceMax'):
            yield Case(f'{op} of small {dtype.__name__}', computed(op, [small]), same=True)
        yield Case(f'Pow of small {dtype.__name__}',
                   computed('Pow', [small, numpy.array([3, 2, 0], dtype)]), same=True)
        for start, end, step in ((0, 5, 2), (5, 0, -2), (3, 3, 1)):
            yield Case(f'Range {start}, {end}, {step} of {dtype.__name__}', computed(
                'Range', [numpy.array(n, dtype) for n in (start, end, step)]), same=True)


def unsettled():
    """Nothing to agree on: the node stays."""
    for dtype in (numpy.int32, numpy.int64):
        name, limits = dtype.__name__, numpy.iinfo(dtype)
        low, one = numpy.array([limits.min], dtype), numpy.array([1], dtype)
        high = numpy.array([limits.max], dtype)
        for title, op, arrays, attrs in (
                ('the lowest by -1', 'Div', [low, -one], {}), ('by 0', 'Div', [one, one - one], {}),
                ('by 0', 'Mod', [one, one - one], {}), ('the lowest by -1', 'Mod', [low, -one], {}),
                ('a power too high', 'Pow', [high, 5 * one], {}),
                ('1 / 0', 'Pow', [one - one, -one], {}),
                ('a float too high', 'Pow', [high, numpy.array([1.5], numpy.float32)], {}),
                ('a root of -1', 'Pow', [-one, numpy.array([0.5], numpy.float32)], {}),
                ('squares too high', 'ReduceSumSquare', [high], {}),
                ('too high', 'ReduceL1', [numpy.array([limits.max, 9], dtype)], {}),
                ('of 0', 'ReduceLogSum', [one - one], {})):
            yield Case(f'{op}, {title}, of {name}', computed(op, arrays, **attrs),
                       check=stays(op))
        yield Case(f'Pow that a double rounds, of {name}',
                   computed('Pow', [numpy.array([3], dtype), numpy.array([39], dtype)]),
                   same=True, check=stays('Pow'))
    huge = numpy.array([(1 << 62) + 1, 5], numpy.int64)
    yield Case('Mod by fmod beyond 2^53', computed('Mod', [huge, numpy.array([3, 3])], fmod=1),
               same=True, check=stays('Mod'))
    yield Case('a shift by all bits', computed(
        'BitShift', [numpy.array([1], numpy.uint32), numpy.array([32], numpy.uint32)],
        direction='LEFT'), check=stays('BitShift'))


def from_floats():
    for dtype in WIDTHS:
        limits = numpy.iinfo(dtype)
        for number in ODD_FLOATS:
            held = numpy.isfinite(number) and limits.min <= int(number) <= limits.max
            for source in (numpy.float32, numpy.float64):
                yield Case(f'Cast {number} of {source.__name__} to {dtype.__name__}', computed(
                    'Cast', [numpy.array([number], source)], to=CODES[dtype]), same=True,
                    check=None if held else stays('Cast'))


def gemm():
    """alpha and beta that are no numbers, 0 by infinity."""
    nan, inf = float('nan'), float('inf')
    a = numpy.array([[1, 2], [3, 4]], numpy.float32)
    odd = numpy.array([[numpy.inf, 2], [0, numpy.nan]], numpy.float32)
    for alpha in (nan, inf, 0.0, 1.0):
        for beta in (nan, inf, 0.0, 1.0):
            for title, first in (('', a), (' of infinity', odd)):
                for bias in ([], [a], [odd]):
                    arrays = [first, a, *bias]
                    for folded in (True, False):
                        made = computed('Gemm', arrays, alpha=alpha, beta=beta)
                        if not folded:
                            made.graph.initializer.pop(0)
                            made.graph.input.append(onnx.helper.make_tensor_value_info(
                                'c0', 1, [2, 2]))
                        yield Case(f'Gemm{title} {alpha} {beta} {len(bias)} {folded}', made,
                                   same=True)


def cases():
    yield from wrapped()
    yield from unsettled()
    yield from from_floats()
    yield from gemm()
