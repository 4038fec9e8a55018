#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what stands above the lines '----' of tests/golden/rules/<family>/<Rule>.tir, one file a
rule, from the templates of cases/. A rule for several targets has <Rule>.<target>.tir for each of
them but the first:

  golden_files.py [RULE...]
  tests/golden_runner.py --tailor BIN --update tests/golden/rules   # then read what it wrote
"""
import os
import re
import sys

sys.dont_write_bytecode = True
import rulecases  # noqa: E402
import rulefile  # noqa: E402

PASSES = {'cleanup': 'clean-up', 'graph': 'graph-fusion',
          'late': 'late-fusion', 'expand': 'expand', 'scope': 'scope-fusion'}
TARGETS = {'npu910': ' --soc-version=Ascend310P3', 'onnxruntime': ' --target=onnxruntime'}


def off_by_default():
    with open(os.path.join(rulefile.ROOT, 'ir', 'fusion_names.tbl'), encoding='utf-8') as f:
        return set(re.findall(r'^PASS\((\w+), GRAPH, OFF,', f.read(), re.M))


def main():
    wanted, off = sys.argv[1:], off_by_default()
    files = {}
    for case in rulecases.everything()[0]:
        if not wanted or case.rule.name in wanted:
            files.setdefault(case.rule.name, (case.rule, []))[1].append(case)
    for name, (rule, cases) in files.items():
        folder = os.path.join(rulefile.ROOT, 'tests', 'golden', 'rules', rule.family)
        os.makedirs(folder, exist_ok=True)
        loose = ' --numerics=approximate' if rule.numerics == 'approximate' else ''
        asked = f' --enable-scope-fusion-passes={rule.pass_name}' if rule.kind == 'scope' else ''
        asked = f' --fusion={rule.pass_name}:on' if rule.pass_name in off else asked
        texts = [rulecases.text_of(c).partition('\n')[2] for c in cases]
        for target in rule.targets or ['']:
            chip = TARGETS.get(target, '')
            head = (f'# RUN: opt --passes=infer-shapes,{PASSES[rule.kind]}{loose}{chip}{asked}\n'
                    f'# SPDX-License-Identifier: Apache-2.0\n# Rule {name}: {rule.about}.\n')
            suffix = f'.{target}' if target in rule.targets[1:] else ''
            with open(os.path.join(folder, f'{name}{suffix}.tir'), 'w', encoding='utf-8') as f:
                f.write(head + '// -----\n'.join(texts))
    print(f'{sum(len(c) for _, c in files.values())} cases of {len(files)} rules')


if __name__ == '__main__':
    main()
