# SPDX-License-Identifier: Apache-2.0
"""GE's shape rules of elementwise ops, movement, reductions and norms; ge_rules.py says how they are
written."""
import math

from ge_rules import ANY, broadcast, need


# ---- element by element
def same(node):
    """Every result has the dims of the first operand."""
    return {node.outs[0].name: node.ins[0].shape}


def joined(node):
    """The first result has the dims of all operands, broadcast."""
    out = node.ins[0].shape
    for port in node.ins[1:]:
        if port.peer:
            out = broadcast(out, port.shape)
    return {node.outs[0].name: out}


def one_type(node):
    """As joined, for operands of one element type."""
    kinds = {p.dtype for p in node.ins if p.peer}
    need(len(kinds) == 1, f'operands of different types {sorted(kinds)}')
    return joined(node)


def fused_mul_add(node):
    """FusedMulAddVerify of 2022 ends with `return true`, which is GRAPH_FAILED."""
    need(False, 'the verifier of 2022 fails for every node')
    return joined(node)


def clip(node):
    return {'y': broadcast(broadcast(node.x(), node.x('clip_value_min')), node.x('clip_value_max'))}


def softmax(node):
    x = node.x()
    axes = node.attr('axes', [-1])
    need(x == ANY or all(-len(x) <= a < max(len(x), 1) for a in axes), f'axes {axes}')
    return {node.outs[0].name: x}


# ---- movement
def count(shape):
    return -1 if any(s < 0 for s in shape) else math.prod(shape)


def reshape(node):
    x, spec = node.x(), node.const('shape')
    if spec is None:
        n = node.x('shape')
        return {'y': ANY if n == ANY or n[0] < 0 else [-1] * n[0]}
    need(node.attr('axis', 0) == 0 and node.attr('num_axes', -1) == -1, 'axis and num_axes')
    out = [x[i] if s == 0 and not node.attr('allowzero') and i < len(x) and x != ANY else s
           for i, s in enumerate(spec)]
    need(out.count(-1) <= 1 or -1 in x or x == ANY, f'{spec} has more than one -1')
    total = count(x)
    if total >= 0 and out.count(-1) == 1:
        rest = math.prod(s for s in out if s != -1)
        need(rest and total % rest == 0 or total == rest == 0, f'{x} does not become {spec}')
        out[out.index(-1)] = total // rest if rest else -1
    need(total < 0 or count(out) in (-1, total), f'{x} does not become {out}')
    return {'y': out}


def transpose(node):
    x = node.x()
    perm = node.attr('perm') if node.attr('perm') is not None else node.const('perm')
    if perm is None or x == ANY:
        return {'y': [-1] * len(x) if x != ANY else ANY}
    need(sorted(p % len(x) for p in perm) == list(range(len(x))), f'perm {perm}')
    return {'y': [x[p] for p in perm]}


def unsqueeze(node):
    x = node.x()
    axes = node.attr('axes') if node.attr('axes') is not None else node.const('axes')
    if axes is None or x == ANY:
        return {'y': ANY}
    n = len(x) + len(axes)
    need(all(-n <= a < n for a in axes) and len({a % n for a in axes}) == len(axes), f'axes {axes}')
    rest, places = iter(x), {a % n for a in axes}
    return {'y': [1 if i in places else next(rest) for i in range(n)]}


def squeeze(node):
    x = node.x()
    axes = node.attr('axis') if node.attr('axis') is not None else node.const('axes')
    if node.has('axes') and axes is None or x == ANY:
        return {'y': ANY}
    if not axes:
        return {'y': [s for s in x if s != 1]}
    places = {a % len(x) for a in axes}
    need(all(x[a] in (1, -1) for a in places), f'axes {axes} of {x}')
    return {'y': [s for i, s in enumerate(x) if i not in places]}


def flatten(node):
    x, axis = node.x(), node.attr('axis', 1)
    if x == ANY:
        return {'y': [-1, -1]}
    axis += len(x) if axis < 0 else 0
    return {'y': [count(x[:axis]), count(x[axis:])]}


def concat(node):
    parts = [p.shape for p in node.many('x')]
    axis = node.attr('concat_dim')
    if axis is None:
        axis = (node.const('concat_dim') or [None])[0]
    if ANY in parts or axis is None:
        return {'y': ANY}
    need(parts and all(len(p) == len(parts[0]) for p in parts), 'ranks differ')
    axis += len(parts[0]) if axis < 0 else 0
    out = [max(column) if i != axis else -1 if -1 in column else sum(column)
           for i, column in enumerate(zip(*parts))]
    for part in parts:
        need(all(i == axis or s in (-1, out[i]) for i, s in enumerate(part)), f'sizes of {parts}')
    return {'y': out}


def split(node):
    x, n = node.x('x'), node.attr('num_split')
    axis = node.attr('split_dim')
    axis = (node.const('split_dim') or [None])[0] if axis is None else axis
    if x == ANY or axis is None:
        return {f'y{i}': ANY if x == ANY else [-1] * len(x) for i in range(n)}
    axis += len(x) if axis < 0 else 0
    need(x[axis] < 0 or x[axis] % n == 0, f'{x[axis]} in {n} parts')
    size = -1 if x[axis] < 0 else x[axis] // n
    return {f'y{i}': x[:axis] + [size] + x[axis + 1:] for i in range(n)}


def split_v(node):
    x, n = node.x('x'), node.attr('num_split')
    axis, sizes = node.attr('split_dim'), node.attr('size_splits')
    axis = (node.const('split_dim') or [None])[0] if axis is None else axis
    sizes = node.const('size_splits') if sizes is None else sizes
    if x == ANY or axis is None:
        return {f'y{i}': ANY if x == ANY else [-1] * len(x) for i in range(n)}
    axis += len(x) if axis < 0 else 0
    sizes = [-1] * n if sizes is None else list(sizes)
    need(len(sizes) == n, f'{len(sizes)} sizes for {n} results')
    if sizes.count(-1) == 1 and x[axis] >= 0:
        sizes[sizes.index(-1)] = x[axis] - sum(s for s in sizes if s >= 0)
    need(-1 in sizes or x[axis] < 0 or sum(sizes) == x[axis], f'sizes {sizes} of {x[axis]}')
    return {f'y{i}': x[:axis] + [s] + x[axis + 1:] for i, s in enumerate(sizes)}


def gather(node):
    x, indices = node.x(), node.x('indices')
    axis = (node.const('axis') or [None])[0] if node.has('axis') else node.attr('axis', 0)
    if ANY in (x, indices) or axis is None:
        return {'y': ANY}
    need(len(x) > 0, 'x has rank 0')
    axis += len(x) if axis < 0 else 0
    batch = node.attr('batch_dims', 0)
    batch += len(indices) if batch < 0 else 0
    need(batch <= axis < len(x) and batch <= len(indices), f'axis {axis}')
    return {'y': x[:axis] + indices[batch:] + x[axis + 1:]}


def gather_elements(node):
    return {'y': node.x('index')}


def gather_nd(node):
    x, indices = node.x(), node.x('indices')
    if ANY in (x, indices) or indices[-1] < 0:
        return {'y': ANY}
    need(indices[-1] <= len(x), 'indices are longer than the rank')
    return {'y': indices[:-1] + x[indices[-1]:]}


def strided_slice(node):
    """Slices along axes; -1 for what a list that is not constant would say."""
    x = node.x()
    if x == ANY:
        return {'y': ANY}
    begin, end = node.const('begin'), node.const('end')
    axes, steps = node.const('axes'), node.const('strides')
    out, n = list(x), node.x('begin')[0]
    if node.has('axes') and axes is None or begin is None and end is None and n < 0:
        return {'y': [-1] * len(x)}
    axes = list(range(n)) if axes is None else axes
    steps = [1] * n if not node.has('strides') else steps
    for i, axis in enumerate(axes):
        axis += len(x) if axis < 0 else 0
        need(axis < len(x), f'axis {axis} of rank {len(x)}')
        if begin is None or end is None or steps is None or x[axis] < 0:
            out[axis] = -1
            continue
        need(steps[i] != 0, 'a stride of 0')
        out[axis] = len(range(*slice(begin[i], end[i], steps[i]).indices(x[axis])))
        if steps[i] < 0 and end[i] < -x[axis]:  # beyond the begin: all
            out[axis] = len(range(*slice(begin[i], None, steps[i]).indices(x[axis])))
    return {'y': out}


def pad(node):
    x = node.x()
    pads = node.attr('paddings') if node.attr('paddings') else node.const('paddings')
    if x == ANY or pads is None:
        return {'y': ANY if x == ANY else [-1] * len(x)}
    if pads and isinstance(pads[0], list):
        pads = [v for row in pads for v in row]
    need(len(pads) == 2 * len(x), f'{len(pads)} pads for rank {len(x)}')
    together = node.attr('paddings_contiguous', True)
    return {'y': [-1 if s < 0 else s + (pads[2 * i] + pads[2 * i + 1] if together
                                        else pads[i] + pads[i + len(x)])
                  for i, s in enumerate(x)]}


def tile(node):
    x, times = node.x(), node.attr('multiples')
    times = node.const('multiples') if times is None else times
    if x == ANY:
        return {'y': ANY}
    if times is None:
        return {'y': [-1] * max(len(x), node.x('multiples')[0])}
    x = [1] * (len(times) - len(x)) + x
    times = [1] * (len(x) - len(times)) + times
    return {'y': [-1 if s < 0 else s * t for s, t in zip(x, times)]}


def expand(node):
    x, spec = node.x(), node.attr('shape')
    spec = node.const('shape') if spec is None else spec
    if x == ANY or spec is None:
        return {'y': ANY}
    return {'y': broadcast(x, [1 if s == -1 else s for s in spec])}


def fill(node):
    spec = node.attr('dims')
    spec = node.const('dims') if spec is None else spec
    if spec is None:
        n = node.x('dims')
        return {'y': ANY if n == ANY or n[0] < 0 else [-1] * n[0]}
    return {'y': spec}


def number_range(node):
    given = [node.const(p) for p in ('start', 'limit', 'delta')]
    if any(v is None for v in given):
        return {'y': [-1]}
    start, limit, delta = (v[0] for v in given)
    need(delta != 0, 'delta is 0')
    return {'y': [max(math.ceil((limit - start) / delta), 0)]}


def shape_of(node):
    return {'y': ANY if node.x() == ANY else [len(node.x())]}


def scalar(node):
    return {node.outs[0].name: []}


def top_k(node):
    x, k = node.x(), node.const('k')
    if x == ANY:
        return {'values': ANY, 'indices': ANY}
    axis = node.attr('dim', -1) % len(x)
    size = -1 if k is None else k[0]
    need(x[axis] < 0 or size <= x[axis], f'k {size} of {x[axis]}')
    out = x[:axis] + [size] + x[axis + 1:]
    return {'values': out, 'indices': out}


def first(name):
    """The result has the dims of one operand."""
    return lambda node: {node.outs[0].name: node.x(name)}


def pack(node):
    parts = [p.shape for p in node.many('x')]
    if ANY in parts:
        return {'y': ANY}
    axis = node.attr('axis', 0) % (len(parts[0]) + 1)
    return {'y': parts[0][:axis] + [len(parts)] + parts[0][axis:]}


def one_hot(node):
    x, depth = node.x(), node.attr('depth')
    depth = (node.const('depth') or [-1])[0] if depth is None else depth
    if x == ANY:
        return {'y': ANY}
    axis = node.attr('axis', -1)
    axis = len(x) if axis == -1 else axis
    return {'y': x[:axis] + [depth] + x[axis:]}


def confusion(node):
    """A transposition and a reshape in one, in the order that transpose_first says."""
    return {'y': node.attr('shape')} if node.attr('transpose_first') else \
        {'y': [node.attr('shape')[p] for p in node.attr('perm')]}


# ---- reductions
def reduce(node):
    x, keep = node.x(), node.attr('keep_dims', False)
    axes = node.attr('axes') if node.attr('axes') is not None else node.attr('axis')
    axes = node.const('axes') if axes is None else axes
    axes = [axes] if isinstance(axes, int) else axes
    if x == ANY:
        return {'y': ANY}
    if axes is None:
        return {'y': [-1] * len(x) if keep else ANY}
    if not axes:
        if node.attr('noop_with_empty_axes', True):
            return {'y': x}
        axes = list(range(len(x)))
    need(all(-max(len(x), 1) <= a < max(len(x), 1) for a in axes), f'axes {axes} of rank {len(x)}')
    places = {a % max(len(x), 1) for a in axes}
    return {'y': [1 if i in places else s for i, s in enumerate(x) if keep or i not in places]}


def arg(node):
    x, axis = node.x(), node.attr('dimension')
    axis = (node.const('dimension') or [None])[0] if axis is None else axis
    if x == ANY:
        return {'y': ANY}
    if axis is None:
        return {'y': [-1] * (len(x) - 1)}
    axis += len(x) if axis < 0 else 0
    keep = node.attr('keep_dims', False)
    return {'y': x[:axis] + ([1] if keep else []) + x[axis + 1:]}


# ---- norms
def behind(x, axis):
    """Dims of the statistics of a norm over the dims from an axis on."""
    axis += len(x) if axis < 0 else 0
    return [1 if i >= axis else s for i, s in enumerate(x)]


def layer_norm(node):
    x = node.x()
    stats = ANY if x == ANY else behind(x, node.attr('begin_norm_axis', 0))
    return {'y': x, 'mean': stats, 'variance': stats}


def layer_norm_v4(node):
    x, n = node.x(), node.const('normalized_shape')
    n = node.x('normalized_shape')[0] if n is None else len(n)
    stats = ANY if x == ANY or n < 0 else behind(x, len(x) - n)
    return {'y': x, 'mean': stats, 'rstd': stats}


def add_layer_norm(node):
    """The result has the dims of the first operand, which is not stretched; one size of the statistics
    is 1."""
    x, gamma = node.x('x1'), node.x('gamma')
    if ANY in (x, gamma):
        return {'y': x, 'x': x}
    need(len(x) >= len(gamma), 'gamma has more dims than x1')
    stats = list(x)
    stats[len(x) - len(gamma)] = 1
    return {'y': x, 'x': x, 'mean': stats, 'rstd': stats}


def add_rms_norm(node):
    x, gamma = node.x('x1'), node.x('gamma')
    return {'y': x, 'x': x, 'rstd': ANY if ANY in (x, gamma) else behind(x, len(x) - len(gamma))}


def rms_norm(node):
    x, gamma = node.x(), node.x('gamma')
    return {'y': x, 'rstd': ANY if ANY in (x, gamma) else behind(x, len(x) - len(gamma))}


def batch_norm(node):
    scale = node.x('scale')
    need(node.port('x').fmt in ('NCHW', 'NHWC', 'NCDHW', 'NDHWC', 'NC1HWC0', 'ND'), 'format of x')
    return {'y': node.x(), **{out: scale for out in (
        'batch_mean', 'batch_variance', 'reserve_space_1', 'reserve_space_2')}}


def group_norm(node):
    need(node.attr('data_format', 'NHWC') in ('NHWC', 'NCHW'), 'data_format')
    scale = node.x('scale')
    return {'y': node.x(), 'batch_mean': scale, 'batch_variance': scale}


def instance_norm(node):
    x = node.x()
    need(x == ANY or len(x) >= 2, 'x has a rank below 2')
    if x == ANY:
        return {'y': x}
    first_two = node.attr('data_format') in ('NCHW', 'NCDHW')
    kept = (0, 1) if first_two else (0, len(x) - 1)
    stats = [s if i in kept else 1 for i, s in enumerate(x)]
    return {'y': x, 'mean': stats, 'variance': stats}


def bn_reduce(node):
    x, fmt = node.x(), node.port('x').fmt
    places = {'NCHW': 1, 'NHWC': 3, 'NCDHW': 1, 'NDHWC': 4, 'NC1HWC0': 1}
    need(fmt in places, f'x has format {fmt}')
    need(fmt != 'NCHW' or 2 <= len(x) <= 4, f'x has rank {len(x)}')
    return {'sum': [x[places[fmt]]], 'square_sum': [x[places[fmt]]]}


def lp_norm(node):
    x, axes = node.x(), node.attr('axes') or []
    if x == ANY:
        return {'y': ANY}
    places = {a % len(x) for a in axes} if axes else set(range(len(x)))
    keep = node.attr('keepdim', False)
    return {'y': [1 if i in places else s for i, s in enumerate(x) if keep or i not in places]}


def nll_loss(node):
    """GE of 2022 gives a scalar for what is not [N, C]."""
    x = node.x()
    need(x == ANY or len(x) in (1, 2, 4), f'x has rank {len(x)}')
    rows = node.attr('reduction', 'mean') == 'none' and len(x) > 1
    return {'y': [x[0]] + x[2:] if rows else [], 'total_weight': []}


def cross_entropy(node):
    scores = node.x('scores')
    reduced = node.attr('reduction', 'mean') != 'none'
    return {'loss': [] if reduced else node.x('labels'), 'log_prop': scores}


ELEMENTS = 'elewise_calculation_ops.cc'
UNARY = ('Abs Acos Acosh Asin Asinh Atan Atanh AscendQuant Bitcast Cast Ceil Celu Cos Cosh Cumprod '
         'CumprodD Cumsum CumsumD Elu Erf Exp Floor Gelu GeluV2 HardMax HardSigmoid HardSwish '
         'Identity Invert IsInf IsNan LRN LeakyRelu Log LogicalNot Mish Neg PRelu Reciprocal Relu '
         'Relu6 ReverseSequence Round Rsqrt Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign '
         'Sqrt Square Swish Tan Tanh TensorMove Trilu').split()
BINARY = ('Add Sub Mul Div RealDiv Maximum Minimum Pow Mod FloorMod Equal NotEqual Less LessEqual '
          'Greater GreaterEqual LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor LeftShift '
          'RightShift Atan2 SquaredDifference').split()
REDUCES = ('ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceSumD ReduceMeanD ReduceMaxD '
           'ReduceMinD ReduceProdD SquareSumV1 ReduceAll ReduceAny').split()
ARRAY, SELECT, PARTS = 'array_ops.cc', 'selection_ops.cc', 'split_combination_ops.cc'
NORMS = 'nn_norm_ops.cc'
RULES = {
    **{op: (same, f'{ELEMENTS} OneInOneOutDynamicInfer') for op in UNARY if op != 'Bitcast'},
    **{op: (one_type, f'{ELEMENTS} TwoInOneOutCommonInferShape, CheckTwoInputDtypeSame')
       for op in BINARY},
    'FusedMulAdd': (fused_mul_add, f'{ELEMENTS} FusedMulAddVerify'),
    'FusedMulAddN': (same, f'{ELEMENTS} FusedMulAddNInferShape'),
    'AccumulateNV2': (joined, f'{ELEMENTS} AccumulateNV2InferShape'),
    'SelectV2': (joined, f'{SELECT} SelectV2InferShape'),
    'Lerp': (joined, f'{ELEMENTS} LerpInferShape'),
    'ClipByValue': (clip, f'{ELEMENTS} ClipByValueInferShape'),
    'SoftmaxV2': (softmax, f'{NORMS} SoftmaxV2InferShape'),
    'LogSoftmaxV2': (softmax, f'{NORMS} LogSoftmaxV2InferShape'),
    'Reshape': (reshape, f'{ARRAY} ReshapeInfer'),
    'Transpose': (transpose, 'transformation_ops.cc TransposeInferShape'),
    'TransposeD': (transpose, 'transformation_ops.cc TransposeDInferShape'),
    **{op: (unsqueeze, f'{ARRAY} {op}Infer') for op in ('Unsqueeze', 'UnsqueezeV3')},
    **{op: (squeeze, f'{ARRAY} {op}Infer') for op in ('Squeeze', 'SqueezeV3')},
    'Flatten': (flatten, 'transformation_ops.cc FlattenInferShape'),
    **{op: (concat, f'{PARTS} ConcatInferShapeCommon') for op in ('Concat', 'ConcatD', 'ConcatV2')},
    **{op: (split, f'{PARTS} {op}InferShape') for op in ('Split', 'SplitD')},
    **{op: (split_v, f'{PARTS} {op}InferShape') for op in ('SplitV', 'SplitVD')},
    'GatherV2': (gather, f'{SELECT} GatherV2InferShape'),
    'Gather': (gather, f'{SELECT} GatherInferShape'),
    'GatherElements': (gather_elements, f'{SELECT} GatherElementsInfer'),
    'GatherNd': (gather_nd, f'{SELECT} GatherNdInferShape'),
    'StridedSliceV2': (strided_slice, f'{SELECT} StridedSliceV2Infer'),
    **{op: (pad, f'pad_ops.cc {op}Infer') for op in ('Pad', 'PadD', 'PadV3', 'PadV3D')},
    'Tile': (tile, f'{SELECT} TileInferShape'),
    'TileD': (tile, f'{SELECT} TileDInferShape'),
    'Expand': (expand, 'nn_ops.cc ExpandInferShape'),
    'Fill': (fill, 'pad_ops.cc FillInferShape'),
    'FillD': (fill, 'pad_ops.cc FillDInferShape'),
    'Range': (number_range, f'{SELECT} RangeInferShape'),
    'Shape': (shape_of, f'{ARRAY} ShapeInfer'),
    'Size': (scalar, f'{ARRAY} SizeInfer'),
    'TopK': (top_k, f'{SELECT} TopKInfer'),
    'ScatterElements': (first('data'), f'{SELECT} ScatterElementsInferShape'),
    **{op: (first('var'), 'matrix_calculation_ops.cc ScatterNdUpdateInfer')
       for op in ('ScatterNdUpdate', 'ScatterNdAdd', 'ScatterNdMax', 'ScatterNdMin')},
    'Pack': (pack, f'{PARTS} PackInferShape'),
    'OneHot': (one_hot, f'{SELECT} OneHotInfer'),
    'ConfusionTransposeD': (confusion, 'transformation_ops.cc ConfusionTransposeDInferShape'),
    **{op: (reduce, 'reduce_ops.cc InferReduceShape') for op in REDUCES},
    **{op: (arg, f'{SELECT} {op}InferShape') for op in ('ArgMaxV2', 'ArgMaxD', 'ArgMin', 'ArgMinD')},
    'LayerNorm': (layer_norm, f'{NORMS} LayerNormInferShape'),
    'LayerNormV4': (layer_norm_v4, 'ops-nn norm/layer_norm_v4 infershape'),
    'AddLayerNorm': (add_layer_norm, 'ops-nn norm/add_layer_norm infershape'),
    'AddRmsNorm': (add_rms_norm, 'ops-nn norm/add_rms_norm infershape'),
    'RmsNorm': (rms_norm, 'ops-nn norm/rms_norm infershape'),
    'BatchNorm': (batch_norm, 'nn_batch_norm_ops.cc BatchNormInferShape'),
    'GroupNorm': (group_norm, f'{NORMS} GroupNormInferShape'),
    'InstanceNorm': (instance_norm, f'{NORMS} InstanceNormInferShape, InstanceNormVerify'),
    'BNTrainingReduce': (bn_reduce, 'reduce_ops.cc BNTrainingReduceInferShape'),
    'BNTrainingUpdateV2': (first('x'), 'nn_batch_norm_ops.cc BNTrainingUpdateV2InferShape'),
    'LpNormV2': (lp_norm, f'{NORMS} LpNormInferShape'),
    'NLLLoss': (nll_loss, f'{NORMS} NLLLossInferShape'),
    'SoftmaxCrossEntropyLoss': (cross_entropy, f'{NORMS} SoftmaxCrossEntropyLossInferShape'),
    'AscendDequant': (same, 'quantize_ops.cc AscendDequantInferShape'),
}
