#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Infers AIR files as GE does, by rules that GE publishes, and compares what the files say.

  ge_shapes.py FILE.air [FILE.air ...]                    files
  ge_shapes.py --tailor BIN [--every N] [DIR ...]         every Nth model below the folders (without
                                                          one: the corpora, and all of ge_cases)
  --table FILE   one line for each finding        --ops   nodes of each op type that has no rule
  --rules        op types, what their rules were compared with, and the functions that they are about

For each node of a type that ge_rules.py or ge_moves.py has: GE's verifier passes, with the formats
that GE's format pass sets; each size that GE knows is what the file says, and the file knows no size
that GE would not know for want of a constant operand. ge_shapes.tsv lists exceptions with reasons.
The last line is 'N passed, M failed, K skipped': nodes that agree, that do not, and without a rule."""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import air_check  # noqa: E402
import ge_graph  # noqa: E402
import ge_moves  # noqa: E402
import ge_rules  # noqa: E402
import ge_sources  # noqa: E402
import guard  # noqa: E402

RULES = {**ge_moves.RULES, **ge_rules.RULES}
CASES = os.path.join(HERE, 'ge_cases')
SOURCES = air_check.SOURCE_TYPES | {'NetOutput'}


def compare(graph, node):
    """What is wrong with a node, one text for each finding."""
    try:
        shapes = RULES[node.type][0](node)
    except ge_rules.Refused as reason:
        yield f'refused: {reason}'
        return
    for name, dims in shapes.items():
        port = node.out(name) or (node.outs[0] if name == 'y' else None)
        if port is not None and dims is not None:
            yield from differences(graph, node, port, dims)


def differences(graph, node, port, dims):
    said = port.shape
    if said == ge_rules.ANY:
        if dims != ge_rules.ANY:
            yield f'{port.name}: the file knows no rank, GE infers {dims}'
        return
    if dims == ge_rules.ANY or len(dims) == len(said) and -1 in dims:
        if vague(node, dims, said):
            why = 'an operand that the run gives' if given_by_run(graph, node) else 'a constant'
            yield f'{port.name}: the file says {said}, GE knows {dims} for want of {why}'
            return
    if dims == ge_rules.ANY:
        return
    if len(dims) != len(said) or any(-1 not in (a, b) and a != b for a, b in zip(dims, said)):
        yield f'{port.name}: the file says {said}, GE infers {dims}'
    elif any(b == -1 and a >= 0 for a, b in zip(dims, said)):
        yield f'{port.name}: the file says {said}, GE knows {dims}'


def vague(node, dims, said):
    """Whether everything is known but GE misses the value of an operand."""
    if -1 in said or any(-1 in p.shape or -2 in p.shape for p in node.ins if p.peer):
        return False
    return dims == ge_rules.ANY or -1 in dims


def given_by_run(graph, node):
    """Whether an operand other than x comes from inputs, and not from their sizes alone."""
    queue = [p.peer[0] for p in node.ins if p.peer and p.value is None and p.name != 'x']
    seen = set()
    while queue:
        name = queue.pop()
        source = graph.nodes.get(name)
        if source is None or name in seen or source.type in ('Shape', 'Size'):
            continue
        seen.add(name)
        if source.type == 'Data':
            return True
        queue += [p.peer[0] for p in source.ins if p.peer]
    return False


def check(path, protos, missing, sources):
    """(nodes that agree, findings) of a file"""
    _, graphs = ge_graph.read(path, protos)
    good, found = 0, []
    for graph in graphs:
        for node in graph.nodes.values():
            if node.type in SOURCES:
                continue
            if node.type not in RULES:
                missing[node.type] += 1
                continue
            sources[node.type in ge_sources.SEEN] += 1
            texts = list(compare(graph, node))
            good += not texts
            found += [(node.type, node.name, text) for text in texts]
    return good, found


def models(folders, every):
    found = []
    for folder in folders:
        names = [os.path.join(where, n) for where, _, files in os.walk(folder) for n in files]
        chosen = sorted(n for n in names if n.endswith(('.onnx', '.tir')))
        found += [(folder, n) for n in chosen[::1 if folder == CASES else every]]
    return found


def convert(args, work, folder, model):
    """(name, AIR file or None)"""
    name = os.path.relpath(model, folder)
    air = os.path.join(work, os.path.splitext(name.replace('/', '__'))[0] + '.air')
    p = guard.run([args.tailor, 'convert', model, '-q', '-o', air, *args.options.split()],
                  capture_output=True, text=True, errors='replace')
    return name, air if p.returncode == 0 else None


def files(args, work):
    if not args.tailor:
        return [(path, path) for path in args.paths]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda m: convert(args, work, *m), models(args.paths, args.every)))
    return [(name, air) for name, air in made if air]


def exceptions():
    path = os.path.join(HERE, 'ge_shapes.tsv')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        return [line.rstrip('\n').split('\t') for line in f if line.strip() and line[0] != '#']


def judge(found, rows):
    """The findings that no exception explains."""
    return [f for f in found
            if not any(fnmatch.fnmatchcase(f[0], model) and op in (f[1], '*') and part in f[3]
                       for model, op, part, _ in rows)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor')
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--options', default='', help='more options of convert, with blanks between')
    p.add_argument('--table')
    p.add_argument('--ops', action='store_true')
    p.add_argument('--rules', action='store_true')
    p.add_argument('paths', nargs='*')
    args = p.parse_args()
    if args.rules:
        print('\n'.join(f'{op}\t{ge_sources.status(op)}\t{RULES[op][1]}' for op in sorted(RULES)))
        return 0
    args.paths = args.paths or [CASES, '/usr/share/libonnx-testdata',
                                os.path.join(HERE, '..', '..', '..', 'shared', 'corpus')]
    protos = air_check.load_protos(os.path.join(HERE, 'protos.json'))
    missing, sources, found, good = collections.Counter(), collections.Counter(), [], 0
    with tempfile.TemporaryDirectory(prefix='tailor-ge-') as work:
        parts = files(args, work)
        for name, path in parts:
            agree, texts = check(path, protos, missing, sources)
            good += agree
            found += [(name, *text) for text in texts]
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join(row) + '\n' for row in found)
    left = judge(found, exceptions())
    for row in left[:200]:
        print('FAIL ' + ' '.join(row))
    if args.ops:
        print('no rule: ' + ' '.join(f'{op}:{n}' for op, n in missing.most_common()))
    print(f'{sources[True]} nodes have rules that were compared with GE, {sources[False]} have others')
    print(f'{len(parts)} AIR files, {len(RULES)} rules; {len(found) - len(left)} findings are '
          f'listed in ge_shapes.tsv')
    print(f'{good} passed, {len(left)} failed, {sum(missing.values())} skipped')
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main())
