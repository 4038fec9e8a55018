/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of pooling. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/window.h"
#include "ir/ops_gen.h"

/* Gives the dims of the pooled operand 0; first: axis of the first spatial dim. */
static tl_status pooled_dims(tl_infer *ctx, int rank, int first, tl_dim *dims) {
  tl_window w;
  TL_TRY(tl_window_read(ctx, (uint32_t)rank - 2, &w));
  if (!w.kernel.at && rank > 2)
    return tl_infer_fail(ctx, "attribute kernel_shape is missing");
  for (int i = 0; i < rank - 2; i++)
    TL_TRY(tl_window_output(ctx, &w, (uint32_t)i, tl_infer_dim(ctx, 0, first + i), w.kernel.at[i],
                            &dims[first + i]));
  return TL_OK;
}

/* Infers pooling: result 0, and the indices of the maxima, if the node has them as result 1.
 * Without the rank of the data, kernel_shape tells it. */
static tl_status pool(tl_infer *ctx, bool channels_last) {
  tl_dim dims[TL_MAX_RANK];
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  tl_int_list kernel = tl_node_attr_ints(ctx->m, ctx->node, TL_SYM_kernel_shape);
  if (rank != TL_RANK_UNKNOWN) {
    TL_TRY(pooled_dims(ctx, rank, channels_last ? 1 : 2, dims));
  } else if (kernel.n > 0 && kernel.n <= TL_MAX_RANK - 2) {
    rank = (int)kernel.n + 2;
    for (int i = 0; i < rank; i++)
      dims[i] = TL_DIM_UNKNOWN;
  }
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  return tl_infer_put(ctx, 1, TL_DTYPE_I64, rank, dims);
}

tl_status tl_infer_pool(tl_infer *ctx, uint32_t node) {
  (void)node;
  return pool(ctx, false);
}

tl_status tl_infer_pool_nhwc(tl_infer *ctx, uint32_t node) {
  (void)node;
  return pool(ctx, true);
}

tl_status tl_infer_qlinear_pool(tl_infer *ctx, uint32_t node) {
  return pool(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_channels_last, 0) != 0);
}

/* Global pooling: all spatial dims become 1. */
tl_status tl_infer_global_pool(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  int first = tl_node_attr_int(ctx->m, node, TL_SYM_channels_last, 0) != 0 ? 1 : 2;
  for (int i = 0; i < rank - 2; i++)
    dims[first + i] = 1;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* MaxUnpool: X, I, output_shape? */
tl_status tl_infer_max_unpool(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_window w;
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
  TL_TRY(tl_window_read(ctx, (uint32_t)rank - 2, &w));
  tl_partial shape = {0};
  if (tl_infer_has(ctx, 2))
    shape = tl_infer_elems(ctx, 2);
  if (shape.at && shape.n != (uint32_t)rank)
    return tl_infer_fail(ctx, "output_shape has %u values, expected %d", shape.n, rank);
  for (int i = 0; i < rank; i++) {
    if (tl_infer_has(ctx, 2))
      dims[i] = shape.at ? tl_elem_dim(shape.at[i]) : TL_DIM_UNKNOWN;
    else if (i >= 2)
      TL_TRY(tl_window_transposed(ctx, &w, (uint32_t)i - 2, dims[i],
                                  w.kernel.at ? w.kernel.at[i - 2] : TL_DIM_UNKNOWN, &dims[i]));
  }
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}
