# SPDX-License-Identifier: Apache-2.0
"""Other programs that rewrite ONNX models, where they are installed: processor time of a whole
process, beside that of tailor and of cp. bench/run --full calls it."""
import os
import shutil
import statistics
import subprocess
import sys

from measure import HERE, fresh, timed

HALF = ('import onnx, sys\n'
        'from onnxconverter_common import float16\n'
        'm = onnx.load(sys.argv[1])\n'
        'onnx.save(float16.convert_float_to_float16(m, keep_io_types=True), sys.argv[2])\n')
LOAD = 'import onnx, sys\nonnx.save(onnx.load(sys.argv[1]), sys.argv[2])\n'
OPTIMIZE = ('import onnx, onnxoptimizer, sys\n'
            'onnx.save(onnxoptimizer.optimize(onnx.load(sys.argv[1])), sys.argv[2])\n')

# name, the Python module that it needs, and how it is called from IN to OUT.
PYTHON_PEERS = [
    ('onnx load and save', 'onnx', ['-c', LOAD]),
    ('OnnxSlim', 'onnxslim', ['-m', 'onnxslim']),
    ('onnxoptimizer', 'onnxoptimizer', ['-c', OPTIMIZE]),
    ('onnxconverter-common to f16', 'onnxconverter_common', ['-c', HALF]),
]
LONGEST = 300  # seconds of a run; a peer that takes longer is stopped, and said to be
MODELS = [('llama_1k', 5), ('bert_base', 3), ('llama_10k', 3)]


def python_with(module):
    """A Python that can import a module; None: there is none."""
    for python in dict.fromkeys([shutil.which('python3'), '/usr/bin/python3']):
        if python and subprocess.run([python, '-c', f'import {module}'], capture_output=True,
                                     check=False).returncode == 0:
            return python
    return None


def commands(args, model, out):
    """(name, command; None: not installed) of tailor, cp and all peers."""
    to = os.path.join(out, 'out.onnx')
    convert = [args.tailor, 'convert', model, '-O2', '-q', '--summary=none', '-o', to]
    yield 'tailor to ONNX', convert
    yield 'tailor to AIR', convert[:-1] + [os.path.join(out, 'out.air')]
    yield 'tailor to f16', convert + ['--precision-mode=force_fp16']
    yield 'cp', [shutil.which('cp'), model, to]
    for level in ('basic', 'extended'):
        yield f'ONNX Runtime {level}', args.ort and [
            shutil.which('node'), os.path.join(HERE, 'ort_optimize.js'), model, '--level', level,
            '--save', to, '--ort', args.ort]
    for name, module, how in PYTHON_PEERS:
        python = python_with(module)
        yield name, python and [python, *how, model, to]


def cpu_ms(command, out, rounds):
    """Median processor time; 'failed' or 'stopped' otherwise."""
    times = []
    for _ in range(rounds):
        found = fresh(out, lambda: timed(['/usr/bin/timeout', str(LONGEST), *command]))
        if not found:
            return 'failed, or stopped'
        times.append(found[1])
        if found[1] > 10000:
            break
    return statistics.median(times)


def print_table(args, folder, generate):
    """Prints a table in Markdown: programs down, models across, processor time in ms."""
    rows = {}
    for name, rounds in MODELS:
        model, files, _ = generate(folder, name)
        for peer, command in commands(args, model, os.path.join(folder, 'out')):
            said = cpu_ms(command, os.path.join(folder, 'out'), rounds) if command else None
            rows.setdefault(peer, []).append(said)
        for path in files:
            os.remove(path)
    print('\nProcessor time of whole processes, ms:\n')
    print('| program | ' + ' | '.join(name for name, _ in MODELS) + ' |')
    print('|---' * (len(MODELS) + 1) + '|')
    for peer, said in rows.items():
        cells = ['not installed' if s is None else s if isinstance(s, str) else f'{s:.0f}'
                 for s in said]
        print(f'| {peer} | ' + ' | '.join(cells) + ' |')
    sys.stdout.flush()
