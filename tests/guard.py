# SPDX-License-Identifier: Apache-2.0
"""The one guard against programs that hang. It counts the CPU time of the program and notices one
that waits for what never comes; it never counts wall time, so that a machine that is busy with
other work fails no test."""
import os
import resource
import signal
import subprocess
import threading

import started

CPU_SECONDS = 120
# A program that does next to nothing for as many looks in a row waits for ever: a browser that
# waits still has clocks. Who waits for a processor or a disk is not idle.
LOOKS = 24
LOOK_SECONDS = 5
NOTHING = 0.1  # of a processor: a browser that waits takes a thirtieth
TICKS = os.sysconf('SC_CLK_TCK')
# A wrapper (sh, strace) reports the signal of what it wraps as an exit code.
USED_UP = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


def run(argv, cpu=CPU_SECONDS, **more):
    """subprocess.run; TimeoutExpired when the program takes more than `cpu` seconds of CPU time, or
    does nothing for long. fresh: the run is a start, for those who measure it."""
    text = more.pop('input', None)
    check = more.pop('check', False)
    if more.pop('capture_output', False):
        more.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done, hung = None, False
    if not more.pop('fresh', False) and started.possible(argv, more):
        done, hung = run_started(argv, cpu, text, more)
    if not done:
        done, hung = run_new(argv, cpu, text, more)
    if hung or done.returncode in USED_UP:
        raise subprocess.TimeoutExpired(argv, cpu, done.stdout, done.stderr)
    if check:
        done.check_returncode()
    return done


def run_new(argv, cpu, text, more):
    """Runs a program in a new process; the result, and whether it hung."""
    if text is not None:
        more = dict(more, stdin=subprocess.PIPE)
    with begin(argv, cpu, **more) as p, Watch(p) as watch:
        out, err = p.communicate(text)
    return subprocess.CompletedProcess(argv, p.returncode, out, err), watch.hung


def run_started(argv, cpu, text, more):
    """The same by a program that has been started before; (None, False) if this one cannot be."""
    looks = []

    def watch(pid):
        looks.append(Looks(pid, cpu))
        return looks[0].look

    try:
        done = started.run(argv, cpu, text, more, watch, LOOK_SECONDS)
    except started.Broken:
        return None, False
    return done, looks[0].hung


def begin(argv, cpu=CPU_SECONDS, **more):
    """subprocess.Popen with the limit of CPU time, which holds for all that the program begins. It
    is set from here: a shell that does so costs as much as half a run of the command. What the
    program has begun before gets the limit from Watch."""
    p = subprocess.Popen(argv, **more)
    p.cpu_seconds = cpu
    limit(p.pid, cpu)
    return p


def limit(pid, cpu):
    """Sets the limit of CPU time of one process, unless it has a lower one."""
    try:
        soft, most = resource.prlimit(pid, resource.RLIMIT_CPU)
        if soft == resource.RLIM_INFINITY or soft > cpu:
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu, most))
    except (ProcessLookupError, PermissionError):  # it has ended, or is another one now
        pass


def wait(p):
    """Exit code of a process whose output nobody reads, or TimeoutExpired."""
    with Watch(p) as watch:
        code = p.wait()
    if watch.hung or code in USED_UP:
        raise subprocess.TimeoutExpired(p.args, CPU_SECONDS)
    return code


class Watch:
    """Ends a process that does nothing for long, while somebody waits for it. A busy machine may
    let it begin others before begin() has set its limit: they get theirs here."""

    def __init__(self, process, looks=None):
        self.process = process
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.looks = looks or Looks(process.pid, getattr(process, 'cpu_seconds', CPU_SECONDS))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.thread.join()
        if kind:
            end(self.process.pid)

    def watch(self):
        while not self.hung and not self.over.wait(LOOK_SECONDS):
            self.looks.look()

    @property
    def hung(self):
        return self.looks.hung


class Looks:
    """Looks at a process from time to time, and ends it when it did nothing for long."""

    def __init__(self, pid, cpu=None, most=None):
        """cpu: the limit of CPU time; most: how many looks a process may be idle."""
        self.pid, self.cpu, self.most = pid, cpu, most or LOOKS
        self.before, self.idle = None, 0
        self.hung = False

    def look(self):
        for pid in family(self.pid) if self.cpu else ():
            limit(pid, self.cpu)
        now = activity(self.pid)
        known = None not in (now, self.before)
        self.idle = self.idle + 1 if known and abs(now - self.before) <= nothing() else 0
        self.before = now
        if self.idle >= self.most and not self.hung:
            self.hung = True
            end(self.pid)


def nothing():
    """Ticks of CPU time that a process may use between two looks and is still idle."""
    return NOTHING * TICKS * LOOK_SECONDS


def activity(pid):
    """CPU time of a process and its descendants so far, in ticks; None when one of them runs, or
    wants to."""
    found = 0
    try:
        for task in tasks(pid):
            with open(task + '/stat', encoding='ascii', errors='replace') as f:
                fields = f.read().rpartition(')')[2].split()
            if fields[0] in 'RD':
                return None
            found += sum(int(n) for n in fields[11:15])  # of its own, and of children that ended
    except OSError:
        return None  # one ended just now, which is something
    return found


def tasks(pid):
    """Folders of the threads of a process and of its descendants."""
    waiting = [pid]
    for each in waiting:
        for task in os.listdir(f'/proc/{each}/task'):
            yield f'/proc/{each}/task/{task}'
            with open(f'/proc/{each}/task/{task}/children', encoding='ascii') as f:
                waiting += [int(child) for child in f.read().split()]


def family(pid):
    """A process and its descendants, as far as they are there."""
    try:
        return {int(task.split('/')[2]) for task in tasks(pid)} | {pid}
    except OSError:
        return {pid}


def end(pid):
    """Ends a process, for which nobody has waited yet, and its descendants."""
    kill(family(pid))


def kill(pids):
    for each in pids:
        try:
            os.kill(each, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it has ended, or is another one now
            pass
