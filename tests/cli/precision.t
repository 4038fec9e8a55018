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
