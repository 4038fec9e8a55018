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

# A rule for several of them is on where it would be for one.
$ printf 'rules 1\nrule TwoA : graph target npu onnxruntime numerics exact about "x" {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoB : graph target onnxruntime npu {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoC : graph target npu910 onnxruntime {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoD : graph target npu910b onnxruntime {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoE : graph target npu910 npu910b {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoF : graph target npu npu910 {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\nrule TwoG : graph target onnxruntime npu910b npu910 npu numerics exact about "x" {\n  match { %%y = Softsign(%%x) }\n  replace { %%y = Tanh(%%x) }\n}\n' >several.tlr
$ tailor passes --rules=several.tlr --target=npu | grep ^Two | sed 's/ *graph .*\(reassociating\|exact\)//; s/several.tlr:[0-9]*;* *//'
> TwoA          on
> TwoB          on
> TwoC          off   the chip of --soc-version is not of the Ascend910 line
> TwoD          on
> TwoE          on
> TwoF          on
> TwoG          on
$ tailor passes --rules=several.tlr --target=onnxruntime | grep ^Two | sed 's/ *graph .*\(reassociating\|exact\)//; s/several.tlr:[0-9]*;* *//'
> TwoA          on
> TwoB          on
> TwoC          on
> TwoD          on
> TwoE          off   --target=onnxruntime: it is for the NPU alone
> TwoF          off   --target=onnxruntime: it is for the NPU alone
> TwoG          on
$ tailor passes --rules=several.tlr --target=onnx | grep ^Two | sed 's/ *graph .*\(reassociating\|exact\)//; s/several.tlr:[0-9]*;* *//'
> TwoA          off   --target=onnx: it is for the NPU and ONNX Runtime
> TwoB          off   --target=onnx: it is for the NPU and ONNX Runtime
> TwoC          off   --target=onnx: it is for the NPU and ONNX Runtime
> TwoD          off   --target=onnx: it is for the NPU and ONNX Runtime
> TwoE          off   --target=onnx: it is for the NPU alone
> TwoF          off   --target=onnx: it is for the NPU alone
> TwoG          off   --target=onnx: it is for the NPU and ONNX Runtime
$ tailor passes --rules=several.tlr --target=none | grep ^Two | sed 's/ *graph .*\(reassociating\|exact\)//; s/several.tlr:[0-9]*;* *//'
> TwoA          off   --target=none
> TwoB          off   --target=none
> TwoC          off   --target=none
> TwoD          off   --target=none
> TwoE          off   --target=none
> TwoF          off   --target=none
> TwoG          off   --target=none
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Softsign(%%x)\n}\n' >s.tir
$ sed -n '1p;/rule TwoC/,/^}/p' several.tlr >c.tlr; sed -n '1p;/rule TwoD/,/^}/p' several.tlr >d.tlr
$ tailor explain s.tir --rules=c.tlr --fusion=TwoC
> TwoC: 0 fused, 1 not
>   not    `Softsign->y`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version is not of the Ascend910 line
$ tailor explain s.tir --rules=c.tlr --soc-version=Ascend310P3 --fusion=TwoC
> TwoC: 1 fused, 0 not
>   fused  `Softsign->y` became Tanh
$ tailor explain s.tir --rules=c.tlr --target=onnxruntime --fusion=TwoC
> TwoC: 1 fused, 0 not
>   fused  `Softsign->y` became Tanh
$ tailor explain s.tir --rules=d.tlr --fusion=TwoD
> TwoD: 1 fused, 0 not
>   fused  `Softsign->y` became Tanh
$ tailor explain s.tir --rules=d.tlr --soc-version=Ascend310P3 --fusion=TwoD
> TwoD: 0 fused, 1 not
>   not    `Softsign->y`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version is of the Ascend910 line
$ tailor explain s.tir --rules=d.tlr --target=onnxruntime --fusion=TwoD
> TwoD: 1 fused, 0 not
>   fused  `Softsign->y` became Tanh
