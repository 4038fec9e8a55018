#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/rules/<family>/<Rule>.tir from the templates of cases/; read what it wrote:

  golden_files.py --tailor BIN [RULE...]
  golden_files.py --tailor BIN --shorten FILE...   (files written by hand, of any pass)

A file is about one template: those of further spellings of a rule are <Rule>.<Word>.tir. It has
what the rule takes and a list of near misses that stay as they are. Cases with another result, as
others that it takes, follow while they fit; the rest stands in <Rule>.2.tir and so on. A rule for
several targets has <Rule>.<target>.tir for each of them but the first."""
import argparse
import concurrent.futures
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
import rulecases  # noqa: E402
import rulefile  # noqa: E402
sys.path.insert(0, os.path.join(rulefile.ROOT, 'tests'))
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402

PASSES = {'cleanup': 'clean-up', 'graph': 'graph-fusion',
          'late': 'late-fusion', 'expand': 'expand', 'scope': 'scope-fusion'}
TARGETS = {'npu910': ' --soc-version=Ascend310P3', 'onnxruntime': ' --target=onnxruntime'}
LICENCE = '# SPDX-License-Identifier: Apache-2.0\n'


def off_by_default():
    names = glob.glob(os.path.join(rulefile.ROOT, 'ir', '**', 'fusion_names.tbl'), recursive=True)
    with open(names[0], encoding='utf-8') as f:
        return set(re.findall(r'^PASS\((\w+), GRAPH, OFF,', f.read(), re.M))


def command(rule, target, off):
    loose = ' --numerics=approximate' if rule.numerics == 'approximate' else ''
    asked = f' --enable-scope-fusion-passes={rule.pass_name}' if rule.kind == 'scope' else ''
    asked = f' --fusion={rule.pass_name}:on' if rule.pass_name in off else asked
    return f'opt --passes=infer-shapes,{PASSES[rule.kind]}{loose}{TARGETS.get(target, "")}{asked}'


def judged(tailor, run, case):
    """The golden case of a template's case: with what the command makes of it."""
    about, module = golden_cases.split_comment(rulecases.text_of(case).partition('\n')[2])
    code, out, messages = golden_runner.run(tailor, run, module)
    if code:
        raise golden_cases.Bad(f'{case.rule.name}: {about}{messages}')
    out = golden_runner.TRACE.sub('', out)
    same = not case.fires and out == golden_runner.TRACE.sub(
        '', golden_runner.unchanged(tailor, run, module))
    return golden_cases.Case(about, module, None if same else out, same)


def files_of(head, like, cases):
    """[(head, base, cases)]: the first case; what stays as it is; others, as many as fit."""
    first, kept = cases[0], [case for case in cases[1:] if case.same]
    files = [(head, None, [first])]
    for more in ([kept] if kept else []) + [[case] for case in cases[1:] if not case.same]:
        last_head, base, last = files[-1]
        if golden_cases.whole(last_head, base, last + more).count('\n') <= golden_cases.MAX_LINES:
            last += more
        else:
            files.append((head.replace(LICENCE, f'# LIKE: {like}\n{LICENCE}'), first, more))
    return files


def write_files(folder, stem, head, cases):
    """Writes <stem>.tir, <stem>.2.tir and so on; those of before go."""
    for old in golden_cases.parts_of(os.path.join(folder, stem + '.tir'))[1:]:
        os.remove(old)
    for i, (text, base, some) in enumerate(files_of(head, stem + '.tir', cases)):
        name = f'{stem}.{i + 1}.tir' if i else f'{stem}.tir'
        golden_cases.write(golden_cases.File(os.path.join(folder, name), text, base, some))


def shorten(tailor, path):
    """Writes a file anew in the shortest notation, and what is too much for it in others."""
    file = golden_cases.read(path)
    for case in file.cases:
        case.before = None
        case.same = case.same or case is not file.cases[0] and case.after == \
            golden_runner.TRACE.sub('', golden_runner.unchanged(tailor, file.run, case.module))
    write_files(os.path.dirname(path), os.path.basename(path)[:-len('.tir')], file.head, file.cases)


def write_rule(tailor, name, rule, cases, off):
    folder = os.path.join(rulefile.ROOT, 'tests', 'golden', 'rules', rule.family)
    os.makedirs(folder, exist_ok=True)
    for target in rule.targets or ['']:
        stem = name + (f'.{target}' if target in rule.targets[1:] else '')
        run = command(rule, target, off)
        head = f'# RUN: {run}\n{LICENCE}# Rule {name}: {rule.about}.\n'
        written = [judged(tailor, run, case) for case in cases]
        write_files(folder, stem, head, written)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--shorten', action='store_true')
    p.add_argument('rules', nargs='*')
    args = p.parse_args()
    tailor, off, found = os.path.abspath(args.tailor), off_by_default(), {}
    if args.shorten:
        for path in args.rules:
            shorten(tailor, path)
        return
    for case in rulecases.everything()[0]:
        if not args.rules or case.rule.name in args.rules:
            found.setdefault(case.name, (case.name, case.rule, []))[2].append(case)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda each: write_rule(tailor, *each, off), found.values()))
    print(f'{sum(len(c) for _, _, c in found.values())} cases of {len(found)} templates')


if __name__ == '__main__':
    main()
