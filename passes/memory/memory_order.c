/* SPDX-License-Identifier: Apache-2.0 */
/* memory-order: gives the nodes of each graph an order that needs less memory (--order=memory).
 *
 * Requires:  types.               Keeps: nodes, edges, types; everything but the order.
 * After:     the peak of activations is at most what it was. The order of nodes with effects, state
 *            or random numbers among themselves, and control edges, are as before. A training step
 *            keeps its schedule.
 * Cost:      O((nodes + edges) log nodes); nothing without the option.
 * Tests:     tests/golden/memory-order/, tests/unit/test_memory.c */
#include "passes/edit/passes.h"
#include "passes/memory/flow.h"

static bool has_schedule(const tl_module *m, const tl_graph *g) {
  TL_FOR_NODES(m, g, n) {
    if (tl_node_get(m, n)->stream >= 0)
      return true;
  }
  return false;
}

/* Puts the nodes into the order. */
static void move_nodes(tl_module *m, tl_graph *g, const tl_flow *f, const uint32_t *order) {
  for (uint32_t i = 0; i < f->n_nodes; i++)
    if (f->nodes[order[i]].id != g->last)
      tl_node_move_after(m, f->nodes[order[i]].id, g->last);
}

static tl_status order_graph(tl_pass *p, tl_module *m, tl_graph *g) {
  tl_flow f;
  uint64_t peak;
  if (!tl_flow_build(&f, m, g->id, tl_options_op_info(p->options), p->scratch))
    return tl_no_memory(m);
  uint32_t *left = tl_arena_calloc(p->scratch, f.n_buffers, sizeof *left);
  uint32_t *order = tl_arena_calloc(p->scratch, f.n_nodes, sizeof *order);
  if (!left || !order)
    return tl_no_memory(m);
  uint64_t given = tl_flow_peak(&f, NULL, left, NULL);
  if (!tl_flow_reorder(&f, p->scratch, order, &peak))
    return tl_no_memory(m);
  if (peak >= given || !tl_pass_may_rewrite(p))
    return TL_OK;
  move_nodes(m, g, &f, order);
  tl_pass_remark(p, m, TL_NO_NODE, true, "activations of graph '%.*s' need %llu bytes, not %llu",
                 TL_SV_ARG(tl_sym(m, g->name)), (unsigned long long)peak,
                 (unsigned long long)given);
  return TL_OK;
}

tl_status tl_pass_memory_order(tl_pass *p, tl_module *m) {
  if (!p->options->memory_order)
    return TL_OK;
  for (uint32_t i = m->graphs.n; i-- > 0;) { /* bodies before the graphs that own them */
    tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    if (has_schedule(m, g)) {
      tl_pass_remark(p, m, TL_NO_NODE, false, "the training step has a schedule");
      continue;
    }
    tl_arena_mark mark = tl_arena_save(p->scratch);
    TL_TRY(order_graph(p, m, g));
    tl_arena_rewind(p->scratch, mark);
  }
  return TL_OK;
}
