# SPDX-License-Identifier: Apache-2.0
"""What scripts/new-pass, new-op and new-rule share: they write the files that a new thing needs, as
an example that builds and passes its tests, and say what to do next. Nothing that is there is
overwritten."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LICENCE = 'SPDX-License-Identifier: Apache-2.0'


def fail(message):
    sys.exit(f'{os.path.basename(sys.argv[0])}: error: {message}')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return f.read()


def write(path, text):
    with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as f:
        f.write(text)
    print(f'wrote {path}')


def create(path, text):
    if os.path.exists(os.path.join(ROOT, path)):
        fail(f'{path} is there already: take another name')
    os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
    write(path, text)


def add_to_meson(folder, name):
    """Adds a file to the sorted list of its folder."""
    path = f'{folder}/meson.build'
    lines = read(path).splitlines(keepends=True)
    kind = re.escape(os.path.splitext(name)[1])
    listed = [i for i, line in enumerate(lines) if re.fullmatch(rf"  '[\w/]+{kind}',\n", line)]
    if not listed:
        fail(f'{path} lists no such files')
    behind = [i for i in listed if lines[i].strip() < f"'{name}',"]
    lines.insert(behind[-1] + 1 if behind else listed[0], f"  '{name}',\n")
    write(path, ''.join(lines))


def next_steps(*steps):
    print('\nnext:')
    for number, step in enumerate(steps, 1):
        print(f'{number}. {step}')
