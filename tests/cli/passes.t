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
# Files of the module between passes, with an index. Each one reads as a model.
$ tailor opt a.tir --dump-dir=d -o b.tir && ls d | sed 's/^[0-9]*-//' && tailor opt d/*-clean-up.tir --passes=op-names -o - && cmp d/*-dead-nodes.tir b.tir
> input.tir
> infer-shapes.tir
> clean-up.tir
> dead-nodes.tir
> index.json
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Exp(%x) @a/b : f32[2,3]
>   %u = Exp(%y) @dead : f32[2,3]
> }
$ head -1 d/index.json; grep -E '"input"|"file": "' d/index.json | sed 's/"number": [0-9]*/"number": N/; s/"[0-9]*-/"N-/'
> {"schema": 1, "model": "a.tir", "form": "tir", "states": [
>  {"number": N, "pass": "input", "rewrites": 0, "nodes_before": 4, "nodes_after": 4, "file": "N-input.tir"},
>  {"number": N, "pass": "infer-shapes", "rewrites": 1, "nodes_before": 4, "nodes_after": 4, "file": "N-infer-shapes.tir"},
>  {"number": N, "pass": "clean-up", "rewrites": 1, "nodes_before": 4, "nodes_after": 2, "file": "N-clean-up.tir"},
>  {"number": N, "pass": "dead-nodes", "rewrites": 1, "nodes_before": 2, "nodes_after": 1, "file": "N-dead-nodes.tir"},
$ grep '"out-nodes"' d/index.json
>  {"number": 4, "pass": "out-nodes", "rewrites": 0, "nodes_before": 4, "nodes_after": 4, "file": null},
# Of an earlier dump nothing stays but what is not of a dump.
$ touch d/notes.txt d/99-notes.tir && tailor opt b.tir --dump-dir=d -o c.tir && ls d
> 00-input.tir
> 99-notes.tir
> index.json
> notes.txt
# Numbers go on in NPU form; a model that is read again begins again.
$ tailor convert a.tir --dump-dir=e -q -o b.air && ls e | sed 's/^[0-9]*-//'
> input.tir
> infer-shapes.tir
> clean-up.tir
> dead-nodes.tir
> select.tir
> lower.tir
> index.json
$ tailor convert a.tir --dump-dir=e -q --precision-mode-v2=fp16 -o b.air -o b.onnx && ls e | sed 's/^[0-9]*-//'
> input.tir
> infer-shapes.tir
> clean-up.tir
> dead-nodes.tir
> select.tir
> precision.tir
> input.tir
> infer-shapes.tir
> clean-up.tir
> dead-nodes.tir
> select.tir
> precision.tir
> lower.tir
> ub-fusion.tir
> index.json
$ tailor convert a.tir --dump-dir=e --dump-form=pbtxt -q -o b.air && ls e | sed 's/^[0-9]*-//' && grep -c op_type e/*-lower.pbtxt
> lower.pbtxt
> index.json
> 3
$ grep -c '"file": "' e/index.json; grep -o '"form": "[a-z]*"' e/index.json
> 1
> "form": "pbtxt"
# A failure leaves neither files nor a new folder, and the files of an earlier dump.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = my::Op(%%t)\n}\n' >no.tir; tailor convert no.tir --dump-dir=f -q -o f.air; test -e f || echo no folder
> no folder
! no.tir: error: 1 op type has no NPU form: my::Op x1 ('Op->y'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
$ tailor convert no.tir --dump-dir=e -q -o f.air; ls e | sed 's/^[0-9]*-//'
> lower.pbtxt
> index.json
! no.tir: error: 1 op type has no NPU form: my::Op x1 ('Op->y'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
$ touch file; tailor opt a.tir --dump-dir=file -o e.tir
! file: error: cannot create folder 'file': File exists
? 4
$ tailor opt a.tir --dump-dir=missing/folder -o e.tir
! missing/folder: error: cannot create folder 'missing/folder': No such file or directory
? 4
$ tailor opt a.tir --dump-dir=/proc/self -o e.tir
! /proc/self/00-input.tir: error: cannot create a temporary file for '/proc/self/00-input.tir': No such file or directory
? 4
$ tailor opt d/00-input.tir --dump-dir=d -o e.tir; cmp d/00-input.tir b.tir
! tailor: error: --dump-dir: 'd/00-input.tir' is an input of this command and would be overwritten
$ tailor opt a.tir --dump-form=tir -o e.tir
! tailor: error: --dump-form: has no effect without --dump-dir
? 1
$ tailor opt a.tir --dump-form=pbtxt --dump-dir=f -o e.tir
! tailor: error: --dump-form: GE's dumps show NPU form, which this command does not make
!   hint: opt makes it with --npu, convert for an AIR file; --dump-form=tir shows every form
? 1
$ tailor convert a.tir --dump-form=pbtxt --dump-dir=f -o e.onnx
! tailor: error: --dump-form: GE's dumps show NPU form, which this command does not make
!   hint: opt makes it with --npu, convert for an AIR file; --dump-form=tir shows every form
? 1
$ tailor opt a.tir --dump-dir= -o e.tir
! tailor: error: --dump-dir: the value is empty [E10054]
!   hint: write --dump-dir=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
$ test -e e.tir || test -e e.onnx || test -e f || echo nothing was written
> nothing was written
# What each rule did: tried = fired + refused, in words and as JSON.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%z) {\n  %%a = Neg(%%x)\n  %%b = Neg(%%a)\n  %%y = Exp(%%b)\n  %%c = Exp(%%x) @c\n  %%d = Sigmoid(%%c) @d\n  %%e = Mul(%%c, %%d) @e\n  %%z = Add(%%e, %%d) @z\n}\n' >r.tir; tailor opt r.tir --stats -o b.tir 2>&1 | grep tried
> NegNeg  tried 1, matched 1, fired 1
> SwishFusion/SwishPlain  tried 1, matched 1, fired 0; refused: MULTI_CONSUMER 1
> SwishFusion/SwishShared  tried 1, matched 1, fired 0; refused: GRAPH_OUTPUT 1
> MulAddFusionPass/MulAdd  tried 1, matched 1, fired 0; refused: GRAPH_OUTPUT 1
> MulAddNPass/MulAddN  tried 1, matched 1, fired 0; refused: SHAPE 1
> 1 more rule was tried; --stats=json has them
$ tailor opt r.tir --stats=json -o b.tir 2>&1 | /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["schema"], d["rewrites"] == sum(p["rewrites"] for p in d["passes"]), all(r["tried"] == r["fired"] + sum(r["refused"].values()) for r in d["rules"]))'
> 1 True True
$ tailor opt r.tir --stats=json -o b.tir 2>&1 | grep -E '"(NegNeg|SwishFusion[A-Za-z]*|Swish)"'
>  {"fusion": "NegNeg", "rule": "NegNeg", "tried": 1, "matched": 1, "fired": 1, "refused": {}},
>  {"fusion": "SwishFusion", "rule": "SwishPlain", "tried": 1, "matched": 1, "fired": 0, "refused": {"MULTI_CONSUMER": 1}},
>  {"fusion": "SwishFusion", "rule": "SwishShared", "tried": 1, "matched": 1, "fired": 0, "refused": {"GRAPH_OUTPUT": 1}},
# The bound on rewrites is a reason; rules of the NPU form are counted, too.
$ tailor opt r.tir --stats --rewrite-limit=1 -o b.tir 2>&1 | grep LIMIT
> NegNeg  tried 1, matched 1, fired 0; refused: LIMIT 1
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = ThresholdedRelu(%%x)\n}\n' >t.tir; tailor convert t.tir -o b.air --summary=none --stats 2>&1 | grep tried
> ExpandThresholdedRelu  tried 1, matched 1, fired 1
$ tailor opt a.tir --stats=xml -o e.tir
! tailor: error: --stats: 'xml' is not one of text|json [E10001]
? 1
$ tailor opt a.tir --stats -q -o b.tir
# A trace of the compiler. Times differ from run to run; what is in it does not.
$ tailor convert r.tir -o b.air -q --trace-compiler=t.json && /usr/bin/python3 -c 'import json; e = json.load(open("t.json"))["traceEvents"]; print([x["name"] for x in e if x.get("cat") in ("file", "rewrite")]); p = {x["name"]: x for x in e if x.get("cat") == "pass"}; print(p["clean-up"]["args"]); print(all(p["clean-up"]["ts"] <= x["ts"] for x in e if x["name"] == "NegNeg")); print(sorted({x["tid"] for x in e if x["ph"] == "X"}))'
> ['read r.tir', 'NegNeg', 'write b.air']
> {'rewrites': 1, 'nodes_before': 7, 'nodes_after': 5}
> True
> [1, 2]
$ cp r.tir in.tir; tailor opt in.tir -o b.tir --trace-compiler=in.tir; cmp in.tir r.tir
! tailor: error: --trace-compiler: 'in.tir' is an input of this command and would be overwritten
$ tailor opt r.tir -o e.tir --trace-compiler=missing/t.json
! missing/t.json: error: cannot create a temporary file for 'missing/t.json': No such file or directory
? 4
$ tailor convert no.tir -o e.air -q --trace-compiler=f.json
! no.tir: error: 1 op type has no NPU form: my::Op x1 ('Op->y'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ test -e e.tir || test -e e.air || test -e f.json || echo nothing was written
> nothing was written
