# SPDX-License-Identifier: Apache-2.0
"""Compares inferred output types with reference outputs: files of TensorProto, SequenceProto and
OptionalProto, as the type of the output says."""
import os
import re

NAMES = {1: 'f32', 2: 'u8', 3: 'i8', 4: 'u16', 5: 'i16', 6: 'i32', 7: 'i64', 8: 'str', 9: 'bool',
         10: 'f16', 11: 'f64', 12: 'u32', 13: 'u64', 14: 'c64', 15: 'c128', 16: 'bf16',
         17: 'f8e4m3fn', 18: 'f8e4m3fnuz', 19: 'f8e5m2', 20: 'f8e5m2fnuz', 21: 'u4', 22: 'i4',
         23: 'f4e2m1', 24: 'f8e8m0', 25: 'u2', 26: 'i2'}
TENSOR = re.compile(r'(\w+)\[(.*)\]')
OUTER = re.compile(r'(seq|optional)\((.*)\)')
# of SequenceProto and OptionalProto alike: the field that says what is inside, and for each answer
# the field that has it
KIND, INSIDE = 2, {1: 3, 3: 5}
IS_SEQUENCE = 3


def varint(b, p):
    value = shift = 0
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, p
        shift += 7


def fields(b):
    """[(number, value)] of a message: integers, and bytes of what has a length."""
    p, found = 0, []
    while p < len(b):
        key, p = varint(b, p)
        wire = key & 7
        if wire == 0:
            value, p = varint(b, p)
        elif wire == 2:
            size, p = varint(b, p)
            value, p = b[p:p + size], p + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, p = b[p:p + size], p + size
        else:
            raise ValueError(f'a field of wire type {wire}')
        found.append((key >> 3, value))
    return found


def header(b):
    """(dtype number, dims) of a TensorProto; None when it has no dtype."""
    dims, dtype = [], 0
    for number, value in fields(b):
        if number == 1 and isinstance(value, bytes):
            p = 0
            while p < len(value):
                size, p = varint(value, p)
                dims.append(size)
        elif number == 1:
            dims.append(value)
        elif number == 2:
            dtype = value
    return (dtype, dims) if dtype else None


def agrees(inferred, dims):
    if inferred is None:
        return True
    return len(inferred) == len(dims) and all(
        not isinstance(d, int) or d < 0 or d == r for d, r in zip(inferred, dims))


def shape_of(text):
    """Sizes, and names of open ones, of what is printed between brackets; None: any rank."""
    if text == '*':
        return None
    return [int(d) if d.isdigit() else d for d in text.split(',') if d]


def compare_tensor(dtype, shape, b):
    found = header(b)
    if not found:
        return None
    if NAMES.get(found[0]) != dtype:
        return f'inferred {dtype}, reference {NAMES.get(found[0])}'
    return None if agrees(shape, found[1]) else f'inferred {shape}, reference {found[1]}'


def compare_type(text, b):
    """None when the data are of the type that is printed, or of one that is not compared (maps,
    sparse matrices); else the first difference."""
    outer, tensor = OUTER.fullmatch(text), TENSOR.fullmatch(text)
    if tensor:
        return compare_tensor(tensor[1], shape_of(tensor[2]), b)
    if not outer:
        return None
    found = fields(b)
    kinds = [value for number, value in found if number == KIND]
    inside = INSIDE.get(kinds[0] if kinds else 0)
    if inside is None:  # an optional without a value
        return None
    if (kinds[0] == IS_SEQUENCE) != outer[2].startswith('seq('):
        what = 'sequences' if kinds[0] == IS_SEQUENCE else 'tensors'
        return f'inferred {text}, reference has {what} inside'
    reasons = [compare_type(outer[2], value) for number, value in found if number == inside]
    return next((f'in {text}: {r}' for r in reasons if r), None)


def compare(outputs, folder):
    """None when every output agrees with output_<i>.pb, else the first difference. outputs: list of
    {"name", "type", "kind", "dtype", "shape"} as `tailor info --json` has them."""
    for i, out in enumerate(outputs):
        path = os.path.join(folder, f'output_{i}.pb')
        if not os.path.exists(path):
            continue
        with open(path, 'rb') as f:
            b = f.read()
        if out['kind'] == 'tensor':
            told = compare_tensor(out['dtype'], out['shape'], b)
        else:
            told = compare_type(out['type'], b)
        if told:
            return f'{out["name"]}: {told}'
    return None
