# SPDX-License-Identifier: Apache-2.0
"""Recipes for models of one node (grammar.py): for each op the factors that a model is drawn from
(dtype, rank, every attribute with its values, which operands are there) and a function that makes
operands of shapes that fit. A function returns None where the factors do not go together.

A factor whose name begins with '_' is no attribute. The value ABSENT leaves an attribute out."""
import numpy

ABSENT = '-'
FLOATS, INTS = ('f4', 'f2', 'f8'), ('i4', 'i8')
NUMBERS = FLOATS[:2] + INTS
ALL = ('f4', 'f2', 'f8', 'i4', 'i8', 'u1', 'i1', 'b1')
RECIPES = {}


class Data:
    """An operand: its numbers, and whether it is a constant of the model."""

    def __init__(self, array, constant=False):
        self.array, self.constant = array, constant


def recipe(*ops, **factors):
    def enter(make):
        for op in ops:
            RECIPES[op] = (factors, make)
        return make
    return enter


def numbers(rng, dtype, shape, low=-2.0, high=2.0):
    """Random numbers of a dtype; small ones, so that sums stay exact in integers."""
    if dtype == 'b1':
        return rng.random(shape) < 0.5
    if dtype[0] in 'iu':
        return rng.integers(0 if dtype[0] == 'u' else -4, 5, shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def shape_of(rng, rank, most=4, least=1):
    return [int(rng.integers(least, most + 1)) for _ in range(rank)]


def broadcast(rng, shape):
    """A shape that broadcasts to another: some dims 1, some in front left out."""
    shape = [1 if rng.random() < 0.3 else d for d in shape]
    return shape[int(rng.integers(0, len(shape) + 1)):] if rng.random() < 0.4 else shape


def axis_of(f, rank, name='axis', usual=0):
    """The axis that a factor means, or None if the rank has none such."""
    axis = usual if f[name] == ABSENT else f[name]
    return axis if -rank <= axis < rank else None


# ---- element by element --------------------------------------------------------------------------

UNARY = ('Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish '
         'Reciprocal Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh').split()


@recipe(*UNARY, _type=FLOATS, _rank=range(5), _low=(-2.0, 0.0, 1.0, -100.0))
@recipe('Abs', 'Neg', 'Sign', 'Relu', _type=NUMBERS + ('i1', 'f8'), _rank=range(5), _low=(-2.0,))
@recipe('Identity', 'Size', _type=ALL, _rank=range(5), _low=(-2.0,))
@recipe('IsNaN', _type=FLOATS, _rank=range(5), _low=(-2.0,))
@recipe('Not', _type=('b1',), _rank=range(5), _low=(0.0,))
@recipe('BitwiseNot', _type=('i4', 'u1', 'i8'), _rank=range(5), _low=(0.0,))
@recipe('IsInf', _type=('f4', 'f8'), _rank=range(5), _low=(-2.0,), detect_negative=(ABSENT, 0, 1),
        detect_positive=(ABSENT, 0, 1))
@recipe('Celu', _type=('f4',), _rank=range(4), _low=(-2.0,), alpha=(ABSENT, 0.5, 2.0))
@recipe('Elu', 'LeakyRelu', 'ThresholdedRelu', _type=FLOATS, _rank=range(4), _low=(-2.0, 0.0),
        alpha=(ABSENT, 0.0, 0.5, 2.0))
@recipe('Selu', _type=FLOATS, _rank=range(4), _low=(-2.0,), alpha=(ABSENT, 0.5, 2.0),
        gamma=(ABSENT, 0.5, 2.0))
@recipe('HardSigmoid', _type=FLOATS, _rank=range(4), _low=(-2.0, -9.0), alpha=(ABSENT, 0.0, 0.5),
        beta=(ABSENT, 0.0, 1.0))
@recipe('Shrink', _type=NUMBERS, _rank=range(4), _low=(-2.0,), bias=(ABSENT, 0.0, 0.5),
        lambd=(ABSENT, 0.0, 1.0))
@recipe('Gelu', _type=FLOATS[:2], _rank=range(4), _low=(-2.0,), approximate=(ABSENT, 'none', 'tanh'))
@recipe('Swish', _type=FLOATS[:2], _rank=range(4), _low=(-2.0,), alpha=(ABSENT, 0.5, 2.0))
def unary(f, rng):
    x = numbers(rng, f['_type'], shape_of(rng, f['_rank']), f['_low'], f['_low'] + 4)
    if x.dtype.kind == 'f' and x.size and rng.random() < 0.2:
        x.reshape(-1)[0] = rng.choice([numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0])
    return [Data(x)]


@recipe('Add', 'Sub', 'Mul', _type=NUMBERS + ('f8',), _rank=range(5))
@recipe('Div', _type=NUMBERS + ('f8',), _rank=range(5))
@recipe('Equal', _type=ALL, _rank=range(5))
@recipe('Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual', _type=NUMBERS, _rank=range(5))
@recipe('And', 'Or', 'Xor', _type=('b1',), _rank=range(5))
@recipe('BitwiseAnd', 'BitwiseOr', 'BitwiseXor', _type=('i4', 'u1', 'i8'), _rank=range(5))
@recipe('BitShift', _type=('u1', 'u4', 'u8'), _rank=range(4), direction=('LEFT', 'RIGHT'))
@recipe('Mod', _type=INTS + FLOATS[:2], _rank=range(5), fmod=(ABSENT, 0, 1))
@recipe('PRelu', _type=NUMBERS, _rank=range(5))
@recipe('Pow', _type=NUMBERS, _rank=range(5), _exponent=(ABSENT, 0, 1, 2, 3, 0.5, -1))
def binary(f, rng):
    shape = shape_of(rng, f['_rank'])
    a = numbers(rng, f['_type'], shape if f.get('fmod') or rng.random() < 0.5
                else broadcast(rng, shape))
    b = numbers(rng, f['_type'], broadcast(rng, shape))
    kind = f['_type'][0]
    if 'fmod' in f:
        if kind == 'f' and f['fmod'] != 1:
            return None  # only fmod takes floats
        b = numpy.where(b == 0, b.dtype.type(3), b)
    elif kind in 'iu' and f.get('_exponent') is None:  # a division by 0 is not defined
        b = numpy.where(b == 0, b.dtype.type(2), b)
    if '_exponent' in f:
        a = abs(a) + a.dtype.type(1)
        if f['_exponent'] != ABSENT:
            if kind == 'i' and (f['_exponent'] < 0 or f['_exponent'] == 0.5):
                return None
            b = numpy.array(f['_exponent'], f['_type'])
        elif kind == 'i':
            b = abs(b)
    return [Data(a), Data(b, bool(rng.random() < 0.4))]


@recipe('Max', 'Min', _type=NUMBERS, _rank=range(4), _n=(1, 2, 3))
@recipe('Sum', 'Mean', _type=FLOATS, _rank=range(4), _n=(1, 2, 3))
def several(f, rng):
    shape = shape_of(rng, f['_rank'])
    return [Data(numbers(rng, f['_type'], broadcast(rng, shape)), rng.random() < 0.3)
            for _ in range(f['_n'])]


@recipe('Where', _type=('f4', 'f2', 'i4', 'i8', 'u1', 'b1'), _rank=range(4))
def where(f, rng):
    shape = shape_of(rng, f['_rank'])
    return [Data(numbers(rng, 'b1', broadcast(rng, shape)))] + [
        Data(numbers(rng, f['_type'], broadcast(rng, shape)), rng.random() < 0.3)
        for _ in range(2)]


@recipe('Clip', _type=NUMBERS, _rank=range(4), _low=(ABSENT, -1, 1), _high=(ABSENT, 0, 3))
def clip(f, rng):
    ends = [None if f[k] == ABSENT else Data(numpy.array(f[k], f['_type']), rng.random() < 0.6)
            for k in ('_low', '_high')]
    while ends and ends[-1] is None:
        ends.pop()
    return [Data(numbers(rng, f['_type'], shape_of(rng, f['_rank'])))] + ends


TYPES = {'f4': 1, 'u1': 2, 'i1': 3, 'i4': 6, 'i8': 7, 'b1': 9, 'f2': 10, 'f8': 11}


@recipe('Cast', _type=ALL, _rank=range(3), to=tuple(TYPES.values()))
@recipe('CastLike', _type=ALL, _rank=range(3), _like=ALL)
def cast(f, rng):
    x = numbers(rng, f['_type'], shape_of(rng, f['_rank']), 0, 4)  # signs of u8 are not defined
    if f['_type'][0] == 'i':
        x = abs(x)
    return [Data(x)] + ([Data(numbers(rng, f['_like'], [1]))] if '_like' in f else [])


# ---- reductions ----------------------------------------------------------------------------------

REDUCE = ('ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd '
          'ReduceSum ReduceSumSquare').split()


@recipe(*REDUCE, _type=NUMBERS, _rank=range(5), _axes=(ABSENT, 'none', (0,), (-1,), (0, -1), (1,)),
        keepdims=(ABSENT, 0, 1), noop_with_empty_axes=(ABSENT, 0, 1))
def reduce(f, rng):
    axes, rank = f['_axes'], f['_rank']
    if isinstance(axes, tuple) and len({a % rank if rank else a for a in axes if
                                        -rank <= a < rank}) < len(axes):
        return None
    x = Data(numbers(rng, f['_type'], shape_of(rng, rank), 0.5, 2.0))
    if axes == ABSENT:
        return [x]
    return [x, Data(numpy.array([] if axes == 'none' else axes, 'i8'), True)]


@recipe('ArgMax', 'ArgMin', _type=('f4', 'f2', 'i4', 'u1'), _rank=range(1, 5),
        axis=(ABSENT, 0, 1, -1, -2), keepdims=(ABSENT, 0, 1), select_last_index=(ABSENT, 0, 1))
@recipe('Softmax', 'LogSoftmax', 'Hardmax', _type=FLOATS, _rank=range(1, 5),
        axis=(ABSENT, 0, 1, -1, -2))
@recipe('LpNormalization', _type=('f4',), _rank=range(1, 5), axis=(ABSENT, 0, 1, -1), p=(ABSENT, 1, 2))
def along(f, rng):
    if axis_of(f, f['_rank']) is None:
        return None
    return [Data(numbers(rng, f['_type'], shape_of(rng, f['_rank'])))]


@recipe('CumSum', _type=('f4', 'f8', 'i4', 'i8'), _rank=range(1, 4), _axis=(0, 1, -1),
        exclusive=(ABSENT, 0, 1), reverse=(ABSENT, 0, 1), _index=INTS)
def cumsum(f, rng):
    if axis_of(f, f['_rank'], '_axis') is None:
        return None
    return [Data(numbers(rng, f['_type'], shape_of(rng, f['_rank']))),
            Data(numpy.array(f['_axis'], f['_index']), rng.random() < 0.7)]


@recipe('TopK', _type=('f4', 'i4', 'i8'), _rank=range(1, 4), axis=(ABSENT, 0, -1), _k=(1, 2),
        largest=(ABSENT, 0, 1), sorted=(ABSENT, 1))
def topk(f, rng):
    x = rng.permutation(24).astype(f['_type']).reshape([24] if f['_rank'] == 1 else
                                                       [4, 6] if f['_rank'] == 2 else [4, 3, 2])
    return [Data(x), Data(numpy.array([f['_k']], 'i8'), rng.random() < 0.7)]


# ---- movement ------------------------------------------------------------------------------------


@recipe('Transpose', _type=ALL, _rank=range(5), perm=(ABSENT, 'reverse', 'rotate', 'keep', 'swap'))
def transpose(f, rng):
    n = f['_rank']
    perm = {'reverse': range(n)[::-1], 'rotate': [*range(1, n), 0] if n else [], 'keep': range(n),
            'swap': [1, 0, *range(2, n)]}.get(f['perm'])
    if f['perm'] == 'swap' and n < 2:
        return None
    f['perm'] = ABSENT if perm is None else list(perm)
    return [Data(numbers(rng, f['_type'], shape_of(rng, n)))]


@recipe('Flatten', _type=ALL, _rank=range(5), axis=(ABSENT, 0, 1, 2, -1, -2))
def flatten(f, rng):
    rank = f['_rank']
    axis = 1 if f['axis'] == ABSENT else f['axis']
    if not -rank <= axis <= rank:
        return None
    return [Data(numbers(rng, f['_type'], shape_of(rng, rank)))]


@recipe('Concat', _type=ALL, _rank=range(1, 5), axis=(0, 1, -1), _n=(1, 2, 3))
def concat(f, rng):
    axis = axis_of(f, f['_rank'])
    if axis is None:
        return None
    shape, parts = shape_of(rng, f['_rank']), []
    for _ in range(f['_n']):
        shape[axis] = int(rng.integers(0 if rng.random() < 0.2 else 1, 4))
        parts.append(Data(numbers(rng, f['_type'], shape), rng.random() < 0.3))
    return parts


@recipe('Reshape', _type=ALL, _form=('same', 'flat', 'minus', 'zero', 'split', 'ones', 'scalar'),
        allowzero=(ABSENT, 0, 1), _constant=(True, False))
def reshape(f, rng):
    shape = [1, 1] if f['_form'] == 'scalar' else [2, 3, 4]
    to = {'same': [2, 3, 4], 'flat': [24], 'minus': [2, -1], 'zero': [0, -1], 'split': [2, 3, 2, 2],
          'ones': [1, 24, 1], 'scalar': []}[f['_form']]
    if f['_form'] == 'zero' and f['allowzero'] == 1:
        return None
    return [Data(numbers(rng, f['_type'], shape)), Data(numpy.array(to, 'i8'), f['_constant'])]


@recipe('Squeeze', _type=ALL, _axes=(ABSENT, (0,), (2,), (-1,), (0, 2)), _constant=(True, False))
@recipe('Unsqueeze', _type=ALL, _axes=((0,), (1,), (-1,), (0, 2), (2, 0), (-1, 0)),
        _constant=(True, False))
@recipe('Expand', _type=ALL, _axes=((1, 3, 1), (2, 1, 3, 1), (1,), (1, 3, 5), (4, 1, 1)),
        _constant=(True, False))
@recipe('Tile', _type=ALL, _axes=((1, 1, 1), (2, 1, 3), (1, 0, 1), (3, 2, 1)),
        _constant=(True, False))
def axes(f, rng):
    x = Data(numbers(rng, f['_type'], [1, 3, 1]))
    return [x] if f['_axes'] == ABSENT else [x, Data(numpy.array(f['_axes'], 'i8'),
                                                     f['_constant'])]


@recipe('Shape', _type=ALL, _rank=range(5), start=(ABSENT, 0, 1, -1, 7, -7),
        end=(ABSENT, 0, 2, -1, 9, -9))
@recipe('EyeLike', _type=('f4', 'i4', 'f8'), _rank=(2,), k=(ABSENT, -1, 0, 2), dtype=(ABSENT, 1, 7))
@recipe('NonZero', _type=('f4', 'i4', 'i8', 'b1', 'u1'), _rank=range(4))
@recipe('Det', _type=('f4',), _rank=(2, 3, 4))
def plain(f, rng):
    shape = shape_of(rng, f['_rank'])
    if f['op'] == 'Det':
        shape[-1] = shape[-2]
    return [Data(numbers(rng, f['_type'], shape))]


@recipe('Slice', _type=ALL, _starts=((0,), (1,), (-2,), (-9,), (9,)), _ends=((2,), (9,), (-1,), (0,)),
        _axes=(ABSENT, (0,), (1,), (-1,)), _steps=(ABSENT, (1,), (2,), (-1,), (-2,)), _index=INTS,
        _constant=(True, False))
def cut(f, rng):
    data = [f['_starts'], f['_ends']]
    if f['_axes'] != ABSENT or f['_steps'] != ABSENT:
        data.append(None if f['_axes'] == ABSENT else f['_axes'])
    if f['_steps'] != ABSENT:
        data.append(f['_steps'])
    return [Data(numbers(rng, f['_type'], [4, 5, 3]))] + [
        d and Data(numpy.array(d, f['_index']), f['_constant']) for d in data]


@recipe('Split', _type=ALL, axis=(ABSENT, 0, 1, -1), _split=(ABSENT, 'even', 'uneven', 'zero'),
        _outputs=(1, 2, 3))
def split(f, rng):
    size = 6
    shape = [size, size, size]
    n = f['_outputs']
    if f['_split'] == ABSENT:
        return [Data(numbers(rng, f['_type'], shape))]
    parts = {'even': [size // n] * n, 'uneven': [1] * (n - 1) + [size - n + 1],
             'zero': [0] * (n - 1) + [size]}[f['_split']]
    return [Data(numbers(rng, f['_type'], shape)), Data(numpy.array(parts, 'i8'), True)]


@recipe('Gather', _type=ALL, axis=(ABSENT, 0, 1, -1), _rank=range(4), _index=INTS,
        _constant=(True, False))
@recipe('GatherElements', _type=ALL, axis=(ABSENT, 0, 1, -1), _rank=(3,), _index=INTS,
        _constant=(True, False))
def gather(f, rng):
    at = rng.integers(-3, 3, shape_of(rng, f['_rank'], 3)).astype(f['_index'])
    return [Data(numbers(rng, f['_type'], [3, 3, 3])), Data(at, f['_constant'])]


@recipe('GatherND', _type=ALL, batch_dims=(ABSENT, 0, 1), _depth=(1, 2), _constant=(True, False))
def gather_nd(f, rng):
    at = rng.integers(-3, 3, [3, 2, f['_depth']]).astype('i8')
    return [Data(numbers(rng, f['_type'], [3, 3, 3])), Data(at, f['_constant'])]


@recipe('ScatterElements', 'Scatter', _type=('f4', 'i4', 'i8', 'f2'), axis=(ABSENT, 0, 1, -1),
        reduction=(ABSENT, 'none', 'add', 'mul', 'max', 'min'), _index=INTS, _constant=(True, False))
def scatter(f, rng):
    if f['op'] == 'Scatter':
        if f['reduction'] != ABSENT:
            return None
        f['_opset'] = 10
    at = numpy.stack([rng.permutation(3) for _ in range(9)]).reshape(3, 3, 3)
    axis = 0 if f['axis'] == ABSENT else f['axis']
    at = numpy.moveaxis(at, 2, axis).astype(f['_index'])
    return [Data(numbers(rng, f['_type'], [3, 3, 3])), Data(at, f['_constant']),
            Data(numbers(rng, f['_type'], [3, 3, 3]))]


@recipe('ScatterND', _type=('f4', 'i4', 'i8', 'f2'), _depth=(1, 2),
        reduction=(ABSENT, 'none', 'add', 'mul', 'max', 'min'), _constant=(True, False))
def scatter_nd(f, rng):
    at = rng.permutation(3)[:2].reshape(2, 1)
    if f['_depth'] == 2:
        at = numpy.concatenate([at, rng.permutation(3)[:2].reshape(2, 1)], axis=1)
    return [Data(numbers(rng, f['_type'], [3, 3, 2])), Data(at.astype('i8'), f['_constant']),
            Data(numbers(rng, f['_type'], [2, 3, 2][:1] + [3, 2][f['_depth'] - 1:]))]


@recipe('Pad', _type=('f4', 'f2', 'i4', 'i8'), _rank=(1, 2, 3), _value=(ABSENT, 0, 2),
        mode=(ABSENT, 'constant', 'reflect', 'edge', 'wrap'), _pads=('none', 'both', 'cut'),
        _axes=(ABSENT, (0,), (-1,)), _constant=(True, False))
def pad(f, rng):
    rank = f['_rank'] if f['_axes'] == ABSENT else 1
    low, high = {'none': (0, 0), 'both': (1, 2), 'cut': (-1, 1)}[f['_pads']]
    if f['_pads'] == 'cut' and f['mode'] not in (ABSENT, 'constant'):
        return None
    data = [Data(numbers(rng, f['_type'], shape_of(rng, f['_rank'], 5, 3))),
            Data(numpy.array([low] * rank + [high] * rank, 'i8'), f['_constant'])]
    if f['_value'] != ABSENT or f['_axes'] != ABSENT:
        data.append(None if f['_value'] == ABSENT else Data(numpy.array(f['_value'], f['_type'])))
    if f['_axes'] != ABSENT:
        data.append(Data(numpy.array(f['_axes'], 'i8'), True))
    return data


@recipe('DepthToSpace', _type=('f4', 'f2', 'f8'), blocksize=(1, 2, 3), mode=(ABSENT, 'DCR', 'CRD'))
@recipe('SpaceToDepth', _type=('f4', 'f2', 'f8'), blocksize=(1, 2, 3))
def blocks(f, rng):
    b = f['blocksize']
    shape = [2, 2 * b * b, 3, 2] if f['op'] == 'DepthToSpace' else [2, 3, 2 * b, 3 * b]
    return [Data(numbers(rng, f['_type'], shape))]


@recipe('Trilu', _type=('f4', 'i8', 'b1', 'f2'), _rank=(2, 3), upper=(ABSENT, 0, 1),
        _k=(ABSENT, 0, 1, -1, 9, -9))
def trilu(f, rng):
    x = Data(numbers(rng, f['_type'], shape_of(rng, f['_rank'], 4, 2)))
    return [x] if f['_k'] == ABSENT else [x, Data(numpy.array(f['_k'], 'i8'), rng.random() < 0.6)]


@recipe('Compress', _type=ALL, axis=(ABSENT, 0, 1, -1), _short=(False, True))
def compress(f, rng):
    n = 24 if f['axis'] == ABSENT else {0: 2, 1: 3, -1: 4}[f['axis']]
    return [Data(numbers(rng, f['_type'], [2, 3, 4])),
            Data(numbers(rng, 'b1', [max(n - f['_short'], 1)]), rng.random() < 0.5)]


@recipe('ReverseSequence', _type=ALL, batch_axis=(ABSENT, 0, 1), time_axis=(ABSENT, 0, 1))
def reverse(f, rng):
    batch = 1 if f['batch_axis'] == ABSENT else f['batch_axis']
    time = 0 if f['time_axis'] == ABSENT else f['time_axis']
    if batch == time:
        return None
    return [Data(numbers(rng, f['_type'], [3, 3, 2])),
            Data(rng.integers(1, 4, [3]).astype('i8'), rng.random() < 0.5)]


@recipe('OneHot', axis=(ABSENT, 0, 1, -1, -2), _type=('f4', 'i4', 'i8'), _index=INTS,
        _depth=(1, 4), _rank=(1, 2))
def one_hot(f, rng):
    return [Data(rng.integers(-2, 3, shape_of(rng, f['_rank'])).astype(f['_index'])),
            Data(numpy.array(f['_depth'], 'i8'), True),
            Data(numpy.array([2, 5], f['_type']), rng.random() < 0.6)]


@recipe('Range', _type=('f4', 'i4', 'i8', 'f8'), _from=(0, 5, -3), _to=(5, 0), _by=(1, 2, -1, -2),
        _constant=(True, False))
def counted(f, rng):
    return [Data(numpy.array(f[k], f['_type']), f['_constant']) for k in ('_from', '_to', '_by')]


@recipe('Unique', _type=('f4', 'i8', 'i1'), axis=(ABSENT, 0, 1, -1), sorted=(ABSENT, 0, 1),
        _outputs=(1, 2, 3, 4))
def unique(f, rng):
    return [Data(rng.integers(0, 3, [3, 4]).astype(f['_type']))]


# ---- products ------------------------------------------------------------------------------------


@recipe('MatMul', _type=('f4', 'f2', 'f8', 'i4'), _left=(1, 2, 3, 4), _right=(1, 2, 3, 4),
        _constant=(False, True))
def matmul(f, rng):
    k, batch = int(rng.integers(1, 5)), [2, 3]
    a = [k] if f['_left'] == 1 else batch[4 - f['_left']:] + [int(rng.integers(1, 4)), k]
    b = [k] if f['_right'] == 1 else batch[4 - f['_right']:] + [k, int(rng.integers(1, 4))]
    if f['_left'] > 2 and rng.random() < 0.3:
        a[0] = 1
    return [Data(numbers(rng, f['_type'], a)), Data(numbers(rng, f['_type'], b), f['_constant'])]


@recipe('Gemm', _type=('f4', 'f2', 'f8'), alpha=(ABSENT, 0.0, 0.5), beta=(ABSENT, 0.0, 2.0),
        transA=(ABSENT, 0, 1), transB=(ABSENT, 0, 1), _bias=(ABSENT, (), (3,), (1,), (2, 1), (2, 3)),
        _constant=(False, True))
def gemm(f, rng):
    a, b = ([4, 2] if f['transA'] == 1 else [2, 4]), ([3, 4] if f['transB'] == 1 else [4, 3])
    data = [Data(numbers(rng, f['_type'], a)), Data(numbers(rng, f['_type'], b), f['_constant'])]
    if f['_bias'] != ABSENT:
        data.append(Data(numbers(rng, f['_type'], f['_bias']), f['_constant']))
    return data


EQUATIONS = ('ij,jk->ik', 'ij,jk', 'bij,bjk->bik', 'ij->ji', 'ii->i', 'ii', 'ij->', 'ij,ij->i',
             'i,j->ij', '...ij,...jk->...ik', 'bhqd,bhkd->bhqk', 'ij,jk,kl->il', 'ij->j')


@recipe('Einsum', _type=('f4', 'f8', 'i4'), equation=EQUATIONS)
def einsum(f, rng):
    left = f['equation'].split('->')[0].replace('...', 'z')
    return [Data(numbers(rng, f['_type'], [2 if c in 'zb' else 3 for c in word]))
            for word in left.split(',')]


# ---- windows -------------------------------------------------------------------------------------

AUTO = (ABSENT, 'NOTSET', 'VALID', 'SAME_UPPER', 'SAME_LOWER')


def window(f, n):
    """Attributes of a window over n dims, in place of their names; False if they do not fit."""
    if f['auto_pad'] not in (ABSENT, 'NOTSET') and f['pads'] != ABSENT:
        return False
    for name, values in (('pads', {'one': [1] * 2 * n, 'uneven': [0] * n + [1] * n}),
                         ('strides', {'two': [2] * n, 'mixed': [2] + [1] * (n - 1)}),
                         ('dilations', {'two': [2] * n, 'one': [1] * n})):
        if f.get(name, ABSENT) != ABSENT:
            if 'SAME' in f['auto_pad'] and name == 'dilations' and f[name] == 'two':
                return False
            f[name] = values[f[name]]
    return True


POOL = {'_dims': (1, 2, 3), 'auto_pad': AUTO, 'pads': (ABSENT, 'one', 'uneven'),
        'strides': (ABSENT, 'two', 'mixed'), '_kernel': (1, 2, 3)}


@recipe('MaxPool', _type=('f4', 'f2', 'f8'), **POOL, ceil_mode=(ABSENT, 0, 1),
        dilations=(ABSENT, 'one', 'two'), storage_order=(ABSENT, 0), _outputs=(1, 2))
@recipe('AveragePool', _type=('f4', 'f2', 'f8'), **POOL, ceil_mode=(ABSENT, 0, 1),
        count_include_pad=(ABSENT, 0, 1), dilations=(ABSENT, 'one', 'two'))
@recipe('LpPool', _type=('f4',), **POOL, p=(ABSENT, 1, 2, 3))
def pool(f, rng):
    n = f['_dims']
    if not window(f, n) or (f['_kernel'] == 1 and f['pads'] != ABSENT):
        return None
    f['kernel_shape'] = [f['_kernel']] * n
    return [Data(numbers(rng, f['_type'], [1, 2] + shape_of(rng, n, 7, 5)))]


@recipe('GlobalAveragePool', 'GlobalMaxPool', _type=('f4', 'f2', 'f8'), _dims=(1, 2, 3))
@recipe('GlobalLpPool', _type=('f4',), _dims=(1, 2, 3), p=(ABSENT, 1, 2, 3))
def whole_pool(f, rng):
    return [Data(numbers(rng, f['_type'], [2, 3] + shape_of(rng, f['_dims'])))]


@recipe('Conv', _type=('f4', 'f2', 'f8'), **POOL, dilations=(ABSENT, 'one', 'two'),
        group=(ABSENT, 1, 2, 4), kernel_shape=(ABSENT, 'given'), _bias=(False, True),
        _constant=(True, False))
@recipe('ConvTranspose', _type=('f4', 'f2'), **POOL, dilations=(ABSENT, 'one', 'two'),
        group=(ABSENT, 1, 2), kernel_shape=(ABSENT, 'given'), output_padding=(ABSENT, 'one'),
        _bias=(False, True), _constant=(True, False))
def conv(f, rng):
    n, kernel = f['_dims'], [f['_kernel']] * f['_dims']
    if not window(f, n):
        return None
    group = 1 if f['group'] == ABSENT else f['group']
    f['kernel_shape'] = ABSENT if f['kernel_shape'] == ABSENT else kernel
    weights = [8, 4 // group] + kernel
    if f['op'] == 'ConvTranspose':
        weights = [4, 2] + kernel
        if f['output_padding'] != ABSENT and f['strides'] != [2] * n:
            return None
        f['output_padding'] = ABSENT if f['output_padding'] == ABSENT else [1] * n
    data = [Data(numbers(rng, f['_type'], [1, 4] + shape_of(rng, n, 7, 5))),
            Data(numbers(rng, f['_type'], weights), f['_constant'])]
    if f['_bias']:
        channels = 8 if f['op'] == 'Conv' else 2 * group
        data.append(Data(numbers(rng, f['_type'], [channels]), f['_constant']))
    return data


@recipe('ConvInteger', _type=('u1',), **POOL, _weights=('u1', 'i1'), _zeros=(0, 1, 2),
        group=(ABSENT, 1, 2))
def conv_integer(f, rng):
    group = 1 if f['group'] == ABSENT else f['group']
    n = f['_dims']
    if not window(f, n):
        return None
    zeros = [Data(numpy.array(3, t), True) for t in ('u1', f['_weights'])][:f['_zeros']]
    return [Data(numbers(rng, 'u1', [1, 4] + shape_of(rng, n, 6, 4))),
            Data(numbers(rng, f['_weights'], [4, 4 // group] + [f['_kernel']] * n), True)] + zeros


@recipe('LRN', _type=('f4',), alpha=(ABSENT, 0.1), beta=(ABSENT, 0.5), bias=(ABSENT, 2.0),
        size=(1, 2, 3, 5))
@recipe('MeanVarianceNormalization', _type=('f4',), axes=(ABSENT, [0, 2, 3], [1], [2, 3]))
def image(f, rng):
    return [Data(numbers(rng, f['_type'], [2, 4, 3, 3]))]


@recipe('BatchNormalization', _type=('f4', 'f8'), _dims=(0, 1, 2, 3), epsilon=(ABSENT, 0.1, 1e-3),
        momentum=(ABSENT, 0.5), _constant=(True, False))
def batch_norm(f, rng):
    c = [3]
    rest = [numbers(rng, f['_type'], c) for _ in range(3)] + [numbers(rng, f['_type'], c, 0.5, 2.0)]
    return [Data(numbers(rng, f['_type'], [2, 3] + shape_of(rng, f['_dims'])))] + \
        [Data(r, f['_constant']) for r in rest]


@recipe('InstanceNormalization', _type=('f4',), _dims=(1, 2, 3), epsilon=(ABSENT, 0.1),
        _constant=(True, False))
@recipe('GroupNormalization', _type=('f4',), _dims=(1, 2), epsilon=(ABSENT, 0.1),
        num_groups=(1, 2, 4), _constant=(True, False))
def instance_norm(f, rng):
    return [Data(numbers(rng, f['_type'], [2, 4] + shape_of(rng, f['_dims'], 4, 2)))] + \
        [Data(numbers(rng, f['_type'], [4]), f['_constant']) for _ in range(2)]


@recipe('LayerNormalization', _type=('f4', 'f8'), _rank=(1, 2, 3), axis=(ABSENT, 0, 1, -1, -2),
        epsilon=(ABSENT, 0.1), stash_type=(ABSENT, 1), _bias=(False, True), _constant=(True, False),
        _outputs=(1, 3))
@recipe('RMSNormalization', _type=('f4',), _rank=(1, 2, 3), axis=(ABSENT, 0, 1, -1, -2),
        epsilon=(ABSENT, 0.1), stash_type=(ABSENT, 1), _constant=(True, False))
def layer_norm(f, rng):
    axis, shape = axis_of(f, f['_rank'], 'axis', -1), shape_of(rng, f['_rank'], 4, 2)
    if axis is None:
        return None
    data = [Data(numbers(rng, f['_type'], shape)),
            Data(numbers(rng, f['_type'], shape[axis:]), f['_constant'])]
    if f.get('_bias'):
        data.append(Data(numbers(rng, f['_type'], shape[axis:]), f['_constant']))
    return data


MODES = (ABSENT, 'half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel',
         'tf_crop_and_resize')


@recipe('Resize', _type=('f4', 'u1'), mode=(ABSENT, 'nearest', 'linear', 'cubic'),
        coordinate_transformation_mode=MODES, _by=('scales', 'sizes'), _up=(0.5, 1.0, 2.0, 1.6),
        nearest_mode=(ABSENT, 'round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'),
        cubic_coeff_a=(ABSENT, -0.5), exclude_outside=(ABSENT, 0, 1),
        extrapolation_value=(ABSENT, 2.0), antialias=(ABSENT, 0, 1))
def resize(f, rng):
    crop = f['coordinate_transformation_mode'] == 'tf_crop_and_resize'
    shape = [1, 2, 4, 5]
    roi = Data(numpy.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9], 'f4'), True) if crop else None
    scales = [1, 1, f['_up'], f['_up']]
    data = [Data(numbers(rng, f['_type'], shape)), roi]
    if f['exclude_outside'] == 1 and f['mode'] != 'cubic':
        return None
    if f['antialias'] == 1 and f['mode'] not in ('linear', 'cubic'):
        return None
    if f['_by'] == 'scales':
        return data + [Data(numpy.array(scales, 'f4'), True)]
    return data + [None, Data(numpy.array([int(a * b) for a, b in zip(shape, scales)], 'i8'), True)]


@recipe('GridSample', _type=('f4',), align_corners=(ABSENT, 0, 1), mode=(ABSENT, 'linear', 'nearest',
        'cubic'), padding_mode=(ABSENT, 'zeros', 'border', 'reflection'))
def grid_sample(f, rng):
    return [Data(numbers(rng, 'f4', [1, 2, 4, 3])),
            Data(numbers(rng, 'f4', [1, 2, 5, 2], -1.4, 1.4))]


@recipe('RoiAlign', _type=('f4',), mode=(ABSENT, 'avg', 'max'), sampling_ratio=(ABSENT, 0, 2),
        coordinate_transformation_mode=(ABSENT, 'half_pixel', 'output_half_pixel'),
        output_height=(ABSENT, 2), output_width=(ABSENT, 3), spatial_scale=(ABSENT, 0.5))
@recipe('MaxRoiPool', _type=('f4',), pooled_shape=([1, 1], [2, 3]), spatial_scale=(ABSENT, 0.5))
def regions(f, rng):
    x = Data(numbers(rng, 'f4', [1, 2, 8, 8]))
    boxes = numpy.array([[0, 0, 6, 6], [1, 2, 7, 5]], 'f4')
    if f['op'] == 'MaxRoiPool':
        return [x, Data(numpy.concatenate([numpy.zeros([2, 1], 'f4'), boxes], 1))]
    return [x, Data(boxes), Data(numpy.zeros([2], 'i8'))]


# ---- quantized -----------------------------------------------------------------------------------


@recipe('QuantizeLinear', _type=('f4',), _low=('u1', 'i1', ABSENT), _form=('tensor', 'axis'),
        axis=(ABSENT, 0, 1, -1))
@recipe('DequantizeLinear', _type=('u1', 'i1', 'i4'), _low=('same', ABSENT), _form=('tensor', 'axis'),
        axis=(ABSENT, 0, 1, -1))
def quantize(f, rng):
    axis = 1 if f['axis'] == ABSENT else f['axis']
    shape = [3, 4, 5]
    size = [] if f['_form'] == 'tensor' else [shape[axis]]
    data = [Data(numbers(rng, f['_type'], shape)),
            Data(rng.uniform(0.1, 1, size).astype('f4'), rng.random() < 0.7)]
    low = f['_type'] if f['_low'] == 'same' else f['_low']
    if low == ABSENT:
        return data
    zero = numpy.zeros(size, low) if f['_type'] == 'i4' else rng.integers(0, 9, size).astype(low)
    return data + [Data(zero, True)]


@recipe('MatMulInteger', _type=('u1', 'i1'), _right=('u1', 'i1'), _zeros=(0, 1, 2))
def matmul_integer(f, rng):
    zeros = [Data(numpy.array(2, t), True) for t in (f['_type'], f['_right'])][:f['_zeros']]
    return [Data(numbers(rng, f['_type'], [3, 4])), Data(numbers(rng, f['_right'], [4, 2]))] + zeros


@recipe('QLinearMatMul', _type=('u1', 'i1'), _rank=(2, 3))
def qlinear_matmul(f, rng):
    t, batch = f['_type'], [2] * (f['_rank'] - 2)
    data = []
    for shape in (batch + [3, 4], batch + [4, 2]):
        data += [Data(numbers(rng, t, shape)), Data(numpy.array(0.5, 'f4'), True),
                 Data(numpy.array(1, t), True)]
    return data + [Data(numpy.array(0.7, 'f4'), True), Data(numpy.array(3, t), True)]


@recipe('QLinearConv', _type=('u1',), **POOL, group=(ABSENT, 1, 2), _bias=(False, True),
        dilations=(ABSENT, 'one', 'two'), _weights=('u1', 'i1'))
def qlinear_conv(f, rng):
    group, n = 1 if f['group'] == ABSENT else f['group'], f['_dims']
    if not window(f, n):
        return None
    one = [Data(numpy.array(0.5, 'f4'), True)]
    data = [Data(numbers(rng, 'u1', [1, 4] + shape_of(rng, n, 6, 5)))] + one
    data += [Data(numpy.array(1, 'u1'), True),
             Data(numbers(rng, f['_weights'], [4, 4 // group] + [f['_kernel']] * n), True)] + one
    data += [Data(numpy.array(2, f['_weights']), True)] + one + [Data(numpy.array(1, 'u1'), True)]
    return data + ([Data(numbers(rng, 'i4', [4]), True)] if f['_bias'] else [])


@recipe('DynamicQuantizeLinear', _type=('f4',), _rank=range(1, 4), _outputs=(3,), _low=(-2, 0, 1, -9))
def dynamic_quantize(f, rng):
    return [Data(numbers(rng, 'f4', shape_of(rng, f['_rank']), f['_low'], f['_low'] + 4))]


# ---- recurrent -----------------------------------------------------------------------------------

LAYERS = {'RNN': 1, 'GRU': 3, 'LSTM': 4}


@recipe('RNN', 'GRU', 'LSTM', _type=('f4',), direction=(ABSENT, 'forward', 'reverse',
        'bidirectional'), layout=(ABSENT, 0), hidden_size=(3,), clip=(ABSENT, 0.5),
        linear_before_reset=(ABSENT, 0, 1), input_forget=(ABSENT, 0), _bias=(False, True),
        _lengths=(False, True), _initial=(False, True), _outputs=(1, 2), _constant=(True, False))
def recurrent(f, rng):
    op, h, n = f['op'], 3, LAYERS[f['op']]
    if (op != 'GRU' and f['linear_before_reset'] != ABSENT) or \
            (op != 'LSTM' and f['input_forget'] != ABSENT):
        return None
    d = 2 if f['direction'] == 'bidirectional' else 1
    t, batch, width = 4, 2, 2
    kept = f['_constant']
    data = [Data(numbers(rng, 'f4', [t, batch, width])),
            Data(numbers(rng, 'f4', [d, n * h, width]), kept),
            Data(numbers(rng, 'f4', [d, n * h, h]), kept),
            Data(numbers(rng, 'f4', [d, 2 * n * h]), kept) if f['_bias'] else None,
            Data(rng.integers(1, t + 1, [batch]).astype('i4')) if f['_lengths'] else None]
    if f['_initial']:
        data += [Data(numbers(rng, 'f4', [d, batch, h]))] * (2 if op == 'LSTM' else 1)
    return data


# ---- losses, signals and others ------------------------------------------------------------------


@recipe('NegativeLogLikelihoodLoss', 'SoftmaxCrossEntropyLoss', _type=('f4',), _dims=(0, 1, 2),
        reduction=(ABSENT, 'none', 'sum', 'mean'), ignore_index=(ABSENT, 0, -1),
        _weights=(False, True), _index=INTS)
def loss(f, rng):
    shape = [3, 4] + shape_of(rng, f['_dims'], 3)
    data = [Data(numbers(rng, 'f4', shape)),
            Data(rng.integers(0, 4, shape[:1] + shape[2:]).astype(f['_index']))]
    return data + ([Data(numbers(rng, 'f4', [4], 0.5, 2))] if f['_weights'] else [])


@recipe('Dropout', _type=('f4', 'f2'), seed=(ABSENT, 3), _ratio=(ABSENT, 0.0, 0.5), _outputs=(1, 2))
def dropout(f, rng):
    x = Data(numbers(rng, f['_type'], [2, 3]))
    return [x] if f['_ratio'] == ABSENT else [x, Data(numpy.array(f['_ratio'], 'f4'), True)]


@recipe('HannWindow', 'HammingWindow', 'BlackmanWindow', _type=INTS, _size=(1, 2, 7, 8),
        periodic=(ABSENT, 0, 1), output_datatype=(ABSENT, 1, 11), _constant=(True, False))
def window_of(f, rng):
    return [Data(numpy.array(f['_size'], f['_type']), f['_constant'])]


@recipe('ConstantOfShape', _type=('f4', 'i4', 'i8', 'b1', 'f2', 'u1'), _shape=((), (0,), (2, 3)),
        value=(ABSENT, 'given'), _constant=(True, False))
def filled(f, rng):
    if f['value'] != ABSENT:
        f['value'] = numbers(rng, f['_type'], [1])
    elif f['_type'] != 'f4':
        return None
    return [Data(numpy.array(f['_shape'], 'i8'), f['_constant'])]


@recipe('NonMaxSuppression', _type=('f4',), center_point_box=(ABSENT, 0, 1), _n=(2, 3, 4, 5),
        _most=(0, 1, 3), _overlap=(0.0, 0.5), _score=(0.0, 0.5))
def suppress(f, rng):
    boxes = rng.uniform(0, 1, [1, 6, 4]).astype('f4')
    if f['center_point_box'] != 1:
        boxes[..., 2:] += boxes[..., :2] + 0.1
    data = [Data(boxes), Data(rng.permutation(6).reshape(1, 1, 6).astype('f4') / 6),
            Data(numpy.array([f['_most']], 'i8'), True),
            Data(numpy.array([f['_overlap']], 'f4'), True),
            Data(numpy.array([f['_score']], 'f4'), True)]
    return data[:f['_n']]


@recipe('Binarizer', domain='ai.onnx.ml', _type=('f4',), threshold=(ABSENT, 0.0, 0.5), _rank=(1, 2))
@recipe('Normalizer', domain='ai.onnx.ml', _type=('f4',), norm=(ABSENT, 'MAX', 'L1', 'L2'),
        _rank=(2,))
@recipe('Scaler', domain='ai.onnx.ml', _type=('f4', 'i8'), _rank=(2,), offset=([0.5], [1.0, 2.0, 3.0]),
        scale=([2.0], [1.0, 2.0, 3.0]))
@recipe('Imputer', domain='ai.onnx.ml', _type=('f4',), _rank=(2,),
        imputed_value_floats=([1.0], [1.0, 2.0, 3.0]), replaced_value_float=(ABSENT, 2.0))
@recipe('LinearRegressor', domain='ai.onnx.ml', _type=('f4',), _rank=(2,),
        coefficients=([1.0, 2.0, 3.0],), intercepts=(ABSENT, [0.5]), targets=(ABSENT, 1),
        post_transform=(ABSENT, 'NONE'))
def rows(f, rng):
    return [Data(numbers(rng, f['_type'], [4, 3] if f['_rank'] == 2 else [3]))]
