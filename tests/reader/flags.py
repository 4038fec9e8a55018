# SPDX-License-Identifier: Apache-2.0
"""Attributes that are flags: 0 is false, any other number is true, in what is written and in what
is computed beforehand."""
import os
import re

import numpy
from onnx import helper

from models import F, I64, Case, graph, graphs_of, model, node, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMBERS = (2, -3, 1 << 32)


def table():
    """{(domain, op): names of flags} of the op table."""
    found, op = {}, None
    for name in sorted(os.listdir(os.path.join(ROOT, 'ir/ops'))):
        with open(os.path.join(ROOT, 'ir/ops', name), encoding='utf-8') as f:
            for line in f:
                start = re.match(r'op (?:([\w.]+)::)?(\w+)$', line)
                op = (start[1] or '', start[2]) if start else op
                for flag in re.findall(r'\b(\w+):flag\b', line):
                    found.setdefault(op, []).append(flag)
    return found


def numbers(made):
    """'' or a flag in the model that is neither 0 nor 1."""
    flags = table()
    for g in graphs_of(made.graph):
        for n in g.node:
            for a in n.attribute:
                if a.name in flags.get((n.domain, n.op_type), ()) and a.i not in (0, 1):
                    return f'{n.op_type}: {a.name} is {a.i}'
    return ''


def product(number, constant):
    """Not square, so that a flag that is misread is an error. `constant`: it is folded."""
    sizes = {'transA': ([3, 2], [3, 4]), 'transB': ([2, 3], [4, 3])}
    for flag, (a, b) in sizes.items():
        for op, domain in (('Gemm', ''), ('FusedMatMul', 'com.microsoft')):
            data = [('a', numpy.arange(6, dtype=numpy.float32).reshape(a)),
                    ('b', numpy.arange(12, dtype=numpy.float32).reshape(b))]
            made = model([node(op, ['a', 'b'], ['y'], domain=domain, **{flag: number})],
                         [] if constant else [value('a', F, a), value('b', F, b)],
                         [value('y', F, [2, 4])], data if constant else [],
                         domains=[('com.microsoft', 1)])
            yield Case(f'{op} {flag}={number}{" of constants" if constant else ""}', made,
                       air=(0,), said='counts as 1', same=True, check=numbers)


def turned(number):
    """A Transpose before a product that transposes: both go away."""
    yield Case(f'Transpose and Gemm transA={number}', model(
        [node('Transpose', ['x'], ['t'], perm=[1, 0]),
         node('Gemm', ['t', 'b'], ['y'], transA=number)],
        [value('x', F, [2, 3]), value('b', F, [3, 4])], [value('y', F, [2, 4])]),
        air=(0,), same=True, check=numbers)


def in_function(number):
    """The number comes from the call."""
    inner = helper.make_function('mine', 'Product', ['a', 'b'], ['c'],
                                 [node('Gemm', ['a', 'b'], ['c'])],
                                 [helper.make_opsetid('', 17)], ['t'])
    given = inner.node[0].attribute.add()
    given.name, given.ref_attr_name, given.type = 'transA', 't', 2
    yield Case(f'a function with transA={number}', model(
        [node('Product', ['a', 'b'], ['y'], domain='mine', t=number)],
        [value('a', F, [3, 2]), value('b', F, [3, 4])], [value('y', F, [2, 4])],
        functions=[inner], domains=[('mine', 1)]), same=True, check=numbers)


def others(number):
    """Flags that ONNX Runtime, too, takes as true unless they are 0."""
    x = value('x', F, [1, 1, 5, 5])
    yield Case(f'AveragePool count_include_pad={number}', model(
        [node('AveragePool', ['x'], ['y'], kernel_shape=[3, 3], pads=[1] * 4,
              count_include_pad=number)], [x], [value('y')], opset=19), same=True, check=numbers)
    yield Case(f'ArgMax select_last_index={number}', model(
        [node('ArgMax', ['x'], ['y'], axis=3, select_last_index=number)], [],
        [value('y', I64)], [('x', numpy.array([[[[1, 2, 2]]]], numpy.float32))]), same=True)
    yield Case(f'Trilu upper={number}', model(
        [node('Trilu', ['x'], ['y'], upper=number)], [x], [value('y')]), same=True, check=numbers)
    yield Case(f'Trilu upper={number} in a branch', model(
        [node('If', ['c'], ['y'],
              then_branch=graph('t', [node('Trilu', ['x'], ['p'], upper=number)], [value('p')]),
              else_branch=graph('e', [node('Neg', ['x'], ['q'])], [value('q')]))],
        [x, value('c', 9, [])], [value('y')]), same=True, check=numbers)
    yield Case(f'IsInf detect_negative={number}', model(
        [node('IsInf', ['x'], ['y'], detect_negative=number)], [], [value('y', 9)],
        [('x', numpy.array([numpy.inf, -numpy.inf, 1], numpy.float32))]), same=True)


def as_one(number):
    """Flags on which runtimes differ, or which they refuse: as 1, with a word."""
    x = value('x', F, [2, 3])
    axis = ('axis', numpy.array([1]))
    for op in ('ReduceSum', 'ReduceMax', 'ReduceL2'):
        opset = 18
        yield Case(f'{op} keepdims={number}', model(
            [node(op, ['x', 'axis'], ['y'], keepdims=number)], [x], [value('y', F, [2, 1])],
            [axis], opset), air=(0,), said='counts as 1', check=numbers)
    yield Case(f'CumSum exclusive={number}, reverse={number}', model(
        [node('CumSum', ['x', 'zero'], ['y'], exclusive=number, reverse=number)], [x],
        [value('y', F, [2, 3])], [('zero', numpy.array(0))]), air=(0,), said='counts as 1',
        check=numbers)
    yield Case(f'MaxPool ceil_mode={number}', model(
        [node('MaxPool', ['p'], ['y'], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=number)],
        [value('p', F, [1, 1, 5, 5])], [value('y', F, [1, 1, 3, 3])]), air=(0,),
        said='counts as 1', check=numbers)


def cases():
    for number in NUMBERS:
        for make in (turned, in_function, others, as_one):
            yield from make(number)
        for constant in (False, True):
            yield from product(number, constant)
