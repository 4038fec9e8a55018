# SPDX-License-Identifier: Apache-2.0
"""Changes of ONNX models that know what a graph is: each leaves a model that is most likely valid
and means something else than before, or the same in another spelling. A mutation is a function of
(Site, random) that returns what it did, or None when the model has no place for it."""
import math
import struct

import onnx
from onnx import TensorProto as T
from onnx import helper

from graph_site import Site, edge, shaped_edge, splice

FLOATS = {T.FLOAT: 'f', T.DOUBLE: 'd'}
ODD_FLOATS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -2.0, 1e-5, 1e-12, 1e30, 65504.0, 1e6, 0.1,
              math.inf, -math.inf, math.nan]
UNARY = ['Neg', 'Relu', 'Abs', 'Sigmoid', 'Tanh', 'Floor', 'Ceil', 'Round', 'Sign', 'Reciprocal',
         'Softplus', 'Erf', 'Identity', 'Elu', 'LeakyRelu', 'HardSigmoid', 'Exp', 'Sqrt', 'Sin']
BINARY = ['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Pow']
# Ops that take the same operands and attributes as another one.
SIBLINGS = [
    {'Add', 'Sub', 'Mul', 'Div', 'PRelu'}, {'Max', 'Min', 'Sum', 'Mean'},
    {'Relu', 'Sigmoid', 'Tanh', 'Neg', 'Abs', 'Sqrt', 'Exp', 'Log', 'Erf', 'Floor', 'Ceil', 'Sin',
     'Cos', 'Softplus', 'Softsign', 'Reciprocal', 'Identity', 'Sign', 'Round'},
    {'Softmax', 'LogSoftmax', 'Hardmax'},
    {'ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceL1', 'ReduceL2',
     'ReduceLogSumExp', 'ReduceSumSquare'},
    {'MaxPool', 'AveragePool'}, {'GlobalAveragePool', 'GlobalMaxPool'}, {'ArgMax', 'ArgMin'},
    {'Less', 'Greater', 'Equal', 'LessOrEqual', 'GreaterOrEqual'}, {'And', 'Or', 'Xor'},
]
INTS = {'axis': (-3, 4), 'transA': (-1, 3), 'transB': (-1, 3), 'keepdims': (0, 1), 'group': (1, 3),
        'ceil_mode': (-1, 3), 'count_include_pad': (-1, 3), 'exclusive': (-1, 3),
        'reverse': (-1, 3), 'select_last_index': (-1, 3), 'largest': (-1, 3), 'sorted': (-1, 2),
        'noop_with_empty_axes': (-1, 3), 'allowzero': (0, 2), 'align_corners': (-1, 3),
        'linear_before_reset': (-1, 3), 'batch_dims': (0, 2), 'fmod': (0, 2), 'start': (-3, 3),
        'end': (-3, 3), 'k': (-1, 2), 'spatial': (0, 2), 'blocksize': (1, 3), 'is_causal': (-1, 3),
        'exclude_outside': (-1, 3), 'broadcast': (0, 2), 'is_test': (0, 2)}
WORDS = {'auto_pad': ['NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'],
         'mode': ['constant', 'reflect', 'edge', 'nearest', 'linear', 'cubic', 'DCR', 'CRD', 'wrap',
                  'bilinear', 'bicubic', 'avg', 'max'],
         'reduction': ['none', 'add', 'mul', 'max', 'min', 'mean', 'sum'],
         'coordinate_transformation_mode': ['half_pixel', 'asymmetric', 'align_corners',
                                            'pytorch_half_pixel', 'half_pixel_symmetric'],
         'nearest_mode': ['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'],
         'direction': ['forward', 'reverse', 'LEFT', 'RIGHT'], 'approximate': ['none', 'tanh'],
         'padding_mode': ['zeros', 'border', 'reflection']}


# ---- values -------------------------------------------------------------------------------------


def unary(site, rng):
    i, k = edge(site, rng)
    if i is None:
        return None
    op = rng.choice(UNARY)
    node, result = site.node(op, [site.graph.node[i].input[k]], 'u')
    splice(site, i, k, [node], result)
    return f'{op} before operand {k} of {site.graph.node[i + 1].op_type}'


def binary(site, rng):
    i, k = edge(site, rng)
    if i is None:
        return None
    value = rng.choice(ODD_FLOATS)
    dims = rng.choice([[], [], [1], [1, 1], [1, 1, 1, 1]])
    pair = [site.graph.node[i].input[k], site.constant(T.FLOAT, dims, [value])]
    if rng.random() < 0.4:
        pair.reverse()
    op = rng.choice(BINARY)
    node, result = site.node(op, pair, 'b')
    splice(site, i, k, [node], result)
    return f'{op} with {value} of rank {len(dims)}'


def with_itself(site, rng):
    i, k = edge(site, rng)
    if i is None:
        return None
    x = site.graph.node[i].input[k]
    op = rng.choice(BINARY[:6])
    node, result = site.node(op, [x, x], 's')
    splice(site, i, k, [node], result)
    return f'{op} of a value with itself'


def casts(site, rng):
    i, k = edge(site, rng)
    if i is None:
        return None
    to = rng.choice([T.FLOAT16, T.DOUBLE, T.INT32, T.INT64, T.BOOL, T.FLOAT])
    one, a = site.node('Cast', [site.graph.node[i].input[k]], 'k', to=to)
    two, b = site.node('Cast', [a], 'k', to=T.FLOAT)
    splice(site, i, k, [one, two], b)
    return f'Cast to {to} and back'


def integer_math(site, rng):
    dtype = rng.choice([T.INT64, T.INT32])
    i, k = edge(site, rng, dtype)
    if i is None:
        return None
    op = rng.choice(['Add', 'Sub', 'Mul', 'Max', 'Min', 'Div', 'Mod'])
    value = rng.choice([1, -1, 2, 3])
    operands = [site.graph.node[i].input[k], site.constant(dtype, [], [value])]
    node, result = site.node(op, operands, 'i')
    back, after = site.node('Sub' if op == 'Add' else 'Add', [result, site.constant(
        dtype, [], [value if op in ('Add', 'Sub') else 0])], 'i')
    splice(site, i, k, [node, back], after)
    return f'integer {op} with {value}'


def transposes(site, rng):
    i, k = shaped_edge(site, rng, 2)
    if i is None:
        return None
    rank = len(site.shape(site.graph.node[i].input[k]))
    perm = rng.sample(range(rank), rank)
    inverse = [perm.index(p) for p in range(rank)]
    one, a = site.node('Transpose', [site.graph.node[i].input[k]], 't', perm=perm)
    middle, m = site.node(rng.choice(UNARY), [a], 't')
    two, b = site.node('Transpose', [m], 't', perm=inverse)
    splice(site, i, k, [one, middle, two], b)
    return f'{middle.op_type} between transposes {perm}'


def views(site, rng):
    i, k = shaped_edge(site, rng, 1)
    if i is None:
        return None
    x = site.graph.node[i].input[k]
    shape = [-1 if d is None else d for d in site.shape(x)]
    if shape.count(-1) > 1 or 0 in shape:
        return None
    one, a = site.node('Flatten', [x], 'v', axis=rng.randint(0, len(shape)))
    two, b = site.node('Reshape', [a, site.constant(T.INT64, [len(shape)], shape)], 'v')
    splice(site, i, k, [one, two], b)
    return 'Flatten and Reshape back'


def split_and_join(site, rng):
    i, k = shaped_edge(site, rng, 1)
    if i is None:
        return None
    x = site.graph.node[i].input[k]
    shape = site.shape(x)
    axis = rng.randrange(len(shape))
    if not shape[axis] or shape[axis] < 2:
        return None
    cut = rng.randint(1, shape[axis] - 1)
    if site.opset < 10:
        return None
    c = lambda n: site.constant(T.INT64, [1], [n])  # noqa: E731
    one, a = site.node('Slice', [x, c(0), c(cut), c(axis)], 'p')
    two, b = site.node('Slice', [x, c(cut), c(2 ** 31 - 1), c(axis)], 'p')
    parts = [a, b] if rng.random() < 0.7 else [b, a]
    join, r = site.node('Concat', parts, 'p', axis=axis)
    splice(site, i, k, [one, two, join], r)
    return f'sliced at {cut} of axis {axis} and joined'


def quantized(site, rng):
    i, k = edge(site, rng)
    if i is None or site.opset < 10:
        return None
    kind = rng.choice([T.UINT8, T.INT8])
    scale = site.constant(T.FLOAT, [], [rng.choice([0.01, 0.1, 1.0, 0.0078125])])
    point = site.constant(kind, [], [rng.choice([0, 3, 100])])
    one, a = site.node('QuantizeLinear', [site.graph.node[i].input[k], scale, point], 'q')
    two, b = site.node('DequantizeLinear', [a, scale, point], 'q')
    splice(site, i, k, [one, two], b)
    return 'quantized and dequantized'


def chosen(site, rng):
    """Where(c, x, y) of two values of one type and shape, or of a value and a number."""
    i, k = edge(site, rng)
    if i is None or site.opset < 9:
        return None
    x = site.graph.node[i].input[k]
    other = site.constant(T.FLOAT, [], [rng.choice(ODD_FLOATS)])
    cond = site.constant(T.BOOL, [], [rng.random() < 0.5])
    nodes = []
    if rng.random() < 0.5:
        test, cond = site.node('Greater', [x, site.constant(T.FLOAT, [], [0.1])], 'w')
        nodes.append(test)
    pair = [x, other] if rng.random() < 0.5 else [other, x]
    node, result = site.node('Where', [cond, *pair], 'w')
    splice(site, i, k, [*nodes, node], result)
    return 'Where before an operand'


# ---- graph --------------------------------------------------------------------------------------


def rewire(site, rng):
    """An operand becomes another value of the same type and shape that is made earlier."""
    found = site.edges()
    rng.shuffle(found)
    for i, k in found[:8]:
        old = site.graph.node[i].input[k]
        made = [o for n in site.graph.node[:i] for o in n.output] + \
               [v.name for v in site.graph.input] + [t.name for t in site.graph.initializer]
        fit = [o for o in made if o != old and o in site.types and old in site.types and
               site.types[o].elem_type == site.types[old].elem_type and
               site.shape(o) is not None and site.shape(o) == site.shape(old)]
        if fit:
            site.graph.node[i].input[k] = rng.choice(fit)
            return f'operand {k} of {site.graph.node[i].op_type} is another value'
    return None


def swap(site, rng):
    found = [n for n in site.graph.node if len(n.input) > 1 and n.input[0] and n.input[1]]
    if not found:
        return None
    node = rng.choice(found)
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return f'operands of {node.op_type} swapped'


def more_outputs(site, rng):
    """A value within a pattern becomes an output."""
    if site.graph is not site.model.graph:
        return None
    outputs = {v.name for v in site.graph.output}
    found = [o for n in site.graph.node for o in n.output if o and o not in outputs and
             site.dtype(o)]
    if not found:
        return None
    name = rng.choice(found)
    site.graph.output.append(helper.make_tensor_value_info(name, site.dtype(name), None))
    return f'"{name}" is an output too'


def twin(site, rng):
    """A node is computed twice; half of the users take the second one."""
    found = [i for i, n in enumerate(site.graph.node) if len(n.output) == 1]
    if not found:
        return None
    i = rng.choice(found)
    node = onnx.NodeProto()
    node.CopyFrom(site.graph.node[i])
    old = node.output[0]
    node.output[0] = site.fresh(old)
    node.name = node.output[0] + '_n'
    users = [(n, k) for n in site.graph.node for k, o in enumerate(n.input) if o == old]
    if not users or any(a.HasField('g') for a in node.attribute):
        return None
    for n, k in users[::2]:
        n.input[k] = node.output[0]
    site.insert(i + 1, node)
    return f'{node.op_type} is computed twice'


def sibling(site, rng):
    found = [(n, s) for n in site.graph.node for s in SIBLINGS if n.op_type in s]
    if not found:
        return None
    node, group = rng.choice(found)
    old = node.op_type
    node.op_type = rng.choice(sorted(group - {old}))
    return f'{old} became {node.op_type}'


def absent(site, rng):
    """An operand that may be optional is absent."""
    found = [n for n in site.graph.node if len(n.input) > 1]
    if not found:
        return None
    node = rng.choice(found)
    k = rng.randrange(1, len(node.input))
    if k == len(node.input) - 1 and rng.random() < 0.5:
        del node.input[k]
    else:
        node.input[k] = ''
    return f'operand {k} of {node.op_type} is absent'


def conditional(site, rng):
    """A node goes into both branches of an If, changed in one."""
    found = [i for i, n in enumerate(site.graph.node) if len(n.output) == 1 and n.output[0] and
             not any(a.HasField('g') for a in n.attribute) and site.dtype(n.output[0])]
    if not found or site.opset < 11:
        return None
    i = rng.choice(found)
    node = site.graph.node[i]
    result, kind = node.output[0], site.dtype(node.output[0])
    branches = []
    same = rng.random() < 0.5
    for which in ('then', 'else'):
        inner = onnx.NodeProto()
        inner.CopyFrom(node)
        name = 'inner' if same else f'{which}_{result}'
        if not same:
            name = site.fresh(name)
        inner.output[0] = name
        nodes = [inner]
        if which == 'else' and kind == T.FLOAT:
            nodes.append(helper.make_node('Neg', [name], [name + '_neg']))
        branches.append(helper.make_graph(nodes, which, [], [
            helper.make_tensor_value_info(nodes[-1].output[0], kind, None)]))
    cond = site.constant(T.BOOL, [], [rng.random() < 0.5])
    site.graph.node[i].CopyFrom(helper.make_node('If', [cond], [result], node.name,
                                                 then_branch=branches[0], else_branch=branches[1]))
    if rng.random() < 0.5:  # not a constant any more
        source = [v.name for v in site.graph.input if site.dtype(v.name) == T.FLOAT]
        if source:
            size, s = site.node('Size', [source[0]], 'f')
            least = site.constant(T.INT64, [], [rng.choice([0, 1000])])
            test, t = site.node('Greater', [s, least], 'f')
            site.graph.node[i].input[0] = t
            site.insert(i, size, test)
    return f'{branches[0].node[0].op_type} stands in both branches of an If'


def looped(site, rng):
    """A float edge goes through a Loop of 0 to 3 trips."""
    i, k = edge(site, rng)
    if i is None or site.opset < 11 or site.graph is not site.model.graph:
        return None
    x = site.graph.node[i].input[k]
    op = rng.choice(['Neg', 'Sin', 'Tanh'])
    value = lambda n, t, s: helper.make_tensor_value_info(n, t, s)  # noqa: E731
    body = helper.make_graph(
        [helper.make_node('Identity', ['lc'], ['lc2']), helper.make_node(op, ['lv'], ['lv2'])],
        'body',
        [value('li', T.INT64, []), value('lc', T.BOOL, []), value('lv', T.FLOAT, None)],
        [value('lc2', T.BOOL, []), value('lv2', T.FLOAT, None)])
    trips = site.constant(T.INT64, [], [rng.randint(0, 3)])
    cond = site.constant(T.BOOL, [], [rng.random() < 0.8])
    first = rng.choice(['', trips]) if rng.random() < 0.1 else trips
    node, result = site.node('Loop', [first, rng.choice(['', cond]) if first else cond, x], 'l',
                             body=body)
    if not first:
        return None
    splice(site, i, k, [node], result)
    return f'{op} in a Loop'


# ---- attributes, constants, names ---------------------------------------------------------------


def attribute(site, rng):
    found = [(n, a) for n in site.graph.node for a in n.attribute
             if a.name in INTS or a.name in WORDS or a.type in (1, 7)]
    if not found:
        return None
    node, a = rng.choice(found)
    before = helper.get_attribute_value(a)
    if a.name in INTS and a.type == 2:
        a.i = rng.randint(*INTS[a.name])
    elif a.name in WORDS and a.type == 3:
        a.s = rng.choice(WORDS[a.name]).encode()
    elif a.type == 1:
        a.f = rng.choice(ODD_FLOATS)
    elif a.ints:
        if rng.random() < 0.5:
            values = list(a.ints)
            rng.shuffle(values)
            del a.ints[:]
            a.ints.extend(values)
        else:
            a.ints[rng.randrange(len(a.ints))] += rng.choice([-1, 1])
    return f'{node.op_type} {a.name}: {before} -> {helper.get_attribute_value(a)}'


def flag(site, rng):
    """A flag that is left out is given, also with a number that is neither 0 nor 1."""
    adds = {'Gemm': ['transA', 'transB'], 'CumSum': ['exclusive', 'reverse'],
            'ArgMax': ['select_last_index'], 'ArgMin': ['select_last_index'],
            'AveragePool': ['ceil_mode', 'count_include_pad'], 'MaxPool': ['ceil_mode'],
            'TopK': ['largest', 'sorted'], 'Reshape': ['allowzero'],
            'GRU': ['linear_before_reset']}
    found = [(n, a) for n in site.graph.node for a in adds.get(n.op_type, [])
             if all(b.name != a for b in n.attribute)]
    if not found:
        return None
    node, name = rng.choice(found)
    value = rng.choice([0, 1, 2, -1, 4])
    node.attribute.append(helper.make_attribute(name, value))
    return f'{node.op_type} {name}={value}'


def float_list(t):
    if t.data_type not in FLOATS or not t.raw_data and not t.float_data:
        return None
    if t.raw_data:
        n = len(t.raw_data) // struct.calcsize(FLOATS[t.data_type])
        return list(struct.unpack(f'<{n}{FLOATS[t.data_type]}', t.raw_data))
    return list(t.float_data) if t.data_type == T.FLOAT else None


def tensors_of(graph):
    return [*graph.initializer, *(a.t for n in graph.node if n.op_type == 'Constant'
                                  for a in n.attribute if a.name == 'value')]


def weights(site, rng):
    """Numbers of a float constant change."""
    found = [t for t in tensors_of(site.graph) if 0 < len(t.float_data) < 250000 or
             t.data_type in FLOATS and 0 < len(t.raw_data) < 1e6]
    if not found:
        return None
    t = rng.choice(found)
    values = float_list(t)
    if not values:
        return None
    how = rng.choice(['scale', 'one', 'zeros', 'ones', 'shuffle', 'negate', 'odd'])
    if how == 'scale':
        values = [v * rng.choice([0.5, 1.5]) for v in values]
    elif how == 'one':
        values[rng.randrange(len(values))] = rng.choice(ODD_FLOATS)
    elif how in ('zeros', 'ones'):
        values = [float(how == 'ones')] * len(values)
    elif how == 'shuffle':
        rng.shuffle(values)
    elif how == 'negate':
        values = [-v for v in values]
    else:
        values[0] = rng.choice(ODD_FLOATS)
    del t.float_data[:]
    t.raw_data = struct.pack(f'<{len(values)}{FLOATS[t.data_type]}', *values)
    return f'constant "{t.name}": {how}'


def where_constants_live(site, rng):
    """An initializer becomes a Constant, an input with a default, or the other way round."""
    main = site.graph is site.model.graph
    if rng.random() < 0.5 and site.graph.initializer:
        t = rng.choice(list(site.graph.initializer))
        inputs = [v.name for v in site.graph.input]
        if t.name in inputs:
            return None
        if main and site.model.ir_version >= 4 and rng.random() < 0.5:
            site.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
            return f'"{t.name}" may be given'
        copy = onnx.TensorProto()
        copy.CopyFrom(t)
        site.graph.initializer.remove(t)
        site.insert(0, helper.make_node('Constant', [], [copy.name], site.fresh('k'), value=copy))
        return f'"{copy.name}" is a Constant'
    found = [(i, n) for i, n in enumerate(site.graph.node) if n.op_type == 'Constant' and
             n.attribute and n.attribute[0].name == 'value']
    if not found:
        return None
    i, node = rng.choice(found)
    t = onnx.TensorProto()
    t.CopyFrom(node.attribute[0].t)
    t.name = node.output[0]
    del site.graph.node[i]
    site.graph.initializer.append(t)
    return f'"{t.name}" is an initializer'


def node_names(site, rng):
    """Nodes without names, or all of one name."""
    how = rng.choice(['', 'n', 'a b\tc', 'x\ny', 'ä"\\'])
    for n in site.graph.node:
        n.name = how
    return f'every node is called {how!r}'


def value_names(site, rng):
    """Inner values get names that other formats must escape."""
    if site.graph is not site.model.graph or any(
            a.HasField('g') for n in site.graph.node for a in n.attribute):
        return None
    outer = {v.name for v in [*site.graph.input, *site.graph.output]} | \
            {t.name for t in site.graph.initializer}
    kind = rng.choice([' %d ', '%d', 'a:%d', '"%d"', '%%%d', 'é%d', '/%d/', 'x.%d'])
    new = {}
    for n in site.graph.node:
        for o in n.output:
            if o and o not in outer:
                new[o] = kind % len(new)
    if set(new.values()) & outer:
        return None
    for n in site.graph.node:
        for names in (n.input, n.output):
            for k, o in enumerate(names):
                names[k] = new.get(o, o)
    del site.graph.value_info[:]
    return f'values are called like {kind % 0!r}'


def sizes(site, rng):
    """A size of an input changes or is open."""
    if site.graph is not site.model.graph:
        return None
    constants = {t.name for t in site.graph.initializer}
    found = [d for v in site.graph.input if v.name not in constants
             for d in v.type.tensor_type.shape.dim]
    if not found:
        return None
    d = rng.choice(found)
    if rng.random() < 0.5:
        d.dim_param = rng.choice(['n', 'batch', 'N'])
    else:
        d.dim_value = rng.choice([1, 2, 3, 4, 5])
    return 'a size of an input'


MUTATIONS = [unary, unary, binary, binary, with_itself, casts, integer_math, transposes, views,
             split_and_join, quantized, chosen, rewire, rewire, swap, more_outputs, more_outputs,
             twin, sibling, sibling, absent, conditional, looped, attribute, attribute, attribute,
             flag, weights, weights, where_constants_live, node_names, value_names, sizes]


def forget_shapes(graph):
    """Types of inner values are no longer true, and shapes of outputs may not be."""
    del graph.value_info[:]
    for v in graph.output:
        if v.type.HasField('tensor_type'):
            v.type.tensor_type.ClearField('shape')
    for n in graph.node:
        for a in n.attribute:
            if a.HasField('g'):
                forget_shapes(a.g)


def mutate(model, rng, count):
    """Changes `model` in place; what was done, in words."""
    done = []
    for _ in range(20 * count):
        if len(done) == count:
            break
        how = rng.choice(MUTATIONS)
        said = how(Site(model, rng), rng)
        if said:
            done.append(said)
    forget_shapes(model.graph)
    return done
