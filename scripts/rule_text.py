# SPDX-License-Identifier: Apache-2.0
"""What scripts and tests read of rules (*.tlr) with `either { ... } or { ... }` in their patterns:
the texts that the parser sees, one for each choice of alternatives (docs/rules.md). Also writes
out the formulas that a built-in rule or another formula uses."""
import itertools
import re

DIGIT_BITS = 4  # of passes/engine/spelling.c


def closing(text, at):
    """Place behind the brace that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {'{': 1, '}': -1}.get(text[at], 0)
        at += 1
    return at


def pieces(text):
    """What a text consists of: strings, and lists of alternatives."""
    found, at = [], 0
    for head in re.finditer(r'(?<![\w%$])either\s*\{', text):
        found.append(text[at:head.start()])
        alternatives, at = [], head.end()
        while True:
            end = closing(text, at)
            alternatives.append(text[at:end - 1])
            more = re.compile(r'\s*or\s*\{').match(text, end)
            if not more:
                break
            at = more.end()
        at = end
        found.append(alternatives)
    return found + [text[at:]]


def spellings(text):
    """[(number, choices, text)]: number 0 where there is nothing to choose, else from 1 on, the
    last choice changing first; choices: the alternatives taken, DIGIT_BITS each."""
    parts = pieces(text)
    eithers = [p for p in parts if isinstance(p, list)]
    if not eithers:
        return [(0, 0, text)]
    found = []
    for number, taken in enumerate(itertools.product(*(range(len(e)) for e in eithers)), 1):
        rest = list(taken)
        whole = ''.join(p if isinstance(p, str) else p[rest.pop(0)] for p in parts)
        choices = sum(digit << (i * DIGIT_BITS) for i, digit in enumerate(taken))
        found.append((number, choices, whole))
    return found


# ---- formulas ------------------------------------------------------------------------------------

FORMULA = re.compile(r'define formula::(\w+)\(([^)]*)\)\s*(?:\{([^}]*)\}\s*)?\{\n(.*?)'
                     r'^  return ([^\n]*)\n\}', re.M | re.S)
USE = re.compile(r'^ *(%[\w%, ]+?) = formula::(\w+)\(([^)]*(?:\([^)]*\)[^)]*)*)\)'
                 r'(?: \{([^}\n]*)\})?$', re.M)


def formulas_of(texts):
    """{name: (operands, attributes, body, results)} of formulas without conditions: only those
    stand for the same nodes everywhere."""
    found = {}
    for text in texts:
        for name, operands, attrs, body, results in FORMULA.findall(re.sub(r'#.*', '', text)):
            found[name] = (parts(operands), parts(attrs), body, parts(results))
    return {name: (operands, attrs, written_out(body, found, '\n'), results)
            for name, (operands, attrs, body, results) in found.items()}


def parts(text):
    """What commas outside of brackets part."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text + ','):
        depth += (c in '([{') - (c in ')]}')
        if c == ',' and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    return [f for f in found if f]


def written_out(text, formulas, glue=' '):
    """A statement with the nodes of a formula in place of each use of it, on the same line: places
    in messages stay right. Values of the formula get names of their own."""
    for number in range(1000):
        use = USE.search(text)
        if not use:
            return text
        results, name, operands, attrs = use.groups()
        formals, names, body, returned = formulas[name]
        becomes = dict(zip(formals, parts(operands), strict=True))
        becomes.update(zip(returned, parts(results), strict=True))
        given = dict(a.split('=', 1) for a in parts(attrs or ''))
        becomes.update({n: f'({given[n[1:]]})' for n in names})

        def renamed(found, becomes=becomes, number=number):
            return becomes.get(found[0], f'{found[0]}_{number}')
        lines = re.sub(r'[%$]\w+', renamed, glue.join(body.split('\n')).strip())
        text = text[:use.start()] + '    ' + lines + text[use.end():]
    raise ValueError(f'formulas use each other: {text}')
