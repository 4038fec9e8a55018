# SPDX-License-Identifier: Apache-2.0
# What fusions are for: ops that the chip has, ops that any ONNX runtime has, those of ONNX Runtime too, none.

$ printf 'graph @g(%%x: f16[2,3,8], %%r: f16[2,3,8], %%q: f16[2,2,3,4], %%k: f16[2,2,4,5], %%v: f16[2,2,5,4], %%gamma: f16[8], %%beta: f16[8]) -> (%%y, %%z, %%c) {\n  const %%h: f16[] = 0.5\n  const %%one: f16[] = 1.0\n  const %%s2: f16[] = 1.4142135\n  %%s = Add(%%x, %%r)\n  %%n = LayerNormalization(%%s, %%gamma, %%beta)\n  %%d = Div(%%n, %%s2)\n  %%e = Erf(%%d)\n  %%a = Add(%%e, %%one)\n  %%m = Mul(%%n, %%a)\n  %%y = Mul(%%m, %%h)\n  %%g = Sigmoid(%%x)\n  %%z = Mul(%%x, %%g)\n  %%t = MatMul(%%q, %%k)\n  %%p = Softmax(%%t)\n  %%c = MatMul(%%p, %%v)\n}\n' >m.tir
$ tailor opt m.tir | grep -o ' = [A-Za-z:]*('
>  = tl::AddLayerNorm(
>  = Gelu(
>  = tl::Swish(
>  = Transpose(
>  = tl::Attention(
$ tailor opt m.tir --target=npu --soc-version=Ascend910A | grep -o ' = [A-Za-z:]*('
>  = Add(
>  = LayerNormalization(
>  = Gelu(
>  = tl::Swish(
>  = MatMul(
>  = Softmax(
>  = MatMul(
$ tailor explain m.tir --soc-version=Ascend910A --fusion=AddLayerNormFusionPass
> AddLayerNormFusionPass: 0 fused, 1 not
>   not    AddLayerNormRows: `LayerNormalization->n`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version has no op for it
$ tailor opt m.tir --target=onnx | grep -o ' = [A-Za-z:]*('
>  = Add(
>  = LayerNormalization(
>  = Gelu(
>  = Sigmoid(
>  = Mul(
>  = MatMul(
>  = Softmax(
>  = MatMul(
$ tailor explain m.tir --target=onnx --fusion=SwishFusion
> SwishFusion: 0 fused, 1 not
>   not    SwishPlain: `Mul->z`: UNSUPPORTED: the pattern fits, but the rule is off: --target=onnx: ONNX has no op for it
$ tailor explain m.tir --target=onnxruntime --fusion=SwishFusion
> SwishFusion: 0 fused, 1 not
>   not    SwishPlain: `Mul->z`: UNSUPPORTED: the pattern fits, but the rule is off: --target=onnxruntime: ONNX Runtime has no op for it
$ printf 'graph @g(%%x: f32[1,2,5,5], %%w: f32[3,2,3,3], %%a: f32[2,8,4], %%b: f32[2,8,5]) -> (%%y, %%z) {\n  %%c = Conv(%%x, %%w)\n  %%y = Relu(%%c)\n  %%t = Transpose(%%a) {perm=[0, 2, 1]}\n  %%z = MatMul(%%t, %%b)\n}\n' >c.tir
$ tailor opt c.tir --target=onnxruntime | grep -o ' = [A-Za-z:.]*('
>  = com.microsoft::FusedConv(
>  = com.microsoft::FusedMatMul(
$ tailor opt c.tir --target=onnx | grep -o ' = [A-Za-z:.]*('
>  = Conv(
>  = Relu(
>  = Transpose(
>  = MatMul(
$ tailor explain c.tir | grep Fused
? 1
$ tailor explain c.tir --fusion=ConvActivationFusion
> ConvActivationFusion: 0 fused, 1 not
>   not    FusedConv: `Relu->y`: UNSUPPORTED: the pattern fits, but the rule is off: --target=npu: it is for ONNX Runtime
$ tailor explain c.tir --target=onnx --fusion=MatmulTransposeFusion
> MatmulTransposeFusion: 0 fused, 1 not
>   not    FusedMatMulTurnedA: `MatMul->z`: UNSUPPORTED: the pattern fits, but the rule is off: --target=onnx: it is for ONNX Runtime
$ tailor explain c.tir --target=none --fusion=ConvActivationFusion
> ConvActivationFusion: 0 fused, 1 not
>   not    FusedConv: `Relu->y`: SWITCH_OFF: the pattern fits, but the rule is off: --target=none
$ tailor passes --rules | grep '^FusedGemmLeaky' | sed 's/passes.*[0-9];//'
> FusedGemmLeaky                     late     GemmActivationFusion             reassociating  off    --target=npu: it is for ONNX Runtime
$ tailor passes --rules --target=onnxruntime | grep -e ^FusedGemmLeaky -e ^BatchMatMulBiasGelu | sed 's/passes.*[0-9];*//'
> BatchMatMulBiasGelu                late     MatMulBiasAddFusionPass          reassociating  off    --target=onnxruntime: it is for the NPU alone
> FusedGemmLeaky                     late     GemmActivationFusion             reassociating  on
$ tailor opt m.tir --target=none | grep -o ' = [A-Za-z:]*('
>  = Add(
>  = LayerNormalization(
>  = Div(
>  = Erf(
>  = Add(
>  = Mul(
>  = Mul(
>  = Sigmoid(
>  = Mul(
>  = MatMul(
>  = Softmax(
>  = MatMul(
$ tailor explain m.tir --target=none --fusion=GeluONNXFusionPass
> GeluONNXFusionPass: 0 fused, 1 not
>   not    GeluErf: `Mul->y`: SWITCH_OFF: the pattern fits, but the rule is off: --target=none
$ tailor opt m.tir --target=gpu
! tailor: error: --target: 'gpu' is not one of npu|onnx|onnxruntime|none [E10001]
? 1
