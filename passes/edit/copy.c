/* SPDX-License-Identifier: Apache-2.0 */
/* Copies nodes with their bodies and lists what a body captures (copy.h). */
#include "passes/edit/copy.h"

#include "ir/infer/infer.h"
#include "ir/trace.h"

void tl_copy_set(tl_copier *c, tl_value_id v, tl_value_id to) {
  if (!tl_map_set(&c->values, v, to))
    c->k->no_memory = true;
}

void tl_copier_release(tl_copier *c) {
  tl_map_release(&c->values);
  tl_map_release(&c->nodes);
}

/* Returns a name that no value has, derived from `name`; 0 stays 0 (unnamed). */
static tl_symbol fresh(tl_copier *c, tl_symbol name) {
  tl_symbol s = name ? tl_module_fresh_name(c->k->m, tl_sym(c->k->m, name)) : 0;
  c->k->no_memory = c->k->no_memory || s == TL_NO_SYMBOL;
  return s;
}

void tl_copy_constant(tl_copier *c, tl_value_id v) {
  tl_module *m = c->k->m;
  tl_symbol name = fresh(c, tl_value_get(m, v)->name);
  if (tl_maker_failed(c->k))
    return;
  tl_value_id made = tl_graph_add_constant(m, c->k->graph, name, tl_value_get(m, v)->tensor);
  c->k->no_memory = !made;
  if (!made)
    return;
  tl_value_set_type(m, made, tl_value_type(m, v));
  tl_copy_set(c, v, made);
}

void tl_copy_constants(tl_copier *c, const tl_graph *g) {
  for (uint32_t i = 0; i < g->constants.n && !tl_maker_failed(c->k); i++)
    if (g->constants.at[i])
      tl_copy_constant(c, g->constants.at[i]);
}

/* ---- bodies of nodes ------------------------------------------------------------------------- */

/* Gives the new body inputs with the types and initial values of the original. */
static void copy_inputs(tl_copier *c, const tl_graph *from, tl_graph_id to) {
  tl_module *m = c->k->m;
  for (uint32_t i = 0; i < from->inputs.n && !tl_maker_failed(c->k); i++) {
    const tl_value *v = tl_value_get(m, from->inputs.at[i]);
    tl_symbol name = fresh(c, v->name);
    tl_value_id made = name == TL_NO_SYMBOL ? TL_NO_VALUE
                                            : tl_graph_add_input(m, to, name, v->type, v->tensor);
    c->k->no_memory = c->k->no_memory || !made;
    tl_copy_set(c, from->inputs.at[i], made);
  }
}

/* Sets the outputs of the new body; an output from outside the body is kept as it is. */
static void copy_outputs(tl_copier *c, const tl_graph *from, tl_graph_id to) {
  tl_module *m = c->k->m;
  uint32_t n = tl_graph_n_outputs(m, from);
  tl_value_id *outputs = calloc(n ? n : 1, sizeof *outputs);
  for (uint32_t i = 0; outputs && i < n; i++)
    outputs[i] = tl_copy_of(c, tl_graph_output(m, from, i));
  if (!outputs || (!tl_maker_failed(c->k) && tl_graph_set_outputs(m, to, outputs, n) != TL_OK))
    c->k->no_memory = true;
  free(outputs);
}

/* Copies a body of a node into a new graph owned by `owner`. Recursive; the reader of the model
 * bounds the nesting. Inside, types are kept as they are and the callback is off: both concern only
 * the nodes of the outermost body. */
static tl_graph_id copy_body(tl_copier *c, tl_graph_id from, tl_node_id owner) {
  tl_module *m = c->k->m;
  tl_graph_id to = tl_graph_create(m, TL_GRAPH_BODY, tl_graph_get(m, from)->name, owner);
  if (!to) {
    c->k->no_memory = true;
    return TL_NO_GRAPH;
  }
  tl_maker inner = *c->k, *outer = c->k;
  bool anew = c->anew;
  void (*made)(void *user, tl_node_id copy) = c->made;
  inner.graph = to;
  inner.before = TL_NO_NODE;
  c->k = &inner;
  c->anew = false;
  c->made = NULL;
  const tl_graph *g = tl_graph_get(m, from);
  copy_inputs(c, g, to);
  tl_copy_constants(c, g);
  tl_copy_nodes(c, g);
  copy_outputs(c, g, to);
  c->k = outer;
  c->anew = anew;
  c->made = made;
  outer->no_memory = inner.no_memory;
  outer->clash = inner.clash;
  return to;
}

/* Replaces the bodies of a copy by copies of them. Attributes were copied by value and still name
 * the bodies of the original, which would be erased together with the copy. On failure the
 * attribute is emptied. */
static void copy_bodies(tl_copier *c, tl_node_id copy) {
  tl_module *m = c->k->m;
  for (uint32_t i = 0; i < tl_node_get(m, copy)->n_attrs; i++) {
    tl_attr a = tl_node_get(m, copy)->attrs[i];
    if (a.kind == TL_ATTR_GRAPH) {
      a.u.g = tl_maker_failed(c->k) ? TL_NO_GRAPH : copy_body(c, a.u.g, copy);
      a.kind = a.u.g ? TL_ATTR_GRAPH : TL_ATTR_NONE;
    } else if (a.kind == TL_ATTR_GRAPHS) {
      uint32_t *ids = tl_arena_calloc(&m->arena, a.count, sizeof *ids);
      uint32_t made = 0;
      c->k->no_memory = c->k->no_memory || !ids;
      while (made < a.count && !tl_maker_failed(c->k) &&
             (ids[made] = copy_body(c, a.u.ids[made], copy)) != TL_NO_GRAPH)
        made++;
      a.count = made;
      a.u.ids = ids;
      a.kind = ids ? TL_ATTR_GRAPHS : TL_ATTR_NONE;
    }
    tl_node_get(m, copy)->attrs[i] = a;
  }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool has_bodies(const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH || node->attrs[i].kind == TL_ATTR_GRAPHS)
      return true;
  return false;
}

/* Inserts the copy of node n with substituted operands and fresh names. One allocation holds the
 * operands and the names of the results. */
static tl_node_id insert_copy(tl_copier *c, tl_node_id n) {
  tl_module *m = c->k->m;
  const tl_node *node = tl_node_get(m, n);
  uint32_t n_in = node->n_operands, n_out = node->n_results;
  uint32_t *room = calloc((size_t)n_in + n_out + 1, sizeof *room);
  tl_node_spec spec = {.op = node->op,
                       .operands = room,
                       .n_operands = n_in,
                       .results = room ? room + n_in : NULL,
                       .n_results = n_out};
  c->k->no_memory = c->k->no_memory || !room;
  for (uint32_t i = 0; room && i < n_in; i++)
    room[i] = tl_copy_of(c, tl_operand(m, n, i));
  for (uint32_t i = 0; room && i < n_out; i++)
    room[n_in + i] = fresh(c, tl_value_get(m, node->results + i)->name);
  spec.name = fresh(c, node->name);
  spec.attrs = node->attrs;
  spec.n_attrs = node->n_attrs;
  tl_node_id copy = TL_NO_NODE;
  if (!tl_maker_failed(c->k)) {
    copy = c->k->before ? tl_graph_insert(m, c->k->before, &spec)
                        : tl_graph_append(m, c->k->graph, &spec);
    c->k->no_memory = !copy || !tl_trace_derive(m, copy, &n, 1, false);
  }
  free(room);
  return copy;
}

/* Keeps the types of the body, which hold for every iteration, unless types are to be inferred anew
 * and the op has a shape function. Records the results as substitutes. */
static void copy_types(tl_copier *c, tl_node_id from, tl_node_id to) {
  tl_module *m = c->k->m;
  bool stated = !c->anew || !tl_infer_knows(tl_node_get(m, from)->op);
  for (uint32_t i = 0; i < tl_node_get(m, from)->n_results; i++) {
    if (stated)
      tl_value_set_type(m, tl_result(m, to, i), tl_value_type(m, tl_result(m, from, i)));
    tl_copy_set(c, tl_result(m, from, i), tl_result(m, to, i));
  }
}

/* Infers the types of a copy. A type that inference does not find is taken from the body, which may
 * have declared it. */
static void infer_copy(tl_copier *c, tl_node_id from, tl_node_id to) {
  tl_module *m = c->k->m;
  (void)tl_maker_infer(c->k, to);
  for (uint32_t i = 0; i < tl_node_get(m, to)->n_results; i++)
    if (tl_value_type(m, tl_result(m, to, i)) == TL_NO_TYPE)
      tl_value_set_type(m, tl_result(m, to, i), tl_value_type(m, tl_result(m, from, i)));
}

/* Bodies are copied before inference, which looks into them. */
tl_node_id tl_copy_node(tl_copier *c, tl_node_id n) {
  tl_module *m = c->k->m;
  tl_node_id copy = insert_copy(c, n);
  if (!copy)
    return TL_NO_NODE;
  tl_node_get(m, copy)->scope = tl_node_get(m, n)->scope;
  tl_node_get(m, copy)->stream = tl_node_get(m, n)->stream;
  copy_types(c, n, copy);
  if (has_bodies(tl_node_get(m, copy)))
    copy_bodies(c, copy);
  if (c->anew && !tl_maker_failed(c->k))
    infer_copy(c, n, copy);
  if (c->whole && !(tl_copy_notes(m, n, copy) && tl_map_set(&c->nodes, n, copy)))
    c->k->no_memory = true;
  if (c->made && !tl_maker_failed(c->k))
    c->made(c->user, copy);
  return copy;
}

/* Copies the control edges from a node to nodes that were copied too. */
static void copy_edges(tl_copier *c, tl_node_id n) {
  tl_module *m = c->k->m;
  tl_node_id from, to;
  if (!tl_map_find(&c->nodes, n, &from))
    return;
  for (tl_control_id e = tl_node_get(m, n)->control_out; e; e = tl_control_get(m, e)->next_out) {
    tl_control_origin origin = (tl_control_origin)tl_control_get(m, e)->origin;
    if (tl_map_find(&c->nodes, tl_control_get(m, e)->to, &to) &&
        !tl_control_add(m, from, to, origin))
      c->k->no_memory = true;
  }
}

void tl_copy_nodes(tl_copier *c, const tl_graph *g) {
  TL_FOR_NODES(c->k->m, g, n)
    if (!tl_maker_failed(c->k))
      (void)tl_copy_node(c, n);
  TL_FOR_NODES(c->k->m, g, n)
    if (c->whole && !tl_maker_failed(c->k))
      copy_edges(c, n);
}

bool tl_copy_notes(tl_module *m, tl_node_id from, tl_node_id to) {
  uint32_t slot = tl_node_get(m, from)->extra;
  if (!slot)
    return true;
  tl_extra *e = tl_module_extra(m, &tl_node_get(m, to)->extra);
  if (e)
    *e = m->extras.at[slot];
  return e != NULL;
}

/* ---- questions about bodies ------------------------------------------------------------------ */

uint64_t tl_graph_count_all(const tl_module *m, const tl_graph *g) {
  uint64_t sum = g->n_nodes;
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
      const tl_attr *a = &node->attrs[i];
      if (a->kind == TL_ATTR_GRAPH)
        sum += tl_graph_count_all(m, tl_graph_get(m, a->u.g));
      for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
        sum += tl_graph_count_all(m, tl_graph_get(m, a->u.ids[k]));
    }
  }
  return sum;
}

typedef struct search {
  const tl_module *m;
  tl_map inside; /* ids of g and of the bodies inside it */
  tl_map listed; /* captured values already in `out` */
  tl_u32_vec *out;
} search;

static bool visit_graph(search *s, const tl_graph *g);

/* Lists operands whose graph is not inside. A body is visited after its owner, hence every graph
 * that can define an operand of an inner node is marked by then. */
static bool visit_operands(search *s, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(s->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(s->m, n, i);
    if (!v || tl_map_find(&s->listed, v, NULL) ||
        tl_map_find(&s->inside, tl_value_graph(s->m, v), NULL))
      continue;
    if (!tl_map_set(&s->listed, v, 1) || !tl_u32_vec_push(s->out, v))
      return false;
  }
  return true;
}

static bool visit_node(search *s, tl_node_id n) {
  const tl_node *node = tl_node_get(s->m, n);
  bool ok = visit_operands(s, n);
  for (uint32_t i = 0; i < node->n_attrs && ok; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      ok = visit_graph(s, tl_graph_get(s->m, a->u.g));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count && ok; k++)
      ok = visit_graph(s, tl_graph_get(s->m, a->u.ids[k]));
  }
  return ok;
}

static bool visit_graph(search *s, const tl_graph *g) {
  if (!tl_map_set(&s->inside, g->id, 1))
    return false;
  TL_FOR_NODES(s->m, g, n)
    if (!visit_node(s, n))
      return false;
  return visit_operands(s, g->ret);
}

bool tl_graph_captures(const tl_module *m, const tl_graph *g, tl_u32_vec *out) {
  search s = {.m = m, .out = out};
  bool ok = visit_graph(&s, g);
  tl_map_release(&s.inside);
  tl_map_release(&s.listed);
  return ok;
}
