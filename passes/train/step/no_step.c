/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises graphs that passes over training steps leave alone (no_step.h). */
#include "passes/train/step/no_step.h"

#include "ir/ops_gen.h"

/* verify-ranks prefixes the names of rank 0 with r0/. */
bool tl_comm_is_of_ranks(const tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  return g->inputs.n && tl_sv_starts_with(tl_value_name(m, g->inputs.at[0]), "r0/");
}

bool tl_comm_is_init_graph(const tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  bool any = false;
  TL_FOR_NODES(m, g, n) {
    tl_op_id op = tl_node_get(m, n)->op;
    any = any || op == TL_OP_npu_hcom_HcomBroadcast;
    if (op != TL_OP_npu_hcom_HcomBroadcast && op != TL_OP_Cast)
      return false;
  }
  return any;
}

bool tl_comm_is_no_step(const tl_module *m) {
  return tl_comm_is_of_ranks(m) || tl_comm_is_init_graph(m);
}
