/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of reductions: Reduce* with axes as an operand, ArgMax and ArgMin, and kernels
 * that also return what they reduce. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* States a result with the dims that stay; reduced ones become 1 with keepdims, and go without. */
static tl_status set_result(tl_infer *ctx, uint32_t result, tl_dtype dtype, const bool *reduced,
                            bool keep) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  int n = 0;
  for (int i = 0; i < rank; i++) {
    if (!reduced[i])
      dims[n++] = tl_infer_dims(ctx, 0)[i];
    else if (keep)
      dims[n++] = 1;
  }
  return tl_infer_set(ctx, result, dtype, n, dims);
}

/* States the result when there are axes but they are unknown: at most the rank is known. */
static tl_status set_partly_reduced(tl_infer *ctx, bool keep) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  tl_dim removed = tl_infer_rank(ctx, 1) == 1 ? tl_infer_dims(ctx, 1)[0] : TL_DIM_UNKNOWN;
  if (!keep)
    rank = rank >= 0 && removed > 0 && removed <= rank ? rank - (int)removed : TL_RANK_UNKNOWN;
  for (int i = 0; i < rank; i++)
    dims[i] = TL_DIM_UNKNOWN;
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* Computes a op b for known elements; false on overflow, or if the op is not folded. */
static bool fold_ints(tl_op_id op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case TL_OP_ReduceProd: return !__builtin_mul_overflow(a, b, out);
  case TL_OP_ReduceSum: return !__builtin_add_overflow(a, b, out);
  case TL_OP_ReduceMax: *out = a > b ? a : b; return true;
  case TL_OP_ReduceMin: *out = a < b ? a : b; return true;
  default: return false;
  }
}

/* Returns a op b for sizes of which at least one is a name. */
static tl_dim fold_dims(tl_infer *ctx, tl_op_id op, tl_dim a, tl_dim b) {
  switch (op) {
  case TL_OP_ReduceProd: return tl_dim_mul(ctx->m, a, b);
  case TL_OP_ReduceSum: return tl_dim_add(ctx->m, a, b);
  default: return a == b ? a : TL_DIM_UNKNOWN;
  }
}

/* Reduces all tracked elements of a rank-1 operand to one. */
static tl_status reduce_elems(tl_infer *ctx) {
  tl_value_id v = tl_operand(ctx->m, ctx->node, 0);
  bool constant = v && tl_value_get(ctx->m, v)->kind == TL_VALUE_CONSTANT;
  bool tracked = v < ctx->n_partials && ctx->partials[v].at;
  if (tl_infer_rank(ctx, 0) != 1 || !(constant || tracked))
    return TL_OK;
  tl_op_id op = tl_node_get(ctx->m, ctx->node)->op;
  tl_partial p = tl_infer_elems(ctx, 0);
  if (!p.at || p.n == 0)
    return TL_OK;
  tl_elem e = p.at[0];
  for (uint32_t i = 1; i < p.n && e.kind != TL_ELEM_UNKNOWN; i++) {
    tl_elem next = p.at[i];
    if (e.kind == TL_ELEM_INT && next.kind == TL_ELEM_INT)
      e.kind = fold_ints(op, e.value, next.value, &e.value) ? TL_ELEM_INT : TL_ELEM_UNKNOWN;
    else
      e = tl_elem_from_dim(fold_dims(ctx, op, tl_elem_dim(e), tl_elem_dim(next)));
  }
  return tl_infer_set_elems(ctx, 0, &e, 1);
}

/* Returns true for reductions whose elements are tracked: those that models apply to shapes. */
static bool folds(tl_op_id op) {
  return op == TL_OP_ReduceProd || op == TL_OP_ReduceSum || op == TL_OP_ReduceMax ||
         op == TL_OP_ReduceMin;
}

/* Absent or empty axes mean all axes, or none with noop_with_empty_axes. If all are reduced without
 * keepdims the result has rank 0, even of an unknown rank. */
tl_status tl_infer_reduce(tl_infer *ctx, uint32_t node) {
  bool reduced[TL_MAX_RANK] = {false};
  tl_int_list axes = {NULL, 0};
  int rank = tl_infer_rank(ctx, 0);
  bool keep = tl_node_attr_int(ctx->m, node, TL_SYM_keepdims, 1) != 0;
  bool noop = tl_node_attr_int(ctx->m, node, TL_SYM_noop_with_empty_axes, 0) != 0;
  bool known = !tl_infer_has(ctx, 1) || tl_infer_ints(ctx, 1, &axes);
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  if (known && axes.n == 0 && noop)
    return tl_infer_set_like(ctx, 0, 0, TL_DTYPE_NONE);
  if (known && axes.n == 0 && !keep)
    TL_TRY(tl_infer_set(ctx, 0, dtype, 0, NULL));
  else if (rank < 0 || !known)
    return set_partly_reduced(ctx, keep);
  for (uint32_t i = 0; i < axes.n && rank >= 0; i++) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, axes.at[i], rank, &axis));
    reduced[axis] = true;
  }
  for (int i = 0; i < rank && axes.n == 0; i++)
    reduced[i] = true;
  if (rank >= 0)
    TL_TRY(set_result(ctx, 0, dtype, reduced, keep));
  return folds(tl_node_get(ctx->m, node)->op) ? reduce_elems(ctx) : TL_OK;
}

/* Mean and variance: dims of the attribute axes are 1. */
tl_status tl_infer_mean_variance(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_int_list axes = tl_node_attr_ints(ctx->m, node, TL_SYM_axes);
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  for (uint32_t i = 0; i < axes.n && rank >= 0; i++) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, axes.at[i], rank, &axis));
    dims[axis] = 1;
  }
  for (uint32_t i = 0; i < tl_infer_n_results(ctx); i++)
    TL_TRY(tl_infer_put(ctx, i, tl_infer_dtype(ctx, 0), rank, dims));
  return TL_OK;
}

/* ArgMax, ArgMin: a place along the axis and, of ops with two results, the element there. ARG:
 * keepdims of nodes that do not say it. */
tl_status tl_infer_arg_reduce(tl_infer *ctx, uint32_t node) {
  bool reduced[TL_MAX_RANK] = {false};
  int64_t unsaid = tl_infer_arg(ctx, node);
  bool keep = tl_node_attr_int(ctx->m, node, TL_SYM_keepdims, unsaid) != 0;
  int rank = tl_infer_rank(ctx, 0);
  if (rank >= 0) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
    reduced[axis] = true;
  }
  for (uint32_t i = 0; i < tl_infer_n_results(ctx); i++) {
    tl_dtype dtype = i == 0 ? TL_DTYPE_I64 : tl_infer_dtype(ctx, 0);
    TL_TRY(rank < 0 ? tl_infer_set(ctx, i, dtype, TL_RANK_UNKNOWN, NULL)
                    : set_result(ctx, i, dtype, reduced, keep));
  }
  return TL_OK;
}

/* Two results: a sum along the attribute axes, and one with the dims of the operand. ARG: which is
 * the sum. */
tl_status tl_infer_sum_beside(tl_infer *ctx, uint32_t node) {
  bool reduced[TL_MAX_RANK] = {false};
  uint32_t sum = (uint32_t)tl_infer_arg(ctx, node);
  tl_int_list axes = tl_node_attr_ints(ctx->m, node, TL_SYM_axes);
  bool keep = tl_node_attr_int(ctx->m, node, TL_SYM_keepdims, 0) != 0;
  int rank = tl_infer_rank(ctx, 0);
  if (rank < 0)
    return TL_OK;
  for (uint32_t i = 0; i < axes.n; i++) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, axes.at[i], rank, &axis));
    reduced[axis] = true;
  }
  TL_TRY(set_result(ctx, sum, tl_infer_dtype(ctx, 0), reduced, keep));
  return tl_infer_put_like(ctx, 1 - sum, tl_infer_dtype(ctx, 0), 0);
}
