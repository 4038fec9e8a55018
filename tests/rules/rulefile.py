# SPDX-License-Identifier: Apache-2.0
"""Reads rule files (*.tlr) as far as tests need to know them: names, kinds, classes, conditions,
pattern values."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'scripts'))
import rule_text  # noqa: E402

HEAD = re.compile(r'^rule (\w+) : (\w+)(?: "([^"]*)")?(?: target (\w+(?: \w+)*?))?'
                  r'(?: priority \d+)? numerics (\w+)(?: about "([^"]*)")?', re.M)


class Rule:
    def __init__(self, family, head, text):
        self.family, self.name, self.kind = family, head.group(1), head.group(2)
        self.pass_name, self.numerics, self.about = head.group(3, 5, 6)
        self.targets = (head.group(4) or '').split()
        self.conditions = [c for c in split(part(text, 'where')) if not c.startswith('let ')]
        replace = statements(part(text, 'replace'))
        made = {r for s in replace for r in s.results}
        self.spellings = [Spelling(statements(part(spelled, 'match')), made)
                          for _, _, spelled in rule_text.spellings(text)]
        self.forwards = any(not s.call and s.operands[0] not in self.spellings[0].results
                            for s in replace)


class Spelling:
    """One reading of a rule: what its pattern is with one alternative of each `either`."""

    def __init__(self, nodes, made):
        self.nodes = nodes
        self.results = {r for s in nodes for r in s.results}
        self.inner = [r for s in nodes if not s.shared for r in s.results
                      if r not in made and r != '_']


class Statement:
    def __init__(self, text):
        left, _, right = text.partition('=')
        self.results = re.findall(r'%(\w+)', left)
        words = right.split('(')[0].split()
        self.shared, self.maybe = 'shared' in words, 'maybe' in words
        self.ops = words[-1].replace('"', '').split('|')
        self.call = '(' in right
        self.operands = re.findall(r'%(\w+)', right.partition('(')[2] if self.call else right)


def part(text, word):
    """What stands in the braces behind a word."""
    found = re.search(r'\b' + word + r' \{', text)
    if not found:
        return ''
    depth, end = 1, found.end()
    while depth:
        depth += {'{': 1, '}': -1}.get(text[end], 0)
        end += 1
    return text[found.end():end - 1]


def split(text):
    """Conditions: between commas and line ends that no bracket encloses."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text + '\n'):
        depth += c in '([{'
        depth -= c in ')]}'
        if depth == 0 and c in ',\n':
            found.append(text[start:i].strip())
            start = i + 1
    return [f for f in found if f]


def parts_of(condition):
    """What a condition joins by `&&`; the condition itself when it joins nothing."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(condition):
        depth += (c in '([{') - (c in ')]}')
        if depth == 0 and condition.startswith(' || ', i):
            return [condition]
        if depth == 0 and condition.startswith(' && ', i):
            found.append(condition[start:i])
            start = i + 4
    found.append(condition[start:])
    return [p[1:-1] if p[0] + p[-1] == '()' else p for p in found]


def explains(why, condition):
    """Whether a near miss names the condition, or that part of it which failed."""
    named = re.match(r'`(.*?)` (?:does not hold|cannot be told)', why)
    return bool(named) and named.group(1) in [condition] + parts_of(condition)


def statements(text):
    lines, joined = [], ''
    for line in text.splitlines():
        joined = (joined + ' ' + line.strip()).strip()
        if joined and all(joined.count(a) == joined.count(b) for a, b in ('()', '{}', '[]')):
            lines.append(joined)
            joined = ''
    return [Statement(s) for s in lines if s.startswith(('%', '_,'))]


def load():
    """All built-in rules by name, in the order of their files."""
    rules = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'passes', 'rules', '*.tlr'))):
        with open(path, encoding='utf-8') as f:
            text = re.sub(r'^\s*#.*$', '', f.read(), flags=re.M)
        heads = list(HEAD.finditer(text))
        if len(heads) != len(re.findall(r'^rule ', text, re.M)):
            raise ValueError(f'{path}: a rule whose head is not understood')
        for head, after in zip(heads, heads[1:] + [None]):
            body = text[head.start():after.start() if after else len(text)]
            family = os.path.basename(path)[:-4]
            rules[head.group(1)] = Rule(family, head, body)
    return rules
