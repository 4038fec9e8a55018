/* SPDX-License-Identifier: Apache-2.0 */
/* Lifts nodes of single ops, first half: elementwise ops, shapes, data movement. */
#include "frontend/onnx/opset.h"

/* Adds trailing dims of size 1 to operand 1. */
static tl_status unsqueeze_tail(const tl_lifting *l, int rank, int more) {
  int64_t axes[TL_MAX_RANK];
  tl_value_id operands[2] = {tl_operand(l->m, l->n, 1), TL_NO_VALUE};
  tl_value_id v;
  for (int i = 0; i < more; i++)
    axes[i] = rank + i;
  TL_TRY(tl_lift_i64s(l, axes, (uint32_t)more, 1, "axes", &operands[1]));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Unsqueeze, operands, 2, NULL, "unsqueezed"}, &v));
  tl_node_set_operand(l->m, l->n, 1, v);
  return TL_OK;
}

tl_status tl_lift_broadcast(const tl_lifting *l) {
  const tl_dim *dims;
  bool on = tl_lift_int(l, TL_SYM_broadcast, 0) != 0;
  bool placed = tl_node_attr(l->m, l->n, TL_SYM_axis) != NULL;
  int64_t axis = tl_lift_int(l, TL_SYM_axis, 0);
  tl_node_remove_attr(l->m, l->n, TL_SYM_broadcast);
  tl_node_remove_attr(l->m, l->n, TL_SYM_axis);
  if (!on || !placed)
    return TL_OK; /* equal shapes, or suffixes match as they do today */
  int a = tl_lift_rank(l, 0, &dims);
  int b = tl_lift_rank(l, 1, &dims);
  if (a == TL_RANK_UNKNOWN || b == TL_RANK_UNKNOWN)
    return tl_lift_fail(l, TL_UNSUPPORTED, "the axis attribute needs operands of known rank");
  if (axis < 0)
    axis += a;
  if (axis < 0 || axis + b > a)
    return b == 0 || (b == 1 && dims[0] == 1)
               ? TL_OK
               : tl_lift_fail(l, TL_INVALID_MODEL, "axis %lld does not fit ranks %d and %d",
                              (long long)axis, a, b);
  int more = a - (int)axis - b;
  return more ? unsqueeze_tail(l, b, more) : TL_OK;
}

tl_status tl_lift_prelu_slope(const tl_lifting *l) {
  const tl_dim *dims;
  int x = tl_lift_rank(l, 0, &dims);
  int slope = tl_lift_rank(l, 1, &dims);
  if (slope != 1 || dims[0] == 1)
    return TL_OK;
  if (x == TL_RANK_UNKNOWN)
    return tl_lift_fail(l, TL_UNSUPPORTED, "a slope per channel needs an operand of known rank");
  return x > 2 ? unsqueeze_tail(l, 1, x - 2) : TL_OK;
}

/* ---- Softmax, LogSoftmax, Hardmax ------------------------------------------------------------ */

/* Before opset 13 Softmax flattened all dims from `axis` on into one row. If at most one of them is
 * not 1, the row is that dim, *out; then today's op does the same. False otherwise. */
static bool one_axis(int rank, const tl_dim *dims, int64_t axis, int64_t *out) {
  int wide = 0;
  int64_t only = axis;
  for (int i = (int)axis; i < rank; i++) {
    if (dims[i] != 1) {
      wide++;
      only = i;
    }
  }
  if (wide <= 1)
    *out = only;
  return wide <= 1;
}

static tl_status shape_of(const tl_lifting *l, tl_value_id v, tl_value_id *out) {
  int64_t shape[TL_MAX_RANK];
  const tl_type *t = tl_type_get(l->m, tl_value_type(l->m, v));
  if (!tl_type_is_static(l->m, tl_value_type(l->m, v)))
    return tl_lift_insert(l, (tl_lift_node){TL_OP_Shape, &v, 1, NULL, "shape"}, out);
  uint32_t rank = (uint32_t)t->rank;
  for (uint32_t i = 0; i < rank; i++)
    shape[i] = t->dims[i];
  return tl_lift_i64s(l, shape, rank, 1, "shape", out);
}

/* Replaces the node by Flatten, the op over the last of two dims, and Reshape to the old shape. */
static tl_status softmax_2d(const tl_lifting *l, int64_t axis) {
  tl_value_id x = tl_operand(l->m, l->n, 0);
  tl_attr at = tl_attr_int(TL_SYM_axis, axis);
  tl_attr last = tl_attr_int(TL_SYM_axis, -1);
  tl_value_id operands[2];
  tl_value_id flat;
  TL_TRY(shape_of(l, x, &operands[1]));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Flatten, &x, 1, &at, "flat"}, &flat));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){tl_node_get(l->m, l->n)->op, &flat, 1, &last, "rows"},
                        &operands[0]));
  return tl_lift_become(l, TL_OP_Reshape, operands, 2);
}

tl_status tl_lift_softmax(const tl_lifting *l) {
  const tl_dim *dims;
  int64_t axis = tl_lift_int(l, TL_SYM_axis, 1);
  int rank = tl_lift_rank(l, 0, &dims);
  if (axis == -1)
    return tl_lift_set_int(l, TL_SYM_axis, -1);
  if (rank == TL_RANK_UNKNOWN)
    return softmax_2d(l, axis);
  if (axis < -rank || axis > rank)
    return tl_lift_fail(l, TL_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axis, rank);
  if (axis < 0)
    axis += rank;
  if (axis < rank && one_axis(rank, dims, axis, &axis))
    return tl_lift_set_int(l, TL_SYM_axis, axis);
  return softmax_2d(l, axis);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool same_letters(tl_sv a, const char *b) {
  for (size_t i = 0; i < a.n; i++) {
    char c = a.p[i] >= 'A' && a.p[i] <= 'Z' ? (char)(a.p[i] + 32) : a.p[i];
    if (b[i] == 0 || c != b[i])
      return false;
  }
  return b[a.n] == 0;
}

tl_status tl_lift_cast_name(const tl_lifting *l) {
  const tl_attr *to = tl_node_attr(l->m, l->n, TL_SYM_to);
  if (!to || to->kind != TL_ATTR_STRING)
    return TL_OK;
  tl_sv name = tl_sym(l->m, to->u.s);
  for (int d = 1; d < TL_N_DTYPES; d++) {
    const tl_dtype_info *info = tl_dtype_get((tl_dtype)d);
    if (info->onnx_name && same_letters(name, info->onnx_name))
      return tl_lift_set_int(l, TL_SYM_to, info->onnx);
  }
  return tl_lift_fail(l, TL_INVALID_MODEL, "'%.*s' is not an element type", TL_SV_ARG(name));
}

/* Turns a float attribute into operand i, a scalar of operand 0's element type. */
static tl_status float_to_operand(const tl_lifting *l, tl_symbol name, uint32_t i) {
  const tl_attr *a = tl_node_attr(l->m, l->n, name);
  tl_value_id v;
  if (!a)
    return TL_OK;
  if (a->kind != TL_ATTR_FLOAT)
    return tl_lift_fail(l, TL_INVALID_MODEL, "attribute '%.*s' must be a float",
                        TL_SV_ARG(tl_sym(l->m, name)));
  TL_TRY(tl_lift_scalar_like(l, a->u.f, tl_sym(l->m, name).p, &v));
  tl_node_remove_attr(l->m, l->n, name);
  return tl_lift_set_operand(l, i, v);
}

tl_status tl_lift_clip(const tl_lifting *l) {
  TL_TRY(float_to_operand(l, TL_SYM_min, 1));
  return float_to_operand(l, TL_SYM_max, 2);
}

tl_status tl_lift_pad_value(const tl_lifting *l) {
  const tl_attr *value = tl_node_attr(l->m, l->n, TL_SYM_value);
  if (value && value->kind == TL_ATTR_FLOAT && value->u.f == 0.0F) {
    tl_node_remove_attr(l->m, l->n, TL_SYM_value);
    return TL_OK;
  }
  return float_to_operand(l, TL_SYM_value, 2);
}

tl_status tl_lift_split_count(const tl_lifting *l) {
  if (tl_operand(l->m, l->n, 1))
    return TL_OK;
  return tl_lift_set_int(l, TL_SYM_num_outputs, tl_node_get(l->m, l->n)->n_results);
}

/* Before opset 6 Tile took the scalars tiles and axis; repeats has one number per dim. */
tl_status tl_lift_tile(const tl_lifting *l) {
  int64_t repeats[TL_MAX_RANK];
  int64_t tiles;
  int64_t axis;
  uint32_t n[2];
  const tl_dim *dims;
  tl_value_id operands[2] = {tl_operand(l->m, l->n, 0), TL_NO_VALUE};
  int rank = tl_lift_rank(l, 0, &dims);
  if (tl_node_get(l->m, l->n)->n_operands != 3)
    return TL_OK; /* written in the later form, which ONNX Runtime takes, too */
  if (rank == TL_RANK_UNKNOWN || !tl_lift_ints(l, 1, &tiles, 1, &n[0]) ||
      !tl_lift_ints(l, 2, &axis, 1, &n[1]) || n[0] != 1 || n[1] != 1)
    return tl_lift_fail(l, TL_UNSUPPORTED, "tiles and axis must be constant and the rank known");
  if (axis < -rank || axis >= rank)
    return tl_lift_fail(l, TL_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axis, rank);
  for (int i = 0; i < rank; i++)
    repeats[i] = i == (axis < 0 ? axis + rank : axis) ? tiles : 1;
  TL_TRY(tl_lift_i64s(l, repeats, (uint32_t)rank, 1, "repeats", &operands[1]));
  return tl_node_set_operands(l->m, l->n, operands, 2);
}

tl_status tl_lift_top_k(const tl_lifting *l) {
  int64_t k = tl_lift_int(l, TL_SYM_k, -1);
  tl_value_id v;
  if (k < 0)
    return tl_lift_fail(l, TL_INVALID_MODEL, "the attribute 'k' is needed");
  TL_TRY(tl_lift_i64s(l, &k, 1, 1, "k", &v));
  tl_node_remove_attr(l->m, l->n, TL_SYM_k);
  return tl_lift_set_operand(l, 1, v);
}

tl_status tl_lift_dft_axis(const tl_lifting *l) {
  int64_t axis = tl_lift_int(l, TL_SYM_axis, 1);
  tl_value_id v;
  TL_TRY(tl_lift_i64s(l, &axis, 1, 0, "axis", &v));
  tl_node_remove_attr(l->m, l->n, TL_SYM_axis);
  return tl_lift_set_operand(l, 2, v);
}

tl_status tl_lift_float_p(const tl_lifting *l) {
  const tl_attr *p = tl_node_attr(l->m, l->n, TL_SYM_p);
  if (!p || p->kind != TL_ATTR_FLOAT)
    return TL_OK;
  if (!(p->u.f >= 1 && p->u.f < 1e6F) || p->u.f != (float)(int64_t)p->u.f)
    return tl_lift_fail(l, TL_UNSUPPORTED, "p must be a whole number");
  return tl_lift_set_int(l, TL_SYM_p, (int64_t)p->u.f);
}

tl_status tl_lift_grid_mode(const tl_lifting *l) {
  tl_sv mode = tl_node_attr_string(l->m, l->n, TL_SYM_mode);
  if (tl_sv_is(mode, "bilinear"))
    return tl_lift_set_string(l, TL_SYM_mode, TL_SYM_linear);
  return tl_sv_is(mode, "bicubic") ? tl_lift_set_string(l, TL_SYM_mode, TL_SYM_cubic) : TL_OK;
}
