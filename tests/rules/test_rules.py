#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tailor test-rules on wrong rules and on right ones.

  test_rules.py --tailor BIN [--full] [--count N] [FILE.tlr...]

Every rule of wrong.tlr, and every wrong rule that is planted for bisect (tests/debug/planted.py),
must be found, with a graph that shows it again. Of the rules of the program none may be called
wrong that is not in KNOWN: those of some files, with --full of all, or of the given files. The last
line is 'N passed, M failed, K skipped'."""
import argparse
import glob
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, 'tests', 'debug'))
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
sys.dont_write_bytecode = True
import planted  # noqa: E402

SAMPLE = ['activation', 'arithmetic', 'gelu', 'logic', 'reduce', 'transpose']
DIFFERS = 5
# Rules that the tool calls wrong though they are right where they run, and why.
KNOWN = {}


class Tests:
    def __init__(self, tailor, folder):
        self.tailor, self.folder = tailor, folder
        self.passed = self.failed = 0

    def check(self, what, good, more=''):
        self.passed += good
        self.failed += not good
        if not good:
            print(f'FAIL {what}: {more}')

    def run(self, *words):
        p = guard.run([self.tailor, 'test-rules', *words], capture_output=True, text=True,
                      check=False)
        if p.stderr:
            print(p.stderr[:500])
        return p

    def report(self, *words):
        p = self.run(*words, '--json')
        return p.returncode, json.loads(p.stdout) if p.stdout else {'rules': []}

    def wrong(self, path, expected):
        """All rules of a file must be found, and each graph that was written must show it."""
        graphs = os.path.join(self.folder, 'graphs')
        status, report = self.report(path, f'--failures={graphs}')
        self.check(f'{path}: exit status', status == DIFFERS, status)
        self.check(f'{path}: number of rules', len(report['rules']) == expected,
                   len(report['rules']))
        for rule in report['rules']:
            self.check(rule['rule'], rule['verdict'] == 'wrong', rule)
            if rule.get('graph_file'):
                again = self.run(path, rule['graph_file'], f'--rule={rule["rule"]}')
                self.check(f'{rule["rule"]} again', again.returncode == DIFFERS,
                           again.stdout + rule['graph'])

    def right(self, path):
        """No rule may be called wrong."""
        for rule in self.report(path, '--count=12')[1]['rules']:
            known = rule['rule'] in KNOWN
            self.check(f'{os.path.basename(path)} {rule["rule"]}',
                       known or rule['verdict'] != 'wrong',
                       rule.get('why', '') + rule.get('loop', '') + rule.get('graph', ''))


def rules_alone(path, to):
    """Writes the rules of a file of the program without its definitions, which files of users may
    not repeat."""
    with open(path, encoding='utf-8') as f:
        items = re.split(r'(?m)^(?=(?:rule|scope|define) )', f.read())
    with open(to, 'w', encoding='utf-8') as f:
        f.write('rules 1\n' + ''.join(i for i in items if i.startswith('rule ')))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--full', action='store_true')
    p.add_argument('files', nargs='*')
    args = p.parse_args()
    every = sorted(glob.glob(os.path.join(ROOT, 'passes', 'rules', '*.tlr')))
    sample = [f for f in every if args.full or os.path.basename(f)[:-4] in SAMPLE]
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(args.tailor), folder)
        if not args.files:
            own = os.path.join(HERE, 'wrong.tlr')
            with open(own, encoding='utf-8') as f:
                tests.wrong(own, len(re.findall(r'(?m)^rule ', f.read())))
            others = os.path.join(folder, 'planted.tlr')
            with open(others, 'w', encoding='utf-8') as f:
                f.write('rules 1\n' + '\n'.join(text for _, _, text in planted.RULES))
            tests.wrong(others, len(planted.RULES))
        for path in args.files or sample:
            alone = os.path.join(folder, os.path.basename(path))
            rules_alone(path, alone)
            tests.right(alone)
        print(f'{tests.passed} passed, {tests.failed} failed, 0 skipped')
        return 1 if tests.failed else 0


if __name__ == '__main__':
    sys.exit(main())
