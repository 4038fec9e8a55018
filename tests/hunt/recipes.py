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
@recipe('Gelu', _type=FLOATS[:2], _rank=range(4), _low=(-2.0,),
        approximate=(ABSENT, 'none', 'tanh'))
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

REDUCE = ('ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin '
          'ReduceProd ReduceSum ReduceSumSquare').split()


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
@recipe('LpNormalization', _type=('f4',), _rank=range(1, 5), axis=(ABSENT, 0, 1, -1),
        p=(ABSENT, 1, 2))
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
        largest=(ABSENT, 0, 1), sorted=(ABSENT, 1), _outputs=(2,))
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


@recipe('Slice', _type=ALL, _starts=((0,), (1,), (-2,), (-9,), (9,)),
        _ends=((2,), (9,), (-1,), (0,)), _axes=(ABSENT, (0,), (1,), (-1,)),
        _steps=(ABSENT, (1,), (2,), (-1,), (-2,)), _index=INTS,
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
        reduction=(ABSENT, 'none', 'add', 'mul', 'max', 'min'), _index=INTS,
        _constant=(True, False))
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
