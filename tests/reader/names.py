# SPDX-License-Identifier: Apache-2.0
"""Names: of values in bodies beside and inside each other, of nodes in what is written, of
constants that are there twice."""
import numpy
from onnx import helper

from models import BOOL, F, I64, Case, constant, graph, model, node, twin_names, value

X = value('x', F, [2])
TRUE = ('true', numpy.array(True))


def branch(name, nodes):
    return graph(name, nodes, [value(nodes[-1].output[0], F, [2])])


def either(condition, result, yes, no, name=''):
    return node('If', [condition], [result], name=name, then_branch=yes, else_branch=no)


def in_branches(first, second, third):
    """An If in a branch of an If: `first` beside it, `second` and `third` in it."""
    inner = either('c2', 's', branch('t2', [node('Neg', ['x'], [second])]),
                   branch('e2', [node('Abs', ['x'], [third])]))
    return model([either('c', 'y', branch('t1', [node('Relu', ['x'], [first])]),
                         branch('e1', [inner]))],
                 [X, value('c', BOOL, []), value('c2', BOOL, [])], [value('y', F, [2])])


def sibling_names():
    yield Case('a branch of elif has the name of then', in_branches('r', 'r', 'q'), same=True)
    yield Case('both branches of elif have it', in_branches('r', 'r', 'r'), same=True)
    loop = helper.make_graph(
        [node('Identity', ['ci'], ['co']), node('Neg', ['v'], ['r'])], 'body',
        [value('i', I64, []), value('ci', BOOL, []), value('v', F, [2])],
        [value('co', BOOL, []), value('r', F, [2])])
    looped = node('Loop', ['n', '', 'x'], ['s'], body=loop)
    yield Case('a loop in else has the name of then', model(
        [either('c', 'y', branch('t', [node('Relu', ['x'], ['r'])]), branch('e', [looped]))],
        [X, value('c', BOOL, []), value('n', I64, [])], [value('y', F, [2])]), same=True)
    deep = branch('d', [node('Relu', ['x'], ['r'])])
    for depth in range(5):
        deep = branch(f'd{depth}', [either('c', f's{depth}', deep,
                                           branch(f'o{depth}', [node('Neg', ['x'], ['r'])]))])
    yield Case('six levels of one name', model(
        [either('c', 'y', deep, branch('o', [node('Abs', ['x'], ['r'])]))],
        [X, value('c', BOOL, [])], [value('y', F, [2])]), same=True)
    used = branch('e1', [node('Exp', ['x'], ['p']),
                         either('c2', 's', branch('t2', [node('Neg', ['p'], ['r'])]),
                                branch('e2', [node('Abs', ['p'], ['q'])]))])
    yield Case('what hides a name in one branch is used in the other', model(
        [either('c', 'y', branch('t1', [node('Relu', ['x'], ['p']), node('Neg', ['p'], ['r'])]),
                used)],
        [X, value('c', BOOL, []), value('c2', BOOL, [])], [value('y', F, [2])]), same=True)


def names_of_outer_values(made):
    """'' if no result in a body has the name of a value of the main graph."""
    outer = {name for n in made.graph.node for name in n.output}
    inner = {name for n in made.graph.node for a in n.attribute
             for n_inner in a.g.node for name in n_inner.output}
    return ' '.join(f'{name} is there twice' for name in sorted(outer & inner))


def later_names():
    """ONNX allows it, but the If could then not be moved behind that value."""
    yield Case('a branch has the name of a value behind its If', model(
        [either('c', 's', branch('t', [node('Relu', ['x'], ['r'])]),
                branch('e', [node('Neg', ['x'], ['q'])])),
         node('Exp', ['x'], ['r']), node('Add', ['r', 's'], ['y'])],
        [X, value('c', BOOL, [])], [value('y', F, [2])]), same=True, check=names_of_outer_values)


def folded_if(name='n0'):
    return [node('Exp', ['x'], ['a'], name=name),
            either('true', 'z', branch('t', [node('Neg', ['a'], ['p'], name=name)]),
                   branch('e', [node('Abs', ['a'], ['q'], name=name)]), 'n1')]


def called_twice():
    inner = helper.make_function('mine', 'Twice', ['a'], ['b'],
                                 [node('Exp', ['a'], ['t'], name='n0'),
                                  node('Neg', ['t'], ['b'], name='n0')],
                                 [helper.make_opsetid('', 17)])
    return model([node('Twice', ['x'], ['h'], domain='mine', name='call'),
                  node('Twice', ['h'], ['y'], domain='mine', name='call')],
                 [X], [value('y', F, [2])], functions=[inner], domains=[('mine', 1)])


def node_names():
    top = model(folded_if() + [node('Relu', ['z'], ['y'], name='n0')], [X],
                [value('y', F, [2])], [TRUE])
    yield Case('a branch that is taken', top, same=True, check=twin_names)
    body = helper.make_graph(
        [node('Identity', ['ci'], ['co']), *folded_if()], 'body',
        [value('i', I64, []), value('ci', BOOL, []), value('x', F, [2])],
        [value('co', BOOL, []), value('z', F, [2])])
    yield Case('a branch that is taken in a loop', model(
        [node('Loop', ['n', '', 'x0'], ['y'], body=body)],
        [value('x0', F, [2]), value('n', I64, [])], [value('y', F, [2])], [TRUE]),
        same=True, check=twin_names)
    yield Case('steps of a loop of known length', model(
        [node('Loop', ['n', '', 'x0'], ['y'], body=body)],
        [value('x0', F, [2])], [value('y', F, [2])], [TRUE, ('n', numpy.array(3))]),
        same=True, check=twin_names)
    yield Case('functions', called_twice(), same=True, check=twin_names)
    yield Case('names that the file has twice', model(
        [node('Exp', ['x'], ['a'], name='n'), node('Neg', ['a'], ['b'], name='n'),
         node('Abs', ['b'], ['y'], name='n_1')], [X], [value('y', F, [2])]),
        same=True, check=twin_names)


def dup(*arrays, opset=17):
    """Constants of one name with these values, and their sum with x."""
    return model([constant('k', a) for a in arrays] + [node('Add', ['x', 'k'], ['y'])], [X],
                 [value('y', F, [2])], opset=opset)


def twice():
    two, three = numpy.float32(2), numpy.float32(3)
    add = [node('Add', ['x', 'k'], ['y'])]
    yield Case('a constant twice', dup(two, two), same=True)
    yield Case('a constant three times', dup(two, two, two), same=True)
    yield Case('NaN twice', dup(numpy.float32('nan'), numpy.float32('nan')), same=True)
    yield Case('a constant, and in a function of it', model(
        [constant('k', two), node('Add', ['x', 'k'], ['z']), constant('k', two),
         node('Mul', ['z', 'k'], ['y'])], [X], [value('y', F, [2])]), same=True)
    yield Case('as float and as tensor', model(
        [node('Constant', [], ['k'], value_float=2.0), constant('k', two), *add], [X],
        [value('y', F, [2])]), same=True)
    yield Case('as initializer and as node', model(
        [constant('k', two), *add], [X], [value('y', F, [2])], [('k', two)]), same=True)
    yield Case('an initializer twice', model(
        add, [X], [value('y', F, [2])], [('k', two), ('k', two)]), same=True)
    yield Case('an initializer with two values', model(
        add, [X], [value('y', F, [2])], [('k', two), ('k', three)]), (2,), (2,), "named 'k'")
    yield Case('a constant with two values', dup(two, three), (2,), (2,), "'k' is defined twice")
    yield Case('a constant of two dtypes', dup(two, numpy.float64(2)), (2,), (2,), 'defined twice')
    yield Case('a constant of two shapes', dup(two, two.reshape(1)), (2,), (2,), 'defined twice')
    yield Case('0 and -0', dup(numpy.float32(0), numpy.float32(-0.0)), (2,), (2,), 'defined twice')
    yield Case('two equal nodes', model(
        [node('Neg', ['x'], ['k']), node('Neg', ['x'], ['k']), *add], [X], [value('y', F, [2])]),
        (2,), (2,), 'defined twice')


def positive(made):
    """'' or an import of the model that no reader takes."""
    return ' '.join(f'{i.domain} {i.version}' for i in made.opset_import if i.version < 1)


def imports():
    negation = [node('Neg', ['x'], ['y'])]
    for version in (0, -4):
        yield Case(f'opset {version} of a domain', model(
            negation, [X], [value('y', F, [2])], domains=[('acme', version)]),
            said='is no version', check=positive)
    two = {domain: model([node('Softmax', ['x'], ['y'], axis=0)], [X], [value('y', F, [2])],
                         domains=[(domain, 11)]) for domain in ('', 'ai.onnx')}
    for domain, made in two.items():
        yield Case(f'two opsets of one domain, as "{domain}"', made, same=True, check=positive)
    yield Case('a newer opset of ai.onnx.ml', model(
        negation, [X], [value('y', F, [2])], domains=[('ai.onnx.ml', 9)]),
        said='newer than 5', check=positive)


def cases():
    yield from imports()
    yield from sibling_names()
    yield from later_names()
    yield from node_names()
    yield from twice()
