# SPDX-License-Identifier: Apache-2.0
# What tail optimization says that it did, tried and cannot do (docs/training-schedule.md).
$ printf 'graph @g(%%x: f32[4,4], %%lr: f32[], %%t: i64[], %%w: f32[4,4], %%v: f32[4,4], %%m: f32[4,4], %%n: f32[4,4]) -> (%%w_out, %%v_out, %%m_out, %%n_out) {\n  const %%zero = f32[] 0.0\n  const %%axes = i64[2] [0, 1]\n  const %%one = i64[1] [1]\n  %%gv = MatMul(%%x, %%x) @B2\n  %%rv = npu.hcom::HcomAllReduce(%%gv) @AR1 {reduction="sum", group="g", fusion=1} : f32[4,4]\n  %%gw = MatMul(%%gv, %%x) @B1\n  %%rw = npu.hcom::HcomAllReduce(%%gw) @AR2 {reduction="sum", group="g", fusion=1} : f32[4,4]\n  %%v_out, %%w_out, %%n_out, %%m_out = ai.onnx.preview.training::Momentum(%%lr, %%t, %%v, %%w, %%rv, %%rw, %%n, %%m) @STEP {alpha=0.9, beta=1.0, mode="standard", norm_coefficient=0.0}\n  state %%w -> %%w_out\n  state %%v -> %%v_out\n  state %%m -> %%m_out\n  state %%n -> %%n_out\n  gradient %%v -> %%gv\n  gradient %%w -> %%gw\n}\n' >net.tir
$ printf 'name,us\nAR2,9000000\nNORM,9000000\n' >long.csv
$ printf 'tailor opt --passes=infer-shapes,tail-opt --remarks --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit --is-tailing-optimization=true --optimizer-is-tailing-optimization=true -o out.tir "$@" 2>&1' >step
# An optimizer that steps tensors of two buckets.
$ sh step net.tir
> remark: tail-opt: "AR2": 1 updates of several tensors split
# Not one behind an edge of the user, nor one whose moments are not all taken: nothing is even tried.
$ sed 's/norm_coefficient=0.0}/norm_coefficient=0.0} after %rv/' net.tir >edge.tir; sh step edge.tir
$ sed 's/, %m_out = ai/ = ai/; s/, %m_out, %n_out) {/, %n_out) {/; /state %m/d' net.tir >fewer.tir; sh step fewer.tir
# Nor lists whose moments are of another type than the weights.
$ sed 's/^  %v_out, .*/  %ws = SequenceConstruct(%w, %v)\n  %gs = SequenceConstruct(%rw, %rv)\n  %mc = Cast(%m) {to=11}\n  %nc = Cast(%n) {to=11}\n  %ms = SequenceConstruct(%mc, %nc)\n  %flag, %wo, %mo, %vo = com.microsoft::AdamWOptimizer(%lr, %t, %ws, %gs, %ms, %ms) @STEP : i64[], seq(f32[4,4]), seq(f64[4,4]), seq(f64[4,4])\n  const %i0 = i64[] 0\n  const %i1 = i64[] 1\n  %w_out = SequenceAt(%wo, %i0)\n  %v_out = SequenceAt(%wo, %i1)/; s/, %m_out, %n_out) {/) {/; /state %[mn]/d' net.tir >wide.tir; sh step wide.tir --profile=long.csv
# A norm of all gradients in f32, and one in f16, whose squares would overflow.
$ sed 's/^  %v_out, .*/  %rvh = Cast(%rv) {to=1}\n  %rwh = Cast(%rw) {to=1}\n  %norm = com.microsoft::ReduceAllL2(%rvh, %rwh) : f32[]\n  %k = Cast(%norm) {to=1}\n  %dv = Div(%rv, %k)\n  %dw = Div(%rw, %k)\n  %w_out = Sub(%w, %dw)\n  %v_out = Sub(%v, %dv)/; s/, %m_out, %n_out) {/) {/; /state %[mn]/d' net.tir >norm.tir; sh step norm.tir --profile=long.csv
> remark: tail-opt: "AR2": 1 norms over all gradients split
$ sed 's/h = Cast(\(.*\)) {to=1}/h = Cast(\1) {to=10}/; s/: f32\[\]$/: f16[]/' norm.tir >half.tir; sh step half.tir --profile=long.csv
# A barrier behind one bucket is no joint; one behind two is.
$ sed 's/^  %v_out, .*/  npu.test::NoOp() @ALL label $0 after %rw gate\n  %w_out = Sub(%w, %rw) after $0 gate\n  %v_out = Sub(%v, %rv) after $0 gate/; s/, %m_out, %n_out) {/) {/; /state %[mn]/d' net.tir >barrier.tir; sh step barrier.tir
> remark: tail-opt: "AR2": 2 control edges removed
$ sed 's/after %rw gate/after %rw gate after %rv gate/' barrier.tir >both.tir; sh step both.tir
> remark: tail-opt: "AR2": 1 barriers split
> remark: tail-opt: "AR2": 1 control edges removed
# One flag, which all ranks have alike: one is dropped.
$ sed 's/^  %v_out, .*/  %zv = Mul(%rv, %zero) meta "tailor.nofold" "1"\n  %nv = ReduceSum(%zv, %axes) {keepdims=0} meta "tailor.nofold" "1"\n  %zw = Mul(%rw, %zero) meta "tailor.nofold" "1"\n  %nw = ReduceSum(%zw, %axes) {keepdims=0} meta "tailor.nofold" "1"\n  %sum = Sum(%nv, %nw) @CHK\n  %nan = IsNaN(%sum)\n  %flag = Cast(%nan) {to=1}\n  %flag1 = Reshape(%flag, %one)\n  %all1 = npu.hcom::HcomAllReduce(%flag1) @FLAG {reduction="sum", group="g", fusion=0} : f32[1]\n  %all = Squeeze(%all1)\n  %finite = Equal(%all, %zero)\n  %cv = Sub(%v, %rv)\n  %cw = Sub(%w, %rw)\n  %v_out = Where(%finite, %cv, %v)\n  %w_out = Where(%finite, %cw, %w)/; s/, %m_out, %n_out) {/) {/; /state %[mn]/d' net.tir >flag.tir; sh step flag.tir
> remark: tail-opt: "AR2": 1 flags that are equal on all ranks
# What `bisect` asks for: with one change fewer the last one is left out.
$ sed 's/%cv = Sub(%v, %rv)/%cv = Sub(%v, %rv) after %rw gate/' flag.tir >gate.tir; sh step gate.tir
> remark: tail-opt: "AR2": 1 control edges removed
> remark: tail-opt: "AR2": 1 flags that are equal on all ranks
$ sh step gate.tir --rewrite-limit=2
> remark: tail-opt: "AR2": 1 control edges removed
# Two flags that come too late are warned of once; a flag that is computed in a branch is seen, too.
$ sed 's/^  %nan = /  %flagb = IsNaN(%nw)\n  %flagc = Cast(%flagb) {to=1}\n  %flagd = Reshape(%flagc, %one)\n  %allb = npu.hcom::HcomAllReduce(%flagd) @FLAGB {reduction="sum", group="g", fusion=0} : f32[1]\n  %allc = Squeeze(%allb)\n  %finiteb = Equal(%allc, %zero)\n&/; s/Where(%finite, %cw/Where(%finiteb, %cw/' flag.tir >flags.tir; sh step flags.tir --tail-mode=early_local
> flags.tir: warning: node FLAGB: the overflow flag depends on the last bucket and is computed after it [W-TAIL-CLIP]
>   hint: a norm over all gradients needs all of them
$ sed 's/^  %sum = .*/  const %yes = bool[] true\n  %sum = If(%yes) {then_branch=graph () -> (%s1) {\n    %s1 = Sum(%nv, %nw)\n  }, else_branch=graph () -> (%s2) {\n    %s2 = Sum(%nw, %nv)\n  }}/' flag.tir >branch.tir; sh step branch.tir --tail-mode=early_local
> branch.tir: warning: node FLAG: the overflow flag depends on the last bucket and is computed after it [W-TAIL-CLIP]
>   hint: a norm over all gradients needs all of them
# Two nodes that read states behind their writers are warned of once.
$ sed 's/^  %v_out, .*/  %w_out = Sub(%w, %rw)\n  %v_out = Sub(%v, %rv)\n  %p = Sub(%w_out, %w)\n  %q = Sub(%v_out, %v)/; s/, %m_out, %n_out) {/, %p, %q) {/; /state %[mn]/d' net.tir >late.tir; sh step late.tir --inplace-state=1
> late.tir: warning: node Sub->p: reads a state behind the node that updates it in place [W-TAIL-STATE]
>   hint: read a copy that is made before, or leave inplace_state off
> remark: tail-opt: missed: "AR2": only the updates of its own gradients wait for the last bucket: there is no overflow check and no norm over all gradients, so tail optimization changes nothing
# What begins when the last bucket ends is later, what begins before overlaps: AR2 takes from 18 to 26, S ends at 26 or 20.
$ sed 's/^  %v_out, .*/  %dv = Mul(%rv, %lr) @S\n  %v_out = Sub(%v, %dv) @U\n  %w_out = Sub(%w, %rw) @W/; s/, %m_out, %n_out) {/) {/; /state %[mn]/d' net.tir >times.tir; printf 'name,us\nB2,10\nB1,5\nAR1,8\nAR2,8\nS,8\nU,1\nW,1\n' >times.csv; sh step times.tir --profile=times.csv --tail-explain=- | grep verdict
>   {"name": "AR1", "verdict": "earlier"},
>   {"name": "S", "verdict": "overlaps"},
>   {"name": "U", "verdict": "later"},
>   {"name": "W", "verdict": "data", "because": "AR2"}]}
$ sed 's/S,8/S,2/; s/U,1/U,7/' times.csv >early.csv;  sh step times.tir --profile=early.csv --tail-explain=- | grep -E '"[SU]"'
>   {"name": "S", "verdict": "overlaps"},
>   {"name": "U", "verdict": "overlaps"},
# Whether a sum of flags is only compared with 0 is looked for behind four views, and no further.
$ sed 's/%finite = Equal(%all,/%v2 = Identity(%all)\n  %v3 = Identity(%v2)\n  %v4 = Identity(%v3)\n  %finite = Equal(%v4,/' flag.tir >views.tir; sh step views.tir; sed 's/%finite = Equal(%v4,/%v5 = Identity(%v4)\n  %finite = Equal(%v5,/' views.tir >more.tir; sh step more.tir
> remark: tail-opt: "AR2": 1 flags that are equal on all ranks
# A flag goes in front of the last bucket, unless the update of that bucket takes long and the flag as well.
$ sed 's/Sum(%nv, %nw) @CHK/Identity(%nv) @CHK/; s/%cw = Sub(%w, %rw)/%cw = Sub(%w, %rw) @CW/' flag.tir >front.tir; printf 'name,us\nFLAG,8\n' >short.csv; sh step front.tir --tail-mode=early_local --profile=short.csv; printf 'name,us\nFLAG,500\nCW,400\n' >slow.csv; sh step front.tir --tail-mode=early_local --profile=slow.csv; grep -n -E 'AR2|FLAG' out.tir | grep -o '@[A-Z0-9]*'
> remark: tail-opt: "AR2": 1 flags ordered before the last bucket
> remark: tail-opt: missed: "AR2": 1 flags ordered before the last bucket: the step would take longer
> remark: tail-opt: missed: "AR2": is_tailing_optimization is off: the step would take longer with each of its changes
> @AR2
> @FLAG
