#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The two models that ONNX Runtime's training tools write of one: a training model, which hands
gradients to accumulators, and an optimizer model over lists. No such file is in any package, so
they are made here, as onnxblock lays them out. Linked they are one step, whose numbers are held
against NumPy's, in our evaluator and in an ONNX Runtime without training ops.

  artifacts.py --tailor BIN [--ort DIR] [--full]
  artifacts.py --write FOLDER      the models: train.onnx, train_B32.onnx, adamw.onnx, sgd.onnx ...

--full: 100 steps, and ranks in every mode."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from oracle import air_check  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARAMS = {'fc1.weight': (8, 16), 'fc1.bias': (16,), 'fc2.weight': (16, 4), 'fc2.bias': (4,)}
OPSETS = [helper.make_opsetid('', 14), helper.make_opsetid('com.microsoft', 1)]


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(name, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    return helper.make_model(graph, producer_name='onnxblock offline tooling', ir_version=8,
                             opset_imports=OPSETS)


def node(op, inputs, outputs, domain='', **attrs):
    return helper.make_node(op, inputs, outputs, name='/' + outputs[0], domain=domain, **attrs)


def number(name, v):
    return numpy_helper.from_array(np.array(v), name)


def first_values(seed=1):
    rng = np.random.default_rng(seed)
    return {k: rng.uniform(-0.5, 0.5, s).astype(np.float32) for k, s in PARAMS.items()}


def train_model(batch=16, frozen=(), accumulate=True, defaults=None):
    """y = relu(x w1 + b1) w2 + b2, the mean of squared errors, and its gradients."""
    nodes = [
        node('MatMul', ['x', 'fc1.weight'], ['h0']), node('Add', ['h0', 'fc1.bias'], ['h1']),
        node('Relu', ['h1'], ['h']), node('MatMul', ['h', 'fc2.weight'], ['y0']),
        node('Add', ['y0', 'fc2.bias'], ['y']), node('Sub', ['y', 't'], ['e']),
        node('Mul', ['e', 'e'], ['sq']), node('ReduceMean', ['sq'], ['loss'], keepdims=0),
        node('Mul', ['e', 'twice'], ['y_grad']),
        node('ReduceSum', ['y_grad', 'rows'], ['fc2.bias_grad'], keepdims=0),
        node('Transpose', ['h'], ['h_t'], perm=[1, 0]),
        node('MatMul', ['h_t', 'y_grad'], ['fc2.weight_grad']),
        node('Transpose', ['fc2.weight'], ['w2_t'], perm=[1, 0]),
        node('MatMul', ['y_grad', 'w2_t'], ['h_grad']),
        node('Greater', ['h1', 'zero'], ['on']), node('Cast', ['on'], ['mask'], to=1),
        node('Mul', ['h_grad', 'mask'], ['h1_grad']),
        node('ReduceSum', ['h1_grad', 'rows'], ['fc1.bias_grad'], keepdims=0),
        node('Transpose', ['x'], ['x_t'], perm=[1, 0]),
        node('MatMul', ['x_t', 'h1_grad'], ['fc1.weight_grad'])]
    inputs = [value('x', [batch, 8]), value('t', [batch, 4])]
    inputs += [value(k, s) for k, s in PARAMS.items()]
    outputs = [value('loss', [])]
    for i, (name, shape) in enumerate(PARAMS.items()):
        grad = name + '_grad'
        if name in frozen:
            continue
        if not accumulate:
            outputs.append(value(grad, shape))
            continue
        nodes.append(helper.make_node(
            'InPlaceAccumulatorV2', [grad + '.accumulation.buffer', grad, 'lazy_reset_grad'],
            [grad + '.accumulation.out'], name=f'GradientAccumulator{i}', domain='com.microsoft'))
        inputs.append(value(grad + '.accumulation.buffer', shape))
        outputs.append(value(grad + '.accumulation.out', [1], TensorProto.BOOL))
    if accumulate:
        inputs.append(value('lazy_reset_grad', [1], TensorProto.BOOL))
    constants = [number('twice', np.float32(2 / (batch * 4))), number('zero', np.float32(0)),
                 number('rows', np.array([0], np.int64))]
    constants += [numpy_helper.from_array(v, k) for k, v in (defaults or {}).items()]
    return model('training', nodes, inputs, outputs, constants)


def onnxblock_model(batch=16):
    """A classifier whose backward is made of the gradient ops that ONNX Runtime's tools write: an
    embedding, a layer normalization, Gelu, Relu, dropout, a loss over labels."""
    rng = np.random.default_rng(4)
    shapes = {'embed.weight': (32, 8), 'norm.weight': (8,), 'norm.bias': (8,),
              'fc1.weight': (8, 16), 'fc2.weight': (16, 4)}
    ms = 'com.microsoft'
    nodes = [
        node('Gather', ['embed.weight', 'words'], ['e']),
        node('LayerNormalization', ['e', 'norm.weight', 'norm.bias'], ['n', 'mean', 'inv'],
             axis=-1),
        node('MatMul', ['n', 'fc1.weight'], ['h0']), node('Relu', ['h0'], ['h1']),
        node('Gelu', ['h1'], ['h'], ms), node('MatMul', ['h', 'fc2.weight'], ['scores']),
        node('SoftmaxCrossEntropyLoss', ['scores', 'labels'], ['loss', 'log_prob'],
             ignore_index=-100),
        node('SoftmaxCrossEntropyLossGrad', ['loss_grad', 'log_prob', 'labels'], ['scores_grad'],
             ms, ignore_index=-100),
        node('FusedMatMul', ['scores_grad', 'fc2.weight'], ['h_grad'], ms, transB=1),
        node('FusedMatMul', ['h', 'scores_grad'], ['fc2.weight_grad'], ms, transA=1),
        node('GeluGrad', ['h_grad', 'h1'], ['h1_grad'], ms),
        node('ReluGrad', ['h1_grad', 'h1'], ['h0_grad'], ms),
        node('FusedMatMul', ['h0_grad', 'fc1.weight'], ['n_grad'], ms, transB=1),
        node('FusedMatMul', ['n', 'h0_grad'], ['fc1.weight_grad'], ms, transA=1),
        node('LayerNormalizationGrad', ['n_grad', 'e', 'norm.weight', 'mean', 'inv'],
             ['e_grad', 'norm.weight_grad', 'norm.bias_grad'], ms, axis=-1),
        node('Shape', ['embed.weight'], ['embed_shape']),
        node('GatherGrad', ['embed_shape', 'words', 'e_grad'], ['embed.weight_grad'], ms)]
    inputs = [value(k, [batch], TensorProto.INT64) for k in ('words', 'labels')]
    inputs += [value(k, s) for k, s in shapes.items()]
    outputs = [value('loss', [])]
    for name, shape in shapes.items():
        grad = name + '_grad'
        nodes.append(helper.make_node(
            'InPlaceAccumulatorV2', [grad + '.accumulation.buffer', grad, 'lazy_reset_grad'],
            [grad + '.accumulation.out'], name='Accumulate_' + name, domain=ms))
        inputs.append(value(grad + '.accumulation.buffer', shape))
        outputs.append(value(grad + '.accumulation.out', [1], TensorProto.BOOL))
    inputs.append(value('lazy_reset_grad', [1], TensorProto.BOOL))
    constants = [number('loss_grad', np.float32(1))]
    constants += [numpy_helper.from_array(rng.uniform(-0.5, 0.5, s).astype(np.float32), k)
                  for k, s in shapes.items()]
    made = model('training', nodes, inputs, outputs, constants)
    made.opset_import[0].version = 17
    return made


def sequence(name, kind=TensorProto.FLOAT):
    return helper.make_tensor_sequence_value_info(name, kind, None)


def adamw_model(clip=None, results=False, **attrs):
    """Lists that are inputs; the update is in place, and a flag is all that is returned."""
    attrs = {'alpha': 0.9, 'beta': 0.999, 'epsilon': 1e-8, 'weight_decay': 0.01, 'correct_bias': 1,
             'adam_mode': 0, **attrs}
    lists = ['params', 'gradients', 'first_order_moments', 'second_order_moments']
    nodes, grads = [], 'gradients'
    if clip:
        nodes.append(helper.make_node('InplaceClipGradNorm', ['gradients'], ['clipped'],
                                      name='Clip', domain='com.microsoft', max_norm=clip))
        grads = 'clipped'
    more = ['updated_params', 'updated_first_order_moments', 'updated_second_order_moments']
    nodes.append(helper.make_node(
        'AdamWOptimizer', ['learning_rate', 'step', 'params', grads, *lists[2:]],
        ['adamw.updated_flag'] + (more if results else []), name='AdamW', domain='com.microsoft',
        **attrs))
    inputs = [value('learning_rate', [1]), value('step', [1], TensorProto.INT64)]
    outputs = [value('adamw.updated_flag', [1], TensorProto.BOOL)]
    return model('AdamW Optimizer Model', nodes, inputs + [sequence(n) for n in lists],
                 outputs + [sequence(n) for n in (more if results else [])])


def sgd_model():
    nodes = [helper.make_node('SGDOptimizerV2', ['learning_rate', 'params', 'gradients'],
                              ['sgd.updated_flag'], name='SGD', domain='com.microsoft')]
    return model('SGD Optimizer Model', nodes,
                 [value('learning_rate', [1]), sequence('params'), sequence('gradients')],
                 [value('sgd.updated_flag', [1], TensorProto.BOOL)])


def named_model(order, clip=None):
    """The layout of older tools: gradients are inputs of their own, joined to a list."""
    names = [n + '_grad' for n in order]
    nodes, grads, constants = [], names, []
    if clip:
        nodes = [helper.make_node('ReduceAllL2', names, ['norm'], name='Norm',
                                  domain='com.microsoft'),
                 node('Add', ['norm', 'tiny'], ['norm_eps']),
                 node('Div', ['max_norm', 'norm_eps'], ['ratio']),
                 node('Clip', ['ratio', '', 'one'], ['factor'])]
        grads = [n + '_clipped' for n in names]
        nodes += [node('Mul', [n, 'factor'], [g]) for n, g in zip(names, grads)]
        constants = [number('tiny', np.float32(1e-6)), number('max_norm', np.float32(clip)),
                     number('one', np.float32(1))]
    nodes.append(node('SequenceConstruct', grads, ['gradients']))
    nodes.append(helper.make_node(
        'AdamWOptimizer', ['learning_rate', 'step', 'params', 'gradients', 'first_order_moments',
                           'second_order_moments'], ['adamw.updated_flag'], name='AdamW',
        domain='com.microsoft', adam_mode=1, weight_decay=0.1))
    inputs = [value('learning_rate', [1]), value('step', [1], TensorProto.INT64)]
    inputs += [sequence(n) for n in ('params', 'first_order_moments', 'second_order_moments')]
    inputs += [value(n + '_grad', PARAMS[n]) for n in order]
    return model('AdamW Optimizer Model', nodes, inputs,
                 [value('adamw.updated_flag', [1], TensorProto.INT64)], constants)


def all_models():
    first = first_values()
    return {
        'train': train_model(defaults=first), 'train_B32': train_model(32, defaults=first),
        'train_B64': train_model(64, defaults=first), 'train_bare': train_model(),
        'train_frozen': train_model(frozen=('fc1.bias',), defaults=first),
        'training_model': onnxblock_model(), 'optimizer_model': adamw_model(clip=1.0),
        'train_plain': train_model(accumulate=False, defaults=first),
        'adamw': adamw_model(), 'adamw_results': adamw_model(results=True),
        'adamw_last': adamw_model(adam_mode=1, weight_decay=0.1),
        'adamw_uncorrected': adamw_model(correct_bias=0), 'adamw_clip': adamw_model(clip=0.05),
        'sgd': sgd_model(), 'named': named_model(list(PARAMS)),
        'named_reversed': named_model(list(PARAMS)[::-1]),
        'named_clip': named_model(list(PARAMS), 0.05)}


def write_all(folder):
    for name, made in all_models().items():
        onnx.save(made, os.path.join(folder, name + '.onnx'))


# ---- the same in NumPy ---------------------------------------------------------------------------

class Reference:
    """A step in f64."""

    def __init__(self, optimizer, **attrs):
        self.optimizer = optimizer
        self.attrs = {'alpha': 0.9, 'beta': 0.999, 'epsilon': 1e-8, 'weight_decay': 0.01,
                      'correct_bias': 1, 'adam_mode': 0, 'clip': None, **attrs}
        self.w = {k: v.astype(np.float64) for k, v in first_values().items()}
        self.m = {k: np.zeros(s) for k, s in PARAMS.items()}
        self.v = {k: np.zeros(s) for k, s in PARAMS.items()}

    def gradients(self, x, t):
        w = self.w
        h1 = x @ w['fc1.weight'] + w['fc1.bias']
        h = np.maximum(h1, 0)
        e = h @ w['fc2.weight'] + w['fc2.bias'] - t
        dy = e * 2 / e.size
        dh = dy @ w['fc2.weight'].T * (h1 > 0)
        return np.mean(e * e), {'fc1.weight': x.T @ dh, 'fc1.bias': dh.sum(0),
                                'fc2.weight': h.T @ dy, 'fc2.bias': dy.sum(0)}

    def step(self, x, t, rate, count, buffers=None):
        """The loss before the step. buffers: gradients of earlier batches."""
        a = self.attrs
        loss, grads = self.gradients(x.astype(np.float64), t.astype(np.float64))
        if buffers:
            grads = {k: g + buffers[k] for k, g in grads.items()}
        if a['clip']:
            norm = np.sqrt(sum((g * g).sum() for g in grads.values()))
            grads = {k: g * min(1, a['clip'] / (norm + 1e-6)) for k, g in grads.items()}
        for k, g in grads.items():
            if self.optimizer == 'sgd':
                self.w[k] -= rate * g
            else:
                self.adamw(k, g, rate, count)
        return loss

    def adamw(self, k, g, rate, count):
        a = self.attrs
        self.m[k] = a['alpha'] * self.m[k] + (1 - a['alpha']) * g
        self.v[k] = a['beta'] * self.v[k] + (1 - a['beta']) * g * g
        c1 = 1 - a['alpha'] ** count if a['correct_bias'] else 1
        c2 = 1 - a['beta'] ** count if a['correct_bias'] else 1
        if a['adam_mode'] == 0:  # torch.optim.AdamW
            self.w[k] -= rate * a['weight_decay'] * self.w[k]
            self.w[k] -= rate / c1 * self.m[k] / (np.sqrt(self.v[k] / c2) + a['epsilon'])
        else:  # transformers.AdamW
            self.w[k] -= rate * np.sqrt(c2) / c1 * self.m[k] / (np.sqrt(self.v[k]) + a['epsilon'])
            self.w[k] -= rate * a['weight_decay'] * self.w[k]


OPTIMIZERS = {
    'adamw': ('adamw', {}), 'adamw_results': ('adamw', {}),
    'adamw_last': ('adamw', {'adam_mode': 1, 'weight_decay': 0.1}),
    'adamw_uncorrected': ('adamw', {'correct_bias': 0}), 'adamw_clip': ('adamw', {'clip': 0.05}),
    'sgd': ('sgd', {}), 'named': ('adamw', {'adam_mode': 1, 'weight_decay': 0.1}),
    'named_reversed': ('adamw', {'adam_mode': 1, 'weight_decay': 0.1}),
    'named_clip': ('adamw', {'adam_mode': 1, 'weight_decay': 0.1, 'clip': 0.05})}
AMP = ('--is-loss-scale=true', '--loss-scale-manager=torch_amp')


class Failed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Failed(what)


class Artifacts:
    def __init__(self, args, folder):
        self.tool = os.path.abspath(args.tailor)
        self.ort = os.path.abspath(args.ort) if args.ort else None
        self.full = args.full
        self.folder = folder
        write_all(folder)

    def call(self, argv):
        env = dict(os.environ)
        if self.ort:
            env['NODE_PATH'] = os.path.join(self.ort, 'node_modules')
        return guard.run([self.tool, *argv], cwd=self.folder, capture_output=True,
                         text=True, cpu=300, env=env)

    def command(self, *argv):
        p = self.call(argv)
        need(p.returncode == 0,
             f'{" ".join(argv)}: exit {p.returncode}\n{p.stdout[-600:]}{p.stderr[-600:]}')
        return p.stdout

    def link(self, optimizer, train='train'):
        return [f'--train-model={train}.onnx', f'--optim-model={optimizer}.onnx']

    def runners(self):
        runner = os.path.join(ROOT, 'tools', 'runners', 'onnxruntime.js')
        return [['--exact']] + ([['--runner', f'node {runner}']] if self.ort else [])

    def run(self, file, runner, values):
        if len(runner) > 1:  # onnxruntime-node takes no value for an input that has a default
            made = onnx.load(os.path.join(self.folder, file))
            kept = [k for k in made.graph.initializer if k.name not in values]
            del made.graph.initializer[:]
            made.graph.initializer.extend(kept)
            file = 'fed.onnx'
            onnx.save(made, os.path.join(self.folder, file))
        argv = ['run', file, '-o', 'out', '--format=npy', '--json', *runner]
        for name, v in values.items():
            np.save(os.path.join(self.folder, f'{name}.npy'), v)
            argv.append(f'--input={name}={name}.npy')
        names = [o['name'] for o in json.loads(self.command(*argv))['outputs']]
        return {name: np.load(os.path.join(self.folder, 'out', f'output_{i}.npy'))
                for i, name in enumerate(names)}

    def moments(self, optimizer):
        return {} if optimizer == 'sgd' else {
            f'{k}.{order}_order_moments': np.zeros(s, np.float32)
            for k, s in PARAMS.items() for order in ('first', 'second')}

    def close(self, got, want, what):
        worst = max((np.abs(got[k + '.out'] - want[k]).max(), k) for k in want)
        need(worst[0] <= 2e-5, f'{what}: {worst}')

    # ---- numbers ----
    def steps(self, optimizer, *options):
        """Many steps in one run, as one loop."""
        n = 100 if self.full else 25
        kind, attrs = OPTIMIZERS[optimizer]
        rng = np.random.default_rng(7)
        x = rng.standard_normal((n, 16, 8)).astype(np.float32)
        t = rng.standard_normal((n, 16, 4)).astype(np.float32)
        reference = Reference(kind, **attrs)
        rate = np.full((n, 1), 0.02 if kind == 'sgd' else 0.003, np.float32)
        losses = [reference.step(x[i], t[i], float(rate[i, 0]), i + 1) for i in range(n)]
        self.command('convert', *self.link(optimizer), '-o', 'loop.onnx', '--verify-each', '-q',
                     f'--iterations-per-loop={n}', *options)
        given = {'x': x, 't': t, 'learning_rate': rate, **self.moments(optimizer)}
        if kind != 'sgd':
            given['step'] = np.arange(1, n + 1, dtype=np.int64)[:, None]
        zeros = {f'{k}_grad.accumulation.buffer': np.zeros(s, np.float32)
                 for k, s in PARAMS.items()}
        for runner in self.runners():
            out = self.run('loop.onnx', runner, {**given, **zeros})
            self.close(out, reference.w, 'parameters')
            worst = np.abs(out['loss.steps'].ravel() - losses).max()
            need(worst <= 1e-4, f'losses differ by {worst}')

    def accumulated(self):
        """With lazy_reset_grad=false buffers hold what earlier batches gave; else they do not."""
        self.command('convert', *self.link('adamw'), '-o', 'step.onnx', '-q')
        rng = np.random.default_rng(3)
        x = rng.standard_normal((16, 8)).astype(np.float32)
        t = rng.standard_normal((16, 4)).astype(np.float32)
        held = {k: rng.standard_normal(s).astype(np.float32) for k, s in PARAMS.items()}
        given = {'x': x, 't': t, 'learning_rate': np.array([0.01], np.float32),
                 'step': np.array([1], np.int64), **self.moments('adamw'),
                 **{f'{k}_grad.accumulation.buffer': v for k, v in held.items()}}
        for fresh in (True, False):
            reference = Reference('adamw')
            _, grads = reference.gradients(x.astype(np.float64), t.astype(np.float64))
            sums = {f'{k}_grad.accumulation.buffer': g + (0 if fresh else held[k])
                    for k, g in grads.items()}
            reference.step(x, t, 0.01, 1, None if fresh else held)
            # onnxruntime-node takes no value for an input that has a default
            for runner in self.runners() if fresh else self.runners()[:1]:
                out = self.run('step.onnx', runner,
                               {**given, 'lazy_reset_grad': np.array([fresh])})
                self.close(out, reference.w, f'fresh {fresh}')
                self.close(out, sums, f'fresh {fresh}, buffers')
                need(out['adamw.updated_flag'].all(), 'no update')

    def ranks(self, optimizer, n, *options):
        p = self.call(['simulate-ranks', *self.link(optimizer), '-n', str(n), '--steps=4',
                       f'--joined=train_B{16 * n}.onnx', '--atol=1e-3', '--json', *options])
        need(p.returncode in (0, 5), p.stderr)
        got = json.loads(p.stdout)
        off = [s['name'] for s in got['states'] if not s['equal']]
        need(got['equal'] and got['ranks_identical'] and not got.get('skipped'), f'{off}, {got}')

    def overflow(self, form):
        """A loss that overflows when scaled leaves all as it was."""
        manager = {'type': 'ExponentialUpdateLossScaleManager', 'init_loss_scale': 3e38,
                   'incr_every_n_steps': 5, 'decr_every_n_nan_or_inf': 1000}
        self.command('convert', *self.link('adamw'), '-o', 'scaled.onnx', '-q',
                     '--is-loss-scale=true', '--loss-scale-manager=' + json.dumps(manager),
                     f'--update-form={form}')
        given = {'x': np.full((16, 8), 1e6, np.float32), 't': np.zeros((16, 4), np.float32),
                 'learning_rate': np.array([0.01], np.float32), 'step': np.array([1], np.int64),
                 **{k: v + 0.5 for k, v in self.moments('adamw').items()},
                 **{f'{k}_grad.accumulation.buffer': np.full(s, 0.25, np.float32)
                    for k, s in PARAMS.items()}}
        first = first_values()
        for runner in self.runners():
            out = self.run('scaled.onnx', runner, given)
            need(not out['tlr.ls.finite'], 'no overflow was found')
            for name, v in {**first, **{k: v for k, v in given.items() if '.' in k}}.items():
                need(np.array_equal(out[name + '.out'], v), f'{name} has changed')

    # ---- files ----
    def air(self, optimizer, *options):
        self.command('convert', *self.link(optimizer), '-o', 'step.air', '-q', *options)
        wrong = air_check.fault(os.path.join(self.folder, 'step.air'))
        need(not wrong, wrong[:800])

    def blocks(self):
        """A pair whose backward is gradient ops: AIR for each chip, and steps that learn."""
        for chip in ('Ascend910B1', 'Ascend910A', 'Ascend910_9362'):
            for options in ((), AMP, ('--is-distributed=true', '--rank-size=4')):
                self.command('convert', '--train-model=training_model.onnx',
                             '--optim-model=optimizer_model.onnx', '-o', 'step.air', '-q',
                             f'--soc-version={chip}', *options)
                wrong = air_check.fault(os.path.join(self.folder, 'step.air'))
                need(not wrong, f'{chip}: {wrong[:800]}')
        n = 40
        words = np.tile(np.arange(16, dtype=np.int64), (n, 1))
        given = {'words': words, 'labels': words % 4, 'step': np.arange(1, n + 1)[:, None],
                 'learning_rate': np.full((n, 1), 0.05, np.float32)}
        self.command('convert', '--train-model=training_model.onnx',
                     '--optim-model=optimizer_model.onnx', '-o', 'loop.onnx', '-q',
                     f'--iterations-per-loop={n}')
        losses = self.run('loop.onnx', ['--exact'], given)['loss.steps'].ravel()
        need(losses[0] > 1 and losses[-1] < 0.2, f'it does not learn: {losses}')

    def training_build(self):
        """For a build with training ops they stay."""
        text = self.command('opt', *self.link('adamw_clip'), *AMP, '--status=ort')
        for op in ('AdamWOptimizer', 'InplaceClipGradNorm', 'InPlaceAccumulatorV2',
                   'IsAllFinite'):
            need(f'com.microsoft::{op}' in text, f'{op} is gone')

    def plain(self, optimizer):
        """Nothing that a plain runtime lacks is left."""
        self.command('convert', *self.link(optimizer), '-o', 'step.onnx', '-q')
        step = onnx.load(os.path.join(self.folder, 'step.onnx'))
        left = {n.op_type for n in step.graph.node if n.domain == 'com.microsoft'}
        need(not left, f'{left} is left')

    # ---- all ----
    def cases(self):
        for optimizer in OPTIMIZERS:
            yield f'steps, {optimizer}', self.steps, optimizer
            yield f'plain, {optimizer}', self.plain, optimizer
            yield f'air, {optimizer}', self.air, optimizer
            yield f'2 ranks, {optimizer}', self.ranks, optimizer, 2
        yield 'steps, -O0', self.steps, 'adamw', '-O0'
        yield 'steps, scaled', self.steps, 'adamw', *AMP
        yield 'accumulated', self.accumulated
        for form in ('where', 'if'):
            yield f'overflow, {form}', self.overflow, form
        tail = ('--is-tailing-optimization=true', '--optimizer-is-tailing-optimization=true',
                '--bucket-strategy=none', '--hw-preset=ascend910b')
        modes = [AMP, ('--update-form=if', *AMP), ('--bucket-strategy=single',), tail,
                 (*tail, '--decompose-updates=1', *AMP), ('--average=pre_div',),
                 ('--ar-site=accum',), ('--ar-site=boundary',),
                 ('--average=fold', '--status=npu', *AMP)]
        for i, options in enumerate(modes):
            for n in (2, 4) if self.full else (2 + i % 2 * 2,):
                yield f'{n} ranks, {" ".join(options)}', self.ranks, 'adamw', n, *options
                yield (f'air, {n} ranks, {" ".join(options)}', self.air, 'adamw_clip',
                       '--is-distributed=true', f'--rank-size={n}', *options)
        for optimizer in ('adamw_last', 'sgd', 'named_reversed'):
            yield f'shards, {optimizer}', self.ranks, optimizer, 2, '--wus=1'
        yield 'shards, scaled', self.ranks, 'adamw', 4, '--wus=1', '--tail-mode=early_local', *AMP
        yield 'a pair of gradient ops', self.blocks
        yield 'training build', self.training_build


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor')
    parser.add_argument('--ort')
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--write', metavar='FOLDER')
    args = parser.parse_args()
    if args.write:
        write_all(args.write)
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, check, *values in Artifacts(args, folder).cases():
            try:
                check(*values)
                passed += 1
            except (Failed, subprocess.TimeoutExpired, KeyError) as e:
                failed += 1
                print(f'FAIL {name}: {e}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
