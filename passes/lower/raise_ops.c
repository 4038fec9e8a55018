/* SPDX-License-Identifier: Apache-2.0 */
/* Turns Splits, dequantization and constants of the NPU into ONNX's (raise_ops.h). */
#include "passes/lower/raise_ops.h"

#include "ir/ops_gen.h"
#include "passes/edit/maker.h"

/* ---- Split ----------------------------------------------------------------------------------- */

typedef struct split_form {
  tl_op_id op;
  int8_t x;
  int8_t axis;
  int8_t sizes;
} split_form;

static const split_form split_forms[] = {
#define SPLIT(op, x, axis, sizes) {TL_OP_npu_##op, x, axis, sizes},
#include "passes/lower/raise_splits.tbl"
};

static const split_form *form_of(const tl_module *m, tl_node_id n) {
  for (size_t i = 0; i < sizeof split_forms / sizeof *split_forms; i++)
    if (split_forms[i].op == tl_node_get(m, n)->op)
      return &split_forms[i];
  return NULL;
}

static bool read_axis(const tl_module *m, tl_node_id n, const split_form *f, int64_t *axis) {
  *axis = tl_node_attr_int(m, n, TL_SYM_split_dim, 0);
  if (f->axis < 0)
    return true;
  tl_value_id v = tl_operand(m, n, (uint32_t)f->axis);
  const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
  return t && tl_tensor_int_at(m, t, 0, axis);
}

/* Returns the sizes of the parts as int64, TL_NO_VALUE if all are equal. */
static tl_value_id make_sizes(tl_maker *k, tl_node_id n, const split_form *f) {
  if (f->sizes >= 0)
    return tl_make_as(k, tl_operand(k->m, n, (uint32_t)f->sizes), TL_DTYPE_I64);
  tl_int_list given = tl_node_attr_ints(k->m, n, TL_SYM_size_splits);
  return given.n ? tl_make_ints(k, given.at, given.n) : TL_NO_VALUE;
}

tl_status tl_raise_split(tl_module *m, tl_node_id n) {
  const split_form *f = form_of(m, n);
  tl_maker k = tl_maker_before(m, n);
  tl_attr attrs[2];
  int64_t axis;
  if (!f || !read_axis(m, n, f, &axis))
    return TL_OK;
  tl_value_id operands[] = {tl_operand(m, n, (uint32_t)f->x), make_sizes(&k, n, f)};
  TL_TRY(tl_maker_status(&k));
  uint32_t count = tl_node_get(m, n)->n_results;
  attrs[0] = tl_attr_int(TL_SYM_axis, axis);
  attrs[1] = tl_attr_int(TL_SYM_num_outputs, count);
  TL_TRY(tl_node_set_operands(m, n, operands, operands[1] ? 2 : 1));
  TL_TRY(tl_node_set_attrs(m, n, attrs, operands[1] ? 1 : 2));
  tl_node_set_op(m, n, TL_OP_Split);
  return TL_OK;
}

/* ---- dequantization -------------------------------------------------------------------------- */

/* Returns scale i: the low half of a u64 are the bits of an f32. */
static bool read_scale(const tl_module *m, const tl_tensor *t, uint64_t i, float *out) {
  int64_t bits;
  double v;
  if (t->dtype == TL_DTYPE_U64 || t->dtype == TL_DTYPE_I64) {
    if (!tl_tensor_int_at(m, t, i, &bits))
      return false;
    uint32_t low = (uint32_t)bits;
    memcpy(out, &low, sizeof low);
    return true;
  }
  if (!tl_tensor_float_at(m, t, i, &v))
    return false;
  *out = (float)v;
  return true;
}

/* Makes the scales of node n as an f32 constant that broadcasts along its channels: dim 1 of
 * images, else the last one. TL_NO_VALUE without a failure: they are not constant. */
static tl_value_id make_scales(tl_maker *k, tl_node_id n) {
  tl_module *m = k->m;
  const tl_type *x = tl_type_get(m, tl_value_type(m, tl_operand(m, n, 0)));
  tl_value_id v = tl_operand(m, n, 1);
  const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
  if (!t || x->kind != TL_KIND_TENSOR || x->rank < 0)
    return TL_NO_VALUE;
  uint64_t count = tl_tensor_elements(m, t);
  float *at = tl_arena_calloc(&m->arena, (size_t)count + 1, sizeof *at);
  k->no_memory = k->no_memory || !at;
  for (uint64_t i = 0; at && i < count; i++) {
    if (!read_scale(m, t, i, &at[i]))
      return TL_NO_VALUE;
    if (tl_node_attr_int(m, n, TL_SYM_sqrt_mode, 0))
      at[i] *= at[i];
  }
  int behind = x->rank >= 4 && count > 1 ? x->rank - 2 : 0;
  tl_dim dims[TL_MAX_RANK];
  dims[0] = (tl_dim)count;
  for (int i = 1; i <= behind; i++)
    dims[i] = 1;
  tl_type_id type = tl_type_tensor(m, TL_DTYPE_F32, count > 1 ? behind + 1 : 0, dims);
  if (!at || !type)
    return TL_NO_VALUE;
  return tl_make_constant(k, tl_tensor_from_bytes(m, type, at, count * sizeof *at), "scale");
}

/* Rounds half to even and saturates. */
static tl_value_id make_i8(tl_maker *k, tl_value_id v) {
  v = tl_make(k, TL_OP_Round, v, TL_NO_VALUE, TL_NO_VALUE);
  tl_value_id least = tl_make_number(k, TL_DTYPE_F32, -128);
  tl_value_id greatest = tl_make_number(k, TL_DTYPE_F32, 127);
  v = tl_make(k, TL_OP_Clip, v, least, greatest);
  return tl_make_cast(k, v, TL_DTYPE_I8);
}

/* Returns node n in f32; TL_NO_VALUE without a failure: it has no ONNX form. */
static tl_value_id make_scaled(tl_maker *k, tl_node_id n) {
  tl_value_id scales = make_scales(k, n);
  if (!scales || tl_maker_failed(k))
    return TL_NO_VALUE;
  tl_value_id v = tl_make_cast(k, tl_operand(k->m, n, 0), TL_DTYPE_F32);
  v = tl_make(k, TL_OP_Mul, v, scales, TL_NO_VALUE);
  bool relu = tl_node_attr_int(k->m, n, TL_SYM_relu_flag, 0) != 0;
  return relu ? tl_make(k, TL_OP_Relu, v, TL_NO_VALUE, TL_NO_VALUE) : v;
}

/* Puts v in the place of node n. */
static tl_status put(tl_maker *k, tl_node_id n, tl_value_id v) {
  TL_TRY(tl_maker_status(k));
  if (!v)
    return TL_OK;
  tl_maker_replace(k, tl_result(k->m, n, 0), v);
  TL_TRY(tl_maker_status(k));
  tl_node_erase(k->m, n);
  return TL_OK;
}

tl_status tl_raise_dequant(tl_module *m, tl_node_id n) {
  tl_maker k = tl_maker_before(m, n);
  tl_dtype to = tl_type_dtype(m, tl_value_type(m, tl_result(m, n, 0)));
  tl_value_id v = make_scaled(&k, n);
  return put(&k, n, v && to != TL_DTYPE_NONE ? tl_make_as(&k, v, to) : v);
}

tl_status tl_raise_requant(tl_module *m, tl_node_id n) {
  tl_maker k = tl_maker_before(m, n);
  tl_value_id v = make_scaled(&k, n);
  return put(&k, n, v ? make_i8(&k, v) : v);
}

/* ---- Const ----------------------------------------------------------------------------------- */

tl_status tl_raise_const(tl_module *m, tl_node_id n) {
  const tl_attr *value = tl_node_attr(m, n, TL_SYM_value);
  if (!value || value->kind != TL_ATTR_TENSOR)
    return TL_OK;
  const tl_attr kept = *value;
  TL_TRY(tl_node_set_attrs(m, n, &kept, 1));
  tl_node_set_op(m, n, TL_OP_Constant);
  return TL_OK;
}

/* ---- collectives ----------------------------------------------------------------------------- */

tl_status tl_raise_collective(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *npu = tl_op_row(node->op);
  tl_symbol name = npu ? tl_module_intern(m, tl_sv_from(npu->name)) : TL_NO_SYMBOL;
  tl_op_id twin = name == TL_NO_SYMBOL ? UINT32_MAX : tl_op_find(TL_SYM_npu_hcom, name);
  const tl_op *row = twin == UINT32_MAX ? NULL : tl_op_row(twin);
  tl_attr *kept = tl_arena_calloc(&m->arena, node->n_attrs + 1u, sizeof *kept);
  uint32_t count = 0;
  if (!kept || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (!row)
    return TL_OK;
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (tl_op_attr_find(row, node->attrs[i].name))
      kept[count++] = node->attrs[i];
  TL_TRY(tl_node_set_attrs(m, n, kept, count));
  tl_node_set_op(m, n, twin);
  return TL_OK;
}
