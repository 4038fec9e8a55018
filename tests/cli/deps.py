#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What --print-inputs lists against what the kernel saw: every regular file below the working
folder that a command opens to read is listed, and nothing else. A file that a build is not told of
makes stale outputs.

  deps.py --tailor TAILOR"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
from onnx import TensorProto, external_data_helper, helper, numpy_helper, save

OPENED = re.compile(r'open(?:at2?)?\([^"]*"([^"]*)"[^)]*O_RDONLY[^)]*\)\s*=\s*(\d+)')
# Options that name a file, or a folder of files, which is then looked through.
CASES = [
    ['m.onnx'],
    ['outside.onnx'],
    ['m.onnx', '--read'],
    ['m.onnx', '--rules', 'r.tlr'],
    ['m.onnx', '--fusion-switch-file=on.cfg'],
    ['m.onnx', '--op-name-map=map.txt', '--allow-unmapped'],
    ['m.onnx', '--op-info=info'],
    ['m.onnx', '--op-info=info/aic-ascend910b-ops-info.json'],
    ['m.onnx', '--freeze', 'y=y.npy'],
    ['m.onnx', '--insert-op-conf=aipp.cfg'],
    ['m.onnx', '--precision-mode=allow_mix_precision', '--modify-mixlist=mix.json'],
    ['m.onnx', '--precision-mode=force_fp16', '--keep-dtype=keep.cfg'],
    ['m.onnx', '--customize-dtypes=dtypes.cfg'],
    ['m.onnx', '--run-config=run.json', '--graph-run-mode=0'],
    ['@arguments'],
]


def write(name, text):
    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
    with open(name, 'w', encoding='utf-8') as f:
        f.write(text)


def make_files():
    """Models and a small file for each option, in the current folder."""
    w = numpy.ones([3, 3, 3, 3], numpy.float32)
    nodes = [helper.make_node('Conv', ['x', 'w'], ['c'], name='conv', pads=[1, 1, 1, 1]),
             helper.make_node('Add', ['c', 'y'], ['s'], name='sum'),
             helper.make_node('Softmax', ['s'], ['o'], name='soft')]
    shape = [1, 3, 8, 8]
    tensors = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in 'xyo']
    for name, outside in (('m.onnx', False), ('outside.onnx', True)):
        graph = helper.make_graph(nodes, 'g', tensors[:2], tensors[2:],
                                  [numpy_helper.from_array(w, 'w')])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
        model.ir_version = 8
        if outside:
            external_data_helper.convert_model_to_external_data(model, location='weights/w.bin',
                                                                size_threshold=0)
            os.makedirs('weights', exist_ok=True)
        save(model, name)
    numpy.save('y.npy', numpy.zeros(shape, numpy.float32))
    write('r.tlr', 'rules 1\nrule Two : cleanup numerics exact {\n'
                   '  match { %a = Neg(%x)  %y = Neg(%a) }\n'
                   '  replace { %y = Identity(%x) }\n}\n')
    write('on.cfg', '{"Switch":{"GraphFusion":{"ALL":"on"}}}')
    write('map.txt', 'Fake:Real\n')
    write('mix.json', '{"black-list":{"to-add":["Relu"]}}')
    write('keep.cfg', 'soft\n')
    write('dtypes.cfg', 'soft:InputDtype:float16,OutputDtype:float16\n')
    write('run.json', '{}')
    write('arguments', 'm.onnx @more')
    write('more', '--keep-dtype=keep.cfg --precision-mode=force_fp16')
    write('aipp.cfg', 'aipp_op {\n  aipp_mode: static\n  related_input_rank: 0\n'
                      ' input_format: RGB888_U8\n  src_image_size_w: 8\n  src_image_size_h: 8\n}\n')
    info = {'SoftmaxV2': {'input0': {'name': 'x', 'dtype': 'float16,float', 'format': 'ND,ND'},
                          'output0': {'name': 'y', 'dtype': 'float16,float', 'format': 'ND,ND'}}}
    write('info/aic-ascend910b-ops-info.json', json.dumps(info))


def opened(tailor, case):
    """Files below the folder that the command opened to read, by the kernel."""
    argv = ['strace', '-f', '-qq', '-e', 'trace=open,openat,openat2', '-o', 'trace', tailor,
            'convert', *case, '--print-inputs']
    p = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = set()
    with open('trace', encoding='utf-8', errors='replace') as f:
        for path, _ in OPENED.findall(f.read()):
            inside = os.path.realpath(path).startswith(os.getcwd() + '/')
            if inside and os.path.exists(path):
                found.add(os.path.relpath(path))
    os.remove('trace')
    return p, found


def check(tailor, case):
    p, found = opened(tailor, case)
    said = [os.path.normpath(line) for line in p.stdout.splitlines()]
    if p.returncode:
        return f'exit code {p.returncode}: {p.stderr.strip()[-300:]}'
    if len(said) != len(set(said)):
        return f'lists a file twice: {said}'
    folders = {f for f in found if os.path.isdir(f)}
    listed = {s for s in said if not os.path.isdir(s)}
    if found - folders != listed:
        return (f'opened, not listed: {sorted(found - folders - listed)}; listed, not opened: '
                f'{sorted(listed - found)}')
    return ''


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--tailor', required=True)
    tailor = os.path.abspath(ap.parse_args().tailor)
    if not shutil.which('strace'):
        print('skip: strace is not installed\n0 passed, 0 failed, 1 skipped')
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-deps-') as folder:
        os.chdir(folder)
        make_files()
        for case in CASES:
            problem = check(tailor, case)
            failed += bool(problem)
            if problem:
                print(f'FAIL  convert {" ".join(case)}: {problem}')
        os.chdir('/')
    print(f'{len(CASES) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
