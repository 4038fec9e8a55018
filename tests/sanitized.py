# SPDX-License-Identifier: Apache-2.0
"""How the sanitized build is configured. Tests start it tens of thousands of times, and programs
that need no relocation start in three quarters of the time. The fuzzers are part of it: what
fuzzing covers counts in the rooms of tests/fuzz/covered.txt alone, so that the other tests are not
slower for it. Long fuzzing has a build of its own, where all rooms count."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
COVERED = os.path.join(HERE, 'fuzz', 'covered.txt')
COMMON = ['-Dbuildtype=debugoptimized', '-Doptimization=1', '-Db_sanitize=address,undefined',
          '-Db_lundef=false', '-Dfuzz=true', '-Dwerror=true', '-Dc_link_args=-no-pie']
# AddressSanitizer reports what -fsanitize=null and object-size would, a little later; lines suffice
# for its reports, and each of the two is a tenth of the time that compiling takes.
OPTIONS = [*COMMON,
           f"-Dc_args=['-fsanitize=fuzzer-no-link','-fsanitize-coverage-allowlist={COVERED}',"
           "'-fno-sanitize=null,object-size','-g1']"]
# Rooms where sanitized tests spend their time. By default other files are not optimized: the
# compiler then takes a third of the time for them.
OPTIMIZED = ('support/*', 'ir/*', 'frontend/onnx/*', 'frontend/wire/*', 'frontend/config/*',
             'passes/engine/*', 'tests/unit/*')
GUIDED = [*COMMON, '-Dc_args=-fsanitize=fuzzer-no-link']
# Without AddressSanitizer, and guided by branches alone: fifteen times as many inputs in the same
# time, for targets whose defects are wrong results rather than wrong memory.
FAST = ['-Dbuildtype=release', '-Db_ndebug=false', '-Db_sanitize=undefined', '-Db_lundef=false',
        '-Dfuzz=true', '-Dwerror=true',
        "-Dc_args=['-fsanitize=fuzzer-no-link','-fno-sanitize-coverage=trace-cmp']"]
# Freed memory stays in quarantine for a while, so that a late access to it is found. With the
# default, 256 MB, nearly each allocation of a short process touches a new page, which costs more
# than what the process does there.
QUARANTINE = 'quarantine_size_mb=8:thread_local_quarantine_size_kb=128'
ENV = {'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:' + QUARANTINE,
       'UBSAN_OPTIONS': 'print_stacktrace=1:halt_on_error=1'}
# A search for leaks at the end of a process takes as long as all of a short command does. Units,
# golden tests, failing allocations and fuzzing look for leaks; commands with --full.
SHORT = dict(ENV, ASAN_OPTIONS=ENV['ASAN_OPTIONS'].replace('detect_leaks=1', 'detect_leaks=0'))
