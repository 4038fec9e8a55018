# SPDX-License-Identifier: Apache-2.0
"""Switch files of fusion passes that are damaged, huge, or no files; and those of real projects."""
import os
import subprocess

import wire
from sandbox import IO_EXIT, Skip, folder_name, judge, write

USAGE_EXIT = 1
GOOD = b'{"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"}},"Priority":{}}'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = os.path.join(os.path.dirname(ROOT), 'shared', 'realworld', 'switch')


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    for name, codes, data in contents():
        yield f'switch file: {name}', case(scratch, box, name, codes, data)
    for n in range(len(GOOD)):
        yield f'switch file: cut at {n}', case(scratch, box, f'cut {n}', (USAGE_EXIT,), GOOD[:n])
    for i in range(0, len(GOOD), 3):
        data = GOOD[:i] + bytes([GOOD[i] ^ 0x80]) + GOOD[i + 1:]
        yield f'switch file: byte {i} flipped', case(scratch, box, f'flip {i}', (0, 1), data)
    yield 'switch file: a folder', case(scratch, box, 'a folder', (IO_EXIT,), None)
    yield 'switch file: a pipe', case(scratch, box, 'a pipe', (IO_EXIT,), os.mkfifo)
    yield 'switch file: unreadable', case(scratch, box, 'unreadable', (IO_EXIT,), unreadable)
    names = sorted(os.listdir(REAL)) if os.path.isdir(REAL) else []
    for name in names:
        with open(os.path.join(REAL, name), 'rb') as f:
            yield f'switch file: real {name}', case(scratch, box, 'real ' + name, (0,), f.read())
    if not names:
        yield 'switch file: real ones', absent


def absent():
    raise Skip('the real switch files are not there')


def unreadable(path):
    if os.geteuid() == 0:
        raise Skip('root may read everything')
    with open(path, 'wb') as f:
        f.write(GOOD)
    os.chmod(path, 0)


def contents():
    wrong = (USAGE_EXIT,)
    yield 'empty', wrong, b''
    yield 'zeros', wrong, bytes(4096)
    yield '100 MB of brackets', (2,), b'[' * 100_000_000
    yield '4 MB of brackets', wrong, b'[' * 4_000_000
    yield '4 MB of braces', wrong, b'{"Switch":' * 400_000
    yield 'long name', (0,), b'{"Switch":{"GraphFusion":{"' + b'n' * 1_000_000 + b'":"off"}}}'
    yield 'long line', wrong, b'n' * 4_000_000
    yield 'many lines', (0,), b''.join(b'p%d:off\n' % i for i in range(200_000))
    yield 'many keys', (0,), (b'{"Switch":{"GraphFusion":{' + b','.join(
        b'"p%d":"off"' % i for i in range(100_000)) + b'}}}')
    yield 'one key again and again', (0,), (b'{"Switch":{"GraphFusion":{' + b','.join(
        b'"p":"off"' for _ in range(200_000)) + b'}}}')
    yield 'UTF-16', wrong, GOOD.decode().encode('utf-16')
    yield 'lone surrogate', wrong, b'{"Switch":{"GraphFusion":{"\\ud800":"off"}}}'
    yield 'NUL by escape', wrong, b'{"Switch":{"GraphFusion":{"a\\u0000b":"off"}}}'
    yield 'terminal codes', (0,), b'{"Switch":{"GraphFusion":{"\\u001b[2J":"off"}}}'
    yield 'format string', (0,), b'%s%n%s%n:off\n'
    yield 'number without end', wrong, b'{"Switch":' + b'9' * 100_000 + b'}'


def case(scratch, box, name, codes, data):
    def job():
        folder = os.path.join(scratch, folder_name(name).replace('+', '_'))
        path = os.path.join(folder, 'switch.cfg')
        model = write(folder, 'model.onnx', wire.small_model())
        if data is None:
            os.mkdir(path)
        elif callable(data):
            data(path)
        else:
            write(folder, 'switch.cfg', data)
        out = os.path.join(folder, 'out')
        os.mkdir(out)
        r = box.run('convert', model, '-q', '--fusion_switch_file=' + path, '-o',
                    os.path.join(out, 'result.onnx'), stdout=subprocess.DEVNULL)
        if '\x1b' in r.text:
            return 'a terminal code of the file reaches the terminal'
        return judge(r, codes, out, ['result.onnx'], 'switch.cfg')
    return job
