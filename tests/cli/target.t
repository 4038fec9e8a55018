# --target: what fusions are for.
$ printf 'graph @g(%%x: f16[2,3]) -> (%%y) {\n  %%s = Sigmoid(%%x) @s\n  %%y = Mul(%%x, %%s) @m\n}\n' >swish.tir
# The default chip has Swish; an ONNX runtime gets it as a function; without a target nothing is fused.
$ tailor opt swish.tir | grep -c tl::Swish
> 1
$ tailor opt swish.tir --target=onnx | grep -c tl::Swish
> 1
$ tailor opt swish.tir --target=none | grep -c tl::Swish
> 0
? 1
$ tailor explain swish.tir --target=none --fusion=SwishFusion
> SwishFusion: 0 fused, 1 not
>   not    SwishPlain: `m`: SWITCH_OFF: the pattern fits, but the rule is off: --target=none
# A chip without the op, and why not.
$ printf 'graph @g(%%x: f16[2,4]) -> (%%y) {\n  %%a, %%b = Split(%%x) @p {axis=-1, num_outputs=2}\n  %%g = Gelu(%%b) @g\n  %%y = Mul(%%a, %%g) @m\n}\n' >glu.tir
$ tailor opt glu.tir --soc-version=Ascend310P3 | grep -c tl::GeGlu
> 0
? 1
$ tailor explain glu.tir --soc-version=Ascend310P3 --fusion=GeGluV2FusionPass
> GeGluV2FusionPass: 0 fused, 1 not
>   not    GeGluRight: `m`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version has no op for it
$ tailor opt glu.tir --soc-version=Ascend310P3 --target=onnx | grep -c tl::GeGlu
> 1
# Clean-up goes on without a target.
$ printf 'graph @g(%%x: f16[2,3]) -> (%%y) {\n  %%a = Relu(%%x)\n  %%y = Relu(%%a)\n}\n' >relu.tir; tailor opt relu.tir --target=none | grep -c Relu
> 1
$ tailor opt swish.tir --target=gpu
! tailor: error: --target: 'gpu' is not one of npu|onnx|none [E10001]
? 1
# Rules for the NPU alone, and for one line of chips: left out elsewhere, and told why.
$ printf 'graph @g(%%q: i8[2,3], %%w: i8[3,2], %%b: i32[2]) -> (%%y) {\n  const %%s: f32[] = 0.5\n  %%x = tl::QuantMatMul(%%q, %%w, %%b) @m\n  %%d = DequantizeLinear(%%x, %%s) @d\n  %%y = Relu(%%d) @r\n}\n' >quant.tir; tailor opt quant.tir --soc-version=Ascend310P3 | grep -c tl::Dequant
> 1
$ tailor explain quant.tir --fusion=NotRequantV100
> V100NotRequantFusionPass: 0 fused, 1 not
>   not    NotRequantV100: `r`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version is not of the Ascend910 line
$ tailor explain quant.tir --fusion=NotRequantV100 --soc-version=Ascend310P3 --target=onnx
> V100NotRequantFusionPass: 0 fused, 1 not
>   not    NotRequantV100: `r`: UNSUPPORTED: the pattern fits, but the rule is off: --target=onnx: it is for the NPU alone
