/* SPDX-License-Identifier: Apache-2.0 */
/* Computes MatMul and its fused forms, and plans products for other kernels (matmul.h). */
#include "ir/eval/linear/matmul.h"

enum { SCALE_GRAIN = 1 << 15 };

/* ---- views ---------------------------------------------------------------------------------- */

/* Strides are in elements, row by row. */
void tl_matmul_view_set(tl_matmul_view *v, int rank, const int64_t *dims) {
  int64_t step = 1;
  v->rank = rank;
  for (int i = rank - 1; i >= 0; i--) {
    v->dims[i] = dims[i];
    v->strides[i] = step;
    step *= dims[i];
  }
}

/* Moves entry `from` behind those up to `to`. */
static void move_axis(int64_t *list, int from, int to) {
  int64_t moved = list[from];
  for (int i = from; i < to; i++)
    list[i] = list[i + 1];
  list[to] = moved;
}

tl_status tl_matmul_view_of(tl_eval *ctx, uint32_t i, bool batch, bool trans, tl_matmul_view *out) {
  TL_TRY(tl_eval_need_rank(ctx, i, 1, TL_MAX_RANK));
  const tl_host *t = tl_eval_in(ctx, i);
  if (t->n == 0) { /* strides are never followed, and products of the dims might overflow */
    *out = (tl_matmul_view){.rank = t->rank};
    memcpy(out->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
  } else {
    tl_matmul_view_set(out, t->rank, t->dims);
  }
  if (batch && t->rank > 2) {
    move_axis(out->dims, 0, t->rank - 2);
    move_axis(out->strides, 0, t->rank - 2);
  }
  if (trans && t->rank > 1) {
    move_axis(out->dims, t->rank - 2, t->rank - 1);
    move_axis(out->strides, t->rank - 2, t->rank - 1);
  }
  return TL_OK;
}

/* ---- plan ----------------------------------------------------------------------------------- */

/* The axes before the last two count batches. */
static int batch_axes(const tl_matmul_view *v) { return v->rank > 2 ? v->rank - 2 : 0; }

/* Returns the size of a batch axis in an operand; `back` counts axes from the last one. */
static int64_t batch_dim(const tl_matmul_view *v, int back) {
  int n = batch_axes(v);
  return back < n ? v->dims[n - 1 - back] : 1;
}

/* Returns the stride of a batch axis in an operand, 0 where it is broadcast. */
static int64_t batch_stride(const tl_matmul_view *v, int back) {
  return batch_dim(v, back) == 1 ? 0 : v->strides[batch_axes(v) - 1 - back];
}

/* Finds the shape of the result by numpy's rules: an operand of rank 1 has no row or no column, and
 * the result then lacks that axis. */
static tl_status plan_dims(tl_eval *ctx, const tl_matmul_view *a, const tl_matmul_view *b,
                           tl_matmul *p) {
  tl_gemm *g = &p->gemm;
  int64_t inner = b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2];
  g->k = a->dims[a->rank - 1];
  if (g->k != inner)
    return tl_eval_fail(ctx, "the inner sizes are %lld and %lld, expected the same",
                        (long long)g->k, (long long)inner);
  int axes_a = batch_axes(a), axes_b = batch_axes(b);
  p->batch_rank = axes_a > axes_b ? axes_a : axes_b;
  for (int back = 0; back < p->batch_rank; back++) {
    int64_t da = batch_dim(a, back), db = batch_dim(b, back);
    if (da != db && da != 1 && db != 1)
      return tl_eval_fail(ctx, "batches cannot be broadcast: %lld against %lld", (long long)da,
                          (long long)db);
    p->dims[p->batch_rank - 1 - back] = da == 1 ? db : da;
  }
  p->rank = p->batch_rank;
  g->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  g->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  if (a->rank > 1)
    p->dims[p->rank++] = g->m;
  if (b->rank > 1)
    p->dims[p->rank++] = g->n;
  return TL_OK;
}

/* Lists where the matrices of each batch begin, walking the batch index like an odometer. */
static tl_status plan_places(tl_eval *ctx, const tl_matmul_view *a, const tl_matmul_view *b,
                             tl_matmul *p) {
  tl_gemm *g = &p->gemm;
  int64_t *at_a = tl_eval_scratch(ctx, g->batches, sizeof *at_a);
  int64_t *at_b = tl_eval_scratch(ctx, g->batches, sizeof *at_b);
  int64_t *at_c = tl_eval_scratch(ctx, g->batches, sizeof *at_c);
  if (!at_a || !at_b || !at_c)
    return tl_eval_no_memory(ctx);
  int64_t from_a = 0, from_b = 0, index[TL_MAX_RANK] = {0};
  for (uint64_t i = 0; i < g->batches; i++) {
    at_a[i] = from_a;
    at_b[i] = from_b;
    at_c[i] = (int64_t)i * g->m * g->n;
    for (int back = 0; back < p->batch_rank; back++) {
      int axis = p->batch_rank - 1 - back;
      from_a += batch_stride(a, back);
      from_b += batch_stride(b, back);
      if (++index[axis] < p->dims[axis])
        break;
      from_a -= index[axis] * batch_stride(a, back);
      from_b -= index[axis] * batch_stride(b, back);
      index[axis] = 0;
    }
  }
  g->a.at = at_a;
  g->b.at = at_b;
  g->c_at = at_c;
  return TL_OK;
}

/* Returns true when the batches of A lie as more rows of one matrix and B is one matrix: one large
 * product is faster than many small ones. */
static bool folds(const tl_matmul_view *a, const tl_matmul_view *b, const tl_matmul *p) {
  int64_t n;
  if (p->batch_rank == 0 || a->rank < 3 || !tl_eval_product(b->dims, 0, batch_axes(b), &n) ||
      n != 1 || batch_axes(a) != p->batch_rank)
    return false;
  for (int i = a->rank - 2; i > 0; i--)
    if (a->strides[i - 1] != a->strides[i] * a->dims[i])
      return false;
  return true;
}

/* The element at which a product begins is listed only when there are several batches. */
tl_status tl_matmul_plan(tl_eval *ctx, const tl_matmul_view *a, const tl_matmul_view *b,
                         bool keep_batches, tl_matmul *p) {
  int64_t batches, total;
  *p = (tl_matmul){0};
  TL_TRY(plan_dims(ctx, a, b, p));
  tl_gemm *g = &p->gemm;
  if (!tl_eval_product(p->dims, 0, p->batch_rank, &batches) ||
      !tl_eval_product(p->dims, 0, p->rank, &total))
    return tl_eval_fail(ctx, "the result would have more elements than can be counted");
  g->batches = total ? (uint64_t)batches : 0;
  g->a.lane_stride = a->rank > 1 ? a->strides[a->rank - 2] : 0;
  g->a.k_stride = a->strides[a->rank - 1];
  g->b.lane_stride = b->rank > 1 ? b->strides[b->rank - 1] : 0;
  g->b.k_stride = b->rank > 1 ? b->strides[b->rank - 2] : b->strides[0];
  g->c_stride = g->n;
  if (g->batches <= 1)
    return TL_OK;
  if (!keep_batches && folds(a, b, p)) {
    g->m *= batches;
    g->batches = 1;
    return TL_OK;
  }
  return plan_places(ctx, a, b, p);
}

/* Operands are of one dtype, that of the result. */
tl_status tl_matmul_run(tl_eval *ctx, tl_matmul *p, const tl_host *a, const tl_host *b,
                        tl_host **out) {
  tl_dtype dtype = (tl_dtype)a->dtype;
  if (!tl_gemm_type_of(dtype, &p->gemm.type))
    return tl_eval_unsupported(ctx, "products of %s are not supported", tl_dtype_get(dtype)->name);
  TL_TRY(tl_eval_result(ctx, 0, dtype, p->rank, p->dims, out));
  p->gemm.a.data = a->data;
  p->gemm.b.data = b->data;
  p->gemm.c = (*out)->data;
  return tl_gemm_run(ctx, &p->gemm);
}

/* ---- kernels -------------------------------------------------------------------------------- */

tl_status tl_eval_matmul(tl_eval *ctx) {
  tl_matmul_view a, b;
  tl_matmul p;
  tl_host *y;
  TL_TRY(tl_matmul_view_of(ctx, 0, false, false, &a));
  TL_TRY(tl_matmul_view_of(ctx, 1, false, false, &b));
  TL_TRY(tl_matmul_plan(ctx, &a, &b, false, &p));
  return tl_matmul_run(ctx, &p, tl_eval_in(ctx, 0), tl_eval_in(ctx, 1), &y);
}

typedef struct scaling {
  tl_host *y;
  float by;
} scaling;

/* alpha of the fused product. */
static void scale_range(void *user, uint64_t begin, uint64_t end) {
  const scaling *s = user;
  if (s->y->dtype == TL_DTYPE_F32)
    for (uint64_t i = begin; i < end; i++)
      ((float *)s->y->data)[i] *= s->by;
  else
    for (uint64_t i = begin; i < end; i++)
      ((double *)s->y->data)[i] *= (double)s->by;
}

tl_status tl_matmul_fused(tl_eval *ctx, tl_host **y) {
  tl_matmul_view a, b;
  tl_matmul p;
  TL_TRY(tl_matmul_view_of(ctx, 0, tl_eval_int(ctx, TL_SYM_transBatchA, 0) != 0,
                           tl_eval_int(ctx, TL_SYM_transA, 0) != 0, &a));
  TL_TRY(tl_matmul_view_of(ctx, 1, tl_eval_int(ctx, TL_SYM_transBatchB, 0) != 0,
                           tl_eval_int(ctx, TL_SYM_transB, 0) != 0, &b));
  TL_TRY(tl_matmul_plan(ctx, &a, &b, false, &p));
  TL_TRY(tl_matmul_run(ctx, &p, tl_eval_in(ctx, 0), tl_eval_in(ctx, 1), y));
  scaling s = {*y, tl_eval_float(ctx, TL_SYM_alpha, 1.0f)};
  if (s.by != 1.0f)
    tl_eval_for(ctx, (*y)->n, SCALE_GRAIN, scale_range, &s);
  return TL_OK;
}

tl_status tl_eval_fused_matmul(tl_eval *ctx) {
  tl_host *y;
  return tl_matmul_fused(ctx, &y);
}
