/* SPDX-License-Identifier: Apache-2.0 */
/* common-subexpressions: merges nodes that compute the same from the same operands, and constants.
 * Nodes that compute the size of the same named dim are merged too, whatever value they ask, and
 * so are constants with the same contents. Graph by graph: a body does not reuse values around it.
 *
 * Requires:  nothing.            Keeps: the first of equals, names of graph outputs.
 * After:     no two pure nodes of a graph are equal, unless both give outputs their names.
 * Cost:      one sweep with a hash table, O(nodes + edges + bytes of small constants).
 * Tests:     tests/golden/common-subexpressions/, subexpressions-expanded/ */
#include "ir/tensor_expr.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "support/hash.h"
#include "support/map.h"
#include "support/pages.h"

/* Constants up to this size are compared by contents, longer ones only as views. */
enum { SMALL_BYTES = 1024 };

/* Open addressing over node or value ids; slots keep the hash so that a probe rarely compares. */
typedef struct seen_slot {
  uint32_t id; /* 0: free */
  uint32_t hash;
} seen_slot;

typedef struct seen {
  seen_slot *slots;
  uint32_t mask;
} seen;

typedef struct merging {
  tl_pass *p;
  tl_module *m;
  tl_merge_facts facts;
  bool stopped; /* the rewrite limit is reached */
} merging;

static tl_status seen_create(merging *s, uint32_t n, seen *out) {
  uint32_t slots = 16;
  while (slots / 2 < n && slots < UINT32_MAX / 2)
    slots *= 2;
  out->slots = tl_pages_alloc(slots, sizeof *out->slots);
  out->mask = slots - 1;
  if (out->slots)
    return TL_OK;
  return tl_no_memory(s->m);
}

static void seen_destroy(seen *t) { tl_pages_free(t->slots, t->mask + 1u, sizeof *t->slots); }

typedef bool (*equal_fn)(const tl_module *m, uint32_t a, uint32_t b);

/* Returns the id that was entered first and equals `id`; enters `id` and returns it if there is
 * none. The table has at least twice as many slots as entries, so probing ends. */
static uint32_t seen_enter(seen *t, const tl_module *m, uint32_t id, uint64_t h, equal_fn equal) {
  uint32_t hash = (uint32_t)(h ^ h >> 32);
  uint32_t slot = hash & t->mask;
  for (; t->slots[slot].id; slot = (slot + 1) & t->mask)
    if (t->slots[slot].hash == hash && equal(m, t->slots[slot].id, id))
      return t->slots[slot].id;
  t->slots[slot] = (seen_slot){id, hash};
  return id;
}

static const tl_tensor *data_of(const tl_module *m, tl_value_id v) {
  return tl_tensor_get(m, tl_value_get(m, v)->tensor);
}

static uint64_t hash_constant(const tl_module *m, tl_value_id v) {
  const tl_tensor *t = data_of(m, v);
  uint64_t h = tl_hash_mix(tl_hash_mix(t->type, t->bytes), t->kind == TL_SOURCE_STRINGS);
  if (t->kind == TL_SOURCE_STRINGS)
    return tl_hash_bytes(t->u.strings, (size_t)tl_tensor_elements(m, t) * sizeof *t->u.strings, h);
  if (t->bytes > SMALL_BYTES)
    return tl_tensor_expr_hash(t, h);
  tl_tensor_room room;
  size_t n;
  const void *p = tl_tensor_block(t, 0, &room, &n);
  return tl_hash_bytes(p, n, h);
}

static bool equal_constants(const tl_module *m, uint32_t a, uint32_t b) {
  return tl_tensor_equal(m, data_of(m, a), data_of(m, b), SMALL_BYTES);
}

/* Returns true if two equal nodes give equal results. Opaque ops do not count: they may be
 * random. */
static bool is_pure(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return tl_op_row(node->op) && node->n_results && !node->control_in && !node->control_out &&
         !tl_op_has_trait(node->op,
                          TL_TRAIT_RANDOM | TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY);
}

static bool can_merge_results(const merging *s, tl_node_id from, tl_node_id to) {
  for (uint32_t i = 0; i < tl_node_get(s->m, from)->n_results; i++)
    if (!tl_value_can_merge(s->m, &s->facts, tl_result(s->m, from, i), tl_result(s->m, to, i)))
      return false;
  return true;
}

static bool may_rewrite(merging *s) {
  s->stopped = s->stopped || !tl_pass_may_rewrite(s->p);
  return !s->stopped;
}

/* Merges results one by one. A result whose name is needed keeps the node, but not the users of the
 * others. */
static bool merge_some_results(merging *s, tl_node_id from, tl_node_id to) {
  bool merged = false;
  for (uint32_t i = 0; i < tl_node_get(s->m, from)->n_results; i++) {
    tl_value_id v = tl_result(s->m, from, i), kept = tl_result(s->m, to, i);
    if (!tl_value_get(s->m, v)->n_uses || tl_value_leaves_graph(s->m, v) ||
        !tl_value_can_merge(s->m, &s->facts, v, kept) || !may_rewrite(s))
      continue;
    tl_value_merge(s->m, v, kept);
    merged = true;
  }
  return merged;
}

static void merge_nodes(merging *s, tl_node_id from, tl_node_id to) {
  if (!can_merge_results(s, from, to)) {
    if (merge_some_results(s, from, to)) {
      tl_pass_remark(s->p, s->m, from, true, "some results merged with equal earlier ones");
      return;
    }
    tl_pass_remark(s->p, s->m, from, false, "kept: an output or a body needs its name");
    return;
  }
  if (!may_rewrite(s))
    return;
  tl_pass_remark(s->p, s->m, from, true, "merged with an equal earlier node");
  for (uint32_t i = 0; i < tl_node_get(s->m, from)->n_results; i++)
    tl_value_merge(s->m, tl_result(s->m, from, i), tl_result(s->m, to, i));
  tl_node_erase(s->m, from);
}

static tl_status sweep_constants(merging *s, const tl_graph *g) {
  seen table;
  TL_TRY(seen_create(s, g->constants.n, &table));
  for (uint32_t i = 0; i < g->constants.n && !s->stopped; i++) {
    tl_value_id v = g->constants.at[i];
    if (!v)
      continue;
    tl_value_id first = seen_enter(&table, s->m, v, hash_constant(s->m, v), equal_constants);
    if (first == v || !tl_value_can_merge(s->m, &s->facts, v, first) || !may_rewrite(s))
      continue;
    tl_value_merge(s->m, v, first);
    tl_graph_erase_constant(s->m, v);
  }
  seen_destroy(&table);
  return TL_OK;
}

/* Returns the dim whose size is the only element of v, by binary search in what inference
 * listed. */
static tl_dim size_of(const tl_module *m, tl_value_id v) {
  uint32_t low = 0;
  for (uint32_t high = m->sizes.n; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    if (m->sizes.at[middle].value < v)
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < m->sizes.n && m->sizes.at[low].value == v;
  return found ? m->sizes.at[low].dim : TL_DIM_UNKNOWN;
}

/* Merges nodes that compute the size of the same named dim. In exported models each layer asks its
 * own values for the sequence length. */
static tl_status sweep_sizes(merging *s, const tl_graph *g) {
  tl_map firsts = {0};
  bool room = true;
  TL_FOR_NODES(s->m, g, n) {
    tl_value_id v = tl_result(s->m, n, 0);
    if (s->stopped || !room)
      break;
    if (tl_node_get(s->m, n)->n_results != 1 || !is_pure(s->m, n))
      continue;
    tl_dim dim = size_of(s->m, v);
    tl_node_id first;
    if (!tl_dim_is_symbol(dim))
      continue;
    uint64_t key = tl_map_pair(tl_value_type(s->m, v), tl_dim_symbol(dim));
    if (tl_map_find(&firsts, key, &first))
      merge_nodes(s, n, first);
    else
      room = tl_map_set(&firsts, key, n);
  }
  tl_map_release(&firsts);
  return room ? TL_OK : tl_no_memory(s->m);
}

/* Merges equal nodes. Producers come first, so the operands of a node are final when it is
 * reached. */
static tl_status sweep_nodes(merging *s, const tl_graph *g) {
  seen table;
  TL_TRY(seen_create(s, g->n_nodes, &table));
  TL_FOR_NODES(s->m, g, n) {
    if (s->stopped)
      break;
    if (!is_pure(s->m, n))
      continue;
    tl_node_id first = seen_enter(&table, s->m, n, tl_node_hash(s->m, n), tl_node_equal);
    if (first != n)
      merge_nodes(s, n, first);
  }
  seen_destroy(&table);
  return TL_OK;
}

/* Sweeps outer graphs first, since merged outer values make nodes of bodies equal. */
static tl_status sweep_graphs(merging *s) {
  for (uint32_t i = 0; i < s->m->graphs.n && !s->stopped; i++) {
    const tl_graph *g = s->m->graphs.at[i];
    if (g->erased)
      continue;
    tl_arena_mark mark = tl_arena_save(s->p->scratch);
    TL_TRY(sweep_constants(s, g));
    if (s->m->sizes.n)
      TL_TRY(sweep_sizes(s, g));
    TL_TRY(sweep_nodes(s, g));
    tl_arena_rewind(s->p->scratch, mark);
  }
  return TL_OK;
}

tl_status tl_pass_common_subexpressions(tl_pass *p, tl_module *m) {
  merging s = {.p = p, .m = m};
  TL_TRY(tl_merge_facts_find(p, m, &s.facts));
  tl_status status = sweep_graphs(&s);
  tl_merge_facts_release(&s.facts);
  return status;
}

/* Runs again behind expand, whose rules spell out each layer by itself, masks of attention among
 * them. */
tl_status tl_pass_subexpressions_expanded(tl_pass *p, tl_module *m) {
  TL_TRY(tl_pass_common_subexpressions(p, m));
  return p->changed ? tl_pass_dead_nodes(p, m) : TL_OK;
}
