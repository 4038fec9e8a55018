# SPDX-License-Identifier: Apache-2.0
"""How bench/run measures one process: time, memory, where its files live, and the peer."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


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
    """Runs a process: (wall ms, CPU ms), or None when it fails (it has then said why)."""
    start = time.perf_counter()
    _, status, usage = os.wait4(spawn(argv), 0)
    wall = time.perf_counter() - start
    return None if status else (wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3)


def memory(argv, runs=3):
    """Peaks over some untimed runs: (private, resident) bytes. Private is RssAnon: pages of the
    process's own, files (mapped or in RAM) excluded. The kernel keeps no peak of it, so it is read
    in a tight loop; of the resident set (VmHWM) it keeps one. getrusage would report the larger of
    this process and the parent it was spawned from."""
    peaks = [sampled(argv) for _ in range(runs)]
    return max(p[0] for p in peaks), max(p[1] for p in peaks)


def sampled(argv):
    """One run, stopped before it starts, so that the first milliseconds are watched too."""
    pid = spawn(['/bin/sh', '-c', 'kill -STOP $$; exec "$@"', 'sh', *argv])
    os.waitpid(pid, os.WUNTRACED)
    os.kill(pid, signal.SIGCONT)
    private = resident = 0
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


def optimizer_ms(runtime, path, to):
    """ONNX Runtime creating a session and saving it, start-up of node excluded; None: failed."""
    argv = ['node', os.path.join(HERE, 'ort_optimize.js'), path, '--level', 'basic', '--save',
            os.path.join(to, 'ort.onnx'), '--ort', runtime]
    p = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(r'basic ([\d.]+) ms', p.stdout)
    return float(found.group(1)) if found and p.returncode == 0 else None
