/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Softmax, LogSoftmax, Hardmax, BiasSoftmax and the gradients of the first two. */
#include "ir/eval/math/softmax.h"

#include "ir/eval/math/elementary.h"

enum { ROW_WORK = 1 << 14 };

/* The largest cell is subtracted first, so that exp cannot overflow. A line of -infinity only gives
 * NaN, as the definition does. */
static void softmax_cells(double *c, uint64_t n) {
  double most = tl_cells_max(c, n);
  for (uint64_t i = 0; i < n; i++)
    c[i] = tl_exp(c[i] - most);
  double whole = tl_cells_sum(c, n);
  for (uint64_t i = 0; i < n; i++)
    c[i] /= whole;
}

static void softmax_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)user, (void)line, (void)spare;
  softmax_cells(cells, n);
}

/* x - max - log(sum(exp(x - max))): no probability is formed that could underflow to 0. */
void tl_log_softmax_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)user, (void)line;
  double *c = cells, *e = spare, most = tl_cells_max(c, n);
  for (uint64_t i = 0; i < n; i++)
    e[i] = tl_exp(c[i] - most);
  double log_sum = tl_log(tl_cells_sum(e, n));
  for (uint64_t i = 0; i < n; i++)
    c[i] = c[i] - most - log_sum;
}

/* Gives 1 to the first of the largest elements, 0 to the others. */
static void hardmax_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)user, (void)line, (void)spare;
  double *c = cells;
  uint64_t best = 0;
  for (uint64_t i = 1; i < n; i++)
    if (c[i] > c[best])
      best = i;
  for (uint64_t i = 0; i < n; i++)
    c[i] = i == best ? 1 : 0;
}

/* Rows in f32, which fast mode allows. */
typedef struct f32_rows {
  const float *in;
  float *out;
  uint64_t n;
} f32_rows;

/* Eight maxima at once, which compilers vectorise. */
static float largest_f32(const float *c, uint64_t n) {
  float most[8];
  for (int k = 0; k < 8; k++)
    most[k] = c[0];
  uint64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++)
      most[k] = c[i + (uint64_t)k] > most[k] ? c[i + (uint64_t)k] : most[k];
  for (; i < n; i++)
    most[0] = c[i] > most[0] ? c[i] : most[0];
  for (int k = 1; k < 8; k++)
    most[0] = most[k] > most[0] ? most[k] : most[0];
  return most[0];
}

/* The sum is made in double in eight fixed parts: the order does not depend on the machine. */
static double sum_f32(const float *c, uint64_t n) {
  double sum[8] = {0};
  uint64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++)
      sum[k] += (double)c[i + (uint64_t)k];
  for (; i < n; i++)
    sum[0] += (double)c[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Rows in f32. The maximum may miss a NaN, which then reaches every element through the sum. */
static void softmax_rows(void *user, uint64_t begin, uint64_t end) {
  const f32_rows *r = user;
  for (uint64_t row = begin; row < end; row++) {
    const float *in = r->in + row * r->n;
    float *out = r->out + row * r->n, most = largest_f32(in, r->n);
    for (uint64_t i = 0; i < r->n; i++)
      out[i] = in[i] - most;
    tl_expf_n(out, out, (size_t)r->n);
    float part = (float)(1 / sum_f32(out, r->n));
    for (uint64_t i = 0; i < r->n; i++)
      out[i] *= part;
  }
}

/* Softmax; with ARG 1 LogSoftmax, with ARG 2 Hardmax. Contiguous rows of f32 have a fast form. */
tl_status tl_eval_softmax(tl_eval *ctx) {
  static const tl_line_fn kinds[] = {softmax_line, tl_log_softmax_line, hardmax_line};
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  uint32_t axis;
  tl_host *out;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), in->rank ? in->rank : 1, &axis));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  if (!out->n)
    return TL_OK;
  tl_lines g = tl_lines_of(in, axis, axis + 1);
  if (!ctx->exact && ctx->arg == 0 && g.inner == 1 && in->dtype == TL_DTYPE_F32) {
    f32_rows r = {in->data, out->data, g.n};
    tl_eval_for(ctx, g.outer, ROW_WORK / g.n + 1, softmax_rows, &r);
    return TL_OK;
  }
  return tl_eval_lines(ctx, in, g, out,
                       (tl_line_work){kinds[ctx->arg], NULL, ctx->arg == 1 ? g.n : 0});
}

/* ---- BiasSoftmax ---------------------------------------------------------------------------- */

static void biased_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  double *c = cells, *bias = spare;
  tl_spread_load(user, line * n, n, bias);
  for (uint64_t i = 0; i < n; i++)
    c[i] += bias[i];
  softmax_cells(c, n);
}

/* BiasSoftmax, over all axes from `axis` on. Both forms of the bias (is_inner_broadcast) follow
 * numpy's broadcasting, so the attribute need not be read: the dims left out are there as ones. */
tl_status tl_eval_bias_softmax(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  uint32_t axis;
  tl_spread bias;
  tl_host *out;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 1), in->rank, &axis));
  TL_TRY(tl_spread_open(ctx, tl_eval_in(ctx, 1), in, &bias));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  tl_lines g = tl_lines_of(in, axis, (uint32_t)in->rank);
  return out->n ? tl_eval_lines(ctx, in, g, out, (tl_line_work){biased_line, &bias, g.n}) : TL_OK;
}

/* ---- gradients ------------------------------------------------------------------------------ */

typedef struct gradient {
  tl_lines g;
  const tl_host *y; /* what the forward op gave */
} gradient;

/* The gradient of a line: y * (dy - sum(dy * y)). */
static void softmax_grad_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  const gradient *d = user;
  double *c = cells, *y = spare, *product = y + n;
  tl_cells_load(d->y->dtype, d->y->data, tl_line_first(d->g, line), d->g.inner, n, y);
  for (uint64_t i = 0; i < n; i++)
    product[i] = c[i] * y[i];
  double sum = tl_cells_sum(product, n);
  for (uint64_t i = 0; i < n; i++)
    c[i] = (c[i] - sum) * y[i];
}

/* The gradient of a line: dy - exp(y) * sum(dy). */
static void log_softmax_grad_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  const gradient *d = user;
  double *c = cells, *y = spare, sum = tl_cells_sum(c, n);
  tl_cells_load(d->y->dtype, d->y->data, tl_line_first(d->g, line), d->g.inner, n, y);
  for (uint64_t i = 0; i < n; i++)
    c[i] -= tl_exp(y[i]) * sum;
}

enum { GRAD_OF_LOG = 1, ONE_AXIS = 2 };

/* SoftmaxGrad and its forms. ARG: GRAD_OF_LOG for LogSoftmax; ONE_AXIS for opset 13, else all axes
 * from `axis` on. */
tl_status tl_eval_softmax_grad(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const tl_host *dy = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_need_rank(ctx, 1, dy->rank, dy->rank));
  const tl_host *y = tl_eval_in(ctx, 1);
  uint32_t axis;
  tl_host *out;
  if (memcmp(dy->dims, y->dims, (size_t)dy->rank * sizeof *dy->dims) != 0)
    return tl_eval_fail(ctx, "the operands differ in shape");
  bool one = (ctx->arg & ONE_AXIS) != 0, of_log = (ctx->arg & GRAD_OF_LOG) != 0;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, one ? -1 : 1), dy->rank, &axis));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)dy->dtype, dy, &out));
  gradient d = {tl_lines_of(dy, axis, one ? axis + 1 : (uint32_t)dy->rank), y};
  if (!out->n)
    return TL_OK;
  return tl_eval_lines(
      ctx, dy, d.g, out,
      (tl_line_work){of_log ? log_softmax_grad_line : softmax_grad_line, &d, 2 * d.g.n});
}
