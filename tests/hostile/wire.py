# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models written byte by byte, without any ONNX package: raw material of the cases."""
import struct

FLOAT = 1


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def block(number, payload):
    """A length-delimited field."""
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(field, n):
    return varint(field << 3) + varint(n)


def shape(dims):
    return b''.join(block(1, block(2, d) if isinstance(d, str) else number(1, d)) for d in dims)


def value(name, dims, dtype=FLOAT):
    return block(1, name) + block(2, block(1, number(1, dtype) + block(2, shape(dims))))


def node(op, operands, results, attrs=b'', domain=''):
    return block(1, b''.join(block(1, o) for o in operands) + b''.join(block(2, r) for r in results)
                 + block(3, op + '_' + results[0]) + block(4, op) + attrs
                 + (block(7, domain) if domain else b''))


def int_attr(name, n):
    return block(5, block(1, name) + number(3, n) + number(20, 2))


def tensor(name, dims, payload, dtype=FLOAT):
    """payload: raw bytes, or (location, offset, length) of external data, texts."""
    head = b''.join(number(1, d) for d in dims) + number(2, dtype) + block(8, name)
    if isinstance(payload, bytes):
        return block(5, head + block(9, payload))
    pairs = zip(('location', 'offset', 'length'), payload)
    return block(5, head + b''.join(block(13, block(1, k) + block(2, v)) for k, v in pairs if v)
                 + number(14, 1))


def model(graph, opset=17):
    head = number(1, 8) + block(2, 'hand')
    return head + block(7, graph) + block(8, block(1, '') + number(2, opset))


def floats(n):
    return struct.pack(f'<{n}f', *(i / 8 for i in range(n)))


def small_model():
    """y = Concat(Relu(x + w), x): operands, an attribute, a weight, symbolic dims; 188 bytes."""
    nodes = (node('Add', ['x', 'w'], ['a']) + node('Relu', ['a'], ['r'])
             + node('Concat', ['r', 'x'], ['y'], int_attr('axis', 0)))
    return model(nodes + block(2, 'g') + tensor('w', [2, 3], floats(6))
                 + block(11, value('x', ['n', 3])) + block(12, value('y', ['m', 3])))


def one_weight(payload, dims=(2, 3), dtype=FLOAT):
    """y = x + w with the given weight."""
    return model(node('Add', ['x', 'w'], ['y']) + block(2, 'g') + tensor('w', dims, payload, dtype)
                 + block(11, value('x', dims)) + block(12, value('y', dims)))


def chain(n):
    """n Relus in a row."""
    names = ['x'] + [f'v{i}' for i in range(1, n)] + ['y']
    nodes = b''.join(node('Relu', [a], [b]) for a, b in zip(names, names[1:]))
    ends = block(11, value('x', [2, 3])) + block(12, value('y', [2, 3]))
    return model(nodes + block(2, 'g') + ends)


def nested_graphs(depth):
    """An If in an If ... `depth` times; sizes first, so that building it is linear."""
    leaf = node('Relu', ['x'], ['o']) + block(2, 'leaf') + block(12, value('o', [2, 3]))
    heads, tail, size = [], block(12, value('o', [2, 3])), len(leaf)
    for _ in range(depth):
        inner = varint(6 << 3 | 2) + varint(size)
        name = block(1, 'then_branch') + number(20, 5)
        attr = varint(5 << 3 | 2) + varint(len(name) + len(inner) + size) + name + inner
        attr_size = len(attr) + size
        head = block(1, 'c') + block(2, 'o') + block(4, 'If')
        heads.append(varint(1 << 3 | 2) + varint(len(head) + attr_size) + head + attr)
        size += len(heads[-1]) + len(tail)
    graph = b''.join(reversed(heads)) + leaf + tail * depth
    return model(graph + block(2, 'g') + tensor('c', [], b'\1', 9) + block(11, value('x', [2, 3])))
