/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of expressions over values, types, shapes and constants: their rows are in
 * functions.tbl. A function gives NONE where a fact is not known, never a guess, so that no
 * condition holds by accident. */
#include <math.h>

#include "ir/tensor_expr.h"
#include "passes/edit/half.h"
#include "passes/expr/function.h"

enum { LONGEST_SPLAT = 1 << 16 }; /* upper bound on elements compared to find one number */

/* Gives NONE for a rank that is not known, as all functions here do. */
tl_rv tl_fn_rank(tl_site *site, const tl_expr *e) {
  const tl_type *t = tl_fn_type(site, e, 0);
  return tl_fn_known_rank(t) ? tl_rv_int(t->rank) : tl_rv_none();
}

tl_rv tl_fn_dim(tl_site *site, const tl_expr *e) {
  const tl_type *t = tl_fn_type(site, e, 0);
  int64_t i, at;
  if (!tl_fn_known_rank(t) || !tl_fn_int(site, e, 1, &i) || !tl_fn_place(i, t->rank, &at))
    return tl_rv_none();
  return t->dims[at] >= 0 ? tl_rv_int(t->dims[at]) : tl_rv_none();
}

tl_rv tl_fn_half(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  if (!v)
    return tl_rv_none();
  return tl_rv_truth(tl_precision_half_at(site->m, site->options, site->node, v));
}

tl_rv tl_fn_shape(tl_site *site, const tl_expr *e) {
  tl_type_id id = tl_value_type(site->m, tl_fn_value(site, e, 0));
  if (!tl_type_is_static(site->m, id))
    return tl_rv_none();
  const tl_type *t = tl_type_get(site->m, id);
  return tl_rv_list(t->dims, (uint32_t)t->rank);
}

tl_rv tl_fn_numel(tl_site *site, const tl_expr *e) {
  uint64_t n;
  if (!tl_type_elements(site->m, tl_value_type(site->m, tl_fn_value(site, e, 0)), &n) ||
      n > INT64_MAX)
    return tl_rv_none();
  return tl_rv_int((int64_t)n);
}

/* Returns 1 if dim i of a and dim j of b have the same size or the same symbol, 0 if not, -1 if one
 * is unknown. Negative i and j count from the end. */
static int same_dim(const tl_type *a, int64_t i, const tl_type *b, int64_t j) {
  int64_t k, l;
  if (!tl_fn_known_rank(a) || !tl_fn_known_rank(b) || !tl_fn_place(i, a->rank, &k) ||
      !tl_fn_place(j, b->rank, &l) || a->dims[k] == TL_DIM_UNKNOWN || b->dims[l] == TL_DIM_UNKNOWN)
    return -1;
  return a->dims[k] == b->dims[l];
}

tl_rv tl_fn_same_dim(tl_site *site, const tl_expr *e) {
  int64_t i, j;
  if (!tl_fn_int(site, e, 1, &i) || !tl_fn_int(site, e, 3, &j))
    return tl_rv_none();
  int same = same_dim(tl_fn_type(site, e, 0), i, tl_fn_type(site, e, 2), j);
  return same < 0 ? tl_rv_none() : tl_rv_truth(same);
}

tl_rv tl_fn_same_dims(tl_site *site, const tl_expr *e) {
  const tl_type *a = tl_fn_type(site, e, 0), *b = tl_fn_type(site, e, 2);
  tl_int_list k, l;
  if (!tl_fn_list(site, e, 1, &k) || !tl_fn_list(site, e, 3, &l) || k.n != l.n)
    return tl_rv_none();
  for (uint32_t i = 0; i < k.n; i++) {
    int same = same_dim(a, k.at[i], b, l.at[i]);
    if (same <= 0)
      return same < 0 ? tl_rv_none() : tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}

tl_rv tl_fn_dtype(tl_site *site, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(site->m, tl_value_type(site->m, tl_fn_value(site, e, 0)));
  return d == TL_DTYPE_NONE ? tl_rv_none() : (tl_rv){.kind = TL_RV_DTYPE, .i = d};
}

/* Returns true if all operands of the node, and all results that have users, have static shapes. */
static bool node_is_static(const tl_site *site) {
  const tl_node *n = tl_node_get(site->m, site->node);
  for (uint32_t i = 0; i < n->n_operands; i++) {
    tl_value_id v = tl_operand(site->m, site->node, i);
    if (v && !tl_type_is_static(site->m, tl_value_type(site->m, v)))
      return false;
  }
  for (uint32_t i = 0; i < n->n_results; i++) {
    tl_value_id v = n->results + i;
    if (tl_value_get(site->m, v)->n_uses && !tl_type_is_static(site->m, tl_value_type(site->m, v)))
      return false;
  }
  return true;
}

tl_rv tl_fn_static(tl_site *site, const tl_expr *e) {
  if (e->n == 0)
    return tl_rv_truth(node_is_static(site));
  return tl_rv_truth(tl_type_is_static(site->m, tl_value_type(site->m, tl_fn_value(site, e, 0))));
}

tl_rv tl_fn_is_float(tl_site *site, const tl_expr *e) {
  tl_dtype d = tl_type_dtype(site->m, tl_value_type(site->m, tl_fn_value(site, e, 0)));
  return d == TL_DTYPE_NONE ? tl_rv_none() : tl_rv_truth(tl_dtype_is_float(d));
}

/* Symbols are equal only to themselves: two of them may stand for the same size, but that is not
 * known. */
tl_rv tl_fn_same_shape(tl_site *site, const tl_expr *e) {
  const tl_type *a = tl_fn_type(site, e, 0), *b = tl_fn_type(site, e, 1);
  if (!tl_fn_known_rank(a) || !tl_fn_known_rank(b))
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

tl_rv tl_fn_same_type(tl_site *site, const tl_expr *e) {
  const tl_type *a = tl_fn_type(site, e, 0), *b = tl_fn_type(site, e, 1);
  return a->dtype == b->dtype ? tl_fn_same_shape(site, e) : tl_rv_truth(false);
}

/* True if a broadcast to the shape of b gives exactly that shape: no dim of b may be stretched. An
 * unknown dim of a may be 1, which would fit, or not. */
tl_rv tl_fn_broadcasts(tl_site *site, const tl_expr *e) {
  const tl_type *a = tl_fn_type(site, e, 0), *b = tl_fn_type(site, e, 1);
  if (!tl_fn_known_rank(a) || !tl_fn_known_rank(b))
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

/* Gives the axes of b along which a is repeated. An axis where a has 1 and b has an unknown size or
 * a symbol may be one or not: NONE. */
tl_rv tl_fn_stretched(tl_site *site, const tl_expr *e) {
  const tl_type *a = tl_fn_type(site, e, 0), *b = tl_fn_type(site, e, 1);
  int64_t *axes = tl_fn_room(site, TL_MAX_RANK);
  uint32_t n = 0;
  if (!axes || !tl_fn_known_rank(a) || !tl_fn_known_rank(b) || a->rank > b->rank)
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

/* A dtype is kept by itself and by those that represent each of its values exactly. Dtypes without
 * a row here, such as i16, are kept by themselves alone. */
tl_rv tl_fn_keeps(tl_site *site, const tl_expr *e) {
  tl_rv to = tl_fn_arg(site, e, 1);
  tl_dtype from = tl_type_dtype(site->m, tl_value_type(site->m, tl_fn_value(site, e, 0)));
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

tl_rv tl_fn_is_const(tl_site *site, const tl_expr *e) {
  tl_value_id v = tl_fn_value(site, e, 0);
  return tl_rv_truth(v && tl_value_constant(site->m, v));
}

/* An argument is a value of the graph first, and only if it is none, an expression. */
const tl_tensor *tl_fn_constant(tl_site *site, const tl_expr *e, uint32_t i) {
  tl_value_id v = tl_fn_value(site, e, i);
  tl_rv a = v ? tl_rv_none() : tl_fn_arg(site, e, i);
  const tl_tensor *t = v                        ? tl_value_constant(site->m, v)
                       : a.kind == TL_RV_TENSOR ? tl_tensor_get(site->m, (tl_tensor_id)a.i)
                                                : NULL;
  return t && t->kind != TL_SOURCE_STRINGS ? t : NULL;
}

tl_rv tl_fn_ints(tl_site *site, const tl_expr *e) {
  const tl_tensor *t = tl_fn_constant(site, e, 0);
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  int64_t *at = t ? tl_fn_room(site, n) : NULL;
  for (uint64_t i = 0; at && i < n; i++)
    if (!tl_tensor_int_at(site->m, t, i, &at[i]))
      return tl_rv_none();
  return at ? tl_rv_list(at, (uint32_t)n) : tl_rv_none();
}

static bool number_at(const tl_site *site, const tl_tensor *t, uint64_t i, double *out) {
  int64_t v;
  if (tl_tensor_int_at(site->m, t, i, &v)) {
    *out = (double)v;
    return true;
  }
  return tl_tensor_float_at(site->m, t, i, out);
}

/* Gives the number that every element is, as an integer where the dtype is one. NaN is never equal
 * to itself, so that a constant of several NaNs is no scalar. */
tl_rv tl_fn_scalar(tl_site *site, const tl_expr *e) {
  const tl_tensor *t = tl_fn_constant(site, e, 0);
  uint64_t n = t ? tl_tensor_elements(site->m, t) : 0;
  double first, other;
  int64_t whole;
  if (n == 0 || n > LONGEST_SPLAT || !number_at(site, t, 0, &first))
    return tl_rv_none();
  for (uint64_t i = 1; i < n; i++)
    if (!number_at(site, t, i, &other) || other != first)
      return tl_rv_none();
  if (tl_tensor_int_at(site->m, t, 0, &whole))
    return tl_rv_int(whole);
  return (tl_rv){.kind = TL_RV_FLOAT, .f = first};
}

/* Such a number and its inverse are normal numbers of f16, so that scaling by them only changes
 * exponents, unless something under- or overflows. */
tl_rv tl_fn_power_of_two(tl_site *site, const tl_expr *e) {
  enum { LARGEST = 14 }; /* exponent of f16 */
  tl_rv v = tl_fn_arg(site, e, 0);
  if (v.kind != TL_RV_INT && v.kind != TL_RV_FLOAT)
    return tl_rv_none();
  double size = v.kind == TL_RV_INT ? (double)v.i : v.f;
  size = size < 0 ? -size : size;
  for (int i = -LARGEST; i <= LARGEST; i++)
    if (size == (i < 0 ? 1.0 / (1 << -i) : (double)(1 << i)))
      return tl_rv_truth(true);
  return tl_rv_truth(false);
}

tl_rv tl_fn_onnx(tl_site *site, const tl_expr *e) {
  tl_rv v = tl_fn_arg(site, e, 0);
  return v.kind == TL_RV_DTYPE ? tl_rv_int(tl_dtype_get((tl_dtype)v.i)->onnx) : tl_rv_none();
}

tl_rv tl_fn_known(tl_site *site, const tl_expr *e) {
  return tl_rv_truth(tl_fn_arg(site, e, 0).kind != TL_RV_NONE);
}

/* Gives the shape operand of a Reshape: 0 copies the dim at the same place of the operand, -1 is
 * left to the runtime, which can tell one dim only. */
tl_rv tl_fn_reshape_spec(tl_site *site, const tl_expr *e) {
  const tl_type *from = tl_fn_type(site, e, 0), *to = tl_fn_type(site, e, 1);
  if (!tl_fn_known_rank(to))
    return tl_rv_none();
  int64_t *at = tl_fn_room(site, (uint64_t)to->rank);
  uint32_t left = 0;
  for (int i = 0; at && i < to->rank; i++) {
    tl_dim d = to->dims[i];
    bool copied = tl_dim_is_symbol(d) && tl_fn_known_rank(from) && i < from->rank &&
                  from->dims[i] == d;
    if (d == 0)
      return tl_rv_none(); /* 0 would copy, -1 would be ambiguous */
    at[i] = tl_dim_is_static(d) ? d : copied ? 0 : -1;
    left += at[i] == -1;
  }
  return at && left <= 1 ? tl_rv_list(at, (uint32_t)to->rank) : tl_rv_none();
}

/* A transposition that keeps the order of all dims longer than 1 moves no element: it is a
 * reshape. */
tl_rv tl_fn_moves_units(tl_site *site, const tl_expr *e) {
  tl_int_list p;
  const tl_type *t = tl_fn_type(site, e, 1);
  int64_t last = -1;
  if (!tl_fn_list(site, e, 0, &p) || !tl_fn_known_rank(t) || p.n != (uint32_t)t->rank ||
      !tl_fn_is_permutation(p))
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

/* True if a has the length of dim 1 of b along that dim and 1 along all others, as a bias of a
 * convolution that is broadcast from the right. */
tl_rv tl_fn_per_channel(tl_site *site, const tl_expr *e) {
  const tl_type *t = tl_fn_type(site, e, 0), *of = tl_fn_type(site, e, 1);
  if (!tl_fn_known_rank(t) || !tl_fn_known_rank(of) || of->rank < 2 || t->rank > of->rank)
    return tl_rv_none();
  int channel = t->rank - of->rank + 1; /* place of dim 1 in t */
  if (channel < 0 || !tl_dim_is_static(of->dims[1]))
    return tl_rv_truth(false);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != (i == channel ? of->dims[1] : 1))
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

/* True if a is one number, or has the length of dim i of b along that dim and 1 along all others;
 * broadcasting a to b then repeats it along the other dims alone. */
tl_rv tl_fn_along(tl_site *site, const tl_expr *e) {
  const tl_type *t = tl_fn_type(site, e, 0), *of = tl_fn_type(site, e, 1);
  int64_t at;
  if (!tl_fn_known_rank(t) || !tl_fn_known_rank(of) || !tl_fn_int(site, e, 2, &at))
    return tl_rv_none();
  at += at < 0 ? of->rank : 0;
  if (t->rank > of->rank || at < 0 || at >= of->rank)
    return tl_rv_truth(false);
  tl_dim n = of->dims[at];
  at -= of->rank - t->rank; /* place in a */
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != 1 && (i != at || t->dims[i] != n || !tl_dim_is_static(n)))
      return tl_rv_truth(false);
  return tl_rv_truth(true);
}

/* True if the dims of a are the last dims of b, size by size. */
tl_rv tl_fn_trailing(tl_site *site, const tl_expr *e) {
  const tl_type *t = tl_fn_type(site, e, 0), *of = tl_fn_type(site, e, 1);
  if (!tl_fn_known_rank(t) || !tl_fn_known_rank(of))
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
