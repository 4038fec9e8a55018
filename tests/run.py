#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make test`: builds what is needed and runs every kind of test.

  tests/run.py [--only GROUP or KIND[,...]] [--quick] [--fuzz-seconds N] [--build DIR] [--full]

tests/groups.py has the groups and the kinds of each. A kind ends with 'N passed, M failed, K
skipped'; the last line adds them up. A kind that cannot run here says why and counts as one skipped
test."""
import argparse
import glob
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import compiling  # noqa: E402
import groups  # noqa: E402
import kinds  # noqa: E402
import processes  # noqa: E402
import sanitized  # noqa: E402
import started  # noqa: E402
from groups import SUMMARY, Skip  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = '/usr/bin/python3'


def shell(argv, env=None):
    return processes.shell(argv, {**sanitized.ENV, **(env or {})})


def counted(argv, env=None):
    """Runs a test program and reads its closing line."""
    p = shell(argv, env)
    found = SUMMARY.findall(p.stdout)
    if not found:
        return p.stdout[-4000:] + f'\nno closing line; exit {p.returncode}', (0, 1, 0)
    passed, failed, skipped = (int(n or 0) for n in found[-1])
    if p.returncode and not failed:
        failed = 1
    return p.stdout, (passed, failed, skipped)


def ort_options():
    """What makes a script use ONNX Runtime, if it is installed."""
    ort = os.path.join(ROOT, 'tests', 'ort')
    there = os.path.isdir(os.path.join(ort, 'node_modules', 'onnxruntime-node'))
    return ['--ort', ort] if there else []


def need(program):
    if not shutil.which(program):
        raise Skip(f'{program} is not installed')


class Tests:
    def __init__(self, args):
        self.args = args
        self.build = os.path.join(ROOT, args.build)
        # Environment of kinds with thousands of short processes.
        self.quick_end = sanitized.ENV if args.full else sanitized.SHORT
        # Build of kinds that start the command thousands of times: a sanitized start costs as much
        # as ten others, and `hostile`, `golden`, `unit` and `oom` look for bugs of memory.
        self.many = 'asan' if args.full else 'gcc'

    def folder(self, name):
        return os.path.join(self.build, 'gcc' if self.args.quick else name)

    def every(self, nth):
        """A test takes one of so many cases; with --full, all."""
        return '1' if self.args.full else nth

    def tool(self, name):
        return os.path.join(self.folder(name), 'tools', 'tailor')

    def compile(self, name, compiler, *options, optimized=None):
        need(compiler)
        where = self.folder(name)
        # Units, failing allocations and replays run sanitized, unless one build has to do.
        programs = ['test-programs'] if name != 'gcc' or self.args.quick or self.args.full else []
        failed = (compiling.configure(where, compiler, options, optimized)
                  or compiling.build(where, ['all', *programs]))
        return failed, ((0, 1, 0) if failed else (1, 0, 0))

    # One method a kind, in the order they run; the docstring is what the run prints.
    def build_gcc(self):
        """gcc, warnings are errors"""
        return self.compile('gcc', 'gcc', '-Dbuildtype=release', '-Dwerror=true')

    def build_sanitized(self):
        """clang with ASan and UBSan, warnings are errors"""
        # The other build compiles each file by itself, as users do.
        return self.compile('asan', 'clang', *sanitized.OPTIONS,
                            optimized=None if self.args.full else sanitized.OPTIMIZED)

    def style(self):
        """layers, licences, sizes, headers, symbols"""
        return counted([PYTHON, 'tests/style/check.py', '--lib-dir', self.folder('gcc')])

    def analyze(self):
        """clang-tidy and cppcheck over what the last 20 commits changed; planted mistakes"""
        text, counts = counted([PYTHON, 'tests/analyze/test_analyze.py'])
        more, others = counted([PYTHON, 'tests/analyze/run.py', '--build', self.folder('gcc'),
                                '--changed', 'HEAD~20', '--files', '40', '--seconds', '60'])
        return text + more, tuple(a + b for a, b in zip(counts, others))

    def hardened(self):
        """the check of hardened packages finds what a program lacks; flags of -Dhardened=true"""
        return counted([PYTHON, 'tests/packages/test_hardened.py'])

    def debugger(self):
        """the printers of the debugger show modules, nodes and values"""
        need('gdb')
        return counted([PYTHON, 'tests/test_gdb.py', '--tailor', self.tool('asan')])

    def guard(self):
        """the guard against programs that hang, which all tests use"""
        return counted([PYTHON, 'tests/test_guard.py'])

    def docs(self):
        """generated documents are current"""
        return counted(['sh', 'scripts/generated-docs', self.tool('gcc'), 'check'])

    def named(self):
        """the check of what documents name finds what is not there"""
        return counted([PYTHON, 'tests/docs/test_citations.py'])

    def sessions(self):
        """sessions of documents, word for word"""
        models = os.path.join(self.build, 'demo-models')
        p = shell([PYTHON, 'bench/make_models.py', models, 'bert_tiny', 'mobilenet_v2'])
        if p.returncode:
            return p.stdout, (0, 1, 0)
        p = shell([PYTHON, 'tests/train/artifacts.py', '--write', models])
        if p.returncode:
            return p.stdout, (0, 1, 0)
        return counted([PYTHON, 'tests/docs/run.py', '--tailor', self.tool('gcc'),
                        '--models', models, 'README.md', 'README.zh-CN.md',
                        *sorted(glob.glob('docs/*.md', root_dir=ROOT))])

    def unit(self):
        """unit tests, sanitized"""
        return counted([os.path.join(self.folder('asan'), 'tests', 'unit-tests')])

    def threads(self):
        """the thread pool under ThreadSanitizer"""
        program = os.path.join(self.build, 'pool-tsan')
        support = sorted(glob.glob(os.path.join(ROOT, 'support', '*.c')))
        p = shell(['gcc', '-std=c11', '-D_GNU_SOURCE', '-g', '-O1', '-fsanitize=thread', '-I', ROOT,
                   '-o', program, 'tests/threads/pool.c', *support, '-lnettle', '-lm', '-lpthread'])
        if p.returncode:
            return p.stdout, (0, 1, 0)
        text, counts = counted([program])
        if 'unexpected memory mapping' in text:  # gcc 12 under kernels that randomize more bits
            text, counts = counted(['setarch', '-R', program])
        return text, counts

    def golden(self):
        """IR before and after each pass, sanitized"""
        folders = sorted(os.path.relpath(p, ROOT) for p in
                         glob.glob(os.path.join(ROOT, 'tests', 'golden', '*'))
                         if os.path.basename(p) != 'rules')
        return counted([PYTHON, 'tests/golden_runner.py', '--tailor', self.tool('asan'),
                        '--second', self.tool('gcc'), *folders])

    def golden_rules(self):
        """IR before and after each rule; a third of its near misses ('rules' runs all)"""
        every = '1' if self.args.full or self.args.quick else '3'
        return counted([PYTHON, 'tests/golden_runner.py', '--tailor', self.tool('gcc'),
                        '--same-every', every, 'tests/golden/rules'])

    def golden_numbers(self):
        """modules of the golden tests before and after, in ONNX Runtime; of rules every tenth file
        (--full: all)"""
        if not ort_options():
            raise Skip('ONNX Runtime for Node is not installed')
        return counted([PYTHON, 'tests/golden_numbers.py', '--tailor', self.tool('gcc'),
                        *ort_options(), '--every', self.every('10'), 'tests/golden'])

    def rules(self):
        """each rule has a case it takes, one for each condition, and equal numbers, sanitized"""
        return counted([PYTHON, 'scripts/rule-coverage', '--count', '--probe',
                        os.path.join(self.folder('asan'), 'tests', 'rule-probe')])

    def worked_examples(self):
        """worked examples of specifications have tests that show them"""
        return counted([PYTHON, 'tests/worked_examples.py'])

    def random_graphs(self):
        """random graphs with planted patterns and near misses of every rule, sanitized"""
        return counted([PYTHON, 'tests/rules/random_graphs.py', '--n', '1000', '--probe',
                        os.path.join(self.folder('asan'), 'tests', 'rule-probe')])

    def hunt(self):
        """models of all kinds, changed at random: original against converted, in ONNX Runtime"""
        return self.against_ort('../hunt/hunt.py', '--part', 'onnx', '--n', '250', '--quiet')

    def grammar(self):
        """models of one node, of every op with a recipe, in pairs of all that can vary: converted,
        evaluated, and in ONNX Runtime"""
        return self.against_ort('../hunt/grammar.py', '--least', '1', '--most', '4')

    def hunt_npu(self):
        """models of all kinds, changed at random: original against NPU form, in the evaluator"""
        return counted([PYTHON, 'tests/hunt/hunt.py', '--part', 'npu', '--n', '120', '--quiet',
                        '--tailor', self.tool('gcc')])

    def hunt_train(self):
        """random training steps: scaled against unscaled, ranks against one"""
        return counted([PYTHON, 'tests/hunt/train.py', '--n', '200', '--tailor', self.tool('gcc')])

    def open_sizes(self):
        """ops whose sizes are open: AIR, equal to their NPU form at three sizes; every fifth
        (--full: all)"""
        return counted([PYTHON, 'tests/conformance/open_sizes.py', '--tailor', self.tool('gcc'),
                        *([] if self.args.full else ['--sample', '8'])])

    def memory(self):
        """memory of activations: random graphs against all orders, models against their bound"""
        return counted([PYTHON, 'tests/conformance/memory.py', '--tailor', self.tool('gcc'),
                        *(['--n', '400', '--sample', '5'] if self.args.full else [])])

    def ge_shapes(self):
        """shapes and formats of AIR files by GE's shape rules, a second time; every ninth
        (--full: all)"""
        return counted([PYTHON, 'tests/oracle/ge_shapes.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('9')])

    def user_ops(self):
        """ops that rule files define, in every output; rule files with mistakes, sanitized"""
        return counted([PYTHON, 'tests/rules/user_ops.py', '--tailor', self.tool('asan'), '--n',
                        '200' if self.args.full else '30', *ort_options()], env=self.quick_end)

    def random_scopes(self):
        """random graphs of nodes that are scattered over scopes, captured, sanitized"""
        return counted([PYTHON, 'tests/rules/random_scopes.py', '--n', '40', '--tailor',
                        self.tool('asan')], env=self.quick_end)

    def precision(self):
        """dtypes and casts of random graphs in every mode, against a second model, sanitized"""
        return counted([PYTHON, 'tests/precision/random_graphs.py', '--n', '1500', '--tailor',
                        self.tool('asan')], env=self.quick_end)

    def ranges(self):
        """the policy of ranges against what the evaluator computes"""
        return counted([PYTHON, 'tests/precision/sound_ranges.py', '--n', '150', '--models', '40',
                        '--tailor', self.tool('gcc')])

    def fused_traps(self):
        """rules that fuse what the policy of ranges protects, every twentieth (--full: all)"""
        return counted([PYTHON, 'tests/precision/fused.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('20')])

    def chips(self):
        """dtypes of AIR files against the tables of all chips and modes (--full: every name)"""
        return counted([PYTHON, 'tests/precision/chips.py', '--tailor', self.tool('gcc'),
                        *(['--full'] if self.args.full else [])])

    def precision_peers(self):
        """what other converters to f16 get wrong; weights of more than 2 GB"""
        return counted([PYTHON, 'tests/precision/peers.py', '--tailor', self.tool('gcc'),
                        *ort_options()])

    def cast_counts(self):
        """casts against those of another converter to f16, on its lists and others"""
        return counted([PYTHON, 'tests/precision/cast_counts.py', '--sample', '40',
                        '--tailor', self.tool('gcc')])

    def cli(self):
        """command lines: exit codes and exact output (--full: sanitized)"""
        return counted([PYTHON, 'tests/cli/run.py', '--tailor', self.tool(self.many), 'tests/cli'],
                       env=self.quick_end)

    def limits(self):
        """limits of memory, which count what sanitizers take: not sanitized"""
        return counted([PYTHON, 'tests/cli/run.py', '--tailor', self.tool('gcc'), 'tests/limits'],
                       {'GLIBC_TUNABLES': ''})  # no more memory than is asked for

    def library(self):
        """the library and the command: the same files, exit codes and words"""
        return counted([PYTHON, 'tests/cli/test_library.py', '--tailor', self.tool('gcc'),
                        '--library', os.path.join(self.folder('gcc'), 'lib', 'libtailor.so')])

    def tour(self):
        """programs that call every group of the library's functions, from C and C++, sanitized
        (--full: under ThreadSanitizer too)"""
        text, counts = counted([PYTHON, 'tests/library/tour.py', '--build', self.folder('asan')])
        if not self.args.full:
            return text, counts
        more, others = counted([PYTHON, 'tests/library/tour.py', '--threads', self.folder('tsan')])
        return text + more, tuple(a + b for a, b in zip(counts, others))

    def python(self):
        """the Python package: its document, numpy, errors; models optimized from memory (--full:
        all) are the command's, byte for byte; the wheel (--full: built by pip)"""
        library = ['--library', os.path.join(self.folder('gcc'), 'lib', 'libtailor.so')]
        text, counts = counted([PYTHON, 'tests/python/package.py', '--tailor', self.tool('gcc'),
                                *library, '--every', self.every('40')])
        more, others = counted([PYTHON, 'tests/python/wheel.py', *library,
                                *(['--build'] if self.args.full else [])])
        return text + more, tuple(a + b for a, b in zip(counts, others))

    def run_config_effects(self):
        """the table of run configurations, and what each key of the compiler changes"""
        return counted([PYTHON, 'tests/cli/test_run_config_effects.py', '--tailor',
                        self.tool('gcc')])

    def oom(self):
        """conversions, and passes and ops of programs, in which the n-th allocation fails, for
        every eightieth n (--full: every n), sanitized"""
        return counted([PYTHON, 'tests/oom/conversions.py', '--tests',
                        os.path.join(self.folder('asan'), 'tests'), '--every', self.every('80')])

    def faults(self, script, *more):
        return counted([PYTHON, f'tests/oom/{script}', '--tailor', self.tool('gcc'), '--faults',
                        os.path.join(self.folder('gcc'), 'tests', 'libfaults.so'), *more])

    def planted(self):
        """wrong rewrites that bisect and reduce must find"""
        planted = os.path.join(self.folder('gcc'), 'tests', 'tailor-planted')
        return counted([PYTHON, 'tests/debug/planted.py', '--tailor', self.tool('gcc'),
                        '--planted', planted, '--every', self.every('3')])

    def layers(self):
        """wrong rewrites that verify --layers must rank first"""
        planted = os.path.join(self.folder('gcc'), 'tests', 'tailor-planted')
        return counted([PYTHON, 'tests/debug/layers.py', '--tailor', self.tool('gcc'), '--planted',
                        planted])

    def reproducers(self):
        """failures that are recorded and replayed"""
        planted = os.path.join(self.folder('gcc'), 'tests', 'tailor-planted')
        return counted([PYTHON, 'tests/debug/reproducers.py', '--planted', planted])

    def oom_commands(self):
        """every command with an allocation that fails: 2 of every other (--full: all)"""
        return self.faults('memory.py', *([] if self.args.full else ['--sample', '2']))

    def oom_python(self):
        """the Python package with an allocation that fails: 8 of each session (--full: all)"""
        folder = self.folder('gcc')
        return counted([PYTHON, 'tests/oom/python.py', '--library',
                        os.path.join(folder, 'lib', 'libtailor.so'), '--allocator',
                        os.path.join(folder, 'tests', 'liballocator.so'),
                        *([] if self.args.full else ['--sample', '8'])])

    def file_faults(self):
        """commands that write files, with a failing call or a signal: 2 of every other (--full:
        all)"""
        return self.faults('files.py', *([] if self.args.full else ['--sample', '2']))

    def kills(self):
        """commands killed before a system call: 6 of every other (--full: all, and 300 moments)"""
        return self.faults('kills.py', *(['--random', '300'] if self.args.full
                                         else ['--sample', '6']))

    def clocks(self):
        """clocks that go back and jump: the same files, no absurd durations, the cache"""
        return counted([PYTHON, 'tests/clocks/run.py', '--tailor', self.tool('gcc'), '--clock',
                        os.path.join(self.folder('gcc'), 'tests', 'libclock.so')])

    def disks(self):
        """commands on a real file system that is full or read-only (--full: each amount of room)"""
        return counted([PYTHON, 'tests/oom/disks.py', '--tailor', self.tool('gcc'),
                        *(['--full'] if self.args.full else [])])

    def train_steps(self):
        """training steps: ranks against the joined batch, scaled losses, overflow"""
        return counted([PYTHON, 'tests/train/steps.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('2'), *ort_options()])

    def half_steps(self):
        """scaled losses of steps in f16, against the same steps in f32 (--full: all of them)"""
        return counted([PYTHON, 'tests/train/half_steps.py', '--tailor', self.tool('gcc'),
                        *(['--full'] if self.args.full else [])])

    def artifacts(self):
        """training and optimizer models of ONNX Runtime linked to steps, against NumPy"""
        return counted([PYTHON, 'tests/train/artifacts.py', '--tailor', self.tool('gcc'),
                        *ort_options()])

    def single_graph(self):
        """steps that were written with their updates as single ops, against NumPy; ranks"""
        return counted([PYTHON, 'tests/train/single_graph.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('2'), *ort_options()])

    def train_random(self):
        """random training steps: what is recognised, what collectives and buckets keep"""
        return counted([PYTHON, 'tests/train/random_train.py', '--tailor', self.tool('gcc'),
                        '--n', '120'])

    def planted_roles(self):
        """states and gradients planted into golden modules: no pass loses them (every 15th file;
        --full: all)"""
        return counted([PYTHON, 'tests/train/planted_roles.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('15')])

    def loop_steps(self):
        """several steps in a loop against as many runs of the step"""
        return counted([PYTHON, 'tests/train/loop_steps.py', '--tailor', self.tool('gcc'),
                        '--steps', '2', '--every', self.every('2'), *ort_options()])

    def reader(self):
        """odd but valid models, and what is not valid (--full: sanitized)"""
        return counted([PYTHON, 'tests/reader/run.py', '--tailor', self.tool(self.many),
                        *ort_options()], env=self.quick_end)

    def air_round_trip(self):
        """models as AIR files: read and written again with the same bytes, and run with the numbers
        of the model (every 6th)"""
        return counted([PYTHON, 'tests/air/round_trip.py', '--tailor', self.tool('gcc'), '--every',
                        self.every('6'), '--verify', self.every('3')])

    def air_verify(self):
        """models against their AIR files, by verify, with the models' own data (every 9th)"""
        return counted([PYTHON, 'tests/air/verify_corpus.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('9')])

    def air_attributes(self):
        """attributes in AIR are declared by prototypes or documented (every 25th model)"""
        return counted([PYTHON, 'tests/air/attributes.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('25')])

    def air_text(self):
        """GE's text dumps: those of models read as their AIR files (every 29th), wrong ones refused
        with the line, sanitized"""
        return counted([PYTHON, 'tests/air/text.py', '--tailor', self.tool('asan'),
                        '--every', self.every('29')], env=self.quick_end)

    def air_raised(self):
        """models as AIR files, those as ONNX again: ONNX Runtime gives the same (every 12th)"""
        return self.against_ort('../air/raised.py', '--every', self.every('12'))

    def op_dtypes(self):
        """dtypes of the op table against those of ONNX"""
        return counted([PYTHON, 'tests/reader/dtypes.py'])

    def extremes(self):
        """nodes of every op with something extreme: nothing ends with an internal error"""
        return counted([PYTHON, 'tests/reader/extremes.py', '--tailor', self.tool('gcc'),
                        '--every', self.every('40')])

    def ort(self):
        """(installs ONNX Runtime for Node, test-only)"""
        need('node')
        need('npm')
        if not ort_options():
            p = shell(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix',
                       os.path.join(ROOT, 'tests', 'ort')])
            if p.returncode:
                raise Skip('npm ci failed: ' + p.stdout.strip()[-300:])
        return '', (1, 0, 0)

    def runners(self):
        """other runtimes behind run and verify"""
        return counted([PYTHON, 'tests/runners/run.py', '--tailor', self.tool('gcc'),
                        *ort_options()])

    def conformance(self, which, every='1'):
        return counted([PYTHON, 'tests/conformance/run.py', '--tailor', self.tool('gcc'),
                        '--sanitized', self.tool('asan'), '--sanitize-every', self.every('24'),
                        '--plain-every', self.every('12'), '--set', which,
                        '--every', every, *ort_options()], env=self.quick_end)

    def official(self):
        """the official ONNX node tests, every other one (--full: all)"""
        return self.conformance('official', self.every('2'))

    def corpus(self):
        """the corpus beside the project"""
        return self.conformance('corpus')

    def evaluation(self, which, *more):
        return counted([PYTHON, 'tests/conformance/evaluate.py', '--tailor', self.tool('asan'),
                        '--set', which, *more], env=self.quick_end)

    def evaluate(self):
        """official models against their reference outputs, sanitized"""
        return self.evaluation('official', '--doc', 'docs/evaluator.md')

    def evaluate_corpus(self):
        """models of the corpus against reference outputs, sanitized"""
        return self.evaluation('corpus')

    def npu_form(self):
        """models against their NPU form, some sanitized too, some for a chip of the other family"""
        text, total = '', [0, 0, 0]
        for which, tool, *chosen in (('official', 'gcc'), ('official', 'asan', '--sample=32'),
                                     ('corpus', 'gcc', '--sample=' + self.every('2')),
                                     ('official', 'gcc', '--soc=Ascend310P3', '--sample=12'),
                                     ('corpus', 'gcc', '--soc=Ascend310P3', '--sample=12')):
            more, counts = counted([PYTHON, 'tests/conformance/npu.py', '--tailor',
                                    self.tool(tool), '--set', which, *chosen])
            text += ''.join(f'{s}\n' for s in more.splitlines() if not SUMMARY.match(s))
            total = [a + b for a, b in zip(total, counts)]
        return text, tuple(total)

    def meanings(self):
        """every NPU node that can be emitted has a meaning for the evaluator: all that rules make,
        and what nodes of every fifth op become (--full: of all)"""
        return counted([PYTHON, 'tests/select/meanings.py', '--tailor', self.tool('gcc'), '--probe',
                        os.path.join(self.folder('gcc'), 'tests', 'meaning-probe'),
                        '--every', self.every('5')])

    def against_ort(self, script, *more):
        if not ort_options():
            raise Skip('ONNX Runtime for Node is not installed')
        return counted([PYTHON, f'tests/conformance/{script}', '--tailor', self.tool('gcc'),
                        *ort_options(), *more])

    def nodes(self):
        """nodes after clean-up, against ONNX Runtime and OnnxSlim"""
        return self.against_ort('nodes.py')

    def sandwiches(self):
        """ops between Transposes: nodes and numbers against ONNX Runtime"""
        return self.against_ort('sandwiches.py', *groups.findings('fusion', 'nhwc'))

    def spellings(self):
        """layers as exporters spell them, every sixth: few nodes, and the same numbers"""
        return self.against_ort('spellings.py', '--every', self.every('6'), *groups.findings())

    def emulation(self):
        """--emulate f16 against nodes in f16 in ONNX Runtime, every eighth"""
        return self.against_ort('emulate.py', '--every', self.every('12'))

    def quantized(self):
        """quantized networks and models: equal with integers, every fourth model (--full: all)"""
        size = ['--n', '400'] if self.args.full else ['--n', '25', '--sample', '4']
        return counted([PYTHON, 'tests/conformance/quantized.py', '--tailor', self.tool('gcc'),
                        *size, *ort_options()])

    def precision_corpus(self):
        """results of modes of precision against originals, every 120th model (--full: all)"""
        return self.against_ort('precision.py', '--sample', self.every('120'))

    def kernels(self):
        """kernels of several nodes: random graphs, some sanitized, and models (--full: all)"""
        text, total = '', [0, 0, 0]
        for script, tool, *size in (('random_groups.py', 'asan', '--n', '600'),
                                    ('random_groups.py', 'gcc', '--n', '4000'),
                                    ('model_groups.py', 'gcc', '--sample', self.every('8'))):
            more, counts = counted([PYTHON, 'tests/ub/' + script, '--tailor', self.tool(tool),
                                    *size])
            text += more
            total = [a + b for a, b in zip(total, counts)]
        return text, tuple(total)

    def variants(self):
        """training steps in two precisions, their plans, AIR and ONNX Runtime"""
        return counted([PYTHON, 'tests/train/variants.py', '--tailor', self.tool('gcc'),
                        *ort_options()])

    def determinism(self):
        """exact evaluation: threads, compilers, vector units"""
        return counted([PYTHON, 'tests/conformance/determinism.py', '--tailor', self.tool('gcc'),
                        '--other', self.tool('asan')])

    def fuzz(self):
        """libFuzzer targets and saved crashers"""
        seconds = self.args.fuzz_seconds
        build = 'asan' if seconds < 60 else 'fuzz'
        return counted([PYTHON, 'tests/fuzz/run.py', '--build', os.path.join(self.build, build),
                        '--seconds', str(seconds), *(['--ledger'] if seconds > 60 else [])])


for row in kinds.SCRIPTS:
    setattr(Tests, row, kinds.kind_of(row, PYTHON, counted))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--only', help=f'comma-separated groups or kinds. {groups.listed()}')
    p.add_argument('--quick', action='store_true', help='what `make check` runs')
    p.add_argument('--fuzz-seconds', type=int, default=1)
    p.add_argument('--build', default='build-test')
    p.add_argument('--full', action='store_true', help='all of what is otherwise sampled')
    args = p.parse_args()
    kinds = groups.CHECK if args.quick else groups.KINDS
    try:
        kinds = groups.chosen(args.only.split(',')) if args.only else kinds
    except ValueError as unknown:
        p.error(f'neither a group nor a kind: {unknown}')
    with tempfile.TemporaryDirectory(prefix='tailor-tests-') as temporary:
        # ONNX Runtime leaves a log of each of its processes.
        os.environ.update(processes.FEW_FAULTS, TMPDIR=temporary)
        os.chmod(temporary, 0o755)  # for tests that are another user
        if not args.full:  # most runs of the command are no starts (tests/started.py)
            os.environ[started.LIBRARY] = f'{ROOT}/{args.build}/gcc/tests/libstarted.so'
        total = groups.run_all(Tests(args), kinds, temporary)
    print('{} passed, {} failed, {} skipped'.format(*total))
    return total[1] != 0


if __name__ == '__main__':
    sys.exit(main())
