# SPDX-License-Identifier: Apache-2.0
"""What must hold inside one op block, and between ops and the prototypes that candidates name."""
import re
import sys


class Bad(Exception):
    pass


def need(ok, text):
    if not ok:
        raise Bad(text)


def unique(names, what):
    for name in names:
        need(names.count(name) == 1, f"{what} '{name}' twice")


def check_block(op):
    for side in ('in', 'out'):
        ports = op[side]
        unique([p['name'] for p in ports], f"port of '{side}'")
        for p in ports:
            last = p is ports[-1] or op['domain'] == 'npu'
            need(p['kind'] != 'VARIADIC' or last, f"variadic port '{p['name']}' must be last")
    unique([a['name'] for a in op['attr']], 'attribute')
    used = {p['type'] for p in op['in'] + op['out']}
    for name in op['vars']:
        need(name in used, f"no port uses the type variable '{name}'")
    need(not op['npu'] or op['npu'][-1]['guard'] == 'always', 'the last guard must be "always"')
    need('body' in op['traits'] or not any(a['kind'] in ('g', 'gs') for a in op['attr']),
         'graph attributes need the trait "body"')


def assigned(text):
    """Names left of '=' in a comma list; commas inside brackets and quotes do not separate."""
    flat = re.sub(r'"[^"]*"', '', text)
    while re.search(r'[(\[{][^()\[\]{}]*[)\]}]', flat):
        flat = re.sub(r'[(\[{][^()\[\]{}]*[)\]}]', '', flat)
    return [part.partition('=')[0].strip() for part in flat.split(',')] if flat else []


def check_candidate(ops, row):
    for name in (row['type'], row['judged']):
        need(not name or ('npu', name) in ops, f'no prototype npu::{name}')
    if row['kind'] in ('none', 'expand'):
        return
    proto = ops['npu', row['type']]
    ports = [p['name'] for p in proto['in']]
    attrs = [a['name'] for a in proto['attr']]
    for name in assigned(row['operands']):
        need(name in ports, f"npu::{row['type']} has no operand '{name}'")
    for name in assigned(row['attrs']):
        need(name in attrs or name[0] == '+', f"npu::{row['type']} has no attribute '{name}'")


def check_candidates(ops):
    for op in ops.values():
        try:
            for row in op['npu']:
                check_candidate(ops, row)
        except Bad as e:
            sys.exit(f"{op['path']}:{op['line']}: {e}")
