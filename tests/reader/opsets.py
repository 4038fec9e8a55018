#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes as old opsets wrote them, and sparse weights: they compute what the formula of their opset
says, written here in NumPy, and what does not fit is refused by name.

  opsets.py --tailor BIN [PART OF A NAME]

Each model is compared twice by `tailor verify`: as it is read, and converted to ONNX at -O2. Where
the lifted node depends on them, shapes of inputs are known once, and once they are not. The last
line is 'N passed, M failed, 0 skipped'."""
import argparse
import collections
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

F32 = TensorProto.FLOAT
# said: words of the refusal; then nothing is expected. open: also with unknown shapes of inputs.
Case = collections.namedtuple('Case', 'name opset nodes inputs expected weights sparse said open')
RANDOM = np.random.default_rng(7)


def case(name, opset, nodes, inputs, expected=None, **more):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return Case(name, opset, nodes, inputs, expected, more.get('weights', {}),
                more.get('sparse', []), more.get('said'), more.get('open', False))


def numbers(*shape):
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def node(op, inputs, outputs='y', **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name='it', **attributes)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def flat(x, axis):
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def normal(x, axes, epsilon=1e-5):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


def arithmetic():
    x, b = numbers(2, 3, 4), numbers(3)
    for op, f in (('Add', np.add), ('Sub', np.subtract), ('Mul', np.multiply)):
        old = node(op, 'x b', broadcast=1, axis=1)
        yield case(f'{op} along an axis', 6, old, {'x': x, 'b': b}, f(x, b[:, None]))
    yield case('Add along a negative axis', 6, node('Add', 'x b', broadcast=1, axis=-2),
               {'x': x, 'b': b}, x + b[:, None])
    last = numbers(4)
    yield case('Add of last axes', 6, node('Add', 'x b', broadcast=1), {'x': x, 'b': last},
               x + last)
    yield case('Add along an axis that does not fit', 6, node('Add', 'x b', broadcast=1, axis=5),
               {'x': x, 'b': b}, said='axis 5 does not fit ranks 3 and 1')
    slope = np.abs(numbers(3))
    y = np.where(x < 0, x * slope[:, None], x)
    yield case('PRelu per channel', 6, node('PRelu', 'x s'), {'x': x}, y, weights={'s': slope})
    one = np.array([0.25], np.float32)
    yield case('PRelu of one slope', 6, node('PRelu', 'x s'), {'x': x},
               np.where(x < 0, x * 0.25, x), weights={'s': one})
    p = (np.abs(x.reshape(2, 3, 2, 2)) ** 3).sum(axis=(2, 3), keepdims=True) ** (1 / 3)
    pooled = {'x': x.reshape(2, 3, 2, 2)}
    yield case('GlobalLpPool, p a float', 1, node('GlobalLpPool', 'x', p=3.0), pooled, p)
    yield case('GlobalLpPool, p no integer', 1, node('GlobalLpPool', 'x', p=2.5), pooled,
               said='p must be a whole number')
    yield case('Clip of a text', 6, node('Clip', 'x', min='a'), {'x': x},
               said="attribute 'min' must be a float")


def softmaxes():
    x = numbers(2, 3, 4)
    hard = np.zeros((2, 12), np.float32)
    hard[np.arange(2), flat(x, 1).argmax(axis=1)] = 1
    for name, f in (('Softmax', lambda a: softmax(a, 1)),
                    ('LogSoftmax', lambda a: np.log(softmax(a, 1))), ('Hardmax', lambda a: hard)):
        y = f(flat(x, 1)).reshape(x.shape)
        for axis in (1, -2):
            yield case(f'{name} over axes from {axis} on', 11, node(name, 'x', axis=axis),
                       {'x': x}, y, open=axis > 0)
    yield case('Softmax over all axes', 11, node('Softmax', 'x', axis=0), {'x': x},
               softmax(x.reshape(1, -1), 1).reshape(x.shape), open=True)
    yield case('Softmax outside', 11, node('Softmax', 'x', axis=4), {'x': x},
               said='axis 4 is outside rank 3')


def norms():
    x = numbers(2, 3, 4, 5)
    per = {k: np.abs(numbers(3, 4, 5)) + 0.5 for k in 'sbmv'}
    y = per['s'] * (x - per['m']) / np.sqrt(per['v'] + 1e-3) + per['b']
    old = node('BatchNormalization', 'x s b m v', epsilon=1e-3, spatial=0)
    yield case('BatchNormalization per element', 8, old, {'x': x}, y, weights=per)
    used = node('BatchNormalization', 'x s b m v', 'z mean var sm sv', spatial=0)
    add = helper.make_node('ReduceSum', ['mean'], ['y'])
    yield case('BatchNormalization per element in training', 8, [used, add], {'x': x},
               weights=per, said='training with spatial = 0')
    channel = {k: np.abs(numbers(3)) + 0.5 for k in 'sbmv'}
    used = node('BatchNormalization', 'x s b m v', 'z mean var sm sv')
    yield case('BatchNormalization, saved statistics', 9,
               [used, helper.make_node('ReduceSum', ['sm'], ['y'])], {'x': x}, weights=channel,
               said='result 3 (saved statistics) is used')
    s, b = (channel[k][:, None, None] for k in 'sb')
    yield case('BatchNormalization in training', 9,
               [used, helper.make_node('ReduceSum', ['mean'], ['t'], keepdims=0),
                helper.make_node('Mul', ['t', 'zero'], ['t0']),
                helper.make_node('Add', ['z', 't0'], ['y'])], {'x': x},
               s * normal(x, (0, 2, 3)) + b,
               weights={**channel, 'zero': np.zeros((), np.float32)})
    for across, axes in ((1, (0, 1, 2, 3)), (0, (0, 2, 3))):
        yield case(f'MeanVarianceNormalization, across_channels={across}', 8,
                   node('MeanVarianceNormalization', 'x', across_channels=across), {'x': x},
                   normal(x, axes, 1e-9))
    yield case('MeanVarianceNormalization without variance', 8,
               node('MeanVarianceNormalization', 'x', normalize_variance=0), {'x': x},
               said='normalize_variance = 0')
    x = numbers(2, 6, 4)
    scale, bias = np.array([2, 3], np.float32), np.array([1, -1], np.float32)
    y = normal(x.reshape(2, 2, 12), (2,)) * scale[:, None] + bias[:, None]
    old = node('GroupNormalization', 'x s b', num_groups=2)
    yield case('GroupNormalization, scale per group', 18, old, {'x': x}, y.reshape(x.shape),
               weights={'s': scale, 'b': bias}, open=True)
    yield case('GroupNormalization of no groups', 18,
               node('GroupNormalization', 'x s b', num_groups=0), {'x': x},
               weights={'s': scale, 'b': bias}, said='num_groups must be positive')
    yield case('Dropout that drops nothing', 6, node('Dropout', 'x', ratio=0.0, is_test=0),
               {'x': x}, x)


def shapes():
    x = numbers(1, 2, 3, 4)
    twice = x.repeat(2, axis=2).repeat(3, axis=3)
    scales = np.array([1, 1, 2, 3], np.float32)
    yield case('Resize 10', 10, node('Resize', 'x s', mode='nearest'), {'x': x}, twice,
               weights={'s': scales})
    yield case('Upsample 9', 9, node('Upsample', 'x s', mode='nearest'), {'x': x}, twice,
               weights={'s': scales})
    yield case('Upsample 7', 7, node('Upsample', 'x', scales=[1., 1., 2., 3.]), {'x': x}, twice)
    yield case('Upsample 1', 1, node('Upsample', 'x', height_scale=2., width_scale=3.),
               {'x': x}, twice)
    yield case('Upsample without scales', 7, node('Upsample', 'x'), {'x': x},
               said='the scales are missing')
    for name in ('FLOAT', 'float'):
        yield case(f'Cast to {name}', 1, node('Cast', 'x', to=name), {'x': x}, x)
    yield case('Cast to nothing known', 1, node('Cast', 'x', to='REAL'), {'x': x},
               said="'REAL' is not an element type")
    three = {'t': np.array([3], np.float32), 'a': np.array([-1], np.float32)}
    yield case('Tile of one axis', 1, node('Tile', 'x t a'), {'x': x}, np.tile(x, (1, 1, 1, 3)),
               weights={k: v.astype(np.int64) for k, v in three.items()})
    yield case('Tile outside', 1, node('Tile', 'x t a'), {'x': x}, said='axis 4 is outside rank 4',
               weights={'t': np.array([3]), 'a': np.array([4])})
    yield case('TopK, k an attribute', 1, node('TopK', 'x', 'y i', k=2, axis=-1), {'x': x},
               -np.sort(-x, axis=-1)[..., :2])
    yield case('TopK without k', 1, node('TopK', 'x', 'y i', axis=-1), {'x': x},
               said="the attribute 'k' is needed")


def scans():
    s0, x = numbers(2, 3), numbers(2, 4, 3)
    info = [helper.make_tensor_value_info(n, F32, [3]) for n in ('s', 'e', 'sum', 'out')]
    body = helper.make_graph([helper.make_node('Add', ['s', 'e'], ['sum']),
                              helper.make_node('Identity', ['sum'], ['out'])], 'body', info[:2],
                             info[2:])
    old = helper.make_node('Scan', ['', 's0', 'x'], ['last', 'y'], num_scan_inputs=1, body=body)
    yield case('Scan of a batch', 8, old, {'s0': s0, 'x': x},
               s0[:, None] + np.cumsum(x, axis=1))


def sparse(name, values, indices, dims):
    return helper.make_sparse_tensor(numpy_helper.from_array(values, name),
                                     numpy_helper.from_array(indices, name + '_at'), dims)


def sparses():
    x, v = numbers(2, 3), np.array([5, 7], np.float32)
    dense = np.zeros((2, 3), np.float32)
    dense[0, 1], dense[1, 2] = v
    add = node('Add', 'x w')
    at = np.array([1, 5])
    yield case('a sparse weight, linear', 13, add, {'x': x}, x + dense,
               sparse=[sparse('w', v, at, [2, 3])])
    yield case('a sparse weight, coordinates', 13, add, {'x': x}, x + dense,
               sparse=[sparse('w', v, np.array([[0, 1], [1, 2]]), [2, 3])])
    constant = helper.make_node('Constant', [], ['w'], sparse_value=sparse('c', v, at, [2, 3]))
    yield case('a sparse constant', 13, [constant, add], {'x': x}, x + dense)
    for name, wrong, said in (
            ('linear', np.array([1, 6]), 'index 1 of the sparse tensor is outside'),
            ('negative', np.array([-1, 5]), 'index 0 of the sparse tensor is outside'),
            ('coordinate', np.array([[0, 1], [1, 3]]), 'index 1 of the sparse tensor is outside'),
            ('count', np.array([1]), 'one int64 index a value'),
            ('type', np.array([1, 5], np.int32), 'one int64 index a value')):
        yield case(f'a sparse weight with a wrong {name}', 13, add, {'x': x},
                   sparse=[sparse('w', v, wrong, [2, 3])], said=said)
    yield case('a sparse weight of a negative size', 13, add, {'x': x},
               sparse=[sparse('w', v, at, [2, -3])], said='dimensions of the sparse tensor')
    none = sparse('w', v, at, [2, 3])
    none.ClearField('indices')
    yield case('a sparse weight without indices', 13, add, {'x': x}, sparse=[none],
               said='needs values and indices')


def model_of(c, is_open):
    info = [helper.make_tensor_value_info(n, F32, [None] * v.ndim if is_open else v.shape)
            for n, v in c.inputs.items()]
    graph = helper.make_graph(c.nodes, 'g', info, [helper.make_tensor_value_info('y', F32, None)],
                              [numpy_helper.from_array(v, n) for n, v in c.weights.items()])
    graph.sparse_initializer.extend(c.sparse)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', c.opset)])
    model.ir_version = 8
    return model


def write(c, folder, is_open):
    """The model, and its data beside it."""
    path = os.path.join(folder, 'model.onnx')
    onnx.save(model_of(c, is_open), path)
    data = os.path.join(folder, 'data')
    os.makedirs(data, exist_ok=True)
    arrays = [(f'input_{i}.pb', n, v) for i, (n, v) in enumerate(c.inputs.items())]
    if c.expected is not None:
        arrays.append(('output_0.pb', 'y', c.expected.astype(np.float32)))
    for file, name, array in arrays:
        with open(os.path.join(data, file), 'wb') as f:
            f.write(numpy_helper.from_array(array, name).SerializeToString())
    return path, data


def run(tailor, *words):
    p = guard.run([tailor, *words], capture_output=True, text=True, errors='replace')
    return p.returncode, p.stdout + p.stderr


def wrong_with(tailor, c, is_open):
    with tempfile.TemporaryDirectory() as folder:
        path, data = write(c, folder, is_open)
        made = os.path.join(folder, 'made.onnx')
        code, text = run(tailor, 'convert', path, '-o', made, '-O2', '-q')
        if c.said:
            refused = code in (2, 3) and c.said in text and not os.path.exists(made)
            return '' if refused else f'exit {code}: {text[:300]}'
        if code:
            return f'exit {code}: {text[:300]}'
        for model in (path, made):
            code, text = run(tailor, 'verify', model, data)
            if code:
                return f'{os.path.basename(model)}: exit {code}: {text[:300]}'
    return ''


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--tailor', required=True)
    parser.add_argument('part', nargs='?', default='')
    args = parser.parse_args()
    passed = failed = 0
    for group in (arithmetic, softmaxes, norms, shapes, scans, sparses):
        for c in group():
            for is_open in ((False, True) if c.open else (False,)):
                if args.part not in c.name:
                    continue
                wrong = wrong_with(args.tailor, c, is_open)
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f'FAIL {c.name}{", open" if is_open else ""}: {wrong}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
