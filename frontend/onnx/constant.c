/* SPDX-License-Identifier: Apache-2.0 */
/* Turns Constant nodes into constants of their graph; the value keeps its name. */
#include "frontend/onnx/constant.h"
#include "frontend/onnx/notes.h"
#include "frontend/onnx/sparse.h"
#include "ir/ops_gen.h"

static tl_status string_tensor(tl_onnx *reader, const tl_symbol *strings, uint32_t n, int rank,
                               tl_tensor_id *out) {
  tl_dim dim = n;
  tl_tensor t = {.kind = TL_SOURCE_STRINGS, .dtype = TL_DTYPE_STRING};
  t.type = tl_type_tensor(reader->r.m, TL_DTYPE_STRING, rank, &dim);
  t.u.strings =
      (const tl_symbol *)(void *)tl_arena_copy(&reader->r.m->arena, strings, n * sizeof *strings);
  if (!t.type || !t.u.strings)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < n; i++)
    t.bytes += tl_sym(reader->r.m, strings[i]).n;
  *out = tl_tensor_add(reader->r.m, &t);
  return *out ? TL_OK : TL_NO_MEMORY;
}

/* Makes the tensor of a value attribute; TL_INVALID_MODEL for any other attribute. */
static tl_status tensor_of(tl_onnx *reader, const tl_attr *a, tl_location where,
                           tl_tensor_id *out) {
  tl_module *m = reader->r.m;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_TENSOR: *out = a->u.t; break;
  case TL_ATTR_INT: *out = tl_tensor_i64s(m, &a->u.i, 1, 0); break;
  case TL_ATTR_INTS: *out = tl_tensor_i64s(m, a->u.is, a->count, 1); break;
  case TL_ATTR_FLOAT: *out = tl_tensor_f32s(m, &a->u.f, 1, 0); break;
  case TL_ATTR_FLOATS: *out = tl_tensor_f32s(m, a->u.fs, a->count, 1); break;
  case TL_ATTR_STRING: return string_tensor(reader, &a->u.s, 1, 0, out);
  case TL_ATTR_STRINGS: return string_tensor(reader, a->u.ids, a->count, 1, out);
  default:
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where,
                   "a constant cannot be of attribute kind %s",
                   tl_attr_kind_name((tl_attr_kind)a->kind));
  }
  return *out ? TL_OK : TL_NO_MEMORY;
}

static tl_attr_kind kind_of(tl_symbol name) {
  switch (name) {
  case TL_SYM_value: return TL_ATTR_TENSOR;
  case TL_SYM_sparse_value: return TL_ATTR_SPARSE;
  case TL_SYM_value_float: return TL_ATTR_FLOAT;
  case TL_SYM_value_floats: return TL_ATTR_FLOATS;
  case TL_SYM_value_int: return TL_ATTR_INT;
  case TL_SYM_value_ints: return TL_ATTR_INTS;
  case TL_SYM_value_string: return TL_ATTR_STRING;
  case TL_SYM_value_strings: return TL_ATTR_STRINGS;
  default: return TL_ATTR_NONE;
  }
}

static tl_status check_shape(tl_onnx *reader, const tl_node_wire *w, uint32_t first_attr,
                             tl_location where) {
  const tl_attr *a = reader->attributes.attrs.at + first_attr;
  if (reader->attributes.attrs.n != first_attr + 1 || w->n_inputs != 0 || w->n_outputs != 1)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where,
                   "Constant takes no operand, one value attribute and gives one result");
  tl_attr_kind needed = kind_of(a->name);
  where.attr = tl_sym(reader->r.m, a->name);
  if (needed == TL_ATTR_NONE)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "Constant has no such attribute");
  if (needed != (tl_attr_kind)a->kind)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "the attribute is %s, Constant needs %s",
                   tl_attr_kind_name((tl_attr_kind)a->kind), tl_attr_kind_name(needed));
  return TL_OK;
}

static bool is_said_again(const tl_onnx *reader, tl_graph_id g, tl_symbol key,
                          tl_tensor_id tensor) {
  tl_value_id v = tl_onnx_lookup(&reader->names, key);
  if (!v || tl_value_graph(reader->r.m, v) != g ||
      tl_value_get(reader->r.m, v)->kind != TL_VALUE_CONSTANT)
    return false;
  return tl_tensor_equal(reader->r.m, tl_value_constant(reader->r.m, v),
                         tl_tensor_get(reader->r.m, tensor), UINT64_MAX);
}

tl_status tl_onnx_constant(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w,
                           uint32_t first_attr, bool *done) {
  static const tl_note_fields notes = {.known = 0xbe, .doc = 6, .metadata = 9};
  tl_tensor_id tensor = TL_NO_TENSOR;
  tl_location where = tl_onnx_at(&reader->r, w->name.n ? w->name : w->op_type);
  *done = false;
  TL_TRY(check_shape(reader, w, first_attr, where));
  const tl_attr *a = reader->attributes.attrs.at + first_attr;
  if (a->kind == TL_ATTR_SPARSE) {
    tl_sv bytes = tl_sym(reader->r.m, a->u.s);
    const unsigned char *p = (const unsigned char *)bytes.p;
    TL_TRY(tl_onnx_sparse(&reader->r, (tl_proto){p, p + bytes.n}, where, &tensor));
    if (!tensor)
      return TL_OK;
  } else {
    TL_TRY(tensor_of(reader, a, where, &tensor));
  }
  *done = true;
  tl_symbol key = reader->ports.outputs.at[w->first_output];
  if (key == 0 || is_said_again(reader, g, key, tensor))
    return TL_OK; /* nobody can use it, or it says what is known */
  tl_value_id v = tl_graph_add_constant(reader->r.m, g, key, tensor);
  if (!v)
    return TL_NO_MEMORY;
  if (w->has_notes)
    TL_TRY(tl_onnx_carry_notes(&reader->r, w->body, &notes, &tl_value_get(reader->r.m, v)->extra));
  return tl_onnx_define(&reader->names, g, key, v, where);
}
