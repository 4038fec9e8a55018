# SPDX-License-Identifier: Apache-2.0
"""How bench/run measures one process: time, memory, and where its files live."""
import os
import re
import shutil
import sys
import tempfile
import time


def storage(need):
    """A new folder in RAM when `need` bytes fit there, else on disk; and words saying which."""
    with open('/proc/meminfo', encoding='ascii') as f:
        free = int(re.search(r'MemAvailable:\s+(\d+)', f.read()).group(1)) << 10
    ram = '/dev/shm'
    if os.access(ram, os.W_OK) and min(free, shutil.disk_usage(ram).free) >= need:
        return tempfile.mkdtemp(prefix='tailor-bench-', dir=ram), 'RAM (/dev/shm)'
    return tempfile.mkdtemp(prefix='tailor-bench-'), 'DISK (no room in /dev/shm; times include it)'


def spawn(argv):
    quiet = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]
    return os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet)


def timed(argv):
    """Runs a process: (wall ms, CPU ms)."""
    start = time.perf_counter()
    _, status, usage = os.wait4(spawn(argv), 0)
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f'bench: exit code {os.waitstatus_to_exitcode(status)} from: {" ".join(argv)}')
    return wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3


def memory(argv, runs=3):
    """Peaks over some untimed runs: (private, resident) bytes. Private is RssAnon: pages of the
    process's own, files (mapped or in RAM) excluded. The kernel keeps no peak of it, so it is read
    in a tight loop; of the resident set (VmHWM) it keeps one. getrusage would report the larger of
    this process and the parent it was spawned from."""
    private = resident = 0
    for _ in range(runs):
        pid = spawn(argv)
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            try:
                with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as f:
                    seen = dict(re.findall(r'^(VmHWM|RssAnon):\s+(\d+)', f.read(), re.M))
            except OSError:
                continue
            private = max(private, int(seen.get('RssAnon', 0)) << 10)
            resident = max(resident, int(seen.get('VmHWM', 0)) << 10)
    return private, resident


def fresh(folder, job):
    """Runs job() with a new, empty folder and removes it afterwards: every output starts alike."""
    os.makedirs(folder)
    try:
        return job()
    finally:
        shutil.rmtree(folder)
