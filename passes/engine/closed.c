/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a match is closed: no other user needs its inner values, nothing keeps its nodes
 * apart. */
#include "ir/marks.h"
#include "passes/engine/match.h"
#include "passes/engine/scope.h"
#include "passes/engine/why.h"

static tl_sv node_name(const tl_match *match, tl_node_id n) {
  return tl_node_where(match->m, n).node;
}

static bool is_matched(const tl_match *match, tl_node_id n) {
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (tl_match_has_node(match, i) && match->nodes[i] == n)
      return true;
  return false;
}

/* Returns true if the replacement makes this value. */
static bool is_replaced(const tl_match *match, uint8_t v) {
  return v != TL_RULE_VALUES && match->rule->values[v].built != TL_RULE_NODES;
}

/* Notes a reason such as "`n` has 2 consumers outside the pattern: `a`, graph output `y`". */
static void note_consumers(tl_match *match, tl_value_id v, tl_node_id n) {
  if (!match->miss)
    return;
  tl_buf list;
  tl_buf_init(&list);
  uint32_t outside = 0;
  bool output = false, told = tl_match_tells(match, TL_MISS_CLOSED);
  TL_FOR_USES(match->m, v, u) {
    tl_node_id user = tl_use_get(match->m, u)->user;
    if (is_matched(match, user))
      continue;
    bool leaves = tl_node_is_return(match->m, user);
    tl_sv name = leaves ? tl_value_name(match->m, v) : node_name(match, user);
    if (outside < 4 && told)
      tl_buf_printf(&list, "%s%s`%.*s`", outside ? ", " : "", leaves ? "graph output " : "",
                    TL_SV_ARG(name));
    outside++;
    output = output || leaves;
  }
  tl_sv where = node_name(match, n), shown = list.failed ? TL_SV("") : tl_buf_view(&list);
  tl_match_note(match, TL_MISS_CLOSED, output && outside == 1 ? "GRAPH_OUTPUT" : "MULTI_CONSUMER",
                "`%.*s` has %u consumer%s outside the pattern: %.*s%s", TL_SV_ARG(where), outside,
                outside == 1 ? "" : "s", TL_SV_ARG(shown), outside > 4 ? " ..." : "");
  tl_buf_release(&list);
}

/* Returns true if v has no role of its own and no users outside the match. */
static bool is_closed_value(tl_match *match, tl_value_id v, tl_node_id n) {
  if (match->facts && tl_is_pinned(&match->facts->pinned, v)) {
    tl_sv where = match->miss ? node_name(match, n) : TL_SV("");
    tl_match_note(match, TL_MISS_CLOSED, "PINNED", "`%.*s` gives a gradient or a state",
                  TL_SV_ARG(where));
    return false;
  }
  TL_FOR_USES(match->m, v, u)
    if (!is_matched(match, tl_use_get(match->m, u)->user)) {
      note_consumers(match, v, n);
      return false;
    }
  return true;
}

/* Checks the results of node k that the replacement does not make. */
static bool is_closed_node(tl_match *match, uint8_t k) {
  const tl_pattern_node *p = &match->rule->match[k];
  const tl_node *node = tl_node_get(match->m, match->nodes[k]);
  for (uint32_t r = 0; r < node->n_results; r++) {
    uint8_t v = r < p->n_results ? p->results[r] : TL_RULE_VALUES;
    if (!is_replaced(match, v) && !is_closed_value(match, node->results + r, match->nodes[k]))
      return false;
  }
  return true;
}

/* Returns false, with a note, if marks keep the node apart from the root or alive. */
static bool allows_marks(tl_match *match, tl_node_id n, tl_sv where) {
  uint32_t mark = tl_node_marks_differ(match->m, n, match->root);
  /* A definition says what the node is, for the evaluator; it simplifies nothing. */
  bool fixed = match->rule->kind != TL_RULE_DEFINE && tl_node_has_mark(match->m, n, TL_MARK_NOFOLD);
  if (fixed) {
    tl_match_note(match, TL_MISS_CLOSED, "NOFOLD", "`%.*s` must not be rewritten",
                  TL_SV_ARG(where));
    return false;
  }
  if (mark < TL_N_MARKS) {
    tl_match_note(match, TL_MISS_CLOSED, "ATTR_GROUP", "`%.*s` and the root differ in %s",
                  TL_SV_ARG(where), tl_mark_key(mark));
    return false;
  }
  if (n == match->root || !tl_node_asks_dump(match->m, n))
    return true;
  tl_match_note(match, TL_MISS_CLOSED, "DUMPABLE", "`%.*s` requests a dump of its results",
                TL_SV_ARG(where));
  return false;
}

/* Finds the first and last node that the rewrite removes, in graph order. */
static void find_ends(const tl_match *match, tl_node_id *first, tl_node_id *last) {
  *first = *last = match->root;
  for (uint8_t k = 0; k < match->rule->n_match; k++) {
    if (!tl_match_has_node(match, k) || match->rule->match[k].shared)
      continue;
    if (tl_node_is_before(match->m, match->nodes[k], *first))
      *first = match->nodes[k];
    if (tl_node_is_before(match->m, *last, match->nodes[k]))
      *last = match->nodes[k];
  }
}

/* Returns true if the replacement has new nodes, which can take over control edges. */
static bool makes_nodes(const tl_rule *r) {
  for (uint8_t i = 0; i < r->n_build; i++)
    if (!r->build[i].forward)
      return true;
  return false;
}

/* Returns true if the control edges of an inner node can move to the new nodes: predecessors must
 * be before all matched nodes and successors behind them. An edge to a node between them might
 * close a cycle. */
static bool control_can_move(const tl_match *match, tl_node_id n) {
  const tl_node *node = tl_node_get(match->m, n);
  tl_node_id first, last;
  if (!node->control_in && !node->control_out)
    return true;
  if (!tl_rule_fuses(match->rule) || !makes_nodes(match->rule))
    return false;
  find_ends(match, &first, &last);
  for (tl_control_id c = node->control_in; c; c = tl_control_get(match->m, c)->next_in)
    if (!tl_node_is_before(match->m, tl_control_get(match->m, c)->from, first))
      return false;
  for (tl_control_id c = node->control_out; c; c = tl_control_get(match->m, c)->next_out)
    if (!tl_node_is_before(match->m, last, tl_control_get(match->m, c)->to))
      return false;
  return true;
}

/* Scopes are checked first; then stream, marks, control edges and users of every node that would
 * go. Shared nodes stay and are not checked. */
bool tl_match_is_closed(tl_match *match) {
  const tl_node *root = tl_node_get(match->m, match->root);
  if (!tl_match_is_in_scope(match))
    return false;
  for (uint8_t k = 0; k < match->rule->n_match; k++) {
    if (!tl_match_has_node(match, k) || match->rule->match[k].shared)
      continue;
    const tl_node *node = tl_node_get(match->m, match->nodes[k]);
    tl_sv where = match->miss ? node_name(match, match->nodes[k]) : TL_SV("");
    if (node->stream != root->stream) {
      tl_match_note(match, TL_MISS_CLOSED, "STREAM_LABEL", "`%.*s` is on stream %d, the root on %d",
                    TL_SV_ARG(where), node->stream, root->stream);
      return false;
    }
    if (!allows_marks(match, match->nodes[k], where))
      return false;
    if (match->nodes[k] != match->root && !control_can_move(match, match->nodes[k])) {
      tl_match_note(match, TL_MISS_CLOSED, "CTRL_INNER", "`%.*s` has a control edge",
                    TL_SV_ARG(where));
      return false;
    }
    if (!is_closed_node(match, k))
      return false;
  }
  return true;
}
