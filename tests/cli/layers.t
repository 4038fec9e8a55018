# tailor verify --layers: where a difference is born.
$ printf 'graph @g(%%x: f32[4,8], %%w: f32[8,8]) -> (%%z) {\n  %%h = MatMul(%%x, %%w)\n  %%t = Tanh(%%h)\n  %%u = MatMul(%%t, %%w)\n  %%s = Sigmoid(%%u)\n  %%z = MatMul(%%s, %%w)\n}\n' >a.tir; sed 's/Sigmoid/HardSigmoid/' a.tir >b.tir
$ tailor verify a.tir b.tir --exact --layers --tensors=2
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 2.666e-07 max|b| (5 roundings to f32)
> differs "z": 31 of 32 elements differ, max abs 0.1133, max rel 2.693, cosine 0.9995
>         the worst is element 11: 0.03373332321643829 against -0.019930943846702576
> 5 tensors were compared, 2 of them differ; 1 of the nodes adds more than is allowed
> what adds most, each node by itself on the operands of the first model:
> tensor  op           adds     max abs  max rel  ulp       verdict
> "s"     HardSigmoid  0.04612  0.04222  0.1231   1.97e+06  too much
> the first is of node "HardSigmoid->s"
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor         op           max abs  rel      cosine  ulp        adds     heat
> ... 3 tensors               0        0        1       0          0        -
> "s"            HardSigmoid  0.04222  0.04612  0.999   1.97e+06   0.04612  #######
> "z"            MatMul       0.1133   0.03197  0.9995  2.881e+07  0        .......
? 5
$ tailor verify a.tir a.tir --exact --layers
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 2.666e-07 max|b| (5 roundings to f32)
> equal   "z": 0 of 32 elements differ, max abs 0, max rel 0, cosine 1
> 5 tensors were compared, 0 of them differ; no node adds more than is allowed
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor         op  max abs  rel  cosine  ulp  adds  heat
> ... 5 tensors      0        0    1       0    0     -
# in f16 each product rounds; nothing adds more than a rounding does
$ tailor verify a.tir a.tir --exact --layers --emulate f16 --tensors=1
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.002184 max|b| (5 roundings to f16)
> equal   "z": 0 of 32 elements differ, max abs 0.0007302, max rel 0.005976, cosine 1
> 5 tensors were compared, 0 of them differ; no node adds more than is allowed
> what adds most, each node by itself on the operands of the first model:
> tensor  op      adds       max abs    max rel  ulp    verdict
> "h"     MatMul  0.0004167  0.0006502  0.0614   69.41  allowed
> the first is of node "MatMul->h"
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor         op      max abs    rel        cosine  ulp    adds       heat
> "h"            MatMul  0.0006502  0.0004167  1       69.41  0.0004167  #####
> ... 4 tensors          0.0008841  0.0004645  1       69.41  0.0002738  #####
$ tailor verify a.tir b.tir --exact --layers --json --tensors=1 | sed 's/"elements".*//'
> {"schema": 1, "equal": false, "note": "2 of 2 inputs are random (seed 0)",
>  "tolerance": {"rtol": 0.001, "atol": 1e-07, "cosine": null, "share": 2.6656007498500226e-07, "dtype": "f32", "roundings": 5},
>  "outputs": [
>   {"name": "z", "equal": false,
>  "layers": {"compared": 5, "skipped": 0, "other_shape": 0, "differ": 2, "adding": 1,
>   "culprits": ["s"],
>   "tensors": [
>    {"name": "h", "reference": "h", "op": "MatMul", "node": "MatMul->h", "from": [], "through": [], "rank": null, "total": {"equal": true,
>    {"name": "t", "reference": "t", "op": "Tanh", "node": "Tanh->t", "from": [], "through": [], "rank": null, "total": {"equal": true,
>    {"name": "u", "reference": "u", "op": "MatMul", "node": "MatMul->u", "from": [], "through": [], "rank": null, "total": {"equal": true,
>    {"name": "s", "reference": "s", "op": "HardSigmoid", "node": "HardSigmoid->s", "from": [], "through": [], "rank": 1, "total": {"equal": false,
>    {"name": "z", "reference": "z", "op": "MatMul", "node": "MatMul->z", "from": [], "through": [], "rank": null, "total": {"equal": false,
# the reference is another runtime: it gives all tensors
$ printf '#!/bin/sh\nls $2; tailor run $1 -q --exact --input $2 -o $3 >/dev/null\n' >runner; chmod +x runner; tailor verify a.tir b.tir --exact --layers --tensors=1 --runner ./runner 2>&1 | grep -v input_
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 2.666e-07 max|b| (5 roundings to f32)
> differs "z": 31 of 32 elements differ, max abs 0.1133, max rel 2.693, cosine 0.9995
>         the worst is element 11: 0.03373332321643829 against -0.019930943846702576
> 5 tensors were compared, 2 of them differ; 1 of the nodes adds more than is allowed
> what adds most, each node by itself on the operands of the first model:
> tensor  op           adds     max abs  max rel  ulp       verdict
> "s"     HardSigmoid  0.04612  0.04222  0.1231   1.97e+06  too much
> the first is of node "HardSigmoid->s"
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor         op           max abs  rel      cosine  ulp        adds     heat
> ... 3 tensors               0        0        1       0          0        -
> "s"            HardSigmoid  0.04222  0.04612  0.999   1.97e+06   0.04612  #######
> "z"            MatMul       0.1133   0.03197  0.9995  2.881e+07  0        .......
$ tailor verify a.tir a.tir --exact --layers --runner false
! tailor: error: --runner: 'false' failed with status 1
? 3
$ tailor run a.tir -q --exact -o ref >o.txt; tailor verify a.tir ref --layers
! tailor: error: --layers: cannot be combined with a folder of outputs: there are no tensors within
? 1
# the NPU form: what a fused node adds, and of which nodes it is made
$ printf 'graph @g(%%x: f32[4,8], %%w: f32[8,8], %%b: f32[8]) -> (%%y) {\n  %%m = MatMul(%%x, %%w) @product\n  %%a = Add(%%m, %%b) @bias\n  %%y = Relu(%%a) @relu\n}\n' >n.tir; tailor verify n.tir --npu --exact --layers --json | sed 's/"elements".*//'
> {"schema": 1, "equal": true, "note": "3 of 3 inputs are random (seed 0)",
>  "tolerance": {"rtol": 0.001, "atol": 1e-07, "cosine": null, "share": 2.0647654623614278e-07, "dtype": "f32", "roundings": 3},
>  "outputs": [
>   {"name": "y", "equal": true,
>  "layers": {"compared": 2, "skipped": 0, "other_shape": 0, "differ": 0, "adding": 0,
>   "culprits": ["a"],
>   "tensors": [
>    {"name": "a", "reference": "a", "op": "MatMulV2", "node": "bias/Gemm", "from": ["product", "bias"], "through": [], "rank": 1, "total": {"equal": true,
>    {"name": "y", "reference": "y", "op": "Relu", "node": "relu", "from": [], "through": [], "rank": null, "total": {"equal": true,
$ tailor convert n.tir -q -o n.air; tailor verify n.tir n.air --exact --layers
> 3 of 3 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 2.065e-07 max|b| (3 roundings to f32)
> equal   "y": 0 of 32 elements differ, max abs 1.192e-07, max rel 2.286e-07, cosine 1
> 2 tensors were compared, 0 of them differ; no node adds more than is allowed
> what adds most, each node by itself on the operands of the first model:
> tensor       op        adds       max abs    max rel    ulp  verdict
> "bias/Gemm"  MatMulV2  8.305e-08  2.384e-07  4.235e-07  7    allowed
> the first is of node "bias/Gemm"
>   which comes from "product"
>   and 1 more, the last is "bias"
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor       op        max abs    rel        cosine  ulp  adds       heat
> "bias/Gemm"  MatMulV2  2.384e-07  8.305e-08  1       7    8.305e-08  #
> "y"          Relu      1.192e-07  8.216e-08  1       2    0          .
# operands of another dtype, and numbers that it cannot hold: the node that makes them is to blame
$ printf 'graph @g(%%x: f32[2,8]) -> (%%y) {\n  const %%k: f32[] = 300.0\n  %%a = Mul(%%x, %%k) @scale\n  %%b = Mul(%%a, %%a) @square\n  %%c = Sqrt(%%b) @root\n  %%y = Div(%%c, %%k) @unscale\n}\n' >r.tir; tailor convert r.tir -q -o h.onnx --precision-mode-v2=fp16 --precision-policy=none; tailor verify r.tir h.onnx --exact --layers --tensors=3
> 1 of 1 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 0.002184 max|b| (5 roundings to f16)
> differs "y": 2 of 16 elements differ, max abs inf, max rel inf, cosine nan
>         the worst is element 0: inf against 0.9643191695213318
> 4 tensors were compared, 3 of them differ; 2 of the nodes add more than is allowed
> what adds most, each node by itself on the operands of the first model:
> tensor  op      adds       max abs   max rel    ulp    verdict
> "b"     Square  inf        inf       inf        1.122  too much
> "c"     Sqrt    0.05894    33.42     0.1155     133.7  too much
> "y"     Cast    0.0003517  0.000595  0.0006663  1.219  allowed
> the first is of node "square/Square"
>   which comes from "square"
> in order of execution; a sign of heat is a power of ten above 1e-8: # the node adds, . it passes on
> tensor  op      max abs  rel        cosine  ulp    adds       heat
> "a"     Mul     0.1121   0.0003225  1       0.897  0.0003225  #####
> "b"     Square  inf      inf        nan     1.581  inf        ##########
> "c"     Sqrt    inf      inf        nan     0.897  0.05894    #######...
> "y"     Cast    inf      inf        nan     1.425  0.0003517  #####.....
? 5
