# Scopes that become an op with a meaning of its own (docs/rules.md, "Scopes"): names prove nothing, samples do.
$ printf 'graph @g(%%x: f32[n,s,8]) -> (%%y) {\n  const %%axes: i64[1] = [-1]\n  const %%two: f32[] = 2.0\n  const %%eps: f32[] = 0.001\n  const %%g: f32[8] = [1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 0.5, 1.0]\n  const %%b: f32[8] = [0.5, 2.0, 3.0, 4.0, 1.5, 2.5, 0.5, 1.0]\n  %%m = ReduceMean(%%x, %%axes) @enc/LayerNorm/mean {keepdims=1}\n  %%d = Sub(%%x, %%m) @enc/LayerNorm/sub\n  %%q = Pow(%%d, %%two) @enc/LayerNorm/pow\n  %%v = ReduceMean(%%q, %%axes) @enc/LayerNorm/var {keepdims=1}\n  %%e = Add(%%v, %%eps) @enc/LayerNorm/add\n  %%s = Sqrt(%%e) @enc/LayerNorm/sqrt\n  %%n = Div(%%d, %%s) @enc/LayerNorm/div\n  %%k = Mul(%%n, %%g) @enc/LayerNorm/mul\n  %%y = Add(%%k, %%b) @enc/LayerNorm/add_1\n}\n' >ln.tir; printf 'rules 1\nscope "*/LayerNorm" : MyNorm general {\n  types { ReduceMean 2, Sqrt 1 }\n  boundary (%%x, const %%gamma rank 1, const %%beta rank 1) -> (%%y)\n  verify { rtol=1e-4, atol=1e-5, samples=3 }\n} -> LayerNormalization {axis=-1, epsilon=const(Add, 1)}\n' >ln.tlr; tailor opt ln.tir --rules=ln.tlr --verify-each --verify-numerics | sed 's/ meta .*//' | grep '='
>   const %g: f32[8] = [1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 0.5, 1.0]
>   const %b: f32[8] = [0.5, 2.0, 3.0, 4.0, 1.5, 2.5, 0.5, 1.0]
>   %y = LayerNormalization(%x, %g, %b) @enc/LayerNorm/LayerNormalization {axis=-1, epsilon=0.001} : f32[n,s,8]
! verified 1 rewrite by rules: none changes results more than its class allows
$ tailor passes --rules=ln.tlr | grep MyNorm
> MyNorm                             capture                                   reassociating  on    ln.tlr:2
$ tailor opt ln.tir --rules=ln.tlr -o ln.onnx; tailor verify ln.tir ln.onnx --dim n=2 --dim s=5 --tensors=0 | grep '"y"'
> equal   "y": 0 of 80 elements differ, max abs 4.768e-07, max rel 1.034e-06, cosine 1
$ tailor convert ln.tir --rules=ln.tlr -q -o ln.air; tailor verify ln.tir --npu --rules=ln.tlr --dim n=2 --dim s=5 --tensors=0 | grep '"y"'
> equal   "y": 0 of 80 elements differ, max abs 4.768e-07, max rel 1.034e-06, cosine 1
# A class that is looser than --numerics switches it off, as any rule.
$ tailor explain ln.tir --rules=ln.tlr --fusion=MyNorm --numerics=exact
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SWITCH_OFF: the scope fits, but the rule is off: its numerics class is looser than --numerics
# Another epsilon, another axis, another op: samples differ, or the op gives another type, or does not run.
$ why() { sed "s/ln.tlr//;$1" ln.tlr >other.tlr; tailor explain ln.tir --rules=other.tlr --fusion=MyNorm; }; why 's/const(Add, 1)/0.1/'; why 's/axis=-1/axis=1/'; why 's/LayerNormalization {.*/Conv/'; why 's/LayerNormalization {.*/com.microsoft::SkipLayerNormalization {epsilon=0.001}/'; why 's/const(Add, 1)/const(Mul, 1)/'
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is 1.72363925 in the scope, 1.69298756 of the op
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is 1.72363925 in the scope, 1.74338591 of the op
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: the op does not run: operand 1 has rank 1, expected at least 2 ("x": f32[2,2,8], "gamma_1": f32[8], "beta_1": f32[8])
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is 1.72363925 in the scope, 0.20017235 of the op
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: CONST_VALUE: no Mul has one number as operand 1, for epsilon
# Within wide bounds it may differ.
$ sed 's/const(Add, 1)/0.0011/' ln.tlr >near.tlr; tailor explain ln.tir --rules=near.tlr --fusion=MyNorm; sed 's/rtol=1e-4, atol=1e-5/atol=0.1/' near.tlr >wide.tlr; tailor explain ln.tir --rules=wide.tlr --fusion=MyNorm
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: element 2 of `y` is -0.784600496 in the scope, -0.784501076 of the op
> MyNorm: 1 fused, 0 not
>   fused  `enc/LayerNorm/mean`, `enc/LayerNorm/sub` ..., `enc/LayerNorm/add_1` (9 nodes) became LayerNormalization
# What gives no numbers shows nothing; a node that cannot be moved out of the model is not compared.
$ sed 's/%two: f32\[\] = 2.0/%two: f32[] = nan/' ln.tir >nan.tir; tailor explain nan.tir --rules=ln.tlr --fusion=MyNorm; sed 's/f32.n,s,8./f32[n,0,8]/' ln.tir >none.tir; tailor explain none.tir --rules=ln.tlr --fusion=MyNorm
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is nan in the scope, 1.72363925 of the op
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: no sample gives finite numbers to compare
$ sed 's/Sqrt(%e)/my::Root(%e)/' ln.tir >own.tir; sed 's/, Sqrt 1//' ln.tlr >own.tlr; tailor explain own.tir --rules=own.tlr --fusion=MyNorm
> MyNorm: 0 fused, 1 not
>   not    `enc/LayerNorm/mean`: SCOPE_VERIFY: `enc/LayerNorm/sqrt` is not an op of the domain ai.onnx
# Ops of tl:: mean what their definition says; numbers are of the dtype of the model.
$ printf 'graph @g(%%x: f16[b,4]) -> (%%y) {\n  const %%f: f16[] = 1.702\n  %%m = Mul(%%x, %%f) @act/mul\n  %%s = Sigmoid(%%m) @act/sigmoid\n  %%y = Mul(%%x, %%s) @act/out\n}\n' >act.tir; printf 'rules 1\nscope "act" : Quick general {\n  verify { rtol=0.01, atol=0.01 }\n  boundary (%%x) -> (%%y)\n} -> tl::Swish {scale=const(Mul, 1)}\n' >act.tlr; tailor opt act.tir --rules=act.tlr --verify-each | grep -o 'tl::.*}' | sed 's/ meta.*//;s/ @.*{/ {/'; sed 's/tl::Swish.*/tl::Square/' act.tlr >square.tlr; tailor explain act.tir --rules=square.tlr --fusion=Quick
> tl::Swish(%x) {scale=1.7021484}
> Quick: 0 fused, 1 not
>   not    `act/mul`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is 1.42871094 in the scope, 2.3515625 of the op
# An op of yours means what the first scope was; with samples, a further one may be written otherwise.
$ printf 'graph @g(%%x: f32[n,4]) -> (%%y) {\n  const %%t: f32[] = 3.0\n  const %%h: f32[] = 1.5\n  const %%u: f32[] = 0.6666667\n  %%b = Mul(%%x, %%h) @l0/mul\n  %%c = Tanh(%%b) @l0/tanh\n  %%d = Exp(%%c) @e\n  %%f = Div(%%d, %%u) @l1/div\n  %%g = Tanh(%%f) @l1/tanh\n  %%i = Exp(%%g) @e2\n  %%j = Mul(%%i, %%t) @l2/mul\n  %%y = Tanh(%%j) @l2/tanh\n}\n' >own.tir; printf 'rules 1\nscope "l?" : Own general {\n  boundary (%%x) -> (%%y)\n} -> my::Own\n' >strict.tlr; sed 's/boundary/verify {} boundary/' strict.tlr >own.tlr; tailor explain own.tir --rules=strict.tlr --fusion=Own; tailor explain own.tir --rules=own.tlr --fusion=Own; tailor opt own.tir --rules=own.tlr --verify-numerics -o own.onnx; tailor verify own.tir own.onnx --dim n=3 --tensors=0 | grep '"y"'
> Own: 1 fused, 2 not
>   fused  `l0/mul`, `l0/tanh` became Own
>   not    `l1/div`: DEFINITION: the scope computes something other than the first one that became this op
>   not    `l2/mul`: DEFINITION: the scope computes something other than the first one that became this op
> Own: 2 fused, 1 not
>   fused  `l0/mul`, `l0/tanh` became Own
>   fused  `l1/div`, `l1/tanh` became Own
>   not    `l2/mul`: SCOPE_VERIFY: sample 1 of 3: element 0 of `y` is 0.999797821 in the scope, 0.980091095 of the op
> equal   "y": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
! verified 2 rewrites by rules: none changes results more than its class allows
# What is wrong with a rule is told where it is.
$ bad() { printf 'rules 1\n%b\n' "scope \"*\" : X { $1 boundary (%x) -> (%y) } -> $2" >f; tailor passes --rules=f; }; bad '' Relu; bad '' npu::Relu; bad 'verify {}' npu::Relu; bad 'verify {}' Loop; bad 'verify {}' Add; bad 'verify {}' ' Constant'
! f:2:45: error: 'Relu' is a known op: add 'verify {}' to compare the scope with it, or capture the scope as an op of your own domain, such as my::Block
! f:2:45: error: no scope can become 'Relu'
! f:2:54: error: no scope can become 'Relu'
! f:2:54: error: no scope can become 'Loop'
! f:2:54: error: 'Add' takes 2 operands or more, and 2 at most; the boundary has 1
! f:2:55: error: 'Constant' takes 0 operands or more, and 0 at most; the boundary has 1
? 1
$ bad() { printf 'rules 1\n%b\n' "scope \"*\" : X { $1 boundary (%x) -> (%y) } -> $2" >f; tailor passes --rules=f; }; bad 'verify {rtol=2}' Relu; bad 'verify {atol=-1}' Relu; bad 'verify {samples=0}' Relu; bad 'verify {samples=1.5}' Relu; bad 'verify {samples=101}' Relu; bad 'verify {ulp=1}' Relu; bad 'verify {rtol=0, rtol=0}' Relu; bad 'verify {} verify {}' Relu; bad verify Relu
! f:2:30: error: a tolerance is from 0 to 1
! f:2:30: error: a tolerance is from 0 to 1
! f:2:33: error: a number of samples is an integer from 1 to 100
! f:2:33: error: a number of samples is an integer from 1 to 100
! f:2:33: error: a number of samples is an integer from 1 to 100
! f:2:25: error: expected rtol, atol or samples, found 'ulp'
! f:2:33: error: 'rtol' is given twice
! f:2:27: error: 'verify' is given twice
! f:2:24: error: expected '{', found 'boundary'
? 1
$ bad() { printf 'rules 1\n%b\n' "scope \"*\" : X { $1 boundary (%x) -> (%y) } -> $2" >f; tailor passes --rules=f; }; bad 'verify {}' 'Elu {beta=1}'; bad 'verify {}' 'Elu {alpha="a"}'; bad 'verify {}' 'Elu {alpha=1.0, alpha=2.0}'; bad 'verify {}' 'Elu {alpha=rank(%x)}'; bad 'verify {}' 'Elu {alpha=const(Suub, 1)}'; bad 'verify {}' 'Elu {alpha=const(Sub)}'; bad 'verify {}' 'Transpose {perm=const(Sub, 1)}'; bad '' 'my::X {axis=1}'
! f:2:59: error: 'Elu' has no attribute 'beta'
! f:2:59: error: 'alpha' is not a value for this attribute
! f:2:70: error: attribute 'alpha' is given twice
! f:2:70: error: %x is not bound by the pattern
! f:2:71: error: unknown op 'Suub'
! f:2:74: error: expected ',', found ')'
! f:2:75: error: the attribute is not a number
! f:2:51: error: expected rule, scope or define, found '{'
? 1
$ printf 'rules 1\nrule X : scope { in "*" verify {} match { %%y = Relu(%%x) } replace { %%y = Abs(%%x) } }\n' >f; tailor passes --rules=f
! f:2:6: error: rule 'X': 'verify' is for rules that capture a scope, since a pattern needs no verification
? 1
# Complex numbers and strings are not compared, so they show nothing: a Transpose of them is no Identity.
$ printf 'rules 1\nscope "t" : Alike general {\n  verify { samples=1 }\n  boundary (%%x) -> (%%y)\n} -> Identity\n' >alike.tlr; for d in f32 c64 c128; do printf "graph @g(%%x: $d[2,2]) -> (%%y) {\n  %%a = Transpose(%%x) @t/a\n  %%y = Identity(%%a) @t/b\n}\n" >turned.tir; tailor explain turned.tir --rules=alike.tlr --fusion=Alike | sed 1d; done; sed 's/Identity/Cast {to=8}/' alike.tlr >cast.tlr; printf 'graph @g(%%x: f32[2,2]) -> (%%y) {\n  %%a = Transpose(%%x) @t/a\n  %%y = Cast(%%a) @t/b {to=8}\n}\n' >cast.tir; tailor explain cast.tir --rules=cast.tlr --fusion=Alike | sed 1d
>   not    `t/a`: SCOPE_VERIFY: sample 1 of 1: element 1 of `y` is -1.89426494 in the scope, -0.273888022 of the op
>   not    `t/a`: SCOPE_VERIFY: sample 1 of 1: inputs of this dtype cannot be random
>   not    `t/a`: SCOPE_VERIFY: sample 1 of 1: inputs of this dtype cannot be random
>   not    `t/a`: SCOPE_VERIFY: sample 1 of 1: outputs of the dtype of `y` cannot be compared
