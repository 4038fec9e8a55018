# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of one kind of tests, and adds up the CPU time of all that they start: on a
busy machine it says what a kind costs, and wall time does not."""
import os
import subprocess
import threading

import guard

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Memory comes in large pages, and a process keeps what it has freed: in a virtual machine a page
# fault can take as long as 50,000 instructions.
FEW_FAULTS = {'GLIBC_TUNABLES': ':'.join((
    'glibc.malloc.hugetlb=1', 'glibc.malloc.trim_threshold=0x10000000',
    'glibc.malloc.mmap_threshold=0x2000000', 'glibc.malloc.top_pad=0x200000'))}
LOOKS = 120  # of the guard: ten minutes in which a whole kind does nothing
_of_thread = threading.local()  # a kind runs in one thread


def reset_cpu():
    _of_thread.seconds = 0.0


def cpu_seconds():
    """CPU time, since reset_cpu, of what `shell` ran in this thread."""
    return getattr(_of_thread, 'seconds', 0.0)


def described(pid):
    """What a process runs, on one line."""
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as f:
            words = os.fsdecode(f.read()).split('\0')
    except OSError:
        words = ['(it has ended)']
    return f'{pid}: ' + ' '.join(' '.join(words).split())[:200]


def shell(argv, env=None):
    """Runs a program in the root of the repository; its output, both streams in one, and its exit
    code are those of the result. One that waits for ever is ended, and the output says so."""
    with subprocess.Popen(argv, cwd=ROOT, text=True, stdin=subprocess.DEVNULL, errors='replace',
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **(env or {}))) as p, \
            guard.Watch(p, guard.Looks(p.pid, most=LOOKS)) as watch:
        text = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    text += f'\nended, since it did nothing for long: {" ".join(argv)}' if watch.hung else ''
    _of_thread.seconds = cpu_seconds() + usage.ru_utime + usage.ru_stime
    return subprocess.CompletedProcess(argv, p.returncode, text)
