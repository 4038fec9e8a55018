/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of losses and optimizers. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

/* States the loss: one number, or one for each label when nothing is reduced. */
static tl_status put_loss(tl_infer *ctx, tl_dtype dtype) {
  tl_sv reduction = tl_node_attr_string(ctx->m, ctx->node, TL_SYM_reduction);
  if (tl_sv_is(reduction, "none"))
    return tl_infer_put_like(ctx, 0, dtype, 1);
  if (reduction.n == 0 || tl_sv_is(reduction, "mean") || tl_sv_is(reduction, "sum"))
    return tl_infer_put(ctx, 0, dtype, 0, NULL);
  return tl_infer_fail(ctx, "attribute reduction: '%.*s' is none of none, mean, sum",
                       TL_SV_ARG(reduction));
}

/* Labels [N, d...] have the shape of scores [N, C, d...] without the classes. */
static tl_status check_labels(tl_infer *ctx) {
  int scores = tl_infer_rank(ctx, 0);
  int labels = tl_infer_rank(ctx, 1);
  if (scores == TL_RANK_UNKNOWN || labels == TL_RANK_UNKNOWN || scores == labels + 1)
    return TL_OK;
  return tl_infer_fail(ctx, "labels of rank %d do not fit scores of rank %d", labels, scores);
}

/* SoftmaxCrossEntropyLoss: scores, labels, weights? -> loss, log_prob. */
tl_status tl_infer_softmax_loss(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_output_type, tl_infer_dtype(ctx, 0), &dtype));
  TL_TRY(put_loss(ctx, dtype));
  return tl_infer_put_like(ctx, 1, dtype, 0);
}

tl_status tl_infer_nll_loss(tl_infer *ctx, uint32_t node) {
  (void)node;
  TL_TRY(check_labels(ctx));
  return put_loss(ctx, tl_infer_dtype(ctx, 0));
}

/* Optimizers of ONNX: R, T, then n each of weights, gradients and states -> n each of new weights
 * and new states. Results have one group less than operands, since gradients have no successor. */
tl_status tl_infer_optimizer(tl_infer *ctx, uint32_t node) {
  uint32_t n_results = tl_infer_n_results(ctx);
  uint32_t n_operands = tl_infer_n_operands(ctx);
  (void)node;
  if (n_operands < 2 || n_operands - 2 <= n_results)
    return tl_infer_fail(ctx, "%u operands do not fit %u results", n_operands, n_results);
  uint32_t n = n_operands - 2 - n_results;
  if (n_results % n != 0)
    return tl_infer_fail(ctx, "%u operands do not fit %u results", n_operands, n_results);
  for (uint32_t i = 0; i < n_results; i++)
    TL_TRY(tl_infer_put_same(ctx, i, i < n ? i + 2 : i + 2 + n));
  return TL_OK;
}

/* Optimizers of one tensor: each result is like the operand it follows. ARG 0: SGD, 1: Adam. */
tl_status tl_infer_single_update(tl_infer *ctx, uint32_t node) {
  static const uint32_t sgd[] = {1, 2}, adam[] = {1, 4, 5, 2, 3, 6};
  bool is_adam = tl_infer_arg(ctx, node) != 0;
  const uint32_t *like = is_adam ? adam : sgd;
  uint32_t most = is_adam ? 6 : 2;
  for (uint32_t i = 0; i < tl_infer_n_results(ctx) && i < most; i++)
    if (like[i] < tl_infer_n_operands(ctx))
      TL_TRY(tl_infer_put_same(ctx, i, like[i]));
  return TL_OK;
}

/* Gradient: values of xs, then of zs -> the derivative of y by each of xs. */
tl_status tl_infer_gradient(tl_infer *ctx, uint32_t node) {
  uint32_t n_results = tl_infer_n_results(ctx);
  (void)node;
  if (n_results > tl_infer_n_operands(ctx))
    return tl_infer_fail(ctx, "%u operands do not fit %u results", tl_infer_n_operands(ctx),
                         n_results);
  for (uint32_t i = 0; i < n_results; i++)
    TL_TRY(tl_infer_put_same(ctx, i, i));
  return TL_OK;
}

/* var, accum ... var_copy (operand 6) -> var, var_copy, accum */
tl_status tl_infer_momentum_copy(tl_infer *ctx, uint32_t node) {
  static const uint32_t like[] = {0, 6, 1};
  (void)node;
  if (tl_infer_n_operands(ctx) < 7)
    return tl_infer_fail(ctx, "%u operands, not 7", tl_infer_n_operands(ctx));
  for (uint32_t i = 0; i < tl_infer_n_results(ctx) && i < 3; i++)
    TL_TRY(tl_infer_put_same(ctx, i, like[i]));
  return TL_OK;
}

/* The overflow flags of a chip: 8 floats, all zero while none is up. */
tl_status tl_infer_float_status(tl_infer *ctx, uint32_t node) {
  const tl_dim flags = 8;
  (void)node;
  return tl_infer_put(ctx, 0, TL_DTYPE_F32, 1, &flags);
}

/* One verdict about all operands. */
tl_status tl_infer_one_bool(tl_infer *ctx, uint32_t node) {
  (void)node;
  return tl_infer_put(ctx, 0, TL_DTYPE_BOOL, 0, NULL);
}

/* buffer, value, overwrite? -> updated [1], buffer */
tl_status tl_infer_accumulate(tl_infer *ctx, uint32_t node) {
  static const tl_dim one = 1;
  (void)node;
  TL_TRY(tl_infer_put(ctx, 0, TL_DTYPE_BOOL, 1, &one));
  return tl_infer_put_like(ctx, 1, tl_infer_dtype(ctx, 0), 0);
}
