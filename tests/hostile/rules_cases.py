# SPDX-License-Identifier: Apache-2.0
"""Rule files that are damaged, huge, no rules, or no files; and rules that never come to an end."""
import config_files
from config_files import USAGE_EXIT, Reader

MODEL = b'''graph @g(%x: f32[2,3]) -> (%y) {
  %a = Softsign(%x)
  %b = Tanh(%a)
  %c = Elu(%b) {alpha=0.5}
  %y = Add(%c, %x)
}
'''
GOOD = b'''rules 1
rule Signs : graph "SignsFusionPass" numerics approximate about "one sign" {
  match { %a = Softsign(%x)  %b = maybe Tanh(%a)  %y = Elu|Selu(%b) {alpha=$v, ...} }
  where { rank(%x) == 2 && $v in [0.5, 1]  let $n = dim(%x, -1)  $n >= 1 }
  replace { %y = Softsign(%x) }
}
'''


def rule(match, replace, where='', head='cleanup numerics exact', name='R'):
    where = b'  where { %s }\n' % where.encode() if where else b''
    return b'rule %s : %s {\n  match { %s }\n%s  replace { %s }\n}\n' % (
        name.encode(), head.encode(), match.encode(), where, replace.encode())


def text(*rules):
    return b'rules 1\n' + b''.join(rules)


READER = Reader('rules', 'hostile.tlr', ('model.tir', MODEL),
                ['--numerics=approximate', '--rules'], GOOD)


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    yield from config_files.cases(scratch, box, READER, [*contents(), *scopes(), *endless()], 3, 5)
    yield from config_files.no_files(scratch, box, READER)


def contents():
    wrong = (USAGE_EXIT,)
    one = 'match { %y = Elu(%x) {...} }'
    yield 'the good one', (0,), GOOD
    yield 'empty', wrong, b''
    yield 'zeros', wrong, bytes(4096)
    yield 'JSON', wrong, b'{"rules": 1}'
    yield 'another version', wrong, GOOD.replace(b'rules 1', b'rules 2')
    yield '100 MB of brackets', (USAGE_EXIT, 2), config_files.brackets
    yield '4 MB of brackets', wrong, b'rules 1\n' + b'[' * 4_000_000
    yield 'nested parentheses', wrong, text(rule(
        '%y = Elu(%x)', '%y = Relu(%x)', '(' * 500_000 + '1'))
    yield 'nested lists', wrong, text(rule(
        '%y = Elu(%x)', '%y = Relu(%x)', '[' * 500_000))
    yield 'nested signs', wrong, text(rule(
        '%y = Elu(%x)', '%y = Relu(%x)', '!' * 500_000 + 'true'))
    yield 'a long sum', (0, USAGE_EXIT), text(rule(
        '%y = Elu(%x)', '%y = Relu(%x)', '1' + ' + 1' * 500_000 + ' == 2'))
    yield 'a long name', (0, USAGE_EXIT), GOOD.replace(b'Signs', b'S' * 1_000_000)
    yield 'a long string', (0, USAGE_EXIT), GOOD.replace(b'one sign', b's' * 1_000_000)
    yield 'many rules', (0,), text(*(rule('%y = Elu(%x)', '%y = Relu(%x)', name=f'R{i}')
                                     for i in range(20_000)))
    yield 'many nodes', wrong, text(rule(
        ' '.join(f'%v{i + 1} = Tanh(%v{i})' for i in range(100)), '%v100 = Tanh(%v0)'))
    yield 'many operands', wrong, text(rule(
        '%y = Concat(' + ', '.join(f'%v{i}' for i in range(1000)) + ')', '%y = Relu(%v0)'))
    yield 'many conditions', wrong, text(rule(
        '%y = Elu(%x)', '%y = Relu(%x)', 'rank(%x) == 2 ' * 10_000))
    yield 'many alternatives', wrong, text(rule('%y = ' + 'Elu|' * 10_000 + 'Elu(%x)',
                                                '%y = Relu(%x)'))
    either = 'either { %%v%d = Abs(%%x) } or { %%v%d = Neg(%%x) } '
    yield 'many choices', wrong, text(rule(
        ''.join(either % (i, i) for i in range(10_000)), '%v1 = Relu(%x)'))
    yield 'many alternatives of a choice', wrong, text(rule(
        'either { %y = Abs(%x) }' + ' or { %y = Neg(%x) }' * 10_000, '%y = Relu(%x)'))
    yield 'nested choices', wrong, text(rule('either { ' * 100_000, '%y = Relu(%x)'))
    yield 'a choice without end', wrong, text(rule('either { %y = Abs(%x) } or {', '%y = Relu(%x)'))
    yield 'a choice of nothing', wrong, text(rule('either { } or { }', '%y = Relu(%x)'))
    yield 'a name given twice', wrong, text(rule('%y = Elu(%x)', '%y = Relu(%x)'),
                                            rule('%y = Elu(%x)', '%y = Tanh(%x)'))
    yield 'a clause given twice', wrong, GOOD.replace(b'about', b'numerics exact about')
    yield 'an attribute given twice', wrong, GOOD.replace(b'{alpha=$v', b'{alpha=$v, alpha=$w')
    yield 'a string for a kind', wrong, GOOD.replace(b': graph', b': "graph"')
    yield 'a number for a pass', wrong, GOOD.replace(b'"SignsFusionPass"', b'17')
    yield 'a word for a priority', wrong, GOOD.replace(b'about', b'priority high about')
    yield 'a huge priority', wrong, GOOD.replace(b'about', b'priority 99999999999999999999 about')
    yield 'a huge number', (0, USAGE_EXIT), GOOD.replace(b'0.5', b'9' * 4000)
    yield 'an unknown op', wrong, GOOD.replace(b'Softsign', b'Softsing')
    yield 'an unknown function', wrong, GOOD.replace(b'rank(', b'rang(')
    yield 'a function without arguments', wrong, GOOD.replace(b'rank(%x)', b'rank()')
    yield 'an unknown dtype', wrong, text(rule('%y = Elu(%x)', '%y = Cast(%x) {to=onnx(f31)}'))
    yield 'an unbound value', wrong, GOOD.replace(b'replace { %y = Softsign(%x)',
                                                  b'replace { %y = Softsign(%q)')
    yield 'a pattern in two parts', wrong, text(rule('%a = Tanh(%x)  %y = Elu(%z)', '%y = %x'))
    yield 'a pattern in a circle', wrong, text(rule('%a = Tanh(%y)  %y = Elu(%a)', '%y = Tanh(%a)'))
    yield 'bytes that are no UTF-8', (0, USAGE_EXIT), GOOD.replace(b'one sign', b'\xff\xfe\xc0\x80')
    yield 'a name that is no UTF-8', wrong, GOOD.replace(b'Signs :', b'S\xffgns :')
    yield 'UTF-16', wrong, GOOD.decode().encode('utf-16')
    yield 'a string without end', wrong, GOOD.replace(b'one sign"', b'one sign')
    yield 'terminal codes', (0, USAGE_EXIT), GOOD.replace(b'one sign', b'\x1b[2J')
    yield 'terminal codes in an error', wrong, GOOD.replace(b'Softsign', b'"\x1b[2J"')
    yield 'format strings', (0, USAGE_EXIT), GOOD.replace(b'one sign', b'%s%n%s%n')
    yield 'an index far outside', (0,), GOOD.replace(b'-1)', b'9223372036854775807)')
    yield 'the least integer', (0, USAGE_EXIT), GOOD.replace(
        b'$n >= 1', b'-9223372036854775807 - 1 - $n / (0 - 0) == mod(5, 0)')
    yield 'a list without bound', (0, USAGE_EXIT), text(rule(
        '%y = Elu(%x) {...}', '%y = Reshape(%x, const i64 repeat(2, 9000000000))'))
    yield 'a definition of an op of ONNX', wrong, b'rules 1\ndefine Relu(%x) {\n return %x\n}\n'
    yield 'a definition by itself', (0, USAGE_EXIT), (
        b'rules 1\ndefine tl::RmsNorm(%x, %g) {$axis, $epsilon} {\n'
        b'  %y = tl::RmsNorm(%x, %g) {axis=$axis, epsilon=$epsilon}\n  return %y\n}\n')
    yield 'a condition on nothing', wrong, text(
        b'rule R : cleanup {\n ' + one.encode() + b' where { } replace { } }\n')


def scopes():
    """Rules about scopes, as wrong as rules can be."""
    wrong = (USAGE_EXIT,)
    scope = lambda features, name='S': (
        b'scope "*" : %s general { %s boundary (%%x) -> (%%y) } -> my::S\n' % (
            name.encode(), features.encode()))
    yield 'a scope that is captured', (0,), text(scope('types { Tanh 0 or more }'))
    yield 'a scope without a meaning', wrong, text(scope('').replace(b' -> my::S', b''))
    yield 'a scope that becomes an op of ONNX', wrong, text(scope('').replace(b'my::S', b'Relu'))
    known = lambda features, op='Elu': scope(features).replace(b'my::S', op.encode())
    yield 'a scope that becomes an op with samples', (0,), text(known('verify {}'))
    yield 'a scope that becomes an op of the NPU', wrong, text(known('verify {}', 'npu::Elu'))
    yield 'a scope that becomes a loop', wrong, text(known('verify {}', 'Loop'))
    yield 'a scope that becomes an op of two operands', wrong, text(known('verify {}', 'Add'))
    yield 'many samples', wrong, text(known('verify {samples=1000000}'))
    yield 'no samples', wrong, text(known('verify {samples=0}'))
    yield 'half a sample', wrong, text(known('verify {samples=0.5}'))
    yield 'a tolerance of everything', wrong, text(known('verify {rtol=inf}'))
    yield 'a tolerance that is no number', wrong, text(known('verify {atol=nan}'))
    yield 'a negative tolerance', wrong, text(known('verify {atol=-1}'))
    yield 'an unknown bound', wrong, text(known('verify {ulp=1}'))
    yield 'samples twice', wrong, text(known('verify {samples=1, samples=1}'))
    yield 'a verification without end', wrong, b'rules 1\nscope "*" : S { verify {rtol=1'
    yield 'a verified pattern', wrong, GOOD.replace(b': graph', b': scope').replace(
        b'match {', b'in "*" verify {} match {')
    yield 'an attribute of a scope', (0,), text(known('verify {}', 'Elu {alpha=1/2.0}'))
    yield 'an attribute that the op lacks', wrong, text(known('verify {}', 'Elu {beta=1}'))
    yield 'an attribute of another kind', wrong, text(known('verify {}', 'Elu {alpha="a"}'))
    yield 'an attribute of a value', wrong, text(known('verify {}', 'Elu {alpha=rank(%x)}'))
    yield 'an attribute given twice to a scope', wrong, text(
        known('verify {}', 'Elu {alpha=1.0, alpha=1.0}'))
    yield 'an attribute from far outside', (0,), text(
        known('verify {}', 'Elu {alpha=const(Elu, 999999)}'))
    yield 'many attributes of a scope', wrong, text(
        known('verify {}', 'Elu {' + 'alpha=1.0, ' * 10_000 + '}'))
    yield 'a scope named twice', wrong, text(scope(''), scope(''))
    yield 'many counts', wrong, text(scope('types { ' + 'Tanh 1, ' * 10_000 + '}'))
    yield 'many types', wrong, text(scope('types { ' + 'Tanh|' * 10_000 + 'Tanh 1 }'))
    yield 'many scopes inside', wrong, text(scope('child "a" { Tanh 1 } ' * 10_000))
    yield 'many names', wrong, text(scope('except ' + ', '.join(['"a"'] * 10_000)))
    yield 'many values at a boundary', wrong, text(scope('').replace(
        b'(%x)', b'(' + b', '.join(b'%%x%d' % i for i in range(1000)) + b')'))
    yield 'a boundary without end', wrong, b'rules 1\nscope "*" : S { boundary (%x'
    yield 'a pattern of stars', wrong, text(scope('except "' + '*a' * 100_000 + '"'))
    yield 'a shorter pattern of stars', (0,), text(scope('except "' + '*a' * 500 + '"'))
    yield 'many attributes', wrong, text(scope('attrs { Elu {' + 'alpha=1, ' * 10_000 + '} }'))
    yield 'attributes without end', wrong, b'rules 1\nscope "*" : S { attrs { Elu {alpha'
    yield 'a rank of nothing', wrong, text(scope('').replace(b'(%x)', b'(%x rank)'))
    yield 'a huge rank', (0,), text(scope('').replace(b'(%x)', b'(%x rank 999999)'))
    yield 'a negative number of nodes', wrong, text(scope('types { Tanh -1 }'))
    yield 'a huge number of nodes', wrong, text(scope('types { Tanh 99999999999999999999 }'))
    yield 'no number of nodes', wrong, text(scope('types { Tanh }'))
    yield 'features of a graph rule', wrong, GOOD.replace(b'match {', b'in "*" match {')
    yield 'a scope rule without a scope', wrong, GOOD.replace(b': graph', b': scope')


def endless():
    """Rules that would go on for ever: the rounds are bounded."""
    yield 'a rule that undoes itself', (0,), text(rule('%y = Tanh(%x)', '%y = Tanh(%x)'))
    yield 'two rules that undo each other', (0,), text(
        rule('%y = Tanh(%x)', '%y = Softsign(%x)', name='A'),
        rule('%y = Softsign(%x)', '%y = Tanh(%x)', name='B'))
    yield 'a rule that grows', (0,), text(rule('%y = Tanh(%x)', '%a = Tanh(%x)  %y = Neg(%a)'))
    grown = '  '.join(f'%v{i} = Tanh({"%x" if i == 0 else f"%v{i - 1}"})' for i in range(20))
    yield 'a rule that grows twentyfold', (0, 2, 3, 70), text(
        rule('%y = Tanh(%x)', grown + '  %y = Tanh(%v19)'))
