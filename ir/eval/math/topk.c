/* SPDX-License-Identifier: Apache-2.0 */
/* Computes TopK: a heap of the best k elements of each line, which is then sorted. Equal elements
 * keep their order, which makes the result unique; sorted=0 allows any order and gets the same
 * one. */
#include "ir/eval/kernel/lines.h"

typedef struct topk {
  int dtype;
  bool floats;
  bool largest;
  uint64_t k;
  uint64_t inner;
  tl_host *values;
  tl_host *indices;
} topk;

/* A line and the order of its elements. */
typedef struct ranking {
  const topk *t;
  const void *cells;
} ranking;

/* Returns a negative number, 0 or a positive number for a < b, a == b, a > b; NaN is greater than
 * every number. */
static int compare_floats(double a, double b) {
  if (a != a || b != b)
    return (a != a) - (b != b);
  return (a > b) - (a < b);
}

/* Returns true when element i comes before element j in the result; equal elements by index. */
static bool before(const ranking *r, uint64_t i, uint64_t j) {
  int c;
  if (r->t->floats) {
    const double *f = r->cells;
    c = compare_floats(f[i], f[j]);
  } else {
    const int64_t *w = r->cells;
    c = (w[i] > w[j]) - (w[i] < w[j]);
  }
  if (!r->t->largest)
    c = -c;
  return c ? c > 0 : i < j;
}

/* Restores the heap below `at`. The root is the element that comes last in the result, so that a
 * better one replaces it. */
static void sink(const ranking *r, uint64_t *heap, uint64_t n, uint64_t at) {
  for (;;) {
    uint64_t last = at, left = 2 * at + 1, right = 2 * at + 2;
    if (left < n && before(r, heap[last], heap[left]))
      last = left;
    if (right < n && before(r, heap[last], heap[right]))
      last = right;
    if (last == at)
      return;
    uint64_t moved = heap[at];
    heap[at] = heap[last];
    heap[last] = moved;
    at = last;
  }
}

/* Keeps the best k of n in a heap, O(n log k), then takes the roots off from the last place on.
 * Cells are flipped for the comparison and back for the values. */
static void select_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  const topk *t = user;
  uint64_t *heap = spare, k = t->k;
  tl_cells_flip(t->dtype, cells, n);
  ranking r = {t, cells};
  for (uint64_t i = 0; i < k; i++)
    heap[i] = i;
  for (uint64_t i = k / 2; i-- > 0;)
    sink(&r, heap, k, i);
  for (uint64_t i = k; i < n; i++)
    if (before(&r, i, heap[0])) {
      heap[0] = i;
      sink(&r, heap, k, 0);
    }
  for (uint64_t left = k; left-- > 1;) {
    uint64_t last = heap[0];
    heap[0] = heap[left];
    heap[left] = last;
    sink(&r, heap, left, 0);
  }
  tl_cells_flip(t->dtype, cells, n);
  uint64_t to = line / t->inner * k * t->inner + line % t->inner;
  for (uint64_t i = 0; i < k; i++, to += t->inner) {
    ((int64_t *)t->indices->data)[to] = (int64_t)heap[i];
    tl_cells_store(t->dtype, (const int64_t *)cells + heap[i], t->values->data, to, 1, 1);
  }
}

tl_status tl_eval_topk(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  int64_t dims[TL_MAX_RANK], k;
  uint32_t axis;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, -1), in->rank, &axis));
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &k));
  if (k < 0 || k > in->dims[axis])
    return tl_eval_fail(ctx, "K is %lld, the axis has %lld elements", (long long)k,
                        (long long)in->dims[axis]);
  memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
  dims[axis] = k;
  topk t = {.dtype = in->dtype, .floats = tl_cells_are_floats(in->dtype), .k = (uint64_t)k};
  t.largest = tl_eval_int(ctx, TL_SYM_largest, 1) != 0;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)in->dtype, in->rank, dims, &t.values));
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_I64, in->rank, dims, &t.indices));
  if (!t.values->n)
    return TL_OK;
  tl_lines g = tl_lines_of(in, axis, axis + 1);
  t.inner = g.inner;
  return tl_eval_lines(ctx, in, g, NULL, (tl_line_work){select_line, &t, t.k});
}
