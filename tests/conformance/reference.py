# SPDX-License-Identifier: Apache-2.0
"""Compares inferred output types with reference outputs (TensorProto files)."""
import os

NAMES = {1: 'f32', 2: 'u8', 3: 'i8', 4: 'u16', 5: 'i16', 6: 'i32', 7: 'i64', 8: 'str', 9: 'bool',
         10: 'f16', 11: 'f64', 12: 'u32', 13: 'u64', 14: 'c64', 15: 'c128', 16: 'bf16',
         17: 'f8e4m3fn', 18: 'f8e4m3fnuz', 19: 'f8e5m2', 20: 'f8e5m2fnuz', 21: 'u4', 22: 'i4',
         23: 'f4e2m1', 24: 'f8e8m0', 25: 'u2', 26: 'i2'}


def varint(b, p):
    value = shift = 0
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, p
        shift += 7


def header(path):
    """(dtype number, dims) of a TensorProto; None when the file holds something else."""
    with open(path, 'rb') as f:
        b = f.read()
    p, dims, dtype = 0, [], 0
    while p < len(b):
        key, p = varint(b, p)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, p = varint(b, p)
            if number == 1:
                dims.append(value)
            elif number == 2:
                dtype = value
        elif wire == 2:
            size, p = varint(b, p)
            if number == 1:
                q = p
                while q < p + size:
                    value, q = varint(b, q)
                    dims.append(value)
            p += size
        elif wire == 5:
            p += 4
        elif wire == 1:
            p += 8
        else:
            return None
    return (dtype, dims) if dtype else None


def agrees(inferred, dims):
    if inferred is None:
        return True
    return len(inferred) == len(dims) and all(
        not isinstance(d, int) or d < 0 or d == r for d, r in zip(inferred, dims))


def compare(outputs, folder):
    """None when every tensor output agrees with output_<i>.pb, else the first difference. outputs:
    list of {"name", "kind", "dtype", "shape"} with shape null for an unknown rank."""
    for i, out in enumerate(outputs):
        path = os.path.join(folder, f'output_{i}.pb')
        if out.get('kind') != 'tensor' or not os.path.exists(path):
            continue
        found = header(path)
        if not found:
            continue
        dtype, dims = found
        if out['dtype'] is None:
            return f'{out["name"]}: no dtype inferred, reference {NAMES.get(dtype)}'
        if NAMES.get(dtype) != out['dtype']:
            return f'{out["name"]}: inferred {out["dtype"]}, reference {NAMES.get(dtype)}'
        if not agrees(out['shape'], dims):
            return f'{out["name"]}: inferred {out["shape"]}, reference {dims}'
    return None
