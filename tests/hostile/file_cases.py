# SPDX-License-Identifier: Apache-2.0
"""Outputs that cannot be written or would overwrite an input, inputs that are no files."""
import os

import wire
from sandbox import IO_EXIT, Skip, complaint, crash, first_line, folder_name, judge, read, write

USAGE_EXIT = 1
BAD = wire.small_model()[:-20]


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    table = ((outputs, 'output'), (same_file, 'output over input'), (inputs, 'input'))
    for family, title in table:
        for name, check, *arguments in family():
            folder = os.path.join(scratch, family.__name__, folder_name(name))
            yield f'{title}: {name}', job(check, box, folder, arguments)


def job(check, box, folder, arguments):
    """A case in a folder of its own."""
    def run():
        os.makedirs(folder)
        return check(box, folder, *arguments)
    return run


def refused(result, codes, names=''):
    """The run ended with one of the codes and says why."""
    bad = crash(result)
    if bad:
        return bad
    if result.code not in codes:
        return f'exit code {result.code}, expected one of {codes}: {first_line(result.text)}'
    return complaint(result.text, names)


def outputs():
    for suffix in ('onnx', 'air', 'tir', 'pbtxt'):
        yield f'old .{suffix} survives a bad model', old_survives, suffix
    yield 'folder is missing', unwritable, 'missing/result.onnx'
    yield 'folder is a file', unwritable, 'model.onnx/result.onnx'
    yield 'is a folder', unwritable, 'folder'
    yield 'name of 300 bytes', unwritable, 'n' * 300 + '.onnx'
    yield 'second of two cannot be written', second_fails
    yield 'folder is read-only', read_only
    yield 'standard output is full', full_device


def old_survives(box, folder, suffix):
    model = write(folder, 'model.onnx', BAD)
    old = write(folder, 'out/result.' + suffix, b'precious')
    before = os.stat(old)
    bad = refused(box.run('convert', model, '-q', '-o', old), (2, 3), 'model.onnx')
    after = os.stat(old)
    if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
        return 'the old file was replaced'
    left = os.listdir(os.path.dirname(old))
    return bad or ('' if len(left) == 1 and read(old) == b'precious' else f'left {left}')


def unwritable(box, folder, target):
    model = write(folder, 'model.onnx', wire.small_model())
    os.mkdir(os.path.join(folder, 'folder'))
    before = sorted(os.listdir(folder))
    r = box.run('convert', model, '-q', '--emit=onnx', '-o', os.path.join(folder, target))
    bad = refused(r, (IO_EXIT,), os.path.basename(target))
    return bad or ('' if sorted(os.listdir(folder)) == before else 'left something behind')


def second_fails(box, folder):
    model = write(folder, 'model.onnx', wire.small_model())
    r = box.run('convert', model, '-q', '-o', os.path.join(folder, 'first.onnx'), '-o',
                os.path.join(folder, 'missing', 'second.onnx'))
    bad = refused(r, (IO_EXIT,), 'second.onnx')
    return bad or ('' if os.listdir(folder) == ['model.onnx'] else 'the first one was written')


def read_only(box, folder):
    if os.geteuid() == 0:
        raise Skip('root may write into read-only folders')
    model = write(folder, 'model.onnx', wire.small_model())
    os.mkdir(os.path.join(folder, 'out'), 0o555)
    r = box.run('convert', model, '-q', '-o', os.path.join(folder, 'out', 'result.onnx'))
    return refused(r, (IO_EXIT,), 'result.onnx')


def full_device(box, folder):
    model = write(folder, 'model.onnx', wire.small_model())
    with open('/dev/full', 'wb') as full:
        r = box.run('convert', model, '-q', '--emit=onnx', '-o', '-', stdout=full)
    return refused(r, (IO_EXIT,))


def same_file():
    yield 'same name', over_input, lambda m, d: m
    yield 'other spelling', over_input, lambda m, d: os.path.join(d, '.', 'out', '..', 'model.onnx')
    yield 'hard link', over_input, lambda m, d: linked(os.link, m, d)
    yield 'symbolic link', over_input, lambda m, d: linked(os.symlink, m, d)
    yield 'its external data', over_input, lambda m, d: os.path.join(d, 'w.bin')


def linked(make, model, folder):
    link = os.path.join(folder, 'link.onnx')
    make(model, link)
    return link


def over_input(box, folder, target_of):
    model = write(folder, 'model.onnx', wire.one_weight(('w.bin', '0', '24')))
    weights = write(folder, 'w.bin', wire.floats(6))
    os.mkdir(os.path.join(folder, 'out'))
    before = read(model), read(weights)
    r = box.run('convert', model, '-q', '--emit=onnx', '-o', target_of(model, folder))
    if (read(model), read(weights)) != before:
        return f'an input was overwritten (exit code {r.code})'
    return refused(r, (USAGE_EXIT, 2, IO_EXIT))


def inputs():
    yield 'is missing', bad_input, lambda d: os.path.join(d, 'ghost.onnx'), (IO_EXIT,)
    yield 'is a folder', bad_input, lambda d: d, (2, IO_EXIT)
    yield 'is a dead link', bad_input, lambda d: dead_link(d), (IO_EXIT,)
    yield 'is /dev/null', bad_input, lambda d: '/dev/null', (2, IO_EXIT)


def dead_link(folder):
    link = os.path.join(folder, 'dead.onnx')
    os.symlink('nowhere', link)
    return link


def bad_input(box, folder, path_of, codes):
    out = os.path.join(folder, 'out')
    os.mkdir(out)
    path = path_of(folder)
    r = box.run('convert', path, '-q', '-o', os.path.join(out, 'result.onnx'))
    return judge(r, codes, out, [], os.path.basename(path))
