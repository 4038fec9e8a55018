# SPDX-License-Identifier: Apache-2.0
"""Runs the tool on one bad input under limits and judges how it ended."""
import collections
import os
import re
import resource
import shutil
import subprocess
import sys
import zlib
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import sanitized  # noqa: E402

MEMORY = 1 << 30
SANITIZER_EXIT = 99
IO_EXIT = 4
# Files a process opens on its own account: loader, C library, sanitizers.
SYSTEM = re.compile(r'/(etc/ld\.so|lib|usr/lib|usr/share/locale|proc/|sys/|dev/null)|.*\.so[.\d]*$')

Result = collections.namedtuple('Result', 'code text')  # code None: it hung


class Skip(Exception):
    """A case that cannot run here; the text says why."""


class Sandbox:
    def __init__(self, tool):
        self.tool = os.path.abspath(tool)
        with open(self.tool, 'rb') as f:
            self.sanitized = b'__asan_init' in f.read()
        self.no_trace = self.tracing_problem()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    @staticmethod
    def tracing_problem():
        if not shutil.which('strace'):
            return 'strace is not installed'
        probe = subprocess.run(['strace', '-qq', '-o', '/dev/null', 'true'], capture_output=True,
                               check=False)
        return '' if probe.returncode == 0 else 'strace may not trace processes here'

    def environment(self, leaks):
        asan = (f'exitcode={SANITIZER_EXIT}:hard_rss_limit_mb={MEMORY >> 20}:quarantine_size_mb=64:'
                f'allocator_may_return_null=1:detect_leaks={int(leaks)}:{sanitized.QUARANTINE}')
        ubsan = f'exitcode={SANITIZER_EXIT}:halt_on_error=1:print_stacktrace=1'
        return dict(os.environ, ASAN_OPTIONS=asan, UBSAN_OPTIONS=ubsan, LC_ALL='C')

    def limits(self):
        """Address space is limited only without sanitizers: their shadow memory is terabytes."""
        if self.sanitized or not shutil.which('prlimit'):
            return []
        return ['prlimit', f'--as={MEMORY}']

    def run(self, *arguments, wrapper=(), leaks=None, **more):
        """leaks: whether they are looked for, which costs as much as the run; None: in every fourth
        run, always the same ones."""
        if leaks is None:
            name = ' '.join(os.path.basename(a) for a in arguments)
            leaks = zlib.crc32(name.encode()) % 8 == 0
        try:
            p = guard.run([*wrapper, *self.limits(), self.tool, *arguments],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=self.environment(leaks),
                          **{'stdout': subprocess.DEVNULL, **more})
        except subprocess.TimeoutExpired as e:
            return Result(None, (e.stderr or b'').decode(errors='replace'))
        return Result(p.returncode, p.stderr.decode(errors='replace'))

    def foreign_files(self, folder, log, *arguments):
        """Runs the tool under strace: (result, files outside `folder` that it opened)."""
        wrapper = ['strace', '-f', '-y', '-qq', '-o', log, '-e', 'trace=open,openat,openat2,creat']
        result = self.run(*arguments, wrapper=wrapper, leaks=False)
        with open(log, encoding='utf-8', errors='replace') as f:
            opened = re.findall(r'\) = \d+<(/[^>]*)>', f.read())
        inside = [os.path.realpath(folder)]
        if 'LLVM_PROFILE_FILE' in os.environ:  # what `make coverage` counts
            inside.append(os.path.dirname(os.environ['LLVM_PROFILE_FILE']) + os.sep)
        return result, sorted({p for p in opened if not p.startswith(tuple(inside))
                               and not SYSTEM.match(p) and p != self.tool})


def folder_name(case):
    return re.sub(r'[^A-Za-z0-9.]+', '-', case)


def write(folder, name, data):
    """Writes a file, folders included; returns its path."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)
    return path


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def crash(result):
    """Says how the run ended badly whatever its input was, or ''."""
    if result.code is None:
        return f'not done after {guard.CPU_SECONDS} s of CPU time'
    if result.code < 0 or result.code > 128:
        return f'died (exit code {result.code}): {first_line(result.text)}'
    report = re.search(r'(ERROR: \w*Sanitizer.*|.*runtime error:.*)', result.text)
    if report or result.code == SANITIZER_EXIT:
        return f'sanitizer report: {report.group(1) if report else first_line(result.text)}'
    return ''


def first_line(text):
    return (text.strip().splitlines() or ['no message'])[0][:300]


def judge(result, codes, folder, expected, names=''):
    """Checks one ending: exit code among `codes`, and the files of the output folder are `expected`
    after a success, nothing after a failure; a failure has a message that contains `names`."""
    bad = crash(result)
    if bad:
        return bad
    if result.code not in codes:
        return f'exit code {result.code}, expected one of {codes}: {first_line(result.text)}'
    left = sorted(os.listdir(folder))
    if result.code == 0:
        return '' if left == sorted(expected) else f'exit code 0, but these files: {left}'
    if left:
        return f'exit code {result.code}, but left {left}'
    return complaint(result.text, names)


def complaint(text, names):
    """A failure must print an error that says where and what."""
    found = re.search(r'^(.*)\berror: (.*)$', text, re.M)
    if not found or len(found.group(2)) < 10:
        return f'no clear message: {first_line(text)}'
    if names not in found.group(0):
        return f'message does not name {names}: {found.group(0)[:300]}'
    return ''
