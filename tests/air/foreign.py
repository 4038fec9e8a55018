#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""AIR files of other tools (samples.py), binary and as text: read and written again they have the
same graphs, nodes, edges, attributes, descs and weights; they compute what their ops mean in the
order of dims that they say, or are refused by name.

  tests/air/foreign.py --tailor T

The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import samples as s  # noqa: E402
from hostile import decode  # noqa: E402
from sample import close, npy, read_npy  # noqa: E402
from text import ge_proto  # noqa: E402

# The writer makes these of the op table: they need not be in a file, and may be in any order.
MADE = ('_input_name_', '_output_name_', '_ir_', '_opt_input', '__dynamic_', 'is_input_const',
        '_datadump_original_op_names')


# ---- what a file says, whatever the order of its fields ------------------------------------------

def fields(data, number):
    return [v for n, _, v in decode(data) if n == number]


def one(data, number, other=b''):
    found = fields(data, number)
    return found[0] if found else other


def entries(data, number):
    return {one(e, 1).decode(): one(e, 2) for e in fields(data, number)}


def desc_of(data):
    """An optional input that is not there is written in one way."""
    if not one(data, 2, 0):
        return 'none'
    rest = tuple((n, v) for n, _, v in decode(data) if n not in (2, 3, 4, 5, 16))
    attrs = entries(data, 5)
    if attrs.get('origin_format') in (s.text('NCHW'), s.text('NCDHW')):
        attrs.pop('origin_format_is_set', None)  # the writer says so always
    attrs.pop('_origin_output_tensor_name', None)
    return one(data, 2), one(one(data, 3), 1), one(data, 4), tuple(sorted(attrs.items())), rest


def canonical(value):
    """An AttrDef: of a tensor its desc need not be spelled alike."""
    found = fields(value, 12)
    return (desc_of(one(found[0], 1)), one(found[0], 2)) if found else value


def node_of(data):
    attrs = {k: canonical(v) for k, v in entries(data, 10).items() if not k.startswith(MADE)}
    if '_parent_node_index' in attrs:
        attrs.pop('index', None)  # inputs of a body are told by the former
    inputs = [i.decode() for i in fields(data, 5)]
    controls = sorted(i for i in inputs if i.endswith(':-1'))
    edges = [i for i in inputs if not i.endswith(':-1')]
    while edges and not edges[-1]:
        edges.pop()
    ins = [desc_of(d) for d in fields(data, 33)]
    while ins and ins[-1] == 'none':
        ins.pop()
    return {'type': one(data, 2), 'edges': edges, 'controls': controls, 'in': ins,
            'out': [desc_of(d) for d in fields(data, 34)], 'attrs': attrs,
            'bodies': len(fields(data, 35)), 'stream': one(data, 22, 0)}


def by_ports(node, data):
    """Edges and descs in the order of ports: bodies may have their outputs in any."""
    at = [entries(d, 5).get('_parent_node_index') for d in fields(data, 33)]
    if node['type'] != b'NetOutput' or None in at:
        return node
    order = sorted(range(len(at)), key=lambda i: at[i])
    return dict(node, edges=[node['edges'][i] for i in order],
                **{'in': [node['in'][i] for i in order]})


def graph_of(data):
    nodes = {one(n, 1).decode(): by_ports(node_of(n), n) for n in fields(data, 6)}
    return {'nodes': nodes, 'attrs': entries(data, 11),
            'inputs': sorted(fields(data, 4)), 'outputs': len(fields(data, 5))}


def differences(first, second, path=''):
    """Lines of what differs between two things made of dicts."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(set(first) | set(second)):
            if key not in first or key not in second:
                yield f'{path}/{key}: only {"before" if key in first else "after"}'
            else:
                yield from differences(first[key], second[key], f'{path}/{key}')
    elif first != second:
        yield f'{path}: {first} is now {second}'


class Tests:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.passed = self.failed = 0

    def run(self, *args):
        return guard.run([self.tool, *args], cwd=self.folder, capture_output=True, text=True,
                         errors='replace', check=False)

    def expect(self, what, good, detail=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {str(detail)[:1500]}')

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)

    def read(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def stays(self, name, data, change=None):
        """Written again, the file says the same; a graph may have another name."""
        self.write(name + '.air', data)
        self.write(name + '.txt', ge_proto(data).encode())
        for source in (name + '.air', name + '.txt'):
            p = self.run('convert', source, '-o', 'again.air', '-q', '-O0')
            self.expect(f'{source} is written again', p.returncode == 0, p.stderr)
            if p.returncode:
                continue
            again = self.read('again.air')
            before = [graph_of(g) for g in fields(data, 7)]
            after = [graph_of(g) for g in fields(again, 7)]
            for g in before:
                if change:
                    change(g)
            found = list(differences(by_nodes(before), by_nodes(after)))
            self.expect(f'{source} stays', not found, '\n  '.join(found[:8]))
            self.expect(f'{source}: attributes of the model',
                        entries(data, 11) == entries(again, 11), entries(again, 11))
            os.unlink(self.path('again.air'))
        # What the reader notes, textual IR has too.
        p = self.run('convert', name + '.air', '-o', 'text.tir', '-q', '-O0')
        self.expect(f'{name} as text', p.returncode == 0, p.stderr)
        p = self.run('convert', 'text.tir', '-o', 'of_text.air', '-q', '-O0')
        if self.run('convert', name + '.air', '-o', 'direct.air', '-q', '-O0').returncode == 0:
            self.expect(f'{name} by way of textual IR', p.returncode == 0 and
                        self.read('of_text.air') == self.read('direct.air'), p.stderr)

    def refused(self, what, data, command, code, *words):
        self.write('bad.air', data)
        p = self.run(command[0], 'bad.air', *command[1:])
        self.expect(f'{what} is refused', p.returncode == code and
                    all(w in p.stderr for w in words), f'{p.returncode}: {p.stderr}')

    def numbers(self, what, model, want, **inputs):
        """`want`: numbers of each output."""
        given = []
        for name, (values, shape) in inputs.items():
            npy(self.path(name + '.npy'), values, shape)
            given += ['--input', f'{name}={name}.npy']
        p = self.run('run', model, *given, '-o', 'out', '--format=npy')
        self.expect(f'{what} runs', p.returncode == 0, p.stderr)
        for i, values in enumerate(want if p.returncode == 0 else []):
            got = read_npy(self.path(os.path.join('out', f'output_{i}.npy')))
            self.expect(f'{what}: output {i}', close(got, values, 1e-5), f'{got} for {values}')


def by_nodes(graphs):
    """Graphs by their first node: names of bodies are made anew."""
    return {'main' if i == 0 else sorted(g['nodes'])[0]: g for i, g in enumerate(graphs)}


def with_output(g):
    """The writer always makes a NetOutput."""
    g['nodes'].setdefault('Node_Output', None)


def keeps(t):
    t.stays('tf', s.tf_adapter()[0])
    t.stays('compiled', s.device_layouts())
    with open(t.path('weights.bin'), 'wb') as f:
        f.write(b'\0' * 512 + s.floats([1, 2, 3, 4, 5, 6, 7, 8]))
    t.stays('torch', s.torchair('weights.bin'), inside)
    os.makedirs(t.path('air_weight/net'))
    t.write('air_weight/net/Const_fc', s.floats([1 if i % 5 == 0 else 0 for i in range(16)]))
    t.stays('mind', s.mind_spore(), split_inside)
    t.stays('flow', s.control_flow())
    t.stays('tensors', s.tensors_of_others())
    p = t.run('convert', 'torch.air', '-o', 'split.air', '-q', '-O0', '--external-weight=2')
    t.expect('weights stay outside', p.returncode == 0, p.stderr)


def inside(g):
    """Options say where weights lie: without them they are in the file."""
    node = g['nodes']['weight']
    node['type'] = b'Const'
    node['attrs'] = {'value': (node['out'][0], s.floats([1, 2, 3, 4, 5, 6, 7, 8]))}


def split_inside(g):
    node = g['nodes']['Default/fc/weight']
    node['attrs'] = {'value': (node['out'][0],
                               s.floats([1 if i % 5 == 0 else 0 for i in range(16)]))}
    # What is added: NetOutput.
    relu = g['nodes']['Default/ReLU-op2']['out'][0]
    g['nodes']['Node_Output'] = {'type': b'NetOutput', 'edges': ['Default/ReLU-op2:0'],
                                 'controls': [], 'in': [relu], 'out': [], 'attrs': {}, 'bodies': 0,
                                 'stream': 0}


def computes(t):
    data, (weights, bias) = s.tf_adapter()
    t.write('tf.air', data)
    x = [((i * 5) % 13 - 6) / 4 for i in range(32)]
    want = [s.tf_numbers(x, weights, bias)]
    t.numbers('NHWC', 'tf.air', want, x=(x, (1, 4, 4, 2)))
    for name, *options in (('plain.air',), ('half.air', '--precision-mode=force_fp16'),
                           ('tf.onnx',)):
        p = t.run('convert', 'tf.air', '-o', name, '-q', *options)
        t.expect(f'NHWC to {name}', p.returncode == 0, p.stderr)
        if p.returncode == 0 and name != 'half.air':
            t.numbers(name, name, want, x=(x, (1, 4, 4, 2)))
    # After a conversion the ports still say their orders, new constants included.
    p = t.run('verify', 'tf.air', 'half.air', '--cosine=0.999')
    t.expect('NHWC in half precision', p.returncode == 0, p.stdout + p.stderr)
    half = graph_of(fields(t.read('half.air'), 7)[0])['nodes']
    t.expect('the filter keeps its format', half['conv/Conv2D']['in'][1][2] == b'HWCN',
             half['conv/Conv2D']['in'])
    held = [n for n in half.values() if n['type'] in (b'Const', b'Constant')]
    t.expect('the constant has it too', any(n['out'][0][2] == b'HWCN' for n in held), held)
    t.write('mind.air', s.mind_spore())
    t.numbers('weights beside the file', 'mind.air', [[1, 0, 3, 0, 5, 0, 7, 0]],
              input=([1, -2, 3, -4, 5, -6, 7, -8], (2, 4)))
    t.write('flow.air', s.control_flow())


def changes_precision(t):
    """Files of other tools take any precision mode, and compute the same in it."""
    for name in ('tf', 'mind', 'torch', 'flow'):
        for mode in ('force_fp16', 'allow_mix_precision', 'allow_fp32_to_fp16',
                     'cube_fp16in_fp32out', 'must_keep_origin_dtype', 'allow_mix_precision_bf16'):
            p = t.run('convert', name + '.air', '-o', 'mode.air', '-q', '--precision-mode=' + mode)
            t.expect(f'{name} in {mode}', p.returncode == 0, p.stderr)
            if name in ('tf', 'mind') and p.returncode == 0:
                p = t.run('verify', name + '.air', 'mode.air', '--cosine=0.99')
                t.expect(f'{name} in {mode} computes the same', p.returncode == 0,
                         p.stdout + p.stderr)
    wide = s.device_layouts(s.F32)
    t.refused('another precision of layouts of the device', wide,
              ['convert', '-o', 'mode.air', '-q', '--precision-mode=force_fp16'], 3, 'NC1HWC0',
              'layout')


def refuses(t):
    t.refused('a layout of the device', s.device_layouts(), ['run'], 3, 'NC1HWC0', 'layout')
    t.refused('a layout of the device as ONNX', s.device_layouts(),
              ['convert', '-o', 'bad.onnx', '-q'], 3, 'NC1HWC0')
    x = s.desc(s.F32, [1, 4, 4, 2], 'NHWC')
    w = s.desc(s.F32, [3, 3, 2, 3], 'ND')
    y = s.desc(s.F32, [1, 4, 4, 3], 'NHWC')

    def conv(x_desc, w_desc, layout):
        node = s.node('conv', 'Conv2D', ['x:0', 'w:0'], [x_desc, w_desc], [y], ['x', 'filter'],
                      ['y'], strides=s.ints(1, 1, 1, 1), pads=s.ints(1, 1, 1, 1),
                      dilations=s.ints(1, 1, 1, 1), groups=s.integer(1), data_format=s.text(layout),
                      offset_x=s.integer(0))
        return s.model(s.graph('g', [s.placeholder('x', 0, x_desc), s.placeholder('w', 1, w_desc),
                                     node, s.output(['conv:0'], [y])], ['x:0', 'w:0'], ['conv:0']))
    t.refused('a filter of unknown order', conv(x, w, 'NHWC'), ['run'], 3, 'filter', 'format')
    t.refused('a format that contradicts data_format',
              conv(x, s.desc(s.F32, [3, 3, 2, 3], 'HWCN'), 'NCHW'), ['run'], 3, 'NHWC',
              'data_format')
    node = s.node('r', 'ResizeNearestNeighborV2', ['x:0', 'n:0'], [x, s.desc(s.I32, [2])],
                  [s.desc(s.F32, [1, 8, 8, 2], 'NHWC')], ['x', 'size'], ['y'])
    resize = s.model(s.graph('g', [s.placeholder('x', 0, x),
                                   s.const('n', s.desc(s.I32, [2]), struct.pack('<2i', 8, 8)), node,
                                   s.output(['r:0'], [s.desc(s.F32, [1, 8, 8, 2], 'NHWC')])],
                             ['x:0'], ['r:0']))
    t.refused('an op that reads the order of its input off the desc', resize, ['run'], 3, 'NHWC',
              'ResizeNearestNeighborV2')
    t.write('bad.air', s.device_layouts())
    for command in (['info'], ['diff', 'bad.air']):
        p = t.run(command[0], 'bad.air', *command[1:])
        t.expect(f'{command[0]} of layouts of the device', p.returncode == 0, p.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='tailor-foreign-') as folder:
        t = Tests(os.path.abspath(args.tailor), folder)
        keeps(t)
        computes(t)
        changes_precision(t)
        refuses(t)
    print(f'{t.passed} passed, {t.failed} failed, 0 skipped')
    return t.failed != 0


if __name__ == '__main__':
    sys.exit(main())
