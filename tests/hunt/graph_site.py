# SPDX-License-Identifier: Apache-2.0
"""A graph that is being changed: its values with their types, places where nodes can be put, names
that nothing has yet."""
from onnx import TensorProto as T
from onnx import helper


class Site:
    """A model under change: one of its graphs, and the types of its values as far as known."""

    def __init__(self, model, rng):
        self.model = model
        self.graph = model.graph
        bodies = [a.g for n in model.graph.node for a in n.attribute if a.HasField('g')]
        if bodies and rng.random() < 0.3:
            self.graph = rng.choice(bodies)
        self.opset = max([o.version for o in model.opset_import if o.domain in ('', 'ai.onnx')],
                         default=1)
        self.taken = names_of(model.graph, set())
        self.types = {}
        for v in [*self.graph.input, *self.graph.output, *self.graph.value_info]:
            if v.type.HasField('tensor_type') and v.type.tensor_type.elem_type:
                self.types[v.name] = v.type.tensor_type
        for t in self.graph.initializer:
            self.types[t.name] = helper.make_tensor_type_proto(t.data_type, t.dims).tensor_type

    def fresh(self, hint):
        n = 0
        while f'{hint}_m{n}' in self.taken:
            n += 1
        self.taken.add(f'{hint}_m{n}')
        return f'{hint}_m{n}'

    def dtype(self, name):
        found = self.types.get(name)
        return found.elem_type if found else 0

    def shape(self, name):
        """Sizes, None for open ones; None without a known rank."""
        found = self.types.get(name)
        if not found or not found.HasField('shape'):
            return None
        return [d.dim_value if d.HasField('dim_value') else None for d in found.shape.dim]

    def edges(self, dtype=None):
        """(index of node, index of operand) of what is read, of a dtype if one is given."""
        return [(i, k) for i, n in enumerate(self.graph.node) for k, o in enumerate(n.input)
                if o and (dtype is None or self.dtype(o) == dtype)]

    def insert(self, i, *nodes):
        for node in reversed(nodes):
            self.graph.node.insert(i, node)

    def constant(self, dtype, dims, values):
        name = self.fresh('c')
        self.graph.initializer.append(helper.make_tensor(name, dtype, dims, values))
        return name

    def node(self, op, operands, hint, **attrs):
        result = self.fresh(hint)
        return helper.make_node(op, operands, [result], result + '_n', **attrs), result


def names_of(graph, found):
    found.update(v.name for v in [*graph.input, *graph.output])
    found.update(t.name for t in graph.initializer)
    for n in graph.node:
        found.update([n.name, *n.output])
        for a in n.attribute:
            for g in [a.g] * a.HasField('g') + list(a.graphs):
                names_of(g, found)
    return found


def edge(site, rng, dtype=T.FLOAT):
    found = site.edges(dtype)
    return rng.choice(found) if found else (None, None)


def splice(site, i, k, nodes, result):
    """Puts nodes before node i, whose operand k they feed."""
    site.graph.node[i].input[k] = result
    site.insert(i, *nodes)


def shaped_edge(site, rng, least):
    """A float edge of known sizes and at least that rank."""
    found = [(i, k) for i, k in site.edges(T.FLOAT)
             if (site.shape(site.graph.node[i].input[k]) or []) and
             len(site.shape(site.graph.node[i].input[k])) >= least]
    return rng.choice(found) if found else (None, None)
