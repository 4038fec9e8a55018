# SPDX-License-Identifier: Apache-2.0
"""Files of golden tests: reading and writing their cases.

A file opens with comment lines: '# RUN: opt ARGS', perhaps '# FAIL: text' and '# LIKE: FILE', and
what the test is about. Then come cases, with lines '// -----' between them. A case is

  a comment, if it needs one
  a module, or edits of the first module of the file (with LIKE: of that file)
  ----
  what the command prints, or edits of what that first case expects

'---- same' with nothing below says that the command changes nothing: it prints what the pass
infer-shapes alone prints, where the command runs that pass too, or else the module. A line
'// ----- same' begins a list of such cases, one behind the other, each a comment and its edits.

An edit is a line 'OLD => NEW': every OLD of the text becomes NEW. The mark \\n in them is a line
end; blanks at both ends of a line do not count. Edits hold one after the other."""
import difflib
import glob
import os
import re

BETWEEN = re.compile(r'^// -----( same)?\n', re.M)
EXPECTED = re.compile(r'^----( same)?\n', re.M)
WHOLE = re.compile(r'\s*(module|graph)\b(?!.* =>)')
# A type is one word, in the first way to cut a line, or several.
WORDS = (re.compile(r'\w+\[[\w,?]*\]|%[\w/.]+|[\w.+-]+|\s+|.'),
         re.compile(r'%[\w/.]+|[\w.]+|\s+|.'))
SAYS = re.compile(r'[A-Za-z%]')
PART = re.compile(r'\.\d+\.tir')
MAX_LINES = 40
MAX_BYTES = 1 << 20


class Bad(Exception):
    """What is wrong with a file."""


class Case:
    """about: its comment lines; after: what is expected, or None; same: nothing may change.

    Of a case that was read: before is what stands above '----', and edited tells that after is made
    by edits, so that indents in it mean nothing."""

    def __init__(self, about, module, after=None, same=False, before=None):
        self.about, self.module, self.after, self.same = about, module, after, same
        self.before, self.edited = before, False


class File:
    def __init__(self, path, head, base, cases):
        self.path, self.head, self.base, self.cases = path, head, base, cases
        lines = [line[1:].strip().partition(':') for line in head.splitlines()]
        said = [(word, rest.strip()) for word, _, rest in lines]
        self.run = next((rest for word, rest in said if word == 'RUN'), None)
        self.fails = [rest for word, rest in said if word == 'FAIL']

    @property
    def first(self):
        """The case that edits start from."""
        return self.base or self.cases[0]


def plain(text):
    """Lines without the blanks around them, and without empty ones."""
    return '\n'.join(s.strip() for s in text.splitlines() if s.strip())


def edited(text, edits):
    """The text after edits [(old, new)]; its lines keep their indents, new ones have none."""
    for old, new in edits:
        pattern = r'\s*\n\s*'.join(re.escape(part.strip()) for part in old.split('\n'))
        text, count = re.subn(pattern, lambda _, new=new: new, text)
        if not count:
            raise Bad(f'"{old}" does not occur in what is edited')
        if len(text) > MAX_BYTES:
            raise Bad(f'"{old} => {new}" makes a text of more than {MAX_BYTES} bytes')
    return re.sub(r'\n(\s*\n)+', '\n', text)


def parts_of(path):
    """The files of one test: path, and 2, 3, ... that go on with it, <stem>.2.tir and so on."""
    more = [name for name in glob.glob(glob.escape(path[:-len('.tir')]) + '.*.tir')
            if PART.fullmatch(name[len(path) - len('.tir'):])]
    return [path] + sorted(more, key=lambda name: (len(name), name))


def split_comment(text):
    """(comment lines, the rest)"""
    found = re.match(r'(?:#.*\n|[ \t]*\n)*', text)
    return found.group(0), text[found.end():]


def read_edits(text):
    edits = []
    for line in filter(str.strip, text.splitlines()):
        old, arrow, new = line.partition(' =>')
        if not arrow:
            raise Bad(f'neither a module nor an edit: {line}')
        edits.append((old.strip().replace('\\n', '\n'), new.strip().replace('\\n', '\n')))
    return edits


def resolved(text, base):
    """A text that is written out, or the edits of another."""
    if WHOLE.match(text):
        return text
    if base is None:
        raise Bad('nothing stands before it that it could edit')
    return edited(base, read_edits(text))


def listed(text, base):
    """Cases of a list '// ----- same'."""
    for found in re.finditer(r'((?:#.*\n)+)((?:(?!#).*\n?)*)', text):
        yield Case(found.group(1), edited(base.module, read_edits(found.group(2))), None, True,
                   found.group(0))


def read_case(text, base):
    about, rest = split_comment(text)
    mark = EXPECTED.search(rest)
    before, after = (rest[:mark.start()], rest[mark.end():]) if mark else (rest, None)
    case = Case(about, resolved(before, base and base.module), before=about + before)
    case.same = bool(mark and mark.group(1))
    if after is not None and not case.same:
        case.edited = bool(base) and not WHOLE.match(after)
        case.after = resolved(after, base.after) if case.edited else after
    return case


def read(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    head, rest = split_comment(text)
    like = re.search(r'^# LIKE: (.*)', head, re.M)
    try:
        base = like and read(os.path.join(os.path.dirname(path), like.group(1).strip())).cases[0]
        parts = BETWEEN.split(rest)
        file = File(path, head, base, [])
        for kind, part in zip([None] + parts[1::2], parts[0::2]):
            first = base or (file.cases[0] if file.cases else None)
            if base and not part.strip():  # a list of changes to the other file, nothing else
                continue
            file.cases += listed(part, first) if kind else [read_case(part, first)]
    except Bad as problem:
        raise Bad(f'{path}: {problem}') from problem
    return file


# ---- writing -------------------------------------------------------------------------------------


def differences(a, b):
    """(i, j, k, m): words i..j of one line stand for words k..m of the other."""
    for kind, *place in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != 'equal':
            yield place


def repeated(a, b):
    """What differs between two lines of words, widened until it says something."""
    for i, j, k, m in differences(a, b):
        while i > 0 and not SAYS.search(''.join(a[i:j])):
            i, k = i - 1, k - 1
        yield ''.join(a[i:j]).strip(), ''.join(b[k:m]).strip()


def single(text, a, b):
    """What differs between two lines of words, widened until the text has it but once."""
    for i, j, k, m in differences(a, b):
        first, last = i, j
        while not SAYS.search(''.join(a[first:last])) or \
                text.count(''.join(a[first:last]).strip()) > 1:
            if first > 0 and (i - first <= last - j or last == len(a)):
                first -= 1
            elif last < len(a):
                last += 1
            else:
                break
        yield (''.join(a[first:last]).strip(),
               ''.join(a[first:i] + b[k:m] + a[j:last]).strip())


def line_edit(a, i, j, lines):
    """Lines i..j of a become others; an edit that also fits elsewhere takes in the line above."""
    text = '\n'.join(a)
    if i == j:
        i -= 1
        lines = [a[i]] + lines
    while i > 0 and text.count('\n'.join(a[i:j])) > 1:
        i -= 1
        lines = [a[i]] + lines
    return '\n'.join(a[i:j]), '\n'.join(lines)


def blocks(a, b):
    """(i, j, lines): lines i..j of a become others."""
    for kind, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == 'replace' and j - i == m - k:
            yield from ((i + n, i + n + 1, [b[k + n]]) for n in range(j - i))
        elif kind != 'equal':
            yield i, j, b[k:m]


def ways(a, b):
    """Lists of edits that may lead from lines a to lines b, the most readable first."""
    changes, text = list(blocks(a, b)), '\n'.join(a)
    for cut in WORDS:
        for within in (repeated, lambda x, y: single(text, x, y)):
            edits = []
            for i, j, lines in changes:
                if j - i == len(lines) == 1:
                    edits += within(cut.findall(a[i]), cut.findall(lines[0]))
                else:
                    edits.append(line_edit(a, i, j, lines))
            yield list(dict.fromkeys(edits))
    yield [line_edit(a, i, j, lines) for i, j, lines in changes]


def edits_between(old, new):
    """The shortest list of edits found that makes new of old, or None."""
    a, b = plain(old).split('\n'), plain(new).split('\n')
    found = []
    for edits in ways(a, b):
        if any(not o or ' =>' in o or '\\n' in o + n for o, n in edits):
            continue
        try:
            if plain(edited(old, edits)) == '\n'.join(b):
                found.append(edits)
        except Bad:
            pass
    return min(found, key=len, default=None)


def edit_lines(edits):
    return ''.join(f'{old} => {new}'.replace('\n', '\\n').rstrip() + '\n' for old, new in edits)


def shorter(text, base):
    """The text itself, or its edits of another if these are at most half as long."""
    edits = base and edits_between(base, text)
    if edits is None or not base:
        return text
    brief = edit_lines(edits)
    few = brief.count('\n') * 2 <= text.count('\n') and len(brief) * 2 <= len(text)
    return brief if few else text


def text_of(case, base):
    """A case without the line that divides it from others; base: the case it may edit. One that was
    read stays as it is written, but for what is expected."""
    base = None if base is case else base
    before = case.before or case.about + shorter(case.module, base and base.module)
    if case.same:
        return f'{before}---- same\n'
    if case.after is None:
        return before
    brief = base and (case.edited or not case.before)
    return f'{before}----\n{shorter(case.after, base.after) if brief else case.after}'


def listing(case, base):
    """The case as an entry of a list, or None."""
    if not case.same or case is base or not case.about or \
            WHOLE.match(split_comment(case.before or '')[1]):
        return None
    if case.before:
        return case.before
    edits = edits_between(base.module, case.module)
    return case.about + edit_lines(edits) if edits is not None else None


def write(file):
    with open(file.path, 'w', encoding='utf-8') as f:
        f.write(whole(file.head, file.base, file.cases))


def whole(head, base, cases):
    """The text of a file: cases that nothing changes stand in a list at its end."""
    first = base or cases[0]
    entries = [listing(case, first) for case in cases]
    texts = [text_of(case, first) for case, entry in zip(cases, entries) if entry is None]
    brief = [entry for entry in entries if entry is not None]
    return head + '// -----\n'.join(texts) + ('// ----- same\n' if brief else '') + ''.join(brief)
