#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""verify --layers must rank the node of a wrong rewrite first.

  layers.py --tailor BIN --planted BIN [--only TEXT]

Of 16 wrong rewrites that change numbers seven are planted into passes (planted.c), nine are
rules. The model is converted with the mistake; --layers compares the AIR file with the model and
knows nothing of it. The tensor that is ranked first must be of a node that the remark about the
rewrite names, or come from it. At least 14 of 16 must be right, so one in eight may be wrong.
The last line is 'N passed, M failed, K skipped'."""
import argparse
import json
import os
import re
import sys
import tempfile

import planted

# Further wrong rules: the first is off by little, everywhere.
RULES = planted.RULES + (
    ('ErfByTanh', 'bert_tiny.onnx', '''
rule ErfByTanh : graph numerics exact {
  match { %y = Erf(%x) }
  replace {
    %s = Mul(%x, const 1.2)
    %y = Tanh(%s)
  }
}'''),
    ('SquaredGate', 'llama_1k.onnx', '''
rule SquaredGate : graph numerics exact {
  match {
    %s = Sigmoid(%x)
    %y = Mul(%x, %s)
  }
  replace {
    %g = Sigmoid(%x)
    %y = Mul(%g, %g)
  }
}'''),
    ('SigmoidInParts', 'yolov5n.onnx', '''
rule SigmoidInParts : graph numerics exact {
  match { %y = Sigmoid(%x) }
  replace { %y = HardSigmoid(%x) }
}'''),
)
ALLOWED = 8  # one of so many cases may be wrong


def cases():
    for name, _, model, options, check in planted.PLANTS:
        # Two others change an order and no number; the third takes a node away.
        if check is None and name != 'unscale':
            yield name, model, options, {'TAILOR_PLANT': name}
    for name, model, _ in RULES:
        yield name, model, [f'--rules={name}.tlr'], {}


def nodes_of(remarks, name):
    """Names that remarks about a rewrite mention; of an unnamed node also its result."""
    names = set()
    for line in remarks.splitlines():
        if line.startswith('remark: ') and re.search(rf'\b{name}: |planted: {name}$', line):
            for a, b in re.findall(r'"([^"]*)"|`([^`]*)`', line):
                names |= {a or b, (a or b).split('->')[-1]}
    return names


def examine(args, case, folder):
    """What is wrong, or None"""
    name, model, options, plant = case
    p = planted.run([args.planted, 'convert', model, *options, '--remarks', '-o', 'wrong.air'],
                    folder, env={**os.environ, **plant})
    names = nodes_of(p.stderr, name)
    if p.returncode or not names:
        return f'convert: {p.stderr[-300:]}'
    p = planted.run([args.tailor, 'verify', model, 'wrong.air', '--layers', '--json', '--seed=1',
                     '--memory-limit=4G'] + planted_dims(model), folder)
    try:
        found = json.loads(p.stdout)['layers']
    except (ValueError, KeyError):
        return f'verify: status {p.returncode}: {p.stderr[-300:]}'
    first = next((t for t in found['tensors'] if t['rank'] == 1), None)
    if first is None:
        return f'no tensor of {found["compared"]} has a rank'
    if names & {first['name'], first['node'], first.get('reference', ''), *first['from']}:
        return None
    return f'the first is {first["name"]} of {first["node"]}, planted were {sorted(names)[:3]}'


def planted_dims(model):
    """Open dims of one element would hide that a wrong axis is used."""
    dims = {'bert_tiny.onnx': ['batch_size=2', 'sequence_length=8'],
            'segment_bilinear.onnx': ['N=1', 'H=64', 'W=64']}.get(model, [])
    return [f'--dim={d}' for d in dims]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--planted', required=True)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    args.tailor, args.planted = os.path.abspath(args.tailor), os.path.abspath(args.planted)
    wanted = [c for c in cases() if args.only in c[0]]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        planted.make_models(args, folder, sorted({c[1].split('.')[0] for c in wanted} |
                                                 {'bert_tiny', 'train_transformer_adam'}))
        for name, _, text in RULES:
            with open(os.path.join(folder, name + '.tlr'), 'w', encoding='utf-8') as f:
                f.write('rules 1\n' + text + '\n')
        for case in wanted:
            problem = examine(args, case, folder)
            wrong += problem is not None
            print(f'{"miss" if problem else "ok  "} {case[0]} in {case[1]}'
                  f'{": " + problem if problem else ""}', flush=True)
    failed = wrong if wrong > len(wanted) // ALLOWED else 0
    print(f'{len(wanted) - wrong} of {len(wanted)} nodes are ranked first')
    print(f'{len(wanted) - failed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
