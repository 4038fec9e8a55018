/* SPDX-License-Identifier: Apache-2.0 */
/* Splits joins that make all updates wait: a conditional step becomes one If per bucket, a barrier
 * one per bucket. */
#include "ir/ops_gen.h"
#include "passes/edit/copy.h"
#include "passes/train/tail/groups.h"

/* ---- conditional updates --------------------------------------------------------------------- */

static const char *const branches[] = {"then_branch", "else_branch"};

static tl_graph *branch(const tl_module *m, tl_node_id n, int i) {
  const tl_attr *a = tl_node_attr_named(m, n, branches[i]);
  return a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(m, a->u.g) : NULL;
}

/* Returns true if a body may be copied: copies compute the same, and nothing in it has an
 * effect. */
static bool is_pure(const tl_module *m, const tl_graph *g) {
  const unsigned impure = TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_RANDOM;
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    if (tl_op_has_trait(node->op, impure) || tl_node_is_collective(m, n) || node->control_in)
      return false;
    for (uint32_t i = 0; i < node->n_attrs; i++)
      if (node->attrs[i].kind == TL_ATTR_GRAPH && !is_pure(m, tl_graph_get(m, node->attrs[i].u.g)))
        return false;
  }
  return true;
}

static bool is_divisible(const tl_tail *t, tl_node_id n) {
  const tl_node *node = tl_node_get(t->m, n);
  if (node->op != TL_OP_If || node->n_results < 2 || node->control_in || node->control_out)
    return false;
  for (int i = 0; i < 2; i++) {
    const tl_graph *g = branch(t->m, n, i);
    if (!g || tl_graph_n_outputs(t->m, g) != node->n_results || !is_pure(t->m, g) ||
        (g->inputs.n && g->inputs.n + 1 != node->n_operands))
      return false;
  }
  return true;
}

/* Returns the bucket that result i depends on, in either branch. */
static uint32_t bucket_of_result(const tl_tail *t, tl_node_id n, uint32_t i) {
  uint32_t a = tl_tail_bucket_of(t, tl_graph_output(t->m, branch(t->m, n, 0), i));
  uint32_t b = tl_tail_bucket_of(t, tl_graph_output(t->m, branch(t->m, n, 1), i));
  if (a == TL_TAIL_NONE || a == b)
    return b;
  return b == TL_TAIL_NONE ? a : TL_TAIL_SEVERAL;
}

/* Erases nodes of a copied body that only served other results. */
static void erase_unused(tl_module *m, tl_graph *g) {
  tl_node_id previous;
  for (tl_node_id n = g->last; n; n = previous) {
    bool used = false;
    previous = tl_node_get(m, n)->previous;
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      used = used || tl_value_get(m, tl_result(m, n, i))->n_uses;
    if (!used)
      tl_node_erase(m, n);
  }
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] && !tl_value_get(m, g->constants.at[i])->n_uses)
      tl_graph_erase_constant(m, g->constants.at[i]);
}

/* Removes operands that neither branch uses any more; otherwise a copy would still wait for
 * them. */
static bool erase_unused_inputs(tl_module *m, tl_node_id n, tl_value_id *room) {
  tl_graph *then = branch(m, n, 0);
  tl_graph *other = branch(m, n, 1);
  uint32_t kept = 0;
  uint32_t count = tl_node_get(m, n)->n_operands;
  for (uint32_t i = 0; i < count; i++)
    room[i] = tl_operand(m, n, i);
  for (uint32_t i = then->inputs.n; i-- > 0;) {
    if (tl_value_get(m, then->inputs.at[i])->n_uses || tl_value_get(m, other->inputs.at[i])->n_uses)
      continue;
    tl_graph_erase_input(m, then->inputs.at[i]);
    tl_graph_erase_input(m, other->inputs.at[i]);
    room[i + 1] = TL_NO_VALUE;
  }
  for (uint32_t i = 0; i < count; i++)
    if (room[i])
      room[kept++] = room[i];
  return tl_node_set_operands(m, n, room, kept) == TL_OK;
}

/* Keeps the results `at` of a copy; they come first afterwards. */
static bool keep_results(tl_tail *t, tl_node_id copy, const uint32_t *at, uint32_t n,
                         tl_value_id *room) {
  for (int i = 0; i < 2; i++) {
    tl_graph *g = branch(t->m, copy, i);
    for (uint32_t k = 0; k < n; k++)
      room[k] = tl_graph_output(t->m, g, at[k]);
    if (tl_graph_set_outputs(t->m, g->id, room, n) != TL_OK)
      return false;
    erase_unused(t->m, g);
  }
  for (uint32_t k = 0; k < n; k++)
    tl_value_set_type(t->m, tl_result(t->m, copy, k),
                      tl_value_type(t->m, tl_result(t->m, copy, at[k])));
  tl_node_trim_results(t->m, copy, n);
  return true;
}

/* Makes the If of group k: a copy without the other results and what only these need. */
static bool split_off(tl_tail *t, tl_node_id n, const uint32_t *group, uint32_t k) {
  uint32_t most = tl_node_get(t->m, n)->n_results + tl_node_get(t->m, n)->n_operands;
  uint32_t *at = tl_arena_calloc(t->p->scratch, most, sizeof *at);
  tl_value_id *room = tl_arena_calloc(t->p->scratch, most, sizeof *room);
  uint32_t count = 0;
  if (!at || !room)
    return false;
  for (uint32_t i = 0; i < tl_node_get(t->m, n)->n_results; i++)
    if (group[i] == k)
      at[count++] = i;
  tl_maker maker = tl_maker_before(t->m, n);
  tl_copier c = {.k = &maker};
  tl_node_id copy = tl_copy_node(&c, n);
  tl_copier_release(&c);
  if (!copy)
    return false;
  tl_tail_adopt(t, copy, n);
  if (tl_maker_failed(&maker) || !keep_results(t, copy, at, count, room) ||
      !erase_unused_inputs(t->m, copy, room))
    return false;
  for (uint32_t i = 0; i < count; i++)
    tl_tail_replace(t, tl_result(t->m, n, at[i]), tl_result(t->m, copy, i));
  return true;
}

/* Makes one If per bucket. */
static bool split_if(tl_tail *t, tl_node_id n) {
  uint32_t results = tl_node_get(t->m, n)->n_results;
  uint32_t *bucket = tl_arena_calloc(t->p->scratch, results, sizeof *bucket);
  uint32_t *group = tl_arena_calloc(t->p->scratch, results, sizeof *group);
  t->no_memory = t->no_memory || !bucket || !group;
  for (uint32_t i = 0; !t->no_memory && i < results; i++)
    bucket[i] = bucket_of_result(t, n, i);
  uint32_t n_groups = t->no_memory ? 0 : tl_tail_group(t, bucket, results, group);
  if (n_groups < 2)
    return false;
  for (uint32_t k = 0; k < n_groups; k++)
    if (!split_off(t, n, group, k))
      t->no_memory = true;
  tl_tail_retire(t, n);
  return true;
}

uint32_t tl_tail_split_ifs(tl_tail *t) {
  uint32_t n = 0;
  if (!tl_module_had_op(t->m, TL_OP_If))
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k)
    if (!t->no_memory && is_divisible(t, k))
      n += split_if(t, k);
  return n;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static bool is_soft(const tl_tail *t, const tl_control *e) {
  return e->origin == TL_CONTROL_SCHED || e->origin == TL_CONTROL_GATE ||
         (e->origin == TL_CONTROL_USER && t->c->relax_user_ctrl);
}

/* Returns true for a NoOp that does nothing but order its predecessors before its successors. */
static bool is_barrier(const tl_tail *t, tl_node_id n) {
  const tl_node *node = tl_node_get(t->m, n);
  if (node->n_operands || node->n_results || !node->control_in || !node->control_out ||
      !tl_sv_is(tl_op_name(t->m, node->op), "NoOp"))
    return false;
  for (tl_control_id c = node->control_in; c; c = tl_control_get(t->m, c)->next_in)
    if (!is_soft(t, tl_control_get(t->m, c)))
      return false;
  for (tl_control_id c = node->control_out; c; c = tl_control_get(t->m, c)->next_out)
    if (!is_soft(t, tl_control_get(t->m, c)))
      return false;
  return true;
}

typedef struct barrier {
  tl_u32_vec from; /* owned; nodes */
  tl_u32_vec to;
} barrier;

static void list_edges(tl_tail *t, tl_node_id n, barrier *b) {
  const tl_node *node = tl_node_get(t->m, n);
  for (tl_control_id c = node->control_in; c; c = tl_control_get(t->m, c)->next_in)
    t->no_memory = !tl_u32_vec_push(&b->from, tl_control_get(t->m, c)->from) || t->no_memory;
  for (tl_control_id c = node->control_out; c; c = tl_control_get(t->m, c)->next_out)
    t->no_memory = !tl_u32_vec_push(&b->to, tl_control_get(t->m, c)->to) || t->no_memory;
}

/* Returns true if a node belongs to the part of a bucket: what depends on one bucket belongs to its
 * part, anything else to all parts. */
static bool belongs(const tl_tail *t, tl_node_id n, uint32_t bucket) {
  return t->bucket_of[n] >= t->n_buckets || t->bucket_of[n] == bucket;
}

/* Makes the part of a bucket if something of it is behind the barrier. */
static void make_part(tl_tail *t, tl_node_id n, const barrier *b, uint32_t bucket) {
  bool any = false;
  for (uint32_t i = 0; i < b->to.n; i++)
    any = any || t->bucket_of[b->to.at[i]] == bucket;
  if (!any)
    return;
  tl_node_spec spec = {.op = tl_node_get(t->m, n)->op,
                       .name = tl_tail_fresh(t, tl_node_get(t->m, n)->name)};
  tl_node_id part = tl_tail_make(t, n, n, &spec);
  for (uint32_t i = 0; part && i < b->from.n; i++)
    if (belongs(t, b->from.at[i], bucket))
      t->no_memory = !tl_control_add(t->m, b->from.at[i], part, TL_CONTROL_GATE) || t->no_memory;
  for (uint32_t i = 0; part && i < b->to.n; i++)
    if (t->bucket_of[b->to.at[i]] == bucket)
      t->no_memory = !tl_control_add(t->m, part, b->to.at[i], TL_CONTROL_GATE) || t->no_memory;
}

/* Splits a barrier: nodes behind it that belong to one bucket get a part of their own; the barrier
 * itself stays in front of the others. */
static bool split_barrier(tl_tail *t, tl_node_id n) {
  barrier b = {0};
  uint32_t last = TL_TAIL_NONE;
  bool several = false;
  list_edges(t, n, &b);
  for (uint32_t i = 0; i < b.from.n; i++) {
    uint32_t bucket = t->bucket_of[b.from.at[i]];
    several = several || (bucket < t->n_buckets && last < t->n_buckets && bucket != last);
    last = bucket < t->n_buckets ? bucket : last;
  }
  bool rest = false;
  for (uint32_t i = 0; i < b.to.n; i++)
    rest = rest || t->bucket_of[b.to.at[i]] >= t->n_buckets;
  for (uint32_t k = 0; several && k < t->n_buckets && !t->no_memory; k++)
    make_part(t, n, &b, k);
  tl_control_id next;
  for (tl_control_id c = tl_node_get(t->m, n)->control_out; several && c; c = next) {
    next = tl_control_get(t->m, c)->next_out;
    if (t->bucket_of[tl_control_get(t->m, c)->to] < t->n_buckets)
      tl_tail_remove_edge(t, c);
  }
  if (several && !rest)
    tl_tail_retire(t, n);
  tl_u32_vec_release(&b.from);
  tl_u32_vec_release(&b.to);
  return several;
}

uint32_t tl_tail_split_barriers(tl_tail *t) {
  uint32_t n = 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k)
    if (!t->no_memory && is_barrier(t, k))
      n += split_barrier(t, k);
  return n;
}
