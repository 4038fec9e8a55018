#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The public names of fusion_names.txt against the program:

  fusion_names.py --tailor BIN

Each name is one of the program's passes, and rules or rows of the op table answer to it. A name
that says why none does passes as long as that is so; once there are rules, the reason has to go:
the list of names without rules may only become shorter. Where the program tells a reason, it is the
same; scope fusions without rules are all listed. Every pass has rules or tells why it has none."""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def expected():
    """[(name, why it has no rules or None)]"""
    with open(os.path.join(HERE, 'fusion_names.txt'), encoding='utf-8') as f:
        lines = [line.strip() for line in f if not line.startswith('#')]
    return [(name, why or None) for name, _, why in (line.partition(' - ') for line in lines)]


def passes(tailor):
    """name -> its row of `passes --fusion --json`"""
    p = subprocess.run([tailor, 'passes', '--fusion', '--json'], capture_output=True, text=True,
                       check=True)
    return {row['name']: row for row in json.loads(p.stdout)}


def problem(name, why, known):
    if name not in known:
        return 'is no pass of the program'
    row = known[name]
    if why and row['rules']:
        return f'has {row["rules"]} rules now: take the reason out of fusion_names.txt'
    told = row.get('lacks')
    if told != why and (told or row['kind'] == 'scope'):
        return f'has no rule because "{told}", as the program says'
    return None if why or row['rules'] else 'has no rule'


def speechless(known):
    """A reason and a rule exclude each other."""
    for name, row in sorted(known.items()):
        told = row.get('lacks')
        if bool(told) == bool(row['rules']) and row['kind'] != 'ub':
            yield name, (f'has rules, and "{told}"' if told else 'has no rule, and tells no reason')


def unlisted(names, known):
    """Scope fusions are few: all of them are listed."""
    scopes = {name for name, row in known.items() if row['kind'] == 'scope'}
    return [(name, 'is in no list') for name in sorted(scopes - {name for name, _ in names})]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    known = passes(p.parse_args().tailor)
    names = expected()
    checked = [(name, problem(name, why, known)) for name, why in names]
    checked += unlisted(names, known)
    checked += speechless(known)
    wrong = [(name, what) for name, what in checked if what]
    for name, what in wrong:
        print(f'FAIL {name} {what}')
    lacking = [f'{name} ({why})' for name, why in names
               if why and not known.get(name, {}).get('rules')]
    if lacking:
        print('without rules: ' + ', '.join(lacking))
    print(f'{len(checked) - len(wrong)} passed, {len(wrong)} failed, 0 skipped')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
