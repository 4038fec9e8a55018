#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs that hold forward, backward and their updates by single ops, as ORTTrainer wrote them:
AdamOptimizer and SGDOptimizer of com.microsoft, one node a parameter. They become steps that every
runtime has ops for; their numbers over several steps are held against NumPy's, in our evaluator
before and after, and in an ONNX Runtime without training ops. Two ranks have the values of the
joined batch, here and in a model with training_info.

  single_graph.py --tailor BIN [--ort DIR]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import artifacts as base  # noqa: E402
from artifacts import PARAMS, Failed, need, node, number, value  # noqa: E402

MS = 'com.microsoft'
STEPS = 4
CASES = {
    'sgd': {},
    'adam': {},
    'adam_decay': {'lambda': 0.1},
    'adam_last': {'lambda': 0.1, 'weight_decay_mode': 1},
    'adam_plain': {'do_bias_correction': 0, 'alpha': 0.5, 'beta': 0.75, 'epsilon': 1e-3},
    'adam_scale': {'scale': 64.0},
    'adam_clip': {'norm': True, 'max_norm_clip': 0.05},
    'adam_scale_clip': {'scale': 64.0, 'norm': True, 'max_norm_clip': 0.05, 'lambda': 0.1},
    'adam_unclipped': {'scale': 64.0, 'norm': True, 'max_norm_clip': 100.0},
    'adam_signal': {'signal': True},
    'adam_halves': {'halves': True},
}
DTYPES = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16,
          TensorProto.INT64: np.int64}
OPERANDS = ('scale', 'norm', 'signal', 'halves')


def net(batch):
    """Nodes, inputs and constants of the loss and its gradients."""
    made = base.train_model(batch, accumulate=False).graph
    inputs = [i for i in made.input if i.name not in PARAMS]
    return list(made.node), inputs, list(made.initializer)


def update(name, case, number_of_parameter):
    """The nodes that step one parameter, and the states they have besides."""
    grad, options = name + '_grad', CASES[case]
    if case == 'sgd':
        return [helper.make_node('SGDOptimizer', ['rate', name, grad], [name + '.out'], domain=MS,
                                 name='SGD_' + name)], []
    nodes, scaled = [], grad
    if 'scale' in options:
        scaled = grad + '.scaled'
        nodes.append(node('Mul', [grad, 'scale'], [scaled]))
    operands = ['rate', f'{name}.count', name, scaled, f'{name}.m', f'{name}.v',
                f'{name}.half' if 'halves' in options else '',
                *(o if o in options else '' for o in ('scale', 'norm', 'signal'))]
    while not operands[-1]:
        operands.pop()
    results = [f'{name}.count.out', f'{name}.m.out', f'{name}.v.out', f'{name}.out']
    if 'halves' in options:
        results += ['', f'{name}.half.out']
    attrs = {k: v for k, v in options.items() if k not in OPERANDS}
    nodes.append(helper.make_node('AdamOptimizer', operands, results, domain=MS,
                                  name=f'Adam_{number_of_parameter}', **attrs))
    shape = PARAMS[name]
    states = [(f'{name}.count', [], TensorProto.INT64), (f'{name}.m', shape, TensorProto.FLOAT),
              (f'{name}.v', shape, TensorProto.FLOAT)]
    if 'halves' in options:
        states.append((f'{name}.half', shape, TensorProto.FLOAT16))
    return nodes, states


def step_model(case, batch=16):
    options = CASES[case]
    nodes, inputs, constants = net(batch)
    inputs.append(value('rate', []))
    outputs, pairs = [value('loss', [])], []
    if 'scale' in options:
        constants.append(number('scale', np.float32(options['scale'])))
    if 'signal' in options:
        inputs.append(value('signal', [], TensorProto.BOOL))
    updates = []
    for i, (name, shape) in enumerate(PARAMS.items()):
        made, states = update(name, case, i)
        updates += made
        states = [(name, shape, TensorProto.FLOAT), *states]
        inputs += [value(*s) for s in states]
        outputs += [value(n + '.out', *rest) for n, *rest in states]
        pairs += [[n, n + '.out'] for n, *_ in states]
        for n, dims, kind in states:
            first = base.first_values()[n] if n in PARAMS else np.zeros(dims)
            if n.endswith('.count'):
                first = np.array(1)
            elif n.endswith('.half'):
                first = base.first_values()[name]
            constants.append(numpy_helper.from_array(
                np.asarray(first, DTYPES[kind]), n))
    if 'norm' in options:
        # scaled gradients come first
        lead = [n for n in updates if n.op_type == 'Mul']
        updates = [n for n in updates if n.op_type != 'Mul']
        of = [n + '_grad' + ('.scaled' if 'scale' in options else '') for n in PARAMS]
        updates = [*lead, helper.make_node('ReduceAllL2', of, ['norm'], domain=MS, name='Norm'),
                   *updates]
    made = base.model('step', nodes + updates, inputs, outputs, constants)
    entry = made.metadata_props.add()
    entry.key, entry.value = 'tailor.train.state', json.dumps(pairs)
    return made


class Reference(base.Reference):
    """Steps in f64."""

    def __init__(self, case):
        o = CASES[case]
        kind = 'sgd' if case == 'sgd' else 'adamw'
        super().__init__(kind, alpha=o.get('alpha', 0.9), beta=o.get('beta', 0.999),
                         epsilon=o.get('epsilon', 1e-8), weight_decay=o.get('lambda', 0),
                         correct_bias=o.get('do_bias_correction', 1),
                         adam_mode=o.get('weight_decay_mode', 0))
        self.most = o.get('max_norm_clip') if o.get('norm') else None

    def gradients(self, x, t):
        loss, grads = super().gradients(x, t)
        norm = np.sqrt(sum((g * g).sum() for g in grads.values()))
        if self.most and norm > self.most:
            grads = {k: g * self.most / norm for k, g in grads.items()}
        return loss, grads


class Graphs(base.Artifacts):
    def __init__(self, args, folder):
        args.full = False
        super().__init__(args, folder)
        for case in CASES:
            for batch, name in ((16, case), (32, case + '_B32')):
                onnx.save(step_model(case, batch), self.path(name + '.onnx'))

    def path(self, name):
        return os.path.join(self.folder, name)

    def states(self, case):
        """First values of states, by the names of inputs."""
        made = step_model(case).graph
        names = {o.name[:-4] for o in made.output if o.name.endswith('.out')}
        return {i.name: numpy_helper.to_array(i) for i in made.initializer if i.name in names}

    def walk(self, case, file, runner, signals=()):
        """The states after STEPS runs, each fed with what the one before gave."""
        rng = np.random.default_rng(5)
        state, reference, count = self.states(case), Reference(case), 1
        for i in range(STEPS):
            x = rng.standard_normal((16, 8)).astype(np.float32)
            t = rng.standard_normal((16, 4)).astype(np.float32)
            go = bool(signals[i]) if signals else True
            given = {'x': x, 't': t, 'rate': np.float32(0.01), **state}
            if signals:
                given['signal'] = np.array(go)
            out = self.run(file, runner, given)
            state = {k: out[k + '.out'] for k in state}
            if go:
                loss = reference.step(x, t, 0.01, count)
                need(abs(out['loss'] - loss) <= 1e-4, f'step {i}: loss {out["loss"]}, not {loss}')
                count += 1
        for k, want in reference.w.items():
            need(np.abs(state[k] - want).max() <= 2e-5, f'{k}: {np.abs(state[k] - want).max()}')
            if case != 'sgd':
                need(state[k + '.count'] == count, f'{k}: {state[k + ".count"]}, not {count}')
                need(np.abs(state[k + '.m'] - reference.m[k]).max() <= 2e-5, f'{k}.m')
                need(np.abs(state[k + '.v'] - reference.v[k]).max() <= 2e-5, f'{k}.v')
            if case == 'adam_halves':
                need(np.array_equal(state[k + '.half'], state[k].astype(np.float16)), k + '.half')

    def values(self, case):
        """As it was written in the evaluator; rewritten there and in ONNX Runtime."""
        signals = (1, 0, 1, 1) if case == 'adam_signal' else ()
        # inputs with a default take no value in onnxruntime-node: states have none here
        bare = onnx.load(self.path(case + '.onnx'))
        names = {i.name for i in bare.graph.input}
        kept = [i for i in bare.graph.initializer if i.name not in names]
        del bare.graph.initializer[:]
        bare.graph.initializer.extend(kept)
        onnx.save(bare, self.path('bare.onnx'))
        self.walk(case, 'bare.onnx', ['--exact'], signals)
        self.command('convert', 'bare.onnx', '-o', 'plain.onnx', '-q', '--verify-each',
                     '--graph-run-mode=1')
        left = {n.op_type for n in onnx.load(self.path('plain.onnx')).graph.node if n.domain == MS}
        need(not left, f'{left} is left')
        for runner in self.runners():
            self.walk(case, 'plain.onnx', runner, signals)

    def two_ranks(self, case, *options, relative='1e-4'):
        p = self.call(['simulate-ranks', case + '.onnx', '-n', '2', '--steps=4', '--json',
                       f'--joined={case}_B32.onnx', '--atol=1e-3', f'--rtol={relative}', *options])
        need(p.returncode in (0, 5), p.stderr)
        got = json.loads(p.stdout)
        off = [s['name'] for s in got['states'] if not s['equal']]
        need(got['equal'] and got['ranks_identical'] and not got.get('skipped'), f'{off}, {got}')
        need({s['name'] for s in got['states'] if s['parameter']} == set(PARAMS), f'{got}')

    def written(self, case):
        self.command('convert', case + '.onnx', '-o', 'step.air', '-q', '--is-distributed=true',
                     '--rank-size=2')
        text = self.command('opt', case + '.onnx', '--is-distributed=true', '--rank-size=2')
        need('HcomAllReduce' in text and 'com.microsoft::' not in text, 'no step of arithmetic')

    def refused(self):
        """Variants that nobody can be sure of say so and stay."""
        made = onnx.load(self.path('adam.onnx'))
        for n in made.graph.node:
            if n.op_type == 'AdamOptimizer':
                n.attribute.append(helper.make_attribute('weight_decay_mode', 2))
        onnx.save(made, self.path('odd.onnx'))
        p = self.call(['opt', 'odd.onnx', '--graph-run-mode=1', '--remarks'])
        need(p.returncode == 0 and 'weight_decay_mode' in p.stderr + p.stdout and
             'com.microsoft::AdamOptimizer' in p.stdout, p.stderr)
        given = {'x': np.zeros((16, 8), np.float32), 't': np.zeros((16, 4), np.float32),
                 'rate': np.float32(0.01)}
        argv = ['run', 'odd.onnx', '--exact']
        for name, v in given.items():
            np.save(self.path(name + '.npy'), v)
            argv.append(f'--input={name}={name}.npy')
        p = self.call(argv)
        need(p.returncode and 'neither 0 nor 1' in p.stderr, p.stderr)

    # ---- training_info ----
    def info_model(self, batch):
        """The same step, its updates in the algorithm of a training_info."""
        nodes, inputs, constants = net(batch)
        cut = [n.output[0] for n in nodes].index('y_grad')
        first = base.first_values()
        made = base.model('step', nodes[:cut], inputs, [value('loss', [])],
                          [c for c in constants if c.name not in ('twice', 'rows', 'zero')] +
                          [numpy_helper.from_array(v, k) for k, v in first.items()])
        updates = []
        for name in PARAMS:
            updates += [node('Mul', ['rate', name + '_grad'], [name + '.change']),
                        node('Sub', [name, name + '.change'], [name + '.out'])]
        algorithm = helper.make_graph(
            nodes[cut:] + updates, 'algorithm', [], [value(k + '.out', s) for k, s in
                                                     PARAMS.items()],
            [c for c in constants if c.name in ('twice', 'rows', 'zero')] +
            [number('rate', np.float32(0.05))])
        info = made.training_info.add()
        info.algorithm.CopyFrom(algorithm)
        for k in PARAMS:
            pair = info.update_binding.add()
            pair.key, pair.value = k, k + '.out'
        return made

    def recurrent(self, op):
        """A step over LSTMTraining or GRUTraining and its gradient: the scale of the loss leaves no
        trace in updates, and what becomes of the layer has AIR."""
        onnx.save(recurrent_model(op), self.path('recurrent.onnx'))
        scaled = ['--is-loss-scale=true', '--loss-scale-manager='
                  '{"type":"FixedLossScaleManager","loss_scale":1024}']
        p = self.call(['simulate-ranks', 'recurrent.onnx', '-n', '1', '-O0', '--steps=2', '--json',
                       '--rtol=0', '--atol=0', *scaled])
        need(p.returncode == 0, p.stdout[-400:] + p.stderr[-400:])
        got = json.loads(p.stdout)
        need({s['name'] for s in got['states'] if s['parameter']} == {'w', 'r', 'b'}, f'{got}')
        for chip in ('Ascend910B1', 'Ascend910A'):
            self.command('convert', 'recurrent.onnx', '-o', 'r.air', '-q', '--graph-run-mode=1',
                         f'--soc-version={chip}', *scaled)

    def info_ranks(self):
        onnx.save(self.info_model(16), self.path('info.onnx'))
        onnx.save(self.info_model(32), self.path('info_B32.onnx'))
        self.two_ranks('info', relative='1e-5')
        self.two_ranks('info', '--bucket-strategy=none', *base.AMP)

    def cases(self):
        for case in CASES:
            yield f'values, {case}', self.values, case
        for case in ('sgd', 'adam', 'adam_last', 'adam_clip', 'adam_scale_clip'):
            yield f'2 ranks, {case}', self.two_ranks, case
            yield f'written, {case}', self.written, case
        yield '2 ranks, scaled', self.two_ranks, 'adam', *base.AMP
        yield '2 ranks, one bucket', self.two_ranks, 'sgd', '--bucket-strategy=single'
        yield 'refused', self.refused
        yield 'training_info, 2 ranks', self.info_ranks
        yield 'LSTM that trains', self.recurrent, 'LSTM'
        yield 'GRU that trains', self.recurrent, 'GRU'


def recurrent_model(op, steps=4, batch=2, size=3, hidden=2):
    """The mean of squared errors of all states, and three parameters that follow its gradient."""
    n, rng = 4 if op == 'LSTM' else 3, np.random.default_rng(2)
    shapes = {'w': (1, n * hidden, size), 'r': (1, n * hidden, hidden), 'b': (1, 2 * n * hidden)}
    given = ['h', 'hl', 'cl', 'c', 'g'] if op == 'LSTM' else ['h', 'hl', 'g']
    seen = ['', '', '', '', 'h', 'c', 'g'] if op == 'LSTM' else ['', '', 'h', 'g']
    nodes = [helper.make_node(op + 'Training', ['x', 'w', 'r', 'b'], given, 'layer', domain=MS,
                              hidden_size=hidden),
             node('Sub', ['h', 't'], ['e']), node('Mul', ['e', 'e'], ['squares']),
             node('ReduceMean', ['squares'], ['loss'], keepdims=0),
             node('Mul', ['e', 'twice'], ['dh']),
             helper.make_node(op + 'Grad', ['x', 'w', 'r', 'b', *seen, 'dh'],
                              ['', 'dw', 'dr', 'db'], 'back', domain=MS, hidden_size=hidden)]
    for p in shapes:
        nodes += [node('Mul', ['d' + p, 'rate'], ['step.' + p]),
                  node('Sub', [p, 'step.' + p], [p + '.new'])]
    inputs = [value('x', [steps, batch, size]), value('t', [steps, 1, batch, hidden])]
    constants = [number('rate', np.float32(0.125)),
                 number('twice', np.float32(2 / (steps * batch * hidden)))]
    constants += [numpy_helper.from_array(rng.uniform(-1, 1, s).astype(np.float32), p)
                  for p, s in shapes.items()]
    return base.model('g', nodes, inputs + [value(p, s) for p, s in shapes.items()],
                      [value('loss', [])] + [value(p + '.new', s) for p, s in shapes.items()],
                      constants)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--ort')
    parser.add_argument('--every', type=int, default=1, help='one of so many cases')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, check, *given in list(Graphs(args, folder).cases())[::args.every]:
            try:
                check(*given)
                passed += 1
            except (Failed, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f'FAIL {what}: {e}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
