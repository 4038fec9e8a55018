#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of all kinds against what they become: laid out and as While, in the evaluator.

  recurrent.py --tailor BIN

Every direction, layout, activation function, with and without lengths, initial states, peepholes,
limits: few models, in which each of these occurs with each kind of layer. f64 is a dtype that no
NPU op for layers has, so that all of them are spelled in nodes. The evaluator computes a layer in
f64 throughout, in another order than nodes do, hence the tolerance. The last line is
'N passed, M failed, K skipped'."""
import argparse
import concurrent.futures
import os
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

GATES = {'RNN': 1, 'GRU': 3, 'LSTM': 4}
FUNCTIONS = {'RNN': 1, 'GRU': 2, 'LSTM': 3}
ACTIVATIONS = {'Relu': '', 'Tanh': '', 'Sigmoid': '', 'Affine': 'ab', 'LeakyRelu': 'a',
               'ThresholdedRelu': 'a', 'ScaledTanh': 'ab', 'HardSigmoid': 'ab', 'Elu': 'a',
               'Softsign': '', 'Softplus': ''}
S, B, I, H = 3, 2, 3, 4
WAYS = {'laid out': 'scan-to-loop,unroll-loops', 'While': 'scan-to-loop,loop-to-while'}


def model(op, direction='forward', lengths=None, initial=False, batch_first=False, peephole=False,
          attrs=(), open_steps=False):
    """Text of a model of one layer."""
    d, rows = (2 if direction == 'bidirectional' else 1), GATES[op] * H

    def tensor(*dims):
        return f'f64[{",".join(map(str, dims))}]'
    steps = 's' if open_steps else S
    state = tensor(B, d, H) if batch_first else tensor(d, B, H)
    inputs = [('x', tensor(B, steps, I) if batch_first else tensor(steps, B, I)),
              ('w', tensor(d, rows, I)), ('r', tensor(d, rows, H)), ('b', tensor(d, 2 * rows))]
    operands = ['%x', '%w', '%r', '%b', '%l' if lengths else '_']
    for name in ('h', 'c')[:2 if op == 'LSTM' else 1]:
        operands.append('%' + name if initial else '_')
        inputs += [(name, state)] if initial else []
    if peephole:
        operands.append('%p')
        inputs.append(('p', tensor(d, 3 * H)))
    results = ', '.join(['%y', '%yh', '%yc'][:3 if op == 'LSTM' else 2])
    listed = [f'direction="{direction}"', *attrs] + (['layout=1'] if batch_first else [])
    constant = f'  const %l: i32[{B}] = {lengths}\n' if lengths else ''
    return (f'graph @g({", ".join(f"%{n}: {t}" for n, t in inputs)}) -> ({results}) {{\n{constant}'
            f'  {results} = {op}({", ".join(operands)}) {{{", ".join(listed)}}}\n}}\n')


def activation(op, name):
    n, takes = FUNCTIONS[op], ACTIVATIONS[name]
    attrs = ['activations=[' + ', '.join([f'"{name}"'] * n) + ']']
    if 'a' in takes:
        attrs.append(f'activation_alpha={[0.3, 0.4, 0.2][:n]}')
    if 'b' in takes:
        attrs.append(f'activation_beta={[0.5, 0.1, 0.6][:n]}')
    return attrs


def cases():
    """(name, arguments of model)"""
    for op in GATES:
        for direction in ('forward', 'reverse', 'bidirectional'):
            for lengths in (None, [3, 2], [0, 3]):
                yield f'{op} {direction} {lengths}', {
                    'op': op, 'direction': direction, 'lengths': lengths,
                    'initial': lengths != [3, 2], 'batch_first': lengths == [3, 2]}
        yield f'{op} batch first', {'op': op, 'batch_first': True, 'initial': True}
        yield f'{op} limits', {'op': op, 'attrs': ['clip=0.5'], 'lengths': [2, 1]}
    for i, name in enumerate(ACTIVATIONS):
        op = list(GATES)[i % 3]
        yield f'{op} {name}', {'op': op, 'attrs': activation(op, name), 'initial': True}
    after = 'linear_before_reset=1'
    yield 'GRU reset after', {'op': 'GRU', 'attrs': [after]}
    yield 'GRU reset after, both, lengths', {'op': 'GRU', 'attrs': [after, 'clip=0.7'],
                                             'direction': 'bidirectional', 'lengths': [2, 3]}
    yield 'LSTM peepholes', {'op': 'LSTM', 'peephole': True}
    yield 'LSTM peepholes, coupled', {'op': 'LSTM', 'peephole': True, 'attrs': ['input_forget=1'],
                                      'direction': 'bidirectional', 'lengths': [3, 1]}


def run(*argv):
    p = guard.run(argv, capture_output=True, text=True)
    return p.returncode, (p.stdout + p.stderr).strip()


def check(tool, work, name, text, way):
    """None, or what is wrong."""
    before, after = (os.path.join(work, f'{name} {way} {i}.tir') for i in (0, 1))
    with open(before, 'w', encoding='utf-8') as f:
        f.write(text)
    code, out = run(tool, 'opt', f'--passes=infer-shapes,recurrent-to-scan,{WAYS[way]}',
                    '--verify-each', '-q', '-o', after, before)
    if code:
        return out
    with open(after, encoding='utf-8') as f:
        made = f.read()
    left = [op for op in (*GATES, 'Scan', 'Loop') if f' = {op}(' in made]
    if left:
        return f'{left[0]} is left'
    code, out = run(tool, 'verify', before, after, '--rtol=1e-6', '--atol=1e-7',
                    *(['--dim=s=3'] if '[s,' in text or ',s,' in text else []))
    return out if code else None


def jobs():
    for name, arguments in cases():
        yield name, model(**arguments), 'laid out'
        yield name, model(**arguments, open_steps=True), 'While'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tool = p.parse_args().tailor
    with tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        todo = list(jobs())
        wrong = list(pool.map(lambda job: check(tool, work, *job), todo))
    failed = [(job, text) for job, text in zip(todo, wrong) if text]
    for (name, _, way), text in failed:
        print(f'FAIL {name}, {way}: {text}')
    print(f'{len(todo) - len(failed)} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
