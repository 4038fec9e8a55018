# SPDX-License-Identifier: Apache-2.0
"""Operands that are absent, empty or too many, and bodies with another signature than the node."""
import numpy
from onnx import helper

from models import BOOL, F, I64, Case, graph, model, node, nodes_of, value

X = value('x', F, [2, 2])
LISTS = {'Sum': {}, 'Max': {}, 'Min': {}, 'Mean': {}, 'Concat': {'axis': 0},
         'Einsum': {'equation': 'ij,ij->ij'}, 'SequenceConstruct': {}}


def in_lists():
    """ONNX Runtime refuses these, or ends."""
    for op, attrs in LISTS.items():
        for where, names in (('first', ['', 'x']), ('last', ['x', '']), ('middle', ['x', '', 'x']),
                             ('only', [''])):
            result = 'y' if op != 'SequenceConstruct' else 's'
            nodes = [node(op, names, [result], **attrs)]
            if result == 's':
                nodes.append(node('SequenceAt', ['s', 'i'], ['y']))
            yield Case(f'{op}: the {where} operand is absent',
                       model(nodes, [X, value('i', I64, [])], [value('y')]), (2,), (2,),
                       'is required but absent')


def loop(inputs, operands, constants=(), outputs=1, results=1):
    """Negates x; gives `outputs` - 1 values of each step besides."""
    body = helper.make_graph(
        [node('Identity', ['ci'], ['co']), node('Neg', ['v'], ['w'])]
        + [node('Abs', ['v'], [f's{k}']) for k in range(1, outputs)], 'body',
        [value('i', I64, []), value('ci', BOOL, []), value('v', F, [2, 2])],
        [value('co', BOOL, []), value('w', F, [2, 2])]
        + [value(f's{k}', F, [2, 2]) for k in range(1, outputs)])
    names = [f'y{k}' for k in range(results)]
    return model([node('Loop', operands, names, body=body)], [X, *inputs],
                 [value(name) for name in names], constants)


def captured(operands, inputs, constants=()):
    """A loop without carried values, whose body uses a value from outside."""
    body = graph('body', [node('Identity', ['ci'], ['co']), node('Relu', ['x'], ['s'])],
                 [value('co', BOOL, []), value('s', F, [2, 2])],
                 [value('i', I64, []), value('ci', BOOL, [])])
    return model([node('Loop', operands, ['y'], body=body)], [X, *inputs], [value('y')], constants)


def two_leading(made):
    fewest = min([len(n.input) for n in nodes_of(made, 'Loop')], default=2)
    return '' if fewest >= 2 else f'Loop has {fewest} operands'


def loops():
    trips, going = value('n', I64, []), value('c', BOOL, [])
    three = ('n', numpy.array(3))
    yield Case('Loop without condition', captured(['n', ''], [trips]), same=True, check=two_leading)
    yield Case('Loop without condition, known length', captured(['n', ''], [], [three]), same=True,
               check=two_leading)
    yield Case('Loop without condition, carried', loop([trips], ['n', '', 'x']), same=True,
               check=two_leading)
    yield Case('Loop with both', loop([trips, going], ['n', 'c', 'x']), same=True,
               check=two_leading)
    yield Case('Loop without length', captured(['', 'c'], [], [('c', numpy.array(False))]),
               same=True, check=two_leading)
    yield Case('Loop with one operand', captured(['n'], [trips]), (2,), (2,), 'at least 2')
    yield Case('Loop without a carried value', loop([trips], ['n', '', '']), (2,), (2,),
               'required but absent')
    yield Case('Loop: more results than the body gives', loop([trips], ['n', '', 'x'], results=2),
               (2,), (2,), 'outputs, expected')
    yield Case('Loop: fewer results than the body gives', loop([trips], ['n', '', 'x'], outputs=2),
               (2,), (2,), 'outputs, expected')


def branches(yes, no, results, condition):
    """An If whose branches have so many outputs."""
    def branch(name, op, count):
        return graph(name, [node(op, ['x'], [f'{name}{k}']) for k in range(count)],
                     [value(f'{name}{k}', F, [2, 2]) for k in range(count)])
    names = [f'y{k}' for k in range(results)]
    known = condition is not None
    return model([node('If', ['c'], names, then_branch=branch('t', 'Neg', yes),
                       else_branch=branch('e', 'Abs', no))],
                 [X] + ([] if known else [value('c', BOOL, [])]), [value(n) for n in names],
                 [('c', numpy.array(condition))] if known else [])


def ifs():
    for condition in (True, False, None):
        for yes, no, results in ((1, 2, 1), (2, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 1), (0, 1, 1),
                                 (1, 1, 2)):
            yield Case(f'If {condition}: {yes} and {no} outputs, {results} results',
                       branches(yes, no, results, condition), (2,), (2,), 'outputs, expected')
        yield Case(f'If {condition}: two outputs each', branches(2, 2, 2, condition), same=True)


def resize(opset, which, how, roi):
    """A Resize by `which` of scales and sizes; the other one is empty, in the way `how` says."""
    nodes, inputs = [], [value('x', F, [1, 1, 4, 4])]
    other = numpy.zeros(0, numpy.float32 if which == 'sizes' else numpy.int64)
    kind = F if which == 'sizes' else I64
    given = numpy.array([1, 1, 8, 8]) if which == 'sizes' else numpy.array([1, 1, 2, 2],
                                                                           numpy.float32)
    constants = [('given', given), ('roi', numpy.zeros(0, numpy.float32))]
    empty = 'empty'
    if how == 'initializer':
        constants.append(('empty', other))
    elif how == 'node':
        nodes.append(node('Constant', [], ['empty'], value=helper.make_tensor('v', kind, [0], [])))
    elif how == 'input':
        inputs.append(value('empty', kind, [0]))
    elif how == 'made':
        constants.append(('zero', numpy.array([0])))
        nodes.append(node('ConstantOfShape', ['zero'], ['empty'],
                          value=helper.make_tensor('v', kind, [1], [1])))
    elif how == 'converted':
        constants.append(('raw', other.astype(numpy.float64)))
        nodes.append(node('Cast', ['raw'], ['empty'], to=kind))
    else:
        empty = ''
    lists = [empty, 'given'] if which == 'sizes' else ['given', empty]
    nodes.append(node('Resize', ['x', 'roi' if roi else '', *lists], ['y'], mode='nearest'))
    return model(nodes, inputs, [value('y', F, [1, 1, 8, 8])], constants, opset)


def one_of_two(made):
    for n in nodes_of(made, 'Resize'):
        if len([name for name in n.input[2:] if name]) != 1:
            return f'Resize has the operands {list(n.input)}'
    return ''


def resizes():
    """ONNX Runtime refuses some of these itself; those that it runs give the same."""
    for opset in (11, 12):
        for how in ('initializer', 'node', 'input', 'made', 'converted'):
            yield Case(f'Resize {opset}: sizes, empty scales: {how}',
                       resize(opset, 'sizes', how, True), same=True, check=one_of_two)
    for opset in (11, 12, 13, 18, 19, 21):
        for which in ('sizes', 'scales'):
            for how in ('initializer', 'node', 'name'):
                if how == 'name' and which == 'sizes' and opset < 13:
                    continue
                yield Case(f'Resize {opset}: {which}, the other one empty: {how}',
                           resize(opset, which, how, opset < 13), same=True, check=one_of_two)
    both = resize(13, 'sizes', 'name', False)
    both.graph.node[0].input[2] = 's'
    both.graph.input.append(value('s', F, [4]))
    yield Case('Resize 13: both', both, (2,), (2,), 'both scales and sizes')


def cases():
    yield from in_lists()
    yield from loops()
    yield from ifs()
    yield from resizes()
