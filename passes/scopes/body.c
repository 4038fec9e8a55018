/* SPDX-License-Identifier: Apache-2.0 */
/* Moves nodes between a module and a body, and compares the two (body.h). */
#include "passes/scopes/body.h"

#include "ir/infer/infer.h"
#include "passes/edit/values.h"

enum {
  MOST_BYTES = 65536
}; /* upper bound on a copied constant; larger ones are weights and must
                              * be inputs */

/* State of a move from one module to another. Symbols, types and tensors belong to a module and are
 * made anew in the target. */
typedef struct mover {
  const tl_module *from;
  tl_module *to;
  tl_graph_id graph;
  tl_node_id before; /* TL_NO_NODE: append to the graph */
  tl_map values;     /* owned; value of `from` -> value of `to` */
  const char *why;   /* reason, as a clause, why something cannot be moved */
  bool no_memory;
} mover;

tl_type_id tl_scope_formal_type(const tl_module *m, tl_value_id v, tl_module *body) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < TL_MAX_RANK; i++)
    dims[i] = TL_DIM_UNKNOWN;
  return tl_type_tensor(body, (tl_dtype)t->dtype, t->rank, dims);
}

static tl_symbol move_symbol(mover *v, tl_symbol s) {
  tl_symbol moved = s ? tl_module_intern(v->to, tl_sym(v->from, s)) : 0;
  v->no_memory = v->no_memory || moved == TL_NO_SYMBOL;
  return moved;
}

static tl_symbol fresh(mover *v, tl_sv base) {
  tl_symbol s = tl_module_fresh_name(v->to, base);
  v->no_memory = v->no_memory || s == TL_NO_SYMBOL;
  return s == TL_NO_SYMBOL ? 0 : s;
}

/* ---- constants and attributes ---------------------------------------------------------------- */

static tl_tensor_id move_tensor(mover *v, tl_tensor_id id) {
  const tl_tensor *t = tl_tensor_get(v->from, id);
  const tl_type *type = tl_type_get(v->from, t->type);
  const void *data = t->kind == TL_SOURCE_STRINGS ? NULL : tl_tensor_data(t);
  if (!data || t->bytes > MOST_BYTES) {
    v->why = "has a constant that is large, of strings, or computed";
    return TL_NO_TENSOR;
  }
  tl_type_id moved = tl_type_tensor(v->to, (tl_dtype)type->dtype, type->rank, type->dims);
  tl_tensor_id made = moved ? tl_tensor_from_bytes(v->to, moved, data, t->bytes) : TL_NO_TENSOR;
  v->no_memory = v->no_memory || !made;
  return made;
}

static const void *move_bytes(mover *v, const void *at, size_t n) {
  void *copy = tl_arena_copy(&v->to->arena, n ? at : "", n);
  v->no_memory = v->no_memory || !copy;
  return copy;
}

/* Copies an attribute. A node with bodies is refused: a definition is one flat graph. */
static tl_attr move_attr(mover *v, tl_attr a) {
  a.name = move_symbol(v, a.name);
  switch ((tl_attr_kind)a.kind) {
  case TL_ATTR_INT:
  case TL_ATTR_FLOAT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: break;
  case TL_ATTR_STRING: a.u.s = move_symbol(v, a.u.s); break;
  case TL_ATTR_TENSOR: a.u.t = move_tensor(v, a.u.t); break;
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES: a.u.is = move_bytes(v, a.u.is, a.count * sizeof *a.u.is); break;
  case TL_ATTR_FLOATS: a.u.fs = move_bytes(v, a.u.fs, a.count * sizeof *a.u.fs); break;
  case TL_ATTR_GRAPH:
  case TL_ATTR_GRAPHS: v->why = "has a body"; break;
  default: v->why = "has an attribute of a rare kind";
  }
  return a;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns the moved operand; a constant is copied on first use. */
static tl_value_id move_operand(mover *v, tl_value_id value) {
  uint32_t moved = TL_NO_VALUE;
  if (!value || tl_map_find(&v->values, value, &moved))
    return moved;
  if (!tl_value_constant(v->from, value)) {
    v->why = "takes a value that is not an input of the scope";
    return TL_NO_VALUE;
  }
  tl_tensor_id t = move_tensor(v, tl_value_get(v->from, value)->tensor);
  tl_symbol name = t ? fresh(v, TL_SV("c")) : 0;
  moved = t && !v->no_memory ? tl_graph_add_constant(v->to, v->graph, name, t) : TL_NO_VALUE;
  v->no_memory = v->no_memory || (t && (!moved || !tl_map_set(&v->values, value, moved)));
  return moved;
}

/* Fills the specification of the moved node; its arrays are in the arena of the target. */
static bool fill_spec(mover *v, tl_node_id n, tl_node_spec *spec) {
  const tl_node *node = tl_node_get(v->from, n);
  tl_value_id *operands = tl_arena_calloc(&v->to->arena, node->n_operands + 1u, sizeof *operands);
  tl_symbol *names = tl_arena_calloc(&v->to->arena, node->n_results + 1u, sizeof *names);
  tl_attr *attrs = tl_arena_calloc(&v->to->arena, node->n_attrs + 1u, sizeof *attrs);
  if (!operands || !names || !attrs) {
    v->no_memory = true;
    return false;
  }
  for (uint32_t i = 0; i < node->n_operands && !v->why; i++)
    operands[i] = move_operand(v, tl_operand(v->from, n, i));
  for (uint32_t i = 0; i < node->n_attrs && !v->why; i++)
    attrs[i] = move_attr(v, node->attrs[i]);
  for (uint32_t i = 0; i < node->n_results; i++)
    names[i] = tl_value_get(v->from, node->results + i)->name ? fresh(v, TL_SV("v")) : 0;
  *spec = (tl_node_spec){.op = node->op,
                         .operands = operands,
                         .n_operands = node->n_operands,
                         .results = names,
                         .n_results = node->n_results,
                         .attrs = attrs,
                         .n_attrs = node->n_attrs};
  return !v->why && !v->no_memory;
}

/* Moves a node of ONNX's domain. Returns TL_NO_NODE if it cannot be moved or memory is out. */
static tl_node_id move_node(mover *v, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(v->from, n)->op);
  tl_node_spec spec;
  if (!row || row->domain_symbol) {
    v->why = "is not an op of the domain ai.onnx";
    return TL_NO_NODE;
  }
  if (!fill_spec(v, n, &spec))
    return TL_NO_NODE;
  tl_node_id made = v->before ? tl_graph_insert(v->to, v->before, &spec)
                              : tl_graph_append(v->to, v->graph, &spec);
  v->no_memory = v->no_memory || !made;
  for (uint32_t i = 0; made && i < spec.n_results; i++)
    if (!tl_map_set(&v->values, tl_result(v->from, n, i), tl_result(v->to, made, i)))
      v->no_memory = true;
  return v->no_memory ? TL_NO_NODE : made;
}

/* ---- out of the model ------------------------------------------------------------------------ */

/* Adds the inputs with open sizes; only tensors of known rank are accepted. */
static void add_inputs(mover *v, const tl_scope_cut *cut) {
  for (uint32_t i = 0; i < cut->n_inputs && !v->no_memory && !v->why; i++) {
    const tl_type *t = tl_type_get(v->from, tl_value_type(v->from, cut->inputs[i]));
    if (t->kind != TL_KIND_TENSOR || t->rank < 0) {
      v->why = "has a boundary value that is not a tensor of known rank";
      return;
    }
    tl_type_id open = tl_scope_formal_type(v->from, cut->inputs[i], v->to);
    tl_symbol name = fresh(v, tl_sym(v->from, cut->input_names[i]));
    tl_value_id input = v->no_memory || !open
                            ? TL_NO_VALUE
                            : tl_graph_add_input(v->to, v->graph, name, open, TL_NO_TENSOR);
    v->no_memory = !input || !tl_map_set(&v->values, cut->inputs[i], input);
  }
}

static void set_outputs(mover *v, const tl_scope_cut *cut) {
  tl_value_id *at = tl_arena_calloc(&v->to->arena, cut->n_outputs + 1u, sizeof *at);
  v->no_memory = v->no_memory || !at;
  for (uint32_t i = 0; i < cut->n_outputs && !v->no_memory; i++) {
    (void)tl_map_find(&v->values, cut->outputs[i], &at[i]);
    tl_value_set_name(v->to, at[i], fresh(v, tl_sym(v->from, cut->output_names[i])));
  }
  if (!v->no_memory && tl_graph_set_outputs(v->to, v->graph, at, cut->n_outputs) != TL_OK)
    v->no_memory = true;
}

/* Inputs, nodes and outputs are moved in this order; the first problem ends the work and *where
 * names its node. */
tl_status tl_scope_body_make(tl_module *m, const tl_scope_cut *cut, tl_module **out,
                             const char **why, tl_node_id *where) {
  mover v = {.from = m, .to = tl_module_create(m->diag, m->path, cut->n_nodes)};
  *out = NULL;
  *where = cut->nodes[0];
  v.no_memory = !v.to || tl_module_set_opset(v.to, 0, tl_module_opset(m, 0)) != TL_OK;
  v.graph = v.no_memory ? TL_NO_GRAPH : tl_graph_create(v.to, TL_GRAPH_ROOT, 0, TL_NO_NODE);
  v.no_memory = v.no_memory || !v.graph;
  if (!v.no_memory)
    add_inputs(&v, cut);
  for (uint32_t i = 0; i < cut->n_nodes && !v.no_memory && !v.why; i++) {
    *where = cut->nodes[i];
    (void)move_node(&v, cut->nodes[i]);
  }
  if (!v.no_memory && !v.why)
    set_outputs(&v, cut);
  tl_map_release(&v.values);
  *why = v.why;
  if (!v.no_memory && !v.why)
    *out = v.to;
  else if (v.to)
    tl_module_destroy(v.to);
  return v.no_memory ? tl_no_memory(m) : TL_OK;
}

/* ---- an op in its place ---------------------------------------------------------------------- */

/* Adds an input with the dtype of `of` and the given sizes. */
static tl_value_id sized_input(mover *v, tl_value_id of, tl_symbol name, const int64_t *dims) {
  const tl_type *t = tl_type_get(v->from, tl_value_type(v->from, of));
  tl_dim sizes[TL_MAX_RANK];
  for (int i = 0; i < t->rank; i++)
    sizes[i] = dims[i];
  tl_type_id type = tl_type_tensor(v->to, (tl_dtype)t->dtype, t->rank, sizes);
  tl_symbol s = fresh(v, tl_sym(v->from, name));
  return v->no_memory || !type ? TL_NO_VALUE
                               : tl_graph_add_input(v->to, v->graph, s, type, TL_NO_TENSOR);
}

/* Adds the node and the outputs behind the inputs. */
static void add_reference(mover *v, const tl_scope_cut *cut, tl_node_spec *spec,
                          const tl_attr *attrs) {
  tl_symbol *names = tl_arena_calloc(&v->to->arena, cut->n_outputs + 1u, sizeof *names);
  tl_attr *moved = tl_arena_calloc(&v->to->arena, spec->n_attrs + 1u, sizeof *moved);
  v->no_memory = v->no_memory || !names || !moved;
  for (uint32_t i = 0; i < spec->n_attrs && !v->no_memory; i++)
    moved[i] = move_attr(v, attrs[i]);
  for (uint32_t i = 0; i < cut->n_outputs && !v->no_memory; i++)
    names[i] = fresh(v, tl_sym(v->from, cut->output_names[i]));
  spec->attrs = moved;
  spec->results = names;
  tl_node_id made = v->no_memory ? TL_NO_NODE : tl_graph_append(v->to, v->graph, spec);
  tl_value_id *at = tl_arena_calloc(&v->to->arena, cut->n_outputs + 1u, sizeof *at);
  v->no_memory = !made || !at;
  for (uint32_t i = 0; i < cut->n_outputs && !v->no_memory; i++)
    at[i] = tl_result(v->to, made, i);
  if (!v->no_memory && tl_graph_set_outputs(v->to, v->graph, at, cut->n_outputs) != TL_OK)
    v->no_memory = true;
}

tl_status tl_scope_reference_make(tl_module *m, const tl_scope_cut *cut, tl_scope_op node,
                                  const int64_t *dims, tl_module **out) {
  mover v = {.from = m, .to = tl_module_create(m->diag, m->path, 1)};
  tl_value_id *operands = NULL;
  *out = NULL;
  v.no_memory = !v.to || tl_module_set_opset(v.to, 0, tl_module_opset(m, 0)) != TL_OK;
  v.graph = v.no_memory ? TL_NO_GRAPH : tl_graph_create(v.to, TL_GRAPH_ROOT, 0, TL_NO_NODE);
  if (v.graph)
    operands = tl_arena_calloc(&v.to->arena, cut->n_inputs + 1u, sizeof *operands);
  v.no_memory = v.no_memory || !operands;
  for (uint32_t i = 0; i < cut->n_inputs && !v.no_memory; i++) {
    operands[i] = sized_input(&v, cut->inputs[i], cut->input_names[i], dims);
    dims += tl_type_get(m, tl_value_type(m, cut->inputs[i]))->rank;
    v.no_memory = !operands[i];
  }
  tl_node_spec spec = {.op = node.op,
                       .operands = operands,
                       .n_operands = cut->n_inputs,
                       .n_results = cut->n_outputs,
                       .n_attrs = node.n_attrs};
  if (!v.no_memory)
    add_reference(&v, cut, &spec, node.attrs);
  if (!v.no_memory)
    *out = v.to;
  else if (v.to)
    tl_module_destroy(v.to);
  return v.no_memory ? tl_no_memory(m) : TL_OK;
}

/* ---- beside a body --------------------------------------------------------------------------- */

/* Comparison of a scope with a body, without building a second body. */
typedef struct matcher {
  const tl_module *m;
  const tl_module *body;
  tl_value_id *other; /* by value of m: the value of the body that it equals */
} matcher;

static bool same_dims(const tl_type *v, const tl_type *w) {
  for (int i = 0; i < v->rank; i++)
    if (v->rank != w->rank || v->dims[i] != w->dims[i])
      return false;
  return v->rank == w->rank;
}

/* Returns true for equal types and bytes. Equal elements of plain types have equal bytes. */
static bool same_tensors(matcher *match, tl_tensor_id a, tl_tensor_id b) {
  const tl_tensor *t = tl_tensor_get(match->m, a), *u = tl_tensor_get(match->body, b);
  const tl_type *v = tl_type_get(match->m, t->type), *w = tl_type_get(match->body, u->type);
  const void *p = t->kind == TL_SOURCE_STRINGS ? NULL : tl_tensor_data(t);
  const void *q = u->kind == TL_SOURCE_STRINGS ? NULL : tl_tensor_data(u);
  return p && q && t->bytes == u->bytes && v->dtype == w->dtype && same_dims(v, w) &&
         memcmp(p, q, (size_t)t->bytes) == 0;
}

/* Returns true if operand v corresponds to that of the body; equal constants correspond. */
static bool same_operands(matcher *match, tl_value_id v, tl_value_id of_body) {
  if (!v || !of_body)
    return !v && !of_body;
  if (!match->other[v] && tl_value_constant(match->m, v) &&
      tl_value_constant(match->body, of_body) &&
      same_tensors(match, tl_value_get(match->m, v)->tensor,
                   tl_value_get(match->body, of_body)->tensor))
    match->other[v] = of_body;
  return match->other[v] == of_body;
}

static bool same_attrs(matcher *match, tl_attr a, const tl_attr *b) {
  if (a.kind != b->kind || !tl_sv_eq(tl_sym(match->m, a.name), tl_sym(match->body, b->name)))
    return false;
  a.name = b->name;
  switch ((tl_attr_kind)a.kind) {
  case TL_ATTR_STRING: return tl_sv_eq(tl_sym(match->m, a.u.s), tl_sym(match->body, b->u.s));
  case TL_ATTR_TENSOR: return same_tensors(match, a.u.t, b->u.t);
  case TL_ATTR_INT:
  case TL_ATTR_FLOAT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE:
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES:
  case TL_ATTR_FLOATS: return tl_attr_equal(match->body, &a, b);
  default: return false;
  }
}

/* Compares op, operands and attributes. Names count only as far as results are named or not. */
static bool same_nodes(matcher *match, tl_node_id n, tl_node_id of_body) {
  const tl_node *a = tl_node_get(match->m, n), *b = tl_node_get(match->body, of_body);
  bool same = a->op == b->op && tl_op_row(a->op) && a->n_operands == b->n_operands &&
              a->n_results == b->n_results && a->n_attrs == b->n_attrs;
  for (uint32_t i = 0; same && i < a->n_operands; i++)
    same = same_operands(match, tl_operand(match->m, n, i), tl_operand(match->body, of_body, i));
  for (uint32_t i = 0; same && i < a->n_attrs; i++)
    same = same_attrs(match, a->attrs[i], &b->attrs[i]);
  for (uint32_t i = 0; same && i < a->n_results; i++) {
    same = !tl_value_get(match->m, a->results + i)->name ==
           !tl_value_get(match->body, b->results + i)->name;
    match->other[a->results + i] = b->results + i;
  }
  return same;
}

/* Inputs correspond by position; dtype and rank must agree. */
static bool same_inputs(matcher *match, const tl_scope_cut *cut, const tl_graph *g) {
  bool same = cut->n_inputs == g->inputs.n;
  for (uint32_t i = 0; same && i < cut->n_inputs; i++) {
    const tl_type *t = tl_type_get(match->m, tl_value_type(match->m, cut->inputs[i]));
    const tl_type *u = tl_type_get(match->body, tl_value_type(match->body, g->inputs.at[i]));
    same = t->kind == u->kind && t->dtype == u->dtype && t->rank == u->rank;
    match->other[cut->inputs[i]] = g->inputs.at[i];
  }
  return same;
}

/* Sets all entries that the comparison may have used back to 0. */
static void clear(matcher *match, const tl_scope_cut *cut) {
  for (uint32_t i = 0; i < cut->n_inputs; i++)
    match->other[cut->inputs[i]] = TL_NO_VALUE;
  for (uint32_t i = 0; i < cut->n_nodes; i++) {
    const tl_node *node = tl_node_get(match->m, cut->nodes[i]);
    for (uint32_t k = 0; k < node->n_operands; k++)
      match->other[tl_operand(match->m, cut->nodes[i], k)] = TL_NO_VALUE;
    for (uint32_t k = 0; k < node->n_results; k++)
      match->other[node->results + k] = TL_NO_VALUE;
  }
}

bool tl_scope_body_is(const tl_module *m, const tl_scope_cut *cut, const tl_module *body,
                      tl_value_id *room) {
  matcher match = {.m = m, .body = body, .other = room};
  const tl_graph *g = tl_module_main(body);
  tl_node_id n = g->first;
  bool same = same_inputs(&match, cut, g) && g->n_nodes == cut->n_nodes &&
              tl_graph_n_outputs(body, g) == cut->n_outputs;
  for (uint32_t i = 0; same && i < cut->n_nodes; i++, n = tl_node_get(body, n)->next)
    same = same_nodes(&match, cut->nodes[i], n);
  for (uint32_t i = 0; same && i < cut->n_outputs; i++)
    same = room[cut->outputs[i]] == tl_graph_output(body, g, i);
  clear(&match, cut);
  return same;
}

/* ---- back into it ---------------------------------------------------------------------------- */

/* Replaces node n by the nodes of its body in front of it. Types are inferred node by node from the
 * operands at hand, since sizes in the body are open. */
static tl_status expand(tl_module *m, tl_node_id n, const tl_module *body) {
  const tl_graph *g = tl_module_main(body);
  mover v = {.from = body, .to = m, .graph = tl_node_get(m, n)->graph, .before = n};
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (!tl_map_set(&v.values, g->inputs.at[i], tl_operand(m, n, i)))
      v.no_memory = true;
  tl_status status = TL_OK;
  TL_FOR_NODES(body, g, from) {
    tl_node_id made = v.no_memory || v.why || status != TL_OK ? TL_NO_NODE : move_node(&v, from);
    if (made)
      status = tl_infer_node(m, made);
  }
  for (uint32_t i = 0; i < tl_graph_n_outputs(body, g) && !v.no_memory && status == TL_OK; i++) {
    uint32_t made = TL_NO_VALUE;
    (void)tl_map_find(&v.values, tl_graph_output(body, g, i), &made);
    tl_value_merge(m, tl_result(m, n, i), made);
  }
  tl_map_release(&v.values);
  if (v.no_memory)
    return tl_no_memory(m);
  if (status == TL_OK)
    tl_node_erase(m, n);
  return status;
}

/* Only an op without a row in the op table has a captured scope as its definition. */
tl_status tl_scope_bodies_expand(tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      bool opaque = !tl_op_row(tl_node_get(m, n)->op);
      const tl_definition *d = opaque ? tl_module_definition(m, n) : NULL;
      if (d)
        TL_TRY(expand(m, n, d->body));
    }
  }
  return TL_OK;
}
