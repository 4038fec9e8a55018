# What fusions become on the NPU computes what the model did: attributes and results are those of the kernels.
$ printf 'graph @g(%%x: f32[batch,512]) -> (%%y) {\n  const %%axes: i64[1] = [1]\n  const %%e: f32[] = 0.000000000001\n  %%n = ReduceL2(%%x, %%axes) {keepdims=1}\n  %%m = Clip(%%n, %%e)\n  %%s = Shape(%%x)\n  %%k = Expand(%%m, %%s)\n  %%y = Div(%%x, %%k)\n}\n' >unit.tir; tailor opt --npu unit.tir | grep -o 'npu::.*(%x) {axis.*eps=[^,]*'; tailor verify unit.tir --npu --dim batch=3 --tensors=0 | grep '"y"'
> npu::L2Normalize(%x) {axis=[1], eps=1e-24
> equal   "y": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%p: f32[4,3], %%v: f32[4,3], %%m: f32[4,3], %%g: f32[4,3], %%c1: f32[], %%c2: f32[], %%lr: f32[]) -> (%%y, %%m2, %%v2) {\n  const %%b1: f32[] = 0.9\n  const %%a1: f32[] = 0.1\n  const %%b2: f32[] = 0.99\n  const %%a2: f32[] = 0.01\n  const %%eps: f32[] = 0.001\n  const %%wd: f32[] = 0.01\n  const %%zero: f32[] = 0.0\n  const %%one: f32[] = 1.0\n  %%mb = Mul(%%m, %%b1)\n  %%ga = Mul(%%g, %%a1)\n  %%m2 = Add(%%mb, %%ga)\n  %%vb = Mul(%%v, %%b2)\n  %%gg = Mul(%%g, %%g)\n  %%gs = Mul(%%gg, %%a2)\n  %%v2 = Add(%%vb, %%gs)\n  %%mc = Div(%%m2, %%c1)\n  %%vc = Div(%%v2, %%c2)\n  %%root = Sqrt(%%vc)\n  %%below = Add(%%root, %%eps)\n  %%u0 = Div(%%mc, %%below)\n  %%d0 = Mul(%%p, %%wd)\n  %%u = Add(%%u0, %%d0)\n  %%pn = ReduceL2(%%p) {keepdims=0}\n  %%un = ReduceL2(%%u) {keepdims=0}\n  %%q = Div(%%pn, %%un)\n  %%a = Greater(%%un, %%zero)\n  %%s = Where(%%a, %%q, %%one)\n  %%b = Greater(%%pn, %%zero)\n  %%r = Where(%%b, %%s, %%one)\n  %%mm = Mul(%%r, %%lr)\n  %%d = Mul(%%mm, %%u)\n  %%y = Sub(%%p, %%d)\n}\n' >lamb.tir; tailor opt --npu lamb.tir | grep -o 'npu::[A-Za-z0-9]*'; tailor verify lamb.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::Square
> npu::LambNextMV
> npu::FusedMulAddN
> npu::LpNormV2
> npu::LpNormV2
> npu::LambUpdateWithLrV2
> equal   "y": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
> equal   "m2": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
> equal   "v2": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: f32[n,5,3], %%t: i64[n,3], %%u: f32[n,5,3]) -> (%%y,%%z,%%w) { %%l = LogSoftmax(%%x) {axis=1}\n %%y = NegativeLogLikelihoodLoss(%%l, %%t) {ignore_index=2}\n %%z = NegativeLogLikelihoodLoss(%%x, %%t) {reduction="none"}\n const %%k: i64[1] = [1]\n %%l2 = LogSoftmax(%%u) {axis=1}\n %%m = Mul(%%l2, %%x)\n %%s = ReduceSum(%%m, %%k) {keepdims=0}\n %%w = Neg(%%s)\n}\n' >loss.tir; tailor opt --npu loss.tir | grep -o 'npu::[A-Za-z0-9]*'; tailor verify loss.tir --npu --dim n=3 --tensors=0 | grep '^[a-z]* *"'
> npu::SoftmaxCrossEntropyLoss
> npu::Transpose
> npu::Flatten
> npu::Reshape
> npu::NLLLoss
> npu::Reshape
> npu::Transpose
> npu::Flatten
> npu::SoftmaxCrossEntropyWithLogits
> npu::Reshape
> equal   "y": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
> equal   "z": 0 of 9 elements differ, max abs 0, max rel 0, cosine 1
> equal   "w": 0 of 9 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: f32[4,6,16], %%b: f32[4,6], %%c: f32[4,6], %%d: f32[4,6]) -> (%%s,%%r,%%i,%%v,%%p,%%t) {\n  const %%a: i64[1] = [-1]\n  const %%o: i64[1] = [0]\n  %%q = Mul(%%x, %%x)\n  %%s = ReduceSum(%%q, %%a) {keepdims=1}\n  %%r = Sqrt(%%q)\n  %%h = Softmax(%%x) {axis=2}\n  %%v = ReduceMax(%%h, %%a) {keepdims=1}\n  %%i = ArgMax(%%h) {axis=2, keepdims=1}\n  %%p = Mul(%%b, %%c)\n  %%u = Mul(%%c, %%d)\n  %%t = ReduceSum(%%u, %%o) {keepdims=0}\n}\n' >beside.tir; tailor opt --npu beside.tir | grep -o 'npu::[A-Za-z0-9]*'; tailor verify beside.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::SquareSumV2
> npu::Sqrt
> npu::SoftmaxV2
> npu::ArgMaxWithValue
> npu::ConfusionMulGrad
> equal   "s": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "r": 0 of 384 elements differ, max abs 0, max rel 0, cosine 1
> equal   "i": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "v": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "p": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "t": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: f32[n,5,4], %%y: f32[n,5,4]) -> (%%z) {\n  %%d = Sub(%%x, %%y)\n  %%p = Mul(%%x, %%y)\n  %%z = Concat(%%x, %%y, %%d, %%p) {axis=2}\n}\n' >pair.tir; tailor opt --npu --fusion=SubMulConcatFusionPass:on pair.tir -o pair.npu.tir; grep -o 'npu::[A-Za-z0-9]*' pair.npu.tir; tailor verify pair.tir pair.npu.tir --dim n=3 --tensors=0 | grep '^[a-z]* *"'
> npu::SubMulConcat
> equal   "z": 0 of 240 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: f32[1,7,32,64]) -> (%%y) {\n  const %%k: i64[1] = [3]\n  const %%e: i64[1] = [9223372036854775807]\n  const %%o: i64[1] = [0]\n  const %%at: i64[1] = [1]\n  %%a = Slice(%%x, %%k, %%e, %%at)\n  %%b = Slice(%%x, %%o, %%k, %%at)\n  %%y = Concat(%%a, %%b) {axis=1}\n}\n' >roll.tir; tailor opt --npu --soc-version=Ascend310P3 --fusion=StridedSliceConcatFusionPass:on roll.tir -o roll.npu.tir; grep -o 'npu::[A-Za-z0-9]*' roll.npu.tir; tailor verify roll.tir roll.npu.tir --tensors=0 | grep '^[a-z]* *"'
> npu::SqueezeV3
> npu::Roll
> npu::UnsqueezeV3
> equal   "y": 0 of 14336 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%a: f16[n,8,64], %%b: f16[n,8,64], %%gamma: f16[64], %%m: f16[64], %%o: f16[64]) -> (%%y, %%c, %%s, %%z, %%d, %%w, %%f, %%v) {\n  %%n, %%r, %%s = npu::NPUAddRmsNorm(%%a, %%b, %%gamma) {epsilon=0.001}\n  %%y, %%c = npu::NPUDynamicQuant(%%n, %%m)\n  %%z, %%d = npu::NPUDynamicQuant(%%n, %%o)\n  %%k, %%q, %%t = npu::NPUAddRmsNorm(%%s, %%b, %%gamma) {epsilon=0.001}\n  %%f = Cast(%%k) {to=1}\n  %%w, %%v = npu::NPUDynamicQuant(%%k)\n}\n' >bytes.tir; tailor opt --npu bytes.tir | grep -o 'npu::[A-Za-z0-9]*('; tailor verify bytes.tir --npu --dim n=3 --tensors=0 | grep '^[a-z]* *"'
> npu::AddRmsNormDynamicQuant(
> npu::AddRmsNormDynamicQuantV2(
> equal   "y": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
> equal   "c": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "s": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
> equal   "z": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
> equal   "d": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "w": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
> equal   "f": 0 of 1536 elements differ, max abs 0, max rel 0, cosine 1
> equal   "v": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: f32[2,8,1,16], %%gamma: f32[8,1], %%beta: f32[8,1]) -> (%%y) {\n  const %%axes: i64[1] = [2]\n  const %%one: f32[8] = [1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]\n  const %%zero: f32[8] = [0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]\n  %%q = Squeeze(%%x, %%axes)\n  %%n = InstanceNormalization(%%q, %%one, %%zero) {epsilon=0.001}\n  %%g = Mul(%%n, %%gamma)\n  %%y = Add(%%g, %%beta)\n}\n' >lines.tir; tailor opt --npu lines.tir | grep -o 'npu::[A-Za-z0-9]*('; tailor verify lines.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::Reshape(
> npu::Reshape(
> npu::GroupNorm(
> npu::SqueezeV3(
> equal   "y": 0 of 256 elements differ, max abs 2.384e-07, max rel 1.616e-06, cosine 1
$ printf 'graph @g(%%x: f16[4,8], %%u: f16[8,4], %%w: i8[6,8], %%scale: f16[6], %%v: i8[8,6]) -> (%%y, %%z) {\n  %%t = Transpose(%%w) {perm=[1, 0]}\n  %%y = npu::WeightQuantBatchMatmulV2(%%x, %%t, %%scale)\n  %%s = Transpose(%%u) {perm=[1, 0]}\n  %%z = npu::WeightQuantBatchMatmulV2(%%s, %%v, %%scale)\n}\n' >turned.tir; tailor opt --npu turned.tir | grep -o 'npu::[A-Za-z0-9]*('; tailor verify turned.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::WeightQuantBatchMatmulV2(
> npu::WeightQuantBatchMatmulV2(
> equal   "y": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
> equal   "z": 0 of 24 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%a: i8[n,8], %%b: i8[6,8], %%c: i8[8,n]) -> (%%y,%%z) {\n  const %%s: f32[] = 0.02\n  const %%o: i8[] = 0\n  const %%u: f32[] = 0.03\n  const %%v: f32[] = 0.1\n  %%t = Transpose(%%b) {perm=[1,0]}\n  %%y = QLinearMatMul(%%a, %%s, %%o, %%t, %%u, %%o, %%v, %%o)\n  %%r = Transpose(%%c) {perm=[1,0]}\n  %%z = QLinearMatMul(%%r, %%s, %%o, %%t, %%u, %%o, %%v, %%o)\n}\n' >bytes2.tir; tailor opt --npu bytes2.tir | grep -o 'npu::[A-Za-z0-9]*(\|transpose_x[12]=true'; tailor verify bytes2.tir --npu --dim n=3 --tensors=0 | grep '^[a-z]* *"'
> npu::QuantBatchMatmulV3(
> transpose_x2=true
> npu::QuantBatchMatmulV3(
> transpose_x1=true
> transpose_x2=true
> equal   "y": 0 of 18 elements differ, max abs 0, max rel 0, cosine 1
> equal   "z": 0 of 18 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%x: i8[1,2,4,5,6]) -> (%%y) {\n  const %%w: i8[2,2,2,2,1] = [1, 2, 3, -4, 5, 6, 7, 8, 1, -2, 3, 4, 5, 6, 7, 8]\n  const %%z: i8[] = 7\n  %%y = ConvInteger(%%x, %%w, %%z) {pads=[1, 1, 0, 1, 0, 1], strides=[2, 1, 1]}\n}\n' >volume.tir; tailor opt --npu volume.tir | grep -o 'npu::[A-Za-z0-9]*('; tailor verify volume.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::Conv3D(
> equal   "y": 0 of 210 elements differ, max abs 0, max rel 0, cosine 1
$ printf 'graph @g(%%a: f16[4,8,64], %%b: f16[4,8,64], %%gamma: f16[64], %%m: f16[64]) -> (%%y, %%c, %%s, %%u) {\n  %%n, %%r, %%s = npu::NPUAddRmsNorm(%%a, %%b, %%gamma) {epsilon=0.001}\n  %%u = Neg(%%n)\n  %%y, %%c = npu::NPUDynamicQuant(%%n, %%m)\n}\n' >kept.tir; tailor opt --npu kept.tir | grep -o 'npu::[A-Za-z0-9]*('; tailor verify kept.tir --npu --tensors=0 | grep '^[a-z]* *"'
> npu::MultiAddRmsNormDynamicQuant(
> npu::Neg(
> equal   "y": 0 of 2048 elements differ, max abs 0, max rel 0, cosine 1
> equal   "c": 0 of 32 elements differ, max abs 0, max rel 0, cosine 1
> equal   "s": 0 of 2048 elements differ, max abs 0, max rel 0, cosine 1
> equal   "u": 0 of 2048 elements differ, max abs 0, max rel 0, cosine 1

# FusedInferAttentionScore hides scores wholly: a number that hides them only in part is no mask of it.
$ far() { printf 'graph @g(%%q: f16[2,3,8], %%k: f16[2,5,8], %%v: f16[2,5,8], %%h: bool[1,1,3,5]) -> (%%y) {\n  %%y = tl::Attention(%%q, %%k, %%v, _, %%h) {scale=0.5, fill=%s, q_num_heads=2, kv_num_heads=2}\n}\n' $1 >far.tir; tailor opt --npu far.tir | grep -c FusedInfer || :; }; far -10000.0; far -4.0
> 1
> 0
