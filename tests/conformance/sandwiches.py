#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ops between Transposes, as exporters of channels-last networks write them: not more nodes for
--target=onnxruntime than ONNX Runtime's level extended leaves, and the same outputs.

  sandwiches.py --tailor BIN --ort DIR [--work DIR] [--findings DIR] [--list]

Each sandwich is Relu, Transpose, some ops, Transpose back, Relu: every op of the table below, for
ranks and axes, with one reader of the first Transpose and with two; and regions of several ops. A
sandwich that ONNX Runtime does not load counts as skipped. --findings: models of that folder are
compared too. The last line is 'N passed, M failed, K skipped'."""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nodes  # noqa: E402

# Sizes of the first value, all different but for the batch, and the order of channels last.
SIZES = {3: (1, 4, 6), 4: (1, 4, 6, 8), 5: (1, 4, 6, 8, 2)}
LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


class Net:
    """A graph that is being written; methods return names of values."""

    def __init__(self, rank):
        self.rank, self.nodes, self.constants = rank, [], []
        self.rng = np.random.default_rng(rank)
        self.inputs = [('x', SIZES[rank])]
        self.sizes = [SIZES[rank][i] for i in LAST[rank]]  # between the Transposes

    def op(self, kind, *operands, n=1, **attrs):
        out = [f'v{len(self.nodes)}_{i}' for i in range(n)]
        self.nodes.append(helper.make_node(kind, list(operands), out, **attrs))
        return out[0] if n == 1 else out

    def const(self, value, dtype=np.float32):
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def ints(self, *value):
        return self.const(value, np.int64)

    def some(self, *sizes):
        return self.const(self.rng.normal(size=sizes) * 0.5 + 1)

    def feed(self, *sizes):
        name = f'in{len(self.inputs)}'
        self.inputs.append((name, sizes))
        return name

    def there(self, v):
        return self.op('Transpose', v, perm=LAST[self.rank])

    def back(self, v, gone=()):
        """The Transpose back, of the dims that are left."""
        left = [i for i in range(self.rank) if i not in gone]
        order = [p for p in np.argsort(LAST[self.rank]) if p in left]
        return self.op('Transpose', v, perm=[left.index(p) for p in order])

    def model(self, out):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, 'sandwich', [value(n, TensorProto.FLOAT, s) for n, s in self.inputs],
            [value(out, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid('', 18)])


# ---- ops: (net, value, axis) -> value, or (value, axes that are gone) ----------------------------


def unary(kind, **attrs):
    return lambda net, v, axis: net.op(kind, v, **attrs)


def by_axis(kind, **attrs):
    return lambda net, v, axis: net.op(kind, v, axis=axis, **attrs)


def reduce(kind, keepdims):
    def write(net, v, axis):
        made = net.op(kind, v, net.ints(axis), keepdims=keepdims)
        return made, () if keepdims else (axis,)
    return write


def choose(kind, keepdims):
    def write(net, v, axis):
        made = net.op('Cast', net.op(kind, v, axis=axis, keepdims=keepdims), to=1)
        return made, () if keepdims else (axis,)
    return write


def binary(kind, sizes):
    """With a constant; sizes: of (net, axis)."""
    return lambda net, v, axis: net.op(kind, v, net.some(*sizes(net, axis)))


def along(net, axis):
    return [n if i == axis else 1 for i, n in enumerate(net.sizes)]


def pad(net, v, axis):
    pads = [0] * (2 * net.rank)
    pads[axis], pads[net.rank + axis] = 1, 2
    return net.op('Pad', v, net.ints(*pads))


def pad_axes(net, v, axis):
    return net.op('Pad', v, net.ints(1, 1), net.const(0.5), net.ints(axis))


def cut(net, v, axis):
    return net.op('Slice', v, net.ints(0), net.ints(1), net.ints(axis))


def cut_first(net, v, axis):
    """Without axes: the first ones are meant."""
    return net.op('Slice', v, net.ints(*[0] * (axis + 1)), net.ints(*net.sizes[:axis], 1))


def split(net, v, axis):
    if net.sizes[axis] % 2:
        return None
    a, b = net.op('Split', v, n=2, axis=axis, num_outputs=2)
    return net.op('Sub', a, b)


def tile(net, v, axis):
    return net.op('Tile', v, net.ints(*[2 if i == axis else 1 for i in range(net.rank)]))


def pick(net, v, axis):
    return net.op('Gather', v, net.ints(0), axis=axis)


def pick_one(net, v, axis):
    return net.op('Gather', v, net.const(0, np.int64), axis=axis), (axis,)


def where(net, v, axis):
    return net.op('Where', net.op('Greater', v, net.const(0.5)), v, net.const(0.0))


def quantized(net, v, axis):
    s, z = net.const(0.05), net.const(3, np.uint8)
    return net.op('DequantizeLinear', net.op('QuantizeLinear', v, s, z), s, z)


def quantized_axis(net, v, axis):
    s = net.const(np.linspace(0.02, 0.07, net.sizes[axis]))
    z = net.const(np.arange(net.sizes[axis]), np.uint8)
    q = net.op('QuantizeLinear', v, s, z, axis=axis)
    return net.op('DequantizeLinear', q, s, z, axis=axis)


def resize(net, v, axis):
    if axis in (0, net.rank - 1):
        return None
    scales = [2.0 if i == axis else 1.0 for i in range(net.rank)]
    return net.op('Resize', v, '', net.const(scales), mode='nearest')


def joined(net, v, axis):
    return net.op('Concat', v, net.op('Tanh', v), axis=axis)


def largest(net, v, axis):
    return net.op('TopK', v, net.ints(1), axis=axis, n=2)[0]


def view(net, v, axis):
    return net.op('Squeeze', net.op('Unsqueeze', v, net.ints(axis)), net.ints(axis))


def reshaped(net, v, axis):
    """Reduced, without the dim, and with it again by a Reshape."""
    r = net.op('ReduceMax', v, net.ints(axis), keepdims=0)
    return net.op('Reshape', r, net.ints(*[1 if i == axis else n for i, n in enumerate(net.sizes)]))


def clip(net, v, axis):
    return net.op('Clip', v, net.const(0.1), net.const(0.8))


def running(net, v, axis):
    return net.op('CumSum', v, net.const(axis, np.int64))


def with_input(net, v, axis):
    """A value of one dim, for the last axis."""
    return net.op('Mul', v, net.feed(net.sizes[-1]))


def with_full_input(net, v, axis):
    return net.op('Add', v, net.there(net.op('Abs', net.feed(*SIZES[net.rank]))))


def squeeze_excite(net, v, axis):
    m = net.op('ReduceMean', v, net.ints(axis), keepdims=1)
    return net.op('Mul', v, net.op('Sigmoid', m))


def layer_norm(net, v, axis):
    n = net.sizes[-1]
    return net.op('LayerNormalization', v, net.some(n), net.some(n), axis=-1)


def expanded(net, v, axis):
    m = net.op('ReduceMax', v, net.ints(axis), keepdims=1)
    return net.op('Add', net.op('Expand', m, net.ints(*net.sizes)), v)


def sized(net, v, axis):
    """Expanded to the sizes of another value."""
    return net.op('Expand', net.op('ReduceMax', v, net.ints(axis), keepdims=1), net.op('Shape', v))


EACH_AXIS = {
    'Softmax': by_axis('Softmax'), 'LogSoftmax': by_axis('LogSoftmax'),
    'Hardmax': by_axis('Hardmax'), 'CumSum': running, 'Pad': pad, 'PadAxes': pad_axes,
    'Slice': cut, 'SliceFirst': cut_first, 'Split': split, 'Tile': tile, 'Gather': pick,
    'GatherOne': pick_one, 'Concat': joined, 'TopK': largest, 'View': view,
    'Reshape': reshaped, 'Resize': resize, 'QdqAxis': quantized_axis, 'Se': squeeze_excite,
    'Expand': expanded,
    'ReduceMean1': reduce('ReduceMean', 1), 'ReduceMean0': reduce('ReduceMean', 0),
    'ReduceMax1': reduce('ReduceMax', 1), 'ReduceMax0': reduce('ReduceMax', 0),
    'ReduceL2': reduce('ReduceL2', 1), 'ReduceSum0': reduce('ReduceSum', 0),
    'ArgMax1': choose('ArgMax', 1), 'ArgMax0': choose('ArgMax', 0),
    'ArgMin1': choose('ArgMin', 1),
    'AddAlong': binary('Add', along), 'MulAlong': binary('Mul', along),
}
ONCE = {
    'Sigmoid': unary('Sigmoid'), 'Erf': unary('Erf'), 'LeakyRelu': unary('LeakyRelu', alpha=0.2),
    'Elu': unary('Elu'), 'HardSigmoid': unary('HardSigmoid'), 'Neg': unary('Neg'),
    'Clip': clip, 'Where': where, 'Qdq': quantized, 'LayerNorm': layer_norm,
    'MulScalar': binary('Mul', lambda net, axis: ()),
    'AddLast': binary('Add', lambda net, axis: net.sizes[-1:]),
    'SubLastTwo': binary('Sub', lambda net, axis: net.sizes[-2:]),
    'PRelu': binary('PRelu', lambda net, axis: net.sizes[-1:]),
    'MaxAll': binary('Max', lambda net, axis: net.sizes),
    'MulInput': with_input, 'AddFullInput': with_full_input, 'Sized': sized,
}


# ---- regions: (net, value between Transposes) -> value -------------------------------------------


def swish(net, v):
    for _ in range(3):
        v = net.op('Mul', v, net.op('Sigmoid', v))
    return v


def residual(net, v):
    for kind in ('Tanh', 'Sigmoid', 'Softplus'):
        v = net.op('Add', v, net.op(kind, v))
    return v


def hard_swish(net, v):
    c = net.op('Clip', net.op('Add', v, net.const(3.0)), net.const(0.0), net.const(6.0))
    return net.op('Mul', v, net.op('Div', c, net.const(6.0)))


def normalized(net, v):
    """Instance normalization in pieces."""
    axes = range(1, net.rank - 1)
    d = net.op('Sub', v, net.op('ReduceMean', v, net.ints(*axes)))
    var = net.op('ReduceMean', net.op('Mul', d, d), net.ints(*axes))
    n = net.op('Div', d, net.op('Sqrt', net.op('Add', var, net.const(1e-3))))
    return net.op('Add', net.op('Mul', n, net.some(net.sizes[-1])), net.some(net.sizes[-1]))


def there_and_back(net, v):
    """Ops in channels first between, as convolutions are."""
    for _ in range(3):
        c = net.op('Softmax', net.back(v), axis=1)
        v = net.op('Add', net.there(c), v)
    return v


def gates(net, v):
    a, b = net.op('Split', v, n=2, axis=net.rank - 1, num_outputs=2)
    return net.op('Mul', net.op('Tanh', a), net.op('Sigmoid', b))


def pyramid(net, v):
    axes = range(1, net.rank - 1)
    m = net.op('ReduceMean', v, net.ints(*axes))
    e = net.op('Expand', m, net.ints(*net.sizes))
    return net.op('Concat', v, e, net.op('Abs', v), axis=net.rank - 1)


def pooled(net, v):
    """Global pooling, a view without dims of size 1, and the way back."""
    axes = range(1, net.rank - 1)
    m = net.op('ReduceMean', v, net.ints(*axes), keepdims=0)
    m = net.op('Mul', m, net.some(net.sizes[-1]))
    m = net.op('Reshape', m, net.ints(1, *[1 for _ in axes], net.sizes[-1]))
    return net.op('Mul', v, net.op('HardSigmoid', m))


def attention(net, v):
    a = net.op('Softmax', net.op('ReduceMax', v, net.ints(net.rank - 1)), axis=1)
    return net.op('Add', v, net.op('Mul', v, a))


REGIONS = {'swish': swish, 'residual': residual, 'hard_swish': hard_swish,
           'normalized': normalized, 'there_and_back': there_and_back, 'gates': gates,
           'pyramid': pyramid, 'pooled': pooled, 'attention': attention}


# ---- sandwiches ----------------------------------------------------------------------------------


def sandwich(write, rank, axis, readers):
    net = Net(rank)
    v = net.there(net.op('Relu', 'x'))
    made = write(net, v, axis)
    if made is None:
        return None
    made, gone = made if isinstance(made, tuple) else (made, ())
    out = net.op('Relu', net.back(made, gone))
    if readers == 2:
        other = net.op('ReduceMax', net.back(net.op('Neg', v)), net.ints(*range(rank)), keepdims=0)
        out = net.op('Add', out, other)
    return net.model(out)


def region(write, rank):
    net = Net(rank)
    made = write(net, net.there(net.op('Relu', 'x')))
    return net.model(net.op('Relu', net.back(made)))


def sandwiches():
    for name, write in ONCE.items():
        for rank in (3, 4):
            for readers in (1, 2):
                yield f'{name}-{rank}-{readers}', sandwich(write, rank, 0, readers)
    for name, write in EACH_AXIS.items():
        for axis in range(1, 4):
            yield f'{name}-4-axis{axis}-1', sandwich(write, 4, axis, 1)
        yield f'{name}-4-axis3-2', sandwich(write, 4, 3, 2)
        yield f'{name}-5-axis4-1', sandwich(write, 5, 4, 1)
    for name, write in REGIONS.items():
        for rank in (3, 4, 5):
            yield f'{name}-{rank}', region(write, rank)


def models(args):
    """[(name, path)], written where they are not files already."""
    found = []
    for name, model in sandwiches():
        if model is not None:
            found.append((name, os.path.join(args.work, name + '.onnx')))
            onnx.save(model, found[-1][1])
    for path in sorted(glob.glob(os.path.join(args.findings or '', '*.onnx')) if args.findings else
                       []):
        found.append((os.path.basename(path), path))
    return found


def extended(args, found):
    """{name: file as ONNX Runtime saves it}, of what it loads."""
    listing = os.path.join(args.work, 'list.tsv')
    out = {name: os.path.join(args.work, f'{name}.ort.onnx') for name, _ in found}
    with open(listing, 'w', encoding='utf-8') as f:
        f.writelines(f'{path}\t{out[name]}\n' for name, path in found)
    p = subprocess.run(['node', os.path.join(ROOT, 'tests/ort/ort_basic.js'), listing, '--ort',
                        args.ort, '--level', 'extended'], capture_output=True, text=True,
                       check=False)
    loaded = {line.split('\t')[0] for line in p.stdout.splitlines() if line.endswith('\tok')}
    return {name: out[name] for name, path in found if path in loaded}


def count(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def compare(args, tally):
    found = models(args)
    others = extended(args, found)
    rows, ours = [], 0
    for name, path in found:
        after = os.path.join(args.work, name + '.after.onnx')
        if name not in others:
            tally.skipped(f'{name}: ONNX Runtime does not load it')
            continue
        if not nodes.convert(args, path, after, '--target=onnxruntime'):
            tally.passed(False, f'{name}: refused')
            continue
        rows.append((name, path, after))
        n, limit = count(after), count(others[name])
        ours += n < limit
        if args.list:
            print(f'{name}: {count(path)} nodes, {n} left, ONNX Runtime {limit}')
        tally.passed(n <= limit, f'{name}: {n} nodes, ONNX Runtime {limit}')
    said = nodes.equal(args, rows)
    for name, _, _ in rows:
        tally.passed(said.get(name, '').startswith('ok'), f'{name}: {said.get(name)}')
    print(f'sandwiches: {len(rows)} models, {ours} of them with fewer nodes than ONNX Runtime')


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--work')
    p.add_argument('--findings')
    p.add_argument('--list', action='store_true', help='print the number of nodes of each model')
    args = p.parse_args()
    tally = nodes.Tally()
    with tempfile.TemporaryDirectory() as folder:
        args.work = args.work or folder
        os.makedirs(args.work, exist_ok=True)
        compare(args, tally)
    print('{} passed, {} failed, {} skipped'.format(*tally.counts))
    return tally.counts[1] != 0


if __name__ == '__main__':
    sys.exit(main())
