# What is recognised of a training step (docs/training.md).
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w_new = Sub(%%w, %%d)\n}\n' >sgd.tir
$ tailor info sgd.tir --train
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
> nodes    4 forward, 3 backward, 2 update, 0 other
$ tailor info sgd.tir --train --json
> {"form": "plain", "opaque": false, "loss": "L", "seed": null, "params": [{"param": "w", "gradient": "gw", "indices": null, "param_out": "w_new", "class": "dense", "dtype": "f32", "bytes": 8, "rank": 0, "producer": "MatMul", "update": "Sub", "states": []}], "frozen": [], "untold": [], "other_states": [], "nodes": {"other": 0, "forward": 4, "backward": 3, "update": 2}}
# Clipping and weight decay come after the gradient.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  const %%lo = f32[] -1.0\n  const %%hi = f32[] 1.0\n  %%c = Clip(%%gw, %%lo, %%hi)\n  const %%wd = f32[] 0.01\n  %%p = Mul(%%w, %%wd)\n  %%s = Add(%%c, %%p)\n  %%d = Mul(%%lr, %%s)\n  %%w_new = Sub(%%w, %%d)\n}\n' >clip.tir
$ tailor info clip.tir --train
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
> nodes    4 forward, 3 backward, 4 update, 1 other
# A weight used twice: the sum of both contributions is its gradient.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%gb = MatMul(%%xt, %%e)\n  %%g = Add(%%gw, %%gb)\n  %%d = Mul(%%lr, %%g)\n  %%w_new = Sub(%%w, %%d)\n}\n' >shared.tir
$ tailor info shared.tir --train
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient g (Add)  update w_new (Sub)
> nodes    4 forward, 5 backward, 2 update, 0 other
# Nobody updates b. The counter is a state of no parameter.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[], %%b: f32[1,1] = [0.5], %%n: i64[]) -> (%%L, %%w_new, %%n_new) {\n  %%y = MatMul(%%x, %%w)\n  %%z = Add(%%y, %%b)\n  %%e = Sub(%%z, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w_new = Sub(%%w, %%d)\n  const %%one = i64[] 1\n  %%n_new = Add(%%n, %%one)\n}\n' >frozen.tir
$ tailor info frozen.tir --train
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 1 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
>   frozen  b
>   state   n -> n_new
> nodes    5 forward, 3 backward, 2 update, 1 other
# A product of two gradients has none that could be added up over ranks.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%gb = MatMul(%%xt, %%e)\n  %%g = Mul(%%gw, %%gb)\n  %%d = Mul(%%lr, %%g)\n  %%w_new = Sub(%%w, %%d)\n}\n' >ambig.tir
$ tailor info ambig.tir --train
> form     none
> loss     L
> seed     -
> params   0 with a gradient, 0 frozen; gradients 0 bytes
>   untold  gradient of w, next value w_new
> nodes    4 forward, 0 backward, 0 update, 7 other
! ambig.tir: warning: node w: the gradient of this parameter is ambiguous, so the parameter is not changed [W-TRN-AMBIG]
!   hint: name the gradient: metadata tailor.train.grads, or --train-spec
# A declaration decides.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%gb = MatMul(%%xt, %%e)\n  %%g = Mul(%%gw, %%gb)\n  %%d = Mul(%%lr, %%g)\n  %%w_new = Sub(%%w, %%d)\n  state %%w -> %%w_new\n  gradient %%w -> %%g\n}\n' >told.tir
$ tailor info told.tir --train
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient g (Mul)  update w_new (Sub)
> nodes    4 forward, 5 backward, 2 update, 0 other
# An inference graph.
$ printf 'graph @g(%%x: f32[2,2], %%w: f32[2,2] = [1.0, 1.0, 1.0, 1.0]) -> (%%y) {\n  %%h = MatMul(%%x, %%w)\n  %%y = Add(%%x, %%h)\n}\n' >infer.tir
$ tailor info infer.tir --train
> form     none
> loss     -
> seed     -
> params   0 with a gradient, 0 frozen; gradients 0 bytes
> nodes    0 forward, 0 backward, 0 update, 2 other
# Gradients that are none.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w_new = Sub(%%w, %%d)\n  gradient %%w -> %%ge\n}\n' >shape.tir
$ tailor info shape.tir --train
! shape.tir: error: node w: its gradient 'ge' has another shape [E-TRN-SHAPE]
? 2
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w_new = Sub(%%w, %%d)\n  gradient %%w -> %%gw\n  gradient %%w -> %%gw\n}\n' >twice.tir
$ tailor info twice.tir --train
! twice.tir: error: node w: the gradient of this parameter is declared twice [E-TRN-DUP]
? 2
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[]) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  const %%two = f32[] 2.0\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%ge)\n  %%gi = Cast(%%gw) {to=6}\n  %%gf = Cast(%%gi) {to=1}\n  %%d = Mul(%%lr, %%gf)\n  %%w_new = Sub(%%w, %%d)\n  gradient %%w -> %%gi\n}\n' >dtype.tir
$ tailor info dtype.tir --train
! dtype.tir: error: node w: its gradient 'gi' has element type i32, gradients are floats [E-TRN-DTYPE]
? 2
# Declarations by name, in a file or in the metadata of the model.
$ printf '{"params": ["w"], // one\n "grads": {"w": "gw"}, "loss": "L", "state": [["w", "w_new"]]}' >spec.json; tailor info ambig.tir --train --train-spec=spec.json
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
> nodes    4 forward, 3 backward, 3 update, 1 other
$ printf '{"params": []}' >none.json; tailor info sgd.tir --train --train-spec=none.json | tail -n 2
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
> nodes    4 forward, 3 backward, 2 update, 0 other
$ printf '{"params": ["lr"]}' >other.json; tailor info sgd.tir --train --train-spec=other.json | tail -n 2
> params   0 with a gradient, 0 frozen; gradients 0 bytes
> nodes    4 forward, 0 backward, 0 update, 5 other
$ sed 's/^graph/module {\n  opset "" 21\n  meta "tailor.train.grads" "{\\"w\\": \\"gw\\"}"\n  meta "tailor.train.loss" "L"\n}\ngraph/' ambig.tir >meta.tir; tailor info meta.tir --train | grep gradient
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Sub)
$ printf '{"grads": {"w": "gx"}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! sgd.tir: error: tailor.train.grads: the graph has no tensor 'gx' [E-TRN-NOTENSOR]
!   hint: do you mean 'x'?
? 2
$ printf '{"grads": {"w": "gw", "w": "gw"}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! sgd.tir: error: tailor.train.grads: 'w' is given twice [E-TRN-DUP]
? 2
$ printf '{"params": ["w", "w"]}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! sgd.tir: error: tailor.train.params: 'w' is given twice [E-TRN-DUP]
? 2
$ printf '{"grads": {"y": "gw"}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! sgd.tir: error: tailor.train.grads: 'y' is computed, expected an input or a constant [E-TRN-NOTENSOR]
? 2
$ printf '{"grads": {"w": "ge"}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! sgd.tir: error: node w: its gradient 'ge' has another shape [E-TRN-SHAPE]
? 2
$ printf '{"gradients": {}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:2: error: unknown key 'gradients' [E-TRN-SPEC]
!   hint: known are params, grads, loss, seed, state, update_ops and grad_order
? 1
$ printf '{"grads": ["w"]}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:2: error: grads is an array, expected an object of parameters and tensors [E-TRN-SPEC]
? 1
$ printf '{"grads": {\n "w": 3}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:2:2: error: grads is a number, expected a name [E-TRN-SPEC]
? 1
$ printf '{"state": [["w"]]}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:12: error: state is an array, expected [input, output] or [first input, first output, count] [E-TRN-SPEC]
? 1
$ printf '{"update_ops": {"Foo": {"param": -1, "grad": 0}}}' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:25: error: param is a number, expected the number of an operand [E-TRN-SPEC]
? 1
$ printf '{"grads": ' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:11: error: expected a value [E-TRN-SPEC]
? 1
$ printf '[]' >s.json; tailor info sgd.tir --train --train-spec=s.json
! s.json:1:1: error: the file is an array, expected an object [E-TRN-SPEC]
? 1
$ tailor info sgd.tir --train --train-spec=nowhere.json
! nowhere.json: error: cannot open the file of declarations: No such file or directory
? 4
$ sed 's/^graph/module {\n  opset "" 21\n  meta "tailor.train.grads" "{"\n}\ngraph/' sgd.tir >meta.tir; tailor info meta.tir --train
! meta.tir: error: metadata tailor.train.grads is not JSON: expected a name in double quotes [E-TRN-SPEC]
? 2
# An op of one's own that updates.
$ printf 'graph @g(%%x: f32[1,2], %%w: f32[2,1] = [1.0, 1.0], %%m: f32[2,1] = [0.0, 0.0], %%lr: f32[]) -> (%%L, %%w_new, %%m_new) {\n  %%y = MatMul(%%x, %%w)\n  %%L = ReduceMean(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%y)\n  const %%lo = f32[] -1.0\n  %%c = Clip(%%gw, %%lo)\n  %%m_new, %%w_new = com.acme::Step(%%lr, %%c, %%m, %%w) : f32[2,1], f32[2,1]\n}\n' >own.tir; tailor info own.tir --train
> form     none
> loss     L
> seed     -
> params   0 with a gradient, 0 frozen; gradients 0 bytes
>   untold  gradient of w, next value w_new
> nodes    2 forward, 0 backward, 0 update, 4 other
! own.tir: warning: node w: its next value 'w_new' depends on the data, but its gradient is not clear [W-TRN-AMBIG]
!   hint: declare it in --train-spec: {"state": [["w", "w_new"]], "grads": {"w": "GRADIENT"}}
$ printf '{"update_ops": {"com.acme::Step": {"param": 3, "grad": 1, "states": [2], "out": [1, 0]}}}' >s.json; tailor info own.tir --train --train-spec=s.json
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient gw (MatMul)  update w_new (Step)  states m
> nodes    2 forward, 2 backward, 2 update, 0 other
# Control edges are metadata in ONNX; names that are none are left out, a cycle is refused.
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Exp(%%x) @a\n  %%b = Exp(%%x) @"b,1"\n  %%y = Neg(%%x) after %%b comm_order after %%a\n}\n' >edges.tir; tailor opt -O0 edges.tir -o edges.onnx && tailor opt -O0 edges.onnx | grep Neg
>   %y = Neg(%x) : f32[2] after %a after %b comm_order
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Exp(%%x) @a meta "tailor.ctrl_in" "zz"\n  %%y = Exp(%%a) @b\n}\n' >lost.tir; tailor opt -O0 lost.tir -o lost.onnx && tailor opt -O0 lost.onnx | grep -c after
> 0
! lost.onnx: warning: node a: is to run after 'zz', which is not a node of its graph [W-TRN-CTRL]
? 1
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%a = Exp(%%x) @a meta "tailor.ctrl_in" "b"\n  %%y = Exp(%%a) @b\n}\n' >cycle.tir; tailor opt -O0 cycle.tir -o cycle.onnx && tailor opt -O0 cycle.onnx
! cycle.onnx: error: nodes depend on each other in a cycle: a -> b -> a
? 2
# States by position: one by one, several in a row, and numbers that are none.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%m: f32[2,1], %%n: i64[], %%lr: f32[]) -> (%%L, %%a, %%b, %%c) {\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%xt = Transpose(%%x)\n  %%g = MatMul(%%xt, %%e)\n  %%d = Mul(%%g, %%lr)\n  %%a = Sub(%%w, %%d)\n  %%b = Tanh(%%g)\n  %%c = Neg(%%n)\n}\n' >odd.tir; tailor info odd.tir --train | grep 'state\|dense'; printf '{"state": [[3, 2], ["n", 3]]}' >at.json; tailor info odd.tir --train --train-spec=at.json | grep 'state\|dense'; printf '{"state": [[2, 1, 3]]}' >row.json; tailor info odd.tir --train --train-spec=row.json | grep 'state\|dense'
>      0  dense   w: f32[2,1]  gradient g (MatMul)  update a (Sub)
>      0  dense   w: f32[2,1]  gradient g (MatMul)  update a (Sub)
>   state   m -> b
>   state   n -> c
>      0  dense   w: f32[2,1]  gradient g (MatMul)  update a (Sub)
>   state   m -> b
>   state   n -> c
$ printf '{"state": [[4, 2, 2]]}' >most.json; tailor info odd.tir --train --train-spec=most.json; printf '{"state": [[2, 1], [2, 2]]}' >again.json; tailor info odd.tir --train --train-spec=again.json; printf '{"state": [[6, 1]]}' >beyond.json; tailor info odd.tir --train --train-spec=beyond.json; printf '{"state": [["w", "a", 2]]}' >name.json; tailor info odd.tir --train --train-spec=name.json; printf '{"state": [[-1, 2]]}' >minus.json; tailor info odd.tir --train --train-spec=minus.json; printf '{"state": [[2]]}' >half.json; tailor info odd.tir --train --train-spec=half.json
! odd.tir: error: node n: it is i64, but its declared next value, 'b', is f32 [E-TRN-DTYPE]
! odd.tir: error: tailor.train.state: 'w' is given twice [E-TRN-DUP]
! odd.tir: error: tailor.train.state: input 6: the graph has 6, counted from 0 [E-TRN-NOTENSOR]
! name.json:1:12: error: state is an array, expected [input, output] or [first input, first output, count] [E-TRN-SPEC]
! minus.json:1:13: error: state is a number, expected the number of an operand [E-TRN-SPEC]
! half.json:1:12: error: state is an array, expected [input, output] or [first input, first output, count] [E-TRN-SPEC]
? 1
# An output that may be the next value of two inputs, and one that is a constant with a gradient added: the line that tells is said.
$ printf 'graph @g(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%m: i64[] = 0, %%n: i64[] = 1, %%lr: f32[]) -> (%%L, %%a, %%both, %%buffer) {\n  const %%start: f32[2,1] = [0.5, 0.5]\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%xt = Transpose(%%x)\n  %%g = MatMul(%%xt, %%e)\n  %%d = Mul(%%g, %%lr)\n  %%a = Sub(%%w, %%d)\n  %%both = Add(%%m, %%n)\n  %%buffer = Add(%%start, %%g)\n}\n' >two.tir; tailor info two.tir --train; printf '{"state": [["m", "both"], ["start", "buffer"]]}' >two.json; tailor info two.tir --train --train-spec=two.json | grep 'state\|untold'
> form     plain
> loss     L
> seed     -
> params   1 with a gradient, 0 frozen; gradients 8 bytes
>      0  dense   w: f32[2,1]  gradient g (MatMul)  update a (Sub)
>   untold  m -> both
>   untold  n -> both
>   untold  start -> buffer
> nodes    4 forward, 2 backward, 3 update, 1 other
>   state   m -> both
>   state   start -> buffer
! two.tir: warning: node m: output 'both' may be its next value, but this is not certain, so the two are not paired [W-TRN-STATE]
!   hint: if it is, declare it in --train-spec: {"state": [["m", "both"]]}
! two.tir: warning: node n: output 'both' may be its next value, but this is not certain, so the two are not paired [W-TRN-STATE]
!   hint: if it is, declare it in --train-spec: {"state": [["n", "both"]]}
! two.tir: warning: node start: output 'buffer' may be its next value, but this is not certain, so the two are not paired [W-TRN-STATE]
!   hint: if it is, declare it in --train-spec: {"state": [["start", "buffer"]]}
# What an optimizer takes as a state may be computed in the step: the state is what it comes from.
$ printf 'graph @g(%%x: f32[4,4], %%lr: f32[], %%t: i64[], %%w: f32[4,4], %%m: f32[4,4], %%s: f32[4,4]) -> (%%L, %%w_out, %%m_out, %%s_out) {\n  %%f = Mul(%%x, %%w)\n  %%L = ReduceSum(%%f) {keepdims=0}\n  %%gw = Mul(%%f, %%x)\n  %%h = Abs(%%s)\n  %%w_out, %%m_out, %%s_out = ai.onnx.preview.training::Adam(%%lr, %%t, %%w, %%gw, %%m, %%h) {alpha=0.9, beta=0.99, epsilon=1e-6, norm_coefficient=0.01, norm_coefficient_post=0.1}\n  gradient %%w -> %%gw\n}\n' >from.tir; tailor info from.tir --train | grep state
>      0  dense   w: f32[4,4]  gradient gw (Mul)  update w_out (Adam)  states m
>   state   s -> s_out
# AIR of a step is read again, with its collectives, and a next value that is no output of the graph.
$ printf 'graph @g(%%x: f32[2,3], %%w: f32[3,2], %%k: f32[3,2], %%lr: f32[]) -> (%%L, %%w_out) {\n  %%h = MatMul(%%x, %%w)\n  %%L = ReduceSum(%%h) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gw = MatMul(%%xt, %%h)\n  %%d = Mul(%%gw, %%lr)\n  %%w_out = Sub(%%w, %%d)\n  %%k_out = Add(%%k, %%d)\n  gradient %%w -> %%gw\n  state %%w -> %%w_out\n  state %%k -> %%k_out\n}\n' >read.tir; tailor convert read.tir -o read.air --graph-run-mode=1 --is-distributed=true --rank-size=2 --summary=none; tailor opt -O0 read.air | grep -o 'npu::Hcom[A-Za-z]*\|state .*'; tailor convert read.air -o read.onnx -q; tailor opt -O0 read.onnx | grep -o 'npu.hcom::Hcom.*}'; tailor verify read.air read.onnx --tensors=0 | grep '"[Lw]'
> npu::HcomAllReduce
> state %w -> %w_out
> state %k -> %Add_6
> npu.hcom::HcomAllReduce(%BatchMatMul_1) @NPUOptimizer_Allreduce/w {fusion=2, fusion_id=0, group="hccl_world_group", reduction="sum"}
> equal   "L": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
> equal   "w_out": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
