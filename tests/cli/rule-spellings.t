# Alternatives in a pattern: `either { ... } or { ... }`. Each spelling fires, under one name.
$ printf 'rules 1\nrule Hit : cleanup {\n  match {\n    either { %%a = Sin(%%x) } or { %%a = Cos(%%x) } or { %%b = Tan(%%x)  %%a = Sinh(%%b) }\n    either { %%y = Sign(%%a) } or { %%y = Ceil(%%a) }\n  }\n  replace { %%y = Softsign(%%x) }\n}\n' >hit.tlr
$ printf 'graph @g(%%x: f32[2]) -> (%%s, %%c, %%t) {\n  %%p = Sin(%%x)\n  %%s = Sign(%%p)\n  %%q = Cos(%%x)\n  %%c = Ceil(%%q)\n  %%r = Tan(%%x)\n  %%u = Sinh(%%r)\n  %%t = Sign(%%u)\n}\n' >m.tir; tailor opt m.tir --rules hit.tlr --passes=infer-shapes,clean-up
> graph @g(%x: f32[2]) -> (%s, %c, %t) {
>   %s = Softsign(%x) : f32[2]
>   %c = Softsign(%x) : f32[2]
>   %t = Softsign(%x) : f32[2]
> }
# Nodes of different alternatives of one `either` are no spelling.
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%b = Tan(%%x)\n  %%y = Sign(%%b)\n}\n' | tailor opt --rules hit.tlr --passes=infer-shapes,clean-up
> graph @g(%x: f32[2]) -> (%y) {
>   %b = Tan(%x) : f32[2]
>   %y = Sign(%b) : f32[2]
> }
# What a spelling makes inside must not be wanted outside, as with any pattern.
$ printf 'graph @g(%%x: f32[2]) -> (%%y, %%a) {\n  %%a = Cos(%%x)\n  %%y = Sign(%%a)\n}\n' | tailor opt --rules hit.tlr --passes=infer-shapes,clean-up
> graph @g(%x: f32[2]) -> (%y, %a) {
>   %a = Cos(%x) : f32[2]
>   %y = Sign(%a) : f32[2]
> }
# It is one rule: in the list, for a switch, for a later file that has its name.
$ tailor passes --rules --rules=hit.tlr | grep -c '^Hit '
> 1
$ tailor opt m.tir --rules hit.tlr --passes=infer-shapes,clean-up --fusion=Hit:off | grep -c Softsign
> 0
? 1
$ printf 'rules 1\nrule Hit : cleanup {\n  match {\n    %%a = Cos(%%x)\n    %%y = Ceil(%%a)\n  }\n  replace { %%y = Erf(%%x) }\n}\n' >other.tlr; tailor opt m.tir --rules hit.tlr --rules other.tlr --passes=infer-shapes,clean-up
> graph @g(%x: f32[2]) -> (%s, %c, %t) {
>   %p = Sin(%x) : f32[2]
>   %s = Sign(%p) : f32[2]
>   %c = Erf(%x) : f32[2]
>   %r = Tan(%x) : f32[2]
>   %u = Sinh(%r) : f32[2]
>   %t = Sign(%u) : f32[2]
> }
$ tailor opt m.tir --rules other.tlr --rules hit.tlr --passes=infer-shapes,clean-up | grep -c Softsign
> 3
# The earlier spelling wins where two fit one root.
$ printf 'rules 1\nrule Two : cleanup {\n  match { either { %%b = Tan(%%x)  %%y = Sinh(%%b) } or { %%y = Sinh(%%x) } }\n  replace { %%y = Softsign(%%x) }\n}\n' >two.tlr
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%b = Tan(%%x)\n  %%y = Sinh(%%b)\n}\n' | tailor opt --rules two.tlr --passes=infer-shapes,clean-up
> graph @g(%x: f32[2]) -> (%y) {
>   %y = Softsign(%x) : f32[2]
> }
# What is wrong is told where it stands, and in which spelling.
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:34: error: expected 'or' and another alternative, found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:39: error: an alternative has at least one statement; a node that may be missing is written 'maybe'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either %%y = Abs(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:17: error: expected '{', found 'y'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or %%y = Neg(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:37: error: expected '{', found 'y'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { either { %%y = Abs(%%x) } or { %%y = Neg(%%x) } } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:39: error: an alternative has no 'either' of its own: list the combinations as alternatives
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%y = Neg(%%x)' >f; tailor passes --rules=f
! f:3:51: error: expected '}', but the text ends
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%y = Rel(%%x) } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:44: error: unknown op 'Rel'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%y = Neg(%%u) } }\n where { rank(%%x) == 2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:15: error: %x is not bound by the pattern in spelling 2
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%z = Neg(%%x) } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X', spelling 2: the replacement produces no result of the pattern root, its last node
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%y = Add(%%x, %%u) } }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X', spelling 2: %u is never used; a name that begins with _ may be
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Abs(%%x) }\n replace { either { %%y = Relu(%%x) } or { %%y = Neg(%%x) } }\n}\n' >f; tailor passes --rules=f
! f:4:12: error: expected a value, found 'either'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) }%s }\n replace { %%y = Relu(%%x) }\n}\n' "$(seq 16 | sed 's/.*/ or { %y = Abs(%x) }/' | tr -d '\n')" >f; tailor passes --rules=f
! f:3:337: error: 'either' has at most 16 alternatives
? 1
$ printf 'rules 1\nrule X : cleanup {\n match {%s %%y = Sum(%%v1, %%v2, %%v3, %%v4, %%v5, %%v6, %%v7) }\n replace { %%y = Relu(%%x) }\n}\n' "$(seq 7 | sed 's/.*/ either { %v& = Abs(%x) } or { %v& = Neg(%x) }/' | tr -d '\n')" >f; tailor passes --rules=f
! f:2:6: error: the alternatives of the pattern make more than 64 spellings
? 1
$ printf 'rules 1\nrule X : cleanup {\n match {%s }\n replace { %%y = Relu(%%x) }\n}\n' "$(seq 9 | sed 's/.*/ either { %v& = Abs(%x) } or { %v& = Neg(%x) }/' | tr -d '\n')" >f; tailor passes --rules=f
! f:3:378: error: a pattern has at most 8 'either'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { either { %%y = Abs(%%x) } or { %%y = Neg(%%x) } }\n replace { %%y = Relu(%%x) }\n}\nrule X : cleanup {\n match { %%y = Abs(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:6:6: error: 'X' is defined twice, first at f:2
? 1
