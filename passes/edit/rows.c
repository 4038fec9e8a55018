/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences that are rows of a tensor (rows.h). */
#include "passes/edit/rows.h"

#include "ir/ops_gen.h"
#include "passes/edit/values.h"

tl_value_id tl_value_origin(const tl_module *m, tl_value_id v) {
  enum { MOST_COPIES = 64 };
  for (int i = 0; i < MOST_COPIES; i++) {
    tl_node_id n = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (!n || tl_node_get(m, n)->op != TL_OP_Identity)
      break;
    v = tl_operand(m, n, 0);
  }
  return v;
}

tl_value_id tl_rows_of(const tl_module *m, tl_value_id v) {
  tl_value_id origin = tl_value_origin(m, v);
  tl_node_id n = origin ? tl_value_producer(m, origin) : TL_NO_NODE;
  bool rows = n && tl_node_get(m, n)->op == TL_OP_SplitToSequence && !tl_operand(m, n, 1) &&
              tl_node_attr_int(m, n, TL_SYM_axis, 0) == 0 &&
              tl_node_attr_int(m, n, TL_SYM_keepdims, 1) == 0;
  return rows ? tl_operand(m, n, 0) : TL_NO_VALUE;
}

tl_value_id tl_make_rows(tl_maker *k, tl_value_id x) {
  const tl_attr attrs[] = {tl_attr_int(TL_SYM_axis, 0), tl_attr_int(TL_SYM_keepdims, 0)};
  tl_node_spec spec = {.op = TL_OP_SplitToSequence,
                       .operands = &x,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = 2};
  return x ? tl_make_node(k, &spec) : TL_NO_VALUE;
}

tl_value_id tl_make_element(tl_maker *k, tl_value_id v, int64_t i) {
  tl_value_id rows = tl_rows_of(k->m, v), origin = tl_value_origin(k->m, v);
  tl_node_id n = origin ? tl_value_producer(k->m, origin) : TL_NO_NODE;
  tl_value_id place = TL_NO_VALUE;
  if (n && tl_node_get(k->m, n)->op == TL_OP_SequenceConstruct)
    return tl_make_identity(k, tl_operand(k->m, n, (uint32_t)i));
  place = tl_make_int(k, i);
  return rows ? tl_make_pick(k, rows, 0, place)
              : tl_make(k, TL_OP_SequenceAt, v, place, TL_NO_VALUE);
}

/* Returns true for a node whose one result is a list or an optional that neither a node nor a
 * training step uses. */
static bool is_idle(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_type *t = node->n_results == 1 ? tl_type_get(m, tl_value_type(m, node->results)) : NULL;
  return t && (t->kind == TL_KIND_SEQUENCE || t->kind == TL_KIND_OPTIONAL) &&
         !tl_value_get(m, node->results)->n_uses && !node->control_in && !node->control_out &&
         !tl_op_has_trait(node->op, TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY) &&
         !tl_value_has_role(m, node->results);
}

/* From the end, users before producers; bodies before what surrounds them. */
void tl_sequences_sweep(tl_module *m) {
  for (uint32_t id = m->graphs.n; id > 0; id--) {
    const tl_graph *g = tl_graph_get(m, id);
    for (tl_node_id n = g->erased ? TL_NO_NODE : g->last, previous; n; n = previous) {
      previous = tl_node_get(m, n)->previous;
      if (is_idle(m, n))
        tl_node_erase(m, n);
    }
  }
}
