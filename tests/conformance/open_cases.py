# SPDX-License-Identifier: Apache-2.0
"""Small graphs whose sizes are open, one for each form of an op that depends on sizes: texts in the
notation of docs/textual-ir.md, with the names of the dims that are open."""
import itertools

# Dims of images (batch, channels, rows, columns) that are open at once.
IMAGES = {'hw': ('2', '3', '"H"', '"W"'), 'nhw': ('"N"', '3', '"H"', '"W"'),
          'n': ('"N"', '3', '6', '8'), 'w': ('2', '3', '6', '"W"')}
LINES = {'l': ('2', '3', '"L"'), 'nl': ('"N"', '3', '"L"')}
VOLUMES = {'dhw': ('1', '2', '"D"', '"H"', '"W"'), 'n': ('"N"', '2', '4', '5', '6')}
OF_RANK = {3: LINES, 4: IMAGES, 5: VOLUMES}
MAPS = ('half_pixel', 'half_pixel_symmetric', 'pytorch_half_pixel', 'asymmetric', 'align_corners')
NEAR = ('round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil')


def words(**settings):
    """Attributes as they are written."""
    def value(v):
        if isinstance(v, str):
            return f'"{v}"'
        return '[' + ','.join(map(str, v)) + ']' if isinstance(v, (list, tuple)) else str(v)
    inner = ', '.join(f'{k}={value(v)}' for k, v in settings.items() if v is not None)
    return ' {' + inner + '}' if inner else ''


def graph(inputs, lines, results=('y',)):
    ports = ', '.join(f'%{name}: {kind}' for name, kind in inputs.items())
    outs = ', '.join('%' + name for name in results)
    return f'graph @g({ports}) -> ({outs}) {{\n' + ''.join(f'  {s}\n' for s in lines) + '}\n'


def image(dims, dtype='f32'):
    return f'{dtype}[{",".join(dims)}]'


def resize_operands(rank, how):
    """Lines before a Resize and its operands behind the first."""
    n = rank - 2
    ones = ['1.0', '1.0']
    if how in ('x2', 'up', 'down'):
        step = {'x2': '2.0', 'up': '1.7', 'down': '0.6'}[how]
        scales = '[' + ','.join(ones + [step] * n) + ']'
        return [f'const %s = f32[{rank}] {scales}'], '_, %s'
    if how == 'fixed':
        return [f'const %z = i64[{n}] [{",".join(map(str, (9, 5, 7)[:n]))}]',
                '%h = Shape(%x) {start=0, end=2}', '%t = Concat(%h, %z) {axis=0}'], '_, _, %t'
    if how == 'double':
        return ['const %two = i64[] 2', f'%r = Shape(%x) {{start=2, end={rank}}}',
                '%d = Mul(%r, %two)', '%h = Shape(%x) {start=0, end=2}',
                '%t = Concat(%h, %d) {axis=0}'], '_, _, %t'
    if how == 'like':
        return [f'%r = Shape(%like) {{start=2, end={rank}}}', '%h = Shape(%x) {start=0, end=2}',
                '%t = Concat(%h, %r) {axis=0}'], '_, _, %t'
    # scales that are computed, as exporters of Paddle write them
    return ['const %two = f32[] 2.0', f'%r = Shape(%x) {{start=2, end={rank}}}',
            '%f = Cast(%r) {to=1}', '%d = Mul(%f, %two)', '%q = Div(%d, %f)',
            'const %one = f32[2] [1.0, 1.0]', '%s = Concat(%one, %q) {axis=0}'], '_, %s'


def resize(dims, how, dtype='f32', **settings):
    rank = len(dims)
    lines, operands = resize_operands(rank, how)
    inputs = {'x': image(dims, dtype)}
    if how == 'like':
        more = tuple(f'"{c}2"' for c in 'DHW'[5 - rank:])
        inputs['like'] = image(('1', '1') + more)
    return graph(inputs, lines + [f'%y = Resize(%x, {operands}){words(**settings)}'])


def resizes():
    hows = ('x2', 'up', 'down', 'fixed', 'double', 'like', 'computed')
    for (key, dims), how in itertools.product(IMAGES.items(), hows):
        for place in MAPS + ('tf_half_pixel_for_nn',):
            for near in NEAR:
                yield (f'resize/nearest-{place}-{near}-{how}-{key}',
                       resize(dims, how, mode='nearest', coordinate_transformation_mode=place,
                              nearest_mode=near))
        for mode, place in itertools.product(('linear', 'cubic'), MAPS):
            yield (f'resize/{mode}-{place}-{how}-{key}',
                   resize(dims, how, mode=mode, coordinate_transformation_mode=place))
        for mode in ('linear', 'cubic'):
            yield f'resize/{mode}-antialias-{how}-{key}', resize(dims, how, mode=mode, antialias=1)
        yield (f'resize/linear-smooth-{how}-{key}',
               resize(dims, how, mode='linear', antialias=1,
                      coordinate_transformation_mode='pytorch_half_pixel'))
        yield (f'resize/cubic-exclude-{how}-{key}',
               resize(dims, how, mode='cubic', exclude_outside=1, cubic_coeff_a=-0.5))
        yield f'resize/linear-half-{how}-{key}', resize(dims, how, 'f16', mode='linear')
        yield f'resize/nearest-bytes-{how}-{key}', resize(dims, how, 'u8', mode='nearest')
    yield from resize_axes()
    for rank in (3, 5):
        for (key, dims), how in itertools.product(OF_RANK[rank].items(), hows):
            for mode in ('nearest', 'linear', 'cubic'):
                for place in ('half_pixel', 'asymmetric', 'align_corners'):
                    yield (f'resize/{mode}-{place}-{how}-{rank}d-{key}',
                           resize(dims, how, mode=mode, coordinate_transformation_mode=place))


def resize_axes():
    for (key, dims), mode in itertools.product(IMAGES.items(), ('nearest', 'linear', 'cubic')):
        inputs = {'x': image(dims)}
        yield f'resize/{mode}-axes-scales-{key}', graph(inputs, [
            'const %s = f32[2] [2.0, 1.5]',
            f'%y = Resize(%x, _, %s){words(mode=mode, axes=[2, 3])}'])
        yield f'resize/{mode}-axes-sizes-{key}', graph(inputs, [
            'const %t = i64[2] [7, 9]',
            f'%y = Resize(%x, _, _, %t){words(mode=mode, axes=[2, 3])}'])
        yield from ratios(key, inputs, mode)
        # what PyTorch's exporter says besides
        settings = words(mode=mode, coordinate_transformation_mode='pytorch_half_pixel',
                         cubic_coeff_a=-0.75, nearest_mode='floor')
        yield f'resize/{mode}-torch-{key}', graph(inputs, [
            'const %s = f32[4] [1.0, 1.0, 1.7, 2.0]', f'%y = Resize(%x, _, %s){settings}'])
        settings = words(mode=mode, coordinate_transformation_mode='tf_crop_and_resize',
                         extrapolation_value=1.5)
        yield from crops(key, inputs, mode)
        yield f'resize/{mode}-crop-{key}', graph(inputs, [
            'const %roi = f32[8] [0.0,0.0,0.1,0.2,1.0,1.0,0.8,1.2]',
            'const %z = i64[2] [4, 5]', '%h = Shape(%x) {start=0, end=2}',
            '%t = Concat(%h, %z) {axis=0}', f'%y = Resize(%x, %roi, _, %t){settings}'])


def ratios(key, inputs, mode):
    for policy, place, sizes in itertools.product(
            ('not_larger', 'not_smaller'), ('half_pixel', 'asymmetric'), ('7, 9', '3, 5')):
        settings = words(mode=mode, axes=[2, -1], coordinate_transformation_mode=place,
                         keep_aspect_ratio_policy=policy)
        yield f'resize/{mode}-{policy}-{place}-{sizes[0]}-{key}', graph(inputs, [
            f'const %t = i64[2] [{sizes}]', f'%y = Resize(%x, _, _, %t){settings}'])


def crops(key, inputs, mode):
    for near in NEAR if mode == 'nearest' else ('floor',):
        settings = words(mode=mode, axes=[2, -1], extrapolation_value=1.5, nearest_mode=near,
                         coordinate_transformation_mode='tf_crop_and_resize')
        region = 'const %roi = f32[4] [0.15,0.2,0.8,1.2]'
        for how, operands, line in (('sizes', '_, %t', 'const %t = i64[2] [4, 5]'),
                                    ('one', '_, %t', 'const %t = i64[2] [1, 5]'),
                                    ('scales', '%t', 'const %t = f32[2] [1.7, 0.6]')):
            yield f'resize/{mode}-crop-{how}-{near}-{key}', graph(inputs, [
                region, line, f'%y = Resize(%x, %roi, {operands}){settings}'])


def antialiased():
    maps = MAPS[:1] + MAPS[2:]
    for (key, dims), mode, place, how, out in itertools.product(
            IMAGES.items(), ('linear', 'cubic'), maps, ('down', 'fixed', 'like'), (0, 1)):
        yield (f'resize/{mode}-antialias-{place}-{out}-{how}-{key}',
               resize(dims, how, mode=mode, antialias=1, exclude_outside=out,
                      coordinate_transformation_mode=place))


def upsamples():
    for (key, dims), mode in itertools.product(IMAGES.items(), ('nearest', 'linear')):
        yield f'upsample/{mode}-{key}', graph({'x': image(dims)}, [
            'const %s = f32[4] [1.0, 1.0, 2.0, 2.0]', f'%y = Upsample(%x, %s){words(mode=mode)}'])


def transposed(dims, dtype, bias, **settings):
    rank, group = len(dims), settings.get('group', 1)
    channels = int(dims[1]) * group
    dims = (dims[0], str(channels)) + tuple(dims[2:])
    inputs = {'x': image(dims, dtype),
              'w': image((str(channels), '4') + ('3',) * (rank - 2), dtype)}
    if bias:
        inputs['b'] = f'{dtype}[{4 * group}]'
    call = '%x, %w, %b' if bias else '%x, %w'
    return graph(inputs, [f'%y = ConvTranspose({call}){words(**settings)}'])


def conv_transposes():
    for rank in (3, 4, 5):
        n = rank - 2
        forms = {'plain': {}, 'step': {'strides': [2] * n}, 'group': {'strides': [2] * n,
                                                                      'group': 2},
                 'pads': {'strides': [2] * n, 'pads': [1] * (2 * n), 'output_padding': [1] * n},
                 'uneven': {'strides': [2] * n, 'pads': [0] * n + [1] * n},
                 'dilated': {'strides': [2] * n, 'dilations': [2] * n},
                 'upper': {'strides': [2] * n, 'auto_pad': 'SAME_UPPER'},
                 'lower': {'strides': [2] * n, 'auto_pad': 'SAME_LOWER'},
                 'valid': {'strides': [2] * n, 'auto_pad': 'VALID'},
                 'shape': {'strides': [3] * n, 'output_shape': [13, 15, 16][:n]}}
        for (key, dims), (form, settings) in itertools.product(OF_RANK[rank].items(),
                                                               forms.items()):
            for dtype, bias in itertools.product(('f32', 'f16'), (False, True)):
                yield (f'conv_transpose/{form}-{rank}d-{dtype}{"-bias" if bias else ""}-{key}',
                       transposed(dims, dtype, bias, **settings))


def convolutions():
    for rank in (3, 4, 5):
        n = rank - 2
        forms = {'plain': {}, 'step': {'strides': [2] * n, 'pads': [1] * (2 * n)},
                 'dilated': {'dilations': [2] * n}, 'upper': {'auto_pad': 'SAME_UPPER'},
                 'lower': {'auto_pad': 'SAME_LOWER'},
                 'upper-step': {'auto_pad': 'SAME_UPPER', 'strides': [2] * n}}
        for (key, dims), (form, settings) in itertools.product(OF_RANK[rank].items(),
                                                               forms.items()):
            weight = f'f32[4,{dims[1]}' + ',3' * n + ']'
            yield f'conv/{form}-{rank}d-{key}', graph({'x': image(dims), 'w': weight}, [
                f'%y = Conv(%x, %w){words(**settings)}'])


def pools():
    for rank in (3, 4, 5):
        n = rank - 2
        forms = {'plain': {}, 'step': {'strides': [2] * n},
                 'pads': {'strides': [2] * n, 'pads': [1] * (2 * n)},
                 'uneven': {'strides': [2] * n, 'pads': [0] * n + [1] * n},
                 'ceil': {'strides': [2] * n, 'ceil_mode': 1},
                 'ceil-pads': {'strides': [2] * n, 'pads': [1] * (2 * n), 'ceil_mode': 1},
                 'upper': {'strides': [2] * n, 'auto_pad': 'SAME_UPPER'},
                 'lower': {'strides': [2] * n, 'auto_pad': 'SAME_LOWER'},
                 'valid': {'strides': [2] * n, 'auto_pad': 'VALID'},
                 'dilated': {'dilations': [2] * n},
                 'dilated-pads': {'dilations': [2] * n, 'pads': [1] * (2 * n)},
                 'dilated-ceil': {'dilations': [2] * n, 'strides': [2] * n, 'ceil_mode': 1}}
        for (key, dims), (form, settings) in itertools.product(OF_RANK[rank].items(),
                                                               forms.items()):
            inputs = {'x': image(dims)}
            for op, more in (('MaxPool', {}), ('AveragePool', {}), ('LpPool', {}),
                             ('AveragePool', {'count_include_pad': 1})):
                call = words(kernel_shape=[3] * n, **settings, **more)
                yield (f'pool/{op}{"-count" if more else ""}-{form}-{rank}d-{key}',
                       graph(inputs, [f'%y = {op}(%x){call}']))
        for key, dims in OF_RANK[rank].items():
            for op in ('GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool'):
                yield f'pool/{op}-{rank}d-{key}', graph({'x': image(dims)}, [f'%y = {op}(%x)'])
    yield from unpools()


def unpools():
    pool = words(kernel_shape=[2, 2], strides=[2, 2])
    for key, dims in IMAGES.items():
        inputs = {'x': image(dims)}
        yield f'pool/indices-{key}', graph(inputs, [f'%y, %i = MaxPool(%x){pool}'], ('y', 'i'))
        # of an odd size, places of the pool would lie outside of what undoes it
        even = ['%r = Concat(%x, %x) {axis=2}', '%e = Concat(%r, %r) {axis=3}',
                f'%p, %i = MaxPool(%e){pool}']
        yield f'pool/unpool-{key}', graph(inputs, [*even, f'%y = MaxUnpool(%p, %i){pool}'])
        yield f'pool/unpool-shape-{key}', graph(inputs, [
            *even, 'const %two = i64[4] [0, 0, 1, 2]', '%n = Shape(%e)', '%s = Add(%n, %two)',
            f'%y = MaxUnpool(%p, %i, %s){pool}'])
    yield from places()


def places():
    """MaxPool with the places of its maxima."""
    for rank in (3, 4, 5):
        n = rank - 2
        forms = {'overlap': {'strides': [2] * n}, 'pads': {'pads': [1] * (2 * n)},
                 'dilated': {'dilations': [2] * n, 'strides': [2] * n, 'kernel_shape': [2] * n},
                 'ceil': {'strides': [2] * n, 'ceil_mode': 1},
                 'valid': {'strides': [2] * n, 'auto_pad': 'VALID'}}
        for (key, dims), (form, settings) in itertools.product(OF_RANK[rank].items(),
                                                               forms.items()):
            call = words(**{'kernel_shape': [3] * n, **settings})
            yield f'pool/places-{form}-{rank}d-{key}', graph({'x': image(dims)}, [
                f'%y, %i = MaxPool(%x){call}'], ('y', 'i'))
    for key, dims in IMAGES.items():
        columns = words(kernel_shape=[3, 2], strides=[2, 2], storage_order=1)
        yield f'pool/places-columns-{key}', graph({'x': image(dims)}, [
            f'%y, %i = MaxPool(%x){columns}'], ('y', 'i'))
        yield f'pool/places-bytes-{key}', graph({'x': image(dims, 'u8')}, [
            f'%y, %i = MaxPool(%x){words(kernel_shape=[2, 2])}'], ('y', 'i'))


def paddings():
    for (key, dims), mode in itertools.product(IMAGES.items(),
                                               ('constant', 'reflect', 'edge', 'wrap')):
        inputs, call = {'x': image(dims)}, words(mode=mode)
        yield f'pad/{mode}-{key}', graph(inputs, [
            'const %p = i64[8] [0,0,1,2,0,0,2,1]', f'%y = Pad(%x, %p){call}'])
        yield f'pad/{mode}-axes-{key}', graph(inputs, [
            'const %p = i64[4] [1,2,2,1]', 'const %a = i64[2] [2, -1]',
            f'%y = Pad(%x, %p, _, %a){call}'])
        yield f'pad/{mode}-to-multiple-{key}', graph(inputs, [
            'const %four = i64[1] [4]', 'const %none = i64[6] [0,0,0,0,0,0]',
            'const %i = i64[1] [2]',
            '%s = Shape(%x)', '%h = Gather(%s, %i)', '%n = Neg(%h)', '%m = Mod(%n, %four)',
            '%p0 = Concat(%none, %m) {axis=0}', 'const %o = i64[1] [0]',
            '%p = Concat(%p0, %o) {axis=0}', f'%y = Pad(%x, %p){call}'])
    for key, dims in IMAGES.items():
        yield f'pad/negative-{key}', graph({'x': image(dims)}, [
            'const %p = i64[8] [0,0,-1,0,0,0,0,-2]', 'const %v = f32[] 1.5',
            '%y = Pad(%x, %p, %v)'])
        yield f'pad/mixed-{key}', graph({'x': image(dims)}, [
            'const %p = i64[8] [0,0,-1,2,0,0,3,-2]', 'const %v = f32[] 1.5',
            '%y = Pad(%x, %p, %v)'])


SLICES = {'ends': ([1, 1], [-1, 4], [2, 3], [1, 1]), 'steps': ([0, 1], [99, -1], [2, 3], [2, 2]),
          'back': ([-1, -1], [-99, -99], [2, 3], [-1, -2]), 'last': ([-2], [99], [3], None),
          'batch': ([0], [1], [0], None)}


def movements():
    for key, dims in IMAGES.items():
        inputs = {'x': image(dims)}
        for form, parts in SLICES.items():
            names = [f'const %c{i} = i64[{len(v)}] {v}' for i, v in enumerate(parts) if v]
            call = ', '.join(f'%c{i}' for i, v in enumerate(parts) if v)
            yield f'slice/{form}-{key}', graph(inputs, names + [f'%y = Slice(%x, {call})'])
        half = ['%s = Shape(%x)', 'const %i = i64[1] [2]', '%h = Gather(%s, %i)',
                'const %two = i64[1] [2]', '%d = Div(%h, %two)', 'const %zero = i64[1] [0]']
        yield f'slice/half-{key}', graph(inputs, half + ['%y = Slice(%x, %zero, %d, %i)'])
        yield f'slice/crop-{key}', graph(inputs, half + [
            'const %big = i64[1] [9223372036854775807]', '%y = Slice(%x, %d, %big, %i)'])
        yield f'split/half-{key}', graph(inputs, half + [
            '%r = Sub(%h, %d)', '%t = Concat(%d, %r) {axis=0}', '%y, %z = Split(%x, %t) {axis=2}'],
            ('y', 'z'))
        yield f'split/equal-{key}', graph(inputs, [
            '%y, %z, %t = Split(%x) {axis=1, num_outputs=3}'], ('y', 'z', 't'))
        for n in (2, 3):
            results = ('y', 'z', 't')[:n]
            names = ', '.join('%' + r for r in results)
            yield f'split/{n}-{key}', graph(inputs, [
                f'{names} = Split(%x) {{axis=-1, num_outputs={n}}}'], results)
        yield f'split/old-{key}', 'module {\n  source_opset 13\n}\n' + graph(inputs, [
            '%x2 = Concat(%x, %x) {axis=3}', '%y, %z = Split(%x2) {axis=3}'], ('y', 'z'))
        yield f'expand/like-{key}', graph({**inputs, 'v': 'f32[1,3,1,1]'}, [
            '%s = Shape(%x)', '%y = Expand(%v, %s)'])
        yield f'expand/ones-{key}', graph(inputs, [
            'const %s = i64[5] [2,1,1,1,1]', '%y = Expand(%x, %s)'])
        yield f'tile/fixed-{key}', graph(inputs, [
            'const %r = i64[4] [1,2,1,3]', '%y = Tile(%x, %r)'])
        yield f'tile/shape-{key}', graph({**inputs, 'v': 'f32[1,2,1,1]'}, [
            '%s = Shape(%x)', '%y = Tile(%v, %s)'])
        yield f'blocks/depth-{key}', graph(inputs, [
            '%t = Concat(%x, %x, %x, %x) {axis=1}', '%y = DepthToSpace(%t) {blocksize=2}'])
        yield f'blocks/shuffle-{key}', graph(inputs, [
            '%t = Concat(%x, %x) {axis=1}', '%s = Shape(%x) {start=2, end=4}',
            '%n = Shape(%x) {start=0, end=1}', 'const %g = i64[2] [2,3]', 'const %c = i64[1] [6]',
            '%a = Concat(%n, %g, %s) {axis=0}', '%b = Concat(%n, %c, %s) {axis=0}',
            '%u = Reshape(%t, %a)', '%v = Transpose(%u) {perm=[0,2,1,3,4]}',
            '%y = Reshape(%v, %b)'])
        yield f'crop/center-{key}', graph(inputs, [
            'const %s = i64[2] [4,9]', '%y = CenterCropPad(%x, %s) {axes=[2,3]}'])
    yield from ranges()


def ranges():
    for dtype, to in (('f32', 1), ('i32', 6), ('i64', 7)):
        number = {'f32': '1.0'}.get(dtype, '1')
        size = ['%s = Shape(%x)', 'const %i = i64[] 1', '%n = Gather(%s, %i)',
                f'%m = Cast(%n) {{to={to}}}']
        yield f'range/up-{dtype}', graph({'x': 'f32[2,"L"]'}, size + [
            f'const %o = {dtype}[] {number}', '%y = Range(%o, %m, %o)'])
        yield f'range/down-{dtype}', graph({'x': 'f32[2,"L"]'}, size + [
            f'const %o = {dtype}[] -{number}', f'%y = Range(%m, %o, %o)'])
    yield 'range/grid-hw', graph({'x': 'f32[1,3,"H","W"]'}, [
        '%s = Shape(%x)', 'const %i2 = i64[] 2', 'const %i3 = i64[] 3', '%h = Gather(%s, %i2)',
        '%w = Gather(%s, %i3)', 'const %o = i64[] 0', 'const %e = i64[] 1',
        '%r = Range(%o, %h, %e)',
        '%c = Range(%o, %w, %e)', 'const %a = i64[1] [0]', 'const %b = i64[1] [1]',
        '%ru = Unsqueeze(%r, %b)', '%cu = Unsqueeze(%c, %a)', '%y = Add(%ru, %cu)'])


def choices():
    for key, dims in IMAGES.items():
        for axis, largest, sort in itertools.product((1, 2, -1), (0, 1), (0, 1)):
            call = words(axis=axis, largest=largest, sorted=sort)
            call_y = f'%v, %i = TopK(%x, %k){call}'
            # unsorted results have no order that could be compared
            results = ('v', 'i') if sort else ('y',)
            more = [] if sort else ['const %a = i64[1] [' + str(axis) + ']',
                                    '%y = ReduceSum(%v, %a)']
            yield f'topk/{axis}-{largest}-{sort}-{key}', graph(
                {'x': image(dims)}, ['const %k = i64[1] [2]', call_y] + more, results)
        yield f'topk/computed-{key}', graph({'x': image(dims)}, [
            '%s = Shape(%x)', 'const %a = i64[1] [3]', '%n = Gather(%s, %a)',
            'const %m = i64[1] [4]',
            '%k = Min(%n, %m)', '%v, %i = TopK(%x, %k) {axis=3}'], ('v', 'i'))
    for key, boxes, scores in (('s', 'f32[1,"S",4]', 'f32[1,2,"S"]'),
                               ('ns', 'f32["N","S",4]', 'f32["N",2,"S"]')):
        inputs = {'b': boxes, 's': scores}
        limit = ['const %m = i64[] 5', 'const %iou = f32[] 0.5', 'const %t = f32[] 0.1']
        for center in (0, 1):
            yield f'nms/all-{center}-{key}', graph(inputs, limit + [
                f'%y = NonMaxSuppression(%b, %s, %m, %iou, %t) {{center_point_box={center}}}'])
        yield f'nms/two-{key}', graph(inputs, limit + ['%y = NonMaxSuppression(%b, %s, %m, %iou)'])
        yield f'nms/shape-{key}', graph(inputs, limit + [
            '%q = Shape(%b)', 'const %i = i64[] 1', '%n = Gather(%q, %i)',
            '%y = NonMaxSuppression(%b, %s, %n, %iou, %t)'])
        yield f'nms/boxes-{key}', graph(inputs, limit + [
            '%r = NonMaxSuppression(%b, %s, %m, %iou, %t)', 'const %c = i64[2] [0, 2]',
            '%g = Gather(%r, %c) {axis=1}', '%y = GatherND(%b, %g)'])


def regions():
    for key, dims in IMAGES.items():
        inputs = {'x': image(dims), 'r': 'f32["R",4]', 'b': 'i64["R"]'}
        for mode, place, n in itertools.product(('avg', 'max'), ('half_pixel', 'output_half_pixel'),
                                                (0, 2)):
            call = words(mode=mode, coordinate_transformation_mode=place, sampling_ratio=n,
                         output_height=2, output_width=3, spatial_scale=0.5)
            yield f'regions/{mode}-{place}-{n}-{key}', graph(inputs, [
                'const %z = i64[] 0', '%at = Mul(%b, %z)', '%n = Abs(%r)',
                'const %c = f32[4] [0,0,6,6]',
                '%e = Add(%n, %c)', f'%y = RoiAlign(%x, %e, %at){call}'])
        for mode, pad, align in itertools.product(('linear', 'nearest', 'cubic'),
                                                  ('zeros', 'border', 'reflection'), (0, 1)):
            yield f'regions/sample-{mode}-{pad}-{align}-{key}', graph(
                {'x': image(dims), 'g': image((dims[0], '"P"', '"Q"', '2'))},
                ['%y = GridSample(%x, %g)' +
                 words(mode=mode, padding_mode=pad, align_corners=align)])
    for align, (key, like) in itertools.product((0, 1), (
            ('hw', ('2', '1', '"H"', '"W"')), ('w', ('2', '3', '1', '"W"')),
            ('dhw', ('2', '1', '"D"', '"H"', '"W"')), ('d', ('2', '1', '"D"', '1', '3')))):
        theta = f'f32[2,{len(like) - 2},{len(like) - 1}]'
        yield f'regions/affine-{align}-{key}', graph({'t': theta, 'like': image(like)}, [
            '%s = Shape(%like)', f'%y = AffineGrid(%t, %s) {{align_corners={align}}}'])
    for (key, dims), mode in itertools.product(VOLUMES.items(), ('linear', 'nearest')):
        yield f'regions/sample3-{mode}-{key}', graph(
            {'x': image(dims), 'g': image((dims[0], '"P"', '4', '"Q"', '3'))},
            [f'%y = GridSample(%x, %g){words(mode=mode)}'])


def signals():
    for key, dims in {'l': ('2', '"L"', '1'), 'nl': ('"N"', '"L"', '1')}.items():
        step = ['const %step = i64[] 2', 'const %length = i64[] 4']
        for sided in (0, 1):
            yield f'signal/stft-{sided}-{key}', graph({'x': image(dims)}, step + [
                f'%y = STFT(%x, %step, _, %length) {{onesided={sided}}}'])
        yield f'signal/stft-window-{key}', graph({'x': image(dims)}, step + [
            'const %w = f32[4] [0.25, 1.0, 0.75, 0.5]', '%y = STFT(%x, %step, %w)'])
        yield f'signal/dft-{key}', graph({'x': image((dims[0], '8', dims[1], '1'))}, [
            'const %a = i64[] 1', '%y = DFT(%x, _, %a)'])
        yield f'signal/stft-any-{key}', graph({'x': image(dims), 'w': 'f32["L2"]'}, [
            'const %step = i64[] 2', 'const %two = i64[1] [2]', 'const %at = i64[1] [0]',
            '%short = Slice(%w, %at, %two)', '%y = STFT(%x, %step, %short)'])
        # the transform of complex numbers has no half that mirrors the other
        for axis, (sided, cells) in itertools.product((0, 1), ((0, 1), (1, 1), (0, 2))):
            lines = [f'const %a = i64[] {axis}', 'const %n = i64[] 7']
            inputs = {'x': image((dims[0], dims[1], str(cells)))}
            for form, call in (('plain', '_, %a'), ('long', '%n, %a')):
                yield f'signal/dft-{form}-{axis}-{sided}-{cells}-{key}', graph(inputs, lines + [
                    f'%y = DFT(%x, {call}) {{onesided={sided}}}'])
        yield f'signal/dft-inverse-{key}', graph({'x': image((dims[0], dims[1], '2'))}, [
            'const %a = i64[] 1', '%y = DFT(%x, _, %a) {inverse=1}'])


def mels():
    """Filters whose number and length are computed."""
    for low, high, rate in ((0, 8000, 16000), (125, 3800, 8000)):
        yield f'signal/mel-{high}', graph({'x': 'f32["N","L"]'}, [
            '%n = Shape(%x) {start=1, end=2}', '%f = Shape(%x) {start=0, end=1}',
            'const %a = i64[1] [0]', '%ns = Squeeze(%n, %a)', '%fs = Squeeze(%f, %a)',
            'const %many = i64[] 16', '%length = Mul(%ns, %many)', f'const %r = i64[] {rate}',
            f'const %l = f32[] {low}.0', f'const %h = f32[] {high}.0',
            '%y = MelWeightMatrix(%fs, %length, %r, %l, %h)'])


def scales():
    """Scales along an axis, whose number is open."""
    for axis, low in itertools.product((0, 1, 2), ('u8', 'i8')):
        for point in (0, 1):
            dims = ['"N"', '"C"', '"L"']
            inputs = {'x': image(dims), 's': f'f32[{dims[axis]}]'}
            lines = ['%a = Abs(%s)', 'const %o = f32[] 0.125', '%t = Add(%a, %o)']
            if point:
                inputs['z'] = f'{low}[{dims[axis]}]'
            call = f'%t{", %z" if point else ""}'
            to = '' if point else f', output_dtype={dict(u8=2, i8=3)[low]}'
            yield f'quantize/{axis}-{low}-{point}', graph(inputs, lines + [
                f'%q = QuantizeLinear(%x, {call}) {{axis={axis}{to}}}',
                f'%y = DequantizeLinear(%q, {call}) {{axis={axis}}}'], ('q', 'y'))


def windows():
    """im2col and fold as PyTorch's exporters write them."""
    def places(size, into):
        return [f'%q{into} = Gather(%s, %i{into})', f'%e{into} = Sub(%q{into}, %reach)',
                f'%r{into} = Range(%zero, %e{into}, %one)',
                f'%u{into} = Unsqueeze(%r{into}, %first)',
                f'%p{into} = Add(%u{into}, %kernel)']
    start = ['%s = Shape(%x)', 'const %i2 = i64[] 2', 'const %i3 = i64[] 3',
             'const %reach = i64[] 2',
             'const %zero = i64[] 0', 'const %one = i64[] 1', 'const %first = i64[1] [0]',
             'const %kernel = i64[3,1] [0,1,2]', 'const %i0 = i64[] 0', '%n = Gather(%s, %i0)',
             '%nu = Unsqueeze(%n, %first)', 'const %rest = i64[2] [27,-1]',
             '%to = Concat(%nu, %rest) {axis=0}']
    for key, dims in IMAGES.items():
        yield f'unfold/im2col-{key}', graph({'x': image(dims)}, start + places('h', 2) +
                                            places('w', 3) + [
            '%rows = Gather(%x, %p2) {axis=2}', '%all = Gather(%rows, %p3) {axis=4}',
            '%t = Transpose(%all) {perm=[0,1,2,4,3,5]}', '%y = Reshape(%t, %to)'])
        yield f'unfold/fold-{key}', graph({'x': image(dims)}, [
            '%h = Shape(%x) {start=2, end=4}', '%n = Shape(%x) {start=0, end=1}',
            'const %c = i64[2] [3,-1]', '%to = Concat(%n, %c) {axis=0}', '%f = Reshape(%x, %to)',
            'const %b = i64[2] [1,1]', '%y = Col2Im(%f, %h, %b)'])
        yield f'unfold/fold-step-{key}', graph(
            {'x': 'f32["N",12,"L"]'}, ['%s = Shape(%x) {start=2, end=3}', 'const %two = i64[] 2',
                                       '%w = Mul(%s, %two)', 'const %hh = i64[1] [2]',
                                       '%h = Concat(%hh, %w) {axis=0}', 'const %b = i64[2] [2,2]',
                                       '%y = Col2Im(%x, %h, %b) {strides=[2,2]}'])


def indices():
    for key, dims in IMAGES.items():
        inputs = {'x': image(dims)}
        for op, axis, keep, last in itertools.product(('ArgMax', 'ArgMin'), (0, -1), (0, 1),
                                                      (0, 1)):
            call = words(axis=axis, keepdims=keep, select_last_index=last)
            yield f'arg/{op}-{axis}-{keep}-{last}-{key}', graph(inputs, [
                'const %two = f32[] 2.0', '%t = Mul(%x, %two)', '%r = Round(%t)',
                f'%y = {op}(%r){call}'])
        yield f'unique/sorted-{key}', graph(inputs, [
            '%r = Round(%x)', '%y, %f, %i, %c = Unique(%r)'], ('y', 'f', 'i', 'c'))
        for axis in (0, 1, -1):
            yield f'unique/axis{axis}-{key}', graph(inputs, [
                '%s = Sign(%x)', f'%y, %f, %i, %c = Unique(%s) {{axis={axis}}}'],
                ('y', 'f', 'i', 'c'))
        yield f'pad/computed-axes-{key}', graph({**inputs, 'n': 'i64[4]'}, [
            'const %least = i64[4] [1, 0, 2, 1]', 'const %most = i64[4] [2, 1, 2, 2]',
            '%m = Max(%n, %least)', '%p = Min(%m, %most)', 'const %a = i64[2] [2, -1]',
            '%y = Pad(%x, %p, _, %a) {mode="edge"}'])
    for axis, place in itertools.product((1, -2), (0, 1)):
        lines = ['const %at = i64[2] [1, 2]', 'const %a = i64[1] [0]', 'const %b = i64[1] [2]',
                 'const %c = i64[1] [2]', '%u = Slice(%x, %a, %b, %c)']
        if axis == 1:
            lines[3] = 'const %c = i64[1] [1]'
        call = words(axis=axis)
        yield f'scatter/cache-{axis}-{place}', graph({'x': 'f32[2,"L","H","W"]'}, lines + [
            f'%y = TensorScatter(%x, %u{", %at" if place else ""}){call}'])
    for k in (-1, 0, 2):
        yield f'eye/{k}', graph({'x': 'f32["H","W"]'}, [f'%y = EyeLike(%x) {{k={k}}}'])
    for reduction in ('mean', 'sum', 'none'):
        for key, x, t in (('rows', '"N","C"', '"N"'), ('image', '"N","C","H"', '"N","H"')):
            labels = ['const %o = i64[] 1', '%one = Abs(%t)', '%l = Min(%one, %o)']
            call = words(reduction=reduction)
            inputs = {'x': f'f32[{x}]', 't': f'i64[{t}]'}
            yield f'loss/nll-{reduction}-{key}', graph(inputs, labels + [
                f'%y = NegativeLogLikelihoodLoss(%x, %l){call}'])
            yield f'loss/sce-{reduction}-{key}', graph(inputs, labels + [
                f'%y = SoftmaxCrossEntropyLoss(%x, %l){call}'])
    for reduction in ('none', 'add', 'mul', 'max', 'min'):
        for depth in (1, 2):
            rows = 'const %i = i64[3,1] [1, -2, 1]' if depth == 1 else \
                'const %i = i64[3,2] [1, 0, -2, 1, 0, 0]'
            data = {'x': 'f32["H","W","C"]', 'u': 'f32[3,"W","C"]' if depth == 1 else 'f32[3,"C"]'}
            if reduction == 'none':
                rows = rows.replace('[1, -2, 1]', '[1, -2, 0]')
            yield f'scatter/{reduction}-{depth}', graph(data, [
                rows, f'%y = ScatterND(%x, %i, %u){words(reduction=reduction)}'])


CASES = (resizes, antialiased, upsamples, indices, convolutions, conv_transposes, pools, paddings,
         movements, choices, regions, signals, mels, scales, windows)


def cases():
    for family in CASES:
        yield from family()
