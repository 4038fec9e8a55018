# SPDX-License-Identifier: Apache-2.0
"""What scripts and tests read of rules (*.tlr) with `either { ... } or { ... }` in their patterns:
the texts that the parser sees, one for each choice of alternatives (docs/rules.md)."""
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
