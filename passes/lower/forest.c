/* SPDX-License-Identifier: Apache-2.0 */
/* Reads decision trees from attributes (forest.h). The lists may be anything: every number in them
 * is checked before it is used as an index. */
#include "passes/lower/forest.h"

#include <stdlib.h>

#include "ir/ops_gen.h"

/* A node by its tree and its number there; sorted for binary search. */
typedef struct address {
  int64_t tree;
  int64_t id;
  uint32_t node;
} address;

/* What the reader needs besides the trees. */
typedef struct reader {
  tl_pass *p;
  tl_module *m;
  tl_node_id node;
  tl_trees *t;
  address *index; /* [t->n] */
  const char *why;
} reader;

static tl_status refuse(reader *r, const char *why) {
  r->why = why;
  return TL_OK;
}

tl_status tl_attr_numbers_read(tl_pass *p, tl_module *m, tl_node_id n, tl_symbol floats,
                               tl_symbol tensor, tl_attr_numbers *out) {
  const tl_attr *a = tl_node_attr(m, n, floats);
  const tl_attr *b = tl_node_attr(m, n, tensor);
  *out = (tl_attr_numbers){0};
  bool listed = a && a->kind == TL_ATTR_FLOATS && a->count;
  const tl_tensor *t = !listed && b && b->kind == TL_ATTR_TENSOR ? tl_tensor_get(m, b->u.t) : NULL;
  uint64_t count = listed ? a->count : t ? tl_tensor_elements(m, t) : 0;
  if (!count || count > INT32_MAX)
    return TL_OK;
  double *at = tl_arena_calloc(p->scratch, count, sizeof *at);
  if (!at)
    return tl_no_memory(m);
  for (uint64_t i = 0; i < count; i++)
    if (listed)
      at[i] = (double)a->u.fs[i];
    else if (!tl_tensor_float_at(m, t, i, &at[i]))
      return TL_OK;
  *out = (tl_attr_numbers){at, (uint32_t)count};
  return TL_OK;
}

static int compare_addresses(const void *a, const void *b) {
  const address *p = a, *q = b;
  if (p->tree != q->tree)
    return p->tree < q->tree ? -1 : 1;
  return p->id != q->id ? (p->id < q->id ? -1 : 1) : 0;
}

/* Returns a node's position, or -1. */
static int64_t find(const reader *r, int64_t tree, int64_t id) {
  const address key = {tree, id, 0};
  const address *found = bsearch(&key, r->index, r->t->n, sizeof *r->index, compare_addresses);
  return found ? (int64_t)found->node : -1;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tl_branch branch_of(tl_sv text) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                      "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (int i = 0; i < TL_BRANCH_LEAF; i++)
    if (tl_sv_is(text, names[i]))
      return (tl_branch)i;
  return TL_BRANCH_LEAF;
}

static tl_status make_index(reader *r, tl_int_list tree, tl_int_list id) {
  r->index = tl_arena_calloc(r->p->scratch, r->t->n, sizeof *r->index);
  if (!r->index)
    return tl_no_memory(r->m);
  for (uint32_t i = 0; i < r->t->n; i++)
    r->index[i] = (address){tree.at[i], id.at[i], i};
  qsort(r->index, r->t->n, sizeof *r->index, compare_addresses);
  for (uint32_t i = 1; i < r->t->n; i++)
    if (compare_addresses(&r->index[i - 1], &r->index[i]) == 0)
      return refuse(r, "a node is there twice");
  return TL_OK;
}

static tl_status make_room(reader *r) {
  tl_trees *t = r->t;
  tl_arena *a = r->p->scratch;
  t->feature = tl_arena_calloc(a, t->n, sizeof *t->feature);
  t->yes = tl_arena_calloc(a, t->n, sizeof *t->yes);
  t->no = tl_arena_calloc(a, t->n, sizeof *t->no);
  t->roots = tl_arena_calloc(a, t->n, sizeof *t->roots);
  t->value = tl_arena_calloc(a, t->n, sizeof *t->value);
  t->missing_yes = tl_arena_calloc(a, t->n, 1);
  bool ok = t->feature && t->yes && t->no && t->roots && t->value && t->missing_yes;
  return ok ? TL_OK : tl_no_memory(r->m);
}

/* The lists of properties, each as long as that of the ids; `missing` may be absent. */
typedef struct lists {
  tl_int_list tree, id, feature, yes, no, missing;
  tl_attr_numbers value;
  const tl_attr *mode;
} lists;

static tl_status read_lists(reader *r, lists *l) {
  l->tree = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_treeids);
  l->id = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_nodeids);
  l->feature = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_featureids);
  l->yes = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_truenodeids);
  l->no = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_falsenodeids);
  l->missing = tl_node_attr_ints(r->m, r->node, TL_SYM_nodes_missing_value_tracks_true);
  l->mode = tl_node_attr(r->m, r->node, TL_SYM_nodes_modes);
  TL_TRY(tl_attr_numbers_read(r->p, r->m, r->node, TL_SYM_nodes_values,
                              TL_SYM_nodes_values_as_tensor, &l->value));
  uint32_t n = l->id.n;
  bool fits = n && l->tree.n == n && l->feature.n == n && l->yes.n == n && l->no.n == n &&
              l->value.n == n && (!l->missing.n || l->missing.n == n) && l->mode &&
              l->mode->kind == TL_ATTR_STRINGS && l->mode->count == n;
  r->t->n = n;
  return fits ? TL_OK : refuse(r, "its lists of nodes are not of one length");
}

static tl_status read_node(reader *r, const lists *l, uint32_t i, int64_t features) {
  tl_trees *t = r->t;
  tl_sv mode = tl_sym(r->m, l->mode->u.ids[i]);
  tl_branch how = branch_of(mode);
  t->yes[i] = t->no[i] = i;
  if (how == TL_BRANCH_LEAF)
    return tl_sv_is(mode, "LEAF") ? TL_OK : refuse(r, "a comparison is not known");
  if (t->how != TL_BRANCH_LEAF && t->how != how)
    return refuse(r, "its nodes compare in several ways");
  t->how = how;
  t->value[i] = l->value.at[i];
  t->feature[i] = l->feature.at[i];
  t->yes[i] = find(r, l->tree.at[i], l->yes.at[i]);
  t->no[i] = find(r, l->tree.at[i], l->no.at[i]);
  t->missing_yes[i] = l->missing.n && l->missing.at[i];
  t->tracks = t->tracks || t->missing_yes[i];
  if (t->feature[i] < 0 || (features >= 0 && t->feature[i] >= features))
    return refuse(r, "a node looks at a feature that does not exist");
  return t->yes[i] >= 0 && t->no[i] >= 0 ? TL_OK : refuse(r, "a child does not exist");
}

/* The root of a tree is its first node in the lists. */
static void find_roots(reader *r) {
  for (uint32_t i = 0; i < r->t->n;) {
    uint32_t first = r->index[i].node, k = i;
    for (; k < r->t->n && r->index[k].tree == r->index[i].tree; k++)
      first = r->index[k].node < first ? r->index[k].node : first;
    r->t->roots[r->t->n_roots++] = first;
    i = k;
  }
}

/* Finds the longest way from a root to a leaf. More steps than there are nodes mean a cycle, or a
 * node with several parents. */
static tl_status find_depth(reader *r) {
  tl_trees *t = r->t;
  uint32_t *level = tl_arena_calloc(r->p->scratch, t->n, sizeof *level);
  uint32_t *stack = tl_arena_calloc(r->p->scratch, (size_t)t->n * 2 + 1, sizeof *stack);
  uint64_t steps = 0;
  uint32_t top = 0;
  if (!level || !stack)
    return tl_no_memory(r->m);
  for (uint32_t i = 0; i < t->n_roots; i++) {
    stack[top++] = (uint32_t)t->roots[i];
    while (top) {
      uint32_t n = stack[--top];
      if (t->yes[n] == n)
        continue;
      if (++steps > t->n) /* each node has one parent, or is a root */
        return refuse(r, "a node has several parents");
      const int64_t children[] = {t->yes[n], t->no[n]};
      for (int k = 0; k < 2; k++) {
        level[children[k]] = level[n] + 1;
        t->depth = level[n] + 1 > t->depth ? level[n] + 1 : t->depth;
        stack[top++] = (uint32_t)children[k];
      }
    }
  }
  return TL_OK;
}

/* ---- votes ----------------------------------------------------------------------------------- */

static tl_status read_votes(reader *r, const tl_vote_attrs *names, int64_t targets) {
  tl_trees *t = r->t;
  tl_int_list tree = tl_node_attr_ints(r->m, r->node, names->tree);
  tl_int_list node = tl_node_attr_ints(r->m, r->node, names->node);
  tl_int_list target = tl_node_attr_ints(r->m, r->node, names->target);
  tl_attr_numbers weight;
  TL_TRY(tl_attr_numbers_read(r->p, r->m, r->node, names->weight, names->weight_tensor, &weight));
  if (!tree.n || node.n != tree.n || target.n != tree.n || weight.n != tree.n)
    return refuse(r, "its lists of votes are not of one length");
  t->n_votes = tree.n;
  t->vote_node = tl_arena_calloc(r->p->scratch, tree.n, sizeof *t->vote_node);
  t->vote_target = tl_arena_calloc(r->p->scratch, tree.n, sizeof *t->vote_target);
  t->vote_weight = tl_arena_calloc(r->p->scratch, tree.n, sizeof *t->vote_weight);
  if (!t->vote_node || !t->vote_target || !t->vote_weight)
    return tl_no_memory(r->m);
  for (uint32_t i = 0; i < tree.n; i++) {
    t->vote_node[i] = find(r, tree.at[i], node.at[i]);
    t->vote_target[i] = target.at[i];
    t->vote_weight[i] = weight.at[i];
    if (t->vote_node[i] < 0 || t->yes[t->vote_node[i]] != t->vote_node[i])
      return refuse(r, "a vote is not that of a leaf");
    if (target.at[i] < 0 || target.at[i] >= targets)
      return refuse(r, "a vote is for a target that does not exist");
  }
  return TL_OK;
}

static tl_status read_all(reader *r, const tl_trees_wanted *w) {
  lists l;
  TL_TRY(read_lists(r, &l));
  if (!r->why)
    TL_TRY(make_index(r, l.tree, l.id));
  if (!r->why)
    TL_TRY(make_room(r));
  for (uint32_t i = 0; i < r->t->n && !r->why; i++)
    TL_TRY(read_node(r, &l, i, w->features));
  if (r->why)
    return TL_OK;
  find_roots(r);
  TL_TRY(find_depth(r));
  return r->why ? TL_OK : read_votes(r, w->names, w->targets);
}

tl_status tl_trees_read(tl_pass *p, tl_module *m, tl_node_id n, const tl_trees_wanted *wanted,
                        tl_trees *out) {
  *out = (tl_trees){.how = TL_BRANCH_LEAF};
  reader r = {.p = p, .m = m, .node = n, .t = out};
  TL_TRY(read_all(&r, wanted));
  out->why = r.why;
  return TL_OK;
}
