#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`tailor verify model.onnx model.air` over models: the AIR file, as it was written, must compute
what the model computes.

  tests/air/verify_corpus.py --tailor T [--every N] [--table FILE] [FOLDER...]

--every: of all models; --table: a line for each model with its class. A model gets the inputs of
its reference data; without data those of INPUTS, which fit where random ones do not, else random
ones. Models that draw random numbers must agree in types and shapes. A model that ROUNDED names
must agree as closely as said there. What UNFIT names must fail in the model itself, whatever it
gets, or lack a value that the evaluator can hold. Anything else that differs or does not run
fails. Default folders: the corpus beside the project and Debian's ONNX models."""
import argparse
import collections
import os
import re
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import round_trip  # noqa: E402

RANDOM = re.compile(rb'Bernoulli|Multinomial|RandomNormal|RandomUniform')
SHAPES_ONLY = ['--atol=1e30']
ROOM = '--memory-limit=2G'
# Parts of paths -> inputs: NAME: (numpy type, dims, elements in turn), or dims by name.
INPUTS = {
    'ort_fusion/constant_folding_for_ops_having_missing': {'shape': ('i8', [4], [1, 2, 2, 2])},
    'ort_graph/issue_19480': {'shape_input': ('f4', [1, 128, 2, 2], [0]),
                              'in0_input': ('f4', [1, 32, 16], [1, -2, 3, 5, -1]),
                              'in1_input': ('f4', [1, 32, 16], [2, 7, -3])},
    'ort_graph/model_resize_empty_optional_input': {'scales': ('f4', [4], [1, 1, 2, 2])},
    'ort_graph/ort_github_issue_11536': {'x': ('f4', [2, 3, 4], [1, 2, 3, 4, 5, 6, 7]),
                                         'axis1': ('i8', [1], [1]), 'axis2': ('i8', [1], [2])},
    'ort_graph/ort_github_issue_17000': {'seq_in': ('sequence', 2, [2, 3])},
    'ort_training/gather_matmul': ['--dim=sequence_length=2', '--dim=batch_size=2'],
    'ort_training/gathernd_': ['--dim=seqlen=2'],
    'ort_transform/gelu_add_matmul': ['--dim=x=128'],
    'tract/qtdnn_10x5_101_i32_biases': {'input': ('f4', [4, 10], [1, -2, 3, 0.5, -1])},
    'trt/attention/': {n: ('f4', [4, 4], [1, -2, 3, 0.5, -1]) for n in 'qkv'},
    'trt/attention_same_qkv/': {'q': ('f4', [4, 4], [1, -2, 3, 0.5, -1])},
    'winml/fp16-initializer': {'X': ('f4', [3], [1, 2, 3])},
    'castlike_BFLOAT16_to_FLOAT': [],  # their data has another shape than they declare
    'castlike_FLOAT_to_BFLOAT16': [],
    'test_optional_has_element_empty/': {'optional_input': ('i4', [], [7])},
}
# Parts of paths -> why the results may differ, and what must hold all the same.
STEP = 'the NPU quantizes by a product, and dequantizes to halves: elements differ by a step'
ROUNDED = {
    'qdq_fusion_zp_not_provided': (STEP, '--cosine=0.99999'),
    'conv_qdq_s8s8_perchannel': (STEP, '--cosine=0.999'),
    'layout_transform_nonconst_broadcast_input': (STEP, '--cosine=0.9999'),
    'qdq_with_multi_consumer_dq_nodes': (STEP + ' that later layers add up', '--cosine=0.998'),
    'gemma3-vision-attention_fp16': ('halves, normed twice', '--cosine=0.99999'),
    'real/residual_block': ('sums that cancel, over 576 products', '--cosine=0.9999999'),
}
# Parts of paths -> why no inputs can be given.
MAPS = 'maps: the evaluator has no such values'
WRONG = 'no input fits: it was made for a rewrite and never run'
UNFIT = {
    'misc/randomforest': MAPS, 'misc/skl_lr_mnist': MAPS, 'real/lr_mnist_scikit': MAPS,
    'ort_graph/zipmap_int64float': MAPS, 'winml/zipmap-string': MAPS,
    'winml/dictvectorizer-string': MAPS,
    'ort_graph/sparse_to_dense_matmul': 'a sparse input: files of inputs have none',
    'ort_fusion/attention_distilbert': WRONG,
    'ort_fusion/embed_layer_norm_format7_opset13': WRONG,
    'ort_fusion/reshape_fusion_concat_subgraph_mul': WRONG,
    'ort_fusion/reshape_fusion_concat_subgraph_not_triggered': WRONG,
    'ort_fusion/reshape_fusion_multiple_values_in_initializer_tensor_1': WRONG,
}
RAGGED = 'cannot be stacked'


def entry(table, path):
    return next((value for part, value in table.items() if part in path), None)


# ---- files of inputs ----------------------------------------------------------------------------

def varint(n):
    out = b''
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def write_npy(path, kind, dims, elements):
    count = 1
    for d in dims:
        count *= d
    code = {'f4': 'f', 'i4': 'i', 'i8': 'q'}[kind]
    shape = ''.join(f'{d}, ' for d in dims)
    head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({shape}), }}"
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    values = [elements[i % len(elements)] for i in range(count)]
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode()
                + struct.pack(f'<{count}{code}', *values))


def write_sequence(path, elements):
    """elements: TensorProto messages."""
    with open(path, 'wb') as f:
        f.write(b'\x10\x01' + b''.join(field(3, e) for e in elements))


def tensor(dims):
    count = dims[0] * dims[1]
    return (b''.join(b'\x08' + varint(d) for d in dims) + b'\x10\x01'
            + field(9, struct.pack(f'<{count}f', *range(count))))


def first_tensors(path):
    """The messages of the tensors of a SequenceProto, and what stands around them."""
    with open(path, 'rb') as f:
        data = f.read()
    at, tensors, around = 0, [], b''
    while at < len(data):
        start, shift, size = at, 0, 0
        tag, at = data[at], at + 1
        while True:
            size, at, shift = size | (data[at] & 127) << shift, at + 1, shift + 7
            if data[at - 1] < 128:
                break
        if tag & 7 == 2:
            at += size
        if tag == 0x1a:
            tensors.append(data[at - size:at])
        else:
            around += data[start:at]
    return tensors, around


class Verify:
    def __init__(self, tool, room):
        self.tool, self.room = tool, room
        self.classes = collections.Counter()
        self.table = []

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, text=True, check=False,
                         errors='replace')

    def note(self, path, kind, detail=''):
        self.classes[kind] += 1
        self.table.append((kind, path, detail))

    def given(self, path):
        """The options for the inputs of a model."""
        made = entry(INPUTS, path)
        if isinstance(made, dict):
            return [self.input(name, *spec) for name, spec in made.items()]
        folder = os.path.dirname(path)
        data = [d for d in (os.path.join(folder, f) for f in ('test_data_set_0', 'ort_data_set_0'))
                if os.path.isdir(d)]
        return made if made is not None else [f'--input={d}' for d in data[:1]]

    def input(self, name, kind, dims, elements):
        path = os.path.join(self.room, name + ('.pb' if kind == 'sequence' else '.npy'))
        if kind == 'sequence':
            write_sequence(path, [tensor(elements)] * dims)
        else:
            write_npy(path, kind, dims, elements)
        return f'--input={name}={path}'

    def even(self, path, which):
        """Options for reference data whose sequences have elements of one shape: the same element
        of each, three times."""
        data = os.path.join(os.path.dirname(path), 'test_data_set_0')
        folder = os.path.join(self.room, 'even')
        os.makedirs(folder, exist_ok=True)
        for old in os.listdir(folder):
            os.remove(os.path.join(folder, old))
        names = re.findall(r'^input +(\S+): seq', self.run('info', path).stdout, re.M)
        for name in sorted(os.listdir(data)):
            whole = os.path.join(data, name)
            new = os.path.join(folder, name)
            if not name.startswith('input_'):
                continue
            tensors, around = first_tensors(whole)
            if names and tensors:
                with open(new, 'wb') as f:
                    f.write(around + field(3, tensors[which % len(tensors)]) * 3)
            else:
                os.symlink(whole, new)
        return [f'--input={folder}']

    def verify(self, path, air, options):
        return self.run('verify', path, air, ROOM, '--tensors=0', *options)

    def differs(self, path, air, options, done):
        """Files a model that does not verify with its inputs."""
        with open(path, 'rb') as f:
            draws = RANDOM.search(f.read())
        rounded, unfit = entry(ROUNDED, path), entry(UNFIT, path)
        said = [line for line in done.stderr.splitlines() if 'error: ' in line] or ['']
        off = [line for line in done.stdout.splitlines() if line.startswith('differs')] or ['']
        detail = f'{done.returncode} {said[0][:250]} {off[0][:250]}'
        if RAGGED in done.stderr and any(
                self.verify(path, air, self.even(path, i)).returncode == 0 for i in range(2)):
            self.note(path, 'equal', 'its sequences made even')
        elif draws and self.verify(path, air, [*options, *SHAPES_ONLY]).returncode == 0:
            self.note(path, 'it draws random numbers: types and shapes are equal')
        elif rounded and self.verify(path, air, [*options, rounded[1]]).returncode == 0:
            self.note(path, rounded[0])
        elif unfit and self.run('run', path, ROOM, *options).returncode:
            self.note(path, unfit)
        else:
            self.note(path, 'FAIL', detail)

    def model(self, path):
        air = os.path.join(self.room, 'm.air')
        if self.run('convert', path, '-o', air, '-q').returncode:
            return self.note(path, 'no AIR form')
        options = self.given(path)
        done = self.verify(path, air, options)
        if done.returncode:
            return self.differs(path, air, options, done)
        return self.note(path, 'equal', 'data' if options else 'random')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--table')
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as room:
        v = Verify(args.tailor, room)
        for path in round_trip.models(args.folders or round_trip.FOLDERS, args.every):
            v.model(path)
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in v.table)
    for kind, path, detail in v.table:
        if kind == 'FAIL':
            print('FAIL', path, detail)
    for kind, n in v.classes.most_common():
        print(f'{n} models: {kind}', file=sys.stderr)
    other = sum(v.classes.values()) - v.classes['equal'] - v.classes['FAIL'] \
        - v.classes['no AIR form']
    print(f"{v.classes['equal']} passed, {v.classes['FAIL']} failed, {other} skipped")
    return 1 if v.classes['FAIL'] else 0


if __name__ == '__main__':
    sys.exit(main())
