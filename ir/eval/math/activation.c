/* SPDX-License-Identifier: Apache-2.0 */
/* Computes activations: functions of one float with parameters from attributes. Each is computed in
 * double and rounded once. Those that large models spend their time in also have an f32 form for
 * the fast mode. */
#include <math.h>

#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/unary.h"

/* Defines the kernel of an activation. EXPR is over v, the element, and p[0], p[1], which are the
 * attributes A and B. An op with fewer attributes names one that it does not use. */
#define ACTIVATION(NAME, A, A_DEFAULT, B, B_DEFAULT, EXPR)                                         \
  TL_UNARY_LOOPS(NAME, EXPR)                                                                       \
  tl_status tl_eval_##NAME(tl_eval *x) {                                                           \
    static const tl_unary_floats fns = {NAME##_f32, NAME##_f64, NULL};                             \
    const double p[] = {(double)tl_eval_float(x, TL_SYM_##A, A_DEFAULT),                           \
                        (double)tl_eval_float(x, TL_SYM_##B, B_DEFAULT)};                          \
    return tl_eval_unary_floats(x, &fns, p);                                                       \
  }

static double clip01(double v) { return v > 1 ? 1 : v < 0 ? 0 : v; }

/* Where the formula gives NaN at an infinity (0 times infinity, infinity by infinity), the
 * expression states the limit: Mish, Softsign. Celu with alpha 0, which ONNX leaves undefined,
 * returns v. */
ACTIVATION(affine, alpha, 1, beta, 0, p[0] * v + p[1])
ACTIVATION(celu, alpha, 1, beta, 0, v > 0 ? v : p[0] == 0 ? v : p[0] * tl_expm1(v / p[0]))
ACTIVATION(elu, alpha, 1, beta, 0, v < 0 ? p[0] * tl_expm1(v) : v)
ACTIVATION(hard_sigmoid, alpha, 0.2f, beta, 0.5f, clip01(p[0] * v + p[1]))
ACTIVATION(leaky_relu, alpha, 0.01f, beta, 0, v < 0 ? p[0] * v : v)
ACTIVATION(mish, alpha, 0, beta, 0, v == -INFINITY ? -0.0 : v * tl_tanh(tl_softplus(v)))
ACTIVATION(parametric_softplus, alpha, 1, beta, 1, p[0] * tl_softplus(p[1] * v))
ACTIVATION(scale, scale, 1, beta, 0, p[0] * v)
ACTIVATION(scaled_tanh, alpha, 1, beta, 1, p[0] * tl_tanh(p[1] * v))
ACTIVATION(selu, alpha, 1.67326319217681884765625f, gamma, 1.05070102214813232421875f,
           p[1] * (v < 0 ? p[0] * tl_expm1(v) : v))
ACTIVATION(softplus, alpha, 0, beta, 0, tl_softplus(v))
ACTIVATION(softsign, alpha, 0, beta, 0, fabs(v) == INFINITY ? copysign(1.0, v) : v / (1 + fabs(v)))
ACTIVATION(thresholded_relu, alpha, 1, beta, 0, v > p[0] ? v : 0)

/* v * clip(v/6 + 1/2, 0, 1) */
/* clang-format off */
ACTIVATION(hard_swish, alpha, 0, beta, 0, v * clip01(v / 6 + 0.5))
/* clang-format on */

/* ---- Shrink ---------------------------------------------------------------------------------- */

/* Shrink exists for every number type. Parameters are floats, so integers go through double,
 * saturate and round towards 0. */
#define SHRINK(S, T)                                                                               \
  static void shrink_##S(const double *p, const void *in, void *out, uint64_t n) {                 \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const double v = (double)((const T *)in)[i];                                                 \
      double r = v < -p[0] ? v + p[1] : v > p[0] ? v - p[1] : 0;                                   \
      ((T *)out)[i] = shrink_to_##S(r);                                                            \
    }                                                                                              \
  }
#define SHRINK_INT(S, T, LOW, HIGH)                                                                \
  static T shrink_to_##S(double r) {                                                               \
    return (T)(r != r ? 0 : r < (LOW) ? (LOW) : r > (HIGH) ? (HIGH) : r);                          \
  }                                                                                                \
  SHRINK(S, T)
static float shrink_to_f32(double r) { return (float)r; }
static double shrink_to_f64(double r) { return r; }
SHRINK(f32, float)
SHRINK(f64, double)
SHRINK_INT(i8, int8_t, -128.0, 127.0)
SHRINK_INT(i16, int16_t, -32768.0, 32767.0)
SHRINK_INT(i32, int32_t, -2147483648.0, 2147483647.0)
/* The upper bounds of 64 bits are the largest doubles below 2^63 and 2^64. */
SHRINK_INT(i64, int64_t, -9223372036854775808.0, 9223372036854774784.0)
SHRINK_INT(u8, uint8_t, 0.0, 255.0)
SHRINK_INT(u16, uint16_t, 0.0, 65535.0)
SHRINK_INT(u32, uint32_t, 0.0, 4294967295.0)
SHRINK_INT(u64, uint64_t, 0.0, 18446744073709549568.0)

tl_status tl_eval_shrink(tl_eval *ctx) {
  static const tl_unary_fn fns[TL_N_DTYPES] = {
      [TL_DTYPE_F32] = shrink_f32, [TL_DTYPE_F64] = shrink_f64, [TL_DTYPE_I8] = shrink_i8,
      [TL_DTYPE_I16] = shrink_i16, [TL_DTYPE_I32] = shrink_i32, [TL_DTYPE_I64] = shrink_i64,
      [TL_DTYPE_U8] = shrink_u8,   [TL_DTYPE_U16] = shrink_u16, [TL_DTYPE_U32] = shrink_u32,
      [TL_DTYPE_U64] = shrink_u64};
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  tl_dtype d = (tl_dtype)ctx->in[0]->dtype;
  const double p[] = {(double)tl_eval_float(ctx, TL_SYM_lambd, 0.5f),
                      (double)tl_eval_float(ctx, TL_SYM_bias, 0)};
  return tl_eval_unary_run(ctx, ctx->in[0], d, fns[d], p);
}

/* ---- gates: Gelu, FastGelu, QuickGelu, Swish, SwiGLU ---------------------------------------- */

enum { BLOCK = 64 };

/* Each gate multiplies v by a factor that tends to 0 at -infinity, where the product would be NaN;
 * the limit there is -0. */
static double gelu(double v) {
  return v == -INFINITY ? -0.0 : 0.5 * v * (1 + tl_erf(v * 0.70710678118654752440));
}

static double gelu_tanh(double v) {
  double t = tl_tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v));
  return v == -INFINITY ? -0.0 : 0.5 * v * (1 + t);
}

static double swish(double v, double alpha) {
  double s = tl_sigmoid(alpha * v);
  return s == 0 ? copysign(0.0, v) : v * s;
}

TL_UNARY_LOOPS(gelu, gelu(v))
TL_UNARY_LOOPS(gelu_tanh, gelu_tanh(v))
TL_UNARY_LOOPS(swish, swish(v, p[0]))

/* Defines a fast f32 form. t holds the gate's argument, then the gate; FINISH combines it with v.
 * The blocks let one vectorised call of GATE serve many elements without memory for all of them. */
#define GATED(NAME, ARGUMENT, GATE, FINISH)                                                        \
  static void NAME(const double *p, const void *in, void *out, uint64_t n) {                       \
    const float a = p ? (float)p[0] : 0.0f, *x = in;                                               \
    float *y = out, t[BLOCK];                                                                      \
    (void)a;                                                                                       \
    for (uint64_t i = 0; i < n; i += BLOCK) {                                                      \
      size_t m = n - i < BLOCK ? (size_t)(n - i) : BLOCK;                                          \
      for (size_t k = 0; k < m; k++) {                                                             \
        const float v = x[i + k];                                                                  \
        t[k] = (ARGUMENT);                                                                         \
      }                                                                                            \
      GATE(t, t, m);                                                                               \
      for (size_t k = 0; k < m; k++) {                                                             \
        const float v = x[i + k], g = t[k];                                                        \
        y[i + k] = (FINISH);                                                                       \
      }                                                                                            \
    }                                                                                              \
  }
/* At -infinity the product would be NaN; the limit is -0. */
/* clang-format off */
#define HALF_GATE v == -(float)INFINITY ? -0.0f : 0.5f * v * (1.0f + g)
GATED(gelu_fast, v * 0.70710678f, tl_erff_n, HALF_GATE)
GATED(gelu_tanh_fast, 0.79788456f * (v + 0.044715f * v * v * v), tl_tanhf_n, HALF_GATE)
GATED(swish_fast, a * v, tl_sigmoidf_n, v == -(float)INFINITY ? -0.0f : v * g)
/* clang-format on */

static const tl_unary_floats gelu_fns = {gelu_f32, gelu_f64, gelu_fast};
static const tl_unary_floats gelu_tanh_fns = {gelu_tanh_f32, gelu_tanh_f64, gelu_tanh_fast};
static const tl_unary_floats swish_fns = {swish_f32, swish_f64, swish_fast};

tl_status tl_eval_gelu(tl_eval *ctx) {
  bool by_tanh = tl_sv_is(tl_eval_string(ctx, TL_SYM_approximate), "tanh");
  return tl_eval_unary_floats(ctx, by_tanh ? &gelu_tanh_fns : &gelu_fns, NULL);
}

/* Gelu of com.microsoft, which has no attribute `approximate`. */
tl_status tl_eval_ms_gelu(tl_eval *ctx) { return tl_eval_unary_floats(ctx, &gelu_fns, NULL); }

tl_status tl_eval_swish(tl_eval *ctx) {
  const double p[] = {(double)tl_eval_float(ctx, TL_SYM_alpha, 1)};
  return tl_eval_unary_floats(ctx, &swish_fns, p);
}

/* QuickGelu is Swish with another default of alpha. */
tl_status tl_eval_quick_gelu(tl_eval *ctx) {
  const double p[] = {(double)tl_eval_float(ctx, TL_SYM_alpha, 1.702f)};
  return tl_eval_unary_floats(ctx, &swish_fns, p);
}

/* Computes a Gelu of operand 0 plus the bias, operand 1 (optional). The sum is made by Add as
 * result 0; it then is the only operand, and the Gelu replaces result 0. */
static tl_status biased(tl_eval *ctx, const tl_unary_floats *fns) {
  if (!tl_eval_in(ctx, 1))
    return tl_eval_unary_floats(ctx, fns, NULL);
  TL_TRY(tl_eval_add(ctx));
  if (!tl_host_same_shape(ctx->out[0], ctx->in[0]))
    return tl_eval_fail(ctx, "the bias cannot be broadcast to operand 0");
  tl_host *sum = tl_host_retain(ctx->out[0]);
  const tl_host *const *in = ctx->in;
  const tl_host *own[] = {sum};
  uint32_t n_in = ctx->n_in;
  ctx->in = own;
  ctx->n_in = 1;
  tl_status status = tl_eval_unary_floats(ctx, fns, NULL);
  ctx->in = in;
  ctx->n_in = n_in;
  tl_host_release(sum);
  return status;
}

tl_status tl_eval_bias_gelu(tl_eval *ctx) { return biased(ctx, &gelu_fns); }
tl_status tl_eval_fast_gelu(tl_eval *ctx) { return biased(ctx, &gelu_tanh_fns); }
