# SPDX-License-Identifier: Apache-2.0
"""Switch files of fusion passes that are damaged, huge, or no files; and those of real projects."""
import os

import config_files
import wire
from config_files import USAGE_EXIT, Reader
from sandbox import Skip

GOOD = b'{"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"}},"Priority":{}}'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = os.path.join(os.path.dirname(ROOT), 'shared', 'realworld', 'switch')


READER = Reader('switch file', 'switch.cfg', ('model.onnx', wire.small_model()),
                ['--fusion_switch_file'], GOOD)


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    yield from config_files.cases(scratch, box, READER, [*contents(), *real()], 1, 3)
    yield from config_files.no_files(scratch, box, READER)
    if not os.path.isdir(REAL):
        yield 'switch file: real ones', absent


def real():
    for name in sorted(os.listdir(REAL)) if os.path.isdir(REAL) else []:
        with open(os.path.join(REAL, name), 'rb') as f:
            yield 'real ' + name, (0,), f.read()


def absent():
    raise Skip('the real switch files are not there')


def contents():
    wrong = (USAGE_EXIT,)
    yield from config_files.json_contents(GOOD, null=(0,))  # no file
    yield 'long name', (0,), b'{"Switch":{"GraphFusion":{"' + b'n' * 1_000_000 + b'":"off"}}}'
    yield 'long line', wrong, b'n' * 4_000_000
    yield 'many lines', (0,), b''.join(b'p%d:off\n' % i for i in range(200_000))
    yield 'many lines backwards', (0,), b''.join(b'p%d:on\n' % i for i in range(200_000, 0, -1))
    yield 'many lines of known passes and others', (0,), b''.join(
        b'p%d:off\nNoSuchPass%d:on\n' % (i, i) for i in range(100_000))
    yield 'many priorities', (0,), (b'{"Priority":{"GraphFusion":{"Top":{' + b','.join(
        b'"p%d":"%d"' % (i, i % 1000) for i in range(200_000)) + b'}}}}')
    yield 'many keys', (0,), (b'{"Switch":{"GraphFusion":{' + b','.join(
        b'"p%d":"off"' % i for i in range(100_000)) + b'}}}')
    yield 'one key again and again', (0,), (b'{"Switch":{"GraphFusion":{' + b','.join(
        b'"p":"off"' for _ in range(200_000)) + b'}}}')
    yield 'NUL by escape', wrong, b'{"Switch":{"GraphFusion":{"a\\u0000b":"off"}}}'
    yield 'terminal codes', (0,), b'{"Switch":{"GraphFusion":{"\\u001b[2J":"off"}}}'
    yield 'format string', (0,), b'%s%n%s%n:off\n'
