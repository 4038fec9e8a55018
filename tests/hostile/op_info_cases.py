# SPDX-License-Identifier: Apache-2.0
"""Op information that is damaged, huge, or no file."""
import os
import subprocess

import wire
from sandbox import IO_EXIT, Skip, folder_name, judge, write

USAGE_EXIT = 1
SLOT = b'{"name":"x","dtype":"float16,float","paramType":"required"}'
GOOD = (b'{"Relu":{"input0":' + SLOT + b',"output0":' + SLOT +
        b',"precision_reduce":{"flag":"true"},"attr":{"list":"a"},"attr_a":{"type":"int"}}}')


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    for name, codes, data in contents():
        yield f'op info: {name}', case(scratch, box, name, codes, data)
    for n in range(0, len(GOOD), 3):
        yield f'op info: cut at {n}', case(scratch, box, f'cut {n}', (USAGE_EXIT,), GOOD[:n])
    for i in range(0, len(GOOD), 7):
        data = GOOD[:i] + bytes([GOOD[i] ^ 0x80]) + GOOD[i + 1:]
        yield f'op info: byte {i} flipped', case(scratch, box, f'flip {i}', (0, 1), data)
    yield 'op info: an empty folder', case(scratch, box, 'a folder', (USAGE_EXIT,), os.mkdir)
    yield 'op info: a folder in itself', case(scratch, box, 'a loop', (USAGE_EXIT,), loop)
    yield 'op info: a pipe', case(scratch, box, 'a pipe', (IO_EXIT,), os.mkfifo)
    yield 'op info: missing', case(scratch, box, 'missing', (IO_EXIT,), lambda path: None)
    yield 'op info: unreadable', case(scratch, box, 'unreadable', (IO_EXIT,), unreadable)


def loop(path):
    os.mkdir(path)
    for i in range(3):
        os.symlink('.', os.path.join(path, f'again{i}'))


def unreadable(path):
    if os.geteuid() == 0:
        raise Skip('root may read everything')
    with open(path, 'wb') as f:
        f.write(GOOD)
    os.chmod(path, 0)


def contents():
    wrong = (USAGE_EXIT,)
    slots = b','.join(b'"input%d":%s' % (i, SLOT) for i in range(128))
    yield 'good', (0,), GOOD
    yield 'empty', wrong, b''
    yield 'no JSON', wrong, b'op Relu gray\n  in x: f16\n'
    yield 'zeros', wrong, bytes(4096)
    yield '100 MB of brackets', (2,), b'[' * 100_000_000
    yield '50 MB of brackets', wrong, b'[' * 50_000_000
    yield 'nested ops', wrong, b'{"Relu":' * 400_000
    yield 'an array', wrong, b'[' + GOOD + b']'
    yield 'null', wrong, b'null'
    yield 'op is text', wrong, b'{"Relu":"gray"}'
    yield 'slot is a list', wrong, b'{"Relu":{"input0":[]}}'
    yield 'dtypes are numbers', wrong, b'{"Relu":{"input0":{"name":"x","dtype":[1]}}}'
    yield 'too many slots', wrong, b'{"Relu":{' + slots + b'}}'
    yield 'slot far away', wrong, b'{"Relu":{"input4294967296":' + SLOT + b'}}'
    yield 'too many dtypes', (2,), (b'{"Relu":{"input0":{"name":"x","dtype":"' +
                                    b'int8,' * 2000 + b'int8"}}}')
    yield 'most dtypes', (0,), (b'{"Relu":{"input0":{"name":"x","dtype":"' +
                                b'int8,' * 1023 + b'int4"}}}')
    yield 'long name', (0,), b'{"' + b'n' * 5_000_000 + b'":{}}'
    yield 'many ops', (0,), b'{' + b','.join(b'"p%d":{}' % i for i in range(100_000)) + b'}'
    yield 'one op again and again', (0,), (b'{' + b','.join([b'"Relu":{}'] * 100_000) + b'}')
    yield 'many attributes', (0,), (b'{"Relu":{"attr":{"list":"' + b'a,' * 500_000 + b'"}}}')
    yield 'UTF-16', wrong, GOOD.decode().encode('utf-16')
    yield 'invalid UTF-8', wrong, b'{"Rel\xff":{}}'
    yield 'NUL by escape', wrong, b'{"Rel\\u0000u":{}}'
    yield 'terminal codes', (0,), b'{"\\u001b[2J":{"input0":{"name":"x","dtype":"\\u001b[2J"}}}'
    yield 'format string', (0,), b'{"%s%n":{"input0":{"name":"%s%n","dtype":"%s%n"}}}'


def case(scratch, box, name, codes, data):
    def job():
        folder = os.path.join(scratch, folder_name(name))
        path = os.path.join(folder, 'info.json')
        model = write(folder, 'model.onnx', wire.small_model())
        if callable(data):
            data(path)
        else:
            write(folder, 'info.json', data)
        out = os.path.join(folder, 'out')
        os.mkdir(out)
        r = box.run('convert', model, '-q', '--op-info=' + path, '-o',
                    os.path.join(out, 'result.onnx'), stdout=subprocess.DEVNULL)
        if '\x1b' in r.text:
            return 'a terminal code of the file reaches the terminal'
        return judge(r, codes, out, ['result.onnx'], 'info.json')
    return job
