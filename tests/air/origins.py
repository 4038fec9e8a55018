#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every node of an AIR file says which nodes of the model it comes from.

  tests/air/origins.py --tailor T [--every N] [FOLDER...]

Each model is converted under several sets of options. Of each node but Data, constants and
NetOutput, `_datadump_original_op_names` must name nodes that the model has (by name, or as
OP->RESULT for one without a name), at least one; or be empty for a node that a pass inserted, which
then names those nodes in `_tailor_inserted_for`, unless it stands at an input of the model. And
`explain --node` must find the node again by its name in AIR, and by that of an origin, in both the
model and the file. Default folders: the corpus beside the project and Debian's ONNX models."""
import argparse
import collections
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'oracle'))
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import air_check  # noqa: E402
import round_trip  # noqa: E402

SETS = [[], ['--precision-mode=force_fp16'], ['--soc-version=Ascend310P3'], ['-O0']]
NOT_NODES = ('Data', 'Const', 'Constant', 'FileConstant', 'NetOutput')
NAMES, FOR = '_datadump_original_op_names', '_tailor_inserted_for'
STATEMENT = re.compile(r'^\s*((?:%?(?:"(?:[^"\\]|\\.)*"|[^\s,"=]+)(?:, )?)+) = '
                       r'("(?:[^"\\]|\\.)*"|[\w.:-]+)\(', re.M)
NODE_NAME = re.compile(r' @("(?:[^"\\]|\\.)*"|[^\s{}]+)')
WORD = re.compile(r'%?("(?:[^"\\]|\\.)*"|[^\s,"]+)')


def plain(text):
    """A name as textual IR has it, without quotes and escapes."""
    def one(match):
        what = match.group(1)
        return {'n': '\n', 't': '\t', 'r': '\r'}.get(what, what) if len(what) == 1 else \
            chr(int(what[1:], 16))
    return re.sub(r'\\(x[0-9a-fA-F]{2}|.)', one, text[1:-1]) if text.startswith('"') else text


def names_of_model(text):
    """Names of nodes, and OP->RESULT of each, from textual IR without passes."""
    names = {plain(name) for name in NODE_NAME.findall(text)}
    for results, op in STATEMENT.findall(text):
        kind = plain(op).split('::')[-1]
        names |= {f'{kind}->{plain(result)}' for result in WORD.findall(results)}
    return names


def strings(op, key):
    value = op.attr.get(key)
    return None if value is None else [bytes(s).decode() for s in value.list.s]


class Origins:
    def __init__(self, args, room):
        self.tool, self.room = args.tailor, room
        self.passed, self.failed = 0, []
        self.kinds = collections.Counter()

    def run(self, *argv):
        return guard.run([self.tool, *argv], capture_output=True, text=True, check=False,
                         errors='replace')

    def nodes(self, path):
        with open(path, 'rb') as f:
            data = f.read()
        model = air_check.Decoder(lambda *_: None).decode('ModelDef', data, 0, len(data))
        return [op for graph in model.graph for op in graph.op if op.type not in NOT_NODES]

    def wrong(self, op, known):
        """What is wrong with the origins of a node, or None."""
        names, inserted = strings(op, NAMES), strings(op, FOR)
        if names is None:
            return 'says nothing'
        unknown = [name for name in names + (inserted or []) if name not in known]
        if unknown:
            return f'comes from {unknown[:3]}, which the model does not have'
        self.kinds['made of nodes' if names else
                   'inserted for nodes' if inserted else 'at an input'] += 1
        return None

    def found(self, model, name, key, expected, options):
        done = self.run('explain', model, '--node', name, '--origins', '--json',
                        *options)
        if done.returncode:
            return f'explain --node={name}: {done.stderr[:200]}'
        nodes = json.loads(done.stdout)[key]
        return None if any(node['name'] == expected for node in nodes) else \
            f'explain --node={name}: {expected} is not in "{key}" of {model}'

    def explained(self, path, air, op, options):
        origins = strings(op, NAMES) or strings(op, FOR) or []
        for model, more in ((path, options), (air, [])):
            yield self.found(model, op.name, 'is', op.name, more)
            for origin in origins[:1]:
                yield self.found(model, origin, 'became', op.name, more)

    def model(self, path, options, explains):
        air = os.path.join(self.room, 'm.air')
        if self.run('convert', path, '-o', air, '-q', *options).returncode:
            return
        known = names_of_model(self.run('opt', path, '--passes=').stdout)
        nodes = self.nodes(air)
        wrong = [f'{op.name}: {why}' for op in nodes if (why := self.wrong(op, known))]
        dtypes = any('precision' in o for o in options)
        if explains and nodes and not wrong and not dtypes:
            wrong = [why for why in self.explained(path, air, nodes[-1], options) if why]
        if wrong:
            self.failed.append(f'{path} {" ".join(options)}: {len(wrong)} nodes: {wrong[0]}')
        else:
            self.passed += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--every', type=int, default=8)
    p.add_argument('folders', nargs='*')
    args = p.parse_args()
    args.tailor = os.path.abspath(args.tailor)
    with tempfile.TemporaryDirectory() as room:
        origins = Origins(args, room)
        for i, path in enumerate(round_trip.models(args.folders or round_trip.FOLDERS, args.every)):
            for options in SETS:
                origins.model(path, options, i % 4 == 0)
    for line in origins.failed:
        print('FAIL', line)
    for kind, n in origins.kinds.most_common():
        print(f'{n} nodes: {kind}', file=sys.stderr)
    print(f'{origins.passed} passed, {len(origins.failed)} failed')
    return 1 if origins.failed else 0


if __name__ == '__main__':
    sys.exit(main())
