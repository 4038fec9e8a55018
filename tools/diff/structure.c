/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs nodes by structure. Two hashes describe a node: of what computes it, and of what is made of
 * it. Nodes with both in common are alike; what is left beside a change is paired with its
 * neighbours. Every scan of a list is bounded, so that the work stays near-linear. */
#include "ir/graph.h"
#include "support/hash.h"
#include "tools/diff/diff.h"

/* Uses of one value that are looked at. */
enum { NEAR = 64 };

typedef struct classed {
  uint64_t hash;
  uint32_t place; /* in the order of the graph */
  tl_node_id n;
} classed;

TL_VEC(item_vec, classed);

/* State of two graphs. */
typedef struct structure {
  tl_pairs *p;
  const tl_graph *g[2];
} structure;

/* ---- hashes ---------------------------------------------------------------------------------- */

/* Returns the hash of what computes a node. */
static uint64_t below(const structure *s, int side, tl_node_id n) {
  const tl_module *m = s->p->m[side];
  const tl_node *node = tl_node_get(m, n);
  if (node->n_results)
    return s->p->hashes[side][node->results];
  uint64_t h = 3;
  for (uint32_t i = 0; i < node->n_operands; i++)
    h = tl_hash_mix(h, s->p->hashes[side][tl_operand(m, n, i)]);
  return h;
}

/* Returns the hash of being an output of a graph: of a body, that of its place and of what is made
 * of its node. */
static uint64_t output_hash(const structure *s, int side, const tl_graph *g) {
  const tl_module *m = s->p->m[side];
  if (g == s->g[side])
    return 5;
  const tl_node *owner = tl_node_get(m, g->owner);
  uint64_t place = 0;
  for (uint32_t i = 0; i < owner->n_attrs; i++) {
    const tl_attr *a = &owner->attrs[i];
    tl_sv name = tl_sym(m, a->name);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      if (a->u.ids[k] == g->id)
        place = tl_hash_bytes(name.p, name.n, k + 2u);
    if (a->kind == TL_ATTR_GRAPH && a->u.g == g->id)
      place = tl_hash_bytes(name.p, name.n, 1);
  }
  return tl_hash_mix(s->p->above[side][g->owner], place);
}

/* Returns the hash of one use; sums of them do not depend on their order. */
static uint64_t use_hash(const structure *s, int side, tl_use_id u, uint32_t result) {
  const tl_module *m = s->p->m[side];
  const tl_node *user = tl_node_get(m, tl_use_get(m, u)->user);
  uint64_t h = tl_hash_mix(result + 1u, u - user->operands);
  return tl_hash_mix(h, user->op == TL_OP_RETURN
                            ? output_hash(s, side, tl_graph_get(m, user->graph))
                            : s->p->above[side][tl_use_get(m, u)->user]);
}

static void hash_above(structure *s, int side, const tl_graph *g);

static void hash_bodies(structure *s, int side, const tl_node *node) {
  const tl_module *m = s->p->m[side];
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      hash_above(s, side, tl_graph_get(m, a->u.g));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      hash_above(s, side, tl_graph_get(m, a->u.ids[k]));
  }
}

/* Walks backwards, so that users come before what they use, those in bodies as well. The op of a
 * node is part of the hash of what is made of its operands. */
static void hash_above(structure *s, int side, const tl_graph *g) {
  const tl_module *m = s->p->m[side];
  for (tl_node_id n = g->last; n; n = tl_node_get(m, n)->previous) {
    const tl_node *node = tl_node_get(m, n);
    tl_sv name = tl_op_name(m, node->op);
    uint64_t h = tl_hash_bytes(name.p, name.n, node->n_results);
    for (uint32_t i = 0; i < node->n_results; i++)
      TL_FOR_USES(m, node->results + i, u)
        h += use_hash(s, side, u, i);
    s->p->above[side][n] = tl_hash_mix(h, node->n_operands);
    hash_bodies(s, side, node);
  }
}

/* Makes hashes of what computes each value, once for all graphs. */
static bool open_below(tl_pairs *p) {
  for (int s = 0; s < 2; s++) {
    const tl_module *m = p->m[s];
    if (p->hashes[s])
      continue;
    p->hashes[s] = calloc(tl_module_value_end(m) + 1u, sizeof(uint64_t));
    if (!p->hashes[s])
      return false;
    for (uint32_t i = 0; i < m->graphs.n; i++)
      if (m->graphs.at[i]->kind == TL_GRAPH_ROOT && !m->graphs.at[i]->erased)
        tl_graph_content_hashes(m, m->graphs.at[i]->id, p->hashes[s]);
  }
  return true;
}

static bool open(structure *x) {
  if (!open_below(x->p))
    return false;
  for (int s = 0; s < 2; s++) {
    const tl_module *m = x->p->m[s];
    if (!x->p->above[s])
      x->p->above[s] = calloc(tl_module_node_end(m) + 1u, sizeof(uint64_t));
    if (!x->p->class[s])
      x->p->class[s] = calloc(tl_module_node_end(m) + 1u, sizeof(uint64_t));
    if (!x->p->above[s] || !x->p->class[s])
      return false;
    hash_above(x, s, x->g[s]);
  }
  return true;
}

/* ---- nodes that are alike -------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b) {
  const classed *x = a, *y = b;
  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Lists the nodes without partners by class. */
static bool list_classes(structure *s, int side, item_vec *v) {
  uint32_t place = 0;
  TL_FOR_NODES(s->p->m[side], s->g[side], n) {
    classed it = {s->p->class[side][n], place++, n};
    if (!s->p->node[side][n] && !item_vec_push(v, it))
      return false;
  }
  if (v->n)
    qsort(v->at, v->n, sizeof *v->at, compare_items);
  return true;
}

static uint32_t first_of_class(const item_vec *v, uint64_t hash) {
  uint32_t low = 0, high = v->n;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (v->at[mid].hash < hash)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* Returns how many operands of two nodes are partners. */
static uint32_t shared_operands(const tl_pairs *p, tl_node_id a, tl_node_id b) {
  uint32_t n = tl_node_get(p->m[0], a)->n_operands, k = tl_node_get(p->m[1], b)->n_operands;
  uint32_t count = 0;
  for (uint32_t i = 0; i < n && i < k && i < NEAR; i++) {
    tl_value_id v = tl_operand(p->m[0], a, i);
    count += v && p->value[0][v] == tl_operand(p->m[1], b, i);
  }
  return count;
}

/* Returns the node of b that uses the partner of an operand of a at the same place, and shares most
 * operands with a. class: it must be of the class of a, else of the same op, or of one that it can
 * become. 0: none. */
static tl_node_id beside(const structure *s, tl_node_id a, bool class) {
  const tl_pairs *p = s->p;
  const tl_node *node = tl_node_get(p->m[0], a);
  tl_node_id best = 0;
  uint32_t most = 0;
  for (uint32_t i = 0; i < node->n_operands && i < NEAR; i++) {
    tl_value_id v = tl_operand(p->m[0], a, i);
    tl_value_id w = v ? p->value[0][v] : 0;
    uint32_t seen = 0;
    for (tl_use_id u = w ? tl_value_get(p->m[1], w)->first_use : 0; u && seen < NEAR;
         u = tl_use_get(p->m[1], u)->next, seen++) {
      tl_node_id b = tl_use_get(p->m[1], u)->user;
      const tl_node *other = tl_node_get(p->m[1], b);
      if (p->node[1][b] || other->graph != s->g[1]->id || other->op == TL_OP_RETURN ||
          u - other->operands != i ||
          !(class ? s->p->class[1][b] == s->p->class[0][a] : tl_kin_op(p, a, b)))
        continue;
      uint32_t shared = shared_operands(p, a, b);
      if (shared > most) {
        best = b;
        most = shared;
      }
    }
  }
  return best;
}

/* Returns the node of the class of a, among the items from `first` on, that has the name of a. */
static tl_node_id same_named(const structure *s, tl_node_id a, const item_vec *v, uint32_t first) {
  const tl_pairs *p = s->p;
  tl_sv name = tl_sym(p->m[0], tl_node_get(p->m[0], a)->name);
  for (uint32_t k = first; name.n && k < v->n && k - first < NEAR; k++) {
    tl_node_id b = v->at[k].n;
    if (v->at[k].hash != v->at[first].hash)
      break;
    if (!p->node[1][b] && tl_sv_eq(name, tl_sym(p->m[1], tl_node_get(p->m[1], b)->name)))
      return b;
  }
  return 0;
}

/* Pairs nodes of one class, in order: among several, one that uses the same first, then one of the
 * same name. */
static void match_classes(structure *s) {
  tl_pairs *p = s->p;
  item_vec v = {0};
  bool listed = list_classes(s, 1, &v);
  uint32_t *next = calloc(v.n + 1u, sizeof *next);
  p->failed |= !listed || !next;
  for (tl_node_id a = next ? s->g[0]->first : 0; a; a = tl_node_get(p->m[0], a)->next) {
    uint32_t first = p->node[0][a] ? v.n : first_of_class(&v, s->p->class[0][a]);
    if (first == v.n || v.at[first].hash != s->p->class[0][a])
      continue;
    tl_node_id b = beside(s, a, true);
    b = b ? b : same_named(s, a, &v, first);
    uint32_t k = first + next[first];
    while (!b && k < v.n && v.at[k].hash == s->p->class[0][a] && p->node[1][v.at[k].n])
      k++;
    if (!b && k < v.n && v.at[k].hash == s->p->class[0][a])
      b = v.at[k].n;
    next[first] = k - first;
    if (b && tl_same_op(p, a, b))
      tl_pairs_nodes(p, a, b);
  }
  free(next);
  item_vec_release(&v);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

static void match_forward(structure *s) {
  tl_pairs *p = s->p;
  TL_FOR_NODES(p->m[0], s->g[0], a) {
    tl_node_id b = p->node[0][a] ? 0 : beside(s, a, false);
    if (b)
      tl_pairs_nodes(p, a, b);
  }
}

/* Returns the node that makes operand i of b, if it may be the partner of a. */
static tl_node_id maker(const structure *s, tl_node_id a, tl_node_id b, uint32_t i) {
  const tl_pairs *p = s->p;
  tl_value_id w = b ? tl_operand(p->m[1], b, i) : 0;
  tl_node_id n = w ? tl_value_producer(p->m[1], w) : 0;
  return n && !p->node[1][n] && tl_node_get(p->m[1], n)->graph == s->g[1]->id && tl_kin_op(p, a, n)
             ? n
             : 0;
}

/* Returns the node of b whose result a partner of a user of a uses at the same place. */
static tl_node_id behind(const structure *s, tl_node_id a) {
  const tl_pairs *p = s->p;
  const tl_node *node = tl_node_get(p->m[0], a);
  for (uint32_t r = 0; r < node->n_results && r < NEAR; r++) {
    uint32_t seen = 0;
    for (tl_use_id u = tl_value_get(p->m[0], node->results + r)->first_use; u && seen < NEAR;
         u = tl_use_get(p->m[0], u)->next, seen++) {
      tl_node_id user = tl_use_get(p->m[0], u)->user;
      bool returns = user == s->g[0]->ret;
      tl_node_id b = maker(s, a, returns ? s->g[1]->ret : p->node[0][user],
                           u - tl_node_get(p->m[0], user)->operands);
      if (b)
        return b;
    }
  }
  return 0;
}

static void match_backward(structure *s) {
  tl_pairs *p = s->p;
  for (tl_node_id a = s->g[0]->last; a; a = tl_node_get(p->m[0], a)->previous) {
    tl_node_id b = p->node[0][a] ? 0 : behind(s, a);
    if (b)
      tl_pairs_nodes(p, a, b);
  }
}

/* ---- all together ---------------------------------------------------------------------------- */

bool tl_pairs_has_lonely(const tl_pairs *p, int side, const tl_graph *g) {
  TL_FOR_NODES(p->m[side], g, n)
    if (!p->node[side][n])
      return true;
  return false;
}

/* Sets the classes: below and above, or below alone. */
static void classify(structure *x, bool above) {
  for (int s = 0; s < 2; s++)
    TL_FOR_NODES(x->p->m[s], x->g[s], n)
      x->p->class[s][n] = tl_hash_mix(below(x, s, n), above ? x->p->above[s][n] : 0);
}

bool tl_pairs_alike(tl_pairs *p, const tl_graph *a, const tl_graph *b) {
  structure s = {.p = p, .g = {a, b}};
  if (open(&s)) {
    classify(&s, true);
    match_classes(&s);
  } else {
    p->failed = true;
  }
  return !p->failed;
}

void tl_pairs_structure(tl_pairs *p, const tl_graph *a, const tl_graph *b) {
  structure s = {.p = p, .g = {a, b}};
  if (!tl_pairs_has_lonely(p, 0, a) || !tl_pairs_has_lonely(p, 1, b))
    return;
  if (open(&s)) {
    classify(&s, true);
    match_classes(&s);
    classify(&s, false);
    match_classes(&s);
    match_forward(&s);
    match_backward(&s);
    match_forward(&s);
  } else {
    p->failed = true;
  }
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Returns the hash of a constant, with its name if that counts. */
static uint64_t constant_hash(const tl_pairs *p, int side, tl_value_id v, bool named) {
  tl_sv name = tl_value_name(p->m[side], v);
  return tl_hash_mix(p->hashes[side][v], named ? tl_hash_bytes(name.p, name.n, 1) : 0);
}

static bool list_constants(structure *s, int side, bool named, item_vec *v) {
  const tl_u32_vec *all = &s->g[side]->constants;
  for (uint32_t i = 0; i < all->n; i++) {
    tl_value_id c = all->at[i];
    if (c && !s->p->value[side][c] &&
        !item_vec_push(v, (classed){constant_hash(s->p, side, c, named), i, c}))
      return false;
  }
  if (v->n)
    qsort(v->at, v->n, sizeof *v->at, compare_items);
  return true;
}

/* Walks both lists by hash; of several with one, in their order. */
static void match_constants(structure *s, const item_vec *v, const item_vec *w) {
  for (uint32_t i = 0, k = 0; i < v->n && k < w->n;) {
    if (v->at[i].hash == w->at[k].hash)
      tl_pairs_values(s->p, v->at[i++].n, w->at[k++].n);
    else if (v->at[i].hash < w->at[k].hash)
      i++;
    else
      k++;
  }
}

bool tl_pairs_constants(tl_pairs *p, const tl_graph *a, const tl_graph *b, bool named) {
  structure s = {.p = p, .g = {a, b}};
  item_vec v = {0}, w = {0};
  if (open_below(p) && list_constants(&s, 0, named, &v) && list_constants(&s, 1, named, &w))
    match_constants(&s, &v, &w);
  else
    p->failed = true;
  item_vec_release(&v);
  item_vec_release(&w);
  return !p->failed;
}
