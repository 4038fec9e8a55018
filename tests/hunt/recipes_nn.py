# SPDX-License-Identifier: Apache-2.0
"""Recipes of products, windows, norms, quantized and recurrent ops, losses and others (recipes.py).
"""
import numpy

from recipes import ABSENT, INTS, Data, axis_of, numbers, recipe, shape_of


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
        transA=(ABSENT, 0, 1), transB=(ABSENT, 0, 1),
        _bias=(ABSENT, (), (3,), (1,), (2, 1), (2, 3)), _constant=(False, True))
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


@recipe('GridSample', _type=('f4',), align_corners=(ABSENT, 0, 1),
        mode=(ABSENT, 'linear', 'nearest', 'cubic'),
        padding_mode=(ABSENT, 'zeros', 'border', 'reflection'))
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
@recipe('DequantizeLinear', _type=('u1', 'i1', 'i4'), _low=('same', ABSENT),
        _form=('tensor', 'axis'), axis=(ABSENT, 0, 1, -1))
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


@recipe('DynamicQuantizeLinear', _type=('f4',), _rank=range(1, 4), _outputs=(3,),
        _low=(-2, 0, 1, -9))
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
@recipe('Scaler', domain='ai.onnx.ml', _type=('f4', 'i8'), _rank=(2,),
        offset=([0.5], [1.0, 2.0, 3.0]), scale=([2.0], [1.0, 2.0, 3.0]))
@recipe('Imputer', domain='ai.onnx.ml', _type=('f4',), _rank=(2,),
        imputed_value_floats=([1.0], [1.0, 2.0, 3.0]), replaced_value_float=(ABSENT, 2.0))
@recipe('LinearRegressor', domain='ai.onnx.ml', _type=('f4',), _rank=(2,),
        coefficients=([1.0, 2.0, 3.0],), intercepts=(ABSENT, [0.5]), targets=(ABSENT, 1),
        post_transform=(ABSENT, 'NONE'))
def rows(f, rng):
    return [Data(numbers(rng, f['_type'], [4, 3] if f['_rank'] == 2 else [3]))]
