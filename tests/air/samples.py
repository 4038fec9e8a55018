# SPDX-License-Identifier: Apache-2.0
"""AIR files as other tools write them, put together by hand: graphs of operators with descs in any
format, attributes of every kind, bodies, weights beside the file. For foreign.py.

A message is a list of [field, wire type, value]; functions return encoded ones."""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import encode, varint  # noqa: E402

F32, F16, I32, I64, BOOL = 1, 2, 7, 8, 11
FORMATS = {'NCHW': 0, 'NHWC': 1, 'ND': 2, 'NC1HWC0': 3, 'FRACTAL_Z': 4, 'HWCN': 16, 'NDHWC': 27,
           'FRACTAL_NZ': 29, 'NCDHW': 30, 'DHWCN': 31}


def message(*fields):
    return encode([list(f) for f in fields])


def packed(values):
    return b''.join(varint(int(v)) for v in values)


# ---- attributes ----------------------------------------------------------------------------------

def integer(v):
    return message((3, 0, v & (1 << 64) - 1))


def text(v):
    return message((2, 2, v.encode()))


def flag(v):
    return message((5, 0, int(v)))


def real(v):
    return message((4, 5, struct.pack('<f', v)))


def dtype(internal):
    return message((15, 0, internal))


def data(v):
    return message((7, 2, v))


def many(kind, values):
    """A list; kind as in val_type."""
    field = {1: 2, 2: 3, 3: 4, 4: 5, 5: 7, 6: 8, 7: 9, 8: 10, 9: 11, 10: 12}[kind]
    if kind in (2, 4, 10):
        body = [(field, 2, packed(values))] if values else []
    elif kind == 3:
        body = [(field, 2, struct.pack(f'<{len(values)}f', *values))] if values else []
    else:
        body = [(field, 2, v.encode() if isinstance(v, str) else v) for v in values]
    return message((1, 2, message(*body, (20, 0, kind))))


def ints(*values):
    return many(2, values)


def int_lists(*rows):
    return message((14, 2, message(*[(1, 2, message(*([(1, 2, packed(r))] if r else [])))
                                     for r in rows])))


def float_lists(*rows):
    return message((16, 2, message(*[(1, 2, message((1, 2, struct.pack(f'<{len(r)}f', *r))))
                                     for r in rows])))


def entry(number, key, value):
    return (number, 2, message((1, 2, key.encode()), (2, 2, value)))


def named(name, **attrs):
    return message((1, 2, name.encode()), *[entry(2, k, v) for k, v in attrs.items()])


def func(name, **attrs):
    return message((10, 2, named(name, **attrs)))


# ---- tensors -------------------------------------------------------------------------------------

def desc(kind, dims, layout='ND', origin=None, origin_dims=None, ranges=None, **attrs):
    """A TensorDescriptor as GE writes it. origin: the original format, None: the format."""
    origin = origin or layout
    all_attrs = {'format_for_int': integer(FORMATS[layout]), 'origin_format': text(origin),
                 'origin_format_for_int': integer(FORMATS[origin]),
                 'origin_shape': ints(*(dims if origin_dims is None else origin_dims)),
                 'origin_shape_initialized': flag(True), **attrs}
    if ranges:
        all_attrs['shape_range'] = int_lists(*ranges)
        all_attrs['origin_shape_range'] = int_lists(*ranges)
    return message((2, 0, kind), (3, 2, message(*([(1, 2, packed(dims))] if dims else []))),
                   (4, 2, layout.encode()), *[entry(5, k, all_attrs[k]) for k in sorted(all_attrs)],
                   (14, 2, b'NPU'), *([(16, 0, len(dims))] if dims else []))


def tensor(description, raw):
    return message((12, 2, message((1, 2, description), (2, 2, raw))))


def floats(values):
    return struct.pack(f'<{len(values)}f', *values)


# ---- nodes and graphs ----------------------------------------------------------------------------

def names(ports, side):
    return {f'_{side}_name_key': message((1, 2, message(*[(2, 2, p.encode()) for p in ports]))),
            f'_{side}_name_value': message((1, 2, message((3, 2, packed(range(len(ports)))))))}


def node(name, kind, inputs=(), ins=(), outs=(), ports=None, results=None, bodies=(), stream=None,
         **attrs):
    """ports, results: their names, by which GE finds operands."""
    if ports:
        attrs.update(names(ports, 'input'))
    if results:
        attrs.update(names(results, 'output'))
    return message((1, 2, name.encode()), (2, 2, kind.encode()),
                   *[(5, 2, i.encode()) for i in inputs],
                   *[entry(10, k, attrs[k]) for k in sorted(attrs)], (20, 0, 1),
                   *([(22, 0, stream)] if stream else []),
                   *[(33, 2, d) for d in ins], *[(34, 2, d) for d in outs],
                   *[(35, 2, b.encode()) for b in bodies])


def placeholder(name, index, description, parent=None, **attrs):
    if parent is not None:
        attrs['_parent_node_index'] = integer(parent)
    return node(name, 'Data', [''], [description], [description], ['x'], ['y'],
                index=integer(index), **attrs)


def const(name, description, raw, kind='Const', **attrs):
    return node(name, kind, [], [], [description], None, ['y'], value=tensor(description, raw),
                **attrs)


def graph(name, nodes, inputs=(), outputs=(), **attrs):
    return message((1, 2, name.encode()), *[(4, 2, i.encode()) for i in inputs],
                   *[(5, 2, o.encode()) for o in outputs], *[(6, 2, n) for n in nodes],
                   *[entry(11, k, attrs[k]) for k in sorted(attrs)])


def model(*graphs, name='ge', **attrs):
    return message((1, 2, name.encode()), *[(7, 2, g) for g in graphs],
                   *[entry(11, k, attrs[k]) for k in sorted(attrs)])


def output(edges, descs, **attrs):
    return node('Node_Output', 'NetOutput', edges, descs, [],
                [f'x{i}' for i in range(len(descs))], **attrs)


def body_output(name, edges, descs):
    return node(name, 'NetOutput', edges, descs, [], [f'x{i}' for i in range(len(descs))])


# ---- the samples ---------------------------------------------------------------------------------

def tf_adapter(dtype_number=F32):
    """A small network of the TensorFlow adapter: NHWC, a filter in HWCN. x[1,4,4,2]"""
    x = desc(dtype_number, [1, 4, 4, 2], 'NHWC')
    w = desc(dtype_number, [3, 3, 2, 3], 'HWCN')
    b = desc(dtype_number, [3], 'NHWC')
    y = desc(dtype_number, [1, 4, 4, 3], 'NHWC')
    p = desc(dtype_number, [1, 2, 2, 3], 'NHWC')
    t = desc(dtype_number, [1, 3, 2, 2], 'NCHW')
    weights = [((i * 7) % 11 - 5) / 8 for i in range(54)]
    bias = [0.25, -0.5, 1.0]
    nodes = [
        placeholder('x', 0, x),
        const('conv/kernel', w, floats(weights), 'Constant', _value_sha256=text('ab')),
        const('conv/bias', b, floats(bias)),
        node('conv/Conv2D', 'Conv2D', ['x:0', 'conv/kernel:0', '', ''],
             [x, w, desc(0, [], 'ND'), desc(0, [], 'ND')], [y],
             ['x', 'filter', 'bias', 'offset_w'], ['y'], strides=ints(1, 1, 1, 1),
             pads=ints(1, 1, 1, 1), dilations=ints(1, 1, 1, 1), groups=integer(1),
             data_format=text('NHWC'), offset_x=integer(0), padding=text('SAME')),
        node('conv/BiasAdd', 'BiasAdd', ['conv/Conv2D:0', 'conv/bias:0'], [y, b], [y],
             ['x', 'bias'], ['y'], data_format=text('NHWC')),
        node('relu', 'Relu', ['conv/BiasAdd:0'], [y], [y], ['x'], ['y']),
        node('pool', 'MaxPool', ['relu:0'], [y], [p], ['x'], ['y'], ksize=ints(1, 2, 2, 1),
             strides=ints(1, 2, 2, 1), padding=text('VALID'), data_format=text('NHWC')),
        node('trans', 'TransData', ['pool:0'], [p], [t], ['src'], ['dst'],
             src_format=text('NHWC'), dst_format=text('NCHW'), groups=integer(1),
             src_subformat=integer(0), dst_subformat=integer(0)),
        output(['trans:0'], [t], _some_mark=flag(True)),
    ]
    return model(graph('tf', nodes, ['x:0'], ['trans:0'], _graph_mark=text('kept')),
                 soc_version=text('Ascend910B')), (weights, bias)


def tf_numbers(x, weights, bias):
    """What tf_adapter computes of x, 32 numbers."""
    y = []
    for r in range(4):
        for c in range(4):
            for o in range(3):
                total = bias[o]
                for i in range(3):
                    for k in range(3):
                        for ch in range(2):
                            if 0 <= r + i - 1 < 4 and 0 <= c + k - 1 < 4:
                                total += (x[((r + i - 1) * 4 + c + k - 1) * 2 + ch] *
                                          weights[((i * 3 + k) * 2 + ch) * 3 + o])
                y.append(max(total, 0.0))
    pooled = [max(y[((2 * r + i) * 4 + 2 * c + k) * 3 + o] for i in (0, 1) for k in (0, 1))
              for r in range(2) for c in range(2) for o in range(3)]
    return [pooled[(r * 2 + c) * 3 + o] for o in range(3) for r in range(2) for c in range(2)]


def device_layouts(kind=F16):
    """A graph behind GE's compiler: layouts of the device, original shapes, sub-formats."""
    nchw = desc(kind, [1, 3, 5, 5], 'NCHW')
    x = desc(kind, [1, 1, 5, 5, 16], 'NC1HWC0', 'NCHW', [1, 3, 5, 5])
    w = desc(kind, [9, 1, 16, 16], 'FRACTAL_Z', 'NCHW', [4, 3, 3, 3])
    w4 = desc(kind, [4, 3, 3, 3], 'NCHW')
    y = desc(kind, [1, 1, 5, 5, 16], 'NC1HWC0', 'NCHW', [1, 4, 5, 5],
             _datadump_origin_name=text('conv'), _datadump_origin_output_index=integer(0),
             _datadump_origin_format=text('NCHW'), _datadump_origin_data_type=text('DT_FLOAT'))
    z = desc(kind, [1, 4, 5, 5], 'NCHW')
    sub = {'src_subformat': integer(0), 'dst_subformat': integer(0)}
    nodes = [
        placeholder('x', 0, nchw), placeholder('w', 1, w4),
        node('trans_x', 'TransData', ['x:0'], [nchw], [x], ['src'], ['dst'],
             src_format=text('NCHW'), dst_format=text('NC1HWC0'), groups=integer(1), **sub),
        node('trans_w', 'TransData', ['w:0'], [w4], [w], ['src'], ['dst'],
             src_format=text('NCHW'), dst_format=text('FRACTAL_Z'), groups=integer(1), **sub),
        node('conv', 'Conv2D', ['trans_x:0', 'trans_w:0', 'trans_x:-1'], [x, w], [y],
             ['x', 'filter'], ['y'], strides=ints(1, 1, 1, 1), pads=ints(1, 1, 1, 1),
             dilations=ints(1, 1, 1, 1), groups=integer(1), data_format=text('NCHW'),
             offset_x=integer(0)),
        node('trans_y', 'TransData', ['conv:0'], [y], [z], ['src'], ['dst'],
             src_format=text('NC1HWC0'), dst_format=text('NCHW'), groups=integer(1), **sub),
        output(['trans_y:0'], [z]),
    ]
    return model(graph('compiled', nodes, ['x:0', 'w:0'], ['trans_y:0']))


def torchair(weight_file):
    """Dynamic shapes with ranges, an input that is written to, a weight beside the file, an op that
    nobody knows with attributes of every kind, control edges."""
    x = desc(F32, [-1, 4], 'ND', ranges=[[1, 64], [4, 4]])
    w = desc(F32, [4, 2])
    y = desc(F32, [-1, 2], 'ND', ranges=[[1, 64], [2, 2]])
    any_rank = desc(F32, [-2])
    tiny = desc(F32, [2])
    kinds = {
        'a_int': integer(-7), 'a_float': real(0.5), 'a_bool': flag(True), 'a_text': text('t'),
        'a_type': dtype(0), 'a_bytes': data(b'\0\1\xff'), 'l_text': many(1, ['a', 'b']),
        'l_int': ints(1, -2, 3), 'l_float': many(3, [0.5, -1.0]), 'l_bool': many(4, [1, 0]),
        'l_bytes': many(5, [b'\1', b'\2\3']), 'l_desc': many(6, [tiny]),
        'l_tensor': many(7, [message((1, 2, tiny), (2, 2, floats([1, 2])))]),
        'l_graph': many(8, [graph('inner', [])]),
        'l_named': many(9, [named('n', a=integer(1), deeper=func('m', b=text('x')))]),
        'l_type': many(10, [0, 1, 3]), 'l_none': many(2, []), 'a_func': func('f', k=ints(1, 2)),
        'a_desc': message((11, 2, tiny)), 'a_tensor': tensor(tiny, floats([3, 4])),
        'a_graph': message((13, 2, graph('inside', []))),
        'rows': int_lists([1, 2], [], [3]), 'float_rows': float_lists([1.0], [2.0, 3.0])}
    nodes = [
        placeholder('arg0_1', 0, x, _enable_storage_format_spread=flag(True)),
        node('weight', 'FileConstant', [], [], [w], None, ['y'], shape=ints(4, 2), dtype=dtype(0),
             location=text(weight_file), offset=integer(512), length=integer(32)),
        node('MatMul', 'MatMulV2', ['arg0_1:0', 'weight:0', '', ''],
             [x, w, desc(0, []), desc(0, [])], [y], ['x1', 'x2', 'bias', 'offset_w'], ['y'],
             transpose_x1=flag(False), transpose_x2=flag(False), offset_x=integer(0),
             _op_impl_mode_enum=integer(2)),
        node('custom', 'MyVendorOp', ['MatMul:0', 'arg0_1:0'], [y, x], [y, any_rank],
             ['x', 'shape_like'], ['out', 'mask'], stream=3, **kinds),
        node('cache', 'RefData', [''], [w], [w], ['x'], ['y'], index=integer(1)),
        node('more', 'Add', ['weight:0', 'cache:0'], [w, w], [w], ['x1', 'x2'], ['y']),
        node('cast', 'Cast', ['custom:0', 'MatMul:-1', 'custom:-1'], [y],
             [desc(F16, [-1, 2], 'ND', ranges=[[1, 64], [2, 2]])], ['x'], ['y'],
             dst_type=integer(1)),
        output(['cast:0', 'custom:1', 'more:0'], [desc(F16, [-1, 2]), any_rank, w]),
    ]
    return model(graph('torch', nodes, ['arg0_1:0', 'cache:0'], ['cast:0', 'custom:1', 'more:0'],
                       _need_iteration=flag(False)), name='torchair')


def mind_spore():
    """No NetOutput, weights split into files of their own, names of scopes."""
    x = desc(F32, [2, 4])
    w = desc(F32, [4, 4])
    split = node('Default/fc/weight', 'Const', [], [], [w], None, ['y'], value=tensor(w, b''),
                 location=text('air_weight/net/Const_fc'), length=integer(64))
    nodes = [
        placeholder('input', 0, x), split,
        node('Default/fc/MatMul-op1', 'MatMul', ['input:0', 'Default/fc/weight:0', ''],
             [x, w, desc(0, [])], [x], ['x1', 'x2', 'bias'], ['y'], transpose_x1=flag(False),
             transpose_x2=flag(True)),
        node('Default/ReLU-op2', 'Relu', ['Default/fc/MatMul-op1:0'], [x], [x], ['x'], ['y']),
    ]
    return model(graph('0_net', nodes, ['input:0'], ['Default/ReLU-op2:0']), name='MindSpore')


def tensors_of_others():
    """Attributes of a port, a graph and the model that are tensors: only a loader of its own reads
    them, and their data need not have the size of a shape."""
    short = tensor(desc(F32, [4]), floats([1, 2]))
    d = desc(F32, [2], of_port=short)
    nodes = [placeholder('x', 0, d), node('r', 'Relu', ['x:0'], [d], [d], ['x'], ['y']),
             output(['r:0'], [d])]
    return model(graph('g', nodes, ['x:0'], ['r:0'], of_graph=message((12, 2, b''))),
                 of_model=short)


def control_flow():
    """If, Case, While, PartitionedCall in each other; Variable and Assign; a body that leaves an
    operand out and numbers its Data nodes otherwise than its node does."""
    x, c, i = desc(F32, [2]), desc(BOOL, []), desc(I32, [])

    def unary(name, kind, parent=1):
        return graph(name, [
            placeholder(f'{name}/x', 0, x, parent=parent),
            node(f'{name}/op', kind, [f'{name}/x:0'], [x], [x], ['x'], ['y']),
            body_output(f'{name}/out', [f'{name}/op:0'],
                        [desc(F32, [2], _parent_node_index=integer(0))])],
            [f'{name}/x:0'], [f'{name}/op:0'])
    calls = graph('then', [
        placeholder('then/x', 0, x, parent=1),
        node('then/call', 'PartitionedCall', ['then/x:0'], [x], [x], ['args0'], ['output0'],
             ['callee'], config=text(''), config_proto=text(''), executor_type=text('')),
        body_output('then/out', ['then/call:0'], [desc(F32, [2], _parent_node_index=integer(0))])],
        ['then/x:0'], ['then/call:0'])
    less = graph('cond', [
        placeholder('cond/i', 0, i, parent=0),
        const('cond/most', i, struct.pack('<i', 3)),
        node('cond/less', 'Less', ['cond/i:0', 'cond/most:0'], [i, i], [c], ['x1', 'x2'], ['y']),
        body_output('cond/out', ['cond/less:0'], [desc(BOOL, [], _parent_node_index=integer(0))])],
        ['cond/i:0'], ['cond/less:0'])
    step = graph('body', [
        placeholder('body/x', 0, x, parent=1), placeholder('body/i', 1, i, parent=0),
        const('body/one', i, struct.pack('<i', 1)),
        node('body/add', 'Add', ['body/i:0', 'body/one:0'], [i, i], [i], ['x1', 'x2'], ['y']),
        node('body/twice', 'Add', ['body/x:0', 'body/x:0'], [x, x], [x], ['x1', 'x2'], ['y']),
        body_output('body/out', ['body/twice:0', 'body/add:0'],
                    [desc(F32, [2], _parent_node_index=integer(1)),
                     desc(I32, [], _parent_node_index=integer(0))])],
        ['body/x:0', 'body/i:0'], ['body/twice:0', 'body/add:0'])
    nodes = [
        placeholder('c', 0, c), placeholder('x', 1, x), placeholder('i', 2, i),
        node('if', 'If', ['c:0', 'x:0'], [c, x], [x], ['cond', 'input0'], ['output0'],
             ['then', 'else']),
        node('while', 'While', ['i:0', 'if:0'], [i, x], [i, x], ['input0', 'input1'],
             ['output0', 'output1'], ['cond', 'body'], parallel_iterations=integer(10)),
        node('case', 'Case', ['i:0', 'while:1'], [i, x], [x], ['branch_index', 'input0'],
             ['output0'], ['b0', 'b1', 'b2']),
        node('state', 'Variable', [], [], [x], None, ['y'], index=integer(0), container=text(''),
             shared_name=text('s')),
        node('assign', 'Assign', ['state:0', 'case:0'], [x, x], [x], ['ref', 'value'], ['ref'],
             validate_shape=flag(True), use_locking=flag(False)),
        output(['while:1', 'case:0'], [x, x]),
    ]
    bodies = [calls, unary('else', 'Neg'), unary('callee', 'Abs', 0), less, step,
              unary('b0', 'Relu'), unary('b1', 'Neg'), unary('b2', 'Abs')]
    return model(graph('main', nodes, ['c:0', 'x:0', 'i:0'], ['while:1', 'case:0']), *bodies)
