#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Roles of training, planted into the modules of all golden tests: inputs become states whose next
value is some result, mostly none of the outputs, or parameters whose gradient is one. Passes must
not lose them.

  planted_roles.py --tailor BIN [--every N] [--seed N] [--only TEXT]

Each module is optimized and converted with several settings: nothing may end with an internal
error, each role must be in the result (AIR files have states only), and the value that has it must
be what it was, as `verify` finds when it is an output of both. The last line is 'N passed, M
failed, K skipped'; what the evaluator cannot run, or only with inputs of another kind, is
skipped."""
import argparse
import concurrent.futures
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402
import guard  # noqa: E402

HEAD = re.compile(r'^graph @\S+\((.*)\) -> \((.*?)\) \{$', re.M)
INPUT = re.compile(r'%([\w./]+): ')
RESULTS = re.compile(r'\s*((?:%[\w./]+|_)(?:, (?:%[\w./]+|_))*) = [\w.:]+\(')
ROLE = re.compile(r'^  (state|gradient) %([\w./]+) -> %([\w./]+)', re.M)
CONVERSIONS = [['air'], ['air', '--precision-mode=allow_mix_precision'],
               ['air', '--soc-version=Ascend310P3'], ['onnx', '--target=onnxruntime'],
               ['onnx', '--precision-mode=allow_mix_precision_bf16']]
REFUSED = (1, 2, 3)  # wrong settings, a model that cannot be, ops without an NPU form
TOLERANCE = ['--rtol=1e-3', '--atol=1e-4']


def main_graph(text):
    """(match of its header, names of inputs, names of results outside bodies)"""
    head = HEAD.search(text)
    if not head:
        return None
    depth, results = 0, []
    for line in text[head.end():].split('\n'):
        found = RESULTS.match(line) if depth == 0 else None
        if found:
            results += [name[1:] for name in found[1].split(', ') if name != '_']
        depth += line.count('{') - line.count('}')
        if depth < 0:
            break
    return head, INPUT.findall(head[1]), results


def planted(text, rand):
    """(module with roles, [(kind, input)]), None if the graph has no place for any."""
    found = main_graph(text)
    if not found or not found[1] or not found[2] or ROLE.search(text):
        return None
    _, inputs, results = found
    inputs = rand.sample(inputs, min(len(inputs), len(results), rand.choice((1, 2, 3))))
    roles = []
    for kind in rand.choice((['state'], ['gradient'], ['state', 'gradient'])):
        roles += [(kind, i, r) for i, r in zip(inputs, rand.sample(results, len(inputs)))]
    end = text.rstrip().rindex('}')
    lines = ''.join(f'  {kind} %{i} -> %{r}\n' for kind, i, r in roles)
    return text[:end] + lines + '}\n', [(kind, i) for kind, i, _ in roles]


def with_outputs(text, roles):
    """The module with the values of roles as outputs, in this order; None if one is missing."""
    head = HEAD.search(text)
    by_role = {(kind, i): v for kind, i, v in ROLE.findall(text)}
    if not head or any(role not in by_role for role in roles):
        return None
    values = [f'%{by_role[role]}' for role in roles]
    body = ROLE.sub('', text[head.end():])
    return text[:head.start(2)] + ', '.join(values) + ') {' + body


class Test:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def call(self, *argv):
        p = guard.run([self.tool, *argv], cwd=self.folder, capture_output=True, text=True)
        return p.returncode, p.stdout, p.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def check(self, number, text, rand):
        """None, 'skip', or what is wrong."""
        module = planted(text, rand)
        if not module:
            return 'skip'
        text, roles = module
        name = f'{number}.tir'
        self.write(name, text)
        code, out, messages = self.call('opt', name, '-O2', '--verify-each', '-o', '-')
        if code in REFUSED:
            return 'skip'
        if code:
            return f'opt: exit {code}: {messages[:300]}'
        for suffix, *options in CONVERSIONS:
            code, _, messages = self.call('convert', name, '-q', '--summary=none', *options, '-o',
                                          f'{number}.{suffix}')
            if code not in (0, *REFUSED):
                return f'{suffix} {options}: exit {code}: {messages[:300]}'
            if code == 0 and suffix == 'air' and not self.has_states(f'{number}.air', roles):
                return f'{suffix} {options}: a state is lost'
        return self.compare(number, with_outputs(text, roles), with_outputs(out, roles))

    def has_states(self, name, roles):
        """Names of inputs are spelled as GE allows, so states are counted."""
        _, out, _ = self.call('opt', name, '-O0', '-o', '-')
        found = [kind for kind, _, _ in ROLE.findall(out)]
        return found.count('state') == [kind for kind, _ in roles].count('state')

    def compare(self, number, before, after):
        if after is None:
            return 'a role is lost'
        self.write(f'{number}.before.tir', before)
        self.write(f'{number}.after.tir', after)
        code, out, messages = self.call('verify', f'{number}.before.tir', f'{number}.after.tir',
                                        *TOLERANCE)
        if code == 5:
            return f'its value is another: {out[:400]}'
        return 'skip' if code in REFUSED else f'verify: exit {code}: {messages[:300]}' if code \
            else None


def modules(every, only):
    paths = [p for p in golden_runner.tests_under([os.path.join(ROOT, 'tests', 'golden')])
             if only in p and not golden_cases.PART.search(p)]
    for i, path in enumerate(paths):
        if i % every == 0:
            file = golden_cases.read(path)
            for k, case in enumerate(file.cases):
                if not file.fails:
                    yield f'{os.path.relpath(path, ROOT)}:{k + 1}', case.module


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1, help='every Nth file')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--only', default='', help='files whose path contains this')
    args = p.parse_args()
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    with tempfile.TemporaryDirectory() as folder:
        test = Test(os.path.abspath(args.tailor), folder)

        def one(numbered):
            number, (name, text) = numbered
            return name, test.check(number, text, random.Random(args.seed * 1000000 + number))

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, wrong in pool.map(one, enumerate(modules(args.every, args.only))):
                what = 'passed' if wrong is None else 'skipped' if wrong == 'skip' else 'failed'
                counts[what] += 1
                if what == 'failed':
                    print(f'FAIL {name}: {wrong}')
    print(', '.join(f'{n} {what}' for what, n in counts.items()))
    return 1 if counts['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
