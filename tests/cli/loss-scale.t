# What loses part of a gradient without its scale is said (docs/training.md, "Loss scaling").
# A buffer of f16 that gradients are added to.
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2], %%acc: f16[2,2]) -> (%%L, %%w.new, %%acc.new) {\n  const %%k: f16[1,2] = [0.5, 0.25]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%p = Mul(%%y, %%k)\n  %%L = ReduceSum(%%p) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%dy = Mul(%%y, %%k)\n  %%g = MatMul(%%xt, %%dy)\n  %%acc.new = Add(%%acc, %%g)\n  %%g32 = Cast(%%acc.new) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  state %%acc -> %%acc.new\n  gradient %%w -> %%g\n  seed %%dy\n}\n' >buffer.tir
$ tailor convert buffer.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}'
! buffer.tir: warning: 'acc.new' is f16: unscaled gradients are rounded to f16 there, and become 0 below 3e-8 [W-LS-F16]
!   hint: make it f32 in the model
# The same of f32 takes them as they are.
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2], %%acc: f32[2,2]) -> (%%L, %%w.new, %%acc.new) {\n  const %%k: f16[1,2] = [0.5, 0.25]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%p = Mul(%%y, %%k)\n  %%L = ReduceSum(%%p) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%dy = Mul(%%y, %%k)\n  %%g = MatMul(%%xt, %%dy)\n  %%gw = Cast(%%g) {to=1}\n  %%acc.new = Add(%%acc, %%gw)\n  %%g32 = Identity(%%acc.new)\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  state %%acc -> %%acc.new\n  gradient %%w -> %%g\n  seed %%dy\n}\n' >wide.tir
$ tailor convert wide.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}'
# A gradient of f16 that is an output.
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2], %%unused: f16[]) -> (%%L, %%w.new, %%g) {\n  const %%k: f16[1,2] = [0.5, 0.25]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%p = Mul(%%y, %%k)\n  %%L = ReduceSum(%%p) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%dy = Mul(%%y, %%k)\n  %%g = MatMul(%%xt, %%dy)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%dy\n}\n' >shown.tir
$ tailor convert shown.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}'
! shown.tir: warning: 'g' is f16: unscaled gradients are rounded to f16 there, and become 0 below 3e-8 [W-LS-F16]
!   hint: make it f32 in the model
# An op that takes f16.
$ printf 'module {\n  opset "" 21\n  opset "com.acme" 1\n}\ngraph @step(%%x: f16[1,2], %%w: f32[2,2], %%unused: f16[]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [0.5, 0.25]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%p = Mul(%%y, %%k)\n  %%L = ReduceSum(%%p) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%dy = Mul(%%y, %%k)\n  %%g = MatMul(%%xt, %%dy)\n  %%s = com.acme::Step(%%g) : f16[2,2]\n  %%g32 = Cast(%%s) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%dy\n}\n' >opaque.tir
$ tailor convert opaque.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}'
! opaque.tir: warning: node Step->s: takes an unscaled gradient in f16 or bf16 only, which loses small elements [W-LS-F16]
!   hint: compute it in f32 in the model
# An update in f32 behind a cast of the model loses nothing.
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2], %%unused: f16[]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [0.5, 0.25]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%p = Mul(%%y, %%k)\n  %%L = ReduceSum(%%p) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%dy = Mul(%%y, %%k)\n  %%g = MatMul(%%xt, %%dy)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%dy\n}\n' >fine.tir
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}'
# Means in f16 before the sum lose small elements, and those in f32 do not.
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}' --is-distributed=true --rank-size=4 --average=pre_div
! fine.tir: warning: average=pre_div divides gradients of f16 in f16, which loses small elements [W-LS-F16]
!   hint: set --ar-dtype=f32, or another --average
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}' --is-distributed=true --rank-size=4 --average=pre_div --ar-dtype=f32
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}' --is-distributed=true --rank-size=4 --average=post_div
# A scale above what f16 holds, where backward starts from something small in f16.
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1048576}'
! fine.tir: warning: backward starts from 'dy' in f16, which ends at 65504: with a fixed scale of 1.04858e+06 steps overflow in which an element of it is above 0.0624695 [W-LS-F16]
# How far f16 reaches depends on where backward starts: 65504 is the last number of it.
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [%s, 0.0]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' 4.0 >seed.tir
$ tailor convert seed.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":32768}'
! seed.tir: warning: backward starts in f16, which ends at 65504: a fixed scale of 32768 makes every step overflow [W-LS-F16]
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [%s, 0.0]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' -4.0 >seed.tir
$ tailor convert seed.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":32768}'
! seed.tir: warning: backward starts in f16, which ends at 65504: a fixed scale of 32768 makes every step overflow [W-LS-F16]
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [%s, 0.0]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' 0.25 >seed.tir
$ tailor convert seed.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":131072}'
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [%s, 0.0]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' 1.0 >seed.tir
$ tailor convert seed.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":65504}'
$ printf 'graph @step(%%x: f16[1,2], %%w: f32[2,2]) -> (%%L, %%w.new) {\n  const %%k: f16[1,2] = [%s, 0.0]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' 1.0 >seed.tir
$ tailor convert seed.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":65536}'
! seed.tir: warning: backward starts in f16, which ends at 65504: a fixed scale of 65536 makes every step overflow [W-LS-F16]
# All of it in f16, on request.
$ tailor convert fine.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":1024}' --compat-unscale=1
! fine.tir: warning: compat_unscale: gradients of f16 are multiplied by the inverse of the scale in f16, which is imprecise above 2^14 and 0 from 2^25 on [W-LS-F16]
# Up to 4,096 elements of the start are looked at; more are taken for ones.
$ for n in 4096 4097; do printf 'graph @step(%%x: f16[1,2], %%w: f32[2,'$n']) -> (%%L, %%w.new) {\n  const %%k: f16[1,'$n'] = [%s]\n  %%wh = Cast(%%w) {to=10}\n  %%y = MatMul(%%x, %%wh)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%g = MatMul(%%xt, %%k)\n  %%g32 = Cast(%%g) {to=1}\n  %%w.new = Sub(%%w, %%g32)\n  state %%w -> %%w.new\n  gradient %%w -> %%g\n  seed %%k\n}\n' "$(yes 4.0 | head -$n | paste -sd,)" >seed$n.tir; tailor convert seed$n.tir -o out.onnx --summary=none --is-loss-scale=true --loss-scale-manager='{"type":"FixedLossScaleManager","loss_scale":32768}'; done
! seed4096.tir: warning: backward starts in f16, which ends at 65504: a fixed scale of 32768 makes every step overflow [W-LS-F16]
