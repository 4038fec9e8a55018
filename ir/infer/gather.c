/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of ops that pick or place elements by index or value: Gather*, Scatter*, TopK,
 * NonZero, Unique, Compress. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

static tl_status set_unranked(tl_infer *ctx, uint32_t i, tl_dtype dtype) {
  return tl_infer_set(ctx, i, dtype, TL_RANK_UNKNOWN, NULL);
}

/* ---- Gather --------------------------------------------------------------------------------- */

/* Picks tracked elements of rank-1 data. */
static tl_status gather_elems(tl_infer *ctx) {
  tl_elem at[TL_MAX_PARTIAL];
  tl_partial data = tl_infer_elems(ctx, 0);
  tl_partial indices = tl_infer_elems(ctx, 1);
  if (!data.at || !indices.at)
    return TL_OK;
  for (uint32_t i = 0; i < indices.n; i++) {
    tl_elem e = indices.at[i];
    int64_t index = e.value < 0 ? e.value + data.n : e.value;
    bool inside = e.kind == TL_ELEM_INT && index >= 0 && index < data.n;
    at[i] = inside ? data.at[index] : (tl_elem){TL_ELEM_UNKNOWN, 0};
  }
  return tl_infer_set_elems(ctx, 0, at, indices.n);
}

/* The axis of the data is replaced by the dims of the indices. */
tl_status tl_infer_gather(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  int n_index = tl_infer_rank(ctx, 1);
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  if (rank < 0)
    return set_unranked(ctx, 0, dtype);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  if (n_index < 0)
    return set_unranked(ctx, 0, dtype);
  if (rank + n_index - 1 > TL_MAX_RANK)
    return tl_infer_fail(ctx, "the result has rank %d, more than %d", rank + n_index - 1,
                         TL_MAX_RANK);
  int n = 0;
  for (int i = 0; i < rank; i++) {
    if (i != (int)axis)
      dims[n++] = tl_infer_dims(ctx, 0)[i];
    for (int k = 0; i == (int)axis && k < n_index; k++)
      dims[n++] = tl_infer_dims(ctx, 1)[k];
  }
  TL_TRY(tl_infer_set(ctx, 0, dtype, n, dims));
  bool tracks = rank == 1 && n_index <= 1 && tl_infer_all_tracked(ctx);
  return tracks ? gather_elems(ctx) : TL_OK;
}

tl_status tl_infer_gather_elements(tl_infer *ctx, uint32_t node) {
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  int n_index = tl_infer_rank(ctx, 1);
  if (rank >= 0)
    TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  if (rank >= 0 && n_index >= 0 && rank != n_index)
    return tl_infer_fail(ctx, "data has rank %d and indices have rank %d, expected the same", rank,
                         n_index);
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), n_index, tl_infer_dims(ctx, 1));
}

/* GatherND: indices [..., k] -> [..., dims of the data behind the batch dims and the k indexed
 * ones]. */
tl_status tl_infer_gather_nd(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  int n_index = tl_infer_rank(ctx, 1);
  int64_t batch = tl_node_attr_int(ctx->m, node, TL_SYM_batch_dims, 0);
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  if (rank < 0 || n_index < 0)
    return set_unranked(ctx, 0, dtype);
  if (rank < 1 || n_index < 1 || batch < 0 || batch >= rank || batch >= n_index)
    return tl_infer_fail(ctx, "data of rank %d and indices of rank %d do not fit batch_dims %lld",
                         rank, n_index, (long long)batch);
  tl_dim last = tl_infer_dims(ctx, 1)[n_index - 1];
  if (last < 0)
    return set_unranked(ctx, 0, dtype);
  if (last < 1 || last > rank - batch)
    return tl_infer_fail(ctx, "the last axis of the indices has size %lld, expected 1 to %lld",
                         (long long)last, (long long)(rank - batch));
  int tail = rank - (int)batch - (int)last;
  if (n_index - 1 + tail > TL_MAX_RANK)
    return tl_infer_fail(ctx, "the result has rank %d, more than %d", n_index - 1 + tail,
                         TL_MAX_RANK);
  for (int i = 0; i < n_index - 1; i++)
    dims[i] = tl_infer_dims(ctx, 1)[i];
  for (int i = 0; i < tail; i++)
    dims[n_index - 1 + i] = tl_infer_dims(ctx, 0)[rank - tail + i];
  return tl_infer_set(ctx, 0, dtype, n_index - 1 + tail, dims);
}

/* Updates go into a copy of the data. */
tl_status tl_infer_scatter(tl_infer *ctx, uint32_t node) {
  (void)node;
  return tl_infer_set_like(ctx, 0, 0, TL_DTYPE_NONE);
}

/* ---- TopK ----------------------------------------------------------------------------------- */

tl_status tl_infer_topk(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  tl_partial k = tl_infer_elems(ctx, 1);
  if (rank < 0) {
    TL_TRY(set_unranked(ctx, 0, tl_infer_dtype(ctx, 0)));
    return set_unranked(ctx, 1, TL_DTYPE_I64);
  }
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, -1), rank, &axis));
  for (int i = 0; i < rank; i++)
    dims[i] = tl_infer_dims(ctx, 0)[i];
  tl_dim size = dims[axis];
  bool known = k.at && k.n == 1;
  dims[axis] = known ? tl_elem_dim(k.at[0]) : TL_DIM_UNKNOWN;
  bool too_many = size >= 0 && dims[axis] > size;
  if (too_many || (known && k.at[0].kind == TL_ELEM_INT && k.at[0].value < 0))
    return tl_infer_fail(ctx, "k is %lld, expected 0 to %lld", (long long)k.at[0].value,
                         (long long)size);
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  return tl_infer_set(ctx, 1, TL_DTYPE_I64, rank, dims);
}

/* ---- results whose size depends on the data ------------------------------------------------- */

/* NonZero: [rank, ?], one column for each element that is not zero. */
tl_status tl_infer_nonzero(tl_infer *ctx, uint32_t node) {
  (void)node;
  int rank = tl_infer_rank(ctx, 0);
  tl_dim dims[2] = {rank > 0 ? rank : TL_DIM_UNKNOWN, TL_DIM_UNKNOWN};
  return tl_infer_set(ctx, 0, TL_DTYPE_I64, 2, dims);
}

/* Unique: values, then indices, inverse indices and counts, all of rank 1. Without an axis the data
 * is flattened. */
tl_status tl_infer_unique(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dim some = TL_DIM_UNKNOWN;
  uint32_t axis;
  bool exact;
  int rank = tl_infer_rank(ctx, 0);
  tl_dim elements = TL_DIM_UNKNOWN;
  const tl_attr *along = tl_node_attr(ctx->m, node, TL_SYM_axis);
  if (!along) {
    TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 1, &some));
    if (rank >= 0)
      elements = tl_infer_quotient(ctx, tl_infer_dims(ctx, 0), (uint32_t)rank, NULL, 0, &exact);
  } else if (rank < 0) {
    TL_TRY(set_unranked(ctx, 0, tl_infer_dtype(ctx, 0)));
  } else {
    TL_TRY(tl_infer_axis(ctx, along->u.i, rank, &axis));
    for (int i = 0; i < rank; i++)
      dims[i] = tl_infer_dims(ctx, 0)[i];
    elements = dims[axis];
    dims[axis] = TL_DIM_UNKNOWN;
    TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  }
  TL_TRY(tl_infer_set(ctx, 1, TL_DTYPE_I64, 1, &some));
  TL_TRY(tl_infer_set(ctx, 2, TL_DTYPE_I64, 1, &elements));
  return tl_infer_set(ctx, 3, TL_DTYPE_I64, 1, &some);
}

tl_status tl_infer_compress(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_dim some = TL_DIM_UNKNOWN;
  uint32_t axis;
  int rank = tl_infer_rank(ctx, 0);
  const tl_attr *along = tl_node_attr(ctx->m, node, TL_SYM_axis);
  if (!along)
    return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 1, &some);
  if (rank < 0)
    return set_unranked(ctx, 0, tl_infer_dtype(ctx, 0));
  TL_TRY(tl_infer_axis(ctx, along->u.i, rank, &axis));
  for (int i = 0; i < rank; i++)
    dims[i] = i == (int)axis ? TL_DIM_UNKNOWN : tl_infer_dims(ctx, 0)[i];
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}
