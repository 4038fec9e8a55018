/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft's optimizers on sequences of tensors: AdamWOptimizer, SGDOptimizerV2,
 * InplaceClipGradNorm. */
#include <math.h>

#include "ir/eval/training/optimizer.h"

/* Checks that operand i is a sequence of n f32 or f64 tensors. */
static tl_status need_sequence(tl_eval *ctx, uint32_t i, uint64_t n) {
  const tl_host *s = tl_eval_in(ctx, i);
  if (!s || s->kind != TL_HOST_SEQUENCE || s->n != n)
    return tl_eval_fail(ctx, "operand %u must be a sequence of %llu tensors", i,
                        (unsigned long long)n);
  for (uint64_t k = 0; k < n; k++) {
    const tl_host *t = tl_host_item(s, k);
    if (t->kind != TL_HOST_TENSOR || !tl_cells_are_floats(t->dtype))
      return tl_eval_unsupported(ctx, "operand %u holds something else than f32 and f64 tensors",
                                 i);
  }
  return TL_OK;
}

/* Returns the length of operand i, 0 when it is no sequence. */
static uint64_t length_of(const tl_eval *ctx, uint32_t i) {
  const tl_host *s = tl_eval_in(ctx, i);
  return s && s->kind == TL_HOST_SEQUENCE ? s->n : 0;
}

/* Reads whether to update, and makes result 0, which says whether it was done. */
static tl_status read_signal(tl_eval *ctx, uint32_t i, bool *update) {
  int64_t signal;
  tl_host *done;
  tl_value_id v = tl_result(ctx->m, ctx->node, 0);
  bool as_int = tl_type_dtype(ctx->m, tl_value_type(ctx->m, v)) == TL_DTYPE_I64;
  TL_TRY(tl_eval_operand_int(ctx, i, 1, &signal));
  *update = signal != 0;
  TL_TRY(tl_eval_result(ctx, 0, as_int ? TL_DTYPE_I64 : TL_DTYPE_BOOL, 1, (const int64_t[]){1},
                        &done));
  if (as_int)
    ((int64_t *)done->data)[0] = *update;
  else
    ((uint8_t *)done->data)[0] = *update;
  return TL_OK;
}

/* Makes a new tensor for each one of a sequence. *out: the tensors are the caller's to release;
 * NULL on failure. */
static tl_status make_likes(tl_eval *ctx, uint32_t operand, tl_host ***out) {
  const tl_host *s = tl_eval_in(ctx, operand);
  *out = tl_eval_scratch(ctx, s->n, sizeof **out);
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < s->n; k++) {
    const tl_host *t = tl_host_item(s, k);
    (*out)[k] = tl_host_new(ctx->heap, (tl_dtype)t->dtype, t->rank, t->dims);
    if ((*out)[k])
      continue;
    while (k > 0)
      tl_host_release((*out)[--k]);
    *out = NULL;
    return tl_eval_no_memory(ctx);
  }
  return TL_OK;
}

/* Makes result i the sequence of the items, which are given up in either case. */
static tl_status put_sequence(tl_eval *ctx, uint32_t i, tl_host **items, uint64_t n) {
  tl_host *s = tl_host_sequence(ctx->heap, items, n);
  for (uint64_t k = 0; k < n; k++)
    tl_host_release(items[k]);
  if (!s)
    return tl_eval_no_memory(ctx);
  tl_status status = tl_eval_pass(ctx, i, s);
  tl_host_release(s);
  return status;
}

/* ---- AdamWOptimizer ------------------------------------------------------------------------- */

static tl_status adamw_all(tl_eval *ctx, tl_adam *a, tl_host **w, tl_host **m1, tl_host **m2) {
  for (uint64_t k = 0; k < length_of(ctx, 2); k++) {
    a->w = tl_host_item(tl_eval_in(ctx, 2), k);
    a->g = tl_host_item(tl_eval_in(ctx, 3), k);
    a->m1 = tl_host_item(tl_eval_in(ctx, 4), k);
    a->m2 = tl_host_item(tl_eval_in(ctx, 5), k);
    a->new_w = w[k];
    a->new_m1 = m1[k];
    a->new_m2 = m2[k];
    TL_TRY(tl_adam_step(ctx, a));
  }
  return TL_OK;
}

static void drop(tl_host **items, uint64_t n) {
  for (uint64_t k = 0; items && k < n; k++)
    tl_host_release(items[k]);
}

/* On failure the tensors that no result has taken are released. */
static tl_status adamw_run(tl_eval *ctx, tl_adam *a) {
  uint64_t n = length_of(ctx, 2);
  tl_host **to[3] = {NULL, NULL, NULL};
  tl_status status = make_likes(ctx, 2, &to[0]);
  if (status == TL_OK)
    status = make_likes(ctx, 4, &to[1]);
  if (status == TL_OK)
    status = make_likes(ctx, 5, &to[2]);
  if (status == TL_OK)
    status = adamw_all(ctx, a, to[0], to[1], to[2]);
  for (uint32_t i = 0; i < 3; i++) {
    if (status == TL_OK)
      status = put_sequence(ctx, 1 + i, to[i], n);
    else
      drop(to[i], n);
  }
  return status;
}

/* AdamWOptimizer: lr, step, weights, gradients, two moments, update signal. */
tl_status tl_eval_adamw(tl_eval *ctx) {
  int64_t step;
  double rate;
  bool update;
  for (uint32_t i = 2; i < 6; i++)
    TL_TRY(need_sequence(ctx, i, length_of(ctx, 2)));
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &rate));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &step));
  TL_TRY(read_signal(ctx, 6, &update));
  static const uint32_t from[] = {2, 4, 5};
  for (uint32_t i = 0; i < 3 && !update; i++)
    TL_TRY(tl_eval_pass(ctx, 1 + i, tl_eval_in(ctx, from[i])));
  if (!update)
    return TL_OK;
  tl_adam a = {.rate = rate,
               .scale = 1,
               .alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 0.9f),
               .beta = (double)tl_eval_float(ctx, TL_SYM_beta, 0.999f),
               .epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-8f),
               .decay = (double)tl_eval_float(ctx, TL_SYM_weight_decay, 0.01f)};
  a.mode = tl_eval_int(ctx, TL_SYM_adam_mode, 0) ? TL_ADAM_DECAY_LAST : TL_ADAM_DECAY_FIRST;
  tl_adam_correct(&a, step, tl_eval_int(ctx, TL_SYM_correct_bias, 1) != 0);
  return adamw_run(ctx, &a);
}

/* ---- SGDOptimizerV2, InplaceClipGradNorm ---------------------------------------------------- */

/* Computes to = w + factor * g; w NULL: without w. */
static void add_scaled(const tl_host *w, const tl_host *g, double factor, tl_host *to) {
  for (uint64_t i = 0; i < to->n; i++) {
    double v = (w ? tl_cell_at(w, i) : 0) + factor * tl_cell_at(g, i);
    tl_cells_store(to->dtype, &v, to->data, i, 1, 1);
  }
}

/* SGDOptimizerV2: lr, weights, gradients, update signal. */
tl_status tl_eval_sgd_sequence(tl_eval *ctx) {
  double rate;
  bool update;
  uint64_t n = length_of(ctx, 1);
  tl_host **to;
  TL_TRY(need_sequence(ctx, 1, n));
  TL_TRY(need_sequence(ctx, 2, n));
  const tl_host *w = tl_eval_in(ctx, 1), *g = tl_eval_in(ctx, 2);
  for (uint64_t k = 0; k < n; k++)
    if (tl_host_item(w, k)->n != tl_host_item(g, k)->n)
      return tl_eval_fail(ctx, "weights and gradients %llu differ in size", (unsigned long long)k);
  TL_TRY(tl_eval_operand_float(ctx, 0, 0, &rate));
  TL_TRY(read_signal(ctx, 3, &update));
  if (!update)
    return tl_eval_pass(ctx, 1, w);
  TL_TRY(make_likes(ctx, 1, &to));
  for (uint64_t k = 0; k < n; k++)
    add_scaled(tl_host_item(w, k), tl_host_item(g, k), -rate, to[k]);
  return put_sequence(ctx, 1, to, n);
}

/* InplaceClipGradNorm: scales the gradients so that their common norm is at most max_norm. */
tl_status tl_eval_clip_norm(tl_eval *ctx) {
  const tl_host *g = tl_eval_in(ctx, 0);
  uint64_t n = length_of(ctx, 0);
  tl_sv type = tl_eval_string(ctx, TL_SYM_norm_type);
  double squares = 0, most = (double)tl_eval_float(ctx, TL_SYM_max_norm, 1);
  tl_host **to;
  TL_TRY(need_sequence(ctx, 0, n));
  if (type.n && !tl_sv_is(type, "fro"))
    return tl_eval_unsupported(ctx, "norm_type '%.*s' is not evaluated", TL_SV_ARG(type));
  for (uint64_t k = 0; k < n; k++)
    for (uint64_t i = 0; i < tl_host_item(g, k)->n; i++) {
      double v = tl_cell_at(tl_host_item(g, k), i);
      squares += v * v;
    }
  double factor = most / (sqrt(squares) + 1e-6);
  TL_TRY(make_likes(ctx, 0, &to));
  for (uint64_t k = 0; k < n; k++)
    add_scaled(NULL, tl_host_item(g, k), factor < 1 ? factor : 1, to[k]);
  return put_sequence(ctx, 0, to, n);
}
