#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The public names of fusion_names.txt against the program:

  fusion_names.py --tailor BIN

Each name is one of the program's passes, and rules or rows of the op table answer to it. A name
that says why none does passes as long as that is so; once there are rules, the reason has to go:
the list of names without rules may only become shorter."""
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
    """name -> how many rules it has"""
    p = subprocess.run([tailor, 'passes', '--fusion', '--json'], capture_output=True, text=True,
                       check=True)
    return {row['name']: row['rules'] for row in json.loads(p.stdout)}


def problem(name, why, known):
    if name not in known:
        return 'is no pass of the program'
    if why and known[name]:
        return f'has {known[name]} rules now: take the reason out of fusion_names.txt'
    return None if why or known[name] else 'has no rule'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    known = passes(p.parse_args().tailor)
    names = expected()
    wrong = [(name, what) for name, why in names if (what := problem(name, why, known))]
    for name, what in wrong:
        print(f'FAIL {name} {what}')
    lacking = [f'{name} ({why})' for name, why in names if why and not known.get(name)]
    if lacking:
        print('without rules: ' + ', '.join(lacking))
    print(f'{len(names) - len(wrong)} passed, {len(wrong)} failed, 0 skipped')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
