# tailor reduce: a model that fails becomes small.
$ printf 'graph @g(%%x: f32[4,8], %%i: i64[2]) -> (%%y, %%z) {\n  const %%w: f32[8,8] = zeros\n  %%a = Exp(%%x) @a\n  %%m = MatMul(%%a, %%w) @m\n  %%s = Softmax(%%m) @s {axis=1}\n  %%g = Gather(%%s, %%i) @g\n  %%t = Sqrt(%%g) @t\n  %%u = Relu(%%t) @u\n  %%y = Tanh(%%u) @y\n  %%z = Neg(%%a) @z\n}\n' | sed 's/= zeros/= [[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8],[1,2,3,4,5,6,7,8]]/; s/\[\[/[/; s/\]\]/]/; s/\],\[/,/g' >m.tir
$ printf 'rules 1\nrule WrongTanh : graph numerics exact {\n  match {\n    %%r = Relu(%%x)\n    %%y = Tanh(%%r)\n  }\n  replace { %%y = Sigmoid(%%x) }\n}\n' >wrong.tlr
$ tailor reduce m.tir --rules=wrong.tlr -o small.tir | sed 's/by [0-9]* checks/by N checks/; /output/d'
> small.tir: 2 of 8 nodes, by N checks
>   minimal: without any one of its nodes it does not fail so
$ cat small.tir
> graph @g(%t: f32[1,1]) -> (%y) {
>   %u = Relu(%t) @u : f32[1,1]
>   %y = Tanh(%u) @y : f32[1,1]
> }
# names are those of the model, and bisect finds the same in what is left
$ tailor reduce m.tir --rules=wrong.tlr -o small.onnx >/dev/null; tailor bisect small.onnx --rules=wrong.tlr | grep '^  rule'
>   rule   WrongTanh
$ tailor reduce m.tir --rules=wrong.tlr -o again.tir -j 5 >/dev/null; cmp small.tir again.tir
$ tailor reduce m.tir --rules=wrong.tlr -o small.tir --json | sed 's/"checks": [0-9]*/"checks": N/; s/"why": .*/.../'
> {"schema": 1, "model": "m.tir", "reduced": "small.tir", "nodes_before": 8, "nodes": 2, "checks": N, "minimal": true, "ended_early": false, ...
# what counts is that the command fails with the same status, and says the same
$ tailor reduce m.tir --check='test $(grep -c "Softmax\|Neg" {}) -lt 2 || exit 9' -o two.tir | sed 's/by [0-9]* checks/by N checks/'
> two.tir: 2 of 8 nodes, by N checks
>   minimal: without any one of its nodes it does not fail so
>   the command ended with status 9
$ grep -c ' = [A-Z]' two.tir
> 2
$ tailor reduce m.tir --check='grep Softmax {} && exit 9' --match='axis=1' -o one.tir >/dev/null; grep Softmax one.tir
>   %s = Softmax(%m) @s {axis=1} : f32[1,1]
# what counts or decides keeps the values of a run, since random numbers would make no sense there
$ printf 'graph @g(%%x: f32[4,8]) -> (%%y) {\n  %%s = Shape(%%x) @s\n  %%t = Neg(%%x) @t\n  %%y = Reshape(%%t, %%s) @y\n}\n' >shape.tir
$ tailor reduce shape.tir --check='grep -q Reshape {} && exit 9' -o reshape.tir >/dev/null; cat reshape.tir
> graph @g(%t: f32[4,8]) -> (%y) {
>   const %s_1: i64[2] = [0, 0]
>   %y = Reshape(%t, %s_1) @y : f32[4,8]
> }
# a model that a pass refuses, and one on which the tool of the user crashes
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Exp(%%x) @a\n  %%b = my::Foo(%%a) @b\n  %%y = Neg(%%b) @y\n}\n' >foo.tir
$ tailor reduce foo.tir --match='NPU form' -o f.tir | sed 's/by [0-9]* checks/by N checks/'
> f.tir: 1 of 3 nodes, by N checks
>   minimal: without any one of its nodes it does not fail so
>   1 op type has no NPU form: my::Foo x1 ('b'): has no NPU form
$ grep -c 'my::Foo' f.tir
> 1
$ tailor reduce m.tir --check='grep -q Tanh {} && kill -11 $$' -o crash.tir | sed 's/by [0-9]* checks/by N checks/'
> crash.tir: 1 of 8 nodes, by N checks
>   minimal: without any one of its nodes it does not fail so
>   the command was stopped by signal 11
# the end of the time: the smallest so far
$ tailor reduce m.tir --check='sleep 0.2; grep -q Tanh {} && exit 4' --time-limit=1 -o late.tir | grep -o 'ended early'
> ended early
$ grep -c Tanh late.tir
> 1
# a model that is good, and mistakes in the command line
$ tailor reduce m.tir -o n.tir
! m.tir: error: the check is content with this model: there is nothing to reduce
? 1
$ test ! -e n.tir
$ tailor reduce m.tir
! tailor: error: --output: name one file for the reduced model
!   hint: tailor reduce MODEL ... -o small.onnx
? 1
$ tailor reduce m.tir -o n.air
! tailor: error: --output: 'n.air' would be air, which is reduced from AIR with --check only
!   hint: write ONNX or textual IR, or give an AIR file and a command that fails
? 1
$ tailor reduce m.tir --check='exit 1 {}' --match='(' -o n.tir
! tailor: error: --match: '(' is no regular expression: it has a '(' without ')', or the other way round
? 1
$ tailor reduce m.tir --check='echo no {}; exit 1' --match='yes' -o n.tir
! tailor: error: --match: what the failure says does not match
? 1
$ tailor reduce m.tir --check='exit 125 {}' -o n.tir
! m.tir: error: the model cannot be checked: the command ended with status 125
? 1
$ tailor reduce m.tir --check='exit 1 {}' -o m.tir
! tailor: error: --output: 'm.tir' is an input of this conversion and would be overwritten
? 1
$ printf 'rules 1\nrule Broken : graph {\n' >broken.tlr; tailor reduce m.tir --rules=broken.tlr -o n.tir 2>&1 | sed 's/:.*//'
> broken.tlr
$ tailor reduce missing.onnx -o n.tir 2>&1 | sed 's/:.*//'
> missing.onnx
# an AIR file stays AIR for a command that reads it: its ops and attributes are those of the file
$ printf 'module {\n  form npu\n}\n\ngraph @g(%%x: f32[4,8]) -> (%%y) {\n  %%a = npu::Exp(%%x) @a : f32[4,8]\n  %%b = npu::LeakyRelu(%%a) @b {negative_slope=0.5} : f32[4,8]\n  %%y = npu::Neg(%%b) @y : f32[4,8]\n}\n' >npu.tir; tailor convert npu.tir -o npu.air -q
$ tailor reduce npu.air --check='grep -qa negative_slope {} && exit 9' -o one.air | sed 's/by [0-9]* checks/by N checks/'
> one.air: 1 of 3 nodes, by N checks
>   minimal: without any one of its nodes it does not fail so
>   the command ended with status 9
$ tailor info one.air | tail -2
>          1  npu::LeakyRelu
> every op has an NPU form
$ tailor reduce npu.air -o one.air
! tailor: error: --output: 'one.air' would be air, which is reduced from AIR with --check only
!   hint: write ONNX or textual IR, or give an AIR file and a command that fails
? 1
# without --check, or as ONNX, its ops become ONNX's
$ tailor reduce npu.air --check='grep -qa LeakyRelu {} && exit 9' -o one.tir >/dev/null; grep -c '= LeakyRelu' one.tir
> 1
# a dump without weights is no model that can be run
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  const %%w: f32[2] = [1, 2]\n  %%y = Add(%%x, %%w) @y\n}\n' >w.tir; tailor convert w.tir -o w.pbtxt -q; tailor run w.pbtxt 2>&1 | tail -2 | sed 's/node .*: a/node N: a/'
> w.pbtxt: error: node N: a constant without data
>   hint: the dump that the model is from lacks weights; DUMP_GE_GRAPH=1 and the .air file have them
# A command that the shell cannot run says nothing of the model.
$ tailor reduce m.tir -o small.tir --check='no-such-program {}'
! m.tir: error: the model cannot be checked: the shell cannot run the command (status 127)
? 1
$ tailor bisect m.tir -o x.tir --check='no-such-program {}' | sed 's/but its last form/but it/'
> no rewrite breaks the model, but it cannot be checked: the shell cannot run the command (status 127)
