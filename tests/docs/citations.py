#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What documents and comments name is there: one test each over the tracked files.

  citations.py [FILE...]   (without FILE: all of them)

links      a link of a Markdown file leads to a file of the project, and its #anchor to a heading
paths      a path of the project in backticks in a document, or in a comment, is there. Words in
           capitals (NAME), <name>, * and {h,c} stand for any text
names      a file name alone (`passes.tbl`) is that of some file of the project
index      docs/README.md links to every page of docs/
commands   `tailor SUBCOMMAND --option` is a command with that option; an --option alone is one of
           some command, or of a script of the project"""
import argparse
import fnmatch
import io
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r'^( *)```(\w*)[^\n]*\n(.*?)^\1```', re.M | re.S)
LINK = re.compile(r'\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)?\]\(([^)\s]+)\)')
TICKS = re.compile(r'(?<!`)`([^`\n]+)`(?!`)')
CALL = re.compile(r'(?:^\s*|[;|(&]\s*|\$ )(?:[\w./]*/)?tailor +([a-z][\w-]*)([^\n;|#]*)', re.M)
CODE_NAME = re.compile(r'(?<![\w./<*-])([a-z]\w+\.(?:c|h|tbl|md))\b(?![./(])')
# Files that the build writes, and files of other programs that comments speak of.
GENERATED = re.compile(r'\b(?:build[\w-]*|tests/ort/node_modules)/')
FOREIGN = {'compile_commands.json', 'math.h', 'stdlib.h', 'string.h', 'stdio.h', 'cblas.h',
           'uthash.h', 'limits.h', 'model.c', 'x.c', 'y.c', 'a.c', 'b.c', 'cJSON.h'}
# Options of other programs that documents show.
OTHER_OPTIONS = {'ignore-scripts', 'no-audit', 'no-fund', 'prefix', 'cflags', 'libs', 'variable',
                 'build', 'soc', 'framework', 'model'}


def tracked():
    out = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                         cwd=ROOT, capture_output=True, check=True)
    return [f for f in out.stdout.decode().split('\0') if f and
            os.path.isfile(os.path.join(ROOT, f))]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as f:
        return f.read()


# They take every option of convert, as docs/options.md says.
DEBUGGERS = ['bisect', 'reduce', 'replay', 'precision-search', 'view']


class Project:
    """The files of the project, and the commands and options that its program has."""

    def __init__(self):
        self.files = tracked()
        self.folders = {os.path.dirname(f) for f in self.files}
        for folder in list(self.folders):
            while folder:
                folder = os.path.dirname(folder)
                self.folders.add(folder)
        self.names = {os.path.basename(f) for f in self.files}
        self.top = sorted({f.split('/')[0] for f in self.files if '/' in f} - {'.ci'})
        self.path = re.compile(r'(?<![\w./$}-])((?:' + '|'.join(map(re.escape, self.top)) +
                               r')/[\w./*{},<>-]*)')
        self.commands, self.options = self.read_options()
        self.script_options = set()
        for f in self.files:
            if f.startswith(('tests/', 'bench/', 'scripts/')) and (
                    f.endswith('.py') or '.' not in os.path.basename(f)):
                self.script_options.update(re.findall(r"'--([\w-]+)'", text_of(f)))

    @staticmethod
    def read_options():
        """{command: {option}} and every spelling of an option, of the tables and of the program."""
        commands = set(re.findall(r'^    \{"([\w-]+)", TL_COMMAND', text_of('tools/main.c'), re.M))
        options = {c: set() for c in commands}
        spellings = set()
        for row in re.findall(r'^\| (?:`-\w` )?`--([\w-]+)`(.*)$', text_of('docs/options.md'),
                              re.M):
            cells = re.split(r'(?<!\\)\|', row[1])
            takers = [c.strip() for c in cells[3].split(',')]
            takers += DEBUGGERS if 'convert' in takers else []
            keys = re.findall(r'`([^`]+)`', cells[4])
            for name in [row[0], *keys]:
                spellings.add(name.replace('_', '-'))
                for c in commands if takers == ['all'] else takers:
                    options[c].add(name.replace('_', '-'))
        for table in ('options', 'run_config'):
            for row in re.findall(r'^(?:OWN)\(\w+, "([\w-]+)", "([^"]+)"',
                                  text_of(f'frontend/config/{table}.tbl'), re.M):
                for alias in row[1].split():
                    spellings.add(alias)
                    for c in commands:
                        if row[0] in options[c]:
                            options[c].add(alias)
        letters = re.findall(r'^\| `-(\w)` ', text_of('docs/options.md'), re.M)
        spellings |= set(letters) | {'generate'}
        return options, spellings

    def has(self, path):
        """A path, whose words in capitals and * stand for any text."""
        path = path.rstrip('.,:;')
        if GENERATED.match(path):
            return True
        choices = [path]
        while any('{' in c for c in choices):
            choices = [c[:m.start()] + word + c[m.end():] for c in choices
                       for m in [re.search(r'\{([^{}]*)\}', c)] if m
                       for word in m.group(1).split(',')]
        return all(self.has_one(c) for c in choices)

    def has_one(self, path):
        folder = path.endswith('/')
        path = path.rstrip('/')
        pattern = re.sub(r'<[^<>]*>|(?<![A-Za-z0-9])[A-Z][A-Z_]+(?![a-z0-9])', '*', path)
        if pattern == path and '*' not in path:
            return path in self.folders or (not folder and os.path.exists(
                os.path.join(ROOT, path)))
        pool = self.folders if folder else [*self.files, *self.folders]
        return any(fnmatch.fnmatch(f, pattern) for f in pool)


def blanked(text, spans):
    """The text with what `spans` matches made blank; lines stay."""
    return spans.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    found = {}
    out = set()
    for title in re.findall(r'^#{1,6} +(.*?) *#*$', blanked(text, FENCE), re.M):
        title = re.sub(r'\[([^\]]*)\]\([^)]*\)|[`*]', r'\1', title)
        slug = re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
        n = found.get(slug, 0)
        found[slug] = n + 1
        out.add(f'{slug}-{n}' if n else slug)
    return out


def index(project, path, text):
    if path == 'docs/README.md':
        linked = set(LINK.findall(text))
        for f in project.files:
            if re.fullmatch(r'docs/[^/]+\.md', f) and f != path and f[5:] not in linked:
                yield 1, f'there is no link to {f}'


def line_of(text, at):
    return text.count('\n', 0, at) + 1


def links(project, path, text):
    plain = blanked(blanked(text, FENCE), TICKS)
    for m in LINK.finditer(plain):
        target, _, anchor = m.group(1).partition('#')
        if re.match(r'[a-z]+:', target):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(ROOT, to)):
            yield line_of(text, m.start()), f'the link leads to {to}, which is not there'
        elif anchor and to.endswith('.md') and anchor not in anchors(text_of(to)):
            yield line_of(text, m.start()), f'{to} has no heading #{anchor}'


def comments(path, text):
    """(line, text) of comments; of a Markdown file what is in backticks."""
    if path.endswith('.md'):
        for m in TICKS.finditer(blanked(text, FENCE)):
            yield line_of(text, m.start()), m.group(1)
        return
    if path.endswith('.py') or text.startswith('#!/usr/bin/python3'):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                yield token.start[0], token.string
        return
    if path.endswith(('.c', '.h', '.tbl', '.js')):
        pattern = r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*|^ *#(?!\w)[^\n]*'
    elif path.endswith(('.t', '.tir')):
        pattern = r'^#[^\n]*'
    else:
        pattern = r'"(?:[^"\\\n]|\\.)*"|#[^\n]*'
    for m in re.finditer(pattern, text, re.M | re.S):
        if not m.group(0).startswith('"'):
            yield line_of(text, m.start()), m.group(0)


def paths(project, path, text):
    for line, comment in comments(path, text):
        for found in project.path.findall(comment):
            if not project.has(found):
                yield line, f'{found.rstrip(".,:;")} is not there'


def names(project, path, text):
    written = set(re.findall(r'^`([^`\n]+)`:$', text, re.M))  # files that a document shows
    for line, comment in comments(path, text):
        for name in CODE_NAME.findall(comment):
            if name not in project.names and name not in written and name not in FOREIGN:
                yield line, f'no file is called {name}'


def calls(text):
    """(line, command line) of the program in a document."""
    for m in FENCE.finditer(text):
        body = re.sub(r'\\\n', '  ', m.group(3))
        for call in CALL.finditer(body):
            yield line_of(text, m.start(3)), call.group(1), call.group(2)
    for m in TICKS.finditer(blanked(text, FENCE)):
        call = re.match(r'(?:[\w./]*/)?tailor +([a-z][\w-]*)(.*)', m.group(1))
        if call:
            yield line_of(text, m.start()), call.group(1), call.group(2)


def commands(project, path, text):
    if not path.endswith('.md'):
        return
    for line, command, rest in calls(text):
        rest = re.sub(r'"[^"]*"|\'[^\']*\'', '""', rest)
        rest = re.split(r' -- ', rest)[0]  # what follows belongs to another program
        if command not in project.commands:
            yield line, f'tailor has no command {command}'
            continue
        for option in re.findall(r'(?<![\w=-])--([A-Za-z][\w.-]*)', rest):
            if option.replace('_', '-').rstrip('.') not in project.commands[command]:
                yield line, f'tailor {command} has no option --{option}'
    for m in TICKS.finditer(blanked(text, FENCE)):
        option = re.match(r'--([A-Za-z][\w.-]*)(?:$|[=\[ ])', m.group(1))
        if option and option.group(1).replace('_', '-') not in project.options and \
                option.group(1) not in project.script_options | OTHER_OPTIONS:
            yield line_of(text, m.start()), f'nothing has an option --{option.group(1)}'


# They name what is not there.
OWN = ('tests/docs/citations.py', 'tests/docs/test_citations.py')
CHECKS = {'links': links, 'index': index, 'paths': paths, 'names': names, 'commands': commands}
KINDS = ('.md', '.c', '.h', '.py', '.tlr', '.tbl', '.js', '.tir', '.t', 'meson.build',
         'meson_options.txt', 'Makefile')


def problems(files=None):
    """(check, what is wrong) of all files, or of those given."""
    project = Project()
    for path in files or project.files:
        text = text_of(path)
        if not (path.endswith(KINDS) or text.startswith('#!')) or path in OWN:
            continue
        for name, check in CHECKS.items():
            if name == 'links' and not path.endswith('.md'):
                continue
            for line, what in check(project, path, text):
                yield name, f'{path}:{line}: {what}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('files', nargs='*')
    failing = set()
    for name, what in problems(p.parse_args().files):
        failing.add(name)
        print(f'FAIL {name}: {what}')
    print(f'{len(CHECKS) - len(failing)} passed, {len(failing)} failed, 0 skipped')
    return 1 if failing else 0


if __name__ == '__main__':
    sys.exit(main())
