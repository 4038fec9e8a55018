/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of expressions over numbers, lists and permutations: their rows are in functions.tbl. A
 * list that would be too long, an overflow and an index outside give NONE. */
#include <math.h>
#include <stdlib.h>

#include "passes/expr/function.h"

/* ---- numbers -------------------------------------------------------------------------------- */

/* The result has the sign of b, as in Python and as floor division needs it. Divisor -1 is answered
 * first, since INT64_MIN % -1 overflows. */
tl_rv tl_fn_mod(tl_site *site, const tl_expr *e) {
  int64_t a = 0, b = 0;
  if (!tl_fn_int(site, e, 0, &a) || !tl_fn_int(site, e, 1, &b) || b == 0 || b == -1)
    return b == -1 ? tl_rv_int(0) : tl_rv_none();
  int64_t r = a % b;
  return tl_rv_int(r && (r < 0) != (b < 0) ? r + b : r);
}

/* Rounds toward zero, as ONNX casts floats to integers. The bounds keep the conversion defined. */
tl_rv tl_fn_whole(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  if (v.kind == TL_RV_FLOAT)
    return v.f > -0x1p62 && v.f < 0x1p62 ? tl_rv_int((int64_t)v.f) : tl_rv_none();
  return v.kind == TL_RV_INT ? v : tl_rv_none();
}

/* Returns the smallest element of a list, or the greatest unless want_less. */
static tl_rv extreme(tl_site *site, const tl_expr *e, bool want_less) {
  tl_int_list l;
  if (!tl_fn_list(site, e, 0, &l) || l.n == 0)
    return tl_rv_none();
  int64_t best = l.at[0];
  for (uint32_t i = 1; i < l.n; i++)
    best = (l.at[i] < best) == want_less ? l.at[i] : best;
  return tl_rv_int(best);
}

/* Both arguments must be of one kind: an integer and a float are not compared, since the result has
 * to have one kind. */
static tl_rv smaller(tl_site *site, const tl_expr *e, bool want_less) {
  if (e->n == 1)
    return extreme(site, e, want_less);
  tl_rv a = tl_fn_arg(site, e, 0), b = tl_fn_arg(site, e, 1);
  if (a.kind == TL_RV_INT && b.kind == TL_RV_INT)
    return (a.i < b.i) == want_less ? a : b;
  if (a.kind == TL_RV_FLOAT && b.kind == TL_RV_FLOAT)
    return (a.f < b.f) == want_less ? a : b;
  return tl_rv_none();
}

tl_rv tl_fn_min(tl_site *site, const tl_expr *e) { return smaller(site, e, true); }
tl_rv tl_fn_max(tl_site *site, const tl_expr *e) { return smaller(site, e, false); }

tl_rv tl_fn_abs(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  if (v.kind == TL_RV_INT && v.i != INT64_MIN)
    return tl_rv_int(v.i < 0 ? -v.i : v.i);
  if (v.kind == TL_RV_FLOAT && v.f < 0)
    v.f = -v.f;
  return v.kind == TL_RV_FLOAT ? v : tl_rv_none();
}

tl_rv tl_fn_sqrt(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  double a = v.kind == TL_RV_INT ? (double)v.i : v.f;
  if ((v.kind != TL_RV_INT && v.kind != TL_RV_FLOAT) || !(a >= 0))
    return tl_rv_none();
  return (tl_rv){.kind = TL_RV_FLOAT, .f = sqrt(a)};
}

tl_rv tl_fn_infinity(tl_site *site, const tl_expr *e) {
  (void)site;
  (void)e;
  return (tl_rv){.kind = TL_RV_FLOAT, .f = (double)INFINITY};
}

/* Evaluates the second argument only if the first is unknown. */
tl_rv tl_fn_or(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  return v.kind == TL_RV_NONE ? tl_fn_arg(site, e, 1) : v;
}

/* Evaluates only the branch that is taken: the other may be unknown. */
tl_rv tl_fn_if(tl_site *site, const tl_expr *e) {
  tl_rv c = tl_fn_arg(site, e, 0);
  return c.kind == TL_RV_BOOL ? tl_fn_arg(site, e, c.i ? 1 : 2) : tl_rv_none();
}

/* ---- lists ---------------------------------------------------------------------------------- */

tl_rv tl_fn_len(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  return tl_fn_list(site, e, 0, &l) ? tl_rv_int(l.n) : tl_rv_none();
}

tl_rv tl_fn_sum(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t total = 0;
  if (!tl_fn_list(site, e, 0, &l))
    return tl_rv_none();
  for (uint32_t i = 0; i < l.n; i++)
    if (__builtin_add_overflow(total, l.at[i], &total))
      return tl_rv_none();
  return tl_rv_int(total);
}

tl_rv tl_fn_product(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t total = 1;
  if (!tl_fn_list(site, e, 0, &l))
    return tl_rv_none();
  for (uint32_t i = 0; i < l.n; i++)
    if (__builtin_mul_overflow(total, l.at[i], &total))
      return tl_rv_none();
  return tl_rv_int(total);
}

tl_rv tl_fn_count(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t v, n = 0;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &v))
    return tl_rv_none();
  for (uint32_t i = 0; i < l.n; i++)
    n += l.at[i] == v;
  return tl_rv_int(n);
}

tl_rv tl_fn_all_equal(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  tl_rv n = tl_fn_count(site, e);
  return n.kind == TL_RV_INT && tl_fn_list(site, e, 0, &l) ? tl_rv_truth(n.i == l.n) : tl_rv_none();
}

tl_rv tl_fn_at_least(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t v;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &v))
    return tl_rv_none();
  for (uint32_t i = 0; i < l.n; i++)
    if (l.at[i] < v)
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

tl_rv tl_fn_repeat(tl_site *site, const tl_expr *e) {
  int64_t v, n;
  if (!tl_fn_int(site, e, 0, &v) || !tl_fn_int(site, e, 1, &n) || n < 0)
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, (uint64_t)n);
  for (int64_t i = 0; at && i < n; i++)
    at[i] = v;
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

tl_rv tl_fn_range(tl_site *site, const tl_expr *e) {
  int64_t from, to;
  if (!tl_fn_int(site, e, 0, &from) || !tl_fn_int(site, e, 1, &to) || from < -TL_FN_LONGEST ||
      to > TL_FN_LONGEST)
    return tl_rv_none();
  int64_t n = to > from ? to - from : 0;
  int64_t *at = tl_fn_room(site, (uint64_t)n);
  for (int64_t i = 0; at && i < n; i++)
    at[i] = from + i;
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

/* Returns place i of a list of n as slices of Python have it: negative ones count from the end, and
 * what lies outside is moved to the nearer end. */
static int64_t clamp_place(int64_t i, int64_t n) {
  int64_t at = i < 0 ? i + n : i;
  return at < 0 ? 0 : at > n ? n : at;
}

/* The result is a view of the list, without a copy: lists do not change. */
tl_rv tl_fn_slice(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t from, to;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &from) || !tl_fn_int(site, e, 2, &to))
    return tl_rv_none();
  from = clamp_place(from, l.n);
  to = clamp_place(to, l.n);
  return tl_rv_list(l.at + from, to > from ? (uint32_t)(to - from) : 0);
}

tl_rv tl_fn_join(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  if (!tl_fn_list(site, e, 0, &a) || !tl_fn_list(site, e, 1, &b))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, (uint64_t)a.n + b.n);
  if (!at)
    return tl_rv_none();
  for (uint32_t i = 0; i < a.n; i++)
    at[i] = a.at[i];
  for (uint32_t i = 0; i < b.n; i++)
    at[a.n + i] = b.at[i];
  return tl_rv_list(at, a.n + b.n);
}

tl_rv tl_fn_without(tl_site *site, const tl_expr *e) {
  tl_int_list l, places;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_list(site, e, 1, &places))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, l.n);
  uint32_t n = 0;
  for (uint32_t i = 0; at && i < l.n; i++) {
    bool dropped = false;
    for (uint32_t k = 0; k < places.n; k++)
      dropped = dropped || places.at[k] == i;
    if (!dropped)
      at[n++] = l.at[i];
  }
  return at ? tl_rv_list(at, n) : tl_rv_none();
}

tl_rv tl_fn_replace_at(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t i, v, where;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &i) || !tl_fn_int(site, e, 2, &v) ||
      !tl_fn_place(i, l.n, &where))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, l.n);
  for (uint32_t k = 0; at && k < l.n; k++)
    at[k] = k == where ? v : l.at[k];
  return at ? tl_rv_list(at, l.n) : tl_rv_none();
}

tl_rv tl_fn_insert_at(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t i, v;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &i) || !tl_fn_int(site, e, 2, &v) ||
      i < 0 || i > l.n)
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, l.n + 1u);
  for (uint32_t k = 0; at && k <= l.n; k++)
    at[k] = k < i ? l.at[k] : k == i ? v : l.at[k - 1];
  return at ? tl_rv_list(at, l.n + 1) : tl_rv_none();
}

tl_rv tl_fn_pick(tl_site *site, const tl_expr *e) {
  tl_int_list l, places;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_list(site, e, 1, &places))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, places.n);
  int64_t where;
  for (uint32_t i = 0; at && i < places.n; i++) {
    if (!tl_fn_place(places.at[i], l.n, &where))
      return tl_rv_none();
    at[i] = l.at[where];
  }
  return at ? tl_rv_list(at, places.n) : tl_rv_none();
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static tl_rv sorted_copy(tl_site *site, tl_int_list l) {
  int64_t *at = tl_fn_room(site, l.n);
  if (!at)
    return tl_rv_none();
  for (uint32_t i = 0; i < l.n; i++)
    at[i] = l.at[i];
  qsort(at, l.n, sizeof *at, by_value);
  return tl_rv_list(at, l.n);
}

tl_rv tl_fn_sorted(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  return tl_fn_list(site, e, 0, &l) ? sorted_copy(site, l) : tl_rv_none();
}

/* Evaluates arguments 0 and 1 as lists; returns false unless both are lists of one length. */
static bool paired(tl_site *site, const tl_expr *e, tl_int_list *a, tl_int_list *b) {
  return tl_fn_list(site, e, 0, a) && tl_fn_list(site, e, 1, b) && a->n == b->n;
}

tl_rv tl_fn_add_lists(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  int64_t *at = paired(site, e, &a, &b) ? tl_fn_room(site, a.n) : NULL;
  for (uint32_t i = 0; at && i < a.n; i++)
    if (__builtin_add_overflow(a.at[i], b.at[i], &at[i]))
      return tl_rv_none();
  return at ? tl_rv_list(at, a.n) : tl_rv_none();
}

tl_rv tl_fn_sub_lists(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  int64_t *at = paired(site, e, &a, &b) ? tl_fn_room(site, a.n) : NULL;
  for (uint32_t i = 0; at && i < a.n; i++)
    if (__builtin_sub_overflow(a.at[i], b.at[i], &at[i]))
      return tl_rv_none();
  return at ? tl_rv_list(at, a.n) : tl_rv_none();
}

tl_rv tl_fn_mul_lists(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  int64_t *at = paired(site, e, &a, &b) ? tl_fn_room(site, a.n) : NULL;
  for (uint32_t i = 0; at && i < a.n; i++)
    if (__builtin_mul_overflow(a.at[i], b.at[i], &at[i]))
      return tl_rv_none();
  return at ? tl_rv_list(at, a.n) : tl_rv_none();
}

tl_rv tl_fn_max_lists(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  int64_t *at = paired(site, e, &a, &b) ? tl_fn_room(site, a.n) : NULL;
  for (uint32_t i = 0; at && i < a.n; i++)
    at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
  return at ? tl_rv_list(at, a.n) : tl_rv_none();
}

/* C rounds a division toward zero, rounding down takes one more off negative odd numbers. */
tl_rv tl_fn_halves(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t *at = tl_fn_list(site, e, 0, &l) ? tl_fn_room(site, l.n) : NULL;
  for (uint32_t i = 0; at && i < l.n; i++)
    at[i] = l.at[i] / 2 - (l.at[i] % 2 < 0);
  return at ? tl_rv_list(at, l.n) : tl_rv_none();
}

tl_rv tl_fn_below(tl_site *site, const tl_expr *e) {
  tl_int_list a, b;
  if (!tl_fn_list(site, e, 0, &a) || !tl_fn_list(site, e, 1, &b) || a.n != b.n)
    return tl_rv_none();
  for (uint32_t i = 0; i < a.n; i++)
    if (a.at[i] >= b.at[i])
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

/* Counts negative axes from the end and sorts, so that two ways to write the same axes are equal
 * lists. */
tl_rv tl_fn_axes(tl_site *site, const tl_expr *e) {
  tl_int_list l;
  int64_t rank, where;
  if (!tl_fn_list(site, e, 0, &l) || !tl_fn_int(site, e, 1, &rank))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, l.n);
  for (uint32_t i = 0; at && i < l.n; i++) {
    if (!tl_fn_place(l.at[i], rank, &where))
      return tl_rv_none();
    at[i] = where;
  }
  return at ? sorted_copy(site, (tl_int_list){at, l.n}) : tl_rv_none();
}

tl_rv tl_fn_axis(tl_site *site, const tl_expr *e) {
  int64_t a, rank, where;
  bool known = tl_fn_int(site, e, 0, &a) && tl_fn_int(site, e, 1, &rank) &&
               tl_fn_place(a, rank, &where);
  return known ? tl_rv_int(where) : tl_rv_none();
}

/* ---- permutations --------------------------------------------------------------------------- */

/* Transpose(p) then Transpose(q): result dim i is dim p[q[i]] of the operand. */
tl_rv tl_fn_compose(tl_site *site, const tl_expr *e) {
  tl_int_list p, q;
  if (!tl_fn_list(site, e, 0, &p) || !tl_fn_list(site, e, 1, &q) || p.n != q.n ||
      !tl_fn_is_permutation(p) || !tl_fn_is_permutation(q))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, p.n);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[i] = p.at[q.at[i]];
  return at ? tl_rv_list(at, p.n) : tl_rv_none();
}

tl_rv tl_fn_inverse(tl_site *site, const tl_expr *e) {
  tl_int_list p;
  if (!tl_fn_list(site, e, 0, &p) || !tl_fn_is_permutation(p))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, p.n);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[p.at[i]] = i;
  return at ? tl_rv_list(at, p.n) : tl_rv_none();
}

tl_rv tl_fn_is_identity(tl_site *site, const tl_expr *e) {
  tl_int_list p;
  if (!tl_fn_list(site, e, 0, &p))
    return tl_rv_none();
  for (uint32_t i = 0; i < p.n; i++)
    if (p.at[i] != i)
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

/* ONNX lets a Transpose without perm reverse the dims. */
tl_rv tl_fn_perm_of(tl_site *site, const tl_expr *e) {
  tl_rv p = tl_fn_arg(site, e, 0);
  const tl_type *t = tl_fn_type(site, e, 1);
  if (p.kind == TL_RV_INTS)
    return p;
  if (!tl_fn_known_rank(t))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, (uint64_t)t->rank);
  for (int i = 0; at && i < t->rank; i++)
    at[i] = t->rank - 1 - i;
  return at ? tl_rv_list(at, (uint32_t)t->rank) : tl_rv_none();
}
