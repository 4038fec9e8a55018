#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command and libtailor are one program: the same options give the same files, or the same exit
code and words of refusal.

  test_library.py --tailor BIN --library libtailor.so"""
import argparse
import ctypes
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

OOM = os.path.join(ROOT, 'tests', 'oom')
FOR_ONNX, FOR_AIR = 0, 1
MIXED = {'precision-mode': 'allow_mix_precision', 'soc-version': 'Ascend310P3'}
TRAIN = {'graph-run-mode': '1', 'is-distributed': 'true', 'rank-size': '4',
         'soc-version': 'Ascend910A'}
BROKEN = 'graph @g(%x: f32[2]) -> (%y) {\n  %y = Add(%x)\n}\n'  # Add takes two operands
FROZEN = '''graph @g(%x: f32[n,2], %mode: i64[]) -> (%y) {
  %c = Cast(%mode) {to=9}
  %y = If(%c) {
    then_branch=graph @t() -> (%a) {
      %a = Relu(%x)
    },
    else_branch=graph @e() -> (%b) {
      %b = MatMul(%x, %x)
    }
  }
}
'''
WEIGHTS = ('graph @g(%x: f32[2,600]) -> (%y) {\n'
           f'  const %w: f32[600] = [{", ".join(str(i / 4) for i in range(600))}]\n'
           '  %y = Mul(%x, %w)\n}\n')
# model below tests/oom, or its text; options; suffix of the output
CASES = [
    (model, options, suffix)
    for model in ('model.tir', 'kernels.tir', 'quantized.tir', 'half.tir')
    for options in ({}, MIXED, {'opt-level': '0'}, {'external-weight': '1'}, {'verify-each': ''})
    for suffix in ('air', 'onnx', 'tir')
] + [
    ('step.tir', {'optim-model': os.path.join(OOM, 'optim.tir')}, 'air'),
    ('step.tir', {'optim-model': '-'}, 'air'),  # refused: a second model is a file
    ('step.tir', TRAIN, 'onnx'),
    ('model.tir', {'rewrite-limit': '1'}, 'onnx'),
    ('model.tir', {'freeze': 'x=1'}, 'air'),  # refused: of another shape
    (FROZEN, {'freeze': 'mode=1'}, 'air'),
    (FROZEN, {'freeze': 'mode=1', 'input-shape': 'x:4,2'}, 'onnx'),
    (BROKEN, {}, 'onnx'),
    ('graph @g(', {}, 'onnx'),
]


def library(path):
    lib = ctypes.CDLL(path)
    for name, arguments in (('tl_context_set', [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
                            ('tl_model_load', [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]),
                            ('tl_model_optimize', [ctypes.c_void_p, ctypes.c_int]),
                            ('tl_model_save', [ctypes.c_void_p, ctypes.c_char_p]),
                            ('tl_model_destroy', [ctypes.c_void_p]),
                            ('tl_context_destroy', [ctypes.c_void_p])):
        getattr(lib, name).argtypes = arguments
    lib.tl_context_create.restype = ctypes.c_void_p
    return lib


class Message(ctypes.Structure):
    """The first members of tl_message."""
    _fields_ = [('severity', ctypes.c_int), ('text', ctypes.c_char_p)]


SINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Message))
ERROR = 2


def by_library(lib, source, target, options, loaded=lambda: None):
    """(exit code, errors); loaded is called when the model is there."""
    said = []
    sink = SINK(lambda user, m: said.append(m[0].text.decode()) if m[0].severity == ERROR else None)
    context = lib.tl_context_create()
    lib.tl_context_on_message(ctypes.c_void_p(context), sink, None)
    model = ctypes.c_void_p()
    code = 0
    for name, value in options.items():
        code = code or lib.tl_context_set(context, name.encode(), value.encode())
    code = code or lib.tl_model_load(context, source.encode(), ctypes.byref(model))
    loaded()
    npu = target.endswith('.air')
    code = code or lib.tl_model_optimize(model, FOR_AIR if npu else FOR_ONNX)
    code = code or lib.tl_model_save(model, target.encode())
    lib.tl_model_destroy(model)
    lib.tl_context_destroy(context)
    return code, '\n'.join(s.rstrip() for s in said)


def by_command(tool, source, target, options):
    """The same."""
    half = options.get('optim-model')
    line = [tool, 'convert', '-o', target, '--summary=none', '--quiet']
    line += ['--train-model=' + source] if half else [source]
    for name, value in options.items():
        line.append(f'--{name}={value}' if value else '--' + name)
    run = guard.run(line, capture_output=True, text=True)
    return run.returncode, run.stderr.rstrip()


def files(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), 'rb') as f:
                found[os.path.relpath(os.path.join(where, name), folder)] = f.read()
    return found


def run(lib, tool, case):
    """What differs, or None."""
    model, options, suffix = case
    results = []
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(OOM, model)
        if not model.endswith('.tir'):
            source = os.path.join(work, 'text.tir')
            with open(source, 'w', encoding='utf-8') as f:
                f.write(model)
        for way, program in ((by_library, lib), (by_command, tool)):
            folder = os.path.join(work, 'out')
            os.mkdir(folder)
            code, said = way(program, source, os.path.join(folder, 'out.' + suffix), options)
            results.append((code, said, files(folder)))
            os.rename(folder, os.path.join(work, way.__name__))
    (code, said, made), (code2, said2, made2) = results
    if (code == 0) != bool(made):
        return f'exit code {code}, and {len(made)} files'
    if code != code2 or said != said2:
        return f'the library says {code}: {said!r}, the command {code2}: {said2!r}'
    return None if made == made2 else f'the bytes of {sorted(made)} and {sorted(made2)} differ'


def changed(lib):
    """(passed, problems): files of a model that are cut, removed or replaced while it lives. With
    the option read it stays what it was; mapped, it does so unless a file is cut."""
    def cut(path):
        os.truncate(path, 0)

    def replace(path):
        with open(path + '.new', 'wb') as f:
            f.write(b'other')
        os.rename(path + '.new', path)
    bad, cases = [], [(options, change) for options in ({}, {'read': ''})
                      for change in (cut, os.remove, replace) if options or change is not cut]
    with tempfile.TemporaryDirectory() as work:
        for number, (options, change) in enumerate(cases):
            folder = os.path.join(work, str(number))
            os.mkdir(folder)
            made = [os.path.join(folder, name) for name in ('a.onnx', 'b.tir', 'c.tir')]
            text = os.path.join(work, 'm.tir')
            with open(text, 'w', encoding='utf-8') as f:
                f.write(WEIGHTS)
            first = by_library(lib, text, made[0], {'external-weight': '1'})
            read = [os.path.join(folder, f) for f in files(folder)]
            right = by_library(lib, made[0], made[1], options)
            got = by_library(lib, made[0], made[2], options,
                             loaded=lambda paths=read, do=change: [do(path) for path in paths])
            good = [first, right, got] == [(0, '')] * 3 and len(read) > 1
            if not good or files(folder)['b.tir'] != files(folder)['c.tir']:
                bad.append(f'{change.__name__} with {options}: {first}, {right}, {got}, {read}')
    return len(cases) - len(bad), bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--library', required=True)
    args = p.parse_args()
    lib = library(os.path.abspath(args.library))
    failed = 0
    for case in CASES:
        problem = run(lib, args.tailor, case)
        failed += problem is not None
        if problem:
            print(f'FAIL library: {case}: {problem}')
    passed, bad = changed(lib)
    for problem in bad:
        print(f'FAIL library: {problem}')
    print(f'{len(CASES) - failed + passed} passed, {failed + len(bad)} failed, 0 skipped')
    failed += len(bad)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
