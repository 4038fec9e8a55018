/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft's ops on quantized bytes: dequantize, compute in f32, quantize. With one
 * operand the op is a table of 256 results; with two it is computed element by element. Scales and
 * zero points are scalars. */
#include "ir/eval/quantized/qlinear.h"
#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"

tl_status tl_qlinear_scale(tl_eval *ctx, uint32_t i, tl_scaled *out) {
  double scale, zero;
  if (!tl_eval_in(ctx, i))
    return tl_eval_fail(ctx, "operand %u, a scale, is absent", i);
  TL_TRY(tl_eval_operand_float(ctx, i, 1, &scale));
  TL_TRY(tl_eval_operand_float(ctx, i + 1, 0, &zero));
  *out = (tl_scaled){(float)scale, (float)zero};
  return TL_OK;
}

tl_status tl_qlinear_bytes(tl_eval *ctx, uint32_t i, tl_dtype *d, tl_quantizer *q) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR || (t->dtype != TL_DTYPE_I8 && t->dtype != TL_DTYPE_U8))
    return tl_eval_fail(ctx, "operand %u must be a tensor of i8 or u8", i);
  *d = (tl_dtype)t->dtype;
  (void)tl_quantizer_for(*d, true, q);
  return TL_OK;
}

/* ---- one operand ---------------------------------------------------------------------------- */

static void look_up(TL_ROW_ARGS) {
  const uint8_t *table = user, *a = in[0];
  uint8_t *o = out;
  (void)steps;
  for (uint64_t i = 0; i < n; i++)
    o[i] = table[a[i]];
}

typedef float (*activation)(float v, float alpha);

/* Computes the function for each of the 256 bytes once, then looks the elements up. */
static tl_status by_table(tl_eval *ctx, activation fn, float alpha) {
  tl_dtype d;
  tl_quantizer q;
  tl_scaled from, to;
  float v[256];
  uint8_t table[256];
  TL_TRY(tl_qlinear_bytes(ctx, 0, &d, &q));
  TL_TRY(tl_qlinear_scale(ctx, 1, &from));
  TL_TRY(tl_qlinear_scale(ctx, 3, &to));
  for (int i = 0; i < 256; i++)
    v[i] = fn(tl_qlinear_value(&from, d, (uint8_t)i), alpha) / to.scale;
  tl_quantizer_store(&q, v, (tl_zero_points){&to.zero, 0}, table, 0, 256);
  return tl_eval_elementwise(ctx, ctx->in, 1, d, look_up, table);
}

static float leaky(float v, float alpha) { return v < 0 ? alpha * v : v; }

static float sigmoid(float v, float alpha) {
  (void)alpha;
  return (float)tl_sigmoid((double)v);
}

tl_status tl_eval_qlinear_leaky_relu(tl_eval *ctx) {
  return by_table(ctx, leaky, tl_eval_float(ctx, TL_SYM_alpha, 0.01f));
}

tl_status tl_eval_qlinear_sigmoid(tl_eval *ctx) { return by_table(ctx, sigmoid, 0); }

/* ---- two operands --------------------------------------------------------------------------- */

typedef struct two {
  tl_dtype dtype;
  tl_quantizer q;
  tl_scaled a;
  tl_scaled b;
  tl_scaled c;
  bool multiply;
} two;

/* A tl_row of QLinearAdd and QLinearMul, in blocks that the quantizer stores at once. */
static void combine(TL_ROW_ARGS) {
  enum { BLOCK = 256 };
  const two *t = user;
  const uint8_t *a = in[0], *b = in[1];
  float v[BLOCK];
  for (uint64_t i = 0; i < n; i += BLOCK) {
    uint64_t m = n - i < BLOCK ? n - i : BLOCK;
    for (uint64_t k = 0; k < m; k++) {
      float p = tl_qlinear_value(&t->a, t->dtype, a[(int64_t)(i + k) * steps[0]]);
      float r = tl_qlinear_value(&t->b, t->dtype, b[(int64_t)(i + k) * steps[1]]);
      v[k] = (t->multiply ? p * r : p + r) / t->c.scale;
    }
    tl_quantizer_store(&t->q, v, (tl_zero_points){&t->c.zero, 0}, out, i, m);
  }
}

static tl_status quantized_pair(tl_eval *ctx, bool multiply) {
  two t = {.multiply = multiply};
  tl_dtype other;
  TL_TRY(tl_qlinear_bytes(ctx, 3, &other, &t.q));
  TL_TRY(tl_qlinear_bytes(ctx, 0, &t.dtype, &t.q));
  if (other != t.dtype)
    return tl_eval_fail(ctx, "the operands must be of one element type");
  TL_TRY(tl_qlinear_scale(ctx, 1, &t.a));
  TL_TRY(tl_qlinear_scale(ctx, 4, &t.b));
  TL_TRY(tl_qlinear_scale(ctx, 6, &t.c));
  const tl_host *in[] = {ctx->in[0], ctx->in[3]};
  return tl_eval_elementwise(ctx, in, 2, t.dtype, combine, &t);
}

tl_status tl_eval_qlinear_add(tl_eval *ctx) { return quantized_pair(ctx, false); }
tl_status tl_eval_qlinear_mul(tl_eval *ctx) { return quantized_pair(ctx, true); }

/* ---- Where ---------------------------------------------------------------------------------- */

typedef struct choice {
  tl_dtype dtype;
  uint8_t x[256]; /* requantized bytes */
  uint8_t y[256];
} choice;

static void choose(TL_ROW_ARGS) {
  const choice *c = user;
  const uint8_t *which = in[0], *a = in[1], *b = in[2];
  uint8_t *o = out;
  for (uint64_t i = 0; i < n; i++) {
    int64_t at = (int64_t)i;
    o[i] = which[at * steps[0]] ? c->x[a[at * steps[1]]] : c->y[b[at * steps[2]]];
  }
}

/* Fills a table of bytes of scale `to` for the bytes of scale `from`. */
static void requantize(const tl_scaled *from, const tl_scaled *to, tl_dtype d, uint8_t *table) {
  float v[256];
  tl_quantizer q;
  (void)tl_quantizer_for(d, true, &q);
  for (int i = 0; i < 256; i++)
    v[i] = tl_qlinear_value(from, d, (uint8_t)i) / to->scale;
  tl_quantizer_store(&q, v, (tl_zero_points){&to->zero, 0}, table, 0, 256);
}

tl_status tl_eval_qlinear_where(tl_eval *ctx) {
  choice c;
  tl_quantizer q;
  tl_dtype other;
  tl_scaled a, b, z;
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  TL_TRY(tl_qlinear_bytes(ctx, 1, &c.dtype, &q));
  TL_TRY(tl_qlinear_bytes(ctx, 4, &other, &q));
  if (ctx->in[0]->dtype != TL_DTYPE_BOOL || other != c.dtype)
    return tl_eval_fail(ctx, "the op takes bool and two operands of one element type");
  TL_TRY(tl_qlinear_scale(ctx, 2, &a));
  TL_TRY(tl_qlinear_scale(ctx, 5, &b));
  TL_TRY(tl_qlinear_scale(ctx, 7, &z));
  requantize(&a, &z, c.dtype, c.x);
  requantize(&b, &z, c.dtype, c.y);
  const tl_host *in[] = {ctx->in[0], ctx->in[1], ctx->in[4]};
  return tl_eval_elementwise(ctx, in, 3, c.dtype, choose, &c);
}

/* ---- MulInteger ----------------------------------------------------------------------------- */

/* Differences of bytes and zero points are exact in f32, and so are their int32 products. */
static void multiply_integers(TL_ROW_ARGS) {
  const two *t = user;
  const uint8_t *a = in[0], *b = in[1];
  int32_t *o = out;
  for (uint64_t i = 0; i < n; i++) {
    float p = tl_qlinear_value(&t->a, t->dtype, a[(int64_t)i * steps[0]]);
    float r = tl_qlinear_value(&t->b, t->dtype, b[(int64_t)i * steps[1]]);
    o[i] = (int32_t)p * (int32_t)r;
  }
}

/* MulInteger: (A - zero point) * (B - zero point). */
tl_status tl_eval_mul_integer(tl_eval *ctx) {
  two t = {.a = {1, 0}, .b = {1, 0}};
  double zero;
  TL_TRY(tl_qlinear_bytes(ctx, 0, &t.dtype, &t.q));
  TL_TRY(tl_qlinear_bytes(ctx, 2, &t.dtype, &t.q));
  TL_TRY(tl_eval_operand_float(ctx, 1, 0, &zero));
  t.a.zero = (float)zero;
  TL_TRY(tl_eval_operand_float(ctx, 3, 0, &zero));
  t.b.zero = (float)zero;
  const tl_host *in[] = {ctx->in[0], ctx->in[2]};
  return tl_eval_elementwise(ctx, in, 2, TL_DTYPE_I32, multiply_integers, &t);
}
