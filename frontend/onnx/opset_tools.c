/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the building blocks of opset lifting: constants, inserted nodes, operands. */
#include "frontend/onnx/opset.h"

tl_status tl_lift_fail(const tl_lifting *l, tl_status status, const char *fmt, ...) {
  tl_buf text;
  va_list ap;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_sv op = tl_op_name(l->m, tl_node_get(l->m, l->n)->op);
  tl_status s = tl_fail(l->r->d, status, tl_node_where(l->m, l->n), "%.*s of opset %d: %s",
                        TL_SV_ARG(op), l->version, text.p ? text.p : "");
  tl_buf_release(&text);
  return s;
}

int tl_lift_rank(const tl_lifting *l, uint32_t i, const tl_dim **dims) {
  const tl_type *t = tl_type_get(l->m, tl_value_type(l->m, tl_operand(l->m, l->n, i)));
  *dims = t->dims;
  return t->kind == TL_KIND_TENSOR ? t->rank : TL_RANK_UNKNOWN;
}

tl_dtype tl_lift_dtype(const tl_lifting *l, uint32_t i) {
  return tl_type_dtype(l->m, tl_value_type(l->m, tl_operand(l->m, l->n, i)));
}

int64_t tl_lift_int(const tl_lifting *l, tl_symbol name, int64_t fallback) {
  const tl_attr *a = tl_node_attr(l->m, l->n, name);
  return a && a->kind == TL_ATTR_INT ? a->u.i : fallback;
}

float tl_lift_float(const tl_lifting *l, tl_symbol name, float fallback) {
  const tl_attr *a = tl_node_attr(l->m, l->n, name);
  return a && a->kind == TL_ATTR_FLOAT ? a->u.f : fallback;
}

bool tl_lift_ints(const tl_lifting *l, uint32_t i, int64_t *out, uint32_t room, uint32_t *n) {
  const tl_tensor *t = tl_value_constant(l->m, tl_operand(l->m, l->n, i));
  if (!t || tl_tensor_elements(l->m, t) > room)
    return false;
  *n = (uint32_t)tl_tensor_elements(l->m, t);
  for (uint32_t k = 0; k < *n; k++)
    if (!tl_tensor_int_at(l->m, t, k, &out[k])) {
      double real; /* counts were floats in the first versions */
      if (!tl_tensor_float_at(l->m, t, k, &real) || !(real > -1e15 && real < 1e15))
        return false;
      out[k] = (int64_t)real;
    }
  return true;
}

/* Returns a fresh name for something made for the node: the name of its first result and `what`. */
static tl_symbol fresh_name(const tl_lifting *l, const char *what) {
  const tl_node *node = tl_node_get(l->m, l->n);
  tl_sv base = node->n_results ? tl_value_name(l->m, node->results) : tl_sym(l->m, node->name);
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, base);
  tl_buf_add_char(&text, '_');
  tl_buf_add_z(&text, what);
  tl_symbol name = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(l->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return name;
}

static tl_status add_constant(const tl_lifting *l, tl_tensor_id t, const char *what,
                              tl_value_id *out) {
  tl_symbol name = fresh_name(l, what);
  if (!t || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  *out = tl_graph_add_constant(l->m, tl_node_get(l->m, l->n)->graph, name, t);
  return *out ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_lift_i64s(const tl_lifting *l, const int64_t *v, uint32_t n, int rank,
                       const char *what, tl_value_id *out) {
  return add_constant(l, tl_tensor_i64s(l->m, v, n, rank), what, out);
}

tl_status tl_lift_f32s(const tl_lifting *l, const float *v, uint32_t n, int rank, const char *what,
                       tl_value_id *out) {
  return add_constant(l, tl_tensor_f32s(l->m, v, n, rank), what, out);
}

tl_status tl_lift_bool(const tl_lifting *l, bool v, const char *what, tl_value_id *out) {
  unsigned char byte = v;
  tl_type_id type = tl_type_tensor(l->m, TL_DTYPE_BOOL, 0, NULL);
  return add_constant(l, tl_tensor_from_bytes(l->m, type, &byte, 1), what, out);
}

tl_status tl_lift_scalar_like(const tl_lifting *l, float v, const char *what, tl_value_id *out) {
  tl_dtype dtype = tl_lift_dtype(l, 0);
  double wide = (double)v;
  tl_value_id operands[2] = {TL_NO_VALUE, tl_operand(l->m, l->n, 0)};
  if (dtype == TL_DTYPE_F32)
    return tl_lift_f32s(l, &v, 1, 0, what, out);
  if (dtype == TL_DTYPE_F64)
    return add_constant(
        l, tl_tensor_from_bytes(l->m, tl_type_tensor(l->m, dtype, 0, NULL), &wide, sizeof wide),
        what, out);
  TL_TRY(tl_lift_f32s(l, &v, 1, 0, what, &operands[0]));
  return tl_lift_insert(l, (tl_lift_node){TL_OP_CastLike, operands, 2, NULL, what}, out);
}

tl_status tl_lift_insert(const tl_lifting *l, tl_lift_node node, tl_value_id *out) {
  tl_symbol name = fresh_name(l, node.what);
  tl_node_spec spec = {.op = node.op,
                       .operands = node.operands,
                       .n_operands = node.n,
                       .results = &name,
                       .n_results = 1,
                       .attrs = node.attr,
                       .n_attrs = node.attr ? 1 : 0};
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (tl_node_get(l->m, l->n)->name)
    spec.name = name;
  tl_node_id made = tl_graph_insert(l->m, l->n, &spec);
  if (!made)
    return TL_NO_MEMORY;
  tl_node_get(l->m, made)->scope = tl_node_get(l->m, l->n)->scope;
  *out = tl_node_get(l->m, made)->results;
  return TL_OK;
}

tl_status tl_lift_set_operand(const tl_lifting *l, uint32_t i, tl_value_id v) {
  tl_value_id all[8];
  uint32_t n = tl_node_get(l->m, l->n)->n_operands;
  if (i < n) {
    tl_node_set_operand(l->m, l->n, i, v);
    return TL_OK;
  }
  if (i >= sizeof all / sizeof all[0])
    return TL_INTERNAL;
  for (uint32_t k = 0; k <= i; k++)
    all[k] = k == i ? v : tl_operand(l->m, l->n, k);
  return tl_node_set_operands(l->m, l->n, all, i + 1);
}

tl_status tl_lift_become(const tl_lifting *l, tl_op_id op, const tl_value_id *operands,
                         uint32_t n) {
  TL_TRY(tl_node_set_operands(l->m, l->n, operands, n));
  tl_node_set_op(l->m, l->n, op);
  return tl_node_set_attrs(l->m, l->n, NULL, 0);
}
