/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and applies the activations of fused ops (fused_activation.h). */
#include "ir/eval/math/fused_activation.h"

#include "ir/eval/math/elementary.h"

enum { ACTIVATION_GRAIN = 1 << 13 };

/* A name and what it means. */
typedef struct row {
  const char *name;
  tl_activation_kind kind;
  float p[2]; /* defaults */
} row;

/* The names that ONNX Runtime's fused ops use for activations, with their default parameters. The
 * spelling differs from op to op. */
static const row rows[] = {
    {"Relu", TL_ACT_RELU, {0, 0}},
    {"Tanh", TL_ACT_TANH, {0, 0}},
    {"Sigmoid", TL_ACT_SIGMOID, {0, 0}},
    {"LeakyRelu", TL_ACT_LEAKY_RELU, {0.01f, 0}},
    {"Clip", TL_ACT_CLIP, {-3.4028234663852886e+38f, 3.4028234663852886e+38f}},
    {"HardSigmoid", TL_ACT_HARD_SIGMOID, {0.2f, 0.5f}},
    {"SiLU", TL_ACT_SILU, {0, 0}},
    {"Silu", TL_ACT_SILU, {0, 0}},
    {"silu", TL_ACT_SILU, {0, 0}},
    {"swish", TL_ACT_SILU, {0, 0}},
    {"Gelu", TL_ACT_GELU, {0, 0}},
    {"none", TL_ACT_NONE, {0, 0}},
};

static const tl_attr *attr(const tl_eval *ctx, tl_symbol name) {
  return tl_node_attr(ctx->m, ctx->node, name);
}

/* Parameters come from activation_params, else from activation_alpha and activation_beta, else from
 * the table. */
tl_status tl_activation_read(tl_eval *ctx, tl_activation *out) {
  tl_sv name = tl_eval_string(ctx, TL_SYM_activation);
  const tl_attr *params = attr(ctx, TL_SYM_activation_params);
  *out = (tl_activation){.kind = TL_ACT_NONE};
  if (name.n == 0)
    return TL_OK;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!tl_sv_is(name, rows[i].name))
      continue;
    *out = (tl_activation){rows[i].kind, {rows[i].p[0], rows[i].p[1]}};
    out->p[0] = tl_eval_float(ctx, TL_SYM_activation_alpha, out->p[0]);
    out->p[1] = tl_eval_float(ctx, TL_SYM_activation_beta, out->p[1]);
    uint32_t n = params && params->kind == TL_ATTR_FLOATS ? params->count : 0;
    for (uint32_t k = 0; k < n && k < 2; k++)
      out->p[k] = params->u.fs[k];
    return TL_OK;
  }
  return tl_eval_unsupported(ctx, "the activation '%.*s' is not known", TL_SV_ARG(name));
}

/* 0.7071 is 1 / sqrt(2). */
static double gelu(double v) { return 0.5 * v * (1.0 + tl_erf(v * 0.70710678118654752440)); }

/* Gelu by its tanh approximation: 0.5 v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))). */
static double fast_gelu(double v) {
  return 0.5 * v * (1.0 + tl_tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
}

static double bounded(double v, double low, double high) {
  return v < low ? low : v > high ? high : v;
}

/* Computed in f64, so that f32 results are rounded once. */
static double applied(const tl_activation *a, double v) {
  double p = (double)a->p[0], q = (double)a->p[1];
  switch (a->kind) {
  case TL_ACT_NONE: return v;
  case TL_ACT_RELU: return v < 0 ? 0 : v;
  case TL_ACT_TANH: return tl_tanh(v);
  case TL_ACT_SIGMOID: return tl_sigmoid(v);
  case TL_ACT_LEAKY_RELU: return v < 0 ? v * p : v;
  case TL_ACT_CLIP: return bounded(v, p, q);
  case TL_ACT_HARD_SIGMOID: return bounded(p * v + q, 0, 1);
  case TL_ACT_SILU: return v * tl_sigmoid(v);
  case TL_ACT_GELU: return gelu(v);
  case TL_ACT_FAST_GELU: return fast_gelu(v);
  }
  return v;
}

typedef struct application {
  const tl_activation *a;
  tl_host *t;
} application;

/* Relu is by far the most frequent; a loop of its own vectorises. */
static void relu(float *t, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++)
    t[i] = t[i] < 0 ? 0 : t[i];
}

static void apply_range(void *user, uint64_t begin, uint64_t end) {
  const application *s = user;
  if (s->t->dtype == TL_DTYPE_F32 && s->a->kind == TL_ACT_RELU)
    relu(s->t->data, begin, end);
  else if (s->t->dtype == TL_DTYPE_F32)
    for (uint64_t i = begin; i < end; i++)
      ((float *)s->t->data)[i] = (float)applied(s->a, (double)((float *)s->t->data)[i]);
  else
    for (uint64_t i = begin; i < end; i++)
      ((double *)s->t->data)[i] = applied(s->a, ((double *)s->t->data)[i]);
}

/* In place: the result of a fused op is not shared yet. */
tl_status tl_activation_apply(tl_eval *ctx, const tl_activation *a, tl_host *t) {
  application s = {a, t};
  if (t->dtype != TL_DTYPE_F32 && t->dtype != TL_DTYPE_F64)
    return tl_eval_unsupported(ctx, "an activation of %s is not supported",
                               tl_dtype_get((tl_dtype)t->dtype)->name);
  if (a->kind != TL_ACT_NONE)
    tl_eval_for(ctx, t->n, ACTIVATION_GRAIN, apply_range, &s);
  return TL_OK;
}
