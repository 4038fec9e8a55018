/* SPDX-License-Identifier: Apache-2.0 */
/* Logs changes to a graph so that they can be undone. Replaced nodes stay, retired, until the
 * change is final. */
#include "passes/train/tail/tail.h"

#include "ir/trace.h"
#include "passes/edit/values.h"

static void write_down(tl_tail *t, tl_tail_change c) {
  t->no_memory = !tl_tail_change_vec_push(&t->changes, c) || t->no_memory;
}

uint32_t tl_tail_mark(const tl_tail *t) { return t->changes.n; }

/* ---- edges ----------------------------------------------------------------------------------- */

static bool has_edge(const tl_module *m, tl_node_id from, tl_node_id to) {
  for (tl_control_id c = tl_node_get(m, to)->control_in; c; c = tl_control_get(m, c)->next_in)
    if (tl_control_get(m, c)->from == from)
      return true;
  return false;
}

/* A search over users that goes no further than a place in the order. */
typedef struct search {
  const tl_tail *t;
  tl_u32_vec todo;
  bool *seen; /* by node id */
  uint64_t limit;
  bool failed;
} search;

static void visit(search *s, tl_node_id n) {
  if (tl_node_is_return(s->t->m, n) || s->seen[n] || tl_node_get(s->t->m, n)->order > s->limit)
    return;
  s->seen[n] = true;
  s->failed = !tl_u32_vec_push(&s->todo, n) || s->failed;
}

static void visit_users(search *s, tl_node_id n) {
  const tl_module *m = s->t->m;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES(m, node->results + r, u)
      visit(s, tl_node_outer(m, tl_use_get(m, u)->user));
  for (tl_control_id c = node->control_out; c; c = tl_control_get(m, c)->next_out)
    visit(s, tl_control_get(m, c)->to);
}

/* Returns true if there is a path between the nodes. Nodes behind `to` in the order cannot be on
 * it. */
static bool reaches(tl_tail *t, tl_node_id from, tl_node_id to) {
  search s = {.t = t, .limit = tl_node_get(t->m, to)->order};
  s.seen = tl_arena_calloc(t->p->scratch, tl_module_node_end(t->m), sizeof *s.seen);
  if (s.seen)
    visit(&s, from);
  while (s.seen && s.todo.n && !s.seen[to])
    visit_users(&s, s.todo.at[--s.todo.n]);
  bool found = s.seen && s.seen[to];
  t->no_memory = t->no_memory || !s.seen || s.failed;
  tl_u32_vec_release(&s.todo);
  return found;
}

/* Saves the order of nodes, once per commit: sorting the graph moves nodes, which undo must
 * revert. */
static void save_order(tl_tail *t) {
  const tl_graph *g = tl_step_graph(t->m);
  if (t->listed)
    return;
  t->listed = tl_arena_calloc(t->p->scratch, g->n_nodes, sizeof *t->listed);
  t->n_listed = 0;
  t->no_memory = t->no_memory || !t->listed;
  if (t->listed)
    TL_FOR_NODES(t->m, g, n)
      t->listed[t->n_listed++] = n;
}

/* Restores the saved order of the nodes that still exist. */
static void restore_order(tl_tail *t) {
  const tl_graph *g = tl_step_graph(t->m);
  for (uint32_t i = 0; i < t->n_listed && t->listed; i++)
    if (t->listed[i] != g->last && tl_node_get(t->m, t->listed[i])->op != TL_OP_ERASED)
      tl_node_move_after(t->m, t->listed[i], g->last);
  t->listed = NULL;
}

/* An edge in the direction of the order closes no cycle. One against it needs a search, and a sort
 * afterwards. Nodes of two graphs have no order: the last bucket may be in a body. */
bool tl_tail_add_edge(tl_tail *t, tl_node_id from, tl_node_id to, tl_control_origin origin) {
  if (tl_node_get(t->m, from)->graph != tl_node_get(t->m, to)->graph)
    return false;
  bool backwards = tl_node_is_before(t->m, to, from);
  if (from == to || has_edge(t->m, from, to))
    return false;
  if (backwards && reaches(t, to, from)) {
    t->counts.edges_rejected++;
    return false;
  }
  tl_control_id id = tl_control_add(t->m, from, to, origin);
  t->no_memory = t->no_memory || !id;
  if (!id)
    return false;
  write_down(t, (tl_tail_change){.kind = TL_TAIL_ADDED, .id = id});
  t->counts.edges_added++;
  if (backwards)
    save_order(t);
  if (backwards && tl_graph_sort(t->m, tl_step_graph(t->m)->id) != TL_OK)
    t->no_memory = true;
  return true;
}

void tl_tail_remove_edge(tl_tail *t, tl_control_id c) {
  const tl_control *e = tl_control_get(t->m, c);
  write_down(t, (tl_tail_change){.kind = TL_TAIL_REMOVED,
                                 .from = e->from,
                                 .to = e->to,
                                 .origin = (tl_control_origin)e->origin});
  t->counts.edges_removed++;
  tl_control_erase(t->m, c);
}

/* ---- nodes and values ------------------------------------------------------------------------ */

/* Exchanges names, users and roles of two values, so that calling it with the values swapped is the
 * inverse. */
static void exchange(tl_module *m, tl_value_id old, tl_value_id made) {
  tl_symbol name = tl_value_get(m, old)->name;
  tl_value_replace_uses(m, old, made);
  tl_value_get(m, old)->name = tl_value_get(m, made)->name;
  tl_value_get(m, made)->name = name;
  tl_value_move_roles(m, old, made);
}

void tl_tail_replace(tl_tail *t, tl_value_id old, tl_value_id made) {
  exchange(t->m, old, made);
  write_down(t, (tl_tail_change){.kind = TL_TAIL_REPLACED, .from = old, .to = made});
}

/* Enters a node into the log and the tables by node id, which grow geometrically. */
void tl_tail_adopt(tl_tail *t, tl_node_id made, tl_node_id like) {
  tl_train_info *info = &t->t->info;
  if (made >= info->n_nodes) {
    uint32_t room = made * 2 + 16;
    uint8_t *region = tl_arena_calloc(t->p->scratch, room, sizeof *region);
    uint32_t *owner = tl_arena_calloc(t->p->scratch, room, sizeof *owner);
    if (!region || !owner) {
      t->no_memory = true;
      return;
    }
    memcpy(region, info->region, info->n_nodes * sizeof *region);
    memcpy(owner, info->owner, info->n_nodes * sizeof *owner);
    info->region = region;
    info->owner = owner;
    info->n_nodes = room;
  }
  info->region[made] = (uint8_t)tl_train_region_of(info, like);
  info->owner[made] = TL_TRAIN_SHARED;
  tl_node_get(t->m, made)->scope = tl_node_get(t->m, like)->scope;
  write_down(t, (tl_tail_change){.kind = TL_TAIL_MADE, .from = made});
}

/* Types come from `like` and not from inference: parts of a node have the types of the whole. */
tl_node_id tl_tail_make(tl_tail *t, tl_node_id before, tl_node_id like, const tl_node_spec *spec) {
  tl_node_id made = t->no_memory ? TL_NO_NODE : tl_graph_insert(t->m, before, spec);
  t->no_memory = t->no_memory || !made || !tl_trace_derive(t->m, made, &like, 1, false);
  if (!made)
    return made;
  for (uint32_t i = 0; i < spec->n_results && i < tl_node_get(t->m, like)->n_results; i++)
    tl_value_set_type(t->m, tl_result(t->m, made, i),
                      tl_value_type(t->m, tl_result(t->m, like, i)));
  tl_tail_adopt(t, made, like);
  return made;
}

bool tl_tail_adopt_made(tl_tail *t, tl_maker *k, tl_maker_mark mark) {
  const tl_graph *g = tl_graph_get(t->m, k->graph);
  t->no_memory = t->no_memory || k->no_memory;
  if (tl_maker_failed(k)) {
    tl_maker_undo(k, mark);
    return false;
  }
  for (uint32_t i = mark.n_constants; i < g->constants.n; i++)
    write_down(t, (tl_tail_change){.kind = TL_TAIL_CONSTANT, .from = g->constants.at[i]});
  tl_node_id n = mark.previous ? tl_node_get(t->m, mark.previous)->next : g->first;
  for (; n != k->before && !t->no_memory; n = tl_node_get(t->m, n)->next)
    tl_tail_adopt(t, n, k->like);
  return !t->no_memory;
}

static tl_value_id constant(tl_tail *t, tl_symbol base, const int64_t *v, uint32_t n, int rank) {
  tl_symbol name = tl_module_fresh_name(t->m, tl_sym(t->m, base));
  tl_tensor_id data = tl_tensor_i64s(t->m, v, n, rank);
  tl_value_id made = data && name ? tl_graph_add_constant(t->m, tl_step_graph(t->m)->id, name, data)
                                  : TL_NO_VALUE;
  t->no_memory = t->no_memory || !made;
  if (made)
    write_down(t, (tl_tail_change){.kind = TL_TAIL_CONSTANT, .from = made});
  return made;
}

tl_value_id tl_tail_constant(tl_tail *t, tl_symbol base, int64_t v) {
  return constant(t, base, &v, 1, 0);
}

tl_value_id tl_tail_constants(tl_tail *t, tl_symbol base, const int64_t *v, uint32_t n) {
  return constant(t, base, v, n, 1);
}

void tl_tail_retire(tl_tail *t, tl_node_id n) {
  t->retired[n] = true;
  write_down(t, (tl_tail_change){.kind = TL_TAIL_RETIRED, .from = n});
}

void tl_tail_retire_unused(tl_tail *t, tl_node_id n) {
  if (n < t->n_ids && tl_value_get(t->m, tl_result(t->m, n, 0))->n_uses == 1 && !t->retired[n])
    tl_tail_retire(t, n);
}

/* ---- back, or for good ----------------------------------------------------------------------- */

/* The inverse of each kind of change. */
static void take_back(tl_tail *t, const tl_tail_change *c) {
  switch (c->kind) {
  case TL_TAIL_ADDED: tl_control_erase(t->m, c->id); break;
  case TL_TAIL_REMOVED:
    t->no_memory = !tl_control_add(t->m, c->from, c->to, c->origin) || t->no_memory;
    break;
  case TL_TAIL_REPLACED: exchange(t->m, c->to, c->from); break;
  case TL_TAIL_MADE: tl_node_erase(t->m, c->from); break;
  case TL_TAIL_CONSTANT: tl_graph_erase_constant(t->m, c->from); break;
  case TL_TAIL_RETIRED: t->retired[c->from] = false; break;
  }
}

void tl_tail_undo(tl_tail *t, uint32_t mark) {
  while (t->changes.n > mark)
    take_back(t, &t->changes.at[--t->changes.n]);
  restore_order(t);
}

void tl_tail_commit(tl_tail *t, uint32_t mark) {
  for (uint32_t i = t->changes.n; i-- > mark;)
    if (t->changes.at[i].kind == TL_TAIL_RETIRED)
      tl_node_erase(t->m, t->changes.at[i].from);
  t->changes.n = mark;
  t->listed = NULL;
}
