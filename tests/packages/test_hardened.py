#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hardened.py finds each thing that a program lacks; and the flags that -Dhardened=true of
meson.build gives make programs and libraries that lack nothing, with gcc and the flags as meson
writes them down for the compiler."""
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import hardened  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Copies into an array on the stack, of a length that nobody knows before.
COPY = """int copied%d(const char *s);
int copied%d(const char *s) { char room[64]; strcpy(room, s); return puts(room); }
"""
PROGRAM = ('#include <stdio.h>\n#include <string.h>\n' +
           ''.join(COPY.replace('%d', str(i)) for i in range(40)) +
           'int main(int argc, char **argv) { return copied7(argv[argc - 1]) < 0; }\n')
COMPILED = ['-O2', '-fPIE', '-fstack-protector-strong', '-fcf-protection', '-U_FORTIFY_SOURCE',
            '-D_FORTIFY_SOURCE=3']
LINKED = ['-pie', '-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack']
# what is put at the end of the command, what is then lacking
WITHOUT = {
    '-no-pie': 'fixed addresses',
    '-Wl,-z,execstack': 'executed',
    '-Wl,-z,norelro': 'can be written',
    '-Wl,-z,lazy': 'late',
    '-fno-stack-protector': 'no guard',
    '-U_FORTIFY_SOURCE': 'not checked',
    '-fcf-protection=none': 'not marked',
}


def compiled(folder, flags):
    source, program = os.path.join(folder, 'a.c'), os.path.join(folder, 'a')
    with open(source, 'w', encoding='utf-8') as f:
        f.write(PROGRAM)
    subprocess.run(['gcc', *flags, source, '-o', program], check=True)
    return program


def flags_of_meson(folder, kind='release'):
    """What a hardened build compiles the sources with, and links the command with."""
    build = os.path.join(folder, kind)
    subprocess.run(['meson', 'setup', build, '-Dhardened=true', '-Dtests=false',
                    f'-Dbuildtype={kind}'], cwd=ROOT, check=True, capture_output=True,
                   env={**os.environ, 'CC': 'gcc'})
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        command = next(e['command'] for e in json.load(f) if e['file'].endswith('support/arena.c'))
    with open(os.path.join(build, 'build.ninja'), encoding='utf-8') as f:
        text = f.read()
    link = re.search(r'build tools/tailor: c_LINKER.*?\n LINK_ARGS = (.*?)\n', text, re.S)[1]
    words = shlex.split(command) + shlex.split(link)
    return [w for w in words if w.startswith(('-f', '-U', '-D_FORTIFY', '-O', '-Wl,-z'))]


def cases(folder):
    yield 'all of it', not list(hardened.faults(compiled(folder, COMPILED + LINKED)))
    for flag, lack in WITHOUT.items():
        if flag.startswith('-fcf') and platform.machine() != 'x86_64':
            continue
        found = list(hardened.faults(compiled(folder, COMPILED + LINKED + [flag])))
        yield f'{flag}: {found}', [s for s in found if lack in s] == found != []
    flags = flags_of_meson(folder)
    yield f'meson: {flags}', not list(hardened.faults(compiled(folder, flags)))
    yield f'meson, fortified: {flags}', '-D_FORTIFY_SOURCE=3' in flags
    plain = flags_of_meson(folder, 'plain')  # as Debian builds
    yield f'meson, plain: {plain}', '-D_FORTIFY_SOURCE=3' in plain


def main():
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, good in cases(folder):
            passed, failed = passed + bool(good), failed + (not good)
            if not good:
                print(f'FAIL {name}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
