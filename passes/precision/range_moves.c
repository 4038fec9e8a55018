/* SPDX-License-Identifier: Apache-2.0 */
/* Finds data movement between wide nodes in two sweeps (range_moves.h). Backward: values that a
 * wide node takes, directly or moved. Forward: those of them with a wide source. */
#include "passes/precision/range_moves.h"

#include "ir/ops_gen.h"
#include "passes/precision/range_rows.h"

static bool is_f32(const tl_module *m, tl_value_id v) {
  return v && tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_F32;
}

/* Returns true if the node moves or joins f32 data. A Cast changes the dtype and does not count. */
static bool moves(const tl_module *m, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(m, n);
  const tl_node *node = tl_node_get(m, n);
  return (row->kind == TL_RANGE_SAME || row->kind == TL_RANGE_UNION) && node->op != TL_OP_Cast &&
         node->n_results && is_f32(m, node->results);
}

/* Backward sweep: marks what wide nodes take, through nodes that move data. */
static void go_back(const tl_module *m, const tl_graph *g, const char *const *why, bool *taken) {
  for (tl_node_id n = g->last; n; n = tl_node_get(m, n)->previous) {
    const tl_node *node = tl_node_get(m, n);
    bool wide = why[n] != NULL;
    for (uint32_t i = 0; i < node->n_results && !wide && moves(m, n); i++)
      wide = taken[node->results + i];
    for (uint32_t i = 0; wide && i < node->n_operands; i++)
      taken[tl_operand(m, n, i)] = true;
  }
}

/* Returns true if an operand is wide: an input of the graph, the result of a node that stays wide,
 * or the result of a cast. */
static bool has_wide_source(const tl_module *m, tl_node_id n, const char *const *why) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (!is_f32(m, v) || tl_value_constant(m, v))
      continue;
    tl_node_id p = tl_value_producer(m, v);
    if (!p || why[p] || tl_node_get(m, p)->op == TL_OP_Cast)
      return true;
  }
  return false;
}

/* Forward sweep: a kept node is a wide source for the nodes behind it. */
static void go_forward(const tl_module *m, const tl_graph *g, const char **why, const bool *taken) {
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    bool wanted = false;
    for (uint32_t i = 0; i < node->n_results && !why[n] && moves(m, n); i++)
      wanted = wanted || taken[node->results + i];
    if (wanted && has_wide_source(m, n, (const char *const *)why))
      why[n] = "it only moves data between nodes that keep f32";
  }
}

tl_status tl_range_keep_moves(const tl_module *m, const char **why, tl_arena *arena) {
  bool *taken = tl_arena_calloc(arena, tl_module_value_end(m) + 1U, sizeof *taken);
  if (!taken)
    return TL_NO_MEMORY;
  for (uint32_t i = m->graphs.n; i-- > 0;)
    if (!m->graphs.at[i]->erased)
      go_back(m, m->graphs.at[i], (const char *const *)why, taken);
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      go_forward(m, m->graphs.at[i], why, taken);
  return TL_OK;
}
