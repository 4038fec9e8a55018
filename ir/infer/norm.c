/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of normalizations that return more than the normalized data. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* BatchNormalization: X, scale, B, mean, var -> Y, running mean, running var (and saved ones in old
 * models). */
tl_status tl_infer_batch_norm(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_infer_put_same(ctx, 0, 0));
  if (tl_infer_rank(ctx, 0) >= 2)
    for (uint32_t i = 1; i < 5; i++)
      if (tl_infer_rank(ctx, i) == 1)
        TL_TRY(tl_infer_check_dim(ctx, "channels of the data and of a parameter",
                                  tl_infer_dim(ctx, 0, 1), tl_infer_dim(ctx, i, 0)));
  for (uint32_t i = 1; i < tl_infer_n_results(ctx); i++)
    TL_TRY(tl_infer_put_same(ctx, i, i % 2 == 1 ? 3 : 4));
  return TL_OK;
}

/* LayerNormalization: X, Scale, B -> Y, Mean, InvStdDev; normalized axes are 1 in the
 * statistics. */
tl_status tl_infer_layer_norm(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dtype stash;
  tl_dtype dtype = tl_infer_dtype(ctx, 1) != TL_DTYPE_NONE ? tl_infer_dtype(ctx, 1)
                                                           : tl_infer_dtype(ctx, 0);
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_stash_type, TL_DTYPE_F32, &stash));
  TL_TRY(tl_infer_put_like(ctx, 0, dtype, 0));
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  if (rank != TL_RANK_UNKNOWN) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, -1), rank, &axis));
    for (uint32_t i = axis; i < (uint32_t)rank; i++)
      dims[i] = 1;
  }
  for (uint32_t i = 1; i < tl_infer_n_results(ctx); i++)
    TL_TRY(tl_infer_put(ctx, i, stash, rank, dims));
  return TL_OK;
}

/* SkipLayerNormalization and kin: the normalized sum, statistics in f32 where the op has them, and
 * the sum itself last. */
tl_status tl_infer_skip_norm(tl_infer *ctx, uint32_t node) {
  const tl_op *row = tl_op_row(tl_node_get(ctx->m, node)->op);
  uint32_t n_ports = row ? row->n_result_ports : 0;
  TL_TRY(tl_infer_put_same(ctx, 0, 0));
  for (uint32_t i = 1; i < tl_infer_n_results(ctx); i++) {
    if (i + 1 == n_ports)
      TL_TRY(tl_infer_put_same(ctx, i, 0));
    else
      TL_TRY(tl_infer_put(ctx, i, TL_DTYPE_F32, TL_RANK_UNKNOWN, NULL));
  }
  return TL_OK;
}

/* Results: the rows as bytes, twice; the sum and the rows, up to the result that the fixed argument
 * names (the one two places before it is f32); then one number for each row, twice. */
tl_status tl_infer_norm_bytes(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t last = (uint32_t)tl_infer_arg(ctx, node);
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  for (uint32_t i = 0; i < 2; i++)
    TL_TRY(tl_infer_put_like(ctx, i, TL_DTYPE_I8, 0));
  for (uint32_t i = 2; i <= last; i++)
    TL_TRY(tl_infer_put_like(ctx, i, i + 2 == last ? TL_DTYPE_F32 : tl_infer_dtype(ctx, 0), 0));
  for (uint32_t i = last + 1; i < last + 3; i++)
    TL_TRY(tl_infer_put(ctx, i, TL_DTYPE_F32, rank > 0 ? rank - 1 : TL_RANK_UNKNOWN, dims));
  return TL_OK;
}

/* EmbedLayerNormalization: input_ids [B,S], segment_ids, word_embedding [V,H], ... -> [B,S,H], mask
 * [B], sum [B,S,H]. */
tl_status tl_infer_embed_norm(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, 2));
  TL_TRY(tl_infer_check_rank(ctx, 2, 2, 2));
  tl_dim dims[3] = {tl_infer_dim(ctx, 0, 0), tl_infer_dim(ctx, 0, 1), tl_infer_dim(ctx, 2, 1)};
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 2), 3, dims));
  TL_TRY(tl_infer_put(ctx, 1, TL_DTYPE_I32, 1, dims));
  return tl_infer_put(ctx, 2, tl_infer_dtype(ctx, 2), 3, dims);
}

/* x -> results that each have one number for each channel. */
tl_status tl_infer_channel_sums(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 2, TL_MAX_RANK));
  tl_dim dim = tl_infer_rank(ctx, 0) == TL_RANK_UNKNOWN ? TL_DIM_UNKNOWN : tl_infer_dim(ctx, 0, 1);
  for (uint32_t i = 0; i < tl_infer_n_results(ctx); i++)
    TL_TRY(tl_infer_put(ctx, i, TL_DTYPE_F32, 1, &dim));
  return TL_OK;
}

/* x, one number for each channel, ... -> a result like x, then numbers for channels. */
tl_status tl_infer_channel_norm(tl_infer *x, uint32_t node) {
  (void)node;
  for (uint32_t i = 0; i < tl_infer_n_results(x); i++)
    TL_TRY(tl_infer_put_same(x, i, i == 0 ? 0 : 1));
  return TL_OK;
}

/* logits, targets -> a loss for each row, the gradient. */
tl_status tl_infer_row_loss(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  (void)node;
  TL_TRY(tl_infer_check_rank(ctx, 0, 1, TL_MAX_RANK));
  for (int i = 0; i + 1 < rank; i++)
    dims[i] = tl_infer_dim(ctx, 0, i);
  TL_TRY(tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank > 0 ? rank - 1 : TL_RANK_UNKNOWN, dims));
  return tl_infer_n_results(ctx) > 1 ? tl_infer_put_same(ctx, 1, 0) : TL_OK;
}
