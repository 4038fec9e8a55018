# SPDX-License-Identifier: Apache-2.0
"""Damaged bytes: every truncation and a flip of every byte of a small model, wire format tricks,
and sizes and depths beyond reason."""
import os

import wire
from sandbox import IO_EXIT, folder_name, judge, write
from wire import block, node, number, tensor, value, varint

READ = (0, 2, 3)
REFUSED = (2, 3)
LOW = -(1 << 63)
HIGH = (1 << 63) - 1


def cases(scratch, box):
    small = wire.small_model()
    for n in range(len(small)):
        yield f'truncated at {n}', damaged(box, scratch, f'cut{n}', small[:n], READ)
    for i, byte in enumerate(small):
        for kind, change in (('bit', 1 << (i * 5 + 3) % 8), ('ones', byte ^ 0xff)):
            data = small[:i] + bytes([byte ^ change]) + small[i + 1:]
            yield f'byte {i}, {kind} flipped', damaged(box, scratch, f'{kind}{i}', data, READ)
    for group in (wire_tricks, structure_tricks, tensor_tricks):
        for name, codes, data in group(small):
            yield name, damaged(box, scratch, folder_name(name), data, codes)


def damaged(box, scratch, name, data, codes):
    """Converts the bytes in a folder of their own and judges the ending."""
    def job():
        folder = os.path.join(scratch, name)
        model = write(folder, 'model.onnx', data)
        out = os.path.join(folder, 'out')
        os.mkdir(out)
        r = box.run('convert', model, '-O2', '-q', '-o', os.path.join(out, 'result.onnx'))
        return judge(r, codes, out, ['result.onnx'], 'model.onnx')
    return job


def wire_tricks(small):
    huge = varint((1 << 63) - 1)
    yield 'valid model', (0,), small
    yield 'unknown fields around', (0,), block(1999, b'x') + small + number(2000, 7)
    yield 'key padded to ten bytes', READ, b'\x88' + b'\x80' * 8 + b'\0\x08' + small[2:]
    yield 'varint of eleven bytes', REFUSED, b'\x08' + b'\x80' * 10 + b'\1' + small[2:]
    yield 'varint without end', REFUSED, small + b'\x08' + b'\xff' * 40
    yield 'length 2^63-1', REFUSED, small + varint(14 << 3 | 2) + huge
    yield 'length 2^32 in a node', REFUSED, wire.model(varint(1 << 3 | 2) + varint(1 << 32))
    yield 'field number 0', REFUSED, small + b'\x02\x00'
    yield 'field number 2^29', READ, small + varint(1 << 32) + b'\0'
    yield 'wire type 6', REFUSED, small + b'\x0e\0'
    yield 'wire type 7', REFUSED, small + b'\x0f\0'
    yield 'group never closed', REFUSED, small + b'\xfb\x01'
    yield 'groups nested 10000 deep', READ, small + b'\xfb\x01' * 10000 + b'\xfc\x01' * 10000
    yield 'wrong wire type for the graph', REFUSED, number(1, 8) + number(7, 1)
    yield 'graph twice', READ, small + small
    yield 'empty file', REFUSED, b''
    yield 'zeros', REFUSED, bytes(4096)
    yield 'text', REFUSED, b'hello, this is not a model\n' * 10
    yield 'gzip header', REFUSED, b'\x1f\x8b\x08\0' + small


def graph_of(nodes, more=b''):
    return wire.model(nodes + block(2, 'g') + more + block(11, value('x', [2, 3]))
                      + block(12, value('y', [2, 3])))


def structure_tricks(_):
    relu = node('Relu', ['x'], ['y'])
    wide = b''.join(block(1, 'x') for _ in range(100000))
    attrs = b''.join(wire.int_attr(f'a{i}', i) for i in range(20000))
    yield 'If nested 40 deep without else', REFUSED, wire.nested_graphs(40)
    yield 'If nested 20000 deep', REFUSED, wire.nested_graphs(20000)
    yield 'chain of 30000', (0,), wire.chain(30000)
    yield 'Max of 100000 operands', READ, graph_of(block(1, wide + block(2, 'y') + block(4, 'Max')))
    yield 'Relu with 20000 attributes', REFUSED, graph_of(node('Relu', ['x'], ['y'], attrs))
    yield 'Relu with 1000 results', REFUSED, graph_of(
        node('Relu', ['x'], ['y'] + [f'r{i}' for i in range(1000)]))
    yield 'name of a megabyte', READ, graph_of(
        node('Relu', ['x'], ['n' * 1000000]) + node('Relu', ['n' * 1000000], ['y']))
    yield 'names with NUL', READ, graph_of(
        node('Relu', ['x'], ['a\0b']) + node('Relu', ['a\0b'], ['y']))
    yield 'name that is not UTF-8', READ, graph_of(
        block(1, block(1, 'x') + block(2, b'\xff\xfe\x80') + block(4, 'Relu')) + node(
            'Identity', ['x'], ['y']))
    yield 'op type empty', REFUSED, graph_of(block(1, block(1, 'x') + block(2, 'y')))
    yield 'op type with control characters', REFUSED, graph_of(node('Re\x1b[31mlu', ['x'], ['y']))
    yield 'domain nobody imports', READ, graph_of(node('Relu', ['x'], ['y'], b'', 'no.such'))
    yield 'graph without nodes and names', READ, wire.model(b'')
    yield 'input rank 100000', READ, wire.model(
        relu + block(2, 'g') + block(11, value('x', [1] * 100000)) + block(12, value('y', [1])))
    yield 'input dims overflow', READ, wire.model(
        relu + block(2, 'g') + block(11, value('x', [1 << 62] * 4))
        + block(12, value('y', [1 << 62] * 4)))
    yield 'input dtype 255', READ, wire.model(
        relu + block(2, 'g') + block(11, value('x', [1], 255)) + block(12, value('y', [1])))
    yield 'same input twice', REFUSED, wire.model(
        relu + block(2, 'g') + block(11, value('x', [1])) * 2 + block(12, value('y', [1])))


def tensor_tricks(_):
    data = wire.floats(6)
    yield 'weight one byte short', REFUSED, wire.one_weight(data[:-1])
    yield 'weight one byte long', REFUSED, wire.one_weight(data + b'\0')
    yield 'weight dtype 0', REFUSED, wire.one_weight(data, dtype=0)
    yield 'weight dtype -1', REFUSED, wire.one_weight(data, dtype=-1)
    yield 'weight dim -1', REFUSED, wire.one_weight(data, (-1, 3))
    yield 'weight dims multiply to 2^64', REFUSED, wire.one_weight(b'', (1 << 32, 1 << 32))
    yield 'weight of 2^62 elements times 4 bytes', REFUSED, wire.one_weight(b'', (1 << 62,))
    yield 'zero elements, other dims huge', READ, wire.one_weight(b'', (0, 1 << 62, 1 << 62))
    yield 'string weight with raw bytes', REFUSED, wire.one_weight(b'abc', dtype=8)
    yield 'Reshape to two -1', REFUSED, graph_of(
        node('Reshape', ['x', 's'], ['y']), ints('s', -1, -1))
    yield 'Reshape that loses elements', REFUSED, graph_of(
        node('Reshape', ['x', 's'], ['y']), ints('s', 4, -1))
    yield 'Expand to 2^60', READ, graph_of(
        node('Expand', ['x', 's'], ['z']) + node('ReduceMax', ['z'], ['y'], wire.int_attr(
            'keepdims', 0)), ints('s', 1 << 60, 2, 3))
    yield 'Slice with extreme bounds', READ, graph_of(
        node('Slice', ['x', 's', 'e', 'a', 't'], ['y']),
        ints('s', LOW) + ints('e', HIGH) + ints('a', 0) + ints('t', LOW))
    yield 'Range of 2^63', READ, graph_of(
        node('Range', ['s', 'e', 't'], ['r']) + node('Relu', ['x'], ['y']),
        ints('s', LOW, rank=0) + ints('e', HIGH, rank=0) + ints('t', 1, rank=0))
    yield 'Tile by 2^62', READ, graph_of(
        node('Tile', ['x', 's'], ['z']) + node('Relu', ['x'], ['y']),
        ints('s', 1 << 62, 1 << 62))
    for name, offset, length in (('offset -1', '-1', '24'), ('offset text', 'abc', '24'),
                                 ('length hexadecimal', '0', '0x18'),
                                 ('length huge', '0', '9' * 30)):
        yield (f'external {name}', REFUSED + (IO_EXIT,),
               wire.one_weight(('model.onnx', offset, length)))


def ints(name, *values, rank=1):
    """An int64 initializer."""
    data = b''.join((n & (1 << 64) - 1).to_bytes(8, 'little') for n in values)
    return tensor(name, [len(values)][:rank], data, 7)
