# SPDX-License-Identifier: Apache-2.0
"""Op information that is damaged, huge, or no file."""
import os

import config_files
import wire
from config_files import USAGE_EXIT, Reader

SLOT = b'{"name":"x","dtype":"float16,float","paramType":"required"}'
GOOD = (b'{"Relu":{"input0":' + SLOT + b',"output0":' + SLOT +
        b',"precision_reduce":{"flag":"true"},"attr":{"list":"a"},"attr_a":{"type":"int"}}}')


READER = Reader('op info', 'info.json', ('model.onnx', wire.small_model()), ['--op-info'], GOOD)


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    yield from config_files.cases(scratch, box, READER, contents(), 3, 7)
    yield from config_files.no_files(scratch, box, READER, folder=False)
    for name, make in (('an empty folder', os.mkdir), ('a folder in itself', loop)):
        yield (f'op info: {name}',
               config_files.case(scratch, box, READER, name, (USAGE_EXIT,), make))


def loop(path):
    os.mkdir(path)
    for i in range(3):
        os.symlink('.', os.path.join(path, f'again{i}'))


def contents():
    wrong = (USAGE_EXIT,)
    slots = b','.join(b'"input%d":%s' % (i, SLOT) for i in range(128))
    yield from config_files.json_contents(GOOD)
    yield '50 MB of brackets', wrong, b'[' * 50_000_000
    yield 'nested ops', wrong, b'{"Relu":' * 400_000
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
    yield 'NUL by escape', wrong, b'{"Rel\\u0000u":{}}'
    yield 'terminal codes', (0,), b'{"\\u001b[2J":{"input0":{"name":"x","dtype":"\\u001b[2J"}}}'
    yield 'format string', (0,), b'{"%s%n":{"input0":{"name":"%s%n","dtype":"%s%n"}}}'
