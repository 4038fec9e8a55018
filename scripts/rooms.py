#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of the program (scripts/rooms.tbl): who may include and call whom.

  rooms.py check ROOT STAMP DEPFILE   part of each build: a wrong include stops it
  rooms.py links BUILD                prints symbols that a room takes from one it may not use
  rooms.py table                      prints the table of ARCHITECTURE.md"""
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'rooms.tbl')
LAYERS = ('frontend', 'passes', 'backend')  # which do not see each other
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def rooms():
    """{folder: (what it is, where to start)} in the order of the table."""
    out = collections.OrderedDict()
    with open(TABLE, encoding='utf-8') as f:
        for line in f:
            cells = [c.strip() for c in line.split('|')]
            if len(cells) == 3 and not line.startswith('#'):
                out[cells[0]] = cells[1:]
    return out


def sources(root, table):
    """Paths of C files and headers below the folders of the table, relative to root."""
    for top in sorted({room.split('/')[0] for room in table}):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(('.c', '.h')):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, '/')


def may_use(order, user, used):
    layers = user.split('/')[0], used.split('/')[0]
    if layers[0] != layers[1] and all(layer in LAYERS for layer in layers):
        return False
    return order[used] <= order[user]


def problems(root, table):
    """What breaks the table, one sentence each, and the number of includes from room to room."""
    order = {room: i for i, room in enumerate(table)}
    found, arrows = [], collections.Counter()
    for path in sources(root, table):
        room = os.path.dirname(path)
        if room not in table:
            found.append(f'{path}: error: {room}/ is no room; add it to scripts/rooms.tbl')
            continue
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            text = f.read()
        for match in INCLUDE.finditer(text):
            used = os.path.dirname(match.group(1))
            line = text.count('\n', 0, match.start(1)) + 1
            if used not in table:
                if '/' in match.group(1):
                    found.append(f'{path}:{line}: error: {used}/ is no room')
                continue
            arrows[room, used] += room != used
            if not match.group(1).endswith('.tbl') and not may_use(order, room, used):
                found.append(f'{path}:{line}: error: {room}/ may not use {used}/ '
                             '(scripts/rooms.tbl lists what stands below it)')
    return found, arrows


def check(root, stamp, depfile):
    table = rooms()
    found, _ = problems(root, table)
    if found:
        sys.exit('\n'.join(found))
    with open(stamp, 'w', encoding='utf-8') as f:
        f.write('/* Written when every include points down (scripts/rooms.py). */\n')
    with open(depfile, 'w', encoding='utf-8') as f:
        paths = [os.path.join(root, path).replace(' ', '\\ ') for path in sources(root, table)]
        f.write(f'{stamp}: {TABLE} ' + ' '.join(paths) + '\n')


def symbols(archive):
    """(defined, undefined) names of a static library."""
    out = subprocess.run(['nm', '-P', archive], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    rows = [row for row in rows if len(row) >= 2 and len(row[1]) == 1]
    defined = {row[0] for row in rows if row[1] in 'TRDBC'}
    return defined, {row[0] for row in rows if row[1] == 'U'}


def archives(build, table):
    for room in table:
        path = os.path.join(build, room, 'libtailor-' + room.replace('/', '-') + '.a')
        if os.path.exists(path):
            yield room, symbols(path)


def links(build):
    """Symbols that a room takes from one that it may not use."""
    table = rooms()
    order = {room: i for i, room in enumerate(table)}
    libraries = dict(archives(build, table))
    home = {name: room for room, (defined, _) in libraries.items() for name in defined}
    for room, (_, undefined) in libraries.items():
        for name in sorted(undefined):
            if name in home and not may_use(order, room, home[name]):
                yield f'{room}/ calls {name} of {home[name]}/, a room that it may not use'


def print_table(root):
    table = rooms()
    _, arrows = problems(root, table)
    print('| room | what it is | start at | files | lines | uses (number of includes) |')
    print('|---|---|---|---|---|---|')
    files, lines = collections.Counter(), collections.Counter()
    for path in sources(root, table):
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            lines[os.path.dirname(path)] += f.read().count('\n')
        files[os.path.dirname(path)] += 1
    for room, (what, start) in table.items():
        used = ', '.join(f'{to} {n}' for to in table for n in [arrows[room, to]] if n)
        print(f'| `{room}` | {what} | `{start}` | {files[room]} | {lines[room]} | {used} |')


def main():
    if sys.argv[1:2] == ['check'] and len(sys.argv) == 5:
        check(*sys.argv[2:])
    elif sys.argv[1:2] == ['links'] and len(sys.argv) == 3:
        found = list(links(sys.argv[2]))
        print('\n'.join(found))
        sys.exit(1 if found else 0)
    elif sys.argv[1:] == ['table']:
        print_table(os.path.dirname(HERE))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
