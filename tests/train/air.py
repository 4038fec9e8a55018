#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""air.py --tailor BIN: training steps through the whole pipeline to AIR, in every way that overflow
is found, updates are guarded and the tail is optimized. Each file is judged by the independent
checker."""
import argparse
import concurrent.futures
import itertools
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
ORACLE = os.path.join(ROOT, 'tests', 'oracle')
sys.path.insert(0, ORACLE)
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
import air_check  # noqa: E402

MODELS = ('train_mlp_sgd', 'train_mlp_momentum_preview', 'train_transformer_adam')
SWITCHES = {
    'loss_scale_manager': ('FixedLossScaleManager', 'DynamicLossScaleManager'),
    'status': ('isfinite', 'npu'),
    'update_form': ('where', 'if'),
    'tail_mode': ('late', 'early_local', 'early_bound', 'late_commit'),
}
# Steps in a loop, whose body has the collectives.
LOOPS = [{'iterations_per_loop': '3', 'status': 'isfinite', 'update_form': form, 'tail_mode': mode,
          'loss_scale_manager': 'DynamicLossScaleManager'}
         for form, mode in (('where', 'late_commit'), ('if', 'early_local'))]
ALWAYS = ['--graph_run_mode=1', '--is_distributed=true', '--rank_size=8', '--is_loss_scale=true',
          '--is_tailing_optimization=true', '--broadcast_states=1', '--hw_preset=ascend910b', '-q']


def variants():
    """Every pair of a model and a choice of switches, but bounds of overflow by NPU status: there
    is no bound in a flag."""
    for model, values in itertools.product(MODELS, itertools.product(*SWITCHES.values())):
        chosen = dict(zip(SWITCHES, values))
        if (chosen['status'], chosen['tail_mode']) != ('npu', 'early_bound'):
            yield model, chosen
    for model, chosen in itertools.product(MODELS, LOOPS):
        yield model, chosen


def first_line(p):
    return (p.stdout + p.stderr).strip().splitlines()[-1:] or [f'exit {p.returncode}']


def problem(tailor, folder, number, model, chosen):
    """What is wrong with one conversion, or None."""
    base = os.path.join(folder, str(number))
    argv = [tailor, 'convert', os.path.join(folder, model + '.onnx'), *ALWAYS,
            *(f'--{k}={v}' for k, v in chosen.items()), '-o', base + '.air']
    p = guard.run(argv, capture_output=True, text=True, check=False)
    if p.returncode:
        return f'exit {p.returncode}: {first_line(p)[0]}'
    first = all(v == SWITCHES.get(k, [''])[0] for k, v in chosen.items())
    for path in (base + '.air', base + '.init.air') if first else (base + '.air',):
        wrong = air_check.fault(path, os.path.join(ORACLE, 'protos.json'))
        if wrong:
            return f'checker: {wrong[:300]}'
        os.remove(path)
    return None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--tailor', required=True)
    ap.add_argument('--every', type=int, default=1, help='one of so many combinations')
    args = ap.parse_args()
    failed, done = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), folder,
                        *MODELS], capture_output=True, check=True)
        jobs = list(variants())[::args.every]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(lambda j: problem(os.path.abspath(args.tailor), folder, j[0], *j[1]),
                             enumerate(jobs))
            for (model, chosen), why in zip(jobs, found):
                done += 1
                if why:
                    failed += 1
                    print(f'FAIL {model} {" ".join(chosen.values())}: {why}')
    print(f'{done - failed} passed, {failed} failed, 0 skipped')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
