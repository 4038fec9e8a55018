# SPDX-License-Identifier: Apache-2.0
"""Which dtypes the ops of an AIR file may have together on a chip, judged without the compiler's
code: the tables of ir/chip/op_info are read here by themselves, the file by air_check.py.

  judge(path, table) -> list of (kind, text)
    kind 'float'  a node with f32, f16, bf16 or hif8 fits no column of its row
    kind 'other'  one of integers, f64 ... alone fits none: AI CPU runs it, if anything does
    kind 'cube'   a product fits none
    kind 'absent' the chip's table has no such op, but that of another chip has"""
import os
import re

import air_check

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
TABLES = os.path.join(ROOT, 'ir', 'chip', 'op_info')
# serialized name -> name in the tables
SHORT = {'float32': 'f32', 'float16': 'f16', 'bfloat16': 'bf16', 'hifloat8': 'hif8',
         'double': 'f64', 'int8': 'i8', 'uint8': 'u8', 'int16': 'i16', 'uint16': 'u16',
         'int32': 'i32', 'uint32': 'u32', 'int64': 'i64', 'uint64': 'u64', 'int4': 'i4',
         'uint1': 'u1', 'complex32': 'c32', 'complex64': 'c64', 'complex128': 'c128',
         'float8_e5m2': 'f8e5m2', 'float8_e4m3fn': 'f8e4m3fn'}
FLOATS = {'f32', 'f16', 'bf16', 'hif8'}
CUBE = {'MatMul', 'MatMulV2', 'BatchMatMul', 'BatchMatMulV2', 'Conv2D', 'Conv3D',
        'DepthwiseConv2D', 'Conv2DTranspose', 'Conv3DTranspose', 'Conv2DBackpropInput',
        'Conv2DBackpropFilter', 'Conv3DBackpropInput', 'Conv3DBackpropFilter', 'FullyConnection'}
# The front end of the graph, and what only moves it: no kernel has these dtypes to itself.
PLUMBING = {'Data', 'RefData', 'Const', 'Constant', 'FileConstant', 'Variable', 'NetOutput'}


def statements(path):
    """[words] with lines of a deeper indent joined to what they go on with."""
    found = []
    with open(path, encoding='utf-8') as f:
        for line in f:
            words = line.split('#', 1)[0].split()
            if words and line.startswith('    '):
                found[-1] += words
            elif words:
                found.append(words)
    return found


def spread(words):
    return [w.split('*')[0] for w in words for _ in range(int(w.partition('*')[2] or 1))]


def load(name):
    """{op: {'file': str, 'in': {slot: (kind, [dtype])}, 'out': ...}} of a table."""
    ops, row = {}, None
    for words in statements(os.path.join(TABLES, name + '.tbl')):
        head = words[0]
        if head == 'inherit':  # inherit TABLE FILE without DTYPE
            for op, r in load(words[1]).items():
                slots = [s[1] for side in ('in', 'out') for s in r[side].values()]
                stay = [k for k in range(len(slots[0]) if slots else 0)
                        if all(s[k] != words[4] for s in slots)]
                if r['file'] != words[2] or (slots and slots[0] and not stay):
                    continue
                ops[op] = {'file': r['file'], **{
                    side: {n: (kind, [d[k] for k in stay]) for n, (kind, d) in r[side].items()}
                    for side in ('in', 'out')}}
        elif head == 'drop':
            for op in words[1:]:
                del ops[op]
        elif head == 'op':
            row = ops[words[1]] = {'file': words[3], 'in': {}, 'out': {}}
        elif head in ('in', 'out'):
            at = next(i for i, w in enumerate(words) if w.endswith(':'))
            dtypes = spread(words[at + 1:])
            for word in words[1:at] + [words[at][:-1]]:
                slot, kind = re.fullmatch(r'(\w+)([?*]?)', word).groups()
                row[head][slot] = (kind, dtypes)
    return ops


def listed(op, key, value):
    """{index: port name} of an OpDef."""
    k, v = op.attr.get(key), op.attr.get(value)
    names = [bytes(x).decode() for x in k.list.s] if k is not None and 'list' in k else []
    return dict(zip(list(v.list.i) if v is not None and 'list' in v else [], names))


def slot_of(slots, port, index):
    if port in slots:
        return slots[port]
    for name, slot in slots.items():
        if slot[0] == '*' and port and re.fullmatch(name + r'\d+', port):
            return slot
    rest = list(slots.values())  # tables may spell a port another way than prototypes
    return rest[index] if index < len(rest) else None


def fed(ref):
    """Is an input there? A reference of control has the index -1, one of nobody no name."""
    cut = air_check.split_ref(ref)
    return bool(ref) and cut is not None and cut[1] is not None and cut[1] >= 0


def columns_left(op, row):
    """Columns that fit all tensors of the node, their dtypes as text."""
    left, have = None, []
    for side, descs, key in (('in', op.input_desc, 'input'), ('out', op.output_desc, 'output')):
        names = listed(op, f'_{key}_name_key', f'_{key}_name_value')
        for i, desc in enumerate(descs):
            if side == 'in' and not (i < len(op.input) and fed(op.input[i])):
                continue
            slot = slot_of(row[side], names.get(i, ''), i)
            name = air_check.DTYPES.get(desc.dtype, ('?', 0))[0]
            dtype = SHORT.get(name, name)
            if slot is None or not slot[1] or dtype == 'undefined':
                continue
            have.append((side, names.get(i, str(i)), dtype))
            fits = {k for k, d in enumerate(slot[1]) if d == dtype}
            left = fits if left is None else left & fits
    return left, have


# What AI CPUs cast: numbers of up to 64 bits; bfloat16 on chips that have it.
PLAIN = {'f32', 'f16', 'f64', 'bool', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'}


def plain_cast(text, bf16):
    """Is a finding about a cast that AI CPUs have?"""
    words = re.fullmatch(r'Cast .*: x (\w+), y (\w+)', text)
    return bool(words) and set(words.groups()) <= PLAIN | ({'bf16'} if bf16 else set())


def judge(path, table, others=()):
    with open(path, 'rb') as f:
        raw = f.read()
    model = air_check.Decoder(lambda code, text: None).decode('ModelDef', memoryview(raw), 0,
                                                              len(raw))
    found = []
    for graph in model.graph:
        for op in graph.op:
            row = table.get(op.type)
            if row is None and any(op.type in t for t in others):
                found.append(('absent', f'{op.type} {op.name}: no such op'))
            if row is None or op.type in PLUMBING:
                continue
            left, have = columns_left(op, row)
            if left is None or left:
                continue
            floats = any(d in FLOATS for _, _, d in have)
            kind = 'cube' if op.type in CUBE else 'float' if floats else 'other'
            found.append((kind, f'{op.type} {op.name}: ' + ', '.join(
                f'{n} {d}' for _, n, d in have)))
    return found
