# Lists of nodes and types, and what is said of decisions (docs/precision.md).
# A node without a name is listed as messages call it, by its op and its result.
$ printf 'graph @g(%%x: f32[1,2,4,4], %%w: f32[2,2,1,1], %%m: f32[4,4]) -> (%%y, %%z) {\n  const %%shape: i64[2] = [2, 16]\n  %%c = Conv(%%x, %%w)\n  %%r = Relu(%%c)\n  %%f = Reshape(%%r, %%shape)\n  %%y = Exp(%%f)\n  %%d = MatMul(%%x, %%m)\n  %%z = Softmax(%%d)\n}\n' >n.tir
$ printf 'Conv->c\nConv->none\n' >k.txt; tailor explain n.tir --precision-mode-v2=fp16 --keep-dtype=k.txt | sed -n 2,6p
> `Conv->c` Conv judged as Conv2D: white, signature 3 of 5, f32, f32, f32, i8 > f32
>   x            f32           kept: the list of nodes to keep names it
>   filter       f32           kept: the list of nodes to keep names it
>   y            f32           kept: the list of nodes to keep names it
> `Relu->r` Relu judged as Relu: gray, signature 1 of 6, f16 > f16
! k.txt: warning: 1 entry matched nothing: 'Conv->none'
# A type that the node never had is a mistake: the entry is no other node's.
$ printf 'Convv->c\nRelu->c\n' >k.txt; tailor convert n.tir -o n.air --precision-mode-v2=fp16 --keep-dtype=k.txt --summary=none; rm n.air
! k.txt: warning: 2 entries matched nothing: 'Convv->c', 'Relu->c'
$ printf 'Conv->c:InputDtype:float32,float32,OutputDtype:float32\nExp->none:InputDtype:float32,OutputDtype:float32\n' >c.cfg; tailor explain n.tir --precision-mode-v2=fp16 --customize-dtypes=c.cfg | sed -n 2,6p
> `Conv->c` Conv judged as Conv2D: white, signature 3 of 5, f32, f32, f32, i8 > f32
>   x            f32           customized: the file of dtypes says so
>   filter       f32           customized: the file of dtypes says so
>   y            f32           customized: the file of dtypes says so
> `Relu->r` Relu judged as Relu: gray, signature 1 of 6, f16 > f16
! c.cfg: warning: 1 entry matched nothing: 'Exp->none'
# A name that differs in what NPU variants of an op differ in is told what it is here: versions from 2 on, D behind it, Batch before it. Other names are unknown.
$ printf '{"black-list": {"to-add": ["MatMulV3", "SoftmaxV1", "D", "V2", "SoftmaxD"]}}' >l.json; tailor explain n.tir --precision-mode-v2=mixed_float16 --precision-policy=none --modify-mixlist=l.json >out.txt
! l.json:1:1: warning: 'D' is not an op type of this chip
!   hint: did you mean 'Div'?
! l.json:1:1: warning: 'MatMulV3' matches no node: MatMul here is judged as 'BatchMatMulV2'
! l.json:1:1: warning: 'SoftmaxD' matches no node: Softmax here is judged as 'SoftmaxV2'
! l.json:1:1: warning: 'SoftmaxV1' is not an op type of this chip
!   hint: did you mean 'SoftmaxV2'?
! l.json:1:1: warning: 'V2' is not an op type of this chip
!   hint: did you mean 'MVN'?
# A model with an op that has no NPU form has such lists, too.
$ printf 'module {\n  opset "" 21\n  opset "com.acme" 1\n}\ngraph @g(%%x: f32[2,2]) -> (%%y) {\n  %%a = com.acme::Step(%%x) : f32[2,2]\n  %%y = Softmax(%%a)\n}\n' >own.tir; tailor explain own.tir --allow-custom-ops=Step --precision-mode-v2=mixed_float16 --precision-policy=none --modify-mixlist=l.json
> dtypes: mixed_float16, on Ascend910B
> `Step->a` Step: nothing judges it
>                f32           no-row: no table knows the op, so it keeps its dtypes
>                f32           no-row: no table knows the op, so it keeps its dtypes
> `Softmax->y` Softmax judged as SoftmaxV2: gray, signature 2 of 3, f32 > f32
>   x            f32           follows: the op is gray and follows its producer: `a` is f32
>   y            f32           gray: the op is gray and its operands leave this dtype
> 0 of 2 nodes with floats are lowered; 0 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 0 bytes of results of known size
! l.json:1:1: warning: 'D' is not an op type of this chip
!   hint: did you mean 'Div'?
! l.json:1:1: warning: 'SoftmaxD' matches no node: Softmax here is judged as 'SoftmaxV2'
! l.json:1:1: warning: 'SoftmaxV1' is not an op type of this chip
!   hint: did you mean 'SoftmaxV2'?
! l.json:1:1: warning: 'V2' is not an op type of this chip
!   hint: did you mean 'MVN'?
! l.json: warning: 1 entry matched nothing: 'MatMulV3'
# Each tensor has its own reason: that of an output is another one only where the op is gray.
$ tailor explain n.tir --precision-mode-v2=mixed_float16 -q --node='Conv->c' | sed -n 2,5p; tailor explain n.tir --precision-mode-v2=mixed_float16 -q --node='Reshape->f' | sed -n 2,5p; tailor explain n.tir --precision-mode-v2=mixed_float16 -q --node='Exp->y' | sed -n 2,4p
> `Conv->c` Conv judged as Conv2D: white, signature 1 of 5, f16, f16, f16, i8 > f16
>   x            f32  -> f16   white: the op is on the white list
>   filter       f32  -> f16   white: the op is on the white list
>   y            f32  -> f16   white: the op is on the white list
> `Reshape->f` Reshape judged as Reshape: gray, signature 15 of 26, f16, i64 > f16
>   x            f32  -> f16   view: the op only moves data and follows its producer: `r` is f16
>   shape        i64           fixed: no mode changes this dtype
>   y            f32  -> f16   view: the op only moves data and follows its producer; the op takes no wider one
> `Exp->y` Exp judged as Exp: gray, signature 1 of 3, f16 > f16
>   x            f32  -> f16   follows: the op is gray and follows its producer: `f` is f16
>   y            f32  -> f16   gray: the op is gray and its operands leave this dtype; the op takes no wider one
$ tailor explain n.tir --precision-mode-v2=cube_hif8 --soc-version=Ascend950PR_9599 -q --node='MatMul->d' | sed -n 3,5p
>   x1           f32  -> f16   cube: the mode prefers low inputs for matrix ops; the op takes no wider one
>   x2           f32  -> f16   cube: the mode prefers low inputs for matrix ops; the op takes no wider one
>   y            f32  -> f16   cube: the mode prefers low inputs for matrix ops; the op takes no wider one
# Numbers of constants are counted over all of them: 70000 is out of range, 1e-9 becomes 0, 1e-6 is subnormal.
$ printf 'graph @g(%%x: f32[1,2]) -> (%%y) {\n  const %%k: f32[2] = [1.0e-9, 70000.0]\n  const %%s: f32[2] = [1.0e-6, 1.0]\n  %%a = Mul(%%x, %%k)\n  %%y = Mul(%%a, %%s)\n}\n' >clamp.tir; tailor explain clamp.tir --precision-mode-v2=fp16 -q | tail -n 3
> 2 of 2 nodes with floats are lowered; 2 casts, 0 rewrites of casts
> 2 constants are cast: 1 numbers out of range, 1 become 0, 1 subnormal
> saved: 8 bytes of constants, 8 bytes of results of known size
$ printf 'graph @g(%%x: f32[1,2]) -> (%%y, %%z) {\n  const %%k: f32[2] = [1.0e-9, 1.0]\n  const %%s: f32[2] = [1.0e-9, 2.0e-9]\n  %%y = Mul(%%x, %%k)\n  %%z = Mul(%%x, %%s)\n}\n' >zeros.tir; tailor explain zeros.tir --precision-mode-v2=fp16 -q | tail -n 2
> 2 constants are cast: 0 numbers out of range, 3 become 0, 0 subnormal
> saved: 8 bytes of constants, 8 bytes of results of known size
# A node is lowered if one of its operands is, although its result is no float; a value that several take has one cast, and all of them are counted.
$ printf 'graph @g(%%x: f32[1,2], %%i: i64[2]) -> (%%g, %%j, %%a, %%b, %%c) {\n  const %%k: f32[2] = [0.5, 0.5]\n  %%g = Greater(%%x, %%k)\n  %%j = Add(%%i, %%i)\n  %%a = Exp(%%x)\n  %%b = Exp(%%x)\n  %%c = Div(%%x, %%x)\n}\n' >more.tir; tailor explain more.tir --precision-mode-v2=fp16 -q | grep 'cast  \|lowered'
>   cast     `x` f32 -> f16 for `Greater->g` and 4 more
>   cast     `a` f16 -> f32 for `return`
>   cast     `b` f16 -> f32 for `return`
>   cast     `c` f16 -> f32 for `return`
> 4 of 4 nodes with floats are lowered; 4 casts, 0 rewrites of casts
# The second of two equal nodes has the reasons of the first.
$ tailor explain more.tir --precision-mode-v2=mixed_float16 --precision-policy=none -q | grep -A 2 'Exp->'
> `Exp->a` Exp judged as Exp: gray, signature 2 of 3, f32 > f32
>   x            f32           follows: the op is gray and follows its producer: `x` is f32
>   y            f32           gray: the op is gray and its operands leave this dtype
> `Exp->b` Exp judged as Exp: gray, signature 2 of 3, f32 > f32
>   x            f32           follows: the op is gray and follows its producer: `x` is f32
>   y            f32           gray: the op is gray and its operands leave this dtype
# Of two entries for one type the first counts.
$ printf 'OpType::Exp:InputDtype:float32,OutputDtype:float32\nOpType::Exp:InputDtype:float16,OutputDtype:float16\n' >types.cfg; tailor explain more.tir --precision-mode-v2=fp16 -q --customize-dtypes=types.cfg | grep -A 2 'Exp->a'
> `Exp->a` Exp judged as Exp: gray, signature 2 of 3, f32 > f32
>   x            f32           customized: the file of dtypes says so
>   y            f32           customized: the file of dtypes says so
# A chip without bfloat16 takes no tensor of it, also inside the model.
$ printf 'graph @g(%%x: f32[1,2]) -> (%%y) {\n  %%b = Cast(%%x) {to=16}\n  %%y = Cast(%%b) {to=1}\n}\n' >b.tir; tailor convert b.tir -o b.air --soc-version=Ascend310P3
! b.tir: error: 1 tensor is bfloat16 (`b`), which Ascend310P3 does not have [P0205]
!   hint: convert a model in f16 or f32, or name a chip that has it, such as Ascend910B1
? 3
# HF32 is a way to compute matrix ops of f32, on or off: only the product of f32 gets the mode.
$ printf 'graph @g(%%x: f32[2,2], %%h: f16[2,2], %%e: f32[2,2]) -> (%%a, %%b, %%c) {\n  %%a = MatMul(%%x, %%x)\n  %%b = MatMul(%%h, %%h)\n  %%c = Exp(%%e)\n}\n' >hf.tir
$ for v in true false; do tailor convert hf.tir -o hf.pbtxt --summary=none --allow-hf32=$v; grep -A 7 'op_impl_mode_enum' hf.pbtxt | grep ' i: \|DT_'; done
>       i: 64
>       s: "DT_FLOAT"
>       i: 32
>       s: "DT_FLOAT"
