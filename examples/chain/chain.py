#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network of PyTorch, optimized by Tailor and run by ONNX Runtime, in one process and without a
file of a model between them.

  chain.py [MODEL.onnx] [--runner CMD]

MODEL is taken where PyTorch is not installed. CMD stands for ONNX Runtime where its Python package
is not installed: "node tools/runners/onnxruntime.js" (docs/evaluator.md#another-runtime)."""
import argparse
import io
import os
import shlex
import subprocess
import tempfile

import numpy
import tailor


def export():
    """The bytes of a network as torch.onnx exports it."""
    import torch
    from torch import nn
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(8, 10),
                            nn.Softmax(dim=1)).eval()
    data = io.BytesIO()
    # The Conv and its BatchNorm stay apart: there is something left to do.
    torch.onnx.export(network, torch.zeros(2, 3, 16, 16), data, input_names=['image'],
                      output_names=['class'], opset_version=13, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)
    return data.getvalue()


def run_by(command, data, inputs):
    """The outputs of a model, by a runner: it takes files, which are gone afterwards."""
    from onnx import TensorProto, numpy_helper
    with tempfile.TemporaryDirectory() as folder:
        model, given, made = (os.path.join(folder, name) for name in ('m.onnx', 'in', 'out'))
        os.mkdir(given)
        os.mkdir(made)
        with open(model, 'wb') as f:
            f.write(data)
        for i, (name, value) in enumerate(inputs.items()):
            with open(os.path.join(given, f'input_{i}.pb'), 'wb') as f:
                f.write(numpy_helper.from_array(value, name).SerializeToString())
        subprocess.run([*shlex.split(command), model, given, made], check=True)
        outputs = []
        for i in range(len(os.listdir(made))):
            with open(os.path.join(made, f'output_{i}.pb'), 'rb') as f:
                outputs.append(numpy_helper.to_array(TensorProto.FromString(f.read())))
        return outputs


def run(data, inputs, runner):
    if runner:
        return run_by(runner, data, inputs)
    import onnxruntime
    return onnxruntime.InferenceSession(data).run(None, inputs)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('model', nargs='?')
    p.add_argument('--runner')
    args = p.parse_args()
    if args.model:
        with open(args.model, 'rb') as f:
            data = f.read()
    else:
        data = export()
    before = tailor.load(data)
    after = before.optimize()
    rng = numpy.random.default_rng(0)
    inputs = {v.name: rng.random([d if isinstance(d, int) else 1 for d in v.shape], v.dtype)
              for v in before.inputs}
    want, got = (run(m, inputs, args.runner) for m in (data, after.to_bytes()))
    for output, a, b in zip(after.outputs, want, got):
        numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6, err_msg=output.name)
    print(f'{len(before)} nodes, {len(after)} after Tailor; ONNX Runtime computes the same')


if __name__ == '__main__':
    main()
