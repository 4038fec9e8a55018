#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Layers as exporters spell them become as few nodes as they can be, and compute the same.

  spellings.py --tailor BIN --ort DIR [--work DIR] [--findings DIR] [--every N] [--only TEXT]
               [--list]

Each model is written here: products and convolutions in all forms before factors, terms and batch
normalization in all forms (linear_spellings), norms in pieces (norm_spellings), attention by Einsum
and rotary embeddings. It has to become at most as many nodes as the table says, and ONNX Runtime
has to compute the same before and after. Products whose matrices are turned, with a bias, have to
be the same for the NPU. --findings: the files of that folder, each with what it should become;
without it they are skipped. The last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import onnx  # noqa: E402

import guard  # noqa: E402
import linear_spellings  # noqa: E402
import nodes  # noqa: E402
import norm_spellings  # noqa: E402
from spelled import Net  # noqa: E402

NPU_OP = re.compile(r'^  %.* = ([\w:]+)\(', re.M)
# Models of others, and what they become: the most nodes for ONNX Runtime, or an op of the NPU.
FINDINGS = {'tf_nhwc.onnx': 21, 'se.onnx': 5, 'gb_1_0.onnx': 1, 'gb_1_1.onnx': 1,
            'rt_2_0_0.onnx': 'tl::RotaryMul', 'rt_2_0_1.onnx': 'tl::RotaryMul',
            'einattn.onnx': 'tl::Attention'}  # in the folder fusion


RULES = 'fusion/s9.tlr'  # makes a tl:: op that nobody defines
ERROR = "the op 'tl::Foo' does not exist"
NPU = ('npu/res.tir', 'npu/ct.tir', 'npu/bmm.tir')  # have a form for the NPU, which is the same


# ---- attention by Einsum, rotary embeddings: (name, model, op of the NPU) ----------------------

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 4, 6, 5, 8
ROWS = (BATCH, QUERIES, HEADS, WIDTH), (BATCH, KEYS, HEADS, WIDTH)
FIRST = (BATCH, HEADS, QUERIES, WIDTH), (BATCH, HEADS, KEYS, WIDTH)
ONE = (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH)
# (scores, context, shapes of queries and of keys, which operand comes second in each)
EQUATIONS = {
    'rows': ('bqhd,bkhd->bhqk', 'bhqk,bkhd->bqhd', ROWS, ''),
    'keras': ('aecd,abcd->acbe', 'acbe,aecd->abcd', ROWS, 'q'),
    'bert': ('BTNH,BFNH->BNFT', 'BNFT,BTNH->BFNH', ROWS, 'q'),
    'values first': ('bqhd,bkhd->bhqk', 'bkhd,bhqk->bqhd', ROWS, 'p'),
    'to heads': ('bqhd,bkhd->bhqk', 'bhqk,bkhd->bhqd', ROWS, ''),
    'heads': ('bhqd,bhkd->bhqk', 'bhqk,bhkd->bhqd', FIRST, ''),
    'spaces': ('b h i d, b h j d -> b h i j', 'b h i j, b h j d -> b h i d', FIRST, ''),
    'dots': ('...qd,...kd->...qk', '...qk,...kd->...qd', FIRST, ''),
    'one head': ('bqd,bkd->bqk', 'bqk,bkd->bqd', ONE, '')}
SCALES = {'after': ('Mul', 0.35355338, 1), 'divided': ('Div', 2.828427, 1),
          'before': ('Mul', 0.35355338, 0)}


def attention(scores, context, shapes, second, scale):
    net = Net()
    q, k, v = net.feed(*shapes[0]), net.feed(*shapes[1]), net.feed(*shapes[1])
    kind, factor, behind = SCALES[scale]
    q = q if behind else net.op(kind, q, net.const(factor))
    s = net.op('Einsum', *((k, q) if second == 'q' else (q, k)), equation=scores)
    s = net.op(kind, s, net.const(factor)) if behind else s
    p = net.op('Softmax', s, axis=-1)
    return net.model(net.op('Einsum', *((v, p) if second == 'p' else (p, v)), equation=context))


def rotary(dims, table, steps, end, minus, halves):
    """halves: parts are rotated apart; else cosine and sine are as wide as x."""
    net = Net()
    x, cos, sin = net.feed(*dims), net.feed(*table), net.feed(*table)

    def part(begin, stop):
        return net.op('Slice', x, net.ints(begin), net.ints(stop), net.ints(-1),
                      *([net.ints(1)] if steps else []))
    a, b = part(0, 4), part(4, end)
    if halves:
        left = net.op('Sub', net.op('Mul', a, cos), net.op('Mul', b, sin))
        right = net.op('Add', net.op('Mul', b, cos), net.op('Mul', a, sin))
        return net.model(net.op('Concat', left, right, axis=-1))
    negative = net.op('Mul', b, net.const(-1)) if minus else net.op('Neg', b)
    turned = net.op('Concat', negative, a, axis=-1)
    return net.model(net.op('Add', net.op('Mul', x, cos), net.op('Mul', turned, sin)))


def npu_models():
    for name, (scores, context, shapes, second) in EQUATIONS.items():
        for scale in SCALES:
            yield (f'einsum {name} {scale}', attention(scores, context, shapes, second, scale),
                   'tl::Attention')
    tables = {(2, 4, 6, 8): ((6, 8), (1, 1, 6, 8), (2, 1, 6, 8)), (2, 6, 4, 8): ((1, 6, 1, 8),)}
    for dims, shapes in tables.items():
        for table in shapes:
            for steps in (0, 1):
                for end, minus in ((8, 0), (2**63 - 1, 1)):
                    yield (f'rotary {dims} {table} {steps}{minus}',
                           rotary(dims, table, steps, end, minus, False), 'tl::RotaryMul')
                narrow = table[:-1] + (4,)
                yield (f'rotary halves {dims} {table} {steps}',
                       rotary(dims, narrow, steps, 8, 0, True), 'tl::RotaryMul')


# ---- the test ------------------------------------------------------------------------------------


def wanted(args):
    """[(name, path, most nodes or op of the NPU)], of models that are written to files."""
    listed = [*linear_spellings.models(), *norm_spellings.models()][::args.every]
    found = []
    for name, model, limit in [*listed, *npu_models()]:
        if not args.only or args.only in name:
            path = os.path.join(args.work, f'{len(found)}.onnx')
            onnx.save(model, path)
            found.append((name, path, limit))
    if args.findings:
        found += [(name, os.path.join(args.findings, 'fusion', name), limit)
                  for name, limit in FINDINGS.items()]
    return found


def npu_ops(args, path):
    """Ops of the form for the NPU; None if the model is refused."""
    out = os.path.join(args.work, 'npu.tir')
    p = guard.run([args.tailor, 'convert', path, '-q', '-o', out], capture_output=True, text=True)
    if p.returncode:
        return None
    with open(out, encoding='utf-8') as f:
        return NPU_OP.findall(f.read())


def turned_products():
    """{name: text} of products of a batch whose matrices may be turned, with and without a bias."""
    for a in (0, 1):
        for b in (0, 1):
            for bias in ('', '5', '1,1,5', '2,3,5'):
                added = f', %b: f32[{bias}]' if bias else ''
                text = [f'graph @g(%x: f32[2,{"4,3" if a else "3,4"}], '
                        f'%w: f32[{"5,4" if b else "4,5"}]{added}) -> (%y) {{']
                text += ['  %t = Transpose(%x) {perm=[0,2,1]}'] if a else []
                text += ['  %u = Transpose(%w) {perm=[1,0]}'] if b else []
                text.append(f'  %{"m" if bias else "y"} = MatMul(%{"t" if a else "x"}, '
                            f'%{"u" if b else "w"})')
                text += ['  %y = Add(%m, %b)'] if bias else []
                yield f'product {a}{b} {bias}', '\n'.join([*text, '}', ''])


def same_for_npu(args, tally, name, path, *sizes):
    """The model becomes AIR, and the evaluator compares it with its form for the NPU."""
    tally.passed(nodes.convert(args, path, os.path.join(args.work, 'npu.air')), f'{name}: no AIR')
    p = guard.run([args.tailor, 'verify', '--npu', path, *sizes], capture_output=True,
                  text=True)
    tally.passed(p.returncode == 0, f'{name}: {p.stdout[-300:]}{p.stderr[-300:]}')


def npu_forms(args, tally):
    for name, text in turned_products():
        path = os.path.join(args.work, 'product.tir')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        same_for_npu(args, tally, name, path)
    for name in NPU if args.findings else ():
        same_for_npu(args, tally, name, os.path.join(args.findings, name),
                     *([] if 'bmm' in name else ['--dim=H=5', '--dim=W=7']))


def undefined_op(args, tally):
    path = os.path.join(args.work, 'sin.tir')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('graph @g(%x: f32[2]) -> (%y) {\n  %y = Sin(%x)\n}\n')
    p = guard.run([args.tailor, 'opt', '--rules=' + os.path.join(args.findings, RULES), path],
                  capture_output=True, text=True)
    tally.passed(p.returncode == 1 and ERROR in p.stderr, f'{RULES}: {p.stderr}')


def compare(args, tally):
    rows = []
    for i, (name, path, limit) in enumerate(wanted(args)):
        after = os.path.join(args.work, f'{i}.after.onnx')
        if not nodes.convert(args, path, after, '--target=onnxruntime'):
            tally.passed(False, f'{name}: refused')
            continue
        rows.append((path, after, name))
        if isinstance(limit, str):
            ops = npu_ops(args, path)
            tally.passed(ops is not None and limit in ops, f'{name}: {ops}, not {limit}')
            continue
        left = [n.op_type for n in onnx.load(after).graph.node]
        if args.list:
            print(f'{name}: {len(left)} nodes, at most {limit}')
        tally.passed(len(left) <= limit, f'{name}: {" ".join(left)}, more than {limit} nodes')
    said = nodes.equal(args, [(path, path, after) for path, after, _ in rows])
    for path, _, name in rows:
        tally.passed(said.get(path, '').startswith('ok'), f'{name}: {said.get(path)}')
    if not args.only:
        npu_forms(args, tally)
    if args.findings:
        undefined_op(args, tally)
    else:
        tally.skipped(f'{len(FINDINGS) + len(NPU) + 1} files of others: no folder of them')
    print(f'spellings: {len(rows)} models')


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort', required=True)
    p.add_argument('--work')
    p.add_argument('--findings')
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only')
    p.add_argument('--list', action='store_true')
    args = p.parse_args()
    tally = nodes.Tally()
    with tempfile.TemporaryDirectory() as folder:
        args.work = args.work or folder
        compare(args, tally)
    print('{} passed, {} failed, {} skipped'.format(*tally.counts))
    return tally.counts[1] != 0


if __name__ == '__main__':
    sys.exit(main())
