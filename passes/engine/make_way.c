/* SPDX-License-Identifier: Apache-2.0 */
/* Moves nodes between the matched ones that use an early output behind the replacement. The new
 * nodes are at the last matched node, so that what uses their results must come later. */
#include "passes/engine/building.h"

#include "ir/graph.h"

enum { MOST_MOVED = 4096 }; /* upper bound on nodes that one rewrite moves */

/* Returns the node of graph g that is n or encloses it; TL_NO_NODE if there is none. */
static tl_node_id owner_in(const tl_module *m, tl_node_id n, tl_graph_id g) {
  while (n && tl_node_get(m, n)->graph != g)
    n = tl_graph_get(m, tl_node_get(m, n)->graph)->owner;
  return n;
}

/* Nodes that have to move; at once the worklist of the search for them. */
typedef struct moving {
  tl_node_id *at; /* [MOST_MOVED], scratch; NULL: no early output yet */
  uint32_t n;
} moving;

static bool is_matched(const tl_match *match, tl_node_id n) {
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (match->nodes[i] == n)
      return true;
  return false;
}

/* Lists the users of v before `last`. Refuses if a matched node is among them: contracting the
 * match would close a cycle. */
static bool add_users(tl_building *b, moving *s, tl_value_id v, tl_node_id last, bool of_match) {
  tl_module *m = b->match->m;
  TL_FOR_USES(m, v, u) {
    tl_node_id n = owner_in(m, tl_use_get(m, u)->user, b->graph);
    if (!n || tl_node_is_return(m, n) || !tl_node_is_before(m, n, last))
      continue;
    bool inside = is_matched(b->match, n);
    if (inside && of_match)
      continue;
    if (inside || s->n == MOST_MOVED)
      return tl_build_refuse(b, "CYCLE", "a node between the matched ones depends on them");
    uint32_t i = 0;
    while (i < s->n && s->at[i] != n)
      i++;
    if (i == s->n)
      s->at[s->n++] = n;
  }
  return true;
}

/* Insertion sort: the nodes are few, and mostly in order already. */
static void sort_by_order(const tl_module *m, moving *s) {
  for (uint32_t i = 1; i < s->n; i++)
    for (uint32_t k = i; k > 0 && tl_node_is_before(m, s->at[k], s->at[k - 1]); k--) {
      tl_node_id n = s->at[k];
      s->at[k] = s->at[k - 1];
      s->at[k - 1] = n;
    }
}

/* Returns true for an output of the match that is produced before `last`. */
static bool is_early_output(const tl_building *b, uint8_t v, tl_node_id last) {
  const tl_match *match = b->match;
  return tl_build_is_output(match->rule, v) && (match->bound >> v & 1) &&
         tl_value_producer(match->m, match->values[v]) != last;
}

/* Returns true if node n, which must move, makes the replacement of an early output: a cycle. The
 * results of a node have consecutive ids, and ids below them wrap to large unsigned differences. */
static bool makes_early_output(const tl_building *b, tl_node_id n, tl_node_id last) {
  const tl_node *node = tl_node_get(b->match->m, n);
  for (uint8_t v = 0; v < b->match->rule->n_values; v++)
    if (is_early_output(b, v, last) && b->made[v] - node->results < node->n_results)
      return true;
  return false;
}

/* Collects first and moves last, so that a refusal leaves the order as it was. */
bool tl_build_make_way(tl_building *b, tl_node_id last) {
  tl_module *m = b->match->m;
  const tl_rule *r = b->match->rule;
  moving s = {NULL, 0};
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!is_early_output(b, v, last))
      continue;
    if (!s.at)
      s.at = tl_arena_alloc(b->match->scratch, MOST_MOVED * sizeof *s.at);
    if (!s.at)
      return tl_build_no_memory(b);
    if (!add_users(b, &s, b->match->values[v], last, true))
      return false;
  }
  for (uint32_t i = 0; i < s.n; i++) {
    const tl_node *node = tl_node_get(m, s.at[i]);
    if (tl_node_leads_before(m, s.at[i], last))
      return tl_build_refuse(b, "CTRL_INNER", "a node between the matched ones has a control edge");
    if (makes_early_output(b, s.at[i], last))
      return tl_build_refuse(b, "CYCLE", "a result would depend on itself");
    for (uint32_t k = 0; k < node->n_results; k++)
      if (!add_users(b, &s, node->results + k, last, false))
        return false;
  }
  /* In their old order, each behind the one before: operands stay before their users. */
  sort_by_order(m, &s);
  tl_node_id behind = last;
  for (uint32_t i = 0; i < s.n; i++) {
    tl_node_move_after(m, s.at[i], behind);
    behind = s.at[i];
  }
  return true;
}
