/* SPDX-License-Identifier: Apache-2.0 */
/* Computes functions of one element on every type: sign and rounding, elementary functions on
 * floats, tests and logic. */
#include "ir/eval/math/unary.h"

#include <math.h>

#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"

/* The operand, the result and the function of one kernel, for the threads. */
typedef struct job {
  const tl_host *in;
  tl_host *out;
  tl_unary_fn fn;
  const double *p;
} job;

/* The function sees its part of the arrays only. */
static void run_range(void *user, uint64_t begin, uint64_t end) {
  const job *j = user;
  size_t in = tl_host_element_size((tl_dtype)j->in->dtype);
  size_t out = tl_host_element_size((tl_dtype)j->out->dtype);
  j->fn(j->p, (const char *)j->in->data + begin * in, (char *)j->out->data + begin * out,
        end - begin);
}

tl_status tl_eval_unary_run(tl_eval *ctx, const tl_host *in, tl_dtype result, tl_unary_fn fn,
                            const double *p) {
  tl_host *out;
  if (!fn)
    return tl_eval_unsupported(ctx, "the kernel cannot compute in %s",
                               tl_dtype_get((tl_dtype)in->dtype)->name);
  TL_TRY(tl_eval_result_like(ctx, 0, result, in, &out));
  job j = {in, out, fn, p};
  tl_eval_for(ctx, in->n, TL_LOOP_GRAIN / 4, run_range, &j);
  return TL_OK;
}

/* ---- elementary functions on floats --------------------------------------------------------- */

/* Defines the kernel of an elementary function. FAST: the f32 form of the fast mode, NULL for none:
 * the f32 result then is the f64 one, rounded. */
#define ELEMENTARY(NAME, EXPR, FAST)                                                               \
  TL_UNARY_LOOPS(NAME, EXPR)                                                                       \
  tl_status tl_eval_##NAME(tl_eval *x) {                                                           \
    static const tl_unary_floats fns = {NAME##_f32, NAME##_f64, FAST};                             \
    return tl_eval_unary_floats(x, &fns, NULL);                                                    \
  }

/* The exact mode does not use the fast form. */
tl_status tl_eval_unary_floats(tl_eval *ctx, const tl_unary_floats *fns, const double *p) {
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  tl_unary_fn f32 = ctx->exact || !fns->fast ? fns->f32 : fns->fast;
  tl_unary_fn fn = d == TL_DTYPE_F32 ? f32 : d == TL_DTYPE_F64 ? fns->f64 : NULL;
  return tl_eval_unary_run(ctx, ctx->in[0], d, fn, p);
}

/* Wraps an array function of elementary.h as a tl_unary_fn. */
#define FAST_FORM(NAME)                                                                            \
  static void NAME##_fast(const double *p, const void *in, void *out, uint64_t n) {                \
    (void)p;                                                                                       \
    tl_##NAME##f_n(in, out, (size_t)n);                                                            \
  }
FAST_FORM(exp)
FAST_FORM(tanh)
FAST_FORM(sigmoid)
FAST_FORM(erf)

ELEMENTARY(exp, tl_exp(v), exp_fast)
ELEMENTARY(tanh, tl_tanh(v), tanh_fast)
ELEMENTARY(sigmoid, tl_sigmoid(v), sigmoid_fast)
ELEMENTARY(log, tl_log(v), NULL)
ELEMENTARY(sqrt, sqrt(v), NULL)
ELEMENTARY(reciprocal, 1 / v, NULL)
ELEMENTARY(sin, tl_sin(v), NULL)
ELEMENTARY(cos, tl_cos(v), NULL)
ELEMENTARY(tan, tl_tan(v), NULL)
ELEMENTARY(asin, tl_asin(v), NULL)
ELEMENTARY(acos, tl_acos(v), NULL)
ELEMENTARY(atan, tl_atan(v), NULL)
ELEMENTARY(sinh, tl_sinh(v), NULL)
ELEMENTARY(cosh, tl_cosh(v), NULL)
ELEMENTARY(asinh, tl_asinh(v), NULL)
ELEMENTARY(acosh, tl_acosh(v), NULL)
ELEMENTARY(atanh, tl_atanh(v), NULL)
ELEMENTARY(ceil, ceil(v), NULL)
ELEMENTARY(floor, floor(v), NULL)
/* ONNX rounds halves to even, as rint does in the default rounding mode. */
ELEMENTARY(round, rint(v), NULL)

/* ---- every type ----------------------------------------------------------------------------- */

/* Defines NAME_S for one type; EXPR is over v, of type T. As in binary.c, W is the unsigned type to
 * compute in, since signed overflow is undefined in C. */
#define FUNCTION(NAME, S, T, EXPR)                                                                 \
  static void NAME##_##S(const double *p, const void *in, void *out, uint64_t n) {                 \
    (void)p;                                                                                       \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const T v = ((const T *)in)[i];                                                              \
      ((T *)out)[i] = (T)(EXPR);                                                                   \
    }                                                                                              \
  }
#define SIGNED_TYPES(R)                                                                            \
  R(i8, int8_t, uint32_t)                                                                          \
  R(i16, int16_t, uint32_t)                                                                        \
  R(i32, int32_t, uint32_t)                                                                        \
  R(i64, int64_t, uint64_t)
#define UNSIGNED_TYPES(R)                                                                          \
  R(u8, uint8_t, uint32_t)                                                                         \
  R(u16, uint16_t, uint32_t)                                                                       \
  R(u32, uint32_t, uint32_t)                                                                       \
  R(u64, uint64_t, uint64_t)
#define SIGNED_ROWS(NAME)                                                                          \
  [TL_DTYPE_I8] = NAME##_i8, [TL_DTYPE_I16] = NAME##_i16, [TL_DTYPE_I32] = NAME##_i32,             \
  [TL_DTYPE_I64] = NAME##_i64
#define UNSIGNED_ROWS(NAME)                                                                        \
  [TL_DTYPE_U8] = NAME##_u8, [TL_DTYPE_U16] = NAME##_u16, [TL_DTYPE_U32] = NAME##_u32,             \
  [TL_DTYPE_U64] = NAME##_u64
#define FLOAT_ROWS(NAME) [TL_DTYPE_F32] = NAME##_f32, [TL_DTYPE_F64] = NAME##_f64

/* A type without a row is not supported. */
static tl_status by_type(tl_eval *ctx, const tl_unary_fn *fns) {
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  return tl_eval_unary_run(ctx, ctx->in[0], d, fns[d], NULL);
}

#define ABS(S, T, W) FUNCTION(abs, S, T, v < 0 ? (T)(0 - (W)v) : v)
#define NEG(S, T, W) FUNCTION(neg, S, T, 0 - (W)v)
#define SIGN(S, T, W) FUNCTION(sign, S, T, (v > 0) - (v < 0))
#define SIGN_UNSIGNED(S, T, W) FUNCTION(sign, S, T, v > 0)
#define RELU(S, T, W) FUNCTION(relu, S, T, v < 0 ? 0 : v)
#define ERF(S, T, W) FUNCTION(erf, S, T, tl_erf((double)v))
#define NOT(S, T, W) FUNCTION(bitwise_not, S, T, ~(W)v)
FUNCTION(abs, f32, float, fabsf(v))
FUNCTION(abs, f64, double, fabs(v))
FUNCTION(neg, f32, float, -v)
FUNCTION(neg, f64, double, -v)
FUNCTION(sign, f32, float, v != v ? v : (float)((v > 0) - (v < 0)))
FUNCTION(sign, f64, double, v != v ? v : (double)((v > 0) - (v < 0)))
FUNCTION(relu, f32, float, v < 0 ? 0 : v)
FUNCTION(relu, f64, double, v < 0 ? 0 : v)
FUNCTION(erf, f32, float, tl_erf((double)v))
FUNCTION(erf, f64, double, tl_erf(v))
SIGNED_TYPES(ABS)
SIGNED_TYPES(NEG)
SIGNED_TYPES(SIGN)
UNSIGNED_TYPES(SIGN_UNSIGNED)
SIGNED_TYPES(RELU)
SIGNED_TYPES(ERF)
UNSIGNED_TYPES(ERF)
SIGNED_TYPES(NOT)
UNSIGNED_TYPES(NOT)

tl_status tl_eval_abs(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {FLOAT_ROWS(abs), SIGNED_ROWS(abs)};
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  if (!fns[d] && tl_dtype_is_integer(d)) /* unsigned */
    return tl_eval_pass(ctx, 0, ctx->in[0]);
  return by_type(ctx, fns);
}

tl_status tl_eval_neg(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {FLOAT_ROWS(neg), SIGNED_ROWS(neg)};
  return by_type(ctx, fns);
}

tl_status tl_eval_sign(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {FLOAT_ROWS(sign), SIGNED_ROWS(sign),
                                               UNSIGNED_ROWS(sign)};
  return by_type(ctx, fns);
}

tl_status tl_eval_relu(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {FLOAT_ROWS(relu), SIGNED_ROWS(relu)};
  return by_type(ctx, fns);
}

/* Erf exists for integers too; they go through double and are truncated. */
tl_status tl_eval_erf(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {FLOAT_ROWS(erf), SIGNED_ROWS(erf),
                                               UNSIGNED_ROWS(erf)};
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  if (!ctx->exact && ctx->in[0]->dtype == TL_DTYPE_F32)
    return tl_eval_unary_run(ctx, ctx->in[0], TL_DTYPE_F32, erf_fast, NULL);
  return by_type(ctx, fns);
}

tl_status tl_eval_bitwise_not(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {SIGNED_ROWS(bitwise_not),
                                               UNSIGNED_ROWS(bitwise_not)};
  return by_type(ctx, fns);
}

FUNCTION(not, bool, uint8_t, !v)

tl_status tl_eval_not(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {[TL_DTYPE_BOOL] = not_bool};
  return by_type(ctx, fns);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Defines a test, whose result is a bool. */
#define TEST(NAME, S, T, EXPR)                                                                     \
  static void NAME##_##S(const double *p, const void *in, void *out, uint64_t n) {                 \
    (void)p;                                                                                       \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const T v = ((const T *)in)[i];                                                              \
      ((uint8_t *)out)[i] = (EXPR);                                                                \
    }                                                                                              \
  }
TEST(is_nan, f32, float, v != v)
TEST(is_nan, f64, double, v != v)
#define IS_INF (p[0] != 0 && v == (float)INFINITY) || (p[1] != 0 && v == -(float)INFINITY)
TEST(is_inf, f32, float, IS_INF)
TEST(is_inf, f64, double, IS_INF)

/* p goes to the test as it is. */
static tl_status test(tl_eval *ctx, tl_unary_fn f32, tl_unary_fn f64, const double *p) {
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  uint8_t d = ctx->in[0]->dtype;
  tl_unary_fn fn = d == TL_DTYPE_F32 ? f32 : d == TL_DTYPE_F64 ? f64 : NULL;
  return tl_eval_unary_run(ctx, ctx->in[0], TL_DTYPE_BOOL, fn, p);
}

tl_status tl_eval_is_nan(tl_eval *ctx) { return test(ctx, is_nan_f32, is_nan_f64, NULL); }

tl_status tl_eval_is_inf(tl_eval *ctx) {
  const double p[] = {(double)tl_eval_int(ctx, TL_SYM_detect_positive, 1),
                      (double)tl_eval_int(ctx, TL_SYM_detect_negative, 1)};
  return test(ctx, is_inf_f32, is_inf_f64, p);
}
