# SPDX-License-Identifier: Apache-2.0
"""atc command lines that name dynamic batch, image size or dims, run whole by `tailor convert`.

Each line gets a model whose inputs are those of the line, written here in textual IR: what kind of
network it is follows from the line's model. Placeholders are filled in. Checked are the AIR file
(by the independent checker), what it records, the report of profiles (whose shapes are computed
here once more), the atc line of the summary, and that a profile with one size changed beyond what
the network can take is refused by name. Used by test_atc_lines.py."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'tests'), os.path.join(ROOT, 'tests', 'oracle')]
import air_check  # noqa: E402
import guard  # noqa: E402

KINDS = {'dynamic_batch_size': ',', 'dynamic_image_size': ';', 'dynamic_dims': ';'}
# What scripts and templates leave open, by option; everything else is '1'.
FILLED = {'model': 'network', 'output': 'out', 'soc_version': 'Ascend310P3'}
QWEN = '1,1025,1,1024;2,1026,2,1024;4,1028,4,1024'
BY_NAME = {'input_ids_shape': '1,-1', 'attention_mask_shape': '1,-1', 'position_ids_shape': '1,-1',
           'past_key_values_shape': '1,-1,144,128', 'dynamic_dims': QWEN, 'dims': '1,1;1,2;1,3'}
# What stands in the place of a chip's name, wholly or in part.
CHIP = re.compile(r'^(Ascend)?\$?\{[^}]*\}$')


# ---- the line ------------------------------------------------------------------------------------

def options_of(tokens):
    """[(name, value)] of a line, of '--name=value' and '--name value' alike."""
    found, rest = [], list(tokens)
    while rest:
        name, equals, value = rest.pop(0).lstrip('-').partition('=')
        found.append((name.replace('-', '_'), value if equals else rest.pop(0)))
    return found


def fill(name, value):
    """The value of an option with placeholders replaced."""
    if name == 'soc_version':
        return FILLED[name] if CHIP.match(value) else value
    if name in FILLED and re.fullmatch(r'\$\{\w+\}', value):
        return FILLED[name]
    value = value.replace('${project_dir}', '..')
    return re.sub(r'\$\{(\w+)\}', lambda m: BY_NAME.get(m.group(1), '1'), value)


def shapes_of(text):
    """{input: dims} of --input_shape."""
    found = {}
    for entry in text.split(';'):
        name, _, dims = entry.strip().rpartition(':')
        found[name.strip()] = [int(d) for d in dims.split(',')] if dims else []
    return found


def profiles_of(kind, text):
    return [[int(v) for v in p.split(',')] for p in text.split(KINDS[kind]) if p.strip()]


def with_profile(kind, shapes, values):
    """The shapes that a profile makes of those of the line."""
    made, rest = {}, list(values)
    for name, dims in shapes.items():
        if kind != 'dynamic_dims':
            rest = list(values)
        made[name] = [rest.pop(0) if d == -1 else d for d in dims]
    return made


# ---- networks ------------------------------------------------------------------------------------

class Network:
    """A graph in textual IR, whose weights are parts of one file of zeros and small numbers."""

    def __init__(self):
        self.consts, self.nodes, self.used = [], [], 0

    def weight(self, *shape):
        name, size = f'w{len(self.consts)}', 4
        for d in shape:
            size *= d
        dims = ','.join(map(str, shape))
        self.consts.append(f'  const %{name}: f32[{dims}] = file("weights", 0, {size})')
        self.used = max(self.used, size)
        return name

    def const(self, text):
        name = f'c{len(self.consts)}'
        self.consts.append(f'  const %{name}: {text}')
        return name

    def node(self, op, *operands, name='', **attrs):
        result = f't{len(self.nodes)}'
        listed = ', '.join(f'{k}={json.dumps(v)}' for k, v in attrs.items())
        where = f' @{name}' if name else ''
        body = ' {' + listed + '}' if listed else ''
        shown = ', '.join('%' + json.dumps(o) if re.search(r'\W|^\d', o) else '%' + o
                          for o in operands)
        self.nodes.append(f'  %{result} = {op}({shown}){where}{body}')
        return result

    def text(self, inputs, output):
        declared = ', '.join(f'%{json.dumps(n)}: {t}[{",".join(map(str, d))}]'
                             for n, t, d in inputs)
        return '\n'.join([f'graph @g({declared}) -> (%{output}) {{', *self.consts, *self.nodes,
                          '}', ''])


def convolved(n, x, channels, name=''):
    """3x3 convolution with stride 2, and ReLU, as every backbone begins."""
    y = n.node('Conv', x, n.weight(8, channels, 3, 3), name=name, strides=[2, 2],
               pads=[1, 1, 1, 1])
    return n.node('Relu', y)


def classifier(n, names):
    """ResNet and its like: the features are pooled to one vector."""
    y = convolved(n, convolved(n, names[0], 3), 8)
    y = n.node('Flatten', n.node('GlobalAveragePool', y))
    return n.node('Gemm', y, n.weight(8, 10))


def dense(n, names):
    """Text detection, edges, poses: a map of the image's size, from two resolutions."""
    y = convolved(n, names[0], 3, name='Conv_770')
    y = n.node('Conv', y, n.weight(8, 8, 3, 3), name='Conv_795', pads=[1, 1, 1, 1])
    y = n.node('Conv', n.node('Sigmoid', y), n.weight(4, 8, 1, 1))
    return n.node('DepthToSpace', y, blocksize=2)


def sharper(n, names):
    """Super-resolution: a residual block, then pixels are shuffled."""
    y = n.node('Conv', names[0], n.weight(8, 3, 3, 3), pads=[1, 1, 1, 1])
    z = n.node('Conv', n.node('Relu', y), n.weight(8, 8, 3, 3), pads=[1, 1, 1, 1])
    y = n.node('Conv', n.node('Add', y, z), n.weight(12, 8, 3, 3), pads=[1, 1, 1, 1])
    return n.node('Tanh', n.node('DepthToSpace', y, blocksize=2))


def recogniser(n, names):
    """Text recognition: a letter for each column."""
    y = convolved(n, names[0], 3)
    y = n.node('ReduceMean', y, n.const('i64[1] = [2]'), keepdims=0)
    y = n.node('MatMul', n.node('Transpose', y, perm=[0, 2, 1]), n.weight(8, 20))
    return n.node('Softmax', y, axis=-1)


def sound(n, names):
    """Convolution over time, of channels first or of a plain signal."""
    x, channels = names[0], 80
    if names[0] == 'input':
        x, channels = n.node('Unsqueeze', x, n.const('i64[1] = [1]')), 1
    y = n.node('Conv', x, n.weight(8, channels, 5), strides=[2], pads=[2, 2])
    y = n.node('LayerNormalization', n.node('Transpose', y, perm=[0, 2, 1]), n.weight(8),
               n.weight(8))
    return n.node('MatMul', n.node('Relu', y), n.weight(8, 12))


def frames(n, names):
    """Features by frame, [1, T, F], with a length that counts the frames that are used."""
    size = {'feats': 23, 'xs_input': 80}[names[0]]
    y = n.node('Transpose', names[0], perm=[0, 2, 1])
    y = n.node('Conv', y, n.weight(8, size, 3), dilations=[2], pads=[2, 2])
    y = n.node('ReduceMean', n.node('Relu', y), n.const('i64[1] = [2]'), keepdims=0)
    if len(names) == 1:
        return n.node('MatMul', y, n.weight(8, 4))
    return n.node('Mul', y, n.node('Cast', names[1], to=1))


def rescored(n, names):
    """WeNet's decoder: tokens of both directions attend to the encoder's memory."""
    memory, mask, tokens, lengths, backwards = names
    table = n.weight(64, 256)
    y = n.node('Add', n.node('Gather', table, tokens), n.node('Gather', table, backwards))
    scores = n.node('MatMul', y, n.node('Transpose', memory, perm=[0, 2, 1]))
    scores = n.node('Where', mask, scores, n.const('f32[] = -1e9'))
    y = n.node('MatMul', n.node('Softmax', scores, axis=-1), memory)
    scale = n.node('Unsqueeze', n.node('Cast', lengths, to=1), n.const('i64[2] = [1,2]'))
    return n.node('Div', n.node('MatMul', y, n.weight(256, 16)), scale)


def translated(n, names):
    """A step of a decoder with its own past, and the encoder's under a mask."""
    tokens, past, memory, mask = names
    y = n.node('Gather', n.weight(32, 64), tokens)
    y = n.node('Reshape', y, n.const('i64[4] = [5,1,-1,64]'))
    y = n.node('Expand', y, n.const('i64[4] = [5,24,1,64]'))
    y = n.node('Reshape', y, n.const('i64[4] = [120,1,-1,64]'))
    own = n.node('MatMul', y, n.node('Transpose', past, perm=[0, 1, 3, 2]))
    own = n.node('MatMul', n.node('Softmax', own, axis=-1), past)
    other = n.node('MatMul', own, n.node('Transpose', memory, perm=[0, 1, 3, 2]))
    hidden = n.node('Expand', n.node('Reshape', mask, n.const('i64[4] = [60,1,1,90]')),
                    n.const('i64[4] = [60,2,1,90]'))
    other = n.node('Add', other, n.node('Reshape', hidden, n.const('i64[4] = [120,1,1,90]')))
    return n.node('MatMul', n.node('Softmax', other, axis=-1), memory)


def language_model(n, names):
    """New tokens behind a cache of past ones: the mask covers both."""
    tokens, mask, positions, past = names
    y = n.node('Add', n.node('Gather', n.weight(32, 128), tokens),
               n.node('Gather', n.weight(64, 128), positions))
    keys = n.node('Concat', n.node('ReduceMean', past, n.const('i64[1] = [2]'), keepdims=0), y,
                  axis=1)
    scores = n.node('MatMul', y, n.node('Transpose', keys, perm=[0, 2, 1]))
    bias = n.node('Sub', n.node('Cast', mask, to=1), n.const('f32[] = 1'))
    scores = n.node('Add', scores, n.node('Unsqueeze', bias, n.const('i64[1] = [1]')))
    return n.node('MatMul', n.node('Softmax', scores, axis=-1), keys)


# What a model's file tells about its network, first match first: (pattern, network, dtypes of its
# inputs, names of their open dims in the order of the line).
NETWORKS = (
    (r'decoder_final', rescored, 'f32 bool i64 i64 i64', 'T T L L'),
    (r'm2m_decoder', translated, 'i64 f32 f32 f32', 'L P'),
    (r'network$|X1_v1', language_model, 'i64 i64 i64 f32', 'L M L P'),
    (r'encoder_revise', frames, 'f32 i64', 'T'),
    (r'tdnn', frames, 'f32', 'T'),
    (r'waveglow|wav2vec', sound, 'f32', 'T'),
    (r'_rec\.', recogniser, 'f32', 'H W'),
    (r'srgan', sharper, 'f32', 'H W'),
    (r'deep\.onnx|resnet50', classifier, 'f32', 'N'),
    (r'', dense, 'f32', 'H W'),
)


def network_of(place, model):
    where = model if model != 'network' or 'qwen' in place else place
    return next(n for n in NETWORKS if re.search(n[0], where))


def write_network(folder, row, shapes, path):
    _, build, dtypes, names = row
    n, names = Network(), names.split()
    output = build(n, list(shapes))
    inputs = []
    for (name, dims), dtype in zip(shapes.items(), dtypes.split()):
        inputs.append((name, dtype, [names.pop(0) if d == -1 else d for d in dims]))
    assert not names and len(inputs) == len(shapes), path
    with open(os.path.join(folder, path), 'w', encoding='utf-8') as f:
        f.write(n.text(inputs, output))
    with open(os.path.join(folder, 'weights'), 'wb') as f:
        f.write(bytes(n.used))


# ---- one line ------------------------------------------------------------------------------------

class Line:
    def __init__(self, tool, place, tokens, folder):
        self.tool, self.place, self.folder = tool, place, folder
        self.options = [(name, fill(name, value)) for name, value in options_of(tokens)]
        self.named = dict(self.options)
        self.kind = next(k for k in KINDS if k in self.named)
        self.shapes = shapes_of(self.named['input_shape'])
        self.profiles = profiles_of(self.kind, self.named[self.kind])
        self.model = os.path.splitext(os.path.basename(self.named['model']))[0] + '.tir'

    def convert(self, **changed):
        """Exit code, messages and the report of profiles of the line with some values changed."""
        values = dict(self.options, **changed)
        values.update(model=self.model, output='out', log='warning')
        given = [f'--{name}={value}' for name, value in values.items()]
        p = guard.run([self.tool, 'convert', *given, '--profile-report=report.json'],
                      cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        path = os.path.join(self.folder, 'report.json')
        report = None
        if os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                report = json.load(f)
            os.unlink(path)
        return p.returncode, p.stderr, report

    def prepare(self):
        row = network_of(self.place, os.path.basename(self.named['model']))
        write_network(self.folder, row, self.shapes, self.model)
        with open(os.path.join(self.folder, '..', 'ops_info.json'), 'w', encoding='utf-8') as f:
            f.write('{"black-list": {"to-add": ["Softmax"]}}')
        for name in ('insert_op_conf', 'fusion_switch_file', 'op_precision_mode'):
            if name in self.named:
                with open(os.path.join(self.folder, self.named[name]), 'w', encoding='utf-8') as f:
                    f.write('aipp_op { aipp_mode: static input_format: RGB888_U8 }\n')


def file_fault(line):
    """What is wrong with the AIR file, '' when nothing is."""
    path = os.path.join(line.folder, 'out.air')
    p = guard.run(['/usr/bin/python3', os.path.join(ROOT, 'tests/oracle/air_check.py'), '--quiet',
                   path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        return p.stdout
    with open(path, 'rb') as f:
        data = f.read()
    model = air_check.Decoder(lambda *_: None).decode('ModelDef', data, 0, len(data))
    recorded = {key: bytes(value['s']).decode() for key, value in model.attr.items()}
    key = 'ge.' + re.sub(r'_(\w)', lambda m: m.group(1).upper(), line.kind)
    if recorded.get(key) != line.named[line.kind].strip():
        return f'records {recorded.get(key)} as {key}'
    found = {op.name: air_check.dims(op.output_desc[0]) for op in model.graph[0].op
             if op.type == 'Data'}
    return '' if found == line.shapes else f'has inputs {found}'


def report_fault(line, report):
    if len(report) != len(line.profiles):
        return f'{len(report)} profiles are reported'
    for values, facts in zip(line.profiles, report):
        wanted = with_profile(line.kind, line.shapes, values)
        found = {p['name']: p['shape'] for p in facts['inputs']}
        if found != wanted:
            return f'profile {values} has inputs {found}'
        if not facts['works'] or facts['macs'] <= 0 or facts['device']['values_without_size']:
            return f'profile {values}: {facts}'
        if any(d <= 0 for p in facts['outputs'] for d in p['shape']):
            return f'profile {values} has outputs {facts["outputs"]}'
    return ''


def next_fault(line, messages):
    """What the atc line of the summary lacks."""
    given = next((m for m in messages.splitlines() if m.strip().startswith('atc ')), '')
    words = shlex.split(given)
    wanted = [line.kind, 'input_shape', 'soc_version']
    wanted += [n for n in ('input_format', 'insert_op_conf', 'output_type') if n in line.named]
    missing = [n for n in wanted if f'--{n}={line.named[n].strip()}' not in words]
    fixed = ['--framework=1', '--model=out.air', '--precision_mode=must_keep_origin_dtype']
    return ' '.join(missing + [w for w in fixed if w not in words])


def faults(line):
    """(what was checked, what is wrong) of one line."""
    line.prepare()
    code, messages, report = line.convert()
    if code or report is None:
        yield 'runs', f'exit {code}: {messages}'
        return
    yield 'runs', 'error:' in messages and messages
    yield 'file', file_fault(line)
    yield 'report', report_fault(line, report)
    yield 'atc', next_fault(line, messages)
    if line.kind == 'dynamic_dims' and len(set(line.profiles[0])) < len(line.profiles[0]):
        yield from refusal_fault(line)


def refusal_fault(line):
    """Dims that the network needs to be equal, and are not."""
    row = network_of(line.place, os.path.basename(line.named['model']))
    names = row[3].split()
    again = next((i for i, name in enumerate(names) if name in names[:i]), None)
    if again is None:
        return
    bad = list(line.profiles[1])
    bad[again] += 1
    text = ';'.join(','.join(map(str, p)) for p in [line.profiles[0], bad])
    code, messages, report = line.convert(dynamic_dims=text)
    named = f'(profile {",".join(map(str, bad))}: ' in messages and 'error: node ' in messages
    yield 'refusal', not (code == 2 and named and report is None) and f'exit {code}: {messages}'


def check(tool, lines):
    """(name of the line, what is wrong) for each check; lines: (place, tokens) of the whole
    table."""
    for place, tokens in lines:
        if not any(re.match(r'--?dynamic[_-]', t) for t in tokens):
            continue
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, 'work')
            os.mkdir(inner)
            line = Line(tool, place, tokens, inner)
            for what, fault in faults(line):
                yield f'{place} {line.kind}: {what}', fault
