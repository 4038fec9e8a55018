/* SPDX-License-Identifier: Apache-2.0 */
/* Computes gradients of elementwise ops (operand 0 is dY), gates of two operands, and sums and
 * tests over every element: what training graphs and fused transformers add to the standard ops. */
#include <math.h>

#include "ir/eval/kernel/lines.h"
#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"

/* Row functions of f32 and f64; a_ is dY, b_ the operand (or result) of the forward op. */
/* clang-format off */
#define ROWS(NAME, EXPR)                                                       \
  static void NAME##_f32(TL_ROW_ARGS) TL_ROW2(float, float, float, EXPR)       \
  static void NAME##_f64(TL_ROW_ARGS) TL_ROW2(double, double, double, EXPR)
/* clang-format on */

/* The derivative of Gelu: the distribution function plus v times the density, whose product is 0
 * times infinity far out. */
static double gelu_slope(double v) {
  double density = 0.39894228040143267794 * tl_exp(-0.5 * v * v); /* 1/sqrt(2 pi) */
  return 0.5 * (1 + tl_erf(v * 0.70710678118654752440)) + (density == 0 ? 0 : v * density);
}

/* The derivative of 0.5 v (1 + tanh(u)), u = sqrt(2/pi) (v + 0.044715 v^3). Beyond 30 it is 0 or 1,
 * and the products would overflow. */
static double fast_gelu_slope(double v) {
  const double a = 0.79788456080286535588, b = 0.044715 * 0.79788456080286535588;
  if (fabs(v) > 30)
    return v > 0;
  double t = tl_tanh(v * (a + b * v * v));
  return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * (a + 3 * b * v * v);
}

static double swish(double v, double alpha) {
  double s = tl_sigmoid(alpha * v);
  return s == 0 ? copysign(0.0, v) : v * s;
}

/* Relu takes X or Y as second operand, Sigmoid and Tanh take Y, the others X. */
/* clang-format off */
ROWS(relu_grad, b_ > 0 ? a_ : 0)
ROWS(sigmoid_grad, a_ * b_ * (1 - b_))
ROWS(tanh_grad, a_ * (1 - b_ * b_))
ROWS(gelu_grad, (double)a_ * gelu_slope((double)b_))
ROWS(fast_gelu_grad, (double)a_ * fast_gelu_slope((double)b_))
ROWS(swiglu, swish((double)a_, *(const double *)user) * (double)b_)
/* clang-format on */

/* Runs a row function on two operands of one float type and shape. */
static tl_status pair_of(tl_eval *ctx, const tl_host *const *in, tl_row f32, tl_row f64,
                         const void *user) {
  tl_dtype d = (tl_dtype)in[0]->dtype;
  if ((d != TL_DTYPE_F32 && d != TL_DTYPE_F64) || in[1]->dtype != d)
    return tl_eval_fail(ctx, "the operands must be floats of one type");
  if (!tl_host_same_shape(in[0], in[1]))
    return tl_eval_fail(ctx, "the operands must have the same shape");
  return tl_eval_elementwise(ctx, in, 2, d, d == TL_DTYPE_F32 ? f32 : f64, user);
}

static tl_status gradient(tl_eval *ctx, tl_row f32, tl_row f64) {
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  return pair_of(ctx, ctx->in, f32, f64, NULL);
}

tl_status tl_eval_relu_grad(tl_eval *ctx) { return gradient(ctx, relu_grad_f32, relu_grad_f64); }
tl_status tl_eval_tanh_grad(tl_eval *ctx) { return gradient(ctx, tanh_grad_f32, tanh_grad_f64); }
tl_status tl_eval_gelu_grad(tl_eval *ctx) { return gradient(ctx, gelu_grad_f32, gelu_grad_f64); }
tl_status tl_eval_sigmoid_grad(tl_eval *ctx) {
  return gradient(ctx, sigmoid_grad_f32, sigmoid_grad_f64);
}
tl_status tl_eval_fast_gelu_grad(tl_eval *ctx) {
  return gradient(ctx, fast_gelu_grad_f32, fast_gelu_grad_f64);
}

static double quick_gelu_slope(double v, double alpha) {
  double s = tl_sigmoid(alpha * v);
  return s * (1 + (s == 1 ? 0 : alpha * v * (1 - s)));
}

/* clang-format off */
ROWS(leaky_relu_grad, b_ > 0 ? (double)a_ : (double)a_ * *(const double *)user)
ROWS(quick_gelu_grad, (double)a_ * quick_gelu_slope((double)b_, *(const double *)user))
/* clang-format on */

tl_status tl_eval_leaky_relu_grad(tl_eval *ctx) {
  double alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 0.01f);
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  return pair_of(ctx, ctx->in, leaky_relu_grad_f32, leaky_relu_grad_f64, &alpha);
}

tl_status tl_eval_quick_gelu_grad(tl_eval *ctx) {
  double alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 1.702f);
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  return pair_of(ctx, ctx->in, quick_gelu_grad_f32, quick_gelu_grad_f64, &alpha);
}

tl_status tl_eval_swiglu(tl_eval *ctx) {
  double alpha = (double)tl_eval_float(ctx, TL_SYM_alpha, 1);
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  return pair_of(ctx, ctx->in, swiglu_f32, swiglu_f64, &alpha);
}

/* Computes the gradient at X + B: the sum is made by Add as result 0, which the gradient
 * replaces. */
static tl_status biased(tl_eval *ctx, tl_row f32, tl_row f64) {
  TL_TRY(tl_eval_need_tensors(ctx, 3));
  const tl_host *const *in = ctx->in;
  const tl_host *sum_of[] = {in[1], in[2]};
  uint32_t n_in = ctx->n_in;
  ctx->in = sum_of;
  ctx->n_in = 2;
  tl_status status = tl_eval_add(ctx);
  ctx->in = in;
  ctx->n_in = n_in;
  TL_TRY(status);
  tl_host *sum = tl_host_retain(ctx->out[0]);
  const tl_host *own[] = {in[0], sum};
  status = pair_of(ctx, own, f32, f64, NULL);
  tl_host_release(sum);
  return status;
}

tl_status tl_eval_bias_gelu_grad(tl_eval *ctx) { return biased(ctx, gelu_grad_f32, gelu_grad_f64); }
tl_status tl_eval_bias_fast_gelu_grad(tl_eval *ctx) {
  return biased(ctx, fast_gelu_grad_f32, fast_gelu_grad_f64);
}

/* ---- quotients ------------------------------------------------------------------------------ */

/* Returns where element i of the result reads an operand that is broadcast to its shape. */
static uint64_t place_in(const int64_t *strides, const int64_t *dims, int rank, uint64_t i) {
  uint64_t at = 0;
  for (int k = rank - 1; k >= 0; k--) {
    at += i % (uint64_t)dims[k] * (uint64_t)strides[k];
    i /= (uint64_t)dims[k];
  }
  return at;
}

/* DivGrad: dY, A, B -> dY / B and -dY A / B^2, each summed along the axes on which its operand was
 * broadcast. */
tl_status tl_eval_div_grad(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK], strides[3][TL_MAX_RANK];
  int rank;
  TL_TRY(tl_eval_need_tensors(ctx, 3));
  TL_TRY(tl_eval_broadcast(ctx, ctx->in, 3, &rank, dims, strides));
  const tl_host *dy = ctx->in[0];
  bool fits = rank == dy->rank;
  for (int i = 0; fits && i < rank; i++)
    fits = dims[i] == dy->dims[i];
  if (!fits)
    return tl_eval_fail(ctx, "the gradient must have the shape of the quotient");
  for (uint32_t r = 0; r < 2; r++) {
    const tl_host *of = ctx->in[r + 1];
    double *sums = tl_eval_scratch(ctx, of->n + 1, sizeof *sums);
    tl_host *out;
    if (!sums)
      return tl_eval_no_memory(ctx);
    TL_TRY(tl_eval_result_like(ctx, r, (tl_dtype)of->dtype, of, &out));
    for (uint64_t i = 0; i < of->n; i++)
      sums[i] = 0;
    for (uint64_t i = 0; i < dy->n; i++) {
      uint64_t a = place_in(strides[1], dims, rank, i), b = place_in(strides[2], dims, rank, i);
      double g = tl_cell_at(dy, i), v = tl_cell_at(ctx->in[2], b);
      sums[r ? b : a] += r ? -g * tl_cell_at(ctx->in[1], a) / (v * v) : g / v;
    }
    tl_cells_store(out->dtype, sums, out->data, 0, 1, out->n);
  }
  return TL_OK;
}

/* Scale: X times a number, or divided by it (scale_down). */
tl_status tl_eval_scaled(tl_eval *ctx) {
  double by;
  tl_host *out;
  TL_TRY(tl_eval_need_tensors(ctx, 2));
  TL_TRY(tl_eval_operand_float(ctx, 1, 1, &by));
  const tl_host *in = ctx->in[0];
  bool down = tl_eval_int(ctx, TL_SYM_scale_down, 0) != 0;
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  for (uint64_t i = 0; i < in->n; i++) {
    double v = down ? tl_cell_at(in, i) / by : tl_cell_at(in, i) * by;
    tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
  return TL_OK;
}

/* ---- sums and tests over everything --------------------------------------------------------- */

/* BiasAdd: X + bias + skip; the bias runs along the last axis. */
tl_status tl_eval_bias_add(tl_eval *ctx) {
  TL_TRY(tl_eval_need_tensors(ctx, 3));
  TL_TRY(tl_eval_sum(ctx));
  if (!tl_host_same_shape(ctx->in[2], ctx->in[0]) || !tl_host_same_shape(ctx->out[0], ctx->in[0]))
    return tl_eval_fail(ctx, "bias and skip must fit the shape of operand 0");
  return TL_OK;
}

tl_status tl_eval_all(tl_eval *ctx) {
  tl_host *out;
  TL_TRY(tl_eval_need_tensors(ctx, 1));
  if (ctx->in[0]->dtype != TL_DTYPE_BOOL)
    return tl_eval_fail(ctx, "operand 0 must be bool");
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_BOOL, 0, NULL, &out));
  uint8_t all = 1;
  for (uint64_t i = 0; i < ctx->in[0]->n; i++)
    all = all && ((const uint8_t *)ctx->in[0]->data)[i];
  *(uint8_t *)out->data = all;
  return TL_OK;
}

static bool finite_all(const tl_host *t, bool inf, bool nan) {
  for (uint64_t i = 0; i < t->n; i++) {
    double v = t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[i]
                                        : (double)((const float *)t->data)[i];
    if ((nan && v != v) || (inf && fabs(v) == INFINITY))
      return false;
  }
  return true;
}

tl_status tl_eval_is_all_finite(tl_eval *ctx) {
  bool inf_only = tl_eval_int(ctx, TL_SYM_isinf_only, 0) != 0;
  bool nan_only = tl_eval_int(ctx, TL_SYM_isnan_only, 0) != 0;
  tl_host *out;
  TL_TRY(tl_eval_need_tensors(ctx, ctx->n_in));
  if (inf_only && nan_only)
    return tl_eval_fail(ctx, "isinf_only and isnan_only exclude each other");
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_BOOL, 0, NULL, &out));
  uint8_t all = 1;
  for (uint32_t k = 0; k < ctx->n_in; k++) {
    tl_dtype d = (tl_dtype)ctx->in[k]->dtype;
    if (d != TL_DTYPE_F32 && d != TL_DTYPE_F64)
      return tl_eval_fail(ctx, "operand %u must be of floats", k);
    all = all && finite_all(ctx->in[k], !nan_only, !inf_only);
  }
  *(uint8_t *)out->data = all;
  return TL_OK;
}
