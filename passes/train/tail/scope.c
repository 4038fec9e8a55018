/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which nodes depend on which bucket. */
#include "passes/train/tail/tail.h"

#include "ir/ops_gen.h"

/* Joins what two operands depend on. */
static uint32_t merged(uint32_t a, uint32_t b) {
  if (a == TL_TAIL_NONE || a == b)
    return b;
  return b == TL_TAIL_NONE ? a : TL_TAIL_SEVERAL;
}

/* Returns the producer of a value; an input of a branch of If is resolved to the operand of that
 * If. */
static tl_node_id producer(const tl_module *m, tl_value_id v) {
  while (v) {
    const tl_value *value = tl_value_get(m, v);
    if (value->kind != TL_VALUE_INPUT)
      break;
    const tl_graph *g = tl_graph_get(m, value->def);
    if (g->kind != TL_GRAPH_BODY || tl_node_get(m, g->owner)->op != TL_OP_If)
      return TL_NO_NODE;
    v = tl_operand(m, g->owner, value->index + 1);
  }
  return v ? tl_value_producer(m, v) : TL_NO_NODE;
}

uint32_t tl_tail_bucket_of(const tl_tail *t, tl_value_id v) {
  tl_node_id p = producer(t->m, v);
  return p && p < t->n_ids ? t->bucket_of[p] : TL_TAIL_NONE;
}

/* How a node depends on L: through any edge, or through data. */
typedef struct under {
  bool below;
  bool data;
} under;

/* Combines what operands and bodies depend on; fills the nodes of bodies on the way. */
static uint32_t combine(tl_tail *t, tl_node_id n, under *u) {
  const tl_node *node = tl_node_get(t->m, n);
  uint32_t bucket = TL_TAIL_NONE;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(t->m, n, i);
    tl_node_id p = producer(t->m, v);
    if (!p)
      continue;
    bucket = merged(bucket, t->bucket_of[p]);
    u->data = u->data || p == t->last || t->below_data[p];
    u->below = u->below || t->below[p];
  }
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (node->attrs[i].kind != TL_ATTR_GRAPH)
      continue;
    const tl_graph *body = tl_graph_get(t->m, node->attrs[i].u.g);
    TL_FOR_NODES(t->m, body, k) {
      under inner = {false, false};
      t->bucket_of[k] = combine(t, k, &inner);
      t->below_data[k] = inner.data;
      bucket = merged(bucket, t->bucket_of[k]);
      u->data = u->data || inner.data;
    }
    tl_node_id ret = body->ret;
    for (uint32_t k = 0; k < tl_node_get(t->m, ret)->n_operands; k++)
      bucket = merged(bucket, tl_tail_bucket_of(t, tl_operand(t->m, ret, k)));
  }
  return bucket;
}

/* The last bucket in the order of nodes is L, so the order decides what the tail is. */
static void find_buckets(tl_tail *t) {
  const tl_graph *g = tl_step_graph(t->m);
  t->n_buckets = 0;
  t->last = TL_NO_NODE;
  TL_FOR_NODES(t->m, g, n)
    if (!t->retired[n] && tl_node_is_bucket(t->m, n)) {
      t->buckets[t->n_buckets++] = n;
      t->last = n;
    }
}

/* One sweep in topological order; control edges count for below, but not for below_data. */
static void fill(tl_tail *t) {
  uint32_t bucket = 0;
  t->late_edges = 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), n) {
    under u = {false, false};
    t->bucket_of[n] = combine(t, n, &u);
    if (bucket < t->n_buckets && t->buckets[bucket] == n)
      t->bucket_of[n] = bucket++;
    t->below_data[n] = u.data;
    for (tl_control_id c = tl_node_get(t->m, n)->control_in; c;
         c = tl_control_get(t->m, c)->next_in) {
      tl_node_id from = tl_control_get(t->m, c)->from;
      bool late = from == t->last || t->below[from];
      t->late_edges += late;
      u.below = u.below || late;
    }
    t->below[n] = u.below || u.data;
  }
}

static void *table(tl_tail *t, uint32_t n, size_t size) {
  void *made = tl_arena_calloc(t->p->scratch, n, size);
  t->no_memory = t->no_memory || !made;
  return made;
}

void tl_tail_find_buckets(tl_tail *t) {
  uint32_t n = tl_module_node_end(t->m);
  if (n > t->n_ids) {
    bool *retired = table(t, n, sizeof *retired);
    if (retired && t->retired)
      memcpy(retired, t->retired, t->n_ids * sizeof *retired);
    t->retired = retired;
    t->buckets = table(t, n, sizeof *t->buckets);
    t->bucket_of = table(t, n, sizeof *t->bucket_of);
    if (t->bucket_of) /* nodes around the step, if it is in a loop, are of none */
      memset(t->bucket_of, 0xff, n * sizeof *t->bucket_of);
    t->below = table(t, n, sizeof *t->below);
    t->below_data = table(t, n, sizeof *t->below_data);
    t->n_ids = n;
  }
  if (t->no_memory)
    return;
  t->t->machine.retired = t->retired;
  find_buckets(t);
}

void tl_tail_look(tl_tail *t) {
  tl_tail_find_buckets(t);
  if (!t->no_memory)
    fill(t);
}

/* The tasks are numbered by content, so an old order is translated by node. */
tl_status tl_tail_measure(tl_tail *t, bool freed) {
  tl_step before = t->step;
  const uint32_t *order = t->order;
  TL_TRY(tl_step_build(t->m, t->p->scratch, &t->t->info, &t->t->machine, &t->step));
  t->order = t->step.given;
  for (uint32_t i = 0; freed && i < t->step.g.n; i++)
    t->order[i] = t->step.task[before.node[order[i]]];
  return tl_timeline_schedule(t->m->diag, &t->step.g, t->order, &t->us);
}

bool tl_tail_is_flag(const tl_tail *t, tl_node_id n) {
  return tl_node_is_collective(t->m, n) && !tl_node_is_bucket(t->m, n) && t->step.checks[n];
}

/* These ops access the chip's hidden overflow status, so no edge of theirs may be removed. */
bool tl_tail_is_status_op(const tl_module *m, tl_node_id n) {
  return tl_sv_ends_with(tl_op_name(m, tl_node_get(m, n)->op), "FloatStatus");
}
