/* SPDX-License-Identifier: Apache-2.0 */
/* Records on new nodes which nodes they replace, for reports (ir/trace.h). */
#include "passes/engine/trace.h"

#include "ir/trace.h"

/* Returns true if new node i computes with constants only; folding removes it. weights: bits of the
 * earlier new nodes that do. */
static bool computes_weights(const tl_module *m, const tl_built *b, uint32_t i, uint64_t weights) {
  tl_node_id n = b->nodes[i];
  for (uint32_t k = 0; k < tl_node_get(m, n)->n_operands; k++) {
    tl_value_id v = tl_operand(m, n, k);
    tl_node_id from = v ? tl_value_producer(m, v) : TL_NO_NODE;
    bool weight = !v || tl_value_constant(m, v);
    for (uint32_t j = 0; j < i && !weight; j++)
      weight = b->nodes[j] == from && (weights >> j & 1);
    if (!weight)
      return false;
  }
  return true;
}

uint64_t tl_match_weights(const tl_match *match, const tl_built *b) {
  uint64_t weights = 0; /* a bit for each new node */
  _Static_assert(TL_RULE_NODES <= 64, "a bit for each new node");
  for (uint32_t i = 0; i < b->n_nodes; i++)
    weights |= (uint64_t)computes_weights(match->m, b, i, weights) << i;
  return weights;
}

/* Copies the trace of the root to the nodes of an expansion, so that lists that name nodes of the
 * model still apply. */
static bool carry(const tl_match *match, const tl_built *b) {
  const tl_node *root = tl_node_get(match->m, match->root);
  for (uint32_t i = 0; i < b->n_nodes; i++) {
    uint32_t slot = tl_node_get(match->m, b->nodes[i])->extra;
    if (!match->m->extras.at[root->extra].n_metadata || slot)
      continue;
    tl_extra *e = tl_module_extra(match->m, &slot);
    if (!e)
      return false;
    e->metadata = match->m->extras.at[root->extra].metadata;
    e->n_metadata = match->m->extras.at[root->extra].n_metadata;
    e->plain = match->m->extras.at[root->extra].plain;
    tl_node_get(match->m, b->nodes[i])->extra = slot;
  }
  return true;
}

/* Derives the origins of the new nodes whose bit is set. */
static bool derive(tl_module *m, const tl_built *b, uint64_t which, const tl_node_id *taken,
                   uint32_t n) {
  for (uint32_t i = 0; i < b->n_nodes; i++)
    if ((which >> i & 1) && !tl_trace_derive(m, b->nodes[i], taken, n, false))
      return false;
  return true;
}

/* Gives a new node the recorded trace of another one. */
static bool share(tl_module *m, tl_node_id from, tl_node_id to) {
  uint32_t slot = tl_node_get(m, to)->extra;
  tl_extra *e = tl_module_extra(m, &slot);
  if (!e)
    return false;
  const tl_extra *of = &m->extras.at[tl_node_get(m, from)->extra];
  e->metadata = of->metadata;
  e->n_metadata = of->n_metadata;
  e->plain = of->plain;
  tl_node_get(m, to)->extra = slot;
  return true;
}

bool tl_match_trace(const tl_match *match, const tl_built *b) {
  tl_node_id taken[TL_RULE_NODES];
  uint32_t n = 0, others = 0;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (tl_match_has_node(match, i))
      taken[n++] = match->nodes[i];
  if (match->rule->kind == TL_RULE_EXPAND && !carry(match, b))
    return false;
  if (!tl_rule_fuses(match->rule))
    return derive(match->m, b, UINT64_MAX, taken, n);
  uint64_t weights = tl_match_weights(match, b);
  for (uint32_t i = 0; i < b->n_nodes; i++)
    others += !(weights >> i & 1);
  tl_node_id first = TL_NO_NODE; /* the others come from the same nodes as this one */
  for (uint32_t i = 0; i < b->n_nodes; i++) {
    if (weights >> i & 1)
      continue;
    if (first ? !share(match->m, first, b->nodes[i])
              : tl_trace_record(match->m, b->nodes[i], taken, n,
                                tl_sym(match->m, match->rule->pass), others > 1) != TL_OK)
      return false;
    first = first ? first : b->nodes[i];
  }
  return derive(match->m, b, weights, taken, n);
}
