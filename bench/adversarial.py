#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs of awkward shapes, each in two sizes, and how the instructions of a conversion grow.

  adversarial.py [--tailor BIN] [--only TEXT] [--size N] [--jobs N] [--most EXPONENT] [--list]

Each shape is converted to ONNX and to AIR, and its AIR file is read, with a few nodes, with N and
with 4 N (--size, default 500). Instructions are counted by valgrind; those of the few nodes are start-up and subtracted.
A cost that grows with the size to a power above --most (default 1.1) is a failure. The last line is
'N passed, M failed, 0 skipped'."""
import argparse
import concurrent.futures
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import counting  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FEW = 8
SHAPES = {}


def shape(f):
    SHAPES[f.__name__] = f
    return f


def f32(name, dims=(2, 4)):
    return h.make_tensor_value_info(name, T.FLOAT, dims)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model(nodes, outputs, inputs=None, weights=(), domain=()):
    """A model of nodes over x: f32[2, 4]; outputs are names, or value infos."""
    outs = [h.make_tensor_value_info(o, T.FLOAT, None) if isinstance(o, str) else o
            for o in outputs]
    graph = h.make_graph(nodes, 'g', inputs or [f32('x')], outs, list(weights))
    imports = [h.make_opsetid('', 13)] + [h.make_opsetid(d, 1) for d in domain]
    return h.make_model(graph, opset_imports=imports, ir_version=8)


def chain(n, make, weights=(), **more):
    """n nodes one behind the other: make(i, value before, value behind)."""
    nodes = []
    for i in range(n):
        made = make(i, f'v{i}' if i else 'x', f'v{i + 1}')
        nodes += made if isinstance(made, list) else [made]
    return model(nodes, [f'v{n}'], weights=weights, **more)


def each(n, make, weights=(), **more):
    """n nodes beside each other, whose results are outputs: make(i, result)."""
    nodes = []
    for i in range(n):
        made = make(i, f'y{i}')
        nodes += made if isinstance(made, list) else [made]
    return model(nodes, [f'y{i}' for i in range(n)], weights=weights, **more)


def unary(op, **attrs):
    SHAPES[f'chain_{op.lower()}'] = lambda n: chain(
        n, lambda i, a, b: h.make_node(op, [a], [b], **attrs))


for _op in ('Relu', 'Exp', 'Neg', 'Identity', 'Abs', 'Sigmoid', 'Tanh', 'Softplus', 'Erf',
            'Reciprocal', 'Dropout', 'Floor'):
    unary(_op)
unary('LeakyRelu', alpha=0.1)
unary('Softmax', axis=-1)
unary('Transpose', perm=[1, 0])
unary('Cast', to=T.FLOAT)


def binary(name, op, value, second=False):
    value = np.asarray(value, np.float32)
    SHAPES[name] = lambda n: chain(
        n, lambda i, a, b: h.make_node(op, ['w', a] if second else [a, 'w'], [b]),
        [constant('w', value)])


binary('chain_add_constant', 'Add', 0.5)
binary('chain_add_zero', 'Add', 0)
binary('chain_multiply_one', 'Mul', 1)
binary('chain_multiply_half', 'Mul', 0.999)
binary('chain_divide', 'Div', 1.5)
binary('chain_subtract_from', 'Sub', 2, second=True)
binary('chain_matmul', 'MatMul', np.eye(4) * 0.9)


@shape
def chain_add_itself(n):
    return chain(n, lambda i, a, b: h.make_node('Add', [a, a], [b]))


@shape
def chain_residual(n):
    return chain(n, lambda i, a, b: [h.make_node('Relu', [a], [f'r{i}']),
                                     h.make_node('Add', [a, f'r{i}'], [b])])


@shape
def chain_cast_there_and_back(n):
    return chain(n, lambda i, a, b: [h.make_node('Cast', [a], [f'r{i}'], to=T.FLOAT16),
                                     h.make_node('Cast', [f'r{i}'], [b], to=T.FLOAT)])


@shape
def chain_reshape(n):
    return chain(n, lambda i, a, b: h.make_node('Reshape', [a, f's{i % 2}'], [b]),
                 [constant('s0', np.int64([4, 2])), constant('s1', np.int64([2, 4]))])


@shape
def chain_unsqueeze(n):
    return chain(n, lambda i, a, b: [h.make_node('Unsqueeze', [a, 'axes'], [f'r{i}']),
                                     h.make_node('Squeeze', [f'r{i}', 'axes'], [b])],
                 [constant('axes', np.int64([0]))])


@shape
def chain_pad(n):
    return chain(n, lambda i, a, b: h.make_node('Pad', [a, 'p'], [b]),
                 [constant('p', np.int64([0, 0, 0, 1]))])


@shape
def chain_where(n):
    return chain(n, lambda i, a, b: h.make_node('Where', ['c', a, 'w'], [b]),
                 [constant('c', np.array([True, False, True, False])),
                  constant('w', np.float32([1, 2, 3, 4]))])


@shape
def chain_layer_norm(n):
    def block(i, a, b):
        return [h.make_node('ReduceMean', [a], [f'm{i}'], axes=[-1]),
                h.make_node('Sub', [a, f'm{i}'], [f'd{i}']),
                h.make_node('Pow', [f'd{i}', 'two'], [f'q{i}']),
                h.make_node('ReduceMean', [f'q{i}'], [f'k{i}'], axes=[-1]),
                h.make_node('Add', [f'k{i}', 'eps'], [f'e{i}']),
                h.make_node('Sqrt', [f'e{i}'], [f's{i}']),
                h.make_node('Div', [f'd{i}', f's{i}'], [f'n{i}']),
                h.make_node('Mul', [f'n{i}', 'scale'], [f'p{i}']),
                h.make_node('Add', [f'p{i}', 'scale'], [b])]
    return chain(n // 8 + 1, block, [constant('two', np.float32(2)),
                                     constant('eps', np.float32(1e-5)),
                                     constant('scale', np.float32([1, 2, 3, 4]))])


@shape
def chain_gelu(n):
    def block(i, a, b):
        return [h.make_node('Div', [a, 'root'], [f'd{i}']), h.make_node('Erf', [f'd{i}'], [f'e{i}']),
                h.make_node('Add', [f'e{i}', 'one'], [f'p{i}']),
                h.make_node('Mul', [a, f'p{i}'], [f'm{i}']),
                h.make_node('Mul', [f'm{i}', 'half'], [b])]
    return chain(n // 4 + 1, block, [constant('root', np.float32(math.sqrt(2))),
                                     constant('one', np.float32(1)),
                                     constant('half', np.float32(0.5))])


@shape
def chain_conv_norm_relu(n):
    def block(i, a, b):
        return [h.make_node('Conv', [a, 'w'], [f'c{i}']),
                h.make_node('BatchNormalization', [f'c{i}', 's', 's', 's', 's'], [f'n{i}']),
                h.make_node('Relu', [f'n{i}'], [b])]
    m = chain(n // 2 + 1, block, [constant('w', np.ones((2, 2, 1, 1), np.float32)),
                                  constant('s', np.float32([1, 2]))])
    m.graph.input[0].CopyFrom(f32('x', (1, 2, 4, 4)))
    return m


@shape
def chain_quantize(n):
    return chain(n, lambda i, a, b: [h.make_node('QuantizeLinear', [a, 's', 'z'], [f'q{i}']),
                                     h.make_node('DequantizeLinear', [f'q{i}', 's', 'z'], [b])],
                 [constant('s', np.float32(0.1)), constant('z', np.uint8(3))])


@shape
def chain_opaque(n):
    return chain(n, lambda i, a, b: h.make_node('Foreign', [a], [b], domain='com.acme'),
                 domain=['com.acme'])


@shape
def chain_of_shapes(n):
    nodes = [h.make_node('Shape', ['x'], ['v0'])]
    nodes += [h.make_node('Add', [f'v{i}', 'one'], [f'v{i + 1}']) for i in range(n)]
    nodes.append(h.make_node('Expand', ['c', f'v{n}'], ['y']))
    m = model(nodes, ['y'], [f32('x', ('a', 'b'))],
              [constant('one', np.int64([1, 1])), constant('c', np.float32(1))])
    return m


@shape
def readers(n):
    return each(n, lambda i, y: h.make_node('Relu', ['x'], [y], name=f'r{i}'))


@shape
def readers_with_constants(n):
    return each(n, lambda i, y: h.make_node('Add', ['x', f'w{i}'], [y]),
                [constant(f'w{i}', np.float32(i)) for i in range(n)])


@shape
def readers_of_a_slice(n):
    return each(n, lambda i, y: h.make_node('Slice', ['x', 'zero', f's{i}'], [y]),
                [constant('zero', np.int64([0]))] +
                [constant(f's{i}', np.int64([i % 3 + 1])) for i in range(n)])


@shape
def readers_gather(n):
    return each(n, lambda i, y: h.make_node('Gather', ['x', f's{i}'], [y], axis=1),
                [constant(f's{i}', np.int64(i % 4)) for i in range(n)])


@shape
def readers_transposed(n):
    return each(n, lambda i, y: h.make_node('Transpose', ['x'], [y], perm=[1, 0]))


@shape
def readers_shape(n):
    return each(n, lambda i, y: [h.make_node('Shape', ['x'], [f's{i}']),
                                 h.make_node('Cast', [f's{i}'], [y], to=T.FLOAT)])


@shape
def readers_of_a_weight(n):
    return each(n, lambda i, y: [h.make_node('Add', ['x', f'b{i}'], [f'a{i}']),
                                 h.make_node('MatMul', [f'a{i}', 'w'], [y])],
                [constant('w', np.ones((4, 4), np.float32))] +
                [constant(f'b{i}', np.float32(i)) for i in range(n)])


@shape
def readers_matmul(n):
    return each(n, lambda i, y: h.make_node('MatMul', ['x', f'w{i}'], [y]),
                [constant(f'w{i}', np.full((4, 4), i, np.float32)) for i in range(n)])


@shape
def readers_identity(n):
    return each(n, lambda i, y: h.make_node('Identity', ['x'], [y]))


def joined(name, op, **attrs):
    def build(n):
        nodes = [h.make_node('Add', ['x', f'w{i}'], [f'v{i}']) for i in range(n)]
        nodes.append(h.make_node(op, [f'v{i}' for i in range(n)], ['y'], **attrs))
        return model(nodes, ['y'], weights=[constant(f'w{i}', np.float32(i)) for i in range(n)])
    SHAPES[name] = build


joined('wide_sum', 'Sum')
joined('wide_max', 'Max')
joined('wide_min', 'Min')
joined('wide_mean', 'Mean')
joined('wide_concat', 'Concat', axis=0)


@shape
def wide_concat_of_one(n):
    return model([h.make_node('Concat', ['x'] * n, ['y'], axis=0)], ['y'])


@shape
def wide_split(n):
    nodes = [h.make_node('Split', ['x'], [f'v{i}' for i in range(n)], axis=0)]
    nodes += [h.make_node('Exp', [f'v{i}'], [f'y{i}']) for i in range(n)]
    return model(nodes, [f'y{i}' for i in range(n)], [f32('x', (n, 4))])


@shape
def wide_split_and_concat(n):
    return model([h.make_node('Split', ['x'], [f'v{i}' for i in range(n)], axis=0),
                  h.make_node('Concat', [f'v{i}' for i in reversed(range(n))], ['y'], axis=0)],
                 ['y'], [f32('x', (n, 4))])


@shape
def tree_of_adds(n):
    level, nodes = ['x'] * n, []
    while len(level) > 1:
        behind = []
        for i in range(0, len(level) - 1, 2):
            behind.append(f't{len(nodes)}')
            nodes.append(h.make_node('Add', [level[i], level[i + 1]], [behind[-1]]))
        level = behind + level[len(level) // 2 * 2:]
    return model(nodes, level)


@shape
def ladder(n):
    nodes, a, b = [], 'x', 'x'
    for i in range(n):
        nodes += [h.make_node('Add', [a, b], [f'a{i}']), h.make_node('Mul', [a, b], [f'b{i}'])]
        a, b = f'a{i}', f'b{i}'
    return model(nodes, [a, b])


@shape
def skips_to_the_end(n):
    nodes = [h.make_node('Sin' if i % 2 else 'Cos', [f'v{i - 1}' if i else 'x'], [f'v{i}'])
             for i in range(n)]
    nodes.append(h.make_node('Concat', [f'v{i}' for i in range(n)], ['y'], axis=0))
    return model(nodes, ['y'])


@shape
def equal_subtrees(n):
    return each(n, lambda i, y: [h.make_node('Exp', ['x'], [f'a{i}']),
                                 h.make_node('Sin', [f'a{i}'], [f'b{i}']),
                                 h.make_node('Add', [f'b{i}', f'w{i}'], [y])],
                [constant(f'w{i}', np.float32(i)) for i in range(n)])


@shape
def equal_weights(n):
    return each(n, lambda i, y: [h.make_node('Add', ['x', f'w{i}'], [f'a{i}']),
                                 h.make_node('Mul', [f'a{i}', f'c{i}'], [y])],
                [constant(f'w{i}', np.float32([1, 2, 3, 4])) for i in range(n)] +
                [constant(f'c{i}', np.float32(i)) for i in range(n)])


def branch(op, i):
    return h.make_graph([h.make_node(op, ['x'], [f'{op}{i}'])], f'{op}{i}', [],
                        [f32(f'{op}{i}')])


@shape
def ifs(n):
    nodes = [h.make_node('If', ['c'], [f'y{i}'], then_branch=branch('Exp', i),
                         else_branch=branch('Sin', i)) for i in range(n)]
    return model(nodes, [f'y{i}' for i in range(n)],
                 [f32('x'), h.make_tensor_value_info('c', T.BOOL, ())])


@shape
def loops(n):
    def body(i):
        return h.make_graph(
            [h.make_node('Identity', [f'c{i}'], [f'd{i}']), h.make_node('Exp', [f'a{i}'], [f'b{i}'])],
            f'body{i}', [h.make_tensor_value_info(f'i{i}', T.INT64, ()),
                         h.make_tensor_value_info(f'c{i}', T.BOOL, ()), f32(f'a{i}')],
            [h.make_tensor_value_info(f'd{i}', T.BOOL, ()), f32(f'b{i}')])
    return chain(n // 4 + 1, lambda i, a, b: h.make_node('Loop', ['n', '', a], [b], body=body(i)),
                 [constant('n', np.int64(500))])


@shape
def initializers_unused(n):
    return model([h.make_node('Relu', ['x'], ['y'])], ['y'],
                 weights=[constant(f'w{i}', np.float32(i)) for i in range(n)])


@shape
def initializers_as_inputs(n):
    m = readers_with_constants(n)
    m.graph.input.extend(f32(f'w{i}', ()) for i in range(n))
    return m


@shape
def inputs(n):
    return each_input(n, [f32(f'x{i}') for i in range(n)])


def each_input(n, ins):
    return model([h.make_node('Exp', [f'x{i}'], [f'y{i}']) for i in range(n)],
                 [f'y{i}' for i in range(n)], ins)


@shape
def open_sizes(n):
    return each_input(n, [f32(f'x{i}', (f'a{i}', 'b', 4)) for i in range(n)])


@shape
def long_name(n):
    return model([h.make_node('Exp', ['x'], ['y'], name='n' * 100 * n)], ['y'])


@shape
def long_names(n):
    m = chain(n // 8 + 1, lambda i, a, b: h.make_node('Exp', [a], [b], name='n' * 400 + str(i)))
    return m


@shape
def deep_scopes(n):
    return each(n, lambda i, y: h.make_node(
        'Add', ['x', f'w{i}'], [y], name=''.join(f'/b{i >> k & 1}' for k in range(12)) + f'/Add{i}'),
        [constant(f'w{i}', np.float32(i)) for i in range(n)])


@shape
def value_infos(n):
    m = chain_exp(n)
    m.graph.value_info.extend(f32(f'v{i}') for i in range(1, n))
    return m


def chain_exp(n):
    return SHAPES['chain_exp'](n)


@shape
def metadata(n):
    m = chain_exp(FEW)
    for i in range(n):
        m.metadata_props.add(key=f'key{i}', value='value')
    return m


@shape
def functions(n):
    m = chain(n, lambda i, a, b: h.make_node(f'F{i}', [a], [b], domain='own'), domain=['own'])
    for i in range(n):
        m.functions.append(h.make_function(
            'own', f'F{i}', ['a'], ['b'], [h.make_node('Exp', ['a'], ['b'])],
            [h.make_opsetid('', 13)]))
    return m


@shape
def one_function(n):
    m = chain(n, lambda i, a, b: h.make_node('F', [a], [b], domain='own'), domain=['own'])
    m.functions.append(h.make_function('own', 'F', ['a'], ['b'],
                                       [h.make_node('Exp', ['a'], ['b'])],
                                       [h.make_opsetid('', 13)]))
    return m


@shape
def reversed_order(n):
    """Nodes against the order of their values: a model that is read all the same."""
    m = chain_exp(n)
    nodes = list(reversed(m.graph.node))
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    return m


# Of textual IR: what ONNX models cannot say.


@shape
def waits_for_many(n):
    nodes = [f'  %v{i} = Exp(%x) label ${i + 1}' for i in range(n)]
    after = ' '.join(f'after ${i + 1}' for i in range(n))
    return '\n'.join(['graph @g(%x: f32[2,4]) -> (%y) {', *nodes, f'  %y = Relu(%x) {after}', '}\n'])


@shape
def states(n):
    ins = ', '.join(f'%w{i}: f32[2,4]' for i in range(n))
    outs = ', '.join(f'%n{i}' for i in range(n))
    nodes = [f'  %g{i} = Mul(%w{i}, %x)\n  %n{i} = Sub(%w{i}, %g{i})' for i in range(n)]
    roles = [f'  state %w{i} -> %n{i}\n  gradient %w{i} -> %g{i}' for i in range(n)]
    return '\n'.join([f'graph @g(%x: f32[2,4], {ins}) -> ({outs}) {{', *nodes, *roles, '}\n'])


# ---- measuring -------------------------------------------------------------------------------


def convert(tailor, path, suffix):
    """Instructions of a conversion; of `read`, those of reading an AIR file that is not optimized."""
    made = 'out.air' if suffix == 'read' else 'out.' + suffix
    command = [tailor, 'convert', path, '-q', '--summary=none', '--allow-unmapped', '-o', made]
    with tempfile.TemporaryDirectory() as folder:
        if suffix != 'read':
            return counting.instructions(command, folder)
        subprocess.run([*command, '-O0'], cwd=folder, check=False, stderr=subprocess.DEVNULL)
        return counting.instructions([tailor, 'opt', '--passes=', made, '-o', 'out.tir', '-q'],
                                     folder)


def save(made, path):
    if isinstance(made, str):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(made)
    else:
        onnx.save(made, path)


def growth(tailor, name, suffix, size):
    """(exponent, instructions a unit of the greater size) or what went wrong."""
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (FEW, size, 4 * size):
            made = SHAPES[name](n)
            path = os.path.join(folder, f'{n}.tir' if isinstance(made, str) else f'{n}.onnx')
            save(made, path)
            counts.append(convert(tailor, path, suffix))
    if None in counts:
        return None
    few, small, great = counts
    return (math.log(max(great - few, 1) / max(small - few, 1), 4), (great - few) / (4 * size))


def parsed():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument('--tailor', default=os.path.join(ROOT, 'build', 'tools', 'tailor'))
    p.add_argument('--only', default='')
    p.add_argument('--size', type=int, default=500)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--most', type=float, default=1.1)
    p.add_argument('--list', action='store_true')
    return p.parse_args()


def main():
    a = parsed()
    names = [name for name in sorted(SHAPES) if a.only in name]
    if a.list:
        print('\n'.join(names))
        return 0
    if counting.missing():
        print(f'skip: {counting.missing()}\n0 passed, 0 failed, 1 skipped')
        return 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        work = {(name, suffix): pool.submit(growth, os.path.abspath(a.tailor), name, suffix, a.size)
                for name in names for suffix in ('onnx', 'air', 'read')}
        for (name, suffix), job in work.items():
            found = job.result()
            bad = found is None or found[0] > a.most
            failed += bad
            figures = f'{found[0]:5.2f} {found[1]:9.0f}' if found else 'does not convert'
            print(f'{"FAIL" if bad else "    "} {name:28} {suffix:4} {figures}', flush=True)
    print(f'{len(work) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
