/* SPDX-License-Identifier: Apache-2.0 */
/* Structural level, first half: the linked lists themselves. Nothing here trusts a link before its
 * target is known to be in range, and no walk is longer than the pool it walks. */
#include "ir/verify/internal.h"

static bool is_node(const tl_module *m, tl_node_id n) { return n && n < tl_module_node_end(m); }
static bool is_value(const tl_module *m, tl_value_id v) { return v && v < tl_module_value_end(m); }

/* One graph's node list: links symmetric, labels ascending, count right. */
static void check_list(tl_verifier *v, const tl_graph *g) {
  const tl_module *m = v->m;
  tl_node_id before = TL_NO_NODE;
  uint32_t count = 0;
  for (tl_node_id n = g->first; n; n = tl_node_get(m, n)->next) {
    if (!is_node(m, n) || count++ > m->nodes.next) {
      tl_verify_report(v, before, "the node list of the graph is broken after this node");
      return;
    }
    const tl_node *node = tl_node_get(m, n);
    if (node->op == TL_OP_ERASED || node->op == TL_OP_RETURN || node->graph != g->id)
      tl_verify_report(v, n, "the node does not belong into the list of graph %u", g->id);
    if (node->previous != before)
      tl_verify_report(v, n, "the link to the previous node is wrong");
    if (before && tl_node_get(m, before)->order >= node->order)
      tl_verify_report(v, n, "the order label does not exceed that of the node before");
    before = n;
  }
  if (g->last != before)
    tl_verify_report(v, before, "the graph does not end with its last node");
  if (count != g->n_nodes)
    tl_verify_report(v, TL_NO_NODE, "graph %u has %u nodes and counts %u", g->id, count,
                     g->n_nodes);
}

static void check_node_lists(tl_verifier *v) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    if (g->id != i + 1)
      tl_verify_report(v, TL_NO_NODE, "graph %u has the id %u", i + 1, g->id);
    if (!is_node(v->m, g->ret) || !tl_node_is_return(v->m, g->ret) ||
        tl_node_get(v->m, g->ret)->graph != g->id)
      tl_verify_report(v, TL_NO_NODE, "graph %u has no RETURN of its own", g->id);
    else
      check_list(v, g);
  }
}

static void check_operands_of(tl_verifier *v, tl_node_id n) {
  const tl_module *m = v->m;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_use_id u = node->operands + i;
    if (u >= m->uses.next) {
      tl_verify_report(v, n, "operand %u has no use record", i);
      return;
    }
    const tl_use *use = tl_use_get(m, u);
    if (use->user != n)
      tl_verify_report(v, n, "operand %u belongs to another node", i);
    if (use->value &&
        (!is_value(m, use->value) || tl_value_get(m, use->value)->kind == TL_VALUE_NONE))
      tl_verify_report(v, n, "operand %u is a value that is gone", i);
    if (!use->value && tl_node_is_return(m, n))
      tl_verify_report(v, n, "output %u of the graph is absent", i);
  }
}

static void check_operands(tl_verifier *v) { tl_verify_each_node(v, check_operands_of); }

static bool is_use_of(const tl_module *m, const tl_use *use, tl_use_id u, tl_value_id value) {
  if (use->value != value || !is_node(m, use->user))
    return false;
  const tl_node *user = tl_node_get(m, use->user);
  return user->op != TL_OP_ERASED && u >= user->operands && u - user->operands < user->n_operands;
}

static void check_uses_of(tl_verifier *v, tl_value_id id) {
  const tl_module *m = v->m;
  const tl_value *value = tl_value_get(m, id);
  tl_node_id at = tl_value_producer(m, id);
  tl_use_id before = 0;
  uint32_t count = 0;
  for (tl_use_id u = value->first_use; u; u = tl_use_get(m, u)->next) {
    if (u >= m->uses.next || count++ >= value->n_uses) {
      tl_verify_report(v, at, "%%%.*s has more uses than its count of %u",
                       TL_SV_ARG(tl_value_name(m, id)), value->n_uses);
      return;
    }
    const tl_use *use = tl_use_get(m, u);
    if (use->previous != before || !is_use_of(m, use, u, id))
      tl_verify_report(v, at, "use %u of %%%.*s is not an operand of its user", count - 1,
                       TL_SV_ARG(tl_value_name(m, id)));
    before = u;
  }
  if (count != value->n_uses || value->last_use != before)
    tl_verify_report(v, at, "%%%.*s has %u uses and counts %u", TL_SV_ARG(tl_value_name(m, id)),
                     count, value->n_uses);
}

/* With every list entry an operand and every operand counted, both sides agree. */
static void check_uses(tl_verifier *v) {
  const tl_module *m = v->m;
  uint64_t listed = 0;
  uint64_t used = 0;
  for (tl_value_id id = 1; id < tl_module_value_end(m); id++) {
    if (tl_value_get(m, id)->kind == TL_VALUE_NONE)
      continue;
    check_uses_of(v, id);
    listed += tl_value_get(m, id)->n_uses;
  }
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (tl_node_id n = g->first ? g->first : g->ret; n && !g->erased;) {
      const tl_node *node = tl_node_get(m, n);
      for (uint32_t k = 0; k < node->n_operands; k++)
        used += tl_operand(m, n, k) != TL_NO_VALUE;
      n = n == g->ret ? TL_NO_NODE : node->next ? node->next : g->ret;
    }
  }
  if (listed != used)
    tl_verify_report(v, TL_NO_NODE, "use lists hold %llu uses, nodes have %llu operands",
                     (unsigned long long)listed, (unsigned long long)used);
}

static void check_results_of(tl_verifier *v, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id id = node->results + i;
    const tl_value *value = is_value(v->m, id) ? tl_value_get(v->m, id) : NULL;
    if (!value || value->kind != TL_VALUE_RESULT || value->def != n || value->index != i)
      tl_verify_report(v, n, "result %u does not know its node", i);
  }
}

static void check_members(tl_verifier *v, const tl_graph *g, const tl_u32_vec *list,
                          tl_value_kind kind) {
  for (uint32_t i = 0; i < list->n; i++) {
    tl_value_id id = list->at[i];
    if (id == TL_NO_VALUE && kind == TL_VALUE_CONSTANT)
      continue; /* an erased one */
    const tl_value *value = is_value(v->m, id) ? tl_value_get(v->m, id) : NULL;
    const char *what = kind == TL_VALUE_INPUT ? "input" : "constant";
    if (!value || value->kind != kind || value->def != g->id || value->index != i)
      tl_verify_report(v, TL_NO_NODE, "%s %u of graph %u does not know its place", what, i, g->id);
    else if (value->tensor >= v->m->tensors.next ||
             (kind == TL_VALUE_CONSTANT && value->tensor == TL_NO_TENSOR))
      tl_verify_report(v, TL_NO_NODE, "%s %u of graph %u has no data", what, i, g->id);
  }
}

static void check_definitions(tl_verifier *v) {
  tl_verify_each_node(v, check_results_of);
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    check_members(v, g, &g->inputs, TL_VALUE_INPUT);
    check_members(v, g, &g->constants, TL_VALUE_CONSTANT);
  }
}

const tl_check tl_link_checks[] = {
    {"node-list", check_node_lists},
    {"operands", check_operands},
    {"definitions", check_definitions},
    {"uses", check_uses},
    {NULL, NULL},
};
