/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rules over values, types and shapes, and the table of all. */
#include <math.h>

#include "passes/engine/functions.h"
#include "ir/tensor_expr.h"
#include "passes/edit/half.h"

enum { LONGEST_SPLAT = 1 << 16 };

/* ---- types ---------------------------------------------------------------------------------- */

tl_rv tl_rule_fn_rank(tl_match *x, const tl_expr *e) {
  const tl_type *t = tl_rule_type_arg(x, e, 0);
  return tl_rule_known_rank(t) ? tl_rv_int(t->rank) : tl_rv_none();
}

tl_rv tl_rule_fn_dim(tl_match *x, const tl_expr *e) {
  const tl_type *t = tl_rule_type_arg(x, e, 0);
  int64_t i, at;
  if (!tl_rule_known_rank(t) || !tl_rule_int_arg(x, e, 1, &i) || !tl_rule_place(i, t->rank, &at))
    return tl_rv_none();
  return t->dims[at] >= 0 ? tl_rv_int(t->dims[at]) : tl_rv_none();
}

tl_rv tl_rule_fn_half(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  if (!v)
    return tl_rv_none();
  return tl_rv_truth(tl_precision_half_at(x->m, x->set->options, x->root, v));
}

tl_rv tl_rule_fn_shape(tl_match *x, const tl_expr *e) {
  tl_type_id id = tl_value_type(x->m, tl_rule_value_arg(x, e, 0));
  if (!tl_type_is_static(x->m, id))
    return tl_rv_none();
  const tl_type *t = tl_type_get(x->m, id);
  return tl_rv_list(t->dims, (uint32_t)t->rank);
}

tl_rv tl_rule_fn_numel(tl_match *x, const tl_expr *e) {
  uint64_t n;
  if (!tl_type_elements(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, 0)), &n) || n > INT64_MAX)
    return tl_rv_none();
  return tl_rv_int((int64_t)n);
}

/* 1: dim i of a and dim j of b have one size or name; 0: not; -1: unknown. */
static int same_dim(const tl_type *a, int64_t i, const tl_type *b, int64_t j) {
  int64_t k, l;
  if (!tl_rule_known_rank(a) || !tl_rule_known_rank(b) || !tl_rule_place(i, a->rank, &k) ||
      !tl_rule_place(j, b->rank, &l) || a->dims[k] == TL_DIM_UNKNOWN ||
      b->dims[l] == TL_DIM_UNKNOWN)
    return -1;
  return a->dims[k] == b->dims[l];
}

tl_rv tl_rule_fn_same_dim(tl_match *x, const tl_expr *e) {
  int64_t i, j;
  if (!tl_rule_int_arg(x, e, 1, &i) || !tl_rule_int_arg(x, e, 3, &j))
    return tl_rv_none();
  int same = same_dim(tl_rule_type_arg(x, e, 0), i, tl_rule_type_arg(x, e, 2), j);
  return same < 0 ? tl_rv_none() : tl_rv_truth(same);
}

tl_rv tl_rule_fn_same_dims(tl_match *x, const tl_expr *e) {
  const tl_type *a = tl_rule_type_arg(x, e, 0), *b = tl_rule_type_arg(x, e, 2);
  tl_int_list k, l;
  if (!tl_rule_list_arg(x, e, 1, &k) || !tl_rule_list_arg(x, e, 3, &l) || k.n != l.n)
    return tl_rv_none();
  for (uint32_t i = 0; i < k.n; i++) {
    int same = same_dim(a, k.at[i], b, l.at[i]);
    if (same <= 0)
      return same < 0 ? tl_rv_none() : tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_dtype(tl_match *x, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, 0)));
  return d == TL_DTYPE_NONE ? tl_rv_none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}

tl_rv tl_rule_fn_static(tl_match *x, const tl_expr *e) {
  return tl_rv_truth(tl_type_is_static(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, 0))));
}

tl_rv tl_rule_fn_is_float(tl_match *x, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, 0)));
  return d == TL_DTYPE_NONE ? tl_rv_none() : tl_rv_truth(tl_dtype_is_float(d));
}

tl_rv tl_rule_fn_same_shape(tl_match *x, const tl_expr *e) {
  const tl_type *a = tl_rule_type_arg(x, e, 0), *b = tl_rule_type_arg(x, e, 1);
  if (!tl_rule_known_rank(a) || !tl_rule_known_rank(b))
    return tl_rv_none();
  if (a->rank != b->rank)
    return tl_rv_truth(false);
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] == TL_DIM_UNKNOWN || b->dims[i] == TL_DIM_UNKNOWN)
      return tl_rv_none();
    if (a->dims[i] != b->dims[i])
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_same_type(tl_match *x, const tl_expr *e) {
  const tl_type *a = tl_rule_type_arg(x, e, 0), *b = tl_rule_type_arg(x, e, 1);
  return a->dtype == b->dtype ? tl_rule_fn_same_shape(x, e) : tl_rv_truth(false);
}

tl_rv tl_rule_fn_broadcasts(tl_match *x, const tl_expr *e) {
  const tl_type *a = tl_rule_type_arg(x, e, 0), *b = tl_rule_type_arg(x, e, 1);
  if (!tl_rule_known_rank(a) || !tl_rule_known_rank(b))
    return tl_rv_none();
  if (a->rank > b->rank)
    return tl_rv_truth(false);
  for (int i = 0; i < a->rank; i++) {
    tl_dim from = a->dims[i], to = b->dims[b->rank - a->rank + i];
    if (from != 1 && (from == TL_DIM_UNKNOWN || from != to))
      return from == TL_DIM_UNKNOWN ? tl_rv_none() : tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_stretched(tl_match *x, const tl_expr *e) {
  const tl_type *a = tl_rule_type_arg(x, e, 0), *b = tl_rule_type_arg(x, e, 1);
  int64_t *axes = tl_rule_room(x, TL_MAX_RANK);
  uint32_t n = 0;
  if (!axes || !tl_rule_known_rank(a) || !tl_rule_known_rank(b) || a->rank > b->rank)
    return tl_rv_none();
  for (int i = 0; i < b->rank; i++) {
    int at = i - (b->rank - a->rank);
    tl_dim from = at < 0 ? 1 : a->dims[at], to = b->dims[i];
    if (at < 0 || (from == 1 && to > 1))
      axes[n++] = i;
    else if (from == TL_DIM_UNKNOWN || from != to)
      return tl_rv_none();
  }
  return tl_rv_list(axes, n);
}

tl_rv tl_rule_fn_keeps(tl_match *x, const tl_expr *e) {
  tl_rv to = tl_rule_arg(x, e, 1);
  tl_dtype from = tl_type_dtype(x->m, tl_value_type(x->m, tl_rule_value_arg(x, e, 0)));
  if (to.kind != TL_RV_DTYPE || from == TL_DTYPE_NONE)
    return tl_rv_none();
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
      {TL_DTYPE_BOOL, ~(TL_DTYPE_BIT(TL_DTYPE_STRING) | TL_DTYPE_BIT(TL_DTYPE_F8E8M0))},
  };
  if ((int64_t)from == to.i)
    return tl_rv_truth(true);
  for (size_t i = 0; i < sizeof wider / sizeof *wider; i++)
    if (wider[i].from == from)
      return tl_rv_truth(wider[i].to >> to.i & 1);
  return tl_rv_truth(false);
}

/* ---- values --------------------------------------------------------------------------------- */

tl_rv tl_rule_fn_is_const(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  return tl_rv_truth(v && tl_value_constant(x->m, v));
}

tl_rv tl_rule_fn_present(tl_match *x, const tl_expr *e) {
  const tl_expr *a = e->args[0];
  if (a->kind != TL_EXPR_VALUE)
    return tl_rv_none();
  uint8_t node = x->rule->values[a->u.i].node;
  if (node != TL_RULE_NODES)
    return tl_rv_truth(tl_match_has_node(x, node));
  return tl_rv_truth(tl_rule_value_arg(x, e, 0) != TL_NO_VALUE);
}

tl_rv tl_rule_fn_uses(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  return v ? tl_rv_int(tl_value_get(x->m, v)->n_uses) : tl_rv_none();
}

tl_rv tl_rule_fn_is_output(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  return v ? tl_rv_truth(tl_value_is_output(x->m, v)) : tl_rv_none();
}

tl_rv tl_rule_fn_same_value(tl_match *x, const tl_expr *e) {
  tl_value_id a = tl_rule_value_arg(x, e, 0), b = tl_rule_value_arg(x, e, 1);
  const tl_tensor *s = a ? tl_value_constant(x->m, a) : NULL;
  const tl_tensor *t = b ? tl_value_constant(x->m, b) : NULL;
  return tl_rv_truth(a == b || (s && t && tl_tensor_equal(x->m, s, t, LONGEST_SPLAT)));
}

/* A constant operand, or a tensor that an attribute holds. */
static const tl_tensor *constant_arg(tl_match *x, const tl_expr *e, uint32_t i) {
  tl_value_id v = tl_rule_value_arg(x, e, i);
  tl_rv a = v ? tl_rv_none() : tl_rule_arg(x, e, i);
  const tl_tensor *t = v ? tl_value_constant(x->m, v)
                         : a.kind == TL_RV_TENSOR ? tl_tensor_get(x->m, (tl_tensor_id)a.i) : NULL;
  return t && t->kind != TL_SOURCE_STRINGS ? t : NULL;
}

tl_rv tl_rule_fn_ints(tl_match *x, const tl_expr *e) {
  const tl_tensor *t = constant_arg(x, e, 0);
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  int64_t *at = t ? tl_rule_room(x, n) : NULL;
  for (uint64_t i = 0; at && i < n; i++)
    if (!tl_tensor_int_at(x->m, t, i, &at[i]))
      return tl_rv_none();
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

/* Sizes and limits of images are floats in many models. */
tl_rv tl_rule_fn_wholes(tl_match *x, const tl_expr *e) {
  const tl_tensor *t = constant_arg(x, e, 0);
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  int64_t *at = t ? tl_rule_room(x, n) : NULL;
  for (uint64_t i = 0; at && i < n; i++) {
    double v;
    if (!tl_tensor_float_at(x->m, t, i, &v) || !(fabs(v) <= INT32_MAX) || v != floor(v))
      return tl_rv_none();
    at[i] = (int64_t)v;
  }
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

static bool number_at(const tl_match *x, const tl_tensor *t, uint64_t i, double *out) {
  int64_t v;
  if (tl_tensor_int_at(x->m, t, i, &v)) {
    *out = (double)v;
    return true;
  }
  return tl_tensor_float_at(x->m, t, i, out);
}

tl_rv tl_rule_fn_scalar(tl_match *x, const tl_expr *e) {
  const tl_tensor *t = constant_arg(x, e, 0);
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  double first, other;
  int64_t whole;
  if (n == 0 || n > LONGEST_SPLAT || !number_at(x, t, 0, &first))
    return tl_rv_none();
  for (uint64_t i = 1; i < n; i++)
    if (!number_at(x, t, i, &other) || other != first)
      return tl_rv_none();
  if (tl_tensor_int_at(x->m, t, 0, &whole))
    return tl_rv_int(whole);
  return (tl_rv){.kind = TL_RV_FLOAT, .f = first};
}

tl_rv tl_rule_fn_is_splat(tl_match *x, const tl_expr *e) {
  tl_rv v = tl_rule_fn_scalar(x, e), wanted = tl_rule_arg(x, e, 1);
  double a = v.kind == TL_RV_INT ? (double)v.i : v.f;
  double b = wanted.kind == TL_RV_INT ? (double)wanted.i : wanted.f;
  return tl_rv_truth(v.kind != TL_RV_NONE && wanted.kind != TL_RV_NONE &&
               (a == b || (v.kind == TL_RV_FLOAT && (float)a == (float)b)));
}

/* Smallest and greatest element of bytes, which may be computed ones. */
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

static bool bounds(const tl_match *x, const tl_tensor *t, int64_t *least, int64_t *most) {
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  *least = INT64_MAX;
  *most = INT64_MIN;
  if (n && (t->dtype == TL_DTYPE_I8 || t->dtype == TL_DTYPE_U8)) {
    byte_bounds(t, n, least, most);
    return true;
  }
  for (uint64_t i = 0; i < n; i++) {
    int64_t v;
    if (!tl_tensor_int_at(x->m, t, i, &v))
      return false;
    *least = v < *least ? v : *least;
    *most = v > *most ? v : *most;
  }
  return n != 0;
}

tl_rv tl_rule_fn_least(tl_match *x, const tl_expr *e) {
  int64_t least, most;
  return bounds(x, constant_arg(x, e, 0), &least, &most) ? tl_rv_int(least) : tl_rv_none();
}

tl_rv tl_rule_fn_most(tl_match *x, const tl_expr *e) {
  int64_t least, most;
  return bounds(x, constant_arg(x, e, 0), &least, &most) ? tl_rv_int(most) : tl_rv_none();
}

/* The elements run over an axis of n places, `inner` elements each. */
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

/* Sums at each of the n places of an axis of a constant of bytes; NULL when there are none. */
static int64_t *sums_along(tl_match *x, const tl_expr *e, bool magnitudes, uint64_t *n) {
  const tl_tensor *t = constant_arg(x, e, 0);
  const tl_type *type = t ? tl_type_get(x->m, t->type) : NULL;
  int64_t axis;
  uint64_t inner = 1;
  if (!t || (t->dtype != TL_DTYPE_I8 && t->dtype != TL_DTYPE_U8) ||
      !tl_rule_int_arg(x, e, 1, &axis) || !tl_rule_place(axis, type->rank, &axis))
    return NULL;
  for (int i = (int)axis + 1; i < type->rank; i++)
    inner *= (uint64_t)type->dims[i];
  *n = (uint64_t)type->dims[axis];
  int64_t *sums =
      *n <= TL_RULE_LONGEST_SUMS ? tl_arena_calloc(x->scratch, *n ? *n : 1, sizeof *sums) : NULL;
  if (sums)
    add_up(t, inner, *n, magnitudes, sums);
  return sums;
}

tl_rv tl_rule_fn_sums(tl_match *x, const tl_expr *e) {
  uint64_t n;
  int64_t *sums = sums_along(x, e, false, &n);
  return sums ? tl_rv_list(sums, (uint32_t)n) : tl_rv_none();
}

tl_rv tl_rule_fn_filled(tl_match *x, const tl_expr *e) {
  uint64_t n;
  int64_t from;
  int64_t *places = sums_along(x, e, true, &n);
  uint32_t found = 0;
  if (!places || !tl_rule_int_arg(x, e, 2, &from) || from < 0)
    return tl_rv_none();
  for (uint64_t i = (uint64_t)from; i < n; i++)
    if (places[i])
      places[found++] = (int64_t)i - from;
  return tl_rv_list(places, found);
}

/* The same bytes under another type; those of a file stay there. */
tl_rv tl_rule_fn_nibbles(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  const tl_tensor *t = v ? tl_value_constant(x->m, v) : NULL;
  if (!t || t->dtype != TL_DTYPE_U8 || t->kind == TL_SOURCE_EXPR || t->bytes == 0 ||
      t->bytes > INT64_MAX / 2)
    return tl_rv_none();
  tl_dim dim = 2 * (tl_dim)t->bytes;
  tl_tensor packed = *t;
  packed.dtype = TL_DTYPE_U4;
  packed.type = tl_type_tensor(x->m, TL_DTYPE_U4, 1, &dim);
  tl_tensor_id id = packed.type != TL_NO_TYPE ? tl_tensor_add(x->m, &packed) : TL_NO_TENSOR;
  return id ? (tl_rv){.kind = TL_RV_TENSOR, .i = id} : tl_rv_none();
}

tl_rv tl_rule_fn_tensor_attr(tl_match *x, const tl_expr *e) {
  return tl_rv_truth(tl_rule_arg(x, e, 0).kind == TL_RV_TENSOR);
}

tl_rv tl_rule_fn_op_of(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  tl_node_id n = v ? tl_value_producer(x->m, v) : TL_NO_NODE;
  if (!n)
    return tl_rv_none();
  return (tl_rv){.kind = TL_RV_STRING,
                 .s = tl_op_name_symbol(x->m, tl_node_get(x->m, n)->op)};
}

tl_rv tl_rule_fn_operands(tl_match *x, const tl_expr *e) {
  tl_value_id v = tl_rule_value_arg(x, e, 0);
  tl_node_id n = v ? tl_value_producer(x->m, v) : TL_NO_NODE;
  return n ? tl_rv_int(tl_node_get(x->m, n)->n_operands) : tl_rv_none();
}

tl_rv tl_rule_fn_power_of_two(tl_match *x, const tl_expr *e) {
  enum { LARGEST = 14 }; /* exponent of f16 */
  tl_rv v = tl_rule_arg(x, e, 0);
  if (v.kind != TL_RV_INT && v.kind != TL_RV_FLOAT)
    return tl_rv_none();
  double size = v.kind == TL_RV_INT ? (double)v.i : v.f;
  size = size < 0 ? -size : size;
  for (int i = -LARGEST; i <= LARGEST; i++)
    if (size == (i < 0 ? 1.0 / (1 << -i) : (double)(1 << i)))
      return tl_rv_truth(true);
  return tl_rv_truth(false);
}

tl_rv tl_rule_fn_opset(tl_match *x, const tl_expr *e) {
  (void)e;
  return tl_rv_int(tl_module_opset(x->m, 0));
}

tl_rv tl_rule_fn_onnx(tl_match *x, const tl_expr *e) {
  tl_rv v = tl_rule_arg(x, e, 0);
  return v.kind == TL_RV_DTYPE ? tl_rv_int(tl_dtype_get((tl_dtype)v.i)->onnx) : tl_rv_none();
}

tl_rv tl_rule_fn_ge(tl_match *x, const tl_expr *e) {
  tl_rv v = tl_rule_arg(x, e, 0);
  tl_dtype d = v.kind == TL_RV_INT ? tl_dtype_from_ge(v.i) : TL_DTYPE_NONE;
  return d == TL_DTYPE_NONE ? tl_rv_none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}

/* ---- whole shapes --------------------------------------------------------------------------- */

tl_rv tl_rule_fn_known(tl_match *x, const tl_expr *e) {
  return tl_rv_truth(tl_rule_arg(x, e, 0).kind != TL_RV_NONE);
}

/* A dim named as at the same place of the operand is copied; one dim may be left to the runtime. */
tl_rv tl_rule_fn_reshape_spec(tl_match *x, const tl_expr *e) {
  const tl_type *from = tl_rule_type_arg(x, e, 0), *to = tl_rule_type_arg(x, e, 1);
  if (!tl_rule_known_rank(to))
    return tl_rv_none();
  int64_t *at = tl_rule_room(x, (uint64_t)to->rank);
  uint32_t left = 0;
  for (int i = 0; at && i < to->rank; i++) {
    tl_dim d = to->dims[i];
    bool copied = tl_dim_is_symbol(d) && tl_rule_known_rank(from) && i < from->rank &&
                  from->dims[i] == d;
    if (d == 0)
      return tl_rv_none(); /* 0 would copy, -1 would be ambiguous */
    at[i] = tl_dim_is_static(d) ? d : copied ? 0 : -1;
    left += at[i] == -1;
  }
  return at && left <= 1 ? tl_rv_list(at, (uint32_t)to->rank) : tl_rv_none();
}

tl_rv tl_rule_fn_moves_units(tl_match *x, const tl_expr *e) {
  tl_int_list p;
  const tl_type *t = tl_rule_type_arg(x, e, 1);
  int64_t last = -1;
  if (!tl_rule_list_arg(x, e, 0, &p) || !tl_rule_known_rank(t) || p.n != (uint32_t)t->rank ||
      !tl_rule_is_permutation(p))
    return tl_rv_none();
  for (uint32_t i = 0; i < p.n; i++) {
    if (t->dims[p.at[i]] == 1)
      continue;
    if (p.at[i] < last)
      return tl_rv_truth(false);
    last = p.at[i];
  }
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_per_channel(tl_match *x, const tl_expr *e) {
  const tl_type *t = tl_rule_type_arg(x, e, 0), *of = tl_rule_type_arg(x, e, 1);
  if (!tl_rule_known_rank(t) || !tl_rule_known_rank(of) || of->rank < 2 || t->rank > of->rank)
    return tl_rv_none();
  int channel = t->rank - of->rank + 1; /* place of dim 1 in t */
  if (channel < 0 || !tl_dim_is_static(of->dims[1]))
    return tl_rv_truth(false);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != (i == channel ? of->dims[1] : 1))
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

tl_rv tl_rule_fn_trailing(tl_match *x, const tl_expr *e) {
  const tl_type *t = tl_rule_type_arg(x, e, 0), *of = tl_rule_type_arg(x, e, 1);
  if (!tl_rule_known_rank(t) || !tl_rule_known_rank(of))
    return tl_rv_none();
  if (t->rank > of->rank)
    return tl_rv_truth(false);
  for (int i = 0; i < t->rank; i++) {
    tl_dim a = t->dims[i], b = of->dims[of->rank - t->rank + i];
    if (a == TL_DIM_UNKNOWN || b == TL_DIM_UNKNOWN)
      return tl_rv_none();
    if (a != b)
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

/* ---- table ---------------------------------------------------------------------------------- */

const tl_rule_function *tl_rule_functions(uint32_t *n) {
  static const tl_rule_function table[] = {
#define RULE_FUNCTION(name, least, most, signature, summary) \
  {#name, signature, summary, tl_rule_fn_##name, least, most},
#include "passes/engine/functions.tbl"
  };
  *n = sizeof table / sizeof *table;
  return table;
}
