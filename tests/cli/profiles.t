# Profiles of dynamic sizes: each is tried. The Conv has 2 x 3 x 3 x 3 weights, so that an image of
# 8 x 8 takes 64 * 54 = 3456 multiplications; the Gemm of the second model 4 * 3 for each row.
$ head -c 216 /dev/zero >w
$ printf 'graph @g(%%x: f32[n,3,h,v]) -> (%%y) {\n  const %%w: f32[2,3,3,3] = file("w", 0, 216)\n  %%t = Conv(%%x, %%w) @conv {pads=[1, 1, 1, 1]}\n  %%y = MaxPool(%%t) @pool {kernel_shape=[4, 4], strides=[4, 4]}\n}\n' >m.tir
$ printf 'graph @g(%%x: f32[n,4], %%z: f32[m,3]) -> (%%y) {\n  const %%w: f32[4,3] = file("w", 0, 48)\n  %%t = MatMul(%%x, %%w) @product\n  %%y = Add(%%t, %%z) @sum\n}\n' >two.tir
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,-1 --dynamic-image-size='8,8;16,8' --profile-report 2>&1 | grep -A1 '^  profile'
>   profile  8,8: x f32[1,3,8,8] -> y f32[1,2,2,2]
>            MACs 3.46 k, weights 216 bytes, inputs 768 bytes, outputs 32 bytes, activations 512 bytes
> --
>   profile  16,8: x f32[1,3,16,8] -> y f32[1,2,4,2]
>            MACs 6.91 k, weights 216 bytes, inputs 1.5 KiB, outputs 64 bytes, activations 1.0 KiB
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,-1 --dynamic-image-size='8,8;16,8' --profile-report=p.json -q && /usr/bin/python3 -c 'import json; [print(p["profile"], p["works"], p["inputs"][0]["shape"], p["outputs"][0]["shape"], p["macs"], p["device"]["weights"], p["device"]["activations"]) for p in json.load(open("p.json"))]'
> 8,8 True [1, 3, 8, 8] [1, 2, 2, 2] 3456 216 512
> 16,8 True [1, 3, 16, 8] [1, 2, 4, 2] 6912 216 1024
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,-1 --dynamic-image-size='8,8;16,8' --profile-report=p.txt -q && cat p.txt
>   profile  8,8: x f32[1,3,8,8] -> y f32[1,2,2,2]
>            MACs 3.46 k, weights 216 bytes, inputs 768 bytes, outputs 32 bytes, activations 512 bytes
>            in all 1.5 KiB, fits into 64.0 GiB of Ascend910B1
>   profile  16,8: x f32[1,3,16,8] -> y f32[1,2,4,2]
>            MACs 6.91 k, weights 216 bytes, inputs 1.5 KiB, outputs 64 bytes, activations 1.0 KiB
>            in all 2.8 KiB, fits into 64.0 GiB of Ascend910B1
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,-1 --dynamic-image-size='8,8;16,8' --summary=json 2>&1 | /usr/bin/python3 -c 'import json, sys; print([p["profile"] for p in json.load(sys.stdin)["profiles"]])'
> ['8,8', '16,8']
$ tailor info m.tir --memory --input-shape=x:-1,3,8,8 --dynamic-batch-size=1,2
>   profile  1: x f32[1,3,8,8] -> y f32[1,2,2,2]
>            MACs 3.46 k, weights 216 bytes, inputs 768 bytes, outputs 32 bytes, activations 512 bytes
>            in all 1.5 KiB, fits into 64.0 GiB of Ascend910B1
>   profile  2: x f32[2,3,8,8] -> y f32[2,2,2,2]
>            MACs 6.91 k, weights 216 bytes, inputs 1.5 KiB, outputs 64 bytes, activations 1.0 KiB
>            in all 2.8 KiB, fits into 64.0 GiB of Ascend910B1
# The line for atc: everything that it has to see again, quoted for the shell.
$ tailor convert two.tir -o "a b.air" --input_shape='x:-1,4;z:-1,3' --input_format=ND --dynamic_dims='1,1;2,2' --output_type=FP16 --soc_version=Ascend310P3 --log=error 2>&1 | grep -A2 'go on'
> go on with:
>   atc --framework=1 --model='a b.air' --output='a b' --soc_version=Ascend310P3 --precision_mode=must_keep_origin_dtype --input_shape='x:-1,4;z:-1,3' --input_format=ND --dynamic_dims='1,1;2,2' --output_type=FP16
>   (atc up to CANN 8.1 refuses profiles for AIR; 8.5 takes them)
$ printf 'aipp_op { aipp_mode: static input_format: RGB888_U8 }' >aipp.cfg; tailor convert m.tir -o m.air --input_shape='x:1~4,3,8,8' --insert_op_conf=aipp.cfg 2>&1 | grep -A2 'go on'
> go on with:
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --input_shape='x:1~4,3,8,8' --insert_op_conf=aipp.cfg
# A profile that fails says which one, and where; nothing is written.
$ rm -f *.air; tailor convert two.tir -o m.air --input-shape='x:-1,4;z:-1,3' --input-format=ND --dynamic-dims='1,1;3,2;2,3' --profile-report=p2.txt; ls m.air p2.txt
! two.tir: error: node sum: sizes 3 and 2 of axis -2 cannot be broadcast ("t": f32[3,3], "z": f32[2,3]) (profile 3,2: x:3,4;z:2,3)
!   hint: this depends on options: --input-shape sets "z", --input-shape sets "x"
! ls: cannot access 'm.air': No such file or directory
! ls: cannot access 'p2.txt': No such file or directory
? 2
# Sizes that leave nothing are said, and not refused: ONNX allows tensors without elements.
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,-1 --dynamic-image-size='8,8;3,8;2,8' 2>&1 | grep 'warning\|profiles'
> m.tir: warning: node pool: makes a tensor without elements (profile 3,8: x:1,3,3,8)
>   profiles 3 of 3 work, activations 128 bytes to 512 bytes (--profile-report)
>   (atc up to CANN 8.1 refuses profiles for AIR; 8.5 takes them)
# Ends of bounds at which the model cannot work are warnings: nobody said that it does.
$ tailor convert two.tir -o m.air --input-shape='x:1~4,4;z:2~3,3' --profile-report 2>&1 | grep 'profile\|hint'
> two.tir: warning: node sum: sizes 4 and 3 of axis -2 cannot be broadcast ("t": f32[4,3], "z": f32[3,3]) (profile highest sizes: x:4,4;z:3,3)
>   hint: this depends on options: --input-shape sets "z", --input-shape sets "x"
>   profile  lowest sizes: x f32[1,4], z f32[2,3] -> y f32[2,3]
>   profile  highest sizes: the model cannot work with these
>   device   profile lowest sizes: weights 48 bytes, inputs 40 bytes, outputs 24 bytes, activations 12 bytes
# The older form of bounds.
$ tailor convert m.tir -o m.air --input-shape-range='x:[1~2,3,8,8~-1]' --profile-report 2>&1 | grep -A1 '^  profile'
>   profile  lowest sizes: x f32[1,3,8,8] -> y f32[1,2,2,2]
>            MACs 3.46 k, weights 216 bytes, inputs 768 bytes, outputs 32 bytes, activations 512 bytes
> --
>   profile  highest sizes: x f32[2,3,8,v] -> y f32[2,2,2,"v/4"]
>            MACs at least 864, weights 216 bytes, inputs 0 bytes, outputs 0 bytes, activations 0 bytes and 3 values of open size
# Open dims that an option cannot fill.
$ tailor convert m.tir -o m.air --input-shape=x:-1,3,-1,8 --dynamic-batch-size=1,2
! tailor: error: --dynamic-batch-size: dim 2 of input 'x' is -1 in --input-shape, but only dim 0, the batch, may be [E10018]
!   hint: --dynamic-dims has a value for each -1, wherever it is
? 1
$ tailor convert m.tir -o m.air --input-shape=x:-1,3,8,8 --dynamic-image-size='8,8;9,9'
! tailor: error: --dynamic-image-size: dim 0 of input 'x' is -1 in --input-shape, but only height and width, dims 2 and 3 of 4, may be [E10019]
!   hint: --dynamic-dims has a value for each -1, wherever it is
? 1
$ tailor convert m.tir -o m.air --input-shape=x:1,3,-1,8 --dynamic-image-size='8,8;9,9'
! tailor: error: --dynamic-image-size: height and width of input 'x' must both be -1 in --input-shape, or neither [E10019]
? 1
# A report of nothing.
$ tailor convert m.tir -o m.air --profile-report
! tailor: error: --profile-report: there are no profiles to report
!   hint: give --dynamic-batch-size, --dynamic-image-size, --dynamic-dims, or bounds in --input-shape
? 1
# Batches are the same for all inputs that have one.
$ tailor info two.tir --memory --input-shape='x:-1,4;z:-1,3' --dynamic-batch-size=2,5
>   profile  2: x f32[2,4], z f32[2,3] -> y f32[2,3]
>            MACs 24, weights 48 bytes, inputs 56 bytes, outputs 24 bytes, activations 24 bytes
>            in all 152 bytes, fits into 64.0 GiB of Ascend910B1
>   profile  5: x f32[5,4], z f32[5,3] -> y f32[5,3]
>            MACs 60, weights 48 bytes, inputs 140 bytes, outputs 60 bytes, activations 60 bytes
>            in all 308 bytes, fits into 64.0 GiB of Ascend910B1
# A training step is tried like any other model: what a profile takes is what its sizes take alone.
$ printf 'graph @s(%%x: f32[n,2], %%t: f32[n,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[] = 0.125) -> (%%L, %%w.out) {\n  const %%k: f32[] = 0.5\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%ge = Mul(%%e, %%k)\n  %%xt = Transpose(%%x)\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w.out = Sub(%%w, %%d)\n}\n' >step.tir
$ for s in '--dynamic-batch-size=2,4 --input-shape=x:-1,2;t:-1,1' '--input-shape=x:4,2;t:4,1'; do tailor convert step.tir -o m.air --is-distributed=true --rank-size=4 --is-loss-scale=true --loss-scale-manager=torch_amp $s 2>&1 | grep -e 'profiles [0-9]' -e '  device' | sed 's/profile 4: //; s/ (--p.*//'; done
>   profiles 2 of 2 work, activations 42 bytes to 50 bytes
>   device   weights 60 bytes, inputs 68 bytes, outputs 25 bytes, activations 50 bytes (any order: at least 24 bytes)
>   device   weights 60 bytes, inputs 68 bytes, outputs 25 bytes, activations 50 bytes (any order: at least 24 bytes)
# A file that is AIR is tried in canonical form.
$ tailor convert m.tir -q -o open.air; for m in m.tir open.air; do tailor convert $m -o m.air --input-shape=x:-1,3,8,8 --dynamic-batch-size=1,2 --profile-report 2>&1 | grep -A1 '^  profile  2'; done
>   profile  2: x f32[2,3,8,8] -> y f32[2,2,2,2]
>            MACs 6.91 k, weights 216 bytes, inputs 1.5 KiB, outputs 64 bytes, activations 1.0 KiB
>   profile  2: x f32[2,3,8,8] -> y f32[2,2,2,2]
>            MACs 6.91 k, weights 216 bytes, inputs 1.5 KiB, outputs 64 bytes, activations 1.0 KiB
$ printf 'graph @g(%%x: f32[n,3]) -> (%%y) {\n  %%y = my::Op(%%x)\n}\n' >own.tir; tailor convert own.tir -q -o own.air --allow-custom-ops=Op; tailor convert own.air -o m.air --input-shape=x:-1,3 --dynamic-batch-size=1,2 2>&1 | grep -e warning -e error
> own.air: warning: profiles are recorded, but not tried: this AIR has no canonical form: npu::Op (1 node): no ONNX form is known for these operands and attributes
