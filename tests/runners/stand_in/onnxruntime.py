# SPDX-License-Identifier: Apache-2.0
"""Stands in for ONNX Runtime where it is not installed: a model that hands its inputs out, so that
reading and writing of values can be checked."""


class SessionOptions:
    pass


class GraphOptimizationLevel:
    ORT_DISABLE_ALL = 0


class Port:
    def __init__(self, name, kind=''):
        self.name, self.type = name, kind


class InferenceSession:
    def __init__(self, model, options, providers):
        assert model.endswith('.onnx') and options and providers

    def get_inputs(self):
        return [Port('x', 'tensor(float)'), Port('s', 'seq(tensor(float))'),
                Port('t', 'tensor(string)')]

    def get_outputs(self):
        return [Port('a'), Port('b'), Port('c')]

    def run(self, names, feeds):
        assert names == ['a', 'b', 'c']
        return [feeds['x'], feeds['s'], feeds['t']]
