# SPDX-License-Identifier: Apache-2.0
"""Cases for each rule from the templates of cases/FAMILY.txt: what it takes, and what it leaves
because one condition fails, because an inner value is wanted elsewhere, or because the pattern does
not fit. golden_files.py and random_graphs.py make their modules of them. A template:

  == RULE              followed by a graph that the rule rewrites: signature, then statements
  == RULE.WORD         another one, of a further spelling; RULE below stands for this name too
  == RULE like OTHER   the graph of OTHER with changes OLD => NEW; the conditions of OTHER that RULE
                       has too come with the cases that are there for them
  - CONDITION          the same graph with changes OLD => NEW, in which just this condition fails
  + WHAT               the same graph with changes, which the rule rewrites too
  ~ WHAT               the same graph with changes, which the pattern does not fit

A ... F are sizes (2, 3, 4 ..., or random, always different and above 1). <<TYPE VALUES>> is a
constant: "fill V" repeats V, "rand" is random, "pos" random and positive; among operands it gets
a statement of its own. A \\n in NEW begins
another statement. The statement "opset N" says that ops of this opset are needed; opsets of other
domains may follow: opset 21 opset "ai.onnx.ml" 5."""
import glob
import os
import random
import re

import rulefile

HERE = os.path.dirname(os.path.abspath(__file__))
TAKEN, TAKEN_TOO, CONDITION, UNFIT, USED, OUTPUT, EDGE = '', '+', '-', '~', 'used', 'output', 'edge'
LETTERS = 'ABCDEF'


class Case:
    """name: of the template that it was made of."""

    def __init__(self, rule, name, sort, what, lines):
        self.rule, self.name, self.sort, self.what, self.lines = rule, name, sort, what, lines

    @property
    def fires(self):
        return self.sort in (TAKEN, TAKEN_TOO)


class Template:
    """lines: a graph; variants: [(sort, what, changes)]; changes: [(old, new)] of like's graph."""

    def __init__(self, like):
        self.like, self.lines, self.changes, self.variants = like, [], [], []


def rule_of(name):
    """The rule that a template is about."""
    return name.partition('.')[0]


def read_file(path, templates):
    with open(path, encoding='utf-8') as f:
        lines = f.read().splitlines()
    here = changes = None
    for line in lines:
        head, _, rest = line.partition(' ')
        if not line or line.startswith('# ') or (line == '#' and not here):
            continue
        if head == '==':
            name, _, like = rest.partition(' like ')
            here = templates[name] = Template(like)
            changes = here.changes if like else None
        elif head in (CONDITION, TAKEN_TOO, UNFIT):
            changes = []
            here.variants.append((head, rest, changes))
        elif changes is not None:
            old, _, new = line.partition(' =>')
            changes.append((old, new.strip().replace('\\n', '\n')))
        else:
            here.lines.append(line)


def read():
    """rule -> (lines, [(sort, what, [(old, new)])])"""
    templates = {}
    for path in sorted(glob.glob(os.path.join(HERE, 'cases', '*.txt'))):
        read_file(path, templates)
    rules = rulefile.load()

    def resolved(name):
        t = templates[name]
        if not t.like:
            return t.lines, t.variants
        lines, variants = resolved(t.like)
        own = [what for _, what, _ in t.variants]
        shared = [v for v in variants if v[0] == CONDITION and v[1] not in own
                  and v[1] in rules[rule_of(name)].conditions]
        return changed(lines, t.changes, f'{name} like {t.like}'), t.variants + shared

    return {name: resolved(name) for name in templates}


def changed(lines, changes, about):
    text = '\n'.join(lines)
    for old, new in changes:
        if old not in text:
            raise ValueError(f'{about}: "{old}" does not occur')
        text = text.replace(old, new)
    return [s for s in text.splitlines() if s.strip()]


def behind_output(lines):
    left, arrow, right = lines[0].partition(' -> ')
    pairs = [('out' if v == 'y' else 'out_' + v, v) for v in re.findall(r'%(\w+)', right)]
    outputs = ', '.join(f'%{out}' for out, _ in pairs)
    return ([f'{left}{arrow}({outputs})'] + lines[1:] +
            [f'%{out} = Identity(%{v})' for out, v in pairs])


def structural(rule, name, lines, inner_of):
    """An inner value with another user, as an output, and behind a node that no pattern knows."""
    found = []
    for sort, value in inner_of:
        signature = lines[0].rstrip(')')
        if sort == USED:
            more = [signature + f', %other)'] + lines[1:] + [f'%other = Identity(%{value})']
        elif sort == OUTPUT:
            more = [signature + f', %{value})'] + lines[1:]
        else:
            more = [lines[0]] + broken(lines[1:], value)
        found.append(Case(rule, name, sort, f'%{value}', more))
    return found


def made_by(line, value):
    return re.match(r'(%\w+, )*%' + value + r'\b.*=', line)


def broken(lines, value):
    made = next(i for i, s in enumerate(lines) if made_by(s, value))
    behind = [re.sub(r'%' + value + r'\b', '%' + value + '_same', s) for s in lines[made + 1:]]
    return lines[:made + 1] + [f'%{value}_same = Identity(%{value})'] + behind


def inner_choices(rule, lines, rng):
    """Which inner values are looked at: all sorts for the first and the last; random ones."""
    every = dict.fromkeys(v for s in rule.spellings for v in s.inner)
    inner = [v for v in every if any(made_by(s, v) for s in lines)]  # `maybe` may be away
    if not inner:
        return []
    if rng:
        return [(sort, rng.choice(inner)) for sort in (USED, OUTPUT, EDGE)]
    return [(USED, inner[0]), (OUTPUT, inner[-1])]


def cases_of(rule, templates, rng=None):
    return [c for name in templates if rule_of(name) == rule.name
            for c in cases_of_template(rule, name, templates, rng)]


def cases_of_template(rule, name, templates, rng):
    lines, variants = templates[name]
    cases = [Case(rule, name, TAKEN, name, lines)]
    for sort, what, changes in variants:
        cases.append(Case(rule, name, sort, what, changed(lines, changes, f'{name}: {what}')))
    if rule.forwards:  # the operand cannot take the name of an output
        cases = [Case(rule, name, c.sort, c.what, behind_output(c.lines)) for c in cases]
        cases.append(Case(rule, name, OUTPUT, '%y', lines))
    return cases + structural(rule, name, lines, inner_choices(rule, lines, rng))


# ---- text ----------------------------------------------------------------------------------------


def pick_sizes(rng):
    values = rng.sample(range(2, 8), len(LETTERS)) if rng else range(2, 2 + len(LETTERS))
    return dict(zip(LETTERS, values))


BYTES = {'i8': (-128, 127), 'u8': (0, 255)}


def number(kind, what, rng):
    if what == 'rand' and kind[0] in 'iu':
        return str(rng.randint(*BYTES.get(kind, (1, 100))))
    if what == 'rand':
        return str(round(rng.uniform(0.25, 2) * rng.choice((1, -1)), 3))
    if what == 'pos':
        return str(round(rng.uniform(0.5, 2), 3))
    return what.split()[1]


def constant(found, rng):
    kind, dims, what = found.group(1), found.group(2), found.group(3)
    count = 1
    for d in filter(None, dims.split(',')):
        count *= int(d)
    values = [number(kind, what, rng) for _ in range(count)]
    while what in ('rand', 'pos') and count > 1 and len(set(values)) == 1:  # not one number for all
        values = [number(kind, what, rng) for _ in range(count)]
    data = values[0] if not dims else '[' + ', '.join(values) + ']'
    return f'{kind}[{dims}] = {data}'


def fill_in(line, sizes, rng):
    inside = lambda m: re.sub(r'\b([A-F])\b', lambda n: str(sizes[n.group(1)]), m.group(0))
    line = re.sub(r'\[[^\[\]]*\]', inside, line)
    return re.sub(r'<<(\w+)\[([\d,]*)\] ([^>]*)>>', lambda m: constant(m, rng), line)


def hoisted(lines):
    """Constants that stand among operands get names and statements of their own."""
    found, count = [], 0
    for line in lines:
        while not line.startswith('const ') and (inline := re.search(r'<<[^>]*>>', line)):
            found.append(f'const %k{count}: {inline.group(0)}')
            line = line.replace(inline.group(0), f'%k{count}', 1)
            count += 1
        found.append(line)
    return found


def statements_of(case, rng=None):
    """(signature, statements) with sizes and numbers filled in."""
    sizes = pick_sizes(rng)
    numbers = rng or random.Random(case.name)
    lines = [fill_in(s, sizes, numbers) for s in hoisted(case.lines)]
    return lines[0], lines[1:]


def title(case):
    return {TAKEN: '# What the rule takes.',
            TAKEN_TOO: f'# It takes this too: {case.what}.',
            CONDITION: f'# condition: {case.what}',
            UNFIT: f'# Near miss: {case.what}.',
            USED: f'# Near miss: {case.what} has another user.',
            OUTPUT: f'# Near miss: {case.what} is an output.',
            EDGE: f'# Near miss: a node stands behind {case.what}.'}[case.sort]


def module_of(about, signature, body):
    """The text of a module; statements "opset N" become its header."""
    opset = max((s for s in body if s.startswith('opset ')), default='')
    form = 'form spelled ' if any(re.search(r'npu::(?!NPU)', s) for s in body) else ''
    opset = f'opset "" {opset[6:]} ' if opset else ''
    head = f'module {{ {form}{opset}}}\n' if form or opset else ''
    body = ''.join(f'  {s}\n' for s in body if not s.startswith('opset '))
    return f'{about}\n{head}graph @g{signature} {{\n{body}}}\n'


def text_of(case):
    return module_of(f'# rule {case.rule.name}\n{title(case)}', *statements_of(case))


def everything(rng=None):
    templates, rules = read(), rulefile.load()
    lacking = [name for name in rules if name not in templates]
    found = [c for r in rules.values() if r.name in templates
             for c in cases_of(r, templates, rng)]
    return found, lacking


def is_runnable(case):
    """Whether random inputs surely fit the graph: random numbers are no shape, and sizes that are
    open may have to fit each other."""
    return not re.search(r'i64\[|\[\*\]|\?|\[[^\]]*\b[G-Za-z]\w*', case.lines[0])


def problem(case, row):
    """What is wrong with a line of rule-probe about a case, or None."""
    if len(row) < 7:
        return f'the probe said {row}'
    times, code, why, alone, pipeline = row[2:7]
    if code in ('INVALID', 'NO_RULE', 'ERROR'):
        return f'{code} {why}'
    for judged in (alone, pipeline):
        shapes = not case.fires and 'i64[' in case.lines[0]  # random numbers are no shape
        if judged.startswith('WRONG') and not shapes:
            return judged
    if case.fires:
        equal = alone == 'same' or (alone.startswith('not run') and not is_runnable(case))
        return None if int(times) and equal else f'does not fire: {code} {why} {alone}'
    if int(times):
        return 'fires'
    wanted = {USED: 'MULTI_CONSUMER', OUTPUT: 'GRAPH_OUTPUT'}.get(case.sort)
    if wanted and code != wanted and not (case.sort == OUTPUT and code == 'MULTI_CONSUMER'):
        return f'explained by {code} {why}'
    if case.sort == CONDITION and not rulefile.explains(why, case.what):
        return f'explained by {why}'
    return None
