# SPDX-License-Identifier: Apache-2.0
"""Makes a configured build compile several files of a room at once. Most of the time that a short
file takes is the start of the compiler and the headers: joined, the build takes three quarters of
the time. Files are joined if they share no name of their own (a static function, a macro, a type).
The sources stay as they are. Names of the library begin with tl_, those of static functions do not,
so that a name which is overlooked here is an error of the compiler.

The build stays joined until some meson.build changes: then meson writes build.ninja anew."""
import collections
import fnmatch
import os
import re
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
SEPARATE = '.separate'  # what meson wrote
MOST = 8  # files that are compiled at once: enough units must be left for all cores
EDGE = re.compile(r'^build (\S+/)([^/ ]+\.c\.o): c_COMPILER (\S+\.c)((?: \|\|? .*)?)\n'
                  r' DEPFILE = .*\n DEPFILE_UNQUOTED = .*\n ARGS = (.*)\n\n', re.M)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)', re.M)
DIRECTIVE = re.compile(r'^[ \t]*#(?:.*\\\n)*.*$', re.M)
OF_MACRO = re.compile(r'^(?!TL_)[A-Z][A-Z0-9_]*\(', re.M)
TYPE = re.compile(r'(?:typedef\s+)?(?:struct|enum|union)\s+(\w+)\s*\{')
File = collections.namedtuple('File', 'object source order args')


def outside(code):
    """(code outside braces, where those are '{}', and the insides of enums)"""
    depth, kept, enums, in_enum = 0, [], [], False
    for part in re.findall(r'[{}]|[^{}]+', code):
        if part == '{':
            if depth == 0:
                in_enum = bool(re.search(r'\benum\b\s*\w*\s*$', kept[-1] if kept else ''))
                kept.append('{')
            depth += 1
        elif part == '}':
            depth -= 1
            if depth == 0:
                kept.append('}\n')
        elif depth == 0:
            kept.append(part)
        elif in_enum and depth == 1:
            enums.append(part)
    return ''.join(kept), ','.join(enums)


def declared(statement):
    """Names that a statement outside functions gives to this file alone."""
    statement = statement.strip()
    tag = TYPE.match(statement)
    if tag:
        yield tag[1]
    if statement.startswith('typedef'):
        yield re.findall(r'\w+', statement)[-1]
    elif statement.startswith('TL_'):  # TL_VEC and others make functions of names they are given
        yield from re.findall(r'\w+', statement)[1:]
    elif statement.startswith('static'):
        head = re.split(r'[=\[{]', statement)[0]
        function = re.search(r'(\w+)\s*\(', head)
        yield function[1] if function else re.findall(r'\w+', head)[-1]


def own_names(text):
    """(macros, other names) of a file that another must not have as well, in one unit."""
    code = NOT_CODE.sub(lambda m: ' ' if m[0].startswith('/') else '""', text)
    macros = set(MACRO.findall(code))
    top, enums = outside(DIRECTIVE.sub('', code))
    names = set(re.findall(r'(\w+)\s*(?:=[^,]*)?(?:,|\s*$)', enums))
    for statement in re.split(r';|(?<=\})\n', top):
        names.update(declared(statement))
    return macros, names


def covered_patterns():
    with open(os.path.join(HERE, 'fuzz', 'covered.txt'), encoding='utf-8') as f:
        return [line[4:].strip() for line in f if line.startswith('src:')]


def units_of(files, texts):
    """Lists of files without common names, each as long as may be."""
    units = []
    own = {f: set.union(*own_names(texts[f])) for f in files}
    for f in sorted(files, key=lambda f: (-len(own[f]), f.source)):
        for unit, taken in units:
            if len(unit) < MOST and not taken & own[f]:
                break
        else:
            unit, taken = [], set()
            units.append((unit, taken))
        unit.append(f)
        taken |= own[f]
    return [unit for unit, _ in units]


def write_unit(folder, path, unit, texts):
    """A file that includes those of a unit. A macro of one must mean nothing in the next."""
    lines = []
    for f in unit:
        up = os.path.relpath('.', os.path.dirname(path))
        lines.append(f'#include "{up}/{f.source}"')
        lines += [f'#undef {macro}' for macro in sorted(own_names(texts[f])[0])]
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as out:
        out.write('\n'.join(lines) + '\n')


def edge(path, unit):
    """What ninja reads about a unit."""
    order = sorted({word for f in unit for word in f.order.split() if not word.startswith('|')})
    after = ' || ' + ' '.join(order) if order else ''
    return (f'build {path}.o: c_COMPILER {path}{after}\n DEPFILE = {path}.o.d\n'
            f' DEPFILE_UNQUOTED = {path}.o.d\n ARGS = {unit[0].args} -Wno-shadow\n\n')


def users_of_objects(text):
    """What each object is part of: a library, a program, or several."""
    users = collections.defaultdict(list)
    for line in re.findall(r'^build .*', text, re.M):
        made, _, words = line.partition(': ')
        for word in words.split():
            if word.endswith('.o'):
                users[word].append(made)
    return users


def candidates(folder, text):
    """Files by what must be the same in a unit: folders of objects and sources, arguments, what
    is made of the object, whether fuzzing counts what of it is covered. And their texts. A file
    with statements of its own macros may have any names, and stays alone."""
    files, texts, patterns = collections.defaultdict(list), {}, covered_patterns()
    users = users_of_objects(text)
    for where, name, source, order, args in EDGE.findall(text):
        path = os.path.join(folder, source)
        if os.path.exists(path) and '| ' not in order.replace('|| ', ''):
            f = File(where + name, source, order, args)
            with open(path, encoding='utf-8') as src:
                texts[f] = src.read()
            if OF_MACRO.search(outside(NOT_CODE.sub('', texts[f]))[0]):
                continue
            covered = any(fnmatch.fnmatch(source, p) for p in patterns)
            key = where, os.path.dirname(source), args, tuple(users[f.object]), covered
            files[key].append(f)
    return files, texts


def unoptimized(text, optimized):
    """build.ninja in which files that match none of the patterns are compiled with -O0."""
    def edge_of(m):
        keep = any(fnmatch.fnmatch(m[3], f'../../{pattern}') for pattern in optimized)
        return m[0] if keep else re.sub(r'(?<= )-O\d(?= )', '-O0', m[0])
    return EDGE.sub(edge_of, text)


def join(folder, optimized):
    """Rewrites the build.ninja that meson has written into a folder; see unoptimized."""
    ninja = os.path.join(folder, 'build.ninja')
    with open(ninja, encoding='utf-8') as f:
        text = unoptimized(f.read(), optimized)
    shutil.copyfile(ninja, ninja + SEPARATE)
    unit_of, edges, n = {}, [], 0
    groups, texts = candidates(folder, text)
    for (where, *_, covered), files in groups.items():
        for unit in units_of(files, texts):
            if len(unit) == 1:
                continue
            path = f'{where}{"covered" if covered else "joined"}_{n}.c'
            n += 1
            write_unit(folder, path, unit, texts)
            edges.append(edge(path, unit))
            unit_of.update((f.object, path + '.o') for f in unit)
    text = EDGE.sub(lambda m: '' if m[1] + m[2] in unit_of else m[0], text)
    units = set(unit_of.values())
    lines = [joined_line(line, unit_of, units) for line in text.split('\n')]
    with open(ninja, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n' + ''.join(edges))


def separate(folder):
    """Takes back what `join` did; False if nothing was joined."""
    ninja = os.path.join(folder, 'build.ninja')
    if not os.path.exists(ninja + SEPARATE):
        return False
    os.replace(ninja + SEPARATE, ninja)
    return True


def joined_line(line, unit_of, units):
    """A line in which units, each once, stand for the objects of their files."""
    if not line.startswith('build ') or '.c.o' not in line:
        return line
    words, kept = [unit_of.get(word, word) for word in line.split(' ')], []
    for word in words:
        if word not in units or word not in kept:
            kept.append(word)
    return ' '.join(kept)
