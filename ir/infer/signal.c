/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of signal processing, determinants and random numbers. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* Det: [..., M, M] -> [...]. */
tl_status tl_infer_det(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  TL_TRY(tl_infer_check_dim(ctx, "the two sides of the matrices", tl_infer_dim(ctx, 0, -1),
                            tl_infer_dim(ctx, 0, -2)));
  int rank = tl_infer_rank(ctx, 0);
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank == TL_RANK_UNKNOWN ? rank : rank - 2,
                      tl_infer_dims(ctx, 0));
}

/* Window functions: a size -> [size]. */
tl_status tl_infer_window(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_datatype, TL_DTYPE_F32, &dtype));
  tl_dim size = tl_infer_dim_value(ctx, 0);
  return tl_infer_put(ctx, 0, dtype, 1, &size);
}

/* Returns the number of bins of a transform of n points. */
static tl_dim bins(tl_module *m, tl_dim n, bool onesided) {
  return onesided ? tl_dim_add(m, tl_dim_div(m, n, 2), 1) : n;
}

/* Gives the axis of a DFT: operand 2, the last but one by default. *known is false when only the
 * run tells. */
static tl_status dft_axis(tl_infer *ctx, int rank, bool *known, uint32_t *axis) {
  int64_t value = -2;
  *known = !tl_infer_has(ctx, 2) || tl_infer_int(ctx, 2, &value);
  return *known ? tl_infer_axis(ctx, value, rank, axis) : TL_OK;
}

/* DFT: input [B, ..., 1|2], dft_length?, axis? -> [B, ..., 2] (or 1). */
tl_status tl_infer_dft(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  bool onesided = tl_node_attr_int(ctx->m, node, TL_SYM_onesided, 0) != 0;
  bool inverse = tl_node_attr_int(ctx->m, node, TL_SYM_inverse, 0) != 0;
  bool known;
  uint32_t axis;
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, NULL);
  TL_TRY(dft_axis(ctx, rank, &known, &axis));
  if (known && axis + 1 == (uint32_t)rank)
    return tl_infer_fail(ctx, "axis %u is the one of real and imaginary parts", axis);
  for (uint32_t i = 0; !known && i + 1 < (uint32_t)rank; i++)
    dims[i] = TL_DIM_UNKNOWN;
  if (known) {
    bool real = onesided && inverse;
    tl_dim n = real ? tl_dim_mul(ctx->m, tl_dim_offset(ctx->m, dims[axis], -1), 2) : dims[axis];
    if (tl_infer_has(ctx, 1))
      n = tl_infer_dim_value(ctx, 1);
    dims[axis] = bins(ctx->m, n, onesided && !inverse);
  }
  dims[rank - 1] = onesided && inverse ? 1 : 2; /* the one-sided inverse gives real numbers */
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* STFT: signal [B,L] or [B,L,1|2], frame_step, window?, frame_length? -> [B, frames, bins, 2]. */
tl_status tl_infer_stft(tl_infer *ctx, uint32_t node) {
  bool onesided = tl_node_attr_int(ctx->m, node, TL_SYM_onesided, 1) != 0;
  tl_dim step = tl_infer_dim_value(ctx, 1);
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, 3));
  tl_dim length = tl_infer_has(ctx, 3)   ? tl_infer_dim_value(ctx, 3)
                  : tl_infer_has(ctx, 2) ? tl_infer_dim(ctx, 2, 0)
                                         : TL_DIM_UNKNOWN;
  if (step == 0)
    return tl_infer_fail(ctx, "frame_step is 0");
  tl_dim hops = tl_dim_div(ctx->m, tl_dim_sub(ctx->m, tl_infer_dim(ctx, 0, 1), length), step);
  tl_dim dims[4] = {tl_infer_dim(ctx, 0, 0), tl_dim_add(ctx->m, hops, 1),
                    bins(ctx->m, length, onesided), 2};
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), 4, dims);
}

/* MelWeightMatrix: num_mel_bins, dft_length, ... -> [dft_length/2 + 1, num_mel_bins]. */
tl_status tl_infer_mel_weight_matrix(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_datatype, TL_DTYPE_F32, &dtype));
  tl_dim dims[2] = {bins(ctx->m, tl_infer_dim_value(ctx, 1), true), tl_infer_dim_value(ctx, 0)};
  return tl_infer_put(ctx, 0, dtype, 2, dims);
}

tl_status tl_infer_random(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dtype dtype;
  tl_int_list shape = tl_node_attr_ints(ctx->m, node, TL_SYM_shape);
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_dtype, TL_DTYPE_F32, &dtype));
  if (shape.n > TL_MAX_RANK)
    return tl_infer_fail(ctx, "attribute shape has %u values, expected at most %d", shape.n,
                         TL_MAX_RANK);
  for (uint32_t i = 0; i < shape.n; i++) {
    if (shape.at[i] < 0)
      return tl_infer_fail(ctx, "attribute shape: %lld is negative", (long long)shape.at[i]);
    dims[i] = shape.at[i];
  }
  return tl_infer_put(ctx, 0, dtype, (int)shape.n, dims);
}

tl_status tl_infer_random_like(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_dtype, tl_infer_dtype(ctx, 0), &dtype));
  return tl_infer_put_like(ctx, 0, dtype, 0);
}

/* Multinomial: [B, classes] -> [B, sample_size]. */
tl_status tl_infer_multinomial(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  int64_t samples = tl_node_attr_int(ctx->m, node, TL_SYM_sample_size, 1);
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_dtype, TL_DTYPE_I32, &dtype));
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, 2));
  if (samples < 0)
    return tl_infer_fail(ctx, "attribute sample_size is %lld", (long long)samples);
  tl_dim dims[2] = {tl_infer_dim(ctx, 0, 0), samples};
  return tl_infer_put(ctx, 0, dtype, 2, dims);
}
