#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with a short key of everything the program is made of: C, tables, rules, schemas
and build files of all rooms. Two builds with one key write the same bytes for the same input and
options, so that a cache may use it; any change of a source changes it.

  source-key.py ROOT HEADER DEPFILE"""
import hashlib
import os
import sys

sys.dont_write_bytecode = True
import rooms  # noqa: E402

SUFFIXES = ('.c', '.h', '.tbl', '.tlr', '.tsv', '.proto', '.html', '.js', '.css', '.json', '.py',
            'meson.build')


def sources(root):
    """Paths below the folders of the rooms, relative to root, in a fixed order."""
    for top in sorted({room.split('/')[0] for room in rooms.rooms()} | {'scripts'}):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    yield path.replace(os.sep, '/')


def main():
    root, header, depfile = sys.argv[1:]
    digest, paths = hashlib.sha256(), ['meson.build', *sources(root)]
    for path in paths:
        with open(os.path.join(root, path), 'rb') as f:
            data = f.read()
        digest.update(f'{path}\n{len(data)}\n'.encode() + data)
    with open(header, 'w', encoding='utf-8') as f:
        f.write(f'#define TL_SOURCE_KEY "{digest.hexdigest()[:16]}"\n')
    with open(depfile, 'w', encoding='utf-8') as f:
        found = ' '.join(os.path.join(root, path).replace(' ', '\\ ') for path in paths)
        f.write(f'{header}: {found}\n')


if __name__ == '__main__':
    main()
