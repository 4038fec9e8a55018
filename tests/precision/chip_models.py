# SPDX-License-Identifier: Apache-2.0
"""Small models, as textual IR, whose dtypes not every chip has kernels for."""
import random


def ints(rng, n, low, high):
    return '[' + ', '.join(str(rng.randint(low, high)) for _ in range(n)) + ']'


def floats(rng, n, scale=1.0):
    return '[' + ', '.join(f'{rng.uniform(0.1, 1) * scale:.5f}' for _ in range(n)) + ']'


def graph(inputs, outputs, constants, nodes):
    lines = [f'  const %{name}: {what}' for name, what in constants]
    return (f'graph @g({inputs}) -> ({outputs}) {{\n' + '\n'.join(lines) + '\n  ' +
            '\n  '.join(nodes) + '\n}\n')


def unary(dtype, *nodes):
    return graph(f'%x: {dtype}[1,4,8,8]', '%y', [], nodes)


def convolution(dtype='f32', groups=1, bias=True, kind='Conv'):
    rng = random.Random(1)
    shape = (4, 4 // groups, 3, 3)
    n = shape[0] * shape[1] * 9
    constants = [('w', f'{dtype}[{",".join(map(str, shape))}] = {floats(rng, n)}'),
                 ('b', f'{dtype}[4] = {floats(rng, 4)}')]
    tail = ', %b' if bias else ''
    return graph(f'%x: {dtype}[1,4,8,8]', '%y', constants, [
        f'%c = {kind}(%x, %w{tail}) @conv {{group={groups}, pads=[1, 1, 1, 1]}}',
        '%y = Relu(%c) @relu'])


def conv_norm():
    """Convolution, normalization, softmax and product of a small classifier."""
    rng = random.Random(2)
    constants = [('w', f'f32[8,3,3,3] = {floats(rng, 216)}')]
    constants += [(n, f'f32[8] = {floats(rng, 8)}') for n in 'gbmv']
    constants += [('w2', f'f32[16,8] = {floats(rng, 128)}')]
    return graph('%x: f32[1,3,16,16]', '%y', constants, [
        '%c = Conv(%x, %w) @conv {pads=[1, 1, 1, 1]}',
        '%n = BatchNormalization(%c, %g, %b, %m, %v) @bn', '%r = Relu(%n) @relu',
        '%s = Softmax(%r) @softmax {axis=-1}', '%y = MatMul(%s, %w2) @matmul'])


def norm(dtype='f32'):
    rng = random.Random(3)
    constants = [(n, f'{dtype}[4] = {floats(rng, 4)}') for n in 'gbmv']
    return graph(f'%x: {dtype}[1,4,8,8]', '%y', constants,
                 ['%t = Tanh(%x) @tanh', '%y = BatchNormalization(%t, %g, %b, %m, %v) @bn'])


def training_norm():
    rng = random.Random(4)
    constants = [(n, f'f32[4] = {floats(rng, 4)}') for n in 'gbmv']
    return graph('%x: f32[2,4,8,8]', '%y, %mean, %var', constants, [
        '%y, %mean, %var = BatchNormalization(%x, %g, %b, %m, %v) @bn {training_mode=1}'])


def quantized(per_channel, zero='u8', relu=True):
    """Two convolutions between bytes, a sum beside them and a product, as exporters write them."""
    rng = random.Random(5)
    point = {'u8': 'u8[] = 128', 'i8': 'i8[] = 0'}[zero]
    constants = [('s', 'f32[] = 0.05'), ('z', point)]
    nodes = ['%q0 = QuantizeLinear(%x, %s, %z)', '%d0 = DequantizeLinear(%q0, %s, %z)']
    for i in (1, 2):
        size = '[8]' if per_channel else '[]'
        values = floats(rng, 8, 0.01) if per_channel else '0.01'
        zeros = f'{[0] * 8}' if per_channel else '0'
        biases = floats(rng, 8, 0.001) if per_channel else '0.0005'
        constants += [(f'w{i}', f'i8[8,8,3,3] = {ints(rng, 576, -127, 127)}'),
                      (f'ws{i}', f'f32{size} = {values}'), (f'wz{i}', f'i8{size} = {zeros}'),
                      (f'b{i}', f'i32[8] = {ints(rng, 8, -900, 900)}'),
                      (f'bs{i}', f'f32{size} = {biases}')]
        nodes += [f'%k{i} = DequantizeLinear(%w{i}, %ws{i}, %wz{i}) {{axis=0}}',
                  f'%v{i} = DequantizeLinear(%b{i}, %bs{i}) {{axis=0}}',
                  f'%c{i} = Conv(%d{i - 1}, %k{i}, %v{i}) @conv{i} {{pads=[1, 1, 1, 1]}}']
        nodes += [f'%r{i} = Relu(%c{i})'] if relu else [f'%r{i} = Identity(%c{i})']
        nodes += [f'%q{i} = QuantizeLinear(%r{i}, %s, %z)',
                  f'%d{i} = DequantizeLinear(%q{i}, %s, %z)']
    nodes += ['%sum = Add(%d2, %d0)', '%p = GlobalAveragePool(%sum)', '%f = Flatten(%p)',
              '%y = MatMul(%f, %m) @product']
    constants += [('m', f'f32[8,10] = {floats(rng, 80)}')]
    return graph('%x: f32[1,8,8,8]', '%y', constants, nodes)


def quantized_16():
    return graph('%x: f32[4,8]', '%y', [('s', 'f32[] = 0.01'), ('z', 'u16[] = 300')],
                 ['%q = QuantizeLinear(%x, %s, %z)', '%d = DequantizeLinear(%q, %s, %z)',
                  '%t = Transpose(%q) {perm=[1, 0]}', '%e = DequantizeLinear(%t, %s, %z)',
                  '%y = MatMul(%d, %e)'])


def quantized_product():
    rng = random.Random(6)
    constants = [('s', 'f32[] = 0.05'), ('z', 'u8[] = 120'),
                 ('w', f'i8[8,4] = {ints(rng, 32, -127, 127)}'), ('ws', 'f32[] = 0.02'),
                 ('b', f'f32[4] = {floats(rng, 4)}')]
    return graph('%x: f32[2,8]', '%y', constants, [
        '%q = QuantizeLinear(%x, %s, %z)', '%d = DequantizeLinear(%q, %s, %z)',
        '%k = DequantizeLinear(%w, %ws)', '%p = MatMul(%d, %k) @product', '%y = Add(%p, %b)'])


def dynamic_quantized():
    rng = random.Random(7)
    constants = [('w', f'i8[8,4] = {ints(rng, 32, -127, 127)}'), ('ws', 'f32[] = 0.02')]
    return graph('%x: f32[2,8]', '%y', constants, [
        '%q, %s, %z = DynamicQuantizeLinear(%x)', '%p = MatMulInteger(%q, %w, %z) @product',
        '%f = Cast(%p) {to=1}', '%t = Mul(%s, %ws)', '%y = Mul(%f, %t)'])


def integer_convolution():
    rng = random.Random(8)
    constants = [('w', f'u8[4,4,3,3] = {ints(rng, 144, 0, 255)}'), ('zx', 'u8[] = 3'),
                 ('zw', 'u8[] = 128')]
    return graph('%x: u8[1,4,8,8]', '%y', constants, ['%y = ConvInteger(%x, %w, %zx, %zw) @conv'])


def recurrent(op, gates):
    rng = random.Random(9)
    constants = [('w', f'f32[1,{4 * gates},3] = {floats(rng, 12 * gates)}'),
                 ('r', f'f32[1,{4 * gates},4] = {floats(rng, 16 * gates)}')]
    return graph('%x: f32[5,2,3]', '%y, %h', constants,
                 [f'%y, %h = {op}(%x, %w, %r) @layer {{hidden_size=4}}'])


def branch():
    rng = random.Random(10)
    return graph('%p: bool[], %x: f32[1,2,4,4]', '%y',
                 [('w', f'f32[2,2,1,1] = {floats(rng, 4)}')], [
        '%y = If(%p) @if {', '  then_branch=graph @then() -> (%a) {',
        '    %a = Conv(%x, %w) @conv', '  },', '  else_branch=graph @else() -> (%b) {',
        '    %b = Relu(%x) @relu', '  }', '}'])


def loop():
    rng = random.Random(11)
    constants = [('w', f'f32[4,4] = {floats(rng, 16)}')]
    return graph('%n: i64[], %c0: bool[], %x: f32[4,4]', '%y', constants,
                 ['%y = Loop(%n, %c0, %x) @loop {',
                  '  body=graph @body(%i: i64[], %c: bool[], %v: f32[4,4]) -> (%go, %next) {',
                  '    %go = Identity(%c) @go', '    %next = MatMul(%v, %w) @product', '  }', '}'])


def attention(dtype='f32'):
    return graph(', '.join(f'%{n}: {dtype}[2,4,16,32]' for n in 'qkv'), '%y',
                 [('s', f'{dtype}[] = 0.17')], [
        '%t = Transpose(%k) {perm=[0, 1, 3, 2]}', '%a = MatMul(%q, %t) @scores',
        '%b = Mul(%a, %s)', '%p = Softmax(%b)', '%y = MatMul(%p, %v) @mixed'])


def layers(dtype='f32'):
    rng = random.Random(12)
    constants = [(name, f'{dtype}[{",".join(map(str, dims))}] = {floats(rng, n)}')
                 for name, dims, n in (('g', (16,), 16), ('b', (16,), 16), ('w', (16, 8), 128),
                                       ('c', (8,), 8))]
    return graph(f'%x: {dtype}[4,16]', '%y', constants, [
        '%n = LayerNormalization(%x, %g, %b) @norm', '%p = Gemm(%n, %w, %c) @gemm',
        '%e = Gelu(%p) @gelu', '%m = ReduceMean(%e) {keepdims=1}', '%y = Sub(%e, %m)'])


def models():
    """{name: (text, words)}; words: bf16 where a chip without it must refuse."""
    found = {
        'conv_norm': conv_norm(), 'conv': convolution(), 'conv_no_bias': convolution(bias=False),
        'depthwise': convolution(groups=4), 'grouped': convolution(groups=2),
        'transposed': convolution(kind='ConvTranspose'), 'conv_f16': convolution('f16'),
        'norm': norm(), 'norm_f16': norm('f16'), 'training_norm': training_norm(),
        'quantized': quantized(False), 'quantized_channels': quantized(True),
        'quantized_signed': quantized(True, 'i8', False), 'quantized_16': quantized_16(),
        'quantized_product': quantized_product(), 'dynamic_quantized': dynamic_quantized(),
        'integer_convolution': integer_convolution(),
        'rnn': recurrent('RNN', 1), 'gru': recurrent('GRU', 3), 'lstm': recurrent('LSTM', 4),
        'branch': branch(), 'loop': loop(), 'attention': attention(),
        'attention_f16': attention('f16'),
        'layers': layers(), 'layers_f16': layers('f16'),
        'pool': unary('f32', '%y = AveragePool(%x) @pool {kernel_shape=[3, 2], pads=[1, 0, 0, 1]}'),
        'pool_same': unary('f32', '%y = AveragePool(%x) @pool {auto_pad="SAME_UPPER", '
                           'kernel_shape=[3, 3]}'),
        'max_pool': unary('f32', '%y = MaxPool(%x) @pool {kernel_shape=[2, 2]}'),
        'resize': graph('%x: f32[1,2,4,4]', '%y', [('s', 'f32[4] = [1.0, 1.0, 0.6, 0.6]')],
                        ['%y = Resize(%x, _, %s) @resize {mode="linear"}']),
        'f64': unary('f64', '%a = Mul(%x, %x) @square', '%y = Exp(%a) @exp'),
        'i64': unary('i64', '%a = Mul(%x, %x) @square', '%y = Neg(%a) @minus'),
        'i16': unary('i16', '%y = LessOrEqual(%x, %x) @compare'),
        'casts': unary('f32', '%a = Cast(%x) @u16 {to=4}', '%b = Cast(%a) @back {to=10}',
                       '%c = Cast(%b) @u32 {to=12}', '%y = Cast(%c) @wide {to=11}'),
    }
    out = {name: (text, ()) for name, text in found.items()}
    for name, text in {'conv_bf16': convolution('bf16'), 'depthwise_bf16': convolution('bf16', 4),
                       'norm_bf16': norm('bf16'), 'layers_bf16': layers('bf16'),
                       'attention_bf16': attention('bf16'),
                       'pool_bf16': unary('bf16', '%y = AveragePool(%x) @p '
                                          '{kernel_shape=[2, 2]}')}.items():
        out[name] = (text, ('bf16',))
    return out
