# SPDX-License-Identifier: Apache-2.0
"""Networks whose sizes are open, for bench/make_models.py: detection of text, segmentation,
a speech encoder, a detector with its non-maximum suppression. They are small, as tests run them,
and laid out as exporters of PaddlePaddle and PyTorch do."""
import math

import numpy as np

FLOAT, INT64 = 1, 7


def hard_swish(g, x, scope):
    return g.op("Mul", [x, g.op("HardSigmoid", [x], scope, alpha=1 / 6, beta=0.5)], scope)


def same_size(g, x, like, scope, **attrs):
    """x resized to the rows and columns of another tensor, by Shape, Slice and Concat."""
    def part(v, start, end):
        ends = [g.const([start], scope), g.const([end], scope), g.const([0], scope)]
        return g.op("Slice", [g.op("Shape", [v], scope), *ends], scope)
    sizes = g.op("Concat", [part(x, 0, 2), part(like, 2, 4)], scope, axis=0)
    return g.op("Resize", [x, "", "", sizes], scope, **attrs)


def scaled(g, x, by, scope):
    scales = g.const([1.0, 1.0, float(by), float(by)], scope)
    return g.op("Resize", [x, "", scales], scope, mode="nearest", nearest_mode="floor",
                coordinate_transformation_mode="asymmetric")


def transposed(g, x, scope, pname, ci, co):
    ins = [x, g.rand(pname + ".weight", [ci, co, 2, 2], math.sqrt(2.0 / ci)),
           g.rand(pname + ".bias", [co], 0.02)]
    return g.op("ConvTranspose", ins, scope, dilations=[1, 1], group=1, kernel_shape=[2, 2],
                pads=[0] * 4, strides=[2, 2])


def ppocr_det(m):
    """DB text detection: a backbone of inverted residuals, a pyramid, a head that grows by four."""
    g = m.Graph("ppocr_det", 13)
    image = g.input("x", FLOAT, ["N", 3, "H", "W"])

    def block(x, sc, ci, co, k, s, group=1, act=True):
        y = m.conv(g, x, sc, sc.strip("/"), ci, co, k, s, group=group)
        y = m.batch_norm(g, y, sc, sc.strip("/") + ".bn", co)
        return hard_swish(g, y, sc) if act else y

    def squeeze(x, sc, c):
        y = g.op("GlobalAveragePool", [x], sc)
        y = g.op("Relu", [m.conv(g, y, sc + "/fc1", sc + ".fc1", c, c // 4, 1, bias=True)], sc)
        y = m.conv(g, y, sc + "/fc2", sc + ".fc2", c // 4, c, 1, bias=True)
        return g.op("Mul", [x, g.op("HardSigmoid", [y], sc, alpha=0.2, beta=0.5)], sc)

    x, ci, taps = block(image, "/stem", 3, 8, 3, 2), 8, []
    for i, co in enumerate((16, 24, 32, 48)):
        sc = "/stage%d" % i
        y = block(x, sc + "/expand", ci, 2 * ci, 1, 1)
        y = block(y, sc + "/depthwise", 2 * ci, 2 * ci, 5, 2, group=2 * ci)
        x = block(squeeze(y, sc + "/se", 2 * ci), sc + "/project", 2 * ci, co, 1, 1, act=False)
        ci = co
        taps.append((x, co))
    ins = [m.conv(g, t, "/neck/in%d" % i, "neck.in%d" % i, c, 24, 1)
           for i, (t, c) in enumerate(taps)]
    for i in (2, 1, 0):
        sc = "/neck/add%d" % i
        ins[i] = g.op("Add", [ins[i], scaled(g, ins[i + 1], 2, sc)], sc)
    outs = [m.conv(g, t, "/neck/p%d" % i, "neck.p%d" % i, 24, 8, 3) for i, t in enumerate(ins)]
    outs = [outs[0]] + [scaled(g, t, 2 ** i, "/neck/up%d" % i) for i, t in enumerate(outs) if i]
    x = g.op("Concat", outs[::-1], "/neck", axis=1)
    x = m.batch_norm(g, m.conv(g, x, "/head/conv", "head.conv", 32, 8, 3), "/head/bn", "head.bn", 8)
    x = transposed(g, g.op("Relu", [x], "/head"), "/head/up1", "head.up1", 8, 8)
    x = g.op("Relu", [m.batch_norm(g, x, "/head/bn2", "head.bn2", 8)], "/head")
    x = transposed(g, x, "/head/up2", "head.up2", 8, 1)
    g.op("Sigmoid", [x], "/head", outs=["sigmoid_0.tmp_0"])
    g.output("sigmoid_0.tmp_0", FLOAT, ["N", 1, "H", "W"])
    return g


def segment_bilinear(m):
    """Segmentation: dilated convolutions, the mean of the image, bilinear growth to its size."""
    g = m.Graph("segment_bilinear", 13)
    image = g.input("input", FLOAT, ["N", 3, "H", "W"])
    bilinear = {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel",
                "cubic_coeff_a": -0.75, "nearest_mode": "floor"}

    def layer(x, sc, ci, co, k=3, s=1, d=1):
        w = g.rand(sc.strip("/") + ".weight", [co, ci, k, k], math.sqrt(2.0 / (ci * k * k)))
        y = g.op("Conv", [x, w], sc, dilations=[d, d], group=1, kernel_shape=[k, k],
                 pads=[d * (k // 2)] * 4, strides=[s, s])
        return g.op("Relu", [m.batch_norm(g, y, sc, sc.strip("/") + ".bn", co)], sc)

    low = layer(layer(image, "/conv1", 3, 8, s=2), "/conv2", 8, 12, s=2)
    x = layer(g.op("MaxPool", [low], "/pool", ceil_mode=1, kernel_shape=[3, 3], pads=[0] * 4,
                   strides=[2, 2]), "/conv3", 12, 24)
    parts = [layer(x, "/aspp%d" % d, 24, 8, 1 if d == 0 else 3, d=max(d, 1)) for d in (0, 2, 4)]
    mean = layer(g.op("GlobalAveragePool", [x], "/aspp"), "/aspp/mean", 24, 8, 1)
    parts.append(same_size(g, mean, x, "/aspp", **bilinear))
    x = layer(g.op("Concat", parts, "/aspp", axis=1), "/aspp/project", 32, 16, 1)
    x = same_size(g, x, low, "/decoder", **bilinear)
    x = g.op("Concat", [x, layer(low, "/decoder/low", 12, 8, 1)], "/decoder", axis=1)
    x = m.conv(g, layer(x, "/decoder/conv", 24, 16), "/classifier", "classifier", 16, 5, 1,
               bias=True)
    x = same_size(g, x, image, "/upsample", **bilinear)
    g.op("Softmax", [x], "", outs=["output"], axis=1)
    g.output("output", FLOAT, ["N", 5, "H", "W"])
    return g


def attention(m, g, x, sc, pn, width, heads):
    """Self-attention with its sizes from Shape and Gather, as the exporter writes them."""
    n, t = m.dim_of(g, x, 0, sc), m.dim_of(g, x, 1, sc)

    def split(name, perm):
        y = m.linear(g, x, "%s/%s" % (sc, name), "%s.%s" % (pn, name), width, width)
        y = g.op("Reshape", [y, m.shape_of(g, [n, t, heads, width // heads], sc)], sc)
        return g.op("Transpose", [y], sc, perm=perm)

    q, k, v = split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1]), split("v", [0, 2, 1, 3])
    s = g.op("MatMul", [g.op("Mul", [q, g.const((width // heads) ** -0.5, sc)], sc), k], sc)
    y = g.op("MatMul", [g.op("Softmax", [s], sc, axis=-1), v], sc)
    y = g.op("Transpose", [y], sc, perm=[0, 2, 1, 3])
    y = g.op("Reshape", [y, m.shape_of(g, [n, t, width], sc)], sc)
    return m.linear(g, y, sc + "/out", pn + ".out", width, width)


def whisper_encoder(m, layers=2, width=32, heads=4, longest=256):
    """Speech: two convolutions of lines, positions cut to the length, layers of a transformer."""
    g = m.Graph("whisper_encoder", 13)
    x = g.input("input_features", FLOAT, ["N", 80, "T"])
    for i, (ci, s) in enumerate(((80, 1), (width, 2)), 1):
        sc = "/conv%d" % i
        ins = [x, g.rand("conv%d.weight" % i, [width, ci, 3], math.sqrt(2.0 / (3 * ci))),
               g.rand("conv%d.bias" % i, [width], 0.02)]
        x = g.op("Conv", ins, sc, dilations=[1], group=1, kernel_shape=[3], pads=[1, 1],
                 strides=[s])
        x = m.gelu_erf(g, x, sc)
    x = g.op("Transpose", [x], "", perm=[0, 2, 1])
    length = m.shape_of(g, [m.dim_of(g, x, 1, "")], "")
    table = g.rand("positions", [longest, width], 0.1)
    where = g.op("Slice", [table, g.const([0]), length, g.const([0])], "")
    x = g.op("Add", [x, where], "")
    for i in range(layers):
        sc, pn = "/layers.%d" % i, "layers.%d" % i
        y = m.layer_norm(g, x, sc + "/ln1", pn + ".ln1", width, 1e-5)
        x = g.op("Add", [x, attention(m, g, y, sc + "/attn", pn + ".attn", width, heads)], sc)
        y = m.layer_norm(g, x, sc + "/ln2", pn + ".ln2", width, 1e-5)
        y = m.gelu_erf(g, m.linear(g, y, sc + "/fc1", pn + ".fc1", width, 4 * width), sc)
        x = g.op("Add", [x, m.linear(g, y, sc + "/fc2", pn + ".fc2", 4 * width, width)], sc)
    x = m.layer_norm(g, x, "/ln", "ln", width, 1e-5)
    g.op("Identity", [x], "", outs=["last_hidden_state"])
    g.output("last_hidden_state", FLOAT, ["N", "T2", width])
    return g


def grid_of(m, g, x, stride, sc):
    """Centres of the cells of a map of any size, [1, cells, 2], by Range."""
    def line(axis):
        r = g.op("Range", [g.const(0, sc), m.dim_of(g, x, axis, sc), g.const(1, sc)], sc)
        return g.op("Mul", [g.op("Add", [g.op("Cast", [r], sc, to=FLOAT), g.const(0.5, sc)], sc),
                            g.const(float(stride), sc)], sc)
    rows = g.op("Unsqueeze", [line(2), g.const([1], sc)], sc)
    columns = g.op("Unsqueeze", [line(3), g.const([0], sc)], sc)
    h, w = m.dim_of(g, x, 2, sc), m.dim_of(g, x, 3, sc)
    whole = m.shape_of(g, [h, w], sc)
    both = [g.op("Reshape", [g.op("Expand", [v, whole], sc), g.const([1, -1, 1], sc)], sc)
            for v in (columns, rows)]
    return g.op("Concat", both, sc, axis=2)


def detector_nms(m, classes=4):
    """One stage detection: boxes around the cells of two maps, the best of them, and what is left
    after non-maximum suppression."""
    g = m.Graph("detector_nms", 13)
    image = g.input("images", FLOAT, [1, 3, "H", "W"])

    def layer(x, sc, ci, co):
        y = m.conv(g, x, sc, sc.strip("/"), ci, co, 3, 2)
        return g.op("Relu", [m.batch_norm(g, y, sc, sc.strip("/") + ".bn", co)], sc)

    x = layer(layer(image, "/c1", 3, 8), "/c2", 8, 16)
    p3 = layer(x, "/c3", 16, 24)
    boxes, scores = [], []
    for stride, f in ((8, p3), (16, layer(p3, "/c4", 24, 24))):
        sc = "/head%d" % stride
        y = m.conv(g, f, sc + "/conv", "head%d" % stride, 24, 4 + classes, 1, bias=True)
        y = g.op("Transpose", [y], sc, perm=[0, 2, 3, 1])
        y = g.op("Reshape", [y, g.const([1, -1, 4 + classes], sc)], sc)
        far, score = g.op("Split", [y, g.const([4, classes], sc)], sc, n=2, axis=2)
        far = g.op("Mul", [g.op("Exp", [far], sc), g.const(float(stride), sc)], sc)
        before, behind = g.op("Split", [far, g.const([2, 2], sc)], sc, n=2, axis=2)
        at = grid_of(m, g, f, stride, sc)
        boxes.append(g.op("Concat", [g.op("Sub", [at, before], sc), g.op("Add", [at, behind], sc)],
                          sc, axis=2))
        scores.append(g.op("Sigmoid", [score], sc))
    boxes = g.op("Concat", boxes, "", axis=1)
    scores = g.op("Concat", scores, "", axis=1)
    best = g.op("ReduceMax", [scores], "", axes=[2], keepdims=0)
    count = g.op("Min", [m.shape_of(g, [m.dim_of(g, best, 1, "")], ""), g.const([50])], "")
    _, chosen = g.op("TopK", [best, count], "", n=2, axis=1, largest=1, sorted=1)
    chosen = g.op("Squeeze", [chosen, g.const([0])], "")
    boxes = g.op("Gather", [boxes, chosen], "", axis=1)
    scores = g.op("Transpose", [g.op("Gather", [scores, chosen], "", axis=1)], "", perm=[0, 2, 1])
    kept = g.op("NonMaxSuppression", [boxes, scores, g.const([20]), g.const([0.5]), g.const([0.1])],
                "", center_point_box=0)
    g.op("Identity", [kept], "", outs=["kept"])
    which = g.op("Gather", [kept, g.const([0, 2])], "", axis=1)
    g.op("GatherND", [boxes, which], "", outs=["boxes"])
    g.op("GatherND", [scores, kept], "", outs=["scores"])
    g.output("kept", INT64, ["K", 3])
    g.output("boxes", FLOAT, ["K", 4])
    g.output("scores", FLOAT, ["K"])
    return g


def open_head(m, g, o, sc, stride, anchors):
    """The head of YOLOv5 for maps of any size."""
    no = 85
    n, h, w = (m.dim_of(g, o, axis, sc) for axis in (0, 2, 3))
    y = g.op("Reshape", [o, m.shape_of(g, [n, 3, no, h, w], sc)], sc)
    y = g.op("Sigmoid", [g.op("Transpose", [y], sc, perm=[0, 1, 3, 4, 2])], sc)
    xy, wh, cf = g.op("Split", [y, g.const([2, 2, no - 4], sc)], sc, n=3, axis=4)
    whole = m.shape_of(g, [h, w], sc)

    def line(size, axis):
        r = g.op("Range", [g.const(0, sc), size, g.const(1, sc)], sc)
        r = g.op("Cast", [r], sc, to=FLOAT)
        r = g.op("Expand", [g.op("Unsqueeze", [r, g.const([axis], sc)], sc), whole], sc)
        return g.op("Unsqueeze", [r, g.const([2], sc)], sc)

    grid = g.op("Concat", [line(w, 0), line(h, 1)], sc, axis=2)
    grid = g.op("Sub", [grid, g.const(0.5, sc)], sc)
    xy = g.op("Add", [g.op("Mul", [xy, g.const(2.0, sc)], sc), grid], sc)
    xy = g.op("Mul", [xy, g.const(float(stride), sc)], sc)
    wh = g.op("Pow", [g.op("Mul", [wh, g.const(2.0, sc)], sc), g.const(2.0, sc)], sc)
    wh = g.op("Mul", [wh, g.const(np.ascontiguousarray(anchors.reshape(1, 3, 1, 1, 2)), sc)], sc)
    y = g.op("Concat", [xy, wh, cf], sc, axis=4)
    cells = g.op("Mul", [g.op("Mul", [h, w], sc), g.const(3, sc)], sc)
    return g.op("Reshape", [y, m.shape_of(g, [n, cells, no], sc)], sc)


def models(m):
    """Names and makers of the networks; m: make_models, whose layers they use."""
    makers = (ppocr_det, segment_bilinear, whisper_encoder, detector_nms)
    made = {f.__name__: (lambda f=f: f(m)) for f in makers}
    made["yolov5n_open"] = lambda: m.yolov5n(img=None)
    return made
