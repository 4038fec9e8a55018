# SPDX-License-Identifier: Apache-2.0
# The table of run configuration, word for word.
$ tailor options
> Keys of --run-config, each also an option of 'tailor convert'.
> key  type values (default); who consumes it; GE's key
>
> NPURunConfig
>   graph_run_mode  int 0..1 (default: 1); compiler, runtime; ge.graphRunMode
>       0: a graph for inference, the passes of training graphs do nothing; 1: for training
>   session_device_id  int 0..2147483647; runtime; ge.session_device_id
>       device of the session, before ASCEND_DEVICE_ID
>   distribute  object JSON; host framework
>       strategy of parameter servers; needs mix_compile_mode, as its cluster does
>   deterministic  bit 0|1 (default: 0); compiler, runtime; ge.deterministic
>       kernels that add up in one order: nodes that have a choice ask for them; ops without such a kernel are warned about
>   memory_config  object JSON; runtime
>       memory policies of the runtime
>     .atomic_clean_policy  bit; ge.exec.atomicCleanPolicy
>         clear memory in one go or one by one
>     .static_memory_policy  int 0..4; ge.exec.staticMemoryPolicy
>         how memory of static graphs is obtained
>     .variable_use_1g_huge_page  int 0..2; ge.variableUse1gHugePage
>         huge pages for variables
>     .memory_optimization_policy  text POLICY; ge.exec.memoryOptimizationPolicy
>         what memory is saved for
>   external_weight  bool true|false|0|1|2 (default: false); compiler, runtime; ge.externalWeight
>       weights: 0 in the model file, 1 one file each, 2 one file for all
>   mix_compile_mode  bool true|false (default: false); compiler
>       ops without an NPU form run on the host: each node is marked host or device
>   variable_placement  choice Device|Host (default: Device); compiler
>       where training states live; Host needs mix_compile_mode
>   iterations_per_loop  int 1..2147483647 (default: 1); compiler, runtime; iterations_per_loop
>       steps of one run: with more than one the step becomes the body of a Loop
>   total_step  int 1..9223372036854775807; compiler
>       steps of the whole training; a multiple of iterations_per_loop
>   hcom_parallel  bool true|false (default: true); compiler, runtime; ge.hcomParallel
>       updates run on a stream of their own, so that backward never waits for an AllReduce
>   stream_max_parallel_num  text ENGINE:N,...; compiler, runtime; ge.streamMaxParallelNum
>       tasks that an engine takes at a time, e.g. DNN_VM_AICPU:10
>   is_tailing_optimization  bool true|false (default: false); compiler, runtime; ge.exec.isTailingOptimization
>       what the last AllReduce need not wait for runs under it
>   dynamic_input  bool true|false (default: false); compiler, runtime; ge.exec.dynamicInput
>       deprecated: inputs are dynamic; shapes are given by the next but one key
>   dynamic_graph_execute_mode  choice dynamic_execute|lazy_recompile (default: dynamic_execute); runtime; ge.exec.dynamicGraphExecuteMode
>       deprecated: how dynamic graphs run; needs dynamic_input
>   dynamic_inputs_shape_range  text NAME:[A~B,D,-1],...;...; compiler, runtime; ge.exec.dataInputsShapeRange
>       deprecated: shapes of dynamic inputs, in the order of the inputs; needs dynamic_input
>   precision_mode  choice force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16; compiler, runtime; ge.exec.precision_mode
>       dtypes of the whole graph; by default allow_fp32_to_fp16 on chips without bfloat16, the graph's own dtypes on others, force_fp16 for inference
>   precision_mode_v2  choice fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8; compiler, runtime; ge.exec.precision_mode_v2
>       the same in the newer words
>   modify_mixlist  path FILE; compiler
>       changes to the lists of mixed modes
>   customize_dtypes  path FILE; compiler, runtime; ge.customizeDtypes
>       dtypes of single nodes or op types
>   op_precision_mode  path FILE; compiler, runtime; ge.exec.op_precision_mode
>       kernels of single ops, precise or fast
>   fusion_switch_file  path FILE; compiler, runtime; ge.fusionSwitchFile
>       fusion passes on and off
>   enable_scope_fusion_passes  list NAME,...; compiler
>       scope fusions that are off by default
>   op_select_implmode  choice high_precision|high_performance; compiler, runtime; ge.opSelectImplmode
>       deprecated: kernels of the next key's op types
>   optypelist_for_implmode  list TYPE,...; compiler, runtime; ge.optypelistForImplmode
>       deprecated: op types of the previous key
>   enable_reduce_precision  bool true|false (default: false); removed
>       never came into effect; precision_mode says dtypes
>   enable_exception_dump  int 0..2 (default: 0); runtime; ge.exec.enable_exception_dump
>       dump of ops that fail: 0 off, 1 full, 2 lite
>   op_debug_config  list FILE or WORD,...; runtime; op_debug_config
>       debugging of kernels: a .cfg file, or its words themselves: oom, dump_cce, dump_loc, ccec_O0, ccec_g, check_flag
>   op_debug_level  int 0..4; runtime; ge.opDebugLevel
>       deprecated: debugging of kernels, op_debug_config has taken its place
>   debug_dir  path FOLDER; runtime; ge.debugDir
>       folder for files of kernel compilation
>   dump_config  object JSON; runtime
>       dump of tensors at run time
>     .enable_dump  bool; ge.exec.enableDump
>         dump operands and results
>     .dump_path  path FOLDER; ge.exec.dumpPath
>         where to
>     .dump_step  text N|A-B|...; ge.exec.dumpStep
>         steps, by default all
>     .dump_mode  choice input|output|all; ge.exec.dumpMode
>         what
>     .enable_dump_debug  bool; ge.exec.enableDumpDebug
>         dump overflow
>     .dump_debug_mode  choice aicore_overflow|atomic_overflow|all; ge.exec.dumpDebugMode
>         which overflow
>     .dump_data  choice tensor|stats; ge.exec.dumpData
>         values or statistics
>     .dump_layer  text NAME ...; ge.exec.dumpLayer
>         nodes, by default all
>   profiling_config  object JSON; runtime
>       profiling at run time
>     .enable_profiling  bool; ge.exec.profilingMode
>         whether
>     .profiling_options  object JSON; ge.exec.profilingOptions
>         what
>     .profiling_mode  bool; ge.exec.profilingMode
>         whether, as a session says it: without profiling_options the runtime has its own
>   aoe_mode  choice 1|2|4; host framework
>       tuning: 1 subgraphs, 2 ops; 4, the split of gradients: bucket_strategy=auto with hw_preset, and work_path/gradient_split.json says which indices it gave
>   work_path  path FOLDER (default: .); host framework
>       folder of the tuner
>   aoe_config_file  path FILE; host framework
>       settings of the tuner
>   op_compiler_cache_mode  choice enable|force|disable (default: enable); runtime; ge.op_compiler_cache_mode
>       use of the kernel cache
>   op_compiler_cache_dir  path FOLDER; runtime; ge.op_compiler_cache_dir
>       folder of the kernel cache
>   jit_compile  choice auto|true|false (default: auto); runtime; ge.jit_compile
>       compile kernels (true), use shipped ones (false), or by shape
>   hccl_timeout  int 0..2147483647 (default: 1800); runtime; ge.exec.hcclExecuteTimeOut
>       seconds a collective may take; 0: no limit. Chips of the first generation count in units of 68, from 68 to 17340
>   op_wait_timeout  int 0..2147483647 (default: 120); runtime; ge.exec.opWaitTimeout
>       seconds an op may wait
>   op_execute_timeout  int 0..2147483647; runtime; ge.exec.opExecuteTimeout
>       seconds an op may run
>   stream_sync_timeout  int -1..2147483647 (default: -1); runtime; stream_sync_timeout
>       milliseconds a stream may be waited for, -1: no limit; with several ranks more than hccl_timeout
>   event_sync_timeout  int -1..2147483647 (default: -1); runtime; event_sync_timeout
>       milliseconds an event may be waited for, -1: no limit
>   buffer_optimize  choice l2_optimize|off_optimize|l1_optimize (default: l2_optimize); removed
>       removed from the run configuration
>   enable_small_channel  bit 0|1 (default: 0); removed
>       removed from the run configuration
>   enable_compress_weight  bool true|false (default: false); removed
>       removed from the run configuration
>   compress_weight_conf  path FILE; removed
>       removed from the run configuration
>   enable_data_pre_proc  bool true|false (default: true); removed
>       was needed to sink loops to the device, which goes without it now
>   variable_format_optimize  bool true|false; runtime; ge.exec.variable_acc
>       deprecated: variables in the chip's own layout
>   graph_memory_max_size  text BYTES; removed
>       memory is obtained as needed now
>   variable_memory_max_size  text BYTES; removed
>       memory is obtained as needed now
>   local_rank_id  int -1..2147483647 (default: -1); host framework
>       rank that reads data for the others of its server; needs local_device_list
>   local_device_list  list N,N,...; host framework
>       devices of a server; needs local_rank_id
>   model_dir  path FOLDER; host framework
>       folder of checkpoints
>   session_config  object JSON; host framework
>       session of the framework
>   save_checkpoints_steps  int 0..9223372036854775807; host framework
>       steps between checkpoints; not together with the next key
>   save_checkpoints_secs  int 0..9223372036854775807; host framework
>       seconds between checkpoints
>   keep_checkpoint_max  int 0..9223372036854775807 (default: 5); host framework
>       checkpoints that are kept
>   save_summary_steps  int 0..9223372036854775807 (default: 100); host framework
>       steps between summaries
>   log_step_count_steps  int 0..9223372036854775807 (default: 100); host framework
>       steps between lines of the log
>   tf_random_seed  int -9223372036854775808..9223372036854775807; host framework
>       seed of the framework
>   use_off_line  bool true|false (default: true); host framework
>       run on the NPU
>   remapping  text MODE; host framework
>       a rewrite of the framework
>   memory_optimization  text MODE; host framework
>       a rewrite of the framework
>   mstune_mode  choice 1|2|3|4; host framework
>       legacy: tuning; needs work_path
>   horovod_mode  bool true|false (default: false); host framework
>       legacy: ranks of Horovod
>   hcom_multi_mode  bit 0|1 (default: 0); host framework
>       legacy: several communication domains
>   auto_tune_mode  text RL,GA; host framework
>       legacy: tuning; aoe_mode has taken its place
>   dynamic_input_config  object JSON; runtime
>       legacy: profiles of dynamic inputs
>     .input_shape  text NAME:D,...;...; ge.inputShape
>         shapes
>     .dynamic_dims  text D,D;D,D;...; ge.dynamicDims
>         profiles
>     .dynamic_node_type  int 0..1; ge.dynamicNodeType
>         0: data sets, 1: placeholders
>   keep_checkpoint_every_n_hours  real X (default: 10000); host framework
>       hours between checkpoints that are kept for good
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
>       nodes from which on the framework makes a graph for the NPU
>   in_out_pair_flag  bool true|false (default: true); host framework
>       whether the next key says what is on the NPU, or what is not
>   in_out_pair  text PAIRS; host framework
>       first and last nodes of the parts that the previous key is about
>   fp_point  text NODE; host framework
>       legacy: first node of forward, for profiling
>   bp_point  text NODE; host framework
>       legacy: last node of backward, for profiling
>   soc_version  text CHIP (default: Ascend910B1); compiler
>       the chip; soc_config is the same
>   HCCL_algorithm  text LEVEL:NAME;...; runtime; HCCL_algorithm
>       algorithms of the communication library
>   graph_exec_timeout  int -1..2147483647; runtime; ge.exec.graphExecTimeout
>       milliseconds a graph may run
>   graph_max_parallel_model_num  int 1..2147483647; runtime; ge.exec.graphMaxParallelModelNum
>       copies of a graph that are loaded at a time
>   compile_dynamic_mode  bool true|false (default: false); runtime; ge.compile_dynamic_mode
>       compile for all shapes
>   overflow_flag  bit 0|1 (default: 1); runtime; ge.exec.overflow
>       what arithmetic beyond the range gives: 0 the limit, 1 an infinity
>   insert_op_conf  path FILE; runtime; ge.insertOpFile
>       ops before inputs: a file; insert_op_file is the same
>   topo_sorting_mode  choice 0|1|2|3 (default: 1); runtime; ge.topoSortingMode
>       order of nodes
>   aicore_num  text N; runtime; ge.aicoreNum
>       cores that are used
>   quant_dumpable  bit 0|1 (default: 0); runtime; ge.quant_dumpable
>       keep what is quantized, for dumps
>   oo_level  choice O0|O1|O2|O3 (default: O3); compiler
>       level of optimization
>   oo_constant_folding  bool true|false (default: true); compiler
>       compute what depends on constants alone
>   optimization_switch  text PASS:on|off;...; compiler
>       passes on and off
>   export_compile_stat  choice 0|1|2 (default: 0); compiler
>       a file about fusions: 0 none
>
> ExperimentalConfig
>   accelerate_train_mode  text SPEED|TRIGGER[|RATIO]; compiler
>       a low precision first, and the one asked for from a step or loss on
>   observe_step  text TENSOR; compiler
>       tensor that tells the number of the step, of which there are total_step
>   observe_loss  text TENSOR; compiler
>       tensor that tells the loss, which is to become final_loss
>   final_loss  real X; compiler
>       loss that is aimed at
>
> NPUOptimizer
>   opt  object TYPE or JSON; compiler
>       the optimizer: its type, or {"type": TYPE, ...} with its parameters
>   loss_scale_manager  object TYPE or JSON; compiler
>       how the loss is scaled: {"type": TYPE, ...} with parameters by name; a type alone takes their defaults
>     .type  choice FixedLossScaleManager|ExponentialUpdateLossScaleManager|DynamicLossScaleManager|torch_amp
>         the manager
>     .loss_scale  real X
>         FixedLossScaleManager: the scale
>     .drop_overflow_update  bool
>         FixedLossScaleManager: skip steps that overflow
>     .enable_overflow_check  bool
>         FixedLossScaleManager: the same, as the NPU's frameworks call it
>     .init_loss_scale  real X
>         Exponential..., Dynamic...: the first scale
>     .incr_every_n_steps  int 1..2147483647
>         Exponential...: finite steps in a row before it grows
>     .decr_every_n_nan_or_inf  int 1..2147483647
>         Exponential...: overflows before it shrinks
>     .incr_ratio  real X
>         Exponential...: by what it grows
>     .decr_ratio  real X
>         Exponential...: by what it shrinks
>     .scale_factor  real X
>         Dynamic...: by what it changes
>     .scale_window  int 1..2147483647
>         Dynamic...: steps before it grows
>     .init_scale  real X
>         torch_amp: the first scale
>     .growth_factor  real X
>         torch_amp: by what it grows
>     .backoff_factor  real X
>         torch_amp: by what it shrinks
>     .growth_interval  int 1..2147483647
>         torch_amp: finite steps before it grows
>   is_distributed  bool true|false (default: false); compiler
>       gradients are added up over ranks
>   is_loss_scale  bool true|false (default: false); compiler
>       the loss is scaled; needs loss_scale_manager
>   is_tailing_optimization  bool true|false (default: false); compiler
>       is_tailing_optimization of NPUOptimizer: the same as that of the run
>   name  text NAME (default: NPUOptimizer); compiler
>       name of NPUOptimizer: nodes that are added are called NAME_Allreduce/...
>
> tailor
>   strict  bit 0|1 (default: 0); compiler
>       1, or no value: removed keys and unknown scope fusions are errors, not warnings
>   compat_defaults  choice docs|code (default: docs); compiler
>       code: hcom_parallel is false by default, as in the code of the NPU's frameworks
>   train_spec  path FILE; compiler
>       declarations of parameters, gradients, loss and states: JSON, goes before the model's metadata
>   rank_size  int 0..1048576 (default: 1); compiler
>       ranks; 0: known at run time only. is_distributed needs it
>   group  text NAME (default: hccl_world_group); compiler
>       communication group, at most 127 bytes
>   force_allreduce  bit 0|1 (default: 0); compiler
>       1: AllReduce for one rank too
>   replace_allreduce  bit 0|1 (default: 0); compiler
>       1: take the place of AllReduce ops that the graph has already
>   average  choice post_div|post_mul|pre_div|fold|none (default: post_div); compiler
>       how sums over ranks become means
>   ar_dtype  choice keep|f32 (default: keep); compiler
>       dtype in which gradients are added up
>   ar_site  choice grad|accum|boundary (default: grad); compiler
>       where: the raw gradient, what an accumulator takes, what it has accumulated
>   accumulation_steps  int 1..2147483647 (default: 1); compiler
>       batches whose gradients are accumulated before an update: with more than one ar_site is boundary
>   sparse_dense_fallback  bit 0|1 (default: 0); compiler
>       1: sparse gradients of unknown size are added up as dense ones
>   wus  bit 0|1 (default: 0); compiler
>       1: weight-update sharding
>   broadcast_states  bit 0|1 (default: 0); compiler
>       1: initial values of optimizer states are broadcast too
>   init_graph  bit 0|1 (default: 1); compiler
>       0: no graph that broadcasts initial values is written beside the step of several ranks
>   verify_ranks  int 0..64 (default: 0); compiler
>       copies of the graph in an ONNX file that any runtime can check; 0: none
>   bucket_strategy  choice auto|default|none|single|size|index|bytes|combine|library (default: auto); compiler
>       how gradients are put together into AllReduce ops; auto needs hw_preset, else it is default
>   bucket_sizes  list P,P,...; compiler
>       size: shares in per cent, at most 8, 100 together
>   bucket_indices  list I,I,...; compiler
>       index: last gradient of each bucket, at most 8, ascending
>   bucket_library  path FILE; compiler
>       library: measured times and sizes of gradients, JSON
>   bucket_first  size SIZE (default: 1MiB); compiler
>       bytes: size of the first bucket
>   bucket_cap  size SIZE; compiler
>       bytes, combine: size of buckets, by default 25MiB and 30MiB
>   bucket_members  int 1..65536 (default: 256); compiler
>       combine: most gradients of a bucket
>   bucket_max_bytes  size SIZE (default: 500MiB); compiler
>       size that no bucket of several gradients exceeds
>   bucket_compat  choice fixed|ge (default: fixed); compiler
>       ge: boundaries of shares are searched for as GE does it, even past a nearer one
>   bucket_pad  bit 0|1 (default: 1); compiler
>       1: sizes of tensors as on the device, 0: bare
>   bucket_lowering  choice multi|concat (default: multi); compiler
>       a bucket is one op of several operands, or of one joined tensor
>   grad_order  choice ready|topo (default: ready); compiler
>       order of gradients: as they are finished by the cost model, or as they stand in the graph
>   status  choice isfinite|npu|ort (default: isfinite); compiler
>       how overflow is found: in the gradients, by the chip's flag, by an op of ONNX Runtime
>   update_form  choice where|if (default: where); compiler
>       how a step that overflows is skipped
>   bad_run  bit 0|1 (default: 0); compiler
>       1: steps in a row that overflowed are counted in the state tlr.ls.bad_run
>   flag_in_bucket  bit 0|1 (default: 0); compiler
>       1: the overflow flag travels in the last bucket
>   compat_unscale  bit 0|1 (default: 0); compiler
>       1: the loss scale is taken away in the gradient's dtype, not in f32
>   tail_mode  choice late_commit|late|early_local|early_bound (default: late_commit); compiler
>       what updates wait for with is_tailing_optimization
>   decompose_updates  bit 0|1 (default: 0); compiler
>       1: update ops are taken apart, so that what needs no gradient runs earlier
>   inplace_state  bit 0|1 (default: 0); compiler
>       1: the runtime updates states in place: readers go before writers
>   relax_user_ctrl  bit 0|1 (default: 0); compiler
>       1: control edges of the model may be removed too
>   hw_preset  text NAME[:FIELD=X,...] (default: none); compiler
>       machine of the cost model: ascend910, ascend910b, ascend910_93, unit, or none for that of the chip; fields change its figures, e.g. ascend910b:cube=280e12,hbm=1.5e12
>   cost  choice roofline|ge (default: roofline); compiler
>       estimate of compute time: ours or GE's
>   profile  path FILE; compiler
>       measured times, lines 'node,microseconds', in place of estimates
>   mem_limit  size SIZE (default: 0); compiler
>       bytes that may be alive at a time; 0: no limit
