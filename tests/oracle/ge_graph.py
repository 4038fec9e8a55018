# SPDX-License-Identifier: Apache-2.0
"""Graphs of AIR files as GE's shape functions see them: nodes with named ports, constants by value,
attributes as plain values, and the formats that GE's format pass gives each port before it infers.

Facts about formats: GE's format_refiner.cc (GetAnchorPoints, BackInferProcess, AnchorsInferProcess,
DataNodeFormatProcess), op_desc.cc (DefaultInferFormat), and the format functions of Transpose
(transformation_ops.cc), Reshape (array_ops.cc) and Const."""
import collections
import struct

import air_check

RESERVED = 'FORMAT_RESERVED'
ND = 'ND'
RANK = {'NCHW': 4, 'NHWC': 4, 'HWCN': 4, 'CHWN': 4, 'NCDHW': 5, 'NDHWC': 5, 'DHWCN': 5, 'DHWNC': 5}
MAX_CONST = 4096  # elements of a constant that shape functions look at
CODES = {'int8': 'b', 'uint8': 'B', 'bool': '?', 'int16': 'h', 'uint16': 'H', 'int32': 'i',
         'uint32': 'I', 'int64': 'q', 'uint64': 'Q', 'float32': 'f', 'double': 'd', 'float16': 'e'}
# Nodes that GE's format pass leaves alone where the rank is below 4.
CHANGE_DIMS = {'Permute', 'ExpandDims', 'Squeeze'}


class Port:
    """One slot of a node."""
    __slots__ = ('name', 'shape', 'dtype', 'fmt', 'set', 'peer', 'value')

    def __init__(self, name, desc):
        self.name, self.shape = name, air_check.dims(desc)
        self.dtype, self.fmt = air_check.dtn(desc.dtype), air_check.fmt_of(desc)
        self.set = self.fmt not in (ND, RESERVED)  # the file says a format
        self.peer = self.value = None


class Node:
    """One node; ins and outs are ports by position, x() and y() by name."""

    def __init__(self, op):
        self.name, self.type = op.name, op.type
        self.attrs = {k: plain(a) for k, a in op.attr.items() if k != 'value'}
        given = {}
        for side in ('input', 'output'):
            keys = op.attr.get(f'_{side}_name_key')
            spots = op.attr.get(f'_{side}_name_value')
            pairs = zip(plain(keys), plain(spots)) if keys and spots else ()
            given[side] = {spot: key for key, spot in pairs}
        self.ins = [Port(given['input'].get(i, f'#{i}'), d) for i, d in enumerate(op.input_desc)]
        self.outs = [Port(given['output'].get(i, f'#{i}'), d)
                     for i, d in enumerate(op.output_desc)]

    def attr(self, name, default=None):
        return self.attrs.get(name, default)

    def has(self, name):
        port = self.port(name)
        return port is not None and port.peer is not None

    def port(self, name):
        return next((p for p in self.ins if p.name == name), None)

    def out(self, name):
        return next((p for p in self.outs if p.name == name), None)

    def x(self, name=None):
        """Dims of an operand, the first without a name; None where nothing is connected."""
        if name is None:
            return self.ins[0].shape
        return self.port(name).shape if self.has(name) else None

    def const(self, name):
        """Elements of an operand that is a constant, else None."""
        return self.port(name).value if self.has(name) else None

    def many(self, name):
        """Ports of a dynamic operand, in order."""
        found = [p for p in self.ins
                 if p.name.startswith(name) and p.name[len(name):].isdigit() and p.peer]
        return sorted(found, key=lambda p: int(p.name[len(name):]))


def plain(attr):
    """Value of an attribute: text, number, bool, list; None for what shapes do not need."""
    kind = air_check.kind_of(attr)
    if kind == 's':
        return bytes(attr['s']).decode('utf-8', 'replace')
    if kind == 'b':
        return bool(attr['b'])
    if kind in ('i', 'f', 'dt'):
        return attr[kind]
    if kind == 'list_list_int':
        return [list(row.v) for row in attr[kind].rows]
    if kind != 'list':
        return None
    items = attr['list']
    for field in ('s', 'i', 'f', 'b', 'dt'):
        if field in items:
            return [bytes(v).decode('utf-8', 'replace') if field == 's' else v
                    for v in items[field]]
    return []


def elements(op):
    """(elements of a constant in row order, or None)"""
    tensor = op.attr['value'].t if 'value' in op.attr else None
    if tensor is None:
        return None
    code = CODES.get(air_check.dtn(tensor.desc.dtype))
    data = bytes(tensor.data)
    count = len(data) // struct.calcsize(code) if code else 0
    if not code or count > MAX_CONST or not data and 0 not in air_check.dims(tensor.desc):
        return None
    return [v[0] for v in struct.iter_unpack('<' + code, data[:count * struct.calcsize(code)])]


class Graph:
    """One graph, its nodes in the order in which one follows those that it reads."""

    def __init__(self, graph, protos):
        self.name, self.nodes, values = graph.name, {}, {}
        for op in graph.op:
            node = self.nodes[op.name] = Node(op)
            name_ports(node, protos)
            if op.type in air_check.CONST_TYPES:
                values[op.name] = elements(op)
        self.readers = collections.defaultdict(list)
        for op in graph.op:
            self.connect(self.nodes[op.name], op.input, values)

    def connect(self, node, edges, values):
        slot = 0
        for ref in edges:
            cut = air_check.split_ref(ref)
            if cut is None:
                slot += 1
                continue
            source, index = cut
            if index == -1:
                continue
            if slot < len(node.ins) and source in self.nodes:
                node.ins[slot].peer = (source, index)
                node.ins[slot].value = values.get(source)
                self.readers[source, index].append((node, slot))
            slot += 1

    # ---- formats, as GE sets them before it infers shapes
    def refine(self):
        for node in list(self.nodes.values()):
            ports = node.ins + node.outs
            if any(p.fmt not in (ND, RESERVED) for p in ports):
                self.spread(node)

    def spread(self, anchor):
        queue = collections.deque([anchor])
        while queue:
            node = queue.popleft()
            self.backward(queue, node)
            self.forward(queue, node)

    def backward(self, queue, node):
        for port in node.ins:
            if port.fmt in (ND, RESERVED) or port.peer is None:
                continue
            source = self.nodes[port.peer[0]]
            if port.peer[1] < len(source.outs):
                self.give(queue, source, source.outs[port.peer[1]], port.fmt)

    def forward(self, queue, node):
        for index, port in enumerate(node.outs):
            if port.fmt in (ND, RESERVED):
                continue
            for reader, slot in self.readers[node.name, index]:
                self.give(queue, reader, reader.ins[slot], port.fmt)

    @staticmethod
    def give(queue, node, port, fmt):
        if port.fmt != ND or not port.shape:
            return
        if node.type in CHANGE_DIMS and len(port.shape) < 4:
            return
        port.fmt = fmt
        if node.type != 'NetOutput':
            infer_format(node)
            queue.append(node)


def default_format(node):
    found = ND
    for ports in (node.ins, node.outs):  # an output decides before an input
        found = next((p.fmt for p in ports if p.fmt not in (ND, RESERVED)), found)
    for port in node.ins + node.outs:
        if port.fmt == ND:
            port.fmt = found


def transpose_format(node):
    """Only between NCHW and NHWC; every other Transpose ends a format."""
    perm = node.const('perm') or node.attr('perm')
    x, y = node.ins[0], node.outs[0]
    if perm is None:
        return
    forth, back = [0, 2, 3, 1], [0, 3, 1, 2]
    turned = {'NCHW': ('NHWC', forth), 'NHWC': ('NCHW', back)}
    if x.fmt != ND:
        other, wanted = turned.get(x.fmt, (ND, None))
        x.fmt, y.fmt = (x.fmt, other) if perm == wanted else (ND, ND)
    elif y.fmt != ND:
        other, _ = turned.get(y.fmt, (ND, None))
        wanted = {'NCHW': back, 'NHWC': forth}.get(y.fmt)
        x.fmt, y.fmt = (other, y.fmt) if perm == wanted else (ND, ND)


def reshape_format(node):
    def drop():
        for port in node.ins + node.outs:
            if RANK.get(port.fmt) != len(port.shape):
                port.fmt = ND
    drop()
    default_format(node)
    drop()


FORMAT_FUNCTIONS = {'Transpose': transpose_format, 'TransposeD': transpose_format,
                    'Reshape': reshape_format, 'TransData': lambda node: None,
                    'Const': lambda node: None, 'Constant': lambda node: None}


def infer_format(node):
    FORMAT_FUNCTIONS.get(node.type, default_format)(node)


def name_ports(node, protos):
    """Ports without a name in the file have the prototype's, in its order."""
    proto = protos.get(node.type)
    if proto is None:
        return
    for ports, rows in ((node.ins, proto['inputs']), (node.outs, proto['outputs'])):
        for port, row in zip(ports, rows):
            if port.name.startswith('#'):
                port.name = row[0]


def read(path, protos):
    """The graphs of a file."""
    with open(path, 'rb') as f:
        raw = f.read()
    model = air_check.Decoder(lambda *_: None).decode('ModelDef', memoryview(raw), 0, len(raw))
    graphs = [Graph(g, protos) for g in model.graph]
    for graph in graphs:
        graph.refine()
    return model, graphs
