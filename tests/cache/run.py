#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cache of conversions: what is a hit and what is not, everything that can be wrong with it,
and many processes at once. An output never depends on the cache: each is compared with what the
command writes without one.

  run.py --tailor TAILOR [--full]

--full: 1,000 conversions by 16 processes, with kills among them, instead of 60."""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

MODEL = '''graph @g(%x: f32[2,3]) -> (%y) {{
  const %w: f32[3,3] = [{}]
  %t = MatMul(%x, %w)
  %y = Relu(%t)
}}
'''


def weights(seed):
    return ', '.join(f'{(seed * 7 + i) % 23 * 0.125}' for i in range(9))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def read(path):
    with open(path, 'rb') as f:
        return f.read()


class Skipped(Exception):
    """What a test needs is not there; the text says what."""


class Place:
    """A working folder with a model, rules and a cache."""

    def __init__(self, tool):
        self.tool, self.dir = os.path.abspath(tool), tempfile.mkdtemp(prefix='tailor-cache-')
        write(self.at('m.tir'), model(1))
        write(self.at('on.cfg'), '{"Switch":{"GraphFusion":{"ALL":"on"}}}')

    def at(self, *path):
        return os.path.join(self.dir, *path)

    def run(self, *arguments, **more):
        env = dict(os.environ, LC_ALL='C', **more.pop('env', {}))
        env.pop('TAILOR_CACHE_DIR', None) if 'keep' not in more else more.pop('keep')
        return guard.run([self.tool, *arguments], cwd=self.dir, env=env, capture_output=True,
                         text=True, errors='replace', stdin=subprocess.DEVNULL, **more)

    def convert(self, *arguments, name='m.air', cache='cache', source='m.tir', **more):
        """(what happened, bytes of the output) of a conversion that must succeed."""
        before = self.stats(cache)
        p = self.run('convert', source, '-o', name, f'--cache-dir={cache}', *arguments, **more)
        assert p.returncode == 0, p.stderr
        after = self.stats(cache)
        what = [k for k in ('hits', 'misses', 'not_cached') if after.get(k, 0) > before.get(k, 0)]
        return '+'.join(what), read(self.at(name)), p

    def plain(self, *arguments, source='m.tir'):
        """Bytes that the command writes without a cache, under the same name."""
        os.makedirs(self.at('plain'), exist_ok=True)
        for name in os.listdir(self.dir):
            if os.path.isfile(self.at(name)):
                shutil.copy(self.at(name), self.at('plain', name))
        p = guard.run([self.tool, 'convert', source, '-o', 'm.air', *arguments],
                      cwd=self.at('plain'), capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
        data = read(self.at('plain', 'm.air'))
        shutil.rmtree(self.at('plain'))
        return data

    def stats(self, cache='cache'):
        p = self.run('cache', 'stats', f'--cache-dir={cache}', '--json')
        return json.loads(p.stdout) if p.returncode == 0 else {}

    def entries(self, cache='cache'):
        found = []
        for base, _, names in os.walk(self.at(cache, 'entry')):
            found += [os.path.join(base, n) for n in names]
        return sorted(found)


def model(seed):
    return MODEL.format(weights(seed))


def expect(got, wanted, what):
    assert got == wanted, f'{what}: {shown(got)}, {shown(wanted)} was expected'


def shown(value):
    """Bytes of a file say little, and are many."""
    if isinstance(value, tuple):
        return ', '.join(shown(v) for v in value)
    return f'{len(value)} bytes' if isinstance(value, bytes) and len(value) > 200 else repr(value)


# ---- what is a hit -------------------------------------------------------------------------------

def messages_are_the_same(p):
    """The summary and the warnings of a hit are those of the miss, word for word."""
    write(p.at('keep.cfg'), 'no_such_node\n')
    for more in ([], ['--summary=json'], ['--diagnostics=json'], ['--diagnostics=sarif'], ['-q'],
                 ['--keep-dtype=keep.cfg', '--precision-mode=force_fp16']):
        first = p.convert(*more, cache='said' + ''.join(more))
        again = p.convert(*more, cache='said' + ''.join(more))
        expect((first[0], again[0]), ('misses', 'hits'), more)
        expect(again[2].stderr, first[2].stderr, more)
        expect(again[2].stdout, first[2].stdout, more)
    assert 'warning' in again[2].stderr, again[2].stderr


def each_input_counts(p):
    """Model, files of options, options, names, the program: each makes another conversion."""
    args = ['--fusion-switch-file=on.cfg']
    expect(p.convert(*args)[0], 'misses', 'first')
    expect(p.convert(*args)[0], 'hits', 'second')
    write(p.at('on.cfg'), '{"Switch":{"GraphFusion":{"ALL":"off"}}}')
    what, data, _ = p.convert(*args)
    expect(what, 'misses', 'config file changed')
    expect(data, p.plain(*args), 'bytes after the config file changed')
    write(p.at('m.tir'), model(2))
    what, data, _ = p.convert(*args)
    expect(what, 'misses', 'model changed')
    expect(data, p.plain(*args), 'bytes after the model changed')
    write(p.at('m.tir'), model(1))
    expect(p.convert(*args)[0], 'hits', 'model as before')
    expect(p.convert(*args, '--precision-mode=force_fp16')[0], 'misses', 'option added')
    expect(p.convert(*args, name='other.air')[0], 'misses', 'other output')
    expect(p.convert(*args, '--depfile=d')[0], 'misses', 'another file is asked for')
    os.remove(p.at('d'))
    expect(p.convert(*args, '--depfile=d')[0], 'hits', 'depfile is part of the entry')
    assert read(p.at('d')).startswith(b'm.air:'), 'depfile of a hit'


def edit_keeps_size_and_time(p):
    """A file with the same size and the same time, but another content, is another file."""
    p.convert()
    st = os.stat(p.at('m.tir'))
    text = model(1).replace('0.875', '0.125', 1)
    assert len(text) == st.st_size, 'the sample has the same size'
    with open(p.at('m.tir'), 'r+', encoding='utf-8') as f:
        f.write(text)
    os.utime(p.at('m.tir'), ns=(st.st_atime_ns, st.st_mtime_ns))
    what, data, _ = p.convert()
    expect(what, 'misses', 'edited')
    expect(data, p.plain(), 'bytes')


def memo_is_for_old_files(p):
    """A digest is remembered only of a file that has not changed for two seconds."""
    def memos():
        return sum(len(names) for _, _, names in os.walk(p.at('cache', 'memo')))
    p.convert()
    expect(memos(), 0, 'memos of a file that is new')
    time.sleep(2.2)
    expect(p.convert()[0], 'hits', 'with an old file')
    expect(memos(), 1, 'memos of an old file')
    expect(p.convert()[0], 'hits', 'with the memo')
    write(p.at('m.tir'), model(3))
    what, data, _ = p.convert()
    expect(what, 'misses', 'changed behind the memo')
    expect(data, p.plain(), 'bytes')


def external_weights(p):
    """Weights beside the output come and go with the entry."""
    args = ['--external-weight=1']
    expect(p.convert(*args)[0], 'misses', 'first')
    files = {n: read(p.at('weight', n)) for n in os.listdir(p.at('weight'))}
    assert files, 'there are weight files'
    shutil.rmtree(p.at('weight'))
    expect(p.convert(*args)[0], 'hits', 'second')
    expect({n: read(p.at('weight', n)) for n in os.listdir(p.at('weight'))}, files, 'weights')


def environment(p):
    """TAILOR_CACHE_DIR names a cache, --no-cache switches it off; bytes are the same."""
    env = {'TAILOR_CACHE_DIR': p.at('from-env')}
    for wanted in ({'misses': 1, 'hits': 0}, {'misses': 1, 'hits': 1}):
        r = p.run('convert', 'm.tir', '-o', 'm.air', env=env, keep=1)
        expect(r.returncode, 0, r.stderr)
        expect(read(p.at('m.air')), p.plain(), 'bytes')
        got = p.stats('from-env')
        expect({k: got[k] for k in wanted}, wanted, 'counts')
    p.run('convert', 'm.tir', '-o', 'm.air', '--no-cache', env=env, keep=1)
    expect(p.stats('from-env')['hits'], 1, 'hits with --no-cache')


def what_is_not_cached(p):
    """Conversions whose output is more than files say that they are not cached."""
    for more in (['--print-after'], ['--stats'], ['--verify'], ['--dump-dir=dump']):
        what, _, r = p.convert(*more)
        expect(what, 'not_cached', more)
        assert 'W_NOT_CACHED' in r.stderr, r.stderr
    r = p.run('convert', 'm.tir', '-o', '-', '--emit=tir', '--cache-dir=cache')
    assert r.returncode == 0 and 'graph @g' in r.stdout and 'W_NOT_CACHED' in r.stderr, r.stderr
    os.mkfifo(p.at('pipe.tir'))
    reader = subprocess.Popen(['cat', p.at('pipe.tir')], stdout=subprocess.DEVNULL)
    r = p.run('convert', 'm.tir', '-o', 'pipe.tir', '--cache-dir=cache')
    reader.wait()
    assert r.returncode == 0 and 'no regular file' in r.stderr, r.stderr
    expect(p.entries(), [], 'entries')


def failures_are_not_cached(p):
    write(p.at('bad.tir'), 'graph @g(%x: f32[2]) -> (%y) {\n  %y = Nonsense(%x)\n}\n')
    for _ in range(2):
        r = p.run('convert', 'bad.tir', '-o', 'bad.air', '--cache-dir=cache')
        expect(r.returncode, 2, r.stderr)
    expect((p.stats()['hits'], p.entries()), (0, []), 'after failures')
    expect(os.listdir(p.at('cache', 'tmp')), [], 'what failures leave')


def output_is_input(p):
    """A hit does not write over a file that was read."""
    expect(p.convert()[0], 'misses', 'first')
    os.remove(p.at('m.air'))
    os.link(p.at('m.tir'), p.at('m.air'))
    r = p.run('convert', 'm.tir', '-o', 'm.air', '--cache-dir=cache')
    assert r.returncode == 1 and 'would be overwritten' in r.stderr, r.stderr


def write_if_changed(p):
    p.convert('--write-if-changed')
    before = os.stat(p.at('m.air'))
    expect(p.convert('--write-if-changed')[0], 'hits', 'second')
    expect(os.stat(p.at('m.air')).st_mtime_ns, before.st_mtime_ns, 'time of an equal file')
    expect(p.convert()[0], 'hits', 'without the option')
    assert os.stat(p.at('m.air')).st_mtime_ns > before.st_mtime_ns, 'a hit is a new file'


# ---- what can be wrong ---------------------------------------------------------------------------

def damages():
    """Name, and what it does to a file of an entry."""
    def cut(path):
        os.truncate(path, os.path.getsize(path) // 2)

    def flip(path):
        with open(path, 'r+b') as f:
            f.seek(os.path.getsize(path) // 2)
            byte = f.read(1)[0]
            f.seek(-1, 1)
            f.write(bytes([byte ^ 1]))

    def longer(path):
        with open(path, 'ab') as f:
            f.write(b'x')

    def folder(path):
        os.remove(path)
        os.mkdir(path)

    def link(path):
        os.remove(path)
        os.symlink('/dev/zero', path)

    def zeros(path):
        n = os.path.getsize(path)
        with open(path, 'wb') as f:
            f.write(bytes(n))
    return [('cut', cut), ('empty', lambda path: os.truncate(path, 0)), ('flip', flip),
            ('longer', longer), ('removed', os.remove), ('folder', folder), ('link', link),
            ('zeros', zeros)]


def corruption(p):
    """Every damage to every file of an entry is found, said, and repaired; also by verify."""
    right = p.plain()
    p.convert()
    files = [os.path.relpath(f, p.dir) for f in p.entries()]
    assert len(files) == 2, files
    for name, do in damages():
        for path in files:
            do(p.at(path))
            what, data, r = p.convert()
            expect((what, data), ('misses', right), f'{name} {path}')
            assert 'damaged' in r.stderr, f'{name} {path}: {r.stderr}'
            what, data, r = p.convert()
            expect((what, data), ('hits', right), f'{name} {path}, then again')
            do(p.at(path))
            r = p.run('cache', 'verify', '--cache-dir=cache')
            assert r.returncode == 5 and ' 1 damaged' in r.stdout, f'{name} {path}: {r.stdout}'
            expect(p.run('cache', 'verify', '--cache-dir=cache').returncode, 0, 'verify again')
            p.convert()
    for kind in ('manifest', 'counts'):
        for name, do in damages():
            found = [os.path.join(b, n) for b, _, names in os.walk(p.at('cache')) for n in names
                     if kind in os.path.join(b, n)]
            do(found[0])
            expect(p.convert()[1], right, f'{name} {kind}')
            shutil.rmtree(p.at('cache'))
            p.convert()


def hard_links(p):
    """Links are the same file; an entry that was edited in place is found out, also with its old
    time; no copy is served of it either."""
    right = p.plain()
    link = ['--cache-link=hard']
    expect(p.convert(*link)[0], 'misses', 'first')
    os.rename(p.at('m.air'), p.at('old.air'))
    what, data, _ = p.convert(*link)
    expect((what, data), ('hits', right), 'second')
    assert os.path.samefile(p.at('m.air'), p.at('old.air')), 'the two are one file'
    for keeps_time, mode in ((False, link), (True, link), (True, ['--cache-link=copy'])):
        st = os.stat(p.at('m.air'))
        with open(p.at('m.air'), 'r+b') as f:
            f.seek(100)
            f.write(b'edited')
        if keeps_time:
            os.utime(p.at('m.air'), ns=(st.st_atime_ns, st.st_mtime_ns))
        os.remove(p.at('m.air'))
        what, data, r = p.convert(*mode)
        expect((what, data), ('misses', right), f'edited, {mode}')
        assert 'damaged' in r.stderr, r.stderr
        p.convert(*link)
    # An output is younger than what it was made of, or make would make it each time.
    assert os.stat(p.at('m.air')).st_mtime_ns > os.stat(p.at('m.tir')).st_mtime_ns, 'time'


def large_model(p, n):
    """m.tir gets a weight of n bytes, which is in its outputs."""
    with open(p.at('w.bin'), 'wb') as f:
        f.write(random.Random(1).randbytes(n))
    write(p.at('m.tir'), 'graph @g(%x: f32[{0}]) -> (%y) {{\n  const %w: f32[{0}] = '
          'file("w.bin", 0, {1})\n  %y = Add(%x, %w)\n}}\n'.format(n // 4, n))


def large_entries(p):
    """A large file that was hashed once is copied as it is from then on, unless anything became of
    it; a list of states of another start of the system does not count."""
    n = 5 << 20
    large_model(p, n)
    right = p.plain()
    expect(p.convert()[0], 'misses', 'first')
    large = [f for f in p.entries() if os.path.getsize(f) > n]
    assert len(large) == 1, p.entries()
    seen = os.path.join(os.path.dirname(large[0]), 'seen')
    expect(p.convert()[:2], ('hits', right), 'young: hashed')
    assert not os.path.exists(seen), 'a later change might have the same time'
    time.sleep(2.1)
    expect(p.convert()[:2], ('hits', right), 'old: hashed')
    assert large[0][-1] in read(seen).decode(), 'its state is noted'
    expect(p.convert()[:2], ('hits', right), 'not hashed')
    for name, do in sorted(damages(), key=lambda damage: damage[0] != 'flip'):
        st = os.stat(large[0])
        do(large[0])
        if os.path.isfile(large[0]) and not os.path.islink(large[0]):
            os.utime(large[0], ns=(st.st_atime_ns, st.st_mtime_ns))
        what, data, r = p.convert()
        expect((what, data), ('misses', right), name)
        assert 'damaged' in r.stderr, f'{name}: {r.stderr}'
    time.sleep(2.1)
    p.convert()
    at = os.stat(seen).st_ino
    write(seen, 'not a list')
    expect(p.convert()[:2], ('hits', right), 'hashed, as the list is damaged')
    assert os.stat(seen).st_ino != at, 'the list is made anew'


def shared_blocks(p):
    """Where the file system shares blocks, a hit and an entry take no space; an edit of an output
    leaves the entry as it was."""
    mkfs = shutil.which('mkfs.xfs', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    if os.geteuid() != 0 or not mkfs:
        raise Skipped('mounting a file system takes root and mkfs.xfs (package xfsprogs)')
    with open(p.at('disk'), 'wb') as f:
        f.truncate(400 << 20)
    disk = p.at('mounted')
    os.mkdir(disk)
    subprocess.run([mkfs, '-q', '-m', 'reflink=1', p.at('disk')], check=True)
    if subprocess.run(['mount', '-o', 'loop', p.at('disk'), disk], capture_output=True).returncode:
        raise Skipped('no file system can be mounted here')
    work = p.dir
    try:
        p.dir = disk
        large_model(p, 8 << 20)
        right = p.plain()
        for what in ('misses', 'hits', 'hits'):
            free = shutil.disk_usage(disk).free
            if os.path.exists(p.at('m.air')):
                os.rename(p.at('m.air'), p.at('old.air'))
            expect(p.convert()[:2], (what, right), what)
            os.sync()
            taken = free - shutil.disk_usage(disk).free
            most = len(right) * (1.5 if what == 'misses' else 0.5)
            assert taken < most, f'{what}: {taken} bytes are taken for a file of {len(right)}'
            time.sleep(2.1)
        with open(p.at('m.air'), 'r+b') as f:
            f.write(b'edited')
        expect(p.convert()[:2], ('hits', right), 'the entry is not the file that was edited')
    finally:
        p.dir = work
        subprocess.run(['umount', disk], check=True)


def read_only(p):
    """In a cache that cannot be written hits are hits, and misses convert with a warning."""
    if os.geteuid() == 0:
        user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        if not shutil.which('setpriv'):
            return
    else:
        user = []
    p.convert()
    os.chmod(p.dir, 0o777)
    for base, folders, names in os.walk(p.at('cache')):
        for n in folders + names:
            os.chmod(os.path.join(base, n), 0o555 if n in folders else 0o444)
    os.chmod(p.at('cache'), 0o555)
    os.remove(p.at('m.air'))
    line = [*user, p.tool, 'convert', 'm.tir', '-o', 'm.air', '--cache-dir=cache']
    r = guard.run(line, cwd=p.dir, capture_output=True, text=True)
    expect((r.returncode, read(p.at('m.air'))), (0, p.plain()), r.stderr)
    assert 'warning' not in r.stderr, r.stderr
    r = guard.run([*line, '-O0'], cwd=p.dir, capture_output=True, text=True)
    expect((r.returncode, read(p.at('m.air'))), (0, p.plain('-O0')), r.stderr)
    assert 'W_CACHE' in r.stderr, r.stderr
    for base, folders, _ in os.walk(p.at('cache')):
        os.chmod(base, 0o755)


def full_disk(p):
    """No room for the entry: a warning, the output, and nothing left behind."""
    write(p.at('big.tir'), big_model())

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p.convert(source='m.tir')
    right = p.plain(source='big.tir')
    limit = len(right) + 1000
    r = p.run('convert', 'big.tir', '-o', 'm.air', '--cache-dir=cache')
    expect(r.returncode, 0, r.stderr)
    shutil.rmtree(p.at('cache'))
    if os.geteuid() == 0:
        os.mkdir(p.at('cache'))
        size = len(right) // 2
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs',
                                  p.at('cache')], capture_output=True).returncode == 0
        if mounted:
            try:
                r = p.run('convert', 'big.tir', '-o', 'm.air', '--cache-dir=cache')
                expect((r.returncode, read(p.at('m.air'))), (0, right), r.stderr)
                assert 'W_CACHE' in r.stderr and 'No space' in r.stderr, r.stderr
                expect(os.listdir(p.at('cache', 'tmp')), [], 'what is left')
                expect(p.convert()[0], 'misses', 'a small model')
                expect(p.convert()[0], 'hits', 'a small model again')
            finally:
                subprocess.run(['umount', p.at('cache')], check=True)
            return
    # Without a disk of our own: the index, which is larger than the limit, cannot be written.
    limit = 400
    r = p.run('convert', 'm.tir', '-o', '/dev/null', '--emit=tir', '--cache-dir=cache',
              preexec_fn=small)
    expect(r.returncode, 0, r.stderr)


def big_model():
    numbers = ', '.join(str(i % 97 * 0.5) for i in range(64 * 256))
    return ('graph @g(%x: f32[2,64]) -> (%y) {\n'
            f'  const %w: f32[64,256] = [{numbers}]\n'
            '  %y = MatMul(%x, %w)\n}\n')


def not_a_cache(p):
    """A folder with something else in it is not touched."""
    os.mkdir(p.at('mine'))
    write(p.at('mine', 'thesis.txt'), 'x')
    r = p.run('convert', 'm.tir', '-o', 'm.air', '--cache-dir=mine')
    assert r.returncode == 0 and 'no cache of tailor' in r.stderr, r.stderr
    for action in ('clear', 'trim', 'verify', 'stats'):
        expect(p.run('cache', action, '--cache-dir=mine').returncode, 1, action)
    expect(os.listdir(p.at('mine')), ['thesis.txt'], 'the folder')
    expect(p.run('cache', 'stats', '--cache-dir=nothing').returncode, 4, 'stats of nothing')
    expect(p.run('cache', 'stats').returncode, 1, 'no cache named')
    expect(p.run('cache', 'shrink', '--cache-dir=cache').returncode, 1, 'unknown action')


def size_limit(p):
    """The cache stays within its size; what was used last stays."""
    p.convert()
    expect(p.run('cache', 'trim', '--cache-dir=cache', '--cache-size=100K').returncode, 0, 'trim')
    for i in range(12):
        write(p.at('m.tir'), model(1))
        expect(p.convert()[0], 'hits', 'the model that is in use')
        write(p.at('m.tir'), model(100 + i))
        expect(p.convert()[0], 'misses', f'model {i}')
    got = p.stats()
    assert got['bytes'] <= 100 * 1024 and got['evicted'] > 0, got
    r = p.run('cache', 'trim', '--cache-dir=cache', '--cache-size=nothing')
    expect(r.returncode, 1, 'a size that is none')
    expect(p.run('cache', 'clear', '--cache-dir=cache').returncode, 0, 'clear')
    expect((p.stats()['entries'], p.stats()['bytes']), (0, 0), 'after clear')
    expect(p.convert()[0], 'misses', 'after clear')


# ---- many at once --------------------------------------------------------------------------------

def many_processes(p, count):
    """Sixteen processes, kills among them: no wrong output, and trim finds all lost space."""
    rng, models = random.Random(7), 12
    right, running, done, killed = [], [], 0, 0
    for i in range(models):
        write(p.at(f'{i}.tir'), model(i))
        r = p.run('convert', f'{i}.tir', '-o', 'm.air')
        right.append(read(p.at('m.air')))
    while done < count or running:
        while len(running) < 16 and done + len(running) < count:
            i, n = rng.randrange(models), done + len(running)
            mode = rng.choice(['auto', 'hard', 'copy'])
            os.makedirs(p.at(f'd{n % 16}'), exist_ok=True)
            out = f'd{n % 16}/o.air'
            q = subprocess.Popen([p.tool, 'convert', f'../{i}.tir', '-o', 'o.air', '-q',
                                  '--cache-dir=../cache', f'--cache-link={mode}'],
                                 cwd=p.at(f'd{n % 16}'),
                                 stderr=subprocess.PIPE)
            if rng.random() < 0.25:
                time.sleep(rng.random() * 0.02)
                q.send_signal(signal.SIGKILL)
            running.append((q, i, out))
        q, i, out = running.pop(0)
        said = q.communicate()[1]
        done += 1
        killed += q.returncode == -signal.SIGKILL
        assert q.returncode in (0, -signal.SIGKILL), said
        if os.path.exists(p.at(out)):
            assert_same_model(p, out, right[i])
            os.remove(p.at(out))
        else:
            assert q.returncode != 0, f'{out} is missing'
    assert killed, 'no process was killed'
    assert p.stats()['hits'] > 0, 'no process found what another had made'
    expect(p.run('cache', 'verify', '--cache-dir=cache').returncode, 0, 'verify')
    expect(p.run('cache', 'trim', '--cache-dir=cache').returncode, 0, 'trim')
    expect(os.listdir(p.at('cache', 'tmp')), [], 'lost files after trim')


def assert_same_model(p, path, right):
    """The output is whole and that of its model; the name of the output is in no byte of it."""
    expect(read(p.at(path)), right, path)


TESTS = [messages_are_the_same, each_input_counts, edit_keeps_size_and_time, memo_is_for_old_files,
         external_weights, environment, what_is_not_cached, failures_are_not_cached,
         output_is_input, write_if_changed, corruption, hard_links, large_entries, shared_blocks,
         read_only, full_disk, not_a_cache, size_limit]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tailor', required=True)
    parser.add_argument('--full', action='store_true')
    args = parser.parse_args()
    many = [lambda p: many_processes(p, 1000 if args.full else 60)]
    failed = skipped = 0
    for test in TESTS + many:
        place = Place(args.tailor)
        try:
            test(place)
        except AssertionError as e:
            failed += 1
            print(f'FAIL {getattr(test, "__name__", "many")}: {e}')
        except Skipped as e:
            skipped += 1
            print(f'skipped: {test.__name__}: {e}')
        finally:
            shutil.rmtree(place.dir, ignore_errors=True)
    passed = len(TESTS) + 1 - failed - skipped
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
