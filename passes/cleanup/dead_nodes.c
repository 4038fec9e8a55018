/* SPDX-License-Identifier: Apache-2.0 */
/* dead-nodes: erases nodes whose results nobody uses, and constants that nobody reads.
 *
 * Requires:  nothing.            Keeps: order, dtypes, shapes, names of the rest; graph inputs.
 * After:     every node has a use, an effect, a control edge, or feeds an output.
 * Cost:      one reverse sweep, O(nodes + edges).
 * Tests:     tests/golden/dead-nodes/ */
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

typedef struct sweep {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  bool *has_effect; /* by graph id: a node in it, or in a body inside it, has an effect */
} sweep;

static bool any_result_needed(const sweep *s, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(s->m, node->results + i)->n_uses ||
        tl_is_pinned(&s->pinned, node->results + i))
      return true;
  return false;
}

static bool bodies_have_effect(const sweep *s, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH && s->has_effect[a->u.g])
      return true;
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      if (s->has_effect[a->u.ids[k]])
        return true;
  }
  return false;
}

/* Returns true if a node is there for its effect; a node without results can have no other
 * purpose. */
static bool acts(const sweep *s, const tl_node *node) {
  return node->n_results == 0 || tl_op_has_trait(node->op, TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL) ||
         bodies_have_effect(s, node);
}

static bool is_dead(const sweep *s, const tl_node *node) {
  return !node->control_in && !node->control_out && !any_result_needed(s, node) && !acts(s, node);
}

/* Erases dead nodes from the end, users before producers, so that one sweep takes whole chains. */
static void sweep_nodes(sweep *s, const tl_graph *g) {
  for (tl_node_id n = g->last, previous; n; n = previous) {
    const tl_node *node = tl_node_get(s->m, n);
    previous = node->previous;
    if (!is_dead(s, node)) {
      s->has_effect[g->id] = s->has_effect[g->id] || acts(s, node);
      continue;
    }
    if (!tl_pass_may_rewrite(s->p))
      return;
    tl_pass_remark(s->p, s->m, n, true, "erased: its results are not used");
    tl_node_erase(s->m, n);
  }
}

static void sweep_constants(sweep *s, const tl_graph *g) {
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    if (!v || tl_value_get(s->m, v)->n_uses || tl_is_pinned(&s->pinned, v))
      continue;
    if (!tl_pass_may_rewrite(s->p))
      return;
    tl_graph_erase_constant(s->m, v);
  }
}

/* Graphs are numbered outside in. Going down, a body is clean before its owner is looked at;
 * constants go last, because bodies of any graph may read them. */
tl_status tl_pass_dead_nodes(tl_pass *p, tl_module *m) {
  sweep s = {.p = p, .m = m};
  if (!p->options->remove_dead)
    return TL_OK;
  TL_TRY(tl_pinned_find(p, m, &s.pinned));
  s.has_effect = tl_arena_calloc(p->scratch, (size_t)m->graphs.n + 1, sizeof *s.has_effect);
  if (!s.has_effect)
    return tl_no_memory(m);
  for (uint32_t id = m->graphs.n; id > 0; id--)
    if (!tl_graph_get(m, id)->erased)
      sweep_nodes(&s, tl_graph_get(m, id));
  for (uint32_t id = 1; id <= m->graphs.n; id++)
    if (!tl_graph_get(m, id)->erased)
      sweep_constants(&s, tl_graph_get(m, id));
  return TL_OK;
}
