#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The printers of scripts/gdb on a program that stands in a pass: test_gdb.py --tailor BIN

BIN has debug information. Without gdb, or where it may not trace, the test says that it skips. The
last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = '''graph @g(%x: f32[2,n]) -> (%y) {
  %t = Exp(%x) @first
  %y = Relu(%t)
}
'''
COMMANDS = {'print *m': 'module "model.tir": 1 graphs, 2 nodes',
            'print (tl_node_id)m->graphs.at[0]->first': ': %t = Exp(%x) @first',
            'print (tl_value_id)m->graphs.at[0]->inputs.at[0]': ': %x: f32[2,n], 1 uses',
            'tl-node m->graphs.at[0]->last': '%y = Relu(%t)',
            'tl-value 0': 'no value',
            'tl-graph': 'graph 1 @g, 2 nodes\n'}


def session(tailor, folder):
    argv = ['gdb', '-batch', '-nx', '-iex', 'set debuginfod enabled off',
            '-x', os.path.join(ROOT, 'scripts/gdb/tailor.py'),
            '-ex', 'set breakpoint pending off', '-ex', 'break tl_pinned_find', '-ex', 'run']
    for command in COMMANDS:
        argv += ['-ex', f'echo ## {command}\\n', '-ex', command]
    argv += ['-ex', 'kill', '--args', tailor, 'opt', '--passes=dead-nodes', 'model.tir', '-o',
             'out.tir']
    env = dict(os.environ, ASAN_OPTIONS='detect_leaks=0', LC_ALL='C')
    return guard.run(argv, capture_output=True, text=True, cwd=folder, env=env)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tailor = os.path.abspath(p.parse_args().tailor)
    if not shutil.which('gdb'):
        print('skip: gdb is not installed\n0 passed, 0 failed, 1 skipped')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'model.tir'), 'w', encoding='utf-8') as f:
            f.write(MODEL)
        said = session(tailor, folder)
    if 'ptrace' in said.stderr or 'Breakpoint 1, ' not in said.stdout:
        print(f'skip: gdb cannot stop the program here: {said.stderr.strip()[:200]}\n'
              '0 passed, 0 failed, 1 skipped')
        return 0
    failed = 0
    answers = dict(part.split('\n', 1) for part in said.stdout.split('## ')[1:])
    for command, wanted in COMMANDS.items():
        if wanted not in answers.get(command, ''):
            failed += 1
            print(f'FAIL gdb: {command} says {answers.get(command)!r} {said.stderr[-300:]}')
    print(f'{len(COMMANDS) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
