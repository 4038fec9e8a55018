#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Never more casts than the f16 converter of onnxconverter-common makes on the same lists.

  cast_counts.py --tailor BIN [--models DIR] [--sample N] [--table FILE]

A model of that converter counts the casts that it would make, from what is publicly known of it:
one for each f32 input and output of the graph where these keep their types; for each blocked node
one for each f32 operand that is computed and one for each f32 result, whoever shares them; casts
of the model stay. Casts of weights are left out of the count, which is in the converter's favour.
Nodes that Tailor keeps in f32 without being asked are on the other converter's list as well: since
a constant in them would become 0, which that converter rounds up to 1e-7, another function; or
since the chip has no f16 for the op.
Models are those of bench/make_models.py, and of DIR every Nth: the corpus beside the repository, if
it is there. Left out are models with bodies, whose states stay in f32 here, recurrent ops, which no
table of a chip knows, weights that are inputs as well, which callers may replace, bf16, which the
other converter leaves, and random numbers. The last line is 'N passed, M failed, K skipped'."""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'tests'))
import guard  # noqa: E402

# What the converter blocks when nothing is said.
BLOCKED = ('ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer '
           'FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor '
           'Normalizer OneHotEncoder RandomUniformLike SVMClassifier SVMRegressor Scaler '
           'TreeEnsembleClassifier TreeEnsembleRegressor ZipMap NonMaxSuppression TopK '
           'RoiAlign Resize Range CumSum Min Max Upsample').split()
LISTS = {'its own': BLOCKED,
         'norms': BLOCKED + 'Softmax LayerNormalization ReduceMean Pow Sqrt Exp Erf'.split(),
         'arithmetic': BLOCKED + 'Add Mul Div Sub'.split(),
         'moves': BLOCKED + 'Transpose Reshape Slice Gather Concat'.split()}
RULES = ['epsilon', 'mode', 'no-row']  # fusions take nodes with epsilons together
MOVES = 'Transpose Reshape Slice Gather Concat Squeeze Unsqueeze Split Expand Identity'.split()
GENERATED = ['bert_tiny', 'gpt2_tiny', 'mobilenet_v2', 'resnet50', 'yolov5n', 'llama_1k']
MOST_BYTES = 1 << 20  # of a model of the corpus


def is_float(types, name):
    return types.get(name) == TensorProto.FLOAT


def types_of(graph):
    found = {}
    for v in [*graph.input, *graph.value_info, *graph.output]:
        found[v.name] = v.type.tensor_type.elem_type
    return found


def casts_in(graph):
    n = 0
    for node in graph.node:
        n += node.op_type == 'Cast'
        for a in node.attribute:
            n += sum(casts_in(g) for g in [*([a.g] if a.type == a.GRAPH else []), *a.graphs])
    return n


def kept_unasked(tool, path, blocked, rules):
    """Names of nodes that stay in f32 although no list says so; None where that is not known, as an
    op has no NPU form."""
    words = [tool, 'explain', path, '-O0', '--json', '--precision-mode-v2=fp16',
             '--op-block-list=' + ','.join(blocked)]
    p = guard.run(words, capture_output=True, text=True, cpu=120)
    if p.returncode:
        return None
    nodes = json.loads(p.stdout)['nodes']
    return {n['node'] for n in nodes if n['op'] not in MOVES and (not n['judged'] or any(
        t['chosen'] == 'f32' and 'output' in t and t['rule'] in rules for t in n['tensors']))}


def label(node):
    """What explain calls a node."""
    return node.name or (f'{node.op_type}->{node.output[0]}' if node.output else '')


def theirs(model, blocked, keep_io, names=()):
    """Casts in what the converter makes of the model; None where it does not know the type of what
    a blocked node has, and leaves the casts there out, so that its result is no model."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = types_of(graph)
    weights = {w.name for w in graph.initializer}
    constants = {o for n in graph.node if n.op_type == 'Constant' for o in n.output}
    count = casts_in(graph)
    if names is None:
        return None
    if keep_io:
        count += sum(is_float(types, v.name) and v.name not in weights for v in graph.input)
        count += sum(is_float(types, v.name) for v in graph.output)
    for node in graph.node:
        if node.op_type not in blocked and label(node) not in names:
            continue
        computed = [i for i in [*node.input, *node.output] if i and i not in weights | constants]
        if any(not types.get(i) for i in computed):
            return None
        count += sum(is_float(types, i) for i in computed)
    return count


def ours(tool, work, path, blocked, keep_io, level):
    out = os.path.join(work, 'out.onnx')
    words = [tool, 'convert', path, '-o', out, '-q', level, '--precision-mode-v2=fp16',
             '--op-block-list=' + ','.join(blocked),
             '--keep-io-types=' + ('true' if keep_io else 'false')]
    p = guard.run(words, capture_output=True, text=True, cpu=120)
    if p.returncode:
        return None, p.stderr.strip()[:200]
    return casts_in(onnx.load(out, load_external_data=False).graph), ''


def breaks(model):
    """Does the converter make no valid model of it, or is nothing known of its ops? It lowers what
    is quantized, and forgets that numbers that come from nothing are f32 unless an attribute says
    otherwise."""
    if {v.name for v in model.graph.input} & {w.name for w in model.graph.initializer}:
        return True
    opset = max([o.version for o in model.opset_import if o.domain in ('', 'ai.onnx')] + [1])
    for node in model.graph.node:
        if node.op_type in ('RNN', 'GRU', 'LSTM') or any(a.type in (a.GRAPH, a.GRAPHS)
                                                         for a in node.attribute):
            return True
        if any(a.name == 'batch_dims' and a.i for a in node.attribute):
            return True  # GatherND, which ops of the NPU do together: no row says its dtypes
        made = {a.name for a in node.attribute} & {'value', 'dtype'}
        odd = '[Qq]uantize|QLinear|Integer|Random|Multinomial|Bernoulli'
        if re.search(odd, node.op_type) or not made and re.match('EyeLike|ConstantOfShape',
                                                                 node.op_type):
            return True
        try:
            onnx.defs.get_schema(node.op_type, opset, node.domain)
        except onnx.defs.SchemaError:
            return True
    return False


def has_floats(model):  # bf16 becomes f16 here, the other converter leaves it
    types = types_of(model.graph).values()
    return TensorProto.FLOAT in types and TensorProto.BFLOAT16 not in types


def models(args, work):
    folder = os.path.join(work, 'models')
    subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                    *GENERATED], check=True, capture_output=True)
    paths = sorted(glob.glob(os.path.join(folder, '*.onnx')))
    if args.models and os.path.isdir(args.models):
        paths += sorted(glob.glob(os.path.join(args.models, '**', '*.onnx'),
                                  recursive=True))[::args.sample]
    for path in paths:
        if os.path.getsize(path) > MOST_BYTES and not path.startswith(work):
            continue
        try:
            model = onnx.load(path, load_external_data=False)
            onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except Exception:  # malformed on purpose, or newer than this parser
            continue
        few = casts_in(model.graph) + len(model.graph.node) < 2
        if not few and not breaks(model) and has_floats(model):
            base = work if path.startswith(work) else args.models
            yield os.path.relpath(path, base), path, model


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--models', default=os.path.join(os.path.dirname(ROOT), 'shared', 'corpus'))
    p.add_argument('--sample', type=int, default=1)
    p.add_argument('--table')
    args = p.parse_args()
    passed = failed = skipped = 0
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for name, path, model in models(args, work):
            for words, blocked in LISTS.items():
                names = {'-O0': kept_unasked(args.tailor, path, blocked, RULES),
                         '-O2': kept_unasked(args.tailor, path, blocked, RULES[1:])}
                for keep_io in (True, False):
                    got = []
                    for level in ('-O0', '-O2'):
                        want = theirs(model, blocked, keep_io, names[level])
                        n, told = ours(args.tailor, work, path, blocked, keep_io, level)
                        got.append(n)
                        if n is None or want is None:
                            skipped += 1
                            continue
                        passed += n <= want
                        failed += n > want
                        if n > want:
                            print(f'FAIL {name} {words} keep_io={keep_io} {level}: {n} casts, '
                                  f'the other converter {want}')
                    rows.append((name, words, keep_io, want, *got))
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            for row in rows:
                f.write('\t'.join(map(str, row)) + '\n')
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
