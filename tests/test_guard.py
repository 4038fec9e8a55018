#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guard of the tests (guard.py): what it ends, and what it must leave alone."""
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time

import guard
import processes
import started

PYTHON = '/usr/bin/python3'


def ended(*argv, **more):
    """Whether the guard had to end the program."""
    try:
        guard.run(argv, **more)
    except subprocess.TimeoutExpired:
        return True
    return False


def late(*argv, cpu):
    """Whether the guard ends what a program has begun before it had its limit."""
    p = subprocess.Popen(argv)
    time.sleep(0.5)
    p.cpu_seconds = cpu
    try:
        guard.wait(p)
    except subprocess.TimeoutExpired:
        return True
    return False


# A program named like the command, which does what its first argument says.
PROGRAM = r'''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  static int runs;
  char text[100000], folder[4096];
  const char *what = argc > 2 ? argv[2] : "";
  runs++;
  if (!strcmp(what, "runs")) printf("%d\n", runs);
  if (!strcmp(what, "copy")) fwrite(text, 1, fread(text, 1, sizeof text, stdin), stdout);
  if (!strcmp(what, "both")) { printf("out"); fprintf(stderr, "err"); return 7; }
  if (!strcmp(what, "where")) printf("%s %s", getcwd(folder, sizeof folder), getenv("MARK"));
  if (!strcmp(what, "much")) for (int i = 0; i < 1000000; i++) putchar('x');
  if (!strcmp(what, "crash")) raise(SIGSEGV);
  if (!strcmp(what, "busy")) for (volatile int i = 0;; i = i + 1) {}
  if (!strcmp(what, "rest")) pause();
  return 0;
}
'''


# A run of tests with one kind, which waits for ever.
RUN = '''
import sys, types, groups, processes
class Tests:
    args = types.SimpleNamespace(quick=False)
    def docs(self):
        """of nothing"""
        print('begun', flush=True)
        return processes.shell(['sleep', '600']).stdout, (0, 0, 0)
groups.run_all(Tests(), ['docs'], sys.argv[1])
'''


def told(number):
    """Whether a run of tests that a signal ends tells what it waited for, and leaves nothing."""
    folder = tempfile.mkdtemp()
    with subprocess.Popen([PYTHON, '-c', RUN, folder], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, PYTHONPATH='tests')) as p:
        p.stdout.readline()
        while ': sleep' not in ''.join(map(processes.described, guard.family(p.pid))):
            time.sleep(0.1)
        p.send_signal(number)
        text = p.stdout.read()  # ends when nobody is left who writes there
    said = [': sleep 600\n', ', in docs; programs that ran: 1\n']
    return all(words in text for words in said) and p.returncode == 128 + number \
        and not os.path.exists(folder)


def started_cases(folder):
    """Runs of a program that has been started before, against runs of one that has not."""
    program = os.path.join(folder, 'tailor')
    library = os.path.join(folder, 'libstarted.so')
    compile_c = ['gcc', '-x', 'c', '-D_GNU_SOURCE', '-o']
    subprocess.run([*compile_c, program, '-'], input=PROGRAM, text=True, check=True)
    subprocess.run([*compile_c, library, '-fPIC', '-shared', 'tests/started.c', '-ldl'], check=True)

    def run(command, what, **more):
        return guard.run([program, command, what], capture_output=True, text=True, **more)

    def all_of(command):
        kind = 'kept' if command == 'opt' else 'forked'
        runs = [run(command, 'runs').stdout for _ in range(3)]
        yield f'{kind}: runs', runs == (['1\n', '2\n', '3\n'] if command == 'opt' else ['1\n'] * 3)
        yield f'{kind}: input', run(command, 'copy', input='a\nb').stdout == 'a\nb'
        p = run(command, 'both')
        yield f'{kind}: streams', (p.stdout, p.stderr, p.returncode) == ('out', 'err', 7)
        p = run(command, 'where', cwd=folder, env={'MARK': 'm'})
        yield f'{kind}: folder and environment', p.stdout == f'{os.path.realpath(folder)} m'
        yield f'{kind}: much output', len(run(command, 'much').stdout) == 1_000_000
        yield f'{kind}: crash', run(command, 'crash').returncode == -11
        yield f'{kind}: busy', ended(program, command, 'busy', cpu=1)
        yield f'{kind}: waits for ever', ended(program, command, 'rest')
        yield f'{kind}: goes on', run(command, 'both').returncode == 7

    os.environ[started.LIBRARY] = library
    for command in ('opt', 'other'):
        yield from all_of(command)
    del os.environ[started.LIBRARY]
    yield 'started as ever', run('opt', 'runs').stdout == run('opt', 'runs').stdout == '1\n'


def cases():
    yield 'busy', ended(PYTHON, '-c', 'while True: pass', cpu=1)
    yield 'busy below a shell', ended('sh', '-c', f'{PYTHON} -c "while True: pass"; exit $?', cpu=1)
    yield 'busy in threads', ended(PYTHON, '-c', 'import hashlib, threading\n'
                                   'def f():\n while True: hashlib.sha1(bytes(1 << 20))\n'
                                   'for _ in range(3): threading.Thread(target=f).start()', cpu=1)
    yield 'done', not ended('true')
    yield 'exit code', guard.run(['sh', '-c', 'exit 7']).returncode == 7
    yield 'signal', guard.run(['sh', '-c', 'kill -9 $$']).returncode == -9
    big = 'x' * 1_000_000
    yield 'input and output', guard.run(['cat'], input=big, text=True,
                                        capture_output=True).stdout == big
    yield 'a run of tests that is ended', told(signal.SIGTERM)
    yield 'a run of tests that is interrupted', told(signal.SIGINT)
    guard.LOOKS, guard.LOOK_SECONDS = 4, 0.2
    yield 'busy before it had a limit', late(
        'sh', '-c', f'{PYTHON} -c "while True: pass"; exit $?', cpu=1)
    yield 'waits for ever', ended('sleep', '600')
    yield 'waits for ever below a shell', ended('sh', '-c', 'sleep 600; exit 1')
    yield 'waits for ever, with a clock', ended(PYTHON, '-c', 'import time\n'
                                                'while True: time.sleep(0.05)')
    yield 'rests, and goes on', not ended('sh', '-c', 'for i in 1 2 3 4 5 6; do sleep 0.3; '
                                          'i=$(seq 4000000 | wc -l); done')
    yield 'input while it looks', guard.run(['sh', '-c', 'sleep 0.5; cat'], input=big, text=True,
                                            capture_output=True).stdout == big


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, good in itertools.chain(cases(), started_cases(folder)):
            passed += good
            failed += not good
            if not good:
                print(f'FAIL guard: {name}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
