/* SPDX-License-Identifier: Apache-2.0 */
/* Computes NPU ops whose meaning ONNX's ops cannot express; passes/definitions has the others. */
#include <math.h>

#include "ir/eval/kernel/kernel.h"

enum { GRAIN = 1 << 14 };

/* Scaled sums, for the threads. */
typedef struct dequant {
  const int32_t *in;
  void *out;
  const float *scale;
  uint64_t n_scales; /* 1, or one a channel */
  uint64_t inner;    /* elements behind the channel */
  bool relu;
} dequant;

/* Reads scales as floats. A scale of 64 bits holds an f32 in its lower half. */
static tl_status read_scales(tl_eval *ctx, const tl_host *t, float **out) {
  *out = tl_eval_scratch(ctx, t->n + 1, sizeof **out);
  if (!*out)
    return tl_eval_no_memory(ctx);
  bool bits64 = t->dtype == TL_DTYPE_U64 || t->dtype == TL_DTYPE_I64;
  for (uint64_t i = 0; bits64 && i < t->n; i++) {
    uint32_t bits = (uint32_t)((const uint64_t *)t->data)[i];
    memcpy(*out + i, &bits, sizeof bits);
  }
  if (!bits64)
    tl_host_to_f32((tl_dtype)t->dtype, t->data, *out, 0, t->n);
  return TL_OK;
}

static float scaled(const dequant *d, uint64_t i) {
  float v = (float)d->in[i] * d->scale[d->n_scales == 1 ? 0 : i / d->inner % d->n_scales];
  return d->relu && v < 0 ? 0 : v;
}

static void dequantize(void *user, uint64_t begin, uint64_t end) {
  const dequant *d = user;
  float *out = d->out;
  for (uint64_t i = begin; i < end; i++)
    out[i] = scaled(d, i);
}

/* Rounds half to even and saturates; NaN gives 0. */
static void requantize(void *user, uint64_t begin, uint64_t end) {
  const dequant *d = user;
  int8_t *out = d->out;
  for (uint64_t i = begin; i < end; i++) {
    float v = rintf(scaled(d, i));
    out[i] = v >= 127 ? 127 : v <= -128 ? -128 : v == v ? (int8_t)v : 0;
  }
}

/* Reads sums of products and their scales: one, or one for each channel, which is dim 1 of images
 * and the last dim otherwise. sqrt_mode: the scale is given as its square root. */
static tl_status read_sums(tl_eval *ctx, dequant *d) {
  const tl_host *t = tl_eval_in(ctx, 0), *scales = tl_eval_in(ctx, 1);
  float *scale;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  int channel = t->rank >= 4 ? 1 : t->rank - 1;
  int64_t inner = 1;
  if (t->rank && !tl_eval_product(t->dims, channel + 1, t->rank, &inner))
    return tl_eval_no_memory(ctx);
  if (scales->n != 1 && (t->rank == 0 || scales->n != (uint64_t)t->dims[channel]))
    return tl_eval_fail(ctx, "there are %llu scales, expected one or one a channel",
                        (unsigned long long)scales->n);
  TL_TRY(read_scales(ctx, scales, &scale));
  for (uint64_t i = 0; tl_eval_int(ctx, TL_SYM_sqrt_mode, 0) && i < scales->n; i++)
    scale[i] *= scale[i];
  *d = (dequant){.in = t->data,
                 .scale = scale,
                 .n_scales = scales->n,
                 .inner = inner > 0 ? (uint64_t)inner : 1,
                 .relu = tl_eval_int(ctx, TL_SYM_relu_flag, 0) != 0};
  return TL_OK;
}

static tl_status scale_sums(tl_eval *ctx, tl_dtype dtype,
                            void (*work)(void *user, uint64_t begin, uint64_t end)) {
  const tl_host *t = tl_eval_in(ctx, 0);
  tl_host *y;
  dequant d;
  TL_TRY(read_sums(ctx, &d));
  TL_TRY(tl_eval_result_like(ctx, 0, dtype, t, &y));
  d.out = y->data;
  tl_eval_for(ctx, t->n, GRAIN, work, &d);
  return TL_OK;
}

/* AscendDequant: sums times scales. */
tl_status tl_eval_ascend_dequant(tl_eval *ctx) { return scale_sums(ctx, TL_DTYPE_F32, dequantize); }

/* AscendRequant: sums times scales, as 8-bit integers. */
tl_status tl_eval_ascend_requant(tl_eval *ctx) { return scale_sums(ctx, TL_DTYPE_I8, requantize); }
