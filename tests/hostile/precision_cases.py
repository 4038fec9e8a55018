# SPDX-License-Identifier: Apache-2.0
"""Files that say something about precision: lists of ops and nodes, dtypes, modes of kernels,
measured ranges. Damaged, huge, contradictory, or no files."""
import config_files
from config_files import USAGE_EXIT, Reader

MODEL = ('model.tir', b'''graph @g(%x: f32[2,3]) -> (%y) {
  %a = Exp(%x) @a
  %y = Add(%a, %x) @b
}
''')
MIXED = '--precision-mode=allow_mix_precision'
LOW = '--precision-mode=force_fp16'
WRONG = (USAGE_EXIT,)
EITHER = (0, USAGE_EXIT)
TERMINAL = b'\x1b[2J'

MIXLIST = Reader('mix list', 'mix.json', MODEL, [MIXED, '--modify-mixlist'],
                 b'{"black-list":{"to-add":["Add"]},"white-list":{"to-remove":["MatMulV2"]}}')
KEEP = Reader('nodes to keep', 'keep.cfg', MODEL, [LOW, '--keep-dtype'], b'a\nOpType::Add\n')
CUSTOM = Reader('dtypes of ops', 'dtypes.cfg', MODEL, [LOW, '--customize-dtypes'],
                b'a:InputDtype:float16,OutputDtype:float16\n'
                b'OpType::Add:InputDtype:float32,float32,OutputDtype:float32\n')
MODES = Reader('modes of kernels', 'modes.ini', MODEL, ['--op-precision-mode'],
               b'[ByOpType]\nAdd=high_precision\n[ByNodeName]\na=high_performance\n')
RANGES = Reader('measured ranges', 'ranges.json', MODEL,
                [LOW, '--precision-policy=range', '--ranges'],
                b'{"tensors":[{"name":"a","min":-3,"max":70000}]}')


def cases(scratch, box):
    """Yields (name, job); every job gets a folder of its own."""
    for reader, contents, cut_codes in (
            (MIXLIST, mixlist(), WRONG), (RANGES, ranges(), WRONG), (KEEP, keep(), EITHER),
            (CUSTOM, custom(), EITHER), (MODES, modes(), EITHER)):
        yield from config_files.cases(scratch, box, reader, contents, 7, 5, cut_codes)
        yield from config_files.no_files(scratch, box, reader)


def mixlist():
    def lists(text):
        return b'{"black-list":{"to-add":[' + text + b']}}'

    yield from config_files.json_contents(MIXLIST.good)
    yield 'nothing in it', (0,), b'{}'
    yield 'comments', (0,), b'// a\n/* b */' + MIXLIST.good + b'// c'
    yield 'a comment without end', WRONG, MIXLIST.good[:-1] + b'/* '
    yield 'another list', WRONG, b'{"grey-list":{}}'
    yield 'another edit', WRONG, b'{"black-list":{"to_add":[]}}'
    yield 'a list of lists', WRONG, lists(b'["Add"]')
    yield 'a list of numbers', WRONG, lists(b'1, 2')
    yield 'a list of nulls', WRONG, lists(b'null')
    yield 'a list is text', WRONG, b'{"black-list":{"to-add":"Add"}}'
    yield 'a list is an array', WRONG, b'{"black-list":["Add"]}'
    yield 'an empty type', WRONG, lists(b'""')
    yield 'a type in two lists', WRONG, (b'{"black-list":{"to-add":["Add"]},'
                                         b'"white-list":{"to-add":["Add"]}}')
    yield 'a key given twice', (0,), b'{"black-list":{},"black-list":{"to-add":["Add"]}}'
    yield 'a key given 100000 times', (0,), (b'{' + b','.join([b'"black-list":{}'] * 100_000)
                                             + b'}')
    yield 'a type given 100000 times', (0,), lists(b','.join([b'"Add"'] * 100_000))
    yield '100000 types', (0,), lists(b','.join(b'"T%d"' % i for i in range(100_000)))
    yield '100000 contradictions', WRONG, (
        b'{"black-list":{"to-add":[' + b','.join(b'"T%d"' % i for i in range(100_000))
        + b']},"white-list":{"to-add":[' + b','.join(b'"T%d"' % i for i in range(100_000)) + b']}}')
    yield 'a type of a megabyte', (0,), lists(b'"' + b'T' * 1_000_000 + b'"')
    yield 'a type that is no UTF-8', WRONG, lists(b'"\xff\xfe"')
    yield 'NUL by escape', EITHER, lists(b'"Ad\\u0000d"')
    yield 'terminal codes', (0,), lists(b'"\\u001b[2J"')
    yield 'terminal codes as a key', WRONG, b'{"\\u001b[2J":{}}'
    yield 'format strings', (0,), lists(b'"%s%n%s%n"')
    yield 'nested lists', WRONG, lists(b'[' * 100_000)


def keep():
    yield from config_files.line_contents(KEEP.good, b'')
    yield 'a type that is none', WRONG, b'OpType::a b\n'
    yield 'a type without a name', WRONG, b'OpType::\n'
    yield 'a type given twice', (0,), b'OpType::Add\nOpType::Add\n'
    yield '200000 bad types', WRONG, b'OpType::?\n' * 200_000


def custom():
    yield from config_files.line_contents(CUSTOM.good, b':InputDtype:float16')
    yield 'terminal codes for a dtype', WRONG, b'a:InputDtype:' + TERMINAL + b'\n'
    yield 'no keyword', WRONG, b'a:float16\n'
    yield 'no name', WRONG, b':InputDtype:float16\n'
    yield 'keywords the other way round', WRONG, b'a:OutputDtype:float16,InputDtype:float16\n'
    yield 'an unknown dtype', WRONG, b'a:InputDtype:float17\n'
    yield 'a dtype that the op does not take', (3,), b'a:InputDtype:string\n'
    yield 'commas only', (0,), b'a:InputDtype:,,,,OutputDtype:,,,\n'
    yield '5000 dtypes', EITHER, b'a:InputDtype:' + b'float16,' * 5000 + b'\n'
    yield '4 MB of commas', EITHER, b'a:InputDtype:' + b',' * 4_000_000 + b'\n'
    yield '100000 bad lines', WRONG, b'a:b:c\n' * 100_000


def modes():
    yield from config_files.line_contents(MODES.good, b'=high_precision', EITHER, EITHER)
    yield 'terminal codes for a mode', EITHER, b'a=' + TERMINAL + b'\n'
    yield 'terminal codes for a section', EITHER, b'[' + TERMINAL + b']\n'
    yield 'no mode', (0,), b'a=\n=high_precision\n=\na\n'
    yield 'an unknown mode', (0,), b'a=low_precision\n'
    yield 'a section that is none', (0,), b'[By]\na=high_precision\n'
    yield '200000 bad lines', (0,), b'a=b\n' * 200_000
    yield '200000 sections', (0,), b'[a]\n' * 200_000
    yield 'format strings as a section', (0,), b'a=%s%n\n[%s%n]\n'


def ranges():
    def one(text):
        return b'{"tensors":[{"name":"a",' + text + b'}]}'

    yield from config_files.json_contents(RANGES.good)
    yield 'the short form', (0,), b'{"a":{"min":-3,"max":70000}}'
    yield 'least above greatest', EITHER, one(b'"min":3,"max":-3')
    yield 'numbers beyond any', EITHER, one(b'"min":-1e999,"max":1e999')
    yield 'NaN', WRONG, one(b'"min":NaN,"max":NaN')
    yield 'null', (0,), one(b'"min":null,"max":null')
    yield 'text for numbers', WRONG, one(b'"min":"-3","max":"3"')
    yield 'lists for numbers', WRONG, one(b'"min":[],"max":[]')
    yield 'nothing for numbers', EITHER, b'{"tensors":[{"name":"a"}]}'
    yield 'no name', EITHER, b'{"tensors":[{"min":0,"max":1}]}'
    yield 'a number for a name', WRONG, b'{"tensors":[{"name":1,"min":0,"max":1}]}'
    yield 'tensors are text', WRONG, b'{"tensors":"a"}'
    yield 'tensors are numbers', WRONG, b'{"tensors":[1,2]}'
    yield 'a tensor given twice', EITHER, (b'{"tensors":[{"name":"a","min":0,"max":1},'
                                           b'{"name":"a","min":0,"max":70000}]}')
    yield 'a key given twice', EITHER, one(b'"min":0,"min":1,"max":70000')
    yield '100000 tensors', (0,), b'{"tensors":[' + b','.join(
        b'{"name":"t%d","min":0,"max":1}' % i for i in range(100_000)) + b']}'
    yield 'a tensor given 100000 times', EITHER, b'{"tensors":[' + b','.join(
        [b'{"name":"a","min":0,"max":1}'] * 100_000) + b']}'
    yield 'a name of a megabyte', (0,), (b'{"tensors":[{"name":"' + b'n' * 1_000_000
                                         + b'","min":0,"max":1}]}')
    yield 'terminal codes', EITHER, b'{"tensors":[{"name":"\\u001b[2J","min":"x"}]}'
    yield 'format strings', EITHER, b'{"tensors":[{"name":"%s%n%s%n","min":0,"max":1}]}'
    yield 'NUL by escape', EITHER, b'{"tensors":[{"name":"a\\u0000b","min":0,"max":1}]}'
