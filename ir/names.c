/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over names (ir/names.h): every value is bound on entry to its graph, every operand of a
 * body is looked up as a reader of the file would do it. */
#include "ir/names.h"

#include "ir/graph.h"
#include "ir/parse.h"

typedef struct binding {
  tl_symbol name;
  tl_value_id value;
  uint32_t depth; /* of its graph */
  uint32_t outer; /* position + 1 of the binding that this one hides, 0: none */
  uint32_t above; /* the same, leaving out those of equal depth */
} binding;

TL_VEC(binding_vec, binding);

typedef struct walk {
  const tl_module *m;
  const tl_name_visitor *visitor;
  uint32_t *top;      /* owned; by symbol: position + 1 of the innermost binding, 0: none */
  uint32_t *depths;   /* owned; by graph id: how many bodies deep it is */
  uint32_t n_symbols; /* later ones are fresh names, which hide nothing */
  binding_vec stack;
  uint32_t depth;     /* of the graph at hand */
} walk;

/* True when v can be seen in body g: it is made before the node that g hangs on. */
static bool is_seen_in(const tl_module *m, tl_value_id v, const tl_graph *g) {
  tl_node_id producer = tl_value_producer(m, v);
  tl_graph_id home = tl_value_graph(m, v);
  while (tl_node_get(m, g->owner)->graph != home)
    g = tl_graph_get(m, tl_node_get(m, g->owner)->graph);
  return !producer || tl_node_is_before(m, producer, g->owner);
}

/* Name of a value, 0 where there is nothing to check. */
static tl_symbol name_of(const walk *w, tl_value_id v) {
  tl_symbol name = v ? tl_value_get(w->m, v)->name : 0;
  return name < w->n_symbols ? name : 0;
}

/* Position + 1 of the innermost binding of a name around the graph at hand, 0: none. */
static uint32_t binding_around(const walk *w, tl_symbol name) {
  uint32_t at = w->top[name];
  return at && w->stack.at[at - 1].depth == w->depth ? w->stack.at[at - 1].above : at;
}

/* Tells of a result that has the name of a value around it. */
static tl_status check_result(walk *w, const tl_graph *g, tl_value_id v) {
  tl_symbol name = name_of(w, v);
  uint32_t at = name ? binding_around(w, name) : 0;
  for (; at; at = w->stack.at[at - 1].above)
    if (is_seen_in(w->m, w->stack.at[at - 1].value, g))
      return w->visitor->shadows(w->visitor->user, v);
  return TL_OK;
}

/* mark: where the bindings of the graph of v begin. */
static tl_status bind(walk *w, tl_value_id v, uint32_t mark) {
  tl_symbol name = name_of(w, v);
  if (!name)
    return TL_OK;
  if (w->top[name] > mark) {
    if (w->visitor->duplicate)
      w->visitor->duplicate(w->visitor->user, v);
    return TL_OK;
  }
  binding added = {name, v, w->depth, w->top[name], binding_around(w, name)};
  if (!binding_vec_push(&w->stack, added))
    return TL_NO_MEMORY;
  w->top[name] = w->stack.n;
  return TL_OK;
}

static tl_status bind_all(walk *w, const tl_graph *g) {
  uint32_t mark = w->stack.n;
  w->depths[g->id] = w->depth;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    TL_TRY(bind(w, g->inputs.at[i], mark));
  for (uint32_t i = 0; i < g->constants.n; i++)
    TL_TRY(bind(w, g->constants.at[i], mark));
  TL_FOR_NODES(w->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_results; i++) {
      TL_TRY(check_result(w, g, tl_node_get(w->m, n)->results + i));
      TL_TRY(bind(w, tl_node_get(w->m, n)->results + i, mark));
    }
  return TL_OK;
}

static void unbind(walk *w, uint32_t mark) {
  while (w->stack.n > mark) {
    binding last = w->stack.at[--w->stack.n];
    if (w->top[last.name] == w->stack.n + 1) /* else it was renamed */
      w->top[last.name] = last.outer;
  }
}

static tl_status look_up(walk *w, tl_node_id n, uint32_t i) {
  tl_value_id v = tl_operand(w->m, n, i);
  tl_symbol name = name_of(w, v);
  uint32_t depth = name ? w->depths[tl_value_graph(w->m, v)] : 0;
  while (name && w->top[name]) {
    const binding *found = &w->stack.at[w->top[name] - 1];
    if (found->depth <= depth)
      return TL_OK;
    TL_TRY(w->visitor->hidden(w->visitor->user, n, i, found->value));
    if (tl_value_get(w->m, found->value)->name == name)
      return TL_OK;
    w->top[name] = found->outer;
  }
  return TL_OK;
}

static tl_status look_up_all(walk *w, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++)
    TL_TRY(look_up(w, n, i));
  return TL_OK;
}

static tl_status walk_nodes(walk *w, const tl_graph *g);

typedef tl_status (*graph_fn)(walk *w, const tl_graph *g);

/* Bodies that are none are for the verifier to find. */
static tl_status visit_body(walk *w, tl_node_id owner, tl_graph_id id, graph_fn fn) {
  const tl_graph *g = id && id <= w->m->graphs.n ? tl_graph_get(w->m, id) : NULL;
  return g && !g->erased && g->owner == owner ? fn(w, g) : TL_OK;
}

static tl_status each_body(walk *w, tl_node_id n, graph_fn fn) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      TL_TRY(visit_body(w, n, a->u.g, fn));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      TL_TRY(visit_body(w, n, a->u.ids[k], fn));
  }
  return TL_OK;
}

static bool has_body(const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH || node->attrs[i].kind == TL_ATTR_GRAPHS)
      return true;
  return false;
}

/* Names of all bodies of the node are bound before any of them is looked at. */
static tl_status walk_bodies(walk *w, tl_node_id n) {
  uint32_t mark = w->stack.n;
  if (!has_body(tl_node_get(w->m, n)))
    return TL_OK;
  if (w->depth == TL_MAX_BODY_DEPTH)
    return TL_LIMIT;
  w->depth++;
  TL_TRY(each_body(w, n, bind_all));
  TL_TRY(each_body(w, n, walk_nodes));
  w->depth--;
  unbind(w, mark);
  return TL_OK;
}

/* Operands of a root graph have nothing around them that could be hidden. */
static tl_status walk_nodes(walk *w, const tl_graph *g) {
  TL_FOR_NODES(w->m, g, n) {
    if (w->depth)
      TL_TRY(look_up_all(w, n));
    TL_TRY(walk_bodies(w, n));
  }
  return w->depth ? look_up_all(w, g->ret) : TL_OK;
}

static tl_status walk_root(walk *w, const tl_graph *g) {
  if (g->kind != TL_GRAPH_ROOT || g->erased)
    return TL_OK;
  TL_TRY(bind_all(w, g));
  TL_TRY(walk_nodes(w, g));
  unbind(w, 0);
  return TL_OK;
}

tl_status tl_names_walk(const tl_module *m, const tl_name_visitor *visitor) {
  walk w = {.m = m, .visitor = visitor, .n_symbols = m->symbols.n};
  w.top = calloc(w.n_symbols, sizeof *w.top);
  w.depths = calloc((size_t)m->graphs.n + 1, sizeof *w.depths);
  tl_status status = w.top && w.depths ? TL_OK : TL_NO_MEMORY;
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    status = walk_root(&w, m->graphs.at[i]);
  free(w.top);
  free(w.depths);
  binding_vec_release(&w.stack);
  return status;
}
