/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over names (ir/names.h): every value is bound on entry to its graph, every operand of a
 * body is looked up as a reader of the file would do it. */
#include "ir/names.h"

#include "ir/parse.h"

typedef struct binding {
  tl_symbol name;
  tl_value_id value;
  uint32_t outer; /* position + 1 of the binding that this one hides, 0: none */
} binding;

TL_VEC(binding_vec, binding);

typedef struct walk {
  const tl_module *m;
  const tl_name_visitor *visitor;
  uint32_t *top;      /* owned; by symbol: position + 1 of the innermost binding, 0: none */
  uint32_t n_symbols; /* later ones are fresh names, which hide nothing */
  binding_vec stack;
  uint32_t depth;     /* of bodies */
} walk;

/* mark: where the bindings of the graph at hand begin. */
static tl_status bind(walk *w, tl_value_id v, uint32_t mark) {
  tl_symbol name = v ? tl_value_get(w->m, v)->name : 0;
  if (!name || name >= w->n_symbols)
    return TL_OK;
  if (w->top[name] > mark) {
    if (w->visitor->duplicate)
      w->visitor->duplicate(w->visitor->user, v);
    return TL_OK;
  }
  if (!binding_vec_push(&w->stack, (binding){name, v, w->top[name]}))
    return TL_NO_MEMORY;
  w->top[name] = w->stack.n;
  return TL_OK;
}

static tl_status bind_all(walk *w, const tl_graph *g) {
  uint32_t mark = w->stack.n;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    TL_TRY(bind(w, g->inputs.at[i], mark));
  for (uint32_t i = 0; i < g->constants.n; i++)
    TL_TRY(bind(w, g->constants.at[i], mark));
  TL_FOR_NODES(w->m, g, n)
    for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_results; i++)
      TL_TRY(bind(w, tl_node_get(w->m, n)->results + i, mark));
  return TL_OK;
}

static void unbind(walk *w, uint32_t mark) {
  while (w->stack.n > mark) {
    binding last = w->stack.at[--w->stack.n];
    if (w->top[last.name] > mark) /* else it was renamed */
      w->top[last.name] = last.outer;
  }
}

static tl_status look_up(walk *w, tl_node_id n, uint32_t i) {
  tl_value_id v = tl_operand(w->m, n, i);
  tl_symbol name = v ? tl_value_get(w->m, v)->name : 0;
  if (!name || name >= w->n_symbols)
    return TL_OK;
  while (w->top[name]) {
    const binding *found = &w->stack.at[w->top[name] - 1];
    if (found->value == v)
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

static tl_status walk_graph(walk *w, const tl_graph *g);

static tl_status walk_body(walk *w, tl_node_id owner, tl_graph_id id) {
  if (id == TL_NO_GRAPH || id > w->m->graphs.n)
    return TL_OK; /* for the verifier to find */
  const tl_graph *g = tl_graph_get(w->m, id);
  if (g->erased || g->owner != owner)
    return TL_OK;
  if (w->depth == TL_MAX_BODY_DEPTH)
    return TL_LIMIT;
  w->depth++;
  TL_TRY(walk_graph(w, g));
  w->depth--;
  return TL_OK;
}

static tl_status walk_bodies(walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      TL_TRY(walk_body(w, n, a->u.g));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      TL_TRY(walk_body(w, n, a->u.ids[k]));
  }
  return TL_OK;
}

/* Operands of a root graph have nothing around them that could be hidden. */
static tl_status walk_graph(walk *w, const tl_graph *g) {
  uint32_t mark = w->stack.n;
  TL_TRY(bind_all(w, g));
  TL_FOR_NODES(w->m, g, n) {
    if (w->depth)
      TL_TRY(look_up_all(w, n));
    TL_TRY(walk_bodies(w, n));
  }
  if (w->depth)
    TL_TRY(look_up_all(w, g->ret));
  unbind(w, mark);
  return TL_OK;
}

tl_status tl_names_walk(const tl_module *m, const tl_name_visitor *visitor) {
  walk w = {.m = m, .visitor = visitor, .n_symbols = m->symbols.n};
  w.top = calloc(w.n_symbols, sizeof *w.top);
  tl_status status = w.top ? TL_OK : TL_NO_MEMORY;
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    if (m->graphs.at[i]->kind == TL_GRAPH_ROOT && !m->graphs.at[i]->erased)
      status = walk_graph(&w, m->graphs.at[i]);
  free(w.top);
  binding_vec_release(&w.stack);
  return status;
}
