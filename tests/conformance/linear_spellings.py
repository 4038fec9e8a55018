# SPDX-License-Identifier: Apache-2.0
"""Products and convolutions in all forms, before factors, terms and batch normalization in all
forms: one node, or two behind a product of batches, for which ONNX has no op with a bias."""
from spelled import Net

COLUMNS = 5


class Head:
    """value: what the product or convolution gives; axis: its dim of columns or channels."""

    def __init__(self, net, value, rank, axis, n):
        self.net, self.value, self.rank, self.axis, self.n = net, value, rank, axis, n

    def numbers(self, form):
        """number: one; vector: one for each column, as short as can be; whole: of full rank."""
        if form == 'number':
            return self.net.some()
        short = (self.n, *[1] * (self.rank - 1 - self.axis))
        return self.net.some(*[1] * (self.rank - len(short) if form == 'whole' else 0), *short)


# ---- heads ---------------------------------------------------------------------------------------


def product(rank):
    def write(net):
        x = net.feed(*(2, 3, 4, 6)[-rank:])
        return Head(net, net.op('MatMul', x, net.weights(6, COLUMNS)), rank, rank - 1, COLUMNS)
    return write


def gemm(bias=None, **attrs):
    def write(net):
        x = net.feed(*((6, 4) if attrs.get('transA') else (4, 6)))
        w = net.weights(*((COLUMNS, 6) if attrs.get('transB') else (6, COLUMNS)))
        third = [] if bias is None else [net.some(*bias)]
        return Head(net, net.op('Gemm', x, w, *third, **attrs), 2, 1, COLUMNS)
    return write


def conv(kind, dims, bias, group=1):
    def write(net):
        inner, outer = (10, 10) if group > 1 else (4, COLUMNS)
        x = net.feed(2, inner, *[7] * dims)
        sizes = (outer, inner // group) if kind == 'Conv' else (inner, outer // group)
        third = [net.some(outer)] if bias else []
        v = net.op(kind, x, net.weights(*sizes, *[3] * dims), *third, group=group)
        return Head(net, v, dims + 2, 1, outer)
    return write


HEADS = {'MatMul 2': product(2), 'MatMul 3': product(3), 'MatMul 4': product(4),
         'Gemm alpha': gemm((COLUMNS,), alpha=2.0, transB=1),
         'Gemm alpha beta': gemm((1, COLUMNS), alpha=0.5, beta=0.3, transB=1),
         'Gemm transA': gemm((COLUMNS,), transA=1), 'Gemm matrix': gemm((4, COLUMNS), transB=1)}
for turned in (0, 1):
    for third in (None, (COLUMNS,), (1, COLUMNS), (1,), ()):
        HEADS[f'Gemm {turned} {third}'] = gemm(third, transB=turned)
for op in ('Conv', 'ConvTranspose'):
    for spatial in (1, 2, 3):
        for biased in (0, 1):
            HEADS[f'{op} {spatial} {biased}'] = conv(op, spatial, biased)
    HEADS[f'{op} groups'], HEADS[f'{op} depth'] = conv(op, 2, 1, 2), conv(op, 2, 0, 10)


# ---- tails: each step rewrites head.value --------------------------------------------------------


def arithmetic(kind, form, first=False):
    def write(head):
        operands = (head.value, head.numbers(form))
        return head.net.op(kind, *(operands[::-1] if first else operands))
    return write


def batch_norm(head):
    """Of channels that are not dim 1, between Transposes."""
    net, v = head.net, head.value
    if head.axis != 1:
        v = net.op('Transpose', v, perm=[0, head.rank - 1, *range(1, head.rank - 1)])
    v = net.op('BatchNormalization', v, *[net.some(head.n) for _ in range(4)], epsilon=1e-3)
    if head.axis != 1:
        v = net.op('Transpose', v, perm=[0, *range(2, head.rank), 1])
    return v


def negative(head):
    return head.net.op('Neg', head.value)


TAILS = {'BN': [batch_norm], 'Neg': [negative],
         'Mul Add BN': [arithmetic('Mul', 'vector'), arithmetic('Add', 'vector'), batch_norm],
         'BN Mul Add': [batch_norm, arithmetic('Mul', 'vector'), arithmetic('Add', 'vector')],
         'Mul number Add': [arithmetic('Mul', 'number'), arithmetic('Add', 'vector')],
         'Add Mul number': [arithmetic('Add', 'vector'), arithmetic('Mul', 'number')],
         'Sum': [arithmetic('Sum', 'vector')]}
for shape in ('number', 'vector', 'whole'):
    for op in ('Mul', 'Add', 'Sub', 'Div'):
        TAILS[f'{op} {shape}'] = [arithmetic(op, shape)]
    TAILS[f'from {shape}'] = [arithmetic('Sub', shape, True)]
    TAILS[f'left {shape}'] = [arithmetic('Mul', shape, True)]
    TAILS[f'Add Mul {shape}'] = [arithmetic('Add', shape), arithmetic('Mul', shape)]
    TAILS[f'pieces {shape}'] = [arithmetic(op, shape) for op in ('Sub', 'Div', 'Mul', 'Add')]


# ---- between head and tail -----------------------------------------------------------------------


def cut_rows(head):
    """A Reshape that keeps the columns."""
    head.value = head.net.op('Reshape', head.value, head.net.ints(2, 2, -1))
    head.rank, head.axis = 3, 2


def last(head):
    head.value = head.net.op('Transpose', head.value, perm=[0, *range(2, head.rank), 1])
    head.axis = head.rank - 1


BETWEEN = {'rows': (cut_rows, ('MatMul 2', 'Gemm 0 None', 'Gemm 1 (5,)')),
           'last': (last, ('Conv 1 0', 'Conv 2 1', 'ConvTranspose 2 0'))}
BEHIND = ('Mul vector', 'Add Mul vector', 'pieces vector', 'pieces number', 'BN')


def write(head, tail, between=None, users=1):
    net = Net()
    h = HEADS[head](net)
    if between:
        BETWEEN[between][0](h)
    for step in TAILS[tail]:
        h.value = step(h)
    v = h.value
    return net.model(*([net.op('Relu', v), net.op('Tanh', v)] if users == 2 else [v]))


def models():
    """(name, model, most nodes)"""
    for head in HEADS:
        n = 2 if head in ('MatMul 3', 'MatMul 4') else 1
        for tail in TAILS:
            yield f'{head}, {tail}', write(head, tail), n
        yield f'{head}, BN, used twice', write(head, 'BN', users=2), n + 2
        yield f'{head}, pieces, used twice', write(head, 'pieces vector', users=2), n + 2
    for between, (_, heads) in BETWEEN.items():
        for head in heads:
            for tail in BEHIND:
                # batch normalization behind a product with rows cut: of other dims than columns
                if (between, tail) != ('rows', 'BN'):
                    yield f'{head}, {between}, {tail}', write(head, tail, between), 2
