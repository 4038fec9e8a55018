# SPDX-License-Identifier: Apache-2.0
# What is computed in halves between casts from f32 and to f32 is computed in f32 where the chip can and --numerics lets it.
$ printf 'graph @g(%%x: f32[1,3,8,8], %%w: f32[4,3,3,3], %%r: f32[1,4,6,6]) -> (%%y) {\n  %%xh = Cast(%%x) {to=10}\n  %%wh = Cast(%%w) {to=10}\n  %%rh = Cast(%%r) {to=10}\n  %%c = Conv(%%xh, %%wh)\n  %%s = Add(%%c, %%rh)\n  %%a = Relu(%%s)\n  %%y = Cast(%%a) {to=1}\n}\n' >m.tir
$ tailor opt --npu --numerics=approximate m.tir | grep -o 'npu::[A-Za-z0-9]*'
> npu::Conv2D
> npu::Add
> npu::Relu
$ tailor explain --numerics=approximate --fusion=HalfRoundTripFusion m.tir | sed 's/became.*//'
> HalfRoundTripFusion: 3 fused, 0 not
>   fused  HalfReluBetween: `Relu->a`, `Cast->y`
>   fused  HalfFirst: `Cast->rh`, `Add->s`, `Cast->y/Cast`
>   fused  HalfProduct: `Cast->xh`, `Cast->wh`, `Conv->c`, `Cast->y/Cast/Cast`
$ tailor explain --fusion=HalfRoundTripFusion m.tir
> HalfRoundTripFusion: 0 fused, 2 not
>   not    HalfResult: `Conv->c`: SWITCH_OFF: the pattern fits, but the rule is off: its numerics class is looser than --numerics
>   not    HalfRelu: `Cast->y`: UNSUPPORTED: the pattern fits, but the rule is off: --target=npu: it is for ONNX Runtime
$ tailor explain --numerics=approximate --soc-version=Ascend310P3 --fusion m.tir | grep -A1 Half
> HalfRoundTripFusion: 0 fused, 1 not
>   not    HalfReluBetween: `Cast->y`: DTYPE: `widens(%r)` does not hold: %r is `a`: f16[1,4,6,6]
> TbeConvDoubleInFusionPass: 1 fused, 0 not
$ tailor explain --numerics=approximate --precision-mode=force_fp16 --fusion m.tir | grep -A1 Half
> HalfRoundTripFusion: 0 fused, 1 not
>   not    HalfReluBetween: `Cast->y`: DTYPE: `widens(%r)` does not hold: %r is `a`: f16[1,4,6,6]
> TbeConvDoubleInFusionPass: 0 fused, 1 not
$ tailor opt --npu --numerics=approximate --soc-version=Ascend310P3 m.tir | grep -c 'npu::Cast'
> 4
