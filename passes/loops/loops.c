/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about Loop nodes (loops.h). */
#include "passes/loops/loops.h"

#include "ir/ops_gen.h"

enum { MAX_IDENTITIES = 8 };

static bool may_vanish(const tl_pinned *pinned, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(pinned, node->results + i))
      return false;
  return !node->control_in && !node->control_out;
}

/* All counts are compared before any index into inputs and outputs is used. */
bool tl_loop_read(const tl_module *m, const tl_pinned *pinned, tl_node_id n, tl_loop_form *out) {
  const tl_node *node = tl_node_get(m, n);
  const tl_attr *a = tl_node_attr(m, n, TL_SYM_body);
  *out = (tl_loop_form){.node = n};
  if (!a || a->kind != TL_ATTR_GRAPH || node->n_operands < 2 || !may_vanish(pinned, node))
    return false;
  out->body = tl_graph_get(m, a->u.g);
  out->n_carried = node->n_operands - 2;
  uint32_t outputs = tl_graph_n_outputs(m, out->body);
  if (out->body->inputs.n != node->n_operands || outputs <= out->n_carried ||
      node->n_results != outputs - 1)
    return false;
  out->n_stacked = outputs - 1 - out->n_carried;
  for (uint32_t i = 2; i < node->n_operands; i++)
    if (!tl_operand(m, n, i))
      return false;
  for (uint32_t i = 0; i < outputs; i++)
    if (!tl_graph_output(m, out->body, i))
      return false;
  return tl_type_dtype(m, tl_value_type(m, tl_graph_output(m, out->body, 0))) == TL_DTYPE_BOOL;
}

bool tl_loop_counts_only(const tl_module *m, const tl_loop_form *l) {
  tl_value_id v = tl_graph_output(m, l->body, 0);
  int64_t value = 0;
  for (int i = 0; i < MAX_IDENTITIES && v; i++) {
    tl_node_id from = tl_value_producer(m, v);
    if (!from || tl_node_get(m, from)->op != TL_OP_Identity)
      break;
    v = tl_operand(m, from, 0);
  }
  const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
  return v == l->body->inputs.at[1] || (t && tl_tensor_int_at(m, t, 0, &value) && value != 0);
}

bool tl_is_loop_of_steps(const tl_module *m) {
  tl_node_id n = m->states.n ? tl_value_producer(m, m->states.at[0].output) : TL_NO_NODE;
  return n && (tl_node_get(m, n)->op == TL_OP_Loop || tl_node_get(m, n)->op == TL_OP_tl_While);
}
