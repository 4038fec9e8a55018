# SPDX-License-Identifier: Apache-2.0
"""Builds the programs with all drawn mutants inside, in a folder of its own; the archives of a
build supply the rest. A file is not compiled again if its text is the same and all headers are."""
import glob
import hashlib
import json
import os
import re
import shlex
import subprocess

import copies
from suites import ROOT

PROGRAMS = {'tailor': 'tools/tailor', 'unit-tests': 'tests/unit-tests',
            'rule-probe': 'tests/rule-probe', 'oom-test': 'tests/oom-test'}
HERE = os.path.dirname(os.path.abspath(__file__))


def commands(build, target):
    return subprocess.run(['ninja', '-C', build, '-t', 'commands', target], capture_output=True,
                          text=True, check=True).stdout.splitlines()


def read_json(path):
    try:
        with open(path, encoding='utf-8') as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def write_json(path, found):
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(found, f)


def hash_of_headers(build):
    key = hashlib.sha256()
    for top in (os.path.join(ROOT, '[!b]*'), os.path.join(ROOT, 'backend'), build):
        for kind in ('h', 'tbl'):
            for path in sorted(glob.glob(os.path.join(top, '**', '*.' + kind), recursive=True)):
                with open(path, 'rb') as f:
                    key.update(f.read())
    return key.hexdigest()


class Builder:
    """build: a folder of a build; sanitized: its compiler is clang, and what it makes of a mutant
    is not compared."""

    def __init__(self, build, work, sanitized=False):
        self.build, self.work, self.compile, self.objects = build, work, {}, []
        self.sanitized = sanitized
        self.headers = hash_of_headers(build)
        os.makedirs(work, exist_ok=True)
        lines = commands(build, 'tools/tailor')
        for line in lines:
            m = re.search(r' -o (\S+\.a)\.p/\S+ -c (\.\./\S+\.c)$', line)
            if m and m.group(1) in lines[-1]:  # not a file of a program that builds it
                path = os.path.relpath(os.path.join(build, m.group(2)), ROOT)
                self.compile[path] = self.plain(line[:m.start()])

    @staticmethod
    def plain(line):
        """Without what only a build needs: the file of dependencies, warnings, the cache."""
        line = re.sub(r'^\S*ccache ', '', line)
        line = re.sub(r' -MD -MQ \S+ -MF \S+', '', line)
        line = re.sub(r' -W\S+', '', line).replace(' -O3', ' -O2')
        return shlex.split(line) + ['-fdiagnostics-color=never', '-Werror=int-conversion',
                                    '-Werror=incompatible-pointer-types']

    def run(self, argv):
        return subprocess.run(argv, cwd=self.build, capture_output=True, text=True, check=False)

    def file(self, path, source, mutants):
        """Compiles a file with mutants {number: Mutant}. Sets the state of those that do not
        compile, or have the instructions of the original or of another."""
        stem = os.path.join(self.work, path.replace('/', '_')[:-2])
        made = copies.File(source, {n: m.place for n, m in mutants.items()})
        for n in mutants.keys() - made.mutants.keys():
            mutants[n].state = 'no copy'
        inputs = repr((made.whole()[0], self.compile[path], self.headers))
        key = hashlib.sha256(inputs.encode()).hexdigest()
        before = read_json(stem + '.json')
        if before.get('key') == key:
            for n in before['not compiled']:
                made.drop(n)
                mutants[n].state = 'not compiled'
        else:
            self.compile_copies(path, stem, made, mutants)
            write_json(stem + '.json', {'key': key, 'not compiled': [
                n for n, m in mutants.items() if m.state == 'not compiled']})
        if not self.sanitized:
            self.compare(stem + '.s', made, mutants)
        self.assemble(stem, self.compile[path][0])

    def compile_copies(self, path, stem, made, mutants):
        """Compiles until all copies that are left do."""
        while True:
            text, owners = made.whole()
            with open(stem + '.c', 'w', encoding='utf-8') as f:
                f.write(text)
            p = self.run([*self.compile[path], f'-I{ROOT}/{os.path.dirname(path)}', '-S',
                          '-ferror-limit=0' if self.sanitized else '-fmax-errors=0',
                          '-o', stem + '.s', stem + '.c'])
            if not p.returncode:
                return
            self.learn(path, p.stderr, owners, made, mutants)

    @staticmethod
    def learn(path, errors, owners, made, mutants):
        """Leaves out the copies that have errors."""
        lines = [int(n) for n in re.findall(r'\.c:(\d+):\d+: error', errors)]
        wrong = {owners[n - 1] for n in lines} - {None}
        if not wrong:
            raise SystemExit(f'{path}: the copy of the original does not compile\n{errors[:2000]}')
        for owner in wrong:
            if isinstance(owner, str):
                if owner in made.coarse:
                    raise SystemExit(f'{path}: {owner} cannot be copied\n{errors[:2000]}')
                made.coarse.add(owner)
            else:
                made.drop(owner)
                mutants[owner].state = 'not compiled'

    @staticmethod
    def compare(assembly, made, mutants):
        with open(assembly, encoding='utf-8') as f:
            found = copies.instructions(f.read())
        seen = {}
        for n in sorted(made.mutants):
            name, code = made.of[n].name, found[n]
            if code == found['same', name]:
                mutants[n].state = 'same code'
            elif (name, code) in seen:
                mutants[n].state = 'twin'
            seen[name, code] = n

    def assemble(self, stem, compiler):
        out = stem + '.o'
        if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(stem + '.s'):
            subprocess.run([compiler, '-c', '-o', out, stem + '.s'], check=True)
        self.objects.append(out)

    def named(self, name):
        """A file for what is known of these objects."""
        key = hashlib.sha256()
        for path in self.objects:
            with open(path, 'rb') as f:
                key.update(f.read())
        return os.path.join(self.work, key.hexdigest()[:12] + '.' + name)

    def link(self, names=tuple(PROGRAMS)):
        """Paths of the programs, by name."""
        server, paths = os.path.join(self.work, 'server.o'), {}
        subprocess.run(['gcc', '-O1', '-D_GNU_SOURCE', '-c', '-o', server,
                        os.path.join(HERE, 'server.c')], check=True)
        for name in names:
            paths[name] = os.path.join(self.work, name)
            line = commands(self.build, PROGRAMS[name])[-1]
            line = re.sub(r'^\S*ccache ', '', line)
            line = re.sub(r' -o \S+', lambda _, p=paths[name]: ' -o ' + ' '.join(
                [p, '-Wl,--wrap=main', server, *self.objects]), line, count=1)
            p = self.run(shlex.split(line))
            if p.returncode:
                raise SystemExit(f'{name} does not link\n{p.stderr[:3000]}')
        return paths
