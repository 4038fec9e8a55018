/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and computes the activation functions of recurrent layers. */
#include <math.h>

#include "ir/eval/linear/rnn_activation.h"
#include "ir/eval/math/elementary.h"

/* A function and the parameters that it takes from activation_alpha and activation_beta. */
typedef struct function_row {
  const char *name;
  bool has_alpha;
  bool has_beta;
  bool has_default; /* of those parameters */
  double alpha;
  double beta;
} function_row;

static const function_row functions[TL_RNN_N_FUNCTIONS] = {
    [TL_RNN_RELU] = {.name = "relu"},
    [TL_RNN_TANH] = {.name = "tanh"},
    [TL_RNN_SIGMOID] = {.name = "sigmoid"},
    [TL_RNN_AFFINE] = {"affine", true, true, true, 1.0, 0.0},
    [TL_RNN_LEAKY_RELU] = {"leakyrelu", true, false, true, 0.01f, 0.0},
    [TL_RNN_THRESHOLDED_RELU] = {"thresholdedrelu", true, false, true, 1.0, 0.0},
    [TL_RNN_SCALED_TANH] = {"scaledtanh", true, true, false, 0.0, 0.0},
    [TL_RNN_HARD_SIGMOID] = {"hardsigmoid", true, true, true, 0.2f, 0.5},
    [TL_RNN_ELU] = {"elu", true, false, true, 1.0, 0.0},
    [TL_RNN_SOFTSIGN] = {.name = "softsign"},
    [TL_RNN_SOFTPLUS] = {.name = "softplus"},
};

/* The exponent is never positive, so exp cannot overflow. */
static double sigmoid(double v) {
  if (v >= 0)
    return 1.0 / (1.0 + tl_exp(-v));
  double e = tl_exp(v);
  return e / (1.0 + e);
}

/* NaN stays NaN. */
static double limit(double v, double low, double high) {
  return v < low ? low : v > high ? high : v;
}

/* expm1 and log1p keep the digits of small numbers; softplus never takes exp of a large one. */
double tl_rnn_apply(const tl_rnn_activation *a, double v) {
  if (a->clip > 0)
    v = limit(v, -a->clip, a->clip);
  switch (a->function) {
  case TL_RNN_RELU: return v < 0 ? 0 : v;
  case TL_RNN_TANH: return tl_tanh(v);
  case TL_RNN_SIGMOID: return sigmoid(v);
  case TL_RNN_AFFINE: return a->alpha * v + a->beta;
  case TL_RNN_LEAKY_RELU: return v < 0 ? a->alpha * v : v;
  case TL_RNN_THRESHOLDED_RELU: return v > a->alpha ? v : 0;
  case TL_RNN_SCALED_TANH: return a->alpha * tl_tanh(a->beta * v);
  case TL_RNN_HARD_SIGMOID: return limit(a->alpha * v + a->beta, 0, 1);
  case TL_RNN_ELU: return v < 0 ? a->alpha * tl_expm1(v) : v;
  case TL_RNN_SOFTSIGN: return v / (1.0 + fabs(v));
  case TL_RNN_SOFTPLUS: return v > 0 ? v + tl_log1p(tl_exp(-v)) : tl_log1p(tl_exp(v));
  case TL_RNN_N_FUNCTIONS: break;
  }
  return v;
}

/* Compares names without regard to case, as frameworks write them both ways. */
static bool same_word(tl_sv text, const char *lower) {
  size_t n = strlen(lower);
  if (text.n != n)
    return false;
  for (size_t i = 0; i < n; i++) {
    char c = text.p[i];
    if (c >= 'A' && c <= 'Z')
      c = (char)(c - 'A' + 'a');
    if (c != lower[i])
      return false;
  }
  return true;
}

/* The functions are in a short list. */
static tl_status function_by_name(tl_eval *ctx, tl_sv name, tl_rnn_function *out) {
  for (int i = 0; i < TL_RNN_N_FUNCTIONS; i++)
    if (same_word(name, functions[i].name)) {
      *out = (tl_rnn_function)i;
      return TL_OK;
    }
  return tl_eval_unsupported(ctx, "activation function '%.*s' is not known", TL_SV_ARG(name));
}

/* A list of parameters, used up in the order of the functions that take one. */
typedef struct parameters {
  const tl_attr *list;
  uint32_t next;
} parameters;

/* False when the list is used up; *out then stays. */
static bool next_parameter(parameters *p, double *out) {
  if (!p->list || p->next >= p->list->count)
    return false;
  *out = (double)p->list->u.fs[p->next++];
  return true;
}

/* Takes a function's parameters off the lists; what is missing has the default, if there is one. */
static tl_status fill_parameters(tl_eval *ctx, parameters *alphas, parameters *betas,
                                 tl_rnn_activation *a) {
  const function_row *row = &functions[a->function];
  bool complete = row->has_default;
  a->alpha = row->alpha;
  a->beta = row->beta;
  bool alpha = !row->has_alpha || next_parameter(alphas, &a->alpha);
  bool beta = !row->has_beta || next_parameter(betas, &a->beta);
  if (complete || (alpha && beta))
    return TL_OK;
  return tl_eval_fail(ctx, "activation function %s needs activation_alpha and activation_beta",
                      row->name);
}

tl_status tl_rnn_read_activations(tl_eval *ctx, uint32_t directions, uint32_t each,
                                  const tl_rnn_function *defaults, tl_rnn_activation *out) {
  const tl_attr *names = tl_node_attr(ctx->m, ctx->node, TL_SYM_activations);
  parameters alphas = {.list = tl_node_attr(ctx->m, ctx->node, TL_SYM_activation_alpha)};
  parameters betas = {.list = tl_node_attr(ctx->m, ctx->node, TL_SYM_activation_beta)};
  double clip = (double)tl_eval_float(ctx, TL_SYM_clip, 0.0f);
  if (!(clip >= 0))
    return tl_eval_fail(ctx, "attribute clip must not be negative");
  if (names && names->count == 0)
    names = NULL;
  if (names && names->count < directions * each)
    return tl_eval_fail(ctx, "%u activation functions are needed, %u are given", directions * each,
                        names->count);
  for (uint32_t i = 0; i < directions * each; i++) {
    out[i].function = defaults[i % each];
    if (names)
      TL_TRY(function_by_name(ctx, tl_sym(ctx->m, names->u.ids[i]), &out[i].function));
    TL_TRY(fill_parameters(ctx, &alphas, &betas, &out[i]));
    out[i].clip = clip;
  }
  return TL_OK;
}
