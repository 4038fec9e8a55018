#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`tailor opt --verify-numerics` over what each rule takes: verify_numerics.py --tailor BIN

The first case of each rule's golden file is rewritten by the passes of that file, and each rewrite
is evaluated before and after on random inputs. scripts/rule-coverage looks at each rule alone; here
it runs as for a user, among all others. A rule whose case the pipeline leaves alone, since the op
has an NPU form as it is, is skipped. The last line is 'N passed, M failed, K skipped'."""
import argparse
import concurrent.futures
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

GOLDEN = os.path.join(ROOT, 'tests', 'golden', 'rules')


def verify(tailor, folder, path):
    """(verdict, detail) of one rule."""
    file = golden_cases.read(path)
    rule = os.path.basename(path)[:-len('.tir')]
    model = os.path.join(folder, rule + '.tir')
    with open(model, 'w', encoding='utf-8') as f:
        f.write(file.cases[0].module)
    p = guard.run([tailor, *file.run.split(), '--verify-numerics', model, '-o',
                   os.path.join(folder, rule + '.out.tir')], capture_output=True, text=True)
    found = re.search(r'verified (\d+) rewrites? by rules', p.stderr)
    if p.returncode or not found:
        return 'FAIL', f'{rule}: exit {p.returncode}: {p.stderr.strip()[:300]}'
    if found.group(1) == '0':
        kept = rule.startswith('Expand')
        return ('skip' if kept else 'FAIL'), f'{rule}: the pipeline does not rewrite it'
    return 'pass', ''


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tailor = os.path.abspath(p.parse_args().tailor)
    counts = {'pass': 0, 'FAIL': 0, 'skip': 0}
    paths = [path for path in golden_runner.tests_under([GOLDEN])
             if not golden_cases.PART.search(path)]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for verdict, detail in pool.map(lambda path: verify(tailor, folder, path), paths):
            counts[verdict] += 1
            if verdict != 'pass':
                print(verdict, detail)
    print(f'{counts["pass"]} passed, {counts["FAIL"]} failed, {counts["skip"]} skipped')
    return 1 if counts['FAIL'] else 0


if __name__ == '__main__':
    sys.exit(main())
