/* SPDX-License-Identifier: Apache-2.0 */
/* Narrows int64 operands and widens int32 results around NPU ops (lower_index.h). */
#include "passes/npu/lower_index.h"

#include "ir/trace.h"
#include "passes/npu/tensor.h"

/* Values of the attribute dst_type (GE's DataType). */
enum { GE_INT32 = 3, GE_INT64 = 9 };

/* Only where the port takes nothing but int32: others take the int64 as it is, or refuse it. */
bool tl_index_narrows(const tl_module *m, const tl_op *op, const tl_op_port *p, tl_value_id v) {
  uint64_t mask = p && p->var >= 0 ? op->vars[p->var].dtypes : 0;
  return v && mask == TL_DTYPE_BIT(TL_DTYPE_I32) &&
         tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_I64;
}

/* A value that is no constant passes: its elements are not known. */
bool tl_index_fits(const tl_module *m, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(m, v);
  uint64_t n = t ? tl_tensor_elements(m, t) : 0;
  int64_t element;
  for (uint64_t i = 0; i < n; i++)
    if (!tl_tensor_int_at(m, t, i, &element) || element != (int32_t)element)
      return false;
  return true;
}

/* Returns the type of v with another dtype. The type is copied first: making one may move the table
 * of types. */
static tl_type_id with_dtype(tl_module *m, tl_value_id v, tl_dtype d) {
  const tl_type type = *tl_type_get(m, tl_value_type(m, v));
  return tl_type_tensor(m, d, type.rank, type.dims);
}

/* Inserts an NPU Cast in front of n; without an operand (TL_NO_VALUE) the caller connects it
 * later. */
static tl_node_id add_cast(tl_module *m, tl_node_id n, tl_value_id operand, tl_symbol name,
                           tl_type_id type, int64_t dst_type) {
  tl_symbol domain = tl_module_intern(m, TL_SV("npu"));
  tl_symbol attr = tl_module_intern(m, TL_SV("dst_type"));
  tl_op_id op = tl_op_find(domain, tl_module_intern(m, TL_SV("Cast")));
  tl_attr to = tl_attr_int(attr, dst_type);
  tl_symbol own = name;
  tl_node_spec spec = {.op = op,
                       .name = name,
                       .operands = &operand,
                       .n_operands = operand ? 1 : 0,
                       .attrs = &to,
                       .n_attrs = 1,
                       .results = &own,
                       .n_results = 1};
  tl_node_id cast = type ? tl_graph_insert(m, n, &spec) : TL_NO_NODE;
  if (!cast || !tl_trace_derive(m, cast, &n, 1, true))
    return TL_NO_NODE;
  tl_value_set_type(m, tl_result(m, cast, 0), type);
  tl_node_get(m, cast)->scope = tl_node_get(m, n)->scope;
  tl_node_get(m, cast)->stream = tl_node_get(m, n)->stream;
  return cast;
}

/* Copies a constant as int32. Doubles hold every int32 exactly. */
static tl_value_id narrow_constant(tl_module *m, tl_node_id n, const tl_tensor *t, tl_symbol name) {
  const tl_type type = *tl_type_get(m, t->type);
  uint64_t count = tl_tensor_elements(m, t);
  double *at = count <= UINT32_MAX ? calloc((size_t)count + 1, sizeof *at) : NULL;
  int64_t element = 0;
  for (uint64_t i = 0; at && i < count; i++)
    at[i] = tl_tensor_int_at(m, t, i, &element) ? (double)element : 0;
  tl_tensor_id narrow =
      at ? tl_npu_tensor(m, TL_DTYPE_I32, type.rank, type.dims, at, (uint32_t)count) : TL_NO_TENSOR;
  free(at);
  return narrow ? tl_graph_add_constant(m, tl_node_get(m, n)->graph, name, narrow) : TL_NO_VALUE;
}

tl_value_id tl_index_narrow(tl_module *m, tl_node_id n, tl_value_id v) {
  tl_symbol name = tl_module_fresh_name(m, tl_value_name(m, v));
  if (name == TL_NO_SYMBOL)
    return TL_NO_VALUE;
  const tl_tensor *t = tl_value_constant(m, v);
  if (t)
    return narrow_constant(m, n, t, name);
  tl_node_id cast = add_cast(m, n, v, name, with_dtype(m, v, TL_DTYPE_I32), GE_INT32);
  return cast ? tl_result(m, cast, 0) : TL_NO_VALUE;
}

/* The cast takes over the name and the users of v, so that an output of the graph keeps its name
 * and dtype. */
tl_status tl_index_widen(tl_module *m, tl_node_id n, tl_value_id v) {
  tl_symbol fresh = tl_module_fresh_name(m, tl_value_name(m, v));
  tl_type_id wide = tl_value_type(m, v), narrow = with_dtype(m, v, TL_DTYPE_I32);
  tl_symbol name = tl_value_get(m, v)->name;
  tl_node_id cast = fresh == TL_NO_SYMBOL || !narrow
                        ? TL_NO_NODE
                        : add_cast(m, n, TL_NO_VALUE, fresh, wide, GE_INT64);
  if (!cast)
    return tl_no_memory(m);
  tl_value_id made = tl_result(m, cast, 0);
  tl_node_move_after(m, cast, n);
  tl_value_replace_uses(m, v, made);
  tl_value_get(m, v)->name = fresh; /* users, a graph output among them, keep the name */
  tl_value_get(m, made)->name = name;
  tl_value_set_type(m, v, narrow);
  return tl_node_set_operands(m, cast, &v, 1);
}
