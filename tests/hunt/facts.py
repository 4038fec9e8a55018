# SPDX-License-Identifier: Apache-2.0
"""Facts about a model that explain why two right forms of it may differ. explained.tsv names, for
each cause, the ops and the fact that must hold of one of them in this very model; a fact is looked
up in what the evaluator records of the values of the model, never guessed from the difference."""
import json
import math
import os
import re

import guard
import onnx
from onnx import numpy_helper

# Least and greatest value of integer element types.
RANGES = {2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-2 ** 15, 2 ** 15 - 1),
          6: (-2 ** 31, 2 ** 31 - 1), 7: (-2 ** 63, 2 ** 63 - 1), 12: (0, 2 ** 32 - 1),
          13: (0, 2 ** 64 - 1)}


def reasons(path):
    """[(ops, fact, words of the difference, cause)]"""
    with open(path, encoding='utf-8') as f:
        return [line.rstrip('\n').split('\t') for line in f
                if line.strip() and not line.startswith('#')]


def all_nodes(graph):
    for n in graph.node:
        yield n
        for a in n.attribute:
            if a.HasField('g'):
                yield from all_nodes(a.g)


def ranges(tailor, case):
    """{value: what `run` records of it}"""
    path = case.path + '.ranges'
    argv = [tailor, 'run', case.path, '-q', '-O0', '--threads=1', '--record-ranges=' + path]
    if case.data != '-' and os.path.exists(os.path.join(case.data, 'input_0.pb')):
        argv.append('--input=' + case.data)
    guard.run(argv, capture_output=True)
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as f:
        return {t['name']: t for t in json.load(f)['tensors']}


def nonfinite(node, known, _constants):
    """An operand, a result or an attribute holds NaN or an infinity."""
    if any(a.type == onnx.AttributeProto.FLOAT and not math.isfinite(a.f) for a in node.attribute):
        return True
    touched = [known[o] for o in [*node.input, *node.output] if o in known]
    return any(t['nan'] or t['inf'] for t in touched)


def overflows(node, known, _constants):
    """Finite operands have a result that is none."""
    bad = {o for o in known if known[o]['nan'] or known[o]['inf']}
    return bool(bad & set(node.output)) and not bad & set(node.input)


def beyond_halves(node, known, _constants):
    """A value that halves do not hold, or whose square they do not where squares are added up."""
    most = 255 if node.op_type in ('LpPool', 'GlobalLpPool', 'LpNormalization') else 65504
    return any(abs(known[o][side] or 0) > most for o in [*node.input, *node.output] if o in known
               for side in ('min', 'max'))


def beyond(node, known, _constants):
    """A Cast to integers of a number that the type does not hold."""
    to = next((a.i for a in node.attribute if a.name == 'to'), 0)
    if to not in RANGES or node.input[0] not in known:
        return False
    x = known[node.input[0]]
    least, greatest = RANGES[to]
    return bool(x['nan'] or x['inf'] or (x['max'] or 0) > greatest or (x['min'] or 0) < least)


def zero_scale(node, known, constants):
    """A scale of quantization is 0 somewhere."""
    scale = node.input[1] if len(node.input) > 1 else ''
    if scale in known:
        return (known[scale]['min'] or 0) <= 0 <= (known[scale]['max'] or 0)
    return scale in constants and not numpy_helper.to_array(constants[scale]).all()


FLAGS = {'sorted', 'ceil_mode', 'keepdims', 'count_include_pad', 'select_last_index', 'largest',
         'linear_before_reset', 'align_corners', 'exclude_outside', 'is_causal', 'fmod', 'transA',
         'transB', 'exclusive', 'reverse', 'noop_with_empty_axes', 'allowzero', 'antialias'}


def odd_flag(node, _known, _constants):
    """A flag is neither 0 nor 1."""
    return any(a.name in FLAGS and a.i not in (0, 1) for a in node.attribute)


def there(_node, _known, _constants):
    """The op alone is enough."""
    return True


FACTS = {'nonfinite': nonfinite, 'overflows': overflows, 'beyond_halves': beyond_halves,
         'beyond': beyond, 'there': there,
         'zero_scale': zero_scale, 'odd_flag': odd_flag}


def explains(rows, tailor, case, text, narrow=False):
    """The cause of a difference, or None. narrow: the second form computes in halves."""
    model = onnx.load(case.path, load_external_data=False)
    known = None
    constants = {t.name: t for t in model.graph.initializer}
    for ops, fact, words, cause in rows:
        if fact == 'beyond_halves' and not narrow:
            continue
        if not re.search(words, text):
            continue
        for node in all_nodes(model.graph):
            if not re.fullmatch(ops, node.op_type):
                continue
            known = ranges(tailor, case) if known is None else known
            if FACTS[fact](node, known, constants):
                return cause
    return None
