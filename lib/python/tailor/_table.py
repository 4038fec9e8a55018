# SPDX-License-Identifier: Apache-2.0
"""The option table, which scripts/python-options writes from the library."""
import os


def _read():
    """Rows: keyword, name, type, values, default, group, whether it repeats, what it means."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'options.tsv')
    with open(path, encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    return tuple((*row[:6], row[6] == '1', row[7]) for row in rows)


OPTIONS = _read()
