# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a process with valgrind: a figure that a busy machine does not
change."""
import os
import re
import shutil
import subprocess


def missing():
    """Why nothing can be counted here; None where it can."""
    return None if shutil.which('valgrind') else 'valgrind is not installed'


def instructions(command, folder=None):
    """Instructions of a process from its start to its end; None when it fails."""
    # Settings of the allocator would count.
    env = {name: value for name, value in os.environ.items() if name != 'GLIBC_TUNABLES'}
    p = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', *command],
                       capture_output=True, text=True, errors='replace', cwd=folder, env=env,
                       check=False)
    found = re.search(r'Collected\s*:\s*(\d+)', p.stderr)
    return int(found[1]) if p.returncode == 0 and found else None
