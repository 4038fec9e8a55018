# What rules of users make: ops with a definition, ops that nobody knows, near misses.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = Sin(%%x)\n}\n' >m.tir
$ printf 'rules 1\nrule SinFoo : graph {\n  match { %%y = Sin(%%a) }\n  replace { %%y = tl::Foo(%%a) }\n}\n' >s9.tlr; tailor opt m.tir --rules=s9.tlr
! s9.tlr:4:13: error: rule 'SinFoo': the op 'tl::Foo' does not exist
!   hint: give it a meaning: define tl::Foo(...) { ... return ... }; 'tailor ops' lists those that exist
? 1
$ tailor passes --rules=s9.tlr
! s9.tlr:4:13: error: rule 'SinFoo': the op 'tl::Foo' does not exist
!   hint: give it a meaning: define tl::Foo(...) { ... return ... }; 'tailor ops' lists those that exist
? 1
$ tailor convert m.tir -o m.air --rules=s9.tlr
! s9.tlr:4:13: error: rule 'SinFoo': the op 'tl::Foo' does not exist
!   hint: give it a meaning: define tl::Foo(...) { ... return ... }; 'tailor ops' lists those that exist
? 1
# The definition may be in another file, in either order. It is the op's meaning everywhere.
$ printf 'rules 1\ndefine tl::Foo(%%x) {\n  %%a = Sin(%%x)\n  %%y = Mul(%%a, const 1.0)\n  return %%y\n}\n' >d.tlr; tailor opt m.tir --rules=s9.tlr --rules=d.tlr | grep -o 'tl::Foo(%x)'; tailor opt m.tir --rules=d.tlr --rules=s9.tlr | grep -o 'tl::Foo(%x)'
> tl::Foo(%x)
> tl::Foo(%x)
$ tailor verify m.tir --npu --rules=s9.tlr --rules=d.tlr --tensors=0 | grep equal
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
$ tailor convert m.tir -o m.onnx -q --rules=s9.tlr --rules=d.tlr; tailor opt -O0 m.onnx | grep ' = '
>   const %y/v1/const: f32[] = 1.0
>   %y/v1/Sin = Sin(%x) : f32[2,3] scope "y"
>   %y = Mul(%y/v1/Sin, %y/v1/const) : f32[2,3] scope "y"
# The same for an op of any domain. Without a definition it is an op with a kernel of its own.
$ sed s/tl::/my::/ s9.tlr >s.tlr; sed s/tl::/my::/ d.tlr >e.tlr
$ tailor convert m.tir -o m.onnx -q --rules=s.tlr --rules=e.tlr; tailor opt -O0 m.onnx | grep -E ' = |call'
>   call "y" "my::Foo"
>   const %y/v1/const: f32[] = 1.0
>   %y/v1/Sin = Sin(%x) : f32[2,3] scope "y"
>   %y = Mul(%y/v1/Sin, %y/v1/const) : f32[2,3] scope "y"
$ tailor convert m.tir -o m.air -q --rules=s.tlr --rules=e.tlr && tailor opt --npu m.tir --rules=s.tlr --rules=e.tlr | grep -o 'npu::[A-Za-z]*'
> npu::Sin
> npu::Mul
$ tailor verify m.tir --npu --rules=s.tlr --rules=e.tlr --tensors=0 | grep equal
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
$ tailor convert m.tir -o m.air -q --rules=s.tlr
! m.tir: error: 1 op type has no NPU form: my::Foo x1 ('Foo->y'): has no NPU form [E10501]
!   hint: ...
? 3
$ tailor convert m.tir -o n.onnx -q --rules=s.tlr; tailor opt -O0 n.onnx | grep -o 'my::Foo(%x)'
> my::Foo(%x)
# A wrong definition is found.
$ sed 's/1.0/2.0/' e.tlr >w.tlr; tailor verify m.tir --npu --rules=s.tlr --rules=w.tlr --tensors=0 | grep -o '^differs "y": 6 of 6'
> differs "y": 6 of 6
# Uses with other attributes have functions of their own; an attribute must not be without meaning.
$ printf 'rules 1\nrule A : graph {\n  match { %%y = Sin(%%a) }\n  replace { %%y = my::Scaled(%%a) {k=1.0} }\n}\nrule B : graph {\n  match { %%y = Cos(%%a) }\n  replace { %%y = my::Scaled(%%a) {k=3.0} }\n}\ndefine my::Scaled(%%x) {$k} {\n  %%y = Mul(%%x, const $k)\n  return %%y\n}\n' >k.tlr; printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%z, %%w) {\n  %%y = Sin(%%x)\n  %%z = Cos(%%x)\n  %%w = Sin(%%z)\n}\n' >k.tir; tailor convert k.tir -o k.onnx -q --rules=k.tlr; grep -ao Scaled_2 k.onnx | wc -l; tailor opt -O0 k.onnx | grep -E 'call| const '
> 2
>   call "y" "my::Scaled"
>   call "z" "my::Scaled_2"
>   call "w" "my::Scaled"
>   const %y/v1/const: f32[] = 1.0
>   const %z/v1/const: f32[] = 3.0
>   const %w/v1/const: f32[] = 1.0
$ sed 's/k=3.0/k=3.0, j=1/' k.tlr >j.tlr; tailor opt k.tir --rules=j.tlr
! j.tlr:8:13: error: rule 'B': the definition of 'Scaled' does not name the attribute 'j'
? 1
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = my::Scaled(%%x) {k=2.0, extra="a"}\n}\n' >x.tir; tailor opt x.tir -o x.onnx --rules=k.tlr; tailor run x.tir --rules=k.tlr
! x.tir: error: node Scaled->y: no definition of 'my::Scaled' fits the operands and attributes of this node
!   hint: add one that does; an op without any definition is written as it is
! x.tir: error: the evaluator has no kernel for my::Scaled ('Scaled->y')
!   hint: hand the model to another runtime (tailor verify --runner)
? 3
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%h = my::Scaled(%%x) {k=2.0}\n  %%y = Relu(%%h)\n}\n' >x.tir; tailor convert x.tir -o x.air -q --rules=k.tlr && tailor verify x.tir --npu --rules=k.tlr --tensors=0 | grep -o '^equal   "y"'
> equal   "y"
# Mistakes: numbers of operands and results, kinds of attributes, ops with a meaning, circles.
$ printf 'rules 1\nrule A : graph {\n match { %%y = Sin(%%a) }\n replace { %%y = my::Two(%%a) }\n}\ndefine my::Two(%%x, %%z) {\n %%y = Mul(%%x, %%z)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:4:12: error: rule 'A': 'Two' has 1 operand and 1 result here, 2 and 1 in its definition, f:6
? 1
$ printf 'rules 1\nrule A : graph {\n match { %%y = Sin(%%a) }\n replace { %%y, %%_z = my::One(%%a) }\n}\ndefine my::One(%%x) {\n %%y = Neg(%%x)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:4:12: error: rule 'A': 'One' has 1 operand and 2 results here, 1 and 1 in its definition, f:6
? 1
$ printf 'rules 1\nrule A : graph {\n match { %%y = Sin(%%a) }\n replace { %%y = Softmax(%%a) {axis="one"} }\n}\n' >f; tailor opt m.tir --rules=f
! f:4:12: error: rule 'A': attribute 'axis' of 'Softmax' is of kind int, which "one" is not
? 1
$ printf 'rules 1\ndefine Relu(%%x) {\n %%y = Neg(%%x)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:2:8: error: definition 'Relu': the op has a meaning already
!   hint: define an op of a domain of yours, for example my::Relu
? 1
$ printf 'rules 1\ndefine my::A(%%x) {\n %%y = my::A(%%x)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:2:8: error: definition 'A': it uses itself
? 1
$ printf 'rules 1\ndefine my::A(%%x) {\n %%y = my::B(%%x)\n return %%y\n}\ndefine my::B(%%x) {\n %%h = Neg(%%x)\n %%y = my::A(%%h)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:2:8: error: definition 'A': it uses itself, through 'B'
? 1
$ printf 'rules 1\ndefine my::A(%%x) {\n %%y = tl::Nobody(%%x)\n return %%y\n}\n' >f; tailor opt m.tir --rules=f
! f:3:2: error: definition 'A': the op 'tl::Nobody' does not exist
!   hint: give it a meaning: define tl::Nobody(...) { ... return ... }; 'tailor ops' lists those that exist
? 1
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = tl::Nobody(%%x)\n}\n' | tailor convert - -q -o x.onnx
! -: error: node Nobody->y: op 'tl::Nobody' has no definition that fits its operands and attributes
? 3
# Near misses name the number or the attribute that differs.
$ printf 'rules 1\nrule Quick : graph {\n  match { %%m = Mul(%%x, const ~1.702)  %%s = Tanh(%%m)  %%y = Mul(%%x, %%s) }\n  replace { %%y = my::Quick(%%x) }\n}\nrule Soft : graph {\n  match { %%t = Elu(%%x)  %%y = Softmax(%%t) {axis=-1} }\n  replace { %%y = my::Soft(%%x) }\n}\n' >n.tlr; printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%z) {\n  const %%c: f32[] = 1.5\n  %%m = Mul(%%x, %%c)\n  %%s = Tanh(%%m)\n  %%y = Mul(%%x, %%s)\n  %%e = Elu(%%x)\n  %%z = Softmax(%%e) {axis=1}\n}\n' >n.tir; tailor explain n.tir --rules=n.tlr --fusion=Quick; tailor explain n.tir --rules=n.tlr --fusion=Soft
> Quick: 0 fused, 1 not
>   not    `Mul->y`: CONST_VALUE: `Mul->m`: const ~1.702, found 1.5
> Soft: 0 fused, 1 not
>   not    `Softmax->z`: ATTR: `Softmax->z`: attribute axis = -1, found 1
# Two differences are none that one number explains.
$ sed 's/Elu(%x)$/Elu(%x) {alpha=2.0}/' n.tir >n2.tir; tailor explain n2.tir --rules=n.tlr --fusion=Soft
> nothing was fused, and there was no near miss
# Dtypes and users are named as well.
$ printf 'rules 1\nrule Half : graph {\n  match { %%t = Elu(%%x)  %%y = Neg(%%t) }\n  where { dtype(%%x) == f16 }\n  replace { %%y = my::Half(%%x) }\n}\n' >h.tlr; printf 'graph @g(%%x: f32[2,3]) -> (%%y, %%z) {\n  %%e = Elu(%%x)\n  %%y = Neg(%%e)\n  %%z = Tanh(%%e)\n}\n' >h.tir; tailor explain h.tir --rules=h.tlr --fusion=Half; sed 's/== f16/== f32/' h.tlr >f.tlr; tailor explain h.tir --rules=f.tlr --fusion=Half
> Half: 0 fused, 1 not
>   not    `Neg->y`: DTYPE: `dtype(%x) == f16` does not hold: dtype(%x) is f32, %x is `x`: f32[2,3]
> Half: 0 fused, 1 not
>   not    `Neg->y`: MULTI_CONSUMER: `Elu->e` has 1 consumer outside the pattern: `Tanh->z`
