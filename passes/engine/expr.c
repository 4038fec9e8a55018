/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the expressions of rules. Whatever is not known is NONE, and everything computed from
 * it is NONE too: a condition that cannot be decided does not hold. */
#include "passes/engine/match.h"

static tl_rv none(void) { return (tl_rv){0}; }
static tl_rv truth(bool v) { return (tl_rv){.kind = TL_RV_BOOL, .i = v}; }
static tl_rv integer(int64_t v) { return (tl_rv){.kind = TL_RV_INT, .i = v}; }

static bool number_of(tl_rv v, double *out) {
  if (v.kind == TL_RV_FLOAT)
    *out = v.f;
  else if (v.kind == TL_RV_INT)
    *out = (double)v.i;
  else
    return false;
  return true;
}

/* ---- comparison ----------------------------------------------------------------------------- */

static tl_rv compare_equal(tl_rv a, tl_rv b) {
  double x, y;
  if (a.kind == TL_RV_NONE || b.kind == TL_RV_NONE)
    return none();
  if (a.kind == TL_RV_INT && b.kind == TL_RV_INT)
    return truth(a.i == b.i);
  if (number_of(a, &x) && number_of(b, &y))
    return truth(x == y || (float)x == (float)y);
  if (a.kind != b.kind)
    return none();
  if (a.kind == TL_RV_STRING)
    return truth(a.s == b.s);
  if (a.kind != TL_RV_INTS)
    return truth(a.i == b.i);
  return truth(a.is.n == b.is.n &&
               (a.is.n == 0 || memcmp(a.is.at, b.is.at, a.is.n * sizeof *a.is.at) == 0));
}

static tl_rv compare_order(tl_expr_kind kind, tl_rv a, tl_rv b) {
  double x, y;
  if (!number_of(a, &x) || !number_of(b, &y))
    return none();
  bool integers = a.kind == TL_RV_INT && b.kind == TL_RV_INT;
  bool less = integers ? a.i < b.i : x < y;
  bool equal = integers ? a.i == b.i : x == y;
  bool greater = integers ? a.i > b.i : x > y;
  switch (kind) {
  case TL_EXPR_LT: return truth(less);
  case TL_EXPR_LE: return truth(less || equal);
  case TL_EXPR_GT: return truth(greater);
  default: return truth(greater || equal);
  }
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

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
    return none();
  return integer(kind == TL_EXPR_DIV ? floor_div(a, b) : v);
}

static tl_rv compute(tl_expr_kind kind, tl_rv a, tl_rv b) {
  double x, y;
  if (a.kind == TL_RV_INT && b.kind == TL_RV_INT)
    return compute_int(kind, a.i, b.i);
  if (!number_of(a, &x) || !number_of(b, &y))
    return none();
  double v = kind == TL_EXPR_ADD ? x + y : kind == TL_EXPR_SUB ? x - y : x * y;
  return (tl_rv){.kind = TL_RV_FLOAT, .f = kind == TL_EXPR_DIV ? x / y : v};
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Numbers of which not all are integers. */
static tl_rv make_floats(tl_match *x, const tl_expr *e) {
  float *at = tl_arena_alloc(x->scratch, (e->n ? e->n : 1u) * sizeof *at);
  for (uint16_t i = 0; at && i < e->n; i++) {
    double v;
    if (!number_of(tl_expr_eval(x, e->args[i]), &v))
      return none();
    at[i] = (float)v;
  }
  return at ? (tl_rv){.kind = TL_RV_FLOATS, .is = {NULL, e->n}, .fs = at} : none();
}

static tl_rv make_list(tl_match *x, const tl_expr *e) {
  int64_t *at = tl_arena_alloc(x->scratch, (e->n ? e->n : 1u) * sizeof *at);
  if (!at)
    return none();
  for (uint16_t i = 0; i < e->n; i++) {
    tl_rv v = tl_expr_eval(x, e->args[i]);
    if (v.kind == TL_RV_FLOAT)
      return make_floats(x, e);
    if (v.kind != TL_RV_INT && v.kind != TL_RV_DTYPE)
      return none();
    at[i] = v.i;
  }
  return (tl_rv){.kind = TL_RV_INTS, .is = {at, e->n}};
}

static tl_rv index_list(tl_rv list, tl_rv i) {
  if ((list.kind != TL_RV_INTS && list.kind != TL_RV_FLOATS) || i.kind != TL_RV_INT)
    return none();
  int64_t at = i.i < 0 ? i.i + list.is.n : i.i;
  if (at < 0 || at >= list.is.n)
    return none();
  return list.kind == TL_RV_INTS ? integer(list.is.at[at])
                                 : (tl_rv){.kind = TL_RV_FLOAT, .f = (double)list.fs[at]};
}

/* The list may hold what a list of integers cannot, so its elements are looked at one by one. */
static tl_rv is_in(tl_match *x, const tl_expr *e) {
  tl_rv v = tl_expr_eval(x, e->args[0]);
  const tl_expr *list = e->args[1];
  if (v.kind == TL_RV_NONE)
    return none();
  if (list->kind == TL_EXPR_LIST) {
    for (uint16_t i = 0; i < list->n; i++)
      if (tl_rv_is_true(compare_equal(v, tl_expr_eval(x, list->args[i]))))
        return truth(true);
    return truth(false);
  }
  tl_rv items = tl_expr_eval(x, list);
  if (items.kind != TL_RV_INTS || v.kind != TL_RV_INT)
    return none();
  for (uint32_t i = 0; i < items.is.n; i++)
    if (items.is.at[i] == v.i)
      return truth(true);
  return truth(false);
}

/* ---- evaluation ----------------------------------------------------------------------------- */

/* Three-valued: false wins in "and", true in "or", whatever the other side is. */
static tl_rv logic(tl_match *x, const tl_expr *e) {
  bool decides = e->kind == TL_EXPR_OR;
  tl_rv a = tl_expr_eval(x, e->args[0]);
  if (a.kind == TL_RV_BOOL && (a.i != 0) == decides)
    return a;
  tl_rv b = tl_expr_eval(x, e->args[1]);
  if (b.kind == TL_RV_BOOL && (b.i != 0) == decides)
    return b;
  return a.kind == TL_RV_BOOL && b.kind == TL_RV_BOOL ? b : none();
}

static tl_rv negate(tl_rv v) {
  if (v.kind == TL_RV_INT && v.i != INT64_MIN)
    return integer(-v.i);
  return v.kind == TL_RV_FLOAT ? (tl_rv){.kind = TL_RV_FLOAT, .f = -v.f} : none();
}

static tl_rv binary(tl_match *x, const tl_expr *e) {
  tl_rv a = tl_expr_eval(x, e->args[0]);
  tl_rv b = tl_expr_eval(x, e->args[1]);
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_INDEX: return index_list(a, b);
  case TL_EXPR_EQ: return compare_equal(a, b);
  case TL_EXPR_NE: {
    tl_rv equal = compare_equal(a, b);
    return equal.kind == TL_RV_BOOL ? truth(!equal.i) : none();
  }
  case TL_EXPR_LT:
  case TL_EXPR_LE:
  case TL_EXPR_GT:
  case TL_EXPR_GE: return compare_order((tl_expr_kind)e->kind, a, b);
  default: return compute((tl_expr_kind)e->kind, a, b);
  }
}

tl_rv tl_expr_eval(tl_match *x, const tl_expr *e) {
  uint32_t n;
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_INT: return integer(e->u.i);
  case TL_EXPR_FLOAT: return (tl_rv){.kind = TL_RV_FLOAT, .f = e->u.f};
  case TL_EXPR_STRING: return (tl_rv){.kind = TL_RV_STRING, .s = e->u.s};
  case TL_EXPR_DTYPE: return (tl_rv){.kind = TL_RV_DTYPE, .i = e->u.i};
  case TL_EXPR_BOOL: return truth(e->u.i != 0);
  case TL_EXPR_NAME: return x->named >> e->u.i & 1 ? x->names[e->u.i] : none();
  case TL_EXPR_VALUE: return none();
  case TL_EXPR_LIST: return make_list(x, e);
  case TL_EXPR_CALL: return tl_rule_functions(&n)[e->function].fn(x, e);
  case TL_EXPR_NOT: {
    tl_rv v = tl_expr_eval(x, e->args[0]);
    return v.kind == TL_RV_BOOL ? truth(!v.i) : none();
  }
  case TL_EXPR_MINUS: return negate(tl_expr_eval(x, e->args[0]));
  case TL_EXPR_AND:
  case TL_EXPR_OR: return logic(x, e);
  case TL_EXPR_IN: return is_in(x, e);
  default: return binary(x, e);
  }
}

void tl_rv_print(const tl_match *x, tl_rv v, tl_buf *out) {
  switch ((tl_rv_kind)v.kind) {
  case TL_RV_NONE: tl_buf_add_z(out, "unknown"); return;
  case TL_RV_BOOL: tl_buf_add_z(out, v.i ? "true" : "false"); return;
  case TL_RV_INT: tl_buf_add_i64(out, v.i); return;
  case TL_RV_FLOAT: tl_buf_add_f64(out, v.f); return;
  case TL_RV_STRING: tl_buf_add_quoted(out, tl_sym(x->m, v.s)); return;
  case TL_RV_DTYPE: tl_buf_add_z(out, tl_dtype_get((tl_dtype)v.i)->name); return;
  case TL_RV_TENSOR: tl_buf_add_z(out, "a tensor"); return;
  case TL_RV_INTS:
  case TL_RV_FLOATS: break;
  }
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < v.is.n && i < 16; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    if (v.kind == TL_RV_FLOATS)
      tl_buf_add_f64(out, (double)v.fs[i]);
    else
      tl_buf_add_i64(out, v.is.at[i]);
  }
  tl_buf_add_z(out, v.is.n > 16 ? ", ...]" : "]");
}
