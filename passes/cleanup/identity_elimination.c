/* SPDX-License-Identifier: Apache-2.0 */
/* identity-elimination: removes nodes that return their operand unchanged.
 * These are Identity, Dropout outside of training, casts to the dtype that the operand has, and
 * Concat, Sum, Max, Min, Mean of one operand.
 *
 * Requires:  infer-shapes, to know the dtypes of casts.   Keeps: names and order of graph outputs.
 * After:     what is left either computes something or gives a graph output its name.
 * Cost:      one sweep, O(nodes + edges).
 * Tests:     tests/golden/identity-elimination/ */
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

static bool is_used(const tl_module *m, tl_value_id v) {
  return v != TL_NO_VALUE && tl_value_get(m, v)->n_uses > 0;
}

/* Returns true for a Dropout in inference mode: training_mode is absent or a constant false. A used
 * mask needs the node. */
static bool is_idle_dropout(const tl_module *m, tl_node_id n) {
  if (is_used(m, tl_result(m, n, 1)))
    return false;
  tl_value_id mode = tl_operand(m, n, 2);
  const tl_tensor *t = tl_value_constant(m, mode);
  int64_t training = 1;
  return mode == TL_NO_VALUE || (t && tl_tensor_int_at(m, t, 0, &training) && training == 0);
}

static bool keeps_dtype(const tl_module *m, tl_node_id n, tl_dtype to) {
  return to != TL_DTYPE_NONE && tl_type_dtype(m, tl_value_type(m, tl_operand(m, n, 0))) == to;
}

/* When an op returns its operand, explained in identity_ops.tbl. */
typedef enum condition { NEVER, ALONE, IDLE, SAME_TO, SAME_LIKE } condition;

static const uint8_t conditions[] = {
#define IDENTITY_OP(name, when) [TL_OP_##name] = when,
#include "passes/cleanup/identity_ops.tbl"
};

static condition condition_of(tl_op_id op) {
  return op < sizeof conditions / sizeof *conditions ? (condition)conditions[op] : NEVER;
}

static bool returns_operand(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  switch (condition_of(node->op)) {
  case ALONE: return node->n_operands == 1;
  case IDLE: return is_idle_dropout(m, n);
  case SAME_TO: return keeps_dtype(m, n, tl_dtype_from_onnx(tl_node_attr_int(m, n, TL_SYM_to, 0)));
  case SAME_LIKE: return keeps_dtype(m, n, tl_type_dtype(m, tl_value_type(m, tl_operand(m, n, 1))));
  default: return tl_op_has_trait(node->op, TL_TRAIT_IDENTITY);
  }
}

static bool is_removable(const tl_module *m, const tl_merge_facts *facts, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  tl_value_id source = tl_operand(m, n, 0);
  return source && !node->control_in && !node->control_out &&
         tl_value_can_merge(m, facts, node->results, source);
}

/* Returns true if a node must stay to give an output its name: its operand is an input, which keeps
 * its own name, or, in a body, a constant, which some runtimes refuse as an output. */
static bool is_named_for_output(const tl_module *m, tl_node_id n) {
  tl_value_id source = tl_operand(m, n, 0);
  return tl_value_leaves_graph(m, tl_result(m, n, 0)) &&
         tl_value_producer(m, source) == TL_NO_NODE &&
         (tl_graph_get(m, tl_node_get(m, n)->graph)->kind == TL_GRAPH_BODY ||
          !tl_value_constant(m, source));
}

static void sweep(tl_pass *p, tl_module *m, const tl_graph *g, const tl_merge_facts *facts) {
  TL_FOR_NODES(m, g, n) {
    if (tl_node_get(m, n)->n_results == 0 || !returns_operand(m, n))
      continue;
    if (!is_removable(m, facts, n) || is_named_for_output(m, n)) {
      tl_pass_remark(p, m, n, false, "kept: its name is needed by an output or in a body");
      continue;
    }
    if (!tl_pass_may_rewrite(p))
      return;
    tl_pass_remark(p, m, n, true, "removed: it returns its operand");
    tl_value_merge(m, tl_result(m, n, 0), tl_operand(m, n, 0));
    tl_node_erase(m, n);
  }
}

tl_status tl_pass_identity_elimination(tl_pass *p, tl_module *m) {
  tl_merge_facts facts;
  TL_TRY(tl_merge_facts_find(p, m, &facts));
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      sweep(p, m, m->graphs.at[i], &facts);
  tl_merge_facts_release(&facts);
  return TL_OK;
}
