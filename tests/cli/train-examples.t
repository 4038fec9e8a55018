# SPDX-License-Identifier: Apache-2.0
# What worked examples of training steps say beside the graph that they give (tests/train/examples.txt).
$ printf 'graph @g(%%x: f32[1,2], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[] = 0.1) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%gw = Transpose(%%x) {perm=[1, 0]}\n  %%d = Mul(%%gw, %%lr)\n  %%w_new = Sub(%%w, %%d)\n}\n' >step.tir
# Example 2: one rank. The graph stays as it is.
$ tailor opt step.tir -o one.tir --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=1 --log=info; grep -c Hcom one.tir
> 0
! step.tir: note: one rank: gradients need no AllReduce
? 1
# Forced, it is summed up and divided by 1.
$ tailor opt step.tir --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=1 --force-allreduce=1 | grep '1\.0$\|AllReduce\|Div'
>   const %tlr.ranks/const: f32[] = 1.0
>   %gw/HcomAllReduce = npu.hcom::HcomAllReduce(%gw) @NPUOptimizer_Allreduce/w {reduction="sum", group="hccl_world_group", fusion=1, fusion_id=-1} : f32[2,1]
>   %gw/Div = Div(%gw/HcomAllReduce, %tlr.ranks/const) : f32[2,1]
>   %d = Mul(%gw/Div, %lr) : f32[2,1]
# Example 4: a second run gives the same bytes.
$ tailor opt step.tir -o once.tir --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=4 && tailor opt once.tir -o twice.tir --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=4 && cmp once.tir twice.tir && grep -c AllReduce twice.tir
> 2
# Example 13: shares go before numbers.
$ printf 'graph @g(%%a: f32[6], %%b: f32[2], %%c: f32[2]) -> (%%x, %%y, %%z) {\n  %%x = npu.hcom::HcomAllReduce(%%a) @ar0 {group="g", reduction="sum"}\n  %%y = npu.hcom::HcomAllReduce(%%b) @ar1 {group="g", reduction="sum"}\n  %%z = npu.hcom::HcomAllReduce(%%c) @ar2 {group="g", reduction="sum"}\n}\n' >ar.tir
$ tailor opt ar.tir --passes=infer-shapes,ar-bucket --bucket-pad=0 --bucket-sizes=60,40 --bucket-indices=1,2 | grep -o 'HcomAllReduce(.*) @ar.'
> HcomAllReduce(%a) @ar0
> HcomAllReduce(%b, %c) @ar1
! tailor: warning: --bucket-indices: has no effect, because a list that is given, too, overrides it
$ tailor opt ar.tir --passes=infer-shapes,ar-bucket --bucket-pad=0 --bucket-indices=1,2 | grep -o 'HcomAllReduce(.*) @ar.'
> HcomAllReduce(%a, %b) @ar0
> HcomAllReduce(%c) @ar2
$ tailor opt ar.tir --passes=infer-shapes,ar-bucket --bucket-pad=0 --bucket-indices=0,1
! tailor: error: the indices of the last gradients of buckets must ascend, from 0 on, and end with 2, the last of 3 gradients; at most 8 [E-BKT-IDX]
? 1
# Example 24: without ranks the tail stays as it is.
$ tailor opt step.tir -o plain.tir --passes=infer-shapes,train-detect,tail-opt,schedule --graph-run-mode=1 && tailor opt step.tir -o tail.tir --passes=infer-shapes,train-detect,tail-opt,schedule --graph-run-mode=1 --is-tailing-optimization=true && cmp plain.tir tail.tir
! tailor: warning: --is-tailing-optimization: is ignored: nothing is distributed (is_distributed) [W-TAIL-LOCAL]
$ tailor opt step.tir --passes=infer-shapes,tail-opt --is-distributed=true --rank-size=8 --is-tailing-optimization=false --optimizer-is-tailing-optimization=true
! tailor: error: --optimizer-is-tailing-optimization: is true in NPUOptimizer and false in NPURunConfig [E-TAIL-MISMATCH]
!   hint: write the same in both
? 1
# Example 39: ranks counted at run time cannot be in a factor.
$ tailor opt step.tir --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=0 --average=fold | grep 'graph\|Div'
> graph @g(%x: f32[1,2], %w: f32[2,1] = [1.0, 1.0], %lr: f32[] = 0.1, %tlr.rank_size: f32[]) -> (%L, %w_new) {
>   %gw/Div = Div(%gw/HcomAllReduce, %tlr.rank_size) : f32[2,1]
>   %d = Mul(%gw/Div, %lr) : f32[2,1]
! step.tir: warning: average=fold needs the number of ranks, which is not known before the run; post_div is used [W-AR-RUNTIMEN]
