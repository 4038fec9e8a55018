# Rules of files (docs/rules.md): listed, loaded, overriding, switched off.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Softsign(%%x)\n  %%y = Softsign(%%a)\n}\n' >m.tir
$ printf 'rules 1\nrule TwoSigns : graph "MyFusionPass" numerics approximate about "one is enough" {\n  match { %%a = Softsign(%%x)  %%y = Softsign(%%a) }\n  replace { %%y = Softsign(%%x) }\n}\n' >r.tlr
$ tailor passes --rules=r.tlr | grep -E '^(rule|TwoSigns) '
> rule                               kind     pass                             numerics       state defined at
> TwoSigns                           graph    MyFusionPass                     approximate    off   r.tlr:2; its numerics class is looser than --numerics
$ tailor passes --rules=r.tlr --json | grep TwoSigns
>  {"name": "TwoSigns", "kind": "graph", "pass": "MyFusionPass", "numerics": "approximate", "priority": -1, "file": "r.tlr", "line": 2, "on": false, "why": "its numerics class is looser than --numerics", "about": "one is enough"}
$ tailor passes --fusion --rules=r.tlr | grep MyFusionPass
> MyFusionPass                                                 graph    on       yes            1      on    on by default
$ tailor passes --rules=r.tlr --numerics=approximate | grep TwoSigns
> TwoSigns                           graph    MyFusionPass                     approximate    on    r.tlr:2
$ tailor opt m.tir --rules r.tlr --remarks
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Softsign(%x) : f32[2,3]
>   %y = Softsign(%a) : f32[2,3]
> }
$ tailor opt m.tir --rules r.tlr --numerics=approximate --remarks
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Softsign(%x) : f32[2,3] meta "_datadump_original_op_names" "[\"Softsign->a\", \"Softsign->y\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Softsign\"]" meta "pass_name" "[\"MyFusionPass\"]"
> }
! remark: graph-fusion: "Softsign->y": MyFusionPass/TwoSigns: `Softsign->a`, `Softsign->y` became Softsign
$ tailor opt m.tir --rules r.tlr --numerics=approximate --fusion=MyFusionPass:off
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Softsign(%x) : f32[2,3]
>   %y = Softsign(%a) : f32[2,3]
> }
$ tailor opt m.tir --rules r.tlr --numerics=approximate --fusion=TwoSigns:off
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Softsign(%x) : f32[2,3]
>   %y = Softsign(%a) : f32[2,3]
> }
$ printf '{"Switch":{"GraphFusion":{"MyFusionPass":"off"}}}' >s.cfg; tailor opt m.tir --rules r.tlr --numerics=approximate --fusion-switch-file=s.cfg
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Softsign(%x) : f32[2,3]
>   %y = Softsign(%a) : f32[2,3]
> }
$ tailor opt m.tir --rules r.tlr --numerics=approximate -O1
> graph @g(%x: f32[2,3]) -> (%y) {
>   %a = Softsign(%x) : f32[2,3]
>   %y = Softsign(%a) : f32[2,3]
> }
# A later file overrides by name; a name twice in one file is a slip.
$ printf 'rules 1\nrule TwoSigns : cleanup numerics exact {\n  match { %%a = Softsign(%%x)  %%y = Softsign(%%a) }\n  replace { %%y = Tanh(%%x) }\n}\n' >o.tlr
$ tailor opt m.tir --rules r.tlr --rules=o.tlr
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Tanh(%x) : f32[2,3]
> }
$ cat o.tlr >twice.tlr; tail -n +2 o.tlr >>twice.tlr; tailor opt m.tir --rules twice.tlr
! twice.tlr:6:6: error: 'TwoSigns' is defined twice, first at twice.tlr:2
? 1
$ printf 'rules 1\nrule ReluRelu : cleanup {\n  match { %%a = Relu(%%x)  %%y = Relu(%%a) }\n  where { false }\n  replace { %%y = Relu(%%x) }\n}\n' >off.tlr; printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Relu(%%x)\n  %%y = Relu(%%a)\n}\n' | tailor opt --rules off.tlr
> graph @g(%x: f32[2]) -> (%y) {
>   %a = Relu(%x) : f32[2]
>   %y = Relu(%a) : f32[2]
> }
$ tailor passes --numerics=exact
! tailor: error: --numerics: has no effect on the list of passes
!   hint: add --fusion for the list of fusion passes, --rules for that of rules
? 1
$ tailor opt m.tir --numerics=strict
! tailor: error: --numerics: 'strict' is not one of exact|reassociating|approximate [E10001]
? 1
$ tailor opt m.tir --rules r.tlr -o m.onnx --depfile d; cat d
> m.onnx: \
>  m.tir \
>  r.tlr
# Files that cannot be read.
$ tailor opt m.tir --rules missing.tlr
! missing.tlr: error: cannot open the rules: No such file or directory
? 4
$ mkdir folder; tailor opt m.tir --rules folder
! folder: error: cannot read the rules: it is a folder
? 4
$ tailor opt m.tir --rules /dev/zero
! /dev/zero: error: cannot read the rules: it is no regular file
? 4
$ tailor opt m.tir --rules=
! tailor: error: --rules: the value is empty [E10054]
!   hint: write --rules=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
$ : >f; tailor opt m.tir --rules f
! f:1:1: error: expected 'rules', but the text ends
? 1
$ head -c 100000000 /dev/zero | tr '\0' '{' >f; tailor opt m.tir --rules f
! f: error: cannot read the rules: the file has 100000000 bytes, more than 4194304
? 2
$ head -c 4000000 /dev/zero | tr '\0' '{' >f; tailor passes --rules=f 2>&1 | cut -c1-80
> f:1:1: error: expected 'rules', found '{'
$ head -c 1000 /dev/zero >f; tailor passes --rules=f
! f:1:1: error: unexpected character
? 1
$ printf 'rules 1\nrule \377 : graph' >f; tailor passes --rules=f
! f:2:6: error: unexpected character
? 1
$ printf 'rules 2\n' >f; tailor passes --rules=f
! f:1:7: error: the rules are written in version 2 of the language; this build reads version 1
? 1
$ printf 'rule X : graph {}' >f; tailor passes --rules=f
! f:1:1: error: expected 'rules', found 'rule'
? 1
$ printf 'rules 1\nrule X' >f; tailor passes --rules=f
! f:2:7: error: expected ':', but the text ends
? 1
$ printf 'rules 1\nfuse X' >f; tailor passes --rules=f
! f:2:1: error: expected rule, scope or define, found 'fuse'
? 1
# What the parser refuses.
$ printf 'rules 1\nrule X : fold {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:10: error: expected cleanup, graph, late, expand or scope, found 'fold'
? 1
$ printf 'rules 1\nrule X : cleanup priority many {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:27: error: expected a number, found 'many'
? 1
$ printf 'rules 1\nrule X : cleanup priority 2000000 {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:27: error: a priority is between 0 and 1000000
? 1
$ printf 'rules 1\nrule X : cleanup numerics loose {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:27: error: expected exact, reassociating or approximate, found 'loose'
? 1
$ printf 'rules 1\nrule X : graph target gpu {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:23: error: expected npu, npu910, npu910b or onnxruntime, found 'gpu'
? 1
$ printf 'rules 1\nrule X : graph target {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:23: error: expected npu, npu910, npu910b or onnxruntime, found '{'
? 1
$ printf 'rules 1\nrule X : graph target numerics exact {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:23: error: expected npu, npu910, npu910b or onnxruntime, found 'numerics'
? 1
$ printf 'rules 1\nrule X : graph target npu gpu {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:27: error: expected npu, npu910, npu910b, onnxruntime, a clause or '{', found 'gpu'
? 1
$ printf 'rules 1\nrule X : graph target npu onnxruntime ONNX numerics exact {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:39: error: expected npu, npu910, npu910b, onnxruntime, a clause or '{', found 'ONNX'
? 1
$ printf 'rules 1\nrule X : graph target npu, onnxruntime {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:26: error: expected npu, npu910, npu910b, onnxruntime, a clause or '{', found ','
? 1
$ printf 'rules 1\nrule X : graph target npu910 npu onnxruntime npu910 {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:46: error: 'npu910' is given twice
? 1
$ printf 'rules 1\nrule X : graph target npu numerics exact target onnxruntime {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:42: error: 'target' is given twice
? 1
$ printf 'rules 1\nrule X : cleanup about nothing {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:24: error: expected a sentence in quotes, found 'nothing'
? 1
$ printf 'rules 1\nrule X : cleanup later {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:18: error: expected '{', found 'later'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Rel(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:15: error: unknown op 'Rel'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = (%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:15: error: expected an op, found '('
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = ai.onnx.ml::(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:27: error: expected an op behind '::', found '('
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:13: error: expected '=', found 'Relu'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu %%x }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:20: error: expected '(', found 'x'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:23: error: expected ')', found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:20: error: expected a value, found 'x'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x)  %%y = Abs(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:25: error: %y is made twice
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Softmax(%%x) {axis=1, axis=0} }\n}\n' >f; tailor passes --rules=f
! f:4:38: error: attribute 'axis' is given twice
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Softmax(%%x) {axis=1, axis=0} }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:36: error: attribute 'axis' is given twice
? 1
$ printf 'rules 1\ndefine my::A(%%x, %%x) {\n %%y = Relu(%%x)\n return %%y\n}\n' >f; tailor passes --rules=f
! f:2:8: error: %x is named twice
? 1
$ printf 'rules 1\ndefine my::A(%%x) {$a, $a} {\n %%y = Relu(%%x)\n return %%y\n}\n' >f; tailor passes --rules=f
! f:2:23: error: attribute 'a' is given twice
? 1
$ printf 'rules 1\ndefine my::A(%%x) {\n %%y = Relu(%%x)\n return %%y\n}\ndefine my::A(%%x) {\n %%y = Neg(%%x)\n return %%y\n}\n' >f; tailor passes --rules=f
! f:6:8: error: 'A' is defined twice, first at f:2
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Concat(%%v0, %%v1, %%v2, %%v3, %%v4, %%v5, %%v6, %%v7, %%v8, %%v9, %%v10, %%v11, %%v12, %%v13, %%v14, %%v15, %%v16) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:108: error: more than 16 operands
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = %s(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' $(seq 33 | sed 's/.*/Abs/' | tr '\n' '|' | sed 's/.$//') >f; tailor passes --rules=f
! f:3:143: error: more than 32 alternatives
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%a,%%b,%%c,%%d,%%e,%%f,%%g,%%h,%%i = Split(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:34: error: more than 8 results
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%v1 = Relu(%%v0) %%v2 = Relu(%%v1) %%v3 = Relu(%%v2) %%v4 = Relu(%%v3) %%v5 = Relu(%%v4) %%v6 = Relu(%%v5) %%v7 = Relu(%%v6) %%v8 = Relu(%%v7) %%v9 = Relu(%%v8) %%v10 = Relu(%%v9) %%v11 = Relu(%%v10) %%v12 = Relu(%%v11) %%v13 = Relu(%%v12) %%v14 = Relu(%%v13) %%v15 = Relu(%%v14) %%v16 = Relu(%%v15) %%v17 = Relu(%%v16) %%v18 = Relu(%%v17) %%v19 = Relu(%%v18) %%v20 = Relu(%%v19) %%v21 = Relu(%%v20) %%v22 = Relu(%%v21) %%v23 = Relu(%%v22) %%v24 = Relu(%%v23) %%v25 = Relu(%%v24) %%v26 = Relu(%%v25) %%v27 = Relu(%%v26) %%v28 = Relu(%%v27) %%v29 = Relu(%%v28) %%v30 = Relu(%%v29) %%v31 = Relu(%%v30) %%v32 = Relu(%%v31) %%v33 = Relu(%%v32) %%v34 = Relu(%%v33) %%v35 = Relu(%%v34) %%v36 = Relu(%%v35) %%v37 = Relu(%%v36) %%v38 = Relu(%%v37) %%v39 = Relu(%%v38) %%v40 = Relu(%%v39) %%v41 = Relu(%%v40) %%v42 = Relu(%%v41) %%v43 = Relu(%%v42) %%v44 = Relu(%%v43) %%v45 = Relu(%%v44) %%v46 = Relu(%%v45) %%v47 = Relu(%%v46) %%v48 = Relu(%%v47) %%v49 = Relu(%%v48) }\n replace { %%v49 = Relu(%%v0) }\n}\n' >f; tailor passes --rules=f
! f:3:855: error: more than 48 nodes
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%w1 = Relu(%%x) %%w2 = Relu(%%w1) %%w3 = Relu(%%w2) %%w4 = Relu(%%w3) %%w5 = Relu(%%w4) %%w6 = Relu(%%w5) %%w7 = Relu(%%w6) %%w8 = Relu(%%w7) %%w9 = Relu(%%w8) %%w10 = Relu(%%w9) %%w11 = Relu(%%w10) %%w12 = Relu(%%w11) %%w13 = Relu(%%w12) %%w14 = Relu(%%w13) %%w15 = Relu(%%w14) %%w16 = Relu(%%w15) %%w17 = Relu(%%w16) %%w18 = Relu(%%w17) %%w19 = Relu(%%w18) %%w20 = Relu(%%w19) %%w21 = Relu(%%w20) %%w22 = Relu(%%w21) %%w23 = Relu(%%w22) %%w24 = Relu(%%w23) %%w25 = Relu(%%w24) %%w26 = Relu(%%w25) %%w27 = Relu(%%w26) %%w28 = Relu(%%w27) %%w29 = Relu(%%w28) %%w30 = Relu(%%w29) %%w31 = Relu(%%w30) %%w32 = Relu(%%w31) %%w33 = Relu(%%w32) %%w34 = Relu(%%w33) %%w35 = Relu(%%w34) %%w36 = Relu(%%w35) %%w37 = Relu(%%w36) %%w38 = Relu(%%w37) %%w39 = Relu(%%w38) %%w40 = Relu(%%w39) %%w41 = Relu(%%w40) %%w42 = Relu(%%w41) %%w43 = Relu(%%w42) %%w44 = Relu(%%w43) %%w45 = Relu(%%w44) %%w46 = Relu(%%w45) %%w47 = Relu(%%w46) %%w48 = Relu(%%w47) %%y = Abs(%%w48) }\n}\n' >f; tailor passes --rules=f
! f:4:856: error: more than 48 nodes
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Softmax(%%x) {axis} }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:32: error: expected '=', found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Softmax(%%x) {axis=} }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:33: error: expected an expression, found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Softmax(%%x) {axis=$a }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:2: error: expected a value, found 'replace'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Mul(%%x, const big) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:29: error: expected a number, found 'big'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Relu(%%z) }\n}\n' >f; tailor passes --rules=f
! f:4:22: error: %z is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Softmax(%%x) {axis=$a} }\n}\n' >f; tailor passes --rules=f
! f:4:35: error: $a is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = op(%%x)(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:20: error: 'op' names a value that the pattern makes
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Softmax(%%x) {from %%x} }\n}\n' >f; tailor passes --rules=f
! f:4:35: error: 'from' names a value that the pattern makes
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Concat(%%x...) }\n replace { %%y = Concat(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:26: error: a list of operands is written %name... in both places
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { rank(%%x) ==  }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:23: error: expected an expression, found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { rang(%%x) == 2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:10: error: unknown function 'rang'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { rank(%%x, 1) == 2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:10: error: the function is rank(%x), it has no form with 2 arguments
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { rank(%%x, 1, 2, 3, 4) == 2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:28: error: too many arguments
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { f33 == f32 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:10: error: 'f33' is neither a dtype nor a function
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { rank(%%q) == 2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:15: error: %q is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { let $n = 1 + (2 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:26: error: expected ')', found '}'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { let n = 1 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:14: error: expected a name such as $axis, found 'n'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { $n == 1 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:10: error: $n is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:74: error: the expression is nested more than 64 deep
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!true }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:74: error: the expression is nested more than 64 deep
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] == 1 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:139: error: more than 64 elements
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { true true true true true true true true true true true true true true true true true true true true true true true true true }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:130: error: more than 24 conditions
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { "open }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:10: error: the quoted text does not end on its line
? 1
# What the checker refuses.
$ printf 'rules 1\nrule X : cleanup {\n match {  }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:22: error: %x is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace {  }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': the pattern or the replacement is empty
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x, %%z) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': 'Relu' takes 1 operand, not 2
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y,%%z = Relu(%%x) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': 'Relu' has at most 1 results, not 2
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) {axis=1} }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': 'Relu' has no attribute 'axis'
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Mul(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:12: error: rule 'X': 'Mul' takes 2 operands, not 1
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Concat(%%a..., %%b...) }\n replace { %%y = Concat(%%a..., %%b...) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': two lists of operands need exactly one node between them
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = maybe Relu(const 1) }\n replace { %%y = Relu(const f32 1) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': a node that may be missing needs a value as its first operand
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%z = Relu(%%x)  %%y = Abs(%%z) }\n replace { %%z = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': the replacement produces no result of the pattern root, its last node
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%x = Relu(%%x)  %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:3:10: error: rule 'X': %x comes from outside the pattern and cannot be made by the replacement
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n replace { %%y = Abs(%%t)  %%t = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:4:21: error: %t is not bound by the pattern
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Mul(%%x, %%z) }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': %z is never used; a name that begins with _ may be
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Softmax(%%x) {axis=$a} }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': $a is never used; a name that begins with _ may be
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%y = Relu(%%x) }\n where { let $n = 1 }\n replace { %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': $n is never used; a name that begins with _ may be
? 1
$ printf 'rules 1\nrule X : cleanup {\n match { %%z = Abs(%%q)  %%y = Relu(%%x) }\n replace { %%z = Exp(%%q)  %%y = Relu(%%x) }\n}\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': a node of the pattern is not connected with the last one
? 1
# Definitions.
$ printf 'rules 1\ndefine tl::New(%%x) {\n %%h = Relu(%%x)\n}\n' >f; tailor passes --rules=f
! f:4:1: error: expected a value, found '}'
? 1
$ printf 'rules 1\ndefine tl::New(%%x) {\n %%h = Relu(%%x)\n return %%x\n}\n' >f; tailor passes --rules=f
! f:4:9: error: 'return' names values that the body makes, each once
? 1
$ printf 'rules 1\ndefine tl::New(%%x) {$axis, axis} {\n %%h = Relu(%%x)\n return %%h\n}\n' >f; tailor passes --rules=f
! f:2:28: error: expected '}', found 'axis'
? 1
$ printf 'rules 1\ndefine Newer(%%x) {\n %%h = Relu(%%x)\n return %%h\n}\n' >f; tailor passes --rules=f
! f:2:8: error: unknown op 'Newer'
? 1
$ printf 'rules 1\ndefine tl::RmsNorm(%%x, %%gamma) {\n  %%y = Add(%%x, %%gamma)\n  return %%y\n}\n' >d.tlr; tailor passes --rules=d.tlr | grep RmsNorm.*d.tlr
> RmsNorm                            define                                                   on    d.tlr:2
# Slips that would be silent otherwise.
$ printf 'rules 1\nrule R : cleanup numerics exact numerics exact {\n  match { %%y = Elu(%%x) }\n  replace { %%y = Relu(%%x) }\n}\n' >n.tlr; tailor opt m.tir --rules n.tlr
! n.tlr:2:33: error: 'numerics' is given twice
? 1
$ printf 'rules 1\nrule R : cleanup {\n  match { %%a = Tanh(%%y)  %%y = Elu(%%a) }\n  replace { %%y = Tanh(%%a) }\n}\n' >n.tlr; tailor opt m.tir --rules n.tlr
! n.tlr:3:26: error: %y is used above the statement that makes it
? 1
$ { printf 'rules 1\nrule R : cleanup {\n  match { %%y = Elu(%%x) }\n  where { 1'; for i in $(seq 600); do printf ' + 1'; done; printf ' == 1 }\n  replace { %%y = Relu(%%x) }\n}\n'; } >n.tlr; tailor opt m.tir --rules n.tlr
! n.tlr:4:2061: error: the expressions of a rule have more than 1024 parts
? 1
# Rules that make ever more of what they take.
$ printf 'rules 1\nrule Grow : cleanup {\n  match { %%y = Softsign(%%x) }\n  replace { %%a = Softsign(%%x)  %%b = Softsign(%%a)  %%y = Softsign(%%b) }\n}\n' >n.tlr; tailor opt m.tir --rules n.tlr -o grown.tir
! m.tir: warning: rewriting does not terminate and was stopped; the last rule was 'Grow' [W_FUSION_BUDGET]
!   hint: --fusion=Grow:off switches that rule off
# A name has one value: with two, the order of conditions would decide which one is meant.
$ for n in n a; do printf 'rules 1\nrule Twice : graph {\n  match { %%y = Concat(%%in...) {axis=$a} }\n  where {\n    let $n = operands(%%y)\n    let $'$n' = 3\n  }\n  replace { %%y = Concat(%%in...) {axis=$a} }\n}\n' >twice.tlr; printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Abs(%%x)\n}\n' | tailor opt --rules=twice.tlr -; done
! twice.tlr:6:9: error: '$n' has a value already
!   hint: use another name
! twice.tlr:6:9: error: '$a' has a value already
!   hint: use another name
? 1
