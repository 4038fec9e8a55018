#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""atc command lines as users wrote them, given to `tailor convert --dry-run`.

  test_atc_lines.py --tailor BIN [--lines FILE] [--show]

FILE (default ../shared/realworld/atc_commands.tsv beside the project) has the columns repository,
file and a JSON array of arguments. Each line runs twice: as it stands, and with the variables that
a script would have filled in replaced by plausible values. A line must end in an expected exit
code, with a message when it is refused. Lines that name dynamic batch, image size or dims also run
whole, against models with their inputs (profile_lines.py). --show prints the refusals by message.
The options that one line in 25 uses must be among those that `tailor help convert` shows first."""
import argparse
import collections
import csv
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import profile_lines  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES = os.path.join(os.path.dirname(ROOT), 'shared', 'realworld', 'atc_commands.tsv')
OUTCOMES = {0: 'accepted', 1: 'wrong usage', 2: 'bad input', 3: 'not in this version',
            4: 'a file it names is not here'}
VARIABLE = re.compile(r'\$?\{([^{}]*)\}|<([a-z_]+)>')


def read_lines(path):
    with open(path, encoding='utf-8', newline='') as f:
        for row in csv.reader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            if len(row) == 3 and row[0] != 'repo':
                yield f'{row[0]}/{row[1]}', json.loads(row[2])


def value_of(name, option):
    name = name.lower()
    if option == 'dynamic_dims':
        return '1,2;3,4'
    if 'log' in name:
        return 'error'
    if option == 'soc_version':
        return '310P3'
    if option in ('out_nodes', 'input_fp16_nodes'):
        return 'node_1:0' if option == 'out_nodes' else 'input'
    return '1'


def fill_in(arguments):
    filled = []
    option = ''
    for argument in arguments:
        if argument.startswith('-'):
            option = argument.lstrip('-').split('=')[0].replace('-', '_')
        text = VARIABLE.sub(lambda m: value_of(m.group(1) or m.group(2) or '', option), argument)
        filled.append(re.sub(r'(soc_version=|^)310P3', r'\1Ascend310P3', text))
    return filled


def run(tool, arguments):
    p = guard.run([tool, 'convert', '--dry-run', *arguments], capture_output=True,
                  stdin=subprocess.DEVNULL)
    return p.returncode, p.stderr.decode(errors='replace')


def problem(code, messages):
    """What is wrong with an outcome, None when nothing is."""
    if code not in OUTCOMES or (code == 4 and 'No such file' not in messages):
        return f'exit {code}'
    if 'Sanitizer' in messages or 'runtime error' in messages:
        return 'sanitizer report'
    if code and not re.search(r'^[^:]+: error: .{15}', messages, re.M):
        return 'refused without a message'
    if code == 0 and 'error:' in messages:
        return 'accepted with an error message'
    return None


def missing_in_help(tool, lines):
    """Options that at least one line in 25 uses and that help does not show first."""
    p = guard.run([tool, 'help', 'convert'], capture_output=True, stdin=subprocess.DEVNULL)
    shown = re.findall(r'^(?:      |  -\w, )--([\w-]+)', p.stdout.decode(), re.M)
    uses = collections.Counter()
    for _, arguments in lines:
        uses.update({a.lstrip('-').split('=')[0].replace('_', '-') for a in arguments
                     if a.startswith('-')})
    return [name for name, n in uses.items() if n * 25 >= len(lines) and name not in shown]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--lines', default=LINES)
    p.add_argument('--show', action='store_true')
    args = p.parse_args()
    if not os.path.exists(args.lines):
        print(f'{args.lines} is not there\n0 passed, 0 failed, 1 skipped')
        return 0
    missing = missing_in_help(args.tailor, list(read_lines(args.lines)))
    passed, failed = (0, 1) if missing else (1, 0)
    if missing:
        print(f'FAIL help convert does not show first: {" ".join(missing)}')
    for kind, change in (('as they stand', list), ('variables filled in', fill_in)):
        outcomes = collections.Counter()
        reasons = collections.Counter()
        lines = list(read_lines(args.lines))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda line: run(args.tailor, change(line[1])), lines))
        for (place, _), (code, messages) in zip(lines, results):
            fault = problem(code, messages)
            if fault:
                failed += 1
                print(f'FAIL {place}: {fault}\n{messages}')
                continue
            passed += 1
            outcomes[code] += 1
            first = next((m for m in messages.splitlines() if 'error:' in m), None)
            reasons[first] += first is not None
        print(f'{kind}: ' + ', '.join(f'{n} {OUTCOMES[c]}' for c, n in sorted(outcomes.items())))
        if args.show:
            print('\n'.join(f'  {n:4} {m}' for m, n in reasons.most_common()))
    whole = 0
    for name, fault in profile_lines.check(os.path.abspath(args.tailor), read_lines(args.lines)):
        whole += name.endswith(': runs')
        passed += not fault
        failed += bool(fault)
        if fault:
            print(f'FAIL {name}: {fault}')
    print(f'{whole} lines with profiles run whole')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
