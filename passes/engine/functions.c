/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that only rules have, over the values that a pattern binds: their rows are in
 * passes/expr/functions.tbl. */
#include <math.h>

#include "ir/tensor_expr.h"
#include "passes/engine/functions.h"

enum { LONGEST_SPLAT = 1 << 16 }; /* upper bound on elements of constants that are compared */

/* A result of an optional node is present if the node is, an operand from outside if it is
 * given. */
tl_rv tl_rule_fn_present(tl_site *site, const tl_expr *e) {
  const tl_expr *a = e->args[0];
  if (a->kind != TL_EXPR_VALUE)
    return tl_rv_none();
  const tl_match *match = site->owner;
  uint8_t node = match->rule->values[a->u.i].node;
  if (node != TL_RULE_NODES)
    return tl_rv_truth(tl_match_has_node(match, node));
  return tl_rv_truth(tl_fn_value(site, e, 0) != TL_NO_VALUE);
}

tl_rv tl_fn_uses(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  return v ? tl_rv_int(tl_value_get(site->m, v)->n_uses) : tl_rv_none();
}

tl_rv tl_fn_is_output(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  return v ? tl_rv_truth(tl_value_is_output(site->m, v)) : tl_rv_none();
}

/* Constants are compared by their elements: exporters write the same constant several times. */
tl_rv tl_fn_same_value(tl_site *site, const tl_expr *e) {
  tl_value_id a = tl_fn_value(site, e, 0), b = tl_fn_value(site, e, 1);
  const tl_tensor *s = a ? tl_value_constant(site->m, a) : NULL;
  const tl_tensor *t = b ? tl_value_constant(site->m, b) : NULL;
  return tl_rv_truth(a == b || (s && t && tl_tensor_equal(site->m, s, t, LONGEST_SPLAT)));
}

/* Gives the elements of a constant of floats as integers, all of which must be whole: sizes and
 * limits of images are floats in many models. */
tl_rv tl_fn_wholes(tl_site *site, const tl_expr *e) {
  const tl_tensor *t = tl_fn_constant(site, e, 0);
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  int64_t *at = t ? tl_fn_room(site, n) : NULL;
  for (uint64_t i = 0; at && i < n; i++) {
    double v;
    if (!tl_tensor_float_at(site->m, t, i, &v) || !(fabs(v) <= INT32_MAX) || v != floor(v))
      return tl_rv_none();
    at[i] = (int64_t)v;
  }
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

/* A float is also equal if it is equal in f32, since rules write numbers in decimals. */
tl_rv tl_fn_is_splat(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_scalar(site, e), wanted = tl_fn_arg(site, e, 1);
  double a = v.kind == TL_RV_INT ? (double)v.i : v.f;
  double b = wanted.kind == TL_RV_INT ? (double)wanted.i : wanted.f;
  return tl_rv_truth(v.kind != TL_RV_NONE && wanted.kind != TL_RV_NONE &&
                     (a == b || (v.kind == TL_RV_FLOAT && (float)a == (float)b)));
}

/* Widens *least and *most by the n elements of t, read in blocks: the tensor may be large, and an
 * expression of which no copy exists. */
static void byte_bounds(const tl_tensor *t, uint64_t n, int64_t *least, int64_t *most) {
  uint8_t bytes[4096];
  for (uint64_t at = 0, k; at < n; at += k) {
    k = n - at < sizeof bytes ? n - at : sizeof bytes;
    tl_tensor_read(t, at, k, bytes);
    for (uint64_t i = 0; i < k; i++) {
      int64_t v = t->dtype == TL_DTYPE_I8 ? (int8_t)bytes[i] : bytes[i];
      *least = v < *least ? v : *least;
      *most = v > *most ? v : *most;
    }
  }
}

/* Finds the smallest and the greatest element of an integer tensor; false if it has none or is no
 * such tensor. t may be NULL. */
static bool bounds(const tl_site *site, const tl_tensor *t, int64_t *least, int64_t *most) {
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  *least = INT64_MAX;
  *most = INT64_MIN;
  if (n && (t->dtype == TL_DTYPE_I8 || t->dtype == TL_DTYPE_U8)) {
    byte_bounds(t, n, least, most);
    return true;
  }
  for (uint64_t i = 0; i < n; i++) {
    int64_t v;
    if (!tl_tensor_int_at(site->m, t, i, &v))
      return false;
    *least = v < *least ? v : *least;
    *most = v > *most ? v : *most;
  }
  return n != 0;
}

tl_rv tl_fn_least(tl_site *site, const tl_expr *e) {
  int64_t least, most;
  return bounds(site, tl_fn_constant(site, e, 0), &least, &most) ? tl_rv_int(least) : tl_rv_none();
}

tl_rv tl_fn_most(tl_site *site, const tl_expr *e) {
  int64_t least, most;
  return bounds(site, tl_fn_constant(site, e, 0), &least, &most) ? tl_rv_int(most) : tl_rv_none();
}

/* Adds the elements to sums[n], one for each index of an axis: element i of the tensor has index i
 * / inner % n, where `inner` elements stand behind the axis. A sum of bytes cannot overflow. */
static void add_up(const tl_tensor *t, uint64_t inner, uint64_t n, bool magnitudes, int64_t *sums) {
  uint8_t bytes[4096];
  for (uint64_t at = 0, k; at < t->bytes; at += k) {
    k = t->bytes - at < sizeof bytes ? t->bytes - at : sizeof bytes;
    tl_tensor_read(t, at, k, bytes);
    for (uint64_t i = 0; i < k; i++) {
      int64_t v = t->dtype == TL_DTYPE_I8 ? (int8_t)bytes[i] : bytes[i];
      sums[(at + i) / inner % n] += magnitudes && v < 0 ? -v : v;
    }
  }
}

/* Returns the sums over all other axes at each of the *n indices of the axis that argument 1 names;
 * NULL if argument 0 is no constant of bytes, or a list would be too long. magnitudes: sums of
 * absolute values, which are 0 only for zeros. */
static int64_t *sums_along(tl_site *site, const tl_expr *e, bool magnitudes, uint64_t *n) {
  const tl_tensor *t = tl_fn_constant(site, e, 0);
  const tl_type *type = t ? tl_type_get(site->m, t->type) : NULL;
  int64_t axis;
  uint64_t inner = 1;
  if (!t || (t->dtype != TL_DTYPE_I8 && t->dtype != TL_DTYPE_U8) || !tl_fn_int(site, e, 1, &axis) ||
      !tl_fn_place(axis, type->rank, &axis))
    return NULL;
  for (int i = (int)axis + 1; i < type->rank; i++)
    inner *= (uint64_t)type->dims[i];
  *n = (uint64_t)type->dims[axis];
  int64_t *sums =
      *n <= TL_FN_LONGEST_SUMS ? tl_arena_calloc(site->scratch, *n ? *n : 1, sizeof *sums) : NULL;
  if (sums)
    add_up(t, inner, *n, magnitudes, sums);
  return sums;
}

tl_rv tl_fn_sums(tl_site *site, const tl_expr *e) {
  uint64_t n;
  int64_t *sums = sums_along(site, e, false, &n);
  return sums ? tl_rv_list(sums, (uint32_t)n) : tl_rv_none();
}

/* Writes the indices into the list of sums, which it has read that far. */
tl_rv tl_fn_filled(tl_site *site, const tl_expr *e) {
  uint64_t n;
  int64_t from;
  int64_t *places = sums_along(site, e, true, &n);
  uint32_t found = 0;
  if (!places || !tl_fn_int(site, e, 2, &from) || from < 0)
    return tl_rv_none();
  for (uint64_t i = (uint64_t)from; i < n; i++)
    if (places[i])
      places[found++] = (int64_t)i - from;
  return tl_rv_list(places, found);
}

/* Gives the same bytes as a list of U4, two elements in each byte. The new tensor has the same
 * source, so that bytes of a file stay there. */
tl_rv tl_fn_nibbles(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  const tl_tensor *t = v ? tl_value_constant(site->m, v) : NULL;
  if (!t || t->dtype != TL_DTYPE_U8 || t->kind == TL_SOURCE_EXPR || t->bytes == 0 ||
      t->bytes > INT64_MAX / 2)
    return tl_rv_none();
  tl_dim dim = 2 * (tl_dim)t->bytes;
  tl_tensor packed = *t;
  packed.dtype = TL_DTYPE_U4;
  packed.type = tl_type_tensor(site->m, TL_DTYPE_U4, 1, &dim);
  tl_tensor_id id = packed.type != TL_NO_TYPE ? tl_tensor_add(site->m, &packed) : TL_NO_TENSOR;
  return id ? (tl_rv){.kind = TL_RV_TENSOR, .i = id} : tl_rv_none();
}

tl_rv tl_fn_tensor_attr(tl_site *site, const tl_expr *e) {
  return tl_rv_truth(tl_fn_arg(site, e, 0).kind == TL_RV_TENSOR);
}

tl_rv tl_fn_op_of(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  tl_node_id n = v ? tl_value_producer(site->m, v) : TL_NO_NODE;
  if (!n)
    return tl_rv_none();
  return (tl_rv){.kind = TL_RV_STRING,
                 .s = tl_op_name_symbol(site->m, tl_node_get(site->m, n)->op)};
}

tl_rv tl_fn_operands(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  tl_node_id n = v ? tl_value_producer(site->m, v) : TL_NO_NODE;
  return n ? tl_rv_int(tl_node_get(site->m, n)->n_operands) : tl_rv_none();
}

tl_rv tl_fn_opset(tl_site *site, const tl_expr *e) {
  (void)e;
  return tl_rv_int(tl_module_opset(site->m, 0));
}

/* GE numbers dtypes in its own way. */
tl_rv tl_fn_ge(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  tl_dtype d = v.kind == TL_RV_INT ? tl_dtype_from_ge(v.i) : TL_DTYPE_NONE;
  return d == TL_DTYPE_NONE ? tl_rv_none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}
