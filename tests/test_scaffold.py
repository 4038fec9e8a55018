#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/new-pass, new-op and new-rule write is accepted: test_scaffold.py --tailor BIN

Each runs in a copy of the sources. There the pass compiles with warnings as errors and its golden
test has a command and cases; the tables generate code; the rule rewrites what its template says and
leaves the near miss. A second run refuses to overwrite. The last line is 'N passed, M failed, K
skipped'."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
import golden_cases  # noqa: E402
import guard  # noqa: E402

counts = {'passed': 0, 'failed': 0}


def check(what, good, detail=''):
    counts['passed' if good else 'failed'] += 1
    if not good:
        print(f'FAIL scaffold: {what}: {detail}')


def copy_sources(to):
    out = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                         cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, out.split('\0')):
        if not name.startswith(('tests/golden/', 'tests/fuzz/', 'bench/')) \
                and os.path.isfile(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(to, name))


def script(root, name, *arguments):
    return guard.run([os.path.join(root, 'scripts', name), *arguments], capture_output=True,
                     text=True, cwd=root)


def runs_once(root, name, *arguments):
    p = script(root, name, *arguments)
    check(f'{name} says what is next', p.returncode == 0 and 'next:' in p.stdout, p.stderr)
    p = script(root, name, *arguments)
    check(f'{name} overwrites nothing', p.returncode == 1 and 'already' in p.stderr, p.stderr)
    p = script(root, name, 'nowhere')
    check(f'{name} wants all arguments', p.returncode == 1 and 'scripts/' in p.stderr, p.stderr)


def new_pass(root, build):
    runs_once(root, 'new-pass', 'cleanup', 'drop-nothing', 'nothing is dropped')
    p = guard.run(['gcc', '-std=c11', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Wconversion',
                   '-Werror', '-fsyntax-only', '-I', root, '-I', build,
                   os.path.join(root, 'passes/cleanup/drop_nothing.c')],
                  capture_output=True, text=True)
    check('the pass compiles', p.returncode == 0, p.stderr[:500])
    for path, wanted in (('passes/passes.tbl',
                          'PASS(drop_nothing, "drop-nothing", "cleanup/drop_nothing.c"'),
                         ('passes/cleanup/meson.build', "  'drop_nothing.c',\n")):
        with open(os.path.join(root, path), encoding='utf-8') as f:
            check(f'{path} has the pass', wanted in f.read())
    golden = golden_cases.read(os.path.join(root, 'tests/golden/drop-nothing/near-miss.tir'))
    check('its golden test has a case', golden.run == 'opt --passes=drop-nothing' and
          golden.cases[0].same)


def new_op(root):
    runs_once(root, 'new-op', 'onnx_math', 'com.acme::Blend')
    tables = os.path.join(root, 'ir', 'ops')
    listed = re.findall(r"'ops/(\w+\.tbl)'", open(os.path.join(root, 'ir/meson.build'),
                                                   encoding='utf-8').read())
    out = [os.path.join(root, 'ir', 'ops_gen.' + kind) for kind in 'ch']
    p = guard.run(['/usr/bin/python3', os.path.join(root, 'scripts/gen_ops.py'), 'ops', *out,
                   *[os.path.join(tables, name) for name in listed]],
                  capture_output=True, text=True)
    check('the tables with the op generate code', p.returncode == 0, p.stderr[-500:])
    with open(out[0], encoding='utf-8') as f:
        check('which knows it', 'Blend' in f.read())
    path = os.path.join(root, 'tests/golden/infer-shapes/op-com-acme-blend.tir')
    golden = golden_cases.read(path)
    check('its golden test tells its shape', ': f32[2,n]' in golden.cases[0].after)


def new_rule(root, tailor):
    """The program does not have the rule: a script that stands for it adds --rules."""
    runs_once(root, 'new-rule', 'newcomers', 'CosineOfNegative')
    wrapper = os.path.join(root, 'tailor')
    with open(wrapper, 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nexec "{tailor}" "$@" --rules="{root}/passes/rules/newcomers.tlr"\n')
    os.chmod(wrapper, 0o755)
    p = guard.run([os.path.join(root, 'tests/rules/golden_files.py'), '--tailor', wrapper,
                   'CosineOfNegative'], capture_output=True, text=True)
    check('its golden file is made', p.returncode == 0, p.stderr[-500:])
    path = os.path.join(root, 'tests/golden/rules/newcomers/CosineOfNegative.tir')
    cases = golden_cases.read(path).cases if os.path.exists(path) else []
    check('it fires', bool(cases) and cases[0].after.count('Neg(') == 0)
    check('and leaves the near misses', len(cases) == 4 and all(c.same for c in cases[1:]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tailor = os.path.abspath(p.parse_args().tailor)
    with tempfile.TemporaryDirectory() as root:
        copy_sources(root)
        new_pass(root, os.path.dirname(os.path.dirname(tailor)))
        new_op(root)
        new_rule(root, tailor)
    print(f'{counts["passed"]} passed, {counts["failed"]} failed, 0 skipped')
    return 1 if counts['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
