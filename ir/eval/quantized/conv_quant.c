/* SPDX-License-Identifier: Apache-2.0 */
/* Computes convolutions of 8-bit integers: exact sums, to which scales and rounding are applied
 * once. */
#include "ir/eval/conv/conv.h"
#include "ir/eval/quantized/requant.h"

/* Reads the zero points of x (one) and w (one, or one for each output channel). */
static tl_status read_zeros(tl_eval *ctx, uint32_t x_zero, uint32_t w_zero, tl_conv *c) {
  int64_t zero;
  if (c->x_source < TL_CONV_U8 || c->w_source < TL_CONV_U8)
    return tl_eval_unsupported(ctx, "a quantized convolution of these types is not supported");
  TL_TRY(tl_eval_operand_int(ctx, x_zero, 0, &zero));
  c->x_zero = (int32_t)zero;
  return tl_zeros_read(ctx, w_zero, (uint64_t)(c->groups * c->out_channels), &c->w_zero);
}

/* ConvInteger: x, w, zero points. The sums are the result. */
tl_status tl_eval_conv_integer(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK];
  tl_conv c;
  tl_host *y;
  TL_TRY(tl_conv_open(ctx, 0, 1, false, &c));
  TL_TRY(read_zeros(ctx, 2, 3, &c));
  tl_conv_dims(&c, dims);
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I32, c.window.n + 2, dims, &y));
  c.y = y->data;
  return y->n ? tl_conv_run(ctx, &c) : TL_OK;
}

/* Computes the sums as a value of their own, the caller's to release. They begin as the bias, which
 * has the scale of the sums. */
static tl_status sum_up(tl_eval *ctx, tl_conv *c, const tl_host *bias, tl_host **sums) {
  int64_t dims[TL_MAX_RANK];
  tl_conv_dims(c, dims);
  *sums = tl_host_new(ctx->heap, TL_DTYPE_I32, c->window.n + 2, dims);
  if (!*sums)
    return tl_eval_no_memory(ctx);
  if ((*sums)->n == 0)
    return TL_OK;
  c->y = (*sums)->data;
  c->bias = bias ? bias->data : NULL;
  return tl_conv_run(ctx, c);
}

/* Reads the scales of x, w (one, or one for each output channel) and y, and y's zero point. */
static tl_status read_scales(tl_eval *x, const tl_conv *c, tl_requant *q) {
  uint64_t channels = (uint64_t)(c->groups * c->out_channels);
  uint64_t inner = c->channels_last ? 1 : (uint64_t)c->window.out_plane;
  TL_TRY(tl_factors_read(x, 1, 1, 1, &q->a));
  TL_TRY(tl_factors_read(x, 4, channels, inner, &q->b));
  TL_TRY(tl_factors_read(x, 6, 1, 1, &q->y));
  if (!q->a.at || !q->b.at || !q->y.at)
    return tl_eval_fail(x, "a scale is missing");
  return tl_zeros_read(x, 7, 1, &q->y_zero);
}

/* QLinearConv: x, scale, zero point, w, scale, zero point, scale and zero point of y, bias. */
tl_status tl_eval_qlinear_conv(tl_eval *ctx) {
  tl_conv c;
  tl_host *sums = NULL, *y;
  tl_requant q = {.alpha = 1.0f};
  const tl_host *zero = tl_eval_in(ctx, 7), *bias = tl_eval_in(ctx, 8);
  TL_TRY(tl_conv_open(ctx, 0, 3, tl_eval_int(ctx, TL_SYM_channels_last, 0) != 0, &c));
  TL_TRY(read_zeros(ctx, 2, 5, &c));
  TL_TRY(read_scales(ctx, &c, &q));
  if (!zero || (zero->dtype != TL_DTYPE_U8 && zero->dtype != TL_DTYPE_I8))
    return tl_eval_fail(ctx, "y_zero_point is missing");
  if (c.taps_first)
    return tl_eval_unsupported(ctx, "a weight with its channels last is not supported");
  if (bias && bias->n != (uint64_t)(c.groups * c.out_channels))
    return tl_eval_fail(ctx, "the bias does not have one number for each of %lld channels",
                        (long long)(c.groups * c.out_channels));
  tl_status status = sum_up(ctx, &c, bias, &sums);
  if (status == TL_OK)
    status = tl_eval_result_like(ctx, 0, (tl_dtype)zero->dtype, sums, &y);
  if (status == TL_OK)
    tl_requant_run(ctx, &q, sums, y);
  tl_host_release(sums);
  return status;
}
