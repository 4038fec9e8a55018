# tailor diff: what is reported, in which form, and what is no difference.
$ printf 'graph @g(%%x: f32[2,3], %%c: bool[]) -> (%%y, %%z) {\n  const %%w: f32[3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n  %%a = Exp(%%x) @e : f32[2,3]\n  %%m = MatMul(%%a, %%w) @mm : f32[2,3]\n  %%r = Relu(%%m) @r : f32[2,3]\n  %%y = Softmax(%%r) @s {axis=1} : f32[2,3]\n  %%z = If(%%c) @if {then_branch=graph @t() -> (%%p) {\n      %%p = Relu(%%r) @tr\n    }, else_branch=graph @f() -> (%%q) {\n      %%q = Neg(%%r) @fn\n    }}\n}\n' >a.tir
$ tailor diff a.tir a.tir
# an attribute, a weight, the op of a node in a body, a node between two others
$ sed 's/axis=1/axis=0/; s/4, 5, 6/4, 5.5, 6/; s/Relu(%r) @tr/Abs(%r) @tr/; s/%r = Relu(%m) @r/%n = Neg(%m) @n\n  %r = Relu(%n) @r/' a.tir >b.tir; tailor diff a.tir b.tir
> diff a.tir b.tir
> --- a.tir
> +++ b.tir
> @@ changed constant "w": contents, 1 of 9 elements differ, by at most 0.5 @@
> -const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
> +const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.5, 6.0, 7.0, 8.0, 9.0]
> @@ added Neg "n" @@
> +%n = Neg(%m) @n
> @@ changed Relu "r": operands @@
> -%r = Relu(%m) @r : f32[2,3]
> +%r = Relu(%n) @r : f32[2,3]
> @@ changed Softmax "s": attributes @@
> -%y = Softmax(%r) @s {axis=1} : f32[2,3]
> +%y = Softmax(%r) @s {axis=0} : f32[2,3]
> @@ changed Abs "tr" in If "if" then_branch: op @@
> -%p = Relu(%r) @tr
> +%p = Abs(%r) @tr
? 5
$ tailor diff a.tir b.tir --stat
> what      added  removed  changed  renamed
> Abs       0      0        1        0
> Neg       1      0        0        0
> Relu      0      0        1        0
> Softmax   0      0        1        0
> constant  0      0        1        0
? 5
$ tailor diff a.tir b.tir --json
> {"schema": 1, "a": "a.tir", "b": "b.tir", "counts": [
>   {"op": "Abs", "added": 0, "removed": 0, "changed": 1, "renamed": 0},
>   {"op": "Neg", "added": 1, "removed": 0, "changed": 0, "renamed": 0},
>   {"op": "Relu", "added": 0, "removed": 0, "changed": 1, "renamed": 0},
>   {"op": "Softmax", "added": 0, "removed": 0, "changed": 1, "renamed": 0},
>   {"kind": "constant", "added": 0, "removed": 0, "changed": 1, "renamed": 0}], "differences": [
>   {"kind": "constant", "change": "changed", "name": "w", "what": ["contents"], "elements": 9, "elements_differ": 1, "largest": 0.5, "a": "const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]", "b": "const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.5, 6.0, 7.0, 8.0, 9.0]"},
>   {"kind": "node", "change": "added", "name": "n", "op": "Neg", "b": "%n = Neg(%m) @n"},
>   {"kind": "node", "change": "changed", "name": "r", "what": ["operands"], "op": "Relu", "a": "%r = Relu(%m) @r : f32[2,3]", "b": "%r = Relu(%n) @r : f32[2,3]"},
>   {"kind": "node", "change": "changed", "name": "s", "what": ["attributes"], "op": "Softmax", "a": "%y = Softmax(%r) @s {axis=1} : f32[2,3]", "b": "%y = Softmax(%r) @s {axis=0} : f32[2,3]"},
>   {"kind": "node", "change": "changed", "name": "tr", "what": ["op"], "body": "If \"if\" then_branch", "op": "Abs", "a": "%p = Relu(%r) @tr", "b": "%p = Abs(%r) @tr"}]}
? 5
# the other way round
$ tailor diff b.tir a.tir | grep @@
> @@ changed constant "w": contents, 1 of 9 elements differ, by at most 0.5 @@
> @@ removed Neg "n" @@
> @@ changed Relu "r": operands @@
> @@ changed Softmax "s": attributes @@
> @@ changed Relu "tr" in If "if" then_branch: op @@
# inputs, outputs, dtypes, shapes, and an operand
$ printf 'graph @g(%%x: f32[2,3], %%k: f32[3]) -> (%%y, %%z) {\n  %%y = Relu(%%x) : f32[2,3]\n  %%z = Neg(%%y) : f32[2,3]\n}\n' >d.tir; sed 's/f32\[2,3\]/f16[2,4]/g; s/, %k: f32\[3\]/, %j: f32[2], %i: f32[1]/; s/Neg(%y)/Neg(%x)/; s/(%y, %z)/(%z)/' d.tir >c.tir; tailor diff d.tir c.tir
> diff d.tir c.tir
> --- d.tir
> +++ c.tir
> @@ changed input "x": dtype, shape @@
> -input 0 %x: f32[2,3]
> +input 0 %x: f16[2,4]
> @@ changed input "j": name, shape @@
> -input 1 %k: f32[3]
> +input 1 %j: f32[2]
> @@ added input "i" @@
> +input 2 %i: f32[1]
> @@ removed output "y" @@
> -output %y
> @@ changed output "z": position @@
> -output %z
> +output %z
> @@ changed Relu "y": dtype, shape @@
> -%y = Relu(%x) : f32[2,3]
> +%y = Relu(%x) : f16[2,4]
> @@ changed Neg "z": operands, dtype, shape @@
> -%z = Neg(%y) : f32[2,3]
> +%z = Neg(%x) : f16[2,4]
? 5
# a shape that only one of the two states
$ sed 's/ : f32\[2,3\]//' d.tir >e.tir; tailor diff d.tir e.tir | grep @@
> @@ changed Relu "y": type @@
> @@ changed Neg "z": type @@
# control edges and streams
$ printf 'graph @g(%%x: f32[1]) -> (%%a, %%b) {\n  %%a = Exp(%%x)\n  %%b = Neg(%%x)\n}\n' >p.tir; sed 's/Neg(%x)/Neg(%x) stream 1 after %a/' p.tir >q.tir; tailor diff p.tir q.tir
> diff p.tir q.tir
> --- p.tir
> +++ q.tir
> @@ changed Neg "b": control edges, stream @@
> -%b = Neg(%x)
> +%b = Neg(%x) stream 1 after %a
? 5
# nodes in another order, and operands of unnamed nodes: no difference; new names: only if asked for
$ printf 'graph @g(%%x: f32[1]) -> (%%s) {\n  %%a = Exp(%%x)\n  %%b = Neg(%%x)\n  %%c = Exp(%%a)\n  %%d = Exp(%%b)\n  %%s = Sub(%%c, %%d)\n}\n' >n.tir; printf 'graph @g(%%x: f32[1]) -> (%%s) {\n  %%b = Neg(%%x)\n  %%d = Exp(%%b)\n  %%a = Exp(%%x)\n  %%c = Exp(%%a)\n  %%s = Sub(%%c, %%d)\n}\n' >o.tir; tailor diff n.tir o.tir
$ sed 's/%\([abcds]\)/%new_\1/g' o.tir >r.tir; tailor diff n.tir r.tir --stat
> what    added  removed  changed  renamed
> output  0      0        0        1
? 5
$ tailor diff n.tir r.tir --names --stat
> what    added  removed  changed  renamed
> Exp     0      0        0        3
> Neg     0      0        0        1
> Sub     0      0        0        1
> output  0      0        0        1
? 5
$ sed 's/new_s/s/' r.tir >r2.tir; tailor diff n.tir r2.tir
# names of other nodes, as when a tool counts them up anew
$ sed 's/%a/%X/g; s/%b/%a/g; s/%X/%b/g; s/%c/%X/g; s/%d/%c/g; s/%X/%d/g' n.tir >x.tir; tailor diff n.tir x.tir; tailor diff n.tir x.tir --names | grep @@
> @@ renamed Exp "b" @@
> @@ renamed Neg "a" @@
> @@ renamed Exp "d" @@
> @@ renamed Exp "c" @@
# a renamed model of which one node is another: a change, and no more
$ sed 's/%new_c = Exp/%new_c = Sin/' r.tir >s.tir; tailor diff n.tir s.tir | grep @@
> @@ renamed output "new_s" @@
> @@ removed Exp "c" @@
> @@ added Sin "new_c" @@
> @@ changed Sub "new_s": operands @@
# swapped operands are a difference
$ sed 's/Sub(%c, %d)/Sub(%d, %c)/' n.tir >t.tir; tailor diff n.tir t.tir
> diff n.tir t.tir
> --- n.tir
> +++ t.tir
> @@ changed Sub "s": operands @@
> -%s = Sub(%c, %d)
> +%s = Sub(%d, %c)
? 5
# weights are compared by content, whatever their names, and wherever they are
$ printf 'graph @g(%%x: f32[20]) -> (%%y) {\n  const %%w: f32[20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n  %%y = Mul(%%x, %%w)\n}\n' >w.tir; tailor opt w.tir --passes= -o w.onnx; tailor diff w.tir w.onnx
$ sed 's/ 20]/ 21]/; s/%w/%v/' w.tir >v.tir; tailor diff w.onnx v.tir
> diff w.onnx v.tir
> --- w.onnx
> +++ v.tir
> @@ changed constant "v": contents, 1 of 20 elements differ, by at most 1 @@
> -const %w: f32[20] = ...
> +const %v: f32[20] = ...
? 5
# weights in files of their own, of ONNX and AIR
$ printf 'graph @g(%%x: f32[600]) -> (%%y) {\n  const %%w: f32[600] = [%s1]\n  %%y = Mul(%%x, %%w)\n}\n' $(yes 1, | head -n 599 | tr -d '\n') >h.tir; sed 's/ 1,1\]/ 1,2]/; s/,1\]/,2]/' h.tir >i.tir; for m in h i; do tailor extract $m.tir --to y -q --external-weight=1 -o $m.onnx; tailor convert $m.tir -q --external-weight=1 -o $m.air; done; ls *.data weight | wc -l; tailor diff h.tir h.onnx; tailor diff h.onnx i.onnx | grep @@; tailor diff h.air i.air | grep @@
> 7
> diff h.tir h.onnx
> --- h.tir
> +++ h.onnx
> @@ changed Mul "y": type @@
> -%y = Mul(%x, %w)
> +%y = Mul(%x, %w) : f32[600]
> @@ changed constant "w": contents, 1 of 600 elements differ, by at most 1 @@
> @@ changed constant "w_528e64d29ff11b301706ee014ee45385a1118af27134a1838e2dc207d0325d7c": contents, 1 of 600 elements differ, by at most 1 @@
$ tailor convert h.tir -q -o j.air; tailor diff h.air j.air
# a fused node says what it was made of
$ printf 'graph @g(%%x: f32[4,8]) -> (%%y) {\n  %%s = Sigmoid(%%x) @sig\n  %%y = Mul(%%x, %%s) @mul\n}\n' >f.tir; tailor convert f.tir -q -o f.air; tailor diff f.tir f.air | grep @@
> @@ changed model: form @@
> @@ removed Sigmoid "sig", now part of npu::Swish "mul/Swish" @@
> @@ changed npu::Swish "mul/Swish": op, operands, attributes, type @@
# nodes without names in the other form: partners by structure
$ sed 's/ @e//; s/ @mm//; s/ @r / /; s/ @s / /; s/ @if//' a.tir >u.tir; tailor convert u.tir -q -o u.air; tailor diff u.tir u.air --stat
> what                added  removed  changed  renamed
> npu::BatchMatMulV2  0      0        1        0
> npu::Exp            0      0        1        0
> npu::If             0      0        1        0
> npu::Neg            0      0        1        0
> npu::Relu           0      0        2        0
> npu::SoftmaxV2      0      0        1        0
> input               2      0        0        0
> model               0      0        1        0
? 5
# one model from standard input
$ tailor diff - a.tir <a.tir
# what is refused
$ tailor diff
! tailor: error: two models are needed
!   hint: tailor diff MODEL MODEL
? 1
$ tailor diff a.tir
! tailor: error: two models are needed
!   hint: tailor diff MODEL MODEL
? 1
$ tailor diff - -
! tailor: error: both models are standard input
!   hint: name a file for one of them
? 1
$ tailor diff a.tir b.tir c.tir
! tailor: error: stray argument 'c.tir'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor diff a.tir missing.tir
! missing.tir: error: cannot open 'missing.tir': No such file or directory
? 4
$ tailor diff a.tir b.tir --stat --json
! tailor: error: --stat: cannot be combined with --json, which has the counts
? 1
$ tailor diff a.tir b.tir --names=yes
! tailor: error: --names: takes no value, 'yes' was given
? 1
$ tailor diff a.tir b.tir -o x
! tailor: error: unknown option '-o'
!   hint: 'tailor help diff' lists the options
! tailor: error: stray argument 'x'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ echo junk >junk.onnx; tailor diff a.tir junk.onnx
! junk.onnx: error: malformed ModelProto (at byte 2)
!   hint: the file is damaged, truncated, or not an ONNX model
? 2
# an attribute that one of the two does not say is its default
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = Softmax(%%x) @s\n}\n' >unsaid.tir; sed 's/@s/@s {axis=-1}/' unsaid.tir >said.tir; sed 's/@s/@s {axis=0}/' unsaid.tir >other.tir; tailor diff unsaid.tir said.tir; tailor diff said.tir unsaid.tir
$ tailor diff unsaid.tir other.tir | tail -3; tailor diff other.tir unsaid.tir | grep -c axis
> @@ changed Softmax "s": attributes @@
> -%y = Softmax(%x) @s
> +%y = Softmax(%x) @s {axis=0}
> 1
