/* SPDX-License-Identifier: Apache-2.0 */
/* Lifts nodes of single ops, second half: normalization, dropout, resizing. */
#include "frontend/onnx/opset.h"

/* ---- normalization --------------------------------------------------------------------------- */

/* In older versions a used result beyond the first meant training mode. The saved mean and variance
 * were of use inside a runtime only. */
tl_status tl_lift_batch_norm(const tl_lifting *l) {
  const tl_node *node = tl_node_get(l->m, l->n);
  bool training = false;
  for (uint32_t i = 1; i < node->n_results; i++)
    training |= tl_value_get(l->m, node->results + i)->n_uses != 0;
  for (uint32_t i = 3; i < node->n_results; i++)
    if (tl_value_get(l->m, node->results + i)->n_uses)
      return tl_lift_fail(l, TL_UNSUPPORTED, "result %u (saved statistics) is used", i);
  tl_node_trim_results(l->m, l->n, training ? 3 : 1);
  return training ? tl_lift_set_int(l, TL_SYM_training_mode, 1) : TL_OK;
}

static tl_status binary(const tl_lifting *l, tl_op_id op, tl_value_id a, tl_value_id b,
                        const char *what, tl_value_id *out) {
  tl_value_id operands[2] = {a, b};
  return tl_lift_insert(l, (tl_lift_node){op, operands, 2, NULL, what}, out);
}

/* With spatial = 0 each element of a sample has its own statistics. No current op does
 * that, so the node becomes elementwise arithmetic, which broadcasts them over the batch. */
tl_status tl_lift_spatial(const tl_lifting *l) {
  int64_t spatial = tl_lift_int(l, TL_SYM_spatial, 1);
  tl_value_id v[5];
  tl_value_id eps;
  tl_value_id t;
  tl_node_remove_attr(l->m, l->n, TL_SYM_spatial);
  if (spatial)
    return TL_OK;
  float epsilon = tl_lift_float(l, TL_SYM_epsilon, 1e-5F);
  for (uint32_t i = 0; i < 5; i++)
    v[i] = tl_operand(l->m, l->n, i);
  for (uint32_t i = 1; i < tl_node_get(l->m, l->n)->n_results; i++)
    if (tl_value_get(l->m, tl_result(l->m, l->n, i))->n_uses)
      return tl_lift_fail(l, TL_UNSUPPORTED, "training with spatial = 0");
  TL_TRY(tl_lift_scalar_like(l, epsilon, "epsilon", &eps));
  TL_TRY(binary(l, TL_OP_Add, v[4], eps, "shifted", &t));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Sqrt, &t, 1, NULL, "deviation"}, &t));
  TL_TRY(binary(l, TL_OP_Sub, v[0], v[3], "centred", &eps));
  TL_TRY(binary(l, TL_OP_Div, eps, t, "normal", &t));
  TL_TRY(binary(l, TL_OP_Mul, t, v[1], "scaled", &t));
  tl_value_id operands[2] = {t, v[2]};
  tl_node_trim_results(l->m, l->n, 1);
  return tl_lift_become(l, TL_OP_Add, operands, 2);
}

tl_status tl_lift_mvn(const tl_lifting *l) {
  static const int64_t all[] = {0, 1, 2, 3};
  static const int64_t spatial[] = {0, 2, 3};
  bool across = tl_lift_int(l, TL_SYM_across_channels, 0) != 0;
  if (tl_lift_int(l, TL_SYM_normalize_variance, 1) == 0)
    return tl_lift_fail(l, TL_UNSUPPORTED, "normalize_variance = 0");
  tl_attr axes = tl_attr_ints(l->m, TL_SYM_axes, across ? all : spatial, across ? 4 : 3);
  if (axes.kind == TL_ATTR_NONE)
    return TL_NO_MEMORY;
  tl_node_remove_attr(l->m, l->n, TL_SYM_across_channels);
  tl_node_remove_attr(l->m, l->n, TL_SYM_normalize_variance);
  return tl_node_set_attr(l->m, l->n, axes);
}

/* ONNX Runtime had an op of this name before ONNX. Its x may have a narrower type than scale; it
 * computes in, and returns, the type of the scale. */
tl_status tl_lift_layer_norm(const tl_lifting *l) {
  tl_dtype x = tl_lift_dtype(l, 0);
  tl_dtype scale = tl_lift_dtype(l, 1);
  bool narrower = (scale == TL_DTYPE_F32 && (x == TL_DTYPE_F16 || x == TL_DTYPE_BF16)) ||
                  (scale == TL_DTYPE_F64 && x == TL_DTYPE_F32);
  if (!narrower)
    return TL_OK;
  tl_value_id v = tl_operand(l->m, l->n, 0);
  tl_attr to = tl_attr_int(TL_SYM_to, tl_dtype_get(scale)->onnx);
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Cast, &v, 1, &to, "widened"}, &v));
  tl_node_set_operand(l->m, l->n, 0, v);
  return TL_OK;
}

/* Makes the shape [2] = {1, channels per group}; nodes compute it if the channels are unknown. */
static tl_status group_shape(const tl_lifting *l, int64_t groups, tl_value_id *out) {
  const tl_dim *dims;
  int64_t one[2] = {1, 0};
  tl_value_id part[2];
  tl_value_id shape;
  int rank = tl_lift_rank(l, 0, &dims);
  if (rank >= 2 && dims[1] >= 0) {
    one[1] = dims[1] / groups;
    return tl_lift_i64s(l, one, 2, 1, "expansion", out);
  }
  tl_value_id x = tl_operand(l->m, l->n, 0);
  tl_attr axis = tl_attr_int(TL_SYM_axis, 0);
  int64_t second = 1;
  TL_TRY(tl_lift_i64s(l, one, 1, 1, "one", &part[0]));
  TL_TRY(tl_lift_i64s(l, &groups, 1, 1, "groups", &part[1]));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Shape, &x, 1, NULL, "shape"}, &shape));
  tl_value_id gather[2] = {shape, TL_NO_VALUE};
  TL_TRY(tl_lift_i64s(l, &second, 1, 1, "second", &gather[1]));
  TL_TRY(tl_lift_insert(l, (tl_lift_node){TL_OP_Gather, gather, 2, &axis, "channels"}, &shape));
  TL_TRY(binary(l, TL_OP_Div, shape, part[1], "each", &part[1]));
  return tl_lift_insert(l, (tl_lift_node){TL_OP_Concat, part, 2, &axis, "expansion"}, out);
}

/* Repeats operand i, which has one number per group, for every channel of the group. */
static tl_status per_channel(const tl_lifting *l, uint32_t i, tl_value_id shape) {
  int64_t one = 1;
  int64_t flat = -1;
  tl_value_id axes;
  tl_value_id whole;
  tl_value_id v;
  TL_TRY(tl_lift_i64s(l, &one, 1, 1, "axes", &axes));
  TL_TRY(tl_lift_i64s(l, &flat, 1, 1, "flat", &whole));
  TL_TRY(binary(l, TL_OP_Unsqueeze, tl_operand(l->m, l->n, i), axes, "column", &v));
  TL_TRY(binary(l, TL_OP_Expand, v, shape, "expanded", &v));
  TL_TRY(binary(l, TL_OP_Reshape, v, whole, "channels", &v));
  tl_node_set_operand(l->m, l->n, i, v);
  return TL_OK;
}

tl_status tl_lift_group_norm(const tl_lifting *l) {
  int64_t groups = tl_lift_int(l, TL_SYM_num_groups, 0);
  const tl_dim *dims;
  tl_value_id shape;
  if (groups < 1 || tl_node_get(l->m, l->n)->n_operands != 3)
    return tl_lift_fail(l, TL_INVALID_MODEL, "num_groups must be positive, with 3 operands");
  int rank = tl_lift_rank(l, 0, &dims);
  if (rank >= 2 && dims[1] == groups)
    return TL_OK;
  TL_TRY(group_shape(l, groups, &shape));
  TL_TRY(per_channel(l, 1, shape));
  return per_channel(l, 2, shape);
}

/* ---- Dropout --------------------------------------------------------------------------------- */

/* Inserts a node after the lifted one; it takes over the name and the users of `old`. */
static tl_status insert_after(const tl_lifting *l, tl_op_id op, tl_value_id old,
                              tl_value_id extra) {
  tl_node_id next = tl_node_get(l->m, tl_value_producer(l->m, old))->next;
  tl_value_id operands[2] = {TL_NO_VALUE, extra};
  tl_symbol name = tl_value_get(l->m, old)->name;
  tl_symbol inner = tl_module_fresh_name(l->m, tl_sym(l->m, name));
  tl_node_spec spec = {.op = op,
                       .operands = operands,
                       .n_operands = extra ? 2 : 1,
                       .results = &name,
                       .n_results = 1};
  tl_node_id made = next ? tl_graph_insert(l->m, next, &spec)
                         : tl_graph_append(l->m, tl_node_get(l->m, l->n)->graph, &spec);
  if (!made || inner == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_node_get(l->m, made)->scope = tl_node_get(l->m, l->n)->scope;
  tl_value_set_type(l->m, tl_result(l->m, made, 0), tl_value_type(l->m, old));
  tl_value_replace_uses(l->m, old, tl_result(l->m, made, 0));
  tl_value_set_name(l->m, old, inner);
  tl_value_set_type(l->m, old, TL_NO_TYPE);
  tl_node_set_operand(l->m, made, 0, old);
  return TL_OK;
}

/* Converts the mask of an older Dropout. In inference it was all zeros (in ONNX Runtime) and is all
 * ones today; before opset 10 it had the element type of the data. */
static tl_status keep_mask(const tl_lifting *l, bool training) {
  tl_value_id mask = tl_result(l->m, l->n, 1);
  if (!mask || tl_value_get(l->m, mask)->n_uses == 0)
    return TL_OK;
  /* Each node is inserted right behind the lifted one, so the second comes before the first. */
  if (l->version < 10)
    TL_TRY(insert_after(l, TL_OP_CastLike, mask, tl_operand(l->m, l->n, 0)));
  return training ? TL_OK : insert_after(l, TL_OP_Not, mask, TL_NO_VALUE);
}

/* Before opset 7 is_test = 0 asked for training. That was also the default, but exporters that left
 * it out wrote models for inference, so an absent attribute means inference. */
tl_status tl_lift_dropout(const tl_lifting *l) {
  const tl_attr *test = tl_node_attr(l->m, l->n, TL_SYM_is_test);
  bool training = l->version < 7 && test && test->kind == TL_ATTR_INT && test->u.i == 0;
  float ratio = tl_lift_float(l, TL_SYM_ratio, 0.5F);
  bool given = tl_node_attr(l->m, l->n, TL_SYM_ratio) != NULL;
  tl_value_id v;
  tl_node_remove_attr(l->m, l->n, TL_SYM_is_test);
  tl_node_remove_attr(l->m, l->n, TL_SYM_ratio);
  if (given || training) {
    TL_TRY(tl_lift_f32s(l, &ratio, 1, 0, "ratio", &v));
    TL_TRY(tl_lift_set_operand(l, 1, v));
  }
  if (training) {
    TL_TRY(tl_lift_bool(l, true, "training", &v));
    TL_TRY(tl_lift_set_operand(l, 2, v));
  }
  return keep_mask(l, training);
}

/* ---- Upsample and Resize --------------------------------------------------------------------- */

/* Sets the rounding of older Resize nodes: ONNX Runtime rounds up if it shrinks and down if it
 * enlarges. */
static tl_status old_coordinates(const tl_lifting *l, tl_value_id scales) {
  const tl_tensor *t = tl_value_constant(l->m, scales);
  bool shrinks = false;
  double s;
  for (uint64_t i = 0; t && i < tl_tensor_elements(l->m, t); i++)
    shrinks |= tl_tensor_float_at(l->m, t, i, &s) && s < 1;
  TL_TRY(tl_lift_set_string(l, TL_SYM_coordinate_transformation_mode, TL_SYM_asymmetric));
  return tl_lift_set_string(l, TL_SYM_nearest_mode, shrinks ? TL_SYM_ceil : TL_SYM_floor);
}

tl_status tl_lift_resize_10(const tl_lifting *l) {
  tl_value_id operands[3] = {tl_operand(l->m, l->n, 0), TL_NO_VALUE, tl_operand(l->m, l->n, 1)};
  TL_TRY(tl_node_set_operands(l->m, l->n, operands, 3));
  return old_coordinates(l, operands[2]);
}

/* Returns true for an operand that is present and known to have no element. */
static bool is_empty_list(const tl_lifting *l, uint32_t i) {
  const tl_dim *dims;
  const tl_tensor *t = tl_value_constant(l->m, tl_operand(l->m, l->n, i));
  return t ? tl_tensor_elements(l->m, t) == 0 : tl_lift_rank(l, i, &dims) == 1 && dims[0] == 0;
}

/* Removes empty roi, scales and sizes. Versions 11 and 12 require scales, which are empty if there
 * are sizes. An empty shape suffices; the operand need not be a constant. */
tl_status tl_lift_resize_empty(const tl_lifting *l) {
  enum { SCALES = 2, SIZES = 3 };
  uint32_t n = tl_node_get(l->m, l->n)->n_operands;
  for (uint32_t i = 1; i < n; i++)
    if (is_empty_list(l, i))
      tl_node_set_operand(l->m, l->n, i, TL_NO_VALUE);
  if (l->version < 13 && n > SIZES && tl_operand(l->m, l->n, SIZES) &&
      !tl_value_constant(l->m, tl_operand(l->m, l->n, SCALES)))
    tl_node_set_operand(l->m, l->n, SCALES, TL_NO_VALUE);
  return TL_OK;
}

/* Finds the scales, which versions give as two attributes, as a list, or as an operand. */
static tl_status upsample_scales(const tl_lifting *l, tl_value_id *out) {
  const tl_attr *list = tl_node_attr(l->m, l->n, TL_SYM_scales);
  float plane[4] = {1, 1, tl_lift_float(l, TL_SYM_height_scale, 0),
                    tl_lift_float(l, TL_SYM_width_scale, 0)};
  *out = tl_operand(l->m, l->n, 1);
  if (*out)
    return TL_OK;
  if (list && list->kind == TL_ATTR_FLOATS)
    return tl_lift_f32s(l, list->u.fs, list->count, 1, "scales", out);
  if (plane[2] > 0 && plane[3] > 0)
    return tl_lift_f32s(l, plane, 4, 1, "scales", out);
  return tl_lift_fail(l, TL_INVALID_MODEL, "the scales are missing");
}

tl_status tl_lift_upsample(const tl_lifting *l) {
  tl_sv mode = tl_node_attr_string(l->m, l->n, TL_SYM_mode);
  bool linear = tl_sv_is(mode, "linear") || tl_sv_is(mode, "bilinear");
  tl_value_id operands[3] = {tl_operand(l->m, l->n, 0), TL_NO_VALUE, TL_NO_VALUE};
  TL_TRY(upsample_scales(l, &operands[2]));
  TL_TRY(tl_lift_become(l, TL_OP_Resize, operands, 3));
  TL_TRY(tl_lift_set_string(l, TL_SYM_mode, linear ? TL_SYM_linear : TL_SYM_nearest));
  return old_coordinates(l, operands[2]);
}
