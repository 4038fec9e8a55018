#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The worked examples of a specification against the tests that show them:

  worked_examples.py

A list has a line for each example, in order: its number, then tests by their path in this folder,
each as it is or with a text that has to be in it, in C the name of a test: path: "text". Behind
' - ' stands why nothing shows an example, where that is allowed."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# list -> numbers that it counts up, and those that may do without a test
LISTS = {'rules/examples.txt': ([str(i) for i in range(1, 45)], ()),
         'train/examples.txt': ([str(i) for i in range(1, 40)] + ['8.1'] +
                                [f'10.{i}' for i in range(1, 13)], ('37',))}
TEST = re.compile(r'(\S+?)(?:: "([^"]*)")?(?:\s+|$)')


def problem_of_test(path, text):
    """What is wrong with a test that is named, or None."""
    if not os.path.isfile(os.path.join(HERE, path)):
        return f'there is no test {path}'
    if text is None:
        return None
    with open(os.path.join(HERE, path), encoding='utf-8') as f:
        wanted = f'{{"{text}", ' if path.endswith('.c') else text
        return None if wanted in f.read() else f'{path} has no "{text}"'


def check(lines, numbers, exempt):
    """[(example, what is wrong with its line or None)] of a list of `numbers`."""
    found, seen = [], []
    for line in lines:
        shown, _, lacking = line.partition(' - ')
        number, _, tests = shown.partition(' ')
        seen.append(number)
        named = TEST.findall(tests)
        wrong = [w for path, text in named if (w := problem_of_test(path, text or None))]
        if not named and (not lacking or number not in exempt):
            wrong = ['no test shows it']
        found.append((f'example {number}', wrong[0] if wrong else None))
    missing = [n for n in numbers if n not in seen]
    if missing:
        found.append((f'example {missing[0]}', 'is not in the list'))
    elif seen != numbers:
        found.append(('the list', 'has its numbers twice, in another order, or more of them'))
    return found


def main():
    passed = failed = 0
    for name, (numbers, exempt) in LISTS.items():
        with open(os.path.join(HERE, name), encoding='utf-8') as f:
            lines = [line.strip() for line in f if not line.startswith('#')]
        for example, wrong in check(lines, numbers, exempt):
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print(f'FAIL {name}: {example}: {wrong}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
