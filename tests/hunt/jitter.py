# SPDX-License-Identifier: Apache-2.0
"""Twins of a model: the same model, in which every float value is multiplied by 1 plus or minus up
to two units in the last place of its type. How far the outputs of twins are apart from those of the
model is what rounding alone can do to it: the condition of the computation, measured."""
import copy
import random

import onnx
from onnx import TensorProto as T
from onnx import helper

UNITS = {T.FLOAT: 2.0 ** -23, T.FLOAT16: 2.0 ** -10, T.DOUBLE: 2.0 ** -52}
# Ops whose results have the type of their first operand, and are rounded when they are made.
KEEPS = {'Add', 'Sub', 'Mul', 'Div', 'MatMul', 'Gemm', 'Conv', 'ConvTranspose', 'Softmax',
         'LogSoftmax', 'Relu', 'Sigmoid', 'Tanh', 'Exp', 'Log', 'Sqrt', 'Erf', 'ReduceMean',
         'ReduceSum', 'Pow', 'BatchNormalization', 'InstanceNormalization', 'LayerNormalization',
         'AveragePool', 'Clip', 'GlobalAveragePool', 'Reciprocal', 'Sin', 'Cos', 'Softplus',
         'LRN', 'LpNormalization', 'ReduceL2', 'ReduceProd', 'ReduceLogSumExp', 'Resize',
         'Upsample', 'LSTM', 'GRU', 'RNN', 'CumSum', 'Einsum', 'Gelu', 'Identity', 'Transpose',
         'Reshape', 'Neg', 'Mean', 'Sum', 'ReduceSumSquare', 'ReduceLogSum', 'ReduceL1',
         'HardSigmoid', 'Elu', 'LeakyRelu', 'PRelu', 'MeanVarianceNormalization', 'GridSample',
         'RoiAlign', 'Concat', 'Split', 'Slice', 'Gather', 'Unsqueeze', 'Squeeze', 'Expand',
         'Flatten', 'MaxPool', 'FusedConv', 'FusedGemm', 'FusedMatMul', 'BiasGelu', 'FastGelu',
         'SkipLayerNormalization', 'Attention', 'QuickGelu', 'MultiHeadAttention',
         'RMSNormalization', 'SimplifiedLayerNormalization', 'Pad', 'Tan',
         'DecoderMaskedMultiHeadAttention', 'GroupNorm', 'GroupNormalization', 'RotaryEmbedding',
         'SkipSimplifiedLayerNormalization', 'DFT', 'STFT', 'Max', 'Min', 'Abs'}


def float_values(graph):
    """{name: type} of float values: by declared types, and through ops that keep the type."""
    found = {v.name: v.type.tensor_type.elem_type
             for v in [*graph.input, *graph.value_info, *graph.output]}
    found.update((t.name, t.data_type) for t in graph.initializer)
    for n in graph.node:
        kind = None
        if n.op_type == 'If':
            kind = next((v.type.tensor_type.elem_type for a in n.attribute if a.HasField('g')
                         for v in a.g.output), None) if len(n.output) == 1 else None
        elif n.op_type == 'Constant':
            kind = next((a.t.data_type for a in n.attribute if a.name == 'value'), None)
        elif n.op_type == 'Cast':
            kind = next((a.i for a in n.attribute if a.name == 'to'), None)
        elif n.op_type in KEEPS and n.input:
            kind = found.get(n.input[0])
        elif n.op_type in ('DequantizeLinear', 'Where') and len(n.input) > 1:
            kind = found.get(n.input[1])
        if kind:
            for o in n.output:
                found.setdefault(o, kind)
    return {n: k for n, k in found.items() if k in UNITS}


def last_sizes(graph):
    """{name: size of the last axis} where it is declared and the opset can stretch a vector."""
    dims = {v.name: v.type.tensor_type.shape.dim for v in [*graph.input, *graph.value_info]}
    return {name: d[-1].dim_value for name, d in dims.items()
            if d and 1 < d[-1].dim_value <= 4096}


def opset(model):
    return max([o.version for o in model.opset_import if o.domain in ('', 'ai.onnx')] or [1])


class Jitter:
    """Puts a product by 1 plus or minus some units behind float values of a graph and bodies."""

    def __init__(self, model, graph, rng, unit=None, outer=None):
        self.model, self.graph, self.rng, self.unit = model, graph, rng, unit
        self.kinds = dict(outer.kinds if outer else {}, **float_values(graph))
        self.sizes = dict(outer.sizes if outer else {}, **last_sizes(graph))
        self.attrs = {'broadcast': 1} if opset(model) < 7 else {}
        self.sizes = {} if self.attrs else self.sizes
        self.new = dict(outer.new if outer else {})

    def behind(self, name):
        kind = self.kinds[name]
        twin = f'{name}_{self.graph.name}_twin'
        n = self.sizes.get(name, 0)  # of the last axis: norms do not see one factor for all
        factor = helper.make_tensor(twin + '_by', kind, [n] if n else [], [
            1 + self.rng.choice([-2, -1, 1, 2]) * (self.unit or UNITS[kind])
            for _ in range(n or 1)])
        self.new[name] = twin
        yield helper.make_node('Constant', [], [twin + '_by'], value=factor)
        yield helper.make_node('Mul', [name, twin + '_by'], [twin], **self.attrs)

    def copied(self, node):
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        for k, o in enumerate(copied.input):
            copied.input[k] = self.new.get(o, o)
        for a in copied.attribute:
            if a.HasField('g'):
                Jitter(self.model, a.g, self.rng, self.unit, self).apply()
        return copied

    def nodes(self):
        constants = {t.name for t in self.graph.initializer}
        for v in list(self.graph.input):
            if v.name in self.kinds and v.name not in constants:
                yield from self.behind(v.name)
        for node in self.graph.node:
            yield self.copied(node)
            if node.op_type in KEEPS or node.op_type in ('DequantizeLinear', 'Cast', 'Where', 'If'):
                for o in node.output:
                    if o and o in self.kinds:
                        yield from self.behind(o)

    def outputs(self):
        """A body returns the twins of what it returned; a model keeps the names of its outputs."""
        if self.graph is not self.model.graph:
            for v in self.graph.output:
                v.name = self.new.get(v.name, v.name)

    def apply(self):
        nodes = list(self.nodes())
        self.outputs()
        del self.graph.node[:]
        self.graph.node.extend(nodes)


def twins(path, prefix, count, unit=None):
    """Writes twins of the model at `path`; their paths. unit: that of every value, whatever its
    type: of a chip that computes it in a narrower one."""
    model = onnx.load(path)
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # ops that this onnx does not know
        pass
    made = []
    for k in range(count):
        twin = copy.deepcopy(model)
        Jitter(twin, twin.graph, random.Random(k), unit).apply()
        if not any(o.domain in ('', 'ai.onnx') for o in twin.opset_import):
            twin.opset_import.append(helper.make_opsetid('', 13))
        made.append(f'{prefix}.twin{k}.onnx')
        onnx.save(twin, made[-1])
    return made
