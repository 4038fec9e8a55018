# SPDX-License-Identifier: Apache-2.0
"""Runs command lines again and again in folders of their own, with something going wrong each time;
what memory.py, files.py, kills.py and disks.py share."""
import concurrent.futures
import os
import re
import shlex
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import commands  # noqa: E402  (beside this file)
import guard  # noqa: E402

PREPARED = 'prepared'
CACHES = ('cache/', 'new/')  # whose files are named after moments and processes
TIMED = 'trace.out'  # whose contents are times
# Of what one command does alike, hundreds of times, this many and then every tenth.
ALIKE = 100


class Outcome:
    """What a command left: exit code, standard output and standard error, files, and counts."""

    def __init__(self, code, text, files, counts):
        self.code, self.text, self.files, self.counts = code, text, files, counts
        self.again = None  # what the next run makes, if somebody asks
        self.all = (code, text, files)


class Counts:
    """Allocations, calls and changes of names; blocks that were not given back; the names that the
    n-th call had (more than one where processes run side by side), from 1."""

    def __init__(self, text):
        first, *names = text.splitlines()
        self.allocations, self.calls, self.changes, self.live = (int(n) for n in first.split())
        self.names = [set(), *(set(line.split()) for line in names)]


class Run:
    """One command line, again and again."""

    def __init__(self, args, scratch, command, number):
        self.args, self.command = args, command
        self.prepared = os.path.join(scratch, PREPARED)
        self.scratch = os.path.join(scratch, str(number))
        self.spare, self.begun, self.start = None, 0, None
        self.temporary = self.scratch + '.tmp'
        os.makedirs(self.temporary)
        self.spare = self.folder('start')
        self.start = contents(self.spare)
        self.whole = self.call()

    def files(self):
        """Files beside those of commands.prepare, by name."""
        return {}

    def folder(self, name):
        """A fresh folder."""
        where = os.path.join(self.scratch, name)
        shutil.copytree(self.prepared, where)
        for file, text in self.files().items():
            with open(os.path.join(where, file), 'w', encoding='utf-8') as f:
                f.write(text)
        return where

    def environment(self, **faults):
        found = {**os.environ, 'LC_ALL': 'C', 'LD_PRELOAD': self.args.faults,
                 'TAILOR': self.args.tailor, 'TMPDIR': self.temporary,
                 'FAULT_PROGRAM': os.path.basename(self.args.tailor),
                 **{f'FAULT_{k.upper()}': str(v) for k, v in faults.items()}}
        found.pop('TAILOR_CACHE_DIR', None)
        return found

    def call(self, **faults):
        """The outcome under faults. A folder serves again when it is, or can be made, as it was."""
        self.begun += 1
        where = self.spare or self.folder(f'r{self.begun}')
        counts = self.scratch + '.counts'
        p = guard.run([self.args.tailor, *shlex.split(self.command)], cwd=where, text=True,
                      env=self.environment(counts=counts, **faults), errors='replace',
                      capture_output=True)
        files, found = contents(where), None
        again = self.again(where)
        if os.path.exists(counts):
            text = read(counts)
            found = Counts(text) if text else None  # it came to no ordinary end
            os.remove(counts)
        self.spare = where if self.restored(where, files) else None
        if not self.spare:
            shutil.rmtree(where)
        for name in os.listdir(self.temporary):
            files['$TMPDIR/' + name] = 'left'
            shutil.rmtree(os.path.join(self.temporary, name))
        done = Outcome(p.returncode, (stable(p.stdout), stable(p.stderr)), files, found)
        done.again = again
        return done

    def restored(self, where, files):
        """Makes a folder again what it was before the run; False if that takes a fresh one."""
        changed = sorted(f for f in {*files, *self.start} if files.get(f) != self.start.get(f))
        if '--cache-dir' in self.command or any(f.endswith('/') for f in self.start
                                                if f not in files):
            return False
        for f in changed:
            path = os.path.join(where, f)
            if f.endswith('/'):
                shutil.rmtree(path, ignore_errors=True)  # or it went with the folder around it
            elif f in self.start:
                with open(path, 'wb') as out:
                    out.write(self.start[f].encode('latin-1'))
            elif os.path.exists(path):  # or it went with its folder
                os.remove(path)
        return True

    def again(self, where):
        """What a kind wants to know of the folder behind the run; None: nothing."""
        return None

    def leaked(self, outcome):
        """What is wrong with the memory of a command that came to its end, or ''."""
        more = outcome.counts.live - self.whole.counts.live if outcome.counts else 0
        return f'{more} blocks were not given back' if more > 0 else ''

    def sampled(self, numbers):
        """As many of them as --sample says, spread evenly."""
        n = self.args.sample
        return numbers[::max(1, len(numbers) // n)] if n else numbers

    def calls(self):
        """(number, names) of the calls of the whole run; of those of one name ALIKE, and then every
        tenth."""
        seen, found = {}, []
        for n, names in enumerate(self.whole.counts.names):
            for name in names:
                seen[name] = seen.get(name, 0) + 1
            if any(seen[name] <= ALIKE or seen[name] % 10 == 0 for name in names):
                found.append((n, names))
        return found


def contents(where, without=None):
    """Bytes of all files below a folder by name; folders are there too. Of caches, what should not
    stay there. without: the name of a folder that does not count."""
    found = {}
    for base, folders, names in os.walk(where):
        folders[:] = [f for f in folders if f != without]
        for f in names:
            found[os.path.relpath(os.path.join(base, f), where)] = read(os.path.join(base, f))
        for f in folders:
            found[os.path.relpath(os.path.join(base, f), where) + '/'] = ''
    return {f: '' if f == TIMED else text for f, text in found.items()
            if not f.startswith(CACHES) or '/tmp/' in f and not f.endswith('/tmp/')}


def read(path):
    with open(path, 'rb') as f:
        return f.read().decode('latin-1')


def stable(text):
    """Without what differs from run to run: times, memory that was used, and what the counts of
    `make coverage` say, for which memory is taken as well."""
    text = re.sub(r'LLVM Profile Error: .*\n', '', text)
    text = re.sub(r'("\w*(nanoseconds|_ns|bytes|memory|ms)\w*": )\d+', r'\1T', text)
    return re.sub(r'\d+(\.\d+)? ?(ms|s)\b|\b\d+\.\d+(?= )', 'T', text)


def alike(files, others):
    """Whether two folders have the same contents, but for what differs from run to run."""
    return files.keys() == others.keys() and all(
        text == others[f] or stable(text) == stable(others[f]) for f, text in files.items())


def add_arguments(ap):
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--faults', required=True)
    ap.add_argument('--sample', type=int, default=0)
    ap.add_argument('--only', default='')
    ap.add_argument('--jobs', type=int, default=os.cpu_count())
    ap.add_argument('--show', action='store_true', help='what each command took')


def run_commands(args, kind, chosen):
    """Runs all commands under the faults of a kind, of a sample every other; the exit code."""
    if args.sample and not args.only:
        chosen = chosen[::2]
    args.tailor, args.faults = os.path.abspath(args.tailor), os.path.abspath(args.faults)

    def prepare(scratch):
        os.mkdir(os.path.join(scratch, PREPARED))
        commands.prepare(args.tailor, os.path.join(scratch, PREPARED))

    def check(scratch, number, command):
        return kind(args, scratch, command, number).check()
    return run_all(args, prepare, check, chosen)


def run_all(args, prepare, check, chosen):
    """Runs check(scratch folder, number, command), which gives (passed, failures), for each of
    those chosen, side by side, and prints what fails; the exit code."""
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix='tailor-faults-') as scratch, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def timed(numbered):
            begin = time.monotonic()
            return *check(scratch, *numbered), time.monotonic() - begin
        prepare(scratch)
        for command, (good, bad, seconds) in zip(chosen, pool.map(timed, enumerate(chosen))):
            passed += good
            failed += len(bad)
            for line in bad:
                print('FAIL', line, flush=True)
            if getattr(args, 'show', False):
                print(f'{good + len(bad)} runs, {seconds:.0f} s: {command}', flush=True)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0
