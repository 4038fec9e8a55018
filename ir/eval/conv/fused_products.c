/* SPDX-License-Identifier: Apache-2.0 */
/* Computes products and convolutions that end in an activation. */
#include "ir/eval/conv/conv.h"
#include "ir/eval/linear/matmul.h"
#include "ir/eval/math/fused_activation.h"

tl_status tl_eval_fused_matmul_activation(tl_eval *ctx) {
  tl_activation a;
  tl_host *y;
  TL_TRY(tl_activation_read(ctx, &a));
  TL_TRY(tl_matmul_fused(ctx, &y));
  return tl_activation_apply(ctx, &a, y);
}

tl_status tl_eval_fused_gemm(tl_eval *ctx) {
  tl_activation a;
  tl_host *y;
  TL_TRY(tl_activation_read(ctx, &a));
  TL_TRY(tl_linear_run(ctx, &y));
  return tl_activation_apply(ctx, &a, y);
}

/* Adds one number for each column to y, or t itself when it has as many elements as y. */
static tl_status add(tl_eval *ctx, tl_host *y, const tl_host *t, const char *what) {
  bool columns = t->kind == TL_HOST_TENSOR && t->rank == 1 && y->rank > 0 &&
                 t->dims[0] == y->dims[y->rank - 1];
  if (t->kind != TL_HOST_TENSOR || t->dtype != y->dtype || (!columns && t->n != y->n))
    return tl_eval_fail(ctx, "%s does not fit the result", what);
  uint64_t n = columns ? (uint64_t)t->dims[0] : y->n;
  for (uint64_t i = 0; i < y->n; i++)
    if (y->dtype == TL_DTYPE_F32)
      ((float *)y->data)[i] += ((const float *)t->data)[columns ? i % n : i];
    else
      ((double *)y->data)[i] += ((const double *)t->data)[columns ? i % n : i];
  return TL_OK;
}

/* GemmFastGelu: FastGelu(X W + bias). */
tl_status tl_eval_gemm_fast_gelu(tl_eval *ctx) {
  tl_activation a = {.kind = TL_ACT_FAST_GELU};
  tl_host *y;
  TL_TRY(tl_matmul_fused(ctx, &y));
  if (tl_eval_in(ctx, 2))
    TL_TRY(add(ctx, y, tl_eval_in(ctx, 2), "the bias"));
  return tl_activation_apply(ctx, &a, y);
}

/* FusedConv: activation(Conv(X, W, B) + Z). ARG 1: channels last. */
tl_status tl_eval_fused_conv(tl_eval *ctx) {
  tl_activation a;
  tl_host *y;
  TL_TRY(tl_activation_read(ctx, &a));
  TL_TRY(tl_conv_float(ctx, ctx->arg == 1, &y));
  const tl_host *z = tl_eval_in(ctx, 3);
  if (z && z->rank != y->rank)
    return tl_eval_fail(ctx, "Z does not fit the result");
  if (z)
    TL_TRY(add(ctx, y, z, "Z"));
  return tl_activation_apply(ctx, &a, y);
}
