#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table of run configuration against what is documented, and what each key changes.

  test_run_config_effects.py --tailor BIN

KEYS has, key by key, the default, who consumes it and GE's name, typed from the documents of the
configuration classes: `tailor options --json` says the same. EFFECTS has a case for each key that
the compiler consumes: a piece of what is written with the key, and is not without it."""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import golden_cases  # noqa: E402
import guard  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
B, C, A, H, X = ('compiler, runtime', 'compiler', 'runtime', 'host framework', 'removed')
# section: {key: (default, consumer, name in GE)}
KEYS = {
    'NPURunConfig': {
        'graph_run_mode': ('1', B, 'ge.graphRunMode'),
        'session_device_id': ('', A, 'ge.session_device_id'),
        'distribute': ('', H, ''),
        'deterministic': ('0', B, 'ge.deterministic'),
        'memory_config': ('', A, ''),
        'external_weight': ('false', B, 'ge.externalWeight'),
        'mix_compile_mode': ('false', C, ''),
        'enable_exception_dump': ('0', A, 'ge.exec.enable_exception_dump'),
        'op_debug_config': ('', A, 'op_debug_config'),
        'debug_dir': ('', A, 'ge.debugDir'),
        'precision_mode': ('', B, 'ge.exec.precision_mode'),
        'precision_mode_v2': ('', B, 'ge.exec.precision_mode_v2'),
        'modify_mixlist': ('', C, ''),
        'enable_reduce_precision': ('false', X, ''),
        'customize_dtypes': ('', B, 'ge.customizeDtypes'),
        'dump_config': ('', A, ''),
        'fusion_switch_file': ('', B, 'ge.fusionSwitchFile'),
        'buffer_optimize': ('l2_optimize', X, ''),
        'iterations_per_loop': ('1', B, 'iterations_per_loop'),
        'hcom_parallel': ('true', B, 'ge.hcomParallel'),
        'op_precision_mode': ('', B, 'ge.exec.op_precision_mode'),
        'enable_scope_fusion_passes': ('', C, ''),
        'stream_max_parallel_num': ('', B, 'ge.streamMaxParallelNum'),
        'is_tailing_optimization': ('false', B, 'ge.exec.isTailingOptimization'),
        'enable_small_channel': ('0', X, ''),
        'variable_placement': ('Device', C, ''),
        'profiling_config': ('', A, ''),
        'aoe_mode': ('', H, ''),
        'work_path': ('.', H, ''),
        'aoe_config_file': ('', H, ''),
        'op_compiler_cache_mode': ('enable', A, 'ge.op_compiler_cache_mode'),
        'op_compiler_cache_dir': ('', A, 'ge.op_compiler_cache_dir'),
        'local_rank_id': ('-1', H, ''),
        'local_device_list': ('', H, ''),
        'hccl_timeout': ('1800', A, 'ge.exec.hcclExecuteTimeOut'),
        'op_wait_timeout': ('120', A, 'ge.exec.opWaitTimeout'),
        'op_execute_timeout': ('', A, 'ge.exec.opExecuteTimeout'),
        'stream_sync_timeout': ('-1', A, 'stream_sync_timeout'),
        'event_sync_timeout': ('-1', A, 'event_sync_timeout'),
        'enable_compress_weight': ('false', X, ''),
        'compress_weight_conf': ('', X, ''),
        'jit_compile': ('auto', A, 'ge.jit_compile'),
        'enable_data_pre_proc': ('true', X, ''),
        'variable_format_optimize': ('', A, 'ge.exec.variable_acc'),
        'op_debug_level': ('', A, 'ge.opDebugLevel'),
        'op_select_implmode': ('', B, 'ge.opSelectImplmode'),
        'optypelist_for_implmode': ('', B, 'ge.optypelistForImplmode'),
        'dynamic_input': ('false', B, 'ge.exec.dynamicInput'),
        'dynamic_graph_execute_mode': ('dynamic_execute', A, 'ge.exec.dynamicGraphExecuteMode'),
        'dynamic_inputs_shape_range': ('', B, 'ge.exec.dataInputsShapeRange'),
        'graph_memory_max_size': ('', X, ''),
        'variable_memory_max_size': ('', X, ''),
        **{k: (d, H, '') for k, d in {
            'model_dir': '', 'session_config': '', 'save_checkpoints_steps': '',
            'save_checkpoints_secs': '', 'keep_checkpoint_max': '5',
            'log_step_count_steps': '100', 'save_summary_steps': '100', 'tf_random_seed': '',
            'use_off_line': 'true', 'remapping': '', 'memory_optimization': '', 'mstune_mode': '',
            'horovod_mode': 'false', 'hcom_multi_mode': '0', 'auto_tune_mode': ''}.items()},
        'dynamic_input_config': ('', A, ''),
        # what sessions have beside them
        **{k: (d, H, '') for k, d in {
            'keep_checkpoint_every_n_hours': '10000', 'train_distribute': '',
            'eval_distribute': '', 'distribute_config': '', 'job': '', 'task_index': '0',
            'device_type': 'default_device_type', 'min_group_size': '1',
            'in_out_pair_flag': 'true', 'in_out_pair': '', 'fp_point': '',
            'bp_point': ''}.items()},
        'soc_version': ('Ascend910B1', C, ''),
        'HCCL_algorithm': ('', A, 'HCCL_algorithm'),
        'graph_exec_timeout': ('', A, 'ge.exec.graphExecTimeout'),
        'graph_max_parallel_model_num': ('', A, 'ge.exec.graphMaxParallelModelNum'),
        'compile_dynamic_mode': ('false', A, 'ge.compile_dynamic_mode'),
        'overflow_flag': ('1', A, 'ge.exec.overflow'),
        'insert_op_conf': ('', A, 'ge.insertOpFile'),
        'topo_sorting_mode': ('1', A, 'ge.topoSortingMode'),
        'aicore_num': ('', A, 'ge.aicoreNum'),
        'quant_dumpable': ('0', A, 'ge.quant_dumpable'),
        'oo_level': ('O3', C, ''),
        'oo_constant_folding': ('true', C, ''),
        'optimization_switch': ('', C, ''),
        'export_compile_stat': ('0', C, ''),
        'total_step': ('', C, '')},
    'ExperimentalConfig': {k: ('', C, '') for k in (
        'accelerate_train_mode', 'observe_step', 'observe_loss', 'final_loss')},
    'NPUOptimizer': {
        'opt': ('', C, ''), 'loss_scale_manager': ('', C, ''), 'is_distributed': ('false', C, ''),
        'is_loss_scale': ('false', C, ''), 'is_tailing_optimization': ('false', C, ''),
        'name': ('NPUOptimizer', C, '')},
    'tailor': {k: (d, C, '') for k, d in {
        'strict': '0', 'compat_defaults': 'docs', 'train_spec': '', 'rank_size': '1',
        'group': 'hccl_world_group', 'force_allreduce': '0', 'replace_allreduce': '0',
        'average': 'post_div', 'ar_dtype': 'keep', 'ar_site': 'grad', 'accumulation_steps': '1',
        'sparse_dense_fallback': '0', 'wus': '0', 'broadcast_states': '0', 'init_graph': '1',
        'verify_ranks': '0', 'bucket_strategy': 'auto', 'bucket_sizes': '', 'bucket_indices': '',
        'bucket_library': '', 'bucket_first': '1MiB', 'bucket_cap': '', 'bucket_members': '256',
        'bucket_max_bytes': '500MiB', 'bucket_compat': 'fixed', 'bucket_pad': '1',
        'bucket_lowering': 'multi', 'grad_order': 'ready', 'status': 'isfinite',
        'update_form': 'where', 'bad_run': '0', 'flag_in_bucket': '0', 'compat_unscale': '0',
        'tail_mode': 'late_commit', 'decompose_updates': '0', 'inplace_state': '0',
        'relax_user_ctrl': '0', 'hw_preset': 'none', 'cost': 'roofline', 'profile': '',
        'mem_limit': '0'}.items()}}

# Two layers with a bias each, SGD; gradients of 512, 64, 256 and 16 bytes.
STEP = '''graph @g(%x: f32[4,8], %lr: f32[] = 0.1, %w1: f32[8,16], %b1: f32[16], %w2: f32[16,4],
  %b2: f32[4]) -> (%L, %w1_new, %b1_new, %w2_new, %b2_new) {
  const %rows = i64[1] [0]
  const %two = f32[] 2.0
  %h0 = MatMul(%x, %w1)
  %h = Add(%h0, %b1)
  %y0 = MatMul(%h, %w2)
  %y = Add(%y0, %b2)
  %sq = Mul(%y, %y)
  %L = ReduceMean(%sq) {keepdims=0}
  %dy = Mul(%y, %two)
  %gb2 = ReduceSum(%dy, %rows) {keepdims=0}
  %ht = Transpose(%h) {perm=[1, 0]}
  %gw2 = MatMul(%ht, %dy)
  %w2t = Transpose(%w2) {perm=[1, 0]}
  %dh = MatMul(%dy, %w2t)
  %gb1 = ReduceSum(%dh, %rows) {keepdims=0}
  %xt = Transpose(%x) {perm=[1, 0]}
  %gw1 = MatMul(%xt, %dh)
  %u1 = Mul(%gw1, %lr)
  %u2 = Mul(%gb1, %lr)
  %u3 = Mul(%gw2, %lr)
  %u4 = Mul(%gb2, %lr)
  %w1_new = Sub(%w1, %u1)
  %b1_new = Sub(%b1, %u2)
  %w2_new = Sub(%w2, %u3)
  %b2_new = Sub(%b2, %u4)
  state %w1 -> %w1_new
  state %b1 -> %b1_new
  state %w2 -> %w2_new
  state %b2 -> %b2_new
}
'''
FIRST = STEP  # in the file the gradient of b2 comes first, by readiness that of w2
MANAGER = {'type': 'FixedLossScaleManager', 'loss_scale': 8}
RANKS = {'is_distributed': True, 'rank_size': 4}
SCALED = {'is_loss_scale': True, 'loss_scale_manager': MANAGER}
TAIL = {'is_tailing_optimization': True, 'optimizer_is_tailing_optimization': True,
        'bucket_strategy': 'bytes', 'bucket_first': 16, 'bucket_cap': 64}
TEXT, AIR, REPORT, MESSAGE = 'out.tir', 'out.air', 'report.json', 'message'
ONE_BUCKET = r'HcomAllReduce\(%\w+, %\w+, %\w+, %\w+\)'


def golden(name):
    """The graph that a golden test starts from."""
    path = os.path.join(ROOT, 'tests', 'golden', *name.split('/'))
    return golden_cases.read(path).cases[0].module


# key: (value, what it is given with, file, piece of it, model)
EFFECTS = {
    'graph_run_mode': (1, {'graph_run_mode': 0, **RANKS}, TEXT, 'HcomAllReduce', STEP),
    'deterministic': (1, {}, AIR, r'_deterministic', STEP),
    'external_weight': (1, {}, 'files', 'weight_', golden('train-detect/constants.tir')),
    'mix_compile_mode': (True, {}, AIR, '_tailor_placement', STEP),
    'precision_mode': ('force_fp16', {}, TEXT, r'f16\[', STEP),
    'precision_mode_v2': ('mixed_float16', {}, TEXT, r'f16\[', STEP),
    'modify_mixlist': ('mix.json', {'precision_mode': 'allow_mix_precision'}, TEXT,
                       r'%gw2 = [\w:]*MatMul\(.*: f32', STEP),
    'customize_dtypes': ('dtypes.cfg', {'precision_mode': 'force_fp32'}, TEXT,
                        None, STEP),
    'fusion_switch_file': ('switch.cfg', {}, TEXT, r'= MatMul\(%x, %w1\)', STEP),
    'iterations_per_loop': (4, {}, TEXT, r'= Loop\(', STEP),
    'hcom_parallel': (True, {'hcom_parallel': False, **RANKS}, TEXT, '"tailor.stream" "U"', STEP),
    'op_precision_mode': ('modes.ini', {}, AIR, '_op_impl_mode_enum', STEP),
    'enable_scope_fusion_passes': ('NoSuchPass', {}, MESSAGE, 'NoSuchPass', STEP),
    'stream_max_parallel_num': ('AIcoreEngine:4', {**RANKS, 'hw_preset': 'unit'}, REPORT,
                                None, STEP),
    'is_tailing_optimization': (True, {**RANKS, **TAIL, 'is_tailing_optimization': False,
                                       'optimizer_is_tailing_optimization': False}, REPORT,
                                '"tail", "step_time"', STEP),
    'variable_placement': ('Host', {'mix_compile_mode': True}, AIR, r'Host', STEP),
    'op_select_implmode': ('high_precision', {'graph_run_mode': 0,
                                           'optypelist_for_implmode': ['LRN']}, AIR,
                           '_op_impl_mode_enum',
                           'graph @g(%x: f32[1,4,8,8]) -> (%y) {\n'
                           '  %y = LRN(%x) {size=3}\n}\n'),
    'dynamic_inputs_shape_range': ('getnext:[5,8]', {'dynamic_input': True}, TEXT,
                                   r'x: f32\[5,8\]', STEP.replace('f32[4,8]', 'f32[n,8]')),
    'soc_version': ('Ascend910A', {}, AIR, 'Ascend910A', STEP),
    'oo_level': ('O1', {}, TEXT, r'= MatMul\(%x, %w1\)', STEP),
    'oo_constant_folding': (False, {'graph_run_mode': 0,
                                    'precision_mode': 'must_keep_origin_dtype'}, TEXT,
                            r'= Add\(%one, %one\)',
                            'graph @g(%x: f32[1]) -> (%y) {\n  const %one = f32[1] [1.0]\n'
                            '  %two = Add(%one, %one)\n  %y = Mul(%x, %two)\n}\n'),
    'optimization_switch': ('NoSuchPass:off', {}, MESSAGE, 'NoSuchPass', STEP),
    'export_compile_stat': (1, {}, 'files', 'fusion_result', STEP),
    'accelerate_train_mode': ('fast|step|0.9', {'observe_step': 'step', 'total_step': 10}, 'files',
                              r'out\.low', STEP.replace('(%x', '(%step: i64[], %x', 1)),
    'opt': ({'type': 'Adam'}, RANKS, TEXT, '@NPUOptimizerAdam_Allreduce/', STEP),
    'loss_scale_manager': (MANAGER, {'is_loss_scale': True}, TEXT, 'tlr.ls.finite', STEP),
    'is_distributed': (True, {'rank_size': 4}, TEXT, 'HcomAllReduce', STEP),
    'is_loss_scale': (True, {'loss_scale_manager': MANAGER}, TEXT, 'tlr.ls.finite', STEP),
    'optimizer_name': ('Mine', RANKS, TEXT, '@Mine_Allreduce/', STEP),
    'strict': (1, {'enable_data_pre_proc': False}, MESSAGE, 'E-OPT-UNSUPPORTED', STEP),
    'compat_defaults': ('docs', {'compat_defaults': 'code', **RANKS}, TEXT, '"tailor.stream" "U"',
                        STEP),
    'train_spec': ('spec.json', RANKS, TEXT, r'HcomAllReduce\(%gb1\)', STEP),
    'rank_size': (4, {'is_distributed': True}, TEXT, 'HcomAllReduce', STEP),
    'group': ('pair', RANKS, TEXT, 'group="pair"', STEP),
    'force_allreduce': (1, {'is_distributed': True, 'rank_size': 1}, TEXT, 'HcomAllReduce', STEP),
    'replace_allreduce': (1, RANKS, TEXT, 'hccl_world_group', golden('grad-allreduce/done.tir')),
    'average': ('none', RANKS, TEXT, None, STEP),
    'ar_dtype': ('f32', RANKS, TEXT, r'HcomAllReduce\(%gw/Cast\)',
                 golden('grad-allreduce/half-in-f32.tir')),
    'ar_site': ('boundary', {**RANKS, 'accumulation_steps': 2}, TEXT, 'HcomAllReduce',
                golden('grad-allreduce/site-boundary.tir')),
    'accumulation_steps': (2, {**RANKS, 'ar_site': 'grad'}, MESSAGE, 'E-TRN-ACCUM',
                           golden('grad-allreduce/site-boundary.tir')),
    'sparse_dense_fallback': (1, RANKS, TEXT, 'HcomAllReduce',
                              golden('grad-allreduce/sparse-dynamic.tir')),
    'wus': (1, RANKS, TEXT, 'HcomReduce', STEP),
    'broadcast_states': (1, {**RANKS, **SCALED, 'loss_scale_manager': 'torch_amp'}, 'out.init.air',
                         'tlr.ls.scale', STEP),
    'init_graph': (1, {'init_graph': 0, **RANKS}, 'out.init.air', 'HcomBroadcast', STEP),
    'verify_ranks': (2, {'is_distributed': True, 'rank_size': 2}, TEXT, 'r1/', STEP),
    'bucket_strategy': ('none', RANKS, TEXT, r'HcomAllReduce\(%gw1\)', STEP),
    'bucket_sizes': ([60, 40], RANKS, TEXT, None, STEP),
    'bucket_indices': ([0, 3], RANKS, TEXT, r'HcomAllReduce\(%gw2\)', STEP),
    'bucket_library': ('library.json', {**RANKS, 'hw_preset': 'ascend910'}, TEXT,
                       r'HcomAllReduce\(%gw2\)', STEP),
    'bucket_first': (16, {**RANKS, 'bucket_strategy': 'bytes'}, TEXT, r'HcomAllReduce\(%gw2\)',
                     STEP),
    'bucket_cap': (300, {**RANKS, 'bucket_strategy': 'combine'}, TEXT, r'HcomAllReduce\(%gw1\)',
                   STEP),
    'bucket_members': (3, {**RANKS, 'bucket_strategy': 'combine'}, TEXT,
                       r'HcomAllReduce\(%gw1\)', STEP),
    'bucket_max_bytes': (300, {**RANKS, 'hw_preset': 'ascend910'}, TEXT,
                         r'HcomAllReduce\(%gw1\)', STEP),
    'bucket_lowering': ('concat', RANKS, TEXT, 'Concat', STEP),
    'grad_order': ('topo', {**RANKS, 'bucket_indices': [0, 3]}, TEXT, r'HcomAllReduce\(%gb2\)',
                   FIRST),
    'status': ('npu', SCALED, TEXT, 'NPUGetFloatStatus', STEP),
    'update_form': ('if', SCALED, TEXT, r'= If\(', STEP),
    'bad_run': (1, SCALED, TEXT, 'tlr.ls.bad_run', STEP),
    'flag_in_bucket': (1, {**RANKS, **SCALED, 'bucket_strategy': 'single'}, TEXT,
                       r'HcomAllReduce\((%[^,)]+, ){4}', STEP),
    'compat_unscale': (1, SCALED, MESSAGE, 'W-LS-F16', STEP.replace('f32', 'f16')),
    'tail_mode': ('early_bound', {**RANKS, **SCALED}, TEXT, 'reduction="max"', STEP),
    'inplace_state': (1, {**RANKS, **TAIL}, TEXT, ' after %last', STEP.replace(
        '%gw1 = MatMul(%xt, %dh)', '%gw1 = MatMul(%xt, %dh)\n  %last = ReduceSum(%w1)').replace(
            '(%L, ', '(%L, %last, ')),
    'hw_preset': ('ascend910', {**RANKS, 'bucket_strategy': 'auto'}, REPORT, '"ascend910"', STEP),
    'cost': ('ge', RANKS, REPORT, None, STEP),
    'mem_limit': (400, RANKS, TEXT, None, STEP),
    'profile': ('profile.csv', RANKS, REPORT, r'"step_time": 1\d{3}', STEP),
}
# Shown elsewhere: a test file and a word of it.
ELSEWHERE = {
    'total_step': ('cli/test_run_config.py', 'E-LOOP-DIV'),
    'dynamic_input': ('cli/test_run_config.py', 'dynamic_inputs_shape_range'),
    'optypelist_for_implmode': ('cli/test_run_config.py', 'optypelist_for_implmode'),
    'observe_step': ('cli/accelerate.t', 'observe-step'),
    'observe_loss': ('cli/accelerate.t', 'observe-loss'),
    'final_loss': ('cli/accelerate.t', 'final-loss'),
    'decompose_updates': ('golden/tail-opt/decomposed-adam.tir', 'decompose-updates'),
    'bucket_compat': ('golden/ar-bucket/compat.tir', 'bucket-compat=ge'),
    'bucket_pad': ('golden/ar-bucket/sizes.tir', 'bucket-pad'),
    'relax_user_ctrl': ('golden/tail-opt/user-edges-go-when-asked.tir', 'relax-user-ctrl'),
}


class Run:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def files(self, model):
        self.write('m.tir', model)
        self.write('mix.json', '{"black-list": {"to-add": ["BatchMatMulV2"]}}')
        self.write('dtypes.cfg', 'MatMul::InputDtype:f16,f16,OutputDtype:f16\n')
        self.write('switch.cfg', '{"Switch": {"GraphFusion": {"ALL": "off"}}}')
        self.write('modes.ini', '[ByOpType]\nMatMulV2=high_performance\n')
        self.write('spec.json', '{"params": ["b1"], "grads": {"b1": "gb1"}}')
        self.write('profile.csv', 'h,1000\n')
        with open(os.path.join(self.folder, 'm.tir'), 'rb') as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        self.write('library.json', json.dumps([{'modelhash': digest, 'modelvalue': {
            'gradientTime': [0, 10 ** 9, 10 ** 9, 10 ** 9],
            'gradientSize': [256, 16, 64, 512]}}]))

    def outputs(self, config, what):
        """What is written, or said, of the model."""
        for name in os.listdir(self.folder):
            if name.startswith(('out', 'weight', 'report')):
                path = os.path.join(self.folder, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        self.write('run.json', json.dumps(config))
        argv = ['opt', 'm.tir', '-o', TEXT] if what in (TEXT, REPORT, MESSAGE) else \
            ['convert', 'm.tir', '-o', AIR, '--summary=none']
        more = [f'--schedule-report={REPORT}'] if what == REPORT else []
        p = guard.run([self.tool, *argv, '--run-config=run.json', *more], cwd=self.folder,
                      capture_output=True, text=True)
        if what == MESSAGE:
            return p.stderr
        if p.returncode:
            return p.stderr
        if what in (TEXT, AIR, REPORT, 'out.init.air'):
            path = os.path.join(self.folder, what)
            if not os.path.exists(path):
                return ''
            with open(path, encoding='latin-1') as f:
                return '\n'.join(s for s in f.read().split('\n') if 'tailor.run.' not in s)
        return '\n'.join(sorted(f for _, _, files in os.walk(self.folder) for f in files))


def effect(run, name, case):
    """What is wrong with the effect of a key, or None."""
    value, others, what, piece, model = case
    run.files(model)
    before = run.outputs({k: v for k, v in others.items() if k != name} | (
        {name: others[name]} if name in others else {}), what)
    after = run.outputs(others | {name: value} | (
        {'optimizer_' + name: value} if 'optimizer_' + name in others else {}), what)
    if piece is None:
        return None if before != after else 'the same with and without'
    if re.search(piece, before):
        return f'{piece} without it'
    return None if re.search(piece, after) else f'no {piece}: {after[:2000]}'


def table(tool):
    rows = json.loads(subprocess.run([tool, 'options', '--json'], capture_output=True, text=True,
                                     check=True).stdout)
    found = {(r['section'], r['name']): (r['default'], r['consumer'], r['ge']) for r in rows}
    wanted = {(s, k): v for s, keys in KEYS.items() for k, v in keys.items()}
    for key in sorted(found.keys() | wanted.keys()):
        yield ' '.join(key), found.get(key) == wanted.get(key), \
            f'{found.get(key)}, documented {wanted.get(key)}'


def cases(run):
    yield from table(run.tool)
    names = {'optimizer_name' if k == 'name' else k
             for keys in KEYS.values() for k, v in keys.items() if 'compiler' in v[1]}
    shown = EFFECTS.keys() | ELSEWHERE.keys()
    yield 'every key of the compiler has an effect', names == shown, names ^ shown
    for name, case in EFFECTS.items():
        wrong = effect(run, name, case)
        yield 'effect of ' + name, wrong is None, wrong
    for name, (path, word) in ELSEWHERE.items():
        with open(os.path.join(ROOT, 'tests', *path.split('/')), encoding='utf-8') as f:
            yield f'effect of {name}', word in f.read(), f'no {word} in tests/{path}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, good, seen in cases(Run(os.path.abspath(args.tailor), folder)):
            passed += bool(good)
            failed += not good
            if not good:
                print(f'FAIL {name}: {seen}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
