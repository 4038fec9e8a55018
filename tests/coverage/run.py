#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make coverage`: which lines and branches of each room tests run: unit tests,
golden files (many in one process: tests/mutate/server.c), the command line, readers, and failing
allocations.

  run.py --build DIR [--floors FILE] [--kinds unit,golden,...] [--keep] [--uncovered ROOM]
  run.py --build DIR --corpora FOLDER

DIR is a build by clang with -fprofile-instr-generate -fcoverage-mapping. A branch is each outcome
of each condition, those of && and || too. floors.tsv has the least shares of rooms; the run fails
below one, and where a kind fails. A room counts with the rooms in it. --keep takes the counts of
the last run; --uncovered lists the lines of a room that begin what nothing reaches.
--corpora counts what fuzzing reaches, instead: inputs of FOLDER/corpus-* and seeds-*, given to the
replay programs of DIR; floors do not count."""
import argparse
import collections
import glob
import json
import os
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, 'tests', 'mutate'), os.path.join(ROOT, 'tests')]
import mutate  # noqa: E402
import programs  # noqa: E402
import started  # noqa: E402
import suites  # noqa: E402

PYTHON = '/usr/bin/python3'
FLOORS = os.path.join(HERE, 'floors.tsv')
LINES, BRANCHES = 'lines', 'branches'
GROUP = 200  # golden cases of one process
# Counts are files: a process that may write none, or none that long, would say that on standard
# error, where sessions see it. It counts for nothing.
UNCOUNTED = """#!/bin/sh
case "$(ulimit -f) $* " in
*" --sandbox "*) export LLVM_PROFILE_FILE=/dev/null ;;
unlimited*) ;;
*) export LLVM_PROFILE_FILE=/dev/null ;;
esac
exec {} "$@"
"""


def uncounted(build):
    """The command, for sessions that limit the size of files or deny them."""
    path = os.path.join(build, 'uncounted')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(UNCOUNTED.format(shlex.quote(os.path.join(build, 'tools', 'tailor'))))
    os.chmod(path, 0o755)
    return path


def kinds(build):
    """Commands that run the kinds of tests."""
    tool = ['--tailor', os.path.join(build, 'tools', 'tailor')]
    ort = os.path.join(ROOT, 'tests', 'ort')
    there = os.path.isdir(os.path.join(ort, 'node_modules', 'onnxruntime-node'))
    return {
        'unit': [os.path.join(build, 'tests', 'unit-tests')],
        'golden': None,
        'cli': [PYTHON, 'tests/cli/run.py', '--tailor', uncounted(build), 'tests/cli',
                'tests/limits'],
        'reader': [PYTHON, 'tests/reader/run.py', *tool, *(['--ort', ort] if there else [])],
        'opsets': [PYTHON, 'tests/reader/opsets.py', *tool],
        'air_hostile': [PYTHON, 'tests/air/hostile.py', *tool],
        'air_foreign': [PYTHON, 'tests/air/foreign.py', *tool],
        'air_text': [PYTHON, 'tests/air/text.py', *tool, '--every', '58'],
        'air_round_trip': [PYTHON, 'tests/air/round_trip.py', *tool, '--every', '24', '--verify',
                           '12'],
        'air_options': [PYTHON, 'tests/cli/test_air_options.py', *tool],
        'official': [PYTHON, 'tests/conformance/run.py', *tool, '--set', 'official'],
        'training_info': [PYTHON, 'tests/train/training_info.py', *tool],
        'recurrent': [PYTHON, 'tests/conformance/recurrent.py', *tool],
        'precision_search': [PYTHON, 'tests/precision/search.py', *tool],
        'json_outputs': [PYTHON, 'tests/cli/json_outputs.py', *tool],
        'hostile': [PYTHON, 'tests/hostile/run.py', *tool],
        'run_config': [PYTHON, 'tests/cli/test_run_config.py', *tool],
        'recognised': [PYTHON, 'tests/train/recognised.py', *tool],
        'precision_files': [PYTHON, 'tests/precision/real_files.py', *tool],
        'dumps': [PYTHON, 'tests/debug/dumps.py', *tool],
        'oom': [PYTHON, 'tests/oom/conversions.py', '--tests', os.path.join(build, 'tests')],
        'oom_commands': [PYTHON, 'tests/oom/memory.py', *tool, '--faults',
                         os.path.join(build, 'tests', 'libfaults.so'), '--sample', '4'],
    }


def run_golden(build, env):
    """Runs the commands of all golden files; what they print is tested elsewhere."""
    work = os.path.join(build, 'golden')
    paths = programs.Builder(build, work).link(['tailor'])
    golden = list(suites.golden())
    inputs = [os.path.join(work, f'{i}.tir') for i in range(len(golden))]
    for path, g in zip(inputs, golden):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(g.text)
    server = mutate.Server(paths['tailor'], [(g.compared, path, g.argv) for path, g in
                                             zip(inputs, golden)], work, env)
    for first in range(0, len(golden), GROUP):
        server.ask(-1, range(first, min(first + GROUP, len(golden))))
    server.close()
    print(f'golden: {len(golden)} cases', flush=True)


def run(build, chosen, raw):
    """Runs the kinds; counts of all processes go into few files, which they share. How many of them
    failed."""
    env = dict(os.environ, LLVM_PROFILE_FILE=os.path.join(raw, '%4m.profraw'))
    env[started.LIBRARY] = os.path.abspath(os.path.join(build, 'tests', 'libstarted.so'))
    failed = 0
    for name in chosen:
        if name == 'golden':
            run_golden(build, env)
            continue
        start = time.monotonic()
        p = subprocess.run(kinds(build)[name], cwd=ROOT, env=env, capture_output=True, text=True,
                           errors='replace', check=False)
        last = (p.stdout.strip().splitlines() or ['no output'])[-1]
        bad = p.returncode != 0
        failed += bad
        print(f'{"FAIL " if bad else ""}{name}: {last} [{time.monotonic() - start:.0f} s]',
              flush=True)
    return failed


def run_corpora(build, folder, raw):
    """Gives the inputs of fuzzing to the replay programs. How many groups failed."""
    env = dict(os.environ, LLVM_PROFILE_FILE=os.path.join(raw, '%4m.profraw'))
    failed = 0
    for program in sorted(glob.glob(os.path.join(build, 'tests', 'fuzz', 'replay-*'))):
        kind = os.path.basename(program).removeprefix('replay-')
        paths = sorted(glob.glob(os.path.join(folder, f'corpus-{kind}', '*')) +
                       glob.glob(os.path.join(folder, f'seeds-{kind}', '*')))
        if not paths or os.path.isdir(program):
            continue
        for first in range(0, len(paths), GROUP):
            p = subprocess.run([program, *paths[first:first + GROUP]], env=env, check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            failed += p.returncode != 0
        print(f'{kind}: {len(paths)} inputs', flush=True)
    return failed


def tool_of(name):
    """llvm-cov or llvm-profdata of the version of clang that built the program."""
    said = subprocess.run(['clang', '--version'], capture_output=True, text=True, check=True).stdout
    version = said.split('version ')[1].split('.')[0]
    return f'{name}-{version}'


def exported(build, raw):
    """What llvm-cov says of each file and function."""
    merged = os.path.join(raw, 'all.profdata')
    subprocess.run([tool_of('llvm-profdata'), 'merge', '-sparse', '-o', merged,
                    *glob.glob(os.path.join(raw, '*.profraw'))], check=True)
    objects = [os.path.join(build, 'tools', 'tailor'), '-object',
               os.path.join(build, 'tests', 'unit-tests')]
    p = subprocess.run([tool_of('llvm-cov'), 'export', '-instr-profile', merged, *objects,
                        '-skip-functions'], capture_output=True, text=True, check=True)
    return json.loads(p.stdout)['data'][0]['files']


def is_program(path):
    """Whether a file is part of the program, and no table or made text."""
    return path.endswith('.c') and not path.startswith(('tests/', 'build', '..', 'examples/'))


def segments_missed(file):
    """Lines that begin a region which nothing reaches."""
    return sorted({s[0] for s in file['segments'] if s[3] and s[4] and s[2] == 0})


def by_room(files):
    """{room: counts}: of each folder with all that is in it."""
    rooms = collections.defaultdict(lambda: {LINES: [0, 0], BRANCHES: [0, 0]})
    for file in files:
        path = os.path.relpath(file['filename'], ROOT)
        if not is_program(path):
            continue
        folder = os.path.dirname(path)
        while folder:
            for what in (LINES, BRANCHES):
                rooms[folder][what][0] += file['summary'][what]['covered']
                rooms[folder][what][1] += file['summary'][what]['count']
            folder = os.path.dirname(folder)
    return rooms


def share(counts):
    return 100 * counts[0] / counts[1] if counts[1] else 100


def read_floors(path):
    with open(path, encoding='utf-8') as f:
        rows = [line.split('\t') for line in f if line.strip() and not line.startswith('#')]
    return {room: (float(lines), float(branches)) for room, lines, branches in rows}


def uncovered(files, room):
    for file in files:
        path = os.path.relpath(file['filename'], ROOT)
        if is_program(path) and path.startswith(room):
            missed = segments_missed(file)
            if missed:
                print(f'{path}: {len(missed)}: ' + ' '.join(map(str, missed)))


def report(rooms, floors):
    """Prints the table; the number of rooms below their floors."""
    low = 0
    for room in sorted(rooms):
        if room.count('/') > 1 and room not in floors:
            continue
        lines, branches = (share(rooms[room][what]) for what in (LINES, BRANCHES))
        least = floors.get(room)
        bad = least and (lines < least[0] or branches < least[1])
        low += bool(bad)
        print(f'{room:24} lines {lines:5.1f} % of {rooms[room][LINES][1]:6}, branches '
              f'{branches:5.1f} % of {rooms[room][BRANCHES][1]:6}' +
              (f'  FAIL: the floor is {least[0]} and {least[1]}' if bad else ''))
    for room in floors.keys() - rooms.keys():
        print(f'FAIL: there is no room {room}')
        low += 1
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--floors', default=FLOORS)
    parser.add_argument('--kinds')
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--corpora', metavar='FOLDER')
    parser.add_argument('--uncovered', metavar='ROOM')
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    raw = os.path.join(build, 'counts')
    os.makedirs(raw, exist_ok=True)
    failed = 0
    if not args.keep:
        for path in glob.glob(os.path.join(raw, '*.prof*')):
            os.remove(path)
    if args.corpora:
        failed = run_corpora(build, args.corpora, raw)
    elif not args.keep:
        failed = run(build, args.kinds.split(',') if args.kinds else kinds(build), raw)
    files = exported(build, raw)
    if args.uncovered:
        uncovered(files, args.uncovered)
    rooms, floors = by_room(files), {} if args.corpora else read_floors(args.floors)
    low = report(rooms, floors)
    print(f'{len(floors) - low} passed, {low + failed} failed, 0 skipped')
    return 1 if low + failed else 0


if __name__ == '__main__':
    sys.exit(main())
