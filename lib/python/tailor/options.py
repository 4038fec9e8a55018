# SPDX-License-Identifier: Apache-2.0
"""Options as keyword arguments: names with underscores, values of Python's types."""
import os

from tailor import errors
from tailor._table import OPTIONS

BY_NAME = {row[0]: row for row in OPTIONS}


def _text(value):
    if value is True or value is False:
        return 'true' if value else 'false'
    if isinstance(value, dict):  # shapes of inputs
        return ';'.join(f'{name}:' + ','.join(map(str, dims)) for name, dims in value.items())
    if isinstance(value, (list, tuple)):
        return ','.join(_text(v) for v in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def settings(options):
    """(name, value) pairs, as the library takes them, for keyword arguments. None: not given."""
    for key, value in options.items():
        if value is None:
            continue
        row = BY_NAME.get(key)
        name = row[1] if row else key.replace('_', '-')
        kind, repeats = (row[2], row[6]) if row else ('text', False)
        if kind == 'flag':
            if value:
                yield name, ''
        elif kind == 'bool' and isinstance(value, bool) and row[3] == '0|1':
            yield name, str(int(value))
        elif repeats and isinstance(value, (list, tuple)):
            for item in value:
                yield name, _text(item)
        else:
            yield name, _text(value)


def number(name, value, bits):
    """A number without sign, which C would cut to its bits."""
    value = int(value) if not isinstance(value, float) else value
    if not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise errors.usage(f'{name}={value!r} is no integer from 0 to {(1 << bits) - 1}')
    return value


def document():
    """The options as text, for docstrings: one after the other, with what they mean."""
    lines, group = [], None
    for key, _, kind, values, initial, title, _, about in OPTIONS:
        if title != group:
            lines += ['', title + ':']
            group = title
        shown = values or kind
        lines.append(f'    {key} ({shown}{", default " + initial if initial else ""}): {about}')
    return '\n'.join(lines)
