/* SPDX-License-Identifier: Apache-2.0 */
/* isolate: makes the values that branches of If use from outside explicit.
 * Captured values become operands behind the condition, in the order of their names, and inputs of
 * both branches in that order. Captured constants are copied into the branch instead: the data is
 * a view, and NPU forms of the ops inside need constants. Bodies of Loop and Scan keep captures.
 *
 * Requires:  nothing.            Keeps: nodes, types, names outside of the branches.
 * After:     no value inside a branch of If belongs to a graph around it.
 * Cost:      O(nodes + edges) for each level of nesting; sorting the captures.
 * Tests:     tests/golden/isolate/ */
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/edit/passes.h"

/* One captured use: operand `index` of `user` is v. */
typedef struct capture {
  tl_node_id user;
  uint32_t index;
  tl_value_id v;
  tl_graph_id branch; /* of the node at hand */
} capture;

TL_VEC(capture_vec, capture);

typedef struct named_value {
  tl_sv name;
  tl_value_id v;
} named_value;

typedef struct isolating {
  tl_pass *p;
  tl_module *m;
  uint32_t *local; /* by value id: what stands for it in the branch at hand, 0: nothing */
  uint32_t n_local;
  uint32_t *inside;   /* by graph id: the last branch that contains it */
  capture_vec uses;   /* of all branches of the node at hand */
  tl_u32_vec values;  /* captured values that are not constants, sorted in the end */
  tl_u32_vec pending; /* graphs to walk */
} isolating;

/* Marks the bodies of a node as inside of the branch and queues them. */
static bool push_bodies(isolating *s, const tl_node *node, uint32_t branch) {
  bool ok = true;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    uint32_t count = a->kind == TL_ATTR_GRAPH ? 1 : a->kind == TL_ATTR_GRAPHS ? a->count : 0;
    for (uint32_t k = 0; k < count; k++) {
      tl_graph_id g = a->kind == TL_ATTR_GRAPH ? a->u.g : a->u.ids[k];
      s->inside[g] = branch;
      ok = ok && tl_u32_vec_push(&s->pending, g);
    }
  }
  return ok;
}

static bool collect_operands(isolating *s, tl_node_id n, uint32_t branch) {
  bool ok = true;
  for (uint32_t i = 0; i < tl_node_get(s->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(s->m, n, i);
    if (v && s->inside[tl_value_graph(s->m, v)] != branch)
      ok = ok && capture_vec_push(&s->uses, (capture){n, i, v, branch});
  }
  return ok;
}

/* Finds the uses in a branch, and in bodies inside it, of values from outside. */
static tl_status collect(isolating *s, tl_graph_id branch) {
  bool ok = true;
  s->pending.n = 0;
  s->inside[branch] = branch;
  ok = tl_u32_vec_push(&s->pending, branch);
  while (ok && s->pending.n) {
    const tl_graph *g = tl_graph_get(s->m, s->pending.at[--s->pending.n]);
    TL_FOR_NODES(s->m, g, n)
      ok = ok && push_bodies(s, tl_node_get(s->m, n), branch) && collect_operands(s, n, branch);
    ok = ok && collect_operands(s, g->ret, branch);
  }
  return ok ? TL_OK : tl_no_memory(s->m);
}

static int by_name(const void *a, const void *b) {
  return tl_sv_compare(((const named_value *)a)->name, ((const named_value *)b)->name);
}

/* Sorts the captured values by name, so that their order does not depend on that of the file. */
static tl_status sort_values(isolating *s) {
  tl_arena_mark mark = tl_arena_save(s->p->scratch);
  named_value *order = tl_arena_calloc(s->p->scratch, s->values.n, sizeof *order);
  if (!order)
    return tl_no_memory(s->m);
  for (uint32_t i = 0; i < s->values.n; i++)
    order[i] = (named_value){tl_value_name(s->m, s->values.at[i]), s->values.at[i]};
  if (s->values.n)
    qsort(order, s->values.n, sizeof *order, by_name);
  for (uint32_t i = 0; i < s->values.n; i++)
    s->values.at[i] = order[i].v;
  tl_arena_rewind(s->p->scratch, mark);
  return TL_OK;
}

/* Lists the captured values that are not constants, each once. */
static tl_status list_values(isolating *s) {
  bool ok = true;
  s->values.n = 0;
  for (uint32_t i = 0; i < s->uses.n && ok; i++) {
    tl_value_id v = s->uses.at[i].v;
    if (s->local[v] || tl_value_constant(s->m, v))
      continue;
    s->local[v] = v; /* a mark, taken back below */
    ok = tl_u32_vec_push(&s->values, v);
  }
  for (uint32_t i = 0; i < s->values.n; i++)
    s->local[s->values.at[i]] = TL_NO_VALUE;
  return ok ? sort_values(s) : tl_no_memory(s->m);
}

/* Adds what stands for a captured value in a branch: a copy of a constant, else an input. */
static tl_value_id add_local(isolating *s, tl_graph_id branch, tl_value_id v) {
  tl_symbol name = tl_module_fresh_name(s->m, tl_value_name(s->m, v));
  const tl_value *outer = tl_value_get(s->m, v);
  if (name == TL_NO_SYMBOL)
    return TL_NO_VALUE;
  if (outer->kind == TL_VALUE_CONSTANT)
    return tl_graph_add_constant(s->m, branch, name, outer->tensor);
  return tl_graph_add_input(s->m, branch, name, outer->type, TL_NO_TENSOR);
}

/* Gives a branch its inputs and lets its captured uses (from..to in s->uses) read them. */
static tl_status close_branch(isolating *s, tl_graph_id branch, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < s->values.n; i++)
    if (!(s->local[s->values.at[i]] = add_local(s, branch, s->values.at[i])))
      return tl_no_memory(s->m);
  for (uint32_t i = from; i < to; i++) {
    const capture *c = &s->uses.at[i];
    if (!s->local[c->v] && !(s->local[c->v] = add_local(s, branch, c->v)))
      return tl_no_memory(s->m);
    tl_node_set_operand(s->m, c->user, c->index, s->local[c->v]);
  }
  for (uint32_t i = 0; i < s->values.n; i++)
    s->local[s->values.at[i]] = TL_NO_VALUE;
  for (uint32_t i = from; i < to; i++)
    s->local[s->uses.at[i].v] = TL_NO_VALUE;
  return TL_OK;
}

static tl_status add_operands(isolating *s, tl_node_id n) {
  uint32_t had = tl_node_get(s->m, n)->n_operands;
  tl_arena_mark mark = tl_arena_save(s->p->scratch);
  tl_value_id *all = tl_arena_calloc(s->p->scratch, (size_t)had + s->values.n, sizeof *all);
  if (!all)
    return tl_no_memory(s->m);
  for (uint32_t i = 0; i < had; i++)
    all[i] = tl_operand(s->m, n, i);
  for (uint32_t i = 0; i < s->values.n; i++)
    all[had + i] = s->values.at[i];
  tl_status status = tl_node_set_operands(s->m, n, all, had + s->values.n);
  tl_arena_rewind(s->p->scratch, mark);
  return status == TL_OK ? TL_OK : tl_no_memory(s->m);
}

/* Makes room for the inputs that branches have got: a branch inside may capture them, where a pass
 * made the node around it later. Between nodes all entries are 0. */
static bool make_room(isolating *s) {
  uint32_t n = tl_module_value_end(s->m);
  if (n <= s->n_local)
    return true;
  s->n_local = s->n_local ? n + n / 2 : n;
  s->local = tl_arena_calloc(s->p->scratch, s->n_local, sizeof *s->local);
  return s->local != NULL;
}

static bool is_branch(const tl_attr *a) { return a->kind == TL_ATTR_GRAPH; }

/* Isolates one If. Uses of all branches are collected first, since each branch gets the inputs of
 * all of them. */
static tl_status isolate_node(isolating *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  s->uses.n = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (is_branch(&node->attrs[i]))
      TL_TRY(collect(s, node->attrs[i].u.g));
  if (s->uses.n == 0 || !tl_pass_may_rewrite(s->p))
    return TL_OK;
  if (!make_room(s))
    return tl_no_memory(s->m);
  TL_TRY(list_values(s));
  tl_pass_remark(s->p, s->m, n, true, "%u captured values became operands", s->values.n);
  uint32_t from = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (!is_branch(&node->attrs[i]))
      continue;
    uint32_t to = from;
    while (to < s->uses.n && s->uses.at[to].branch == node->attrs[i].u.g)
      to++;
    TL_TRY(close_branch(s, node->attrs[i].u.g, from, to));
    from = to;
  }
  return add_operands(s, n);
}

/* Isolates inner nodes first, as graphs of a file are numbered outside in: what they capture from
 * further out becomes their operand, which the nodes around them then capture. */
static tl_status isolate_all(isolating *s) {
  for (uint32_t id = s->m->graphs.n; id > 0; id--) {
    const tl_graph *g = tl_graph_get(s->m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(s->m, g, n)
      if (tl_node_get(s->m, n)->op == TL_OP_If)
        TL_TRY(isolate_node(s, n));
  }
  return TL_OK;
}

tl_status tl_pass_isolate(tl_pass *p, tl_module *m) {
  isolating s = {.p = p, .m = m};
  s.inside = tl_arena_calloc(p->scratch, (size_t)m->graphs.n + 1, sizeof *s.inside);
  tl_status status = s.inside ? isolate_all(&s) : tl_no_memory(s.m);
  capture_vec_release(&s.uses);
  tl_u32_vec_release(&s.values);
  tl_u32_vec_release(&s.pending);
  return status;
}
