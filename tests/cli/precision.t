# Levels of MindSpore's mixed precision, and what they cannot be combined with.
$ printf 'graph @g(%%x: f32[2,4], %%w: f32[4,4]) -> (%%z) {\n  %%y = MatMul(%%x, %%w)\n  %%z = Exp(%%y)\n}\n' > m.tir
$ tailor opt m.tir --amp-level=O1 --passes=infer-shapes,select,precision | grep -E '= (Cast|MatMul|Exp)'
>   %x_to_float16 = Cast(%x) @x_to_float16 {to=10} : f16[2,4] npu Cast meta "inserted" "1"
>   %w_to_float16 = Cast(%w) @w_to_float16 {to=10} : f16[4,4] npu Cast meta "inserted" "1"
>   %y = MatMul(%x_to_float16, %w_to_float16) : f16[2,4] npu BatchMatMulV2 3
>   %y_to_float = Cast(%y) @y_to_float {to=1} : f32[2,4] npu Cast meta "inserted" "1"
>   %z = Exp(%y_to_float) : f32[2,4] npu Exp
$ tailor opt m.tir --amp-level=O1 --amp-dtype=bfloat16 --passes=infer-shapes,select,precision | grep -E '= (Cast|MatMul|Exp)'
>   %x_to_bfloat16 = Cast(%x) @x_to_bfloat16 {to=16} : bf16[2,4] npu Cast meta "inserted" "1"
>   %w_to_bfloat16 = Cast(%w) @w_to_bfloat16 {to=16} : bf16[4,4] npu Cast meta "inserted" "1"
>   %y = MatMul(%x_to_bfloat16, %w_to_bfloat16) : bf16[2,4] npu BatchMatMulV2 3
>   %y_to_float = Cast(%y) @y_to_float {to=1} : f32[2,4] npu Cast meta "inserted" "1"
>   %z = Exp(%y_to_float) : f32[2,4] npu Exp
$ tailor opt m.tir --amp-level=O0 --passes=infer-shapes,select,precision | grep -E '= (Cast|MatMul|Exp)'
>   %y = MatMul(%x, %w) : f32[2,4] npu BatchMatMulV2 3
>   %z = Exp(%y) : f32[2,4] npu Exp
$ tailor opt m.tir --amp-level=O4
! tailor: error: --amp-level: 'O4' is not one of O0|O1|O2|O3|auto [E10001]
? 1
$ tailor opt m.tir --amp-level=O1 --precision-mode=force_fp16
! tailor: error: --amp-level: cannot be combined with --precision-mode [E10056]
? 1
$ tailor opt m.tir --amp-level=O1 --precision-mode-v2=fp16
! tailor: error: --amp-level: cannot be combined with --precision-mode-v2 [E10056]
? 1
$ tailor opt m.tir --amp-level=O1 --atc-compat
! tailor: error: --amp-level: cannot be combined with --atc-compat, which asks for force_fp16 [E10056]
? 1
$ tailor opt m.tir --amp-dtype=bfloat16
! tailor: error: --amp-dtype: says the low dtype of --amp-level, which is not given [E10001]
? 1
$ echo '{"black-list": {"to-add": ["BatchMatMulV2"]}}' > mix.json
$ tailor opt m.tir --amp-level=O3 --modify-mixlist=mix.json
! tailor: error: --modify-mixlist: lists count in levels O1, O2 and auto only, not in O3 [E10001]
? 1
$ tailor opt m.tir --amp-level=O1 --modify-mixlist=mix.json --passes=infer-shapes,select,precision | grep -c Cast
> 0
? 1
$ tailor convert m.tir -o m.air --soc-version=Ascend910A --amp-level=O1 --amp-dtype=bfloat16
! tailor: error: --amp-level: O1 needs bfloat16, which Ascend910 does not have [E20101]
!   hint: f16 modes do, and Ascend910B and later chips have bfloat16
? 3
# Implementation modes: a node before its type, HF32 for matrix ops that stay f32, and what is wrong.
$ printf 'graph @g(%%x: f32[2,4], %%w: f32[4,4]) -> (%%z) {\n  %%y = MatMul(%%x, %%w) @mm\n  %%z = Relu(%%y)\n}\n' > n.tir
$ printf 'Relu=high_performance\n[ByNodeName]\nmm = high_precision\nnone=high_precision\nfff=\n' > modes.ini
$ tailor convert n.tir -o n.pbtxt --summary=none --op-precision-mode=modes.ini --allow-hf32=true; grep -A1 _op_impl n.pbtxt
>       name: "_op_impl_mode_enum"
>       i: 4
> --
>       name: "_op_impl_mode_enum"
>       i: 2
! modes.ini:5:1: warning: the line is dropped: '' is no implementation mode [W_IMPL_MODE]
! modes.ini: warning: 1 entry for implementation modes matched no node: 'none'
$ tailor convert n.tir -o n.pbtxt --summary=none --allow-hf32=true; grep -A1 _op_impl n.pbtxt
>       name: "_op_impl_mode_enum"
>       i: 64
$ tailor convert n.tir -o n.pbtxt --summary=none --allow-hf32=true --precision-mode=force_fp16; grep -c _op_impl n.pbtxt
> 0
? 1
$ tailor convert n.tir -o n.pbtxt --summary=none --op-select-implmode=high_precision --optypelist-for-implmode='Relu, Gelu'; grep -A1 _op_impl n.pbtxt
>       name: "_op_impl_mode_enum"
>       i: 4
! --optypelist-for-implmode: warning: 1 entry for implementation modes matched no op type: 'Gelu'
$ tailor convert n.tir -o n.air --optypelist-for-implmode=Relu
! tailor: error: --optypelist-for-implmode: needs --op-select-implmode, which says the mode of these op types [E10001]
? 1
$ tailor convert n.tir -o n.air --op-select-implmode=high_preformance
! tailor: error: --op-select-implmode: 'high_preformance' is not one of high_precision|high_performance|high_precision_for_all|high_performance_for_all [E10001]
? 1
$ tailor convert n.tir -o n.air --allow-hf32=1
! tailor: error: --allow-hf32: '1' is not one of true|false [E10005]
? 1
$ tailor convert n.tir -o n.air --op-precision-mode=none.ini
! none.ini: error: cannot open the file of implementation modes: No such file or directory [E10001]
? 4
$ tailor convert n.tir -o n.air --op-precision-mode=.
! .: error: cannot read the file of implementation modes: it is a folder [E10001]
? 4
# What explains a dtype: every tensor, its rule, the casts; the same as JSON, and two of them compared.
$ tailor explain n.tir --amp-level=O1
> dtypes: O1, on Ascend910B
> `mm` MatMul judged as BatchMatMulV2: white, signature 1 of 5, f16, f16, f16, i8 > f16
>   x1           f32  -> f16   white: the op is on the white list
>   x2           f32  -> f16   white: the op is on the white list
>   y            f32  -> f16   white: the op is on the white list
> `Relu->z` Relu judged as Relu: white, signature 1 of 6, f16 > f16
>   x            f32  -> f16   white: the op is on the white list
>   y            f32  -> f16   white: the op is on the white list
>   cast     `x` f32 -> f16 for `mm`
>   cast     `w` f32 -> f16 for `mm`
>   cast     `z` f16 -> f32 for `return`
> 2 of 2 nodes with floats are lowered; 3 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 32 bytes of results of known size
$ tailor explain n.tir --amp-level=O1 --casts
> dtypes: O1, on Ascend910B
>   cast     `x` f32 -> f16 for `mm`
>   cast     `w` f32 -> f16 for `mm`
>   cast     `z` f16 -> f32 for `return`
> 2 of 2 nodes with floats are lowered; 3 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 32 bytes of results of known size
$ tailor explain n.tir --amp-level=O1 --type=Relu
> dtypes: O1, on Ascend910B
> `Relu->z` Relu judged as Relu: white, signature 1 of 6, f16 > f16
>   x            f32  -> f16   white: the op is on the white list
>   y            f32  -> f16   white: the op is on the white list
> 2 of 2 nodes with floats are lowered; 3 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 32 bytes of results of known size
$ tailor explain n.tir --amp-level=O1 --node=mm --json
> {"version": 1, "mode": "O1", "chip": "Ascend910B",
>  "nodes": [
>   {"node": "mm", "op": "MatMul", "judged": "BatchMatMulV2", "colour": "white", "column": 0, "signature": "f16, f16, f16, i8 > f16", "tensors": [
>     {"input": 0, "port": "x1", "value": "x", "original": "f32", "chosen": "f16", "rule": "white", "reason": "the op is on the white list"},
>     {"input": 1, "port": "x2", "value": "w", "original": "f32", "chosen": "f16", "rule": "white", "reason": "the op is on the white list"},
>     {"output": 0, "port": "y", "value": "y", "original": "f32", "chosen": "f16", "rule": "white", "reason": "the op is on the white list"}]}],
>  "casts": [
>   {"value": "x", "constant": false, "from": "f32", "to": "f16", "for": "mm", "consumers": 1},
>   {"value": "w", "constant": false, "from": "f32", "to": "f16", "for": "mm", "consumers": 1},
>   {"value": "z", "constant": false, "from": "f16", "to": "f32", "for": "return", "consumers": 1}],
>  "motion": [],
>  "summary": {"nodes": 2, "lowered": 2, "casts": 3, "motions": 0, "constants": 0, "out_of_range": 0, "become_zero": 0, "subnormal": 0, "constant_bytes_saved": 0, "result_bytes_saved": 32}}
$ tailor explain n.tir --precision
> dtypes: the model's own, on Ascend910B
> `mm` MatMul judged as BatchMatMulV2: white, signature 3 of 5, f32, f32, f32, i8 > f32
>   x1           f32           mode: the mode asks for it
>   x2           f32           mode: the mode asks for it
>   y            f32           mode: the mode asks for it
> `Relu->z` Relu judged as Relu: gray, signature 2 of 6, f32 > f32
>   x            f32           mode: the mode asks for it
>   y            f32           mode: the mode asks for it
> 0 of 2 nodes with floats are lowered; 0 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 0 bytes of results of known size
$ tailor explain n.tir --precision-mode=force_fp16 --node=nobody
> dtypes: force_fp16, on Ascend910B
> no node has that name or type
> 2 of 2 nodes with floats are lowered; 3 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 32 bytes of results of known size
$ tailor explain n.tir --amp-level=O1 --json > a.json; tailor explain n.tir --amp-level=O2 --json > b.json; tailor diff-precision a.json b.json
> 0 of 5 tensors differ
$ tailor explain n.tir --amp-level=O0 --json > c.json; tailor diff-precision a.json c.json
> `Relu->z` input 0 (x): f16 (white) | f32 (mode)
> `Relu->z` output 0 (y): f16 (white) | f32 (mode)
> `mm` input 0 (x1): f16 (white) | f32 (mode)
> `mm` input 1 (x2): f16 (white) | f32 (mode)
> `mm` output 0 (y): f16 (white) | f32 (mode)
> 5 of 5 tensors differ
? 5
$ tailor diff-precision a.json
! tailor: error: two files are compared
!   hint: tailor diff-precision A.json B.json
? 1
$ tailor diff-precision a.json n.tir
! n.tir:1:1: error: not JSON: expected a value
? 2
$ echo '{"nodes": [{"node": "a", "tensors": [{"input": -1}]}]}' > d.json; tailor diff-precision a.json d.json
! d.json:1:38: error: is no explanation of dtypes: a tensor needs its index, port, chosen dtype and rule
!   hint: 'tailor explain MODEL --precision --json' writes them
? 2
$ echo '{"nodes": 1}' > d.json; tailor diff-precision d.json a.json
! d.json:1:1: error: is no explanation of dtypes: the top level needs a list of nodes
!   hint: 'tailor explain MODEL --precision --json' writes them
? 2
$ tailor diff-precision a.json none.json
! none.json: error: cannot open 'none.json': No such file or directory
? 4
$ tailor diff-precision a.json .
! .: error: '.' is a folder, a file was expected
? 4
