# SPDX-License-Identifier: Apache-2.0
# Without a mode dtypes are the model's own as far as the chip has them, and the summary says what else was done.
$ printf 'graph @g(%%x: f32[1,2,4,4], %%w: f32[2,2,1,1]) -> (%%y) {\n  %%c = Conv(%%x, %%w) @conv\n  %%y = Relu(%%c) @relu\n}\n' >m.tir
$ tailor convert m.tir -o m.air --soc_version=Ascend910A 2>&1 | grep -A9 dtypes | grep -v 'time\|memory'
>   dtypes   the model's own; as allow_fp32_to_fp16 f16 in 1 node, for which Ascend910A has no f32: Conv2D `conv`
>   device   weights 0 bytes, inputs 144 bytes, outputs 128 bytes, activations 192 bytes
>            464 bytes in all; fits into 32.0 GiB of Ascend910A
>   wrote    m.air (6.2 KiB)
>   recorded ge.socVersion = Ascend910A
> go on with:
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910A --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.air --soc_version=Ascend310P3 2>&1 | grep 'dtypes\|atc'
>   dtypes   the model's own; as allow_fp32_to_fp16 f16 in 1 node, for which Ascend310P3 has no f32: Conv2D `conv`
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend310P3 --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.air --soc_version=Ascend910B1 2>&1 | grep 'dtypes\|atc'
>   dtypes   the model's own
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.air --soc_version=Ascend910A --precision_mode=force_fp16 2>&1 | grep 'dtypes\|atc'
>   dtypes   force_fp16: f16 wherever an op has it
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910A --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.air --soc_version=Ascend910A --precision_mode=must_keep_origin_dtype
! m.tir: error: node conv: Conv2D does not take 'x' as f32 in must_keep_origin_dtype; it takes f16, i8 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
? 3
$ tailor convert m.tir -o m.air --soc_version=Ascend910A --summary=json 2>&1 | grep -o '"dtypes": {[^}]*}[^}]*}}'
> "dtypes": {"mode": "", "chip": "Ascend910A", "lowered_by_chip": {"nodes": 1, "first_type": "Conv2D", "first_node": "conv", "dtype": "f16"}, "ai_cpu": {"nodes": 0}}
$ tailor explain m.tir --precision --soc-version=Ascend910A
> dtypes: the model's own, on Ascend910
> `conv` Conv judged as Conv2D: white, signature 1 of 3, f16, f16, f16, i8 > f16
>   x            f32  -> f16   mode: no mode is given, so dtypes that the chip has are kept; the op takes no wider one
>   filter       f32  -> f16   forced: another tensor of the op had to be reduced
>   y            f32  -> f16   forced: another tensor of the op had to be reduced
> `relu` Relu judged as Relu: gray, signature 2 of 5, f32 > f32
>   x            f32           mode: no mode is given, so dtypes that the chip has are kept
>   y            f32           mode: no mode is given, so dtypes that the chip has are kept
>   cast     `x` f32 -> f16 for `conv`
>   cast     `w` f32 -> f16 for `conv`
>   cast     `c` f16 -> f32 for `relu`
> 1 of 2 nodes with floats are lowered; 3 casts, 0 rewrites of casts
> 0 constants are cast: 0 numbers out of range, 0 become 0, 0 subnormal
> saved: 0 bytes of constants, 64 bytes of results of known size
# ONNX output is for no chip and stays as it is.
$ tailor convert m.tir -o m.onnx.tir --soc_version=Ascend910A -q; grep -c f16 m.onnx.tir
> 0
? 1
# Integers and f64: AI CPUs have kernels where the AI cores have none, in no mode that asks for kernels of the AI cores.
$ printf 'graph @g(%%x: f64[4]) -> (%%y) {\n  %%a = Mul(%%x, %%x) @square\n  %%y = Exp(%%a) @exp\n}\n' >d.tir
$ tailor convert d.tir -o d.air 2>&1 | grep 'dtypes\|AI CPU'
>   dtypes   the model's own
>   AI CPU   2 nodes, as the AI cores of Ascend910B1 have no kernel for the dtypes: Mul `square` with f64 the first
$ tailor convert d.tir -o d.air --precision_mode=force_fp16
! d.tir: error: node square: Mul does not take 'x1' as f64 in force_fp16; it takes f32, f16, bf16, i8, i16, i32, i64, u8, u16, bool [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
! d.tir: error: node exp: Exp does not take 'x' as f64 in force_fp16; it takes f32, f16, bf16 [P0201]
!   hint: another precision mode, or a cast in the model, gives it a dtype that it has
? 3
# bfloat16 on a chip that has none.
$ printf 'graph @g(%%x: bf16[4]) -> (%%y) {\n  %%y = Exp(%%x) @exp\n}\n' >b.tir
$ tailor convert b.tir -o b.air --soc_version=Ascend310P3 -q
! b.tir: error: 2 tensors are bfloat16 (`x` the first), which Ascend310P3 does not have [P0205]
!   hint: convert a model in f16 or f32, or name a chip that has it, such as Ascend910B1
? 3
$ tailor convert b.tir -o b.air --soc_version=Ascend310B1 -q
