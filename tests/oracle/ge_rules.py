# SPDX-License-Identifier: Apache-2.0
"""GE's shape rules, written down as formulas: helpers, and the rules of convolutions, pools, products,
resizes and other ops on images. Each table says for an op type which function gives the shapes of
its outputs and where GE publishes the rule (file and function in canndev's ops/built-in/op_proto,
of 2022, unless a path says more). ge_moves.py has the rules of movement, reductions and norms.

A function takes a node of ge_graph.py and gives {output: dims}; -1 is a size that GE does not know,
[-2] a rank that it does not know. It raises Refused where a verifier or a shape function fails."""
ANY = [-2]
IMAGE, VOLUME = ('NCHW', 'NHWC'), ('NCDHW', 'NDHWC')


class Refused(Exception):
    """What GE's verifier or shape function refuses."""


def need(holds, text):
    if not holds:
        raise Refused(text)


def need_format(node, port, allowed):
    found = node.port(port) or node.out(port)
    need(found.fmt in allowed, f'{port} has format {found.fmt}, GE wants {" or ".join(allowed)}')
    return found.fmt


def need_length(node, attr, *lengths):
    value = node.attr(attr)
    need(isinstance(value, list) and len(value) in lengths,
         f'{attr} has {len(value or [])} elements, GE wants {" or ".join(map(str, lengths))}')
    return value


def rank_is(node, port, *ranks):
    shape = node.x(port)
    need(shape == ANY or len(shape) in ranks, f'{port} has rank {len(shape)}')
    return shape


def known(*sizes):
    return all(s >= 0 for s in sizes)


def window(size, window_size, stride, pads, dilation=1):
    """Sizes of a window that slides without ceil."""
    if size < 0:
        return -1
    return (size + pads - dilation * (window_size - 1) - 1) // stride + 1


def broadcast(a, b):
    """As BroadcastShape in util.cc: an unknown size takes a known one above 1."""
    if a == ANY or b == ANY:
        return ANY
    n = max(len(a), len(b))
    a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    out = []
    for p, q in zip(a, b):
        need(p == q or 1 in (p, q) or -1 in (p, q), f'sizes {p} and {q} do not broadcast')
        out.append(q if p == 1 else p if q == 1 else max(p, q) if -1 in (p, q) else p)
    return out


# ---- convolutions
def spatial(fmt, shape):
    """(batch, channels, sizes behind them) of a tensor in a format"""
    if shape == ANY:
        return -1, -1, [-1] * (len(fmt) - 2)
    return (shape[fmt.index('N')], shape[fmt.index('C')],
            [shape[fmt.index(c)] for c in 'DHW' if c in fmt])


def place(fmt, batch, channels, sizes):
    letters = [c for c in 'DHW' if c in fmt]
    values = dict(zip(letters, sizes), N=batch, C=channels)
    return [values[c] for c in fmt]


def conv(node, formats, filters):
    fmt = need_format(node, 'x', formats)
    filter_fmt = need_format(node, 'filter', filters)
    out = need_format(node, 'y', formats)
    need(node.attr('data_format', fmt) == fmt, 'data_format is not the format of x')
    n = len(fmt)
    x, w = rank_is(node, 'x', n), rank_is(node, 'filter', n)
    strides, dilations = need_length(node, 'strides', n), need_length(node, 'dilations', n)
    pads = need_length(node, 'pads', 2 * (n - 2))
    batch, channels, sizes = spatial(fmt, x)
    outs, ins, kernel = spatial(filter_fmt, w)
    steps, holes = [spatial(fmt, v)[2] for v in (strides, dilations)]
    need(all(s > 0 for s in steps) and all(d > 0 for d in holes), 'strides or dilations below 1')
    need(not known(*sizes) or all(p >= 0 for p in pads), 'a negative pad')
    need(fmt not in VOLUME or holes[0] == 1, 'a dilation of depth above 1')
    groups = node.attr('groups', 1)
    if node.type != 'DepthwiseConv2D':
        need(channels < 0 or channels == ins * groups, 'channels of x are not groups times the filter')
        need(outs % groups == 0, 'filters are not a multiple of groups')
    else:
        outs = outs * ins
    sizes = [window(s, k, st, pads[2 * i] + pads[2 * i + 1], d)
             for i, (s, k, st, d) in enumerate(zip(sizes, kernel, steps, holes))]
    need(all(s != 0 and s >= -1 for s in sizes), 'an empty result')
    if node.has('bias'):
        need(node.x('bias') in ([outs], [-1]), 'bias is not one number for each filter')
    return {'y': place(out, batch, outs, sizes)}


def conv2d(node):
    return conv(node, IMAGE, IMAGE + ('HWCN',))


def conv3d(node):
    return conv(node, VOLUME, VOLUME + ('DHWCN',))


def depthwise(node):
    fmt = need_format(node, 'x', IMAGE)
    filter_fmt = need_format(node, 'filter', IMAGE + ('HWCN',))
    x, w = rank_is(node, 'x', 4), rank_is(node, 'filter', 4)
    batch, channels, sizes = spatial(fmt, x)
    outs, ins, kernel = spatial(filter_fmt, w)
    steps, holes = [spatial(fmt, need_length(node, a, 4))[2] for a in ('strides', 'dilations')]
    pads = need_length(node, 'pads', 4)
    sizes = [window(s, k, st, pads[2 * i] + pads[2 * i + 1], d)
             for i, (s, k, st, d) in enumerate(zip(sizes, kernel, steps, holes))]
    need(channels < 0 or outs * ins % channels == 0, 'filters are no multiple of the channels')
    return {'y': place(need_format(node, 'y', IMAGE), batch, outs * ins, sizes)}


def transposed(node, formats, filters, size='input_size', data='x'):
    """The result has the sizes that are given; zeros ask for the sizes that the windows give."""
    fmt = need_format(node, data, formats)
    filter_fmt = need_format(node, 'filter', filters)
    out, n = need_format(node, 'y', formats), len(fmt)
    x, w = rank_is(node, data, n), rank_is(node, 'filter', n)
    strides, dilations = need_length(node, 'strides', n), need_length(node, 'dilations', n)
    pads = need_length(node, 'pads', 2 * (n - 2))
    given = node.attr(size) if size in node.attrs else node.const(size)
    need(given is not None or any(d < 0 for d in x) or not node.has(size),
         f'{size} is not constant')
    if given is None:
        return {'y': [-1] * n}
    need(len(given) == n, f'{size} has {len(given)} elements')
    if any(given):
        return {'y': given}
    more = spatial(fmt, node.attr('output_padding') or [0] * n)[2]
    batch, _, sizes = spatial(fmt, x)
    _, ins, kernel = spatial(filter_fmt, w)
    steps, holes = [spatial(fmt, v)[2] for v in (strides, dilations)]
    sizes = [-1 if s < 0 else st * (s - 1) + extra + (k - 1) * d + 1 - pads[2 * i] - pads[2 * i + 1]
             for i, (s, k, st, d, extra) in enumerate(zip(sizes, kernel, steps, holes, more))]
    return {'y': place(out, batch, ins * node.attr('groups', 1), sizes)}


def deformable(node):
    fmt = need_format(node, 'x', IMAGE)
    need(node.attr('data_format') == fmt, 'data_format is not the format of x')
    for port in ('offsets', 'y'):
        need_format(node, port, (fmt,))
    need(node.attr('modulated') is True, 'modulated is false')
    x, w, o = rank_is(node, 'x', 4), rank_is(node, 'filter', 4), rank_is(node, 'offsets', 4)
    filter_fmt = need_format(node, 'filter', IMAGE + ('HWCN',))
    batch, channels, sizes = spatial(fmt, x)
    outs, _, kernel = spatial(filter_fmt, w)
    samples, offset_channels, grid = spatial(fmt, o)
    groups = node.attr('deformable_groups', 1)
    need(batch < 0 or samples < 0 or batch == samples, 'offsets have another batch than x')
    need(channels < 0 or groups > 0 and channels % groups == 0, 'channels and deformable_groups')
    need(offset_channels in (-1, 3 * groups * kernel[0] * kernel[1]),
         f'offsets have {offset_channels} channels')
    steps, holes = [spatial(fmt, need_length(node, a, 4))[2] for a in ('strides', 'dilations')]
    pads = need_length(node, 'pads', 4)
    sizes = [window(s, k, st, pads[2 * i] + pads[2 * i + 1], d)
             for i, (s, k, st, d) in enumerate(zip(sizes, kernel, steps, holes))]
    need(all(-1 in (s, g) or s == g for s, g in zip(sizes, grid)), 'offsets have other sizes')
    return {'y': place(fmt, batch, outs, sizes)}


# ---- pools
def pool2d(node):
    """AvgPoolV2 counts a last window that starts in the padding, MaxPoolV3 does by the rule of 2022."""
    fmt = node.attr('data_format', 'NHWC')
    port = node.port('x')
    need(fmt in IMAGE, f'data_format {fmt}')
    need(port.fmt not in IMAGE or port.fmt == fmt, 'data_format is not the format of x')
    need_format(node, 'x', (fmt,))
    x = rank_is(node, 'x', 4)
    ksize, strides = need_length(node, 'ksize', 4), need_length(node, 'strides', 4)
    pads, mode = need_length(node, 'pads', 4), node.attr('padding_mode', 'CALCULATED')
    need(mode in ('SAME', 'VALID', 'CALCULATED'), f'padding_mode {mode}')
    for values in (ksize, strides):
        need(values[0] == 1 and values[fmt.index('C')] == 1, 'a window over batch or channels')
    batch, channels, sizes = spatial(fmt, x)
    windows, steps = spatial(fmt, ksize)[2], spatial(fmt, strides)[2]
    if node.attr('global_pooling', False):
        windows, steps, pads = sizes, sizes, [0] * 4
    need(all(s > 0 for s in steps) or not known(*sizes), 'strides below 1')
    need(node.type != 'AvgPoolV2' or channels >= 1, 'channels of x are not known')
    if node.type == 'MaxPoolV3' and mode == 'CALCULATED':
        need(all(pads[2 * i + j] < windows[i] for i in (0, 1) for j in (0, 1)),
             'a pad is not less than its window')
    out = []
    for i, (s, k, st) in enumerate(zip(sizes, windows, steps)):
        around = pads[2 * i] + pads[2 * i + 1]
        up = st - 1 if node.attr('ceil_mode', False) else 0
        if s < 0:
            out.append(-1)
        elif mode == 'SAME':
            out.append((s + st - 1) // st)
        elif mode == 'VALID' and not (up and node.type == 'AvgPoolV2'):
            out.append((s - k + st) // st)
        else:
            out.append((s + around - k + up) // st + 1)
            need(not up or node.type != 'MaxPoolV3' or (out[-1] - 1) * st < s + pads[2 * i],
                 'a last window in the padding, which GE counts in 2022 and not in 2026')
    return {'y': place(fmt, batch, channels, out)}


def max_pool(node):
    fmt = need_format(node, 'x', IMAGE)
    need(node.attr('data_format', 'NHWC') == fmt, 'data_format is not the format of x')
    batch, channels, sizes = spatial(fmt, rank_is(node, 'x', 4))
    windows, steps = [spatial(fmt, need_length(node, a, 4))[2] for a in ('ksize', 'strides')]
    need(node.attr('padding') in ('SAME', 'VALID'), 'padding')
    valid = node.attr('padding') == 'VALID'
    return {'y': place(fmt, batch, channels,
                       [-1 if s < 0 else (s - (k - 1 if valid else 0) + st - 1) // st
                        for s, k, st in zip(sizes, windows, steps)])}


def three(values, fmt):
    """Depth, height and width of a list of one, three or five numbers."""
    if len(values) == 5:
        return spatial(fmt, values)[2]
    return values * 3 if len(values) == 1 else values


def pool3d(node):
    fmt = need_format(node, 'x', VOLUME)
    need_format(node, 'y', (fmt,))
    need(node.attr('data_format', 'NDHWC') == fmt, 'data_format is not the format of x')
    lengths = (5,) if node.type == 'MaxPool3D' else (1, 3, 5)
    windows = three(need_length(node, 'ksize', *lengths), fmt)
    steps = three(need_length(node, 'strides', *lengths), fmt)
    pads = node.attr('pads') or [0] * 6
    need(len(pads) == 6, f'pads has {len(pads)} elements')
    holes = three(node.attr('dilation') or [1], fmt)
    batch, channels, sizes = spatial(fmt, rank_is(node, 'x', 5))
    padding, out = node.attr('padding', 'CALCULATED'), []
    need(padding in ('SAME', 'VALID', 'CALCULATED'), f'padding {padding}')
    for i, (s, k, st, d) in enumerate(zip(sizes, windows, steps, holes)):
        around = 0 if padding == 'VALID' else pads[2 * i] + pads[2 * i + 1]
        up = st - 1 if node.attr('ceil_mode', 0) else 0
        found = (s + st - 1) // st if padding == 'SAME' else \
            (s + around - d * (k - 1) - 1 + up) // st + 1
        beyond = (found - 1) * st >= s + pads[2 * i]
        if padding == 'CALCULATED' and beyond and (up or node.type == 'MaxPool3D'):
            found -= 1
        out.append(-1 if s < 0 else found)
    return {'y': place(fmt, batch, channels, out)}


def global_pool(node):
    x = node.x()
    need_format(node, 'x', [{3: 'ND', 4: 'NCHW', 5: 'NCDHW'}.get(len(x), 'a rank of 3 to 5')])
    return {'y': ANY if x == ANY else x[:2] + [1] * (len(x) - 2)}


def adaptive_pool(node):
    x, size = node.x(), node.attr('output_size')
    need(len(size) in (1, 2), f'output_size has {len(size)} elements')
    return {'y': x[:-2] + (size if len(size) == 2 else size * 2)}


# ---- products of matrices
def swapped(shape, turned):
    return shape[:-2] + [shape[-1], shape[-2]] if turned else shape


def product(node):
    a, b = node.x('x1'), node.x('x2')
    batch = node.type.startswith('Batch')
    turned = ('adj_x1', 'adj_x2') if batch else ('transpose_x1', 'transpose_x2')
    if ANY in (a, b):
        return {'y': ANY}
    need(batch or len(a) == len(b) == 2, f'ranks {len(a)} and {len(b)}')
    need(1 <= len(a) <= 8 and 1 <= len(b) <= 8, 'a rank above 8')
    one, other = len(a) == 1, len(b) == 1
    a, b = ([1] + a if one else a), (b + [1] if other else b)
    a, b = swapped(a, node.attr(turned[0])), swapped(b, node.attr(turned[1]))
    need(-1 in (a[-1], b[-2]) or a[-1] == b[-2], f'inner sizes {a[-1]} and {b[-2]}')
    if node.has('bias'):
        bias = node.x('bias')
        need(not bias or -1 in (bias[-1], b[-1]) or b[-1] == bias[-1], 'bias has another size')
    return {'y': broadcast(a[:-2], b[:-2]) + ([] if one else [a[-2]]) + ([] if other else [b[-1]])}


# ---- images
def resize2d(node):
    fmt = need_format(node, 'x', IMAGE)
    size = node.const('size') if node.has('size') else node.attr('size')
    size = [-1, -1] if size is None else size
    need(len(size) == 2, f'size has {len(size)} elements')
    batch, channels, _ = spatial(fmt, rank_is(node, 'x', 4))
    return {'y': place(fmt, batch, channels, size)}


def blocks(node):
    fmt, step = node.port('x').fmt, node.attr('block_size')
    need(node.attr('data_format', 'NHWC') in IMAGE, 'data_format')
    need(step >= 2, f'block_size {step}')
    fmt = fmt if fmt == 'NCHW' else 'NHWC'
    batch, channels, sizes = spatial(fmt, rank_is(node, 'x', 4))
    if node.type == 'DepthToSpace':
        need(node.attr('mode', 'DCR') in ('DCR', 'CRD'), 'mode')
        return {'y': place(fmt, batch, channels if channels < 0 else channels // step // step,
                           [-1 if s < 0 else s * step for s in sizes])}
    need(all(s < 0 or s % step == 0 for s in sizes), 'sizes are no multiple of block_size')
    return {'y': place(fmt, batch, channels if channels < 0 else channels * step * step,
                       [-1 if s < 0 else s // step for s in sizes])}


def affine_grid(node):
    theta, size = rank_is(node, 'theta', 3), node.const('output_size')
    need(size is not None, 'output_size is not constant')
    need(len(size) in (4, 5), f'output_size has {len(size)} elements')
    points = 1
    for s in size[2:]:
        points *= s
    need(theta[1:] in ([len(size) - 2, len(size) - 1], [-1, -1]), 'theta has other sizes')
    return {'y': [size[0], points, len(size) - 2]}


def grid_sample(node):
    x, grid = node.x(), node.x('grid')
    n = 4 if node.type == 'GridSampler2D' else 5
    need(len(x) == n and len(grid) == n, f'ranks {len(x)} and {len(grid)}')
    need(grid[-1] in (-1, n - 2), 'the last size of grid')
    return {'y': x[:2] + grid[1:-1]}


def roi_align(node):
    x, rois = rank_is(node, 'features', 4), node.x('rois')
    need(len(rois) == 2 and rois[1] in (-1, 5, 8), 'rois')
    return {'y': [rois[0], x[1], node.attr('pooled_height'), node.attr('pooled_width')]}


CONV, POOL, IMAGES = 'nn_calculation_ops.cc', 'nn_pooling_ops.cc', 'image_ops.cc'
MATRIX, TRANSFORM = 'matrix_calculation_ops.cc', 'transformation_ops.cc'
RULES = {
    'Conv2D': (conv2d, f'{CONV} Conv2DInfer, Conv2DVerify'),
    'DepthwiseConv2D': (depthwise, f'{CONV} DepthwiseConv2DInferShape'),
    'Conv3D': (conv3d, f'{CONV} Conv3DInfer, Conv3DVerify, GetAttrsConv3D'),
    'Conv2DTranspose': (lambda n: transposed(n, IMAGE, IMAGE + ('HWCN',)),
                        f'{CONV} Conv2DTransposeInfer, VerifyConv2DTransposeInput'),
    'Conv2DTransposeD': (lambda n: transposed(n, IMAGE, IMAGE + ('HWCN',)),
                         f'{CONV} Conv2DTransposeDInfer'),
    'Conv3DTranspose': (lambda n: transposed(n, VOLUME, VOLUME + ('DHWCN',)),
                        f'{CONV} Conv3DTransposeInfer, VerifyConv3dTransposeInput'),
    'Conv3DTransposeV2': (lambda n: transposed(n, VOLUME, VOLUME + ('DHWCN',)),
                          'ops-nn conv/common/op_host/conv_backprop_infershape.cpp'),
    'Conv2DBackpropInput': (lambda n: transposed(n, IMAGE, IMAGE + ('HWCN',), data='out_backprop'),
                            f'{CONV} Conv2DBackpropInputInfer'),
    'DeformableConv2D': (deformable, f'{CONV} DeformableOffsetsInfer, VerifyDeformableOffsetsInput'
                         ' (the graph pass ADeformableConv2dPass makes it of this op)'),
    'AvgPoolV2': (pool2d, f'{POOL} AvgPoolV2InferShape, AvgPoolV2Verify'),
    'MaxPoolV3': (pool2d, 'max_pool_v3.cc MaxPoolV3Verify, runtime/max_pool_v3.cc'),
    'MaxPool': (max_pool, f'{POOL} MaxPoolInferShape'),
    'AvgPool3D': (pool3d, f'{POOL} AvgPool3DInferShape'),
    'MaxPool3D': (pool3d, f'{POOL} MaxPool3DInferShape'),
    'GlobalAveragePool': (global_pool, 'globalavgpool.cc GlobalAveragePoolInferShape'),
    'AdaptiveAvgPool2d': (adaptive_pool, f'{POOL} AdaptiveAvgPool2dInferShape'),
    'MatMul': (product, f'{MATRIX} MatMulInfer'),
    'MatMulV2': (product, f'{MATRIX} InferMatmul'),
    'BatchMatMul': (product, f'{MATRIX} BatchMatMulInfer'),
    'BatchMatMulV2': (product, f'{MATRIX} InferBatchMatmul'),
    'ResizeNearestNeighborV2': (resize2d, f'{IMAGES} ResizeConstInferShape; ops-cv resize_nearest'
                                '_neighbor_v2_infershape.cpp'),
    'ResizeBilinearV2': (resize2d, f'{IMAGES} ResizeConstInferShape'),
    'ResizeNearestNeighborV2D': (resize2d, f'{IMAGES} ResizeInferShape'),
    'ResizeBilinearV2D': (resize2d, f'{IMAGES} ResizeBilinearV2DInferShape'),
    'DepthToSpace': (blocks, f'{TRANSFORM} DepthToSpaceInfer, DepthToSpaceVerify'),
    'SpaceToDepth': (blocks, f'{TRANSFORM} SpaceToDepthInfer'),
    'AffineGrid': (affine_grid, f'{TRANSFORM} AffineGridInfer'),
    'GridSampler2D': (grid_sample, f'{IMAGES} GridSampler2DInferShape'),
    'GridSampler3D': (grid_sample, f'{IMAGES} GridSampler3DInferShape'),
    'ROIAlign': (roi_align, 'nn_detect_ops.cc ROIAlignInfer'),
}
