#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The example projects for build systems: a second build does nothing, and a change of a model, of
a weight file beside it or of a rule makes again what depends on it, and nothing else.

  run.py --tailor TAILOR

A build system that is not installed is skipped. Also: a batch below make takes part in its
jobserver, with a FIFO and with a pipe, and gives every token back."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

# What is touched, and the outputs that depend on it.
CHANGES = [('plain.tir', {'plain'}), ('scaled.tir', {'scaled'}), ('scaled.bin', {'scaled'}),
           ('scaled.tlr', {'scaled'})]


class Skip(Exception):
    """Why a project cannot be built here."""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f'no {program}')


def run(*line, cwd=None, env=None):
    p = guard.run(line, cwd=cwd, capture_output=True, text=True, env=env)
    assert p.returncode == 0, f'{line}: {p.stdout}{p.stderr}'
    return p.stdout + p.stderr


def touch_later(path):
    """A change at a time that no clock of a file system takes for that of the last build."""
    time.sleep(0.02)
    os.utime(path)


def made(folder):
    """Outputs below a folder with their times."""
    return {os.path.relpath(p, folder): os.stat(p).st_mtime_ns
            for p in glob.glob(folder + '/**/*.air', recursive=True) if '.p/' not in p}


def twice(build, folder, models, what):
    """Builds twice, then once for each change."""
    build()
    before = made(folder)
    stems = {os.path.splitext(os.path.basename(p))[0] for p in before}
    assert stems == {'plain', 'scaled'}, f'{what}: {before}'
    build()
    assert made(folder) == before, f'{what}: the second build made something'
    for name, wanted in CHANGES:
        touch_later(os.path.join(models, name))
        build()
        after = made(folder)
        got = {os.path.splitext(os.path.basename(p))[0] for p in after if after[p] != before[p]}
        assert got == wanted, f'{what}: {name} made {got}, {wanted} was expected'
        before = after


def with_make(tool, place):
    need('make')
    folder = os.path.join(place, 'make')
    twice(lambda: run('make', f'TAILOR={tool}', cwd=folder), folder,
          os.path.join(place, 'models'), 'make')
    run('make', '-j3', 'batch', f'TAILOR={tool}', cwd=folder)
    assert os.path.exists(os.path.join(folder, 'scaled.onnx')), 'make batch'


def with_ninja(tool, place):
    """restat: a model that was touched is converted, and its output keeps its time, because it has
    the same bytes; so what ninja runs is counted."""
    need('ninja')
    folder = os.path.join(place, 'ninja')
    models = os.path.join(place, 'models')
    run('./configure', tool, models, cwd=folder)

    def converted():
        return set(re.findall(r'convert (\w+)\.air', run('ninja', cwd=folder)))
    assert converted() == {'plain', 'scaled'}, 'ninja: the first build'
    assert converted() == set(), 'ninja: the second build'
    for name, wanted in CHANGES:
        touch_later(os.path.join(models, name))
        got = converted()
        assert got == wanted, f'ninja: {name} made {got}'
    assert converted() == set(), 'ninja: the last build'


def with_cmake(tool, place):
    need('cmake', 'ninja', 'make')
    prefix = os.path.join(place, 'prefix')
    package = os.path.join(prefix, 'lib', 'cmake', 'tailor')
    os.makedirs(package)
    os.makedirs(os.path.join(prefix, 'bin'))
    os.symlink(tool, os.path.join(prefix, 'bin', 'tailor'))
    shutil.copy(os.path.join(ROOT, 'lib', 'tailor-models.cmake'), package)
    for name in ('tailor-config', 'tailor-config-version'):
        with open(os.path.join(ROOT, 'lib', name + '.cmake.in'), encoding='utf-8') as f:
            text = f.read()
        for key, value in (('UP', '../../..'), ('BINDIR', 'bin'), ('VERSION', '0.1.0')):
            text = text.replace(f'@{key}@', value)
        with open(os.path.join(package, name + '.cmake'), 'w', encoding='utf-8') as f:
            f.write(text)
    for generator in ('Ninja', 'Unix Makefiles'):
        folder = os.path.join(place, 'build-' + generator.split()[0])
        run('cmake', '-G', generator, '-S', os.path.join(place, 'cmake-models'), '-B', folder,
            f'-DCMAKE_PREFIX_PATH={prefix}')
        twice(lambda where=folder: run('cmake', '--build', where), folder,
              os.path.join(place, 'models'), f'CMake with {generator}')


def with_meson(tool, place):
    need('meson', 'ninja')
    native = os.path.join(place, 'native.ini')
    with open(native, 'w', encoding='utf-8') as f:
        f.write(f"[binaries]\ntailor = '{tool}'\n")
    folder = os.path.join(place, 'build-meson')
    run('meson', 'setup', folder, os.path.join(place, 'meson'), '--native-file', native)
    twice(lambda: run('ninja', '-C', folder), folder, os.path.join(place, 'models'), 'Meson')
    # As a subproject: the program that is built along is found. It is not built here.
    os.mkdir(os.path.join(place, 'meson', 'subprojects'))
    os.symlink(ROOT, os.path.join(place, 'meson', 'subprojects', 'tailor'))
    said = run('meson', 'setup', os.path.join(place, 'build-sub'), os.path.join(place, 'meson'),
               '--force-fallback-for=tailor', '-Dtailor:tests=false')
    assert 'Program tailor found: YES (overridden)' in said, said


# ---- the jobserver -------------------------------------------------------------------------------

def with_jobserver(tool, place):
    """Every way in which make hands its jobserver down: all tokens come back."""
    models = []
    for i in range(6):
        path = os.path.join(place, f'm{i}.tir')
        shutil.copy(os.path.join(place, 'models', 'plain.tir'), path)
        models.append(path)
    line = [tool, 'convert', *models, '-o', os.path.join(place, '{}.air'), '-q']
    fifo = os.path.join(place, 'tokens')
    os.mkfifo(fifo)
    ends = os.open(fifo, os.O_RDWR), None
    pipe = os.pipe()
    for flags, (reader, writer), keep in (
            (f'--jobserver-auth=fifo:{fifo}', ends, ()),
            (f' -j3 --jobserver-auth={pipe[0]},{pipe[1]}', pipe, pipe),
            (f' -j3 --jobserver-fds={pipe[0]},{pipe[1]}', pipe, pipe)):
        os.write(writer if writer is not None else reader, b'ab')
        p = subprocess.run(line, env=dict(os.environ, MAKEFLAGS=flags), pass_fds=keep,
                           capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
        tokens = set(os.read(reader, 10).decode())
        assert tokens == {'a', 'b'}, f'{flags}: {tokens} came back'
        for i in range(6):
            os.remove(os.path.join(place, f'm{i}.air'))
    # Descriptors that make did not hand down: the batch runs, one at a time.
    p = subprocess.run(line, env=dict(os.environ, MAKEFLAGS='--jobserver-auth=200,201'),
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


def with_slurm(tool, place):
    """What the tasks of an array do: each model is converted by one of them, wherever the array
    begins, with more tasks than models and with odd names."""
    need('awk', 'xargs')
    names = ['one', "two's", 'a b', 'four', 'five']
    for first, count in ((0, 2), (1, 3), (5, 8)):
        work = tempfile.mkdtemp(dir=place)
        for name in names:
            shutil.copy(os.path.join(place, 'models', 'plain.tir'), f'{work}/{name}.tir')
        with open(work + '/models.txt', 'w', encoding='utf-8') as f:
            f.write(''.join(f'{name}.tir\n' for name in names))
        for task in range(first, first + count):
            run('sh', os.path.join(place, 'ci', 'convert.sbatch'), cwd=work,
                env=dict(os.environ, PATH=os.path.dirname(tool) + ':' + os.environ['PATH'],
                         TAILOR_CACHE_DIR=work + '/cache', SLURM_CPUS_PER_TASK='2',
                         SLURM_ARRAY_TASK_COUNT=str(count), SLURM_ARRAY_TASK_ID=str(task),
                         SLURM_ARRAY_TASK_MIN=str(first)))
        got = sorted(os.listdir(work + '/out'))
        assert got == sorted(f'{name}.air' for name in names), f'Slurm: {got}'


def bazel_rules(place):
    """Options by which Debian's Bazel takes rules from the system instead of the network. Of those
    for C++, which Debian has for a later Bazel, it needs the native ones alone."""
    rules = '/usr/share/bazel/rules'
    if not os.path.isdir(rules + '/java'):
        raise Skip('no bazel-rules-java')
    cc_rules = os.path.join(place, 'rules_cc')
    os.makedirs(cc_rules + '/cc')
    names = ('library', 'binary', 'import', 'toolchain', 'toolchain_suite')
    for name, text in (('WORKSPACE', ''), ('BUILD', ''), ('cc/BUILD', ''),
                       ('cc/defs.bzl', ''.join(f'cc_{n} = native.cc_{n}\n' for n in names))):
        with open(os.path.join(cc_rules, name), 'w', encoding='utf-8') as f:
            f.write(text)
    folders = {'rules_cc': cc_rules, 'rules_java': rules + '/java', 'rules_proto': rules + '/proto',
               'platforms': '/usr/share/bazel/platforms'}
    return [f'--override_repository={name}={path}' for name, path in folders.items()]


def with_bazel(tool, place):
    """Bazel looks at contents, not at times, so files are changed."""
    need('bazel')
    folder = os.path.join(place, 'bazel')
    for path in glob.glob(os.path.join(place, 'models', '*')):
        shutil.copy(path, folder)
    shutil.copy(tool, os.path.join(folder, 'tailor', 'tailor'))
    line = ['bazel', '--batch', f'--output_user_root={place}/root', 'build', '//...',
            '--symlink_prefix=/', '--subcommands', *bazel_rules(place)]

    def built():
        """Targets that an action ran for."""
        return set(re.findall(r'SUBCOMMAND: # //:(\w+)', run(*line, cwd=folder)))
    assert built() == {'plain', 'scaled'}, 'Bazel: the first build makes all'
    assert built() == set(), 'Bazel: the second build made something'
    for name, wanted in CHANGES:
        with open(os.path.join(folder, name), 'ab') as f:
            f.write(bytes(4) if name.endswith('.bin') else b'# changed\n')
        got = built()
        assert got == wanted, f'Bazel: {name} made {got}, {wanted} was expected'
    run('chmod', '-R', 'u+w', place)


def read_bazel(_tool, place):
    """Where Bazel is missing: Starlark is Python enough to be read, and every file that it names is
    there."""
    folder = os.path.join(place, 'bazel')
    for path in glob.glob(folder + '/**/*', recursive=True):
        if os.path.basename(path) in ('BUILD', 'WORKSPACE', 'defs.bzl'):
            with open(path, encoding='utf-8') as f:
                compile(f.read(), path, 'exec')
    with open(os.path.join(folder, 'BUILD'), encoding='utf-8') as f:
        for name in re.findall(r'"([\w.]+\.(?:tir|bin|tlr))"', f.read()):
            assert os.path.exists(os.path.join(place, 'models', name)), name


PROJECTS = [with_make, with_ninja, with_cmake, with_meson, with_jobserver, with_slurm,
            with_bazel, read_bazel]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tailor', required=True)
    tool = os.path.abspath(parser.parse_args().tailor)
    failed = skipped = 0
    for project in PROJECTS:
        place = tempfile.mkdtemp(prefix='tailor-builds-')
        try:
            shutil.copytree(os.path.join(ROOT, 'examples'), place, dirs_exist_ok=True)
            project(tool, place)
        except Skip as reason:
            skipped += 1
            print(f'{project.__name__}: skipped, {reason}')
        except AssertionError as e:
            failed += 1
            print(f'FAIL {project.__name__}: {e}')
        finally:
            shutil.rmtree(place)
    print(f'{len(PROJECTS) - failed - skipped} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
