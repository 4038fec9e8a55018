/* SPDX-License-Identifier: Apache-2.0 */
/* Implements looking into models (include/tailor/graph.h): views of the module's records. */
#include "ir/tensor_expr.h"
#include "ir/trace.h"
#include "lib/handle.h"

static const tl_text no_text = {"", 0};

static tl_text text_of(const tl_model *m, tl_symbol s) {
  tl_sv v = tl_sym(m->module, s);
  return (tl_text){v.n ? v.p : "", v.n};
}

static tl_text text_view(tl_sv v) { return (tl_text){v.n ? v.p : "", v.n}; }

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Returns a graph that is there, or NULL. */
static const tl_graph *graph_at(const tl_model *m, uint32_t graph) {
  if (graph == TL_NO_GRAPH || graph > m->module->graphs.n)
    return NULL;
  const tl_graph *g = tl_graph_get(m->module, graph);
  return g->erased ? NULL : g;
}

uint32_t tl_model_main_graph(const tl_model *m) { return tl_module_main(m->module)->id; }

uint32_t tl_model_count_nodes(const tl_model *m) { return tl_module_count_nodes(m->module); }

int tl_model_graph(const tl_model *m, uint32_t graph, tl_graph_view *out) {
  const tl_graph *g = graph_at(m, graph);
  if (!g)
    return 0;
  *out = (tl_graph_view){.name = text_of(m, g->name),
                         .owner = g->owner,
                         .n_inputs = g->inputs.n,
                         .n_outputs = tl_graph_n_outputs(m->module, g),
                         .n_constants = g->constants.n,
                         .n_nodes = g->n_nodes,
                         .first = g->first};
  return 1;
}

uint32_t tl_model_input(const tl_model *m, uint32_t graph, uint32_t i) {
  const tl_graph *g = graph_at(m, graph);
  return g && i < g->inputs.n ? g->inputs.at[i] : TL_NO_VALUE;
}

uint32_t tl_model_output(const tl_model *m, uint32_t graph, uint32_t i) {
  const tl_graph *g = graph_at(m, graph);
  return g ? tl_graph_output(m->module, g, i) : TL_NO_VALUE;
}

uint32_t tl_model_constant(const tl_model *m, uint32_t graph, uint32_t i) {
  const tl_graph *g = graph_at(m, graph);
  return g && i < g->constants.n ? g->constants.at[i] : TL_NO_VALUE;
}

int64_t tl_model_opset(const tl_model *m, const char *domain) {
  tl_symbol s = tl_symbol_find(&m->module->symbols, tl_sv_from(domain));
  return s == TL_NO_SYMBOL ? 0 : tl_module_opset(m->module, s);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns a value that is there, or NULL. */
static const tl_value *value_at(const tl_model *m, uint32_t value) {
  if (value == TL_NO_VALUE || value >= tl_module_value_end(m->module))
    return NULL;
  const tl_value *v = tl_value_get(m->module, value);
  return v->kind == TL_VALUE_NONE ? NULL : v;
}

_Static_assert((int)TL_VALUE_RESULT == (int)TL_VALUE_IS_RESULT, "");
_Static_assert((int)TL_VALUE_INPUT == (int)TL_VALUE_IS_INPUT, "");
_Static_assert((int)TL_VALUE_CONSTANT == (int)TL_VALUE_IS_CONSTANT, "");
_Static_assert(TL_DIM_UNKNOWN == TL_DIM_OPEN && TL_RANK_UNKNOWN == (int)TL_RANK_OPEN, "");

int tl_model_value(const tl_model *m, uint32_t value, tl_value_view *out) {
  const tl_value *v = value_at(m, value);
  if (!v)
    return 0;
  const tl_type *t = tl_type_get(m->module, v->type);
  bool tensor = t->kind == TL_KIND_TENSOR;
  *out =
      (tl_value_view){.name = text_of(m, v->name),
                      .role = (tl_value_role)v->kind,
                      .element = tensor ? tl_lib_element((tl_dtype)t->dtype) : TL_ELEMENT_UNKNOWN,
                      .rank = tensor ? t->rank : TL_RANK_OPEN,
                      .dims = tensor && t->rank > 0 ? t->dims : NULL,
                      .producer = tl_value_producer(m->module, value),
                      .n_uses = v->n_uses};
  return 1;
}

tl_text tl_model_symbol(const tl_model *m, int64_t dim) {
  bool named = tl_dim_is_symbol(dim) && tl_dim_symbol(dim) < m->module->symbols.n;
  return named ? text_of(m, tl_dim_symbol(dim)) : no_text;
}

/* Returns true for a value of the main graph that has the name. */
static bool is_named(const tl_module *m, tl_value_id v, tl_symbol name) {
  const tl_value *value = tl_value_get(m, v);
  return value->name == name && value->kind != TL_VALUE_NONE && tl_value_graph(m, v) == 1;
}

uint32_t tl_model_find_value(const tl_model *m, const char *name) {
  tl_symbol s = tl_symbol_find(&m->module->symbols, tl_sv_from(name));
  for (tl_value_id v = 1; s && s != TL_NO_SYMBOL && v < tl_module_value_end(m->module); v++)
    if (is_named(m->module, v, s))
      return v;
  return TL_NO_VALUE;
}

static void view_tensor(const tl_model *m, const tl_tensor *t, tl_tensor_view *out) {
  const tl_type *type = tl_type_get(m->module, t->type);
  bool strings = t->kind == TL_SOURCE_STRINGS;
  *out = (tl_tensor_view){.element = tl_lib_element((tl_dtype)t->dtype),
                          .rank = type->rank,
                          .dims = type->rank > 0 ? type->dims : NULL,
                          .data = strings ? NULL : tl_tensor_data(t),
                          .bytes = t->bytes};
}

/* Returns the data of a constant or the default of an input; NULL without any. */
static const tl_tensor *weight_of(const tl_model *m, uint32_t value) {
  const tl_value *v = value_at(m, value);
  bool has = v && v->tensor != TL_NO_TENSOR && v->kind != TL_VALUE_RESULT;
  return has ? tl_tensor_get(m->module, v->tensor) : NULL;
}

int tl_model_weight(const tl_model *m, uint32_t value, tl_tensor_view *view) {
  const tl_tensor *t = weight_of(m, value);
  if (!t)
    return 0;
  view_tensor(m, t, view);
  return 1;
}

int tl_model_read_weight(const tl_model *m, uint32_t value, void *to, uint64_t bytes) {
  const tl_tensor *t = weight_of(m, value);
  if (!t || t->kind == TL_SOURCE_STRINGS || t->bytes != bytes)
    return tl_lib_misuse(m->context, "value %u is no weight of %llu bytes", value,
                         (unsigned long long)bytes);
  tl_tensor_read(t, 0, tl_tensor_elements(m->module, t), to);
  return TL_SUCCESS;
}

uint32_t tl_model_user(const tl_model *m, uint32_t value, uint32_t i, uint32_t *operand) {
  const tl_module *module = m->module;
  if (!value_at(m, value))
    return TL_NO_NODE;
  TL_FOR_USES(module, value, u) {
    if (i-- > 0)
      continue;
    tl_node_id user = tl_use_get(module, u)->user;
    if (operand)
      *operand = u - tl_node_get(module, user)->operands;
    return tl_node_is_return(module, user) ? TL_NO_NODE : user;
  }
  return TL_NO_NODE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns a node that is there, or NULL. */
static const tl_node *node_at(const tl_model *m, uint32_t node) {
  if (node == TL_NO_NODE || node >= tl_module_node_end(m->module))
    return NULL;
  const tl_node *n = tl_node_get(m->module, node);
  return n->op == TL_OP_RETURN || n->op == TL_OP_ERASED ? NULL : n;
}

int tl_model_node(const tl_model *m, uint32_t node, tl_node_view *out) {
  const tl_node *n = node_at(m, node);
  if (!n)
    return 0;
  *out = (tl_node_view){.name = text_of(m, n->name),
                        .domain = text_view(tl_op_domain(m->module, n->op)),
                        .op = text_view(tl_op_name(m->module, n->op)),
                        .graph = n->graph,
                        .n_operands = n->n_operands,
                        .n_results = n->n_results,
                        .n_attributes = n->n_attrs,
                        .previous = n->previous,
                        .next = n->next};
  return 1;
}

uint32_t tl_model_operand(const tl_model *m, uint32_t node, uint32_t i) {
  return node_at(m, node) ? tl_operand(m->module, node, i) : TL_NO_VALUE;
}

uint32_t tl_model_result(const tl_model *m, uint32_t node, uint32_t i) {
  return node_at(m, node) ? tl_result(m->module, node, i) : TL_NO_VALUE;
}

uint32_t tl_model_find_node(const tl_model *m, const char *name) {
  tl_symbol s = tl_symbol_find(&m->module->symbols, tl_sv_from(name));
  for (tl_node_id n = 1; s && s != TL_NO_SYMBOL && n < tl_module_node_end(m->module); n++)
    if (node_at(m, n) && tl_node_get(m->module, n)->name == s)
      return n;
  return TL_NO_NODE;
}

tl_text tl_model_origins(const tl_model *m, uint32_t node) {
  bool inserted;
  tl_buf room;
  if (!node_at(m, node))
    return no_text;
  tl_buf_init(&room);
  tl_sv list = tl_trace_origins(m->module, node, &room, &inserted);
  bool is_made = list.n && list.p == room.p;
  tl_symbol kept = is_made ? tl_module_intern(m->module, list) : 0;
  if (is_made)
    list = kept == TL_NO_SYMBOL ? TL_SV("") : tl_sym(m->module, kept);
  if (room.failed || kept == TL_NO_SYMBOL)
    (void)tl_no_memory(m->module); /* the caller sees no code, but hears the message */
  tl_buf_release(&room);
  return text_view(list);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void view_attribute(const tl_model *m, const tl_attr *a, tl_attribute_view *out) {
  *out = (tl_attribute_view){.name = text_of(m, a->name), .n = a->count, .text = no_text};
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_BOOL:
  case TL_ATTR_INT:
    out->type = TL_ATTRIBUTE_INT;
    out->integer = a->u.i;
    break;
  case TL_ATTR_FLOAT:
    out->type = TL_ATTRIBUTE_FLOAT;
    out->number = a->u.f;
    break;
  case TL_ATTR_STRING:
    out->type = TL_ATTRIBUTE_STRING;
    out->text = text_of(m, a->u.s);
    break;
  case TL_ATTR_TENSOR:
    out->type = TL_ATTRIBUTE_TENSOR;
    view_tensor(m, tl_tensor_get(m->module, a->u.t), &out->tensor);
    break;
  case TL_ATTR_GRAPH:
    out->type = TL_ATTRIBUTE_GRAPH;
    out->graph = a->u.g;
    break;
  case TL_ATTR_BOOLS:
  case TL_ATTR_INTS:
    out->type = TL_ATTRIBUTE_INTS;
    out->integers = a->u.is;
    break;
  case TL_ATTR_FLOATS:
    out->type = TL_ATTRIBUTE_FLOATS;
    out->numbers = a->u.fs;
    break;
  case TL_ATTR_STRINGS: out->type = TL_ATTRIBUTE_STRINGS; break;
  default: out->type = TL_ATTRIBUTE_OTHER; break;
  }
}

int tl_model_attribute(const tl_model *m, uint32_t node, uint32_t i, tl_attribute_view *out) {
  const tl_node *n = node_at(m, node);
  if (!n || i >= n->n_attrs)
    return 0;
  view_attribute(m, &n->attrs[i], out);
  return 1;
}

static const tl_attr *find_attribute(const tl_model *m, uint32_t node, const char *name) {
  tl_symbol s = tl_symbol_find(&m->module->symbols, tl_sv_from(name));
  return node_at(m, node) && s != TL_NO_SYMBOL ? tl_node_attr(m->module, node, s) : NULL;
}

int tl_model_find_attribute(const tl_model *m, uint32_t node, const char *name,
                            tl_attribute_view *out) {
  const tl_attr *a = find_attribute(m, node, name);
  if (a)
    view_attribute(m, a, out);
  return a != NULL;
}

tl_text tl_model_attribute_text(const tl_model *m, uint32_t node, const char *name, uint32_t k) {
  const tl_attr *a = find_attribute(m, node, name);
  bool has = a && a->kind == TL_ATTR_STRINGS && k < a->count;
  return has ? text_of(m, a->u.ids[k]) : no_text;
}
