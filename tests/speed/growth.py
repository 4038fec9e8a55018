#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs of awkward shapes, whose conversion once cost more than its share as they grew: a sample
of bench/adversarial.py, smaller. And 1,500 rules that fit nowhere: they cost as much as a
hundred once they are read. Instructions are counted.

  growth.py --tailor BIN

The last line is 'N passed, M failed, K skipped'."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'bench'))
import adversarial  # noqa: E402
import counting  # noqa: E402
import many_rules  # noqa: E402

MOST = 1.15
# shape: (smaller size, what grew with it, in a conversion to AIR or in reading it)
SAMPLE = {
    'chain_cast_there_and_back': (500, 'lists of what a node comes from, until they are full'),
    'readers_matmul': (100, 'pairs and triples of products of one input'),
    'wide_concat': (200, 'operands of one node, looked up each by each'),
    'waits_for_many': (500, 'control edges of one node'),
    'states read': (250, 'outputs that are looked for by their names'),
    'ifs read': (100, 'tables by node for each body'),
    'equal_subtrees': (500, 'users of the one value that equal nodes become'),
}


FEW, MANY = 100, 1500
KINDS = ('numbers', 'depths')  # of many_rules.KINDS
MOST_OF_RULES = 1.05


def a_thousand_nodes(tailor, folder, rules):
    """Instructions of the nodes that llama_4k has and llama_1k has not; reading the rules, which
    both do, is not among them."""
    def of(model):
        return counting.instructions(
            [tailor, 'convert', os.path.join(folder, model + '.onnx'), '-q', '--summary=none',
             '--rules', rules, '-o', os.path.join(folder, 'out.onnx')])
    small, large = of('llama_1k'), of('llama_4k')
    return large - small if small and large else None


def rules_cost(tailor):
    """(kind of rules, cost of MANY against FEW) for each kind."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        'llama_1k', 'llama_4k'], stdout=subprocess.DEVNULL, check=True)
        for kind in KINDS:
            costs = []
            for n in (FEW, MANY):
                path = os.path.join(folder, f'{kind}{n}.tlr')
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(many_rules.text(kind, n))
                costs.append(a_thousand_nodes(tailor, folder, path))
            yield kind, costs[1] / costs[0] if all(costs) else None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    if counting.missing():
        print(f'skip: {counting.missing()}\n0 passed, 0 failed, 1 skipped')
        return 0
    failed = 0
    for name, (size, grew) in SAMPLE.items():
        shape, _, read = name.partition(' ')
        found = adversarial.growth(os.path.abspath(args.tailor), shape, read or 'air', size)
        if not found or found[0] > MOST:
            failed += 1
            print(f'FAIL {name} ({grew}): ' +
                  (f'grows with the size to the power {found[0]:.2f}, at most {MOST} is allowed'
                   if found else 'does not convert'))
    rules = list(rules_cost(os.path.abspath(args.tailor)))
    for kind, cost in rules:
        if not cost or cost > MOST_OF_RULES:
            failed += 1
            print(f'FAIL {MANY} rules ({kind}): ' +
                  (f'cost {cost:.3f} times as much as {FEW}, at most {MOST_OF_RULES} is allowed'
                   if cost else 'a conversion failed'))
    print(f'{len(SAMPLE) + len(rules) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
