/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over names (names.h). Every value is bound on entry to its graph, and every operand of a
 * body is looked up as a reader of the file would do it. */
#include "ir/names.h"

#include "ir/graph.h"
#include "ir/trace.h"

/* A name that is visible, and the binding that it hides. */
typedef struct binding {
  tl_symbol name;
  tl_value_id value;
  uint32_t depth; /* of its graph */
  uint32_t outer; /* position + 1 of the binding that this one hides, 0: none */
} binding;

TL_VEC(binding_vec, binding);

/* A symbol table with scopes: a stack of bindings, and for each symbol the innermost one. */
typedef struct bindings {
  uint32_t *top; /* owned; by symbol: position + 1 of the innermost binding, 0: none */
  binding_vec stack;
} bindings;

/* The state of a walk over all graphs. */
typedef struct walk {
  const tl_module *m;
  const tl_name_visitor *visitor;
  bindings found;     /* what a reader looks a name up in: other bodies of a node are in it, too */
  bindings around;    /* only the graph at hand and those that it is nested in */
  uint32_t *depths;   /* owned; by graph id: how many bodies deep it is */
  uint32_t n_symbols; /* later ones are fresh names, which hide nothing */
  uint32_t depth;     /* of the graph at hand */
} walk;

/* Returns true when v, a value of a graph around body g, is made before the node that g (or a body
 * around it) hangs on, so that g can use it. */
static bool is_seen_in(const tl_module *m, tl_value_id v, const tl_graph *g) {
  tl_node_id producer = tl_value_producer(m, v);
  tl_graph_id home = tl_value_graph(m, v);
  while (tl_node_get(m, g->owner)->graph != home)
    g = tl_graph_get(m, tl_node_get(m, g->owner)->graph);
  return !producer || tl_node_is_before(m, producer, g->owner);
}

/* Returns the name of a value, 0 when there is nothing to check. */
static tl_symbol name_of(const walk *w, tl_value_id v) {
  tl_symbol name = v ? tl_value_get(w->m, v)->name : 0;
  return name < w->n_symbols ? name : 0;
}

/* The binding that is hidden comes back when this one is removed. */
static tl_status bind(bindings *b, binding added) {
  added.outer = b->top[added.name];
  if (!binding_vec_push(&b->stack, added))
    return TL_NO_MEMORY;
  b->top[added.name] = b->stack.n;
  return TL_OK;
}

/* Calls the visitor for a result that has the name of a value around it. */
static tl_status check_result(walk *w, const tl_graph *g, tl_value_id v) {
  tl_symbol name = name_of(w, v);
  uint32_t first = name ? w->around.top[name] : 0;
  const binding *stack = w->around.stack.at;
  bool seen = false;
  for (uint32_t at = first; at && !seen; at = stack[at - 1].outer)
    seen = is_seen_in(w->m, stack[at - 1].value, g);
  return first ? w->visitor->shadows(w->visitor->user, v, seen) : TL_OK;
}

/* Binds a value for lookups, or reports a second value of the same name. mark: where the bindings
 * of v's graph begin. */
static tl_status bind_found(walk *w, tl_value_id v, uint32_t mark) {
  tl_symbol name = name_of(w, v);
  if (!name)
    return TL_OK;
  if (w->found.top[name] <= mark)
    return bind(&w->found, (binding){.name = name, .value = v, .depth = w->depth});
  if (w->visitor->duplicate)
    w->visitor->duplicate(w->visitor->user, v);
  return TL_OK;
}

static tl_status bind_around(walk *w, tl_value_id v, uint32_t mark) {
  (void)mark;
  tl_symbol name = name_of(w, v);
  return name ? bind(&w->around, (binding){.name = name, .value = v}) : TL_OK;
}

typedef tl_status (*value_fn)(walk *w, tl_value_id v, uint32_t mark);

static tl_status each_value(walk *w, const tl_graph *g, value_fn fn, uint32_t mark) {
  for (uint32_t i = 0; i < g->inputs.n; i++)
    TL_TRY(fn(w, g->inputs.at[i], mark));
  for (uint32_t i = 0; i < g->constants.n; i++)
    TL_TRY(fn(w, g->constants.at[i], mark));
  TL_FOR_NODES(w->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_results; i++)
      TL_TRY(fn(w, tl_node_get(w->m, n)->results + i, mark));
  return TL_OK;
}

/* Runs before the graph's own values are bound, so that only those around it are found. */
static tl_status check_results(walk *w, const tl_graph *g) {
  TL_FOR_NODES(w->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_results; i++)
      TL_TRY(check_result(w, g, tl_node_get(w->m, n)->results + i));
  return TL_OK;
}

static tl_status bind_all(walk *w, const tl_graph *g) {
  w->depths[g->id] = w->depth;
  TL_TRY(check_results(w, g));
  return each_value(w, g, bind_found, w->found.stack.n);
}

/* Removes the bindings from `mark` on, innermost first. */
static void unbind(bindings *b, uint32_t mark) {
  while (b->stack.n > mark) {
    binding last = b->stack.at[--b->stack.n];
    /* else look_up has removed it already, since its value was renamed */
    if (b->top[last.name] == b->stack.n + 1)
      b->top[last.name] = last.outer;
  }
}

/* Looks operand i of n up by name. A binding deeper than the operand's own graph hides it. */
static tl_status look_up(walk *w, tl_node_id n, uint32_t i) {
  tl_value_id v = tl_operand(w->m, n, i);
  tl_symbol name = name_of(w, v);
  uint32_t depth = name ? w->depths[tl_value_graph(w->m, v)] : 0;
  uint32_t *top = w->found.top;
  while (name && top[name]) {
    const binding *found = &w->found.stack.at[top[name] - 1];
    if (found->depth <= depth)
      return TL_OK;
    TL_TRY(w->visitor->hidden(w->visitor->user, n, i, found->value));
    if (tl_value_get(w->m, found->value)->name == name)
      return TL_OK;
    top[name] = found->outer;
  }
  return TL_OK;
}

static tl_status look_up_all(walk *w, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++)
    TL_TRY(look_up(w, n, i));
  return TL_OK;
}

static tl_status walk_graph(walk *w, const tl_graph *g);

typedef tl_status (*graph_fn)(walk *w, const tl_graph *g);

/* Visits a body; attributes that are no bodies are left to the verifier. */
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

/* Binds the names of all bodies of a node before any of them is walked, since a reader may see them
 * all. */
static tl_status walk_bodies(walk *w, tl_node_id n) {
  uint32_t mark = w->found.stack.n;
  if (!has_body(tl_node_get(w->m, n)))
    return TL_OK;
  if (w->depth == TL_MAX_BODY_DEPTH)
    return TL_LIMIT;
  w->depth++;
  TL_TRY(each_body(w, n, bind_all));
  TL_TRY(each_body(w, n, walk_graph));
  w->depth--;
  unbind(&w->found, mark);
  return TL_OK;
}

/* Walks the nodes; operands of a root graph need no lookup, since nothing can hide them. */
static tl_status walk_nodes(walk *w, const tl_graph *g) {
  TL_FOR_NODES(w->m, g, n) {
    if (w->depth)
      TL_TRY(look_up_all(w, n));
    TL_TRY(walk_bodies(w, n));
  }
  return w->depth ? look_up_all(w, g->ret) : TL_OK;
}

static tl_status walk_graph(walk *w, const tl_graph *g) {
  uint32_t mark = w->around.stack.n;
  TL_TRY(each_value(w, g, bind_around, mark));
  TL_TRY(walk_nodes(w, g));
  unbind(&w->around, mark);
  return TL_OK;
}

static tl_status walk_root(walk *w, const tl_graph *g) {
  if (g->kind != TL_GRAPH_ROOT || g->erased)
    return TL_OK;
  TL_TRY(bind_all(w, g));
  TL_TRY(walk_graph(w, g));
  unbind(&w->found, 0);
  return TL_OK;
}

tl_status tl_names_walk(const tl_module *m, const tl_name_visitor *visitor) {
  walk w = {.m = m, .visitor = visitor, .n_symbols = m->symbols.n};
  w.found.top = calloc(w.n_symbols, sizeof *w.found.top);
  w.around.top = calloc(w.n_symbols, sizeof *w.around.top);
  w.depths = calloc((size_t)m->graphs.n + 1, sizeof *w.depths);
  tl_status status = w.found.top && w.around.top && w.depths ? TL_OK : TL_NO_MEMORY;
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    status = walk_root(&w, m->graphs.at[i]);
  free(w.found.top);
  free(w.around.top);
  free(w.depths);
  binding_vec_release(&w.found.stack);
  binding_vec_release(&w.around.stack);
  return status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tl_status rename_node(tl_module *m, tl_node_id n) {
  tl_symbol name = tl_module_fresh_name(m, tl_sym(m, tl_node_get(m, n)->name));
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_node_get(m, n)->name = name;
  return TL_OK;
}

/* The first node of a name keeps it. */
tl_status tl_names_part_nodes(tl_module *m, tl_may_rename may_rename, void *user) {
  uint32_t n_symbols = m->symbols.n;                /* later ones are fresh names */
  uint32_t *seen = calloc(n_symbols, sizeof *seen); /* by symbol: the last graph that has it */
  tl_status status = seen ? TL_OK : TL_NO_MEMORY;
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
      tl_symbol name = tl_node_get(m, n)->name;
      bool twin = name && name < n_symbols && seen[name] == g->id;
      if (name && name < n_symbols)
        seen[name] = g->id;
      if (!twin || status != TL_OK)
        continue;
      if (may_rename && !may_rename(user, n))
        goto done;
      status = tl_trace_derive(m, n, &n, 1, false) ? rename_node(m, n) : TL_NO_MEMORY;
    }
  }
done:
  free(seen);
  return status;
}
