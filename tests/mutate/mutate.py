#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: are mistakes in the rule engine, the precision decision, loss scaling and tail
optimization noticed? README.md beside this file tells how.

  mutate.py --build DIR [--sanitized DIR] [--n N] [--seed S] [--rooms A,B] [--files F,G]
            [--ledger FILE] [--again] [--resume]

Draws N mutants and runs on each, cheap ones first, the tests that reach it, until one fails: the
mutant is killed. --ledger writes a line for each mutant; --again runs only those that survived in
that ledger. equivalent.tsv lists survivors that were examined and compute the same as the original,
with the reason; they do not count."""
import argparse
import collections
import concurrent.futures
import hashlib
import mmap
import multiprocessing
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE))]
import draw  # noqa: E402
import guard  # noqa: E402
import programs  # noqa: E402
import suites  # noqa: E402
from suites import ROOT  # noqa: E402

EQUIVALENT = os.path.join(HERE, 'equivalent.tsv')
PROBES = 1 << 16
CASE_SECONDS = 3
FIRST, GROUP = 40, 20  # golden cases before the suites of unit tests, and in one process


class Server:
    """A program that runs cases with a mutant on."""

    def __init__(self, program, cases, work, environment):
        self.list = os.path.join(work, os.path.basename(program) + '.cases')
        self.n = len(cases)
        with open(self.list, 'w', encoding='utf-8') as f:
            f.writelines('\t'.join([str(c[0]), c[1], *c[2]]) + '\n' for c in cases)
        self.process = subprocess.Popen(
            [program, '--serve', self.list], cwd=ROOT, stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env={**os.environ, **environment})

    def ask(self, mutant, cases):
        """The first case that ends otherwise than usual, or -1."""
        request = ' '.join([str(mutant), str(CASE_SECONDS), *map(str, cases)])
        self.process.stdin.write(request + '\n')
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Reach:
    """The file into which probes write which mutants were reached."""

    def __init__(self, work):
        self.path = os.path.join(work, f'reach.{os.getpid()}')
        with open(self.path, 'wb') as f:
            f.truncate(PROBES)
        with open(self.path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), PROBES)

    def clear(self):
        self.map[:] = bytes(PROBES)

    def read(self):
        return [m.start() for m in re.finditer(b'\x01', self.map)]


class Tests:
    """The tests, for each what it reaches. They were all run without a mutant."""

    def __init__(self, paths, work):
        self.paths, self.reach = paths, Reach(work)
        environment = {'TAILOR_REACH': self.reach.path}
        self.golden = list(suites.golden())
        self.units = suites.unit_suites()
        folder = os.path.join(work, 'cases')
        os.makedirs(folder, exist_ok=True)
        inputs = [os.path.join(folder, f'{os.getpid()}.{i}') for i in range(len(self.golden))]
        for path, g in zip(inputs, self.golden):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(g.text)
        work = os.path.join(folder, str(os.getpid()))
        os.makedirs(work, exist_ok=True)
        self.servers = (
            Server(paths['tailor'], [(g.compared, path, g.argv) for path, g in
                                     zip(inputs, self.golden)], work, environment),
            Server(paths['unit-tests'], [(0, '/dev/null', ['unit-tests', suite])
                                         for suite in self.units], work, environment))
        self.commands = suites.commands(paths)

    def reached(self, known):
        """Of golden cases and of unit suites: what each reaches. known: what was found before."""
        found = []
        keys = ([' '.join([hash_of(g.text), *g.argv]) for g in self.golden],
                [f'unit {unit} {hash_of_file(f"tests/unit/test_{unit}.c")}' for unit in self.units])
        for server, names in zip(self.servers, keys):
            found.append([])
            for i, name in enumerate(names):
                if name not in known:
                    self.reach.clear()
                    server.ask(-1, [i])
                    known[name] = self.reach.read()
                found[-1].append(known[name])
        return found

    def command_reach(self, name, most, known):
        """(what it reaches, its CPU seconds); nothing if it fails without a mutant, or takes more
        than so many seconds."""
        key = f'{name} {most} ' + (hash_of_file(name) if name.endswith('.t') else '')
        if key not in known:
            known[key] = self.measured(name, most)
        return known[key]

    def measured(self, name, most):
        self.reach.clear()
        with self.begin(name, -1, TAILOR_REACH=self.reach.path) as p:
            spent = 0
            while p.poll() is None:
                spent = max(spent, seconds_of(p.pid))
                if spent > most:
                    guard.end(p.pid)
                time.sleep(0.02)
        if p.returncode:
            print(f'left out, {"too long" if spent > most else "fails without a mutant"}: {name}')
            return [], 0
        return self.reach.read(), spent

    def begin(self, name, mutant, **environment):
        env = {**os.environ, 'TAILOR_MUTANT': str(mutant), **environment}
        argv = [word.replace('{pid}', str(os.getpid())) for word in self.commands[name]]
        return subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def fails(self, name, mutant):
        """Whether a command fails, or takes too long."""
        try:
            return guard.wait(self.begin(name, mutant)) != 0
        except subprocess.TimeoutExpired:
            return True


class Hunter:
    """Runs tests on mutants of one file after the other. plan: {mutant: (golden cases, suites,
    commands)}, each in the order in which they run."""

    def __init__(self, tests, plan, most, sanitized):
        self.tests, self.plan, self.most, self.sanitized = tests, plan, most, sanitized
        self.hot = collections.defaultdict(list)  # cases and commands that killed mutants of a file

    def killer(self, path, number):
        """Name of the test that fails, or None."""
        golden, units, commands = self.plan[number]
        hot = [case for case in reversed(self.hot[path]) if case in golden]
        order = list(dict.fromkeys(hot + list(golden)))[:self.most]
        return (self.by_golden(path, number, order[:FIRST]) or self.by_unit(number, units) or
                self.by_golden(path, number, order[FIRST:]) or
                self.by_command(path, number, commands))

    def by_golden(self, path, number, cases):
        """Cases run in groups; what the server found, the test itself confirms."""
        for first in range(0, len(cases), GROUP):
            left = cases[first:first + GROUP]
            while left:
                case = self.tests.servers[0].ask(number, left)
                if case < 0:
                    break
                # Memory that leaked is only noticed at the end of the group.
                suspects = left if self.sanitized and case == left[-1] else [case]
                for suspect in suspects:
                    if self.confirmed(number, suspect):
                        self.hot[path].append(suspect)
                        return self.tests.golden[suspect].name
                left = left[left.index(case) + 1:]
        return None

    def confirmed(self, number, case):
        os.environ['TAILOR_MUTANT'] = str(number)
        try:
            return self.tests.golden[case].fails(self.tests.paths['tailor'])
        except subprocess.TimeoutExpired:
            return True
        finally:
            del os.environ['TAILOR_MUTANT']

    def by_unit(self, number, units):
        case = self.tests.servers[1].ask(number, units) if units else -1
        return None if case < 0 else 'unit ' + self.tests.units[case]

    def by_command(self, path, number, commands):
        hot = [name for name in reversed(self.hot[path]) if name in commands]
        for name in dict.fromkeys(hot + commands):
            if self.tests.fails(name, number):
                self.hot[path].append(name)
                return name
        return None


def seconds_of(pid):
    """CPU seconds of a process and of its children that have ended."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as f:
            ticks = f.read().rpartition(')')[2].split()[11:15]
    except OSError:
        return 0
    return sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK')


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_of_file(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return hash_of(f.read())


def plan_cases(reaches, kind, plan):
    """Adds cases to the plan of the mutants of one file: those first that reach many of them."""
    for case in sorted(range(len(reaches)), key=lambda i: (-len(reaches[i]), i)):
        for number in reaches[case]:
            plan[number][kind].append(case)


def plan_commands(seen, numbers, work_limit, plan):
    """Adds commands to the plan of the mutants of one file: those first that reach many of them for
    their seconds, since they are about that file."""
    worth = {name: len(numbers.intersection(reach)) / (seconds + 0.05)
             for name, (reach, seconds) in seen.items()}
    spent = collections.Counter()
    for name in sorted(seen, key=lambda name: (-worth[name], name)):
        reach, seconds = seen[name]
        for number in numbers.intersection(reach):
            if spent[number] + seconds <= work_limit:
                spent[number] += seconds
                plan[number][2].append(name)


def planned(tests, work_limit, path, files):
    """{mutant: tests that reach it}: those first that are about its file; commands as long as they
    cost less than the limit. path: where to keep what is found, for programs that are linked
    anew from the same objects. files: {file: numbers of its mutants}."""
    known = programs.read_json(path)
    found = tests.reached(known)
    plan = collections.defaultdict(lambda: ([], [], []))
    for numbers in files.values():
        for k, reaches in enumerate(found):
            plan_cases([numbers.intersection(reach) for reach in reaches], k, plan)
    programs.write_json(path, known)
    seen = {name: tests.command_reach(name, work_limit, known) for name in tests.commands}
    programs.write_json(path, known)
    for name, (reach, seconds) in sorted(seen.items(), key=lambda item: item[1][1]):
        print(f'  {seconds:6.2f} s, reaches {len(reach)}: {name}')
    for numbers in files.values():
        plan_commands(seen, numbers, work_limit, plan)
    return plan


HUNTER = LOG = None


def begin(paths, work, plan, most, sanitized, log):
    global HUNTER, LOG
    LOG = log
    HUNTER = Hunter(Tests(paths, work), plan, most, sanitized)


def hunt(path, number):
    """The killer of a mutant, which is noted at once."""
    by = HUNTER.killer(path, number)
    with open(LOG, 'a', encoding='utf-8') as f:
        f.write(f'{number}\t{by or "-"}\n')
    return number, by


def known_equivalent():
    known = {}
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding='utf-8') as f:
            for line in f:
                if line.strip() and not line.startswith('#'):
                    parts = line.rstrip('\n').split('\t')
                    known[tuple(parts[:5])] = parts[5]
    return known


def prepared(args):
    """(builder, sources, mutants to run, how many were left out): those that compile and differ, N
    of them."""
    builder = programs.Builder(os.path.abspath(args.build), args.work)
    only = builder.compile.keys() & set(args.files.split(',') if args.files else builder.compile)
    sources, drawn = draw.draw(args.rooms.split(','), only, args.seed, args.n * 3 // 2 + 40)
    by_file = collections.defaultdict(dict)
    for number, m in enumerate(drawn, 1):
        m.number = number
        by_file[m.path][number] = m
    for path, mutants in sorted(by_file.items()):
        builder.file(path, sources[path], mutants)
    good, others = [], collections.Counter()
    for m in drawn:
        if len(good) == args.n:
            break
        if m.state:
            others[m.state] += 1
        else:
            good.append(m)
    return builder, sources, good, others


def read_ledger(path):
    rows = {}
    if path and os.path.exists(path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                if not line.startswith('#'):
                    parts = line.rstrip('\n').split('\t')
                    rows[tuple(parts[2:7])] = (parts[0], parts[1])
    return rows


def write_ledger(path, mutants, seed):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('# SPDX-License-Identifier: Apache-2.0\n'
                f'# mutate.py --n {len(mutants)} --seed {seed}\n'
                '# state\tby\tfile\toperator\tline\tbecomes\tnth\n')
        for m in sorted(mutants, key=lambda m: (m.path, m.line, m.key)):
            f.write('\t'.join((m.state, m.by or '-', *m.key)) + '\n')


def summary(mutants, others, least):
    for what, key in (('room', lambda m: os.path.dirname(m.path)),
                      ('operator', lambda m: m.operator)):
        rows = collections.defaultdict(collections.Counter)
        for m in mutants:
            rows[key(m)][m.state] += 1
        for name, counts in sorted(rows.items()):
            n = counts['killed'] + counts['survived']
            print(f'{what} {name}: {counts["killed"]} of {n} killed, '
                  f'{counts["equivalent"]} equivalent')
    states = collections.Counter(m.state for m in mutants)
    n = states['killed'] + states['survived']
    share = 100 * states['killed'] / n if n else 0
    print(f'{n} mutants: {states["killed"]} killed ({share:.1f} %), {states["survived"]} survived, '
          f'besides {states["equivalent"]} that were examined and compute the same; left out: ' +
          ', '.join(f'{count} {name}' for name, count in sorted(others.items())))
    print(f'{int(share >= least)} passed, {int(share < least)} failed, 0 skipped')
    return 0 if share >= least else 1


def run_stage(args, paths, mutants, plan, sanitized, log):
    """Runs tests on mutants; sets their states."""
    numbers = {m.number: m for m in mutants}
    cases = args.cases // 6 if sanitized else args.cases
    with concurrent.futures.ProcessPoolExecutor(
            args.jobs, mp_context=multiprocessing.get_context('fork'), initializer=begin,
            initargs=(paths, args.work, plan, cases, sanitized, log)) as pool:
        waiting = [pool.submit(hunt, m.path, m.number) for m in mutants]
        for done in concurrent.futures.as_completed(waiting):
            number, by = done.result()
            m = numbers[number]
            m.state, m.by = ('killed', by + ', sanitized' * sanitized) if by else ('survived', '-')


def resume(log, mutants):
    """Takes what an interrupted run has found."""
    numbers = {m.number: m for m in mutants}
    if os.path.exists(log):
        with open(log, encoding='utf-8') as f:
            for line in f:
                number, by = line.rstrip('\n').split('\t')
                if int(number) in numbers:
                    m = numbers[int(number)]
                    m.state, m.by = ('survived' if by == '-' else 'killed'), by


def run_all(args, builder, sources, mutants, drawn):
    """The release build first; golden cases and units once more, sanitized, on what survives."""
    paths = builder.link()
    files = collections.defaultdict(set)
    for m in drawn:
        files[m.path].add(m.number)
    plan = planned(Tests(paths, args.work), args.limit, builder.named('reach.json'), files)
    plan = {m.number: plan.get(m.number, ([], [], [])) for m in mutants}
    log = builder.named('log')
    if args.resume:
        resume(log, mutants)
    run_stage(args, paths, [m for m in mutants if not m.state], plan, False, log)
    left = [m for m in mutants if m.state == 'survived']
    if left and args.sanitized:
        run_sanitized(args, sources, left, plan, log)
    for m in left:
        if m.state == 'survived':
            m.by = 'reached' if any(plan[m.number]) else 'not reached'
            print(f'survived, {m.by}: {m}')


def run_sanitized(args, sources, left, plan, log):
    again = programs.Builder(os.path.abspath(args.sanitized),
                             os.path.join(args.work, 'sanitized'), sanitized=True)
    for path in sorted({m.path for m in left}):
        again.file(path, sources[path], {m.number: m for m in left if m.path == path})
    plan = {number: (golden, units, []) for number, (golden, units, _) in plan.items()}
    run_stage(args, again.link(), left, plan, True, log)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--sanitized', metavar='DIR', help='a sanitized build, for survivors')
    parser.add_argument('--work', default=os.path.join(ROOT, 'build-mutate'))
    parser.add_argument('--n', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--rooms', default=','.join(suites.ROOMS))
    parser.add_argument('--files', help='mutate these files only')
    parser.add_argument('--ledger', help='write a line for each mutant to this file')
    parser.add_argument('--again', action='store_true', help='only survivors of the ledger')
    parser.add_argument('--resume', action='store_true', help='go on with a run that was ended')
    parser.add_argument('--limit', type=float, default=20, help='CPU seconds of other tests each')
    parser.add_argument('--cases', type=int, default=600, help='golden cases each, at most')
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--least', type=float, default=0, help='fail below this share, percent')
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    builder, sources, mutants, others = prepared(args)
    known, before = known_equivalent(), read_ledger(args.ledger) if args.again else {}
    for m in mutants:
        if m.key in known:
            m.state = 'equivalent'
        elif before.get(m.key, ('survived',))[0] != 'survived':
            m.state, m.by = before[m.key]
    waiting = [m for m in mutants if not m.state]
    if waiting:
        run_all(args, builder, sources, waiting, mutants)
    if args.ledger:
        write_ledger(args.ledger, mutants, args.seed)
    return summary(mutants, others, args.least)


if __name__ == '__main__':
    sys.exit(main())
