/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the replacement of a match beside the old nodes, infers it, and commits only if it fits.
 * Undoing is erasing nodes that nothing uses. */
#include "passes/engine/build.h"

#include "ir/ops_gen.h"
#include "passes/engine/building.h"

/* Returns the matched node that is last in the graph; new nodes go before it, since all operands of
 * the match exist there. */
static tl_node_id last_node(const tl_match *match) {
  tl_node_id last = match->root;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (tl_match_has_node(match, i) && tl_node_is_before(match->m, last, match->nodes[i]))
      last = match->nodes[i];
  return last;
}

/* ---- fitting -------------------------------------------------------------------------------- */

/* Returns true if an existing value may replace an output without losing its name (values.h). */
static bool may_forward(tl_building *b, tl_value_id old, tl_value_id value) {
  tl_module *m = b->match->m;
  bool loose = !tl_value_producer(m, value) &&
               (tl_graph_get(m, b->graph)->kind == TL_GRAPH_BODY || !tl_value_constant(m, value));
  if (!tl_value_can_merge(m, b->match->facts, old, value) ||
      (loose && tl_value_leaves_graph(m, old)))
    return tl_build_refuse(b, "GRAPH_OUTPUT", "a graph output needs the name");
  return true;
}

/* Gives v the type facts of the value that it replaces. */
static void refine(tl_module *m, tl_value_id v, tl_type_id old) {
  tl_type_id type;
  if (tl_type_refine(m, tl_value_type(m, v), old, &type))
    tl_value_set_type(m, v, type);
}

/* Checks that each output of the match has a replacement that can take its type, name and role, and
 * narrows types: what is known of the old value also holds for the new one. */
static bool fit_outputs(tl_building *b) {
  tl_module *m = b->match->m;
  const tl_rule *r = b->match->rule;
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!tl_build_is_output(r, v) || !(b->match->bound >> v & 1))
      continue;
    tl_value_id old = b->match->values[v], new = b->made[v];
    tl_type_id type;
    if (!new || new == old)
      return tl_build_refuse(b, "OPERANDS", "it would return itself");
    bool own = tl_value_producer(m, new) && r->build[r->values[v].built].forward == false;
    /* A fusion may make a state or gradient anew: commit() hands its role to the new value. */
    bool pinned = tl_is_pinned(&b->match->facts->pinned, old);
    if (pinned && (!own || r->kind == TL_RULE_CLEANUP))
      return tl_build_refuse(b, "PINNED", "a training state keeps its identity");
    if (pinned && !tl_pin_newer(&b->match->facts->pinned, new))
      return tl_build_no_memory(b);
    if (!tl_type_refine(m, tl_value_type(m, old), tl_value_type(m, new), &type))
      return tl_build_refuse(b, "SHAPE", "its result has another type");
    if (own)
      tl_value_set_type(m, new, type);
    else if (!may_forward(b, old, new))
      return false;
    else if (tl_value_producer(m, new))
      refine(m, new, tl_value_type(m, old));
  }
  return true;
}

/* Erases what was made, users before producers: a node or constant in use cannot be erased. */
static void undo(tl_building *b) {
  for (uint32_t i = b->out->n_nodes; i-- > 0;)
    tl_node_erase(b->match->m, b->out->nodes[i]);
  for (uint32_t i = b->n_constants; i-- > 0;)
    if (tl_value_get(b->match->m, b->constants[i])->n_uses == 0)
      tl_graph_erase_constant(b->match->m, b->constants[i]);
  b->out->n_nodes = 0;
}

/* ---- commit --------------------------------------------------------------------------------- */

/* Moves control edges to new nodes but those that compute weights: folding removes them. */
static bool move_control(tl_building *b, tl_node_id old) {
  tl_module *m = b->match->m;
  uint64_t weights = tl_match_weights(b->match, b->out);
  tl_control_id next;
  for (uint32_t i = 0; i < b->out->n_nodes; i++) {
    if (weights >> i & 1)
      continue;
    for (tl_control_id c = tl_node_get(m, old)->control_in; c; c = next) {
      const tl_control e = *tl_control_get(m, c);
      next = e.next_in;
      if (!tl_control_add(m, e.from, b->out->nodes[i], (tl_control_origin)e.origin))
        return tl_build_no_memory(b);
    }
    for (tl_control_id c = tl_node_get(m, old)->control_out; c; c = next) {
      const tl_control e = *tl_control_get(m, c);
      next = e.next_out;
      if (!tl_control_add(m, b->out->nodes[i], e.to, (tl_control_origin)e.origin))
        return tl_build_no_memory(b);
    }
  }
  return true;
}

static bool move_controls(tl_building *b) {
  const tl_match *match = b->match;
  for (uint8_t k = 0; k < match->rule->n_match; k++)
    if (tl_match_has_node(match, k) && !match->rule->match[k].shared &&
        !move_control(b, match->nodes[k]))
      return false;
  return true;
}

/* Returns true if nothing uses the results. Ops with effects go only if another node replaces
 * them, and so do results with a role in training: commit() has given it to the replacement. */
static bool is_dead(const tl_building *b, tl_node_id n, bool replaced) {
  const tl_module *m = b->match->m;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(m, node->results + i)->n_uses ||
        (!replaced && tl_is_pinned(&b->match->facts->pinned, node->results + i)))
      return false;
  return replaced || !tl_op_has_trait(node->op, TL_TRAIT_EFFECT);
}

/* Erases matched nodes, users before producers, since erasing a node drops its operands. */
static void erase_old(tl_building *b) {
  tl_match *match = b->match;
  for (uint8_t round = 0; round < match->rule->n_match; round++) {
    tl_node_id last = TL_NO_NODE;
    uint8_t which = 0;
    for (uint8_t i = 0; i < match->rule->n_match; i++)
      if (tl_match_has_node(match, i) &&
          (!last || tl_node_is_before(match->m, last, match->nodes[i]))) {
        last = match->nodes[i];
        which = i;
      }
    if (!last)
      return;
    if (is_dead(b, last, !match->rule->match[which].shared && b->out->n_nodes > 0))
      tl_node_erase(match->m, last);
    match->nodes[which] = TL_NO_NODE;
  }
}

/* Returns true for an op of the NPU, which a module in canonical form may not have. */
static bool is_npu_node(const tl_module *m, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  return row && row->domain_symbol == TL_SYM_npu;
}

/* Puts the new values in the place of the outputs, notes the form of the module, and erases matched
 * nodes that are now dead. Cannot fail. */
static void commit(tl_building *b) {
  tl_module *m = b->match->m;
  const tl_rule *r = b->match->rule;
  b->out->n_outputs = 0;
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!tl_build_is_output(r, v) || !(b->match->bound >> v & 1))
      continue;
    if (tl_is_pinned(&b->match->facts->pinned, b->match->values[v]))
      tl_value_move_roles(m, b->match->values[v], b->made[v]);
    tl_value_merge(m, b->match->values[v], b->made[v]);
    b->out->outputs[b->out->n_outputs++] = b->made[v];
  }
  for (uint32_t i = 0; i < b->out->n_nodes; i++)
    if (m->form == TL_FORM_CANONICAL && is_npu_node(m, b->out->nodes[i]))
      m->form = TL_FORM_SPELLED;
  erase_old(b);
}

tl_status tl_match_apply(tl_match *match, tl_built *built, bool *done) {
  tl_building b = {
      .match = match, .out = built, .graph = tl_node_get(match->m, match->root)->graph};
  uint32_t errors = match->m->diag->errors;
  *done = false;
  built->n_nodes = 0;
  tl_node_id last = last_node(match);
  b.before = last;
  bool ok = true;
  for (uint8_t i = 0; i < match->rule->n_build && ok; i++)
    ok = match->rule->build[i].forward ? tl_build_forward(&b, &match->rule->build[i])
                                       : tl_build_node(&b, &match->rule->build[i]);
  ok = ok && fit_outputs(&b) && tl_build_make_way(&b, last) && move_controls(&b) &&
       (tl_match_trace(match, built) || tl_build_no_memory(&b));
  if (ok) {
    commit(&b);
    *done = true;
    return TL_OK;
  }
  undo(&b);
  return match->m->diag->errors != errors ? TL_NO_MEMORY : TL_OK;
}
