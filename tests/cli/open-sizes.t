# Sizes that are open, where a form needs them.
$ printf 'graph @g(%%x: f32[1,3,"H","W"], %%z: f32["K",2]) -> (%%y, %%w) {\n  const %%s = f32[4] [1.0,1.0,2.0,2.0]\n  %%r = Relu(%%x)\n  %%y = Resize(%%r, _, %%s) @up/Resize {mode="cubic", antialias=1}\n  %%w = Relu(%%z)\n}\n' >images.tir
# the dims of the inputs that the node's sizes follow from, and what fixes them; nodes as the model names them
$ tailor convert images.tir -o m.air
! images.tir: error: 1 op type has no NPU form: Resize x1 ('up/Resize'): has no NPU form; H and W of 'x' are open; fix them with --input-shape or list them with --dynamic-image-size [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# a dim without a name, of a batch, of several inputs
$ printf 'graph @g(%%x: f32[?,3,8,8], %%z: f32[?,3,7,9]) -> (%%y) {\n  %%c = Concat(%%x, %%x) {axis=1}\n  %%y = LpPool(%%x) @pool {kernel_shape=[3,3], ceil_mode=1, strides=[2,2]}\n}\n' >batch.tir
$ tailor convert batch.tir -o m.air
! batch.tir: error: 1 op type has no NPU form: LpPool x1 ('pool'): needs expansion into several NPU ops, for which no rule fits; dim 0 of 'x', dim 0 of 'z' are open; fix them with --input-shape or list them with --dynamic-batch-size [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# sizes are not what an op lacks that has no form at all
$ printf 'graph @g(%%x: f32["N",3,"H","W"]) -> (%%y, %%i) {\n  %%y, %%i = MaxPool(%%x) @pool {kernel_shape=[2,2]}\n}\n' >indices.tir
$ tailor convert indices.tir -o m.air
! indices.tir: error: 1 op type has no NPU form: MaxPool x1 ('pool'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
