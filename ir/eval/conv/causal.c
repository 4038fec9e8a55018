/* SPDX-License-Identifier: Apache-2.0 */
/* Computes CausalConvWithState: a convolution of each channel with the elements before it. The last
 * elements are handed on as the state of the next step. */
#include "ir/eval/math/fused_activation.h"

/* The operands and results. */
typedef struct causal {
  const tl_host *x;      /* [B,C,L] */
  const tl_host *weight; /* [C,1,k] */
  const tl_host *bias;
  const tl_host *past; /* [B,C,k-1]; NULL: zeros */
  tl_host *y;
  tl_host *present;
  int64_t kernel;
} causal;

/* Defines the row functions of a type. NAME_at returns element t of the past followed by the input;
 * NAME computes row i, a channel of one image, and its new state. */
#define DEFINE_ROWS(NAME, TYPE)                                                                    \
  static TYPE NAME##_at(const causal *c, int64_t i, int64_t t) {                                   \
    int64_t state = c->kernel - 1;                                                                 \
    if (t >= state)                                                                                \
      return ((const TYPE *)c->x->data)[i * c->x->dims[2] + t - state];                            \
    return c->past ? ((const TYPE *)c->past->data)[i * state + t] : (TYPE)0;                       \
  }                                                                                                \
  static void NAME(const causal *c, int64_t i) {                                                   \
    int64_t channel = i % c->x->dims[1], length = c->x->dims[2], state = c->kernel - 1;            \
    const TYPE *w = (const TYPE *)c->weight->data + channel * c->kernel;                           \
    for (int64_t t = 0; t < length; t++) {                                                         \
      TYPE sum = c->bias ? ((const TYPE *)c->bias->data)[channel] : (TYPE)0;                       \
      for (int64_t k = 0; k < c->kernel; k++)                                                      \
        sum += w[k] * NAME##_at(c, i, t + k);                                                      \
      ((TYPE *)c->y->data)[i * length + t] = sum;                                                  \
    }                                                                                              \
    for (int64_t k = 0; k < state; k++)                                                            \
      ((TYPE *)c->present->data)[i * state + k] = NAME##_at(c, i, length + k);                     \
  }

DEFINE_ROWS(row_f32, float)
DEFINE_ROWS(row_f64, double)

/* Row i is channel i % C of image i / C. */
static void rows(void *user, uint64_t begin, uint64_t end) {
  const causal *c = user;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
    if (c->x->dtype == TL_DTYPE_F32)
      row_f32(c, i);
    else
      row_f64(c, i);
}

/* All in f32 or all in f64. */
static bool same_dtype(const causal *c) {
  uint8_t d = c->x->dtype;
  return (d == TL_DTYPE_F32 || d == TL_DTYPE_F64) && c->weight->dtype == d &&
         (!c->bias || c->bias->dtype == d) && (!c->past || c->past->dtype == d);
}

/* Reads the operands and checks that they fit together. */
static tl_status open_causal(tl_eval *ctx, causal *c) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  TL_TRY(tl_eval_need_rank(ctx, 1, 3, 3));
  *c = (causal){tl_eval_in(ctx, 0),
                tl_eval_in(ctx, 1),
                tl_eval_in(ctx, 2),
                tl_eval_in(ctx, 3),
                NULL,
                NULL,
                tl_eval_in(ctx, 1)->dims[2]};
  int64_t batch = c->x->dims[0], channels = c->x->dims[1];
  if (!same_dtype(c))
    return tl_eval_unsupported(ctx, "a convolution of these types is not supported");
  if (c->weight->dims[0] != channels || c->weight->dims[1] != 1 || c->kernel < 1)
    return tl_eval_fail(ctx, "the weight must be [%lld,1,k]", (long long)channels);
  if (c->bias && c->bias->n != (uint64_t)channels)
    return tl_eval_fail(ctx, "the bias must have one number for each of %lld channels",
                        (long long)channels);
  const tl_host *past = c->past;
  if (past && (past->rank != 3 || past->dims[0] != batch || past->dims[1] != channels ||
               past->dims[2] != c->kernel - 1))
    return tl_eval_fail(ctx, "past_state must be [%lld,%lld,%lld]", (long long)batch,
                        (long long)channels, (long long)(c->kernel - 1));
  return TL_OK;
}

tl_status tl_eval_causal_conv(tl_eval *ctx) {
  causal c;
  tl_activation a;
  if (tl_eval_int(ctx, TL_SYM_channels_last, 0) != 0 || tl_eval_int(ctx, TL_SYM_ndim, 1) != 1 ||
      tl_eval_int(ctx, TL_SYM_state_window, 0) != 0 ||
      (tl_eval_int(ctx, TL_SYM_dilation, 1) != 1 && tl_eval_int(ctx, TL_SYM_dilation, 1) != 0))
    return tl_eval_unsupported(
        ctx, "only one axis, channels first, without dilation or a window of states, is supported");
  TL_TRY(tl_activation_read(ctx, &a));
  TL_TRY(open_causal(ctx, &c));
  int64_t dims[3] = {c.x->dims[0], c.x->dims[1], c.kernel - 1};
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)c.x->dtype, c.x, &c.y));
  TL_TRY(tl_eval_result(ctx, 1, (tl_dtype)c.x->dtype, 3, dims, &c.present));
  if (c.y->n || c.present->n)
    tl_eval_for(ctx, (uint64_t)(dims[0] * dims[1]), 16, rows, &c);
  return tl_activation_apply(ctx, &a, c.y);
}
