#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py finds a mistake of each kind that is planted in a program of its own, takes what is
justified and no more, and looks at what was changed."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import run  # noqa: E402

SOUND = 'int sound(int a);\nint sound(int a) { return a + 1; }\n'
# tool: (check, a function that it must object to)
PLANTED = {
    'clang-tidy': ('bugprone-misplaced-operator-in-strlen-in-alloc', '''#include <stdlib.h>
#include <string.h>
char *planted(const char *s);
char *planted(const char *s) { return malloc(strlen(s + 1)); }
'''),
    'cppcheck': ('arrayIndexOutOfBounds', '''int planted(void);
int planted(void) { int a[4] = {0}; return a[4]; }
'''),
    'gcc': ('-Wanalyzer-double-free', '''#include <stdlib.h>
void planted(void *p, int n);
void planted(void *p, int n) { if (n) free(p); free(p); }
'''),
    'scan-build': ('core.NullDereference', '''#include <stddef.h>
int planted(int n);
int planted(int n) { int *p = n > 3 ? &n : NULL; if (n < 2) return *p; return 0; }
'''),
}


class Program:
    """A folder with a repository, one file, and what meson would say of it."""

    def __init__(self, folder, text):
        self.folder = folder
        shutil.copy(os.path.join(run.ROOT, '.clang-tidy'), folder)
        self.justify()
        self.write('lib/a.c', SOUND)
        self.git('init', '-q')
        self.git('add', '.')
        self.git('commit', '-qm', 'sound')
        self.write('lib/b.c', text)
        self.git('add', '.')
        entries = [{'directory': folder, 'file': f'lib/{name}.c',
                    'command': f'cc -std=c11 -DNDEBUG -O3 -c lib/{name}.c -o {name}.o'}
                   for name in 'ab']
        self.write('compile_commands.json', json.dumps(entries))

    def git(self, *words):
        who = ['-c', 'user.name=nobody', '-c', 'user.email=nobody@example.org']
        subprocess.run(['git', *who, *words], cwd=self.folder, check=True, capture_output=True)

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)

    def justify(self, *rows):
        self.write('justified.tsv', ''.join('\t'.join(row) + '\n' for row in rows))

    def said(self, *options):
        """(exit code, text) of run.py."""
        argv, sys.argv = sys.argv, ['run.py', '--build', self.folder, '--justified',
                                    os.path.join(self.folder, 'justified.tsv'), *options]
        home, run.ROOT = run.ROOT, self.folder
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                code = run.main()
        except SystemExit as refused:
            code = str(refused.code)
        finally:
            sys.argv, run.ROOT = argv, home
        return code, out.getvalue()


def tool_cases(tool, check, text):
    with tempfile.TemporaryDirectory() as folder:
        program = Program(folder, text)
        only = ['--tools', tool]
        code, said = program.said(*only)
        yield 'found', code == 1 and f'[{tool}: {check}]' in said and 'FAIL lib/b.c:' in said
        yield 'nothing in sound code', 'lib/a.c' not in said
        program.justify((tool, check, 'lib/b.c', 'planted(', 'it is planted'))
        yield 'justified', program.said(*only)[0] == 0
        program.justify((tool, check, 'lib/*.c', 'planted(', 'it is planted'))
        yield 'justified in several files', program.said(*only)[0] == 0
        program.justify((tool, check, 'lib/a.c', 'planted(', 'of another file'))
        code, said = program.said(*only)
        yield 'of another file', code == 1 and 'FAIL lib/b.c' in said and 'explains nothing' in said
        program.write('lib/b.c', SOUND)
        code, said = program.said(*only)
        yield 'mended', code == 1 and 'FAIL lib' not in said and 'explains nothing' in said
        program.write('lib/b.c', 'int broken(\n')
        program.justify()
        yield 'what does not compile', tool == 'cppcheck' or program.said(*only)[0] == 1


def changed_cases():
    with tempfile.TemporaryDirectory() as folder:
        program = Program(folder, PLANTED['cppcheck'][1])
        only = ['--tools', 'cppcheck', '--changed', 'HEAD']
        code, said = program.said(*only)
        yield 'changed', code == 1 and 'FAIL lib/b.c' in said and '1 files, ' in said
        code, said = program.said(*only, '--seconds', '0')
        yield 'no time', code == 0 and '1 files left out' in said
        program.git('commit', '-qm', 'b')
        code, said = program.said(*only)
        yield 'nothing changed', code == 0 and '0 files, ' in said
        program.write('lib/b.h', 'int planted(void);\n')
        program.git('add', '.')
        code, said = program.said(*only)
        yield 'a header', code == 1 and 'FAIL lib/b.c' in said
        code, said = program.said('--tools', 'cppcheck', '--changed', 'no-such-commit')
        yield 'no such commit', code == 0 and 'skipped' in said
        program.justify(('cppcheck', 'x', 'lib/b.c', 'planted('))
        yield 'no reason', 'five columns' in str(program.said(*only)[0])


def main():
    counts = [0, 0, 0]
    named = [(tool, tool_cases(tool, *PLANTED[tool])) for tool in run.TOOLS]
    for tool, cases in named + [('cppcheck', changed_cases())]:
        if not shutil.which(run.PROGRAMS.get(tool, tool)):
            print(f'skipped: {tool} is not installed')
            counts[2] += 1
            continue
        for name, good in cases:
            counts[not good] += 1
            if not good:
                print(f'FAIL {tool}: {name}')
    print('{} passed, {} failed, {} skipped'.format(*counts))
    return 1 if counts[1] else 0


if __name__ == '__main__':
    sys.exit(main())
