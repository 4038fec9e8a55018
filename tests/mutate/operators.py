# SPDX-License-Identifier: Apache-2.0
"""Operators of mutation: each finds places in a C file and says what to write there. A place is
(operator, first, end, text): source[first:end] becomes text."""
import re

# What follows one of these is no code that runs, or says only what people read.
SKIPPED = re.compile(r'^\s*(#|_Static_assert|typedef|static const|enum|extern|TL_VEC)|'
                     r'TL_ASSERT_ROWS|tl_pass_remark|tl_buf_printf|tl_warn|tl_fail')
OPERAND = r'[A-Za-z_][\w.]*(?:->[\w.]+)*(?:\[[\w.>-]+\])?'
RELATIONS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
STATEMENT = re.compile(r'^[ \t]+((?:[\w.\[\]*()&>+-]+ )?(?:[|&+*-]?=(?!=) )?[^{}\n]*;)$', re.M)
KEPT = re.compile(r'^(return|goto|else|if|for|while|do|case|default|typedef|struct|static|const|'
                  r'extern|\(void\)|TL_TRY)\b|^\(void\)')
DECLARATION = re.compile(r'^[A-Za-z_][\w]*(?: [A-Za-z_]\w*)* \**[A-Za-z_]\w*(\[[^\]]*\])?( =|;|,)')


def blanked(source):
    """The source with comments, strings and characters as blanks: the same length."""
    def blank(m):
        return re.sub(r'[^\n]', ' ', m.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, source,
                  flags=re.S)


def closing(text, at):
    """The place behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0:
            return i + 1
    return len(text)


def negated_conditions(source, text):
    for m in re.finditer(r'\b(?:if|while) \(', text):
        first, end = m.end() - 1, closing(text, m.end() - 1)
        yield 'negate condition', first, end, f'(!{source[first:end]})'
    for m in re.finditer(r'(?<= )(&&|\|\|)(?= |\n)', text):
        yield 'negate condition', m.start(), m.end(), '||' if m.group() == '&&' else '&&'
    for m in re.finditer(r'(?<= )(==|!=)(?= )', text):
        yield 'negate condition', m.start(), m.end(), RELATIONS[m.group()]
    for m in re.finditer(r'\breturn (!?)([a-z][^;\n{}?]*);', text):
        if '(' in m.group(2) or '=' in m.group(2) or m.group(1):
            yield 'negate condition', m.start(2), m.end(2), f'!({source[m.start(2):m.end(2)]})'


def off_by_one(source, text):
    for m in re.finditer(r'(?<= )(<=?|>=?)(?= )', text):
        yield 'off by one', m.start(), m.end(), RELATIONS[m.group()]
    for m in re.finditer(r'(?<= )([+-]) (\d+)(u?)\b', text):
        yield 'off by one', m.start(), m.end(), f'{m.group(1)} {int(m.group(2)) + 1}{m.group(3)}'


def swapped_operands(source, text):
    for m in re.finditer(rf'({OPERAND}) ([-/<>]|<=|>=|<<|>>) ({OPERAND})(?=[ ;),])', text):
        yield 'swap operands', m.start(), m.end(), f'{m.group(3)} {m.group(2)} {m.group(1)}'
    for m in re.finditer(rf'\b[a-z_]\w*\(({OPERAND}), ({OPERAND})\)', text):
        yield 'swap operands', m.start(1), m.end(2), f'{m.group(2)}, {m.group(1)}'


def dropped_statements(source, text):
    for m in STATEMENT.finditer(text):
        line = m.group(1)
        whole = line.count('(') == line.count(')')
        if whole and not KEPT.match(line) and not DECLARATION.match(line):
            yield 'drop statement', m.start(1), m.end(1), ';'


def replaced_constants(source, text):
    for m in re.finditer(r'(?<![\w.\[])(\d+)(u|ll)?(?![\w.x])', text):
        n = int(m.group(1))
        yield ('replace constant', m.start(), m.end(),
               ('1' if n == 0 else '0' if n == 1 else str(n + 1)) + (m.group(2) or ''))
    for m in re.finditer(r'\b(true|false)\b', text):
        yield ('replace constant', m.start(), m.end(),
               'false' if m.group() == 'true' else 'true')
    for m in re.finditer(r'(?<![\w.])\d+\.\d+(?:e-?\d+)?', text):
        yield 'replace constant', m.start(), m.end(), f'({m.group()} * 2)'


OPERATORS = (negated_conditions, off_by_one, swapped_operands, dropped_statements,
             replaced_constants)


def places(source):
    """All mutations of a file, in a fixed order: a list of places."""
    text = blanked(source)
    found = []
    for operator in OPERATORS:
        for name, first, end, new in operator(source, text):
            start = text.rfind('\n', 0, first) + 1
            statement = max(text.rfind(c, 0, first) for c in ';{}') + 1
            line = text[start:text.find('\n', first)]
            if not SKIPPED.search(line) and not SKIPPED.search(text[statement:first].lstrip('\n')):
                found.append((name, first, end, new))
    return sorted(set(found), key=lambda p: (p[1], p[0], p[2], p[3]))
