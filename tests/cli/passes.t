# What passes change: the module around them, as a whole, as differences, and parts of it.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x) @a/b\n  %%u = Exp(%%t) @dead\n  %%n = Neg(%%t) @a/n\n  %%y = Neg(%%n) @a/m\n}\n' >a.tir
$ tailor opt a.tir --print-changed=dead-nodes -o b.tir
! --- before dead-nodes
! +++ after dead-nodes
! @@ -1,4 +1,3 @@
!  graph @g(%x: f32[2,3]) -> (%y) {
!    %y = Exp(%x) @a/b : f32[2,3]
! -  %u = Exp(%y) @dead : f32[2,3]
!  }
$ tailor opt a.tir --print-changed=dead-nodes --print-changed-form=full -o b.tir
! # ---- after dead-nodes ----
! graph @g(%x: f32[2,3]) -> (%y) {
!   %y = Exp(%x) @a/b : f32[2,3]
! }
$ tailor opt a.tir --print-changed --print-changed-form=diff --color=always -o b.tir 2>&1 | cat -v
> ^[[1m--- before infer-shapes^[[0m
> ^[[1m+++ after infer-shapes^[[0m
> ^[[36m@@ -1,6 +1,6 @@^[[0m
>  graph @g(%x: f32[2,3]) -> (%y) {
> ^[[31m-  %t = Exp(%x) @a/b^[[0m
> ^[[31m-  %u = Exp(%t) @dead^[[0m
> ^[[31m-  %n = Neg(%t) @a/n^[[0m
> ^[[31m-  %y = Neg(%n) @a/m^[[0m
> ^[[32m+  %t = Exp(%x) @a/b : f32[2,3]^[[0m
> ^[[32m+  %u = Exp(%t) @dead : f32[2,3]^[[0m
> ^[[32m+  %n = Neg(%t) @a/n : f32[2,3]^[[0m
> ^[[32m+  %y = Neg(%n) @a/m : f32[2,3]^[[0m
>  }
> ^[[1m--- before clean-up^[[0m
> ^[[1m+++ after clean-up^[[0m
> ^[[36m@@ -1,6 +1,4 @@^[[0m
>  graph @g(%x: f32[2,3]) -> (%y) {
> ^[[31m-  %t = Exp(%x) @a/b : f32[2,3]^[[0m
> ^[[31m-  %u = Exp(%t) @dead : f32[2,3]^[[0m
> ^[[31m-  %n = Neg(%t) @a/n : f32[2,3]^[[0m
> ^[[31m-  %y = Neg(%n) @a/m : f32[2,3]^[[0m
> ^[[32m+  %y = Exp(%x) @a/b : f32[2,3]^[[0m
> ^[[32m+  %u = Exp(%y) @dead : f32[2,3]^[[0m
>  }
> ^[[1m--- before dead-nodes^[[0m
> ^[[1m+++ after dead-nodes^[[0m
> ^[[36m@@ -1,4 +1,3 @@^[[0m
>  graph @g(%x: f32[2,3]) -> (%y) {
>    %y = Exp(%x) @a/b : f32[2,3]
> ^[[31m-  %u = Exp(%y) @dead : f32[2,3]^[[0m
>  }
# Neither colours nor anything else in a pipe; nothing is printed of passes that changed nothing.
$ tailor opt b.tir --print-changed -o c.tir && cmp b.tir c.tir
$ tailor opt a.tir --print-before=dead-nodes --print-after=dead-nodes --print-changed=dead-nodes --print-changed-form=full -o b.tir
! # ---- before dead-nodes ----
! graph @g(%x: f32[2,3]) -> (%y) {
!   %y = Exp(%x) @a/b : f32[2,3]
!   %u = Exp(%y) @dead : f32[2,3]
! }
! # ---- after dead-nodes ----
! graph @g(%x: f32[2,3]) -> (%y) {
!   %y = Exp(%x) @a/b : f32[2,3]
! }
# One node, what is beside it, and what it becomes; the nodes of a scope.
$ tailor opt a.tir --print-changed --print-only=dead -o b.tir
! --- before infer-shapes
! +++ after infer-shapes
! @@ -1,2 +1,2 @@
! -  %t = Exp(%x) @a/b
! -  %u = Exp(%t) @dead
! +  %t = Exp(%x) @a/b : f32[2,3]
! +  %u = Exp(%t) @dead : f32[2,3]
! --- before clean-up
! +++ after clean-up
! @@ -1,2 +1,2 @@
! -  %t = Exp(%x) @a/b : f32[2,3]
! -  %u = Exp(%t) @dead : f32[2,3]
! +  %y = Exp(%x) @a/b : f32[2,3]
! +  %u = Exp(%y) @dead : f32[2,3]
! --- before dead-nodes
! +++ after dead-nodes
! @@ -1,2 +0,0 @@
! -  %y = Exp(%x) @a/b : f32[2,3]
! -  %u = Exp(%y) @dead : f32[2,3]
$ tailor opt a.tir --print-before=infer-shapes --print-only=a -o b.tir
! # ---- before infer-shapes ----
!   %t = Exp(%x) @a/b
!   %n = Neg(%t) @a/n
!   %y = Neg(%n) @a/m
$ tailor opt a.tir --print-before=infer-shapes --print-only=a/ -o b.tir
! # ---- before infer-shapes ----
!   %t = Exp(%x) @a/b
!   %n = Neg(%t) @a/n
!   %y = Neg(%n) @a/m
$ tailor opt a.tir --print-before=infer-shapes --print-only=t -o b.tir
! # ---- before infer-shapes ----
!   %t = Exp(%x) @a/b
!   %u = Exp(%t) @dead
!   %n = Neg(%t) @a/n
$ printf 'graph @g(%%x: f32[4]) -> (%%y) {\n  %%e = Exp(%%x) @e\n  %%s = Sigmoid(%%e) @s\n  %%y = Mul(%%e, %%s) @m\n}\n' >swish.tir
$ tailor opt swish.tir --print-changed=graph-fusion --print-only=s -o b.tir
! --- before graph-fusion
! +++ after graph-fusion
! @@ -1,3 +1,2 @@
!    %e = Exp(%x) @e : f32[4]
! -  %s = Sigmoid(%e) @s : f32[4]
! -  %y = Mul(%e, %s) @m : f32[4]
! +  %y = tl::Swish(%e) @m/Swish : f32[4]
# Passes of the NPU form, in opt and in convert.
$ tailor opt a.tir --npu --print-changed=lower -o b.tir
! --- before lower
! +++ after lower
! @@ -1,7 +1,7 @@
!  module {
! -  form selected
! +  form npu
!  }
!
!  graph @g(%x: f32[2,3]) -> (%y) {
! -  %y = Exp(%x) @a/b : f32[2,3] npu Exp
! +  %y = npu::Exp(%x) @a/b {original_type="ai.onnx::21::Exp"} : f32[2,3]
!  }
$ tailor convert a.tir -o b.air -q --print-changed=lower --print-only=a/b
! --- before lower
! +++ after lower
! @@ -1,1 +1,1 @@
! -  %y = Exp(%x) @a/b : f32[2,3] npu Exp
! +  %y = npu::Exp(%x) @a/b {original_type="ai.onnx::21::Exp"} : f32[2,3]
$ tailor opt a.tir --npu --stats -o b.tir 2>&1 | grep -c -E '^(dead-nodes|lower|all) '
> 3
$ tailor convert a.tir -o b.air --summary=none --stats 2>&1 | grep -E '^(dead-nodes|lower|all) '
> dead-nodes               1 rewrites, nodes 2 -> 1
> lower                    1 rewrites, nodes 1 -> 1
> all                      4 rewrites
$ tailor convert a.tir -o b.air --summary=none --time-passes=json 2>&1 | grep -c '"lower": [0-9]'
> 1
$ tailor convert a.tir -o b.air -o b.onnx --precision-mode-v2=fp16 --summary=none --stats 2>&1 | grep -c '^infer-shapes '
> 2
# Mistakes.
$ tailor opt a.tir --print-changed --print-only=nobody -o e.tir
! tailor: error: --print-only: 'nobody' is neither a node nor a scope of the model, before or after any pass
? 1
$ tailor convert a.tir --print-changed --print-only=nobody -o e.air
! tailor: error: --print-only: 'nobody' is neither a node nor a scope of the model, before or after any pass
? 1
$ test -e e.tir || test -e e.air || echo nothing was written
> nothing was written
$ tailor opt a.tir --print-only=dead -o e.tir
! tailor: error: --print-only: has no effect without --print-before, --print-after or --print-changed
? 1
$ tailor opt a.tir --print-changed --print-only= -o e.tir
! tailor: error: --print-only: the value is empty [E10054]
!   hint: write --print-only=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor opt a.tir --print-changed-form=full -o e.tir
! tailor: error: --print-changed-form: has no effect without --print-changed
? 1
$ tailor opt a.tir --print-changed=nothing -o e.tir
! tailor: error: --print-changed: 'nothing' is not a pass
!   hint: 'tailor passes' lists them
? 1
$ tailor opt a.tir --print-after=lower -o b.tir
! tailor: warning: --print-after: pass 'lower' did not run, so nothing was printed
$ tailor opt a.tir --print-changed --print-changed-form=short -o e.tir
! tailor: error: --print-changed-form: 'short' is not one of diff|full [E10001]
? 1
$ tailor convert a.tir --dry-run --print-changed=nothing -o e.air
! tailor: error: --print-changed: 'nothing' is not a pass
!   hint: 'tailor passes' lists them
? 1
