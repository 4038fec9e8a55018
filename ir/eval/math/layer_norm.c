/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizes rows: LayerNormalization and its simplified (root mean square), skip and gradient
 * forms. A row is everything from `axis` on. Statistics are made in double. */
#include <math.h>

#include "ir/eval/kernel/lines.h"

typedef struct layer_norm {
  double epsilon;
  bool simplified;  /* no mean is taken off */
  tl_spread add[2]; /* added before: skip, bias */
  tl_spread scale;
  tl_spread shift;
  const double *scale_once; /* when every row has the same */
  const double *shift_once;
  tl_host *sum;  /* what is normalized, with the additions */
  tl_host *mean; /* may be NULL, as all results here */
  tl_host *inv;
} layer_norm;

/* Returns n elements of a parameter from `first` on: the shared row `once`, or loaded into `room`.
 * NULL when the parameter is absent. */
static const double *row_of(const tl_spread *s, const double *once, uint64_t first, uint64_t n,
                            double *room) {
  if (once || !s->t)
    return once;
  tl_spread_load(s, first, n, room);
  return room;
}

/* Stores one number, if the result is wanted (t not NULL). */
static void put_cell(tl_host *t, uint64_t i, double v) {
  if (t)
    tl_cells_store(t->dtype, &v, t->data, i, 1, 1);
}

/* Adds skip and bias to the row, and stores the sum where it is a result. */
static void add_rows(const layer_norm *p, uint64_t first, double *c, uint64_t n, double *room) {
  for (int k = 0; k < 2; k++) {
    if (!p->add[k].t)
      continue;
    tl_spread_load(&p->add[k], first, n, room);
    for (uint64_t i = 0; i < n; i++)
      c[i] += room[i];
  }
  if (p->sum)
    tl_cells_store(p->sum->dtype, c, p->sum->data, first, 1, n);
}

/* `room` is used three times in turn: for additions, scale and shift. */
static void normalize_row(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  const layer_norm *p = user;
  double *c = cells, *room = spare;
  add_rows(p, line * n, c, n, room);
  double mean = tl_cells_sum(c, n) / (double)n, taken = p->simplified ? 0 : mean;
  double inv = 1 / sqrt(tl_cells_sum_of_squares(c, n, taken) / (double)n + p->epsilon);
  const double *scale = row_of(&p->scale, p->scale_once, line * n, n, room);
  for (uint64_t i = 0; i < n; i++)
    c[i] = (c[i] - taken) * inv * (scale ? scale[i] : 1);
  const double *shift = row_of(&p->shift, p->shift_once, line * n, n, room);
  if (shift)
    for (uint64_t i = 0; i < n; i++)
      c[i] += shift[i];
  put_cell(p->mean, line, mean);
  put_cell(p->inv, line, inv);
}

/* Converts a parameter to doubles once, when all rows share it; otherwise *out stays NULL. */
static tl_status convert_once(tl_eval *ctx, const tl_spread *s, uint64_t n, const double **out) {
  if (!s->t || !s->periodic || n % s->t->n != 0)
    return TL_OK;
  double *row = tl_eval_scratch(ctx, n, sizeof *row);
  if (!row)
    return tl_eval_no_memory(ctx);
  tl_spread_load(s, 0, n, row);
  *out = row;
  return TL_OK;
}

static tl_status run_rows(tl_eval *ctx, layer_norm *p, const tl_host *in, uint32_t axis,
                          tl_host *out) {
  tl_lines g = tl_lines_of(in, axis, (uint32_t)in->rank);
  if (!out->n)
    return TL_OK;
  TL_TRY(convert_once(ctx, &p->scale, g.n, &p->scale_once));
  TL_TRY(convert_once(ctx, &p->shift, g.n, &p->shift_once));
  return tl_eval_lines(ctx, in, g, out, (tl_line_work){normalize_row, p, g.n});
}

/* Returns the dtype to make a float result in: f64 where the module states it, else f32, which the
 * driver rounds to narrower types. */
static tl_dtype stated(const tl_eval *ctx, uint32_t i) {
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  bool f64 = v && tl_type_dtype(ctx->m, tl_value_type(ctx->m, v)) == TL_DTYPE_F64;
  return f64 ? TL_DTYPE_F64 : TL_DTYPE_F32;
}

/* Makes result i, a statistic with the shape of `in` and ones from `axis` on. *out: NULL when the
 * node does not name that result. */
static tl_status make_statistic(tl_eval *ctx, uint32_t i, const tl_host *in, uint32_t axis,
                                tl_host **out) {
  int64_t dims[TL_MAX_RANK];
  for (int k = 0; k < in->rank; k++)
    dims[k] = (uint32_t)k < axis ? in->dims[k] : 1;
  *out = NULL;
  if (i >= tl_node_get(ctx->m, ctx->node)->n_results)
    return TL_OK;
  TL_TRY(tl_eval_result(ctx, i, stated(ctx, i), in->rank, dims, out));
  if (!in->n) /* rows of no elements: no line is visited, so the mean of nothing is set here */
    for (uint64_t k = 0; k < (*out)->n; k++)
      put_cell(*out, k, NAN);
  return TL_OK;
}

/* LayerNormalization. With ARG 1 the simplified form, which takes off no mean and has no result for
 * it. */
tl_status tl_eval_layer_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0), *scale = tl_eval_in(ctx, 1);
  layer_norm p = {.epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-5f),
                  .simplified = ctx->arg != 0};
  uint32_t axis;
  tl_host *out;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), in->rank, &axis));
  TL_TRY(tl_spread_open(ctx, scale, in, &p.scale));
  if (!p.simplified)
    TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, 2), in, &p.shift));
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)scale->dtype, in->rank, in->dims, &out));
  if (!p.simplified)
    TL_TRY(make_statistic(ctx, 1, in, axis, &p.mean));
  TL_TRY(make_statistic(ctx, p.simplified ? 1 : 2, in, axis, &p.inv));
  return run_rows(ctx, &p, in, axis, out);
}

/* SkipLayerNormalization: input, skip, gamma, beta (not in the simplified form), bias -> output,
 * mean, inverse deviation, input + skip + bias. ARG 1: simplified. */
tl_status tl_eval_skip_layer_norm(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  for (uint32_t i = 1; i < 3; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  layer_norm p = {.epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-12f),
                  .simplified = ctx->arg != 0};
  uint32_t axis = (uint32_t)in->rank - 1, bias = p.simplified ? 3 : 4;
  tl_host *out;
  TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, 1), in, &p.add[0]));
  TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, bias), in, &p.add[1]));
  TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, 2), in, &p.scale));
  if (!p.simplified)
    TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, 3), in, &p.shift));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  TL_TRY(make_statistic(ctx, 1, in, axis, &p.mean));
  TL_TRY(make_statistic(ctx, 2, in, axis, &p.inv));
  if (tl_eval_wants(ctx, 3))
    TL_TRY(tl_eval_result_like(ctx, 3, (tl_dtype)in->dtype, in, &p.sum));
  return run_rows(ctx, &p, in, axis, out);
}

/* ---- gradients ------------------------------------------------------------------------------ */

typedef struct norm_grad {
  const tl_host *dy;
  const tl_host *in;
  const tl_host *scale;
  const tl_host *mean; /* NULL in the simplified form */
  const tl_host *inv;
  tl_host *scale_grad;
  tl_host *shift_grad; /* NULL in the simplified form */
  uint64_t rows;
  uint64_t n;
} norm_grad;

/* Computes n elements of a normalized row, from column `from` on, out of the saved statistics. */
static void restore_row(const norm_grad *d, uint64_t row, uint64_t from, uint64_t n, double *c) {
  double mean = d->mean ? tl_cell_at(d->mean, row) : 0, inv = tl_cell_at(d->inv, row);
  tl_cells_load(d->in->dtype, d->in->data, row * d->n + from, 1, n, c);
  for (uint64_t i = 0; i < n; i++)
    c[i] = (c[i] - mean) * inv;
}

/* The gradient of a row: with g = dy * scale and the normalized row hat, it is (g - mean(g) - hat *
 * mean(g * hat)) * inv; the simplified form has no mean(g). */
static void grad_row(void *user, uint64_t row, void *cells, uint64_t n, void *spare) {
  const norm_grad *d = user;
  double *dy = cells, *hat = spare, *product = hat + n;
  restore_row(d, row, 0, n, hat);
  tl_cells_load(d->scale->dtype, d->scale->data, 0, 1, n, product);
  for (uint64_t i = 0; i < n; i++)
    dy[i] *= product[i];
  for (uint64_t i = 0; i < n; i++)
    product[i] = dy[i] * hat[i];
  double along = tl_cells_sum(product, n) / (double)n;
  double mean = d->mean ? tl_cells_sum(dy, n) / (double)n : 0;
  double inv = tl_cell_at(d->inv, row);
  for (uint64_t i = 0; i < n; i++)
    dy[i] = (dy[i] - mean - hat[i] * along) * inv;
}

enum { COLUMNS = 64 };

/* Computes the gradients of scale and shift: sums down the columns, a strip of columns at a time,
 * so that each thread adds its columns in row order. */
static void grad_columns(void *user, uint64_t begin, uint64_t end) {
  const norm_grad *d = user;
  for (uint64_t s = begin; s < end; s++) {
    double scale[COLUMNS] = {0}, shift[COLUMNS] = {0}, dy[COLUMNS], hat[COLUMNS];
    uint64_t from = s * COLUMNS, n = d->n - from < COLUMNS ? d->n - from : COLUMNS;
    for (uint64_t row = 0; row < d->rows; row++) {
      restore_row(d, row, from, n, hat);
      tl_cells_load(d->dy->dtype, d->dy->data, row * d->n + from, 1, n, dy);
      for (uint64_t i = 0; i < n; i++) {
        scale[i] += dy[i] * hat[i];
        shift[i] += dy[i];
      }
    }
    tl_cells_store(d->scale_grad->dtype, scale, d->scale_grad->data, from, 1, n);
    if (d->shift_grad)
      tl_cells_store(d->shift_grad->dtype, shift, d->shift_grad->data, from, 1, n);
  }
}

static tl_status check_grad(tl_eval *ctx, const norm_grad *d) {
  if (d->dy->n != d->in->n || d->scale->n != d->n || d->inv->n != d->rows ||
      (d->mean && d->mean->n != d->rows))
    return tl_eval_fail(ctx, "the operands do not fit together: %llu rows of %llu elements",
                        (unsigned long long)d->rows, (unsigned long long)d->n);
  return TL_OK;
}

/* LayerNormalizationGrad: dY, X, scale, mean (not in the simplified form, ARG 1), inverse deviation
 * -> gradients of X, scale and bias. */
tl_status tl_eval_layer_norm_grad(tl_eval *ctx) {
  uint32_t operands = ctx->arg ? 4 : 5, axis;
  for (uint32_t i = 0; i < operands; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, i == 1 ? 1 : 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 1), *scale = tl_eval_in(ctx, 2);
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), in->rank, &axis));
  tl_lines g = tl_lines_of(in, axis, (uint32_t)in->rank);
  norm_grad d = {.dy = tl_eval_in(ctx, 0), .in = in, .scale = scale, .rows = g.outer, .n = g.n};
  d.mean = ctx->arg ? NULL : tl_eval_in(ctx, 3);
  d.inv = tl_eval_in(ctx, operands - 1);
  TL_TRY(check_grad(ctx, &d));
  tl_host *out;
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  TL_TRY(tl_eval_result_like(ctx, 1, (tl_dtype)scale->dtype, scale, &d.scale_grad));
  if (!ctx->arg)
    TL_TRY(tl_eval_result_like(ctx, 2, (tl_dtype)scale->dtype, scale, &d.shift_grad));
  tl_eval_for(ctx, (g.n + COLUMNS - 1) / COLUMNS, 1, grad_columns, &d);
  return out->n ? tl_eval_lines(ctx, d.dy, g, out, (tl_line_work){grad_row, &d, 2 * g.n}) : TL_OK;
}
