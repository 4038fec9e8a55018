# SPDX-License-Identifier: Apache-2.0
"""Files of many rules over ops that models are full of, none of which fits anywhere."""

UNARY = ('Relu Sigmoid Tanh Exp Sqrt Neg Abs Erf Softplus Floor Ceil Round Sign Reciprocal Log '
         'Softsign').split()
BINARY = ('Add', 'Sub', 'Mul', 'Div')


def numbers(i):
    """Rules told apart by a number."""
    u, b, c, k = UNARY[i % 16], BINARY[i // 16 % 4], BINARY[i // 64 % 4], i + 2.5
    return (f'%y = {b}(%x, const {k})', f'%a = {u}(%x)  %y = {b}(%a, const {k})',
            f'%a = {u}(%x)  %b = {b}(%a, const {k})  %y = {c}(%b, %x)')[i % 3]


def depths(i):
    """Rules told apart two and three steps above their roots."""
    u, v, w, b = UNARY[i % 16], UNARY[i // 16 % 16], UNARY[i // 256 % 16], BINARY[i // 16 % 4]
    return (f'%a = {u}(%x)  %b = {v}(%a)  %c = Reshape(%b, %_s)  %y = Transpose(%c) '
            f'{{perm=[{i % 4},{(i + 1) % 4},{(i + 2) % 4},{(i + 3) % 4}]}}',
            f'%a = {u}(%x)  %b = {v}(%a)  %c = {w}(%_z)  %y = Mul(%b, %c)',
            f'%a = {u}(%x)  %b = {v}(%a)  %c = {b}(%b, %_q)  %y = MatMul(%c, %_w)')[i % 3]


def attributes(i):
    """Rules told apart by an attribute; axes that large are in no model."""
    return (f'%c = Reshape(%x, %_s)  %y = Transpose(%c) {{perm=[{i},1,0]}}',
            f'%c = Transpose(%x) {{perm=[0,{i},1]}}  %y = Reshape(%c, %_s)',
            f'%c = Concat(%x, %_q) {{axis={100 + i}}}  %y = Reshape(%c, %_s)')[i % 3]


KINDS = {'numbers': numbers, 'depths': depths, 'attributes': attributes}


def text(kind, n):
    """A file of n rules."""
    rules = ''.join(f'rule More{i} : cleanup numerics exact {{\n  match {{ {KINDS[kind](i)} }}\n'
                    f'  replace {{ %y = Relu(%x) }}\n}}\n' for i in range(n))
    return 'rules 1\n' + rules
