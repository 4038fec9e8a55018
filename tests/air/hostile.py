#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""AIR files that are wrong in their structure: each is refused with a message that names what is
wrong, or read with what GE drops dropped; nothing crashes, and no output file is left behind.

  tests/air/hostile.py --tailor T

The files are made from four good ones (tests/fuzz/seeds/air) by changing the protobuf message as
a tree. T is best built with sanitizers."""
import argparse
import copy
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SEEDS = os.path.join(ROOT, 'tests', 'fuzz', 'seeds', 'air')
GRAPH, NODE, MODEL_ATTR = 7, 6, 11
NAME, TYPE, INPUT, ATTR, IN_DESC, OUT_DESC, SUBGRAPH = 1, 2, 5, 10, 33, 34, 35


# ---- protobuf as a list of (field, wire type, value) ---------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def decode(data):
    at, fields = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = number()
        kind = key & 7
        if kind == 0:
            fields.append([key >> 3, 0, number()])
            continue
        n = number() if kind == 2 else {1: 8, 5: 4}[kind]
        fields.append([key >> 3, kind, data[at:at + n]])
        at += n
    return fields


def encode(fields):
    out = b''
    for number, kind, value in fields:
        out += varint(number << 3 | kind)
        out += varint(value) if kind == 0 else (varint(len(value)) if kind == 2 else b'') + value
    return out


class Model:
    """A ModelDef; graphs and nodes are decoded, the rest stays bytes."""

    def __init__(self, data):
        self.fields = decode(data)
        self.graphs = [decode(v) for n, _, v in self.fields if n == GRAPH]
        self.nodes = [[decode(v) for n, _, v in g if n == NODE] for g in self.graphs]

    def data(self):
        out, g = [], 0
        for number, kind, value in self.fields:
            if number == GRAPH:
                nodes = list(self.nodes[g])
                graph = [f for f in self.graphs[g] if f[0] != NODE]
                value = encode(graph + [[NODE, 2, encode(n)] for n in nodes])
                g += 1
            out.append([number, kind, value])
        return encode(out)

    def node(self, kind, graph=0):
        return next(n for n in self.nodes[graph] if get(n, TYPE) == kind.encode())

    def last(self, graph=0):
        return next(n for n in self.nodes[graph]
                    if get(n, TYPE) not in (b'Data', b'Const', b'NetOutput'))


def get(fields, number):
    return next((v for n, _, v in fields if n == number), None)


def put(fields, number, value, at=0):
    """Replaces the at-th field of a number, or adds one."""
    kind = 0 if isinstance(value, int) else 2
    places = [i for i, f in enumerate(fields) if f[0] == number]
    if at < len(places):
        fields[places[at]] = [number, kind, value]
    else:
        fields.append([number, kind, value])


def drop(fields, number):
    fields[:] = [f for f in fields if f[0] != number]


def attr(fields, key, value, number=ATTR):
    """Sets an attribute to the bytes of an AttrDef; None removes it."""
    fields[:] = [f for f in fields
                 if not (f[0] == number and get(decode(f[2]), 1) == key.encode())]
    if value is not None:
        fields.append([number, 2, encode([[1, 2, key.encode()], [2, 2, value]])])


def integer(n):
    return encode([[3, 0, n]])


def text(s):
    return encode([[2, 2, s.encode()]])


def desc(dtype, dims):
    return encode([[2, 0, dtype], [3, 2, encode([[1, 2, b''.join(varint(d) for d in dims)]])]])


def tensor(dtype, dims, data):
    return encode([[12, 2, encode([[1, 2, desc(dtype, dims)], [2, 2, data]])]])


def nested(depth):
    value = integer(1)
    for _ in range(depth):
        value = encode([[10, 2, encode([[1, 2, b'n'], [2, 2, encode([[1, 2, b'k'],
                                                                    [2, 2, value]])]])]])
    return value


# ---- what is wrong: (name, seed, change, part of the message or None if the file is read) --------

def edge(word):
    return lambda m: put(m.last(), INPUT, word.encode())


def on_node(do):
    return lambda m: do(m.last())


def on_const(do):
    return lambda m: do(m.node('Const'))


def on_data(do):
    return lambda m: do(m.node('Data'))


def body_data(m):
    """A Data node of a body, or a new one."""
    node = copy.deepcopy(m.node('Data'))
    put(node, NAME, b'added')
    m.nodes[1].append(node)
    return node


def cycle(m):
    node = m.last()
    put(node, INPUT, get(node, NAME) + b':0')


def twice(m):
    node = next(n for n in m.nodes[0] if get(n, SUBGRAPH))
    names = [v for n, _, v in node if n == SUBGRAPH]
    put(node, SUBGRAPH, names[0], 1)


def itself(m):
    node = next(n for n in m.nodes[0] if get(n, SUBGRAPH))
    put(node, SUBGRAPH, get(m.graphs[0], NAME))


def second_output(m):
    node = copy.deepcopy(m.node('NetOutput'))
    put(node, NAME, b'another')
    m.nodes[0].append(node)


def doubled(m):
    m.nodes[0].append(copy.deepcopy(m.last()))


def weight_in(place, **more):
    def change(m):
        node = m.node('Const')
        attr(node, 'location', text(place))
        for key, value in more.items():
            attr(node, key, integer(value))
    return change


def unknown_op(key, value):
    """An op that the table lacks, whose lists of ports are carried."""
    def change(m):
        put(m.last(), TYPE, b'NeverHeardOf')
        attr(m.last(), key, value)
    return change


TYPED = encode([[1, 2, encode([[5, 2, b'\x01'], [20, 0, 4]])]])
UNTYPED = encode([[1, 2, encode([[5, 2, b'\x01']])]])

CASES = [
    ('edge_to_nothing', 'conv', edge('nobody:0'), 'names a node that its graph does not have'),
    ('edge_beyond', 'conv', edge('x:7'), 'names an output'),
    ('edge_huge', 'conv', edge('x:99999999999999999999'), 'is not NODE:INDEX'),
    ('edge_without_colon', 'conv', edge('x'), 'is not NODE:INDEX'),
    ('edge_only_colon', 'conv', edge(':0'), 'names a node'),
    ('edge_index_text', 'conv', edge('x:y'), 'is not NODE:INDEX'),
    ('edge_to_output_node', 'conv', edge('Node_Output:0'), 'names an output'),
    ('edge_far_negative', 'conv', edge('x:-9'), 'operands'),
    ('cycle', 'conv', cycle, 'cycle'),
    ('too_many_edges', 'conv', on_node(lambda n: [n.append([INPUT, 2, b'x:0'])
                                                  for _ in range(9)]), 'descs'),
    ('no_descs', 'conv', on_node(lambda n: drop(n, IN_DESC)), 'descs'),
    ('no_results', 'conv', on_node(lambda n: drop(n, OUT_DESC)), 'names an output'),
    ('no_name', 'conv', on_node(lambda n: drop(n, NAME)), 'without a name'),
    ('no_type', 'conv', on_node(lambda n: drop(n, TYPE)), 'without a type'),
    ('empty_name', 'conv', on_node(lambda n: put(n, NAME, b'')), 'without a name'),
    ('two_of_one_name', 'conv', doubled, 'two nodes of one graph'),
    ('two_net_outputs', 'conv', second_output, 'two NetOutput'),
    ('no_net_output', 'conv', lambda m: m.nodes[0].remove(m.node('NetOutput')), None),
    ('no_outputs', 'conv', lambda m: (m.nodes[0].remove(m.node('NetOutput')),
                                      drop(m.graphs[0], 5)), ''),
    ('no_graph', 'conv', lambda m: drop(m.fields, GRAPH), 'no graph'),
    ('graph_of_one_name', 'if', lambda m: put(m.graphs[1], NAME, get(m.graphs[0], NAME)),
     'two graphs'),
    ('body_missing', 'if', lambda m: put(next(n for n in m.nodes[0] if get(n, SUBGRAPH)),
                                         SUBGRAPH, b'nothing'), 'has no graph'),
    ('body_twice', 'if', twice, 'used twice'),
    ('body_is_main', 'if', itself, 'used twice'),
    ('body_input_without_place', 'if', lambda m: attr(body_data(m), '_parent_node_index', None),
     '_parent_node_index'),
    ('body_input_beyond', 'if', lambda m: attr(body_data(m), '_parent_node_index', integer(77)),
     '_parent_node_index'),
    ('body_input_negative', 'if', lambda m: attr(body_data(m), '_parent_node_index', integer(-3)),
     '_parent_node_index'),
    ('bodies_of_a_plain_op', 'conv', on_node(lambda n: n.append([SUBGRAPH, 2, b'sub'])), 'graph'),
    ('dim_below', 'conv', on_data(lambda n: put(n, IN_DESC, desc(1, [1, -5]))), 'dim below -1'),
    ('dims_many', 'conv', on_data(lambda n: put(n, IN_DESC, desc(1, [1] * 300))), 'dims'),
    ('dims_huge', 'conv', on_data(lambda n: put(n, IN_DESC, desc(1, [1 << 62, 1 << 62]))), ''),
    ('rank_unknown', 'conv', on_data(lambda n: put(n, IN_DESC, desc(1, [-2]))), None),
    ('dtype_unknown', 'conv', on_data(lambda n: put(n, IN_DESC, desc(99, [1]))), ''),
    ('dims_cut', 'conv', on_data(lambda n: put(n, IN_DESC,
                                               encode([[3, 2, encode([[1, 2, b'\xff']])]]))),
     'malformed'),
    ('constant_short', 'weights', on_const(lambda n: attr(n, 'value', tensor(1, [4], b'12'))),
     'its shape needs'),
    ('constant_long', 'weights', on_const(lambda n: attr(n, 'value', tensor(1, [1], b'1' * 64))),
     'its shape needs'),
    ('constant_open', 'weights', on_const(lambda n: attr(n, 'value', tensor(1, [-1], b'1234'))),
     'unknown element type or size'),
    ('constant_huge', 'weights', on_const(lambda n: attr(n, 'value',
                                                      tensor(1, [1 << 40, 1 << 40], b''))),
     'unknown element type or size'),
    ('constant_untyped', 'weights', on_const(lambda n: attr(n, 'value', tensor(0, [1], b'1234'))),
     'unknown element type or size'),
    ('constant_without_value', 'weights', on_const(lambda n: attr(n, 'value', None)), 'value'),
    ('constant_of_text', 'weights', on_const(lambda n: attr(n, 'value', text('x'))), 'value'),
    ('weight_above', 'weights', weight_in('../../etc/passwd'), ''),
    ('weight_absolute', 'weights', weight_in('/etc/passwd'), ''),
    ('weight_missing', 'weights', weight_in('weights.bin'), 'weights.bin'),
    ('weight_negative', 'weights', weight_in('w', offset=-8), 'offset'),
    ('weight_length', 'weights', weight_in('w', length=3), 'length 3'),
    ('weight_length_negative', 'weights', weight_in('w', length=-1), 'length -1'),
    ('file_id_only', 'weights', on_const(lambda n: (put(n, TYPE, b'FileConstant'),
                                                 attr(n, 'value', None))), 'file_id'),
    ('list_untyped', 'conv', on_node(lambda n: attr(n, 'strides', encode([[1, 2, encode(
        [[3, 2, b'\x01\x01']])]]))), ''),
    ('list_of_unknown_type', 'conv', on_node(lambda n: attr(n, 'strides', encode([[1, 2, encode(
        [[20, 0, 77]])]]))), 'val_type'),
    ('attribute_empty', 'conv', on_node(lambda n: attr(n, 'strides', b'')), ''),
    ('attribute_cut', 'conv', on_node(lambda n: attr(n, 'strides', b'\x0a\x7f')), 'malformed'),
    ('attribute_of_other_kind', 'conv', on_node(lambda n: attr(n, 'strides', text('no'))), ''),
    ('attribute_deep', 'conv', on_node(lambda n: attr(n, 'deep', nested(20))), None),
    ('attribute_too_deep', 'conv', on_node(lambda n: attr(n, 'deep', nested(400))), 'deep'),
    ('names_uneven', 'concat', on_node(lambda n: attr(n, '_input_name_value', encode(
        [[1, 2, encode([[3, 2, b'\x00']])]]))), None),
    ('names_beyond', 'concat', on_node(lambda n: attr(n, '_input_name_value', encode(
        [[1, 2, encode([[3, 2, b'\x50\x51\x52']])]]))), None),
    ('port_unknown', 'conv', on_node(lambda n: attr(n, '_input_name_key', encode(
        [[1, 2, encode([[2, 2, b'p'], [2, 2, b'q'], [2, 2, b'r'], [2, 2, b's']])]]))), 'port'),
    ('type_unknown', 'conv', on_node(lambda n: put(n, TYPE, b'NeverHeardOf')), None),
    ('port_names_cut', 'conv', unknown_op('_opt_input', b'\x0a\x06\x2a\x04'), 'malformed'),
    ('port_names_typed', 'conv', unknown_op('_ir_attr_names', TYPED), 'says a type'),
    ('port_names_no_list', 'conv', unknown_op('_opt_input', integer(1)), 'says a type'),
    ('port_names_empty', 'conv', unknown_op('_opt_input', b''), None),
    ('port_flags_cut', 'conv', unknown_op('is_input_const', b'\x0a\x06\x2a\x04'), 'malformed'),
    ('port_flags_untyped', 'conv', unknown_op('is_input_const', UNTYPED), None),
    ('port_flags_typed', 'conv', unknown_op('is_input_const', TYPED), None),
    ('state_of_nothing', 'conv', on_data(lambda n: attr(n, '_tailor_state', text('gone'))),
     'is no output'),
    ('attribute_twice', 'conv', on_node(lambda n: n.extend(
        [[ATTR, 2, encode([[1, 2, b'axis'], [2, 2, integer(i)]])] for i in (0, 1)])), 'twice'),
    ('index_twice', 'conv', on_data(lambda n: attr(n, 'index', integer(0))), None),
    ('index_negative', 'conv', on_data(lambda n: attr(n, 'index', integer(-7))), None),
    ('model_attribute_cut', 'conv', lambda m: m.fields.append([MODEL_ATTR, 2, b'\x0a\x50a']),
     'malformed'),
]


class Hostile:
    def __init__(self, tool, room):
        self.tool = tool
        self.room = room
        self.seeds = {}
        for name in ('concat', 'conv', 'if', 'weights'):
            with open(os.path.join(SEEDS, name + '.txtpb'), 'rb') as f:
                proto = os.path.join(ROOT, 'backend', 'air')
                self.seeds[name] = subprocess.run(
                    ['protoc', '--encode=tl_ge.ModelDef', '--proto_path=' + proto, 'ge_ir.proto'],
                    input=f.read(), stdout=subprocess.PIPE, check=True).stdout

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, text=True, check=False,
                         errors='replace')

    def bytes_of(self, path, data):
        with open(path, 'wb') as f:
            f.write(data)

    def case(self, name, seed, change, message):
        """None, or what is wrong."""
        path, out = os.path.join(self.room, name + '.air'), os.path.join(self.room, 'out.air')
        m = Model(self.seeds[seed])
        change(m)
        self.bytes_of(path, m.data())
        done = self.run('convert', path, '-o', out, '-q', '-O0')
        there = os.path.exists(out)
        if there:
            os.unlink(out)
        self.run('run', path)
        if message is None:
            return None if done.returncode == 0 else f'is not read: {done.stderr}'
        if done.returncode not in ((0, 2, 3, 4) if message == '' else (2, 3, 4)):
            return f'exit {done.returncode}: {done.stderr}'
        if message not in done.stderr:
            return f'the message lacks {message!r}: {done.stderr}'
        return 'an output file is left' if there and done.returncode else None

    def cuts(self):
        """A file that ends anywhere is refused."""
        data = self.seeds['if']
        for i in range(1, 24):
            path = os.path.join(self.room, 'cut.air')
            self.bytes_of(path, data[:len(data) * i // 24])
            done = self.run('info', path)
            if done.returncode not in (0, 2):
                yield f'cut {i}: exit {done.returncode}: {done.stderr}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix='tailor-air-') as room:
        hostile = Hostile(os.path.abspath(args.tailor), room)
        failed = [f'{c[0]}: {why}' for c in CASES if (why := hostile.case(*c))]
        failed += list(hostile.cuts())
    for line in failed:
        print('FAIL', line.strip())
    print(f'{len(CASES) + 23 - len(failed)} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
