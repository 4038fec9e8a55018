#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guard of the tests (guard.py): what it ends, and what it must leave alone."""
import subprocess
import sys
import time

import guard

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
    guard.LOOKS, guard.LOOK_SECONDS = 4, 0.2
    yield 'busy before it had a limit', late(
        'sh', '-c', f'{PYTHON} -c "while True: pass"; exit $?', cpu=1)
    yield 'waits for ever', ended('sleep', '600')
    yield 'waits for ever below a shell', ended('sh', '-c', 'sleep 600; exit 1')
    yield 'rests, and goes on', not ended('sh', '-c', 'for i in 1 2 3 4 5 6; do sleep 0.3; '
                                          'i=$(seq 200000 | wc -l); done')
    yield 'input while it looks', guard.run(['sh', '-c', 'sleep 0.5; cat'], input=big, text=True,
                                            capture_output=True).stdout == big


def main():
    passed = failed = 0
    for name, good in cases():
        passed += good
        failed += not good
        if not good:
            print(f'FAIL guard: {name}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
