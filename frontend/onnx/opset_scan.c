/* SPDX-License-Identifier: Apache-2.0 */
/* Lifts Scan of opset 8, which works on batches.
 * Each of its operands and results has a leading batch axis, which today's Scan does not know. So
 * the node becomes an outer Scan over the batch, and its body holds the original Scan. */
#include "frontend/onnx/opset.h"

/* Returns the type of one sample: the type without the batch axis. */
static tl_type_id sample_type(tl_module *m, tl_type_id id) {
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = tl_type_get(m, id);
  int rank = t->rank;
  tl_dtype dtype = (tl_dtype)t->dtype;
  if (t->kind != TL_KIND_TENSOR)
    return TL_NO_TYPE;
  if (rank < 1)
    return tl_type_tensor(m, dtype, TL_RANK_UNKNOWN, NULL);
  memcpy(dims, t->dims + 1, (size_t)(rank - 1) * sizeof *dims);
  return tl_type_tensor(m, dtype, rank - 1, dims);
}

static tl_symbol part_name(const tl_lifting *l, tl_sv base, const char *what) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, base);
  tl_buf_add_z(&text, what);
  tl_symbol name = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(l->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return name;
}

/* Adds an input to the new body for each operand of the node but the first one, sequence_lens. */
static tl_status add_inputs(const tl_lifting *l, tl_graph_id body, tl_value_id *out, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tl_value_id v = tl_operand(l->m, l->n, i + 1);
    if (!v)
      return tl_lift_fail(l, TL_INVALID_MODEL, "operand %u is absent", i + 1);
    tl_symbol name = part_name(l, tl_value_name(l->m, v), "_sample");
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    out[i] = tl_graph_add_input(l->m, body, name, sample_type(l->m, tl_value_type(l->m, v)),
                                TL_NO_TENSOR);
    if (!out[i])
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

/* Adds the original Scan to the new body, with the attributes of the old node. */
static tl_status add_inner(const tl_lifting *l, tl_graph_id body, const tl_value_id *inputs,
                           uint32_t n, tl_value_id *results) {
  const tl_node *node = tl_node_get(l->m, l->n);
  tl_node_spec spec = {.op = node->op,
                       .operands = inputs,
                       .n_operands = n,
                       .n_results = node->n_results,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  tl_node_id inner = tl_graph_append(l->m, body, &spec);
  if (!inner)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < spec.n_results; i++) {
    results[i] = tl_result(l->m, inner, i);
    tl_symbol name = part_name(l, tl_value_name(l->m, node->results + i), "_sample");
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    tl_value_set_name(l->m, results[i], name);
  }
  const tl_attr *scanned = tl_node_attr(l->m, inner, TL_SYM_body);
  tl_graph_get(l->m, scanned->u.g)->owner = inner;
  return tl_graph_set_outputs(l->m, body, results, spec.n_results);
}

static tl_status rename_directions(const tl_lifting *l) {
  const tl_attr *found = tl_node_attr(l->m, l->n, TL_SYM_directions);
  if (!found)
    return TL_OK;
  tl_attr copy = *found;
  copy.name = TL_SYM_scan_input_directions;
  tl_node_remove_attr(l->m, l->n, TL_SYM_directions);
  return tl_node_set_attr(l->m, l->n, copy);
}

tl_status tl_lift_scan_8(const tl_lifting *l) {
  const tl_node *node = tl_node_get(l->m, l->n);
  const tl_attr *scanned = tl_node_attr(l->m, l->n, TL_SYM_body);
  if (node->n_operands < 2 || !node->n_results || !scanned || scanned->kind != TL_ATTR_GRAPH)
    return tl_lift_fail(l, TL_INVALID_MODEL, "operands, results and a body are needed");
  if (tl_operand(l->m, l->n, 0))
    return tl_lift_fail(l, TL_UNSUPPORTED, "sequence lengths\vconvert the model to opset 9");
  TL_TRY(rename_directions(l));
  uint32_t n = node->n_operands - 1;
  tl_value_id *inputs = tl_arena_calloc(&l->m->arena, n + node->n_results, sizeof *inputs);
  tl_symbol name = part_name(l, tl_value_name(l->m, node->results), "_batch");
  tl_graph_id body = tl_graph_create(l->m, TL_GRAPH_BODY, name, l->n);
  if (!inputs || !body || name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(add_inputs(l, body, inputs, n));
  TL_TRY(add_inner(l, body, inputs, n, inputs + n));
  for (uint32_t i = 0; i < n; i++)
    inputs[i] = tl_operand(l->m, l->n, i + 1);
  TL_TRY(tl_lift_become(l, TL_OP_Scan, inputs, n));
  TL_TRY(tl_node_set_attr(l->m, l->n, tl_attr_graph(TL_SYM_body, body)));
  return tl_lift_set_int(l, TL_SYM_num_scan_inputs, n);
}
