#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runner for `tailor run --runner` and `tailor verify --runner`: evaluates a model in ONNX Runtime
for Python. Usage: onnxruntime.py MODEL INPUTS OUTPUTS (docs/evaluator.md has the protocol).
Optimizations of the runtime are off, so that its tensors are those of the model. Needs the packages
onnxruntime and numpy."""
import os
import re
import sys

# This file has the name of the package: its own folder must not be searched for it.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or '.') != HERE]

DIMS, DATA_TYPE, STRINGS, NAME, RAW = 1, 2, 6, 8, 9  # fields of TensorProto
SEQUENCE_NAME, ELEM_TYPE, TENSORS = 1, 2, 3  # of SequenceProto
IS_TENSOR = 1
# TensorProto.DataType -> name of numpy's type
TYPES = {1: 'float32', 2: 'uint8', 3: 'int8', 4: 'uint16', 5: 'int16', 6: 'int32', 7: 'int64',
         8: 'object', 9: 'bool', 10: 'float16', 11: 'float64', 12: 'uint32', 13: 'uint64'}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Fields of a message as (number, varint or bytes)."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if tag & 7 == 2:
            yield tag >> 3, data[at:at + value]
            at += value
        elif tag & 7 == 0:
            yield tag >> 3, value
        else:
            raise ValueError(f'wire type {tag & 7} in a tensor')


def read_tensor(numpy, data):
    dims, kind, name, strings, raw = [], 0, '', [], b''
    for number, value in fields(data):
        if number == DIMS:
            dims.append(value)
        elif number == DATA_TYPE:
            kind = value
        elif number == NAME:
            name = value.decode()
        elif number == STRINGS:
            strings.append(value.decode())
        elif number == RAW:
            raw = value
    if kind not in TYPES:
        raise ValueError(f"element type {kind} of '{name}' cannot be handed to the runtime")
    if TYPES[kind] == 'object':
        return name, numpy.array(strings, dtype=object).reshape(dims)
    return name, numpy.frombuffer(raw, dtype=TYPES[kind]).reshape(dims)


def read_sequence(numpy, data):
    name, items = '', []
    for number, value in fields(data):
        if number == SEQUENCE_NAME:
            name = value.decode()
        elif number == TENSORS:
            items.append(read_tensor(numpy, value)[1])
    return name, items


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor_bytes(numpy, name, value):
    array = numpy.asarray(value)
    text = array.dtype.kind in 'OU'
    kinds = [k for k, n in TYPES.items() if n == ('object' if text else array.dtype.name)]
    if not kinds:
        raise ValueError(f"output '{name}' has the unknown element type {array.dtype}")
    out = b''.join(field(DIMS, d) for d in array.shape) + field(DATA_TYPE, kinds[0])
    out += field(NAME, name.encode())
    if text:
        return out + b''.join(field(STRINGS, str(s).encode()) for s in array.reshape(-1))
    return out + field(RAW, array.tobytes())


def value_bytes(numpy, name, value):
    if value is None:
        return b''
    if not isinstance(value, list):
        return tensor_bytes(numpy, name, value)
    return (field(SEQUENCE_NAME, name.encode()) + field(ELEM_TYPE, IS_TENSOR)
            + b''.join(field(TENSORS, tensor_bytes(numpy, '', v)) for v in value))


def input_files(folder):
    found = [re.fullmatch(r'input_(\d+)\.pb', f) for f in os.listdir(folder)]
    for m in sorted((m for m in found if m), key=lambda m: int(m.group(1))):
        with open(os.path.join(folder, m.group(0)), 'rb') as f:
            yield f.read()


def main():
    if len(sys.argv) != 4:
        raise ValueError('usage: onnxruntime.py MODEL INPUTS OUTPUTS')
    import numpy
    import onnxruntime
    model, inputs, outputs = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    sequences = {i.name for i in session.get_inputs() if i.type.startswith('seq(')}
    feeds = {}
    for data in input_files(inputs):
        # The first field of a SequenceProto is its name; of a TensorProto the dims, which are
        # varints, or the element type.
        first = next(fields(data), (0, 0))
        name = bytes(first[1]).decode(errors='replace') if isinstance(first[1], bytes) else ''
        is_sequence = first[0] == SEQUENCE_NAME and name in sequences
        name, value = (read_sequence if is_sequence else read_tensor)(numpy, data)
        feeds[name] = value
    names = [o.name for o in session.get_outputs()]
    for i, (name, value) in enumerate(zip(names, session.run(names, feeds))):
        with open(os.path.join(outputs, f'output_{i}.pb'), 'wb') as f:
            f.write(value_bytes(numpy, name, value))


if __name__ == '__main__':
    try:
        main()
    except Exception as e:  # whatever the runtime raises ends as one line
        print(f'onnxruntime.py: {str(e).splitlines()[0] if str(e) else type(e).__name__}',
              file=sys.stderr)
        sys.exit(1)
