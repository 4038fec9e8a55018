#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that a machine can check: one test each over the tracked files.

  check.py --lib-dir BUILD   (a build folder, for what the library exports and keeps in memory)"""
import argparse
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'scripts'), os.path.join(ROOT, 'tests'),
                os.path.join(ROOT, 'tests', 'docs')]
import citations as named_things  # noqa: E402
import c_source  # noqa: E402
import golden_cases  # noqa: E402
import groups  # noqa: E402
import kinds  # noqa: E402
import rooms  # noqa: E402

# Data and generators of tables; the other ceilings hold everywhere.
MAX_LINES = 600
MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 6
FORMATTER = 14  # the clang-format of Debian 12
# tools/cli/signals.c: what a handler has no argument for.
GLOBALS_OF_THE_COMMAND = {'stop_signal', 'held', 'journal', 'late_code', 'message_form', 'again',
                          'reproducer', 'crash_stack'}
# support/memory.c: a thread's count of failed allocations, which text and containers reach from
# everywhere and which no output depends on.
GLOBALS_OF_A_THREAD = {'failures'}
# lib/memory.c: the allocator of the program, set at most once, before the first allocation.
GLOBALS_OF_THE_PROCESS = {'given', 'allocated'}
# Golden files of more than golden_cases.MAX_LINES lines: the graph that a case needs is as large.
LONG_GOLDEN_FILES = 230
# Without a licence line: data, the libraries of others, which have their own, and files of packages
# that have no comments.
NO_SPDX = ('.json', '.tsv', '.txt', 'LICENSE', '.t', '.onnx', '.bin', '.gitignore', '.clang-format',
           '.cfg', '.png', '.min.js', 'debian/changelog', 'debian/source/format')


class Skip(Exception):
    """Why a check cannot run here."""


def tracked():
    out = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                         cwd=ROOT, capture_output=True, check=True)
    names = out.stdout.decode().split('\0')
    return [f for f in names if f and os.path.isfile(os.path.join(ROOT, f))]


def text(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def layers(_files):
    """Includes point down only, from room to room (scripts/rooms.tbl), and so do calls; inside most
    rooms there is no circle of files."""
    yield from rooms.problems(ROOT, rooms.rooms())[0]
    yield from rooms.links(headers.build)
    yield from rooms.circles(headers.build, ROOT)


# Who loads, runs and saves a model: these functions are called from lib/session alone, so that the
# command and the library cannot differ.
ONE_WAY = ('tl_onnx_load', 'tl_onnx_load_bytes', 'tl_onnx_load_beside', 'tl_module_parse',
           'tl_module_parse_beside', 'tl_settings_take_model', 'tl_train_spec_read',
           'tl_bucket_library_read', 'tl_pipeline_run', 'tl_onnx_save', 'tl_air_save',
           'tl_pbtxt_save', 'tl_fusion_stats_save')


def one_way(files):
    """The command and libtailor load, run and save through lib/session."""
    call = re.compile(r'\b(' + '|'.join(ONE_WAY) + r')\(')
    for path in files:
        if path.startswith(('tools/', 'lib/')) and not path.startswith('lib/session/') \
                and path.endswith('.c'):
            for found in call.finditer(text(path)):
                yield f'{path} calls {found.group(1)}; lib/session/session.h has what it needs'


# What one function does for all: (pattern, where it may stand, what to write).
SAID_ONCE = (
    (re.compile(r'#include <assert\.h>|\bassert\('), (), 'TL_ASSERT of support/assert.h'),
    (re.compile(r'\btl_fail\([^;{}]*TL_NO_MEMORY, [^;{}]*, "out of memory"\)'), ('support/diag.c',),
     'tl_no_memory(m) or tl_fail_memory'),
    (re.compile(r'\btl_buf_(?:printf|add_z|add_sv)\([^;]*?\\" ?:|\btl_buf_add_json\('),
     ('support/json_writer.c', 'support/str.c', 'support/str.h'),
     'JSON through support/json_writer.h'),
    (re.compile(r'm->diag = (?!diag;)'), ('ir/module.c',), 'tl_mute and tl_unmute'),
)


def said_once(files):
    """Assertions, lack of memory, silence and JSON have one way to be written."""
    top = tuple(room.split('/')[0] + '/' for room in rooms.rooms())
    for path in files:
        if not path.startswith(top) or not path.endswith(('.c', '.h')):
            continue
        source = text(path)
        for pattern, where, instead in SAID_ONCE:
            for found in pattern.finditer(source):
                if path not in where:
                    line = source.count('\n', 0, found.start()) + 1
                    yield f'{path}:{line}: write {instead}'


def op_names(files):
    """What is true of an op stands in the op table: C outside inference and kernels names ops only
    where tests/style/op_names.tsv says why, be it by TL_OP_Name or by the string "Name"."""
    table = set(re.findall(r'\bTL_OP_(\w+)', text(os.path.join(headers.build, 'ir', 'ops_gen.h'))))
    rows_of_ops = text(os.path.join(headers.build, 'ir', 'ops_gen.c'))
    names = set(re.findall(r'\.name = ("\w+")', rows_of_ops))
    rows = [line.split('\t') for line in text('tests/style/op_names.tsv').splitlines()
            if not line.startswith('#')]
    for row in rows:
        if len(row) != 3 or not row[2]:
            yield f'op_names.tsv: {row[0]}: file, ops and a reason are wanted'
    listed = {(row[0], op) for row in rows for op in row[1].split()}
    used = set()
    for path in files:
        if path.endswith(('.c', '.h')) and not path.startswith(('tests/', 'ir/infer/', 'ir/eval/')):
            code = re.sub(r'/\*.*?\*/', '', text(path), flags=re.S).replace("'\"'", '')
            strings = re.findall(r'"(?:\\.|[^"\\\n])*"', code)
            used |= {(path, op) for op in re.findall(r'\bTL_OP_(\w+)', code) if op in table}
            used |= {(path, string) for string in strings if string in names}
    for path, op in sorted(used - listed):
        yield f'{path} names {op}: use a trait or a column, or say why in tests/style/op_names.tsv'
    for path, op in sorted(listed - used):
        yield f'op_names.tsv: {path} does not name {op}'


def pass_rows(_files):
    """passes.tbl names the file and the function of each pass truly."""
    row = re.compile(r'^PASS\((\w+), "([^"]+)", "([^"]+)",', re.M)
    for c_name, name, path in row.findall(text('passes/passes.tbl')):
        if name != c_name.replace('_', '-'):
            yield f'passes/passes.tbl: {name} is tl_pass_{c_name} in C'
        if not re.search(rf'^tl_status tl_pass_{c_name}\(', text('passes/' + path), re.M):
            yield f'passes/passes.tbl: passes/{path} has no tl_pass_{c_name}'


def licences(files):
    for path in files:
        if path.endswith(NO_SPDX) or path.startswith(('tests/fuzz/crashers/', 'tests/hostile/')):
            continue
        if '/vendor/' in path:  # files of others, with their licence beside them
            continue
        if 'SPDX-License-Identifier: Apache-2.0' not in text(path)[:400]:
            yield f'{path} lacks its SPDX line'


def sizes(files):
    for path in files:
        if not path.endswith(('.c', '.h', '.py')) or path.startswith(('tests/oracle/', 'bench/')):
            continue
        lines = text(path).splitlines()
        if len(lines) > MAX_LINES:
            yield f'{path} has {len(lines)} lines, at most {MAX_LINES} are allowed'
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield f'{path}:{number} is {len(line)} columns wide'


def functions(files):
    """Functions of at most MAX_FUNCTION_LINES lines and MAX_PARAMETERS parameters."""
    for path in files:
        if not path.endswith(('.c', '.h')):
            continue
        for f in c_source.functions(text(path)):
            if f.lines > MAX_FUNCTION_LINES:
                yield (f'{path}:{f.first}: {f.name} has {f.lines} lines, at most '
                       f'{MAX_FUNCTION_LINES} are allowed')
            if f.parameters > MAX_PARAMETERS:
                yield (f'{path}:{f.first}: {f.name} has {f.parameters} parameters, at most '
                       f'{MAX_PARAMETERS} are allowed: a struct says which is which')


def layout(files):
    """C files are laid out as `make format` does it."""
    try:
        version = subprocess.run(['clang-format', '--version'], capture_output=True, text=True,
                                 check=True).stdout
    except FileNotFoundError:
        raise Skip('clang-format is not installed') from None
    if f'version {FORMATTER}.' not in version:
        raise Skip(f'only clang-format {FORMATTER} lays out files as they are: {version.strip()}')
    names = [path for path in files if path.endswith(('.c', '.h'))]
    p = subprocess.run(['clang-format', '--dry-run', *names], cwd=ROOT, capture_output=True,
                       text=True, check=False)
    for path in sorted(set(re.findall(r'^(.*?):\d+:\d+: (?:warning|error):', p.stderr, re.M))):
        yield f'{path}: make format lays it out'


def golden_files(files):
    """Golden files are short: the few that need more lines may only become fewer."""
    long = [path for path in files if path.startswith('tests/golden/') and path.endswith('.tir')
            and text(path).count('\n') > golden_cases.MAX_LINES]
    if len(long) > LONG_GOLDEN_FILES:
        yield (f'{len(long)} files of tests/golden have more than {golden_cases.MAX_LINES} lines, '
               f'at most {LONG_GOLDEN_FILES} may: take smaller shapes, a file a case, or edits of '
               'another file (# LIKE:)')


def kinds_of_tests(_files):
    """Each kind of tests/run.py or tests/kinds.py is in a group, or nothing would run it."""
    source = ast.parse(text('tests/run.py'))
    methods = next(part for part in source.body if getattr(part, 'name', '') == 'Tests').body
    known = {m.name for m in methods if isinstance(m, ast.FunctionDef)
             and len(m.args.args) == 1 and not m.args.vararg} | set(kinds.SCRIPTS)
    for name in sorted(known ^ set(groups.KINDS)):
        yield f'{name} is in tests/groups.py alone, or in tests/run.py or tests/kinds.py alone'


def unfinished(files):
    words = re.compile(r'\b(' + '|'.join(('TO' + 'DO', 'FIX' + 'ME', 'X' * 3)) + r')\b')
    for path in files:
        if path.endswith(('.c', '.h', '.py', '.tbl', '.build', '.js')):
            for number, line in enumerate(text(path).splitlines(), 1):
                if words.search(line):
                    yield f'{path}:{number}: {line.strip()}'


def headers(files):
    """Each header compiles alone (generated ones come from the build folder). The build has shown
    that of a header which some file includes before anything else."""
    first = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
    built = {found.group(1) for path in files if path.endswith('.c')
             if (found := first.search(text(path)))}
    for path in files:
        if not path.endswith('.h') or path.startswith('tests/') or path in built:
            continue
        p = subprocess.run(['gcc', '-std=c11', '-D_GNU_SOURCE', '-fsyntax-only', '-x', 'c', '-I',
                            ROOT, '-I', os.path.join(ROOT, 'include'), '-I', headers.build, '-'],
                           input=f'#include "{path}"\n', text=True,
                           capture_output=True, check=False)
        if p.returncode:
            yield f'{path} does not compile alone: {p.stderr.strip().splitlines()[0]}'


def machine_paths(files):
    """Nothing names a folder of the machine it was written on."""
    pattern = re.compile(r'(^|[^\w.])/(' + 'work' + r'|root|home/[a-z])/')
    for path in files:
        if path.endswith(('.json', '.tsv')):
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            if pattern.search(line):
                yield f'{path}:{number}: {line.strip()[:80]}'


def citations(files):
    """A rule is stated where it holds: no comment cites a document that is not here."""
    pattern = re.compile(r'\bspec (?:[ *#\n]*)(?:' + 'training|precision|fusion|backend|atc-cli)' +
                         r'\.md|\b(?:' + 'training|precision|fusion)' + r'\.md,? (?:section )?\d')
    for path in files:
        if path.endswith(('.c', '.h', '.tbl', '.tlr', '.tir', '.t', '.py')):
            for found in pattern.finditer(text(path)):
                yield f'{path}: "{found.group(0)}"'


def wall_clocks(files):
    """No test limits wall time, which a busy machine breaks: tests/guard.py has the limits."""
    pattern = re.compile(r'\btimeout ?=|\balarm\(|ITIMER_REAL|\bwait\(\d')
    for path in files:
        if not path.startswith(('tests/', 'bench/')) or not path.endswith(('.py', '.c', '.js')):
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            if pattern.search(line) and path not in ('tests/guard.py', 'tests/style/check.py',
                                                     'tests/fuzz/run.py'):
                yield f'{path}:{number} limits wall time; use guard.run: {line.strip()[:60]}'


MUTABLE_SECTIONS = ('.data', '.bss', '*COM*', '.tdata', '.tbss')


def mutable_symbols(paths):
    """Variables of objects and archives that are not const: (file, name). nm starts once for all:
    a start costs more than a file."""
    out = subprocess.run(['nm', '-A', '--format=sysv', *paths], capture_output=True, text=True,
                         check=False)
    for line in out.stdout.splitlines():
        cells = [c.strip() for c in line.split('|')]
        if len(cells) >= 7 and cells[6].startswith(MUTABLE_SECTIONS) \
                and not cells[6].startswith('.data.rel.ro'):
            file, name = cells[0].rsplit(':', 1)
            yield os.path.basename(file), name


def globals_that_change(_files):
    """No mutable data, only const tables; but an allocator is the process's, and the command has
    what signal handlers reach."""
    archives = [path for path in glob.glob(os.path.join(headers.build, '*', '**', '*.a'),
                                           recursive=True)
                if '/tests/' not in path and '/tools/' not in path]
    objects = glob.glob(os.path.join(headers.build, 'tools', 'tailor.p', '*.o'))
    allowed = GLOBALS_OF_A_THREAD | GLOBALS_OF_THE_PROCESS
    for file, name in sorted(set(mutable_symbols(archives))):
        if name not in allowed:
            yield f'mutable symbol {name} in {file}'
    for file, name in mutable_symbols(objects):
        if name not in GLOBALS_OF_THE_COMMAND:
            yield f'mutable symbol {name} in {file[:-2]}'


def interface(_files):
    """The shared library exports what the public headers declare, and lib/tailor.abi records."""
    libs = [lib for lib in glob.glob(os.path.join(headers.build, '**', 'libtailor.so'),
                                     recursive=True) if os.path.isfile(lib)]
    for lib in libs or [None]:
        command = [os.path.join(ROOT, 'scripts', 'abi'), 'check'] + ([lib] if lib else [])
        p = subprocess.run(command, capture_output=True, text=True, check=False)
        if p.returncode:
            yield from p.stdout.splitlines() or [p.stderr]
    for compiler, language, standard in (('gcc', 'c', 'c11'), ('g++', 'c++', 'c++17')):
        if not shutil.which(compiler):
            continue
        p = subprocess.run([compiler, '-std=' + standard, '-pedantic', '-Wall', '-Wextra',
                            '-Wconversion', '-Werror', '-fsyntax-only', '-I',
                            os.path.join(ROOT, 'include'), '-x', language, '-'],
                           input='#include <tailor/tailor.h>\n', text=True, capture_output=True,
                           check=False)
        if p.returncode:
            yield f'the public header as {standard}: {p.stderr.strip().splitlines()[0]}'


def exercised(files):
    """A program that the tests run calls each public function."""
    programs = [f for f in files if f.endswith(('.c', '.cpp')) and
                f.startswith(('examples/', 'tests/library/'))]
    calls = ''.join(text(f) for f in programs)
    for name in re.findall(r'^ +(tl_\w+);', text('lib/tailor.map'), re.M):
        if not re.search(rf'\b{name}\(', calls):
            yield f'lib/tailor.map: no program of examples or tests/library calls {name}'


def documented(_files):
    """Doxygen finds a comment at everything in the public headers, and understands it."""
    if not shutil.which('doxygen'):
        raise Skip('doxygen is not installed')
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([os.path.join(ROOT, 'scripts', 'doxygen'), folder], text=True,
                           capture_output=True, check=False)
    yield from p.stdout.splitlines()
    if p.returncode and not p.stdout:
        yield p.stderr


def named(_files):
    """Links, paths, commands and options that documents and comments name are there."""
    for check, problem in named_things.problems():
        yield f'{check}: {problem}'


CHECKS = [layers, one_way, said_once, op_names, pass_rows, licences, sizes, functions, layout,
          golden_files, kinds_of_tests, unfinished, headers, machine_paths, citations, named,
          wall_clocks, globals_that_change, interface, exercised, documented]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--lib-dir', required=True)
    headers.build = p.parse_args().lib_dir
    files = tracked()
    failed = skipped = 0
    for check in CHECKS:
        try:
            problems = list(check(files))
        except Skip as reason:
            print(f'skip style: {check.__name__}: {reason}')
            skipped += 1
            continue
        failed += bool(problems)
        for problem in problems:
            print(f'FAIL style: {check.__name__}: {problem}')
    print(f'{len(CHECKS) - failed - skipped} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
