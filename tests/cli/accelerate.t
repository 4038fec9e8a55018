# accelerate_train_mode: two variants and a plan, of a step of SGD that counts itself. Both have the
# constant `c`, and `p` is lowered in the first.
$ head -c 8192 /dev/zero | tr '\0' '\74' >n.bin; printf 'graph @g(%%x: f32[2,4], %%w: f32[4,4], %%n: f32[2048], %%step: i64[]) -> (%%loss, %%w.out, %%next) {\n  const %%p: f32[4,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]\n  const %%c: f32[2048] = file("n.bin", 0, 8192)\n  const %%lr: f32[] = 0.125\n  const %%one: i64[] = 1\n  %%h = MatMul(%%x, %%p) @mm\n  %%y = MatMul(%%h, %%w)\n  %%s = ReduceMean(%%y) {keepdims=0}\n  %%m = Mul(%%n, %%c)\n  %%t = ReduceSum(%%m) {keepdims=0}\n  %%loss = Add(%%s, %%t)\n  %%ht = Transpose(%%h) {perm=[1, 0]}\n  %%gy = Relu(%%y)\n  %%g = MatMul(%%ht, %%gy)\n  %%d = Mul(%%g, %%lr)\n  %%w.out = Sub(%%w, %%d)\n  %%next = Add(%%step, %%one)\n  state %%w -> %%w.out\n  state %%step -> %%next\n}\n' >m.tir
$ tailor convert m.tir -o m.onnx -o t.tir --accelerate_train_mode='fast|step|0.9' --observe-step=step --total-step=10000 --summary=none; ls; cat m.switch.json
> m.high.onnx
> m.low.onnx
> m.onnx.data
> m.switch.json
> m.tir
> n.bin
> t.high.tir
> t.low.tir
> t.switch.json
> {"version":1,"mode":"fast|step|0.9","speed":"fast","trigger":"step","ratio":0.9,
>  "low":{"model":"m.low.onnx","precision":"mixed_float16"},"high":{"model":"m.high.onnx","precision":"origin"},
>  "observe":{"tensor":"step","kind":"step"},"total_step":10000,"switch_at":9000,"iterations_per_loop":1,
>  "one_shot":true,"state":[["w","w.out"],["step","next"]],"loss_scale_reset":false}
$ grep -c f16 t.low.tir; grep -c f16 t.high.tir; diff t.switch.json m.switch.json
> 7
> 0
> 2c2
> <  "low":{"model":"t.low.tir","precision":"mixed_float16"},"high":{"model":"t.high.tir","precision":"origin"},
> ---
> >  "low":{"model":"m.low.onnx","precision":"mixed_float16"},"high":{"model":"m.high.onnx","precision":"origin"},
? 1
# Weights once: the file is no longer than that of one model.
$ stat -c '%n %s' m.onnx.data
> m.onnx.data 8192
# The same bytes again, and in another folder.
$ mkdir d; tailor convert m.tir -o d/m.onnx --accelerate_train_mode='fast|step|0.9' --observe-step=step --total-step=10000 --summary=none; for f in m.low.onnx m.high.onnx m.onnx.data m.switch.json; do cmp $f d/$f; done; rm -r d
# Both are models, and not far from each other.
$ tailor verify m.low.onnx m.high.onnx --tensors=0 --rtol=1e-2 --atol=1e-2 2>&1 | grep '^equal\|^differs' | cut -d: -f1
> equal   "loss"
> equal   "w.out"
> equal   "next"
# AIR: one file of weights by content; the loader of a variant finds all of its own.
$ mkdir a; tailor convert m.tir -o a/m.air --accelerate_train_mode='fast1|loss' --observe-loss=loss --final-loss=7.1 --summary=none; (cd a; find . -type f | sort; cat m.switch.json weight/meta.json); rm -r a
> ./m.high.air
> ./m.low.air
> ./m.switch.json
> ./weight/m_weight_combined
> ./weight/meta.json
> {"version":1,"mode":"fast1|loss","speed":"fast1","trigger":"loss","ratio":1.05,
>  "low":{"model":"m.low.air","precision":"mixed_bfloat16"},"high":{"model":"m.high.air","precision":"origin"},
>  "observe":{"tensor":"loss","kind":"loss"},"final_loss":7.1,"switch_at":7.4549994,"iterations_per_loop":1,
>  "one_shot":true,"state":[["w","w.out"],["step","next"]],"loss_scale_reset":false}
> {
>   "01acecb507abfe1a354aa8064f4af5d3f1acd019e37db3c11c97523b71c76e9d": {"file": "weight/m_weight_combined", "offset": 0, "length": 8},
>   "01ed3f7582baa6fa1b286e94ab2604044ddd1898301f0219295f0f3facc00c86": {"file": "weight/m_weight_combined", "offset": 512, "length": 8192},
>   "31b67dba7cfd6e2d7540f9c96d90a45b8f2d44956620723024d4e1beeacd4602": {"file": "weight/m_weight_combined", "offset": 8704, "length": 4},
>   "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8": {"file": "weight/m_weight_combined", "offset": 9216, "length": 8},
>   "994294717e9222764d03686b675546d724767d179b55b0a17aa99e024ac5b725": {"file": "weight/m_weight_combined", "offset": 10752, "length": 64},
>   "ce5da8c6917072b81c626a4354209c1b1425ab7da7aaa488cdbfc2f1a96f9d9f": {"file": "weight/m_weight_combined", "offset": 9728, "length": 32},
>   "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119": {"file": "weight/m_weight_combined", "offset": 10240, "length": 4}
> }
$ mkdir a; tailor convert m.tir -o a/m --external-weight=1 --accelerate_train_mode='fast|loss|1.5' --observe-loss=loss --final-loss=0.5 --summary=none; (cd a; find . -type f | sort; grep -o '"switch_at":[^,]*' m.switch.json; grep -c file weight/meta.json; cd weight; sha256sum weight_* | sed 's/^\(.*\)  weight_\1$/same/'); rm -r a
> ./m.high.air
> ./m.low.air
> ./m.switch.json
> ./weight/meta.json
> ./weight/weight_01acecb507abfe1a354aa8064f4af5d3f1acd019e37db3c11c97523b71c76e9d
> ./weight/weight_01ed3f7582baa6fa1b286e94ab2604044ddd1898301f0219295f0f3facc00c86
> ./weight/weight_2cdc9508f0accf4d04a6da92102080f650d409577286a216c9fe695f6bd4140a
> ./weight/weight_31b67dba7cfd6e2d7540f9c96d90a45b8f2d44956620723024d4e1beeacd4602
> ./weight/weight_7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8
> ./weight/weight_994294717e9222764d03686b675546d724767d179b55b0a17aa99e024ac5b725
> ./weight/weight_df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119
> "switch_at":0.75
> 7
> same
> same
> same
> same
> same
> same
> same
# Without files of weights.
$ mkdir a; tailor convert m.tir -o a/m.onnx --external-weight=0 --accelerate_train_mode='fast|loss' --observe-loss=loss --final-loss=7 --summary=none; ls a; rm -r a
> m.high.onnx
> m.low.onnx
> m.switch.json
# What the summary says of it.
$ tailor convert m.tir -o m.air --accelerate_train_mode='fast|step|0.2' --observe-step=step --total-step=10 --precision_mode=allow_fp32_to_fp16 2>&1 | grep -v 'time\|memory\|pass '; tailor convert m.tir -o m.tir2.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=10 --summary=json 2>&1 | python3 -c 'import json, sys; s = json.load(sys.stdin); print(sorted(s), s["plans"], [o["path"] for k in ("low", "high") for o in s[k]["outputs"]])'
> low: m.tir
>   nodes    12 -> 11, 15 for the NPU
>   weights  4 constants, 8.1 KiB
>   chip     Ascend910B1, since --soc-version names none
>   dtypes   allow_mix_precision_fp16: f16 in white ops and in gray ops that follow them
>   device   weights 8.1 KiB, inputs 8.1 KiB, outputs 76 bytes, activations 8.0 KiB
>            24.3 KiB in all; fits into 64.0 GiB of Ascend910B1
>   wrote    m.low.air (22.9 KiB)
>   recorded ge.exec.precision_mode = allow_mix_precision_fp16
>   recorded the run configuration (tailor.run.*)
> go on with:
>   atc --framework=1 --model=m.low.air --output=m.low --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
> high: m.tir
>   nodes    12 -> 11, 16 for the NPU
>   weights  4 constants, 8.1 KiB
>   chip     Ascend910B1, since --soc-version names none
>   dtypes   allow_fp32_to_fp16: f16 where an op has no other dtype, and in matrix ops
>   device   weights 8.1 KiB, inputs 8.1 KiB, outputs 76 bytes, activations 8.1 KiB
>            24.3 KiB in all; fits into 64.0 GiB of Ascend910B1
>   wrote    m.high.air (23.7 KiB)
>   recorded ge.exec.precision_mode = allow_fp32_to_fp16
>   recorded the run configuration (tailor.run.*)
> go on with:
>   atc --framework=1 --model=m.high.air --output=m.high --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
> plan: m.switch.json
> ['high', 'inits', 'low', 'plans'] ['m.tir2.switch.json'] ['m.tir2.low.tir', 'm.tir2.high.tir']
$ tailor convert m.tir -o m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=10 --summary=none --depfile=m.d; cat m.d; rm m.d
> m.low.air m.high.air m.switch.json: \
>  m.tir \
>  n.bin
$ tailor convert m.tir -o m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=10 --dry-run
! options are valid: m.tir -> m.air (air); 0 recorded for the device compiler
# Mix lists are the low variant's.
$ printf '{"black-list": {"to-add": ["BatchMatMulV2"]}}\n' >mix.json; tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=10 --summary=none --modify_mixlist=mix.json; grep -c f16 b.low.tir b.high.tir; rm b.*
> b.low.tir:0
> b.high.tir:0
# Loops between two looks.
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=10 --iterations-per-loop=5 --summary=none; grep -o '"iterations_per_loop":[0-9]*' b.switch.json; rm b.*
> "iterations_per_loop":5
! tailor: warning: --iterations-per-loop: 'step' is read once in 5 steps, so the switch may be late by that many [W-ACC-LOOP]
# Off.
$ tailor convert m.tir -o b.tir --accelerate_train_mode= --summary=none; ls b.*; rm b.*
> b.tir
# Values.
$ tailor convert m.tir -o b.tir --accelerate_train_mode=fast
! tailor: error: --accelerate-train-mode: 'fast' is not of the form SPEED|TRIGGER[|RATIO] [E-ACC-FORMAT]
!   hint: the form is SPEED|TRIGGER[|RATIO], for example fast|step|0.9; quote it, because the shell interprets '|'
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='turbo|step|0.5'
! tailor: error: --accelerate-train-mode: 'turbo' is not a speed: fast (float16) or fast1 (bfloat16) [E-ACC-SPEED]
!   hint: the form is SPEED|TRIGGER[|RATIO], for example fast|step|0.9; quote it, because the shell interprets '|'
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|epoch|0.5'
! tailor: error: --accelerate-train-mode: 'epoch' is not a trigger: step or loss [E-ACC-TRIGGER]
!   hint: the form is SPEED|TRIGGER[|RATIO], for example fast|step|0.9; quote it, because the shell interprets '|'
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step|0.95'
! tailor: error: --accelerate-train-mode: '0.95' is not a ratio; with trigger step it is a number from 0.2 to 0.9, by default 0.9 [E-ACC-RATIO]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|loss|x'
! tailor: error: --accelerate-train-mode: 'x' is not a ratio; with trigger loss it is a number from 1.01 to 1.5, by default 1.05 [E-ACC-RATIO]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step'
! tailor: error: --accelerate-train-mode: needs --observe-step and --total-step, which say when to switch [E-ACC-HOOK]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step
! tailor: error: --observe-step: needs --total-step beside it [E-ACC-HOOK]
? 1
$ tailor convert m.tir -o b.tir --total-step=5 --observe-step=step
! tailor: error: --observe-step: has no effect without --accelerate-train-mode [E-ACC-HOOK]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=0
! tailor: error: --total-step: total_step is an integer in 1..9223372036854775807, not '0' [E-OPT-RANGE]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|loss' --observe-loss=loss --final-loss=-1
! tailor: error: --final-loss: '-1' is not a number above 0 that f32 holds [E-ACC-HOOK]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --precision_mode=force_fp16
! tailor: error: --precision-mode: force_fp16 cannot be the precision to switch to [E-ACC-PREC]
!   hint: with --accelerate-train-mode use allow_fp32_to_fp16, must_keep_origin_dtype or origin, or give no mode
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --amp-level=O2
! tailor: error: --amp-level: O2 cannot be the precision to switch to [E-ACC-PREC]
!   hint: with --accelerate-train-mode use allow_fp32_to_fp16, must_keep_origin_dtype or origin, or give no mode
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --atc-compat
! tailor: error: --atc-compat: force_fp16 cannot be the precision to switch to [E-ACC-PREC]
!   hint: with --accelerate-train-mode use allow_fp32_to_fp16, must_keep_origin_dtype or origin, or give no mode
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast1|step' --observe-step=step --total-step=5 --soc_version=Ascend910A
! tailor: error: --accelerate-train-mode: fast1 needs bfloat16, which Ascend910 does not have [E-ACC-BF16]
!   hint: fast trains in float16
? 3
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --soc_version=Ascend310P3
! tailor: error: --accelerate-train-mode: Ascend310P is not a chip for training [E-ACC-PREC]
!   hint: choose the chip with --soc-version
? 3
# The tensor to look at.
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=stop --total-step=5
! tailor: error: --accelerate-train-mode: 'stop' is neither an input nor an output of the model [E-ACC-HOOK]
!   hint: did you mean 'step'?
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|loss' --observe-loss=mm --final-loss=5
! tailor: error: --accelerate-train-mode: 'mm' is neither an input nor an output of the model [E-ACC-HOOK]
!   hint: --out-nodes makes an inner tensor an output
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=loss --total-step=5
! tailor: error: --accelerate-train-mode: 'loss' is f32[], not one integer [E-ACC-HOOK]
? 1
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|loss' --observe-loss=x --final-loss=5
! tailor: error: --accelerate-train-mode: 'x' is f32[2,4], not one float [E-ACC-HOOK]
? 1
# Outputs that two variants cannot have.
$ tailor convert m.tir -o b.air -o b.onnx --accelerate_train_mode='fast|step' --observe-step=step --total-step=5
! tailor: error: --output: 'b.air' and 'b.onnx' would have the same plan 'b.switch.json'
!   hint: give them names that differ before the suffix
? 1
$ tailor convert m.tir -o - --accelerate_train_mode='fast|step' --observe-step=step --total-step=5
! tailor: error: --accelerate-train-mode: several files are written, which is impossible on standard output
!   hint: give the output a name
? 3
$ tailor convert - -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 <m.tir
! tailor: error: --accelerate-train-mode: the model is read once for each variant, which standard input does not allow
!   hint: give a file
? 3
$ tailor convert m.tir -o b.tir --fusion-result=f.json --accelerate_train_mode='fast|step' --observe-step=step --total-step=5
! tailor: error: --accelerate-train-mode: a fusion report describes one variant, and there are two
!   hint: convert once without --accelerate-train-mode for the report
? 3
# Nothing that is read is written over.
$ cp m.tir b.low.tir; tailor convert b.low.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5; rm b.low.tir
! tailor: error: --output: 'b.low.tir' is an input of this conversion and would be overwritten
$ cp n.bin b.onnx.data; sed 's/n.bin/b.onnx.data/' m.tir >b.tir; tailor convert b.tir -o b.onnx --accelerate_train_mode='fast|step' --observe-step=step --total-step=5; cmp n.bin b.onnx.data; ls b.*; rm b.*
> b.onnx.data
> b.tir
! tailor: error: --output: 'b.onnx.data' is an input of this conversion and would be overwritten
# All or nothing: the plan, the last file, cannot be written; what is new is gone, what was there stays.
$ mkdir a a/m.switch.json; tailor convert m.tir -o a/m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none; find a -mindepth 1 | sort
> a/m.switch.json
! a/m.switch.json: error: 'a/m.switch.json' is a folder, a file name was expected
$ for f in m.low.air m.high.onnx m.onnx.data; do echo old >a/$f; done; tailor convert m.tir -o a/m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none 2>/dev/null; tailor convert m.tir -o a/m.onnx --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none 2>/dev/null; ls -A a; cat a/m.*r a/m.high.onnx a/m.onnx.data; rm -r a
> m.high.onnx
> m.low.air
> m.onnx.data
> m.switch.json
> old
> old
> old
# Weights that do not fit.
$ mkdir a; (ulimit -f 4; tailor convert m.tir -o a/m.onnx --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none); echo $?; (ulimit -f 12; tailor convert m.tir -o a/m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none); echo $?; find a -mindepth 1; rm -r a
> 4
> 4
! a/m.onnx.data: error: cannot write 'a/m.onnx.data': File too large
! a/m.low.air: error: cannot write 'a/m.low.air': File too large
# The second variant fails: the first one leaves nothing.
$ mkdir a; tailor convert m.tir -o a/m.air --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none --soc_version=Ascend910A --precision_mode=must_keep_origin_dtype; find a -mindepth 1; rm -r a
! m.tir: error: node mm: BatchMatMulV2 does not take 'x1' as f32 in must_keep_origin_dtype; it takes f16, i8 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
! m.tir: error: node MatMul->y: BatchMatMulV2 does not take 'x1' as f32 in must_keep_origin_dtype; it takes f16, i8 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
! m.tir: error: node BatchMatMul->g: BatchMatMulV2 does not take 'x1' as f32 in must_keep_origin_dtype; it takes f16, i8 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
# Options that give inputs and outputs the low dtype, which the high variant has none of.
$ tailor convert m.tir -o b.tir --accelerate_train_mode='fast|step' --observe-step=step --total-step=5 --summary=none --keep-io-types=false; ls b.*
! m.tir: error: input 0 is "x": f16[2,4] in the low variant and "x": f32[2,4] in the high one [E-ACC-STATE]
!   hint: training passes its states from one variant to the other, so options and lists must not change inputs, outputs or their dtypes
! ls: cannot access 'b.*': No such file or directory
? 2
$ tailor convert m.tir -o b.tir --schedule-report=r.json --accelerate_train_mode='fast|step' --observe-step=step --total-step=5
! tailor: error: --accelerate-train-mode: a schedule report describes one variant, and there are two
!   hint: convert once without --accelerate-train-mode for the report
? 3
