# SPDX-License-Identifier: Apache-2.0
"""Graphs that the tests of spellings write (spellings.py)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph that is being written; methods return names of values."""

    def __init__(self):
        self.nodes, self.constants, self.inputs = [], [], []
        self.rng = np.random.default_rng(0)

    def op(self, kind, *operands, **attrs):
        out = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(kind, list(operands), [out], **attrs))
        return out

    def const(self, value, dtype=np.float32):
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def ints(self, *value):
        return self.const(value, np.int64)

    def some(self, *sizes):
        """Random numbers, none near 0."""
        return self.const(self.rng.uniform(0.5, 1.5, size=sizes))

    def weights(self, *sizes):
        return self.const(self.rng.normal(size=sizes) * 0.3)

    def feed(self, *sizes):
        name = f'x{len(self.inputs)}'
        self.inputs.append((name, sizes))
        return name

    def mean(self, x, axes):
        return self.op('ReduceMean', x, self.ints(*axes), keepdims=1)

    def model(self, *outs):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, 'spelling', [value(n, TensorProto.FLOAT, s) for n, s in self.inputs],
            [value(out, TensorProto.FLOAT, None) for out in outs], self.constants)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid('', 18)])
