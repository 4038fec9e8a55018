# tailor extract: what is in a part, what names stand for, and what is refused.
$ printf 'graph @g(%%x: f32[2,3], %%c: bool[], %%k: f32[2,3]) -> (%%y, %%z, %%r) {\n  const %%w: f32[3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n  %%a = Exp(%%x) @e\n  %%m = MatMul(%%a, %%w) @mm\n  %%s = Add(%%m, %%k) @add\n  %%r = Relu(%%s) @r\n  %%y = Softmax(%%r) @soft {axis=1}\n  %%z = If(%%c) @if {then_branch=graph @t() -> (%%p) {\n      %%p = Add(%%r, %%a) @tr\n    }, else_branch=graph @f() -> (%%q) {\n      %%q = Neg(%%r) @fn\n    }}\n}\n' >m.tir; tailor opt m.tir --passes= -o m.onnx; tailor convert m.tir -q -o m.air
# between two values: weights and types come along, names stay
$ tailor extract m.onnx --from=a --from=k --to=s -o - --emit=tir
> module {
>   source_opset 21
> }
>
> graph @g(%a: f32[2,3], %k: f32[2,3]) -> (%s) {
>   const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
>   %m = MatMul(%a, %w) @mm : f32[2,3]
>   %s = Add(%m, %k) @add : f32[2,3]
> }
! part     2 of 6 nodes
! input    a: f32[2,3]
! input    k: f32[2,3]
! output   s: f32[2,3]
$ tailor extract m.onnx --from k,a --to s -o - --emit=tir | head -n 5 | tail -n 1
> graph @g(%k: f32[2,3], %a: f32[2,3]) -> (%s) {
! part     2 of 6 nodes
! input    k: f32[2,3]
! input    a: f32[2,3]
! output   s: f32[2,3]
# of nodes: what they read becomes input, what they give output; a value goes before a node
$ tailor extract m.onnx --from mm --to soft -q -o - --emit=tir
> module {
>   source_opset 21
> }
>
> graph @g(%a: f32[2,3], %k: f32[2,3]) -> (%y) {
>   const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
>   %m = MatMul(%a, %w) @mm : f32[2,3]
>   %s = Add(%m, %k) @add : f32[2,3]
>   %r = Relu(%s) @r : f32[2,3]
>   %y = Softmax(%r) @soft {axis=1} : f32[2,3]
> }
$ tailor extract m.onnx --from r --to soft -o p.onnx
! part     1 of 6 nodes
! input    r: f32[2,3]
! output   y: f32[2,3]
! note: --from: 'r' is the name of a value and of a node; the value is taken
$ tailor extract m.onnx --from add --to mm:0 -o p.onnx
! tailor: error: --to: 'm' is in --from as well, or is what a node of --from reads: there is nothing between
? 1
$ tailor extract m.onnx --from mm:0,k --to add -o p.onnx
! part     1 of 6 nodes
! input    m: f32[2,3]
! input    k: f32[2,3]
! output   s: f32[2,3]
# without --to: the outputs that come from --from; without --from: all that --to needs
$ tailor extract m.onnx --from m,k,c,a -o p.onnx
! part     4 of 6 nodes
! input    m: f32[2,3]
! input    k: f32[2,3]
! input    c: bool[]
! input    a: f32[2,3]
! output   y: f32[2,3]
! output   z: f32[2,3]
! output   r: f32[2,3]
$ tailor extract m.onnx --to y,m -o p.onnx
! part     5 of 6 nodes
! input    x: f32[2,3]
! input    k: f32[2,3]
! output   y: f32[2,3]
! output   m: f32[2,3]
# what is not named comes along, and is told
$ tailor extract m.onnx --from m --to y -o p.onnx
! part     3 of 6 nodes
! input    m: f32[2,3]
! input    k: f32[2,3]
! output   y: f32[2,3]
! note: --from does not name 'k', which the part needs: inputs of the model stay inputs
$ tailor extract m.onnx --from r --to if -o p.onnx; tailor info p.onnx | grep -E 'input|output'
> input    r: f32[2,3]
> input    x: f32[2,3]
> input    c: bool[]
> output   z: f32[2,3]
! part     2 of 6 nodes
! input    r: f32[2,3]
! input    x: f32[2,3]
! input    c: bool[]
! output   z: f32[2,3]
! note: --from: 'r' is the name of a value and of a node; the value is taken
! note: --from does not name 'c', 'a', which the part needs: it has 1 node in front of the border, and inputs of the model stay inputs
$ tailor extract m.onnx --from r --to if -q -o p.onnx
# the tensors at the border, which verify reads; of AIR, too
$ tailor extract m.onnx --from m --to s,y --data d -o p.onnx -o p.tir -o p.air; ls d; for p in p.onnx p.tir p.air; do tailor verify $p d; done
> input_0.pb
> input_1.pb
> output_0.pb
> output_1.pb
> tolerance 1e-07 + 0.001 |b|
> equal   "s": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> tolerance 1e-07 + 0.001 |b|
> equal   "s": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> tolerance 1e-07 + 0.001 |b|
> equal   "s": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
! part     3 of 6 nodes
! input    m: f32[2,3]
! input    k: f32[2,3]
! output   s: f32[2,3]
! output   y: f32[2,3]
! note: --from does not name 'k', which the part needs: inputs of the model stay inputs
! data     3 of 3 inputs are random (seed 0)
$ tailor extract m.air --from add/Gemm/Gemm:0 --to soft --data n --format npy --seed 3 -q -o p.air -o p.onnx -o p.tir; ls n; for p in p.air p.onnx p.tir; do tailor verify $p n | tail -n 1; done
> input_0.npy
> input_1.npy
> output_0.npy
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
$ tailor extract m.tir --from r --to y -o - --emit=pbtxt -q | grep op_type
>     op_type: "ge:Data"
>     op_type: "ge:SoftmaxV2"
>     op_type: "ge:NetOutput"
# weights in files of their own; the model is not written over
$ printf 'graph @g(%%x: f32[600]) -> (%%y) {\n  const %%w: f32[600] = [%s1]\n  %%a = Mul(%%x, %%w)\n  %%y = Exp(%%a)\n}\n' $(yes 1, | head -n 599 | tr -d '\n') >w.tir; tailor extract w.tir --to a -q -o w.onnx --external-weight=1; ls w.onnx*; tailor extract w.onnx --to a -q -o v.onnx; tailor verify w.onnx v.onnx | grep -c ^equal
> w.onnx
> w.onnx.data
> 1
$ tailor extract m.onnx --from a --to m -q -o m.onnx
! tailor: error: --output: 'm.onnx' is an input of this conversion and would be overwritten
? 1
# training states within the part stay; the others are counted
$ printf 'graph @g(%%x: f32[2], %%w: f32[2], %%t: f32[2]) -> (%%v, %%u) {\n  %%a = Mul(%%x, %%w)\n  %%v = Sub(%%w, %%a)\n  %%u = Add(%%t, %%a)\n  state %%w -> %%v\n  state %%t -> %%u\n}\n' >t.tir; tailor extract t.tir --from a,w --to v -o - --emit=tir
> graph @g(%a: f32[2], %w: f32[2]) -> (%v) {
>   %v = Sub(%w, %a) : f32[2]
>   state %w -> %v
> }
! t.tir: warning: training states are left out, since the part lacks their inputs or outputs: 1 of 2
! part     1 of 3 nodes
! input    a: f32[2]
! input    w: f32[2]
! output   v: f32[2]
$ tailor extract t.tir --from x,w,t --to v,u -q -o - --emit=tir | grep state
>   state %w -> %v
>   state %t -> %u
# an order that ends at the border
$ printf 'graph @g(%%x: f32[1]) -> (%%a, %%b) {\n  %%a = Exp(%%x)\n  %%b = Neg(%%x) after %%a\n}\n' >o.tir; tailor extract o.tir --from x --to b -o - --emit=tir
> graph @g(%x: f32[1]) -> (%b) {
>   %b = Neg(%x) : f32[1]
> }
! o.tir: warning: control edges from nodes outside the part are left out: 1
! part     1 of 2 nodes
! input    x: f32[1]
! output   b: f32[1]
# graphs behind the first
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  %%a = Exp(%%x)\n  %%y = Neg(%%a)\n}\n\ngraph @h(%%u: f32[1]) -> (%%v) {\n  %%v = Exp(%%u)\n}\n' >two.tir; tailor extract two.tir --from a --to y -o - --emit=tir
> graph @g(%a: f32[1]) -> (%y) {
>   %y = Neg(%a) : f32[1]
> }
! two.tir: warning: graphs behind the first one are left out: 1
! part     1 of 2 nodes
! input    a: f32[1]
! output   y: f32[1]
$ tailor extract two.tir --to v -o p.onnx
! tailor: error: --to: 'v' is not in the first graph of the file, from which parts are taken
? 1
# names that cannot stand there
$ tailor extract m.onnx --from p --to z -o p.onnx
! tailor: error: --from: 'p' is inside a body of 'if', which no part divides
!   hint: name 'if' or a value outside
? 1
$ tailor extract m.onnx --from w --to y -o p.onnx
! tailor: error: --from: 'w' is a constant, which the part has as a weight
!   hint: leave it out
? 1
$ tailor extract m.onnx --from a,w --to y -o p.onnx
! tailor: error: --from: 'w' is a constant, which the part has as a weight
!   hint: leave it out
? 1
$ tailor extract m.onnx --to w -o p.onnx
! tailor: error: --to: 'w' is a constant: no node computes it
? 1
$ tailor extract m.onnx --to x -o p.onnx
! tailor: error: --to: 'x' is an input of the model: no node computes it
? 1
$ tailor extract m.onnx --from y --to a -o p.onnx
! tailor: error: --from: 'y' is on no path to an output of the part
!   hint: leave it out
? 1
$ tailor extract m.onnx --from a,z --to y -o p.onnx
! tailor: error: --from: 'z' is on no path to an output of the part
!   hint: leave it out
? 1
$ tailor extract m.onnx --from r --to r -o p.onnx
! tailor: error: --to: 'r' is in --from as well, or is what a node of --from reads: there is nothing between
? 1
$ tailor extract m.onnx --from soft --to r -o p.onnx
! tailor: error: --to: 'r' is in --from as well, or is what a node of --from reads: there is nothing between
? 1
$ tailor extract m.onnx --from y -o p.onnx
! tailor: error: --from: no output of the model is computed from these values
!   hint: name values in front of an output, or say with --to what the part gives
? 1
$ tailor extract m.onnx --from sofy --to y -o p.onnx
! tailor: error: --from: the model has no value and no node 'sofy'
!   hint: did you mean 'soft'?
? 1
$ tailor extract m.onnx --from nothing_of_this_name --to y -o p.onnx
! tailor: error: --from: the model has no value and no node 'nothing_of_this_name'
!   hint: 'tailor opt MODEL --passes=' prints the names
? 1
$ tailor extract m.air --from mm --to soft -o p.onnx
! tailor: error: --from: 'mm' is no node of this file, but nodes were made of it: 'add/Gemm' is the last
? 1
$ tailor extract m.onnx --from mm:1 --to y -o p.onnx
! tailor: error: --from: 'mm:1': results of the node are counted from 0, and there are 1
? 1
$ tailor extract m.onnx --from mm:x --to y -o p.onnx
! tailor: error: --from: the model has no value and no node 'mm:x'
!   hint: did you mean 'mm'?
? 1
$ tailor extract m.onnx --from a, --to y -o p.onnx
! tailor: error: --from: has an empty name
!   hint: write names with commas between
? 1
$ tailor extract m.onnx --from ,, --to y -o p.onnx
! tailor: error: --from: has an empty name
!   hint: write names with commas between
? 1
$ tailor extract m.onnx --from '' --to y -o p.onnx
! tailor: error: --from: the value is empty [E10054]
!   hint: write --from=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
# options that do not fit
$ tailor extract
! tailor: error: no model is named
!   hint: tailor extract MODEL --from A,B --to C,D -o PART
? 1
$ tailor extract m.onnx -o p.onnx
! tailor: error: neither --from nor --to is given, so the part would be the model
!   hint: tailor extract MODEL --from A,B --to C,D -o PART
? 1
$ tailor extract m.onnx --to y
! tailor: error: no output is named
!   hint: add -o OUTPUT, for example -o part.onnx
? 1
$ tailor extract m.onnx n.onnx --to y -o p.onnx
! tailor: error: stray argument 'n.onnx'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor extract m.onnx --to y -o p.om
! tailor: error: --output: 'p.om' is an offline model, which takes two steps: Tailor writes AIR, and atc compiles it
!   hint: write -o p.air here, then run: atc --framework=1 --model=p.air --output=p --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
? 3
$ tailor extract m.onnx --to y -o p.onnx -o p.onnx
! tailor: error: --output: 'p.onnx' is named twice
? 1
$ tailor extract m.onnx --to y -o p.onnx --threads=2
! tailor: error: --threads: has no effect without --data, which runs the model
? 1
$ tailor extract m.onnx --to y -o p.onnx --input=x=random
! tailor: error: --input: has no effect without --data, which runs the model
? 1
$ tailor extract m.onnx --to y -o p.onnx --format=npy
! tailor: error: --format: has no effect without --data, which runs the model
? 1
$ tailor extract m.onnx --to y -o p.onnx --precision-mode=force_fp16
! tailor: error: '--precision-mode=force_fp16' is not an option of 'tailor extract'
!   hint: 'tailor help extract' lists its options
? 1
$ tailor extract - --to y -o p.onnx --data d <m.onnx
! tailor: error: --data: reads the model twice, which standard input does not allow
!   hint: name a file
? 1
$ tailor extract - --to y -q -o p.onnx <m.onnx
$ tailor extract missing.onnx --to y -o p.onnx
! missing.onnx: error: cannot open 'missing.onnx': No such file or directory
? 4
$ echo junk >junk.onnx; tailor extract junk.onnx --to y -o p.onnx
! junk.onnx: error: malformed ModelProto (at byte 2)
!   hint: the file is damaged, truncated, or not an ONNX model
? 2
$ tailor extract m.onnx --to y -o p.onnx --data m.onnx
! m.onnx: error: cannot create folder 'm.onnx': File exists
? 4
$ tailor extract m.onnx --to y -o none/p.onnx
! none/p.onnx: error: cannot create a temporary file for 'none/p.onnx': No such file or directory
? 4
$ tailor extract m.onnx --to y -o q.onnx --data e --input=k=m.onnx; ls e q.onnx
! m.onnx: error: "\n\x00\x10\x15": unknown data type 0
! ls: cannot access 'e': No such file or directory
! ls: cannot access 'q.onnx': No such file or directory
? 2
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  %%u = my::Op(%%x)\n  %%y = Neg(%%u)\n}\n' >u.tir; tailor extract u.tir --from u --to y -o p.onnx
! tailor: error: --from: nothing says which type 'u' has, so it cannot be an input
!   hint: name another value
? 1
# options that name inputs of the whole model: a frozen input is a constant of the part
$ printf 'graph @g(%%x: f32[n,3], %%f: f32[]) -> (%%y) {\n  %%a = Exp(%%x)\n  %%y = Mul(%%a, %%f)\n}\n' >f.tir; tailor extract f.tir --from a --to y --freeze f=0.5 --input-shape=x:2,3 -o - --emit=tir -q
> graph @g(%a: f32[2,3]) -> (%y) {
>   const %f: f32[] = 0.5
>   %y = Mul(%a, %f) : f32[2,3]
> }
