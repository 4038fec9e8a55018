#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ops of users that a rule file defines, and rule files with mistakes.

  user_ops.py --tailor BIN [--ort FOLDER] [--n 200] [--seed 1]

Each op below has a definition and a graph of ONNX ops that computes the same, written by hand. The
model with the op has to compute what that graph does: in the evaluator, in NPU form, and as ONNX
with a function, in the evaluator and in ONNX Runtime (FOLDER has its node_modules). Then the files
are spoilt at random: an error has to name file and line, and nothing may crash. The last line is
'N passed, M failed, K skipped'."""
import argparse
import os
import random
import re
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# name: (definitions, head of the graph, with the op, by hand)
OPS = {
    'unary': ('define my::Cube(%x) { %a = Mul(%x, %x)  %y = Mul(%a, %x) return %y }',
              '%x: f32[2,n]', '%y = my::Cube(%x)', '%a = Mul(%x, %x)\n %y = Mul(%a, %x)'),
    'shared': ('define my::Cube(%x) { %a = Mul(%x, %x)  %y = Mul(%a, %x) return %y }',
               '%x: f32[2,n]', '%b = my::Cube(%x)\n %y = my::Cube(%b)',
               '%a = Mul(%x, %x)\n %b = Mul(%a, %x)\n %c = Mul(%b, %b)\n %y = Mul(%c, %b)'),
    'behind': ('define my::Cube(%x) { %a = Mul(%x, %x)  %y = Mul(%a, %x) return %y }',
               '%x: f32[2,3]', '%b = my::Cube(%x)\n %c = Relu(%b)\n %d = my::Cube(%c)\n'
               ' %y = Softmax(%d) {axis=-1}',
               '%a = Mul(%x, %x)\n %b = Mul(%a, %x)\n %c = Relu(%b)\n %e = Mul(%c, %c)\n'
               ' %d = Mul(%e, %c)\n %y = Softmax(%d) {axis=-1}'),
    'attribute': ('define my.ops::Line(%x) {$a, $b} { %m = Mul(%x, const $a) %y = Add(%m, const $b)'
                  ' return %y }', '%x: f32[2,3]',
                  '%t = my.ops::Line(%x) {a=2.0, b=0.5}\n %y = my.ops::Line(%t) {a=-1.0, b=3.0}',
                  'const %a: f32[] = 2.0\n const %b: f32[] = 0.5\n const %c: f32[] = -1.0\n'
                  ' const %d: f32[] = 3.0\n %m = Mul(%x, %a)\n %t = Add(%m, %b)\n'
                  ' %n = Mul(%t, %c)\n %y = Add(%n, %d)'),
    'list': ('define my::Mean(%x) {$axes} { %y = ReduceMean(%x, const i64 $axes) {keepdims=0}'
             ' return %y }', '%x: f32[2,3,4]', '%y = my::Mean(%x) {axes=[0,2]}',
             'const %i: i64[2] = [0, 2]\n %y = ReduceMean(%x, %i) {keepdims=0}'),
    'ways': ('define my::Act(%x) {$kind} where { $kind == "relu" } { %y = Relu(%x) return %y }\n'
             'define my::Act(%x) {$kind} where { $kind == "neg" } { %y = Neg(%x) return %y }',
             '%x: f32[2,3]', '%a = my::Act(%x) {kind="neg"}\n %y = my::Act(%a) {kind="relu"}',
             '%a = Neg(%x)\n %y = Relu(%a)'),
    'optional': ('define my::Plus(%x, %b) { %y = Add(%x, %b) return %y }\n',
                 '%x: f32[2,3], %b: f32[3]', '%y = my::Plus(%x, %b)', '%y = Add(%x, %b)'),
    'results': ('define my::Both(%x) { %a = Neg(%x)  %b = Abs(%x) return %a, %b }',
                '%x: f32[2,3]', '%a, %b = my::Both(%x)\n %y = Add(%a, %b)',
                '%a = Neg(%x)\n %b = Abs(%x)\n %y = Add(%a, %b)'),
    'nested': ('define my::Outer(%x) { %a = other::Inner(%x)  %y = Neg(%a) return %y }\n'
               'define other::Inner(%x) { %a = tl::Swish(%x)  %y = Exp(%a) return %y }',
               '%x: f32[2,3]', '%y = my::Outer(%x)',
               '%s = Sigmoid(%x)\n %m = Mul(%x, %s)\n %e = Exp(%m)\n %y = Neg(%e)'),
    'ours': ('define tl::Third(%x) { %y = Div(%x, const 3.0) return %y }',
             '%x: f32[2,3]', '%y = tl::Third(%x)',
             'const %c: f32[] = 3.0\n %y = Div(%x, %c)'),
    'branch': ('define my::Cube(%x) { %a = Mul(%x, %x)  %y = Mul(%a, %x) return %y }',
               '%x: f32[2,3], %c: bool[]',
               '%y = If(%c) {then_branch=graph @t() -> (%p) {\n %p = my::Cube(%x)\n },\n'
               ' else_branch=graph @e() -> (%q) {\n %q = Neg(%x)\n }}',
               '%y = If(%c) {then_branch=graph @t() -> (%p) {\n %s = Mul(%x, %x)\n'
               ' %p = Mul(%s, %x)\n },\n else_branch=graph @e() -> (%q) {\n %q = Neg(%x)\n }}'),
}
RULES = '''rule ToCube : graph {
  match { %a = Mul(%x, %x)  %y = Mul(%a, %x) }
  replace { %y = my::Cube(%x) }
}
define my::Cube(%x) { %a = Mul(%x, %x)  %y = Mul(%a, %x) return %y }
rule ToLine : graph {
  match { %a = Mul(%x, const ~2.5)  %y = Softmax(%a) {axis=$n} }
  where { rank(%x) == 2 }
  replace { %h = my::Line(%x) {a=2.5, axes=[0, 1]}  %y = Softmax(%h) {axis=$n} }
}
define my::Line(%x) {$a, $_axes} where { is_float(%x) } {
  %y = Mul(%x, const dtype(%x) $a)
  return %y
}
'''
MODEL = '''graph @g(%x: f32[2,3]) -> (%y, %z) {
  const %k: f32[] = 2.5
  %a = Mul(%x, %x)
  %y = Mul(%a, %x)
  %b = Mul(%x, %k)
  %z = Softmax(%b) {axis=1}
}
'''


def run(args, *command, **env):
    return guard.run([args.tailor, *command], capture_output=True, text=True, check=False,
                     env=dict(os.environ, **env))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def check_op(args, folder, name):
    """What is wrong with an op of the table above; None: nothing."""
    define, head, with_op, by_hand = OPS[name]
    file = lambda what: os.path.join(folder, what)
    graph = 'graph @g({}) -> (%y) {{\n {}\n}}\n'
    rules = '--rules=' + write(file('r.tlr'), 'rules 1\n' + define + '\n')
    op = write(file('op.tir'), graph.format(head, with_op))
    hand = write(file('hand.tir'), graph.format(head, by_hand))
    made = run(args, 'convert', op, rules, '-q', '-o', file('op.onnx'), '-o', file('op.air'))
    if made.returncode:
        return 'convert: ' + made.stderr[:200]
    node = 'node ' + os.path.join(ROOT, 'tools', 'runners', 'onnxruntime.js')
    commands = [['verify', op, hand, rules], ['verify', op, rules, '--npu'],
                ['verify', file('op.onnx'), hand]]
    if args.ort:
        commands.append(['verify', file('op.onnx'), hand, '--runner', node])
    for command in commands:
        p = run(args, *command, '--tensors=0', *(['--dim', 'n=3'] if ',n]' in head else []),
                NODE_PATH=os.path.join(args.ort or '', 'node_modules'))
        if p.returncode or 'equal   "y"' not in p.stdout:
            return ' '.join(command[:1] + command[3:]) + ': ' + (p.stderr + p.stdout)[:300]
    return None


def spoil(rng, text):
    """The rule file with one to three mistakes of the kinds that people make."""
    swaps = [(r'my::\w+', lambda: rng.choice(['tl::Nobody', 'Relu', 'my::Line', 'my::Cube', 'Gemm',
                                              'npu::Nobody', 'tl::RmsNorm', 'Nobody'])),
             (r'\b(Mul|Softmax)\b', lambda: rng.choice(['Add', 'my::Cube', 'my::Line', 'Split',
                                                        'If', 'Clip', 'tl::While', 'Cast'])),
             (r'\(%\w+\)', lambda: rng.choice(['()', '(%x, %x)', '(_)', '(%x...)', '(%y)',
                                               '(const 1)', '(%x, _, %x)'])),
             (r'\{a=.*?\}', lambda: rng.choice(['', '{a="b"}', '{a=[1.0]}', '{b=1}', '{a=f32}',
                                                '{a=1 / 0}', '{axis=[0]}', '{from %a}'])),
             (r'\{axis=.*?\}', lambda: rng.choice(['{axis="one"}', '{axis=[1]}', '{axis=0.5}', '',
                                                   '{axis=-7}', '{to=1}', '{axis=$m}'])),
             (r'\{\$a, \$_axes\}', lambda: rng.choice(['', '{$a}', '{$a, $a}', '{$axes}', '{}'])),
             (r'return %y', lambda: rng.choice(['return %a', 'return %x', 'return', 'return %y, %y',
                                                ''])),
             (r'const [^)]*', lambda: rng.choice(['const "x"', 'const $a', 'const', 'const %a',
                                                  'const [1, 2]', 'const i64 1.5'])),
             (r'[{}()=,]', lambda: rng.choice(['', '{', '}', '(', ')', ','])),
             (r'where \{.*?\}', lambda: rng.choice(['', 'where { $q }', 'where { dim(%x, 9) > 1 }',
                                                    'where { rank(%y) }', 'where { 1 / 0 == 1 }']))]
    for _ in range(rng.randint(1, 3)):
        pattern, new = rng.choice(swaps)
        found = list(re.finditer(pattern, text))
        if found:
            m = rng.choice(found)
            text = text[:m.start()] + new() + text[m.end():]
    return text


def check_spoilt(args, folder, rng):
    """What is wrong with how a spoilt file is taken; None: nothing."""
    path = write(os.path.join(folder, 's.tlr'), 'rules 1\n' + spoil(rng, RULES))
    model = os.path.join(folder, 'm.tir')
    rules = '--rules=' + path
    for command in (['opt', model, rules, '--verify-each', '-o', os.path.join(folder, 'm.onnx')],
                    ['convert', model, rules, '-q', '-o', os.path.join(folder, 'm.air')],
                    ['explain', model, rules], ['passes', rules]):
        p = run(args, *command)
        clear = re.search(r'error: .{10,}', p.stderr) and (p.returncode != 1 or path in p.stderr)
        if p.returncode not in (0, 1, 2, 3) or (p.returncode and not clear):
            return f'{command[0]} ends with {p.returncode}: {p.stderr[:300]}\n' + open(path).read()
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', help='folder with node_modules of ONNX Runtime')
    p.add_argument('--n', type=int, default=200, help='number of spoilt files')
    p.add_argument('--seed', type=int, default=1)
    args = p.parse_args()
    wrong = {}
    with tempfile.TemporaryDirectory(prefix='tailor-ops-') as folder:
        for name in OPS:
            wrong[name] = check_op(args, folder, name)
        write(os.path.join(folder, 'm.tir'), MODEL)
        for i in range(args.n):
            rng = random.Random(args.seed * 1000003 + i)
            wrong[f'spoilt file {i}'] = check_spoilt(args, folder, rng)
    for name, why in wrong.items():
        if why:
            print(f'FAIL {name}: {why}')
    failed = sum(why is not None for why in wrong.values())
    print(f'{len(wrong) - failed} passed, {failed} failed, {int(not args.ort)} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
