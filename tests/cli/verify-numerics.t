# opt --verify-numerics: each rewrite by a rule is evaluated before and after.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Relu(%%x) @first\n  %%b = Softsign(%%a) @second\n  %%y = Tanh(%%b) @third\n}\n' >m.tir
$ printf 'rules 1\nrule Wrong : graph numerics reassociating {\n  match { %%a = Softsign(%%x)  %%y = Tanh(%%a) }\n  replace { %%y = Softsign(%%x) }\n}\n' >w.tlr
$ tailor opt m.tir --verify-numerics
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Relu(%x) @first : f32[2,3]
>   %b = Softsign(%a) @second : f32[2,3]
>   %y = Tanh(%b) @third : f32[2,3]
> }
! verified 0 rewrites by rules: none changes results more than its class allows
$ tailor opt m.tir --rules w.tlr --verify-numerics
! m.tir: error: node third: rule 'Wrong' (reassociating) changes output 'y': 5 of 6 elements, by at most 0.018; element 2 was 0.3672804 and becomes 0.3852758
!   hint: --fusion=Wrong:off switches the rule off
? 5
$ tailor opt m.tir --rules w.tlr --verify-numerics --fusion=Wrong:off --seed 7
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Relu(%x) @first : f32[2,3]
>   %b = Softsign(%a) @second : f32[2,3]
>   %y = Tanh(%b) @third : f32[2,3]
> }
! verified 0 rewrites by rules: none changes results more than its class allows
$ printf 'rules 1\nrule Close : graph numerics reassociating {\n  match { %%a = Softsign(%%x)  %%y = Tanh(%%a) }\n  replace { %%t = Softsign(%%x)  %%u = Mul(%%t, const 1.000001)  %%y = Tanh(%%u) }\n}\n' >c.tlr; tailor opt m.tir --rules c.tlr --verify-numerics -o o.tir
! verified 1 rewrite by rules: none changes results more than its class allows
$ sed 's/reassociating/exact/' c.tlr >e.tlr; tailor opt m.tir --rules e.tlr --verify-numerics -o o2.tir; ls o2.tir
! m.tir: error: node third: rule 'Close' (exact) changes output 'y': 5 of 6 elements, by at most 2.98e-07; element 1 was 0.2658429 and becomes 0.2658431
!   hint: --fusion=Close:off switches the rule off
! ls: cannot access 'o2.tir': No such file or directory
? 2
$ tailor opt --verify-numerics <m.tir
! tailor: error: --verify-numerics: reads the model several times: it must be a file
? 1
$ tailor opt m.tir --seed 3
! tailor: error: --seed: has no effect without --verify-numerics
? 1
$ printf 'graph @g(%%x: f32[N,3], %%g: f32[3]) -> (%%y) {\n  %%r = tl::RmsNorm(%%x, %%g)\n  %%a = Relu(%%r)\n  %%y = Relu(%%a)\n}\n' >d.tir; tailor opt d.tir --verify-numerics --dim N=5 -o o.tir
! verified 1 rewrite by rules: none changes results more than its class allows
# The tolerance is that of the float that an output was computed in: f16 behind a cast to f32 is f16.
$ printf 'graph @g(%%x: f16[4,64], %%w: f16[64,64]) -> (%%y) {\n  const %%h = f16[] 0.5\n  const %%o = f16[] 1.0\n  const %%c = f16[] 0.79785156\n  const %%k = f16[] 0.044708252\n  %%m = MatMul(%%x, %%w)\n  %%a = Mul(%%c, %%m)\n  %%b = Mul(%%k, %%m)\n  %%d = Mul(%%b, %%m)\n  %%e = Add(%%o, %%d)\n  %%f = Mul(%%a, %%e)\n  %%t = Tanh(%%f)\n  %%u = Mul(%%m, %%h)\n  %%v = Add(%%o, %%t)\n  %%p = Mul(%%u, %%v)\n  %%q = MatMul(%%p, %%w)\n  %%y = Cast(%%q) {to=1}\n}\n' >half.tir
$ tailor opt half.tir --verify-numerics -o o.tir
! verified 1 rewrite by rules: none changes results more than its class allows
$ sed 's/%y = Cast(%q) {to=1}/%y = Identity(%q)/' half.tir >plain.tir; tailor opt plain.tir --verify-numerics -o o.tir
! verified 1 rewrite by rules: none changes results more than its class allows
$ sed 's/%y = Cast(%q) {to=1}/%r = Cast(%q) {to=1}  %s = Transpose(%r) {perm=[1, 0]}  %y = Relu(%s)/' half.tir >far.tir; tailor opt far.tir --verify-numerics -o o.tir
! verified 1 rewrite by rules: none changes results more than its class allows
$ sed 's/f16/bf16/g' half.tir >brain.tir; tailor opt brain.tir --verify-numerics -o o.tir
! verified 0 rewrites by rules: none changes results more than its class allows
$ sed 's/%y = Cast(%q) {to=1}/%r = Cast(%q) {to=11}  %y = Cast(%r) {to=1}/' half.tir >double.tir; tailor opt double.tir --verify-numerics -o o.tir
! verified 2 rewrites by rules: none changes results more than its class allows
# Behind f16 a wrong rule is wrong, and one that claims to be exact has to be.
$ sed 's/f32/f16/g; s/(%y) {/(%z) {/; s/^}/  %z = Cast(%y) {to=1}\n}/' m.tir >h.tir; tailor opt h.tir --rules w.tlr --verify-numerics -o o.tir
! h.tir: error: node third: rule 'Wrong' (reassociating) changes output 'z': 5 of 6 elements, by at most 0.0181; element 2 was 0.3671875 and becomes 0.3852539
!   hint: --fusion=Wrong:off switches the rule off
? 5
$ tailor opt h.tir --rules e.tlr --verify-numerics -o o.tir
! verified 2 rewrites by rules: none changes results more than its class allows
$ printf 'rules 1\nrule Twice : graph numerics exact {\n  match { %%y = Tanh(%%x) }\n  where { dtype(%%x) == f16 }\n  replace { %%u = Mul(%%x, const 1.001953125)  %%y = Tanh(%%u) }\n}\n' >t.tlr; tailor opt h.tir --rules t.tlr --verify-numerics -o o.tir
! h.tir: error: node third: rule 'Twice' (exact) changes output 'z': 5 of 6 elements, by at most 0.000732; element 1 was 0.2658691 and becomes 0.2663574
!   hint: --fusion=Twice:off switches the rule off
? 5
