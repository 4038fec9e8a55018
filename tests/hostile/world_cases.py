# SPDX-License-Identifier: Apache-2.0
"""External data that tries to leave the model's folder, and signals in the middle of the work."""
import os
import signal
import subprocess
import time

import wire
from file_cases import job
from sandbox import IO_EXIT, Skip, folder_name, guard, judge, write

SECRET = b'TOP-SECRET-BYTES-ELSEWHERE'[:24]


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    for family, title in ((external, 'external data'), (signals, 'signal')):
        for name, check, *arguments in family():
            folder = os.path.join(scratch, family.__name__, folder_name(name))
            yield f'{title}: {name}', job(check, box, folder, arguments)


def external():
    yield 'link to a file outside', stays_inside, 'w.bin', ('link', 'w.bin', '../secret.bin')
    yield 'link to a folder outside', stays_inside, 'sub/w.bin', ('link', 'sub', '../elsewhere')
    yield 'link to an absolute path', stays_inside, 'w.bin', ('link', 'w.bin', '/etc/passwd')
    yield 'chain of links', stays_inside, 'a', ('link', 'a', 'b'), ('link', 'b', '../secret.bin')
    yield 'link to itself', stays_inside, 'a', ('link', 'a', 'a')
    yield 'folder', stays_inside, 'sub', ('folder', 'sub')
    yield 'named pipe', stays_inside, 'pipe', ('pipe', 'pipe')
    yield 'link to a device', stays_inside, 'zero', ('link', 'zero', '/dev/zero')
    for name, location in (('parent', '../secret.bin'), ('dot', '.'), ('empty', ' '),
                           ('NUL then a path', 'w.bin\0/../../secret.bin'),
                           ('70000 bytes', 'd/' * 35000),
                           ('backslashes', '..\\secret.bin'), ('slashes', '//secret.bin'),
                           ('absolute', '/etc/passwd'), ('URL', 'file:///etc/passwd'),
                           ('dots inside', 'sub/../../secret.bin')):
        yield f'location: {name}', stays_inside, location, ('folder', 'd')


def stays_inside(box, folder, location, *things):
    """Such a model is refused, and no file outside its folder is opened for it."""
    inside = os.path.join(folder, 'model')
    model = write(inside, 'model.onnx', wire.one_weight((location, '0', '24')))
    write(folder, 'secret.bin', SECRET)
    write(folder, 'elsewhere/w.bin', SECRET)
    for kind, name, *to in things:
        path = os.path.join(inside, name)
        if kind == 'link':
            os.symlink(to[0], path)
        else:
            (os.mkfifo if kind == 'pipe' else os.mkdir)(path)
    out = os.path.join(inside, 'out')
    os.mkdir(out)
    arguments = ('convert', model, '-q', '-o', os.path.join(out, 'result.onnx'))
    if box.no_trace:
        return judge(box.run(*arguments), (2, 3, IO_EXIT), out, [], 'model.onnx')
    r, foreign = box.foreign_files(inside, os.path.join(folder, 'trace'), *arguments)
    if foreign:
        return f'opened {foreign}'
    return judge(r, (2, 3, IO_EXIT), out, [], 'model.onnx')


def signals():
    for number in (signal.SIGTERM, signal.SIGINT):
        name = signal.Signals(number).name
        yield f'{name} while converting 100000 nodes', interrupted, number, 'nodes'
        yield f'{name} while copying 256 MiB of weights', interrupted, number, 'weights'


def big_model(folder, kind):
    if kind == 'nodes':
        return write(folder, 'model.onnx', wire.chain(100000))
    n = 256 << 20
    write(folder, 'w.bin', b'')
    os.truncate(os.path.join(folder, 'w.bin'), n)
    return write(folder, 'model.onnx', wire.one_weight(('w.bin', '0', str(n)), (n // 4,)))


def interrupted(box, folder, number, kind):
    """Signals at growing delays: whenever one hits, nothing may be left in the output folder."""
    model = big_model(folder, kind)
    out = os.path.join(folder, 'out')
    os.mkdir(out)
    argv = [box.tool, 'convert', model, '-q', '-o', os.path.join(out, 'result.onnx')]
    hits = 0
    for delay in (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2):
        with guard.begin(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=box.environment(False)) as p:
            time.sleep(delay)
            p.send_signal(number)
            try:
                code = guard.wait(p)
            except subprocess.TimeoutExpired:
                return f'still running long after a signal at {delay} s'
        if code == 0:
            break
        hits += 1
        if code not in (-number, 128 + number, IO_EXIT):
            return f'exit code {code} after a signal at {delay} s'
        left = os.listdir(out)
        if left:
            return f'signal at {delay} s left {left}'
    if not hits:
        raise Skip('every conversion was done before its signal came')
    return ''
