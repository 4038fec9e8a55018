#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: a .tir file holds a command, the IR before and the IR after.

  golden_runner.py --tailor BIN [--second BIN] [--same-every N] [--update] [--dump DIR] PATH...

`tailor opt ARGS`, as the line '# RUN: opt ARGS' has it, reads each case of the file on standard
input, and must print what stands below '----'; golden_cases.py says how cases are written.
'# FAIL: text' lines beside '# RUN:' demand a failing run whose messages contain the text. --update
rewrites the parts below the lines '----'; --dump keeps both modules as files for a numeric
comparison. The printed result is run through the same command once more: passes must be
idempotent. --second names the program for these runs, and for those that say what the command would
print without its passes: a sanitized one has then seen each module already. --same-every takes, of
the cases of each file that must not change, every Nth."""
import argparse
import concurrent.futures
import os
import re
import shlex
import sys
import golden_cases
import guard


def tests_under(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for base, dirs, files in os.walk(path):
            dirs.sort()
            for name in sorted(files):
                if name.endswith('.tir'):
                    yield os.path.join(base, name)


def run(tool, arguments, text):
    argv = [tool] + shlex.split(arguments) + ['-o', '-', '-']
    p = guard.run(argv, input=text, capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


# What fused nodes say of their origin is tested in tests/cli/trace.t; here it would hide the graph.
TRACE = re.compile(r' meta "(?:_datadump_\w+|pass_name)" "(?:[^"\\]|\\.)*"')


def unchanged(tool, arguments, module):
    """The module as the command prints it when no pass but that of shapes runs."""
    some = 'infer-shapes' if re.search(r'--passes=\S*\binfer-shapes\b', arguments) else ''
    code, out, messages = run(tool, re.sub(r'--passes=\S*', f'--passes={some}', arguments), module)
    return out if code == 0 else messages


def check_failure(tool, file):
    code, _, messages = run(tool, file.run, file.cases[0].module)
    if code == 0:
        return 'the command succeeded, a failure was expected'
    missing = [m for m in file.fails if m not in messages]
    return f'message lacks "{missing[0]}":\n{messages}' if missing else None


def difference(tool, file, case, out):
    """What is wrong with the output of a case, or None."""
    shown = TRACE.sub('', out)
    if case.same:
        wanted = TRACE.sub('', unchanged(tool, file.run, case.module))
        return None if shown == wanted else f'expected no change:\n{wanted}got:\n{shown}'
    if shown == case.after:
        return None
    if case.edited and golden_cases.plain(shown) == golden_cases.plain(case.after):
        return None
    return f'expected:\n{case.after or ""}got:\n{shown}'


def check_case(tool, second, file, case, dump):
    code, out, messages = run(tool, file.run, case.module)
    if code:
        return f'exit {code}: {messages.strip()}'
    problem = difference(second, file, case, out)
    if problem:
        return problem
    if dump:
        for suffix, text in (('.before.tir', case.module), ('.after.tir', out)):
            with open(dump + suffix, 'w', encoding='utf-8') as f:
                f.write(text)
    if case.same:  # the result is the module once more
        return None
    code, again, messages = run(second, file.run, out)
    if code or again != out:
        return f'not idempotent: {messages}\n{again}'
    return None


def update(tool, file):
    """Writes what comes out into the file; what is wrong."""
    results = [run(tool, file.run, case.module) for case in file.cases]
    wrong = [f'exit {code}: {messages.strip()}' for code, _, messages in results if code]
    if wrong:
        return wrong
    for case, (_, out, _) in zip(file.cases, results):
        case.after = TRACE.sub('', out)
        case.same = case.same and not difference(tool, file, case, out)
    golden_cases.write(file)
    return []


def sample(cases, every):
    """[(position, case)] without most of those that must not change."""
    same = [i for i, case in enumerate(cases) if case.same]
    left = set(same) - set(same[::every])
    return [(i, case) for i, case in enumerate(cases) if i not in left]


def check(args, path):
    """Problems of a file, one for each case that has one, and the number of cases."""
    tool, second, dump = args.tailor, args.second or args.tailor, args.dump
    try:
        file = golden_cases.read(path)
    except golden_cases.Bad as problem:
        return [str(problem)], 1
    if not file.run:
        return ['no "# RUN:" line'], 1
    if file.fails:
        failure = check_failure(tool, file)
        return [failure] if failure else [], 1
    if args.update:
        return update(tool, file), len(file.cases)
    chosen = sample(file.cases, args.same_every)
    stem = dump and os.path.join(dump, os.path.relpath(path, os.getcwd()).replace(os.sep, '_'))
    problems = [check_case(tool, second, file, case, stem and f'{stem}.{i}')
                for i, case in chosen]
    return ([f'case {i + 1}: {p}' for (i, _), p in zip(chosen, problems) if p], len(chosen))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--second')
    p.add_argument('--same-every', type=int, default=1)
    p.add_argument('--update', action='store_true')
    p.add_argument('--dump')
    p.add_argument('paths', nargs='+')
    args = p.parse_args()
    passed = failed = 0
    paths = list(tests_under(args.paths))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda p: check(args, p), paths))
    for path, (problems, cases) in zip(paths, results):
        failed += len(problems)
        passed += cases - len(problems)
        for problem in problems:
            print(f'FAIL {path}: {problem}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
