#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make analyze`: four static analysers over the program, against justified.tsv: clang-tidy and
cppcheck, and two that follow paths through functions, gcc -fanalyzer and clang's analyser
(scan-build).

  run.py --build DIR [--tools clang-tidy,...] [--changed REV [--files N] [--seconds N]]
         [--justified FILE] [--jobs N] [FILE...]

DIR is a build that is complete: its compile_commands.json tells how each file is compiled, and the
generated headers lie there. A finding that no row of justified.tsv explains fails, and so does a
row that explains nothing. Rows are: tool, check, file, text of the line or message, reason.

--changed REV looks at files that were changed since REV, with the tools that take a second or two
a file: at most N files, the most changed first, and no further one after N seconds of processor
time. C files of tests/ are left out: the sanitized builds run them, and CUnit's macros blind the
tools."""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JUSTIFIED = os.path.join(HERE, 'justified.tsv')
DEFINE_ERRORS = ('support/diag.c', 'ir/module.c', 'ir/eval/kernel/tools.c', 'ir/infer/context.c',
                 'ir/text/parse_core.c', 'passes/engine/parse_expr.c')
FAST = ['clang-tidy', 'cppcheck']
# All of them are made to write findings as compilers do: file:line:column: warning: text [check].
FINDING = re.compile(r'^(.+?):(\d+):\d+: (?:warning|error|fatal error): (.*?)(?: \[([^][]+)\])?$')
CWE = re.compile(r' \[CWE-\d+\]$')
# Flags of the build that analysers do not know, or that would hide what assertions say to them.
DROPPED = re.compile(r'^(-DNDEBUG|-Werror.*|-O\d|-g|-MD|-fdiagnostics-color.*|-Wno-maybe-.*)$')


class Finding:
    """What a tool says of a line."""

    def __init__(self, tool, check, path, line, message):
        self.tool, self.check, self.path, self.line = tool, check, path, int(line)
        self.message = message
        self.key = (tool, check, path, self.line, message)

    def in_program(self):
        return not self.path.startswith(('tests/', 'build', '..', '/'))

    def source(self):
        """The line it is about."""
        try:
            with open(os.path.join(ROOT, self.path), encoding='utf-8', errors='replace') as f:
                return f.read().split('\n')[self.line - 1].strip()
        except (OSError, IndexError):
            return ''

    def __str__(self):
        return (f'{self.path}:{self.line}: {self.message} [{self.tool}: {self.check}]\n'
                f'      {self.source()}')


def flags_of(entry):
    """Flags that say what a file means: paths, definitions, standard, warnings."""
    words = [w for w in shlex.split(entry['command']) if not DROPPED.match(w)]
    kept, skip = [], 0
    for word in words[1:]:
        if skip:
            skip -= 1
        elif word in ('-o', '-MQ', '-MF', '-c'):
            skip = 1
        elif word.startswith('-'):
            kept.append(word)
    return kept


def compiled(build):
    """{path from the root: (absolute path, flags, folder)} of the program's C files."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        entries = json.load(f)
    files = {}
    for entry in entries:
        full = os.path.normpath(os.path.join(entry['directory'], entry['file']))
        path = os.path.relpath(full, ROOT)
        if full.endswith('.c') and not path.startswith(('tests/', 'build', '..')):
            # support/diag.h says what this is for; the functions are defined in these files.
            seen = [] if path in DEFINE_ERRORS else ['-DTL_ANALYSIS']
            files.setdefault(path, (full, flags_of(entry) + seen, entry['directory']))
    return files


def clang_tidy(full, flags):
    # scan-build's checks are those of clang-analyzer-*: once is enough.
    return ['clang-tidy', '--quiet', '--checks=-clang-analyzer-*', full, '--', *flags]


def scan_build(full, flags):
    # What scan-build starts for each file; its pages are not wanted.
    return ['clang', '--analyze', '--analyzer-output', 'text', '-Xclang',
            '-analyzer-checker=' + SCAN_CHECKS, *[f for f in flags if not f.startswith('-W')],
            '-w', full]


# Those that are on by default, and what else finds bugs of C programs.
SCAN_CHECKS = ','.join([
    'core', 'unix', 'deadcode', 'security.FloatLoopCounter', 'security.insecureAPI.gets',
    'security.insecureAPI.strcpy', 'security.insecureAPI.mktemp', 'security.insecureAPI.vfork',
    'security.insecureAPI.UncheckedReturn', 'nullability', 'optin.portability',
    'alpha.core.SizeofPtr', 'alpha.unix.cstring.OutOfBounds',
    'alpha.unix.cstring.NotNullTerminated', 'alpha.core.CastSize'])


def gcc(full, flags):
    return ['gcc', *[f for f in flags if not f.startswith('-W')], '-O1', '-fanalyzer',
            '-fdiagnostics-plain-output', '-fanalyzer-verbosity=0', '-c', full, '-o', '/dev/null']


def cppcheck(full, flags):
    kept = [f for f in flags if f.startswith(('-I', '-D'))]
    return ['cppcheck', '--quiet', '--std=c11', '--library=posix', '--library=gnu',
            '--enable=warning,performance,portability', '--max-configs=1', '-D__linux__',
            '-D__x86_64__', '-D__GNUC__=12', *kept, '--suppress=missingInclude',
            '--template={file}:{line}:{column}: warning: {message} [{id}]', full]


TOOLS = {'clang-tidy': clang_tidy, 'cppcheck': cppcheck, 'gcc': gcc, 'scan-build': scan_build}
PROGRAMS = {'scan-build': 'clang'}


def findings_of(tool, file):
    """(findings, trouble) of one tool over one file."""
    full, flags, folder = file
    p = subprocess.run(TOOLS[tool](full, flags), cwd=folder, capture_output=True, text=True,
                       errors='replace', check=False, env={**os.environ, 'LC_ALL': 'C'})
    found = []
    for text in (p.stdout + '\n' + p.stderr).split('\n'):
        m = FINDING.match(text)
        if not m:
            continue
        path = os.path.relpath(os.path.normpath(os.path.join(folder, m[1])), ROOT)
        found.append(Finding(tool, m[4] or 'error', path, m[2], CWE.sub('', m[3])))
    bad = p.returncode and not found
    return found, f'{tool} ended with {p.returncode} for {full}: {p.stderr[-400:]}' if bad else ''


def read_justified(path):
    """[(tool, check, glob of files, text, reason)]"""
    with open(path, encoding='utf-8') as f:
        rows = [line.rstrip('\n').split('\t') for line in f
                if line.strip() and not line.startswith('#')]
    for row in rows:
        if len(row) != 5 or not all(row):
            raise SystemExit(f'{path}: a row has five columns: {row}')
    return [tuple(row) for row in rows]


def explains(row, finding):
    tool, check, files, text, _ = row
    return (tool == finding.tool and check == finding.check and
            fnmatch.fnmatchcase(finding.path, files) and
            (text in finding.source() or text in finding.message))


class Budget:
    """Seconds of processor time that further files may begin in."""

    def __init__(self, seconds):
        self.seconds, self.start = seconds, self.spent_by_now()

    @staticmethod
    def spent_by_now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def left(self):
        return self.seconds is None or self.spent_by_now() - self.start < self.seconds


def run(files, tools, jobs, budget):
    """(findings, troubles, files that all tools looked at)"""
    found, troubles, looked = {}, [], []

    def one(path):
        if not budget.left():
            return path, None
        return path, [findings_of(tool, files[path]) for tool in tools]

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, results in pool.map(one, files):
            if results is None:
                continue
            looked.append(path)
            for some, trouble in results:
                found.update((f.key, f) for f in some if f.in_program())
                troubles += [trouble] if trouble else []
    return list(found.values()), troubles, looked


def changed_since(rev, files, most):
    """Files with changes since a commit, the most changed first; of a header the file of its
    name. None where there is no such commit."""
    p = subprocess.run(['git', 'diff', '--numstat', '--no-renames', rev, '--'], cwd=ROOT,
                       capture_output=True, text=True, check=False)
    if p.returncode:
        return None
    lines = collections.Counter()
    for row in p.stdout.splitlines():
        added, removed, path = row.split('\t')
        path = path[:-1] + 'c' if path.endswith('.h') else path
        if path in files:
            lines[path] += int(added) + int(removed)
    return [path for path, _ in lines.most_common(most)]


def judged(found, rows, tools, looked, everything):
    """Prints what is wrong with findings and rows; how many are. A row is said to explain nothing
    only where all that it may be about was looked at."""
    used, bad = set(), 0
    for finding in sorted(found, key=lambda f: f.key):
        why = {row for row in rows if explains(row, finding)}
        used |= why
        if not why:
            bad += 1
            print(f'FAIL {finding}')
    for row in rows:
        about = row[0] in tools and (everything or row[2] in looked)
        if about and row not in used:
            bad += 1
            print(f'FAIL justified.tsv has a row that explains nothing: {" | ".join(row[:4])}')
    return bad


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--tools')
    parser.add_argument('--changed', metavar='REV')
    parser.add_argument('--files', type=int, default=40)
    parser.add_argument('--seconds', type=float)
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    parser.add_argument('--justified', default=JUSTIFIED)
    parser.add_argument('paths', nargs='*')
    args = parser.parse_args()
    chosen = args.tools.split(',') if args.tools else FAST if args.changed else list(TOOLS)
    if set(chosen) - set(TOOLS):
        parser.error(f'tools are {", ".join(TOOLS)}')
    return args, chosen


def main():
    args, tools = parsed()
    there = [tool for tool in tools if shutil.which(PROGRAMS.get(tool, tool))]
    for tool in tools:
        if tool not in there:
            print(f'skipped: {tool} is not installed (scripts/install-deps analyze)')
    files = compiled(os.path.abspath(args.build))
    wanted = args.paths or list(files)
    if args.changed:
        wanted = changed_since(args.changed, files, args.files)
        if wanted is None:
            print(f'skipped: git knows no commit {args.changed} here')
            print('0 passed, 0 failed, 1 skipped')
            return 0
    chosen = {path: files[path] for path in wanted}
    found, troubles, looked = run(chosen, there, args.jobs, Budget(args.seconds))
    everything = set(looked) == set(files)
    bad = judged(found, read_justified(args.justified), there, looked, everything)
    for trouble in troubles:
        print(f'FAIL {trouble}')
    bad += len(troubles)
    late = len(chosen) - len(looked)
    print(f'{len(looked)} files, {len(found)} findings' + (f', {late} files left out for their '
          'time' if late else ''))
    print(f'{len(there) * len(looked)} passed, {bad} failed, {len(tools) - len(there)} skipped')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
