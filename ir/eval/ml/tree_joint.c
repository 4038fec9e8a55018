/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the forest of TreeEnsemble (ai.onnx.ml 5): nodes and leaves are separate lists there, and a
 * child is a position in either. In the forest leaves follow the nodes in one list. */
#include <math.h>

#include "ir/eval/ml/forest.h"

/* The attributes of the node. */
typedef struct joint_lists {
  tl_int_list feature;
  tl_int_list yes;
  tl_int_list no;
  tl_int_list yes_leaf;
  tl_int_list no_leaf;
  tl_int_list missing;
  tl_int_list target;
  tl_int_list roots;
  tl_ml_list mode;
  tl_ml_list split;
  tl_ml_list weight;
  tl_ml_list members;
} joint_lists;

/* Reads the attributes and checks that those of one kind have the same length. */
static tl_status read_lists(tl_eval *ctx, joint_lists *l) {
  l->feature = tl_eval_ints(ctx, TL_SYM_nodes_featureids);
  l->yes = tl_eval_ints(ctx, TL_SYM_nodes_truenodeids);
  l->no = tl_eval_ints(ctx, TL_SYM_nodes_falsenodeids);
  l->yes_leaf = tl_eval_ints(ctx, TL_SYM_nodes_trueleafs);
  l->no_leaf = tl_eval_ints(ctx, TL_SYM_nodes_falseleafs);
  l->missing = tl_eval_ints(ctx, TL_SYM_nodes_missing_value_tracks_true);
  l->target = tl_eval_ints(ctx, TL_SYM_leaf_targetids);
  l->roots = tl_eval_ints(ctx, TL_SYM_tree_roots);
  TL_TRY(tl_ml_read_floats(ctx, 0, TL_SYM_nodes_modes, &l->mode));
  TL_TRY(tl_ml_read_floats(ctx, 0, TL_SYM_nodes_splits, &l->split));
  TL_TRY(tl_ml_read_floats(ctx, 0, TL_SYM_leaf_weights, &l->weight));
  TL_TRY(tl_ml_read_floats(ctx, 0, TL_SYM_membership_values, &l->members));
  const uint32_t n = l->feature.n;
  if (n == 0 || l->yes.n != n || l->no.n != n || l->yes_leaf.n != n || l->no_leaf.n != n ||
      l->mode.n != n || l->split.n != n || (l->missing.n && l->missing.n != n))
    return tl_eval_fail(ctx, "the lists of nodes have different lengths");
  if (l->target.n != l->weight.n || l->members.n > UINT32_MAX)
    return tl_eval_fail(ctx, "the lists of leaves have different lengths");
  if (n > UINT32_MAX - 1 - l->target.n)
    return tl_eval_unsupported(ctx, "that many nodes");
  return TL_OK;
}

/* Returns the place of a child in the joint list; UINT32_MAX, which tl_forest_check refuses, when
 * it does not exist. */
static uint32_t child(const joint_lists *l, int64_t id, bool leaf) {
  const uint32_t n = leaf ? l->target.n : l->feature.n;
  if (id < 0 || id >= (int64_t)n)
    return UINT32_MAX;
  return leaf ? l->feature.n + (uint32_t)id : (uint32_t)id;
}

static tl_status read_node(tl_eval *ctx, const joint_lists *l, uint32_t i, tl_tree_node *out) {
  const double mode = l->mode.at[i];
  if (!(mode >= TL_TREE_LEQ && mode <= TL_TREE_MEMBER))
    return tl_eval_fail(ctx, "tree node %u has an unknown mode", i);
  if (l->feature.at[i] < 0 || l->feature.at[i] > INT32_MAX)
    return tl_eval_fail(ctx, "tree node %u looks at feature %lld", i, (long long)l->feature.at[i]);
  *out = (tl_tree_node){.value = l->split.at[i],
                        .feature = (uint32_t)l->feature.at[i],
                        .yes = child(l, l->yes.at[i], l->yes_leaf.at[i] != 0),
                        .no = child(l, l->no.at[i], l->no_leaf.at[i] != 0),
                        .mode = (uint8_t)mode,
                        .missing_yes = l->missing.n && l->missing.at[i]};
  return TL_OK;
}

/* Assigns the sets to the member nodes in order. They are listed one after the other, each ended by
 * a NaN. */
static tl_status give_sets(tl_eval *ctx, const joint_lists *l, tl_forest *f) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < l->feature.n; i++) {
    tl_tree_node *n = &f->nodes[i];
    if (n->mode != TL_TREE_MEMBER)
      continue;
    if (at >= l->members.n)
      return tl_eval_fail(ctx, "membership_values ends before the set of node %u", i);
    n->first = at;
    while (at < l->members.n && !isnan(l->members.at[at]))
      at++;
    n->n = at - n->first;
    at++;
  }
  f->members = l->members.at;
  return TL_OK;
}

static tl_status read_leaves(tl_eval *ctx, const joint_lists *l, uint64_t targets, tl_forest *f) {
  for (uint32_t i = 0; i < l->target.n; i++) {
    const uint32_t node = l->feature.n + i;
    if (l->target.at[i] < 0 || (uint64_t)l->target.at[i] >= targets)
      return tl_eval_fail(ctx, "leaf %u is for target %lld of %llu", i, (long long)l->target.at[i],
                          (unsigned long long)targets);
    f->nodes[node] = (tl_tree_node){.mode = TL_TREE_LEAF, .first = i, .n = 1};
    f->votes[i] = (tl_tree_vote){node, (uint32_t)l->target.at[i], l->weight.at[i]};
  }
  return TL_OK;
}

tl_status tl_forest_read_joint(tl_eval *ctx, int64_t features, uint64_t targets, tl_forest *out) {
  joint_lists l = {0};
  *out = (tl_forest){0};
  TL_TRY(read_lists(ctx, &l));
  out->n_nodes = l.feature.n + l.target.n;
  out->n_votes = l.target.n;
  out->n_roots = l.roots.n;
  out->nodes = tl_eval_scratch(ctx, out->n_nodes, sizeof *out->nodes);
  out->votes = tl_eval_scratch(ctx, out->n_votes, sizeof *out->votes);
  out->roots = tl_eval_scratch(ctx, out->n_roots, sizeof *out->roots);
  if (!out->nodes || !out->votes || !out->roots)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < l.feature.n; i++)
    TL_TRY(read_node(ctx, &l, i, &out->nodes[i]));
  TL_TRY(give_sets(ctx, &l, out));
  TL_TRY(read_leaves(ctx, &l, targets, out));
  for (uint32_t i = 0; i < l.roots.n; i++) {
    if (l.roots.at[i] < 0 || l.roots.at[i] >= (int64_t)l.feature.n)
      return tl_eval_fail(ctx, "root %lld does not exist", (long long)l.roots.at[i]);
    out->roots[i] = (uint32_t)l.roots.at[i];
  }
  return tl_forest_check(ctx, out, features);
}
