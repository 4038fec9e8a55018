#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every attribute in AIR is declared by the prototype of its op, or is in the table of docs/air.md:
nothing gets into files that nobody has heard of.

  tests/air/attributes.py --tailor T [--every N] [FOLDER...]

Each model is converted with one of four option sets. Default folders: the corpus beside the project
and Debian's ONNX models. The last line is 'N passed, M failed, K skipped'."""
import argparse
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import round_trip  # noqa: E402
from hostile import decode  # noqa: E402

SETS = [[], ['--precision-mode=force_fp16', '--external-weight=2'], ['-O0'],
        ['--soc-version=Ascend310P3', '--precision-mode=allow_mix_precision']]


def documented():
    """(attributes of nodes, attributes of descs) in the table."""
    with open(os.path.join(ROOT, 'docs', 'air.md'), encoding='utf-8') as f:
        table = f.read().split('\n## Attributes\n')[1].split('\n## ')[0]
    nodes, descs = set(), set()
    for row in re.findall(r'^\| (`.*?) \| (.*?) \|', table, re.M):
        names = re.findall(r'`([^`]+)`', row[0])
        (descs if row[1].startswith('descs') else nodes).update(names)
    return nodes, descs


def fields(data, number):
    return [v for n, _, v in decode(data) if n == number]


def keys(data, number):
    return [fields(e, 1)[0].decode() for e in fields(data, number)]


class Attributes:
    def __init__(self):
        with open(os.path.join(ROOT, 'tests', 'oracle', 'protos.json'), encoding='utf-8') as f:
            self.protos = json.load(f)['ops']
        self.nodes, self.descs = documented()
        self.seen = set()

    def unknown(self, data):
        """What a file has that is neither declared nor listed."""
        for graph in fields(data, 7):
            for node in fields(graph, 6):
                kind = fields(node, 2)[0].decode()
                declared = self.protos.get(kind, {'attrs': {}})['attrs']
                for key in keys(node, 10):
                    name = re.sub(r'^(__dynamic_(in|out)put_).*_cnt$', r'\1NAME_cnt', key)
                    self.seen.add(name)
                    if name not in self.nodes and key not in declared:
                        yield f'{kind} has {key}'
                for number in (33, 34):
                    for desc in fields(node, number):
                        for key in keys(desc, 5):
                            self.seen.add(key)
                            if key not in self.descs:
                                yield f'a desc of {kind} has {key}'


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    found = round_trip.models(args.folders or round_trip.FOLDERS, args.every)
    a, passed, failed = Attributes(), 0, 0
    with tempfile.TemporaryDirectory(prefix='tailor-attributes-') as room:
        out = os.path.join(room, 'm.air')
        for i, path in enumerate(found):
            argv = [args.tailor, 'convert', path, '-o', out, '-q', *SETS[i % len(SETS)]]
            if guard.run(argv, capture_output=True, check=False).returncode:
                continue
            with open(out, 'rb') as f:
                wrong = sorted(set(a.unknown(f.read())))
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print(f'FAIL {path}: {"; ".join(wrong[:8])}')
    if args.every == 1:
        print('    not seen:', ' '.join(sorted((a.nodes | a.descs) - a.seen)) or 'none')
    print(f'{passed} passed, {failed} failed, {0 if found else 1} skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
