/* SPDX-License-Identifier: Apache-2.0 */
/* Computes losses over class labels, with gradients: NegativeLogLikelihoodLoss,
 * SoftmaxCrossEntropyLoss and the forms of com.microsoft. Data is [N, C, d...], labels are [N,
 * d...]. */
#include "ir/eval/kernel/lines.h"
#include "ir/eval/kernel/number.h"
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/softmax.h"

typedef enum { NONE, MEAN, SUM } kind;

/* The operands and attributes of a loss. */
typedef struct loss {
  kind reduction;
  tl_lines g; /* along the classes */
  const tl_host *labels;
  const tl_host *weights; /* NULL: 1 each */
  bool ignores;
  int64_t ignored;
} loss;

static tl_status read_reduction(tl_eval *ctx, kind *out) {
  tl_sv v = tl_eval_string(ctx, TL_SYM_reduction);
  *out = tl_sv_is(v, "none") ? NONE : tl_sv_is(v, "sum") ? SUM : MEAN;
  if (*out == MEAN && v.n && !tl_sv_is(v, "mean"))
    return tl_eval_fail(ctx, "attribute reduction is '%.*s'", TL_SV_ARG(v));
  return TL_OK;
}

/* Reads the ignored label: an attribute, or operand `operand` of the internal forms (-1: none). */
static tl_status read_ignored(tl_eval *ctx, int operand, loss *l) {
  if (operand >= 0) {
    l->ignores = tl_eval_in(ctx, (uint32_t)operand) != NULL;
    return tl_eval_operand_int(ctx, (uint32_t)operand, 0, &l->ignored);
  }
  l->ignores = tl_node_attr(ctx->m, ctx->node, TL_SYM_ignore_index) != NULL;
  l->ignored = tl_eval_int(ctx, TL_SYM_ignore_index, 0);
  return TL_OK;
}

/* Checks every label before it is used as an index. */
static tl_status check_labels(tl_eval *ctx, const loss *l) {
  if (l->labels->n != l->g.outer * l->g.inner)
    return tl_eval_fail(ctx, "there are %llu labels, expected %llu",
                        (unsigned long long)l->labels->n,
                        (unsigned long long)(l->g.outer * l->g.inner));
  if (l->weights && l->weights->n != l->g.n)
    return tl_eval_fail(ctx, "there are %llu weights for %llu classes",
                        (unsigned long long)l->weights->n, (unsigned long long)l->g.n);
  for (uint64_t i = 0; i < l->labels->n; i++) {
    int64_t label = tl_host_int_at(l->labels, i);
    if ((label < 0 || (uint64_t)label >= l->g.n) && !(l->ignores && label == l->ignored))
      return tl_eval_fail(ctx, "label %lld is none of %llu classes", (long long)label,
                          (unsigned long long)l->g.n);
  }
  return TL_OK;
}

/* Reads the operands: data at `first`, then labels and weights. */
static tl_status open_loss(tl_eval *ctx, uint32_t first, int ignored, loss *l) {
  TL_TRY(tl_eval_need_rank(ctx, first, 2, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, first + 1, 1, TL_MAX_RANK));
  TL_TRY(read_reduction(ctx, &l->reduction));
  TL_TRY(read_ignored(ctx, ignored, l));
  l->g = tl_lines_of(tl_eval_in(ctx, first), 1, 2);
  l->labels = tl_eval_in(ctx, first + 1);
  l->weights = tl_eval_in(ctx, first + 2);
  return check_labels(ctx, l);
}

/* Returns the weight of sample i, 0 for the ignored label. *place: where its class is in the
 * data. */
static double weight_of(const loss *l, uint64_t i, uint64_t *place) {
  int64_t label = tl_host_int_at(l->labels, i);
  *place = 0;
  if (l->ignores && label == l->ignored)
    return 0;
  *place = tl_line_first(l->g, i) + (uint64_t)label * l->g.inner;
  return l->weights ? tl_cell_at(l->weights, (uint64_t)label) : 1;
}

/* The mean is a weighted one: this is its divisor. */
static double sum_weights(const loss *l) {
  double sum = 0;
  uint64_t place;
  for (uint64_t i = 0; i < l->labels->n; i++)
    sum += weight_of(l, i, &place);
  return sum;
}

static tl_dtype float_of(const tl_host *t) {
  return t->dtype == TL_DTYPE_F64 ? TL_DTYPE_F64 : TL_DTYPE_F32;
}

/* Sets *out to the float of the results: that of the data, unless the node says another. Narrow
 * ones are made as f32. */
static tl_status read_output_type(tl_eval *ctx, const tl_host *data, tl_dtype *out) {
  TL_TRY(tl_eval_dtype_attr(ctx, TL_SYM_output_type, float_of(data), out));
  *out = *out == TL_DTYPE_F64 ? TL_DTYPE_F64 : TL_DTYPE_F32;
  return TL_OK;
}

/* Makes result 0 from logarithms of probabilities. A weight of 0 must not meet a logarithm of
 * -infinity, whose product would be NaN. */
static tl_status add_losses(tl_eval *ctx, const loss *l, const tl_host *log_prob) {
  tl_host *out;
  bool each = l->reduction == NONE;
  TL_TRY(tl_eval_result(ctx, 0, float_of(log_prob), each ? l->labels->rank : 0, l->labels->dims,
                        &out));
  double sum = 0;
  for (uint64_t i = 0; i < l->labels->n; i++) {
    uint64_t place;
    double weight = weight_of(l, i, &place);
    double v = weight != 0 ? -weight * tl_cell_at(log_prob, place) : 0;
    sum += v;
    if (each)
      tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
  if (l->reduction == MEAN)
    sum /= sum_weights(l);
  if (!each)
    tl_cells_store(out->dtype, &sum, out->data, 0, 1, 1);
  return TL_OK;
}

tl_status tl_eval_nll_loss(tl_eval *ctx) {
  loss l;
  TL_TRY(open_loss(ctx, 0, -1, &l));
  return add_losses(ctx, &l, tl_eval_in(ctx, 0));
}

/* SoftmaxCrossEntropyLoss; with ARG 1 the internal form, whose ignored label is operand 3. */
tl_status tl_eval_softmax_loss(tl_eval *ctx) {
  loss l;
  tl_host *log_prob;
  tl_dtype to;
  TL_TRY(open_loss(ctx, 0, ctx->arg ? 3 : -1, &l));
  const tl_host *scores = tl_eval_in(ctx, 0);
  TL_TRY(read_output_type(ctx, scores, &to));
  TL_TRY(tl_eval_result_like(ctx, 1, to, scores, &log_prob));
  if (log_prob->n)
    TL_TRY(tl_eval_lines(ctx, scores, l.g, log_prob,
                         (tl_line_work){tl_log_softmax_line, NULL, l.g.n}));
  return add_losses(ctx, &l, log_prob);
}

/* ---- gradients ------------------------------------------------------------------------------ */

typedef struct loss_grad {
  const loss *l;
  const tl_host *dy;
  const tl_host *bias; /* NULL, or added to the result */
  double factor;       /* of every sample, but for reduction none */
} loss_grad;

/* The gradient of one sample: (probability - 1 for its class) times its weight. The cells are
 * logarithms of probabilities. */
static void loss_grad_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)spare;
  const loss_grad *d = user;
  double *c = cells;
  uint64_t place, first = tl_line_first(d->l->g, line);
  double weight = weight_of(d->l, line, &place);
  weight *= d->l->reduction == NONE ? tl_cell_at(d->dy, line) : d->factor;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = first + i * d->l->g.inner;
    c[i] = weight != 0 ? (tl_exp(c[i]) - (at == place ? 1 : 0)) * weight : 0;
    if (d->bias)
      c[i] += tl_cell_at(d->bias, at);
  }
}

/* dY, log_prob, label, weight, then bias. ARG 1: an ignored label comes before the bias. */
tl_status tl_eval_softmax_loss_grad(tl_eval *ctx) {
  loss l;
  tl_host *out;
  tl_dtype to;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(open_loss(ctx, 1, ctx->arg ? 4 : -1, &l));
  const tl_host *log_prob = tl_eval_in(ctx, 1);
  loss_grad d = {.l = &l, .dy = tl_eval_in(ctx, 0), .bias = tl_eval_in(ctx, ctx->arg ? 5 : 4)};
  if (d.dy->n != (l.reduction == NONE ? l.labels->n : 1) || (d.bias && d.bias->n != log_prob->n))
    return tl_eval_fail(ctx, "the gradient or the bias does not fit the data");
  TL_TRY(read_output_type(ctx, log_prob, &to));
  TL_TRY(tl_eval_result_like(ctx, 0, to, log_prob, &out));
  if (!out->n)
    return TL_OK;
  double whole = l.reduction == MEAN ? sum_weights(&l) : 1;
  d.factor = whole != 0 && l.reduction != NONE ? tl_cell_at(d.dy, 0) / whole : 0;
  return tl_eval_lines(ctx, log_prob, l.g, out, (tl_line_work){loss_grad_line, &d, 0});
}

/* ---- SoftmaxCrossEntropy: labels are probabilities along the last axis ---------------------- */

static tl_status open_soft(tl_eval *ctx, uint32_t first, kind *reduction, tl_lines *g) {
  TL_TRY(tl_eval_need_rank(ctx, first, 1, TL_MAX_RANK));
  const tl_host *data = tl_eval_in(ctx, first);
  TL_TRY(tl_eval_need_rank(ctx, first + 1, data->rank, data->rank));
  TL_TRY(read_reduction(ctx, reduction));
  if (*reduction == NONE)
    return tl_eval_unsupported(ctx, "reduction none is not defined for this operator");
  if (data->n != tl_eval_in(ctx, first + 1)->n)
    return tl_eval_fail(ctx, "data and labels differ in shape");
  *g = tl_lines_of(data, (uint32_t)data->rank - 1, (uint32_t)data->rank);
  return TL_OK;
}

/* The loss is -sum(labels * log_prob), divided by the number of lines for the mean. */
tl_status tl_eval_soft_loss(tl_eval *ctx) {
  kind reduction;
  tl_lines g;
  tl_host *out, *log_prob;
  TL_TRY(open_soft(ctx, 0, &reduction, &g));
  const tl_host *logits = tl_eval_in(ctx, 0), *labels = tl_eval_in(ctx, 1);
  TL_TRY(tl_eval_result(ctx, 0, float_of(logits), 0, NULL, &out));
  TL_TRY(tl_eval_result_like(ctx, 1, float_of(logits), logits, &log_prob));
  if (log_prob->n)
    TL_TRY(tl_eval_lines(ctx, logits, g, log_prob, (tl_line_work){tl_log_softmax_line, NULL, g.n}));
  double sum = 0;
  for (uint64_t i = 0; i < logits->n; i++)
    sum -= tl_cell_at(labels, i) * tl_cell_at(log_prob, i);
  if (reduction == MEAN)
    sum /= (double)g.outer;
  tl_cells_store(out->dtype, &sum, out->data, 0, 1, 1);
  return TL_OK;
}

tl_status tl_eval_soft_loss_grad(tl_eval *ctx) {
  kind reduction;
  tl_lines g;
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(open_soft(ctx, 1, &reduction, &g));
  const tl_host *dy = tl_eval_in(ctx, 0), *log_prob = tl_eval_in(ctx, 1),
                *labels = tl_eval_in(ctx, 2);
  if (dy->n != 1)
    return tl_eval_fail(ctx, "the gradient must be one number");
  TL_TRY(tl_eval_result_like(ctx, 0, float_of(log_prob), log_prob, &out));
  double factor = tl_cell_at(dy, 0) / (reduction == MEAN ? (double)g.outer : 1);
  for (uint64_t i = 0; i < out->n; i++) {
    double v = (tl_exp(tl_cell_at(log_prob, i)) - tl_cell_at(labels, i)) * factor;
    tl_cells_store(out->dtype, &v, out->data, i, 1, 1);
  }
  return TL_OK;
}
