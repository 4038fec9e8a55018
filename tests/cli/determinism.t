# SPDX-License-Identifier: Apache-2.0
# The bytes depend on the model and the options, not on where files lie, what they are called, or how
# often one asks.
$ printf 'graph @net(%%x: f32[n,4]) -> (%%y) {\n  const %%w: f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]\n  %%h = MatMul(%%x, %%w)\n  %%y = Relu(%%h)\n}\n' >m.tir; mkdir -p deep/er; tailor convert m.tir -q -o one.onnx; cp one.onnx deep/er/other.onnx
$ tailor convert one.onnx -q -o 1.air -o 1.onnx -o 1.pbtxt; (cd deep/er && tailor convert other.onnx -q -o two.air -o two.onnx -o two.pbtxt); cmp 1.air deep/er/two.air; cmp 1.onnx deep/er/two.onnx; cmp 1.pbtxt deep/er/two.pbtxt
$ tailor convert one.onnx -q -o again.air; cmp 1.air again.air
$ LC_ALL=C.UTF-8 TZ=Asia/Shanghai tailor convert "$PWD/one.onnx" -q -o "$PWD/abs.air"; cmp 1.air abs.air
