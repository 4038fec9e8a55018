#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the readers, or replays what fuzzing found.

  run.py --seconds N --build DIR [--fast]
                                     replay crashers, then fuzz each target for N seconds
  run.py --replay KIND PROGRAM       feed seeds and crashers to a replay program
  run.py --seeds DIR                 write the seeds as files and leave
  run.py --distill --build DIR       keep of each corpus what covers as much
  run.py --total                     what all rows of ledger.tsv add up to

With --ledger each target appends a row to ledger.tsv: date, target, seed of the fuzzer, seconds of
CPU time, inputs and finds. Commit it: the search adds up over the sessions.
DIR is configured as tests/sanitized.py says unless it already is; --fast: as one that tries more
inputs, and looks less at memory. Seeds are texts under seeds/:
protobuf text for ONNX, encoded by protoc; the pipeline also gets the models of golden files, rules
those that are built in, and onnx_models and air_models the official models of ONNX where they are
installed. Protobuf, JSON and texts are mutated by mutate_*.c, which know them.
New inputs are kept in DIR/corpus-*; a new crasher lands in tests/fuzz/crashers/: fix it and commit
the file, it is a test from then on. tests/coverage/run.py --corpora DIR says what a corpus
reaches."""
import argparse
import concurrent.futures
import csv
import datetime
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(HERE))
import sanitized  # noqa: E402

KINDS = ('air', 'air_models', 'air_text', 'calls', 'modes', 'onnx', 'onnx_models', 'op_info',
         'options', 'pipeline', 'precision', 'rules', 'run_config', 'switch', 'tir', 'train',
         'value')
# Targets with mutators of their own, for runs of a minute and more: what is found by chance in the
# seconds of a test would make it fail by chance.
LONG = tuple(kind + '-structured' for kind in (
    'air', 'air_models', 'modes', 'onnx', 'onnx_models', 'op_info', 'pipeline', 'rules',
    'run_config', 'switch', 'tir', 'train'))
LONG_SECONDS = 60
# Kinds that other tests cover, and that find something new too often to be tried for seconds.
LONG_ONLY = ('air_models', 'calls', 'modes', 'onnx_models', 'pipeline')
# Kinds that take the seeds of another one.
SEEDS_OF = {'air_models': 'air', 'onnx_models': 'onnx'}
# Kinds whose inputs have the words of another one.
WORDS_OF = {**SEEDS_OF, 'modes': 'tir', 'pipeline': 'tir'}
OFFICIAL = '/usr/share/libonnx-testdata'
# Seeds of these kinds are protobuf text: folder, file and message that encode them.
PROTOS = {'onnx': ('frontend/onnx', 'onnx.proto', 'tl_onnx.ModelProto'),
          'air': ('backend/air', 'ge_ir.proto', 'tl_ge.ModelDef')}
# Longest input in bytes, seconds for one input, megabytes: what the readers must stay within.
LONGEST = 16384
LIMITS = [f'-max_len={LONGEST}', '-timeout=120', '-rss_limit_mb=2048', '-malloc_limit_mb=1024']
ENV = dict(os.environ, **sanitized.ENV)
LEDGER = os.path.join(HERE, 'ledger.tsv')
COLUMNS = ('date', 'target', 'seed', 'cpu_seconds', 'inputs', 'finds')


def write_seeds(kind, folder):
    """Seeds as the reader sees them: .tir as it is, protobuf text encoded."""
    kind = SEEDS_OF.get(kind, kind)
    os.makedirs(folder, exist_ok=True)
    texts = os.path.join(HERE, 'seeds', kind)
    paths = []
    for name in sorted(os.listdir(texts)):
        with open(os.path.join(texts, name), 'rb') as f:
            data = f.read()
        if kind in PROTOS:
            folder_of, file, message = PROTOS[kind]
            path = os.path.join(ROOT, folder_of)
            argv = ['protoc', '--encode=' + message, '--proto_path=' + path, file]
            data = subprocess.run(argv, input=data, stdout=subprocess.PIPE, check=True).stdout
        paths.append(os.path.join(folder, name.rsplit('.', 1)[0] + '.' + kind))
        with open(paths[-1], 'wb') as f:
            f.write(data)
    return paths


def write_examples(folder):
    """The models that golden files begin with: they come near to many rules. Each begins with a
    line of its own, which chooses settings where a target has some."""
    golden = os.path.join(ROOT, 'tests', 'golden')
    for group in sorted(os.listdir(golden)):
        for name in sorted(os.listdir(os.path.join(golden, group))):
            if name.endswith('.tir'):
                with open(os.path.join(golden, group, name), encoding='utf-8') as f:
                    text = f'# {group} {name}\n' + f.read().split('\n----')[0] + '\n'
                with open(os.path.join(folder, f'{group}-{name}'), 'w', encoding='utf-8') as f:
                    f.write(text)


def write_rules(folder):
    """The rules that are built in, file by file."""
    for room in ('rules', 'definitions'):
        for path in sorted(glob.glob(os.path.join(ROOT, 'passes', room, '*.tlr'))):
            if os.path.getsize(path) <= LONGEST:
                shutil.copy(path, folder)


def write_models(folder, tailor):
    """The small official models; as AIR files if a command to convert them is given."""
    for path in sorted(glob.glob(os.path.join(OFFICIAL, '**', '*.onnx'), recursive=True)):
        name = os.path.relpath(path, OFFICIAL).replace(os.sep, '-').removesuffix('.onnx')
        if os.path.getsize(path) > LONGEST:
            continue
        if not tailor:
            shutil.copy(path, os.path.join(folder, name + '.onnx'))
        elif not os.path.exists(os.path.join(folder, name + '.air')):
            subprocess.run([tailor, 'convert', path, '-o', os.path.join(folder, name + '.air')],
                           capture_output=True, env=ENV, check=False)


def write_all(kind, folder, build):
    """Seeds, and what the tree and the machine have of that kind besides."""
    write_seeds(kind, folder)
    if kind == 'rules':
        write_rules(folder)
    elif kind == 'onnx_models':
        write_models(folder, None)
    elif kind == 'air_models':
        write_models(folder, os.path.join(build, 'tools', 'tailor'))
    elif kind in ('modes', 'pipeline'):
        write_examples(folder)


def crashers(kind):
    folder = os.path.join(HERE, 'crashers', kind)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names]


def replay(kind, program):
    with tempfile.TemporaryDirectory(prefix='tailor-seeds-') as folder:
        inputs = write_seeds(kind, folder) + crashers(kind)
        return subprocess.run([os.path.abspath(program), *inputs], env=ENV, check=False).returncode


def configured(build, seconds, fast):
    """Sets the build folder up when needed and builds the targets; '' or what went wrong. Where
    there is time, branches of the whole program guide the search, not those of readers alone."""
    options = (sanitized.FAST if fast else
               sanitized.OPTIONS if seconds < LONG_SECONDS else sanitized.GUIDED)
    steps = [] if os.path.exists(os.path.join(build, 'build.ninja')) else [
        ['meson', 'setup', build, ROOT, *options]]
    steps.append(['ninja', '-C', build, 'tools/tailor'] +
                 ['tests/fuzz/fuzz-' + kind
                  for kind in (KINDS + LONG if seconds >= LONG_SECONDS else KINDS)])
    for argv in steps:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=dict(os.environ, CC='clang'), check=False)
        if p.returncode:
            return p.stdout[-4000:]
    return ''


def timed(argv):
    """Output, exit code and CPU time of a program."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', env=ENV) as p:
        text = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    return text, p.returncode, usage.ru_utime + usage.ru_stime


def enter(kind, text, cpu, finds):
    """Appends what one target did to the ledger."""
    new = not os.path.exists(LEDGER)
    seed = re.search(r'^INFO: Seed: (\d+)', text, re.M)
    tried = re.search(r'stat::number_of_executed_units:\s*(\d+)', text)
    with open(LEDGER, 'a', encoding='ascii', newline='') as f:
        rows = csv.writer(f, delimiter='\t', lineterminator='\n')
        if new:
            rows.writerow(COLUMNS)
        rows.writerow((datetime.date.today().isoformat(), kind, seed.group(1) if seed else '-',
                       round(cpu), tried.group(1) if tried else 0, finds))


def total():
    """Prints the sums of the ledger by target and in all."""
    sums = {}
    with open(LEDGER, encoding='ascii', newline='') as f:
        for row in csv.DictReader(f, delimiter='\t'):
            for name in (row['target'], 'all'):
                old = sums.setdefault(name, [0, 0, 0])
                for i, column in enumerate(COLUMNS[3:]):
                    old[i] += int(row[column])
    for name, (seconds, inputs, finds) in sorted(sums.items()):
        print(f'{name}: {seconds / 3600:.2f} hours of CPU time, {inputs} inputs, {finds} finds')
    return 0


def kinds_for(seconds):
    return KINDS + LONG if seconds >= LONG_SECONDS else [k for k in KINDS if k not in LONG_ONLY]


def distill(build):
    """Keeps of each corpus the smallest inputs that cover as much as all of them."""
    for kind in KINDS:
        corpus = os.path.join(build, 'corpus-' + kind)
        if not os.path.isdir(corpus):
            continue
        program = os.path.join(build, 'tests', 'fuzz', 'fuzz-' + kind)
        fewer = corpus + '.new'
        shutil.rmtree(fewer, ignore_errors=True)
        os.makedirs(fewer)
        subprocess.run([program, *LIMITS, '-merge=1', fewer, corpus], env=ENV, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f'{kind}: {len(os.listdir(corpus))} inputs, {len(os.listdir(fewer))} are left')
        shutil.rmtree(corpus)
        os.rename(fewer, corpus)
    return 0


def crash_again(build, target):
    """Tries the crashers of a target's kind once more: (passed, failed)."""
    kind = target.removesuffix('-structured')
    program = os.path.join(build, 'tests', 'fuzz', 'fuzz-' + target)
    failed, paths = 0, crashers(kind)
    argv = [program, *LIMITS, *paths]  # one start for all, which seldom fails
    if not paths or not subprocess.run(argv, capture_output=True, env=ENV, check=False).returncode:
        return len(paths), 0
    for path in paths:
        p = subprocess.run([program, *LIMITS, path], capture_output=True, env=ENV, check=False)
        if p.returncode:
            failed += 1
            print(f'FAIL  {kind}: {os.path.basename(path)} crashes again')
    return len(paths) - failed, failed


def fuzz_one(build, target, seconds, ledger):
    """Runs one target: (passed, failed) and prints why it failed."""
    program = os.path.join(build, 'tests', 'fuzz', 'fuzz-' + target)
    kind = target.removesuffix('-structured')
    corpus = os.path.join(build, 'corpus-' + kind)
    seeds = os.path.join(build, 'seeds-' + kind)
    found = os.path.join(HERE, 'crashers', kind)
    for folder in (corpus, found):
        os.makedirs(folder, exist_ok=True)
    write_all(kind, seeds, build)
    passed, failed = crash_again(build, target)
    words = os.path.join(HERE, WORDS_OF.get(kind, kind) + '.dict')
    argv = [program, *LIMITS, f'-max_total_time={seconds}', f'-artifact_prefix={found}/',
            *([f'-dict={words}'] if os.path.exists(words) else []), '-print_final_stats=1', corpus,
            seeds]
    text, code, cpu = timed(argv)
    if code:
        print(f'FAIL  {target}:\n{text[-6000:]}')
    if ledger:
        enter(target, text, cpu, int(code != 0))
    tried = re.search(r'stat::number_of_executed_units:\s*(\d+)', text)
    print(f'{target}: {tried.group(1) if tried else 0} inputs in {seconds} s, '
          f'corpus {len(os.listdir(corpus))}, exit code {code}', flush=True)
    return passed + (code == 0), failed + (code != 0)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    ap.add_argument('--seconds', type=int, default=60, help='for each target')
    ap.add_argument('--build', default='build-fuzz', help='build folder')
    ap.add_argument('--replay', nargs=2, metavar=('KIND', 'PROGRAM'))
    ap.add_argument('--seeds', metavar='DIR')
    ap.add_argument('--fast', action='store_true', help='more inputs, without AddressSanitizer')
    ap.add_argument('--ledger', action='store_true', help='append to ledger.tsv')
    ap.add_argument('--distill', action='store_true', help='drop inputs that cover nothing new')
    ap.add_argument('--total', action='store_true', help='sums of ledger.tsv')
    args = ap.parse_args()
    if args.total:
        return total()
    if args.replay:
        return replay(*args.replay)
    if args.seeds:
        for kind in KINDS:
            write_seeds(kind, os.path.join(args.seeds, kind))
        return 0
    build = os.path.abspath(args.build)
    if args.distill:
        return distill(build)
    problem = configured(build, args.seconds, args.fast)
    if problem:
        print(problem + '\n0 passed, 1 failed, 0 skipped')
        return 1
    # Targets share cores, so that the time of a run stays in bounds as readers are added.
    with concurrent.futures.ThreadPoolExecutor(5 * (os.cpu_count() or 1)) as pool:
        counts = list(pool.map(
            lambda kind: fuzz_one(build, kind, args.seconds, args.ledger),
            kinds_for(args.seconds)))
        if args.seconds < LONG_SECONDS:  # what fuzzing found there is tried all the same
            counts += pool.map(lambda kind: crash_again(build, kind), LONG_ONLY)
    passed, failed = (sum(n) for n in zip(*counts))
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
