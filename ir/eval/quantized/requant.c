/* SPDX-License-Identifier: Apache-2.0 */
/* Zero points, scales and the way back to 8 bits (requant.h). */
#include "ir/eval/quantized/requant.h"

#include <math.h>

enum { SUM_GRAIN = 1 << 13 };

/* ---- parameters ----------------------------------------------------------------------------- */

/* Checks that operand i has one element or n. */
static tl_status need_count(tl_eval *ctx, uint32_t i, uint64_t n) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (t->kind == TL_HOST_TENSOR && t->dtype != TL_DTYPE_STRING && (t->n == 1 || t->n == n))
    return TL_OK;
  return tl_eval_fail(ctx, "operand %u must have one element or %llu", i, (unsigned long long)n);
}

/* Without the operand the list is empty, which means 1. */
tl_status tl_factors_read(tl_eval *ctx, uint32_t i, uint64_t n, uint64_t inner, tl_factors *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  *out = (tl_factors){.inner = inner ? inner : 1};
  if (!t)
    return TL_OK;
  TL_TRY(need_count(ctx, i, n));
  float *at = tl_eval_scratch(ctx, t->n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < t->n; k++)
    at[k] = (float)tl_host_at(t, k);
  out->at = at;
  out->n = t->n;
  return TL_OK;
}

/* One zero point is repeated, so that readers need not ask. */
tl_status tl_zeros_read(tl_eval *ctx, uint32_t i, uint64_t n, const int32_t **out) {
  const tl_host *t = tl_eval_in(ctx, i);
  int32_t *at = tl_eval_scratch(ctx, n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  if (t)
    TL_TRY(need_count(ctx, i, n));
  for (uint64_t k = 0; k < n; k++)
    at[k] = t ? (int32_t)tl_host_int_at(t, t->n == 1 ? 0 : k) : 0;
  *out = at;
  return TL_OK;
}

/* ---- packing -------------------------------------------------------------------------------- */

/* Defines the packing of one integer type: a widened number less the zero point of its lane. */
#define DEFINE_PACK(NAME, TYPE)                                                                    \
  static void NAME(const tl_gemm_ints *of, const tl_gemm_block *b, int64_t zero_at,                \
                   uint32_t *dst) {                                                                \
    const TYPE *from = (const TYPE *)of->data + (of->at ? of->at[b->batch] : 0) +                  \
                       b->lane * of->lane_stride + b->k * of->k_stride;                            \
    for (int64_t l = 0; l < b->lanes; l++) {                                                       \
      int32_t zero = of->zero ? of->zero[zero_at + b->lane + l] : 0;                               \
      for (int64_t s = 0; s < b->steps; s++)                                                       \
        dst[s * b->width + l] =                                                                    \
            (uint32_t)((int32_t)from[l * of->lane_stride + s * of->k_stride] - zero);              \
    }                                                                                              \
  }

DEFINE_PACK(pack_u8, uint8_t)
DEFINE_PACK(pack_i8, int8_t)
DEFINE_PACK(pack_u16, uint16_t)
DEFINE_PACK(pack_i16, int16_t)

/* Lanes beyond the matrix are zeros and add nothing. */
void tl_gemm_pack_ints(const void *user, const tl_gemm_block *b, void *dst) {
  const tl_gemm_ints *of = user;
  int64_t zero_at = of->matrix * (int64_t)b->batch;
  if (b->lanes < b->width)
    memset(dst, 0, (size_t)(b->steps * b->width) * sizeof(uint32_t));
  switch (of->dtype) {
  case TL_DTYPE_U8: pack_u8(of, b, zero_at, dst); break;
  case TL_DTYPE_I8: pack_i8(of, b, zero_at, dst); break;
  case TL_DTYPE_U16: pack_u16(of, b, zero_at, dst); break;
  default: pack_i16(of, b, zero_at, dst); break;
  }
}

void tl_gemm_side_ints(const tl_host *t, const int32_t *zero, tl_gemm_ints *of,
                       tl_gemm_side *side) {
  *of = (tl_gemm_ints){
      t->data, (tl_dtype)t->dtype, side->lane_stride, side->k_stride, side->at, zero, 0};
  *side = (tl_gemm_side){.pack = tl_gemm_pack_ints, .user = of};
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Sums of products on their way to a result. */
typedef struct sums {
  const tl_requant *q;
  const tl_host *from;
  tl_host *to;
} sums;

/* Rounds half to even, adds the zero point and saturates; NaN becomes the zero point. */
static int32_t quantize(float v, int32_t zero, int32_t low, int32_t high) {
  float r = rintf(v) + (float)zero;
  return r >= (float)high ? high : r <= (float)low ? low : r > (float)low ? (int32_t)r : zero;
}

/* All scales are multiplied first and applied to the sum once. */
static float scaled(const tl_requant *q, int32_t sum, uint64_t i) {
  float scale = q->alpha;
  if (q->a.at)
    scale *= tl_factor_of(&q->a, i);
  if (q->b.at)
    scale *= tl_factor_of(&q->b, i);
  if (q->y.at)
    scale /= tl_factor_of(&q->y, i);
  float v = (float)sum * scale;
  return q->bias.at ? v + tl_factor_of(&q->bias, i) : v;
}

/* Without a scale of the result, the result is f32. */
static void finish_range(void *user, uint64_t begin, uint64_t end) {
  const sums *s = user;
  const tl_requant *q = s->q;
  const int32_t *sum = s->from->data;
  bool is_signed = s->to->dtype == TL_DTYPE_I8;
  for (uint64_t i = begin; i < end; i++) {
    float v = scaled(q, sum[i], i);
    if (!q->y.at) {
      ((float *)s->to->data)[i] = v;
      continue;
    }
    int32_t zero = q->y_zero ? q->y_zero[q->y.n == 1 ? 0 : i / q->y.inner % q->y.n] : 0;
    if (is_signed)
      ((int8_t *)s->to->data)[i] = (int8_t)quantize(v, zero, INT8_MIN, INT8_MAX);
    else
      ((uint8_t *)s->to->data)[i] = (uint8_t)quantize(v, zero, 0, UINT8_MAX);
  }
}

void tl_requant_run(const tl_eval *ctx, const tl_requant *q, const tl_host *from, tl_host *to) {
  sums s = {q, from, to};
  tl_eval_for(ctx, from->n, SUM_GRAIN, finish_range, &s);
}
