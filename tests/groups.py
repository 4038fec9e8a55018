# SPDX-License-Identifier: Apache-2.0
"""Kinds of tests in groups, and what runs them: tests/kinds.py has a row for
each, or tests/run.py a method.

A group says what a failure is about, and groups come in the order in which one wants to know:
whether it builds and keeps the rules of the house; units and commands; passes on small graphs; real
models; and what searches, at random or everywhere."""
import concurrent.futures
import os
import queue
import re
import shutil
import signal
import sys
import time

import guard
import processes

GROUPS = {
    'build': ['build_gcc', 'ort', 'build_sanitized', 'style', 'analyze', 'hardened', 'guard',
              'scaffold', 'debugger',
              'docs', 'named', 'sessions', 'worked_examples', 'fusion_names'],
    'unit': ['unit', 'threads', 'cli', 'limits', 'large', 'deps', 'cache', 'clocks', 'builds',
             'library',
             'tour',
             'python',
             'atc_lines', 'air_options',
             'run_config', 'run_config_effects', 'precision_files', 'hostile', 'reader', 'opsets',
             'air_round_trip', 'air_hostile', 'air_foreign', 'air_attributes', 'air_ops',
             'air_sample', 'air_text', 'air_raised', 'air_verify', 'origins', 'diff', 'parts',
             'op_dtypes', 'runners',
             'select_rows',
             'meanings', 'aipp', 'step_files', 'pages', 'view_data', 'view', 'json_outputs',
             'instructions', 'growth'],
    'golden': ['golden', 'golden_rules', 'golden_numbers', 'rules', 'rule_numbers', 'test_rules',
               'user_ops', 'traps', 'fused_traps', 'recognised'],
    'models': ['nodes', 'sandwiches', 'spellings', 'official', 'corpus', 'evaluate',
               'evaluate_corpus', 'npu_form', 'open_sizes', 'memory', 'ge_shapes', 'shares',
               'recurrent', 'quantized', 'chips', 'cast_counts', 'precision_corpus',
               'precision_peers', 'precision_search',
               'train_air', 'training_info', 'train_steps', 'half_steps',
               'gradients', 'formulas', 'estimates', 'artifacts', 'single_graph', 'loop_steps',
               'variants', 'planted', 'layers', 'dumps', 'reproducers'],
    'deep': ['random_graphs', 'random_scopes', 'hunt', 'hunt_npu', 'hunt_train', 'grammar',
             'precision',
             'ranges', 'commands', 'orders', 'extremes', 'kernels', 'train_random', 'tail_random',
             'planted_roles', 'oom',
             'oom_commands', 'oom_python', 'file_faults', 'kills', 'disks', 'determinism',
             'emulation', 'fuzz'],
}
KINDS = [kind for kinds in GROUPS.values() for kind in kinds]
# `make check`: what a change breaks most often, on one build, in less than a minute.
CHECK = ['build_gcc', 'style', 'unit', 'golden', 'golden_rules']
# What others need comes first, one build behind the other, since each takes all cores (installing
# waits for the network, so it runs beside a build). Fuzzing wants the machine for itself.
STAGES = {'build_gcc': 0, 'ort': 0, 'build_sanitized': 1, 'fuzz': 3}
TESTS = 2  # the stage of all others
# Kinds run side by side, one on each core, and stay there with all that they start: three kinds
# that move between two cores take a quarter more CPU time. Kinds that wait for a clock or for each
# other, or that want several cores, run beside them, one at a time, on any core.
LOOSE = ('clocks', 'cache', 'builds', 'guard', 'threads', 'determinism', 'large')
# What takes a minute begins first: at the end other cores would have nothing to do.
LONGEST = ('cli', 'corpus', 'oom', 'growth', 'hostile', 'npu_form', 'view', 'disks')
SUMMARY = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$', re.M)
# Lines worth showing of a kind in which nothing failed.
NOTABLE = re.compile(r'(FAIL|skip|[\w-]+: \d+ models|equal to|NPU form)')


class Skip(Exception):
    """Why a kind cannot run here."""


def chosen(names):
    """Kinds of a list of groups and kinds, with the builds that they may need, in their order;
    ValueError names what is neither."""
    wanted = {'build_gcc', 'build_sanitized'}
    for name in names:
        if name not in GROUPS and name not in KINDS:
            raise ValueError(name)
        wanted.update(GROUPS.get(name, [name]))
    return [kind for kind in KINDS if kind in wanted]


def listed():
    return '; '.join(f'{group}: {" ".join(kinds)}' for group, kinds in GROUPS.items())


def findings(*folders):
    """The option --findings for a folder of reproducers beside the repository, if it is there."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(os.path.dirname(root), 'shared', 'findings', *folders)
    return ['--findings', path] if os.path.isdir(path) else []


def group_of(kind):
    return next(group for group, kinds in GROUPS.items() if kind in kinds)


def run_kind(tests, kind):
    """(what to print, counts)"""
    method = getattr(tests, kind)
    start = time.monotonic()
    processes.reset_cpu()
    try:
        text, counts = method()
    except Skip as reason:
        text, counts = f'skipped: {reason}', (0, 0, 1)
    about = method.__doc__.replace(', sanitized', '') if tests.args.quick else method.__doc__
    lines = [s for s in text.splitlines() if counts[1] or not SUMMARY.match(s)]
    notable = [s for s in lines if NOTABLE.match(s)]
    shown = ['    ' + line[:400] for line in (lines if counts[1] else notable)[-200:]]
    shown.append(f'{kind} ({about}): {counts[0]} passed, {counts[1]} failed, '
                 f'{counts[2]} skipped [{time.monotonic() - start:.0f} s, '
                 f'CPU {processes.cpu_seconds():.0f} s]')
    return shown, counts


class Progress:
    """Prints each kind when it is done, with its group and how many are: 'golden 31/70 rules ...'.
    On a terminal the last line also tells what runs."""

    def __init__(self, kinds, folder):
        self.all, self.done, self.running, self.folder = len(kinds), 0, [], folder
        self.start, self.terminal = time.monotonic(), sys.stdout.isatty()

    def stop(self, number, _):
        """Somebody ends the run: says what it waited for, ends that too, and leaves no files."""
        programs = guard.family(os.getpid()) - {os.getpid()}
        for pid in sorted(programs)[:20]:
            print(f'    {processes.described(pid)}')
        print(f'ended after {time.monotonic() - self.start:.0f} s, in {", ".join(self.running)}; '
              f'programs that ran: {len(programs)}', flush=True)
        guard.kill(programs)
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(128 + number)  # or kinds that wait for a core would begin

    def status(self):
        if self.terminal:
            now = f'{self.done}/{self.all} [{time.monotonic() - self.start:.0f} s] '
            sys.stdout.write('\r\033[K' + (now + ', '.join(self.running))[:79])
            sys.stdout.flush()

    def begin(self, kind):
        self.running.append(kind)
        self.status()

    def end(self, kind, shown):
        self.done += 1
        self.running.remove(kind)
        where = f'{group_of(kind):6} {self.done:2}/{self.all} '
        text = '\n'.join(shown[:-1] + [where + shown[-1]])
        print(('\r\033[K' if self.terminal else '') + text, flush=True)
        self.status()


def stay_on(cores):
    """Keeps this thread, and what it starts, on the next of the cores."""
    os.sched_setaffinity(0, {cores.get()})


def workers(stage, n):
    """(pool of threads for most kinds of a stage, pool for those of LOOSE); n: how many kinds."""
    pool = concurrent.futures.ThreadPoolExecutor
    if stage != TESTS:
        same = pool(n)
        return same, same
    cores = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0)):
        cores.put(core)
    return pool(cores.qsize(), initializer=stay_on, initargs=(cores,)), pool(1)


def run_stage(tests, stage, kinds, progress):
    """Counts of kinds that run side by side."""
    def one(kind):
        progress.begin(kind)
        return kind, *run_kind(tests, kind)

    bound, loose = workers(stage, len(kinds))
    with bound, loose:
        futures = [(loose if kind in LOOSE else bound).submit(one, kind) for kind in kinds]
        for future in concurrent.futures.as_completed(futures):
            kind, shown, counts = future.result()
            progress.end(kind, shown)
            yield counts


def run_all(tests, kinds, folder):
    """Runs kinds, builds first, and prints what they say; the sum of their counts. folder: where
    they have their files, which go if a signal ends the run."""
    total, progress = [0, 0, 0], Progress(kinds, folder)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, progress.stop)
    for stage in sorted({STAGES.get(kind, TESTS) for kind in kinds}):
        some = [kind for kind in kinds if STAGES.get(kind, TESTS) == stage]
        some.sort(key=lambda kind: kind not in LONGEST)
        for counts in run_stage(tests, stage, some, progress):
            total = [a + b for a, b in zip(total, counts)]
        if stage < TESTS and total[1]:
            break
    return total
