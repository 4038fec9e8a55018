# Sizes that are open, where a form needs them.
$ printf 'graph @g(%%x: f32[1,3,"H","W"], %%k: f32[3,4,"R",3], %%z: f32["K",2]) -> (%%y, %%w) {\n  %%r = Relu(%%x)\n  %%y = ConvTranspose(%%r, %%k) @up/ConvTranspose\n  %%w = Relu(%%z)\n}\n' >images.tir
# the dims of the inputs that the node's sizes follow from, and what fixes them; nodes as the model names them
$ tailor convert images.tir -o m.air
! images.tir: error: 1 op type has no NPU form: ConvTranspose x1 ('up/ConvTranspose'): needs expansion into several NPU ops, for which no rule fits; H and W of 'x', R of 'k' are open; fix them with --input-shape or list them with --dynamic-image-size [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# a dim without a name, of a batch, of several inputs
$ printf 'graph @g(%%x: f32[1,3,8,8], %%k: f32[?,4,3,3], %%z: f32[?,3,7,9]) -> (%%y, %%w) {\n  %%w = Relu(%%z)\n  %%y = ConvTranspose(%%x, %%k) @up {output_shape=[9, 9]}\n}\n' >batch.tir
$ tailor convert batch.tir -o m.air
! batch.tir: error: 1 op type has no NPU form: ConvTranspose x1 ('up'): needs expansion into several NPU ops, for which no rule fits; dim 0 of 'k', dim 0 of 'z' are open; fix them with --input-shape or list them with --dynamic-batch-size [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# sizes are not what an op lacks that has no form at all
$ printf 'graph @g(%%x: f32["N",3,"H","W"]) -> (%%y) {\n  const %%r = f32[1,4] [0,0,4,4]\n  const %%b = i64[1] [0]\n  %%y = RoiAlign(%%x, %%r, %%b) @pool {mode="max"}\n}\n' >regions.tir
$ tailor convert regions.tir -o m.air
! regions.tir: error: 1 op type has no NPU form: RoiAlign x1 ('pool'): has no NPU form; mode="avg" has one: the kernel takes the mean of each bin, never its largest sample [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# nor where it has no form for its attributes, open or not
$ for d in '"H","W"' 8,8; do printf 'graph @g(%%x: f32[1,3,'$d']) -> (%%y) {\n  const %%s: f32[4] = [1.0,1.0,0.5,0.5]\n  %%y = Resize(%%x, _, %%s) @rs {mode="cubic", antialias=1, coordinate_transformation_mode="half_pixel_symmetric"}\n}\n' >rs.tir; tailor convert rs.tir -o m.air 2>&1 | grep -o -e '^rs.*E10501.$' -e input-shape; done
> rs.tir: error: 1 op type has no NPU form: Resize x2 ('rs/Resize', 'rs/Resize_1'): has no NPU form [E10501]
> rs.tir: error: 1 op type has no NPU form: Resize x2 ('rs/Resize', 'rs/Resize_1'): has no NPU form [E10501]
