/* SPDX-License-Identifier: Apache-2.0 */
/* Emits ModelProto, GraphProto, NodeProto, AttributeProto and FunctionProto.
 * Fields go out in ascending order of their numbers, as protobuf's own writer does. The numbers are
 * those of onnx.proto. */
#include "backend/onnx/emit.h"
#include "ir/ops_gen.h"

enum { MIN_IR_VERSION = 10 }; /* the IR version that came with opset 21 */

enum {
  MODEL_IR_VERSION = 1,
  MODEL_PRODUCER_NAME = 2,
  MODEL_PRODUCER_VERSION = 3,
  MODEL_DOMAIN = 4,
  MODEL_VERSION = 5,
  MODEL_DOC = 6,
  MODEL_GRAPH = 7,
  MODEL_OPSET = 8,
  MODEL_METADATA = 14,
  MODEL_FUNCTION = 25,
  FUNCTION_NAME = 1,
  FUNCTION_INPUT = 4,
  FUNCTION_OUTPUT = 5,
  FUNCTION_ATTRIBUTE = 6,
  FUNCTION_NODE = 7,
  FUNCTION_OPSET = 9,
  FUNCTION_DOMAIN = 10,
  FUNCTION_METADATA = 14,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2,
  OPSET_DOMAIN = 1,
  OPSET_VERSION = 2,
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_INITIALIZER = 5,
  GRAPH_DOC = 10,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_VALUE_INFO = 13,
  GRAPH_METADATA = 16,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_NAME = 3,
  NODE_OP_TYPE = 4,
  NODE_ATTRIBUTE = 5,
  NODE_DOC = 6,
  NODE_DOMAIN = 7,
  NODE_METADATA = 9,
  ATTR_NAME = 1,
  ATTR_F = 2,
  ATTR_I = 3,
  ATTR_S = 4,
  ATTR_T = 5,
  ATTR_G = 6,
  ATTR_FLOATS = 7,
  ATTR_INTS = 8,
  ATTR_STRINGS = 9,
  ATTR_TENSORS = 10,
  ATTR_GRAPHS = 11,
  ATTR_TP = 14,
  ATTR_TYPE_PROTOS = 15,
  ATTR_TYPE = 20,
  ATTR_SPARSE = 22,
  ATTR_SPARSES = 23
};

/* AttributeProto.AttributeType by attribute kind; 0: not in ONNX. */
static const uint8_t attr_types[TL_N_ATTR_KINDS] = {
    [TL_ATTR_FLOAT] = 1,   [TL_ATTR_INT] = 2,     [TL_ATTR_STRING] = 3,  [TL_ATTR_TENSOR] = 4,
    [TL_ATTR_GRAPH] = 5,   [TL_ATTR_FLOATS] = 6,  [TL_ATTR_INTS] = 7,    [TL_ATTR_STRINGS] = 8,
    [TL_ATTR_TENSORS] = 9, [TL_ATTR_GRAPHS] = 10, [TL_ATTR_SPARSE] = 11, [TL_ATTR_SPARSES] = 12,
    [TL_ATTR_TYPE] = 13,   [TL_ATTR_TYPES] = 14,
};

/* Appends the elements of a list attribute. */
static void emit_list(tl_onnx_emit *e, const tl_attr *a) {
  tl_module *m = e->m;
  for (uint32_t i = 0; i < a->count; i++) {
    switch ((tl_attr_kind)a->kind) {
    case TL_ATTR_INTS: tl_wire_int(e->w, ATTR_INTS, a->u.is[i]); break;
    case TL_ATTR_FLOATS: tl_wire_float(e->w, ATTR_FLOATS, a->u.fs[i]); break;
    case TL_ATTR_STRINGS: tl_wire_sv(e->w, ATTR_STRINGS, tl_sym(m, a->u.ids[i])); break;
    case TL_ATTR_SPARSES: tl_wire_sv(e->w, ATTR_SPARSES, tl_sym(m, a->u.ids[i])); break;
    case TL_ATTR_TENSORS:
      tl_onnx_emit_tensor(e, ATTR_TENSORS, tl_tensor_get(m, a->u.ids[i]), TL_NO_VALUE);
      break;
    case TL_ATTR_GRAPHS: tl_onnx_emit_graph(e, ATTR_GRAPHS, tl_graph_get(m, a->u.ids[i])); break;
    case TL_ATTR_TYPES: tl_onnx_emit_type(e, ATTR_TYPE_PROTOS, a->u.ids[i], 0); break;
    default: break;
    }
  }
}

void tl_onnx_emit_attr(tl_onnx_emit *e, const tl_attr *a) {
  tl_module *m = e->m;
  tl_wire_begin(e->w, NODE_ATTRIBUTE);
  tl_wire_sv(e->w, ATTR_NAME, tl_sym(m, a->name));
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT: tl_wire_int(e->w, ATTR_I, a->u.i); break;
  case TL_ATTR_FLOAT: tl_wire_float(e->w, ATTR_F, a->u.f); break;
  case TL_ATTR_STRING: tl_wire_sv(e->w, ATTR_S, tl_sym(m, a->u.s)); break;
  case TL_ATTR_SPARSE: tl_wire_sv(e->w, ATTR_SPARSE, tl_sym(m, a->u.s)); break;
  case TL_ATTR_TENSOR: tl_onnx_emit_tensor(e, ATTR_T, tl_tensor_get(m, a->u.t), TL_NO_VALUE); break;
  case TL_ATTR_GRAPH: tl_onnx_emit_graph(e, ATTR_G, tl_graph_get(m, a->u.g)); break;
  case TL_ATTR_TYPE: tl_onnx_emit_type(e, ATTR_TP, a->u.type, 0); break;
  default: emit_list(e, a);
  }
  tl_wire_uint(e->w, ATTR_TYPE, attr_types[a->kind]);
  tl_wire_end(e->w);
}

/* Returns the domain of the function that defines an op: "ai.tailor" for tl:: ops. */
static tl_sv function_domain(const tl_module *m, tl_op_id op) {
  return tl_op_domain_symbol(m, op) == TL_SYM_tl ? TL_SV("ai.tailor") : tl_op_domain(m, op);
}

/* Returns the function that a node calls, NULL if it is a plain op. tl:: ops, collectives and
 * captured scopes are written as calls. */
static const tl_definition *definition_of(const tl_onnx_emit *e, tl_node_id id) {
  tl_op_id op = tl_node_get(e->m, id)->op;
  tl_symbol domain = tl_op_domain_symbol(e->m, op);
  bool ours = e->m->definitions.n &&
              (domain == TL_SYM_tl || domain == TL_SYM_npu_hcom || !tl_op_row(op));
  return ours ? tl_module_definition(e->m, id) : NULL;
}

/* Appends a NodeProto. An absent operand is an empty name. */
static void emit_node(tl_onnx_emit *e, uint32_t field, tl_node_id id) {
  tl_module *m = e->m;
  const tl_node *node = tl_node_get(m, id);
  const tl_definition *called = definition_of(e, id);
  tl_wire_begin(e->w, field);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_wire_sv(e->w, NODE_INPUT, v ? tl_value_name(m, v) : TL_SV(""));
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    tl_wire_sv(e->w, NODE_OUTPUT, tl_value_name(m, node->results + i));
  tl_wire_sv_if(e->w, NODE_NAME, tl_sym(m, node->name));
  tl_wire_sv(e->w, NODE_OP_TYPE, called ? tl_sym(m, called->name) : tl_op_name(m, node->op));
  for (uint32_t i = 0; i < node->n_attrs; i++)
    tl_onnx_emit_attr(e, &node->attrs[i]);
  tl_sv domain = called ? function_domain(m, node->op) : tl_op_domain(m, node->op);
  if (node->extra)
    tl_onnx_emit_extra(e, node->extra, NODE_DOC, 0);
  tl_wire_sv_if(e->w, NODE_DOMAIN, domain);
  if (node->extra)
    tl_onnx_emit_extra(e, node->extra, 0, NODE_METADATA);
  tl_wire_end(e->w);
}

/* Appends constants, and the default values of overridable inputs. */
static void emit_initializers(tl_onnx_emit *e, const tl_graph *g) {
  tl_module *m = e->m;
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    if (v)
      tl_onnx_emit_tensor(e, GRAPH_INITIALIZER, tl_tensor_get(m, tl_value_get(m, v)->tensor), v);
  }
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    tl_tensor_id t = tl_value_get(m, v)->tensor;
    if (t)
      tl_onnx_emit_tensor(e, GRAPH_INITIALIZER, tl_tensor_get(m, t), v);
  }
}

/* Appends value_info of inner values. Inputs and outputs have entries of their own. A constant is
 * listed only if it has documentation or metadata, since its tensor says the rest. */
static void emit_inner_values(tl_onnx_emit *e, const tl_graph *g) {
  tl_module *m = e->m;
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    if (v && tl_value_get(m, v)->extra && !tl_onnx_is_output(e, v))
      tl_onnx_emit_value(e, GRAPH_VALUE_INFO, v);
  }
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_results; i++) {
      tl_value_id v = node->results + i;
      const tl_value *value = tl_value_get(m, v);
      if (value->type && value->name && tl_onnx_has_type(m, value->type) &&
          !tl_onnx_is_output(e, v))
        tl_onnx_emit_value(e, GRAPH_VALUE_INFO, v);
    }
  }
}

void tl_onnx_emit_graph(tl_onnx_emit *e, uint32_t field, const tl_graph *g) {
  tl_module *m = e->m;
  tl_wire_begin(e->w, field);
  TL_FOR_NODES(m, g, n)
    emit_node(e, GRAPH_NODE, n);
  tl_wire_sv_if(e->w, GRAPH_NAME, tl_sym(m, g->name));
  emit_initializers(e, g);
  tl_onnx_emit_extra(e, g->extra, GRAPH_DOC, 0);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    tl_onnx_emit_value(e, GRAPH_INPUT, g->inputs.at[i]);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    tl_onnx_emit_value(e, GRAPH_OUTPUT, tl_graph_output(m, g, i));
  emit_inner_values(e, g);
  tl_onnx_emit_extra(e, g->extra, 0, GRAPH_METADATA);
  tl_wire_end(e->w);
}

/* Appends the opset imports. */
static void emit_opsets(tl_onnx_emit *e) {
  for (uint32_t i = 0; i < e->m->opsets.n; i++) {
    const tl_opset *row = &e->m->opsets.at[i];
    tl_wire_begin(e->w, MODEL_OPSET);
    tl_wire_sv(e->w, OPSET_DOMAIN, tl_sym(e->m, row->domain));
    tl_wire_int(e->w, OPSET_VERSION, row->version);
    tl_wire_end(e->w);
  }
}

/* ---- functions ------------------------------------------------------------------------------ */

/* Appends a Constant node: function bodies have no initializers. */
static void emit_constant(tl_onnx_emit *e, tl_value_id v) {
  tl_wire_begin(e->w, FUNCTION_NODE);
  tl_wire_sv(e->w, NODE_OUTPUT, tl_value_name(e->m, v));
  tl_wire_sv(e->w, NODE_OP_TYPE, TL_SV("Constant"));
  tl_attr value = tl_attr_tensor(TL_SYM_value, tl_value_get(e->m, v)->tensor);
  tl_onnx_emit_attr(e, &value);
  tl_wire_end(e->w);
}

/* Appends metadata that names the op the function stands for, from which the importer makes the op
 * again. */
static void emit_origin(tl_onnx_emit *e, tl_sv op) {
  tl_wire_begin(e->w, FUNCTION_METADATA);
  tl_wire_sv(e->w, ENTRY_KEY, TL_SV("tailor.op"));
  tl_wire_sv(e->w, ENTRY_VALUE, op);
  tl_wire_end(e->w);
}

static void emit_import(tl_onnx_emit *e, tl_sv domain, int64_t version) {
  tl_wire_begin(e->w, FUNCTION_OPSET);
  tl_wire_sv(e->w, OPSET_DOMAIN, domain);
  tl_wire_int(e->w, OPSET_VERSION, version);
  tl_wire_end(e->w);
}

/* Imports of a function: ONNX, and once each the domains of the other ops inside, in the versions
 * that the model has. */
static void emit_imports(const tl_onnx_emit *outer, tl_onnx_emit *e, const tl_graph *g) {
  emit_import(e, TL_SV(""), tl_module_opset(outer->m, 0));
  TL_FOR_NODES(e->m, g, n) {
    tl_symbol domain = tl_op_domain_symbol(e->m, tl_node_get(e->m, n)->op);
    bool seen = false;
    if (domain == 0)
      continue;
    for (tl_node_id before = g->first; before != n && !seen;
         before = tl_node_get(e->m, before)->next)
      seen = tl_op_domain_symbol(e->m, tl_node_get(e->m, before)->op) == domain;
    if (seen)
      continue;
    tl_sv name = tl_sym(e->m, domain);
    tl_symbol known = tl_symbol_find(&outer->m->symbols, name);
    int64_t version = known == TL_NO_SYMBOL ? 0 : tl_module_opset(outer->m, known);
    emit_import(e, name, version ? version : 1);
  }
}

/* Appends a FunctionProto. `inside` is an empty layout: all data of a function is in the model. */
static void emit_function(const tl_onnx_emit *outer, const tl_definition *d) {
  static const tl_onnx_layout inside = {0};
  tl_onnx_emit e = {.m = d->body, .w = outer->w, .layout = &inside};
  const tl_graph *g = tl_module_main(d->body);
  const tl_node *like = d->like ? tl_node_get(outer->m, d->like) : NULL;
  tl_op_id op = like ? like->op : d->op;
  tl_wire_begin(e.w, MODEL_FUNCTION);
  tl_wire_sv(e.w, FUNCTION_NAME, tl_sym(outer->m, d->name));
  for (uint32_t i = 0; i < g->inputs.n; i++)
    tl_wire_sv(e.w, FUNCTION_INPUT, tl_value_name(e.m, g->inputs.at[i]));
  for (uint32_t i = 0; i < tl_graph_n_outputs(e.m, g); i++)
    tl_wire_sv(e.w, FUNCTION_OUTPUT, tl_value_name(e.m, tl_graph_output(e.m, g, i)));
  for (uint32_t i = 0; like && i < like->n_attrs; i++)
    tl_wire_sv(e.w, FUNCTION_ATTRIBUTE, tl_sym(outer->m, like->attrs[i].name));
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i])
      emit_constant(&e, g->constants.at[i]);
  TL_FOR_NODES(e.m, g, n)
    emit_node(&e, FUNCTION_NODE, n);
  emit_imports(outer, &e, g);
  tl_wire_sv(e.w, FUNCTION_DOMAIN, function_domain(outer->m, op));
  emit_origin(&e, tl_op_name(outer->m, op));
  tl_wire_end(e.w);
}

void tl_onnx_emit_model(tl_onnx_emit *e) {
  tl_module *m = e->m;
  int64_t ir = m->ir_version > MIN_IR_VERSION ? m->ir_version : MIN_IR_VERSION;
  tl_wire_int(e->w, MODEL_IR_VERSION, ir);
  tl_wire_sv_if(e->w, MODEL_PRODUCER_NAME, tl_sym(m, m->producer_name));
  tl_wire_sv_if(e->w, MODEL_PRODUCER_VERSION, tl_sym(m, m->producer_version));
  tl_wire_sv_if(e->w, MODEL_DOMAIN, tl_sym(m, m->domain));
  if (m->model_version)
    tl_wire_int(e->w, MODEL_VERSION, m->model_version);
  tl_onnx_emit_extra(e, m->extra, MODEL_DOC, 0);
  tl_onnx_emit_graph(e, MODEL_GRAPH, tl_module_main(m));
  emit_opsets(e);
  tl_onnx_emit_extra(e, m->extra, 0, MODEL_METADATA);
  for (uint32_t i = 0; i < m->definitions.n; i++)
    emit_function(e, &m->definitions.at[i]);
}
