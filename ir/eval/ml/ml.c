/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of ai.onnx.ml share (ml.h). */
#include "ir/eval/ml/ml.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

/* A plain list of features is one row. */
tl_status tl_ml_read_rows(tl_eval *ctx, uint32_t i, tl_ml_rows *out) {
  TL_TRY(tl_eval_need_rank(ctx, i, 1, 2));
  const tl_host *t = tl_eval_in(ctx, i);
  *out = (tl_ml_rows){t, t->rank == 2 ? t->dims[0] : 1, t->dims[t->rank - 1]};
  return TL_OK;
}

/* Reads a tensor attribute as doubles. */
static tl_status read_tensor(tl_eval *ctx, tl_symbol name, const tl_attr *a, tl_ml_list *out) {
  tl_host *t = tl_host_from_tensor(ctx->heap, ctx->m, tl_tensor_get(ctx->m, a->u.t));
  if (!t)
    return tl_eval_no_memory(ctx);
  double *at = t->dtype == TL_DTYPE_STRING ? NULL : tl_eval_scratch(ctx, t->n, sizeof *at);
  for (uint64_t i = 0; at && i < t->n; i++)
    at[i] = tl_host_at(t, i);
  *out = (tl_ml_list){at, t->n};
  bool strings = t->dtype == TL_DTYPE_STRING;
  tl_host_release(t);
  if (strings)
    return tl_eval_fail(ctx, "attribute %.*s must hold numbers", TL_SV_ARG(tl_sym(ctx->m, name)));
  return at ? TL_OK : tl_eval_no_memory(ctx);
}

tl_status tl_ml_read_floats(tl_eval *ctx, tl_symbol floats, tl_symbol tensor, tl_ml_list *out) {
  const tl_attr *a = floats ? tl_node_attr(ctx->m, ctx->node, floats) : NULL;
  *out = (tl_ml_list){0}; /* without either attribute */
  if (a && a->kind == TL_ATTR_FLOATS && a->count) {
    double *at = tl_eval_scratch(ctx, a->count, sizeof *at);
    if (!at)
      return tl_eval_no_memory(ctx);
    for (uint32_t i = 0; i < a->count; i++)
      at[i] = (double)a->u.fs[i];
    *out = (tl_ml_list){at, a->count};
    return TL_OK;
  }
  a = tensor ? tl_node_attr(ctx->m, ctx->node, tensor) : NULL;
  return a && a->kind == TL_ATTR_TENSOR ? read_tensor(ctx, tensor, a, out) : TL_OK;
}

/* ---- scores --------------------------------------------------------------------------------- */

tl_status tl_ml_read_transform(tl_eval *ctx, tl_ml_transform *out) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  tl_sv text = tl_eval_string(ctx, TL_SYM_post_transform);
  *out = TL_ML_NONE;
  if (text.n == 0)
    return TL_OK;
  for (int i = 0; i <= TL_ML_PROBIT; i++)
    if (tl_sv_is(text, names[i])) {
      *out = (tl_ml_transform)i;
      return TL_OK;
    }
  return tl_eval_unsupported(ctx, "post_transform '%.*s'", TL_SV_ARG(text));
}

/* The exponent is never positive, so exp cannot overflow. */
static double logistic(double v) {
  double s = 1.0 / (1.0 + tl_exp(-fabs(v)));
  return v < 0 ? 1.0 - s : s;
}

/* Returns the inverse of the normal distribution by Winitzki's approximation of the inverse error
 * function, with the constants of the standard's reference (3.14159 for pi). */
static double probit(double p) {
  const double a = 0.147;
  const double v = 2.0 * p - 1.0;
  const double l = tl_log((1.0 - v) * (1.0 + v));
  const double half = 2.0 / (3.14159 * a) + 0.5 * l;
  const double root = sqrt(sqrt(half * half - l / a) - half);
  return 1.41421356237309504880 * (v < 0 ? -root : root);
}

/* zero: scores that are 0 take no part, they are only scaled (SOFTMAX_ZERO). */
static void softmax(double *scores, uint64_t n, bool zero) {
  double most = (double)-INFINITY, sum = 0;
  for (uint64_t i = 0; i < n; i++)
    if (scores[i] > most)
      most = scores[i];
  for (uint64_t i = 0; i < n; i++) {
    if (zero && fabs(scores[i]) <= 1e-7) {
      scores[i] *= tl_exp(-most);
      continue;
    }
    scores[i] = tl_exp(scores[i] - most);
    sum += scores[i];
  }
  for (uint64_t i = 0; i < n && sum != 0; i++)
    scores[i] /= sum;
}

/* A single score stays as it is, but for PROBIT. */
void tl_ml_apply_transform(tl_ml_transform transform, double *scores, uint64_t n) {
  if (n == 1 && transform != TL_ML_PROBIT)
    return;
  if (transform == TL_ML_SOFTMAX || transform == TL_ML_SOFTMAX_ZERO) {
    softmax(scores, n, transform == TL_ML_SOFTMAX_ZERO);
    return;
  }
  for (uint64_t i = 0; i < n; i++)
    if (transform == TL_ML_LOGISTIC)
      scores[i] = logistic(scores[i]);
    else if (transform == TL_ML_PROBIT)
      scores[i] = probit(scores[i]);
}

void tl_ml_make_pair(tl_ml_transform transform, tl_ml_pair pair, double *scores) {
  tl_ml_apply_transform(transform, scores, 1);
  const double s = scores[0];
  scores[1] = s;
  scores[0] = pair == TL_ML_OPPOSITE || transform == TL_ML_LOGISTIC ? -s : 1.0 - s;
  if (transform == TL_ML_LOGISTIC)
    tl_ml_apply_transform(transform, scores, 2);
}

/* Of equal scores the first one wins. */
uint64_t tl_ml_largest(const double *scores, uint64_t n) {
  uint64_t best = 0;
  for (uint64_t i = 1; i < n; i++)
    if (scores[i] > scores[best])
      best = i;
  return best;
}

/* ---- labels --------------------------------------------------------------------------------- */

/* An empty list counts as absent. */
static const tl_attr *filled(const tl_eval *ctx, tl_symbol name, tl_attr_kind kind) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, name);
  return a && a->kind == kind && a->count ? a : NULL;
}

tl_status tl_ml_read_labels(tl_eval *ctx, tl_symbol strings, tl_symbol ints, tl_ml_labels *out) {
  *out = (tl_ml_labels){.strings = filled(ctx, strings, TL_ATTR_STRINGS),
                        .ints = filled(ctx, ints, TL_ATTR_INTS)};
  if (out->strings && out->ints)
    return tl_eval_fail(ctx, "labels are given both as strings and as integers");
  out->n = out->strings ? out->strings->count : out->ints ? out->ints->count : 0;
  return TL_OK;
}

tl_status tl_ml_make_labels(tl_eval *ctx, const tl_ml_labels *labels, int64_t rows, tl_host **out) {
  return tl_eval_result(ctx, 0, labels->strings ? TL_DTYPE_STRING : TL_DTYPE_I64, 1, &rows, out);
}

/* Without labels, or beyond them, the class's number is the label. */
void tl_ml_set_label(tl_eval *ctx, const tl_ml_labels *labels, tl_host *t, uint64_t row,
                     uint64_t which) {
  if (labels->strings)
    ((tl_sv *)t->data)[row] = which < labels->n ? tl_sym(ctx->m, labels->strings->u.ids[which])
                                                : TL_SV("");
  else
    ((int64_t *)t->data)[row] = labels->ints && which < labels->n ? labels->ints->u.is[which]
                                                                  : (int64_t)which;
}
