# SPDX-License-Identifier: Apache-2.0
"""Functions of C files, found without a compiler.

Comments, strings and preprocessor lines become blanks first, in place, so that lines keep their
numbers. What then stands outside all braces is cut at ';' and '}' into declarations; one that ends
in ')' and has a body is a function. Calls of macros that need no ';' may stand before it."""
import re

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                   r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)


class Function:
    """first, last: numbers of its lines; parameters: how many it has."""

    def __init__(self, name, first, last, parameters):
        self.name, self.first, self.last, self.parameters = name, first, last, parameters

    @property
    def lines(self):
        return self.last - self.first + 1


def blanked(text):
    return BLANK.sub(lambda found: re.sub(r'[^\n]', ' ', found.group(0)), text)


def bodies(code):
    """(start of the declaration, start of the body, end of the body) of each function."""
    depth = start = body = 0
    for i, c in enumerate(code):
        if c == '{':
            body = i if depth == 0 else body
            depth += 1
        elif c == '}':
            depth -= 1
            head = code[start:body]
            if depth == 0 and head.rstrip().endswith(')') and '=' not in head:
                yield start, body, i
                start = i + 1
        elif c == ';' and depth == 0:
            start = i + 1


def parameter_list(head):
    """(where the name before the last parentheses begins, what stands within these)"""
    close = len(head.rstrip()) - 1
    depth, i = 1, close
    while depth:
        i -= 1
        depth += {')': 1, '(': -1}.get(head[i], 0)
    return re.search(r'\w*\s*$', head[:i]).start(), head[i + 1:close]


def count_parameters(inside):
    if inside.strip() in ('', 'void'):
        return 0
    while re.search(r'\([^()]*\)', inside):  # commas of parameters that are functions
        inside = re.sub(r'\([^()]*\)', '', inside)
    return inside.count(',') + 1


def functions(text):
    code = blanked(text)
    for start, body, end in bodies(code):
        name_at, inside = parameter_list(code[start:body])
        name = re.match(r'\w*', code[start + name_at:]).group(0)
        first = code.count('\n', 0, start + name_at) + 1
        yield Function(name, first, code.count('\n', 0, end) + 1, count_parameters(inside))
