/* SPDX-License-Identifier: Apache-2.0 */
/* Reads forests from attributes. The lists may be anything: ids that do not exist, lists of
 * different lengths, cycles; everything is checked here. */
#include <stdlib.h>

#include "ir/eval/ml/forest.h"

/* Refuses a list of another length than expected. */
static tl_status need_count(tl_eval *ctx, tl_symbol name, uint64_t n, uint64_t expected) {
  if (n == expected)
    return TL_OK;
  return tl_eval_fail(ctx, "attribute %.*s has %llu elements, expected %llu",
                      TL_SV_ARG(tl_sym(ctx->m, name)), (unsigned long long)n,
                      (unsigned long long)expected);
}

static tl_status need_ints(tl_eval *ctx, tl_symbol name, uint64_t expected, tl_int_list *out) {
  *out = tl_eval_ints(ctx, name);
  return need_count(ctx, name, out->n, expected);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Leaves have neither a feature nor children. */
static tl_status check_node(tl_eval *ctx, const tl_forest *f, uint32_t i, int64_t features) {
  const tl_tree_node *n = &f->nodes[i];
  if (n->mode == TL_TREE_LEAF)
    return TL_OK;
  if ((int64_t)n->feature >= features)
    return tl_eval_fail(ctx, "tree node %u looks at feature %u of %lld", i, n->feature,
                        (long long)features);
  if (n->yes < f->n_nodes && n->no < f->n_nodes)
    return TL_OK;
  return tl_eval_fail(ctx, "tree node %u has a child that does not exist", i);
}

/* States of a node in the walk: OPEN is on the path from the root, DONE is known to end. */
enum { UNSEEN, OPEN, DONE };

/* Walks depth-first below a root with a stack of its own, as trees may be deep. A child that is
 * OPEN closes a cycle. Each node is pushed once, so the stack has room. */
static bool is_acyclic(const tl_forest *f, uint32_t root, uint8_t *state, uint32_t *stack) {
  uint32_t depth = 0;
  if (state[root] != UNSEEN)
    return true;
  stack[depth++] = root;
  while (depth) {
    const uint32_t i = stack[depth - 1];
    const tl_tree_node *n = &f->nodes[i];
    state[i] = OPEN;
    uint32_t next = UINT32_MAX;
    if (n->mode != TL_TREE_LEAF) {
      if (state[n->yes] == OPEN || state[n->no] == OPEN)
        return false;
      next = state[n->yes] == UNSEEN ? n->yes : state[n->no] == UNSEEN ? n->no : UINT32_MAX;
    }
    if (next == UINT32_MAX) {
      state[i] = DONE;
      depth--;
    } else {
      stack[depth++] = next;
    }
  }
  return true;
}

tl_status tl_forest_check(tl_eval *ctx, const tl_forest *f, int64_t features) {
  uint8_t *state = tl_eval_scratch(ctx, f->n_nodes, 1);
  uint32_t *stack = tl_eval_scratch(ctx, f->n_nodes, sizeof *stack);
  if (!state || !stack)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    state[i] = UNSEEN;
    TL_TRY(check_node(ctx, f, i, features));
  }
  for (uint32_t i = 0; i < f->n_roots; i++)
    if (!is_acyclic(f, f->roots[i], state, stack))
      return tl_eval_fail(ctx, "tree %u has a cycle", i);
  return TL_OK;
}

/* ---- classifier and regressor --------------------------------------------------------------- */

/* A node by its tree and its number there. The list of addresses is sorted for binary search. */
typedef struct address {
  int64_t tree;
  int64_t id;
  uint32_t node;
} address;

static int compare_addresses(const void *a, const void *b) {
  const address *p = a, *q = b;
  if (p->tree != q->tree)
    return p->tree < q->tree ? -1 : 1;
  return p->id != q->id ? (p->id < q->id ? -1 : 1) : 0;
}

/* The attributes that describe nodes: one list for each property. */
typedef struct node_lists {
  tl_int_list tree;
  tl_int_list id;
  tl_int_list feature;
  tl_int_list yes;
  tl_int_list no;
  tl_int_list missing;
  tl_ml_list value;
  const tl_attr *mode;
  address *index; /* [n] */
} node_lists;

/* All lists are as long as that of the ids; missing_value_tracks_true may be absent. */
static tl_status read_lists(tl_eval *ctx, node_lists *l) {
  l->id = tl_eval_ints(ctx, TL_SYM_nodes_nodeids);
  const uint32_t n = l->id.n;
  if (n == 0)
    return tl_eval_fail(ctx, "the ensemble has no nodes");
  TL_TRY(need_ints(ctx, TL_SYM_nodes_treeids, n, &l->tree));
  TL_TRY(need_ints(ctx, TL_SYM_nodes_featureids, n, &l->feature));
  TL_TRY(need_ints(ctx, TL_SYM_nodes_truenodeids, n, &l->yes));
  TL_TRY(need_ints(ctx, TL_SYM_nodes_falsenodeids, n, &l->no));
  l->missing = tl_eval_ints(ctx, TL_SYM_nodes_missing_value_tracks_true);
  if (l->missing.n)
    TL_TRY(need_count(ctx, TL_SYM_nodes_missing_value_tracks_true, l->missing.n, n));
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_nodes_values, TL_SYM_nodes_values_as_tensor, &l->value));
  TL_TRY(need_count(ctx, TL_SYM_nodes_values, l->value.n, n));
  l->mode = tl_node_attr(ctx->m, ctx->node, TL_SYM_nodes_modes);
  return need_count(ctx, TL_SYM_nodes_modes, l->mode ? l->mode->count : 0, n);
}

/* A node that is there twice would make the tree ambiguous. */
static tl_status make_index(tl_eval *ctx, node_lists *l) {
  l->index = tl_eval_scratch(ctx, l->id.n, sizeof *l->index);
  if (!l->index)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < l->id.n; i++)
    l->index[i] = (address){l->tree.at[i], l->id.at[i], i};
  qsort(l->index, l->id.n, sizeof *l->index, compare_addresses);
  for (uint32_t i = 1; i < l->id.n; i++)
    if (compare_addresses(&l->index[i - 1], &l->index[i]) == 0)
      return tl_eval_fail(ctx, "node %lld of tree %lld is there twice", (long long)l->index[i].id,
                          (long long)l->index[i].tree);
  return TL_OK;
}

/* Returns a node's position, UINT32_MAX when there is none. */
static uint32_t find_node(const node_lists *l, int64_t tree, int64_t id) {
  const address key = {tree, id, 0};
  const address *found = bsearch(&key, l->index, l->id.n, sizeof *l->index, compare_addresses);
  return found ? found->node : UINT32_MAX;
}

/* MEMBER has no name; only TreeEnsemble has it, where modes are numbers. */
static tl_status read_mode(tl_eval *ctx, tl_sv text, uint8_t *out) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
  for (uint8_t i = 0; i <= TL_TREE_LEAF; i++)
    if (i != TL_TREE_MEMBER && tl_sv_is(text, names[i])) {
      *out = i;
      return TL_OK;
    }
  return tl_eval_fail(ctx, "node mode '%.*s' is not known", TL_SV_ARG(text));
}

/* Children that do not exist are refused later, by tl_forest_check. */
static tl_status read_node(tl_eval *ctx, const node_lists *l, uint32_t i, tl_tree_node *out) {
  *out = (tl_tree_node){.value = l->value.at[i]};
  TL_TRY(read_mode(ctx, tl_sym(ctx->m, l->mode->u.ids[i]), &out->mode));
  if (out->mode == TL_TREE_LEAF)
    return TL_OK;
  if (l->feature.at[i] < 0 || l->feature.at[i] > INT32_MAX)
    return tl_eval_fail(ctx, "tree node %u looks at feature %lld", i, (long long)l->feature.at[i]);
  out->feature = (uint32_t)l->feature.at[i];
  out->missing_yes = l->missing.n && l->missing.at[i];
  out->yes = find_node(l, l->tree.at[i], l->yes.at[i]);
  out->no = find_node(l, l->tree.at[i], l->no.at[i]);
  return TL_OK;
}

/* Groups the votes by leaf and keeps their order, by a counting sort. */
static tl_status group_votes(tl_eval *ctx, tl_forest *f) {
  tl_tree_vote *sorted = tl_eval_scratch(ctx, f->n_votes, sizeof *sorted);
  if (!sorted)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < f->n_votes; i++)
    f->nodes[f->votes[i].node].n++;
  uint32_t at = 0;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    f->nodes[i].first = at;
    at += f->nodes[i].n;
    f->nodes[i].n = 0;
  }
  for (uint32_t i = 0; i < f->n_votes; i++) {
    tl_tree_node *n = &f->nodes[f->votes[i].node];
    sorted[n->first + n->n++] = f->votes[i];
  }
  f->votes = sorted;
  return TL_OK;
}

/* Reads the votes and resolves their nodes and targets. */
static tl_status read_votes(tl_eval *ctx, const tl_vote_names *names, const node_lists *l,
                            uint64_t targets, tl_forest *f) {
  tl_int_list tree = tl_eval_ints(ctx, names->tree), node, target;
  tl_ml_list weight;
  TL_TRY(need_ints(ctx, names->node, tree.n, &node));
  TL_TRY(need_ints(ctx, names->target, tree.n, &target));
  TL_TRY(tl_ml_read_floats(ctx, names->weight, names->weight_tensor, &weight));
  TL_TRY(need_count(ctx, names->weight, weight.n, tree.n));
  f->votes = tl_eval_scratch(ctx, tree.n, sizeof *f->votes);
  f->n_votes = tree.n;
  if (!f->votes)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < tree.n; i++) {
    const uint32_t n = find_node(l, tree.at[i], node.at[i]);
    if (n == UINT32_MAX)
      return tl_eval_fail(ctx, "vote %u is for a node that does not exist", i);
    if (target.at[i] < 0 || (uint64_t)target.at[i] >= targets)
      return tl_eval_fail(ctx, "vote %u is for target %lld of %llu", i, (long long)target.at[i],
                          (unsigned long long)targets);
    f->votes[i] = (tl_tree_vote){n, (uint32_t)target.at[i], weight.at[i]};
  }
  return group_votes(ctx, f);
}

/* Finds the root of each tree: its first node in the lists, as the standard says. */
static tl_status find_roots(tl_eval *ctx, const node_lists *l, tl_forest *f) {
  f->roots = tl_eval_scratch(ctx, l->id.n, sizeof *f->roots);
  if (!f->roots)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < l->id.n;) {
    uint32_t first = l->index[i].node, k = i;
    for (; k < l->id.n && l->index[k].tree == l->index[i].tree; k++)
      if (l->index[k].node < first)
        first = l->index[k].node;
    f->roots[f->n_roots++] = first;
    i = k;
  }
  return TL_OK;
}

tl_status tl_forest_read(tl_eval *ctx, const tl_vote_names *names, int64_t features,
                         uint64_t targets, tl_forest *out) {
  node_lists l = {0};
  *out = (tl_forest){0};
  TL_TRY(read_lists(ctx, &l));
  TL_TRY(make_index(ctx, &l));
  out->n_nodes = l.id.n;
  out->nodes = tl_eval_scratch(ctx, l.id.n, sizeof *out->nodes);
  if (!out->nodes)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < l.id.n; i++)
    TL_TRY(read_node(ctx, &l, i, &out->nodes[i]));
  TL_TRY(read_votes(ctx, names, &l, targets, out));
  TL_TRY(find_roots(ctx, &l, out));
  return tl_forest_check(ctx, out, features);
}
