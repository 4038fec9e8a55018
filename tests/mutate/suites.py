# SPDX-License-Identifier: Apache-2.0
"""What mutants are tested with: the rooms that are mutated, and the tests, cheap ones first. Cases
of golden files and suites of unit tests run in a server (server.c), the others as they are."""
import glob
import os
import shlex
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, 'tests'))
import golden_cases  # noqa: E402
import golden_runner  # noqa: E402

PYTHON = '/usr/bin/python3'
ROOMS = ('passes/engine', 'passes/expr', 'passes/precision', 'passes/train/scale',
         'passes/train/tail')
STDOUT, STDERR = 1, 2
# Whole conversions with every allocation failing in its turn: model, suffix, options of oom-test.
OOM = ('model.tir air', 'model.tir onnx', 'kernels.tir air', 'half.tir onnx', 'scaled.tir onnx',
       'tail_if.tir onnx', 'tail_lists.tir onnx', 'tail_joins.tir onnx',
       'tail_flag.tir onnx', 'tail_early.tir onnx',
       'step.tir air - tests/oom/optim.tir', 'step.tir air - tests/oom/single.tir')
# Small samples with fixed seeds. {tailor} and {probe} are the programs with mutants.
SCRIPTS = (
    'scripts/rule-coverage --count --probe {probe}',
    'tests/rules/random_graphs.py --n 150 --probe {probe}',
    'tests/rules/random_graphs.py --n 40 --all --probe {probe}',
    'tests/rules/random_scopes.py --n 8 --tailor {tailor}',
    'tests/rules/user_ops.py --n 40 --tailor {tailor}',
    'tests/precision/random_graphs.py --n 80 --tailor {tailor}',
    'tests/precision/sound_ranges.py --n 20 --models 2 --tailor {tailor}',
    'tests/precision/real_files.py --tailor {tailor}',
    'tests/train/tail_random.py --graphs 12 --tailor {tailor}',
    'tests/train/random_train.py --n 6 --jobs 1 --tailor {tailor}',
    'tests/train/recognised.py --tailor {tailor}',
    'tests/train/estimates.py --tailor {tailor}',
    'tests/train/training_info.py --tailor {tailor}',
    'tests/hunt/train.py --n 10 --jobs 1 --tailor {tailor}',
    'tests/train/half_steps.py --tailor {tailor}',
    'tests/train/formulas.py --tailor {tailor}',
    'tests/train/steps.py --tailor {tailor}',
    'tests/rules/test_rules.py --tailor {tailor}',
    'tests/precision/traps.py --tailor {tailor}',
    'tests/precision/fused.py --every 20 --tailor {tailor}',
    'tests/precision/search.py --tailor {tailor}',
    'tests/precision/peers.py --tailor {tailor}',
    'tests/train/step_files.py --tailor {tailor}',
    'tests/train/single_graph.py --tailor {tailor}',
    'tests/train/loop_steps.py --tailor {tailor}',
    'tests/cli/test_run_config_effects.py --tailor {tailor}',
    'tests/cli/test_run_config.py --tailor {tailor}',
)


class Golden:
    """A case of a golden file. compared: which outputs the server compares."""

    def __init__(self, path, file, case, compared):
        self.name = os.path.relpath(path, ROOT)
        self.file, self.case, self.compared = file, case, compared
        self.text = case.module
        self.argv = ['tailor'] + shlex.split(file.run) + ['-o', '-', '-']

    def fails(self, tailor):
        """Whether the test itself fails; the server only saw another output."""
        if self.file.fails:
            return golden_runner.check_failure(tailor, self.file)
        return golden_runner.check_case(tailor, tailor, self.file, self.case, None)


def golden():
    """All cases."""
    for path in golden_runner.tests_under([os.path.join(ROOT, 'tests', 'golden')]):
        file = golden_cases.read(path)
        if file.fails:
            yield Golden(path, file, file.cases[0], STDERR)
            continue
        for case in file.cases:
            yield Golden(path, file, case, STDOUT)


def unit_suites():
    with open(os.path.join(ROOT, 'tests', 'unit', 'suites.tbl'), encoding='utf-8') as f:
        return [line.split('(')[1].split(')')[0] for line in f if line.startswith('UNIT_SUITE(')]


def commands(programs):
    """{name: argv} of the tests that are programs of their own."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'tests', 'cli', '*.t'))):
        name = os.path.relpath(path, ROOT)
        found[name] = [PYTHON, 'tests/cli/run.py', '--tailor', programs['tailor'], name]
    for line in SCRIPTS:
        words = line.format(tailor=programs['tailor'], probe=programs['rule-probe']).split()
        found[' '.join(line.split(' --tailor')[0].split(' --probe')[:1])] = [PYTHON] + words
    for line in OOM:
        model, suffix, *rest = line.split()
        out = os.path.join(os.path.dirname(programs['oom-test']), 'oom.{pid}.' + suffix)
        found['oom-test ' + line] = [programs['oom-test'], 'tests/oom/' + model, out, *rest]
    return found
