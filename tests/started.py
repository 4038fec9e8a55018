# SPDX-License-Identifier: Apache-2.0
"""Runs the command without starting it each time. tests/started.c, loaded before it, stops it in
front of its main function: a start costs ten times as much as a small run, in a sanitized build a
hundred times.

It is used where the environment TAILOR_STARTED_BY names that library, as `make test` does, for
programs named `tailor`. `possible` says which runs could tell the difference and are started as
ever. Most runs follow one another in one process, which is renewed from time to time. It looks for
leaks when it ends: what it finds fails the script at its end, since it is not known which run it
was."""
import atexit
import functools
import os
import select
import socket
import struct
import subprocess
import threading

LIBRARY = 'TAILOR_STARTED_BY'
SOCKET, KEPT = 'TAILOR_STARTED', 'TAILOR_STARTED_KEPT'
# What subprocess.run is asked for that is known here.
KNOWN = {'cwd', 'env', 'stdin', 'stdout', 'stderr', 'text', 'errors', 'encoding'}
# The dynamic linker, the allocator and sanitizers read their settings before the main function.
EARLY = ('ASAN_', 'UBSAN_', 'LSAN_', 'TSAN_', 'MALLOC_', 'GLIBC_', 'LLVM_PROFILE')
# Commands whose runs leave nothing behind in their process, and options that do.
MANY = {'opt', 'convert', 'run', 'verify', 'info', 'explain', 'diff'}
MARKS = ('--sandbox', '--memory-limit', '--max-time', '--isolate')
MOST_RUNS = 200  # of one process
PIPE_TAKES = 60_000  # bytes, before anybody reads
_of_thread = threading.local()
_all = []
_bad_ends = []


class Broken(Exception):
    """The program cannot be stopped before its main function: it is a script, or static."""


@functools.cache
def is_there(library):
    return library != '' and os.path.exists(library)


def possible(argv, more):
    env = more.get('env') or os.environ
    return (is_there(os.environ.get(LIBRARY, '')) and os.path.isabs(argv[0])
            and os.path.basename(argv[0]) == 'tailor' and more.keys() <= KNOWN
            and not any(name.startswith('LD_') for name in env))


def keeps(argv):
    return (len(argv) > 1 and argv[1] in MANY
            and not any(word.startswith(MARKS) for word in argv))


class Program:
    """One program that stands before its main function. It serves one thread."""

    def __init__(self, path, early, kept):
        ours, theirs = socket.socketpair()
        env = {**early, 'LD_PRELOAD': os.environ[LIBRARY], SOCKET: str(theirs.fileno())}
        if kept:
            env[KEPT] = '1'
        with theirs:
            self.process = subprocess.Popen([path], env=env, pass_fds=[theirs.fileno()], cwd='/',
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.socket = ours
        self.runs = 0
        _all.append(self)
        if self.receive() is None:
            raise Broken

    def receive(self):
        """A number; None if the process has ended."""
        found = self.socket.recv(4)
        return struct.unpack('=i', found)[0] if len(found) == 4 else None

    def begin(self, argv, env, cwd, streams, cpu):
        """The id of the process of a new run."""
        self.runs += 1
        words = [os.fsencode(w) for w in
                 (os.path.abspath(cwd or os.curdir), *argv,
                  *(f'{name}={value}' for name, value in env.items()))]
        strings = b''.join(w + b'\0' for w in words)
        head = struct.pack('=4I', len(strings), len(argv), len(env), int(cpu) or 1)
        sent = socket.send_fds(self.socket, [head], streams)
        self.socket.sendall(head[sent:] + strings)
        return self.receive()

    def close(self):
        self.socket.close()
        if self.process.wait():
            _bad_ends.append(self.process.returncode)
        _all.remove(self)


def close_all():
    """Ends all programs; the script fails if one of them says so."""
    for program in list(_all):
        program.close()
    if _bad_ends:
        print(f'FAIL the process of many runs ended with {_bad_ends[0]}: see above', flush=True)
        os._exit(1)


atexit.register(close_all)


def program_of(path, env, kept):
    """The program of this thread for a file and the settings that it reads early."""
    early = {name: value for name, value in env.items() if name.startswith(EARLY)}
    s = os.stat(path)
    key = path, s.st_ino, s.st_mtime_ns, kept, tuple(sorted(early.items()))
    programs = _of_thread.__dict__.setdefault('programs', {})
    if key not in programs:
        programs[key] = None
        with open(path, 'rb') as f:
            if f.read(4) != b'\x7fELF':
                raise Broken
    elif not programs[key]:
        raise Broken
    elif programs[key].process.returncode is None and programs[key].runs < MOST_RUNS:
        return programs[key]
    elif programs[key].process.returncode is None:
        programs[key].close()
    programs[key] = Program(path, early, kept)
    return programs[key]


class Streams:
    """Descriptors 0 to 2 of a run, and what of them is read here."""

    def __init__(self, text, more):
        self.ours, self.close = {}, []
        self.given = [self.input(text, more.get('stdin'))]
        for number, name in ((1, 'stdout'), (2, 'stderr')):
            self.given.append(self.output(number, more.get(name)))

    def file(self, what, number, mode):
        if what == subprocess.DEVNULL:
            fd = os.open(os.devnull, mode)
            self.close.append(fd)
            return fd
        if what is None:
            return number
        return what if isinstance(what, int) else what.fileno()

    def input(self, text, what):
        if text is None:
            return self.file(what, 0, os.O_RDONLY)
        data = text if isinstance(text, bytes) else text.encode()
        if len(data) > PIPE_TAKES:
            return self.input_file(data)
        fd, ours = os.pipe()
        self.close.append(fd)
        os.write(ours, data)
        os.close(ours)
        return fd

    def input_file(self, data):
        fd = os.memfd_create('input', os.MFD_CLOEXEC)
        self.close.append(fd)
        while data:
            data = data[os.write(fd, data):]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def output(self, number, what):
        if what == subprocess.STDOUT:
            return self.given[1]
        if what != subprocess.PIPE:
            return self.file(what, number, os.O_WRONLY)
        ours, fd = os.pipe()
        self.close.append(fd)
        self.ours[number] = ours
        return fd

    def begun(self):
        """The run has its descriptors now."""
        for fd in self.close:
            os.close(fd)

    def read(self, seconds, idle):
        """What the run writes, {1: bytes, 2: bytes}, until it has closed both. Calls `idle` after
        so many seconds without any."""
        found = {number: [] for number in self.ours}
        poll = select.poll()
        number_of = {fd: number for number, fd in self.ours.items()}
        for fd in number_of:
            poll.register(fd, select.POLLIN)
        while number_of:
            ready = poll.poll(seconds * 1000)
            if not ready:
                idle()
            for fd, _ in ready:
                some = os.read(fd, 1 << 20)
                if some:
                    found[number_of[fd]].append(some)
                    continue
                poll.unregister(fd)
                os.close(fd)
                del number_of[fd]
        return {number: b''.join(parts) for number, parts in found.items()}


def decoded(data, more):
    """As subprocess does it."""
    if data is None or not (more.get('text') or more.get('errors') or more.get('encoding')):
        return data
    text = data.decode(more.get('encoding') or 'utf-8', more.get('errors') or 'strict')
    return text.replace('\r\n', '\n').replace('\r', '\n')


def ended(program, seconds, idle):
    """The exit code of the run. A process that keeps runs ends with one that crashes."""
    while not select.select([program.socket], [], [], seconds)[0]:
        idle()
    status = program.receive()
    if status is not None:
        return os.waitstatus_to_exitcode(status)
    code = program.process.wait()
    program.socket.close()
    _all.remove(program)
    return code


def run(argv, cpu, text, more, watch, seconds):
    """A CompletedProcess, or raises Broken before anything has run. watch(id of the process)
    returns what is called whenever the run has been silent for so many seconds."""
    env = more.get('env') or os.environ
    program = program_of(argv[0], env, keeps(argv))
    streams = Streams(text, more)
    pid = program.begin(argv, env, more.get('cwd'), streams.given, cpu)
    streams.begun()
    if pid is None or pid < 0:
        raise OSError('the command cannot fork')
    idle = watch(pid)
    found = streams.read(seconds, idle)
    code = ended(program, seconds, idle)
    return subprocess.CompletedProcess(argv, code, decoded(found.get(1), more),
                                       decoded(found.get(2), more))
