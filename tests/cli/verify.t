# tailor verify: two models, a folder of references, another runtime.
$ printf 'graph @g(%%x: f32[2,n], %%y: f32[n,3]) -> (%%z) {\n  %%h = MatMul(%%x, %%y)\n  %%z = Identity(%%h)\n}\n' >a.tir; sed 's/Identity(%h)/Add(%h, %h)/' a.tir >b.tir
$ tailor verify a.tir a.tir --dim n=4
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.192e-07 max|b| (1 rounding to f32)
> equal   "z": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> 2 tensors have the same name, 0 of them differ
$ tailor verify a.tir b.tir --exact --dim n=4
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.686e-07 max|b| (2 roundings to f32)
> differs "z": 6 of 6 elements differ, max abs 0.5016, max rel 1, cosine 1
>         the worst is element 2: -1.0031051635742188 against -0.5015525817871094
> 2 tensors have the same name, 1 of them differ
> the first that differs: "z" (Add)
> tensor  op   off  max abs  max rel  cosine  verdict
> "z"     Add  6    0.5016   1        1       differs
? 5
$ tailor verify a.tir b.tir --exact --dim n=4 --tensors=0 --rtol=1 | head -3
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 1.0 |b|
> equal   "z": 0 of 6 elements differ, max abs 0.5016, max rel 1, cosine 1
$ tailor verify a.tir b.tir --exact --dim n=4 --cosine=0.9 --json
> {"schema": 1, "equal": true, "note": "2 of 2 inputs are random (seed 0)",
>  "tolerance": {"rtol": null, "atol": null, "cosine": 0.9, "share": 0.0, "dtype": "", "roundings": 0},
>  "outputs": [
>   {"name": "z", "equal": true, "elements": 6, "off": 6, "max_abs": 0.5015525817871094, "max_rel": 1.0, "largest": 0.5015525817871094, "unit": 0.0, "cosine": 1.0}],
>  "tensors": {"compared": 2, "skipped": 0, "differ": 0, "first": null, "worst": [
>   {"name": "z", "equal": true, "elements": 6, "off": 6, "max_abs": 0.5015525817871094, "max_rel": 1.0, "largest": 0.5015525817871094, "unit": 0.0, "cosine": 1.0}]}}
$ tailor verify a.tir a.tir --dim n=4 --emulate=bf16 --exact --rtol=0.001
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b|
> differs "z": 6 of 6 elements differ, max abs 0.002192, max rel 0.01648, cosine 1
>         the worst is element 1: 0.130859375 against 0.13305160403251648
> 2 tensors have the same name, 2 of them differ
> the first that differs: "h" (MatMul)
> tensor  op        off  max abs   max rel  cosine  verdict
> "h"     MatMul    6    0.002192  0.01648  1       differs
> "z"     Identity  6    0.002192  0.01648  1       differs
? 5
$ tailor verify a.tir a.tir --dim n=4 --emulate=bf16 --exact --tensors=0
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.007812 max|b| (1 rounding to bf16)
> equal   "z": 0 of 6 elements differ, max abs 0.002192, max rel 0.01648, cosine 1
> 2 tensors have the same name, 0 of them differ
$ tailor run a.tir -q --exact --dim n=4 -o ref >o.txt; tailor verify a.tir ref --exact; tailor verify b.tir ref --exact
> tolerance 1e-07 + 0.001 |b|
> equal   "z": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> tolerance 1e-07 + 0.001 |b|
> differs "z": 6 of 6 elements differ, max abs 0.5016, max rel 1, cosine 1
>         the worst is element 2: -1.0031051635742188 against -0.5015525817871094
? 5
$ tailor verify a.tir ref --input x=random
! tailor: error: --input: cannot be combined with a folder of outputs: it holds the inputs too
? 1
$ tailor verify a.tir ref --atol=-1
! tailor: error: --atol: '-1' is not a number of at least 0
? 1
$ tailor verify a.tir
! tailor: error: this command compares two models, or a model with a folder of outputs
!   hint: tailor verify MODEL MODEL|FOLDER, or tailor verify MODEL --npu
? 1
$ tailor verify a.tir none
! none: error: cannot open 'none': No such file or directory
? 4
$ mkdir empty; tailor verify a.tir empty
! empty: error: the folder has no output_0.pb or output_0.npy to compare with
? 1
$ cp ref/input_0.pb ref/input_2.pb; tailor verify a.tir ref
! ref: error: the folder has 3 input_N.pb files, but the model has 2 inputs without a value
? 2
$ printf 'graph @g(%%x: f32[2,n], %%q: f32[n,3], %%r: f32[1]) -> (%%z) {\n  %%z = MatMul(%%x, %%q)\n}\n' >c.tir; tailor verify a.tir c.tir
! c.tir: error: input 'q' has no counterpart in 'a.tir'
!   hint: the two models must have the same inputs
? 1
$ sed 's/(%z)/(%h, %z)/' a.tir >d.tir; tailor verify a.tir d.tir --dim n=2 | head -2; tailor verify d.tir d.tir --dim n=2 --memory-limit=1G | tail -1
> 2 tensors have the same name, 0 of them differ
! d.tir: error: output 'h' has no counterpart in 'a.tir'
!   hint: outputs are paired by name, or by position when there are as many
# a runner gets MODEL INPUTS OUTPUTS; what it prints is not a result
$ printf '#!/bin/sh\necho "$(basename $1)"; ls $2; cp ref/output_0.pb $3/output_0.pb\n' >runner; chmod +x runner; rm ref/input_2.pb
$ tailor verify a.tir a.tir --exact --input ref --runner ./runner
> tolerance 1e-07 + 0.001 |b| + 1.192e-07 max|b| (1 rounding to f32)
> equal   "z": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
! model.onnx
! input_0.pb
! input_1.pb
$ tailor verify a.tir ref --runner ./runner 2>/dev/null
> tolerance 1e-07 + 0.001 |b|
> equal   "z": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
$ tailor run a.tir --input ref --runner ./runner 2>/dev/null | grep -v time
> output  type      min      max     mean     nan  inf
> "z"     f32[2,3]  -0.5016  0.3327  0.00762  0    0
$ printf '#!/bin/sh\necho broken >&2\nexit 9\n' >broken; chmod +x broken; tailor run a.tir --runner ./broken
! broken
! tailor: error: --runner: './broken' failed with status 9
? 3
$ tailor run a.tir --runner 'none at all'
! tailor: error: --runner: cannot start 'none': No such file or directory
? 4
$ tailor run a.tir --runner true 2>&1 | sed 's/^.*outputs: /.../'
> ...error: the folder has no output_0.pb or output_0.npy to compare with
$ tailor run a.tir --runner ./runner --emulate f16
! tailor: error: --emulate: cannot be combined with --runner, which lets another runtime compute
? 1
$ tailor verify a.tir ref --runner ./runner --exact
! tailor: error: --exact: cannot be combined with --runner and a folder, because the evaluator computes nothing
? 1
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%m = ReduceMax(%%x) {keepdims=0}\n  %%y = LeakyRelu(%%m)\n}\n' >n.tir; tailor verify n.tir --npu --exact
> 1 of 1 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.686e-07 max|b| (2 roundings to f32)
> equal   "y": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
> 2 tensors have the same name, 0 of them differ
$ tailor opt n.tir --npu -o npu.tir; tailor verify n.tir npu.tir --exact
> 1 of 1 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.686e-07 max|b| (2 roundings to f32)
> equal   "y": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
> 2 tensors have the same name, 0 of them differ
$ tailor run n.tir -q --exact -o nref >o.txt; tailor verify n.tir nref --npu
> tolerance 1e-07 + 0.001 |b|
> equal   "y": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
$ tailor run npu.tir --exact --json | grep -c '"y"'; tailor run n.tir --npu --exact --json | grep -c '"y"'
> 1
> 1
$ tailor verify n.tir n.tir --npu
! tailor: error: --npu: cannot be combined with a second model: it compares a model with its own NPU form
? 1
$ tailor verify n.tir nref --npu --runner=cat
! tailor: error: --npu: cannot be combined with --runner and a folder: other runtimes know ONNX's ops only
? 1
$ tailor run n.tir --npu --runner=cat
! tailor: error: --npu: cannot be combined with --runner: other runtimes have ONNX ops only
? 1
$ printf 'graph @g(%%x: str[2]) -> (%%y) {\n  %%y = StringNormalizer(%%x)\n}\n' >u.tir; tailor verify u.tir --npu
! u.tir: error: input 'x' holds strings, which the NPU does not have [E10501]
! u.tir: error: output 'y' holds strings, which the NPU does not have [E10501]
! u.tir: error: 1 op type has no NPU form: StringNormalizer x1 ('StringNormalizer->y'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
# The tolerance follows what values were computed in, whatever they are in the end: f16 behind f32.
$ printf 'graph @g(%%x: f32[2,8], %%w: f32[8,8]) -> (%%z) {\n  %%h = MatMul(%%x, %%w)\n  %%t = Tanh(%%h)\n  %%z = MatMul(%%t, %%w)\n}\n' >f.tir
$ tailor convert f.tir -q -o h.onnx --precision-mode-v2=fp16; tailor verify f.tir h.onnx --tensors=0
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.001953 max|b| (4 roundings to f16)
> equal   "z": 0 of 16 elements differ, max abs 0.0008599, max rel 0.0009197, cosine 1
> 3 tensors have the same name, 0 of them differ
$ tailor verify f.tir h.onnx --tensors=0 --rtol=0.0001; tailor verify f.tir h.onnx --tensors=0 --cosine=0.99999
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.0001 |b|
> differs "z": 13 of 16 elements differ, max abs 0.0008599, max rel 0.0009197, cosine 1
>         the worst is element 11: -0.197509765625 against -0.19769158959388733
> 3 tensors have the same name, 3 of them differ
> the first that differs: "h" (MatMul)
> 2 of 2 inputs are random (seed 0)
> tolerance cosine 0.99999
> equal   "z": 0 of 16 elements differ, max abs 0.0008599, max rel 0.0009197, cosine 1
> 3 tensors have the same name, 0 of them differ
$ sed 's/Tanh/Sigmoid/' f.tir >s.tir; tailor convert s.tir -q -o s.onnx --precision-mode-v2=fp16; tailor verify f.tir s.onnx --tensors=0 | cut -c1-60
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.001953 max|b| (4 roundings t
> differs "z": 16 of 16 elements differ, max abs 2.781, max re
>         the worst is element 5: -1.3994140625 against 1.3813
> 3 tensors have the same name, 2 of them differ
> the first that differs: "t" (Sigmoid)
$ tailor convert f.tir -q -o b.onnx --precision-mode-v2=mixed_bfloat16; tailor verify f.tir b.onnx --tensors=0 --json | sed -n '2p'
>  "tolerance": {"rtol": 0.001, "atol": 1e-07, "cosine": null, "share": 0.015625, "dtype": "bf16", "roundings": 4},
# A loop rounds in each of its steps; integers are compared as they are.
$ printf 'graph @g(%%x: f16[4], %%y: f32[4]) -> (%%z, %%k) {\n  const %%n = i64[] 16\n  %%s = Loop(%%n, _, %%x) {\n    body=graph @b(%%i: i64[], %%c: bool[], %%a: f16[4]) -> (%%c, %%r) {\n      %%r = Sin(%%a)\n    }\n  }\n  %%z = Cast(%%s) {to=1}\n  %%k = ArgMax(%%y)\n}\n' >l.tir; tailor verify l.tir l.tir --tensors=0
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.003906 max|b| (16 roundings to f16)
> equal   "z": 0 of 4 elements differ, max abs 0, max rel 0, cosine 1
> equal   "k": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
> 3 tensors have the same name, 0 of them differ
# Products with a transposed operand and a bias, in NPU form.
$ for w in '4,3 0,2,1 4,5' '3,4 0,1,2 4,5'; do set -- $w; printf 'graph @g(%%x: f32[2,%s], %%w: f32[%s], %%b: f32[5]) -> (%%y) {\n  %%t = Transpose(%%x) {perm=[%s]}\n  %%m = MatMul(%%t, %%w)\n  %%y = Add(%%m, %%b)\n}\n' $1 $3 $2 >bmm.tir; tailor verify bmm.tir --npu --tensors=0 | grep -o '^equal   "y"'; done
> equal   "y"
> equal   "y"
$ printf 'graph @g(%%x: f32[2,3,4], %%w: f32[2,5,4], %%b: f32[5]) -> (%%y) {\n  %%t = Transpose(%%w) {perm=[0,2,1]}\n  %%m = MatMul(%%x, %%t)\n  %%y = Add(%%m, %%b)\n}\n' >bmm.tir; tailor verify bmm.tir --npu --tensors=0 | grep -o '^equal   "y"'; tailor opt --npu bmm.tir | grep -o 'adj_x2=true'
> equal   "y"
> adj_x2=true
# names of any length: only the line that names the tensor to look at is longer than 100 columns
$ printf 'graph @g(%%x: f32[2]) -> (%%/model/encoder/layers.11/attention/self/query/MatMul_output_0/of/a/very/long/path/0, %%b) {\n  %%/model/encoder/layers.11/attention/self/query/MatMul_output_0/of/a/very/long/path/0 = com.microsoft::QuickGelu(%%x)\n  %%b = Relu(%%/model/encoder/layers.11/attention/self/query/MatMul_output_0/of/a/very/long/path/0)\n}\n' >long.tir; sed 's/Relu/Abs/; s/= com.microsoft::QuickGelu/= Exp/' long.tir >other.tir; tailor verify long.tir other.tir --exact >o.txt; grep -v '^the first' o.txt | awk 'length > 100'; cat o.txt
> 1 of 1 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.686e-07 max|b| (2 roundings to f32)
> differs "/model/encoder/layers.11/attention/self/query/MatMul_output_0/of/a/very/long/path/0":
>         2 of 2 elements differ, max abs 1.209, max rel 4.938, cosine 0.6785
>         the worst is element 1: 1.45405113697052 against 0.2448679655790329
> differs "b": 2 of 2 elements differ, max abs 1.209, max rel 4.938, cosine 0.9673
>         the worst is element 0: 0.38124269247055054 against 0.0
> 2 tensors have the same name, 2 of them differ
> the first that differs: "/model/encoder/layers.11/attention/self/query/MatMul_output_0/of/a/very/long/path/0" (Exp)
> tensor                                                   op   off  max abs  max rel  cosine  verdict
> "b"                                                      Abs  2    1.209    4.938    0.9673  differs
> "/model/encoder/layers.11/...t_0/of/a/very/long/path/0"  Exp  2    1.209    4.938    0.6785  differs
$ tailor run long.tir --exact | grep -v time | awk 'length > 100'
$ tailor verify long.tir other.tir --exact --json | grep -c 'MatMul_output_0/of/a/very/long/path/0'
> 3
# --top-k: the largest numbers of each row are the same ones, however far they are off
$ printf 'graph @g(%%x: f32[2,4]) -> (%%y) {\n  const %%k: f32[] = 3.0\n  %%y = Mul(%%x, %%k)\n}\n' >top.tir; sed 's/3.0/2.5/' top.tir >near.tir; sed 's/3.0/-3.0/' top.tir >far.tir
$ tailor verify top.tir near.tir --top-k=2 --tensors=0 | grep -o 'tolerance.*\|^[a-z]* *"y"\|top differs.*'
> tolerance the same 2 largest of each row
> equal   "y"
> top differs in 0 of 2 rows
$ tailor verify top.tir far.tir --top-k=2 --tensors=0 | grep -o '^[a-z]* *"y"\|top differs.*'
> differs "y"
> top differs in 2 of 2 rows
$ tailor verify top.tir near.tir --top-k=2 --rtol=0.01 --tensors=0 | grep -o 'tolerance.*\|^[a-z]* *"y"'
> tolerance 1e-07 + 0.01 |b|, the same 2 largest of each row
> differs "y"
$ tailor verify top.tir far.tir --top-k=2 --quiet >out.txt
? 5
$ tailor verify top.tir near.tir --top-k=0
! tailor: error: --top-k: '0' is not an integer in 1..1000000 [E10001]
? 1
