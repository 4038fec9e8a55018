# SPDX-License-Identifier: Apache-2.0
# The table of run configuration, word for word.
$ tailor options
> Keys of --run-config, each also an option of 'tailor convert'.
> key  type values (default); who consumes it; GE's key
>
> NPURunConfig
>   graph_run_mode  int 0..1 (default: 1); compiler, runtime; ge.graphRunMode
>       0: the graph is for inference, and the passes for training graphs do nothing; 1: it is for training
>   session_device_id  int 0..2147483647; runtime; ge.session_device_id
>       device of the session; overrides ASCEND_DEVICE_ID
>   distribute  object JSON; host framework
>       strategy with parameter servers; needs mix_compile_mode, as does its cluster
>   deterministic  bit 0|1 (default: 0); compiler, runtime; ge.deterministic
>       1: use kernels that sum in a fixed order; the nodes that have a choice request them, and an op without such a kernel gets a warning
>   memory_config  object JSON; runtime
>       memory policies of the runtime
>     .atomic_clean_policy  bit; ge.exec.atomicCleanPolicy
>         whether memory is cleared at once or op by op
>     .static_memory_policy  int 0..4; ge.exec.staticMemoryPolicy
>         how the memory of static graphs is allocated
>     .variable_use_1g_huge_page  int 0..2; ge.variableUse1gHugePage
>         huge pages for variables
>     .memory_optimization_policy  text POLICY; ge.exec.memoryOptimizationPolicy
>         purpose for which memory is saved
>   external_weight  bool true|false|0|1|2 (default: false); compiler, runtime; ge.externalWeight
>       where weights are written: 0 in the model file, 1 one file each, 2 one file for all
>   mix_compile_mode  bool true|false (default: false); compiler
>       ops without an NPU form run on the host; every node is marked with its placement
>   variable_placement  choice Device|Host (default: Device); compiler
>       where training states are kept; Host needs mix_compile_mode
>   iterations_per_loop  int 1..2147483647 (default: 1); compiler, runtime; iterations_per_loop
>       training steps in one run; above 1, the step becomes the body of a Loop
>   total_step  int 1..9223372036854775807; compiler
>       steps of the whole training, a multiple of iterations_per_loop
>   hcom_parallel  bool true|false (default: true); compiler, runtime; ge.hcomParallel
>       updates have their own stream, so that backward never waits for an AllReduce
>   stream_max_parallel_num  text ENGINE:N,...; compiler, runtime; ge.streamMaxParallelNum
>       number of tasks that an engine runs at a time, e.g. DNN_VM_AICPU:10
>   is_tailing_optimization  bool true|false (default: false); compiler, runtime; ge.exec.isTailingOptimization
>       nodes that do not depend on the last AllReduce run while it is in progress
>   dynamic_input  bool true|false (default: false); compiler, runtime; ge.exec.dynamicInput
>       deprecated: inputs are dynamic; dynamic_inputs_shape_range gives their shapes
>   dynamic_graph_execute_mode  choice dynamic_execute|lazy_recompile (default: dynamic_execute); runtime; ge.exec.dynamicGraphExecuteMode
>       deprecated: how dynamic graphs run; needs dynamic_input
>   dynamic_inputs_shape_range  text NAME:[A~B,D,-1],...;...; compiler, runtime; ge.exec.dataInputsShapeRange
>       deprecated: shapes of dynamic inputs, in the order of the inputs; needs dynamic_input
>   precision_mode  choice force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16; compiler, runtime; ge.exec.precision_mode
>       dtypes of the whole graph; the default is allow_fp32_to_fp16 on chips without bfloat16, the graph's own dtypes on other chips, and force_fp16 for inference
>   precision_mode_v2  choice fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8; compiler, runtime; ge.exec.precision_mode_v2
>       dtypes of the whole graph, in the newer names of atc
>   modify_mixlist  path FILE; compiler
>       JSON file that changes the white, black and gray lists of the mixed modes
>   customize_dtypes  path FILE; compiler, runtime; ge.customizeDtypes
>       file with dtypes of single nodes or op types
>   op_precision_mode  path FILE; compiler, runtime; ge.exec.op_precision_mode
>       .ini file: whether single ops use precise or fast kernels
>   fusion_switch_file  path FILE; compiler, runtime; ge.fusionSwitchFile
>       file that switches fusion passes on and off
>   enable_scope_fusion_passes  list NAME,...; compiler
>       scope fusions that are off by default
>   op_select_implmode  choice high_precision|high_performance; compiler, runtime; ge.opSelectImplmode
>       deprecated: whether the op types of optypelist_for_implmode use precise or fast kernels
>   optypelist_for_implmode  list TYPE,...; compiler, runtime; ge.optypelistForImplmode
>       deprecated: op types that op_select_implmode applies to
>   enable_reduce_precision  bool true|false (default: false); removed
>       never had an effect; precision_mode sets dtypes
>   enable_exception_dump  int 0..2 (default: 0); runtime; ge.exec.enable_exception_dump
>       dump the ops that fail: 0 off, 1 full, 2 lite
>   op_debug_config  list FILE or WORD,...; runtime; op_debug_config
>       kernel debugging: a .cfg file, or the words of one: oom, dump_cce, dump_loc, ccec_O0, ccec_g, check_flag
>   op_debug_level  int 0..4; runtime; ge.opDebugLevel
>       deprecated: level of kernel debugging; use op_debug_config
>   debug_dir  path FOLDER; runtime; ge.debugDir
>       folder for files of kernel compilation
>   dump_config  object JSON; runtime
>       dump of tensors at run time
>     .enable_dump  bool; ge.exec.enableDump
>         dump operands and results
>     .dump_path  path FOLDER; ge.exec.dumpPath
>         folder for the dump
>     .dump_step  text N|A-B|...; ge.exec.dumpStep
>         steps to dump; the default is all
>     .dump_mode  choice input|output|all; ge.exec.dumpMode
>         what to dump: operands, results or both
>     .enable_dump_debug  bool; ge.exec.enableDumpDebug
>         dump operands and results of ops that overflow
>     .dump_debug_mode  choice aicore_overflow|atomic_overflow|all; ge.exec.dumpDebugMode
>         which overflows are looked for
>     .dump_data  choice tensor|stats; ge.exec.dumpData
>         values or statistics
>     .dump_layer  text NAME ...; ge.exec.dumpLayer
>         nodes to dump; the default is all
>   profiling_config  object JSON; runtime
>       profiling at run time
>     .enable_profiling  bool; ge.exec.profilingMode
>         whether the run is profiled
>     .profiling_options  object JSON; ge.exec.profilingOptions
>         what is profiled
>     .profiling_mode  bool; ge.exec.profilingMode
>         whether the run is profiled, as a session names it; without profiling_options the runtime uses its own settings
>   aoe_mode  choice 1|2|4; host framework
>       tuning: 1 subgraphs, 2 ops, 4 the split of gradients, which is bucket_strategy=auto with hw_preset; the indices found are written to work_path/gradient_split.json
>   work_path  path FOLDER (default: .); host framework
>       folder of the tuner
>   aoe_config_file  path FILE; host framework
>       settings of the tuner
>   op_compiler_cache_mode  choice enable|force|disable (default: enable); runtime; ge.op_compiler_cache_mode
>       whether the kernel cache is used
>   op_compiler_cache_dir  path FOLDER; runtime; ge.op_compiler_cache_dir
>       folder of the kernel cache
>   jit_compile  choice auto|true|false (default: auto); runtime; ge.jit_compile
>       true: compile kernels; false: use installed kernels; auto: decide by shape
>   hccl_timeout  int 0..2147483647 (default: 1800); runtime; ge.exec.hcclExecuteTimeOut
>       most seconds for a collective; 0: no limit. First-generation chips count in units of 68 seconds, from 68 to 17340
>   op_wait_timeout  int 0..2147483647 (default: 120); runtime; ge.exec.opWaitTimeout
>       most seconds that an op may wait
>   op_execute_timeout  int 0..2147483647; runtime; ge.exec.opExecuteTimeout
>       most seconds that an op may run
>   stream_sync_timeout  int -1..2147483647 (default: -1); runtime; stream_sync_timeout
>       most milliseconds to wait for a stream, -1: no limit; with several ranks it has to exceed hccl_timeout
>   event_sync_timeout  int -1..2147483647 (default: -1); runtime; event_sync_timeout
>       most milliseconds to wait for an event, -1: no limit
>   buffer_optimize  choice l2_optimize|off_optimize|l1_optimize (default: l2_optimize); removed
>       removed from the run configuration
>   enable_small_channel  bit 0|1 (default: 0); removed
>       removed from the run configuration
>   enable_compress_weight  bool true|false (default: false); removed
>       removed from the run configuration
>   compress_weight_conf  path FILE; removed
>       removed from the run configuration
>   enable_data_pre_proc  bool true|false (default: true); removed
>       was needed to run loops on the device; that no longer needs a key
>   variable_format_optimize  bool true|false; runtime; ge.exec.variable_acc
>       deprecated: variables in the layout of the chip
>   graph_memory_max_size  text BYTES; removed
>       memory is now allocated as needed
>   variable_memory_max_size  text BYTES; removed
>       memory is now allocated as needed
>   local_rank_id  int -1..2147483647 (default: -1); host framework
>       rank that reads data for the other ranks of its server; needs local_device_list
>   local_device_list  list N,N,...; host framework
>       devices of a server; needs local_rank_id
>   model_dir  path FOLDER; host framework
>       folder of checkpoints
>   session_config  object JSON; host framework
>       session settings of the framework
>   save_checkpoints_steps  int 0..9223372036854775807; host framework
>       steps between checkpoints; excludes save_checkpoints_secs
>   save_checkpoints_secs  int 0..9223372036854775807; host framework
>       seconds between checkpoints; excludes save_checkpoints_steps
>   keep_checkpoint_max  int 0..9223372036854775807 (default: 5); host framework
>       number of checkpoints that are kept
>   save_summary_steps  int 0..9223372036854775807 (default: 100); host framework
>       steps between summaries
>   log_step_count_steps  int 0..9223372036854775807 (default: 100); host framework
>       steps between lines of the log
>   tf_random_seed  int -9223372036854775808..9223372036854775807; host framework
>       seed of the framework
>   use_off_line  bool true|false (default: true); host framework
>       run on the NPU
>   remapping  text MODE; host framework
>       a graph rewrite of the framework
>   memory_optimization  text MODE; host framework
>       a memory optimization of the framework
>   mstune_mode  choice 1|2|3|4; host framework
>       legacy: tuning; needs work_path
>   horovod_mode  bool true|false (default: false); host framework
>       legacy: ranks are those of Horovod
>   hcom_multi_mode  bit 0|1 (default: 0); host framework
>       legacy: several communication domains
>   auto_tune_mode  text RL,GA; host framework
>       legacy: tuning; use aoe_mode
>   dynamic_input_config  object JSON; runtime
>       legacy: profiles of dynamic inputs
>     .input_shape  text NAME:D,...;...; ge.inputShape
>         shapes of the inputs
>     .dynamic_dims  text D,D;D,D;...; ge.dynamicDims
>         profiles: one value for each -1 of input_shape
>     .dynamic_node_type  int 0..1; ge.dynamicNodeType
>         kind of dynamic inputs: 0 data sets, 1 placeholders
>   keep_checkpoint_every_n_hours  real X (default: 10000); host framework
>       hours between checkpoints that are kept permanently
>   train_distribute  text STRATEGY; host framework
>       strategy of the framework
>   eval_distribute  text STRATEGY; host framework
>       strategy of the framework for evaluation
>   distribute_config  path FILE; host framework
>       legacy: settings of a tuner of several machines
>   device_type  text TYPE (default: default_device_type); host framework
>       legacy: kind of device
>   job  text NAME; host framework
>       job of the framework's cluster
>   task_index  int 0..2147483647 (default: 0); host framework
>       task of the framework's cluster
>   min_group_size  int 0..2147483647 (default: 1); host framework
>       least number of nodes for which the framework makes a graph for the NPU
>   in_out_pair_flag  bool true|false (default: true); host framework
>       whether in_out_pair names the parts on the NPU (true) or the parts that are not (false)
>   in_out_pair  text PAIRS; host framework
>       first and last nodes of the parts that in_out_pair_flag refers to
>   fp_point  text NODE; host framework
>       legacy: first node of forward, for profiling
>   bp_point  text NODE; host framework
>       legacy: last node of backward, for profiling
>   soc_version  text CHIP (default: Ascend910B1); compiler
>       target chip; soc_config is another name of this key
>   HCCL_algorithm  text LEVEL:NAME;...; runtime; HCCL_algorithm
>       algorithms of the communication library
>   graph_exec_timeout  int -1..2147483647; runtime; ge.exec.graphExecTimeout
>       most milliseconds that a graph may run
>   graph_max_parallel_model_num  int 1..2147483647; runtime; ge.exec.graphMaxParallelModelNum
>       number of copies of a graph that are loaded at a time
>   compile_dynamic_mode  bool true|false (default: false); runtime; ge.compile_dynamic_mode
>       compile for all shapes
>   overflow_flag  bit 0|1 (default: 1); runtime; ge.exec.overflow
>       result of arithmetic that leaves the range: 0 the largest number, 1 infinity
>   insert_op_conf  path FILE; runtime; ge.insertOpFile
>       file that describes image preprocessing (AIPP); insert_op_file is another name of this key
>   topo_sorting_mode  choice 0|1|2|3 (default: 1); runtime; ge.topoSortingMode
>       order of execution
>   aicore_num  text N; runtime; ge.aicoreNum
>       number of cores to compile for
>   quant_dumpable  bit 0|1 (default: 0); runtime; ge.quant_dumpable
>       1: keep quantization ops, so that their results can be dumped
>   oo_level  choice O0|O1|O2|O3 (default: O3); compiler
>       optimization level
>   oo_constant_folding  bool true|false (default: true); compiler
>       fold operations whose operands are all constants
>   optimization_switch  text PASS:on|off;...; compiler
>       switch passes on and off
>   export_compile_stat  choice 0|1|2 (default: 0); compiler
>       1 or 2: write fusion_result.json, how often each fusion pass matched and took effect
>
> ExperimentalConfig
>   accelerate_train_mode  text SPEED|TRIGGER[|RATIO]; compiler
>       train in low precision first, and from a given step or loss on in the precision asked for
>   observe_step  text TENSOR; compiler
>       tensor that holds the number of the step; total_step is the number of all steps
>   observe_loss  text TENSOR; compiler
>       tensor that holds the loss; final_loss is the value to reach
>   final_loss  real X; compiler
>       loss that the training is to reach
>
> NPUOptimizer
>   opt  object TYPE or JSON; compiler
>       the optimizer: its type, or {"type": TYPE, ...} with its parameters
>   loss_scale_manager  object TYPE or JSON; compiler
>       how the loss is scaled: {"type": TYPE, ...} with parameters by name, or a type alone, which uses the default parameters
>     .type  choice FixedLossScaleManager|ExponentialUpdateLossScaleManager|DynamicLossScaleManager|torch_amp
>         the manager
>     .loss_scale  real X
>         FixedLossScaleManager: the scale
>     .drop_overflow_update  bool
>         FixedLossScaleManager: skip steps that overflow
>     .enable_overflow_check  bool
>         FixedLossScaleManager: skip steps that overflow; the name that the NPU's frameworks use
>     .init_loss_scale  real X
>         Exponential..., Dynamic...: the first scale
>     .incr_every_n_steps  int 1..2147483647
>         Exponential...: finite steps in a row before the scale grows
>     .decr_every_n_nan_or_inf  int 1..2147483647
>         Exponential...: overflows before the scale shrinks
>     .incr_ratio  real X
>         Exponential...: factor by which the scale grows
>     .decr_ratio  real X
>         Exponential...: factor by which the scale shrinks
>     .scale_factor  real X
>         Dynamic...: factor by which the scale changes
>     .scale_window  int 1..2147483647
>         Dynamic...: steps before the scale grows
>     .init_scale  real X
>         torch_amp: the first scale
>     .growth_factor  real X
>         torch_amp: factor by which the scale grows
>     .backoff_factor  real X
>         torch_amp: factor by which the scale shrinks
>     .growth_interval  int 1..2147483647
>         torch_amp: finite steps before the scale grows
>   is_distributed  bool true|false (default: false); compiler
>       sum the gradients over all ranks
>   is_loss_scale  bool true|false (default: false); compiler
>       scale the loss; needs loss_scale_manager
>   is_tailing_optimization  bool true|false (default: false); compiler
>       is_tailing_optimization of NPUOptimizer; has to equal that of the run configuration
>   name  text NAME (default: NPUOptimizer); compiler
>       name of NPUOptimizer; inserted nodes are named NAME_Allreduce/...
>
> tailor
>   strict  bit 0|1 (default: 0); compiler
>       1, or given without a value: removed keys and unknown scope fusions are errors, not warnings
>   compat_defaults  choice docs|code (default: docs); compiler
>       code: hcom_parallel is false by default, as in the code of the NPU's frameworks; docs: true, as in their documentation
>   train_spec  path FILE; compiler
>       JSON file that declares parameters, gradients, loss and states; overrides the model's metadata
>   rank_size  int 0..1048576 (default: 1); compiler
>       number of ranks; 0: known at run time only. is_distributed needs it
>   group  text NAME (default: hccl_world_group); compiler
>       name of the communication group, at most 127 bytes
>   force_allreduce  bit 0|1 (default: 0); compiler
>       1: insert AllReduce even for one rank
>   replace_allreduce  bit 0|1 (default: 0); compiler
>       1: replace the AllReduce ops that the graph already has
>   average  choice post_div|post_mul|pre_div|fold|none (default: post_div); compiler
>       how a sum over ranks becomes a mean
>   ar_dtype  choice keep|f32 (default: keep); compiler
>       dtype in which gradients are summed: that of the gradient, or f32
>   ar_site  choice grad|accum|boundary (default: grad); compiler
>       where gradients are summed over ranks: grad, the raw gradient; accum, the operand of an accumulator; boundary, the accumulated value
>   accumulation_steps  int 1..2147483647 (default: 1); compiler
>       number of batches whose gradients are accumulated before an update; above 1, ar_site has to be boundary
>   sparse_dense_fallback  bit 0|1 (default: 0); compiler
>       1: sparse gradients of unknown size are summed as dense tensors
>   wus  bit 0|1 (default: 0); compiler
>       1: weight-update sharding: each parameter is updated by one rank only
>   broadcast_states  bit 0|1 (default: 0); compiler
>       1: broadcast the initial values of optimizer states too
>   init_graph  bit 0|1 (default: 1); compiler
>       1: write a graph that broadcasts initial values beside a step for several ranks; 0: do not
>   verify_ranks  int 0..64 (default: 0); compiler
>       write an ONNX file with this many copies of the graph, one a rank, which any runtime can check; 0: none
>   bucket_strategy  choice auto|default|none|single|size|index|bytes|combine|library (default: auto); compiler
>       how gradients are grouped into AllReduce ops; auto needs hw_preset, without which it means default
>   bucket_sizes  list P,P,...; compiler
>       size: shares of the buckets in per cent, at most 8, in total 100
>   bucket_indices  list I,I,...; compiler
>       index: number of the last gradient of each bucket, ascending, at most 8
>   bucket_library  path FILE; compiler
>       library: JSON file of measured times and sizes of gradients
>   bucket_first  size SIZE (default: 1MiB); compiler
>       bytes: size of the first bucket
>   bucket_cap  size SIZE; compiler
>       bytes, combine: size of a bucket; the defaults are 25MiB and 30MiB
>   bucket_members  int 1..65536 (default: 256); compiler
>       combine: most gradients in a bucket
>   bucket_max_bytes  size SIZE (default: 500MiB); compiler
>       largest size of a bucket that has several gradients
>   bucket_compat  choice fixed|ge (default: fixed); compiler
>       ge: find the boundaries of shares as GE does, even where a nearer boundary exists
>   bucket_pad  bit 0|1 (default: 1); compiler
>       1: tensor sizes are those on the device, with padding; 0: without padding
>   bucket_lowering  choice multi|concat (default: multi); compiler
>       multi: a bucket is one op with several operands; concat: one op on one joined tensor
>   grad_order  choice ready|topo (default: ready); compiler
>       order of gradients: ready, in which the cost model finishes them; topo, in which the graph has them
>   status  choice isfinite|npu|ort (default: isfinite); compiler
>       how overflow is detected: isfinite, in the gradients; npu, by the chip's flag; ort, by an op of ONNX Runtime
>   update_form  choice where|if (default: where); compiler
>       how a step that overflows is skipped: where selects the old values; if puts the updates into a branch
>   bad_run  bit 0|1 (default: 0); compiler
>       1: the state tlr.ls.bad_run counts steps in a row that overflowed
>   flag_in_bucket  bit 0|1 (default: 0); compiler
>       1: the overflow flag is sent in the last bucket
>   compat_unscale  bit 0|1 (default: 0); compiler
>       1: divide by the loss scale in the gradient's dtype, not in f32
>   tail_mode  choice late_commit|late|early_local|early_bound (default: late_commit); compiler
>       what updates wait for with is_tailing_optimization; see docs/training-schedule.md
>   decompose_updates  bit 0|1 (default: 0); compiler
>       1: replace update ops by arithmetic, so that the part that needs no gradient runs earlier
>   inplace_state  bit 0|1 (default: 0); compiler
>       1: the runtime updates states in place, so nodes that read a state run before the node that writes it
>   relax_user_ctrl  bit 0|1 (default: 0); compiler
>       1: control edges of the model may be removed too
>   hw_preset  text NAME[:FIELD=X,...] (default: none); compiler
>       machine of the cost model: ascend910, ascend910b, ascend910_93, unit, or none for the machine of the chip; fields change its figures, e.g. ascend910b:cube=280e12,hbm=1.5e12
>   cost  choice roofline|ge (default: roofline); compiler
>       how compute time is estimated: roofline, by the cost model here; ge, as GE does
>   profile  path FILE; compiler
>       file of measured times, lines 'node,microseconds', which replace estimates
>   mem_limit  size SIZE (default: 0); compiler
>       most bytes of live values; 0: no limit
