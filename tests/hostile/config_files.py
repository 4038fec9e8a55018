# SPDX-License-Identifier: Apache-2.0
"""What the hostile cases of all readers of configuration files have in common: a run with one bad
file, files cut and flipped, and paths that lead to no file."""
import collections
import os
import subprocess
import threading

from sandbox import IO_EXIT, Skip, folder_name, judge, write

USAGE_EXIT = 1
LOCK = threading.Lock()
# title: of its cases; file: its name; model: (name, bytes); options: of convert, the last one takes
# the file; good: bytes of a file that is read.
Reader = collections.namedtuple('Reader', 'title file model options good')


def case(scratch, box, reader, name, codes, data):
    """A job that converts with a file of these bytes, or with what the function `data` makes."""
    def job():
        folder = os.path.join(scratch, folder_name(reader.title), folder_name(name))
        path = os.path.join(folder, reader.file)
        model = write(folder, *reader.model)
        if callable(data):
            data(path)
        else:
            write(folder, reader.file, data)
        out = os.path.join(folder, 'out')
        os.mkdir(out)
        r = box.run('convert', model, '-q', *reader.options[:-1], reader.options[-1] + '=' + path,
                    '-o', os.path.join(out, 'result.onnx'), stdout=subprocess.DEVNULL)
        if '\x1b' in r.text:
            return 'a terminal code of the file reaches the terminal'
        return judge(r, codes, out, ['result.onnx'], reader.file)
    return job


def cases(scratch, box, reader, contents, cut=0, flip=0, cut_codes=(USAGE_EXIT,)):
    """Yields (name, job) for (name, exit codes, bytes) of `contents`, the good file cut at every
    cut-th byte and with every flip-th byte changed."""
    for name, codes, data in contents:
        yield f'{reader.title}: {name}', case(scratch, box, reader, name, codes, data)
    for n in range(0, len(reader.good.rstrip()), cut or len(reader.good)):
        yield (f'{reader.title}: cut at {n}',
               case(scratch, box, reader, f'cut {n}', cut_codes, reader.good[:n]))
    for i in range(0, len(reader.good), flip or len(reader.good)):
        data = reader.good[:i] + bytes([reader.good[i] ^ 0x80]) + reader.good[i + 1:]
        yield (f'{reader.title}: byte {i} flipped',
               case(scratch, box, reader, f'flip {i}', (0, USAGE_EXIT), data))


def no_files(scratch, box, reader, folder=True):
    """Yields (name, job) for paths that lead to no regular file that may be read."""
    makers = {'a pipe': os.mkfifo, 'missing': lambda path: None, 'unreadable': None,
              'a link to itself': lambda path: os.symlink(path, path),
              'a device': lambda path: os.symlink('/dev/zero', path)}
    if folder:
        makers['a folder'] = os.mkdir

    def unreadable(path):
        if os.geteuid() == 0:
            raise Skip('root may read everything')
        with open(path, 'wb') as f:
            f.write(reader.good)
        os.chmod(path, 0)

    for name, make in makers.items():
        yield (f'{reader.title}: {name}',
               case(scratch, box, reader, name, (IO_EXIT,), make or unreadable))


def brackets(path):
    """100 MB of brackets; one file for all readers, under the names that they want."""
    shared = os.path.join(os.path.dirname(path), '..', '..', '..', 'brackets')
    with LOCK:
        if not os.path.exists(shared):
            with open(shared, 'wb') as f:
                f.write(b'[' * 100_000_000)
    os.link(shared, path)


def json_contents(good, null=(USAGE_EXIT,)):
    """Cases of every reader of JSON: (name, exit codes, bytes); null: what atc reads it as."""
    wrong = (USAGE_EXIT,)
    yield 'good', (0,), good
    yield 'a byte order mark', (0,), b'\xef\xbb\xbf' + good
    yield 'empty', wrong, b''
    yield 'blanks', wrong, b' \n\t\r\n'
    yield 'zeros', wrong, bytes(4096)
    yield 'no JSON', wrong, b'black-list: Add\n'
    yield '100 MB of brackets', (2,), brackets
    yield '4 MB of brackets', wrong, b'[' * 4_000_000
    yield '4 MB of braces', wrong, b'{"a":' * 800_000
    yield 'UTF-16', wrong, good.decode().encode('utf-16')
    yield 'invalid UTF-8', wrong, b'{"\xff\xfe":{}}'
    yield 'lone surrogate', wrong, b'{"\\ud800":{}}'
    yield 'number without end', wrong, b'{"a":' + b'9' * 100_000
    yield 'string without end', wrong, b'{"' + b'a' * 100_000
    yield 'a number beyond all doubles', wrong, b'{"a":1e999}'
    yield 'two values', wrong, good + good
    yield 'a comma too many', wrong, b'{"a":1,}'
    yield 'it is null', null, b'null'
    for data in (b'[]', b'true', b'"a"', b'17'):
        yield f'it is {data.decode()}', wrong, data


def line_contents(good, rest, no_text=(USAGE_EXIT,), long_name=(0,)):
    """Cases of every reader of lines that are a name and `rest`. no_text, long_name: exit codes for
    bytes that are no text, and for a name of megabytes."""
    def lines(names):
        return b''.join(name + rest + b'\n' for name in names)

    yield 'good', (0,), good
    yield 'a byte order mark', (0,), b'\xef\xbb\xbf' + good
    yield 'CRLF', (0,), good.replace(b'\n', b'\r\n')
    yield 'no last newline', (0,), good.rstrip()
    yield 'empty', (0,), b''
    yield 'comments and blanks', (0,), b'# a\n\n   \n#\n'
    yield '100 MB of brackets', (2,), brackets
    yield 'zeros', no_text, bytes(4096)
    yield 'UTF-16', no_text, good.decode().encode('utf-16')
    yield 'invalid UTF-8', no_text, lines([b'\xff\xfe\xc0\x80'])
    yield 'terminal codes', no_text, lines([b'\x1b[2J'])
    yield 'format strings', (0,), lines([b'%s%n%s%n'])
    yield 'a name given twice', (0,), lines([b'a', b'a'])
    yield 'a name given 100000 times', (0,), lines([b'a'] * 100_000)
    yield '100000 names', (0,), lines(b'n%d' % i for i in range(100_000))
    yield 'a name of 4 MB', long_name, lines([b'n' * 4_000_000])
