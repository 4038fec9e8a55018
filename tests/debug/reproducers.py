#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reproducers of failures that are planted into passes (planted.c): each replays to the same
failure in another folder, and what is no reproducer is refused.

  reproducers.py --planted BIN

The last line is 'N passed, M failed, K skipped'."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = {'crash': "pass '{}' was ended by signal 11", 'assert': "pass '{}' was ended by signal 6",
         'limit': "pass '{}' fails: planted: a limit", 'broken': "pass '{}' fails: "}
PASSES = ('fold-constants', 'common-subexpressions', 'cast-motion')
# Kinds after which a folder is made by itself, and the exit status of the conversion.
BY_ITSELF = {'crash': -11, 'assert': -6, 'broken': 70}
BAD = (('', 'empty'), ('[]', 'a list'), ('{"schema": 1}', 'parts are missing'),
       ({'schema': 2}, 'another schema'), ({'input': '../input.tir'}, 'a path that leaves'),
       ({'input': '/etc/passwd'}, 'an absolute path'), ({'stage': 99}, 'a stage that is none'),
       ({'arguments': ['model.onnx']}, 'an argument that is no option'),
       ({'arguments': 'none'}, 'arguments that are no list'))


class Tests:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.passed = self.failed = 0

    def run(self, plant, *args):
        return subprocess.run([self.tool, *args], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={**os.environ, 'TAILOR_PLANT': plant,
                                                'TMPDIR': self.folder})

    def expect(self, what, good, p):
        self.passed += good
        self.failed += not good
        if not good:
            print(f'FAIL {what}: status {p.returncode}\n{p.stdout}{p.stderr}')

    def on_demand(self, kind, name):
        """A folder that is asked for, moved, and replayed."""
        plant, first = f'{kind}@{name}', f'made-{kind}-{name}'
        p = self.run(plant, 'convert', 'bert_tiny.onnx', '-o', 'x.air', '--rules=own.tlr',
                     '--precision-mode=force_fp16', f'--reproducer={first}')
        said = KINDS[kind].format(name)
        made = os.path.join(self.folder, first)
        self.expect(f'{plant} is recorded', p.returncode == 0 and said in p.stderr, p)
        moved = os.path.join(self.folder, 'elsewhere', first)
        os.makedirs(os.path.dirname(moved), exist_ok=True)
        shutil.move(made, moved)
        p = self.run(plant, 'replay', os.path.join('elsewhere', first))
        self.expect(f'{plant} is replayed', p.returncode == 0 and said in p.stdout and
                    'as when it was recorded' in p.stdout, p)
        size = os.path.getsize(os.path.join(moved, 'input.tir'))
        self.expect(f'{plant} leaves weights out', size < 300_000, p)
        p = self.run('none', 'replay', os.path.join('elsewhere', first))
        self.expect(f'{plant} without the mistake', p.returncode == 5, p)

    def by_itself(self, kind, status):
        plant = f'{kind}@{PASSES[0]}'
        before = set(os.listdir(self.folder))
        p = self.run(plant, 'convert', 'bert_tiny.onnx', '-o', 'y.air')
        made = [f for f in set(os.listdir(self.folder)) - before]
        good = p.returncode == status and len(made) == 1 and \
            made[0].startswith('tailor-reproducer-') and made[0] in p.stderr
        self.expect(f'{plant} makes a folder by itself, and no output', good, p)
        if good:
            p = self.run(plant, 'replay', made[0])
            self.expect(f'{plant} is replayed', p.returncode == 0, p)

    def changed(self, change):
        """A reproducer with another description, replayed."""
        folder = os.path.join(self.folder, 'bad')
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(self.folder, 'elsewhere', f'made-limit-{PASSES[0]}'), folder)
        path = os.path.join(folder, 'reproducer.json')
        if isinstance(change, dict):
            with open(path, encoding='utf-8') as f:
                change = json.dumps({**json.load(f), **change})
        with open(path, 'w', encoding='utf-8') as f:
            f.write(change)
        return self.run('none', 'replay', 'bad')

    def bad(self, change, what):
        """What is no reproducer is refused with its path."""
        p = self.changed(change)
        self.expect(what, p.returncode == 2 and 'bad/reproducer.json: error' in p.stderr, p)

    def options(self):
        """Its options are said to be wrong, or are warned of, once; and count as given."""
        p = self.changed({'arguments': ['--precision-mood=force_fp16']})
        self.expect('an unknown option', p.returncode == 1 and
                    p.stderr.count('unknown option') == 1, p)
        p = self.changed({'arguments': ['--fusion=A:on'] * 100 + ['--soc-version=Ascend910A',
                                                                  '--soc-version=Ascend310P3']})
        self.expect('an option given twice', p.returncode == 5 and
                    p.stderr.count('given twice') == 1, p)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--planted', required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['/usr/bin/python3', os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        'bert_tiny'], check=True, capture_output=True)
        with open(os.path.join(folder, 'own.tlr'), 'w', encoding='utf-8') as f:
            f.write('rules 1\nrule Own : graph numerics exact {\n  match { %y = Neg(%x) }\n'
                    '  replace { %y = Mul(%x, const -1.0) }\n}\n')
        tests = Tests(os.path.abspath(args.planted), folder)
        for kind in KINDS:
            for name in PASSES:
                tests.on_demand(kind, name)
        for kind, status in BY_ITSELF.items():
            tests.by_itself(kind, status)
        for change, what in BAD:
            tests.bad(change, what)
        tests.options()
        p = tests.run('none', 'replay', 'nowhere')
        tests.expect('a folder that is not there', p.returncode == 4, p)
        p = tests.run('none', 'convert', '-', '-o', 'z.air', '--reproducer=r')
        tests.expect('standard input', p.returncode == 1, p)
    print(f'{tests.passed} passed, {tests.failed} failed, 0 skipped')
    return tests.failed != 0


if __name__ == '__main__':
    sys.exit(main())
