# tailor run: inputs, outputs, summary, and what it refuses.
$ printf 'graph @g(%%x: f32[2,batch], %%k: i64[3], %%c: bool[3]) -> (%%y, %%z) {\n  %%y = Identity(%%x)\n  %%t = Identity(%%k)\n  %%z = Identity(%%t)\n}\n' >a.tir
$ tailor run a.tir
> 3 of 3 inputs are random (seed 0); dims without a size are 1 (--dim)
> output  type      min      max     mean    nan  inf
> "y"     f32[2,1]  -0.9643  0.3744  -0.295  0    0
> "z"     i64[3]    0        1       0.6667  0    0
> time ...
$ tailor run a.tir --dim batch=3 --output out --format npy | grep -v time
> 3 of 3 inputs are random (seed 0)
> output  type      min      max     mean    nan  inf
> "y"     f32[2,3]  -0.9643  0.6267  0.1811  0    0
> "z"     i64[3]    0        1       0.6667  0    0
$ ls out
> input_0.npy
> input_1.npy
> input_2.npy
> output_0.npy
> output_1.npy
$ tailor run a.tir --input out | grep -v time
> output  type      min      max     mean    nan  inf
> "y"     f32[2,3]  -0.9643  0.6267  0.1811  0    0
> "z"     i64[3]    0        1       0.6667  0    0
$ tailor run a.tir --input out --input x=random:5 --dim batch=2 | grep -v time
> output  type      min      max     mean     nan  inf
> "y"     f32[2,2]  -0.7273  0.1421  -0.2873  0    0
> "z"     i64[3]    0        1       0.6667   0    0
$ tailor run a.tir -q --dim batch=3 -o pb >o.txt && ls pb && tailor verify a.tir pb
> input_0.pb
> input_1.pb
> input_2.pb
> output_0.pb
> output_1.pb
> tolerance 1e-07 + 0.001 |b|
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> equal   "z": 0 of 3 elements differ, max abs 0, max rel 0, cosine 1
$ tailor run a.tir --input x=pb/input_0.pb --seed 3 --json | sed 's/"nanoseconds.*//'
> {"schema": 1, "outputs": [{"name": "y", "type": "f32[2,3]", "min": -0.964319109916687, "max": 0.6267458200454712, "mean": 0.18112730979919434, "absmax": 0.964319109916687, "elements": 6, "nan": 0, "inf": 0}, {"name": "z", "type": "i64[3]", "min": 1.0, "max": 1.0, "mean": 1.0, "absmax": 1.0, "elements": 3, "nan": 0, "inf": 0}], "note": "2 of 3 inputs are random (seed 3)",
$ tailor run a.tir --dump-tensors d --record-ranges r.json | grep -v time; ls d; cat d/index.json r.json
> 3 of 3 inputs are random (seed 0); dims without a size are 1 (--dim)
> output  type      min      max     mean    nan  inf
> "y"     f32[2,1]  -0.9643  0.3744  -0.295  0    0
> "z"     i64[3]    0        1       0.6667  0    0
> c.pb
> index.json
> k.pb
> t.pb
> x.pb
> y.pb
> z.pb
> {
>   "x.pb": "x",
>   "k.pb": "k",
>   "c.pb": "c",
>   "y.pb": "y",
>   "t.pb": "t",
>   "z.pb": "z"
> }
> {"tensors": [
>  {"name": "x", "dtype": "f32", "times": 1, "min": -0.964319109916687, "max": 0.3743535280227661, "mean": -0.29498279094696045, "absmax": 0.964319109916687, "elements": 2, "nan": 0, "inf": 0},
>  {"name": "k", "dtype": "i64", "times": 1, "min": 0.0, "max": 1.0, "mean": 0.6666666666666666, "absmax": 1.0, "elements": 3, "nan": 0, "inf": 0},
>  {"name": "c", "dtype": "bool", "times": 1, "min": 0.0, "max": 1.0, "mean": 0.6666666666666666, "absmax": 1.0, "elements": 3, "nan": 0, "inf": 0},
>  {"name": "y", "dtype": "f32", "times": 1, "min": -0.964319109916687, "max": 0.3743535280227661, "mean": -0.29498279094696045, "absmax": 0.964319109916687, "elements": 2, "nan": 0, "inf": 0},
>  {"name": "t", "dtype": "i64", "times": 1, "min": 0.0, "max": 1.0, "mean": 0.6666666666666666, "absmax": 1.0, "elements": 3, "nan": 0, "inf": 0},
>  {"name": "z", "dtype": "i64", "times": 1, "min": 0.0, "max": 1.0, "mean": 0.6666666666666666, "absmax": 1.0, "elements": 3, "nan": 0, "inf": 0}
> ]}
# what has no row of its own: several names that make the same file name
$ printf 'graph @g(%%x: f32[1]) -> (%%"a/b", %%"a:b", %%"A_B", %%".h") {\n  %%"a/b" = Identity(%%x)\n  %%"a:b" = Identity(%%x)\n  %%"A_B" = Identity(%%x)\n  %%".h" = Identity(%%x)\n}\n' >n.tir; tailor run n.tir -q --dump-tensors n >o.txt; ls -A n; cat n/index.json
> A_B~3.pb
> _h.pb
> a_b.pb
> a_b~2.pb
> index.json
> x.pb
> {
>   "x.pb": "x",
>   "a_b.pb": "a/b",
>   "a_b~2.pb": "a:b",
>   "A_B~3.pb": "A_B",
>   "_h.pb": ".h"
> }
# nothing is left of a run that fails
$ tailor run a.tir --output none/out
! none/out: error: cannot create folder 'none/out': No such file or directory
? 4
$ tailor run a.tir --output new --record-ranges none/r.json; ls new
! none/r.json: error: cannot create a temporary file for 'none/r.json': No such file or directory
! ls: cannot access 'new': No such file or directory
? 2
$ tailor run a.tir --dump-tensors out2 --output out2
! tailor: error: --dump-tensors: needs a folder other than 'out2', which is that of --output
? 1
$ tailor run missing.onnx
! missing.onnx: error: cannot open 'missing.onnx': No such file or directory
? 4
$ tailor run
! tailor: error: no model is named
!   hint: tailor run MODEL
? 1
$ tailor run a.tir a.tir
! tailor: error: stray argument 'a.tir'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor run a.tir --input y=pb/input_0.pb
! tailor: error: --input: the model has no input 'y'
!   hint: did you mean 'x'?
? 1
$ tailor run a.tir --input kk=pb/input_0.pb
! tailor: error: --input: the model has no input 'kk'
!   hint: did you mean 'k'?
? 1
$ tailor run a.tir --input nofolder
! tailor: error: --input: 'nofolder' is neither NAME=SOURCE nor a folder nor an .npz file
? 1
$ tailor run a.tir --input x=none.pb
! none.pb: error: cannot open 'none.pb': No such file or directory
? 4
$ tailor run a.tir --input x=pb/input_1.pb
! a.tir: error: input 'x' is f32[2,batch], the value given is i64[3]
? 1
$ tailor run a.tir --input k=out/input_2.npy
! a.tir: error: input 'k' is i64[3], the value given is bool[3]
? 1
$ tailor run a.tir --input x=random:none
! tailor: error: --input: 'random:none' has no seed
? 1
$ tailor run a.tir --dim batch=-1
! tailor: error: --dim: 'batch=-1' is not NAME=SIZE
!   hint: for example --dim batch=4
? 1
$ tailor run a.tir --dim bach=2
! tailor: error: --dim: no input has a dim 'bach'
!   hint: did you mean 'batch'?
? 1
$ tailor run a.tir --memory-limit 1X
! tailor: error: --memory-limit: '1X' is not a size
!   hint: write a number of bytes, or for example 512M or 2G
? 1
$ tailor run a.tir --memory-limit 8
! a.tir: error: input 'k' takes more than may be used
!   hint: raise --memory-limit, or --max-tensor, which bounds one tensor
? 2
# A loop that does not end is an error, not a wait.
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  const %%n: i64[] = 1000000000\n  const %%c: bool[] = true\n  %%y = Loop(%%n, %%c, %%x) {\n    body=graph @b(%%i: i64[], %%cin: bool[], %%s: f32[1]) -> (%%cout, %%t) {\n      %%cout = Identity(%%cin)\n      %%t = Neg(%%s)\n    }\n  }\n}\n' >loop.tir; tailor run loop.tir --max-trips=100
! loop.tir: error: node Loop->y: bodies of the model have run 100 times, and the loop goes on
!   hint: allow more with --max-trips, if it ends at all
? 2
$ sed 's/1000000000/100/' loop.tir >short.tir; tailor run short.tir --max-trips=100 | head -1
> 1 of 1 inputs are random (seed 0)
$ tailor run a.tir --emulate f8
! tailor: error: --emulate: 'f8' is not one of f16|bf16 [E10001]
? 1
$ printf 'graph @g(%%x: str[1], %%s: seq(f32[1])) -> (%%y) {\n  %%y = Identity(%%x)\n}\n' >s.tir; tailor run s.tir
! s.tir: error: input 'x' needs a value: strings cannot be random
!   hint: --input x=FILE gives one
? 1
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  %%y = my::Op(%%x)\n}\n' >u.tir; tailor run u.tir
! u.tir: error: the evaluator has no kernel for my::Op ('Op->y')
!   hint: hand the model to another runtime (tailor verify --runner)
? 3
# .npy headers that lie
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Identity(%%x)\n}\n' >v.tir
$ npy() { printf '\223NUMPY\1\0%b' "$1" >f.npy; tailor run v.tir --input x=f.npy; }; npy '@\0'; npy '\02\0{}'; npy "\01\0{"; npy "\0001"
! f.npy: error: malformed .npy file: the header is cut off
! f.npy: error: malformed .npy file: the header lacks one of descr, fortran_order, shape
! f.npy: error: malformed .npy file: the header is not a dict with string keys
! f.npy: error: malformed .npy file: it does not begin with \x93NUMPY
? 2
$ npy() { printf '\223NUMPY\1\0@\0%-64s%s' "$1" "$2" >f.npy; tailor run v.tir --input x=f.npy | grep -v time; }; npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" "aaaabbbb"; npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" "aaaa"; npy "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999,)}" "aaaa"; npy "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }" "aaaa"; npy "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }" "aaaa"; npy "{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }" "aaaabbbb"; npy "{'descr': '<f4', 'descr': '<f4', 'shape': (2,), }"; npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }" "aaaabbbb"; npy "{'descr': [('a', '<f4')], 'fortran_order': False}"; npy "{'descr': '>f4', 'fortran_order': True, 'shape': (2,), }" "?pap?~ab"
> output  type    min        max        mean       nan  inf
> "y"     f32[2]  2.598e+20  1.044e+21  6.519e+20  0    0
> output  type    min    max     mean    nan  inf
> "y"     f32[2]  0.939  0.9937  0.9663  0    0
! f.npy: error: the elements need 8 bytes, the file holds 4
! f.npy: error: the elements need 39999999996 bytes, the file holds 4
! f.npy: error: malformed .npy file: a dim is not a size
! f.npy: error: malformed .npy file: fortran_order is not True or False
! f.npy: error: elements of type '<U4'; only numbers and bool are supported
!   hint: use .pb files (TensorProto) for strings, bf16 and fp8
! f.npy: error: malformed .npy file: the header has an unknown key, or a key twice
! f.npy: error: malformed .npy file: the dims are not separated by commas
! f.npy: error: an array of records; only numbers and bool are supported
$ printf '\223NUMPY\4\0' >f.npy; printf 'xxxxxxxx' >>f.npy; tailor run v.tir --input x=f.npy
! f.npy: error: version 4.0 of the .npy format; versions 1.0 to 3.0 are supported
? 3
$ printf 'no array' >f.npy; tailor run v.tir --input x=f.npy
! f.npy: error: malformed .npy file: it does not begin with \x93NUMPY
? 2
# Numbers that only devices know are neither drawn nor shown.
$ printf 'graph @g(%%x: hif8[4]) -> (%%x) {\n}\n' >h.tir; tailor run h.tir
! h.tir: error: input 'x' is hif8, whose numbers the evaluator does not know
!   hint: hand the model to another runtime (tailor verify --runner)
? 3
$ printf 'graph @g() -> (%%c) {\n  const %%c: c32[1] = hex("01020304")\n}\n' >c.tir; tailor verify c.tir c.tir
! c.tir: error: 'c' is c32, whose numbers the evaluator does not know
!   hint: hand the model to another runtime (tailor verify --runner)
? 3
$ printf 'graph @g(%%c: bool[], %%x: f32[2]) -> (%%c) {\n}\n' >f.tir; sed 's/f32/hif8/' f.tir >h.tir; tailor verify f.tir h.tir
! h.tir: error: input 'x' is hif8[2], the value given is f32[2]
? 1
$ tailor opt h.tir --freeze "x=[5,5]"
! h.tir: error: node x: --freeze: '5' is not a number of dtype hif8, which the input has [E10049]
? 1
# Conversions rely on declared shapes. A run that makes another one says so, once: others follow from it.
$ printf 'graph @g(%%n: i64[1]) -> (%%y) {\n  %%x = ConstantOfShape(%%n) : f32[5]\n  %%y = Neg(%%x) : f32[5]\n}\n' >d.tir; tailor run d.tir | grep '"y"'
> "y"     f32[0]  -    -    -     0    0
! d.tir: warning: node ConstantOfShape->x: result 'x' has the shape [0] in this run, but the model says f32[5]; conversions rely on what the model says
!   hint: correct the declared shape, or give other inputs
$ sed 's/f32.5./f32[n]/' d.tir >o.tir; tailor run o.tir | grep '"y"'
> "y"     f32[0]  -    -    -     0    0
# The loss of a training graph in the dtype that its node says: -log(1/2) each.
$ printf 'graph @g() -> (%%l, %%p) {\n  const %%s: f32[2,2] = [1, 1, 3, 3]\n  const %%t: i64[2] = [0, 1]\n  %%l, %%p = com.microsoft::SoftmaxCrossEntropyLossInternal(%%s, %%t) {output_type=11}\n}\n' >loss.tir; tailor run loss.tir | grep f64
> "l"     f64[]     0.6931   0.6931   0.6931   0    0
> "p"     f64[2,2]  -0.6931  -0.6931  -0.6931  0    0
# A module of several main graphs is for passes: a run, and each kind of file, has one.
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Neg(%%x)\n}\ngraph @h(%%x: f32[2]) -> (%%y) {\n  %%y = Exp(%%x)\n}\n' >two.tir; tailor run two.tir
! two.tir: error: a run has one main graph, this module has 2
!   hint: leave one of them in the file
? 3
$ tailor convert two.tir -o two.air; tailor convert two.tir -o two.pbtxt; tailor convert two.tir -o two.onnx
! two.tir: error: an AIR file has one main graph, this module has 2
!   hint: leave one of them in the file
! two.tir: error: a text dump has one main graph, this module has 2
!   hint: leave one of them in the file
! two.tir: error: an ONNX model has one main graph, this module has 2
!   hint: leave one of them in the file
? 3
$ tailor info two.tir | grep nodes
> nodes    2 in 2 graphs
# a result whose type no file states has that of its operands: halves stay halves
$ printf 'module {\n  form npu\n}\ngraph @g(%%x: f16[2,2], %%c: bool[]) -> (%%d, %%n) {\n  const %%s: f16[] = 0.5\n  const %%q: f16[] = 2.0\n  %%r = npu::If(%%c) {then_branch=graph @t() -> (%%a) { %%a = npu::Identity(%%q) }, else_branch=graph @e() -> (%%b) { %%b = npu::Identity(%%s) }}\n  %%g = npu::BatchMatMulV2(%%x, %%x) {adj_x1=false, adj_x2=false}\n  %%d = npu::Mul(%%g, %%r)\n  %%n = npu::Sub(%%x, %%d)\n}\n' >halves.tir; tailor run halves.tir | grep -o '^"[dn]" *f[^ ]*'
> "d"     f16[2,2]
> "n"     f16[2,2]
