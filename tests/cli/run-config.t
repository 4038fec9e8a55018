# SPDX-License-Identifier: Apache-2.0
# Run configuration: files, keys on the command line, what they say together.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' > m.tir

# Every problem of a file is told, each with its place; comments are no problem.
$ printf '{ // all of them\n "NPURunConfig": {\n  "hcom_parallel": 1,\n  "hccl_timeout": "600",\n  "iterations_per_loop": 0,\n  "hcom_paralel": true,\n  "dump_config": {"enable_dump": "yes", "dump_pth": "x"},\n  "enable_dump": true\n },\n "NPUOptimizer": {"loss_scale_manager": {"type": "Fixed"}}\n}\n' > bad.json
$ tailor opt m.tir --run-config=bad.json
! bad.json:3:3: error: hcom_parallel takes true or false, not a number [E-OPT-TYPE]
! bad.json:4:3: error: hccl_timeout takes an integer, not a string [E-OPT-TYPE]
! bad.json:5:3: error: iterations_per_loop is an integer in 1..2147483647, not '0' [E-OPT-RANGE]
! bad.json:6:3: error: 'hcom_paralel' is not a key of a run configuration [E-OPT-UNKNOWN]
!   hint: did you mean 'hcom_parallel'?
! bad.json:7:19: error: enable_dump takes true or false, not a string [E-OPT-TYPE]
! bad.json:7:41: error: 'dump_pth' is not a member of this object [E-OPT-UNKNOWN]
!   hint: did you mean 'dump_path'?
! bad.json:10:42: error: type is one of FixedLossScaleManager|ExponentialUpdateLossScaleManager|DynamicLossScaleManager|torch_amp, not 'Fixed' [E-OPT-RANGE]
? 1

# The command line goes before the file, null is not given.
$ printf '{"NPURunConfig": {"iterations_per_loop": 4, "total_step": 10, "mix_compile_mode": null}}' > loop.json
$ tailor opt m.tir --passes= --run-config=loop.json
! loop.json:1:19: error: iterations_per_loop: the number of all steps, 10, is not a multiple of the 4 steps of a run [E-LOOP-DIV]
? 1
$ tailor opt m.tir --passes= --run-config=loop.json --iterations_per_loop=5
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Relu(%x)
> }

# A section that leaves a key out says its default: both sides must agree.
$ printf '{"NPURunConfig": {"is_tailing_optimization": true}, "NPUOptimizer": {"is_distributed": true}}' > tail.json
$ tailor opt m.tir --passes= --run-config=tail.json --rank_size=4
! tail.json:1:19: error: is_tailing_optimization: is false in NPUOptimizer and true in NPURunConfig [E-TAIL-MISMATCH]
!   hint: write the same in both
? 1
$ tailor opt m.tir --passes= --run-config=tail.json --rank_size=4 --is_tailing_optimization=true
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Relu(%x)
> }
$ tailor opt m.tir --passes= --is_tailing_optimization=true
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Relu(%x)
> }
! tailor: warning: --is-tailing-optimization: is ignored: nothing is distributed (is_distributed) [W-TAIL-LOCAL]

# Removed keys warn unless they say their default; strict=1 refuses them.
$ printf '{"enable_data_pre_proc": false, "buffer_optimize": "l2_optimize"}' > old.json
$ tailor opt m.tir --passes= --run-config=old.json
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Relu(%x)
> }
! old.json:1:2: warning: enable_data_pre_proc: is ignored: was needed to run loops on the device; that no longer needs a key [W-OPT-UNSUPPORTED]
$ tailor opt m.tir --passes= --run-config=old.json --strict=1
! old.json:1:2: error: enable_data_pre_proc: was needed to run loops on the device; that no longer needs a key [E-OPT-UNSUPPORTED]
? 1

# Files that are none.
$ tailor opt m.tir --run-config=none.json
! none.json: error: cannot open the run configuration: No such file or directory [E-OPT-FILE]
? 4
$ printf '{"hcom_parallel": tru' > cut.json
$ tailor opt m.tir --run-config=cut.json
! cut.json:1:19: error: not JSON: expected a value [E-OPT-FILE]
? 1
$ printf '' > empty.json
$ tailor opt m.tir --run-config=empty.json
! empty.json: error: the run configuration is empty [E-OPT-FILE]
!   hint: write {} for the defaults
? 1
$ printf '[]' > list.json
$ tailor opt m.tir --run-config=list.json
! list.json:1:1: error: a run configuration takes an object, not an array [E-OPT-TYPE]
? 1

# What the model carries: keys of the runtime under GE's names, the others as they are in force.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w_new = Sub(%%w, %%d)\n}\n' >sgd.tir
$ printf '{"NPURunConfig": {"hccl_timeout": 600, "jit_compile": "auto", "external_weight": true, "memory_config": {"static_memory_policy": 2}, "dump_config": {"enable_dump": true, "dump_path": "dump", "dump_step": "0|5|10-20"}, "profiling_config": {"enable_profiling": true, "profiling_options": {"output": "p", "task_trace": "on"}}, "auto_tune_mode": "RL,GA"}}' > all.json
$ tailor convert sgd.tir -o m.air --run-config=all.json --soc-version=Ascend910A 2>&1 | grep -E 'recorded|dtypes'
>   dtypes   allow_fp32_to_fp16, the default of the run configuration: f16 where an op has no other dtype, and in matrix ops
>   recorded ge.socVersion = Ascend910A
>   recorded ge.jit_compile = 2
>   recorded ge.exec.staticMemoryPolicy = 2
>   recorded ge.externalWeight = 1
>   recorded ge.exec.enableDump = 1
>   recorded ge.exec.dumpPath = dump
>   recorded ge.exec.dumpStep = 0|5|10-20
>   recorded ge.exec.profilingMode = 1
>   recorded ge.exec.profilingOptions = {"output":"p","task_trace":"on"}
>   recorded ge.exec.hcclExecuteTimeOut = 544
>   recorded the run configuration (tailor.run.*)
# Keys, for people and for tools.
$ tailor options hccl_timeout
>   hccl_timeout  int 0..2147483647 (default: 1800); runtime; ge.exec.hcclExecuteTimeOut
>       most seconds for a collective; 0: no limit. First-generation chips count in units of 68 seconds, from 68 to 17340
$ tailor options is_loss_scal
! tailor: error: 'is_loss_scal' is not a key of a run configuration [E-OPT-UNKNOWN]
!   hint: did you mean 'is_loss_scale'?
? 1
$ tailor options --json | sed -n 2p
>  {"section": "NPURunConfig", "name": "graph_run_mode", "option": "graph-run-mode", "type": "int", "values": "0..1", "default": "1", "consumer": "compiler, runtime", "ge": "ge.graphRunMode", "help": "0: the graph is for inference, and the passes for training graphs do nothing; 1: it is for training"},
# The first generation of chips counts time limits of collectives in units of 68 seconds.
$ tailor convert sgd.tir -o m.air --hccl_timeout=600 --soc-version=Ascend910A 2>&1 | grep hccl
>   recorded ge.exec.hcclExecuteTimeOut = 544
$ tailor convert sgd.tir -o m.air --hccl_timeout=50 --soc-version=Ascend910A 2>&1 | grep hccl
>   recorded ge.exec.hcclExecuteTimeOut = 68
$ tailor convert sgd.tir -o m.air --hccl_timeout=600 2>&1 | grep hccl
>   recorded ge.exec.hcclExecuteTimeOut = 600
$ tailor convert sgd.tir -o m.air --hccl_timeout=17341 --soc-version=Ascend910A 2>&1 | grep hccl
> tailor: error: --hccl-timeout: 17341 seconds exceed 17340, the maximum on Ascend910 [E-OPT-RANGE]
# Several steps a run are in the model: the runtime is not told, or it would loop again.
$ tailor convert sgd.tir -o m.air --iterations_per_loop=4 2>&1 | grep recorded
>   recorded the run configuration (tailor.run.*)
$ tailor convert sgd.tir -o m.air --iterations_per_loop=1 2>&1 | grep recorded
>   recorded iterations_per_loop = 1
>   recorded the run configuration (tailor.run.*)
# A model whose steps are in a loop already keeps it, and says so where another number is asked for.
$ tailor convert sgd.tir -o loop.onnx --iterations_per_loop=4 --summary=none
$ tailor convert loop.onnx -o m.air --iterations_per_loop=4 2>&1 | grep -E 'recorded|warning'
>   recorded the run configuration (tailor.run.*)
$ tailor convert loop.onnx -o m.air --iterations_per_loop=8 2>&1 | grep -E 'recorded|warning'
> loop.onnx: warning: --iterations-per-loop=8 has no effect: the steps of this model are in a loop already [W-LOOP-TWICE]
>   recorded the run configuration (tailor.run.*)
# Distribution needs the number of ranks, wherever it is said.
$ tailor convert sgd.tir -o m.air --is_distributed=true --summary=none
! tailor: error: --is-distributed: the number of ranks is not given [E-AR-RANKS]
!   hint: give --rank-size=N, or in a run configuration {"tailor": {"rank_size": N}}; 0 if it is known at run time only
? 1
$ (printf 'module {\n  meta "tailor.run_config" "{\\"rank_size\\": 4}"\n}\n'; cat sgd.tir) > ranks.tir
$ tailor convert ranks.tir -o m.air --is_distributed=true --summary=none
$ tailor simulate-ranks sgd.tir -n 2 --steps 1 --is_distributed=true | tail -1
> initial values of 1 state: those of rank 0 on all ranks
# A model's own configuration comes last.
$ (printf 'module {\n  meta "tailor.run_config" "{\\"iterations_per_loop\\": 0, \\"rank_size\\": 4}"\n}\n'; cat sgd.tir) > own.tir
$ tailor convert own.tir -o m.air --summary=none
! metadata tailor.run_config:1:2: error: iterations_per_loop is an integer in 1..2147483647, not '0' [E-OPT-RANGE]
? 1
$ tailor opt own.tir --passes= --iterations_per_loop=1
! metadata tailor.run_config:1:2: error: iterations_per_loop is an integer in 1..2147483647, not '0' [E-OPT-RANGE]
? 1
$ (printf 'module {\n  meta "tailor.run_config" "{\\"iterations_per_loop\\": 2}"\n}\n'; cat sgd.tir) > own.tir
$ tailor opt own.tir --passes=infer-shapes,train-detect,iterations-per-loop | grep -c Loop
> 1
$ tailor opt own.tir --passes=infer-shapes,train-detect,iterations-per-loop --iterations_per_loop=1 | grep -c Loop
> 0
? 1
