#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of the table of run configuration, as `tailor options --json` prints it.

  test_run_config.py --tailor BIN

A legal value of each key is taken, from a file and from the command line, and stands in the model;
a value of another type, out of range, or under a misspelt name is refused with its code, its place
and all others of the file; combinations that make no sense are refused or warned about."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'oracle'))
import air_check  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

STEP = '''graph @g(%x: f32[1,2], %t: f32[1,1], %w: f32[2,1], %lr: f32[]) -> (%L, %w_new) {
  %y = MatMul(%x, %w)
  %e = Sub(%y, %t)
  %sq = Mul(%e, %e)
  %L = ReduceMean(%sq) {keepdims=0}
  const %two = f32[] 2.0
  %ge = Mul(%e, %two)
  %xt = Transpose(%x) {perm=[1, 0]}
  %gw = MatMul(%xt, %ge)
  %d = Mul(%lr, %gw)
  %w_new = Sub(%w, %d)
  state %w -> %w_new
}
'''
CHUNK = 80  # problems that one file is told of are bounded
MANAGER = {'type': 'FixedLossScaleManager', 'loss_scale': 1024}
# Values that the type does not suggest, and what they need beside them.
LEGAL = {
    'distribute': ({'strategy': 'ParameterServerStrategy', 'cluster': {}},
                   {'mix_compile_mode': True}),
    'memory_config': ({'static_memory_policy': 2}, {}),
    'variable_placement': ('Host', {'mix_compile_mode': True}),
    'stream_max_parallel_num': ('DNN_VM_AICPU:10,AIcoreEngine:2', {}),
    'dynamic_graph_execute_mode': ('dynamic_execute', {'dynamic_input': True}),
    'dynamic_inputs_shape_range': ('getnext:[1,2],[1,1];w:[2,1];data:[]', {'dynamic_input': True}),
    'dump_config': ({'enable_dump': True, 'dump_path': 'd', 'dump_step': '0|5|10-20'}, {}),
    'profiling_config': ({'enable_profiling': True, 'profiling_options': {'output': 'p'}}, {}),
    'aoe_mode': ('2', {}),
    'mstune_mode': ('1', {'work_path': '.'}),
    'aoe_config_file': ('tune.json', {}),
    'modify_mixlist': ('mix.json', {'precision_mode': 'allow_mix_precision'}),
    'customize_dtypes': ('dtypes.cfg', {}),
    'op_precision_mode': ('modes.ini', {}),
    'fusion_switch_file': ('switch.cfg', {}),
    'op_debug_config': ('debug.cfg', {}),
    'optypelist_for_implmode': (['Pooling', 'LRN'], {'op_select_implmode': 'high_precision'}),
    'local_rank_id': (0, {'local_device_list': '0,1'}),
    'local_device_list': ('0,1', {'local_rank_id': 0}),
    'op_compiler_cache_dir': ('cache_1', {}),
    'dynamic_input_config': ({'input_shape': 'x:-1,2', 'dynamic_dims': '1;2'}, {}),
    'opt': ({'type': 'Adam', 'learning_rate': 0.1}, {}),
    'loss_scale_manager': (MANAGER, {'is_loss_scale': True}),
    'is_loss_scale': (True, {'loss_scale_manager': MANAGER}),
    'is_tailing_optimization': (False, {}),
    'train_spec': None,  # owned by the pass that reads it
    'profile': None,
    'wus': None,
    'verify_ranks': None,
    'force_allreduce': None,
    'enable_scope_fusion_passes': None,
    'accelerate_train_mode': None,  # makes two models: tests/cli/accelerate.t
    'observe_step': None,
    'observe_loss': None,
    'final_loss': None,
    'bucket_library': None,
    'bucket_strategy': ('bytes', {}),
    'bucket_sizes': ([60, 40], {}),
    'bucket_indices': ([0], {}),
    'graph_run_mode': (0, {}),
    'status': ('isfinite', {}),
    'ar_site': ('grad', {}),
    'bad_run': (1, {'is_loss_scale': True, 'loss_scale_manager': MANAGER}),
    'precision_mode': ('force_fp16', {}),
    'precision_mode_v2': ('mixed_float16', {}),
    'session_config': ({}, {}),
    'rank_size': (8, {}),
    'debug_dir': ('.', {}),
    'work_path': ('.', {}),
    'soc_version': ('Ascend910B2', {}),
    'optimization_switch': ('MatMulFusionPass:off', {}),
    'iterations_per_loop': (1, {}),  # with more of them the loop is in the model
}
FILES = {'mix.json': '{}', 'dtypes.cfg': '', 'modes.ini': '', 'switch.cfg': '{}',
         'debug.cfg': 'op_debug_config = oom\n'}
OTHER_TYPE = {'bool': 'yes', 'bit': 'x', 'int': '7', 'real': 'x', 'size': True, 'choice': [1],
              'text': 7, 'path': 7, 'list': True, 'object': 7}
# (what is said, code): all refused.
CONFLICTS = [
    ({'distribute': {'strategy': 'P'}}, 'E-OPT-CONFLICT'),
    ({'distribute': {'cluster': {}}}, 'E-OPT-CONFLICT'),
    ({'distribute': {'strategy': 'P', 'cluster': {}}}, 'E-OPT-CONFLICT'),
    ({'iterations_per_loop': 2, 'mix_compile_mode': True}, 'E-OPT-CONFLICT'),
    ({'iterations_per_loop': 2, 'dynamic_input': True}, 'E-OPT-CONFLICT'),
    ({'iterations_per_loop': 3, 'total_step': 10}, 'E-LOOP-DIV'),
    ({'precision_mode': 'force_fp16', 'precision_mode_v2': 'fp16'}, 'E10056'),
    ({'modify_mixlist': 'mix.json'}, 'E10001'),
    ({'variable_placement': 'Host'}, 'E-OPT-CONFLICT'),
    ({'dynamic_inputs_shape_range': 'data:[1]'}, 'E-OPT-CONFLICT'),
    ({'dynamic_graph_execute_mode': 'dynamic_execute'}, 'E-OPT-CONFLICT'),
    ({'dump_config': {'enable_dump': True}}, 'E-OPT-CONFLICT'),
    ({'dump_config': {'enable_dump': True, 'enable_dump_debug': True, 'dump_path': 'd'}},
     'E-OPT-CONFLICT'),
    ({'dump_config': {'enable_dump': True, 'dump_path': 'd', 'dump_step': '5-2'}}, 'E-OPT-RANGE'),
    ({'dump_config': {'dump_mode': 'some'}}, 'E-OPT-RANGE'),
    ({'dump_config': {'enable_dump': 1}}, 'E-OPT-TYPE'),
    ({'dump_config': {'dump': True}}, 'E-OPT-UNKNOWN'),
    ({'profiling_config': {'enable_profiling': True}}, 'E-OPT-CONFLICT'),
    ({'memory_config': {'static_memory_policy': 9}}, 'E-OPT-RANGE'),
    ({'memory_config': {'other': {}}}, 'E-OPT-UNKNOWN'),
    ({'memory_config': {'static_memory_polcy': 2}}, 'E-OPT-UNKNOWN'),
    ({'memory_config': {'atomic_clean_policy': 3}}, 'E-OPT-RANGE'),
    ({'memory_config': {'memory_optimization_policy': 1}}, 'E-OPT-TYPE'),
    ({'static_memory_policy': 9}, 'E-OPT-RANGE'),
    ({'dump_mode': 'some'}, 'E-OPT-RANGE'),
    ({'enable_dump': 'yes'}, 'E-OPT-TYPE'),
    ({'enable_dump': True}, 'E-OPT-CONFLICT'),
    ({'enable_dump': True, 'dump_path': 'd', 'dump_step': '5-2'}, 'E-OPT-RANGE'),
    ({'enable_dump': True, 'dump_config': {'enable_dump_debug': True, 'dump_path': 'd'}},
     'E-OPT-CONFLICT'),
    ({'profiling_config': {'enable_profiling': True, 'profiling_mode': True,
                           'profiling_options': '{}'}}, 'E-OPT-CONFLICT'),
    ({'profiling_mode': True, 'profiling_options': '{"task_trace": "on"'}, 'E-OPT-TYPE'),
    ({'profiling_mode': True, 'profiling_options': '["task_trace"]'}, 'E-OPT-TYPE'),
    ({'profiling_mode': True, 'profiling_options': 'trace'}, 'E-OPT-TYPE'),
    ({'profiling_options': {'task_trace': True}}, 'E-OPT-TYPE'),
    ({'profiling_options': {'task_trce': 'on'}}, 'E-OPT-UNKNOWN'),
    ({'profiling_config': {'enable_profiling': True,
                           'profiling_options': '{"task_trace": "yes"}'}}, 'E-OPT-RANGE'),
    ({'profiling_options': {'sys_io_sampling_freq': 500}}, 'E-OPT-RANGE'),
    ({'mstune_mode': '2'}, 'E-OPT-CONFLICT'),
    ({'aoe_mode': '4', 'work_path': '.'}, 'E-OPT-CONFLICT'),
    ({'work_path': 'no/such/folder'}, 'E-OPT-RANGE'),
    ({'debug_dir': 'no/such/folder'}, 'E-OPT-RANGE'),
    ({'op_compiler_cache_dir': 'a b'}, 'E-OPT-RANGE'),
    ({'op_debug_config': 'both.cfg'}, 'E-OPT-CONFLICT'),
    ({'op_debug_config': 'debug.cfg', 'op_debug_level': 2}, 'E-OPT-CONFLICT'),
    ({'op_debug_config': 'wrong.cfg'}, 'E-OPT-UNKNOWN'),
    ({'op_debug_config': 'oom,ccec_O0'}, 'E-OPT-CONFLICT'),
    ({'op_debug_config': ['oom', 'ccec_O0']}, 'E-OPT-CONFLICT'),
    ({'op_debug_config': 'oom,dump_cc'}, 'E-OPT-UNKNOWN'),
    ({'op_debug_config': 'oom', 'op_debug_level': 2}, 'E-OPT-CONFLICT'),
    ({'op_debug_config': 'none.cfg'}, 'E-OPT-FILE'),
    ({'local_rank_id': 0}, 'E-OPT-CONFLICT'),
    ({'local_device_list': '0,1'}, 'E-OPT-CONFLICT'),
    ({'local_rank_id': 0, 'local_device_list': 'a'}, 'E-OPT-TYPE'),
    ({'save_checkpoints_steps': 1, 'save_checkpoints_secs': 1}, 'E-OPT-CONFLICT'),
    ({'optypelist_for_implmode': 'LRN'}, 'E10001'),
    ({'hccl_timeout': 1800, 'stream_sync_timeout': 60000, 'is_distributed': True},
     'E-OPT-CONFLICT'),
    ({'hccl_timeout': 0, 'stream_sync_timeout': 60000, 'is_distributed': True}, 'E-OPT-CONFLICT'),
    ({'stream_max_parallel_num': 'DNN_VM_AICPU'}, 'E-OPT-TYPE'),
    ({'stream_max_parallel_num': ':3'}, 'E-OPT-TYPE'),
    ({'stream_max_parallel_num': 'A:x'}, 'E-OPT-TYPE'),
    ({'stream_max_parallel_num': 'A:0'}, 'E-OPT-RANGE'),
    ({'stream_max_parallel_num': 'A:1,A:2'}, 'E-OPT-CONFLICT'),
    ({'stream_max_parallel_num': 'AIcoreEngine:26'}, 'E-OPT-RANGE'),
    ({'stream_max_parallel_num': 'DNN_VM_AICPU:1000'}, 'E-OPT-RANGE'),
    ({'stream_max_parallel_num': 'DNN_VM_AICPU:33', 'soc_config': 'Ascend910A'}, 'E-OPT-RANGE'),
    ({'is_distributed': True}, 'E-AR-RANKS'),
    ({'NPUOptimizer': {'is_distributed': True}, 'tailor': {'group': 'g'}}, 'E-AR-RANKS'),
    ({'NPUDistributedOptimizer': {}}, 'E-AR-RANKS'),
    ({'is_distributed': True, 'force_allreduce': 1}, 'E-AR-RANKS'),
    ({'is_distributed': True, 'rank_size': None}, 'E-AR-RANKS'),
    ({'loss_scale_manager': {**MANAGER, 'enable_overflow_check': False,
                             'drop_overflow_update': True}}, 'E-OPT-CONFLICT'),
    ({'loss_scale_manager': {**MANAGER, 'enable_overflow_check': 'no'}}, 'E-OPT-TYPE'),
    ({'loss_scale_manager': {'type': 'torch_amp', 'enable_overflow_check': False}},
     'E-OPT-CONFLICT'),
    ({'is_loss_scale': True}, 'E-LS-NOMGR'),
    ({'loss_scale_manager': {'loss_scale': 2}}, 'E-LS-NOMGR'),
    ({'loss_scale_manager': {'type': 'FixedLossScaleManager', 'loss_scale': 0.5}}, 'E-LS-RANGE'),
    ({'loss_scale_manager': {'type': 'ExponentialUpdateLossScaleManager'}}, 'E-LS-RANGE'),
    ({'loss_scale_manager': {'type': 'FixedLossScaleManager', 'scale_window': 2}},
     'E-OPT-CONFLICT'),
    ({'loss_scale_manager': {'type': 'Fixed'}}, 'E-OPT-RANGE'),
    ({'opt': {'type': 'Momentum', 'loss_scale': 512}, 'is_loss_scale': True,
      'loss_scale_manager': {'type': 'FixedLossScaleManager', 'loss_scale': 1024,
                             'drop_overflow_update': False}}, 'E-LS-OPT'),
    ({'opt': {'type': 5}}, 'E-OPT-TYPE'),
    ({'NPURunConfig': {'is_tailing_optimization': False},
      'NPUOptimizer': {'is_tailing_optimization': True}}, 'E-TAIL-MISMATCH'),
    ({'NPURunConfig': {'is_tailing_optimization': True}, 'NPUOptimizer': {}}, 'E-TAIL-MISMATCH'),
    ({'bucket_sizes': [60, 20]}, 'E-BKT-PCT'),
    ({'bucket_sizes': [-10, 110]}, 'E-BKT-PCT'),
    ({'bucket_sizes': [20, 10, 10, 10, 10, 10, 10, 10, 10]}, 'E-BKT-PCT'),
    ({'bucket_indices': [5, 5]}, 'E-BKT-IDX'),
    ({'bucket_indices': [-1]}, 'E-BKT-IDX'),
    ({'bucket_strategy': 'size'}, 'E-OPT-CONFLICT'),
    ({'group': 'g' * 128}, 'E-OPT-RANGE'),
    ({'strict': 1, 'enable_data_pre_proc': False}, 'E-OPT-UNSUPPORTED'),
    ({'NPURunConfig': 3}, 'E-OPT-TYPE'),
]
# (what is said, code, further options): taken with a warning.
WARNINGS = [
    ({'stream_max_parallel_num': 'DNN_HCCL:2'}, 'W-OPT-ENGINE', []),
    ({'is_tailing_optimization': True}, 'W-TAIL-LOCAL', []),
    ({'is_tailing_optimization': True, 'is_distributed': True, 'rank_size': 1}, 'W-TAIL-LOCAL',
     []),
    ({'loss_scale_manager': MANAGER}, 'W-LS-UNUSED', []),
    ({'graph_run_mode': 0, 'is_distributed': True}, 'W-TRN-INFER', []),
    ({'enable_data_pre_proc': False}, 'W-OPT-UNSUPPORTED', []),
    ({'buffer_optimize': 'off_optimize'}, 'W-OPT-UNSUPPORTED', []),
    ({'graph_memory_max_size': str(2 << 30)}, 'W-OPT-UNSUPPORTED', []),
    ({'graph_memory_max_size': 2 << 30}, 'W-OPT-UNSUPPORTED', []),
    ({'variable_memory_max_size': 1024}, 'W-OPT-UNSUPPORTED', []),
    ({'variable_memory_max_size': '4*1024*1024*1024'}, 'W-OPT-UNSUPPORTED', []),
    ({'profiling_options': {'of_tomorrow': 'on'}}, 'W-OPT-PROFILING', []),
    ({'dump_path': 'a', 'dump_config': {'enable_dump': True, 'dump_path': 'b'}}, 'W-OPT-TWICE',
     []),
    ({'is_loss_scale': True, 'graph_run_mode': 0,
      'loss_scale_manager': {'type': 'DynamicLossScaleManager', 'init_loss_scale': 4,
                             'scale_factor': 3000}}, 'W-LS-SWAP', []),
]

DUMP = {'ge.exec.enableDump': '1', 'ge.exec.dumpPath': 'd', 'ge.exec.dumpStep': '0|5',
        'ge.exec.dumpMode': 'all'}
FLAT_DUMP = {'enable_dump': True, 'dump_path': 'd', 'dump_step': '0|5', 'dump_mode': 'all'}
OPTIONS = '{"output":"o","task_trace":"on","bp_point":""}'
# (what is said, what the model has of it): taken without a word.
TAKEN = [
    (FLAT_DUMP, DUMP),  # as sessions have it
    ({'parameter_map': FLAT_DUMP}, DUMP),
    ({'global_options': {'dump_config': FLAT_DUMP}}, DUMP),
    ({'NPURunConfig': FLAT_DUMP, 'NPUOptimizer': {}}, DUMP),
    ({'NPURunConfig': {'dump_config': {'enable_dump': True, 'dump_path': 'd'}},
      'dump_step': '0|5', 'dump_mode': 'all'}, DUMP),
    ({'DumpConfig': FLAT_DUMP}, DUMP),
    ({'enable_dump_debug': True, 'dump_path': 'd', 'dump_debug_mode': 'all'},
     {'ge.exec.enableDumpDebug': '1', 'ge.exec.dumpDebugMode': 'all'}),
    ({'dump_data': 'stats', 'dump_layer': 'a b'},
     {'ge.exec.dumpData': 'stats', 'ge.exec.dumpLayer': 'a b'}),
    ({'profiling_mode': True}, {'ge.exec.profilingMode': '1'}),
    ({'profiling_mode': True, 'profiling_options': OPTIONS},
     {'ge.exec.profilingOptions': OPTIONS}),
    ({'profiling_options': 'task_trace:training_trace'},
     {'ge.exec.profilingOptions': 'task_trace:training_trace'}),
    ({'ProfilingConfig': {'enable_profiling': True, 'profiling_options': {
        'sys_hardware_mem_freq': 50, 'l2': 'off', 'aic_metrics': 'Custom:0x49,0x8'}}},
     {'ge.exec.profilingMode': '1'}),
    ({'static_memory_policy': 2, 'atomic_clean_policy': 1, 'variable_use_1g_huge_page': 0},
     {'ge.exec.staticMemoryPolicy': '2', 'ge.exec.atomicCleanPolicy': '1',
      'ge.variableUse1gHugePage': '0'}),
    ({'memory_config': {'memory_optimization_policy': 'MemoryPriority'}},
     {'ge.exec.memoryOptimizationPolicy': 'MemoryPriority'}),
    ({'input_shape': 'x:-1,2', 'dynamic_dims': '1;2', 'dynamic_node_type': 0},
     {'ge.inputShape': 'x:-1,2', 'ge.dynamicDims': '1;2', 'ge.dynamicNodeType': '0'}),
    ({'experimental': {'multi_branches_config': {'input_shape': 'x:-1,2', 'dynamic_dims': '1;2',
                                                 'dynamic_node_type': 0}}},
     {'ge.dynamicDims': '1;2'}),
    ({'op_debug_config': 'list.cfg'}, {'op_debug_config': 'list.cfg'}),
    ({'op_debug_config': 'oom,dump_cce'}, {'op_debug_config': 'oom,dump_cce'}),
    ({'op_debug_config': 'dump_cce, dump_loc, ccec_O0, ccec_g, check_flag'},
     {'op_debug_config': 'dump_cce,dump_loc,ccec_O0,ccec_g,check_flag'}),
    ({'op_debug_config': ['oom', 'dump_cce', 'ccec_g']},
     {'op_debug_config': 'oom,dump_cce,ccec_g'}),
    ({'op_debug_config': 'check_flag'}, {'op_debug_config': 'check_flag'}),
    ({'aoe_mode': 1}, {'tailor.run.aoe_mode': '1'}),
    ({'aoe_mode': '4', 'is_distributed': True, 'rank_size': 4, 'hw_preset': 'ascend910b'},
     {'tailor.run.aoe_mode': '4'}),
    ({'loss_scale_manager': {**MANAGER, 'enable_overflow_check': False}, 'is_loss_scale': True},
     {'tailor.run.is_loss_scale': 'true'}),
    ({'loss_scale_manager': {**MANAGER, 'enable_overflow_check': True,
                             'drop_overflow_update': True}, 'is_loss_scale': True}, {}),
    ({'NPUDistributedOptimizer': {'opt': 'Adam', 'name': 'N'}, 'rank_size': 4},
     {'tailor.run.is_distributed': 'true', 'tailor.run.rank_size': '4'}),
    ({'NPUDistributedOptimizer': {'is_distributed': False}},
     {'tailor.run.is_distributed': 'false'}),
    ({'NPULossScaleOptimizer': {'loss_scale_manager': MANAGER, 'is_distributed': True},
      'tailor': {'rank_size': 0}}, {'tailor.run.is_loss_scale': 'true'}),
    ({'is_distributed': True, 'rank_size': 1}, {}),
    ({'is_distributed': True, 'rank_size': 0}, {}),
    ({'stream_max_parallel_num': 'DNN_VM_AICPU:25,AIcoreEngine:1'}, {}),
    ({'stream_max_parallel_num': 'DNN_VM_AICPU:32', 'soc_config': 'Ascend910A'},
     {'ge.socVersion': 'Ascend910A'}),
    ({'iterations_per_loop': 4}, {'tailor.run.iterations_per_loop': '4',
                                  'iterations_per_loop': None,
                                  'npu_runconfig/iterations_per_loop': None}),
    ({'HCCL_algorithm': 'level0:ring', 'overflow_flag': 0, 'graph_exec_timeout': -1},
     {'HCCL_algorithm': 'level0:ring', 'ge.exec.overflow': '0'}),
    ({'topo_sorting_mode': 3, 'insert_op_file': 'a.cfg', 'quant_dumpable': 1},
     {'ge.topoSortingMode': '3', 'ge.insertOpFile': 'a.cfg', 'ge.quant_dumpable': '1'}),
]


def legal_value(key):
    name, kind, values = key['name'], key['type'], key['values']
    if name in LEGAL:
        return LEGAL[name]
    choices = values.split('|')
    value = {'bool': True, 'bit': 1, 'real': 2.5, 'size': '2MiB', 'choice': choices[0],
             'text': 'word', 'path': 'word', 'list': ['a', 'b'], 'object': {}}.get(kind)
    if kind == 'int':
        low, high = (int(v) for v in values.split('..'))
        value = min(max(low, 1), high)
    return value, {}


def as_text(value):
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, list):
        return ','.join(map(str, value))
    return json.dumps(value, separators=(',', ':')) if isinstance(value, dict) else str(value)


class Run:
    def __init__(self, tool, folder):
        self.tool = tool
        self.folder = folder
        for name, text in {**FILES, 'm.tir': STEP, 'both.cfg': 'op_debug_config = oom,ccec_O0\n',
                           'wrong.cfg': 'op_debug_config = oo\n',
                           'list.cfg': 'op_debug_config= ccec_g,oom\n'
                                       'op_debug_list=GatherV2,opType::ReduceSum\n'}.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)

    def call(self, *arguments):
        p = guard.run([self.tool, *arguments], cwd=self.folder, capture_output=True,
                      text=True, stdin=subprocess.DEVNULL)
        return p.returncode, p.stderr

    def config(self, content, *arguments):
        """Exit code and messages of a check of the file alone."""
        with open(os.path.join(self.folder, 'run.json'), 'w', encoding='utf-8') as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return self.call('convert', 'm.tir', '-o', 'm.air', '--dry-run', '--run-config=run.json',
                         *arguments)

    def attributes(self, *arguments):
        path = os.path.join(self.folder, 'm.air')
        if os.path.exists(path):
            os.unlink(path)
        code, messages = self.call('convert', 'm.tir', '-o', 'm.air', '--summary=none',
                                   *arguments)
        if not os.path.exists(path):
            return code, messages, {}
        with open(path, 'rb') as f:
            data = f.read()
        model = air_check.Decoder(lambda *_: None).decode('ModelDef', data, 0, len(data))
        return code, messages, {k: bytes(v['s']).decode() for k, v in model.attr.items()}


def expected(key, value):
    """What stands in the model: (attribute, value)."""
    name = ('optimizer_' if key['option'].startswith('optimizer-') else '') + key['name']
    if key['type'] == 'object' and key['consumer'] == 'runtime':
        return None
    text = as_text(value)
    if key['type'] == 'bit':
        text = '1' if value else '0'
    if key['type'] == 'size':
        text = str(2 << 20)
    if key['consumer'] == 'runtime':
        text = {'true': '1', 'false': '0', 'auto': '2'}.get(text, text)
        return key['ge'], text
    return 'tailor.run.' + name, text


def legal(run, keys):
    for key in keys:
        if legal_value(key) is None or key['consumer'] == 'removed':
            continue
        value, needs = legal_value(key)
        name = key['option'].replace('-', '_')
        if key['name'] == 'is_tailing_optimization':
            needs = {**needs, 'is_tailing_optimization': False}
        with open(os.path.join(run.folder, 'one.json'), 'w', encoding='utf-8') as f:
            json.dump({**needs, name: value}, f)
        wanted = expected(key, value)
        code, messages, found = run.attributes('--run-config=one.json', '--graph_run_mode=0'
                                               if name != 'graph_run_mode' else '-q')
        good = not wanted or found.get(wanted[0]) == wanted[1]
        yield 'file ' + name, code == 0 and good, (code, messages, wanted, found.get(
            wanted[0]) if wanted else None)
        more = [f'--{n}={as_text(v)}' for n, v in needs.items() if n != name]
        # the command line has these as atc does: refused; a file that is read (aipp.t)
        if name in ('auto_tune_mode', 'insert_op_conf'):
            continue
        code, messages, found = run.attributes(
            f'--{name}={as_text(value)}', *more,
            *([] if name == 'graph_run_mode' else ['--graph_run_mode=0']))
        good = not wanted or found.get(wanted[0]) == wanted[1]
        yield 'option ' + name, code == 0 and good, (code, messages, wanted)


def chunks(entries):
    for at in range(0, len(entries), CHUNK):
        yield entries[at:at + CHUNK]


def refused(run, what, code, entries):
    """Each (name, value) stands on a line of its own and is told of there."""
    for part in chunks(entries):
        lines = [f'{json.dumps(name)}: {json.dumps(value)}' for name, value in part]
        status, messages = run.config('{\n' + ',\n'.join(lines) + '\n}')
        told = dict(re.findall(r'run\.json:(\d+):1: error: .*\[([\w-]+)\]', messages))
        for line, (name, value) in enumerate(part, 2):
            seen = told.get(str(line))
            yield f'{what} {name}', status == 1 and seen in code, (value, seen)


def out_of_range(keys):
    for key in keys:
        name = key['option'].replace('-', '_')
        if key['type'] == 'int':
            low, high = (int(v) for v in key['values'].split('..'))
            if low > -2 ** 53:
                yield name, low - 1
            if high < 2 ** 53:
                yield name, high + 1
        elif key['type'] == 'choice':
            yield name, 'nonsense'
        elif key['type'] == 'bit':
            yield name, 2
        elif key['type'] == 'size':
            yield name, -1


def once(pairs):
    """Names may stand in a file once: lists of pairs without repetition."""
    rounds = []
    for name, value in pairs:
        for entries in rounds:
            if name not in [n for n, _ in entries]:
                entries.append((name, value))
                break
        else:
            rounds.append([(name, value)])
    return rounds


def misspelt(keys):
    names = {key['option'].replace('-', '_') for key in keys}
    for name in sorted(names):
        wrong = name[:-2] + name[-1]
        if len(name) > 8 and wrong not in names:
            yield wrong, name


def families(run, keys):
    names = [(key['section'], key['name']) for key in keys]
    yield 'names are given once', len(set(names)) == len(names), names
    yield 'helps', all(key['help'] and key['type'] and key['consumer'] for key in keys), keys
    own = [k for k in keys if k['name'] != 'is_tailing_optimization' or
           k['section'] == 'NPURunConfig']
    yield from legal(run, keys)
    types = [(k['option'].replace('-', '_'),
              True if k['values'] == 'BYTES' else OTHER_TYPE[k['type']]) for k in own]
    yield from refused(run, 'type', ['E-OPT-TYPE'], types)
    # choices of an option that the command line has as well are checked with it
    for entries in once(out_of_range(own)):
        shared = [e for e in entries if e[0] in ('precision_mode', 'precision_mode_v2')]
        yield from refused(run, 'range', ['E-OPT-RANGE'], [e for e in entries if e not in shared])
        if shared:
            yield from refused(run, 'range', ['E10001'], shared)
    wrong = list(misspelt(own))
    for part in chunks(wrong):
        _, messages = run.config({name: 1 for name, _ in part})
        for name, right in part:
            told = f"'{name}' is not a key of a run configuration [E-OPT-UNKNOWN]\n" \
                   f"  hint: did you mean '{right}'?"
            yield 'unknown ' + name, told in messages, name
    for content, code in CONFLICTS:
        status, messages = run.config(content)
        yield f'conflict {content}', status in (1, 4) and f'[{code}]' in messages, messages
    for content, code, more in WARNINGS:
        status, messages = run.config(content, *more)
        yield f'warning {content}', status == 0 and f'[{code}]' in messages, messages


def taken(run):
    for content, wanted in TAKEN:
        with open(os.path.join(run.folder, 'taken.json'), 'w', encoding='utf-8') as f:
            json.dump(content, f)
        code, messages, found = run.attributes('--run-config=taken.json')
        good = all(found.get(k) == v for k, v in wanted.items())
        yield f'taken {content}', code == 0 and good and 'error' not in messages and \
            '[' not in messages, (messages, {k: found.get(k) for k in wanted})


def example(run):
    """The run configuration of the documentation, on a training step of the benchmarks."""
    with open(os.path.join(ROOT, 'docs', 'training.md'), encoding='utf-8') as f:
        text = f.read().split('```json\n')[1].split('```')[0]
    with open(os.path.join(run.folder, 'example.json'), 'w', encoding='utf-8') as f:
        f.write(text)
    subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'make_models.py'), run.folder,
                    'train_mlp_adam'], check=True, capture_output=True)
    code, messages = run.call('convert', 'train_mlp_adam.onnx', '-o', 'e.air',
                              '--run-config=example.json')
    made = all(os.path.exists(os.path.join(run.folder, name)) for name in (
        'e.low.air', 'e.high.air', 'e.init.air', 'e.switch.json'))
    yield 'the example of the documentation', code == 0 and made, messages


def hostile(run):
    depth = '[' * 100000
    texts = ['', '{', '[]', 'null', '{"a"', '{"hcom_parallel": }', '\0', '{"x": ' + depth + '}',
             '{"dump_config": ' + '{"a":' * 1000, '"' * 9, '{} {}', '{"opt": 1e999}',
             '{"bucket_sizes": [' + '1,' * 100000 + '1]}', '\ufeff{"rank_size": -0.5}',
             '{"group": "' + 'x' * 100000 + '"}', '{"hccl_timeout": 1e40}', '/* {}',
             '{"iterations_per_loop": 1.5}', '{"rank_size": 99999999999999999999}',
             json.dumps({f'key{i}': i for i in range(20000)})]
    for text in texts:
        status, messages = run.config(text)
        yield f'hostile {text[:40]!r}', status in (1, 2) and 0 < len(messages) < 60000, \
            (status, messages[:300])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        run = Run(os.path.abspath(args.tailor), folder)
        table = subprocess.run([run.tool, 'options', '--json'], capture_output=True, text=True,
                               check=True).stdout
        keys = json.loads(table)
        for family in (families(run, keys), taken(run), example(run),
                       hostile(run)):
            for name, good, seen in family:
                passed += bool(good)
                failed += not good
                if not good:
                    print(f'FAIL {name}: {seen}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
