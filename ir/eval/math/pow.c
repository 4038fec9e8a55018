/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Pow. The exponent may have another type than the base: integers raised to integers are
 * exact and wrap, everything else goes through double. */
#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"

/* Raises by repeated squaring, modulo 2^64. A negative exponent gives the truncated inverse: 0,
 * unless the base is 1 or -1 (base 0 gives 0 too, where the inverse does not exist). */
static int64_t power_of_int(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, b = (uint64_t)base;
  for (uint64_t e = (uint64_t)exponent; e; e >>= 1) {
    if (e & 1)
      result *= b;
    b *= b;
  }
  return (int64_t)result;
}

/* Returns the power truncated and saturated to [low, high]; NaN gives 0. */
static int64_t power_truncated(double base, double exponent, double low, double high) {
  double v = tl_pow(base, exponent);
  return v != v ? 0 : v <= low ? (int64_t)low : v >= high ? (int64_t)high : (int64_t)v;
}

/* Rows of macros end without a semicolon, and what stands behind them would move. */
/* clang-format off */
static void float_float(TL_ROW_ARGS) TL_ROW2(float, double, float, tl_pow((double)a_, b_))
static void double_float(TL_ROW_ARGS) TL_ROW2(double, double, double, tl_pow(a_, b_))
static void i32_int(TL_ROW_ARGS) TL_ROW2(int32_t, int64_t, int32_t, power_of_int(a_, b_))
static void i64_int(TL_ROW_ARGS) TL_ROW2(int64_t, int64_t, int64_t, power_of_int(a_, b_))
static void i32_float(TL_ROW_ARGS)
    TL_ROW2(int32_t, double, int32_t, power_truncated(a_, b_, -2147483648.0, 2147483647.0))
static void i64_float(TL_ROW_ARGS) TL_ROW2(int64_t, double, int64_t,
                                           power_truncated((double)a_, b_, -0x1p63, 0x1p63 - 1024))

/* The float product of f32 rounds once, as pow does; a cube needs double for that. */
static void square_f32(TL_ROW_ARGS) TL_ROW2(float, double, float, ((void)b_, a_ * a_))
static void square_f64(TL_ROW_ARGS) TL_ROW2(double, double, double, ((void)b_, a_ * a_))
static void cube_f32(TL_ROW_ARGS)
    TL_ROW2(float, double, float, ((void)b_, (double)a_ * (double)a_ * (double)a_))
/* Returns a product for a single exponent of 2 or 3, which most models have; else NULL. f64 cubes
 * would round twice and are left to pow. */
static tl_row short_cut(const tl_host *base, const tl_host *exponent, const double *e) {
  if (exponent->n != 1)
    return NULL;
  if (e[0] == 3)
    return base->dtype == TL_DTYPE_F32 ? cube_f32 : NULL;
  if (e[0] == 2)
    return base->dtype == TL_DTYPE_F32 ? square_f32 : square_f64;
  return NULL;
}

static tl_row general(tl_dtype base, bool integer) {
  switch (base) {
  case TL_DTYPE_F32: return float_float;
  case TL_DTYPE_F64: return double_float;
  case TL_DTYPE_I32: return integer ? i32_int : i32_float;
  case TL_DTYPE_I64: return integer ? i64_int : i64_float;
  default: return NULL;
  }
}

/* Converts the exponents to double, or to int64 where base and exponent are integers, so that one
 * row function for each base type is enough. *out: the caller's to release. */
static tl_status take_exponents(tl_eval *ctx, bool integer, tl_host **out) {
  const tl_host *e = ctx->in[1];
  *out = tl_host_new(ctx->heap, integer ? TL_DTYPE_I64 : TL_DTYPE_F64, e->rank, e->dims);
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < e->n; i++)
    if (integer)
      ((int64_t *)(*out)->data)[i] = tl_host_int_at(e, i);
    else
      ((double *)(*out)->data)[i] = tl_host_at(e, i);
  return TL_OK;
}

tl_status tl_eval_pow(tl_eval *ctx) {
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  bool integer = tl_dtype_is_integer(d) && tl_dtype_is_integer((tl_dtype)ctx->in[1]->dtype);
  tl_host *e;
  if (!general(d, integer))
    return tl_eval_unsupported(ctx, "the kernel cannot compute in %s", tl_dtype_get(d)->name);
  TL_TRY(take_exponents(ctx, integer, &e));
  tl_row row = tl_dtype_is_float(d) ? short_cut(ctx->in[0], e, e->data) : NULL;
  const tl_host *in[] = {ctx->in[0], e};
  tl_status status = tl_eval_elementwise(ctx, in, 2, d, row ? row : general(d, integer), NULL);
  tl_host_release(e);
  return status;
}
