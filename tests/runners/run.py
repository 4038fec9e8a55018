#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runners in tools/runners: models and values go out to another runtime and come back.

  run.py --tailor BIN [--ort DIR]

Node: official models in ONNX Runtime against their references (DIR holds node_modules). Python:
a stand-in for the runtime, which checks reading and writing. The last line is
'N passed, M failed, K skipped'."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNNERS = os.path.join(ROOT, 'tools', 'runners')
NODE_TESTS = '/usr/lib/python3/dist-packages/onnx/backend/test/data/node'
MODELS = ['relu', 'add_uint8', 'matmul_3d', 'softmax_axis_1', 'cast_FLOAT_to_DOUBLE', 'equal',
          'cast_FLOAT_to_FLOAT16', 'gather_0', 'split_equal_parts_1d', 'unique_sorted_without_axis',
          'cast_STRING_to_FLOAT']
TIR = '''graph @g(%x: f32[2], %s: seq(f32[?]), %t: str[2]) -> (%a, %b, %c) {
  %a = Identity(%x)
  %b = Identity(%s)
  %c = Identity(%t)
}
'''


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def tensor(kind, dims, payload, name=b''):
    """A TensorProto; every number here fits into one byte of varint."""
    out = b''.join(bytes([1 << 3, d]) for d in dims) + bytes([2 << 3, kind])
    return out + (field(8, name) if name else b'') + payload


def write_values(folder):
    two = field(9, b'\0\0\300\77\0\0\0\300')  # 1.5, -2
    values = [tensor(1, [2], two, b'x'),
              field(1, b's') + bytes([2 << 3, 1]) + field(3, tensor(1, [2], two))
              + field(3, tensor(1, [0], b'')),
              tensor(8, [2], field(6, 'h\u00e9'.encode()) + field(6, b''), b't')]
    for i, value in enumerate(values):
        with open(os.path.join(folder, f'input_{i}.pb'), 'wb') as f:
            f.write(value)


def verify(args, what, runner, argv, env):
    p = subprocess.run([args.tailor, 'verify', *argv, '--runner', runner], capture_output=True,
                       text=True, env=dict(os.environ, **env), check=False)
    if p.returncode:
        print(f'FAIL {what}: exit {p.returncode}: {(p.stdout + p.stderr)[:300]}')
    return p.returncode == 0


def in_node(args):
    runner = 'node ' + os.path.join(RUNNERS, 'onnxruntime.js')
    env = {'NODE_PATH': os.path.join(args.ort, 'node_modules')}
    for name in MODELS:
        folder = os.path.join(NODE_TESTS, 'test_' + name)
        yield verify(args, name, runner, [os.path.join(folder, 'model.onnx'),
                                          os.path.join(folder, 'test_data_set_0')], env)


def in_python(args):
    runner = '/usr/bin/python3 ' + os.path.join(RUNNERS, 'onnxruntime.py')
    with tempfile.TemporaryDirectory(prefix='tailor-runners-') as work:
        model = os.path.join(work, 'model.tir')
        with open(model, 'w', encoding='utf-8') as f:
            f.write(TIR)
        write_values(work)
        yield verify(args, 'python', runner, [model, model, '--input', work],
                     {'PYTHONPATH': os.path.join(HERE, 'stand_in'), 'PYTHONDONTWRITEBYTECODE': '1'})


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--ort')
    args = p.parse_args()
    results = list(in_python(args))
    if args.ort and shutil.which('node') and os.path.isdir(NODE_TESTS):
        results += in_node(args)
        skipped = 0
    else:
        skipped = len(MODELS)
    failed = results.count(False)
    print(f'{len(results) - failed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
