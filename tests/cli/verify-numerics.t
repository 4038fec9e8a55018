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
