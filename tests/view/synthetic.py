#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""synthetic.py --out FOLDER [NAME...]: writes pages of made-up models, for tests of the page alone
and for looking at it: transformer, flat (100,000 nodes without names), wide (5,000 nodes on the
screen), hostile, compare, empty."""
import argparse
import base64
import json
import os
import random
import sys
import zlib
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, os.path.join(ROOT, 'scripts')]
import join_view  # noqa: E402
from graphs import Graph  # noqa: E402

HOSTILE = ('</script><script>window.executed=1</script>', '<img src=x onerror=executed=1>',
           '\u202egnp.exe', 'a' * 5000, '"\'`${executed=1}', '\x00\x01\x7f', '__proto__',
           'constructor', '名字', '\U0001f600' * 40)


def block(name, chunk):
    text = json.dumps(chunk, separators=(',', ':'), ensure_ascii=False)
    if len(text) < 2048:
        form, body = 'plain', text.replace('<', '\\u003c')
    else:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        data = packer.compress(text.encode()) + packer.flush()
        form, body = 'deflate', base64.b64encode(data).decode()
    return (f'<script type="application/octet-stream" data-chunk="{name}" data-form="{form}">'
            f'{body}</script>')


def write(path, chunks):
    text = join_view.page(os.path.join(ROOT, 'tools', 'view', 'web'))
    blocks = '\n'.join(block(name, chunk) for name, chunk in chunks.items())
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text.replace('@DATA@', blocks))


# ---- a transformer with passes ------------------------------------------------------------------

def layer_norm(g, x, scope, type_):
    two, eps = g.weight(f'{scope}.two', 'f32', []), g.weight(f'{scope}.eps', 'f32', [])
    small = type_.rsplit(',', 1)[0] + ',1]'

    def name(op):
        return f'{scope}/{op}'
    first = len(g.nodes)
    mean = g.call('ReduceMean', [x], small, name('ReduceMean'), scope, '{axes=[-1], keepdims=1}')
    centred = g.call('Sub', [x, mean], type_, name('Sub'), scope)
    square = g.call('Pow', [centred, two], type_, name('Pow'), scope)
    var = g.call('ReduceMean', [square], small, name('ReduceMean_1'), scope,
                 '{axes=[-1], keepdims=1}')
    shifted = g.call('Add', [var, eps], small, name('Add'), scope)
    root = g.call('Sqrt', [shifted], small, name('Sqrt'), scope)
    out = g.call('Div', [centred, root], type_, name('Div'), scope)
    return out, g.nodes[first:]


def attention(g, x, mask, scope, width, type_):
    heads = []
    for part in ('query', 'key', 'value'):
        w = g.weight(f'{scope}.{part}.weight', 'f32', [width, width])
        m = g.call('MatMul', [x, w], type_, f'{scope}/{part}/MatMul', f'{scope}/{part}')
        b = g.weight(f'{scope}.{part}.bias', 'f32', [width])
        m = g.call('Add', [m, b], type_, f'{scope}/{part}/Add', f'{scope}/{part}')
        m = g.call('Reshape', [m, g.weight(f'{scope}.shape', 'f32', [4])], 'f32[1,128,12,64]',
                   f'{scope}/Reshape', scope)
        heads.append(g.call('Transpose', [m], 'f32[1,12,128,64]', f'{scope}/Transpose', scope,
                            '{perm=[0, 2, 1, 3]}'))
    score = g.call('MatMul', heads[:2], 'f32[1,12,128,128]', f'{scope}/MatMul', scope)
    score = g.call('Div', [score, g.weight('', 'f32', [])], 'f32[1,12,128,128]', f'{scope}/Div',
                   scope)
    score = g.call('Add', [score, mask], 'f32[1,12,128,128]', f'{scope}/Add', scope)
    first = g.nodes[-1]
    soft = g.call('Softmax', [score], 'f32[1,12,128,128]', f'{scope}/Softmax', scope, '{axis=-1}')
    mixed = g.call('MatMul', [soft, heads[2]], 'f32[1,12,128,64]', f'{scope}/MatMul_1', scope)
    mixed = g.call('Transpose', [mixed], 'f32[1,128,12,64]', f'{scope}/Transpose_3', scope,
                   '{perm=[0, 2, 1, 3]}')
    return g.call('Reshape', [mixed, g.weight(f'{scope}.shape', 'f32', [3])], type_,
                  f'{scope}/Reshape_3', scope), first


def feed_forward(g, x, scope, width, type_):
    wide = f'f32[1,128,{4 * width}]'
    w = g.weight(f'{scope}.in.weight', 'f32', [width, 4 * width])
    m = g.call('MatMul', [x, w], wide, f'{scope}/MatMul', scope)
    first = len(g.nodes)
    d = g.call('Div', [m, g.weight('', 'f32', [])], wide, f'{scope}/gelu/Div', f'{scope}/gelu')
    e = g.call('Erf', [d], wide, f'{scope}/gelu/Erf', f'{scope}/gelu')
    a = g.call('Add', [e, g.weight('', 'f32', [])], wide, f'{scope}/gelu/Add', f'{scope}/gelu')
    p = g.call('Mul', [m, a], wide, f'{scope}/gelu/Mul', f'{scope}/gelu')
    y = g.call('Mul', [p, g.weight('', 'f32', [])], wide, f'{scope}/gelu/Mul_1', f'{scope}/gelu')
    gelu = g.nodes[first:]
    w = g.weight(f'{scope}.out.weight', 'f32', [4 * width, width])
    return g.call('MatMul', [y, w], type_, f'{scope}/MatMul_1', scope), gelu


def transformer_graph(layers, width):
    g, found = Graph(), dict(norm=[], gelu=[], mask=[], dead=[], cast=[])
    type_ = f'f32[1,128,{width}]'
    ids = g.input('input_ids', 'i64[1,128]')
    mask = g.input('attention_mask', 'f32[1,1,1,128]')
    table = g.weight('bert.embeddings.word.weight', 'f32', [30522, width])
    x = g.call('Gather', [table, ids], type_, 'bert/embeddings/Gather', 'bert/embeddings')
    found['dead'].append(g.node('Identity', [x], type_, 'bert/embeddings/dropout/Identity',
                                'bert/embeddings'))
    x, norm = layer_norm(g, found['dead'][0].outs[0], 'bert/embeddings/LayerNorm', type_)
    found['norm'].append(norm)
    bias = g.call('Sub', [mask, g.weight('one', 'f32', [])], 'f32[1,1,1,128]', 'bert/mask/Sub',
                  'bert/mask')
    bias = g.call('Mul', [bias, g.weight('large', 'f32', [])], 'f32[1,1,1,128]', 'bert/mask/Mul',
                  'bert/mask', '{}')
    for i in range(layers):
        scope = f'bert/encoder/layer.{i}'
        y, first = attention(g, x, bias, f'{scope}/attention', width, type_)
        found['mask'].append(first)
        y = g.call('Add', [y, x], type_, f'{scope}/Add', scope)
        y, norm = layer_norm(g, y, f'{scope}/LayerNorm', type_)
        found['norm'].append(norm)
        z, gelu = feed_forward(g, y, f'{scope}/ffn', width, type_)
        found['gelu'].append(gelu)
        z = g.call('Add', [z, y], type_, f'{scope}/Add_1', scope)
        x, norm = layer_norm(g, z, f'{scope}/LayerNorm_1', type_)
        found['norm'].append(norm)
    first = g.call('Gather', [x, g.weight('', 'f32', [])], f'f32[1,{width}]', 'pooler/Gather',
                   'pooler', '{axis=1}')
    branch = g.node('If', [first], f'f32[1,{width}]', 'pooler/If', 'pooler')
    for body, op in enumerate(('Tanh', 'Relu')):
        v = g.call(op, [first], f'f32[1,{width}]', f'pooler/If/{op}', '', parent=branch.uid,
                   body=body)
        g.call('Mul', [v, v], f'f32[1,{width}]', f'pooler/If/Mul_{body}', '', parent=branch.uid,
               body=body)
    out = g.call('Gemm', [branch.outs[0], g.weight('cls.weight', 'f32', [width, 2])], 'f32[1,2]',
                 'classifier/Gemm', 'classifier', '{alpha=1.0, transB=0}')
    g.outputs.append(out)
    g.begin()
    g.known = len(g.values)
    return g, found


NORM = '''rule LayerNormDecomposed
  y = Div(Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x)), 2)), eps)))
  => y = LayerNorm(x)
  if one_user(*) and last_axis(axes)'''
GELU = '''rule GeluErf
  y = Mul(Mul(x, Add(Erf(Div(x, 1.4142)), 1)), 0.5)
  => y = Gelu(x)
  if scalar(0.5)'''


def fused(g, op, nodes, attrs=''):
    """One node instead of some: it gives the last one's result."""
    last = nodes[-1]
    new = Node_like(g, op, [nodes[0].ins[0]], last, attrs)
    g.nodes.insert(g.nodes.index(last), new)
    return new


def Node_like(g, op, ins, last, attrs):
    from graphs import Node
    new = Node(g.next_uid, op, last.name, last.scope, ins, list(last.outs), attrs)
    g.next_uid += 1
    return new


def casts(g, found):
    """f16 but for what is kept: a Cast on both sides of each Softmax."""
    edits, rule = [], g.rule('CastForPrecision', 'a Cast where dtypes of producer and user differ')
    for node in [n for n in g.nodes if n.op == 'Softmax']:
        source = node.ins[0]
        v = g.value('', g.s.all[g.values[source][1]])
        from graphs import Node
        new = Node(g.next_uid, 'Cast', node.name + '/cast_in', node.scope, [source], [v],
                   '{to=dtype(f32)}')
        g.next_uid += 1
        node.ins[0] = v
        g.nodes.insert(g.nodes.index(node), new)
        found['cast'].append(new)
        edits.append((rule, [], [new], 'Softmax is kept in f32: fp32 list'))
    softmax = [n for n in g.nodes if n.op == 'Softmax']
    types = [(v, g.s.all[g.values[v][1]].replace('f32', 'f16')) for n in g.nodes
             if n.op not in ('Softmax', 'Cast') for v in n.outs]
    g.run('insert-casts', 'precision', 'Every node has the dtype that the mode chose',
          edits, types, softmax, 2.5)


def overlays(g, found):
    rng = random.Random(1)
    macs = [n for n in g.nodes if n.op in ('MatMul', 'Gemm')]
    weights = [(n, sum(g.weights[g.values[v][2]]['bytes'] for v in n.ins
                       if g.values[v][2] >= 0)) for n in g.nodes]
    weights = [(n, b) for n, b in weights if b > 64]
    s = g.s

    def overlay(title, unit, nodes, values, notes=None, kind='number'):
        return dict(title=title, unit=unit, kind=kind, state=-1, node=[n.uid for n in nodes],
                    value=values, note=[s(t) for t in notes or [''] * len(nodes)])
    ran = [n for n in g.nodes if n.parent < 0]
    return dict(
        overlay_macs=overlay('Multiplications and additions', 'MAC', macs,
                             [128 * 768 * (768 if 'ffn' not in n.name else 3072) for n in macs]),
        overlay_weights=overlay('Weights', 'B', [n for n, _ in weights], [b for _, b in weights]),
        overlay_error=overlay('Error of each tensor', '', ran,
                              [round(1e-4 * (1 + i / 40) * rng.uniform(0.5, 1.5), 7)
                               for i, _ in enumerate(ran)]),
        overlay_dtype=overlay('Element types', '', ran,
                              [s('f32' if n.op == 'Softmax' else 'f16') for n in ran],
                              ['kept by the list of the chip' if n.op == 'Softmax' else ''
                               for n in ran], 'category'),
        overlay_casts=overlay('Casts', '', found['cast'], [s('f16 to f32')] * len(found['cast']),
                              ['Softmax is kept in f32'] * len(found['cast']), 'category'),
        overlay_streams=overlay('Streams', '', ran,
                                [s(f'stream {int(n.op == "MatMul")}') for n in ran], None,
                                'category'))


def decisions(g, missed):
    s = g.s
    return [dict(**{'pass': 2}, rule=s('LayerNormDecomposed'), text=0, effect=False,
                 node=missed[-1].uid, nodes=[n.uid for n in missed], code=s('one_user'),
                 reason=s('the variance has a second user: one_user(ReduceMean_1)'))]


def timeline(g):
    s, ran = g.s, [n for n in g.nodes if n.parent < 0]

    def stage(name, step):
        at, out = 0, [dict(name='compute', events=[]), dict(name='collectives', events=[])]
        for i, n in enumerate(ran):
            length = 40 if n.op == 'MatMul' else 8
            kind = 'collective' if i % step == step - 1 else 'forward'
            stream = out[kind == 'collective']
            stream['events'].append(dict(uid=n.uid, name=s(n.name), start=at, end=at + length,
                                         kind=kind))
            at += length if kind == 'forward' else 2
        buckets = [dict(name=f'bucket {i}', start=i * 900, end=i * 900 + 500) for i in range(4)]
        return dict(name=name, step=at, exposed_comm=at / 10, streams=out, buckets=buckets)
    return dict(unit='us', ranks=8, stages=[stage('given', 12), stage('tail', 20)])


def form(name, guard='always'):
    return dict(type=name, guard=guard, lowering='rename')


OPS = dict(
    Softmax=dict(doc='Softmax (versions 1, 11, 13)\n  operand  input: T', since=[1, 11, 13],
                 npu=[form('SoftmaxV2')], defaults=dict(axis='-1')),
    Gemm=dict(doc='Gemm\n  alpha * A * B + beta * C', since=[13],
              npu=[form('MatMulV2', 'beta == 0'), form('GEMM')],
              defaults=dict(alpha='1.0', beta='1.0', transA='0', transB='0')),
    LayerNorm=dict(doc='Layer normalization of the last axes.', since=[1], npu=[],
                   defaults=dict(epsilon='1e-05')),
    Transpose=dict(doc='Permutes the axes.', since=[13], npu=[], defaults={}))


def transformer(layers=12, width=768):
    g, found = transformer_graph(layers, width)
    norm_rule = g.rule('LayerNormDecomposed', NORM, 'LayerNormFusion')
    gelu_rule = g.rule('GeluErf', GELU, 'GeluFusion')
    dead = found['dead'][0]
    for n in g.nodes:
        n.ins = [dead.ins[0] if v == dead.outs[0] else v for v in n.ins]
    g.run('fold-constants', 'cleanup', 'Nodes of constants alone are constants', milliseconds=0.3)
    g.run('drop-identities', 'cleanup', 'No Identity, Dropout or empty Cast is left',
          [(-1, [dead], [], 'an Identity only hands its operand on')], changed=[
              n for n in g.nodes if dead.ins[0] in n.ins and n is not dead], milliseconds=0.2)
    missed = found['norm'][3]
    edits = [(norm_rule, nodes, [fused(g, 'LayerNorm', nodes, '{epsilon=1e-12}')], '')
             for nodes in found['norm'] if nodes is not missed]
    edits += [(gelu_rule, nodes, [fused(g, 'Gelu', nodes)], '') for nodes in found['gelu']]
    g.run('graph-fusion', 'fusion', 'Patterns of nodes are one node', edits, milliseconds=12.5)
    casts(g, found)
    g.run('name-nodes', 'backend', 'Every node has a name', milliseconds=0.1)
    return g.chunks(ops=OPS, timeline=timeline(g), decisions=decisions(g, missed),
                    **overlays(g, found))


# ---- others -------------------------------------------------------------------------------------

def flat(count=100000):
    """A long chain of blocks with skip edges, without any name."""
    g, rng = Graph(), random.Random(2)
    x = g.input('x', 'f32[8,64]')
    g.known, skip = 0, x
    for i in range(count // 5):
        x = g.call('MatMul', [x, g.weight('', 'f32', [64, 64])])
        x = g.call('Add', [x, g.weight('', 'f32', [64])])
        x = g.call(rng.choice(('Relu', 'Tanh', 'Sigmoid', 'Erf')), [x])
        x = g.call('Mul', [x, x])
        x = skip = g.call('Add', [x, skip])
    g.outputs.append(x)
    del g.weights[64:]
    g.values = [(v[0], v[1], v[2] % 64 if v[2] >= 0 else -1, v[3]) for v in g.values]
    g.begin()
    return g.chunks()


def wide(count=5000):
    """A hundred branches of fifty nodes side by side, so that all of them fit a screen."""
    g = Graph()
    x, ends = g.input('x', 'f32[8,64]'), []
    for i in range(count // 50):
        y = x
        for j in range(50):
            y = g.call(('MatMul', 'Add', 'Relu', 'Softmax')[(i * 7 + j * j) % 4], [y],
                       name=f'block{i}/op{j}', scope=f'block{i}')
        ends.append(y)
    g.outputs.append(g.call('Concat', ends, name='join'))
    g.begin()
    return g.chunks()


def hostile():
    g = Graph()
    x = g.input(HOSTILE[0], 'f32[1]')
    for i, name in enumerate(HOSTILE):
        x = g.call(name if i % 2 else 'Relu', [x], name, name, f'/{HOSTILE[i - 1]}/{name}',
                   f'{{"{name[:200]}"="{HOSTILE[1]}"}}')
    g.outputs.append(x)
    g.begin()
    chunks = g.chunks()
    chunks['index']['models'][0]['path'] = HOSTILE[1] + HOSTILE[0]
    return chunks


def compare():
    """A model without and with an option: a node is another one, one is missing."""
    def side(last):
        g = Graph()
        x = g.input('x', 'f32[8,64]')
        for i in range(6):
            x = g.call('MatMul', [x, g.weight(f'w{i}', 'f32', [64, 64])], name=f'fc{i}/MatMul',
                       scope=f'fc{i}')
            x = g.call(last if i == 3 else 'Relu', [x], name=f'fc{i}/act', scope=f'fc{i}')
        if last == 'Relu':
            x = g.call('Softmax', [x], name='head/Softmax', scope='head')
        g.outputs.append(x)
        g.begin()
        g.known = len(g.values)
        g.run('drop-identities', 'cleanup', 'No Identity is left')
        return g
    a, b = side('Relu'), side('Tanh')
    chunks = a.chunks()
    chunks.update({'b-' + name: chunk for name, chunk in b.chunks().items()})
    same = [[i, i] for i in range(1, 13) if i != 8]
    chunks['match'] = dict(same=same, changed=[[8, 8, 'op: Relu, Tanh']], added=[], removed=[13])
    chunks['match-final'] = chunks['match']
    chunks['index']['what'] = 'compare'
    chunks['index']['models'].append(dict(path='other.onnx', chip='Ascend910B', options=[],
                                          command='tailor view other.onnx'))
    chunks['index']['chunks'] = sorted(chunks)
    return chunks


def empty():
    g = Graph()
    g.outputs.append(g.input('x', 'f32[1]'))
    g.begin()
    return g.chunks()


MODELS = dict(transformer=transformer, flat=flat, wide=wide, hostile=hostile, compare=compare,
              empty=empty)

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', required=True)
    parser.add_argument('names', nargs='*', default=list(MODELS))
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for model in args.names:
        write(os.path.join(args.out, model + '.html'), MODELS[model]())
