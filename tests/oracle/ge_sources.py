# SPDX-License-Identifier: Apache-2.0
"""What the rules of ge_rules.py and ge_moves.py were compared with. Op types that are not here have a
rule that follows the documented meaning of the op: it names a function of GE, but nobody has held
the formula against that function yet ('not confirmed' in the list of ge_shapes.py --rules).

2022: shape functions and verifiers of GE's op_proto, at compile time and at run time (runtime/)
2026: *_infershape.cpp of ops-nn, ops-cv and ops-math
told: the condition that the rule is there for was found by running GE's own functions; sizes are not
      confirmed beyond that"""
_2022, _2026, _TOLD = '2022', '2026', 'told'
_LISTS = {
    _2022: """
        BNTrainingReduce BatchMatMul BatchMatMulV2 BatchNorm Cast ClipByValue ConcatD
        ConfusionTransposeD Conv2D DepthToSpace Equal Exp Expand Flatten GatherV2 GlobalAveragePool
        LRN LayerNorm LogSoftmaxV2 LogicalOr MatMul MatMulV2 Mul Add Neg ROIAlign RealDiv Reciprocal
        ReduceSum Relu Reshape ScatterElements SelectV2 SoftmaxV2 Sqrt Squeeze Sub Tanh TileD TopK
        Transpose""",
    _2026: """
        AddLayerNorm AddRmsNorm AvgPool3D AvgPoolV2 InstanceNorm MaxPool3D NLLLoss
        ResizeBilinearV2 ResizeNearestNeighborV2 RmsNorm SplitV StridedSliceV2""",
    _TOLD: 'AffineGrid Conv3D DeformableConv2D FusedMulAdd',
}
SEEN = {op: where for where, ops in _LISTS.items() for op in ops.split()}
SEEN['MaxPoolV3'] = f'{_2022} (run time), {_2026}'


def status(op):
    return SEEN.get(op, 'not confirmed')
