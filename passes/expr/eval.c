/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates expressions. What is not known is NONE, and what is computed from it is NONE too: a
 * condition that cannot be decided does not hold. */
#include "passes/expr/function.h"

enum { MAX_SCAN = 1 << 20 }; /* upper bound on elements read from one constant */

static tl_rv floats(const double *at, uint32_t n) {
  return (tl_rv){.kind = TL_RV_FLOATS, .wide = true, .is = {NULL, n}, .ds = at};
}

/* Returns the number that v is as a double; false if v is no number. */
static bool number_of(tl_rv v, double *out) {
  if (v.kind == TL_RV_FLOAT)
    *out = v.f;
  else if (v.kind == TL_RV_INT)
    *out = (double)v.i;
  else
    return false;
  return true;
}

/* Returns true for integers and truth values, which compare with each other: the same flag is 0 or
 * 1 in some ops and false or true in others. */
static bool is_whole(tl_rv v) { return v.kind == TL_RV_INT || v.kind == TL_RV_BOOL; }

/* ---- comparison ----------------------------------------------------------------------------- */

/* Numbers are also equal if they are equal in f32: attributes are f32, and a rule writes 0.1 in
 * decimals. Values of different kinds are not comparable, hence unknown. */
static tl_rv compare_equal(tl_rv a, tl_rv b) {
  double x, y;
  if (a.kind == TL_RV_NONE || b.kind == TL_RV_NONE)
    return tl_rv_none();
  if (is_whole(a) && is_whole(b))
    return tl_rv_truth(a.i == b.i);
  if (number_of(a, &x) && number_of(b, &y))
    return tl_rv_truth(x == y || (float)x == (float)y);
  if (a.kind != b.kind)
    return tl_rv_none();
  if (a.kind == TL_RV_STRING)
    return tl_rv_truth(a.s == b.s);
  if (a.kind != TL_RV_INTS)
    return tl_rv_truth(a.i == b.i);
  return tl_rv_truth(a.is.n == b.is.n &&
                     (a.is.n == 0 || memcmp(a.is.at, b.is.at, a.is.n * sizeof *a.is.at) == 0));
}

/* Integers are compared as integers, since doubles are inexact from 2^53 on. */
static tl_rv compare_order(tl_expr_kind kind, tl_rv a, tl_rv b) {
  double x, y;
  if (!number_of(a, &x) || !number_of(b, &y))
    return tl_rv_none();
  bool integers = a.kind == TL_RV_INT && b.kind == TL_RV_INT;
  bool less = integers ? a.i < b.i : x < y;
  bool equal = integers ? a.i == b.i : x == y;
  bool greater = integers ? a.i > b.i : x > y;
  switch (kind) {
  case TL_EXPR_LT: return tl_rv_truth(less);
  case TL_EXPR_LE: return tl_rv_truth(less || equal);
  case TL_EXPR_GT: return tl_rv_truth(greater);
  default: return tl_rv_truth(greater || equal);
  }
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* Rounds down, where C rounds toward zero. */
static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static tl_rv compute_int(tl_expr_kind kind, int64_t a, int64_t b) {
  int64_t v;
  bool bad = kind == TL_EXPR_ADD   ? __builtin_add_overflow(a, b, &v)
             : kind == TL_EXPR_SUB ? __builtin_sub_overflow(a, b, &v)
             : kind == TL_EXPR_MUL ? __builtin_mul_overflow(a, b, &v)
                                   : b == 0 || (a == INT64_MIN && b == -1);
  if (bad)
    return tl_rv_none();
  return tl_rv_int(kind == TL_EXPR_DIV ? floor_div(a, b) : v);
}

static double compute_float(tl_expr_kind kind, double a, double b) {
  switch (kind) {
  case TL_EXPR_ADD: return a + b;
  case TL_EXPR_SUB: return a - b;
  case TL_EXPR_MUL: return a * b;
  default: return a / b;
  }
}

/* Returns element i of a list, or a number itself, which stands for a list of that number. False if
 * v is neither. */
static bool element_of(tl_rv v, uint32_t i, double *out) {
  if (v.kind == TL_RV_INTS)
    *out = (double)v.is.at[i];
  else if (v.kind == TL_RV_FLOATS)
    *out = tl_rv_float_at(v, i);
  else
    return number_of(v, out);
  return true;
}

/* Computes element by element; a number, or a list of one, is combined with every element of the
 * other. The result is a list of doubles in scratch. */
static tl_rv compute_list(tl_site *site, tl_expr_kind kind, tl_rv a, tl_rv b) {
  bool many_a = a.kind == TL_RV_INTS || a.kind == TL_RV_FLOATS;
  bool many_b = b.kind == TL_RV_INTS || b.kind == TL_RV_FLOATS;
  uint32_t n_a = many_a ? a.is.n : 1, n_b = many_b ? b.is.n : 1, n = n_a > n_b ? n_a : n_b;
  bool fits = n_a == n_b || (n_a == 1 && n_b) || (n_b == 1 && n_a);
  if ((!many_a && !many_b) || !fits)
    return tl_rv_none();
  double *at = tl_arena_alloc(site->scratch, (n ? n : 1) * sizeof *at);
  for (uint32_t i = 0; at && i < n; i++) {
    double p, q;
    if (!element_of(a, n_a == 1 ? 0 : i, &p) || !element_of(b, n_b == 1 ? 0 : i, &q))
      return tl_rv_none();
    at[i] = compute_float(kind, p, q);
  }
  return at ? floats(at, n) : tl_rv_none();
}

static tl_rv compute(tl_site *site, tl_expr_kind kind, tl_rv a, tl_rv b) {
  double p, q;
  if (a.kind == TL_RV_INT && b.kind == TL_RV_INT)
    return compute_int(kind, a.i, b.i);
  if (!number_of(a, &p) || !number_of(b, &q))
    return compute_list(site, kind, a, b);
  return (tl_rv){.kind = TL_RV_FLOAT, .f = compute_float(kind, p, q)};
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Makes a list of numbers that are not all integers, each rounded to f32, which is all that an
 * attribute can hold. */
static tl_rv make_floats(tl_site *site, const tl_expr *e) {
  double *at = tl_arena_alloc(site->scratch, (e->n ? e->n : 1u) * sizeof *at);
  for (uint16_t i = 0; at && i < e->n; i++) {
    double v;
    if (!number_of(tl_expr_eval(site, e->args[i]), &v))
      return tl_rv_none();
    at[i] = (double)(float)v;
  }
  return at ? floats(at, e->n) : tl_rv_none();
}

/* Makes a list of integers or dtypes; the first float makes it a list of floats. */
static tl_rv make_list(tl_site *site, const tl_expr *e) {
  int64_t *at = tl_arena_alloc(site->scratch, (e->n ? e->n : 1u) * sizeof *at);
  if (!at)
    return tl_rv_none();
  for (uint16_t i = 0; i < e->n; i++) {
    tl_rv v = tl_expr_eval(site, e->args[i]);
    if (v.kind == TL_RV_FLOAT)
      return make_floats(site, e);
    if (v.kind != TL_RV_INT && v.kind != TL_RV_DTYPE)
      return tl_rv_none();
    at[i] = v.i;
  }
  return (tl_rv){.kind = TL_RV_INTS, .is = {at, e->n}};
}

static tl_rv index_list(tl_rv list, tl_rv i) {
  if ((list.kind != TL_RV_INTS && list.kind != TL_RV_FLOATS) || i.kind != TL_RV_INT)
    return tl_rv_none();
  int64_t at = i.i < 0 ? i.i + list.is.n : i.i;
  if (at < 0 || at >= list.is.n)
    return tl_rv_none();
  if (list.kind == TL_RV_INTS)
    return tl_rv_int(list.is.at[at]);
  return (tl_rv){.kind = TL_RV_FLOAT, .f = tl_rv_float_at(list, (uint32_t)at)};
}

/* Evaluates "v in [...]". A list that is written out is compared element by element, since it may
 * hold strings and dtypes, which a list value cannot; dtypes alone are a bit mask. */
static tl_rv is_in(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_expr_eval(site, e->args[0]);
  const tl_expr *list = e->args[1];
  if (v.kind == TL_RV_NONE)
    return tl_rv_none();
  if (v.kind == TL_RV_DTYPE && list->kind == TL_EXPR_LIST && list->u.mask)
    return tl_rv_truth(list->u.mask >> v.i & 1);
  if (list->kind == TL_EXPR_LIST) {
    for (uint16_t i = 0; i < list->n; i++)
      if (tl_rv_is_true(compare_equal(v, tl_expr_eval(site, list->args[i]))))
        return tl_rv_truth(true);
    return tl_rv_truth(false);
  }
  tl_rv items = tl_expr_eval(site, list);
  if (items.kind != TL_RV_INTS || v.kind != TL_RV_INT)
    return tl_rv_none();
  for (uint32_t i = 0; i < items.is.n; i++)
    if (items.is.at[i] == v.i)
      return tl_rv_truth(true);
  return tl_rv_truth(false);
}

/* ---- evaluation ----------------------------------------------------------------------------- */

/* Three-valued logic: false decides "and", true decides "or", whatever the other side is, even
 * unknown. */
static tl_rv logic(tl_site *site, const tl_expr *e) {
  bool decides = e->kind == TL_EXPR_OR;
  tl_rv a = tl_expr_eval(site, e->args[0]);
  if (a.kind == TL_RV_BOOL && (a.i != 0) == decides)
    return a;
  tl_rv b = tl_expr_eval(site, e->args[1]);
  if (b.kind == TL_RV_BOOL && (b.i != 0) == decides)
    return b;
  return a.kind == TL_RV_BOOL && b.kind == TL_RV_BOOL ? b : tl_rv_none();
}

static tl_rv negate(tl_rv v) {
  if (v.kind == TL_RV_INT && v.i != INT64_MIN)
    return tl_rv_int(-v.i);
  return v.kind == TL_RV_FLOAT ? (tl_rv){.kind = TL_RV_FLOAT, .f = -v.f} : tl_rv_none();
}

static tl_rv binary(tl_site *site, const tl_expr *e) {
  tl_rv a = tl_expr_eval(site, e->args[0]);
  tl_rv b = tl_expr_eval(site, e->args[1]);
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_INDEX: return index_list(a, b);
  case TL_EXPR_EQ: return compare_equal(a, b);
  case TL_EXPR_NE: {
    tl_rv equal = compare_equal(a, b);
    return equal.kind == TL_RV_BOOL ? tl_rv_truth(!equal.i) : tl_rv_none();
  }
  case TL_EXPR_LT:
  case TL_EXPR_LE:
  case TL_EXPR_GT:
  case TL_EXPR_GE: return compare_order((tl_expr_kind)e->kind, a, b);
  default: return compute(site, (tl_expr_kind)e->kind, a, b);
  }
}

/* ---- leaves ---------------------------------------------------------------------------------- */

tl_rv tl_rv_of_attr(const tl_attr *a) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT: return tl_rv_int(a->u.i);
  case TL_ATTR_BOOL: return tl_rv_truth(a->u.i != 0);
  case TL_ATTR_FLOAT: return (tl_rv){.kind = TL_RV_FLOAT, .f = (double)a->u.f};
  case TL_ATTR_STRING: return (tl_rv){.kind = TL_RV_STRING, .s = a->u.s};
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS: return tl_rv_list(a->u.is, a->count);
  case TL_ATTR_FLOATS: return (tl_rv){.kind = TL_RV_FLOATS, .is = {NULL, a->count}, .fs = a->u.fs};
  case TL_ATTR_STRINGS:
    return (tl_rv){.kind = TL_RV_STRINGS, .is = {NULL, a->count}, .ids = a->u.ids};
  case TL_ATTR_DTYPE: return (tl_rv){.kind = TL_RV_DTYPE, .i = a->u.i};
  case TL_ATTR_TENSOR: return (tl_rv){.kind = TL_RV_TENSOR, .i = a->u.t};
  default: return tl_rv_none();
  }
}

tl_rv tl_rv_of_constant(tl_site *site, tl_value_id v) {
  const tl_tensor *t = v ? tl_value_constant(site->m, v) : NULL;
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  if (!t || n > MAX_SCAN)
    return tl_rv_none();
  bool is_float = tl_dtype_is_float((tl_dtype)t->dtype);
  void *at = tl_arena_calloc(site->scratch, n, sizeof(int64_t)); /* doubles have the same size */
  int64_t *is = at;
  double *ds = at;
  site->failed = site->failed || !at;
  for (uint64_t i = 0; at && i < n; i++)
    if (is_float ? !tl_tensor_float_at(site->m, t, i, &ds[i])
                 : !tl_tensor_int_at(site->m, t, i, &is[i]))
      return tl_rv_none();
  if (!at)
    return tl_rv_none();
  return is_float ? floats(ds, (uint32_t)n) : tl_rv_list(is, (uint32_t)n);
}

tl_value_id tl_expr_value(const tl_site *site, const tl_expr *e) {
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_VALUE: return site->bound >> e->u.i & 1 ? site->values[e->u.i] : TL_NO_VALUE;
  case TL_EXPR_OPERAND: return tl_operand(site->m, site->node, (uint32_t)e->u.i);
  case TL_EXPR_RESULT: return tl_result(site->m, site->node, (uint32_t)e->u.i);
  default: return TL_NO_VALUE;
  }
}

static tl_rv attribute(const tl_site *site, tl_symbol name) {
  const tl_attr *a = tl_node_attr_or_default(site->m, site->node, name);
  return a ? tl_rv_of_attr(a) : tl_rv_none();
}

/* ---- everything ------------------------------------------------------------------------------ */

static tl_rv call(tl_site *site, const tl_expr *e) {
  tl_fn f = site->functions[e->function];
  return f ? f(site, e) : tl_rv_none();
}

tl_rv tl_expr_eval(tl_site *site, const tl_expr *e) {
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_INT: return tl_rv_int(e->u.i);
  case TL_EXPR_FLOAT: return (tl_rv){.kind = TL_RV_FLOAT, .f = e->u.f};
  case TL_EXPR_STRING: return (tl_rv){.kind = TL_RV_STRING, .s = e->u.s};
  case TL_EXPR_DTYPE: return (tl_rv){.kind = TL_RV_DTYPE, .i = e->u.i};
  case TL_EXPR_BOOL: return tl_rv_truth(e->u.i != 0);
  case TL_EXPR_NAME: return site->named >> e->u.i & 1 ? site->names[e->u.i] : tl_rv_none();
  case TL_EXPR_ATTR: return attribute(site, e->u.s);
  case TL_EXPR_OPERAND:
  case TL_EXPR_RESULT: return tl_rv_of_constant(site, tl_expr_value(site, e));
  case TL_EXPR_VALUE:
  case TL_EXPR_OPERANDS: return tl_rv_none();
  case TL_EXPR_LIST: return make_list(site, e);
  case TL_EXPR_CALL: return call(site, e);
  case TL_EXPR_NOT: {
    tl_rv v = tl_expr_eval(site, e->args[0]);
    return v.kind == TL_RV_BOOL ? tl_rv_truth(!v.i) : tl_rv_none();
  }
  case TL_EXPR_MINUS: return negate(tl_expr_eval(site, e->args[0]));
  case TL_EXPR_AND:
  case TL_EXPR_OR: return logic(site, e);
  case TL_EXPR_IN: return is_in(site, e);
  default: return binary(site, e);
  }
}

void tl_rv_print(const tl_module *m, tl_rv v, tl_buf *out) {
  switch ((tl_rv_kind)v.kind) {
  case TL_RV_NONE: tl_buf_add_z(out, "unknown"); return;
  case TL_RV_BOOL: tl_buf_add_z(out, v.i ? "true" : "false"); return;
  case TL_RV_INT: tl_buf_add_i64(out, v.i); return;
  case TL_RV_FLOAT: tl_buf_add_f64(out, v.f); return;
  case TL_RV_STRING: tl_buf_add_quoted(out, tl_sym(m, v.s)); return;
  case TL_RV_DTYPE: tl_buf_add_z(out, tl_dtype_get((tl_dtype)v.i)->name); return;
  case TL_RV_TENSOR: tl_buf_add_z(out, "a tensor"); return;
  case TL_RV_STRINGS: tl_buf_add_z(out, "strings"); return;
  case TL_RV_INTS:
  case TL_RV_FLOATS: break;
  }
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < v.is.n && i < 16; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    if (v.kind == TL_RV_FLOATS)
      tl_buf_add_f64(out, tl_rv_float_at(v, i));
    else
      tl_buf_add_i64(out, v.is.at[i]);
  }
  tl_buf_add_z(out, v.is.n > 16 ? ", ...]" : "]");
}
