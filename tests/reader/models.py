# SPDX-License-Identifier: Apache-2.0
"""Small models for the cases of this folder, and what a case is."""
import collections

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
# model: a ModelProto; codes: exit codes allowed for ONNX; air: those for AIR; said: part of
# the message; same: ONNX Runtime computes the same before and after; check: a function that says
# what is wrong with the ModelProto that was written, or ''.
Case = collections.namedtuple('Case', 'name model codes air said same check',
                              defaults=((0,), (0, 2, 3), '', False, None))
node = helper.make_node


def value(name, dtype=F, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(name, nodes, outputs, inputs=()):
    return helper.make_graph(nodes, name, list(inputs), list(outputs))


def model(nodes, inputs, outputs, constants=(), opset=17, functions=(), domains=()):
    """constants: (name, array) pairs, a name may occur twice."""
    tensors = [numpy_helper.from_array(numpy.asarray(a), name) for name, a in constants]
    made = helper.make_model(
        helper.make_graph(nodes, 'g', list(inputs), list(outputs), tensors),
        opset_imports=[helper.make_opsetid('', opset)]
        + [helper.make_opsetid(name, version) for name, version in domains],
        functions=list(functions))
    made.ir_version = 8 if opset < 20 else 10
    return made


def constant(name, array):
    return node('Constant', [], [name], value=numpy_helper.from_array(numpy.asarray(array)))


def graphs_of(g):
    """The graph and all that are nested in it."""
    yield g
    for n in g.node:
        for a in n.attribute:
            for body in ([a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs):
                yield from graphs_of(body)


def twin_names(made):
    """'' or a node name that occurs twice in a graph of the model."""
    lists = [g.node for g in graphs_of(made.graph)] + [f.node for f in made.functions]
    for nodes in lists:
        names = [n.name for n in nodes if n.name]
        for name in names:
            if names.count(name) > 1:
                return f'two nodes are called {name}'
    return ''


def nodes_of(made, op):
    return [n for g in graphs_of(made.graph) for n in g.node if n.op_type == op]
