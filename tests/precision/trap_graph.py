# SPDX-License-Identifier: Apache-2.0
"""What accuracy traps are made with: a trap is a function that adds nodes to a graph, with the
inputs that show what is lost. Those of trap_models.py and trap_positions.py are all in TRAPS.

The numbers are of sizes that networks have: activations up to some hundreds, positions up to some
thousands, logits up to some tens. No trap is to be made tamer so that it passes."""
import numpy as np

TRAPS = []
NAMES = {'float32': 'f32', 'int64': 'i64', 'bool': 'bool', 'int32': 'i32'}


class Graph:
    """Text of one graph, and its inputs."""

    def __init__(self, name):
        self.name = name
        self.rng = np.random.default_rng(sum(name.encode()))
        self.inputs, self.constants, self.lines, self.outputs = {}, [], [], []

    def input(self, array):
        name = f'x{len(self.inputs)}'
        self.inputs[name] = np.ascontiguousarray(array)
        return name

    def const(self, value, dtype=np.float32):
        a = np.asarray(value, dtype)
        name = f'c{len(self.constants)}'
        text = ', '.join(str(v).lower() if a.dtype == bool else repr(v.item()) for v in a.ravel())
        dims = ','.join(map(str, a.shape))
        self.constants.append(f'  const %{name}: {NAMES[a.dtype.name]}[{dims}] = ' +
                              (f'[{text}]' if a.ndim else text))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def op(self, op, *operands, **attrs):
        name = f'v{len(self.lines)}'
        made = [o if isinstance(o, str) else self.const(o) for o in operands]
        text = ', '.join(f'{k}={self.attr(v)}' for k, v in attrs.items())
        self.lines.append(f'  %{name} = {op}({", ".join("%" + o if o else "_" for o in made)}) '
                          f'@{op.split(":")[-1]}_{len(self.lines)}' +
                          (' {' + text + '}' if text else ''))
        return name

    def loop(self, op, operands, n_results, body, attrs=''):
        """A node with a body, whose text comes with %{c} for constants of this graph."""
        names = [f'v{len(self.lines)}r{i}' for i in range(n_results)]
        self.lines.append(f'  {", ".join("%" + n for n in names)} = {op}('
                          f'{", ".join("%" + o if o else "_" for o in operands)}) '
                          f'@{op}_{len(self.lines)} {{{attrs}body=graph {body}}}')
        return names

    @staticmethod
    def attr(v):
        if isinstance(v, str):
            return f'"{v}"'
        return '[' + ', '.join(map(str, v)) + ']' if isinstance(v, (list, tuple)) else str(v)

    def linear(self, x, n_in, n_out, scale=1.0):
        w = self.rng.normal(size=(n_in, n_out)) * scale / np.sqrt(n_in)
        return self.op('MatMul', x, self.const(w))

    def normal(self, *shape, scale=1.0, shift=0.0):
        return (self.rng.normal(size=shape) * scale + shift).astype(np.float32)

    def text(self):
        names = ', '.join(f'%{n}: {NAMES[a.dtype.name]}[{",".join(map(str, a.shape))}]'
                          for n, a in self.inputs.items())
        outputs = ', '.join('%' + o for o in self.outputs)
        return (f'graph @g({names}) -> ({outputs}) {{\n' + '\n'.join(self.constants + self.lines) +
                '\n}\n')


def trap(name):
    """The function returns its output, or several."""
    def add(f):
        TRAPS.append((name, f))
        return f
    return add


def trap_models():
    for name, f in TRAPS:
        g = Graph(name)
        made = f(g)
        g.outputs = [made] if isinstance(made, str) else list(made)
        yield g
