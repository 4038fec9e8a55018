#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""data.py --tailor BIN: what `tailor view` writes. Python's own zlib reads the chunks; passes that
are applied one after the other give the graphs that --dump-dir writes; rewrites have the numbers
that bisect gives them; names never leave the JSON; the same command writes the same bytes; errors
leave no file; the server answers for its page and nothing else."""
import argparse
import json
import os
import resource
import signal
import socket
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from view import page_data  # noqa: E402

GELU = '''graph @g(%x: f32[2,8], %w: f32[8,8]) -> (%y) {
  const %h: f32[] = 0.5
  const %o: f32[] = 1.0
  const %r: f32[] = 1.4142135
  %m = MatMul(%x, %w) @"layer/0/MatMul"
  %d = Div(%m, %r) @"layer/0/Div"
  %e = Erf(%d) @"layer/0/Erf"
  %a = Add(%e, %o) @"layer/0/Add"
  %p = Mul(%m, %a) @"layer/0/Mul"
  %y = Mul(%p, %h) @"layer/0/Mul_1"
}
'''
# The same from PyTorch's exporter: flat names, modules in metadata.
MLP = "meta \"pkg.torch.onnx.name_scopes\" \"['', 'blocks.2', 'blocks.2.mlp'"
MODULES = f'''graph @g(%x: f32[2,8], %w: f32[8,8]) -> (%y) {{
  const %h: f32[] = 0.5
  const %o: f32[] = 1.0
  const %r: f32[] = 1.4142135
  %m = MatMul(%x, %w) @linear {MLP}, 'linear']"
  %d = Div(%m, %r) @div {MLP}, 'blocks.2.mlp.act', 'div']"
  %e = Erf(%d) @erf {MLP}, 'blocks.2.mlp.act', 'erf']"
  %a = Add(%e, %o) @add {MLP}, 'blocks.2.mlp.act', 'add']"
  %p = Mul(%m, %a) @mul {MLP}, 'blocks.2.mlp.act', 'mul']"
  %q = Mul(%p, %h) @mul_1 {MLP}, 'blocks.2.mlp.act', 'mul_1']"
  %y = Tanh(%q) @tanh meta "namespace" ": Net/blocks.2: Block/tanh: aten.tanh"
}}
'''
# A branch with bodies that take values from around them, a LayerNorm that does not fuse.
BRANCH = '''graph @g(%x: f32[2,8,8], %c: bool[]) -> (%y) {
  const %w: f32[8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  const %axes: i64[1] = [-1]
  const %two: f32[] = 2.0
  %m = ReduceMean(%x, %axes) @"ln/mean" {keepdims=1}
  %d = Sub(%x, %m) @"ln/sub"
  %q = Pow(%d, %two) @"ln/pow"
  %v = ReduceMean(%q, %axes) @"ln/var" {keepdims=1}
  %s = Sqrt(%v) @"ln/sqrt"
  %n = Div(%d, %s) @"ln/div"
  %l = Mul(%n, %w) @"ln/mul"
  %y = If(%c) @"if" {then_branch=graph @t() -> (%t) {
    %t = Relu(%l) @"then/relu"
  }, else_branch=graph @e() -> (%u) {
    %k = Exp(%l) @"else/exp"
    %u = Sin(%k) @"else/sin"
  }}
}
'''
CONV = '''graph @g(%x: f32[1,3,8,8]) -> (%y, %z) {
  const %w: f32[4,3,3,3] = <108 x 0.25>
  const %b: f32[4] = [1.0, 2.0, 3.0, 4.0]
  %c = Conv(%x, %w, %b) @conv {pads=[1, 1, 1, 1]}
  %r = Relu(%c) @relu
  %i = Identity(%r) @same
  %t = Transpose(%i) @t {perm=[0, 2, 3, 1]}
  %y = Transpose(%t) @u {perm=[0, 3, 1, 2]}
  %z = Softmax(%r) @soft {axis=1}
}
'''.replace('<108 x 0.25>', '[' + ', '.join(['0.25'] * 108) + ']')
MODE = '--precision-mode-v2=mixed_float16'
HOSTILE = ['</script><script>alert(1)</script>', '\u2028\u2029', '"\'\\', 'a\0b', '<!--', ']]>',
           '\ud7ff\U0001f600', '__proto__', '{"chunks":[]}', '&lt;', 'x' * (1 << 20)]
problems = []
passed = 0


def check(what, good):
    global passed
    if good:
        passed += 1
    else:
        problems.append(what)


class Bench:
    """A folder with models, and the command."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def model(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as f:
            f.write(text)
        return self.path(name)

    def run(self, *words, **more):
        return guard.run([self.tool, *words], capture_output=True, text=True, **more)

    def view(self, *words, page='page.html', **more):
        """The text of the page."""
        path = self.path(page)
        p = self.run('view', *words, '-o', path, **more)
        check(f'view {words[1:]}: exit code 0, not {p.returncode}: {p.stderr}', p.returncode == 0)
        check(f'view {words[1:]} prints nothing: {p.stdout}{p.stderr}', not p.stdout + p.stderr)
        with open(path, encoding='utf-8', newline='') as f:
            return f.read()


def quoted(name):
    """A name as textual IR writes it."""
    out = ''
    for byte in name.encode('utf-8', 'surrogatepass'):
        c = chr(byte)
        out += '\\' + c if c in '"\\' else c if 32 <= byte < 127 else f'\\x{byte:02x}'
    return f'"{out}"'


# ---- states --------------------------------------------------------------------------------------

def check_states(b, name, text, *options):
    """Passes applied in order give the states that --dump-dir shows."""
    model, dumps = b.model(f'{name}.tir', text), b.path(f'{name}-states')
    p = b.run('convert', model, '-o', b.path('out.air'), '-q', f'--dump-dir={dumps}', *options)
    check(f'{name}: convert: {p.stderr}', p.returncode == 0)
    data = page_data.chunks(b.view(model, *options))
    state = page_data.State(data)
    with open(os.path.join(dumps, '00-input.tir'), encoding='utf-8') as f:
        check(f'{name}: the first state', state.statements() == page_data.statements_of(f.read()))
    passes, at, compared = data['index']['models'][0]['passes'], 0, 0
    for file in sorted(os.listdir(dumps))[1:]:
        wanted = file.partition('-')[2].rpartition('.')[0]
        if not file.endswith('.tir'):
            continue
        while at < len(passes):
            ran, at = passes[at], at + 1
            if ran['chunk']:
                state.apply(data[ran['chunk']])
            if ran['name'] == wanted:
                break
        with open(os.path.join(dumps, file), encoding='utf-8') as f:
            shown = page_data.statements_of(f.read())
        check(f'{name} {options}: the state behind {wanted}:\n{state.statements()}\n{shown}',
              state.statements() == shown)
        compared += 1
    check(f'{name}: several states were compared, not {compared}', compared > 2)
    return data


def check_rewrites(b, name, data):
    """Numbers go up by one over all passes, as bisect counts."""
    numbers, counted = [], 0
    for ran in data['index']['models'][0]['passes']:
        counted += ran['rewrites']
        if ran['chunk']:
            numbers += [r['number'] for r in data[ran['chunk']]['rewrites']]
    check(f'{name}: rewrites are numbered 1 to {counted}: {numbers}',
          numbers == list(range(1, counted + 1)))
    rewrites = [(ran['name'], r) for ran in data['index']['models'][0]['passes'] if ran['chunk']
                for r in data[ran['chunk']]['rewrites']]
    where, rewrite = next((w, r) for w, r in rewrites if r['rule'])
    p = b.run('bisect', b.path(f'{name}.tir'), f"--rewrite={rewrite['number']}", '--json')
    said = json.loads(p.stdout)
    check(f"{name}: bisect says of rewrite {rewrite['number']}: {said}",
          said['pass'] == where and said['rule'] == data['strings'][rewrite['rule']])


def check_gelu(b):
    data = check_states(b, 'gelu', GELU)
    check_rewrites(b, 'gelu', data)
    state = page_data.State(data)
    taken = {state.by_name(f'layer/0/{n}') for n in ('Div', 'Erf', 'Add', 'Mul', 'Mul_1')}
    delta = next(data[p['chunk']] for p in data['index']['models'][0]['passes']
                 if p['name'] == 'graph-fusion')
    rewrite, = delta['rewrites']
    check('the fusion takes five nodes', set(rewrite['removed']) == taken)
    made, = rewrite['added']
    check('and makes one that the state has', delta['added']['uid'] == [made])
    check('with the rule', data['strings'][rewrite['rule']] == 'GeluErf')
    rule = data['rules'][rewrite['text']]
    check(f'whose text is there: {rule}', rule['name'] == 'GeluErf' and
          'replace { %y = Gelu(%x)' in rule['text'] and rule['file'].endswith('.tlr'))
    check('scopes come from names', {state.text(n['scope']) for n in state.nodes.values()} ==
          {'layer/0'})
    fused = data['overlay-fusion']
    check('the overlay of fusions says so', fused['node'] == [made] and
          data['strings'][fused['value'][0]] == 'GeluONNXFusionPass')
    check('multiplications of the product', data['overlay-macs']['value'] == [2 * 8 * 8])
    weight = next(w for w in data['weights'] if data['strings'][w['name']] == 'h')
    check(f'a weight: {weight}', weight['first'] == [0.5] and weight['bytes'] == 4 and
          weight['min'] == weight['max'] == 0.5 and 'histogram' not in weight)
    ops = data['ops']
    check('ops that occurred are described', {'MatMul', 'Gelu', 'npu::GeluV2'} <= ops.keys() and
          'operand' in ops['MatMul']['doc'] and
          ops['MatMul']['npu'][0]['type'].startswith('BatchMatMul'))


def check_modules(b):
    """Nodes are in the modules that metadata names, and what passes make of them as well."""
    data = check_states(b, 'modules', MODULES)
    state = page_data.State(data)

    def scopes():
        return {state.text(n['op']): state.text(n['scope']) for n in state.nodes.values()}
    found = scopes()
    act = found.get('Erf', '')
    check(f'modules come from metadata: {found}', act.endswith('/act') and
          act.startswith(found['MatMul'] + '/') and found['MatMul'].startswith(found['Tanh'] + '/')
          and found['Tanh'] == 'blocks.2')
    for ran in data['index']['models'][0]['passes']:
        if ran['chunk'] and ran['name'] != 'lower':
            state.apply(data[ran['chunk']])
        if ran['name'] == 'graph-fusion':
            break
    found = scopes()
    check(f'a fused node is in the module of its first one: {found}', found.get('Gelu') == act)


def check_precision(b):
    data = check_states(b, 'gelu16', GELU, MODE)
    texts = data['strings']
    casts = data['overlay-casts']
    check('casts have a direction', {texts[v] for v in casts['value']} ==
          {'f32 -> f16', 'f16 -> f32'})
    check('and a reason each', all(texts[n] for n in casts['note']))
    check('dtypes have reasons', any(texts[n] for n in data['overlay-dtype']['note']))


def check_branch(b):
    data = check_states(b, 'branch', BRANCH)
    graph, state = data['graph'], page_data.State(data)
    owner = state.by_name('if')
    inside = {state.text(n['name']): n['body'] for n in state.nodes.values()
              if n['parent'] == owner}
    check(f'nodes know their bodies: {inside}',
          inside == {'then/relu': 0, 'else/exp': 1, 'else/sin': 1})
    check('bodies are listed', [(g['parent'], g['body']) for g in graph['bodies']] ==
          [(owner, 0), (owner, 1)])


def check_conv(b):
    data = check_states(b, 'conv', CONV, MODE)
    gone = [r for p in data['index']['models'][0]['passes'] if p['chunk']
            for r in data[p['chunk']]['rewrites']
            if page_data.State(data).by_name('same') in r['removed']]
    check('one rewrite removes the Identity, and says so', len(gone) == 1 and
          data['strings'][gone[0]['node']] == 'same' and
          'returns its operand' in data['strings'][gone[0]['why']])
    canonical = page_data.chunks(b.view(b.path('conv.tir'), '--emit=onnx'))
    names = {p['name'] for p in canonical['index']['models'][0]['passes']}
    check('--emit=onnx runs no pass of NPU form', 'lower' not in names and 'clean-up' in names and
          canonical['index']['models'][0]['form'] == 'canonical')


def check_near_miss(b):
    """A Gelu whose inner value has another user, too."""
    text = GELU.replace('-> (%y)', '-> (%y, %e)')
    data = page_data.chunks(b.view(b.model('near.tir', text)))
    misses = [d for d in data['decisions'] if not d['effect'] and
              data['strings'][d['rule']] == 'GeluErf']
    check(f'a near miss with its reason and nodes: {misses}', misses and all(
        data['strings'][d['code']] and data['strings'][d['reason']] and
        d['nodes'] and all(d['nodes']) for d in misses))
    check('near misses are an overlay', misses and
          misses[0]['node'] in data['overlay-near-miss']['node'])


def check_errors_overlay(b):
    """The error of each tensor, as verify says it: of the NPU form, and of a file that was written,
    whose values have the names of nodes."""
    model, found, air = b.path('gelu.tir'), b.path('errors.json'), b.path('gelu16.air')
    b.run('convert', model, MODE, '-q', '-o', air)
    for options, words in (((), ('--npu',)), ((MODE,), (air,))):
        p = b.run('verify', model, *words, '--layers', '--json', '-q')
        with open(found, 'w', encoding='utf-8') as f:
            f.write(p.stdout)
        data = page_data.chunks(b.view(model, *options, f'--errors={found}'))
        tensors = json.loads(p.stdout)['layers']['tensors']
        wanted = sorted((t['own'] if 'own' in t else t['total'])['rel'] for t in tensors)
        check(f'errors of {len(tensors)} tensors', len(tensors) == 2 and
              sorted(data['overlay-error']['value']) == wanted)
    p = b.run('view', model, '-o', b.path('none.html'), f'--errors={model}')
    check(f'another file: {p.stderr}', p.returncode == 1 and 'verify --layers' in p.stderr)


# ---- names ---------------------------------------------------------------------------------------

def hostile_model():
    lines, last = [], '%x'
    for i, name in enumerate(HOSTILE):
        lines.append(f'  %{quoted(name + str(i))} = Relu({last}) @{quoted(name)}')
        last = '%' + quoted(name + str(i))
    return 'graph @g(%x: f32[2]) -> (' + last + ') {\n' + '\n'.join(lines) + '\n}\n'


def check_names(b):
    frame, plain = page_data.split(b.view(b.model('plain.tir', GELU)))
    check('the page has data', {'index', 'strings', 'graph', 'values'} <= plain.keys())
    page = b.view(b.model('hostile.tir', hostile_model()))
    other, _ = page_data.split(page)
    check('names change nothing of the page but its data', other == frame)
    strings = page_data.chunks(page)['strings']
    for name in HOSTILE:
        check(f'the name {name[:20]!r} is there as it is', name in strings)
    check('no name is outside of the data', 'alert(1)' not in other)
    policy = frame.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    check(f'the policy allows the own script alone: {policy}', "default-src 'none'" in policy and
          'unsafe' not in policy and "connect-src 'none'" in policy)
    check('nothing is fetched', 'src="http' not in frame and 'href="http' not in frame)


def check_unnamed(b):
    """A model without any names but those of its inputs and outputs."""
    lines = ['  %$1 = Relu(%x)', '  %$2 = Exp(%$1)', '  %y = Neg(%$2)']
    text = 'graph @g(%x: f32[2]) -> (%y) {\n' + '\n'.join(lines) + '\n}\n'
    data = page_data.chunks(b.view(b.model('unnamed.tir', text)))
    state = page_data.State(data)
    check('nodes without names are nodes', len(state.nodes) == 3 and
          {state.text(n['name']) for n in state.nodes.values()} == {''})


def chain(nodes, name=''):
    lines = [f'  %v{i} = {("Relu", "Exp", "Neg")[i % 3]}(%{"x" if not i else f"v{i - 1}"}) '
             f'@"{name}{i}"' for i in range(nodes)]
    return (f'graph @g(%x: f32[2]) -> (%v{nodes - 1}) {{\n' + '\n'.join(lines) + '\n}\n')


def cost(b, model):
    """CPU seconds of one call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    b.view(model, fresh=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_sizes(b):
    """Four times as much takes at most eight times as long: far from quadratic, far from noise."""
    small, large = (b.model(f'chain{n}.tir', chain(n)) for n in (5000, 20000))
    times = [cost(b, small), cost(b, large)]
    check(f'20,000 nodes against 5,000: {times}', times[1] < 8 * times[0])
    text = chain(50, 'n' * (1 << 20))
    page = b.view(b.model('names.tir', text))
    check(f'50 MB of equal letters make a page of {len(page)} bytes', len(page) < 4 << 20)
    check('and are there', ('n' * (1 << 20) + '49') in page_data.chunks(page)['strings'])


# ---- bytes ---------------------------------------------------------------------------------------

def check_bytes(b):
    model = b.path('gelu.tir')
    first = b.view(model, MODE, page='first.html')
    again = b.view(model, MODE, page='second.html')
    check('the same command writes the same bytes', again == first)
    p = b.run('view', model, MODE, '-o', '-')
    check('- is standard output', p.stdout == first)
    timed = page_data.chunks(b.view(model, '--time-passes'))['index']['models'][0]['passes']
    plain = page_data.chunks(first)['index']['models'][0]['passes']
    check('times only on demand', all('nanoseconds' in p for p in timed) and
          not any('nanoseconds' in p for p in plain))


def check_pairs(b):
    other = GELU.replace('Erf(%d)', 'Tanh(%d)').replace('"layer/0/Erf"', '"layer/0/Tanh"')
    a, c = b.model('a.tir', GELU), b.model('b.tir', other)
    data = page_data.chunks(b.view(a, c))
    states = page_data.State(data), page_data.State(data, 'b-')
    match = data['match']
    check('a comparison has two models', data['index']['what'] == 'compare' and
          [m['path'] for m in data['index']['models']] == [a, c])
    check(f'partners have the same names: {match}', len(match['same']) >= 4 and all(
        states[0].nodes[x]['name'] and states[0].text(states[0].nodes[x]['name']) ==
        states[1].text(states[1].nodes[y]['name']) for x, y in match['same']))
    lonely = [states[0].text(states[0].nodes[n]['op']) for n in match['removed']]
    changed = [text for _, _, text in match['changed']]
    check(f'what differs: {lonely} {changed}', lonely == ['Erf'] or 'op' in ' '.join(changed))
    data = page_data.chunks(b.view(a, f'--against={MODE}'))
    check('--against shows what options change', not data['match']['changed'] and
          'b-overlay-casts' in data and 'overlay-casts' not in data and
          data['match-final']['added'])


# ---- errors --------------------------------------------------------------------------------------

def check_errors(b):
    model, page = b.path('gelu.tir'), b.path('none.html')
    bare = b.model('gelu', GELU)  # a file is read by what is in it
    broken = b.model('broken.tir', GELU.replace('MatMul(%x', 'MatMul(%nothing'))
    for words, code, part in (
            (['-o', page], 1, 'no model is named'),
            ([model], 1, 'add -o page.html, or --serve'),
            ([model, '-o', page, '-o', page + '2'], 1, 'a page is one file'),
            ([b.path('nothing.onnx'), '-o', page], 4, 'nothing.onnx'),
            ([broken, '-o', page], 2, 'nothing'),
            ([model, '-o', page, '--dump-dir=x'], 1, 'has no effect in view'),
            ([model, '-o', page, '--verify'], 1, 'has no effect in view'),
            ([model, '--serve=99999'], 1, 'is no port'),
            ([model, '-o', '-', '--open'], 1, 'needs a page in a file'),
            ([model, '-', '-o', page], 3, 'read twice'),
            ([model, '-o', page, '--against=--bogus'], 1, 'bogus'),
            ([model, '-o', page, '--against=--precision-mode-v2=no'], 1, "'no' is not one of"),
            ([model, '-o', model], 1, 'is the name of a model'),
            ([bare, '-o', bare], 1, 'would be overwritten'),
            ([model, '-o', b.path('no/such/folder.html')], 4, 'folder.html')):
        p = b.run('view', *words)
        check(f'{words}: {p.returncode} {p.stderr}', p.returncode == code and part in p.stderr)
        check(f'{words} leaves no file', not os.path.exists(page))
        check(f'{words}: one error: {p.stderr}', p.stderr.count('error: ') == 1)
    with open(model, encoding='utf-8') as f:
        check('the model is what it was', f.read() == GELU)


def check_failing_pass(b):
    """A model that convert refuses can be looked at up to there."""
    bad = GELU.replace('%y = Mul(%p, %h)', '%y = Add(%p, %w)')
    path = b.path('page.html')
    p = b.run('view', b.model('bad.tir', bad), '-o', path)
    check(f'a pass that fails is a warning: {p.stderr}', p.returncode == 0 and
          'the passes end at' in p.stderr)
    with open(path, encoding='utf-8') as f:
        data = page_data.chunks(f.read())
    check('and the page says so', data['index']['models'][0]['ended'] and
          len(page_data.State(data).nodes) == 6)


# ---- the server ----------------------------------------------------------------------------------

def ask(port, request):
    with socket.create_connection(('127.0.0.1', port), 60) as s:
        s.sendall(request.encode())
        out = b''
        while True:
            block = s.recv(65536)
            if not block:
                break
            out += block
    head, _, body = out.partition(b'\r\n\r\n')
    return int(head.split()[1]), head.decode(), body


def check_server(b):
    model = b.path('gelu.tir')
    env = {k: v for k, v in os.environ.items() if k not in ('DISPLAY', 'WAYLAND_DISPLAY')}
    with guard.begin([b.tool, 'view', model, '--serve', '--open'], stderr=-1, text=True,
                     env=env) as p:
        try:
            talk(b, p, model)
        finally:
            p.kill()


def talk(b, p, model):
    port = int(p.stderr.readline().partition('127.0.0.1:')[2].partition('/')[0])
    check('without a desktop the address is said', 'no desktop' in p.stderr.readline())
    host = f'Host: 127.0.0.1:{port}\r\n\r\n'
    code, head, body = ask(port, f'GET / HTTP/1.1\r\n{host}')
    page = body.decode()
    check('the page comes without data', code == 200 and 'data-serve="1"' in page and
          not page_data.split(page)[1] and "connect-src 'self'" in page)
    check('and is not kept', 'Cache-Control: no-store' in head)
    written = page_data.split(b.view(model))[1]
    for name in written:
        if name == 'index':  # it has the arguments
            continue
        body = ask(port, f'GET /chunk/{name} HTTP/1.1\r\n{host}')[2]
        form, text = written[name]
        check(f'chunk {name} is that of the file', body == (
            page_data.base64.b64decode(text) if form == 'deflate' else text.encode()))
    for request, want in ((f'GET /chunk/nothing HTTP/1.1\r\n{host}', 404),
                          (f'GET /chunk/../../etc/passwd HTTP/1.1\r\n{host}', 404),
                          (f'GET {model} HTTP/1.1\r\n{host}', 404),
                          (f'POST / HTTP/1.1\r\n{host}', 405),
                          ('GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n', 421),
                          (f'GET / HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n', 421),
                          ('GET / HTTP/1.1\r\n\r\n', 421),
                          ('nonsense\r\n\r\n', 421),
                          ('G' * 40000, 400)):
        code, _, body = ask(port, request)
        check(f'{request[:40]!r}: {code}', code == want and b'chunk' not in body)
    code, _, body = ask(port, f'HEAD / HTTP/1.1\r\n{host}')
    check('HEAD has no body', code == 200 and not body)
    q = b.run('view', model, f'--serve={port}')
    check(f'a port that is taken: {q.stderr}', q.returncode == 4 and 'cannot serve' in q.stderr)
    p.send_signal(signal.SIGINT)
    check(f'an interrupt ends it well: {p.wait()}', p.wait() == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tailor', required=True)
    tool = os.path.abspath(parser.parse_args().tailor)
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(tool, folder)
        for part in (check_gelu, check_modules, check_precision, check_branch, check_conv,
                     check_near_miss, check_errors_overlay, check_names, check_unnamed, check_sizes,
                     check_bytes, check_pairs, check_errors, check_failing_pass, check_server):
            part(b)
    for problem in problems:
        print('FAIL:', problem[:2000])
    print(f'{passed} passed, {len(problems)} failed')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
