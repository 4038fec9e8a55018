/* SPDX-License-Identifier: Apache-2.0 */
/* Computes regions of a training step and the canonical order of its nodes (regions.h). */
#include "passes/train/step/regions.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/edit/copy.h"

/* Operands of a node, and what its bodies take from around them. */
typedef struct reader {
  const tl_module *m;
  tl_u32_vec values;
} reader;

/* all: keeps captures from every graph; else only those from the step's graph. */
static bool add_captures(const tl_module *m, const tl_graph *body, bool all, tl_u32_vec *values) {
  uint32_t first = values->n;
  if (!tl_graph_captures(m, body, values))
    return false;
  if (all)
    return true;
  uint32_t n = first; /* what the body of a body takes from the body is no business of ours */
  for (uint32_t i = first; i < values->n; i++)
    if (tl_value_graph(m, values->at[i]) == tl_step_graph(m)->id)
      values->at[n++] = values->at[i];
  values->n = n;
  return true;
}

/* Lists operands, then captures of the bodies in attributes. */
static bool list_values(const tl_module *m, tl_node_id n, bool all, tl_u32_vec *out) {
  const tl_node *node = tl_node_get(m, n);
  bool ok = true;
  out->n = 0;
  for (uint32_t i = 0; i < node->n_operands && ok; i++)
    if (tl_operand(m, n, i))
      ok = tl_u32_vec_push(out, tl_operand(m, n, i));
  for (uint32_t i = 0; i < node->n_attrs && ok; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      ok = add_captures(m, tl_graph_get(m, a->u.g), all, out);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count && ok; k++)
      ok = add_captures(m, tl_graph_get(m, a->u.ids[k]), all, out);
  }
  return ok;
}

bool tl_train_node_values(const tl_module *m, tl_node_id n, tl_u32_vec *out) {
  return list_values(m, n, false, out);
}

bool tl_train_reads(const tl_module *m, tl_node_id n, tl_u32_vec *out) {
  return list_values(m, n, true, out);
}

bool tl_is_running_statistic(const tl_module *m, tl_use_id u) {
  tl_node_id n = tl_use_get(m, u)->user;
  return tl_node_get(m, n)->op == TL_OP_BatchNormalization &&
         u - tl_node_get(m, n)->operands >= 3 &&
         tl_node_attr_int(m, n, TL_SYM_training_mode, 0) != 0;
}

static bool read_node(reader *r, tl_node_id n) { return tl_train_node_values(r->m, n, &r->values); }

/* ---- what something depends on --------------------------------------------------------------- */

static bool is_marked(const tl_module *m, tl_node_id n, const uint8_t *marks, uint8_t bit) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (marks[node->results + i] & bit)
      return true;
  return false;
}

/* Marks sources in one sweep from the end, since users come after producers. wanted: nodes to start
 * from. */
static bool sweep_back(const tl_module *m, const tl_node_id *wanted, uint32_t n_wanted,
                       uint8_t *marks, uint8_t bit, bool *taken) {
  const tl_graph *g = tl_step_graph(m);
  reader r = {.m = m};
  bool ok = true;
  for (uint32_t i = 0; i < n_wanted; i++)
    taken[wanted[i]] = true;
  for (tl_node_id n = g->last; n && ok; n = tl_node_get(m, n)->previous) {
    if (!taken[n] && !is_marked(m, n, marks, bit))
      continue;
    taken[n] = true;
    ok = read_node(&r, n);
    for (uint32_t i = 0; i < r.values.n; i++)
      marks[r.values.at[i]] |= bit;
  }
  tl_u32_vec_release(&r.values);
  return ok;
}

tl_status tl_train_mark_all_sources(const tl_module *m, const tl_value_id *of, uint32_t n,
                                    uint8_t *marks, uint8_t bit) {
  bool *taken = calloc(tl_module_node_end(m), sizeof *taken);
  tl_node_id *wanted = calloc((size_t)n + 1, sizeof *wanted);
  uint32_t n_wanted = 0;
  for (uint32_t i = 0; i < n && wanted; i++)
    if (of[i] && tl_value_producer(m, of[i]))
      wanted[n_wanted++] = tl_value_producer(m, of[i]);
  bool ok = taken && wanted && sweep_back(m, wanted, n_wanted, marks, bit, taken);
  free(taken);
  free(wanted);
  return ok ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_train_mark_sources(const tl_module *m, tl_value_id of, uint8_t *marks, uint8_t bit) {
  return tl_train_mark_all_sources(m, &of, 1, marks, bit);
}

tl_status tl_train_spread(const tl_module *m, uint8_t *marks) {
  reader r = {.m = m};
  bool ok = true;
  TL_FOR_NODES(m, tl_step_graph(m), n) {
    uint8_t all = 0;
    ok = ok && read_node(&r, n);
    for (uint32_t i = 0; i < r.values.n; i++)
      all |= marks[r.values.at[i]];
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      marks[tl_node_get(m, n)->results + i] |= all;
  }
  tl_u32_vec_release(&r.values);
  return ok ? TL_OK : TL_NO_MEMORY;
}

/* ---- regions --------------------------------------------------------------------------------- */

enum { BEFORE_GRAD = 1, AFTER_SEED = 2 };

typedef struct regions {
  const tl_module *m;
  tl_train_info *t;
  const uint8_t *forward; /* by value: `bit` is set when the loss depends on it */
  uint8_t bit;
  uint8_t *marks;  /* by value */
  uint32_t *owner; /* by value: the gradient it depends on */
  bool *grad;      /* by node: a gradient depends on it */
  tl_node_id *producers;
} regions;

/* The owner of a node is the only gradient among its operands' owners, or TL_TRAIN_SHARED. */
static uint32_t join(uint32_t a, uint32_t b) {
  if (a == TL_TRAIN_NO_OWNER || a == b)
    return b;
  return b == TL_TRAIN_NO_OWNER ? a : TL_TRAIN_SHARED;
}

/* region and owner live in `arena`, for the caller; the other tables are temporary. */
static bool make_tables(regions *r, tl_arena *arena) {
  uint32_t nodes = tl_module_node_end(r->m), values = tl_module_value_end(r->m);
  r->t->n_nodes = nodes;
  r->t->region = tl_arena_calloc(arena, nodes, sizeof *r->t->region);
  r->t->owner = tl_arena_calloc(arena, nodes, sizeof *r->t->owner);
  r->marks = calloc(values, sizeof *r->marks);
  r->owner = malloc(values * sizeof *r->owner);
  r->grad = calloc(nodes, sizeof *r->grad);
  r->producers = calloc((size_t)r->t->n + 1, sizeof *r->producers);
  if (!r->t->region || !r->t->owner || !r->marks || !r->owner || !r->grad || !r->producers)
    return false;
  for (uint32_t i = 0; i < nodes; i++)
    r->t->owner[i] = TL_TRAIN_NO_OWNER;
  for (uint32_t i = 0; i < values; i++)
    r->owner[i] = TL_TRAIN_NO_OWNER;
  return true;
}

/* Marks what the raw gradients depend on; a gradient of rows from outside counts by its indices. */
static bool look_back(regions *r) {
  tl_train_info *t = r->t;
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->n; i++) {
    if (t->grads[i].producer)
      r->producers[n++] = t->grads[i].producer;
    tl_node_id rows = t->grads[i].indices ? tl_value_producer(r->m, t->grads[i].indices) : 0;
    if (rows && !t->grads[i].producer)
      r->producers[n++] = rows;
  }
  return sweep_back(r->m, r->producers, n, r->marks, BEFORE_GRAD, r->grad);
}

/* Returns the region of a node. A node that depends on the seed and leads to a gradient is
 * backward, even if the loss needs it, too. */
static tl_train_region region_of(const regions *r, tl_node_id n, bool seeded, uint32_t owner) {
  bool loss = is_marked(r->m, n, r->forward, r->bit) ||
              (r->t->loss && tl_value_producer(r->m, r->t->loss) == n);
  if (r->grad[n] && (seeded || !loss))
    return TL_REGION_BACKWARD;
  if (loss)
    return TL_REGION_FORWARD;
  return owner == TL_TRAIN_NO_OWNER ? TL_REGION_NONE : TL_REGION_UPDATE;
}

/* Walks the nodes in order and gives each its region and owner, which depend on those of its
 * operands. */
static bool look_ahead(regions *r) {
  const tl_module *m = r->m;
  reader read = {.m = m};
  bool ok = true;
  if (r->t->seed)
    r->marks[r->t->seed] |= AFTER_SEED;
  TL_FOR_NODES(m, tl_step_graph(m), n) {
    const tl_node *node = tl_node_get(m, n);
    uint32_t owner = TL_TRAIN_NO_OWNER;
    bool seeded = false;
    ok = ok && read_node(&read, n);
    for (uint32_t i = 0; i < read.values.n; i++) {
      owner = join(owner, r->owner[read.values.at[i]]);
      seeded = seeded || r->marks[read.values.at[i]] & AFTER_SEED;
    }
    tl_train_region region = region_of(r, n, seeded, owner);
    r->t->region[n] = (uint8_t)region;
    r->t->owner[n] = region == TL_REGION_UPDATE ? owner : TL_TRAIN_NO_OWNER;
    for (uint32_t i = 0; i < node->n_results; i++) {
      if (region == TL_REGION_UPDATE)
        r->owner[node->results + i] = owner;
      if (seeded)
        r->marks[node->results + i] |= AFTER_SEED;
    }
  }
  tl_u32_vec_release(&read.values);
  return ok;
}

/* Marks what the loss depends on, if the caller has not done so. */
static bool find_forward(regions *r, tl_arena *arena) {
  uint8_t *marks = tl_arena_calloc(arena, tl_module_value_end(r->m), sizeof *marks);
  r->forward = marks;
  r->bit = 1;
  return marks && tl_train_mark_sources(r->m, r->t->loss, marks, r->bit) == TL_OK;
}

tl_status tl_train_find_regions(const tl_module *m, tl_arena *arena, tl_train_info *t,
                                const uint8_t *forward, uint8_t bit) {
  regions r = {.m = m, .t = t, .forward = forward, .bit = bit};
  bool ok = make_tables(&r, arena) && (forward || find_forward(&r, arena));
  for (uint32_t i = 0; ok && i < t->n; i++)
    r.owner[t->grads[i].raw] = join(r.owner[t->grads[i].raw], i);
  ok = ok && look_back(&r) && look_ahead(&r);
  free(r.marks);
  free(r.owner);
  free(r.grad);
  free(r.producers);
  return ok ? TL_OK : TL_NO_MEMORY;
}

/* ---- an order of nodes ----------------------------------------------------------------------- */

typedef struct place {
  uint64_t hash; /* of what the node computes */
  uint32_t depth;
  uint32_t lead; /* the input that its first operand comes from, first operand by first operand */
  tl_node_id node;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a;
  const place *y = b;
  if (x->depth != y->depth)
    return x->depth < y->depth ? -1 : 1;
  if (x->lead != y->lead)
    return x->lead < y->lead ? -1 : 1;
  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node; /* they compute the same */
}

/* Fills the depth of each node, the longest path from an input, and its lead. */
static bool find_depths(const tl_module *m, place *at, uint32_t *depth, uint32_t *lead) {
  reader r = {.m = m};
  uint32_t n_places = 0;
  bool ok = true;
  const tl_graph *g = tl_step_graph(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    lead[g->inputs.at[i]] = i + 1;
  TL_FOR_NODES(m, tl_step_graph(m), n) {
    const tl_node *node = tl_node_get(m, n);
    uint32_t most = 0;
    ok = ok && read_node(&r, n);
    for (uint32_t i = 0; i < r.values.n; i++)
      most = depth[r.values.at[i]] > most ? depth[r.values.at[i]] : most;
    uint32_t first = 0;
    for (uint32_t i = 0; i < r.values.n && !first; i++)
      first = lead[r.values.at[i]];
    for (uint32_t i = 0; i < node->n_results; i++) {
      depth[node->results + i] = most + 1;
      lead[node->results + i] = first;
    }
    at[n_places++] = (place){.depth = most, .lead = first, .node = n};
  }
  tl_u32_vec_release(&r.values);
  return ok;
}

/* Nodes of the same depth, lead and hash compute the same, so that their order does not matter. */
tl_node_id *tl_train_canonical_order(const tl_module *m, tl_arena *arena, uint32_t *n) {
  const tl_graph *g = tl_step_graph(m);
  uint32_t values = tl_module_value_end(m);
  place *at = calloc((size_t)g->n_nodes + 1, sizeof *at);
  uint32_t *depth = calloc(values, sizeof *depth);
  uint32_t *lead = calloc(values, sizeof *lead);
  uint64_t *hashes = calloc(values, sizeof *hashes);
  tl_node_id *order = tl_arena_calloc(arena, (size_t)g->n_nodes + 1, sizeof *order);
  bool ok = at && depth && lead && hashes && order && find_depths(m, at, depth, lead);
  *n = g->n_nodes;
  if (ok) {
    tl_graph_value_hashes(m, g->id, hashes);
    for (uint32_t i = 0; i < *n; i++)
      at[i].hash = hashes[tl_result(m, at[i].node, 0)];
    qsort(at, *n, sizeof *at, by_place);
    for (uint32_t i = 0; i < *n; i++)
      order[i] = at[i].node;
  }
  free(at);
  free(depth);
  free(lead);
  free(hashes);
  return ok ? order : NULL;
}
