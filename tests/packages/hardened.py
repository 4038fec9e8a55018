#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether programs and libraries are hardened as -Dhardened=true of meson.build makes them.

  hardened.py FILE...

Checked are: position independence (a static program may lack it), a stack that cannot be executed,
tables of addresses that are read-only once the program runs, guarded stacks, checked copies (whose
names a static program has no more), and on x86-64 marked targets of indirect jumps. The last line
is 'N passed, M failed, 0 skipped'."""
import re
import subprocess
import sys

# Code of libraries that lies inside may lack what the program has: so many KiB of code have at
# least one guard of a stack, one marked target, and one call of a checked copy.
KIB_A_GUARD, KIB_A_TARGET, KIB_A_COPY = 8, 8, 64
FEW = 8  # what start-up files bring
GUARD = re.compile(rb'\x64[\x48\x4c][\x8b\x2b\x33].\x25\x28\0\0\0', re.S)  # %fs:0x28
ENDBR64 = b'\xf3\x0f\x1e\xfa'


def readelf(option, path):
    return subprocess.run(['readelf', option, '-W', path], capture_output=True, text=True,
                          check=True).stdout


def code(path, data):
    """The bytes of the machine code."""
    found = re.search(r' \.text +PROGBITS +\w+ +(\w+) +(\w+)', readelf('-S', path))
    first, n = (int(x, 16) for x in found.groups()) if found else (0, 0)
    return data[first:first + n]


def checked_copies(path):
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], capture_output=True,
                          text=True, check=True).stdout
    return len(re.findall(r'\b(?:call|bl|jmp|b) .*<__(?!stack)\w+_chk@plt>', text))


def faults(path):
    """What a file lacks."""
    header, segments = readelf('-h', path), readelf('-l', path)
    dynamic, names = readelf('-d', path), readelf('--dyn-syms', path)
    with open(path, 'rb') as f:
        data = f.read()
    static = ' INTERP ' not in segments and '(NEEDED)' not in dynamic
    stack = re.search(r'GNU_STACK .* (\w+) +0x\w+$', segments, re.M)
    if not static and not re.search(r'Type: +DYN', header):
        yield 'it lies at fixed addresses (no PIE)'
    if not stack or 'E' in stack[1]:
        yield 'its stack can be executed'
    if 'GNU_RELRO' not in segments:
        yield 'its tables of addresses can be written (no RELRO)'
    if not static and not re.search(r'FLAGS.*NOW', dynamic):
        yield 'its tables of addresses are filled late (no BIND_NOW)'
    kib = len(code(path, data)) // 1024
    if not static and checked_copies(path) < kib // KIB_A_COPY + 1:
        yield 'its copies are not checked (_FORTIFY_SOURCE)'
    if 'X86-64' not in header:
        if '__stack_chk_fail' not in names:
            yield 'its stacks have no guard (-fstack-protector-strong)'
        return
    if len(GUARD.findall(code(path, data))) < kib // KIB_A_GUARD + FEW:
        yield 'its stacks have no guard (-fstack-protector-strong)'
    if code(path, data).count(ENDBR64) < kib // KIB_A_TARGET + FEW:
        yield 'targets of jumps are not marked (-fcf-protection)'


def main():
    failed = 0
    for path in sys.argv[1:]:
        lacks = list(faults(path))
        failed += bool(lacks)
        for lack in lacks:
            print(f'FAIL {path}: {lack}')
    print(f'{len(sys.argv) - 1 - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
