# Precision: modes, what may not be combined, and what convert says.
$ printf 'graph @g(%%x: f32[1,2,4,4]) -> (%%y) {\n  const %%w: f32[3,2,1,1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n  %%c = Conv(%%x, %%w) @conv\n  %%y = Relu(%%c) @relu\n}\n' >m.tir; printf '{}\n' >mix.json; printf '{"black-list": {"to-add": ["Conv2D"]}, "white-list": {"to-add": ["Conv2D"]}}\n' >both.json
# Values and pairs of options, with the codes of atc.
$ tailor convert m.tir -o m.air --dry-run --precision_mode=force_fp16 --precision_mode_v2=fp16
! tailor: error: --precision-mode: cannot be combined with --precision-mode-v2 [E10056]
? 1
$ tailor convert m.tir -o m.air --dry-run --precision_mode=mixed_float16
! tailor: error: --precision-mode: 'mixed_float16' is not one of force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16 [E10001]
? 1
$ tailor convert m.tir -o m.air --dry-run --precision_mode_v2=FP16
! tailor: error: --precision-mode-v2: 'FP16' is not one of fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8 [E10001]
? 1
$ tailor convert m.tir -o m.air --dry-run --modify_mixlist=mix.json
! tailor: error: --modify-mixlist: lists have an effect in mixed modes only, and no mode is given [E10001]
!   hint: add --precision-mode-v2=mixed_float16, or another of mixed_float16, mixed_bfloat16, mixed_hif8
? 1
$ tailor convert m.tir -o m.air --dry-run --modify_mixlist=mix.json --precision_mode=force_fp16
! tailor: error: --modify-mixlist: lists have an effect in mixed modes only, not in force_fp16 [E10001]
!   hint: --precision-mode may be allow_mix_precision, allow_mix_precision_fp16, allow_mix_precision_bf16
? 1
$ tailor convert m.tir -o m.air --dry-run --modify_mixlist=mix.json --precision_mode_v2=cube_hif8 --soc_version=Ascend950
! tailor: error: --modify-mixlist: lists have an effect in mixed modes only, not in cube_hif8 [E10001]
!   hint: --precision-mode-v2 may be mixed_float16, mixed_bfloat16, mixed_hif8
? 1
$ tailor convert m.tir -o m.air --dry-run --modify_mixlist=both.json --precision_mode_v2=mixed_float16
! both.json:1:66: error: op type 'Conv2D' is in black-list.to-add, white-list.to-add, which contradict each other [E20003]
!   hint: add a type to one list only; you may remove it from the list that it is in now
? 1
$ tailor convert m.tir -o m.air --dry-run --precision_mode=allow_fp32_to_bf16 --soc_version=Ascend310P3
! tailor: error: --precision-mode: allow_fp32_to_bf16 needs bfloat16, which Ascend310P does not have [E20101]
!   hint: f16 modes do, and Ascend910B and later chips have bfloat16
? 3
$ tailor convert m.tir -o m.air --dry-run --precision_mode_v2=mixed_hif8
! tailor: error: --precision-mode-v2: mixed_hif8 needs hifloat8, which Ascend910B does not have [E20101]
!   hint: Ascend950 has it
? 3
$ tailor convert m.tir -o m.air --dry-run --is_weight_clip=2
! tailor: error: --is-weight-clip: '2' is not one of 0|1 [E10006]
? 1
# An empty value is as good as none.
$ tailor convert m.tir -o m.air --dry-run --precision_mode= --precision_mode_v2=origin
! options are valid: m.tir -> m.air (air); 0 recorded for the device compiler
# Without a mode dtypes are those of the model; --atc-compat takes the default of atc.
$ tailor convert m.tir -o a.onnx 2>&1 | grep dtypes; tailor convert m.tir -o b.onnx --atc-compat 2>&1 | grep dtypes; tailor convert m.tir -o c.onnx --precision_mode_v2=mixed_float16 2>&1 | grep dtypes
>   dtypes   the model's own
>   dtypes   force_fp16, the default of atc: f16 wherever an op has it
>   dtypes   mixed_float16: f16 in white ops and in gray ops that follow them
# Both forms in one run are those of two runs; a model from standard input cannot be read twice.
$ tailor convert m.tir -o b.air -o b.onnx --precision_mode=force_fp16 --summary=none; tailor convert m.tir -o c.air --precision_mode=force_fp16 --summary=none; tailor convert m.tir -o c.onnx --precision_mode=force_fp16 --summary=none; cmp b.air c.air && cmp b.onnx c.onnx && echo same
> same
$ tailor convert - -o b.air -o b.onnx --precision_mode=force_fp16 <m.tir
! tailor: error: with a precision mode the model is read once for AIR and once for ONNX, so neither standard input nor a fusion report is possible
!   hint: run the command once for each output
? 3
# Casts of this compiler come from no node of the model, and say so in AIR.
$ tailor convert m.tir -o m.pbtxt --precision_mode=force_fp16 --summary=none; grep -c 'op_type: "ge:Cast"' m.pbtxt; tailor convert m.tir -o m.air --precision_mode=force_fp16 --summary=none; tailor explain m.air --origins | grep -c 'inserted'
> 2
> 2
# What no engine takes stops AIR; in ONNX it stays as it is.
$ tailor convert m.tir -o m.air --precision_mode_v2=origin --soc_version=Ascend910A --summary=none
! m.tir: error: node conv: Conv2D does not take 'x' as f32 in origin; it takes f16, i8 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
? 3
$ tailor convert m.tir -o m.onnx --precision_mode_v2=origin --soc_version=Ascend910A --summary=none
! m.tir: warning: node conv: Conv2D does not take 'x' as f32 in origin; it takes f16, i8; it keeps its dtypes [P0201]
# A mode changes no name of the model.
$ tailor convert m.tir -o m.onnx --precision_mode=force_fp16 --summary=none; tailor info m.onnx | grep put
> input    x: f32[1,2,4,4]
> output   y: f32[1,3,4,4]
# Lists of what to lower and what not: where they count, what is no expression, what fits nothing.
$ tailor convert m.tir -o m.air --dry-run --op_block_list=Exp
! tailor: error: --op-block-list: has no effect without a mode that lowers dtypes [E10001]
!   hint: add --precision-mode-v2=mixed_float16, for example
? 1
$ tailor convert m.tir -o m.air --dry-run --precision-mode-v2=origin --nodes_to_include=conv
! tailor: error: --node-include-list: has no effect without a mode that lowers dtypes [E10001]
!   hint: add --precision-mode-v2=mixed_float16, for example
? 1
$ tailor convert m.tir -o m.air --dry-run --precision-mode-v2=fp16 '--node-block-list=(a{1,200}){1,200}'
! tailor: error: --node-block-list: '(a{1,200}){1,200}' is not an expression for names: repeats more than 256 times, all counts multiplied [E10001]
!   hint: write a POSIX extended regular expression that matches whole names, such as '/layer[0-3]/.*'; a backslash before . ( ) [ ] { } * + ? ^ $ | makes it a plain character
? 1
$ tailor opt m.tir -o - --precision-mode-v2=fp16 --node-block-list=con --node-block-list=conv --op-types-to-exclude=conv,Relu --node-include-list='c.*' --op-include-list=Gemm | grep -c inserted
> 2
! --op-include-list: warning: 1 entry matched nothing: 'Gemm'
! --node-block-list: warning: 1 entry matched nothing: 'con'
! --op-block-list: warning: 1 entry matched nothing: 'conv'
# The signature: what may not be combined, and names that the model does not have.
$ tailor convert m.tir -o m.air --dry-run --precision-mode-v2=fp16 --keep-io-types --input-fp16-nodes=x
! tailor: error: --keep-io-types: cannot be combined with --input-fp16-nodes, which changes the signature [E10056]
? 1
$ tailor convert m.tir -o m.air --dry-run --precision-mode-v2=origin --keep-io-types=false
! tailor: error: --keep-io-types: 'false' lowers inputs and outputs, which needs a mode with f16 or bf16 [E10001]
!   hint: add --precision-mode-v2=mixed_float16, for example
? 1
$ tailor opt m.tir -o m.onnx --precision-mode-v2=fp16 '--keep-io-types=x;logits'; tailor info m.onnx | grep put
> input    x: f32[1,2,4,4]
> output   y: f16[1,3,4,4]
! --keep-io-types: warning: 1 entry matched nothing: 'logits'
$ tailor opt m.tir -o m.onnx --precision-mode-v2=fp16 --keep-io-types; tailor info m.onnx | grep put
> input    x: f32[1,2,4,4]
> output   y: f32[1,3,4,4]
# ONNX lets a ratio have another float than the data: one that comes in as f16 is taken so, a constant stays f32, and
# neither puts casts around Dropout. A CastLike needs no cast that only shows a dtype.
$ printf 'graph @g(%%x: f32[4], %%r: f32[], %%n: i64[4]) -> (%%y) {\n  const %%c: f32[] = 0.3\n  %%a = Relu(%%x)\n  %%d = Dropout(%%a, %%r)\n  %%e = Dropout(%%d, %%c)\n  %%l = CastLike(%%e, %%a)\n  %%k = CastLike(%%a, %%n)\n  %%s = Sub(%%k, %%n)\n  %%m = CastLike(%%s, %%x)\n  %%y = Mul(%%l, %%m)\n}\n' >ratio.tir; tailor convert ratio.tir -o ratio.onnx -O0 -q --precision-mode-v2=fp16 --keep-io-types=false; tailor info ratio.onnx | grep -E 'Cast|Dropout' | sed '3,$d'
>          2  Cast
>          2  Dropout
# An explanation says which entry decided.
$ tailor explain m.tir --precision-mode-v2=fp16 --op-block-list=Relu --node-include-list='co.*' -q | grep list
>   x            f32  -> f16   include-list: --node-include-list has 'co.*'
>   filter       f32  -> f16   include-list: --node-include-list has 'co.*'
>   y            f32  -> f16   include-list: --node-include-list has 'co.*'
>   x            f32           block-list: --op-block-list has 'Relu'
>   y            f32           block-list: --op-block-list has 'Relu'
# The policy of ranges as a mix list: what it keeps is black, and with the list nothing is left to keep.
$ printf 'graph @g(%%x: f32[1,2,3,3], %%w: f32[1,2,1,1]) -> (%%y, %%z) {\n  const %%epsilon: f32[1] = [1.0e-9]\n  %%c = Conv(%%x, %%w) @conv\n  %%s = Add(%%c, %%epsilon) @add\n  %%e = Exp(%%c) @exp\n  %%t = Tanh(%%e) @tanh\n  %%z = Exp(%%t) @exp2\n  %%y = Log(%%s) @log\n}\n' >risk.tir; tailor explain risk.tir --suggest-mixlist
> {
>   "black-list": {"to-add": ["Add", "Exp"]}
> }
$ tailor explain risk.tir --suggest-mixlist=risk.json --precision-mode-v2=mixed_bfloat16; cat risk.json; tailor explain risk.tir --suggest-mixlist=risk.json
> Add: 1 node, `add` the first: `log` takes the logarithm of its result
> Exp: 1 node, `exp` the first: it grows fast and nothing bounds its operand
> {
>   "black-list": {"to-add": ["Add", "Exp"]}
> }
> Add: 1 node, `add` the first: the constant `epsilon` would become 0, and a later op needs it
> Exp: 1 node, `exp` the first: it grows fast and nothing bounds its operand
$ tailor explain risk.tir --precision-mode-v2=mixed_float16 --precision-policy=range --modify-mixlist=risk.json -q | grep -c ' range: '; tailor explain risk.tir --precision-mode-v2=mixed_float16 --precision-policy=range -q | grep -c ' range: '
> 0
> 5
# Entries of a list that is there stay; a type that is to be black leaves the white list.
$ printf '{"white-list": {"to-add": ["Exp"], "to-remove": ["Conv3D"]}, "gray-list": {"to-remove": ["Exp"]}}\n' >mine.json; tailor explain risk.tir --suggest-mixlist --modify-mixlist=mine.json --precision-mode-v2=mixed_float16 | tee more.json; tailor explain risk.tir --modify-mixlist=more.json --precision-mode-v2=mixed_float16 -q | grep judged
> {
>   "black-list": {"to-add": ["Exp", "Add"]},
>   "white-list": {"to-remove": ["Conv3D"]},
>   "gray-list": {"to-remove": ["Exp"]}
> }
> `conv` Conv judged as Conv2D: white, signature 1 of 5, f16, f16, f16, i8 > f16
> `add` Add judged as Add: black, signature 2 of 9, f32, f32 > f32
> `exp` Exp judged as Exp: black, signature 2 of 3, f32 > f32
> `tanh` Tanh judged as Tanh: gray, signature 2 of 3, f32 > f32
> `exp2` Exp judged as Exp: black, signature 2 of 3, f32 > f32
> `log` Log judged as Log: black, signature 3 of 3, f32 > f32
! mine.json:1:1: warning: 'Conv3D' matches no node: Conv here is judged as 'Conv2D'
$ tailor explain risk.tir --suggest-mixlist --amp-level=O2
> {
>   "black-list": {"to-add": ["Add", "Exp", "Log", "Tanh"]}
> }
$ tailor explain m.tir --suggest-mixlist=none.json; cat none.json
> nothing is known of the model by which an op would overflow or lose an epsilon
> {}
$ tailor explain m.tir --suggest-mixlist --precision-mode=force_fp16
! tailor: error: --suggest-mixlist: lists have an effect in mixed modes only, not in force_fp16 [E10001]
!   hint: give --precision-mode-v2=mixed_float16, or none
? 1
$ tailor explain m.tir --suggest-mixlist --casts
! tailor: error: --suggest-mixlist: writes a list, --casts something else
!   hint: give one of them
? 1
$ tailor explain m.tir --suggest-mixlist --precision-policy=none
! tailor: error: --suggest-mixlist: uses the policy of ranges, which --precision-policy=none switches off
? 1
$ tailor explain m.tir --suggest-mixlist=none/none.json
! none/none.json: error: cannot create a temporary file for 'none/none.json': No such file or directory
? 4
# What is quantized already is not made for modes, or kernels, that keep or widen dtypes.
$ printf 'graph @g(%%x: f32[4]) -> (%%y) {\n  const %%s: f32[] = 0.5\n  %%q = QuantizeLinear(%%x, %%s) @quantize\n  %%y = DequantizeLinear(%%q, %%s) @dequantize\n}\n' >q.tir; tailor opt q.tir -o - --precision_mode=force_fp32 | grep -c quant
> 2
! q.tir: warning: node quantize: the model is quantized already; force_fp32 keeps or widens dtypes, which does not suit such a model
!   hint: use force_fp16 or a mixed mode
$ tailor opt q.tir -o - --precision-mode-v2=origin | grep -c quant; tailor opt q.tir -o - | grep -c quant; tailor opt q.tir -o - --precision-mode-v2=fp16 | grep -c quant; tailor opt m.tir -o - --precision-mode-v2=origin | grep -c quant
> 2
> 2
> 2
> 0
! q.tir: warning: node quantize: the model is quantized already; origin keeps or widens dtypes, which does not suit such a model
!   hint: use force_fp16 or a mixed mode
? 1
$ tailor convert q.tir -o q.air --op_select_implmode=high_precision --optypelist_for_implmode=Pooling --summary=none
! q.tir: warning: node quantize: the model is quantized already; high_precision keeps or widens dtypes, which does not suit such a model
!   hint: use force_fp16 or a mixed mode
! --optypelist-for-implmode: warning: 1 entry for implementation modes matched no op type: 'Pooling'
# Without any policy a gray op keeps an epsilon that would become 0.
$ tailor explain risk.tir --precision-mode-v2=mixed_float16 --node=add -q
> dtypes: mixed_float16, on Ascend910B
> `add` Add judged as Add: gray, signature 2 of 9, f32, f32 > f32
>   x1           f32           epsilon: the constant `epsilon` would become 0, and a later op needs it
>   x2           f32           epsilon: the constant `epsilon` would become 0, and a later op needs it
>   y            f32           epsilon: the constant `epsilon` would become 0, and a later op needs it
> 4 of 6 nodes with floats are lowered; 4 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 72 bytes of results of known size
> `add` of the model became
>   Cast `conv_0_to_float`, inserted for `add`
>   Add `add`, a node of the model
> `add` in AIR is
>   Add `add`, a node of the model
> life of `add`
>   read                   Add `add`: ?, node 2 of 6 of graph `g` of risk.tir
>   infer-shapes           now Add `add`: f32[1,1,3,3]
>   precision              takes 'c' as f32
>   ub-fusion              TbeEltwiseFusionPass: `conv_0_to_float`, `add`, `log` are kernel 1, which saves 144 bytes of traffic
>   air                    Add `add`: f32[1,1,3,3], node 5 of 10 of graph `g`; casts beside it: `conv_0_to_float`
>   onnx                   Add `add`: f32[1,1,3,3], node 5 of 10 of graph `g`; casts beside it: `conv_0_to_float`
# What clamping does to numbers is said; a signature that no rule asked for, too.
$ printf 'graph @g(%%x: f32[1,5]) -> (%%y) {\n  const %%w: f32[5,1] = [100000.0, -inf, 1e-9, nan, 65519.0]\n  %%y = MatMul(%%x, %%w) @mm\n}\n' >c.tir; tailor convert c.tir -o c.onnx --precision_mode=force_fp16 --summary=none; tailor convert c.tir -o c.onnx --precision_mode=force_fp16 --is_weight_clip=0 --summary=none
! c.tir: warning: constant 'w' as f16: 2 elements beyond the range become its limit, 1 become 0
! c.tir: warning: constant 'w' as f16: 2 elements beyond the range become infinite, 1 become 0
# Once, although the cast is made for each output.
$ tailor convert c.tir -o two.onnx -o two.air --precision_mode=force_fp16 --summary=none
! c.tir: warning: constant 'w' as f16: 2 elements beyond the range become its limit, 1 become 0
$ printf '{"Relu": {"input0": {"name": "x", "paramType": "required", "dtype": "bfloat16"}, "output0": {"name": "y", "paramType": "required", "dtype": "bfloat16"}}}\n' >b.json; printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Relu(%%x) @relu\n}\n' >r.tir; tailor convert r.tir -o r.tir2.tir --op-info=b.json --precision_mode=force_fp16 --summary=none
! r.tir: warning: node relu: Relu has no dtype for 'x' that force_fp16 requires; it is bf16
# An output that --out-nodes does not name.
$ tailor convert r.tir -o r.air --output_type=relu:0:FP16
! tailor: error: --output-type: 'relu:0' is not one of --out-nodes [E10001]
!   hint: give --out-nodes with the same NODE:INDEX
? 1
# Constants alone are computed, in the dtypes that they have.
$ printf 'graph @g() -> (%%y) {\n  const %%a: f32[2] = [1.0, 2.0]\n  const %%b: f32[2] = [0.5, 4.0]\n  %%y = Add(%%a, %%b)\n}\n' >k.tir; tailor convert k.tir -o - --emit=tir --precision_mode_v2=mixed_float16 --summary=none
> module {
>   form selected
> }
>
> graph @g() -> (%y) {
>   const %y: f32[2] = [1.5, 6.0]
> }
# Types that the chip does not know are named, but not without end.
$ (printf '{"black-list": {"to-add": ["T0"'; printf ', "T%s"' $(seq 30); printf ']}}\n') >many.json; tailor explain m.tir --precision-mode=allow_mix_precision --modify-mixlist=many.json 2>&1 >out.txt | tail -1
> many.json: warning: 11 more are not op types of this chip
# Repetitions of repetitions, which the C library doubles one by one.
$ tailor opt r.tir --precision-mode=force_fp16 '--node-block-list=a+++++++++++++++++++++++++++++++++++++++'
! tailor: error: --node-block-list: 'a+++++++++++++++++++++++++++++++++++++++' is not an expression for names: repeats a repetition [E10001]
!   hint: write a POSIX extended regular expression that matches whole names, such as '/layer[0-3]/.*'; a backslash before . ( ) [ ] { } * + ? ^ $ | makes it a plain character
? 1
$ tailor opt r.tir --precision-mode=force_fp16 '--node-block-list=a.**'
! tailor: error: --node-block-list: 'a.**' is not an expression for names: repeats a repetition [E10001]
!   hint: write a POSIX extended regular expression that matches whole names, such as '/layer[0-3]/.*'; a backslash before . ( ) [ ] { } * + ? ^ $ | makes it a plain character
? 1
# What may be empty in what is repeated, which takes exponential time.
$ tailor opt r.tir --precision-mode=force_fp16 '--node-block-list=(((a*)?(a*)?(a*)?(a*)?(a*)?)+)+'
! tailor: error: --node-block-list: '(((a*)?(a*)?(a*)?(a*)?(a*)?)+)+' is not an expression for names: has more than 16 groups with * or ?, each + and count of a group multiplied [E10001]
!   hint: write a POSIX extended regular expression that matches whole names, such as '/layer[0-3]/.*'; a backslash before . ( ) [ ] { } * + ? ^ $ | makes it a plain character
? 1
$ tailor opt r.tir --precision-mode=force_fp16 '--node-block-list=((((((((((a)+)+)+)+)+)+)+)+)+)+'
! tailor: error: --node-block-list: '((((((((((a)+)+)+)+)+)+)+)+)+)+' is not an expression for names: repeats more than 256 times, all counts multiplied [E10001]
!   hint: write a POSIX extended regular expression that matches whole names, such as '/layer[0-3]/.*'; a backslash before . ( ) [ ] { } * + ? ^ $ | makes it a plain character
? 1
$ tailor opt r.tir --precision-mode=force_fp16 '--node-block-list=r[a-z]+?(lu)+' '--node-include-list=a\++' --passes=
> graph @g(%x: f32[2]) -> (%y) {
>   %y = Relu(%x) @relu
> }
# Dtypes that an op does not have are an error whatever is written.
$ printf 'OpType::Conv2D:InputDtype:float16,float32\n' >none.cfg; tailor convert m.tir -o m.onnx --customize-dtypes=none.cfg --precision-mode=force_fp16
! m.tir: error: node conv: Conv2D has no signature with the dtypes of 'Conv2D' in none.cfg [P0202]
!   hint: 'tailor ops TYPE' lists the signatures of an op
? 3
# Types of a list that fit no node are said, with the name by which the nodes are judged.
$ printf 'graph @g(%%x: f32[1,3,8,8], %%w: f32[4,3,3,3], %%k: f32[8,2]) -> (%%y) {\n  const %%s = f32[4] [1.0, 1.0, 1.0, 1.0]\n  const %%o = f32[4] [0.0, 0.0, 0.0, 0.0]\n  %%c = Conv(%%x, %%w) {pads=[1, 1, 1, 1]}\n  %%n = BatchNormalization(%%c, %%s, %%o, %%o, %%s)\n  %%p = Softmax(%%n)\n  %%y = MatMul(%%p, %%k)\n}\n' >judged.tir
$ for l in '"MatMul", "BatchNorm"' '"BatchNormalization", "Softmax"' '"MatMulV2"' '"MatMulV2", "BatchMatMulV2"' '"onnx::MatMul", "BNInfer"' '"Exp", "Log", "Conv2D"'; do echo "{\"black-list\": {\"to-add\": [$l]}}" >l.json; echo "$l"; tailor opt judged.tir --fusion=ALL:off --precision-mode-v2=mixed_float16 --modify-mixlist=l.json -o l.tir; done
> "MatMul", "BatchNorm"
> "BatchNormalization", "Softmax"
> "MatMulV2"
> "MatMulV2", "BatchMatMulV2"
> "onnx::MatMul", "BNInfer"
> "Exp", "Log", "Conv2D"
! l.json:1:1: warning: 'BatchNorm' matches no node: BatchNormalization here is judged as 'BNInfer'
! l.json:1:1: warning: 'MatMul' matches no node: MatMul here is judged as 'BatchMatMulV2'
! l.json:1:1: warning: 'BatchNormalization' matches no node: BatchNormalization here is judged as 'BNInfer'
! l.json:1:1: warning: 'Softmax' matches no node: Softmax here is judged as 'SoftmaxV2'
! l.json:1:1: warning: 'MatMulV2' matches no node: MatMul here is judged as 'BatchMatMulV2'
! l.json: warning: 1 entry matched nothing: 'MatMulV2'
! l.json: warning: 2 entries matched nothing: 'Exp', 'Log'
$ printf 'OpType::MatMul\n' >k.txt; tailor opt judged.tir --fusion=ALL:off --precision-mode-v2=fp16 --keep-dtype=k.txt -o l.tir
! k.txt: warning: 1 entry matched nothing: 'MatMul'
!   hint: MatMul here is judged as 'BatchMatMulV2'
$ printf 'OpType::BatchNorm:InputDtype:float32,OutputDtype:float32\n' >c.cfg; tailor opt judged.tir --fusion=ALL:off --precision-mode-v2=fp16 --customize-dtypes=c.cfg -o l.tir
! c.cfg: warning: 1 entry matched nothing: 'BatchNorm'
!   hint: BatchNormalization here is judged as 'BNInfer'
$ tailor opt judged.tir --fusion=ALL:off --precision-mode-v2=fp16 --op-block-list=BatchNorm,Foo,MatMulV2 -o l.tir
! --op-block-list: warning: 3 entries matched nothing: 'BatchNorm', 'Foo', 'MatMulV2'
!   hint: BatchNormalization here is judged as 'BNInfer'; MatMul here is judged as 'BatchMatMulV2'
$ tailor opt judged.tir --fusion=ALL:off --precision-mode-v2=fp16 -o selected.tir; tailor opt selected.tir --passes= | grep -o 'npu BatchNorm.*'
> npu BatchNorm 2 judged BNInfer
$ sed 's/ judged BNInfer//' selected.tir | tailor opt - --passes= | grep -o 'npu BatchNorm.*'
> npu BatchNorm 2 judged BNInfer
$ sed 's/judged BNInfer/judged BatchNorm/' selected.tir | tailor opt - --passes=
! -:11:85: error: this candidate is judged as 'BNInfer'
? 2
# Without the policy the modes of colours say once what it would have kept, and how to have it; not when the user
# declines, nor in other modes, nor where the user names the node.
$ printf 'graph @g(%%x: f32[1,4], %%w: f32[4,4]) -> (%%y) {\n  const %%two: f32[] = 2.0\n  const %%axes: i64[1] = [1]\n  %%h = MatMul(%%x, %%w) @product\n  %%p = Mul(%%h, %%h) @power\n  %%e = Exp(%%p) @exp\n  %%r = Reciprocal(%%e) @over\n  %%q = Mul(%%e, %%e) @again\n  %%y = Add(%%q, %%r) @last\n}\n' >sq.tir; for p in 'v2=mixed_float16' 'v2=mixed_bfloat16 --precision-policy=range' 'v2=mixed_float16 --precision-policy=none' 'v2=fp16' 'v2=origin'; do echo "$p"; tailor convert sq.tir --summary=none -O0 -o sq.onnx --precision-mode-$p 2>&1; done
> v2=mixed_float16
> sq.tir: warning: mixed_float16 lowers 5 nodes that may lose accuracy: `power` (it squares numbers), `exp` (`p` may be beyond the lower dtype), `over` (`e` may be beyond the lower dtype) ...
>   hint: --precision-policy=range keeps them in f32 and 'tailor explain' with it names them all; --precision-policy=none leaves this warning out
> v2=mixed_bfloat16 --precision-policy=range
> v2=mixed_float16 --precision-policy=none
> v2=fp16
> v2=origin
$ tailor convert sq.tir --summary=none -O0 -o sq.onnx --amp-level=O3 --amp-dtype=bfloat16
! sq.tir: warning: O3 lowers 5 nodes that may lose accuracy: `power` (it squares numbers), `exp` (`p` may be beyond the lower dtype), `over` (`e` may be beyond the lower dtype) ...
!   hint: --precision-policy=range keeps them in f32 and 'tailor explain' with it names them all; --precision-policy=none leaves this warning out
$ tailor convert sq.tir --summary=none -O0 -o sq.onnx --precision-mode-v2=mixed_float16 --to-float='**=float16'
# What range would keep and the chip has in half precision alone is lowered, and named.
$ printf 'graph @g(%%x: f32[1,2,4,4]) -> (%%y) {\n  %%p = AveragePool(%%x) @pool {kernel_shape=[2, 2]}\n  %%y = Reciprocal(%%p) @inverse\n}\n' >pool.tir; tailor convert pool.tir --emit=air -o pool.air --precision_mode=force_fp16 --precision-policy=range --summary=none
! pool.tir: warning: --precision-policy=range would keep 1 more node in f32, for which the chip has no f32 kernel: `pool` (`inverse` divides by its result)
!   hint: another chip, or a mode that keeps the dtypes of the model, has a form for it
# A node that the AI cores do not take keeps its dtypes, and explain says why.
$ printf 'graph @g(%%x: f64[4]) -> (%%y) {\n  %%y = Add(%%x, %%x)\n}\n' >wide.tir; tailor explain wide.tir --precision --soc-version=Ascend910B1 | sed -n 2,5p
> `Add->y` Add judged as Add: gray
>   x1           f64           host: the AI cores have no kernel for these dtypes
>   x2           f64           host: the AI cores have no kernel for these dtypes
>   y            f64           host: the AI cores have no kernel for these dtypes
