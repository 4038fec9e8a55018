/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of rules, one a row of rule_functions.tbl. */
#include <stdlib.h>

#include "passes/rule.h"

enum { LONGEST = 1024, LONGEST_SPLAT = 1 << 16 };

/* ---- arguments ------------------------------------------------------------------------------ */

static tl_rv none(void) { return (tl_rv){0}; }
static tl_rv truth(bool v) { return (tl_rv){.kind = TL_RV_BOOL, .i = v}; }
static tl_rv integer(int64_t v) { return (tl_rv){.kind = TL_RV_INT, .i = v}; }
static tl_rv list_of(const int64_t *at, uint32_t n) {
  return (tl_rv){.kind = TL_RV_INTS, .is = {at, n}};
}

static tl_rv arg(tl_match *x, const tl_expr *e, uint32_t i) { return tl_expr_eval(x, e->args[i]); }

/* Value of an argument written %x; TL_NO_VALUE when it is absent. */
static tl_value_id value_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  const tl_expr *a = e->args[i];
  return a->kind == TL_EXPR_VALUE && (x->bound >> a->u.i & 1) ? x->values[a->u.i] : TL_NO_VALUE;
}

static const tl_type *type_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  return tl_type_get(x->m, tl_value_type(x->m, value_arg(x, e, i)));
}

static bool int_arg(tl_match *x, const tl_expr *e, uint32_t i, int64_t *out) {
  tl_rv v = arg(x, e, i);
  *out = v.i;
  return v.kind == TL_RV_INT;
}

static bool list_arg(tl_match *x, const tl_expr *e, uint32_t i, tl_int_list *out) {
  tl_rv v = arg(x, e, i);
  *out = v.is;
  return v.kind == TL_RV_INTS;
}

static int64_t *room(tl_match *x, uint64_t n) {
  return n > LONGEST ? NULL : tl_arena_alloc(x->scratch, (n ? n : 1) * sizeof(int64_t));
}

/* Place i of a list of n, negative ones from the end; false outside. */
static bool place(int64_t i, int64_t n, int64_t *out) {
  *out = i < 0 ? i + n : i;
  return *out >= 0 && *out < n;
}

static bool known_rank(const tl_type *t) { return t->kind == TL_KIND_TENSOR && t->rank >= 0; }

/* ---- types ---------------------------------------------------------------------------------- */

static tl_rv fn_rank(tl_match *x, const tl_expr *e) {
  const tl_type *t = type_arg(x, e, 0);
  return known_rank(t) ? integer(t->rank) : none();
}

static tl_rv fn_dim(tl_match *x, const tl_expr *e) {
  const tl_type *t = type_arg(x, e, 0);
  int64_t i, at;
  if (!known_rank(t) || !int_arg(x, e, 1, &i) || !place(i, t->rank, &at))
    return none();
  return t->dims[at] >= 0 ? integer(t->dims[at]) : none();
}

static tl_rv fn_shape(tl_match *x, const tl_expr *e) {
  tl_type_id id = tl_value_type(x->m, value_arg(x, e, 0));
  if (!tl_type_is_static(x->m, id))
    return none();
  const tl_type *t = tl_type_get(x->m, id);
  return list_of(t->dims, (uint32_t)t->rank);
}

static tl_rv fn_numel(tl_match *x, const tl_expr *e) {
  uint64_t n;
  if (!tl_type_elements(x->m, tl_value_type(x->m, value_arg(x, e, 0)), &n) || n > INT64_MAX)
    return none();
  return integer((int64_t)n);
}

static tl_rv fn_dtype(tl_match *x, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, value_arg(x, e, 0)));
  return d == TL_DTYPE_NONE ? none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}

static tl_rv fn_static(tl_match *x, const tl_expr *e) {
  return truth(tl_type_is_static(x->m, tl_value_type(x->m, value_arg(x, e, 0))));
}

static tl_rv fn_is_float(tl_match *x, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, value_arg(x, e, 0)));
  return d == TL_DTYPE_NONE ? none() : truth(tl_dtype_is_float(d));
}

static tl_rv fn_same_shape(tl_match *x, const tl_expr *e) {
  const tl_type *a = type_arg(x, e, 0), *b = type_arg(x, e, 1);
  if (!known_rank(a) || !known_rank(b))
    return none();
  if (a->rank != b->rank)
    return truth(false);
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] == TL_DIM_UNKNOWN || b->dims[i] == TL_DIM_UNKNOWN)
      return none();
    if (a->dims[i] != b->dims[i])
      return truth(false);
  }
  return truth(true);
}

static tl_rv fn_same_type(tl_match *x, const tl_expr *e) {
  const tl_type *a = type_arg(x, e, 0), *b = type_arg(x, e, 1);
  return a->dtype == b->dtype ? fn_same_shape(x, e) : truth(false);
}

static tl_rv fn_broadcasts(tl_match *x, const tl_expr *e) {
  const tl_type *a = type_arg(x, e, 0), *b = type_arg(x, e, 1);
  if (!known_rank(a) || !known_rank(b))
    return none();
  if (a->rank > b->rank)
    return truth(false);
  for (int i = 0; i < a->rank; i++) {
    tl_dim from = a->dims[i], to = b->dims[b->rank - a->rank + i];
    if (from != 1 && (from == TL_DIM_UNKNOWN || from != to))
      return from == TL_DIM_UNKNOWN ? none() : truth(false);
  }
  return truth(true);
}

static tl_rv fn_keeps(tl_match *x, const tl_expr *e) {
  tl_rv to = arg(x, e, 1);
  tl_dtype from = tl_type_dtype(x->m, tl_value_type(x->m, value_arg(x, e, 0)));
  if (to.kind != TL_RV_DTYPE || from == TL_DTYPE_NONE)
    return none();
  static const struct {
    uint8_t from;
    uint64_t to;
  } wider[] = {
      {TL_DTYPE_F16, TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_BF16, TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_F32, TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_I8, TL_DTYPE_BIT(TL_DTYPE_I16) | TL_DTYPE_BIT(TL_DTYPE_I32) |
                        TL_DTYPE_BIT(TL_DTYPE_I64) | TL_DTYPE_BIT(TL_DTYPE_F32) |
                        TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_U8, TL_DTYPE_BIT(TL_DTYPE_I16) | TL_DTYPE_BIT(TL_DTYPE_I32) |
                        TL_DTYPE_BIT(TL_DTYPE_I64) | TL_DTYPE_BIT(TL_DTYPE_F32) |
                        TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_I32, TL_DTYPE_BIT(TL_DTYPE_I64) | TL_DTYPE_BIT(TL_DTYPE_F64)},
      {TL_DTYPE_BOOL, UINT64_MAX},
  };
  if ((int64_t)from == to.i)
    return truth(true);
  for (size_t i = 0; i < sizeof wider / sizeof *wider; i++)
    if (wider[i].from == from)
      return truth(wider[i].to >> to.i & 1);
  return truth(false);
}

/* ---- values --------------------------------------------------------------------------------- */

static tl_rv fn_is_const(tl_match *x, const tl_expr *e) {
  tl_value_id v = value_arg(x, e, 0);
  return truth(v && tl_value_constant(x->m, v));
}

static tl_rv fn_present(tl_match *x, const tl_expr *e) {
  const tl_expr *a = e->args[0];
  if (a->kind != TL_EXPR_VALUE)
    return none();
  uint8_t node = x->rule->values[a->u.i].node;
  if (node != TL_RULE_NODES)
    return truth(tl_match_has_node(x, node));
  return truth(value_arg(x, e, 0) != TL_NO_VALUE);
}

static tl_rv fn_uses(tl_match *x, const tl_expr *e) {
  tl_value_id v = value_arg(x, e, 0);
  return v ? integer(tl_value_get(x->m, v)->n_uses) : none();
}

static tl_rv fn_is_output(tl_match *x, const tl_expr *e) {
  tl_value_id v = value_arg(x, e, 0);
  return v ? truth(tl_value_is_output(x->m, v)) : none();
}

static tl_rv fn_same_value(tl_match *x, const tl_expr *e) {
  tl_value_id a = value_arg(x, e, 0), b = value_arg(x, e, 1);
  const tl_tensor *s = a ? tl_value_constant(x->m, a) : NULL;
  const tl_tensor *t = b ? tl_value_constant(x->m, b) : NULL;
  return truth(a == b || (s && t && tl_tensor_equal(x->m, s, t, LONGEST_SPLAT)));
}

static const tl_tensor *constant_arg(const tl_match *x, const tl_expr *e, uint32_t i) {
  tl_value_id v = value_arg(x, e, i);
  const tl_tensor *t = v ? tl_value_constant(x->m, v) : NULL;
  return t && t->kind != TL_SOURCE_STRINGS ? t : NULL;
}

static tl_rv fn_ints(tl_match *x, const tl_expr *e) {
  const tl_tensor *t = constant_arg(x, e, 0);
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  int64_t *at = t ? room(x, n) : NULL;
  for (uint64_t i = 0; at && i < n; i++)
    if (!tl_tensor_int_at(x->m, t, i, &at[i]))
      return none();
  return at ? list_of(at, (uint32_t)n) : none();
}

static bool number_at(const tl_match *x, const tl_tensor *t, uint64_t i, double *out) {
  int64_t v;
  if (tl_tensor_int_at(x->m, t, i, &v)) {
    *out = (double)v;
    return true;
  }
  return tl_tensor_float_at(x->m, t, i, out);
}

static tl_rv fn_scalar(tl_match *x, const tl_expr *e) {
  const tl_tensor *t = constant_arg(x, e, 0);
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  double first, other;
  int64_t whole;
  if (n == 0 || n > LONGEST_SPLAT || !number_at(x, t, 0, &first))
    return none();
  for (uint64_t i = 1; i < n; i++)
    if (!number_at(x, t, i, &other) || other != first)
      return none();
  if (tl_tensor_int_at(x->m, t, 0, &whole))
    return integer(whole);
  return (tl_rv){.kind = TL_RV_FLOAT, .f = first};
}

static tl_rv fn_is_splat(tl_match *x, const tl_expr *e) {
  tl_rv v = fn_scalar(x, e), wanted = arg(x, e, 1);
  double a = v.kind == TL_RV_INT ? (double)v.i : v.f;
  double b = wanted.kind == TL_RV_INT ? (double)wanted.i : wanted.f;
  return truth(v.kind != TL_RV_NONE && wanted.kind != TL_RV_NONE &&
               (a == b || (v.kind == TL_RV_FLOAT && (float)a == (float)b)));
}

static tl_rv fn_tensor_attr(tl_match *x, const tl_expr *e) {
  return truth(arg(x, e, 0).kind != TL_RV_NONE);
}

static tl_rv fn_opset(tl_match *x, const tl_expr *e) {
  (void)e;
  return integer(tl_module_opset(x->m, 0));
}

static tl_rv fn_onnx(tl_match *x, const tl_expr *e) {
  tl_rv v = arg(x, e, 0);
  return v.kind == TL_RV_DTYPE ? integer(tl_dtype_get((tl_dtype)v.i)->onnx) : none();
}

/* ---- numbers -------------------------------------------------------------------------------- */

static tl_rv fn_mod(tl_match *x, const tl_expr *e) {
  int64_t a, b;
  if (!int_arg(x, e, 0, &a) || !int_arg(x, e, 1, &b) || b == 0 || b == -1)
    return b == -1 ? integer(0) : none();
  int64_t r = a % b;
  return integer(r && (r < 0) != (b < 0) ? r + b : r);
}

static tl_rv smaller(tl_match *x, const tl_expr *e, bool want_less) {
  tl_rv a = arg(x, e, 0), b = arg(x, e, 1);
  if (a.kind == TL_RV_INT && b.kind == TL_RV_INT)
    return (a.i < b.i) == want_less ? a : b;
  if (a.kind == TL_RV_FLOAT && b.kind == TL_RV_FLOAT)
    return (a.f < b.f) == want_less ? a : b;
  return none();
}

static tl_rv fn_min(tl_match *x, const tl_expr *e) { return smaller(x, e, true); }
static tl_rv fn_max(tl_match *x, const tl_expr *e) { return smaller(x, e, false); }

static tl_rv fn_abs(tl_match *x, const tl_expr *e) {
  tl_rv v = arg(x, e, 0);
  if (v.kind == TL_RV_INT && v.i != INT64_MIN)
    return integer(v.i < 0 ? -v.i : v.i);
  return v.kind == TL_RV_FLOAT ? (tl_rv){.kind = TL_RV_FLOAT, .f = v.f < 0 ? -v.f : v.f} : none();
}

static tl_rv fn_or(tl_match *x, const tl_expr *e) {
  tl_rv v = arg(x, e, 0);
  return v.kind == TL_RV_NONE ? arg(x, e, 1) : v;
}

static tl_rv fn_if(tl_match *x, const tl_expr *e) {
  tl_rv c = arg(x, e, 0);
  return c.kind == TL_RV_BOOL ? arg(x, e, c.i ? 1 : 2) : none();
}

/* ---- lists ---------------------------------------------------------------------------------- */

static tl_rv fn_len(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  return list_arg(x, e, 0, &l) ? integer(l.n) : none();
}

static tl_rv fn_sum(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t total = 0;
  if (!list_arg(x, e, 0, &l))
    return none();
  for (uint32_t i = 0; i < l.n; i++)
    if (__builtin_add_overflow(total, l.at[i], &total))
      return none();
  return integer(total);
}

static tl_rv fn_product(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t total = 1;
  if (!list_arg(x, e, 0, &l))
    return none();
  for (uint32_t i = 0; i < l.n; i++)
    if (__builtin_mul_overflow(total, l.at[i], &total))
      return none();
  return integer(total);
}

static tl_rv fn_count(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t v, n = 0;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &v))
    return none();
  for (uint32_t i = 0; i < l.n; i++)
    n += l.at[i] == v;
  return integer(n);
}

static tl_rv fn_all_equal(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  tl_rv n = fn_count(x, e);
  return n.kind == TL_RV_INT && list_arg(x, e, 0, &l) ? truth(n.i == l.n) : none();
}

static tl_rv fn_at_least(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t v;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &v))
    return none();
  for (uint32_t i = 0; i < l.n; i++)
    if (l.at[i] < v)
      return truth(false);
  return truth(true);
}

static tl_rv fn_repeat(tl_match *x, const tl_expr *e) {
  int64_t v, n;
  if (!int_arg(x, e, 0, &v) || !int_arg(x, e, 1, &n) || n < 0)
    return none();
  int64_t *at = room(x, (uint64_t)n);
  for (int64_t i = 0; at && i < n; i++)
    at[i] = v;
  return at ? list_of(at, (uint32_t)n) : none();
}

static tl_rv fn_range(tl_match *x, const tl_expr *e) {
  int64_t from, to;
  if (!int_arg(x, e, 0, &from) || !int_arg(x, e, 1, &to) || from < -LONGEST || to > LONGEST)
    return none();
  int64_t n = to > from ? to - from : 0;
  int64_t *at = room(x, (uint64_t)n);
  for (int64_t i = 0; at && i < n; i++)
    at[i] = from + i;
  return at ? list_of(at, (uint32_t)n) : none();
}

static int64_t clamp_place(int64_t i, int64_t n) {
  int64_t at = i < 0 ? i + n : i;
  return at < 0 ? 0 : at > n ? n : at;
}

static tl_rv fn_slice(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t from, to;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &from) || !int_arg(x, e, 2, &to))
    return none();
  from = clamp_place(from, l.n);
  to = clamp_place(to, l.n);
  return list_of(l.at + from, to > from ? (uint32_t)(to - from) : 0);
}

static tl_rv fn_join(tl_match *x, const tl_expr *e) {
  tl_int_list a, b;
  if (!list_arg(x, e, 0, &a) || !list_arg(x, e, 1, &b))
    return none();
  int64_t *at = room(x, (uint64_t)a.n + b.n);
  if (!at)
    return none();
  for (uint32_t i = 0; i < a.n; i++)
    at[i] = a.at[i];
  for (uint32_t i = 0; i < b.n; i++)
    at[a.n + i] = b.at[i];
  return list_of(at, a.n + b.n);
}

static tl_rv fn_without(tl_match *x, const tl_expr *e) {
  tl_int_list l, places;
  if (!list_arg(x, e, 0, &l) || !list_arg(x, e, 1, &places))
    return none();
  int64_t *at = room(x, l.n);
  uint32_t n = 0;
  for (uint32_t i = 0; at && i < l.n; i++) {
    bool dropped = false;
    for (uint32_t k = 0; k < places.n; k++)
      dropped = dropped || places.at[k] == i;
    if (!dropped)
      at[n++] = l.at[i];
  }
  return at ? list_of(at, n) : none();
}

static tl_rv fn_replace_at(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t i, v, where;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &i) || !int_arg(x, e, 2, &v) ||
      !place(i, l.n, &where))
    return none();
  int64_t *at = room(x, l.n);
  for (uint32_t k = 0; at && k < l.n; k++)
    at[k] = k == where ? v : l.at[k];
  return at ? list_of(at, l.n) : none();
}

static tl_rv fn_insert_at(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t i, v;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &i) || !int_arg(x, e, 2, &v) || i < 0 || i > l.n)
    return none();
  int64_t *at = room(x, l.n + 1u);
  for (uint32_t k = 0; at && k <= l.n; k++)
    at[k] = k < i ? l.at[k] : k == i ? v : l.at[k - 1];
  return at ? list_of(at, l.n + 1) : none();
}

static tl_rv fn_pick(tl_match *x, const tl_expr *e) {
  tl_int_list l, places;
  if (!list_arg(x, e, 0, &l) || !list_arg(x, e, 1, &places))
    return none();
  int64_t *at = room(x, places.n);
  int64_t where;
  for (uint32_t i = 0; at && i < places.n; i++) {
    if (!place(places.at[i], l.n, &where))
      return none();
    at[i] = l.at[where];
  }
  return at ? list_of(at, places.n) : none();
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static tl_rv sorted_copy(tl_match *x, tl_int_list l) {
  int64_t *at = room(x, l.n);
  if (!at)
    return none();
  for (uint32_t i = 0; i < l.n; i++)
    at[i] = l.at[i];
  qsort(at, l.n, sizeof *at, by_value);
  return list_of(at, l.n);
}

static tl_rv fn_sorted(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  return list_arg(x, e, 0, &l) ? sorted_copy(x, l) : none();
}

static tl_rv fn_add_lists(tl_match *x, const tl_expr *e) {
  tl_int_list a, b;
  if (!list_arg(x, e, 0, &a) || !list_arg(x, e, 1, &b) || a.n != b.n)
    return none();
  int64_t *at = room(x, a.n);
  for (uint32_t i = 0; at && i < a.n; i++)
    if (__builtin_add_overflow(a.at[i], b.at[i], &at[i]))
      return none();
  return at ? list_of(at, a.n) : none();
}

static tl_rv fn_axes(tl_match *x, const tl_expr *e) {
  tl_int_list l;
  int64_t rank, where;
  if (!list_arg(x, e, 0, &l) || !int_arg(x, e, 1, &rank))
    return none();
  int64_t *at = room(x, l.n);
  for (uint32_t i = 0; at && i < l.n; i++) {
    if (!place(l.at[i], rank, &where))
      return none();
    at[i] = where;
  }
  return at ? sorted_copy(x, (tl_int_list){at, l.n}) : none();
}

static tl_rv fn_axis(tl_match *x, const tl_expr *e) {
  int64_t a, rank, where;
  bool known = int_arg(x, e, 0, &a) && int_arg(x, e, 1, &rank) && place(a, rank, &where);
  return known ? integer(where) : none();
}

/* ---- permutations --------------------------------------------------------------------------- */

static bool is_permutation(tl_int_list p) {
  for (uint32_t i = 0; i < p.n; i++) {
    bool found = false;
    for (uint32_t k = 0; k < p.n; k++)
      found = found || p.at[k] == i;
    if (!found)
      return false;
  }
  return true;
}

/* Transpose(p) then Transpose(q): result dim i is dim p[q[i]] of the operand. */
static tl_rv fn_compose(tl_match *x, const tl_expr *e) {
  tl_int_list p, q;
  if (!list_arg(x, e, 0, &p) || !list_arg(x, e, 1, &q) || p.n != q.n || !is_permutation(p) ||
      !is_permutation(q))
    return none();
  int64_t *at = room(x, p.n);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[i] = p.at[q.at[i]];
  return at ? list_of(at, p.n) : none();
}

static tl_rv fn_inverse(tl_match *x, const tl_expr *e) {
  tl_int_list p;
  if (!list_arg(x, e, 0, &p) || !is_permutation(p))
    return none();
  int64_t *at = room(x, p.n);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[p.at[i]] = i;
  return at ? list_of(at, p.n) : none();
}

static tl_rv fn_is_identity(tl_match *x, const tl_expr *e) {
  tl_int_list p;
  if (!list_arg(x, e, 0, &p))
    return none();
  for (uint32_t i = 0; i < p.n; i++)
    if (p.at[i] != i)
      return truth(false);
  return truth(true);
}

static tl_rv fn_perm_of(tl_match *x, const tl_expr *e) {
  tl_rv p = arg(x, e, 0);
  const tl_type *t = type_arg(x, e, 1);
  if (p.kind == TL_RV_INTS)
    return p;
  if (!known_rank(t))
    return none();
  int64_t *at = room(x, (uint64_t)t->rank);
  for (int i = 0; at && i < t->rank; i++)
    at[i] = t->rank - 1 - i;
  return at ? list_of(at, (uint32_t)t->rank) : none();
}

/* ---- whole patterns of shapes ------------------------------------------------------------------ */

static tl_rv fn_known(tl_match *x, const tl_expr *e) {
  return truth(arg(x, e, 0).kind != TL_RV_NONE);
}

/* A dim named as at the same place of the operand is copied; one dim may be left to the runtime. */
static tl_rv fn_reshape_spec(tl_match *x, const tl_expr *e) {
  const tl_type *from = type_arg(x, e, 0), *to = type_arg(x, e, 1);
  if (!known_rank(to))
    return none();
  int64_t *at = room(x, (uint64_t)to->rank);
  uint32_t left = 0;
  for (int i = 0; at && i < to->rank; i++) {
    tl_dim d = to->dims[i];
    bool copied = tl_dim_is_symbol(d) && known_rank(from) && i < from->rank && from->dims[i] == d;
    if (d == 0)
      return none(); /* 0 would copy, -1 would be ambiguous */
    at[i] = tl_dim_is_static(d) ? d : copied ? 0 : -1;
    left += at[i] == -1;
  }
  return at && left <= 1 ? list_of(at, (uint32_t)to->rank) : none();
}

static tl_rv fn_moves_units(tl_match *x, const tl_expr *e) {
  tl_int_list p;
  const tl_type *t = type_arg(x, e, 1);
  int64_t last = -1;
  if (!list_arg(x, e, 0, &p) || !known_rank(t) || p.n != (uint32_t)t->rank || !is_permutation(p))
    return none();
  for (uint32_t i = 0; i < p.n; i++) {
    if (t->dims[p.at[i]] == 1)
      continue;
    if (p.at[i] < last)
      return truth(false);
    last = p.at[i];
  }
  return truth(true);
}

static tl_rv fn_per_channel(tl_match *x, const tl_expr *e) {
  const tl_type *t = type_arg(x, e, 0), *of = type_arg(x, e, 1);
  if (!known_rank(t) || !known_rank(of) || of->rank < 2 || t->rank > of->rank)
    return none();
  int channel = t->rank - of->rank + 1; /* place of dim 1 in t */
  if (channel < 0 || !tl_dim_is_static(of->dims[1]))
    return truth(false);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != (i == channel ? of->dims[1] : 1))
      return truth(false);
  return truth(true);
}

static tl_rv fn_trailing(tl_match *x, const tl_expr *e) {
  const tl_type *t = type_arg(x, e, 0), *of = type_arg(x, e, 1);
  if (!known_rank(t) || !known_rank(of))
    return none();
  if (t->rank > of->rank)
    return truth(false);
  for (int i = 0; i < t->rank; i++) {
    tl_dim a = t->dims[i], b = of->dims[of->rank - t->rank + i];
    if (a == TL_DIM_UNKNOWN || b == TL_DIM_UNKNOWN)
      return none();
    if (a != b)
      return truth(false);
  }
  return truth(true);
}

/* ---- table ---------------------------------------------------------------------------------- */

const tl_rule_function *tl_rule_functions(uint32_t *n) {
  static const tl_rule_function table[] = {
#define RULE_FUNCTION(name, least, most, signature, summary) \
  {#name, signature, summary, fn_##name, least, most},
#include "passes/rule_functions.tbl"
  };
  *n = sizeof table / sizeof *table;
  return table;
}
