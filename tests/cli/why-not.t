# tailor explain --why-not: the first condition in the way of rules at a node, and what would satisfy it.
$ printf 'rules 1\nrule Signs : graph "SignsFusionPass" numerics exact {\n  match { %%a = Softsign(%%x)  %%b = Tanh(%%a)  %%y = Elu(%%b) {alpha=$v} }\n  where { rank(%%x) == 2 && $v == 1  dim(%%x, 0) >= 2 }\n  replace { %%y = Mish(%%x) }\n}\nrule Tail : graph "TailFusionPass" numerics exact {\n  match { %%b = Tanh(%%a)  %%y = Elu(%%b) }\n  replace { %%y = Selu(%%a) }\n}\nrule Lonely : late numerics exact {\n  match { %%y = Tanh(%%a) }\n  replace { %%y = Erf(%%a) }\n}\n' >r.tlr
$ printf 'graph @g(%%x: f32[2,3], %%w: f32[2,3], %%z: f32[3], %%d: f32[N,3]) -> (%%y1, %%y2, %%t2, %%y3, %%y4, %%y5, %%y6, %%y8) {\n  %%a1 = Softsign(%%x) @fits.a\n  %%b1 = Tanh(%%a1) @fits.b\n  %%y1 = Elu(%%b1) @fits.c\n  %%a2 = Softsign(%%w) @out.a\n  %%t2 = Tanh(%%a2) @out.b\n  %%y2 = Elu(%%t2) @out.c\n  %%n3 = Neg(%%x)\n  %%a3 = Softsign(%%n3) @two.a\n  %%b3 = Tanh(%%a3) @two.b\n  %%y3 = Elu(%%b3) @two.c\n  %%y4 = Abs(%%b3) @two.other\n  %%n5 = Neg(%%w)\n  %%a5 = Softsign(%%n5) @attr.a\n  %%b5 = Tanh(%%a5) @attr.b\n  %%y5 = Elu(%%b5) @attr.c {alpha=0.5}\n  %%a6 = Softsign(%%z) @shape.a\n  %%b6 = Tanh(%%a6) @shape.b\n  %%y6 = Elu(%%b6) @shape.c\n  %%a8 = Softsign(%%d) @open.a\n  %%b8 = Tanh(%%a8) @open.b\n  %%y8 = Elu(%%b8) @open.c\n}\n' >m.tir
$ printf '%s\n' 'why="$1" node="$2"; shift 2; exec tailor explain m.tir --rules r.tlr --why-not="$why" --node="$node" "$@"' >ask; chmod +x ask
# It did take it; by the name of the fusion, of the rule, of the pass; of the node or of its value.
$ sh ask SignsFusionPass fits.b; sh ask Signs b1; sh ask graph-fusion fits.c
> SignsFusionPass took `fits.b`: SignsFusionPass/Signs: `fits.a`, `fits.b`, `fits.c` became Mish
> Signs took `b1`: SignsFusionPass/Signs: `fits.a`, `fits.b`, `fits.c` became Mish
> graph-fusion took `fits.c`: SignsFusionPass/Signs: `fits.a`, `fits.b`, `fits.c` became Mish
# A rule that fits, and another that was first. What would satisfy it does.
$ sh ask TailFusionPass fits.c
> TailFusionPass fits `fits.c`, but another rule took it first: SignsFusionPass/Signs in pass graph-fusion
>   nearest    TailFusionPass/Tail at `fits.c`, 2 of 2 nodes compared: `fits.b`, `fits.c`
>   in the way OVERLAP: SignsFusionPass/Signs: `fits.a`, `fits.b`, `fits.c` became Mish
>   satisfied  by --fusion=SignsFusionPass:off
$ tailor opt m.tir --rules r.tlr --fusion=SignsFusionPass:off --remarks -o b.tir 2>&1 | grep fits.c
> remark: graph-fusion: "fits.c/Selu": TailFusionPass/Tail: `fits.b`, `fits.c` became Selu
# Of rules of one fusion, only the other rule must go.
$ sed 's/"TailFusionPass"/"SignsFusionPass"/' r.tlr >one.tlr; tailor explain m.tir --rules one.tlr --why-not=Tail --node=fits.c | tail -1; tailor opt m.tir --rules one.tlr --fusion=Signs:off --remarks -o b.tir 2>&1 | grep fits.c
>   satisfied  by --fusion=Signs:off
> remark: graph-fusion: "fits.c/Selu": SignsFusionPass/Tail: `fits.b`, `fits.c` became Selu
# A pattern that fits without the node is no pattern that it fits.
$ printf 'rules 1\nrule Both : graph numerics exact {\n  match { %%t = Tanh(%%a)  %%e = Elu(%%a)  %%y = Add(%%t, %%e) }\n  replace { %%y = Selu(%%a) }\n}\n' >both.tlr; printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%s = Tanh(%%x) @s\n  %%t = Tanh(%%s) @t\n  %%e = Elu(%%s) @e\n  %%y = Add(%%t, %%e) @y\n}\n' >aside.tir; tailor explain aside.tir --rules both.tlr --why-not=Both --node=t; tailor explain aside.tir --rules both.tlr --why-not=Both --node=s | head -4
> Both took `t`: Both: `t`, `e`, `y` became Selu
> Both did not take `s`, and no other rule did
>   in the way OP: no node behind this Tanh can be the root of a pattern; they have Tanh, Elu, Add
>   satisfied  by a node of that op in this place; what the model computes in another way, a rule of your own can match (docs/adding-a-fusion.md)
# Near misses: another rule took the node later, or nothing did.
$ sh ask Signs attr.b
> Signs did not take `attr.b`, but another rule did: Lonely in pass late-fusion
>   nearest    SignsFusionPass/Signs at `attr.c`, 3 of 3 nodes compared: `attr.a`, `attr.b`, `attr.c`
>   in the way ATTR: `$v == 1` does not hold: $v is 0.5
>   satisfied  if `$v == 1` holds
>   later      late-fusion: Lonely: `attr.b` became Erf
$ sh ask Signs attr.c
> Signs did not take `attr.c`, and no other rule did
>   nearest    SignsFusionPass/Signs at `attr.c`, 3 of 3 nodes compared: `attr.a`, `attr.b`, `attr.c`
>   in the way ATTR: `$v == 1` does not hold: $v is 0.5
>   satisfied  if `$v == 1` holds
>   later      late-fusion: Lonely: `attr.b` became Erf
$ sh ask Lonely attr.b
> Lonely took `attr.b`: Lonely: `attr.b` became Erf
$ sh ask Signs two.b --json
> {"schema": 1, "asked": "Signs", "node": "two.b", "verdict": "later", "taken_by": {"pass": "late-fusion", "fusion": "Lonely", "rule": "Lonely", "what": "Lonely: `two.b` became Erf"}, "op": "Tanh", "fusion": "SignsFusionPass", "rule": "Signs", "root": "two.c", "code": "MULTI_CONSUMER", "reason": "`two.b` has 1 consumer outside the pattern: `two.other`", "satisfied": "if the other consumers read a copy of the node instead", "pattern_nodes": 3, "nodes": ["two.a", "two.b", "two.c"]}
$ sh ask Signs out.a --optimization-switch=TailFusionPass:off
> Signs did not take `out.a`, and no other rule did
>   nearest    SignsFusionPass/Signs at `out.c`, 3 of 3 nodes compared: `out.a`, `out.b`, `out.c`
>   in the way GRAPH_OUTPUT: `out.b` has 1 consumer outside the pattern: graph output `t2`
>   satisfied  if the value is no output: --out-nodes chooses outputs
>   later      late-fusion: Lonely: `out.b` became Erf
$ sh ask Signs two.a --optimization-switch='TailFusionPass:off;Lonely:off'
> Signs did not take `two.a`, and no other rule did
>   nearest    SignsFusionPass/Signs at `two.c`, 3 of 3 nodes compared: `two.a`, `two.b`, `two.c`
>   in the way MULTI_CONSUMER: `two.b` has 1 consumer outside the pattern: `two.other`
>   satisfied  if the other consumers read a copy of the node instead
$ sh ask Signs shape.b --optimization-switch=TailFusionPass:off | head -3
> Signs did not take `shape.b`, but another rule did: Lonely in pass late-fusion
>   nearest    SignsFusionPass/Signs at `shape.c`, 3 of 3 nodes compared: `shape.a`, `shape.b`, `shape.c`
>   in the way SHAPE: `rank(%x) == 2` does not hold: rank(%x) is 1, %x is `z`: f32[3]
$ sh ask Signs open.a
> Signs did not take `open.a`, and no other rule did
>   nearest    SignsFusionPass/Signs at `open.c`, 3 of 3 nodes compared: `open.a`, `open.b`, `open.c`
>   in the way DYNAMIC: `dim(%x, 0) >= 2` cannot be told: dim(%x, 0) is unknown, %x is `d`: f32[N,3]
>   satisfied  by sizes that are known: --input-shape sets those of inputs
>   later      graph-fusion: TailFusionPass/Tail: `open.b`, `open.c` became Selu
# What would satisfy them does.
$ sh ask Signs out.b --out-nodes='out.c:0;two.c:0'
> Signs took `out.b`: SignsFusionPass/Signs: `out.a`, `out.b`, `out.c` became Mish
$ sh ask Signs open.a --input-shape=d:4,3
> Signs took `open.a`: SignsFusionPass/Signs: `open.a`, `open.b`, `open.c` became Mish
$ sed -i 's/ {alpha=0.5}//' m.tir; sh ask Signs attr.a
> Signs took `attr.a`: SignsFusionPass/Signs: `attr.a`, `attr.b`, `attr.c` became Mish
$ sed -i 's/%y4 = Abs(%b3)/%a4 = Softsign(%n3)\n  %b4 = Tanh(%a4)\n  %y4 = Abs(%b4)/' m.tir; sh ask Signs two.b
> Signs took `two.b`: SignsFusionPass/Signs: `two.a`, `two.b`, `two.c` became Mish
# No pattern has the node; no root is below it; the rule is off.
$ sh ask Signs two.other
> Signs did not take `two.other`, and no other rule did
>   in the way OP: no pattern has a node of op Abs; they have Softsign, Tanh, Elu
>   satisfied  by a node of that op in this place; what the model computes in another way, a rule of your own can match (docs/adding-a-fusion.md)
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = Tanh(%%x) @t\n}\n' >n.tir; tailor explain n.tir --rules r.tlr --why-not=Tail --node=t | head -2
> Tail did not take `t`, but another rule did: Lonely in pass late-fusion
>   in the way OP: no node behind this Tanh can be the root of a pattern; they have Tanh, Elu
$ sh ask Signs fits.a --optimization-switch=SignsFusionPass:off
> Signs did not take `fits.a`, and no other rule did
>   nearest    SignsFusionPass/Signs at `fits.c`, 3 of 3 nodes compared: `fits.a`, `fits.b`, `fits.c`
>   in the way SWITCH_OFF: the pattern fits, but the rule is off: --optimization-switch
>   satisfied  by that option or file; for convert and opt, --fusion=PASS:on wins over other switches
>   later      graph-fusion: TailFusionPass/Tail: `fits.b`, `fits.c` became Selu
$ sh ask Signs shape.a --optimization-switch='SignsFusionPass:off;TailFusionPass:off' | sed -n 3p
>   in the way SWITCH_OFF: the rule is off: --optimization-switch; besides, `rank(%x) == 2` does not hold: rank(%x) is 1, %x is `z`: f32[3]
# It was gone before.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Neg(%%x) @first\n  %%b = Neg(%%a) @second\n  %%y = Tanh(%%b) @t\n}\n' >g.tir; tailor explain g.tir --why-not=GeluONNXFusionPass --node=second
> GeluONNXFusionPass never saw `second`: it had gone to NegNeg in pass clean-up
>   before     clean-up: NegNeg: `first`, `second` became nothing new
# Expansions: of a node that needs one, and of one that does not.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = ThresholdedRelu(%%x) @t\n  %%y = Relu(%%a) @r\n}\n' >e.tir; tailor explain e.tir --why-not=ExpandThresholdedRelu --node=t; tailor explain e.tir --why-not=expand --node=r | head -2
> ExpandThresholdedRelu took `t`: ExpandThresholdedRelu: `t` became Where
> expand did not take `r`, and no other rule did
>   in the way OP: no node behind this Relu can be the root of a pattern; they have Attention, Where, MultiHeadAttention, EmbedLayerNormalization, Conv, QuantConv, ConvTranspose, MaxPool, AveragePool, LpPool, MaxUnpool, FusedConv ...
# Mistakes.
$ sh ask Signs nobody
! tailor: error: --node: no node is named 'nobody'
!   hint: 'tailor opt MODEL' shows the names
? 1
$ sh ask Nobody two.b
! tailor: error: --why-not: no fusion pass, rule or pass is named 'Nobody'
!   hint: 'tailor passes --rules' lists rules
? 1
$ sh ask fold-constants two.b
! tailor: error: --why-not: pass 'fold-constants' runs no rules, or did not run here
!   hint: 'tailor opt --print-changed=PASS --print-only=NODE' shows what it did with the node
? 3
$ sh ask TbeEltwiseFusionPass two.b
! tailor: error: --why-not: 'TbeEltwiseFusionPass' makes kernels of nodes, which is no rule
!   hint: --fusion=PASS --node=NAME explains it
? 3
$ tailor explain m.tir --why-not=Signs --rules r.tlr
! tailor: error: --why-not: needs the node: --why-not=Signs --node=NAME
? 1
$ sh ask Signs two.b --expand
! tailor: error: --expand: and --why-not ask for different things
!   hint: give one of them
? 1
$ sh ask Signs two.b --casts
! tailor: error: --casts: and --why-not ask for different things
!   hint: give one of them
? 1
$ sh ask Signs two.b --page=x.html
! tailor: error: --page: and --why-not ask for different things
!   hint: give one of them
? 1
$ tailor explain missing.onnx --why-not=SwishFusion --node=x
! missing.onnx: error: cannot open 'missing.onnx': No such file or directory
? 4
$ tailor explain m.tir --why-not= --node=x
! tailor: error: --why-not: the value is empty [E10054]
!   hint: write --why-not=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
