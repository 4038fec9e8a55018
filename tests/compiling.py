# SPDX-License-Identifier: Apache-2.0
"""Builds for tests: each is configured once, and then built again when sources have changed."""
import os

import joined
from processes import shell


def configure(folder, compiler, options, optimized=None):
    """What failed, or ''. optimized: patterns of joined.join, if files are to be joined."""
    ninja = os.path.join(folder, 'build.ninja')
    if os.path.exists(ninja):
        return ''
    p = shell(['meson', 'setup', folder, '-Dmeson_test=false', *options], {'CC': compiler})
    if p.returncode:
        return p.stdout[-4000:]
    if optimized:
        joined.join(folder, optimized)
    return ''


def build(folder, targets):
    """What failed, or ''. Files that cannot be compiled together are compiled one by one."""
    jobs = f'-j{len(os.sched_getaffinity(0))}'  # more would cost more
    p = shell(['ninja', jobs, '-C', folder, *targets])
    if p.returncode and joined.separate(folder):
        print(f'{folder}: not compiled together (tests/joined.py): {p.stdout[-1500:]}', flush=True)
        p = shell(['ninja', jobs, '-C', folder, *targets])
    return p.stdout[-6000:] if p.returncode else ''
