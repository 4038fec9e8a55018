# SPDX-License-Identifier: Apache-2.0
"""Functions and variables at file scope of C files, found without a compiler.

Comments, strings and preprocessor lines are blanked first, in place, so that lines keep their
numbers; what then stands outside all braces is cut at ';' and '}' into declarations."""
import re

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                   r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)


class Function:
    def __init__(self, name, first, last, parameters):
        self.name, self.first, self.last = name, first, last
        self.parameters = parameters

    @property
    def lines(self):
        return self.last - self.first + 1


def blanked(text):
    """The text with comments, literals and directives made of blanks; lines stay where they are."""
    return BLANK.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def pieces(code):
    """(declaration text, its start, body start or None, end) of all that stands at file scope."""
    depth, start, body = 0, 0, None
    for i, c in enumerate(code):
        if c == '{':
            if depth == 0:
                body = i
            depth += 1
        elif c == '}':
            depth -= 1
            if depth == 0 and re.search(r'\)\s*$', code[start:body]) \
                    and '=' not in code[start:body]:
                yield code[start:body], start, body, i
                start, body = i + 1, None
        elif c == ';' and depth == 0:
            yield code[start:i], start, None, i
            start, body = i + 1, None


def arguments(declaration):
    """(name, number of parameters) of 'type name(parameters)'."""
    close = declaration.rstrip()
    depth, i = 0, len(close) - 1
    commas = 0
    while i >= 0:
        if close[i] == ')':
            depth += 1
        elif close[i] == '(':
            depth -= 1
            if depth == 0:
                break
        elif close[i] == ',' and depth == 1:
            commas += 1
        i -= 1
    inside = close[i + 1:-1].strip()
    name = re.search(r'(\w+)\s*$', close[:i])
    return (name.group(1) if name else ''), 0 if inside in ('', 'void') else commas + 1


def functions(text):
    code = blanked(text)
    for declaration, start, body, end in pieces(code):
        if body is None:
            continue
        name, count = arguments(declaration)
        first = start + len(declaration) - len(declaration.lstrip())
        yield Function(name, code.count('\n', 0, first) + 1, code.count('\n', 0, end) + 1, count)
