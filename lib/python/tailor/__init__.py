# SPDX-License-Identifier: Apache-2.0
"""Tailor: an offline graph compiler for Ascend NPUs.

    import tailor
    model = tailor.load('model.onnx')
    better = model.optimize(to='air', soc_version='Ascend910B1')
    better.save('model.air')
    assert model.verify(model.optimize())

docs/python.md goes through it."""
from tailor._library import lib as _lib
from tailor._table import OPTIONS as _OPTIONS
from tailor.errors import (Cancelled, FileError, InputError, InternalError, Message, TailorError,
                           TailorWarning, UnsupportedError, UsageError)
from tailor.model import Model, load
from tailor.results import (Comparison, Difference, Explanation, Node, Pass, Remark, Value)

__version__ = _lib.tl_version().decode()
__all__ = ['Cancelled', 'Comparison', 'Difference', 'Explanation', 'FileError', 'InputError',
           'InternalError', 'Message', 'Model', 'Node', 'Pass', 'Remark', 'TailorError',
           'TailorWarning', 'UnsupportedError', 'UsageError', 'Value', 'load', 'options',
           'passes']


def options():
    """{keyword: (type, values, default, what it means)} of all options of load and optimize."""
    return {row[0]: (row[2], row[3], row[4], row[7]) for row in _OPTIONS}


def passes():
    """Names of the passes, in the order of the pipeline."""
    return [_lib.tl_pass_name(i, None).decode() for i in range(_lib.tl_pass_count())]
