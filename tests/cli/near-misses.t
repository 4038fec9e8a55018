# SPDX-License-Identifier: Apache-2.0
# Rules that nearly fit, and borders of what a file of rules may say (docs/rules.md).
$ printf 'rules 1\nrule Signs : graph "SignsFusionPass" numerics exact {\n  match { %%a = Softsign(%%x)  %%b = Tanh(%%a)  %%y = Elu(%%b) }\n  replace { %%y = Mish(%%x) }\n}\nrule Pair : graph "PairFusionPass" numerics exact {\n  match { %%t = Tanh(%%a)  %%y = Add(%%t, %%e) }\n  replace { %%y = Max(%%a, %%e) }\n}\n' >r.tlr
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%u1, %%u2, %%u3, %%u4) {\n  %%a = Softsign(%%x) @a\n  %%b = Tanh(%%a) @b\n  %%y = Elu(%%b) @c\n  %%u1 = Abs(%%b) @u1\n  %%u2 = Neg(%%b) @u2\n  %%u3 = Sin(%%b) @u3\n  %%u4 = Cos(%%b) @u4\n}\n' >four.tir
# Four other readers are all named; of five the first four.
$ tailor explain four.tir --rules r.tlr --why-not=Signs --node=c | grep 'in the way'
>   in the way MULTI_CONSUMER: `b` has 4 consumers outside the pattern: `u1`, `u2`, `u3`, `u4`
$ sed 's/%u4) {/%u4, %u5) {/; s/^}/  %u5 = Exp(%b) @u5\n}/' four.tir >five.tir; tailor explain five.tir --rules r.tlr --why-not=Signs --node=c | grep 'in the way'
>   in the way MULTI_CONSUMER: `b` has 5 consumers outside the pattern: `u1`, `u2`, `u3`, `u4` ...
# An edge from a node between the first and the last one of a match cannot move; from one in front it can.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%n) {\n  %%a = Softsign(%%x) @a\n  %%n = Abs(%%x) @n\n  %%b = Tanh(%%a) @b after %%n\n  %%y = Elu(%%b) @c\n}\n' >edge.tir; tailor explain edge.tir --rules r.tlr --why-not=Signs --node=c | grep 'in the way'
>   in the way CTRL_INNER: `b` has a control edge
$ sed '/@a$/d; s/@n$/@n\n  %a = Softsign(%x) @a/' edge.tir >front.tir; tailor explain front.tir --rules r.tlr --why-not=Signs --node=c
> Signs took `c`: SignsFusionPass/Signs: `a`, `b`, `c` became Mish
# Neither order of the operands of a commutative op fits: which one has another producer.
$ printf 'graph @g(%%x: f32[2,3], %%z: f32[2,3]) -> (%%y) {\n  %%s = Sin(%%x) @s\n  %%e = Cos(%%z) @e\n  %%y = Add(%%s, %%e) @y\n}\n' >add.tir; tailor explain add.tir --rules r.tlr --why-not=Pair --node=y | grep 'in the way'
>   in the way OP: `s` is Sin, not Tanh
# A miss is near from 60 % of the pattern on; each fusion tells its own.
$ printf 'rules 1\nrule Chain : graph "ChainFusionPass" numerics exact {\n  match { %%a = Abs(%%x)  %%b = Neg(%%a)  %%c = Sin(%%b)  %%d = Cos(%%c)  %%y = Tanh(%%d) }\n  replace { %%y = Mish(%%x) }\n}\nrule Other : graph "OtherFusionPass" numerics exact {\n  match { %%b = Abs(%%x)  %%c = Sin(%%b)  %%d = Cos(%%c)  %%y = Tanh(%%d) }\n  replace { %%y = Mish(%%x) }\n}\n' >chain.tlr
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%b = Exp(%%x) @b\n  %%c = Sin(%%b) @c\n  %%d = Cos(%%c) @d\n  %%y = Tanh(%%d) @y\n}\n' >chain.tir; tailor explain chain.tir --rules chain.tlr | grep ' not'
> ChainFusionPass: 0 fused, 1 not
>   not    Chain: `y`: OP: `b` is Exp, not Neg (4 of 5 nodes fit)
> OtherFusionPass: 0 fused, 1 not
>   not    Other: `y`: OP: `b` is Exp, not Abs
> TbeEltwiseFusionPass: 1 fused, 0 not
$ sed 's/Sin(%b)/Erf(%b)/' chain.tir >less.tir; tailor explain less.tir --rules chain.tlr | grep ' not'
> TbeEltwiseFusionPass: 1 fused, 0 not
# true and false are integers of 0 and 1, and nothing else; integers fill a list of floats.
$ printf 'graph @g(%%x: f32[2,1]) -> (%%y) {\n  %%y = Sin(%%x)\n}\n' >m.tir; printf 'rules 1\nrule R : graph {\n  match { %%y = Sin(%%a) }\n  replace { %%y = ReduceMax(%%a, const i64 [1]) {keepdims=true} }\n}\n' >t.tlr; tailor opt m.tir --rules t.tlr --passes=infer-shapes,graph-fusion | grep -o '%y = [^:]*'
> %y = ReduceMax(%x, %y/const)
$ sed 's/ReduceMax.*/Gelu(%a) {approximate=true} }/' t.tlr >s.tlr; tailor opt m.tir --rules s.tlr
! s.tlr:4:13: error: rule 'R': attribute 'approximate' of 'Gelu' is of kind string, which true is not
? 1
$ sed 's/ReduceMax.*/Elu(%a) {alpha=true} }/' t.tlr >f.tlr; tailor opt m.tir --rules f.tlr
! f.tlr:4:13: error: rule 'R': attribute 'alpha' of 'Elu' is of kind float, which true is not
? 1
$ sed 's/ReduceMax.*/"ai.onnx.ml"::Scaler(%a) {offset=[5], scale=[2]} }/' t.tlr >l.tlr; tailor opt m.tir --rules l.tlr | grep -o '%y = [^:]*::[^:]*'
> %y = ai.onnx.ml::Scaler(%x) {offset=[5.0], scale=[2.0]}
# An operand that a definition need not have.
$ printf 'rules 1\nrule R : graph {\n  match { %%y = Sin(%%a) }\n  replace { %%y = my::Foo(%%a) }\n}\ndefine my::Foo(%%x, %%z?) {\n  %%y = Max(%%x, %%z?)\n  return %%y\n}\n' >d.tlr; tailor opt m.tir --rules d.tlr | grep -o 'Foo([^)]*)'; sed 's/Foo(%a)/Foo(%a, %a)/' d.tlr >d2.tlr; tailor opt m.tir --rules d2.tlr | grep -o 'Foo([^)]*)'
> Foo(%x)
> Foo(%x, %x)
$ sed 's/Foo(%a)/Foo(%a, %a, %a)/' d.tlr >d3.tlr; tailor opt m.tir --rules d3.tlr
! d3.tlr:4:13: error: rule 'R': 'Foo' has 3 operands and 1 result here, 2 and 1 in its definition, d3.tlr:6
? 1
# 64 spellings are read, 128 are too many (rule-spellings.t).
$ printf 'rules 1\nrule X : cleanup {\n match {%s %%y = Sum(%%v1, %%v2, %%v3, %%v4, %%v5, %%v6) }\n replace { %%y = Relu(%%x) }\n}\n' "$(seq 6 | sed 's/.*/ either { %v& = Abs(%x) } or { %v& = Neg(%x) }/' | tr -d '\n')" >f; tailor passes --rules=f >list && echo read
> read
# The pattern of a scope has at most 1,024 bytes, and a path that is matched 65,536.
$ printf 'rules 1\nrule S : scope "SPass" numerics exact {\n  in "%01024d"\n  match { %%a = Abs(%%x) %%y = Neg(%%a) }\n  replace { %%y = Elu(%%x) }\n}\n' 1 >scope.tlr; tailor passes --rules=scope.tlr >list && echo read; sed 's/in "/in "0/' scope.tlr >long.tlr; tailor passes --rules=long.tlr
> read
! long.tlr:3:6: error: the pattern of a name has more than 1024 bytes
? 1
$ sed 's/in ".*/in "*"/' scope.tlr >all.tlr; for n in 65535 65536; do printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Abs(%%x) @"%0'$n'd/a"\n  %%y = Neg(%%a) @"%0'$n'd/y"\n}\n' 1 1 >path.tir; tailor opt path.tir --rules all.tlr --enable-scope-fusion-passes=SPass | grep -c Elu; done
> 1
> 0
? 1
# Dots of an equation stand for any number of dims, and are no letters.
$ printf 'graph @g(%%x: f32[2,3,4]) -> (%%y) {\n  %%y = Einsum(%%x) {equation="...i->i"}\n}\n' >sum.tir; tailor opt sum.tir --passes=infer-shapes,clean-up | grep '%y ='; sed 's/\.\.\.i/abi/' sum.tir >letters.tir; tailor opt letters.tir --passes=infer-shapes,clean-up | grep '%y ='
>   %y = Einsum(%x) {equation="...i->i"} : f32[4]
>   %y = ReduceSum(%x, %y/const) {keepdims=0} : f32[4]
$ sed 's/f32\[2,3,4\]/f32[*]/' sum.tir >open.tir; tailor opt open.tir --passes=infer-shapes,clean-up | grep -o '%y = [A-Za-z]*'
> %y = Einsum
# Neither order of a factor and a number fits: which operand has another producer.
$ printf 'rules 1\nrule Num : graph "NumFusionPass" numerics exact {\n  match { %%t = Tanh(%%_a)  %%y = Mul(%%t, const 2.0) }\n  replace { %%y = Relu(%%t) }\n}\n' >num.tlr; printf 'graph @g(%%x: f32[2,3], %%z: f32[2,3]) -> (%%y) {\n  %%s = Tanh(%%x) @s\n  %%e = Cos(%%z) @e\n  %%y = Mul(%%e, %%s) @y\n}\n' >mul.tir; tailor explain mul.tir --rules num.tlr --why-not=Num --node=y | grep 'in the way'
>   in the way OP: operand 0 of `y` is produced by Cos, not by Tanh
# Counted are patterns that match the model that was given, whatever their conditions; of what fusions made only what takes effect.
$ printf 'rules 1\nrule Make : graph "MakeFusionPass" numerics exact {\n  match { %%a = Sin(%%x)  %%y = Neg(%%a) }\n  replace { %%y = Tanh(%%x) }\n}\nrule Cond : graph "CondFusionPass" numerics exact {\n  match { %%y = Tanh(%%a) }\n  where { rank(%%a) == 5 }\n  replace { %%y = Erf(%%a) }\n}\n' >count.tlr; printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%z) {\n  %%s = Sin(%%x)\n  %%y = Neg(%%s)\n  %%z = Tanh(%%x)\n}\n' >count.tir; tailor opt count.tir --rules=count.tlr --fusion-result=count.json -o out.tir; tr -d ' \n' <count.json | grep -o '"graph_fusion.*'
> "graph_fusion":{"CondFusionPass":{"effect_times":"0","match_times":"1"},"MakeFusionPass":{"effect_times":"1","match_times":"1"}}}}
# A mistake in a file of rules is told, not that a name in it is unknown.
$ sed 's/%_a)/%a)/' num.tlr >wrong.tlr; tailor explain mul.tir --rules wrong.tlr --why-not=Num --node=y; tailor explain mul.tir --rules wrong.tlr --fusion=Num
! wrong.tlr:2:6: error: rule 'Num': %a is never used; a name that begins with _ may be
! wrong.tlr:2:6: error: rule 'Num': %a is never used; a name that begins with _ may be
? 1
