/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft's ops on quantized bytes that look at more than one element: softmax,
 * means of channels, concatenation. Values are dequantized, computed in f64 and quantized once. */
#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"
#include "ir/eval/movement/concat.h"
#include "ir/eval/quantized/qlinear.h"

enum { BYTES = 256 };

static void quantize_one(const tl_quantizer *q, const tl_scaled *to, double v, tl_host *out,
                         uint64_t i) {
  float f = (float)(v / (double)to->scale);
  tl_quantizer_store(q, &f, (tl_zero_points){&to->zero, 0}, out->data, i, 1);
}

/* ---- softmax -------------------------------------------------------------------------------- */

typedef struct softmax {
  const uint8_t *from;
  tl_host *to;
  tl_around around;
  tl_quantizer q;
  tl_scaled y;
  double power[BYTES]; /* exp(-scale * k): by distance from the greatest byte */
} softmax;

/* Looks powers up by the distance to the greatest byte, so that no exponential overflows. The flip
 * orders signed bytes as unsigned ones. */
static void softmax_line(const softmax *s, uint64_t first, uint64_t step) {
  int flip = s->q.to == TL_DTYPE_I8 ? 128 : 0, most = 0;
  for (uint64_t i = 0; i < s->around.axis; i++) {
    int byte = s->from[first + i * step] ^ flip;
    most = byte > most ? byte : most;
  }
  double sum = 0;
  for (uint64_t i = 0; i < s->around.axis; i++)
    sum += s->power[most - (s->from[first + i * step] ^ flip)];
  for (uint64_t i = 0; i < s->around.axis; i++) {
    uint64_t at = first + i * step;
    quantize_one(&s->q, &s->y, s->power[most - (s->from[at] ^ flip)] / sum, s->to, at);
  }
}

static void softmax_range(void *user, uint64_t begin, uint64_t end) {
  const softmax *s = user;
  uint64_t inner = s->around.inner;
  for (uint64_t i = begin; i < end; i++)
    softmax_line(s, i / inner * s->around.axis * inner + i % inner, inner);
}

/* QLinearSoftmax. Before opset 13 everything from the axis on is one line. */
tl_status tl_eval_qlinear_softmax(tl_eval *ctx) {
  softmax s;
  tl_dtype d;
  tl_scaled from;
  uint32_t axis;
  TL_TRY(tl_qlinear_bytes(ctx, 0, &d, &s.q));
  TL_TRY(tl_qlinear_scale(ctx, 1, &from));
  TL_TRY(tl_qlinear_scale(ctx, 3, &s.y));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), t->rank, &axis));
  if (!(from.scale > 0))
    return tl_eval_fail(ctx, "the scale must be positive");
  TL_TRY(tl_eval_result_like(ctx, 0, d, t, &s.to));
  if (!t->n)
    return TL_OK;
  s.from = t->data;
  s.around = tl_eval_around(t, axis);
  if (tl_eval_int(ctx, TL_SYM_opset, 13) < 13) {
    s.around.axis *= s.around.inner;
    s.around.inner = 1;
  }
  for (int i = 0; i < BYTES; i++)
    s.power[i] = tl_exp(-(double)from.scale * i);
  tl_eval_for(ctx, s.around.outer * s.around.inner, (1 << 12) / s.around.axis + 1, softmax_range,
              &s);
  return TL_OK;
}

/* ---- mean ----------------------------------------------------------------------------------- */

/* QLinearGlobalAveragePool: the mean over all dims between the first one and the channels. Sums of
 * bytes are exact. */
tl_status tl_eval_qlinear_global_pool(tl_eval *ctx) {
  tl_dtype d;
  tl_quantizer q;
  tl_scaled from, to;
  tl_host *y;
  int64_t dims[TL_MAX_RANK], plane;
  TL_TRY(tl_qlinear_bytes(ctx, 0, &d, &q));
  TL_TRY(tl_qlinear_scale(ctx, 1, &from));
  TL_TRY(tl_qlinear_scale(ctx, 3, &to));
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  bool last = tl_eval_int(ctx, TL_SYM_channels_last, 0) != 0;
  int first = last ? 1 : 2;
  if (!tl_eval_product(t->dims, first, first + t->rank - 2, &plane) || plane == 0)
    return tl_eval_fail(ctx, "a channel has no elements, or more than can be counted");
  for (int i = 0; i < t->rank; i++)
    dims[i] = i >= first && i < first + t->rank - 2 ? 1 : t->dims[i];
  TL_TRY(tl_eval_result(ctx, 0, d, t->rank, dims, &y));
  uint64_t channels = (uint64_t)t->dims[last ? t->rank - 1 : 1], n = (uint64_t)plane;
  const uint8_t *in = t->data;
  for (uint64_t i = 0; i < y->n; i++) {
    uint64_t base = last ? i / channels * channels * n + i % channels : i * n;
    int64_t sum = 0;
    for (uint64_t k = 0; k < n; k++) {
      uint8_t byte = in[base + k * (last ? channels : 1)];
      sum += d == TL_DTYPE_I8 && byte > 127 ? byte - BYTES : byte;
    }
    double mean = (double)sum / (double)plane - (double)from.zero;
    quantize_one(&q, &to, mean * (double)from.scale, y, i);
  }
  return TL_OK;
}

/* ---- concatenation -------------------------------------------------------------------------- */

/* Converts a part, operand i followed by its scale and zero point, to bytes of the result's scale.
 * *out: the caller's to release. */
static tl_status requantized(tl_eval *ctx, uint32_t i, tl_dtype d, const tl_scaled *to,
                             tl_host **out) {
  tl_dtype own;
  tl_quantizer q;
  tl_scaled from;
  float v[BYTES];
  uint8_t table[BYTES];
  TL_TRY(tl_qlinear_bytes(ctx, i, &own, &q));
  if (own != d)
    return tl_eval_fail(ctx, "operand %u is not of the type of the result", i);
  TL_TRY(tl_qlinear_scale(ctx, i + 1, &from));
  for (int k = 0; k < BYTES; k++)
    v[k] = tl_qlinear_value(&from, d, (uint8_t)k) / to->scale;
  tl_quantizer_store(&q, v, (tl_zero_points){&to->zero, 0}, table, 0, BYTES);
  const tl_host *t = ctx->in[i];
  *out = tl_host_new(ctx->heap, d, t->rank, t->dims);
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < t->n; k++)
    ((uint8_t *)(*out)->data)[k] = table[((const uint8_t *)t->data)[k]];
  return TL_OK;
}

/* QLinearConcat: scale and zero point of the result, then three operands for each part. */
tl_status tl_eval_qlinear_concat(tl_eval *ctx) {
  tl_dtype d;
  tl_quantizer q;
  tl_scaled to;
  uint32_t n = (ctx->n_in - 2) / 3, made = 0;
  if (n == 0 || ctx->n_in != 2 + 3 * n)
    return tl_eval_fail(ctx, "each part takes a tensor, a scale and a zero point");
  TL_TRY(tl_qlinear_bytes(ctx, 1, &d, &q));
  TL_TRY(tl_qlinear_scale(ctx, 0, &to));
  tl_host **parts = tl_eval_scratch(ctx, n, sizeof *parts);
  if (!parts)
    return tl_eval_no_memory(ctx);
  tl_status status = TL_OK;
  for (; made < n && status == TL_OK; made += status == TL_OK)
    status = requantized(ctx, 2 + 3 * made, d, &to, &parts[made]);
  if (status == TL_OK)
    status = tl_eval_concat_parts(ctx, (const tl_host *const *)parts, n,
                                  tl_eval_int(ctx, TL_SYM_axis, 0));
  for (uint32_t i = 0; i < made; i++)
    tl_host_release(parts[i]);
  return status;
}
