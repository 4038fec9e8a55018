/* SPDX-License-Identifier: Apache-2.0 */
/* Table of changes in the ops of ai.onnx up to the canonical opset, one row per change.
 * Rows of one op apply from top to bottom. Wider types, new optional operands and new attributes
 * whose default is the old behaviour need no row. `consumed_inputs` (before opset 6) is dropped
 * from every op elsewhere. */
#include "frontend/onnx/opset.h"

#define DROP(op, below, attr)                                                                      \
  { TL_OP_##op, below, TL_LIFT_DROP, TL_SYM_##attr, false, 0, 0, NULL }
#define INT(op, below, attr, value)                                                                \
  { TL_OP_##op, below, TL_LIFT_INT, TL_SYM_##attr, false, value, 0, NULL }
#define REAL(op, below, attr, real)                                                                \
  { TL_OP_##op, below, TL_LIFT_FLOAT, TL_SYM_##attr, false, 0, real, NULL }
#define TEXT(op, below, attr, value)                                                               \
  { TL_OP_##op, below, TL_LIFT_STRING, TL_SYM_##attr, false, TL_SYM_##value, 0, NULL }
#define ATTR_NAME(op, below, attr, value)                                                          \
  { TL_OP_##op, below, TL_LIFT_ATTR_NAME, TL_SYM_##attr, false, TL_SYM_##value, 0, NULL }
#define OPERAND(op, below, attr, index)                                                            \
  { TL_OP_##op, below, TL_LIFT_OPERAND, TL_SYM_##attr, false, index, 0, NULL }
#define RENAME(op, below, to)                                                                      \
  { TL_OP_##op, below, TL_LIFT_RENAME, 0, false, TL_OP_##to, 0, NULL }
#define CALL(op, below, fn)                                                                        \
  { TL_OP_##op, below, TL_LIFT_CALL, 0, false, 0, 0, tl_lift_##fn }
/* A row whose function looks at operand types. */
#define TYPED(op, below, fn)                                                                       \
  { TL_OP_##op, below, TL_LIFT_CALL, 0, true, 0, 0, tl_lift_##fn }

const tl_lift_row tl_lift_rows[] = {
    TYPED(Add, 7, broadcast),
    TYPED(And, 7, broadcast),
    DROP(BatchNormalization, 7, is_test),
    TYPED(BatchNormalization, 9, spatial),
    CALL(BatchNormalization, 14, batch_norm),
    CALL(Cast, 6, cast_name),
    TYPED(Clip, 11, clip),
    INT(Concat, 4, axis, 1),
    CALL(DFT, 20, dft_axis),
    TYPED(Div, 7, broadcast),
    CALL(Dropout, 12, dropout),
    RENAME(DynamicSlice, 10, Slice),
    TYPED(Equal, 7, broadcast),
    DROP(GRU, 7, output_sequence),
    DROP(Gemm, 7, broadcast),
    CALL(GlobalLpPool, 2, float_p),
    TYPED(Greater, 7, broadcast),
    CALL(GridSample, 20, grid_mode),
    TYPED(GroupNormalization, 21, group_norm),
    TYPED(Hardmax, 13, softmax),
    DROP(LSTM, 7, output_sequence),
    TYPED(LayerNormalization, 17, layer_norm),
    TYPED(Less, 7, broadcast),
    TYPED(LogSoftmax, 13, softmax),
    CALL(LpPool, 2, float_p),
    CALL(MeanVarianceNormalization, 9, mvn),
    TYPED(Mul, 7, broadcast),
    TYPED(Or, 7, broadcast),
    TYPED(PRelu, 7, prelu_slope),
    ATTR_NAME(Pad, 2, paddings, pads),
    OPERAND(Pad, 11, pads, 1),
    TYPED(Pad, 11, pad_value),
    TYPED(Pow, 7, broadcast),
    DROP(RNN, 7, output_sequence),
    OPERAND(ReduceL1, 18, axes, 1),
    OPERAND(ReduceL2, 18, axes, 1),
    OPERAND(ReduceLogSum, 18, axes, 1),
    OPERAND(ReduceLogSumExp, 18, axes, 1),
    OPERAND(ReduceMax, 18, axes, 1),
    OPERAND(ReduceMean, 18, axes, 1),
    OPERAND(ReduceMin, 18, axes, 1),
    OPERAND(ReduceProd, 18, axes, 1),
    OPERAND(ReduceSum, 13, axes, 1),
    OPERAND(ReduceSumSquare, 18, axes, 1),
    OPERAND(Reshape, 5, shape, 1),
    CALL(Resize, 11, resize_10),
    CALL(Resize, TL_LIFT_ALWAYS, resize_empty),
    TEXT(RoiAlign, 16, coordinate_transformation_mode, output_half_pixel),
    CALL(Scan, 9, scan_8),
    RENAME(Scatter, 11, ScatterElements),
    REAL(Selu, 6, alpha, 1.6732F),
    REAL(Selu, 6, gamma, 1.0507F),
    OPERAND(Slice, 10, starts, 1),
    OPERAND(Slice, 10, ends, 2),
    OPERAND(Slice, 10, axes, 3),
    TYPED(Softmax, 13, softmax),
    OPERAND(Split, 13, split, 1),
    CALL(Split, 18, split_count),
    OPERAND(Squeeze, 13, axes, 1),
    TYPED(Sub, 7, broadcast),
    TYPED(Tile, 6, tile),
    CALL(TopK, 10, top_k),
    OPERAND(Unsqueeze, 13, axes, 1),
    CALL(Upsample, 10, upsample),
    TYPED(Xor, 7, broadcast),
};

const uint32_t tl_n_lift_rows = sizeof tl_lift_rows / sizeof tl_lift_rows[0];
