/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of gradient ops. A gradient has the shape of what it belongs to: an operand, or
 * what an operand names that holds a shape. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* ARG: a decimal digit for each result, the first result first: the operand, counted from 1, whose
 * type it has. */
tl_status tl_infer_follows(tl_infer *ctx, uint32_t node) {
  int64_t digits = tl_infer_arg(ctx, node);
  uint32_t like[16], n = 0;
  for (; digits > 0 && n < 16; digits /= 10)
    like[n++] = (uint32_t)(digits % 10) - 1;
  for (uint32_t i = 0; i < n && i < tl_infer_n_results(ctx); i++) {
    uint32_t of = like[n - 1 - i];
    if (of < tl_infer_n_operands(ctx) && tl_infer_has(ctx, of))
      TL_TRY(tl_infer_put_same(ctx, i, of));
  }
  return TL_OK;
}

/* ARG: ten times the operand that holds the shape, plus the one that has the dtype. */
tl_status tl_infer_shaped(tl_infer *ctx, uint32_t node) {
  int64_t arg = tl_infer_arg(ctx, node);
  uint32_t shape = (uint32_t)(arg / 10);
  tl_dim dims[TL_MAX_RANK];
  tl_partial p = tl_infer_elems(ctx, shape);
  tl_dim n = tl_infer_rank(ctx, shape) == 1 ? tl_infer_dims(ctx, shape)[0] : TL_DIM_UNKNOWN;
  if (p.at)
    n = p.n;
  int rank = n >= 0 && n <= TL_MAX_RANK ? (int)n : TL_RANK_UNKNOWN;
  for (int i = 0; i < rank; i++)
    dims[i] = p.at ? tl_elem_dim(p.at[i]) : TL_DIM_UNKNOWN;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, (uint32_t)(arg % 10)), rank, dims);
}

/* dY, X, W -> gradients of X, W and of the bias, one number for each channel of dY. */
tl_status tl_infer_conv_grad(tl_infer *ctx, uint32_t node) {
  tl_dim channels = tl_infer_dim(ctx, 0, 1);
  (void)node;
  if (tl_infer_n_operands(ctx) < 3)
    return tl_infer_fail(ctx, "%u operands, not 3", tl_infer_n_operands(ctx));
  TL_TRY(tl_infer_put_same(ctx, 0, 1));
  TL_TRY(tl_infer_put_same(ctx, 1, 2));
  return tl_infer_put(ctx, 2, tl_infer_dtype(ctx, 2), 1, &channels);
}

/* dY, logarithms of probabilities, labels ... -> the gradient of the scores. */
tl_status tl_infer_loss_grad(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_type, tl_infer_dtype(ctx, 1), &dtype));
  return tl_infer_put_like(ctx, 0, dtype, 1);
}

/* ConcatTraining: the joined tensor and the lengths of its parts, known where types say them. */
tl_status tl_infer_concat_training(tl_infer *ctx, uint32_t node) {
  tl_elem lengths[TL_MAX_PARTIAL];
  uint32_t n = tl_infer_n_operands(ctx), axis;
  TL_TRY(tl_infer_concat(ctx, node));
  if (tl_infer_n_results(ctx) < 2 || n > TL_MAX_PARTIAL || tl_infer_rank(ctx, 0) <= 0)
    return TL_OK;
  int64_t at = tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0);
  TL_TRY(tl_infer_axis(ctx, at, tl_infer_rank(ctx, 0), &axis));
  for (uint32_t i = 0; i < n; i++)
    lengths[i] = tl_elem_from_dim(tl_infer_dim(ctx, i, (int)axis));
  return tl_infer_set_elems(ctx, 1, lengths, n);
}

/* Returns a dim of a shape counted from its end; 1 before its beginning. */
static tl_elem from_end(tl_partial p, uint32_t back) {
  return back <= p.n ? p.at[p.n - back] : (tl_elem){TL_ELEM_INT, 1};
}

/* Returns which dim was stretched: 1 that of a, 2 that of b, 0 neither, -1 when it cannot be
 * told. */
static int stretched(tl_partial a, tl_partial b, uint32_t back) {
  tl_elem of_a = from_end(a, back), of_b = from_end(b, back);
  if (back > a.n || back > b.n)
    return back > a.n ? 1 : 2;
  if (of_a.kind == TL_ELEM_UNKNOWN || of_b.kind == TL_ELEM_UNKNOWN)
    return -1;
  if (of_a.kind == of_b.kind && of_a.value == of_b.value)
    return 0;
  if (of_a.kind == TL_ELEM_INT && of_b.kind == TL_ELEM_INT)
    return of_a.value == 1 ? 1 : of_b.value == 1 ? 2 : -1;
  return -1;
}

/* BroadcastGradientArgs: two shapes -> the axes along which each was stretched, the last one
 * first. */
tl_status tl_infer_broadcast_gradient_args(tl_infer *ctx, uint32_t node) {
  tl_partial a = tl_infer_elems(ctx, 0), b = tl_infer_elems(ctx, 1);
  tl_elem axes[2][TL_MAX_RANK];
  uint32_t n[2] = {0, 0}, rank = a.n > b.n ? a.n : b.n;
  bool known = a.at && b.at && rank <= TL_MAX_RANK;
  (void)node;
  for (uint32_t back = 1; known && back <= rank; back++) {
    int which = stretched(a, b, back);
    known = which >= 0;
    if (which > 0)
      axes[which - 1][n[which - 1]++] = (tl_elem){TL_ELEM_INT, rank - back};
  }
  for (uint32_t i = 0; i < 2; i++) {
    tl_dim length = known ? (tl_dim)n[i] : TL_DIM_UNKNOWN;
    TL_TRY(tl_infer_put(ctx, i, TL_DTYPE_I64, 1, &length));
    if (known && i < tl_infer_n_results(ctx))
      TL_TRY(tl_infer_set_elems(ctx, i, axes[i], n[i]));
  }
  return TL_OK;
}

/* One number about all operands; its dtype is the declared one, else that of operand 0. */
tl_status tl_infer_one_number(tl_infer *ctx, uint32_t node) {
  tl_value_id v = tl_result(ctx->m, node, 0);
  tl_dtype declared = tl_type_dtype(ctx->m, tl_value_type(ctx->m, v));
  return tl_infer_put(ctx, 0, declared ? declared : tl_infer_dtype(ctx, 0), 0, NULL);
}

/* MixedPrecisionScale: operands in the dtype of attribute `to`, one result each or one line of
 * all. */
tl_status tl_infer_mixed_scale(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_to, TL_DTYPE_NONE, &dtype));
  if (tl_node_attr_int(ctx->m, node, TL_SYM_fuse_outputs, 0)) {
    tl_dim line = TL_DIM_UNKNOWN;
    return tl_infer_put(ctx, 0, dtype, 1, &line);
  }
  for (uint32_t i = 0; i < tl_infer_n_results(ctx) && i + 1 < tl_infer_n_operands(ctx); i++)
    TL_TRY(tl_infer_put_like(ctx, i, dtype, i + 1));
  return TL_OK;
}

/* The input of the pooling: images and channels of the gradient, and the plane that the model
 * states, since no operand says how large it was. */
tl_status tl_infer_pool_grad(tl_infer *ctx, uint32_t node) {
  const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, node, 0)));
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  bool stated = t->kind == TL_KIND_TENSOR && t->rank == rank;
  for (int i = 0; i < rank; i++)
    dims[i] = i < 2 ? tl_infer_dim(ctx, 0, i) : stated ? t->dims[i] : TL_DIM_UNKNOWN;
  return tl_infer_put(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* x, the sizes of the filter, gradient -> gradient of the filter, in f32 but for f64. */
tl_status tl_infer_filter_size(tl_infer *ctx, uint32_t node) {
  tl_int_list sizes;
  tl_dim dims[TL_MAX_RANK];
  bool known = tl_infer_ints(ctx, 1, &sizes) && sizes.n <= TL_MAX_RANK;
  (void)node;
  for (uint32_t i = 0; known && i < sizes.n; i++)
    dims[i] = sizes.at[i] < 0 ? TL_DIM_UNKNOWN : sizes.at[i];
  tl_dtype dtype = tl_infer_dtype(ctx, 0) == TL_DTYPE_F64 ? TL_DTYPE_F64 : TL_DTYPE_F32;
  return tl_infer_put(ctx, 0, dtype, known ? (int)sizes.n : TL_RANK_UNKNOWN, dims);
}
