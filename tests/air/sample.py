#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A file that GE's own library wrote, put together again from its description: it is read, it
computes what its ops mean, and it keeps its nodes, edges, descs and attributes when it is written
again.

  tests/air/sample.py --tailor T [--sample FILE]

FILE is a dump of the file in the form of tests/oracle/air_check.py --dump, which leaves out the
elements of constants: those are made here. The last line is 'N passed, M failed, K skipped'."""
import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from hostile import encode, varint  # noqa: E402

SAMPLE = os.path.join(ROOT, '..', 'shared', 'spec', 'air-sample.txt')
DTYPES = {'undefined': 0, 'float32': 1, 'float16': 2, 'int64': 8}
FORMATS = {'NCHW': 0, 'ND': 2, 'FORMAT_RESERVED': 40}
# Only these words say of a list what it holds; others hold numbers, text or bools.
TYPE_OF = {str: (1, 2), int: (2, 3), bool: (4, 5)}
CHANGED = {'is_input_const', '__dynamic_input_x_cnt', '_datadump_original_op_names',
           'true_branch_stream', '_inner_net_output'}


# ---- the description -----------------------------------------------------------------------------

def read(path):
    """[(name, type, inputs, [(port, desc)], {attr: text})] and the graph's line"""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    text = text[text.index('model name='):]
    nodes, graph = [], None
    for line in text.splitlines():
        m = re.match(r"op '(.*)' type=(\w+) id=(\d+)", line)
        if m:
            nodes.append({'name': m[1], 'type': m[2], 'id': int(m[3]), 'descs': [], 'attrs': {}})
        elif line.startswith("graph '"):
            graph = re.match(r"graph '(.*)' input=(.*) output=(.*)", line).groups()
        elif line.startswith('  input '):
            nodes[-1]['inputs'] = json.loads(line[8:])
        elif re.match(r'  (in|out)\d+ ', line):
            nodes[-1]['descs'].append(desc_of(line))
        elif line.startswith('  attr '):
            name, value = line[7:].split(' = ', 1)
            nodes[-1]['attrs'][name] = value
    return graph, nodes


def desc_of(line):
    m = re.match(r'  (in|out)\d+ (\w+) (\w+)\[([\d,]*)\]', line)
    origin = re.search(r'origin_shape=\[(.*?)\]', line)
    return {'side': m[1], 'dtype': m[2], 'format': m[3],
            'dims': [int(d) for d in m[4].split(',') if d], 'origin': bool(origin),
            'origin_format': re.search(r'origin_format="(\w+)"', line)[1]}


# ---- protobuf ------------------------------------------------------------------------------------

def message(*fields):
    return encode([list(f) for f in fields])


def entry(number, key, value):
    return (number, 2, message((1, 2, key.encode()), (2, 2, value)))


def attr_int(v):
    return message((3, 0, v))


def attr_text(v):
    return message((2, 2, v.encode()))


def attr_list(values, typed):
    kind, field = TYPE_OF[type(values[0])] if values else (1, 2)
    if kind == 1:
        body = [(field, 2, v.encode()) for v in values]
    else:
        body = [(field, 2, b''.join(varint(int(v)) for v in values))] if values else []
    return message((1, 2, message(*body, *([(20, 0, kind)] if typed else []))))


def encode_desc(d):
    fields = [(2, 0, DTYPES[d['dtype']])] if DTYPES[d['dtype']] else []
    fields.append((3, 2, message((1, 2, b''.join(varint(v) for v in d['dims'])))))
    fields += [(4, 2, d['format'].encode()), (14, 2, b'NPU'), (16, 0, len(d['dims']))]
    attrs = {'format_for_int': attr_int(FORMATS[d['format']]),
             'origin_format': attr_text(d['origin_format']),
             'origin_format_for_int': attr_int(FORMATS[d['origin_format']]),
             'origin_shape_initialized': message((5, 0, int(d['origin'])))}
    if d['origin']:
        attrs['origin_shape'] = attr_list(d['dims'], True)
    return message(*fields, *[entry(5, k, v) for k, v in attrs.items()])


def elements_of(node, count):
    if node['name'] == 'shape':
        return [1, 512]
    return [((i * 7) % 11 - 5) / 8 for i in range(count)]


def encode_value(node, text):
    desc = node['descs'][0]
    count = 1
    for d in desc['dims']:
        count *= d
    values = elements_of(node, count)
    node['values'] = values
    data = struct.pack(f'<{count}{"q" if desc["dtype"] == "int64" else "f"}', *values)
    assert f'{len(data)} bytes' in text
    return message((12, 2, message((1, 2, encode_desc(desc)), (2, 2, data))))


def encode_attr(node, name, text):
    if text.startswith('tensor '):
        return encode_value(node, text)
    typed = not text.endswith(' (no val_type)')
    value = json.loads(text if typed else text[:-len(' (no val_type)')])
    if isinstance(value, bool):
        return message((5, 0, int(value)))
    if isinstance(value, int):
        return attr_int(value)
    return attr_text(value) if isinstance(value, str) else attr_list(value, typed)


def encode_node(node):
    fields = [(1, 2, node['name'].encode()), (2, 2, node['type'].encode())]
    fields += [(5, 2, i.encode()) for i in node['inputs']]
    fields += [entry(10, k, encode_attr(node, k, v)) for k, v in node['attrs'].items()]
    fields += [(20, 0, 1), (21, 0, node['id'])]
    fields += [(33 if d['side'] == 'in' else 34, 2, encode_desc(d)) for d in node['descs']]
    return message(*fields)


def encode_model(graph, nodes):
    fields = [(1, 2, graph[0].encode())]
    fields += [(4, 2, i.encode()) for i in json.loads(graph[1])]
    fields += [(5, 2, o.encode()) for o in json.loads(graph[2])]
    fields += [(6, 2, encode_node(n)) for n in nodes]
    return message((7, 2, message(*fields)))


# ---- what the ops mean ---------------------------------------------------------------------------

def convolve(x, w, b):
    """[1,3,8,8] with four 3x3 filters, stride 1, one row of zeros around it"""
    out = []
    for o in range(4):
        for r in range(8):
            for c in range(8):
                total = b[o]
                for ch in range(3):
                    for i in range(3):
                        for k in range(3):
                            if 0 <= r + i - 1 < 8 and 0 <= c + k - 1 < 8:
                                total += (x[ch * 64 + (r + i - 1) * 8 + c + k - 1] *
                                          w[o * 27 + ch * 9 + i * 3 + k])
                out.append(total)
    return out


def npy(path, values, shape):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += ' ' * ((64 - (len(head) + 11) % 64) % 64) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() +
                struct.pack(f'<{len(values)}f', *values))


def read_npy(path):
    with open(path, 'rb') as f:
        data = f.read()
    size, = struct.unpack_from('<H', data, 8)
    half = b"'<f2'" in data[:10 + size]
    body = data[10 + size:]
    return list(struct.unpack(f'<{len(body) // (2 if half else 4)}{"e" if half else "f"}', body))


def close(got, want, rtol):
    return len(got) == len(want) and all(abs(g - w) <= 1e-6 + rtol * abs(w)
                                         for g, w in zip(got, want))


class Tests:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.passed = self.failed = 0

    def run(self, *args):
        return guard.run([self.tool, *args], cwd=self.folder, capture_output=True, text=True,
                         check=False)

    def expect(self, what, good, detail=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {detail}')

    def computes(self, nodes, model):
        by = {n['name']: n for n in nodes}
        x = [((i * 5) % 17 - 8) / 16 for i in range(192)]
        npy(os.path.join(self.folder, 'x.npy'), x, (1, 3, 8, 8))
        p = self.run('run', model, '--input', 'x=x.npy', '-o', 'out', '--format=npy')
        self.expect(f'{model} runs', p.returncode == 0, p.stderr)
        if p.returncode:
            return
        conv = convolve(x, by['conv_w']['values'], by['conv_b']['values'])
        relu = [max(v, 0.0) for v in conv]
        got = [read_npy(os.path.join(self.folder, 'out', f'output_{i}.npy')) for i in range(2)]
        self.expect(f'{model}: relu', close(got[1], relu, 1e-5), 'other numbers')
        self.expect(f'{model}: cast of the joined values', close(got[0], relu + conv, 1e-3),
                    'other numbers')

    def keeps(self, sample, nodes):
        """The file that is written from the one that was read, node by node."""
        check = os.path.join(ROOT, 'tests', 'oracle', 'air_check.py')
        p = subprocess.run(['/usr/bin/python3', check, '--dump', 'again.air'], cwd=self.folder,
                           capture_output=True, text=True, check=False)
        self.expect('the written file is right', p.returncode == 0, p.stdout[-400:])
        path = os.path.join(self.folder, 'again.txt')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(p.stdout)
        again = {n['name']: n for n in read(path)[1]}
        for node in nodes:
            other = again.get(node['name'])
            if node['type'] == 'NetOutput':
                continue
            self.expect(f'{sample}: {node["name"]} stays', other is not None)
            if other is None:
                continue
            self.expect(f'{node["name"]}: edges', other['inputs'] == node['inputs'],
                        other['inputs'])
            kept = [d for d in node['descs'] if d['dtype'] != 'undefined']
            now = [d for d in other['descs'] if d['dtype'] != 'undefined']
            # Without data_format an op takes any format; of ND GE makes that of its input.
            exact = 'data_format' in node['attrs'] or node['type'] in ('Const', 'Data')
            self.expect(f'{node["name"]}: descs', [strip(d, exact) for d in kept] ==
                        [strip(d, exact) for d in now], f'{now} for {kept}')
            for name in ('_input_name', '_output_name'):
                self.expect(f'{node["name"]}: {name}',
                            ports(node['attrs'], name) == ports(other['attrs'], name),
                            ports(other['attrs'], name))
            for name, value in node['attrs'].items():
                made = name in CHANGED or name.startswith(('_input_name', '_output_name', '_ir_'))
                if made or other['attrs'].get(name) == value:
                    continue
                self.expect(f'{node["name"]}: {name}', False,
                            f'{other["attrs"].get(name)} for {value}')
            self.passed += 1


def ports(attrs, name):
    """{name of a port: its index}, whatever the order of the lists"""
    keys, values = (json.loads(attrs.get(f'{name}_{k}', '[]').replace(' (no val_type)', ''))
                    for k in ('key', 'value'))
    return dict(zip(keys, values))


def strip(d, exact):
    return (d['side'], d['dtype'], d['format'] if exact else '', d['dims'])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--sample', default=SAMPLE)
    args = parser.parse_args()
    if not os.path.exists(args.sample):
        print('    skip the description of the file is not here\n0 passed, 0 failed, 1 skipped')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(args.tailor), folder)
        graph, nodes = read(args.sample)
        with open(os.path.join(folder, 'ge.air'), 'wb') as f:
            f.write(encode_model(graph, nodes))
        p = tests.run('info', 'ge.air')
        tests.expect('info', p.returncode == 0 and not p.stderr, p.stderr)
        tests.computes(nodes, 'ge.air')
        p = tests.run('convert', 'ge.air', '-o', 'again.air', '--summary=none', '-O0')
        tests.expect('it is written again', p.returncode == 0, p.stderr)
        if p.returncode == 0:
            tests.keeps('ge.air', nodes)
            tests.computes(nodes, 'again.air')
        p = tests.run('convert', 'ge.air', '-o', 'ge.onnx', '--summary=none')
        tests.expect('it becomes ONNX', p.returncode == 0, p.stderr)
        if p.returncode == 0:
            tests.computes(nodes, 'ge.onnx')
    print(f'{tests.passed} passed, {tests.failed} failed, 0 skipped')
    return tests.failed != 0


if __name__ == '__main__':
    sys.exit(main())
