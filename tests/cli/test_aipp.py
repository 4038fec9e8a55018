#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Preprocessing of images (verify --aipp) against the formulas of the description, in Python.

  test_aipp.py --tailor BIN [--n 60] [--seed 1]

Random descriptions over every format: a random image goes through AIPP in the evaluator, and what
the formulas give is the float input that it has to equal, for one image and for several. Then one
parameter of the description is changed, and the comparison has to fail. The last line is
'N passed, M failed, 0 skipped'."""
import argparse
import os
import random
import struct
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

FORMATS = {'RGB888_U8': 3, 'XRGB8888_U8': 4, 'ARGB8888_U8': 4, 'YUV420SP_U8': 1.5,
           'YUV422SP_U8': 2, 'YUYV_U8': 2, 'AYUV444_U8': 4, 'YUV400_U8': 1}
YUV = ('YUV420SP_U8', 'YUV422SP_U8', 'YUYV_U8', 'AYUV444_U8')
TO_RGB = [298, 0, 409, 298, -100, -208, 298, 516, 0]  # of YUV, BT.601 narrow
TO_YUV = [66, 129, 25, -38, -74, 112, 112, -94, -18]  # of RGB
GRAY = [76, 150, 30, 0, 0, 0, 0, 0, 0]


def npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += ' ' * ((64 - (11 + len(head)) % 64) % 64) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data)


def describe(rng):
    """A description, and the height and width of the input."""
    form = rng.choice(sorted(FORMATS))
    even = form in YUV
    size = lambda low, high: rng.randrange(low, high, 2) if even else rng.randint(low, high)
    c = {'input_format': form, 'src_image_size_w': size(6, 14), 'src_image_size_h': size(6, 14)}
    w, h = c['src_image_size_w'], c['src_image_size_h']
    if rng.random() < 0.5:
        c.update(crop='true', load_start_pos_w=size(0, 4), load_start_pos_h=size(0, 4))
        w, h = rng.randint(2, w - 4), rng.randint(2, h - 4)
        c.update(crop_size_w=w, crop_size_h=h)
    if rng.random() < 0.3:
        w, h = (max(2, round(n * rng.uniform(0.5, 2))) for n in (w, h))
        c['resize'] = 'true'
        if rng.random() < 0.7:
            c.update(resize_output_w=w, resize_output_h=h)
    if rng.random() < 0.4:
        pads = [rng.randint(0, 3) for _ in range(4)]
        c.update(zip(('left_padding_size', 'right_padding_size', 'top_padding_size',
                      'bottom_padding_size'), pads), padding='true',
                 padding_value=rng.choice([0, 0.5, -1]))
        w, h = w + pads[0] + pads[1], h + pads[2] + pads[3]
    if form != 'YUV400_U8' and rng.random() < 0.5:
        c['rbuv_swap_switch'] = 'true'
    if FORMATS[form] == 4 and rng.random() < 0.5:
        c['ax_swap_switch'] = 'true'
    if form != 'YUV400_U8' and rng.random() < 0.5:
        matrix = TO_RGB if even else rng.choice([TO_YUV, GRAY])
        c['csc_switch'] = 'true'
        c.update({f'matrix_r{i // 3}c{i % 3}': v for i, v in enumerate(matrix)})
        bias = [0, 0, 0] if matrix is GRAY else [16, 128, 128]
        c.update({f'{"input" if even else "output"}_bias_{i}': v for i, v in enumerate(bias)})
    for i in range(channels(c)):
        c[f'mean_chn_{i}'] = rng.choice([0, 104, 127])
        c[f'min_chn_{i}'] = rng.choice([0, 0.5, 3.25])
        c[f'var_reci_chn_{i}'] = rng.choice([1, 0.00390625, 0.0171247538])
    return c, h, w


def channels(c):
    gray = c.get('csc_switch') and not any(c[f'matrix_r{r}c{k}'] for r in (1, 2) for k in range(3))
    return 1 if gray or c['input_format'] == 'YUV400_U8' else 3


def pixel(c, image, x, y):
    """Channels of one pixel, swapped and with converted colours."""
    w, h, form = c['src_image_size_w'], c['src_image_size_h'], c['input_format']
    at, swapped = y * w + x, c.get('rbuv_swap_switch')
    if form == 'YUV400_U8':
        return [image[at]]
    if form == 'YUYV_U8':
        four = image[(at - x % 2) * 2:][:4]
        p = [four[x % 2 * 2], four[1], four[3]]
    elif form in ('YUV420SP_U8', 'YUV422SP_U8'):
        row = y // 2 if form == 'YUV420SP_U8' else y
        p = [image[at], *image[w * h + row * w + x // 2 * 2:][:2]]
    else:
        step = FORMATS[form]
        p = list(image[at * step + (1 if c.get('ax_swap_switch') else 0):][:3])
    if swapped:
        p = [p[0], p[2], p[1]] if form in YUV else p[::-1]
    if not c.get('csc_switch'):
        return p
    before = [c.get(f'input_bias_{i}', 0) for i in range(3)] if form in YUV else [0] * 3
    behind = [0] * 3 if form in YUV else [c.get(f'output_bias_{i}', 0) for i in range(3)]
    p = [a - b for a, b in zip(p, before)]
    rows = [[c[f'matrix_r{r}c{k}'] for k in range(3)] for r in range(3)]
    sums = [sum(m * v for m, v in zip(row, p)) for row in rows]
    return [min(255, max(0, ((s + 128) >> 8) + b)) for s, b in zip(sums, behind)]


def sampled(c, image, x, y, w, h):
    """Channels of one pixel of a part that is resized to w x h: bilinear, centres on centres."""
    def ends(at, n, part):
        place = min(max((at + 0.5) * part / n - 0.5, 0), part - 1)
        return int(place), min(int(place) + 1, part - 1), place % 1
    x0, y0 = c.get('load_start_pos_w', 0), c.get('load_start_pos_h', 0)
    left, right, fx = ends(x, w, c.get('crop_size_w', c['src_image_size_w']))
    top, bottom, fy = ends(y, h, c.get('crop_size_h', c['src_image_size_h']))
    corners = [pixel(c, image, a + x0, b + y0) for b in (top, bottom) for a in (left, right)]
    weights = ((1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy)
    return [sum(f * v for f, v in zip(weights, vs)) for vs in zip(*corners)]


def floats(c, image, h, w):
    """The input that the description makes of an image, channel by channel."""
    left, top = (c.get(k, 0) for k in ('left_padding_size', 'top_padding_size'))
    right, bottom = (c.get(k, 0) for k in ('right_padding_size', 'bottom_padding_size'))
    x0, y0 = c.get('load_start_pos_w', 0), c.get('load_start_pos_h', 0)
    out = [[] for _ in range(channels(c))]
    for y in range(h):
        for x in range(w):
            inside = left <= x < w - right and top <= y < h - bottom
            p = None
            if inside and c.get('resize'):
                p = sampled(c, image, x - left, y - top, w - left - right, h - top - bottom)
            elif inside:
                p = pixel(c, image, x - left + x0, y - top + y0)
            for k, plane in enumerate(out):
                low = c[f'mean_chn_{k}'] + c[f'min_chn_{k}']
                plane.append((p[k] - low) * c[f'var_reci_chn_{k}'] if p else c['padding_value'])
    return [v for plane in out for v in plane]


def change(c, rng):
    """The description with another parameter, which shows in nearly every image."""
    c = dict(c)
    k = rng.randrange(channels(c))
    if rng.random() < 0.5:
        c[f'mean_chn_{k}'] += 40
    else:
        c[f'var_reci_chn_{k}'] *= 1.5
    return c


def text(c):
    fields = ''.join(f'  {k}: {v}\n' for k, v in c.items())
    return 'aipp_op {\n  aipp_mode: static\n' + fields + '}\n'


def write(path, what):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(what)
    return path


def check(args, folder, rng):
    """What is wrong; None: nothing."""
    file = lambda name: os.path.join(folder, name)
    c, h, w = describe(rng)
    batch, planes = rng.choice([1, 1, 2]), channels(c)
    size = int(c['src_image_size_w'] * c['src_image_size_h'] * FORMATS[c['input_format']])
    images = [bytes(rng.randrange(256) for _ in range(size)) for _ in range(batch)]
    made = [v for image in images for v in floats(c, image, h, w)]
    npy(file('i.npy'), '|u1', [batch, size], b''.join(images))
    npy(file('f.npy'), '<f4', [batch, planes, h, w], struct.pack(f'<{len(made)}f', *made))
    model = write(file('m.tir'), f'graph @g(%x: f32[{batch},{planes},{h},{w}]) -> (%y) {{\n'
                                 '  %y = Relu(%x)\n}\n')
    for config, code in ((c, 0), (change(c, rng), 5)):
        conf = write(file('a.cfg'), text(config))
        p = guard.run([args.tailor, 'verify', model, '--aipp=' + conf, '--tensors=0',
                       '--input=x=' + file('i.npy'), '--input=x=' + file('f.npy')],
                      capture_output=True, text=True, check=False)
        if p.returncode != code:
            return f'exit {p.returncode}, not {code}: {p.stderr}{p.stdout}\n{text(config)}'
    p = guard.run([args.tailor, 'convert', model, '-q', '-o', file('m.air'),
                   '--insert-op-conf=' + conf], capture_output=True, text=True, check=False)
    return p.stderr or None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=60)
    p.add_argument('--seed', type=int, default=1)
    args = p.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-aipp-') as folder:
        for i in range(args.n):
            why = check(args, folder, random.Random(args.seed * 1000003 + i))
            failed += why is not None
            if why:
                print(f'FAIL description {i} of seed {args.seed}: {why}')
    print(f'{args.n - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
