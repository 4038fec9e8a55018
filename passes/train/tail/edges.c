/* SPDX-License-Identifier: Apache-2.0 */
/* Changes control edges of the tail: removes needless dependences on L, orders flags before L.
 * With states in place, it also orders readers of a state before its writer. */
#include "passes/train/tail/groups.h"

#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/train/step/regions.h"
#include "passes/train/time/loop_step.h"

/* ---- edges that look like a need for L ------------------------------------------------------- */

/* Returns true if an edge expresses an order that is not needed for the result. */
static bool may_go(const tl_tail *t, const tl_control *e) {
  bool soft = e->origin == TL_CONTROL_SCHED || e->origin == TL_CONTROL_GATE ||
              (e->origin == TL_CONTROL_USER && t->c->relax_user_ctrl);
  return soft && !tl_tail_is_status_op(t->m, e->from) && !tl_tail_is_status_op(t->m, e->to) &&
         !tl_node_is_collective(t->m, e->to);
}

/* Removes control edges from L or D(L) to nodes that need no result of L. */
uint32_t tl_tail_relax(tl_tail *t) {
  uint32_t n = 0;
  if (!t->late_edges)
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), v) {
    tl_control_id next;
    for (tl_control_id c = tl_node_get(t->m, v)->control_in; c; c = next) {
      const tl_control *e = tl_control_get(t->m, c);
      next = e->next_in;
      bool from_tail = e->from == t->last || t->below[e->from];
      if (!from_tail || t->below_data[v] || !may_go(t, e))
        continue;
      tl_tail_remove_edge(t, c);
      n++;
    }
  }
  return n;
}

/* ---- flags before L -------------------------------------------------------------------------- */

/* Orders early overflow flags before L. A flag that depends on L's data cannot be; it is warned
 * of. */
uint32_t tl_tail_order_flags(tl_tail *t) {
  uint32_t n = 0;
  if (t->c->tail_mode != TL_TAIL_EARLY_LOCAL && t->c->tail_mode != TL_TAIL_EARLY_BOUND)
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), f) {
    if (t->retired[f] || !tl_tail_is_flag(t, f))
      continue;
    if (t->below_data[f]) {
      if (!t->warned)
        tl_warn_code(t->m->diag, "W-TAIL-CLIP", tl_node_where(t->m, f),
                     "the overflow flag depends on the last bucket and is computed after it\va "
                     "norm over all gradients needs all of them");
      t->warned = true;
      continue;
    }
    n += tl_tail_add_edge(t, f, t->last, TL_CONTROL_COMM_ORDER);
  }
  return n;
}

/* ---- states in place ------------------------------------------------------------------------- */

enum { BATCH = 64 };

typedef struct hazard {
  tl_node_id reader;
  tl_node_id writer;
} hazard;

TL_VEC(hazard_vec, hazard);

/* Lists pairs of a node that reads a state and the node that overwrites it. */
static void collect(tl_tail *t, hazard_vec *out) {
  for (uint32_t i = 0; i < t->m->states.n; i++) {
    tl_value_id before, after;
    tl_train_state_in_step(t->m, i, &before, &after);
    tl_node_id writer = after ? tl_value_producer(t->m, after) : TL_NO_NODE;
    if (!writer || !before || tl_node_get(t->m, writer)->graph != tl_step_graph(t->m)->id)
      continue;
    TL_FOR_USES(t->m, before, u) {
      tl_node_id reader = tl_node_outer(t->m, tl_use_get(t->m, u)->user);
      bool again = out->n && out->at[out->n - 1].reader == reader &&
                   out->at[out->n - 1].writer == writer;
      if (reader != writer && !again && !tl_node_is_return(t->m, reader))
        t->no_memory = !hazard_vec_push(out, (hazard){reader, writer}) || t->no_memory;
    }
  }
}

/* Fills, for each node, a bit per reader of the batch that is its ancestor, by one walk along the
 * order. */
static void spread(const tl_tail *t, uint64_t *bits) {
  const tl_module *m = t->m;
  TL_FOR_NODES(m, tl_step_graph(m), n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t r = 0; r < node->n_results && bits[n]; r++)
      TL_FOR_USES(m, node->results + r, u)
        bits[tl_node_outer(m, tl_use_get(m, u)->user)] |= bits[n];
    for (tl_control_id c = node->control_out; c && bits[n]; c = tl_control_get(m, c)->next_out)
      bits[tl_control_get(m, c)->to] |= bits[n];
  }
}

/* Keeps the hazards of a batch whose reader is no ancestor of the writer. */
static void guard_batch(tl_tail *t, const hazard *at, uint32_t n, uint64_t *bits, hazard_vec *out) {
  memset(bits, 0, tl_module_node_end(t->m) * sizeof *bits);
  for (uint32_t i = 0; i < n; i++)
    bits[at[i].reader] |= UINT64_C(1) << i;
  spread(t, bits);
  for (uint32_t i = 0; i < n; i++)
    if (!(bits[at[i].writer] >> i & 1))
      t->no_memory = !hazard_vec_push(out, at[i]) || t->no_memory;
}

/* Orders a reader of a state before its writer. If the reader needs a result of the writer, nothing
 * can, and it reads what the writer has written over: that is warned of, once. */
static uint32_t guard_one(tl_tail *t, const hazard *h) {
  uint32_t before = t->counts.edges_rejected;
  uint32_t added = tl_tail_add_edge(t, h->reader, h->writer, TL_CONTROL_MEMORY);
  if (t->counts.edges_rejected != before && !t->warned_state)
    tl_warn_code(t->m->diag, "W-TAIL-STATE", tl_node_where(t->m, h->reader),
                 "reads a state behind the node that updates it in place\vread a copy that is made "
                 "before, or leave inplace_state off");
  t->warned_state = t->warned_state || t->counts.edges_rejected != before;
  return added;
}

/* Orders readers of a state before the node that updates it in place, 64 hazards at a time. */
uint32_t tl_tail_guard_states(tl_tail *t) {
  hazard_vec all = {0};
  hazard_vec open = {0};
  uint32_t n = 0;
  if (!t->c->inplace_state)
    return 0;
  uint64_t *bits = calloc(tl_module_node_end(t->m) + 1u, sizeof *bits);
  t->no_memory = t->no_memory || !bits;
  collect(t, &all);
  for (uint32_t i = 0; bits && i < all.n; i += BATCH)
    guard_batch(t, all.at + i, all.n - i < BATCH ? all.n - i : BATCH, bits, &open);
  for (uint32_t i = 0; i < open.n && !t->no_memory; i++)
    n += guard_one(t, &open.at[i]);
  hazard_vec_release(&all);
  hazard_vec_release(&open);
  free(bits);
  t->counts.hazard_edges += n;
  t->counts.edges_added -= n;
  return n;
}

/* ---- flags that are equal on all ranks ------------------------------------------------------- */

static bool is_of_gradients(const tl_tail *t, tl_node_id n) {
  tl_train_region r = tl_train_region_of(&t->t->info, n);
  return r == TL_REGION_FORWARD || r == TL_REGION_BACKWARD;
}

enum { UNKNOWN, ALIKE, LOCAL };

/* What may differ between ranks, found out only as far as flags depend on it. */
typedef struct ranks {
  tl_tail *t;
  uint8_t *values; /* by value that the step is given: UNKNOWN, ALIKE, LOCAL */
  bool *alike;     /* by node: all ranks have the same; of the search at hand: it was seen */
  tl_u32_vec seen; /* nodes of the search, the first `done` of which were gone through */
} ranks;

static bool ranks_init(ranks *r, tl_tail *t) {
  *r = (ranks){.t = t,
               .values = tl_arena_calloc(t->p->scratch, tl_module_value_end(t->m), 1),
               .alike = tl_arena_calloc(t->p->scratch, tl_module_node_end(t->m), 1)};
  for (uint32_t i = 0; i < t->m->states.n && r->values; i++) {
    tl_value_id before, after;
    tl_train_state_in_step(t->m, i, &before, &after);
    r->values[before] = t->m->states.at[i].local ? LOCAL : ALIKE;
  }
  t->no_memory = t->no_memory || !r->values || !r->alike;
  return !t->no_memory;
}

/* Returns true if an outer value may differ between ranks. Data, which forward and backward read,
 * may. Rates and the like, which only updates read, are the same on all ranks, or parameters would
 * diverge. */
static bool is_data(ranks *r, tl_value_id v) {
  const tl_module *m = r->t->m;
  if (r->values[v] != UNKNOWN)
    return r->values[v] == LOCAL;
  bool read = false;
  TL_FOR_USES(m, v, u)
    read = read || is_of_gradients(r->t, tl_node_outer(m, tl_use_get(m, u)->user));
  bool data = read && tl_value_get(m, v)->kind != TL_VALUE_CONSTANT;
  r->values[v] = data ? LOCAL : ALIKE;
  return data;
}

/* Returns true for a collective that gives all ranks the same result; Reduce gives it to its root
 * only. */
static bool makes_alike(const tl_module *m, tl_node_id n) {
  return tl_node_is_collective(m, n) && tl_node_get(m, n)->op != TL_OP_npu_hcom_HcomReduce;
}

/* Looks at the operands of a node. Returns true if one may differ between ranks, or the node has a
 * body, which is not searched. */
static bool look_at(ranks *r, tl_node_id n) {
  tl_module *m = r->t->m;
  if (makes_alike(m, n))
    return false;
  if (tl_op_has_trait(tl_node_get(m, n)->op, TL_TRAIT_BODY))
    return true;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    bool inside = p && tl_node_get(m, p)->graph == tl_step_graph(m)->id;
    if (v && !inside && is_data(r, v))
      return true;
    if (!inside || r->alike[p])
      continue;
    r->alike[p] = true;
    r->t->no_memory = !tl_u32_vec_push(&r->seen, p) || r->t->no_memory;
  }
  return false;
}

/* Returns true if results of a node may differ between ranks. Nodes found to be the same are
 * cached; a failed search clears its marks. */
static bool is_local(ranks *r, tl_node_id n) {
  bool local = false;
  if (r->alike[n])
    return false;
  r->seen.n = 0;
  r->alike[n] = true;
  r->t->no_memory = !tl_u32_vec_push(&r->seen, n) || r->t->no_memory;
  for (uint32_t i = 0; i < r->seen.n && !local; i++)
    local = look_at(r, r->seen.at[i]);
  for (uint32_t i = 0; i < r->seen.n && local; i++)
    r->alike[r->seen.at[i]] = false;
  return local;
}

/* Returns true if all users ask only whether the sum is 0. The sum of equal flags is 0 exactly if
 * the flag is. */
static bool only_asks_for_zero(const tl_module *m, tl_value_id v, int depth) {
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    tl_op_id op = tl_node_get(m, n)->op;
    if (tl_node_is_return(m, n))
      return false;
    bool view = op == TL_OP_Squeeze || op == TL_OP_Reshape || op == TL_OP_Identity;
    if (view && depth < 4 && only_asks_for_zero(m, tl_result(m, n, 0), depth + 1))
      continue;
    const tl_tensor *zero = op == TL_OP_Equal ? tl_value_constant(m, tl_operand(m, n, 1)) : NULL;
    double number;
    if (!zero || !tl_tensor_float_at(m, zero, 0, &number) || number != 0)
      return false;
  }
  return true;
}

/* The flag of this rank must have the type of the sum: an op of another domain may change it. */
static bool can_drop(ranks *r, tl_node_id f) {
  const tl_tail *t = r->t;
  const tl_attr *how = tl_node_attr_named(t->m, f, "reduction");
  tl_value_id flag = tl_operand(t->m, f, 0);
  tl_node_id p = flag ? tl_value_producer(t->m, flag) : TL_NO_NODE;
  return p && how && how->kind == TL_ATTR_STRING && tl_sv_is(tl_sym(t->m, how->u.s), "sum") &&
         tl_node_get(t->m, f)->n_operands == 1 && tl_node_get(t->m, f)->n_results == 1 &&
         tl_value_type(t->m, flag) == tl_value_type(t->m, tl_result(t->m, f, 0)) &&
         !tl_node_get(t->m, f)->control_in && !tl_node_get(t->m, f)->control_out &&
         only_asks_for_zero(t->m, tl_result(t->m, f, 0), 0) && !is_local(r, p);
}

static bool has_flags(const tl_tail *t) {
  for (uint32_t i = 0; i < t->step.g.n; i++) {
    tl_node_id f = t->step.node[i];
    if (t->step.checks[f] && !t->retired[f] && tl_tail_is_flag(t, f))
      return true;
  }
  return false;
}

/* Replaces the sum of a flag by the flag of this rank. Returns false if memory is out. */
static bool drop_flag(tl_tail *t, tl_node_id f) {
  tl_value_id flag = tl_operand(t->m, f, 0);
  tl_value_id alike = tl_tail_make_one(t, f, f, TL_OP_Identity, &flag, 1);
  if (!alike)
    return false;
  tl_tail_replace(t, tl_result(t->m, f, 0), alike);
  tl_tail_retire(t, f);
  return true;
}

/* Drops sums of flags that are computed from bitwise equal values on all ranks, so that no exchange
 * is needed. */
uint32_t tl_tail_drop_flags(tl_tail *t) {
  uint32_t n = 0;
  tl_u32_vec flags = {0};
  ranks r;
  if (t->c->tail_mode != TL_TAIL_LATE_COMMIT || t->t->cost.hw.bitwise != 1 ||
      t->c->status == TL_OVERFLOW_NPU || !has_flags(t) || !ranks_init(&r, t))
    return 0;
  for (uint32_t i = 0; i < t->step.g.n && !t->no_memory; i++) {
    tl_node_id f = t->step.node[t->order[i]];
    if (t->step.checks[f] && !t->retired[f] && tl_tail_is_flag(t, f) && can_drop(&r, f))
      t->no_memory = !tl_u32_vec_push(&flags, f) || t->no_memory;
  }
  for (uint32_t i = 0; i < flags.n && !t->no_memory; i++)
    n += drop_flag(t, flags.at[i]);
  tl_u32_vec_release(&r.seen);
  tl_u32_vec_release(&flags);
  return n;
}
