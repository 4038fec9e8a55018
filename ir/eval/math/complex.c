/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies complex numbers stored as pairs along the last axis, and computes small fused ops of
 * image models. */
#include "ir/eval/kernel/loop.h"
#include "ir/eval/math/elementary.h"

/* The kernels of this file read f32 and f64 element by element; their models are small. */
static double number_at(const tl_host *t, uint64_t i) {
  return t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[i]
                                  : (double)((const float *)t->data)[i];
}

static void put(tl_host *t, uint64_t i, double v) {
  if (t->dtype == TL_DTYPE_F64)
    ((double *)t->data)[i] = v;
  else
    ((float *)t->data)[i] = (float)v;
}

static tl_status need_floats(tl_eval *ctx, uint32_t n) {
  TL_TRY(tl_eval_need_tensors(ctx, n));
  for (uint32_t i = 0; i < n; i++)
    if (ctx->in[i]->dtype != ctx->in[0]->dtype ||
        (ctx->in[i]->dtype != TL_DTYPE_F32 && ctx->in[i]->dtype != TL_DTYPE_F64))
      return tl_eval_unsupported(ctx, "the kernel computes with floats of one type only");
  return TL_OK;
}

/* ---- complex products ----------------------------------------------------------------------- */

typedef struct product {
  const tl_host *a;
  const tl_host *b;
  tl_host *to;
  double sign; /* of the imaginary part of b */
  int64_t strides[2][TL_MAX_RANK];
} product;

/* Element i of the result is a pair. Its index is split over all dims but the last. */
static void multiply_range(void *user, uint64_t begin, uint64_t end) {
  const product *p = user;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t rest = i, at[2] = {0, 0};
    for (int k = p->to->rank - 2; k >= 0; k--) {
      uint64_t index = rest % (uint64_t)p->to->dims[k];
      rest /= (uint64_t)p->to->dims[k];
      at[0] += index * (uint64_t)p->strides[0][k];
      at[1] += index * (uint64_t)p->strides[1][k];
    }
    double ar = number_at(p->a, at[0]), ai = number_at(p->a, at[0] + 1);
    double br = number_at(p->b, at[1]), bi = p->sign * number_at(p->b, at[1] + 1);
    put(p->to, 2 * i, ar * br - ai * bi);
    put(p->to, 2 * i + 1, ar * bi + ai * br);
  }
}

/* ComplexMul; with ARG 1 ComplexMulConj, which conjugates operand 1. Both operands: [...,2],
 * broadcast by numpy's rules. */
tl_status tl_eval_complex_mul(tl_eval *ctx) {
  int rank;
  int64_t dims[TL_MAX_RANK];
  TL_TRY(need_floats(ctx, 2));
  product p = {.a = ctx->in[0], .b = ctx->in[1], .sign = ctx->arg ? -1 : 1};
  if (p.a->rank < 1 || p.b->rank < 1 || p.a->dims[p.a->rank - 1] != 2 ||
      p.b->dims[p.b->rank - 1] != 2)
    return tl_eval_fail(ctx, "the last dim of both operands must be 2");
  TL_TRY(tl_eval_broadcast(ctx, ctx->in, 2, &rank, dims, p.strides));
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)p.a->dtype, rank, dims, &p.to));
  tl_eval_for(ctx, p.to->n / 2, TL_LOOP_GRAIN / 2, multiply_range, &p);
  return TL_OK;
}

/* ---- gates and shifts ----------------------------------------------------------------------- */

/* What the two kernels below read and write; each uses the fields that it needs. */
typedef struct rows {
  const tl_host *from;
  const tl_host *bias;
  const float *biases;
  tl_host *to;
  uint64_t width; /* of a row of the result, or elements of a channel */
  uint64_t channels;
  double scale;
} rows;

static double gelu(double v) { return 0.5 * v * (1 + tl_erf(v * 0.70710678118654752440)); }

static void split_gelu_range(void *user, uint64_t begin, uint64_t end) {
  const rows *r = user;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t k = i % r->width, at = i / r->width * 2 * r->width + k;
    double left = number_at(r->from, at) + number_at(r->bias, k);
    double right = number_at(r->from, at + r->width) + number_at(r->bias, k + r->width);
    put(r->to, i, left * gelu(right));
  }
}

/* BiasSplitGelu: cuts X + bias in two halves along the last axis and multiplies the left half by
 * the Gelu of the right one. x: [...,2n], bias: [2n] -> [...,n]. */
tl_status tl_eval_bias_split_gelu(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK];
  TL_TRY(need_floats(ctx, 2));
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
  rows r = {.from = ctx->in[0], .bias = ctx->in[1]};
  int last = r.from->rank - 1;
  int64_t size = r.from->dims[last];
  if (size % 2 != 0 || r.bias->dims[0] != size)
    return tl_eval_fail(ctx, "the last dim must be even, and that of the bias");
  memcpy(dims, r.from->dims, (size_t)r.from->rank * sizeof *dims);
  dims[last] = size / 2;
  r.width = (uint64_t)size / 2;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)r.from->dtype, r.from->rank, dims, &r.to));
  tl_eval_for(ctx, r.to->n, TL_LOOP_GRAIN / 8, split_gelu_range, &r);
  return TL_OK;
}

static void scale_range(void *user, uint64_t begin, uint64_t end) {
  const rows *r = user;
  for (uint64_t i = begin; i < end; i++) {
    double bias = r->biases ? (double)r->biases[i / r->width % r->channels] : 0;
    put(r->to, i, number_at(r->from, i) * r->scale + bias);
  }
}

/* ImageScaler: multiplies [N,C,H,W] by one number and adds a bias for each channel, if there are
 * any. */
tl_status tl_eval_image_scaler(tl_eval *ctx) {
  const tl_attr *bias = tl_node_attr(ctx->m, ctx->node, TL_SYM_bias);
  TL_TRY(need_floats(ctx, 1));
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  rows r = {.from = ctx->in[0], .scale = (double)tl_eval_float(ctx, TL_SYM_scale, 1)};
  if (bias && bias->kind == TL_ATTR_FLOATS && bias->count) {
    if ((int64_t)bias->count != r.from->dims[1])
      return tl_eval_fail(ctx, "there are %u biases for %lld channels", bias->count,
                          (long long)r.from->dims[1]);
    r.biases = bias->u.fs;
    r.channels = bias->count;
  }
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)r.from->dtype, r.from, &r.to));
  if (r.from->n)
    r.width = (uint64_t)r.from->dims[2] * (uint64_t)r.from->dims[3];
  tl_eval_for(ctx, r.to->n, TL_LOOP_GRAIN, scale_range, &r);
  return TL_OK;
}
