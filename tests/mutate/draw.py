# SPDX-License-Identifier: Apache-2.0
"""Draws mutants of the rooms. What is drawn depends on the seed and on the mutant itself, not on
its place or on other files, so that a change elsewhere draws the same ones."""
import collections
import hashlib
import os

import operators
from suites import ROOT


class Mutant:
    """key: file, operator, the line as it is, the line as it becomes, which of those that read
    so."""

    def __init__(self, path, source, place, nth):
        self.path, self.place, self.operator = path, place, place[0]
        _, first, end, new = place
        start, stop = source.rfind('\n', 0, first) + 1, source.find('\n', end)
        before = ' '.join(source[start:stop].split())
        after = ' '.join((source[start:first] + new + source[end:stop]).split())
        self.line = source.count('\n', 0, first) + 1
        same = (path, place[0], before, after)
        nth[same] += 1
        self.key = (*same, str(nth[same]))
        self.number = self.state = self.by = None

    def __str__(self):
        return f'{self.path}:{self.line}: {self.operator}: {self.key[2]}  =>  {self.key[3]}'


def of_file(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        source = f.read()
    nth = collections.Counter()
    return source, [Mutant(path, source, place, nth) for place in operators.places(source)]


def draw(rooms, only, seed, most):
    """(sources by path, mutants in the order of the draw): all pairs of a room and an operator have
    the same share as long as they have any left. only: the files that may be mutated."""
    sources, cells = {}, collections.defaultdict(list)
    for room in rooms:
        for name in sorted(os.listdir(os.path.join(ROOT, room))):
            path = f'{room}/{name}'
            if path in only:
                sources[path], found = of_file(path)
                for m in found:
                    digest = hashlib.sha256(repr((seed, m.key)).encode()).hexdigest()
                    cells[room, m.operator].append((digest, m))
    piles = [[m for _, m in sorted(cells[key], key=lambda p: p[0])] for key in sorted(cells)]
    drawn, level = [], 0
    while len(drawn) < most and any(level < len(pile) for pile in piles):
        drawn += [pile[level] for pile in piles if level < len(pile)]
        level += 1
    return sources, drawn[:most]
