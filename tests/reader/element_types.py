# SPDX-License-Identifier: Apache-2.0
"""Element types that an op does not take, and neighbours that it takes: the message names op,
operand, type and what is allowed."""
import numpy
from onnx import TensorProto, helper

from models import I64, Case, model, node, value

# Names that the package here is too old for.
F8, U4 = 17, 21
NAMES = {TensorProto.FLOAT16: 'f16', TensorProto.BFLOAT16: 'bf16', TensorProto.BOOL: 'bool',
         TensorProto.DOUBLE: 'f64', TensorProto.INT32: 'i32', I64: 'i64', F8: 'f8e4m3fn',
         TensorProto.STRING: 'str', U4: 'u4', TensorProto.UINT8: 'u8', TensorProto.COMPLEX64: 'c64'}
PAIR = numpy.array([0, 1], numpy.int64)
# Op, operands (None: the one in question), its dtype, its name there, how the list of what is
# allowed begins, attributes.
FLOATS, OLD = 'f32, f16, bf16, f64', 'f32, f16, f64, '
REFUSED = [
    ('Concat', [None, None], F8, 'inputs', FLOATS + ', ', {'axis': 0}),
    ('Concat', [None, None], U4, 'inputs', FLOATS + ', ', {'axis': 0}),
    ('Gather', [None, PAIR], F8, 'data', FLOATS + ', ', {}),
    ('Slice', [None, PAIR[:1], PAIR[1:]], F8, 'data', FLOATS + ', ', {}),
    ('Expand', [None, PAIR[1:]], U4, 'input', FLOATS + ', ', {}),
    ('Tile', [None, PAIR[1:]], F8, 'input', FLOATS + ', ', {}),
    ('Trilu', [None], F8, 'input', FLOATS + ', ', {}),
    ('NonZero', [None], F8, 'X', FLOATS + ', ', {}),
    ('Compress', [None, numpy.array([True, False])], TensorProto.BFLOAT16, 'input', OLD, {}),
    ('Unique', [None], TensorProto.BFLOAT16, 'X', OLD, {}),
    ('SequenceConstruct', [None], TensorProto.BFLOAT16, 'inputs', OLD, {}),
    ('Shrink', [None], TensorProto.BFLOAT16, 'input', OLD, {}),
    ('Einsum', [None], TensorProto.BFLOAT16, 'Inputs', OLD, {'equation': 'i->i'}),
    ('Mean', [None, None], TensorProto.INT32, 'data_0', FLOATS + ' (', {}),
    ('Mean', [None, None], I64, 'data_0', FLOATS + ' (', {}),
    ('Relu', [None], TensorProto.BOOL, 'X', FLOATS + ', ', {}),
    ('And', [None, None], TensorProto.UINT8, 'A', 'bool (', {}),
    ('Sqrt', [None], TensorProto.INT32, 'X', FLOATS + ' (', {}),
    ('MatMul', [None, None], TensorProto.BOOL, 'A', FLOATS + ', ', {}),
    ('Softmax', [None], I64, 'input', FLOATS + ' (', {}),
    ('Conv', [None, None], TensorProto.INT32, 'X', FLOATS + ' (', {}),
    ('CumSum', [None, PAIR[0]], TensorProto.BOOL, 'x', FLOATS + ', ', {}),
    ('TopK', [None, PAIR[1:]], TensorProto.COMPLEX64, 'X', FLOATS + ', ', {}),
    ('Add', [None, None], TensorProto.STRING, 'A', FLOATS + ', ', {}),
]
TAKEN = [
    ('Concat', [None, None], TensorProto.COMPLEX64, {'axis': 0}, 17),
    ('Gather', [None, PAIR], TensorProto.STRING, {}, 17),
    ('Sum', [None, None], TensorProto.BFLOAT16, {}, 17),
    ('Unique', [None], TensorProto.STRING, {}, 17),
    ('Erf', [None], TensorProto.INT32, {}, 12),
    ('Identity', [None], F8, {}, 21),
]


def made(op, operands, dtype, attrs, opset):
    shape = [1, 1, 2, 2] if op == 'Conv' else [2, 2] if op in ('Trilu', 'MatMul') else [2]
    names, constants = [], []
    for i, v in enumerate(operands):
        names.append('x' if v is None else f'c{i}')
        if v is not None:
            constants.append((f'c{i}', v))
    results = ['y', 'at'] if op == 'TopK' else ['y']
    outputs = [helper.make_tensor_value_info('y', dtype, None)]
    if op in ('NonZero', 'SequenceConstruct'):
        outputs = [value('y', I64, [1, 2])] if op == 'NonZero' else [
            helper.make_tensor_sequence_value_info('y', dtype, None)]
    return model([node(op, names, results, name='N', **attrs)], [value('x', dtype, shape)], outputs,
                 constants, opset)


def cases():
    for op, operands, dtype, port, allowed, attrs in REFUSED:
        yield Case(f'{op} of {NAMES[dtype]}', made(op, operands, dtype, attrs, 17), (2,), (2,),
                   f'has dtype {NAMES[dtype]}, which {op} does not allow for \'{port}\', '
                   f'but {allowed}')
    for op, operands, dtype, attrs, opset in TAKEN:
        yield Case(f'{op} takes {NAMES[dtype]}', made(op, operands, dtype, attrs, opset))
