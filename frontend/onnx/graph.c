/* SPDX-License-Identifier: Apache-2.0 */
/* GraphProto to graph. The bytes are walked twice: once to note every field but the nodes, once
 * over the nodes, when inputs and initializers are known. */
#include "frontend/onnx/import.h"
#include "ir/ops_gen.h"

enum { NODE = 1, NAME = 2, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, VALUE_INFO = 13, SPARSE = 15 };

typedef struct graph_wire {
  tl_proto body;
  tl_proto nodes; /* from the first node to the end of the last; other fields may lie between */
  tl_sv name;
  tl_graph_id id;
  uint32_t first_part; /* on x->parts */
  uint32_t n_parts;
  bool root;
  bool has_notes;
} graph_wire;

static tl_status scan_body(tl_onnx *x, graph_wire *g, tl_proto w, tl_proto *nodes) {
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    switch (tl_field_tag(&f)) {
    case TL_TAG(NODE, TL_WIRE_BYTES):
      if (!nodes->p)
        nodes->p = f.start;
      nodes->end = w.p;
      break;
    case TL_TAG(NAME, TL_WIRE_BYTES):
      if (nodes == &g->nodes)
        g->name = tl_proto_sv(f.body);
      break;
    case TL_TAG(INITIALIZER, TL_WIRE_BYTES):
    case TL_TAG(INPUT, TL_WIRE_BYTES):
    case TL_TAG(OUTPUT, TL_WIRE_BYTES):
    case TL_TAG(VALUE_INFO, TL_WIRE_BYTES):
    case TL_TAG(SPARSE, TL_WIRE_BYTES):
      if (!tl_part_vec_push(&x->parts, (tl_part){f.number, f.body}))
        return TL_NO_MEMORY;
      break;
    default: g->has_notes = true; break;
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, w.p, "GraphProto") : TL_OK;
}

static tl_status scan(tl_onnx *x, graph_wire *g) {
  g->first_part = x->parts.n;
  TL_TRY(scan_body(x, g, g->body, &g->nodes));
  for (uint32_t i = 0; g->root && i < x->algorithms.n; i++) {
    tl_proto nodes = {0};
    if (x->algorithms.at[i].p)
      TL_TRY(scan_body(x, g, x->algorithms.at[i], &nodes));
    if (!tl_proto_vec_push(&x->algorithm_nodes, nodes))
      return TL_NO_MEMORY;
  }
  g->n_parts = x->parts.n - g->first_part;
  return TL_OK;
}

static bool is_initializer(const tl_part *p) {
  return p->number == INITIALIZER || p->number == SPARSE;
}

/* ---- initializers and inputs ----------------------------------------------------------------- */

/* ONNX Runtime, too, accepts an initializer that is there twice, if only with one value. */
static tl_status check_twin(tl_onnx *x, const tl_part *first, const tl_part *second, tl_sv name) {
  tl_tensor_id a = TL_NO_TENSOR;
  tl_tensor_id b = TL_NO_TENSOR;
  tl_location where = tl_onnx_at_value(x, name);
  bool dense = first->number == INITIALIZER && second->number == INITIALIZER;
  if (dense) {
    TL_TRY(tl_onnx_tensor(x, first->body, where, &a));
    TL_TRY(tl_onnx_tensor(x, second->body, where, &b));
  }
  if (dense && tl_tensor_equal(x->m, tl_tensor_get(x->m, a), tl_tensor_get(x->m, b), UINT64_MAX))
    return TL_OK;
  return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                 "there are two initializers named '%.*s', with different values", TL_SV_ARG(name));
}

/* Marks the key of every initializer with its index + 1, that of the first if there are several. */
static tl_status mark_initializers(tl_onnx *x, const graph_wire *g) {
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = x->parts.at[g->first_part + i];
    tl_sv name;
    if (!is_initializer(&p))
      continue;
    TL_TRY(tl_onnx_tensor_name(x, p.body, p.number == SPARSE, &name));
    if (name.n == 0)
      return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path), "an initializer has no name");
    tl_symbol key = tl_onnx_key(x, name);
    if (key == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    uint32_t before = tl_onnx_slot(&x->mark, key);
    if (before)
      TL_TRY(check_twin(x, &x->parts.at[g->first_part + before - 1], &p, name));
    else
      TL_TRY(tl_onnx_set_slot(&x->mark, key, i + 1));
  }
  return TL_OK;
}

/* A sparse initializer that is too large to write out stays a Constant node. */
static tl_status add_sparse_node(tl_onnx *x, const graph_wire *g, tl_proto body, tl_symbol key,
                                 tl_location where) {
  tl_attr attr = {.name = TL_SYM_sparse_value, .kind = TL_ATTR_SPARSE};
  tl_node_spec spec = {.op = TL_OP_Constant, .results = &key, .n_results = 1, .n_attrs = 1};
  attr.u.s = tl_onnx_symbol(x, tl_proto_sv(body));
  spec.attrs = &attr;
  if (attr.u.s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_node_id n = tl_graph_append(x->m, g->id, &spec);
  if (!n)
    return TL_NO_MEMORY;
  return tl_onnx_define(x, g->id, key, tl_node_get(x->m, n)->results, where);
}

static tl_status add_initializer(tl_onnx *x, const graph_wire *g, const tl_part *p) {
  tl_sv name;
  tl_tensor_id tensor;
  TL_TRY(tl_onnx_tensor_name(x, p->body, p->number == SPARSE, &name));
  tl_symbol key = tl_onnx_key(x, name);
  tl_location where = tl_onnx_at_value(x, name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (!tl_onnx_slot(&x->mark, key))
    return TL_OK; /* it became the default of an input */
  TL_TRY(tl_onnx_set_slot(&x->mark, key, 0));
  if (p->number == SPARSE) {
    TL_TRY(tl_onnx_sparse(x, p->body, where, &tensor));
    if (!tensor)
      return add_sparse_node(x, g, p->body, key, where);
  } else {
    TL_TRY(tl_onnx_tensor(x, p->body, where, &tensor));
  }
  tl_value_id v = tl_graph_add_constant(x->m, g->id, key, tensor);
  return v ? tl_onnx_define(x, g->id, key, v, where) : TL_NO_MEMORY;
}

static tl_status default_of(tl_onnx *x, const graph_wire *g, uint32_t initializer,
                            tl_location where, tl_tensor_id *out) {
  tl_part p = x->parts.at[g->first_part + initializer - 1];
  if (p.number == INITIALIZER)
    return tl_onnx_tensor(x, p.body, where, out);
  TL_TRY(tl_onnx_sparse(x, p.body, where, out));
  if (*out)
    return TL_OK;
  return tl_fail(x->d, TL_UNSUPPORTED, where, "the sparse default of an input is too large");
}

/* An input that an initializer defines, too, is a constant before IR version 4 and has a default
 * from then on. Inputs of bodies are bound by position, so they always stay. */
static tl_status add_described(tl_onnx *x, const graph_wire *g, const tl_value_wire *info) {
  tl_tensor_id tensor = TL_NO_TENSOR;
  tl_location where = tl_onnx_at_value(x, info->name);
  if (info->name.n == 0)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "a graph input has no name");
  tl_symbol key = tl_onnx_key(x, info->name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  uint32_t initializer = tl_onnx_slot(&x->mark, key);
  if (initializer && g->root && x->m->ir_version < 4)
    return TL_OK;
  if (initializer) {
    TL_TRY(default_of(x, g, initializer, where, &tensor));
    TL_TRY(tl_onnx_set_slot(&x->mark, key, 0));
  }
  tl_value_id v = tl_graph_add_input(x->m, g->id, key, TL_NO_TYPE, tensor);
  if (!v)
    return TL_NO_MEMORY;
  TL_TRY(tl_onnx_define(x, g->id, key, v, where));
  TL_TRY(tl_onnx_describe_value(x, v, info));
  if (!tensor)
    return TL_OK;
  const tl_tensor *t = tl_tensor_get(x->m, tensor);
  tl_dtype declared = tl_type_dtype(x->m, tl_value_type(x->m, v));
  if (declared && declared != (tl_dtype)t->dtype)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "the input is %s, its initializer %s",
                   tl_dtype_get(declared)->name, tl_dtype_get((tl_dtype)t->dtype)->name);
  if (!declared)
    tl_value_set_type(x->m, v, t->type);
  return TL_OK;
}

static tl_status add_input(tl_onnx *x, const graph_wire *g, tl_proto body) {
  tl_value_wire info;
  TL_TRY(tl_onnx_value_info(x, body, &info));
  return add_described(x, g, &info);
}

/* An initializer that training_info binds is an input, too; before, it may have become one. */
static tl_status add_state(tl_onnx *x, const graph_wire *g, tl_symbol key) {
  tl_value_wire info = {.name = tl_sym(x->m, tl_onnx_display(x, key))};
  tl_value_id v = tl_onnx_lookup(x, key);
  if (tl_onnx_slot(&x->mark, key))
    return add_described(x, g, &info);
  if (v && tl_value_get(x->m, v)->tensor)
    return TL_OK;
  return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                 "training_info binds '%.*s', which is not an initializer",
                 TL_SV_ARG(tl_sv_shown(info.name)));
}

static tl_status add_inputs(tl_onnx *x, const graph_wire *g) {
  TL_TRY(mark_initializers(x, g));
  for (uint32_t i = 0; i < g->n_parts; i++)
    if (x->parts.at[g->first_part + i].number == INPUT)
      TL_TRY(add_input(x, g, x->parts.at[g->first_part + i].body));
  for (uint32_t i = 0; g->root && i < x->bindings.n; i += 2)
    TL_TRY(add_state(x, g, x->bindings.at[i]));
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = x->parts.at[g->first_part + i];
    if (is_initializer(&p))
      TL_TRY(add_initializer(x, g, &p));
  }
  return TL_OK;
}

/* ---- outputs and descriptions ---------------------------------------------------------------- */

/* Next values of states are outputs; x->values has those that the file names. */
static tl_status add_next_values(tl_onnx *x) {
  tl_u32_vec *is_output = &x->is_output;
  for (uint32_t i = 0; i < x->values.n; i++)
    if (x->values.at[i])
      TL_TRY(tl_onnx_set_slot(is_output, x->values.at[i], 1));
  for (uint32_t i = 1; i < x->bindings.n; i += 2) {
    tl_value_id v = tl_onnx_lookup(x, x->bindings.at[i]);
    if (!v || tl_onnx_slot(is_output, v))
      continue; /* reported with the states, or there already */
    TL_TRY(tl_onnx_set_slot(is_output, v, 1));
    if (!tl_u32_vec_push(&x->values, v))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status add_outputs(tl_onnx *x, const graph_wire *g) {
  tl_node_id ret = tl_graph_get(x->m, g->id)->ret;
  uint32_t first_pending = x->pending.n;
  x->values.n = 0;
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = x->parts.at[g->first_part + i];
    tl_value_wire info;
    if (p.number != OUTPUT)
      continue;
    TL_TRY(tl_onnx_value_info(x, p.body, &info));
    if (info.name.n == 0)
      return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path), "a graph output has no name");
    tl_symbol key = tl_onnx_key(x, info.name);
    tl_value_id v = key == TL_NO_SYMBOL ? TL_NO_VALUE : tl_onnx_lookup(x, key);
    tl_pending wait = {key, ret, x->values.n};
    if (key == TL_NO_SYMBOL || (!v && !tl_pending_vec_push(&x->pending, wait)) ||
        !tl_u32_vec_push(&x->values, v))
      return TL_NO_MEMORY;
  }
  if (g->root && x->bindings.n)
    TL_TRY(add_next_values(x));
  if (x->values.n == 0 && g->root)
    return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path), "the graph has no output");
  TL_TRY(tl_graph_set_outputs(x->m, g->id, x->values.at, x->values.n));
  for (uint32_t i = first_pending; i < x->pending.n; i++)
    x->pending.at[i].node = ret;
  return TL_OK;
}

/* Declared types of outputs and inner values. A name that nothing has is no error. */
static tl_status describe_values(tl_onnx *x, const graph_wire *g) {
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = x->parts.at[g->first_part + i];
    tl_value_wire info;
    if (p.number != OUTPUT && p.number != VALUE_INFO)
      continue;
    TL_TRY(tl_onnx_value_info(x, p.body, &info));
    tl_symbol key = tl_onnx_key(x, info.name);
    if (key == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    tl_value_id v = key ? tl_onnx_lookup(x, key) : TL_NO_VALUE;
    if (v && tl_value_graph(x->m, v) == g->id)
      TL_TRY(tl_onnx_describe_value(x, v, &info));
  }
  return TL_OK;
}

static tl_status add_nodes(tl_onnx *x, const graph_wire *g, tl_proto w) {
  tl_field f;
  while (w.p < w.end && tl_proto_next(&w, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(NODE, TL_WIRE_BYTES))
      TL_TRY(tl_onnx_node(x, g->id, f.body));
  return TL_OK;
}

/* Behind the model's own nodes, in their order. */
static tl_status add_algorithms(tl_onnx *x, const graph_wire *g) {
  for (uint32_t i = 0; i < x->algorithm_nodes.n; i++) {
    if (!tl_u32_vec_push(&x->first_nodes, tl_module_node_end(x->m)))
      return TL_NO_MEMORY;
    if (x->algorithm_nodes.at[i].p)
      TL_TRY(add_nodes(x, g, x->algorithm_nodes.at[i]));
  }
  return tl_u32_vec_push(&x->first_nodes, tl_module_node_end(x->m)) ? TL_OK : TL_NO_MEMORY;
}

static tl_status fill(tl_onnx *x, const graph_wire *g) {
  static const tl_note_fields notes = {
      .known = UINT64_C(1) << NODE | 1u << NAME | 1u << INITIALIZER | 1u << INPUT | 1u << OUTPUT |
               1u << VALUE_INFO | 1u << SPARSE,
      .doc = 10,
      .metadata = 16};
  uint32_t first_pending = x->pending.n;
  bool sort;
  TL_TRY(add_inputs(x, g));
  TL_TRY(add_nodes(x, g, g->nodes));
  if (g->root)
    TL_TRY(add_algorithms(x, g));
  TL_TRY(add_outputs(x, g));
  TL_TRY(tl_onnx_settle(x, first_pending, &sort));
  if (sort)
    TL_TRY(tl_graph_sort(x->m, g->id));
  TL_TRY(describe_values(x, g));
  if (g->root)
    TL_TRY(tl_onnx_states(x));
  if (g->has_notes)
    TL_TRY(tl_onnx_carry_notes(x, g->body, &notes, &tl_graph_get(x->m, g->id)->extra));
  return TL_OK;
}

tl_status tl_onnx_graph(tl_onnx *x, tl_proto body, tl_node_id owner, tl_graph_id *out) {
  graph_wire g = {.body = body, .name = {"", 0}, .root = owner == TL_NO_NODE};
  uint32_t undo_mark = x->undo.n;
  if (x->depth == TL_ONNX_MAX_DEPTH)
    return tl_fail(x->d, TL_LIMIT, TL_AT_FILE(x->path), "graphs are nested %d deep, at most %d",
                   TL_ONNX_MAX_DEPTH + 1, TL_ONNX_MAX_DEPTH);
  TL_TRY(scan(x, &g));
  tl_symbol name = tl_onnx_symbol(x, g.name);
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  g.id = tl_graph_create(x->m, g.root ? TL_GRAPH_ROOT : TL_GRAPH_BODY, name, owner);
  if (!g.id)
    return TL_NO_MEMORY;
  x->depth++;
  TL_TRY(fill(x, &g));
  tl_onnx_close_scope(x, undo_mark);
  x->depth--;
  x->parts.n = g.first_part;
  *out = g.id;
  return TL_OK;
}
