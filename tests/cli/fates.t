# Recorded for the device compiler.
$ tailor convert m.onnx -o m.air --dry-run --enable_small_channel=1 --buffer_optimize=off_optimize --ge.deterministic=1
! options are valid: m.onnx -> m.air (air); 3 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --enable_small_channel=true
! tailor: error: --enable-small-channel: 'true' is not one of 0|1 [E10006]
? 1
$ tailor convert m.onnx -o m.air --dry-run --enable_single_stream=1
! tailor: error: --enable-single-stream: '1' is not one of true|false [E10005]
? 1
$ tailor convert m.onnx -o m.air --dry-run --buffer_optimize=none
! tailor: error: --buffer-optimize: 'none' is not one of l1_optimize|l2_optimize|off_optimize [E10001]
? 1
# Without effect: one warning each, none for the default.
$ tailor convert m.onnx -o m.air --dry-run --weight=w.bin --save_original_model=false --op_debug_level=2
! tailor: warning: --weight: has no effect here: an ONNX model names its weights itself; the file is not read
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
# Not in this version.
$ tailor convert m.onnx -o m.air --dry-run --precision_mode=must_keep_origin_dtype
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --precision_mode_v2=origin --export_compile_stat=0
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --precision_mode=origin --precision_mode_v2=origin
! tailor: error: --precision-mode: 'origin' is not one of force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16 [E10001]
? 1
$ tailor convert m.onnx -o m.air --dry-run --precision_mode=must_keep_origin_dtype --precision_mode_v2=origin
! tailor: error: --precision-mode: cannot be combined with --precision-mode-v2 [E10056]
? 1
$ tailor convert m.onnx -o m.air --dry-run --raw-ge-options=x --raw-ge-options-ignore-unsupported=true --fusion_switch_file=z
! tailor: error: --raw-ge-options: not in this version (JSON file of options under GE's names)
!   hint: leave it out here and give it to the atc call that reads the .air file
! tailor: error: --raw-ge-options-ignore-unsupported: not in this version (skip unknown names of --raw-ge-options)
!   hint: leave it out here and give it to the atc call that reads the .air file
? 3
$ tailor convert m.onnx -o m.air --dry-run --ge.oo.level=O1 --ge.oo.constantFolding=true
! options are valid: m.onnx -> m.air (air); 2 recorded for the device compiler
# Another tool's business.
$ tailor convert m.onnx -o m.air --dry-run --auto_tune_mode=RL,GA --singleop=x
! tailor: error: --auto-tune-mode: not supported here: atc dropped it too, and AOE tunes now: leave the option out, and give the model to 'aoe --job_type=2', whose results atc finds by itself [E10055]
! tailor: error: --singleop: not supported here: they hold no graph to convert [E10055]
? 3
$ tailor convert m.onnx -o m.air --dry-run --framework=3
! tailor: error: --framework: framework 3 is not supported; this version reads ONNX (5) and AIR (1) [E10007]
!   hint: export the model to ONNX first
? 3
$ tailor convert m.air -o m.onnx --dry-run --framework=1
! options are valid: m.air -> m.onnx (onnx); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --framework=9
! tailor: error: --framework: '9' is not an integer in 0..5 [E10007]
? 1
$ tailor convert m.onnx -o m.air --dry-run --mode=1
! tailor: error: --mode: mode 1 works on device models; only 0, converting a model, is supported [E10055]
? 3
