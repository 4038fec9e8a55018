#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong rewrites that bisect and reduce must find, in real architectures.

  planted.py --tailor BIN --planted BIN [--only TEXT] [--large] [--every K]

16 mistakes are planted: ten into passes of the program BIN (planted.c), six as rules. Of each,
bisect must name the pass and the rewrite, or the rule; reduce must leave at most 12 nodes, and
bisect must find the same in what is left. The median of what is left is at most 6 nodes. --large
also takes resnet50 and bert_base; --every takes one of K mistakes. The last line is 'N passed, M
failed, K skipped'."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = ['bert_tiny', 'mobilenet_v2', 'yolov5n', 'llama_1k', 'segment_bilinear',
          'train_mlp_momentum', 'train_transformer_adam']
LARGE = ['bert_base', 'resnet50']
MOST, MEDIAN = 12, 6
SCALED = ['--is-loss-scale=true',
          '--loss-scale-manager={"type":"FixedLossScaleManager","loss_scale":1024}']

# What is planted into a pass: name, pass, model, options, command of --check.
PLANTS = (
    ('wrong-perm', 'identity-elimination', 'yolov5n.onnx', [], None),
    ('pad-side', 'clean-up', 'mobilenet_v2.onnx', [], None),
    ('wrong-axis', 'clean-up', 'bert_tiny.onnx', [], None),
    ('square-weight', 'fold-constants', 'bert_tiny.onnx', [], None),
    ('cast-dtype', 'cast-motion', 'segment_bilinear.onnx', [], None),
    ('stale-constant', 'common-subexpressions', 'bert_tiny.onnx', [], None),
    ('off-by-one', 'fold-constants', 'llama_1k.onnx', [], None),
    ('unscale', 'loss-scale', 'train_mlp_momentum.onnx', SCALED, None),
    ('control-edge', 'identity-elimination', 'ordered.tir', ['-o', 'x.tir'],
     "grep -q 'Tanh(' {} || exit 125; grep -q ' after ' {} || exit 9"),
    ('collectives', 'common-subexpressions', 'ranks.tir', ['-o', 'x.tir'],
     "n=$(grep -n 'FIRST/HcomAllReduce.* = ' {} | cut -d: -f1);"
     " k=$(grep -n 'SECOND/HcomAllReduce.* = ' {} | cut -d: -f1);"
     ' test -n "$n" && test -n "$k" || exit 125; test $n -lt $k || exit 9'),
)

# By --large: the step whose first two collectives change places, and a gradient of each.
RANKS = {False: ('train_mlp_momentum', 'fc2.bias_grad', 'fc1.weight_grad'),
         True: ('train_transformer_adam', 'cls.bias_grad', 'layer.1.out.weight_grad')}

# Wrong rules: name, model, text. Some have the name of a built-in rule, and replace it.
RULES = (
    ('BatchMatMulBias', 'bert_tiny.onnx', '''
rule BatchMatMulBias : late target npu priority 9600 numerics exact {
  match {
    %m = MatMul(%a, %b)
    %y = Add(%m, %bias)
  }
  where { rank(%m) > 2 && rank(%bias) == 1 && rank(%b) > 1 }
  replace { %y = tl::BatchMatMul(%a, %b) }
}'''),
    ('LayerNorm', 'bert_tiny.onnx', '''
rule LayerNorm : graph numerics exact {
  match {
    %m = ReduceMean(%x, const %axes) {keepdims=1}
    %d = Sub(%x, %m)
    %p = Pow(%d, const 2)
    %v = ReduceMean(%p, const %_axes2) {keepdims=1}
    %e = Add(%v, const %eps)
    %s = Sqrt(%e)
    %n = Div(%d, %s)
    %g = Mul(%n, %gamma)
    %y = Add(%g, %beta)
  }
  where { len(ints(%axes)) == 1 && known(scalar(%eps)) }
  replace { %y = LayerNormalization(%x, %gamma, %beta) {axis=-1, epsilon=0.3 + scalar(%eps)} }
}'''),
    ('SwappedSub', 'bert_tiny.onnx', '''
rule SwappedSub : graph numerics exact {
  match { %y = Sub(const %_one, %m) }
  where { dtype(%m) == f32 }
  replace { %y = Sub(%m, const 1.0) }
}'''),
    ('ScaleSquared', 'bert_tiny.onnx', '''
rule ScaleSquared : graph numerics exact {
  match {
    %q = MatMul(%a, %b)
    %s = Mul(%q, const 0.125)
    %y = Add(%s, %mask)
  }
  replace {
    %p = MatMul(%a, %b)
    %r = Mul(%p, const 0.015625)
    %y = Add(%r, %mask)
  }
}'''),
    ('ClipToSix', 'mobilenet_v2.onnx', '''
rule ClipToSix : late numerics exact {
  match { %y = Clip(%x, const 0, const 6) }
  where { dtype(%x) in [f32, f16, bf16] }
  replace { %y = Min(%x, const 6.0) }
}'''),
    ('MeanOverRows', 'bert_tiny.onnx', '''
rule MeanOverRows : graph priority 20 numerics exact {
  match {
    %m = ReduceMean(%x, const %axes) {keepdims=1}
    %d = Sub(%x, %m)
  }
  where { ints(%axes) == [-1] && rank(%x) > 2 }
  replace {
    %n = ReduceMean(%x, const i64 [1]) {keepdims=1}
    %d = Sub(%x, %n)
  }
}'''),
)


def run(args, folder, **more):
    return subprocess.run(args, cwd=folder, capture_output=True, text=True, check=False, **more)


def make_models(args, folder, names, large=False):
    script = os.path.join(ROOT, 'bench', 'make_models.py')
    p = run(['/usr/bin/python3', script, folder, *names], folder)
    if p.returncode:
        sys.exit(p.stdout + p.stderr)
    # An order that no value gives, and collectives that passes have placed.
    p = run([args.tailor, 'opt', 'bert_tiny.onnx', '--passes=infer-shapes'], folder)
    lines = p.stdout.splitlines()
    last = next(i for i, s in enumerate(lines) if '%pooler_output = Tanh(' in s)
    lines[last] += ' after %/bert/pooler/Gather_output_0'
    with open(os.path.join(folder, 'ordered.tir'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    run([args.tailor, 'convert', RANKS[large][0] + '.onnx', '--is-distributed=true',
         '--rank-size=4', '--bucket-strategy=size', '--bucket-sizes=30,40,30', '-o', 'ranks.tir'],
        folder)


def environment(plant):
    return {**os.environ, 'TAILOR_PLANT': plant} if plant else None


def bisect(args, case, model, folder):
    """The finding, or what went wrong."""
    check = [f'--check={case["check"]}'] if case['check'] else []
    p = run([case['tool'](args), 'bisect', model, *case['options'], *check, '--json'], folder,
            env=environment(case['plant']))
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {'found': p.stdout + p.stderr}


def reduce(args, case, folder):
    check = [f'--check={case["reduce"]}'] if case['reduce'] else []
    out = 'small.tir' if case['model'].endswith('.tir') else 'small.onnx'
    options = [o for o in case['options'] if o not in ('-o', 'x.tir')]
    p = run([case['tool'](args), 'reduce', case['model'], *options, *check, '-o', out, '--json'],
            folder, env=environment(case['plant']))
    try:
        return out, json.loads(p.stdout)
    except ValueError:
        return out, {'nodes': 10**9, 'why': p.stdout + p.stderr}


def is_right(case, found):
    if found.get('found') != 'rewrite' or found['bad'] - found['last_good'] != 1:
        return False
    if case['plant']:
        return found['pass'] == case['pass'] and found['what'] == f'planted: {case["plant"]}'
    return found['rule'] == case['name']


def cases(args, large):
    for name, where, model, options, check in PLANTS:
        tool = os.path.abspath(args.planted)
        # The reduced model has to fail in the command as a whole.
        again = None
        if check:
            _, first, second = RANKS[large]
            check = check.replace('FIRST', first).replace('SECOND', second)
            lost = check.replace('exit 125', 'exit 0')
            again = (f'{lost.replace("exit 9", "exit 0")}; '
                     f'TAILOR_PLANT={name} {tool} opt {{}} -o - >out.tir 2>/dev/null; '
                     + lost.replace('{}', 'out.tir'))
        yield {'name': name, 'plant': name, 'pass': where, 'model': model, 'options': options,
               'check': check, 'reduce': again,
               'tool': lambda a: os.path.abspath(a.planted)}
    for name, model, _ in RULES:
        yield {'name': name, 'plant': None, 'model': model, 'options': [f'--rules={name}.tlr'],
               'check': None, 'reduce': None, 'tool': lambda a: os.path.abspath(a.tailor)}
    for name, model, _ in RULES if large else ():
        other = {'bert_tiny.onnx': 'bert_base.onnx'}.get(model)
        if other and name != 'ScaleSquared':
            yield {'name': name, 'plant': None, 'model': other,
                   'options': [f'--rules={name}.tlr'], 'check': None, 'reduce': None,
                   'tool': lambda a: os.path.abspath(a.tailor)}
    for name, where in (('pad-side', 'clean-up'), ('cast-dtype', 'cast-motion')) if large else ():
        yield {'name': name, 'plant': name, 'pass': where, 'model': 'resnet50.onnx',
               'options': [], 'check': None, 'reduce': None,
               'tool': lambda a: os.path.abspath(a.planted)}


def examine(args, case, folder):
    """(what is wrong, nodes that are left)"""
    found = bisect(args, case, case['model'], folder)
    if not is_right(case, found):
        return f'bisect: {found.get("found")}, {found.get("pass")}, {found.get("rule")}, ' \
               f'{found.get("what", found.get("why"))}', None
    small, left = reduce(args, case, folder)
    if left['nodes'] > MOST or not left.get('minimal'):
        return f'reduce: {left["nodes"]} nodes: {left["why"]}', None
    again = bisect(args, case, small, folder)
    if not is_right(case, again):
        return f'bisect of the reduced model: {again.get("found")}, {again.get("rule")}, ' \
               f'{again.get("what", again.get("why"))}', left['nodes']
    return None, left['nodes']


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--planted', required=True)
    parser.add_argument('--only', default='')
    parser.add_argument('--large', action='store_true')
    parser.add_argument('--every', type=int, default=1)
    args = parser.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    failed, sizes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        make_models(args, folder, MODELS + (LARGE if args.large else []), args.large)
        for name, _, text in RULES:
            with open(os.path.join(folder, name + '.tlr'), 'w', encoding='utf-8') as f:
                f.write('rules 1\n' + text + '\n')
        chosen = [c for c in cases(args, args.large) if args.only in c['name']]
        for case in chosen[::args.every]:
            problem, nodes = examine(args, case, folder)
            sizes += [nodes] if nodes is not None else []
            failed += problem is not None
            print(f'{"FAIL" if problem else "ok  "} {case["name"]} in {case["model"]}: '
                  f'{problem or f"{nodes} nodes are left"}', flush=True)
    if sizes and statistics.median(sizes) > MEDIAN:
        failed += 1
        print(f'FAIL the median of what is left is {statistics.median(sizes)} nodes')
    print(f'{len(sizes) + 1 - min(failed, 1)} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
