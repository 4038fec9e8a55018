/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Unique: elements, or slices along an axis, without repetition. Slices are compared
 * element by element; NaN is greater than every number and equal to itself. */
#include "ir/eval/kernel/move.h"

static int order_f64(double a, double b) {
  if (a != a || b != b)
    return (a != a) - (b != b);
  return (a > b) - (a < b);
}

/* u64 is read as it is, since half of its numbers are no int64. */
static int order_ints(const tl_host *t, uint64_t a, uint64_t b) {
  if (t->dtype == TL_DTYPE_U64) {
    uint64_t u = ((const uint64_t *)t->data)[a], v = ((const uint64_t *)t->data)[b];
    return (u > v) - (u < v);
  }
  int64_t u = tl_host_int_at(t, a), v = tl_host_int_at(t, b);
  return (u > v) - (u < v);
}

/* By the real part, then by the imaginary one. */
static int order_complex(const tl_host *t, uint64_t a, uint64_t b) {
  for (uint64_t part = 0; part < 2; part++) {
    uint64_t i = 2 * a + part, j = 2 * b + part;
    int order = t->dtype == TL_DTYPE_C64
                    ? order_f64(((const float *)t->data)[i], ((const float *)t->data)[j])
                    : order_f64(((const double *)t->data)[i], ((const double *)t->data)[j]);
    if (order)
      return order;
  }
  return 0;
}

/* Compares elements a and b of a tensor: negative, 0 or positive. */
static int order_elements(const tl_host *t, uint64_t a, uint64_t b) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_STRING:
    return tl_sv_compare(((const tl_sv *)t->data)[a], ((const tl_sv *)t->data)[b]);
  case TL_DTYPE_C64:
  case TL_DTYPE_C128: return order_complex(t, a, b);
  default: break;
  }
  if (tl_dtype_is_float((tl_dtype)t->dtype))
    return order_f64(tl_host_at(t, a), tl_host_at(t, b));
  return order_ints(t, a, b);
}

/* Compares slices a and b along the axis, lexicographically. */
static int order_slices(const tl_host *t, const tl_around *s, uint64_t a, uint64_t b) {
  for (uint64_t o = 0; o < s->outer; o++)
    for (uint64_t i = 0; i < s->inner; i++) {
      uint64_t base = o * s->axis * s->inner + i;
      int order = order_elements(t, base + a * s->inner, base + b * s->inner);
      if (order)
        return order;
    }
  return 0;
}

/* Sorts item numbers by merging, bottom-up. It is stable, so equal items stay in order of
 * appearance. O(n log n) comparisons. */
static void sort_items(const tl_host *t, const tl_around *s, uint64_t *at, uint64_t *spare) {
  for (uint64_t width = 1; width < s->axis; width *= 2) {
    for (uint64_t first = 0; first < s->axis; first += 2 * width) {
      uint64_t middle = first + width < s->axis ? first + width : s->axis;
      uint64_t last = middle + width < s->axis ? middle + width : s->axis;
      uint64_t a = first, b = middle;
      for (uint64_t k = first; k < last; k++) {
        bool left = a < middle && (b == last || order_slices(t, s, at[a], at[b]) <= 0);
        spare[k] = left ? at[a++] : at[b++];
      }
    }
    memcpy(at, spare, (size_t)s->axis * sizeof *at);
  }
}

/* Groups of equal items. */
typedef struct groups {
  uint64_t n;
  uint64_t *first; /* [n] first item of each group, in the order of the result */
  uint64_t *group; /* [items] */
  uint64_t *count; /* [n] */
} groups;

/* Numbers the groups of a sorted list; the first item of each is its earliest. */
static void group_sorted(const tl_host *t, const tl_around *s, const uint64_t *at, groups *g) {
  g->n = 0;
  for (uint64_t k = 0; k < s->axis; k++) {
    if (k == 0 || order_slices(t, s, at[k - 1], at[k]) != 0) {
      g->first[g->n] = at[k];
      g->count[g->n++] = 0;
    }
    g->group[at[k]] = g->n - 1;
    g->count[g->n - 1]++;
  }
}

/* Renumbers the groups by where they first appear. */
static void order_by_appearance(const tl_around *s, groups *g, uint64_t *spare) {
  uint64_t seen = 0;
  for (uint64_t i = 0; i < s->axis; i++)
    if (g->first[g->group[i]] == i)
      spare[g->group[i]] = seen++;
  for (uint64_t i = 0; i < s->axis; i++)
    g->group[i] = spare[g->group[i]];
  memset(g->count, 0, (size_t)g->n * sizeof *g->count);
  for (uint64_t i = 0; i < s->axis; i++) {
    uint64_t k = g->group[i];
    if (g->count[k]++ == 0)
      g->first[k] = i;
  }
}

/* Sorting finds equal items even when the result is not sorted. */
static tl_status find_groups(tl_eval *ctx, const tl_host *t, const tl_around *s, bool sorted,
                             groups *g) {
  uint64_t n = s->axis;
  uint64_t *at = tl_eval_scratch(ctx, n, sizeof *at), *spare = tl_eval_scratch(ctx, n, sizeof *at);
  g->first = tl_eval_scratch(ctx, n, sizeof *at);
  g->group = tl_eval_scratch(ctx, n, sizeof *at);
  g->count = tl_eval_scratch(ctx, n, sizeof *at);
  if (!at || !spare || !g->first || !g->group || !g->count)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < n; i++)
    at[i] = i;
  sort_items(t, s, at, spare);
  group_sorted(t, s, at, g);
  if (!sorted && n)
    order_by_appearance(s, g, spare);
  return TL_OK;
}

/* Makes result i of numbers, which are below 2^63. */
static tl_status numbers_result(tl_eval *ctx, uint32_t i, const uint64_t *v, uint64_t n) {
  int64_t dim = (int64_t)n;
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, i, TL_DTYPE_I64, 1, &dim, &y));
  if (n)
    memcpy(y->data, v, (size_t)n * sizeof *v);
  return TL_OK;
}

/* Makes result 0: the first item of each group. */
static tl_status values_result(tl_eval *ctx, int rank, int64_t *dims, uint32_t axis,
                               const tl_around *s, const groups *g) {
  tl_units from;
  tl_unit_result to;
  dims[axis] = (int64_t)g->n;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)ctx->in[0]->dtype, rank, dims, &to));
  size_t run = (size_t)s->inner * from.size;
  for (uint64_t o = 0; to.t->n && o < s->outer; o++)
    for (uint64_t k = 0; k < g->n; k++)
      memcpy(to.data + (o * g->n + k) * run, from.data + (o * s->axis + g->first[k]) * run, run);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* Without an axis the items are elements, else slices. */
static tl_status unique(tl_eval *ctx, bool sorted, groups *g) {
  const tl_host *t = ctx->in[0];
  int64_t dims[TL_MAX_RANK];
  uint32_t axis = 0;
  tl_around s = {1, t->n, 1};
  bool flat = !tl_node_attr(ctx->m, ctx->node, TL_SYM_axis);
  if (!flat) {
    TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), t->rank, &axis));
    s = tl_eval_around(t, axis);
    memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    if (!t->n && s.axis)
      return tl_eval_unsupported(ctx, "slices without elements");
  }
  TL_TRY(find_groups(ctx, t, &s, sorted, g));
  return values_result(ctx, flat ? 1 : t->rank, dims, axis, &s, g);
}

/* Returns the length of the inverse indices: elements, or slices along the axis. */
static uint64_t n_items(const tl_host *t, const tl_eval *ctx) {
  if (!tl_node_attr(ctx->m, ctx->node, TL_SYM_axis))
    return t->n;
  int64_t axis = tl_eval_int(ctx, TL_SYM_axis, 0);
  return (uint64_t)t->dims[axis < 0 ? axis + t->rank : axis];
}

tl_status tl_eval_unique(tl_eval *ctx) {
  groups g;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(unique(ctx, tl_eval_int(ctx, TL_SYM_sorted, 1) != 0, &g));
  TL_TRY(numbers_result(ctx, 1, g.first, g.n));
  TL_TRY(numbers_result(ctx, 2, g.group, n_items(ctx->in[0], ctx)));
  return numbers_result(ctx, 3, g.count, g.n);
}

/* Unique of com.microsoft: values in order of appearance, the group of each element, counts. */
tl_status tl_eval_unique_in_order(tl_eval *ctx) {
  groups g;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, 1));
  TL_TRY(unique(ctx, false, &g));
  TL_TRY(numbers_result(ctx, 1, g.group, ctx->in[0]->n));
  return numbers_result(ctx, 2, g.count, g.n);
}
