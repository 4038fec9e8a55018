# tailor explain --node: what a node of the model became in AIR, and where a node of AIR comes from.
$ printf 'graph @g(%%"onnx::x": f32[2,3], %%k: f32[2,3]) -> (%%y, %%z) {\n  const %%w: f32[3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n  %%a = Exp(%%"onnx::x") @"act::exp"\n  %%m = MatMul(%%a, %%w) @mm\n  %%s = Add(%%m, %%k) @add\n  %%r = ThresholdedRelu(%%s) {alpha=0.5}\n  %%y = Softmax(%%r) @soft {axis=1}\n  %%z = Relu(%%m2)\n  %%unused = Neg(%%s) @dead\n}\n' | sed 's/%m2/%s/' >m.tir; tailor opt m.tir --passes= -o m.onnx; tailor convert m.onnx -q -o m.air
# a fused node: both ways
$ tailor explain m.onnx --node=mm | sed 's/tlr:[0-9]*/tlr/'
> `mm` of the model became
>   MatMulV2 `add/Gemm/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
>   Add `add/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
> life of `mm`
>   read                   MatMul `mm`: ?, node 2 of 7 of graph `g` of m.onnx
>   infer-shapes           now MatMul `mm`: f32[2,3]
>   graph-fusion           MatMulBiasAddFusionPass/MatMulAddMatrix: `mm`, `add` became Gemm (passes/rules/matmul.tlr)
>   graph-fusion           now Gemm `add/Gemm`: f32[2,3]
>   expand                 GemmToMatmulFusionPass/ExpandGemmAdd: `add/Gemm` became Add (passes/rules/expand_matmul.tlr)
>   expand                 now Gemm `add/Gemm/Gemm`: f32[2,3]; Add `add/Gemm`: f32[2,3]
>   lower                  now MatMulV2 `add/Gemm/Gemm`: f32[2,3]; Add `add/Gemm`: f32[2,3]
>   ub-fusion              AutomaticUbFusion: `add/Gemm`, `Greater->r/Greater`, `SelectV2->r`, `Relu->z` are kernel 1, which saves 108 bytes of traffic
>   air                    MatMulV2 `add/Gemm/Gemm`: f32[2,3], node 2 of 7 of graph `g`
>   air                    Add `add/Gemm`: f32[2,3], node 3 of 7 of graph `g`
>   onnx                   Gemm `add/Gemm`: f32[2,3], node 2 of 5 of graph `g`
> MatMulBiasAddFusionPass: 1 fused, 0 not
>   fused  MatMulAddMatrix: `mm`, `add` became Gemm
$ tailor explain m.onnx --node=add/Gemm -q
> `add/Gemm` in AIR is
>   Add `add/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
> ATbeMatmulElemwiseFusionPass: 0 fused, 1 not
>   not    `add/Gemm/Gemm`: UNSUPPORTED: the chip has separate cores for cube and vector nodes
> AutomaticUbFusion: 1 fused, 0 not
>   fused  `add/Gemm`, `Greater->r/Greater`, `SelectV2->r`, `Relu->z` are kernel 1, which saves 108 bytes
> MatMulBiasAddFusionPass: 1 fused, 0 not
>   fused  MatMulAddMatrix: `mm`, `add` became Gemm
$ tailor explain m.air --node=mm
> `mm` of the model became
>   MatMulV2 `add/Gemm/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
>   Add `add/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
> life of `mm`
>   read                   MatMulV2 `add/Gemm/Gemm`: f32[2,3], node 2 of 7 of graph `g` of m.air
> nothing was fused, and there was no near miss
$ tailor explain m.air --node=add/Gemm
> `add/Gemm` in AIR is
>   Add `add/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
> nothing was fused, and there was no near miss
# an expanded node without a name: it is called by its op and its result; the value finds it, too
$ tailor explain m.onnx --node='ThresholdedRelu->r' | sed 's/tlr:[0-9]*/tlr/'
> `ThresholdedRelu->r` of the model became
>   Greater `Greater_3`, from `ThresholdedRelu->r`
>   SelectV2 `Where_4`, from `ThresholdedRelu->r`
> life of `ThresholdedRelu->r`
>   read                   ThresholdedRelu `ThresholdedRelu->r`: ?, node 4 of 7 of graph `g` of m.onnx
>   infer-shapes           now ThresholdedRelu `ThresholdedRelu->r`: f32[2,3]
>   expand                 ExpandThresholdedRelu: `ThresholdedRelu->r` became Where (passes/rules/expand_math.tlr)
>   expand                 now Greater `Greater->r/Greater`: bool[2,3]; Where `Where->r`: f32[2,3]
>   lower                  now Greater `Greater->r/Greater`: bool[2,3]; SelectV2 `SelectV2->r`: f32[2,3]
>   ub-fusion              AutomaticUbFusion: `add/Gemm`, `Greater->r/Greater`, `SelectV2->r`, `Relu->z` are kernel 1, which saves 108 bytes of traffic
>   air                    Greater `Greater->r/Greater`: bool[2,3], node 4 of 7 of graph `g`
>   air                    SelectV2 `SelectV2->r`: f32[2,3], node 5 of 7 of graph `g`
>   onnx                   ThresholdedRelu `ThresholdedRelu->r`: f32[2,3], node 3 of 5 of graph `g`
> nothing was fused, and there was no near miss
$ tailor explain m.onnx --node=r | head -n 1
> `ThresholdedRelu->r` of the model became
$ tailor explain m.air --node='ThresholdedRelu->r' | head -n 1
> `ThresholdedRelu->r` of the model became
# names that AIR spells otherwise; an input and a weight
$ tailor explain m.onnx --node=act::exp
> `act::exp` of the model became
>   Exp `act__exp`, from `act::exp`
> life of `act::exp`
>   read                   Exp `act::exp`: ?, node 1 of 7 of graph `g` of m.onnx
>   infer-shapes           now Exp `act::exp`: f32[2,3]
>   air                    Exp `act::exp`: f32[2,3], node 1 of 7 of graph `g`
>   onnx                   Exp `act::exp`: f32[2,3], node 1 of 5 of graph `g`
> nothing was fused, and there was no near miss
$ tailor explain m.air --node=act__exp
> `act__exp` in AIR is
>   Exp `act__exp`, from `act::exp`
> nothing was fused, and there was no near miss
$ tailor explain m.onnx --node=onnx::x; tailor explain m.onnx --node=onnx__x; tailor explain m.onnx --node=w
> input `onnx::x` of the model is `onnx__x` in AIR
> nothing was fused, and there was no near miss
> input `onnx::x` of the model is `onnx__x` in AIR
> nothing was fused, and there was no near miss
> constant `w` of the model is `w` in AIR
> nothing was fused, and there was no near miss
# what is gone, and what never was
$ tailor explain m.onnx --node=dead
> `dead` of the model became nothing: it was computed beforehand, merged with another node, or not used
> life of `dead`
>   read                   Neg `dead`: ?, node 7 of 7 of graph `g` of m.onnx
>   infer-shapes           now Neg `dead`: f32[2,3]
>   dead-nodes             erased: its results are not used
>   dead-nodes             now gone: computed beforehand, merged with another node, or not used
>   air                    not there
>   onnx                   not there
> nothing was fused, and there was no near miss
$ tailor explain m.onnx --node=nobody; tailor explain m.air --node=dead
> neither the model nor its AIR form has a node `nobody`
> nothing was fused, and there was no near miss
> neither the model nor its AIR form has a node `dead`
> nothing was fused, and there was no near miss
# inserted casts say for which node they are there
$ tailor explain m.onnx --node=soft --precision-mode=force_fp16 -q | tail -n 5
>   precision              f32 becomes f16
>   precision              now Softmax `soft`: f16[2,3]
>   lower                  now SoftmaxV2 `soft`: f16[2,3]
>   air                    SoftmaxV2 `soft`: f16[2,3], node 8 of 11 of graph `g`; casts beside it: `soft_0_to_float`
>   onnx                   Softmax `soft`: f16[2,3], node 6 of 9 of graph `g`; casts beside it: `soft_0_to_float`
$ tailor convert m.onnx -q --precision-mode=force_fp16 -o h.air; tailor explain h.air --node=soft; tailor explain h.air --node=soft_0_to_float
> `soft` of the model became
>   SoftmaxV2 `soft`, a node of the model
>   Cast `soft_0_to_float`, inserted for `soft`
> `soft` in AIR is
>   SoftmaxV2 `soft`, a node of the model
> life of `soft`
>   read                   SoftmaxV2 `soft`: f16[2,3], node 8 of 11 of graph `g` of h.air
> nothing was fused, and there was no near miss
> `soft_0_to_float` in AIR is
>   Cast `soft_0_to_float`, inserted for `soft`
> nothing was fused, and there was no near miss
# an AIR file that is read and written again says the same
$ tailor convert h.air -q -O0 -o i.air; cmp h.air i.air
# JSON
$ tailor explain m.onnx --node=add --origins --json | sed 's/tlr:[0-9]*/tlr/'
> {"schema": 1, "node": "add", "in_model": true, "became": [
>   {"name": "add/Gemm/Gemm", "type": "MatMulV2", "inserted": false, "origins": ["mm", "add"], "passes": ["MatMulBiasAddFusionPass"]},
>   {"name": "add/Gemm", "type": "Add", "inserted": false, "origins": ["mm", "add"], "passes": ["MatMulBiasAddFusionPass"]}], "is": [],
>  "life": [
>   {"pass": "read", "what": "Add `add`: ?, node 3 of 7 of graph `g` of m.onnx"},
>   {"pass": "infer-shapes", "what": "now Add `add`: f32[2,3]"},
>   {"pass": "graph-fusion", "what": "MatMulBiasAddFusionPass/MatMulAddMatrix: `mm`, `add` became Gemm (passes/rules/matmul.tlr)"},
>   {"pass": "graph-fusion", "what": "now Gemm `add/Gemm`: f32[2,3]"},
>   {"pass": "expand", "what": "GemmToMatmulFusionPass/ExpandGemmAdd: `add/Gemm` became Add (passes/rules/expand_matmul.tlr)"},
>   {"pass": "expand", "what": "now Gemm `add/Gemm/Gemm`: f32[2,3]; Add `add/Gemm`: f32[2,3]"},
>   {"pass": "lower", "what": "now MatMulV2 `add/Gemm/Gemm`: f32[2,3]; Add `add/Gemm`: f32[2,3]"},
>   {"pass": "ub-fusion", "what": "AutomaticUbFusion: `add/Gemm`, `Greater->r/Greater`, `SelectV2->r`, `Relu->z` are kernel 1, which saves 108 bytes of traffic"},
>   {"pass": "air", "what": "MatMulV2 `add/Gemm/Gemm`: f32[2,3], node 2 of 7 of graph `g`"},
>   {"pass": "air", "what": "Add `add/Gemm`: f32[2,3], node 3 of 7 of graph `g`"},
>   {"pass": "onnx", "what": "Gemm `add/Gemm`: f32[2,3], node 2 of 5 of graph `g`"}]}
$ tailor explain m.onnx --node=add --json | head -n 2
> [
>  {"pass": "MatMulBiasAddFusionPass", "fused": 1, "not": 0, "events": [
$ tailor explain h.air --node=soft --origins --json
> {"schema": 1, "node": "soft", "in_model": false, "became": [
>   {"name": "soft", "type": "SoftmaxV2", "inserted": false, "origins": ["soft"], "passes": []},
>   {"name": "soft_0_to_float", "type": "Cast", "inserted": true, "origins": ["soft"], "passes": []}], "is": [
>   {"name": "soft", "type": "SoftmaxV2", "inserted": false, "origins": ["soft"], "passes": []}],
>  "life": [
>   {"pass": "read", "what": "SoftmaxV2 `soft`: f16[2,3], node 8 of 11 of graph `g` of h.air"}]}
# every node
$ tailor explain m.onnx --origins
>   Exp `act__exp`, from `act::exp`
>   MatMulV2 `add/Gemm/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
>   Add `add/Gemm`, from `mm`, `add`, by `MatMulBiasAddFusionPass`
>   Greater `Greater_3`, from `ThresholdedRelu->r`
>   SelectV2 `Where_4`, from `ThresholdedRelu->r`
>   SoftmaxV2 `soft`, a node of the model
>   Relu `Relu_6`, from `Relu->z`
$ tailor explain m.air --origins --json
> {"schema": 1, "nodes": [
>   {"name": "act__exp", "type": "Exp", "inserted": false, "origins": ["act::exp"], "passes": []},
>   {"name": "add/Gemm/Gemm", "type": "MatMulV2", "inserted": false, "origins": ["mm", "add"], "passes": ["MatMulBiasAddFusionPass"]},
>   {"name": "add/Gemm", "type": "Add", "inserted": false, "origins": ["mm", "add"], "passes": ["MatMulBiasAddFusionPass"]},
>   {"name": "Greater_3", "type": "Greater", "inserted": false, "origins": ["ThresholdedRelu->r"], "passes": []},
>   {"name": "Where_4", "type": "SelectV2", "inserted": false, "origins": ["ThresholdedRelu->r"], "passes": []},
>   {"name": "soft", "type": "SoftmaxV2", "inserted": false, "origins": ["soft"], "passes": []},
>   {"name": "Relu_6", "type": "Relu", "inserted": false, "origins": ["Relu->z"], "passes": []}]}
$ tailor explain m.onnx --origins --fusion
! tailor: error: --fusion: and --origins ask for different things
!   hint: give one of them
? 1
$ tailor explain m.onnx --origins=yes
! tailor: error: --origins: takes no value, 'yes' was given
? 1
# other questions about a node stay what they are
$ tailor explain m.onnx --fusion --node=add
> MatMulBiasAddFusionPass: 1 fused, 0 not
>   fused  MatMulAddMatrix: `mm`, `add` became Gemm
$ tailor explain m.onnx --expand --node='ThresholdedRelu->r' --json | head -n 2
> [
>  {"pass": "ExpandThresholdedRelu", "expanded": 1, "not": 0, "events": [
# a model without NPU form
$ printf 'graph @g(%%x: str[2]) -> (%%y) {\n  %%y = StringConcat(%%x, %%x) @cat\n}\n' >s.tir; tailor explain s.tir --node=cat
> `cat` of the model became
>   StringConcat `cat`, a node of the model
> life of `cat`
>   read                   StringConcat `cat`: ?, node 1 of 1 of graph `g` of s.tir
>   infer-shapes           now StringConcat `cat`: str[2]
>   air                    StringConcat `cat`: str[2], node 1 of 1 of graph `g`
>   onnx                   StringConcat `cat`: str[2], node 1 of 1 of graph `g`
> nothing was fused, and there was no near miss
$ tailor explain missing.onnx --node=cat
! missing.onnx: error: cannot open 'missing.onnx': No such file or directory
? 4
