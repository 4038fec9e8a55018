/* SPDX-License-Identifier: Apache-2.0 */
/* Computes determinants and inverses of stacks of square matrices, and distances between rows.
 * Matrices are eliminated in doubles with partial pivoting (the largest number of a column). */
#include <math.h>

#include "ir/eval/kernel/kernel.h"

static double number_at(const tl_host *t, uint64_t i) {
  return t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[i]
                                  : (double)((const float *)t->data)[i];
}

static void put_number(tl_host *t, uint64_t i, double v) {
  if (t->dtype == TL_DTYPE_F64)
    ((double *)t->data)[i] = v;
  else
    ((float *)t->data)[i] = (float)v;
}

static tl_status need_floats(tl_eval *ctx, const tl_host *t) {
  if (t->dtype == TL_DTYPE_F32 || t->dtype == TL_DTYPE_F64)
    return TL_OK;
  return tl_eval_unsupported(ctx, "matrices of %s are not supported",
                             tl_dtype_get((tl_dtype)t->dtype)->name);
}

/* The last two dims are the matrix, the ones before count matrices. */
static tl_status need_square(tl_eval *ctx, int64_t *n) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  const tl_host *t = tl_eval_in(ctx, 0);
  *n = t->dims[t->rank - 1];
  if (t->dims[t->rank - 2] != *n)
    return tl_eval_fail(ctx, "the matrices have %lld rows and %lld columns",
                        (long long)t->dims[t->rank - 2], (long long)*n);
  return need_floats(ctx, t);
}

/* Brings the row with the largest number of a column to its diagonal. Returns true when rows were
 * swapped. */
static bool swap_pivot(double *m, int64_t n, int64_t width, int64_t column) {
  int64_t best = column;
  for (int64_t i = column + 1; i < n; i++)
    if (fabs(m[i * width + column]) > fabs(m[best * width + column]))
      best = i;
  for (int64_t k = 0; best != column && k < width; k++) {
    double t = m[best * width + k];
    m[best * width + k] = m[column * width + k];
    m[column * width + k] = t;
  }
  return best != column;
}

/* Subtracts `times` row `from` of row `to`, from column `first` on. */
static void subtract_row(double *m, int64_t width, int64_t from, int64_t to, double times,
                         int64_t first) {
  for (int64_t k = first; k < width; k++)
    m[to * width + k] -= times * m[from * width + k];
}

/* Eliminates below the diagonal, destroying m: the determinant is the product of the pivots, with a
 * sign change for each swap. */
static double determinant(double *m, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; c++) {
    if (swap_pivot(m, n, n, c))
      det = -det;
    double pivot = m[c * n + c];
    det *= pivot;
    if (pivot == 0)
      return 0;
    for (int64_t i = c + 1; i < n; i++)
      subtract_row(m, n, c, i, m[i * n + c] / pivot, c);
  }
  return det;
}

tl_status tl_eval_det(tl_eval *ctx) {
  int64_t n;
  tl_host *y;
  TL_TRY(need_square(ctx, &n));
  const tl_host *t = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)t->dtype, t->rank - 2, t->dims, &y));
  if (t->n == 0) { /* the determinant of an empty matrix is the empty product */
    for (uint64_t i = 0; i < y->n; i++)
      put_number(y, i, 1);
    return TL_OK;
  }
  uint64_t area = (uint64_t)n * (uint64_t)n;
  double *m = tl_eval_scratch(ctx, area, sizeof *m);
  if (!m)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < y->n; i++) {
    for (uint64_t k = 0; k < area; k++)
      m[k] = number_at(t, i * area + k);
    put_number(y, i, determinant(m, n));
  }
  return TL_OK;
}

/* Inverts by Gauss-Jordan elimination. m: [n][2 n], the matrix and beside it the identity, which
 * becomes the inverse. A singular matrix gives infinities or NaN, as a division by its determinant
 * does. */
static void invert(double *m, int64_t n) {
  int64_t width = 2 * n;
  for (int64_t c = 0; c < n; c++) {
    swap_pivot(m, n, width, c);
    double pivot = m[c * width + c];
    for (int64_t k = c; k < width; k++)
      m[c * width + k] /= pivot;
    for (int64_t i = 0; i < n; i++)
      if (i != c)
        subtract_row(m, width, c, i, m[i * width + c], c);
  }
}

tl_status tl_eval_inverse(tl_eval *ctx) {
  int64_t n;
  tl_host *y;
  TL_TRY(need_square(ctx, &n));
  const tl_host *t = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)t->dtype, t, &y));
  if (t->n == 0)
    return TL_OK;
  uint64_t rows = (uint64_t)n, area = rows * rows;
  double *m = tl_eval_scratch(ctx, area, 2 * sizeof *m);
  if (!m)
    return tl_eval_no_memory(ctx);
  for (uint64_t at = 0; at < t->n; at += area) {
    for (uint64_t i = 0; i < rows; i++)
      for (uint64_t k = 0; k < rows; k++) {
        m[i * 2 * rows + k] = number_at(t, at + i * rows + k);
        m[i * 2 * rows + rows + k] = i == k ? 1 : 0;
      }
    invert(m, n);
    for (uint64_t i = 0; i < rows; i++)
      for (uint64_t k = 0; k < rows; k++)
        put_number(y, at + i * rows + k, m[i * 2 * rows + rows + k]);
  }
  return TL_OK;
}

/* ---- distances ------------------------------------------------------------------------------ */

/* CDist: rows of A against rows of B. */
typedef struct distances {
  const tl_host *a;
  const tl_host *b;
  tl_host *y;
  bool root;
} distances;

/* Computes all distances of rows [begin, end) of A to the rows of B. */
static void distance_rows(void *user, uint64_t begin, uint64_t end) {
  const distances *d = user;
  uint64_t n = (uint64_t)d->b->dims[0], k = (uint64_t)d->b->dims[1];
  for (uint64_t i = begin; i < end; i++)
    for (uint64_t j = 0; j < n; j++) {
      double sum = 0;
      for (uint64_t s = 0; s < k; s++) {
        double v = number_at(d->a, i * k + s) - number_at(d->b, j * k + s);
        sum += v * v;
      }
      put_number(d->y, i * n + j, d->root ? sqrt(sum) : sum);
    }
}

tl_status tl_eval_cdist(tl_eval *ctx) {
  tl_sv metric = tl_eval_string(ctx, TL_SYM_metric);
  distances d = {.root = tl_sv_is(metric, "euclidean")};
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  d.a = tl_eval_in(ctx, 0);
  d.b = tl_eval_in(ctx, 1);
  TL_TRY(need_floats(ctx, d.a));
  if (!d.root && metric.n && !tl_sv_is(metric, "sqeuclidean"))
    return tl_eval_unsupported(ctx, "the metric '%.*s' is not known", TL_SV_ARG(metric));
  if (d.a->dims[1] != d.b->dims[1] || d.a->dtype != d.b->dtype)
    return tl_eval_fail(ctx, "the rows have %lld and %lld elements", (long long)d.a->dims[1],
                        (long long)d.b->dims[1]);
  int64_t dims[2] = {d.a->dims[0], d.b->dims[0]};
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)d.a->dtype, 2, dims, &d.y));
  if (d.y->n)
    tl_eval_for(ctx, (uint64_t)dims[0], 16, distance_rows, &d);
  return TL_OK;
}
