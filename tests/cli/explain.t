# tailor explain: what fused, what nearly did and why not (docs/rules.md).
$ tailor explain
! tailor: error: no model is named
!   hint: tailor explain MODEL --fusion
? 1
$ printf 'rules 1\nrule Signs : graph "SignsFusionPass" numerics exact {\n  match { %%a = Softsign(%%x)  %%b = Tanh(%%a)  %%y = Elu(%%b) {alpha=$v} }\n  where { rank(%%x) == 2 && $v == 1  dtype(%%x) == f32  dim(%%x, 0) >= 2 }\n  replace { %%y = Mish(%%x) }\n}\n' >r.tlr
$ printf 'graph @g(%%x: f32[2,3], %%z: f32[3], %%h: f16[2,3], %%d: f32[N,3]) -> (%%y1, %%y2, %%t2, %%y3, %%y4, %%y5, %%y6, %%y7, %%y8, %%y9) {\n  %%a1 = Softsign(%%x) @fits.a\n  %%b1 = Tanh(%%a1) @fits.b\n  %%y1 = Elu(%%b1) @fits.c\n  %%a2 = Softsign(%%x) @out.a\n  %%t2 = Tanh(%%a2) @out.b\n  %%y2 = Elu(%%t2) @out.c\n  %%a3 = Softsign(%%x) @two.a\n  %%b3 = Tanh(%%a3) @two.b\n  %%y3 = Elu(%%b3) @two.c\n  %%y4 = Neg(%%b3) @two.other\n  %%a5 = Softsign(%%x) @attr.a\n  %%b5 = Tanh(%%a5) @attr.b\n  %%y5 = Elu(%%b5) @attr.c {alpha=0.5}\n  %%a6 = Softsign(%%z) @shape.a\n  %%b6 = Tanh(%%a6) @shape.b\n  %%y6 = Elu(%%b6) @shape.c\n  %%a7 = Softsign(%%h) @dtype.a\n  %%b7 = Tanh(%%a7) @dtype.b\n  %%y7 = Elu(%%b7) @dtype.c\n  %%a8 = Softsign(%%d) @dynamic.a\n  %%b8 = Tanh(%%a8) @dynamic.b\n  %%y8 = Elu(%%b8) @dynamic.c\n  %%a9 = Softsign(%%x) @stream.a stream 1\n  %%b9 = Tanh(%%a9) @stream.b\n  %%y9 = Elu(%%b9) @stream.c\n}\n' >m.tir
$ tailor explain m.tir --rules r.tlr
> AutomaticUbFusion: 1 fused, 0 not
>   fused  `out.a`, `out.b` ..., `attr.c` (6 nodes) are kernel 1, which saves 144 bytes
> SignsFusionPass: 1 fused, 7 not
>   fused  Signs: `fits.a`, `fits.b`, `fits.c` became Mish
>   not    Signs: `out.c`: GRAPH_OUTPUT: `out.b` has 1 consumer outside the pattern: graph output `t2`
>   not    Signs: `two.c`: MULTI_CONSUMER: `two.b` has 1 consumer outside the pattern: `two.other`
>   not    Signs: `attr.c`: ATTR: `$v == 1` does not hold: $v is 0.5
>   not    Signs: `shape.c`: SHAPE: `rank(%x) == 2` does not hold: rank(%x) is 1, %x is `z`: f32[3]
>   not    Signs: `dtype.c`: DTYPE: `dtype(%x) == f32` does not hold: dtype(%x) is f16, %x is `h`: f16[2,3]
>   not    Signs: `dynamic.c`: DYNAMIC: `dim(%x, 0) >= 2` cannot be told: dim(%x, 0) is unknown, %x is `d`: f32[N,3]
>   not    Signs: `stream.c`: STREAM_LABEL: `stream.a` is on stream 1, the root on -1
> TbeEltwiseFusionPass: 3 fused, 0 not
>   fused  `shape.a`, `shape.b`, `shape.c` are kernel 2, which saves 48 bytes
>   fused  `dtype.a`, `dtype.b`, `dtype.c` are kernel 3, which saves 48 bytes
>   fused  `stream.b`, `stream.c` are kernel 4, which saves 48 bytes
> TbeMultiOutputByWayFusionPass: 0 fused, 3 not
>   not    `dynamic.a`: DYNAMIC: `dynamic.a`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `dynamic.b`: DYNAMIC: `dynamic.b`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `stream.a`: STREAM_LABEL: `stream.b`: it runs on another stream (1 of 3 nodes fit)
$ tailor explain m.tir --rules r.tlr --fusion=SignsFusionPass --node=two.b
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `two.c`: MULTI_CONSUMER: `two.b` has 1 consumer outside the pattern: `two.other`
$ tailor explain m.tir --rules r.tlr --fusion=Signs --node=two.b --json
> [
>  {"pass": "SignsFusionPass", "fused": 0, "not": 1, "events": [
>   {"rule": "Signs", "effect": false, "node": "two.c", "why_not": "MULTI_CONSUMER", "reason": "`two.b` has 1 consumer outside the pattern: `two.other`", "pattern_nodes": 3, "nodes": ["two.a", "two.b", "two.c"]}]}
> ]
$ tailor explain m.tir --rules r.tlr --fusion=Signs --json | /usr/bin/python3 -c 'import json, sys; print([len(p["events"]) for p in json.load(sys.stdin)])'
> [8]
$ tailor explain m.tir --rules r.tlr --node=nobody
> neither the model nor its AIR form has a node `nobody`
> nothing was fused, and there was no near miss
$ tailor explain m.tir --rules r.tlr --node=nobody --json
> []
# Switched off: the same near misses, and one that would fit.
$ tailor explain m.tir --rules r.tlr --optimization-switch=SignsFusionPass:off --node=fits.b
> `fits.b` of the model became
>   Tanh `fits.b`, a node of the model
> life of `fits.b`
>   read                   Tanh `fits.b`: ?, node 2 of 25 of graph `g` of m.tir
>   infer-shapes           now Tanh `fits.b`: f32[2,3]
>   ub-fusion              AutomaticUbFusion: `fits.a`, `fits.b`, `fits.c`, `out.c`, `two.c`, `two.other`, `attr.c` are kernel 1, which saves 168 bytes of traffic
>   air                    Tanh `fits.b`: f32[2,3], node 2 of 19 of graph `g`
>   onnx                   Tanh `fits.b`: f32[2,3], node 2 of 19 of graph `g`
> AutomaticUbFusion: 1 fused, 0 not
>   fused  `fits.a`, `fits.b` ..., `attr.c` (7 nodes) are kernel 1, which saves 168 bytes
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `fits.c`: SWITCH_OFF: the pattern fits, but the rule is off: --optimization-switch
$ tailor explain m.tir --rules r.tlr -O1
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `fits.c`: SWITCH_OFF: the pattern fits, but the rule is off: level below O2
> TbeEltwiseFusionPass: 0 fused, 5 not
>   not    `fits.a`: SWITCH_OFF: level below O2
>   not    `attr.a`: SWITCH_OFF: level below O2
>   not    `shape.a`: SWITCH_OFF: level below O2
>   not    `dtype.a`: SWITCH_OFF: level below O2
>   not    `stream.b`: SWITCH_OFF: level below O2
> TbeMultiOutputByWayFusionPass: 0 fused, 3 not
>   not    `dynamic.a`: DYNAMIC: `dynamic.a`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `dynamic.b`: DYNAMIC: `dynamic.b`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `stream.a`: STREAM_LABEL: `stream.b`: it runs on another stream (1 of 3 nodes fit)
> TbeMultiOutputFusionPass: 0 fused, 2 not
>   not    `out.a`: SWITCH_OFF: level below O2
>   not    `two.a`: SWITCH_OFF: level below O2
# An op that is not there: most of the pattern fits.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Abs(%%x)\n  %%b = Tanh(%%a)\n  %%y = Elu(%%b)\n}\n' >op.tir; tailor explain op.tir --rules r.tlr
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `Elu->y`: OP: `Abs->a` is Abs, not Softsign
> TbeEltwiseFusionPass: 1 fused, 0 not
>   fused  `Abs->a`, `Tanh->b`, `Elu->y` are kernel 1, which saves 96 bytes
# Control edges, streams, other graphs.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%o) {\n  %%a = Softsign(%%x) @a\n  %%b = Tanh(%%a) @b label $1\n  %%o = Neg(%%x) @o after $1\n  %%y = Elu(%%b) @c\n}\n' >c.tir; tailor explain c.tir --rules r.tlr
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `c`: CTRL_INNER: `b` has a control edge
> TbeEltwiseFusionPass: 1 fused, 0 not
>   fused  `a`, `b`, `c` are kernel 1, which saves 96 bytes
$ printf 'graph @g(%%x: f32[2,3], %%c: bool[]) -> (%%y) {\n  %%a = Softsign(%%x) @a\n  %%y = If(%%c) @if {then_branch=graph @t() -> (%%p) {\n    %%b = Tanh(%%a) @b\n    %%p = Elu(%%b) @c\n  }, else_branch=graph @e() -> (%%q) {\n    %%q = Neg(%%x)\n  }}\n}\n' >i.tir; tailor explain i.tir --rules r.tlr
> SignsFusionPass: 0 fused, 1 not
>   not    Signs: `c`: PARTITION: `a` is in another graph than `c` (2 of 3 nodes fit)
> TbeEltwiseFusionPass: 1 fused, 0 not
>   fused  `b`, `c` are kernel 1, which saves 48 bytes
# Two rules want the same nodes: the first in order takes them.
$ printf 'rules 1\nrule Pair : graph "ZPairFusionPass" priority 1 numerics exact {\n  match { %%b = Tanh(%%x)  %%y = Elu(%%b) }\n  replace { %%y = Mish(%%x) }\n}\n' >p.tlr; tailor explain m.tir --rules r.tlr --rules p.tlr --node=fits.c
> `fits.c` of the model became
>   Mish `fits.c/Mish`, from `fits.a`, `fits.b`, `fits.c`, by `SignsFusionPass`
> life of `fits.c`
>   read                   Elu `fits.c`: ?, node 3 of 25 of graph `g` of m.tir
>   infer-shapes           now Elu `fits.c`: f32[2,3]
>   graph-fusion           SignsFusionPass/Signs: `fits.a`, `fits.b`, `fits.c` became Mish (r.tlr:2)
>   graph-fusion           now Mish `fits.c/Mish`: f32[2,3]
>   air                    Mish `fits.c/Mish`: f32[2,3], node 1 of 15 of graph `g`
>   onnx                   Mish `fits.c/Mish`: f32[2,3], node 1 of 15 of graph `g`
> SignsFusionPass: 1 fused, 0 not
>   fused  Signs: `fits.a`, `fits.b`, `fits.c` became Mish
> ZPairFusionPass: 0 fused, 1 not
>   not    Pair: `fits.c`: OVERLAP: `fits.c` went into SignsFusionPass/Signs
# A replacement that does not fit is taken back and explained.
$ printf 'rules 1\nrule Grow : graph numerics exact {\n  match { %%b = Tanh(%%x)  %%y = Elu(%%b) }\n  replace { %%y = Concat(%%x, %%x) {axis=0} }\n}\n' >g.tlr; tailor explain m.tir --rules g.tlr --node=fits.c
> `fits.c` of the model became
>   Elu `fits.c`, a node of the model
> life of `fits.c`
>   read                   Elu `fits.c`: ?, node 3 of 25 of graph `g` of m.tir
>   infer-shapes           now Elu `fits.c`: f32[2,3]
>   ub-fusion              AutomaticUbFusion: `fits.a`, `fits.b`, `fits.c`, `out.c`, `two.c`, `two.other`, `attr.c` are kernel 1, which saves 168 bytes of traffic
>   air                    Elu `fits.c`: f32[2,3], node 3 of 18 of graph `g`
>   onnx                   Elu `fits.c`: f32[2,3], node 3 of 18 of graph `g`
> AutomaticUbFusion: 1 fused, 0 not
>   fused  `fits.a`, `fits.b` ..., `attr.c` (7 nodes) are kernel 1, which saves 168 bytes
> Grow: 0 fused, 1 not
>   not    `fits.c`: SHAPE: the replacement of Grow does not fit: its result has another type
# Clean-up is explained when it is asked for by name.
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Relu(%%x)\n  %%y = Relu(%%a)\n}\n' >c.tir; tailor explain c.tir; tailor explain c.tir --fusion=ReluRelu
> nothing was fused, and there was no near miss
> ReluRelu: 1 fused, 0 not
>   fused  `Relu->a`, `Relu->y` became nothing new
$ tailor explain m.tir --fusion=Nobody
! tailor: error: --fusion: no fusion pass or rule is named 'Nobody'
!   hint: 'tailor passes --rules' lists them
? 1
$ tailor explain m.tir --fusion=TfMergeSubFusionPass
! tailor: error: --fusion: this version has no rules for 'TfMergeSubFusionPass'
? 3
# Expansions, for the chip that is asked for: what was spelled out, and why the rest was not.
$ printf 'graph @g(%%x: f32[2,n,4], %%q: f64[2,3], %%m: f32[2,3], %%w: f32[3,4], %%b: f32[4]) -> (%%a, %%o, %%t, %%f) {\n  const %%depth: i64[] = 3\n  const %%v: f32[2] = [0.5, 2.0]\n  %%a = ArgMax(%%x) @last {axis=1, keepdims=0, select_last_index=1}\n  %%o = OneHot(%%q, %%depth, %%v) @hot\n  %%t = ThresholdedRelu(%%x) @threshold\n  %%f = Gemm(%%m, %%w, %%b) @form\n}\n' >e.tir; tailor explain e.tir --expand
> ExpandArgLastOpen: 1 expanded, 0 not
>   expanded  `last` became 6 nodes, Sub the last
> ExpandOneHot: 1 expanded, 0 not
>   expanded  `hot` became 12 nodes, Where the last
> ExpandOneHotFloat: 1 expanded, 0 not
>   expanded  `hot` became 2 nodes, OneHot the last
> ExpandThresholdedRelu: 1 expanded, 0 not
>   expanded  `threshold` became 2 nodes, Where the last
$ tailor explain e.tir --fusion=ExpandThresholdedRelu; tailor explain e.tir --expand=ExpandOneHot --json
> ExpandThresholdedRelu: 1 expanded, 0 not
>   expanded  `threshold` became 2 nodes, Where the last
> [
>  {"pass": "ExpandOneHot", "expanded": 1, "not": 0, "events": [
>   {"rule": "ExpandOneHot", "effect": true, "node": "hot", "made": "Where", "pattern_nodes": 1, "nodes": ["hot"]}]}
> ]
$ tailor explain e.tir --expand --node=form; tailor explain e.tir --expand --node=nobody
> GemmToMatmulFusionPass: 0 expanded, 1 not
>   not       ExpandGemmAdd: `form`: NPU_FORM: the pattern fits, but the node has an NPU form of its own
> nothing was expanded, and there was no near miss
$ tailor explain e.tir --expand=Nobody
! tailor: error: --expand: no rule of kind expand is named 'Nobody'
!   hint: 'tailor passes --rules' lists them
? 1
$ tailor explain e.tir --expand --fusion
! tailor: error: --fusion and --expand ask for different things
!   hint: give one of them
? 1
