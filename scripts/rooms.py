#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of the program (scripts/rooms.tbl): who may include and call whom.

  rooms.py check ROOT STAMP DEPFILE   part of each build: a wrong include stops it
  rooms.py links BUILD                prints symbols that a room takes from one it may not use, and
                                      files of a room that need each other in a circle
  rooms.py documents write|check      the lists of files in the README of each room, and the table
                                      of rooms in ARCHITECTURE.md"""
import collections
import functools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'rooms.tbl')
LAYERS = ('frontend', 'passes', 'backend')  # which do not see each other
# Rooms whose files may call each other in circles, and why; no other room may begin to.
CIRCLES = {
    'ir': 'attributes hold tensors, tensors have types, and the module that keeps all three has '
          'ops with attributes: tables of one structure',
    'ir/infer': 'bodies of If, Loop and Scan are inferred by the driver that called their op',
    'ir/text': 'recursive descent: a graph has nodes, nodes have attributes, and an attribute may '
               'be a graph'}
MARKS = '<!-- files --> ... <!-- end -->'
MARKED = re.compile(r'(<!-- files -->\n).*?<!-- end -->', re.S)
COUNTS = re.compile(r'[\d,]+')  # of lines and includes: they may lag behind
MOST_WORDS = 150  # characters of what a list says of a file
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def rooms():
    """{folder: (what it is, where to start)} in the order of the table, lowest first."""
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
            if match.group(1).endswith('.tbl'):
                continue  # a table is data, not a call
            arrows[room, used] += room != used
            if not may_use(order, room, used):
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


@functools.cache
def symbols(build):
    """{room: {file without .c: (defined, undefined) names}} of the static libraries. nm starts once
    for all: a start costs more than a library."""
    room_of = {os.path.join(build, room, f'libtailor-{room.replace("/", "-")}.a'): room
               for room in rooms()}
    paths = [path for path in room_of if os.path.exists(path)]
    found = {room_of[path]: {} for path in paths}
    out = subprocess.run(['nm', '-PA', *paths], capture_output=True, text=True, check=True).stdout \
        if paths else ''
    for path, file, name, kind in re.findall(r'^(.*?)\[(.*)\.c\.o\]: (\S+) (\w)', out, re.M):
        defined, undefined = found[room_of[path]].setdefault(os.path.basename(file), (set(), set()))
        if kind in 'TRDBC':
            defined.add(name)
        elif kind == 'U':
            undefined.add(name)
    return found


def links(build):
    """Symbols that a room takes from one that it may not use."""
    table = rooms()
    order = {room: i for i, room in enumerate(table)}
    libraries = symbols(build)
    home = {name: room for room, files in libraries.items()
            for defined, _ in files.values() for name in defined}
    for room, files in libraries.items():
        for name in sorted(set().union(*(undefined for _, undefined in files.values()))):
            if name in home and not may_use(order, room, home[name]):
                yield f'{room}/ calls {name} of {home[name]}/, a room that it may not use'


def needs(root, room, files):
    """{file without suffix: those of its room that it includes or calls}; files: see symbols."""
    out = collections.defaultdict(set)
    home = {name: stem for stem, (defined, _) in files.items() for name in defined}
    for stem, (_, undefined) in files.items():
        out[stem] |= {home[name] for name in undefined if name in home}
    for path in sources(root, [room]):
        if os.path.dirname(path) == room:
            with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
                used = [included for included in INCLUDE.findall(f.read())
                        if os.path.dirname(included) == room and included.endswith('.h')]
            out[os.path.basename(path)[:-2]] |= {os.path.basename(name)[:-2] for name in used}
    return out


def circles(build, root):
    """Files of a room that need each other in a circle, but for the rooms of CIRCLES."""
    for room, files in symbols(build).items():
        if room in CIRCLES:
            continue
        left = {stem: used - {stem} for stem, used in needs(root, room, files).items()}
        while True:  # what needs nothing that is left, or is needed by nothing, is in no circle
            needed = set().union(*left.values()) if left else set()
            free = [stem for stem in left if not left[stem] & set(left) or stem not in needed]
            if not free:
                break
            for stem in free:
                del left[stem]
        if left:
            yield f'{room}/: the files {", ".join(sorted(left))} need each other in a circle'


def head(path):
    """First sentence of the comment that opens a file; '' when it has none."""
    with open(path, encoding='utf-8', errors='replace') as f:
        found = re.match(r'/\* SPDX[^\n]*\*/\n/\*(.*?)\*/', f.read(), re.S)
    words = re.sub(r'\s*\n \* ?', ' ', found.group(1)).strip() if found else ''
    sentence = re.split(r'(?<=[.])\s', words)[0].rstrip('.')
    if len(sentence) > MOST_WORDS:
        sentence = re.split(r'[:;] ', sentence)[0]
    return sentence.replace('|', '\\|').replace('*', '\\*')


def rows_of_files(root, room):
    """A file and its header are one row; the header says what they are."""
    paths = [path for path in sources(root, [room]) if os.path.dirname(path) == room]
    names = [os.path.basename(path) for path in paths]
    for stem in sorted({name[:-2] for name in names}):
        both = [stem + suffix for suffix in ('.h', '.c') if stem + suffix in names]
        said = [head(os.path.join(root, room, name)) for name in both]
        yield f"| {', '.join(f'`{name}`' for name in both)} | {next(filter(None, said), '')} |"


def readme(root, table, arrows, room):
    used = [f'`{to}`' for to in table if arrows[room, to]]
    out = ['Uses ' + (', '.join(used) or 'no other room') + '.', '', '| file | what it is |',
           '|---|---|', *rows_of_files(root, room)]
    return '\n'.join(out)


def architecture(root, table, arrows):
    out = ['| room | what it is | files | lines | uses (number of includes) |',
           '|---|---|---|---|---|']
    files, lines = collections.Counter(), collections.Counter()
    for path in sources(root, table):
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            lines[os.path.dirname(path)] += f.read().count('\n')
        files[os.path.dirname(path)] += 1
    for room, (what, _) in table.items():
        used = ', '.join(f'{to} {n}' for to in table for n in [arrows[room, to]] if n)
        link = f'[`{room}`]({room}/README.md)'
        out.append(f'| {link} | {what} | {files[room]} | {lines[room]:,} | {used} |')
    return '\n'.join(out)


def documents(root, mode):
    """Writes or compares what stands between the marks; names the documents that differ."""
    table = rooms()
    _, arrows = problems(root, table)
    texts = {f'{room}/README.md': readme(root, table, arrows, room) for room in table}
    texts['ARCHITECTURE.md'] = architecture(root, table, arrows)
    stale = []
    for path, made in texts.items():
        whole = os.path.join(root, path)
        if not os.path.exists(whole):
            stale.append(f'{path} is missing: each room of scripts/rooms.tbl has a README')
            continue
        with open(whole, encoding='utf-8') as f:
            text = f.read()
        new = MARKED.sub(lambda m: m.group(1) + made + '\n<!-- end -->', text)
        if new == text and made not in text:
            stale.append(f'{path} has no place for the list of files ({MARKS})')
        elif mode == 'check' and COUNTS.sub('', new) != COUNTS.sub('', text):
            stale.append(f"{path} is not current: run 'scripts/rooms.py documents write'")
        elif mode == 'write' and new != text:
            with open(whole, 'w', encoding='utf-8') as f:
                f.write(new)
    return stale


def main():
    if sys.argv[1:2] == ['check'] and len(sys.argv) == 5:
        check(*sys.argv[2:])
    elif sys.argv[1:2] == ['links'] and len(sys.argv) == 3:
        found = [*links(sys.argv[2]), *circles(sys.argv[2], os.path.dirname(HERE))]
        print('\n'.join(found))
        sys.exit(1 if found else 0)
    elif sys.argv[1:2] == ['documents'] and sys.argv[2:] in (['write'], ['check']):
        found = documents(os.path.dirname(HERE), sys.argv[2])
        print('\n'.join(found))
        sys.exit(1 if found else 0)
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
