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
