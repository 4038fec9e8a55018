# SPDX-License-Identifier: Apache-2.0
"""A C file with all its mutants inside: each is a copy of its function, and the function asks first
which mutant is on (server.c). So a file is compiled once for all of its mutants.

Beside the mutants each function has two more copies: `same`, the function itself, against whose
instructions those of mutants are compared, and `probe`, which notes what is reached."""
import re

import operators

HEAD = re.compile(r'^(?!typedef|struct|enum|union|extern|return|else)([a-z][^\n;{}()=#]*\b)(\w+)'
                  r'(\([^;{}=#]*\)) \{\n', re.M)
NOIPA = '__attribute__((noipa, used)) static '
PRELUDE = 'extern int tl_mutant;\nextern unsigned char *tl_reach;\n'


class Function:
    """source[first:body] is its head with the brace, source[body:end] the rest of it."""

    def __init__(self, source, match, end):
        self.first, self.body, self.end = match.start(), match.end(), end
        self.before, self.name, self.params = match.groups()
        self.returns = re.sub(r'\b(static|inline)\b\s*', '', self.before)
        self.void = self.returns.strip() == 'void'
        self.arguments = arguments(self.params[1:-1])
        self.source = source

    def copy(self, suffix, first=0, end=0, new=''):
        """The function under another name, with source[first:end] replaced."""
        text = self.source[self.body:self.end]
        if end:
            text = self.source[self.body:first] + new + self.source[end:self.end]
        return f'{NOIPA}{self.returns}{self.name}__{suffix}{self.params} {{\n{text}'

    def call(self, suffix):
        call = f'{self.name}__{suffix}({", ".join(self.arguments)});'
        return f'{{ {call} return; }}' if self.void else f'return {call}'


def arguments(params):
    """Names of parameters; None if one has no plain name."""
    names, depth, last = [], 0, 0
    if params.strip() == 'void':
        return []
    for i, c in enumerate(params + ','):
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            one, last = params[last:i], i + 1
            found = re.search(r'\(\*(\w+)\)', one) or re.search(r'(\w+)\s*(?:\[[^\]]*\])*\s*$', one)
            if not found:
                return None
            names.append(found.group(1))
    return names


def functions(source, text):
    """The functions of a file whose mutants can be copies; text is the source, blanked."""
    for match in HEAD.finditer(text):
        end = text.find('\n}\n', match.end() - 1)
        f = Function(source, match, end + 3)
        if end >= 0 and f.arguments is not None:
            yield f


def statement(text, f, place):
    """Where the statement that holds a place begins, in a block of statements: a probe fits there,
    and is passed by all that gets to the place."""
    starts = [m.start() + 1 for m in re.finditer('\n', text[f.body - 1:place])]
    for start in reversed([f.body - 1 + s for s in starts]):
        line = text[start:text.find('\n', start)].strip()
        before = text[f.body - 2:start].rstrip()
        inside = text.count('(', f.body, start) != text.count(')', f.body, start)
        if inside or not line or re.match(r'(else|case|default|while \(.*;$)\b|[{}]', line):
            continue
        if before.endswith(';') or re.search(r'(?<![=,)({])[^=,({]\{$|:$|\}$|\) \{$', before):
            if not re.search(r'= \{$|\)\{$', before):
                return start
    return f.body


class File:
    """A file with mutants. mutants: {number: place}; those that do not fit into a copy are left
    out. Probes have the numbers of mutants."""

    def __init__(self, source, mutants):
        self.source, self.text = source, operators.blanked(source)
        self.functions = list(functions(source, self.text))
        self.of = {}  # number: function
        for number, place in mutants.items():
            for f in self.functions:
                if f.body <= place[1] and place[2] <= f.end:
                    self.of[number] = f
        self.mutants = {n: mutants[n] for n in self.of}
        self.coarse = set()  # functions in which only the entry is probed

    def drop(self, number):
        self.mutants.pop(number, None)

    def whole(self):
        """The text of the file, and for each line of it which copy it is of: a number, or the name
        of the function for its probe."""
        parts, owners, last = [PRELUDE], [None] * PRELUDE.count('\n'), 0
        by = {}
        for n in sorted(self.mutants):
            by.setdefault(self.of[n].name, []).append(n)

        def add(text, owner=None):
            parts.append(text)
            owners.extend([owner] * text.count('\n'))
        for f in self.functions:
            numbers = by.get(f.name)
            if not numbers:
                continue
            add(self.source[last:f.first])
            add(f'{f.before}{f.name}{f.params};\n')
            add(f.copy('same'), f.name)
            add(self.probe(f, numbers), f.name)
            for n in numbers:
                add(f.copy(f'm{n}', *self.mutants[n][1:]), n)
            add(self.source[f.first:f.body] + self.dispatch(f, numbers))
            last = f.body
        add(self.source[last:])
        return ''.join(parts), owners

    def probe(self, f, numbers):
        at = {}
        for n in numbers:
            start = f.body if f.name in self.coarse else statement(self.text, f, self.mutants[n][1])
            at.setdefault(start, []).append(f'tl_reach[{n}] = 1;')
        out, last = [], f.body
        for start in sorted(at):
            out += [self.source[last:start], ' '.join(at[start]), ' ']
            last = start
        out.append(self.source[last:f.end])
        return f.copy('probe')[:-len(self.source[f.body:f.end])] + ''.join(out)

    def dispatch(self, f, numbers):
        cases = [f'case -1: {f.call("probe")}'] + [f'case {n}: {f.call(f"m{n}")}' for n in numbers]
        return f'  if (__builtin_expect(tl_mutant != 0, 0))\n    switch (tl_mutant) {{ ' + \
            ' '.join(cases) + ' default:; }\n'


def instructions(assembly):
    """{number of a mutant, or ('same', function): its instructions} of the compiler's output, with
    labels as it counts them from the start of the function."""
    found = {}
    for m in re.finditer(r'^(\w+)__(m\d+|same):\n(.*?)^\t\.size\t\1__\2,', assembly, re.M | re.S):
        labels = {}
        text = re.sub(r'\.L(?!C)\w+', lambda x, seen=labels: seen.setdefault(x.group(),
                                                                            f'.L{len(seen)}'),
                      m.group(3))
        text = re.sub(rf'\b{m.group(1)}__(m\d+|same)\b', m.group(1), text)
        kind = m.group(2)
        found[('same', m.group(1)) if kind == 'same' else int(kind[1:])] = text
    return found
