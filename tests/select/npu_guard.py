# SPDX-License-Identifier: Apache-2.0
"""A second reading of the language of NPU guards (docs/op-table.md), written from its description:
a guard becomes a tree, and a tree holds or does not on a node that is described as data."""
import operator
import re

COMPARE = {'==': operator.eq, '!=': operator.ne, '<': operator.lt, '>': operator.gt,
           '<=': operator.le, '>=': operator.ge}
TOKEN = re.compile(
    r"""\s*(&&|\|\||[=!<>]=|[!<>()\[\],+*-]|in\*|"[^"]*"|\d+\.?\d*(?:e-?\d+)?|\w+)""")
PORT = re.compile(r'(in|out)(\d+)$')


def parse(text):
    tokens = TOKEN.findall(text)
    if ''.join(tokens) != re.sub(r'\s', '', text):
        raise ValueError(f'cannot read the guard {text!r}')
    tree, rest = either(tokens)
    if rest:
        raise ValueError(f'{rest} is left over of the guard {text!r}')
    return tree


def either(t):
    left, t = both(t)
    while t and t[0] == '||':
        right, t = both(t[1:])
        left = ('or', left, right)
    return left, t


def both(t):
    left, t = atom(t)
    while t and t[0] == '&&':
        right, t = atom(t[1:])
        left = ('and', left, right)
    return left, t


def atom(t):
    if t[0] == '!':
        inner, t = atom(t[1:])
        return ('not', inner), t
    if t[0] == '(':
        inner, t = either(t[1:])
        return inner, t[1:]
    left, t = total(t)
    if t and t[0] == 'in':
        end = t.index(']')
        return ('among', left, [w.strip('"') for w in t[2:end] if w != ',']), t[end + 1:]
    if t and t[0] in COMPARE:
        right, rest = total(t[1:])
        return (t[0], left, right), rest
    return left, t


def total(t):
    left, t = term(t)
    while t and t[0] in '+-*':
        right, rest = term(t[1:])
        left, t = (t[0], left, right), rest
    return left, t


def term(t):
    if t[0] == '-':
        return ('number', -float(t[1])), t[2:]
    if re.match(r'\d', t[0]):
        return ('number', float(t[0])), t[1:]
    if t[0][0] == '"':
        return ('text', t[0][1:-1]), t[1:]
    if t[0] == '[':
        end = t.index(']')
        return ('list', [float(w) for w in t[1:end] if w != ',']), t[end + 1:]
    if len(t) > 1 and t[1] == '(':
        args, rest = [], t[2:]
        while rest[0] != ')':
            arg, rest = total(rest)
            args.append(arg)
            rest = rest[1:] if rest[0] == ',' else rest
        return ('call', t[0], args), rest[1:]
    if t[1:2] == ['[']:
        return ('item', t[0], int(t[2])), t[4:]
    return ('word', t[0]), t[1:]


class Node:
    """inputs: None or {'dtype', 'dims' (None: unknown dim), 'const': flat list or None, 'cube'};
    outputs: the same, None when nobody uses it; attrs: those that are given."""

    def __init__(self, inputs, outputs, attrs, defaults, soc):
        self.inputs, self.outputs, self.attrs = inputs, outputs, attrs
        self.defaults, self.soc = defaults, soc

    def port(self, word):
        side, k = PORT.match(word).groups()
        ports = self.inputs if side == 'in' else self.outputs
        return ports[int(k)] if int(k) < len(ports) else None


def count(dims):
    n = 1
    for d in dims:
        n = None if d is None or n is None else n * d
    return n


def dim(dims, k):
    return dims[int(k)] if k is not None and -len(dims) <= k < len(dims) else None


def same_dim(node, args):
    a, b = node.port(args[0][1]), node.port(args[2][1])
    sizes = [p and dim(p['dims'], value(node, k)) for p, k in ((a, args[1]), (b, args[3]))]
    return sizes[0] is not None and sizes[0] == sizes[1]


def static(node):
    return all(None not in p['dims'] for p in node.inputs + node.outputs if p)


def reversal(node, args):
    lists = [value(node, a) for a in args]
    if any(not isinstance(x, list) or len(x) != len(lists[0]) or not x for x in lists):
        return False
    return all((b == -1 or b >= 2**31 - 1) and e <= -2**31 + 1 and s == -1
               for b, e, s in zip(*lists))


def same_shapes(node):
    shapes = [p['dims'] for p in node.inputs if p]
    return all(None not in s and s == shapes[0] for s in shapes)


def last_two(axis, node):
    rank = len(node.inputs[0]['dims'])
    return axis is not None and (axis >= -2 if axis < 0 else rank - 2 <= axis < rank)


def folded(name, items):
    items = [items] if isinstance(items, int) else items
    if not items or not all(isinstance(i, int) for i in items):
        return None
    if name == 'product':
        return count(items)
    return min(items) if name == 'min' else max(items)


def spans(node, port, axis):
    """The dims of a port are those of the first operand from an axis on, as far as they are known;
    a 1 stretches where the other dim is not known to be 1."""
    whole = node.inputs[0]['dims']
    start = int(axis) + (len(whole) if axis < 0 else 0)
    if len(port['dims']) != len(whole) - start:
        return False
    pairs = zip(port['dims'], (dim(whole, start + i) for i in range(len(port['dims']))))
    return all(a == b or (a != 1 and None in (a, b)) for a, b in pairs)


def fill(items):
    """The one number that a constant is full of."""
    items = items if isinstance(items, list) else [items]
    return items[0] if items and all(i == items[0] for i in items) else None


def all_equal(items, n):
    return all(i == n for i in items) if isinstance(items, list) else None


def magnitude(a):
    return None if a is None else abs(a)


def remainder(a, b):
    return None if a is None or not b else a % b


def late_window(node):
    """Whether padding behind and step together are longer than a window, along some axis."""
    def given(name, default):
        return node.attrs.get(name) or node.defaults.get(name) or default
    kernel = given('kernel_shape', [])
    n, pads = len(kernel), given('pads', [])
    if given('auto_pad', 'NOTSET') != 'NOTSET' or len(pads) != 2 * n:
        pads = [0] * 2 * n
    rows = zip(kernel, given('dilations', [1] * n), pads[n:], given('strides', [1] * n))
    return any(after + step > (k - 1) * hole + 1 for k, hole, after, step in rows)


def call(node, name, args):
    port = node.port(args[0][1]) if args[0][0] == 'word' and PORT.match(args[0][1]) else None
    tests = {'is_const': lambda: port is not None and port['const'] is not None,
             'present': lambda: port is not None, 'absent': lambda: port is None,
             'const_or_absent': lambda: port is None or port['const'] is not None,
             'used': lambda: port is not None,
             'rank': lambda: port and len(port['dims']),
             'numel': lambda: port and count(port['dims']),
             'dtype': lambda: port and port['dtype'],
             'half': lambda: bool(port and port['dtype'] in ('f16', 'bf16')),
             'halvable': lambda: bool(port and port['dtype'] in ('f16', 'f32')),
             'wide': lambda: bool(port and port['dtype'] in ('bf16', 'f32')),
             'zero': lambda: port is None or (port['const'] is not None and not any(port['const'])),
             'from_cube': lambda: bool(port and port.get('cube')),
             'dim': lambda: port and dim(port['dims'], value(node, args[1])),
             'same_dim': lambda: same_dim(node, args),
             'spans': lambda: bool(port) and spans(node, port, value(node, args[1])),
             'set': lambda: args[0][1] in node.attrs,
             'scalar': lambda: fill(value(node, args[0])),
             'or': lambda: next((v for v in (value(node, a) for a in args) if v is not None), None),
             'all_equal': lambda: all_equal(value(node, args[0]), value(node, args[1])),
             'known': lambda: value(node, args[0]) is not None,
             'static': lambda: port is not None and None not in port['dims'],
             'abs': lambda: magnitude(value(node, args[0])),
             'mod': lambda: remainder(value(node, args[0]), value(node, args[1])),
             'sameshape': lambda: same_shapes(node),
             'last_two': lambda: last_two(value(node, args[0]), node),
             'reverse': lambda: reversal(node, args)}
    if name in ('min', 'max', 'product'):
        return folded(name, value(node, args[0]))
    return tests[name]()


def word(node, w):
    given = {'in': [p for p in node.inputs], 'out': [p for p in node.outputs]}
    for side in given.values():
        while side and side[-1] is None:
            side.pop()
    fixed = {'always': True, 'true': True, 'false': False, 'static': static(node),
             'nin': len(given['in']), 'nout': len(given['out']), 'soc': node.soc,
             'source_opset': 1000, 'in*': node.inputs}
    if w == 'ends_in_padding':
        return late_window(node)
    if w in fixed:
        return fixed[w]
    if w == 'channels':
        dims = node.inputs[0]['dims']
        return dims[1] if len(dims) > 1 else None
    if PORT.match(w):
        port = node.port(w)
        if not port or port['const'] is None:
            return None
        return port['const'] if port['dims'] else port['const'][0]
    return node.attrs.get(w, node.defaults.get(w))


def value(node, tree):
    kind = tree[0]
    if kind in ('number', 'text', 'list'):
        return tree[1]
    if kind == 'word':
        return word(node, tree[1])
    if kind == 'item':
        items = word(node, tree[1])
        return items[tree[2]] if isinstance(items, list) and tree[2] < len(items) else None
    if kind == 'call':
        return call(node, tree[1], tree[2])
    if kind in ('+', '-', '*'):
        a, b = value(node, tree[1]), value(node, tree[2])
        if a is None or b is None:
            return None
        return a + b if kind == '+' else a - b if kind == '-' else a * b
    return holds(node, tree)


def single(v):
    return v[0] if isinstance(v, list) and len(v) == 1 else v


def holds(node, tree):
    """What is unknown compares with nothing: every comparison with it fails, != too."""
    kind = tree[0]
    if kind == 'and':
        return holds(node, tree[1]) and holds(node, tree[2])
    if kind == 'or':
        return holds(node, tree[1]) or holds(node, tree[2])
    if kind == 'not':
        return value(node, tree[1]) is not None and not holds(node, tree[1])
    if kind == 'among':
        return value(node, tree[1]) in tree[2]
    if kind in COMPARE:
        a, b = single(value(node, tree[1])), single(value(node, tree[2]))
        if a is None or b is None or isinstance(a, list) or isinstance(b, list) or \
                isinstance(a, str) != isinstance(b, str):
            return False
        return COMPARE[kind](a, b)
    return bool(value(node, tree))


def literals(tree):
    """Numbers and texts of a guard: what a sampled node had better contain."""
    if tree[0] in ('number', 'text'):
        yield tree[1]
    for part in tree[1:]:
        for item in part if isinstance(part, list) else [part]:
            if isinstance(item, tuple):
                yield from literals(item)
