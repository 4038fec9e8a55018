/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a GraphProto in two walks over its bytes.
 * The first walk lists every field but the nodes. The second imports the nodes when inputs and
 * initializers are known, whatever the order of fields in the file. */
#include "frontend/onnx/call.h"
#include "frontend/onnx/graph.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/notes.h"
#include "frontend/onnx/sparse.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/type.h"
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

static tl_status scan_body(tl_onnx *reader, graph_wire *g, tl_proto w, tl_proto *nodes) {
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
      if (!tl_part_vec_push(&reader->parts, (tl_part){f.number, f.body}))
        return TL_NO_MEMORY;
      break;
    default: g->has_notes = true; break;
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(&reader->r, w.p, "GraphProto") : TL_OK;
}

static tl_status scan(tl_onnx *reader, graph_wire *g) {
  g->first_part = reader->parts.n;
  TL_TRY(scan_body(reader, g, g->body, &g->nodes));
  for (uint32_t i = 0; g->root && i < reader->training.algorithms.n; i++) {
    tl_proto nodes = {0};
    if (reader->training.algorithms.at[i].p)
      TL_TRY(scan_body(reader, g, reader->training.algorithms.at[i], &nodes));
    if (!tl_proto_vec_push(&reader->training.nodes, nodes))
      return TL_NO_MEMORY;
  }
  g->n_parts = reader->parts.n - g->first_part;
  return TL_OK;
}

static bool is_initializer(const tl_part *p) {
  return p->number == INITIALIZER || p->number == SPARSE;
}

/* ---- initializers and inputs ----------------------------------------------------------------- */

/* Checks that two initializers of one name have equal values; such a model is accepted, as in ONNX
 * Runtime. */
static tl_status check_twin(tl_onnx *reader, const tl_part *first, const tl_part *second,
                            tl_sv name) {
  tl_tensor_id a = TL_NO_TENSOR;
  tl_tensor_id b = TL_NO_TENSOR;
  tl_location where = tl_onnx_at_value(&reader->r, name);
  bool dense = first->number == INITIALIZER && second->number == INITIALIZER;
  if (dense) {
    TL_TRY(tl_onnx_tensor(&reader->r, first->body, where, &a));
    TL_TRY(tl_onnx_tensor(&reader->r, second->body, where, &b));
  }
  if (dense && tl_tensor_equal(reader->r.m, tl_tensor_get(reader->r.m, a),
                               tl_tensor_get(reader->r.m, b), UINT64_MAX))
    return TL_OK;
  return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                 "there are two initializers named '%.*s', with different values", TL_SV_ARG(name));
}

/* Marks the key of every initializer with its index + 1; of equal names the first counts. */
static tl_status mark_initializers(tl_onnx *reader, const graph_wire *g) {
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = reader->parts.at[g->first_part + i];
    tl_sv name;
    if (!is_initializer(&p))
      continue;
    TL_TRY(tl_onnx_tensor_name(&reader->r, p.body, p.number == SPARSE, &name));
    if (name.n == 0)
      return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                     "an initializer has no name");
    tl_symbol key = tl_onnx_key(&reader->names, name);
    if (key == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    uint32_t before = tl_slot_get(&reader->names.mark, key);
    if (before)
      TL_TRY(check_twin(reader, &reader->parts.at[g->first_part + before - 1], &p, name));
    else
      TL_TRY(tl_slot_set(&reader->names.mark, key, i + 1));
  }
  return TL_OK;
}

/* Adds a Constant node for a sparse initializer that is too large in dense form. */
static tl_status add_sparse_node(tl_onnx *reader, const graph_wire *g, tl_proto body, tl_symbol key,
                                 tl_location where) {
  tl_attr attr = {.name = TL_SYM_sparse_value, .kind = TL_ATTR_SPARSE};
  tl_node_spec spec = {.op = TL_OP_Constant, .results = &key, .n_results = 1, .n_attrs = 1};
  attr.u.s = tl_onnx_symbol(&reader->r, tl_proto_sv(body));
  spec.attrs = &attr;
  if (attr.u.s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_node_id n = tl_graph_append(reader->r.m, g->id, &spec);
  if (!n)
    return TL_NO_MEMORY;
  return tl_onnx_define(&reader->names, g->id, key, tl_node_get(reader->r.m, n)->results, where);
}

static tl_status add_initializer(tl_onnx *reader, const graph_wire *g, const tl_part *p) {
  tl_sv name;
  tl_tensor_id tensor;
  TL_TRY(tl_onnx_tensor_name(&reader->r, p->body, p->number == SPARSE, &name));
  tl_symbol key = tl_onnx_key(&reader->names, name);
  tl_location where = tl_onnx_at_value(&reader->r, name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (!tl_slot_get(&reader->names.mark, key))
    return TL_OK; /* it became the default of an input */
  TL_TRY(tl_slot_set(&reader->names.mark, key, 0));
  if (p->number == SPARSE) {
    TL_TRY(tl_onnx_sparse(&reader->r, p->body, where, &tensor));
    if (!tensor)
      return add_sparse_node(reader, g, p->body, key, where);
  } else {
    TL_TRY(tl_onnx_tensor(&reader->r, p->body, where, &tensor));
  }
  tl_value_id v = tl_graph_add_constant(reader->r.m, g->id, key, tensor);
  return v ? tl_onnx_define(&reader->names, g->id, key, v, where) : TL_NO_MEMORY;
}

static tl_status default_of(tl_onnx *reader, const graph_wire *g, uint32_t initializer,
                            tl_location where, tl_tensor_id *out) {
  tl_part p = reader->parts.at[g->first_part + initializer - 1];
  if (p.number == INITIALIZER)
    return tl_onnx_tensor(&reader->r, p.body, where, out);
  TL_TRY(tl_onnx_sparse(&reader->r, p.body, where, out));
  if (*out)
    return TL_OK;
  return tl_fail(reader->r.d, TL_UNSUPPORTED, where, "the sparse default of an input is too large");
}

/* Adds an input. If an initializer has the same name, the input is a constant before IR version 4;
 * from version 4 on the initializer is its default value. Inputs of bodies are bound by position,
 * so they always stay inputs. */
static tl_status add_described(tl_onnx *reader, const graph_wire *g, const tl_value_wire *info) {
  tl_tensor_id tensor = TL_NO_TENSOR;
  tl_location where = tl_onnx_at_value(&reader->r, info->name);
  if (info->name.n == 0)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "a graph input has no name");
  tl_symbol key = tl_onnx_key(&reader->names, info->name);
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  uint32_t initializer = tl_slot_get(&reader->names.mark, key);
  if (initializer && g->root && reader->r.m->ir_version < 4)
    return TL_OK;
  if (initializer) {
    TL_TRY(default_of(reader, g, initializer, where, &tensor));
    TL_TRY(tl_slot_set(&reader->names.mark, key, 0));
  }
  tl_value_id v = tl_graph_add_input(reader->r.m, g->id, key, TL_NO_TYPE, tensor);
  if (!v)
    return TL_NO_MEMORY;
  TL_TRY(tl_onnx_define(&reader->names, g->id, key, v, where));
  TL_TRY(tl_onnx_describe_value(&reader->r, v, info));
  if (!tensor)
    return TL_OK;
  const tl_tensor *t = tl_tensor_get(reader->r.m, tensor);
  tl_dtype declared = tl_type_dtype(reader->r.m, tl_value_type(reader->r.m, v));
  if (declared && declared != (tl_dtype)t->dtype)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "the input is %s, its initializer %s",
                   tl_dtype_get(declared)->name, tl_dtype_get((tl_dtype)t->dtype)->name);
  if (!declared)
    tl_value_set_type(reader->r.m, v, t->type);
  return TL_OK;
}

static tl_status add_input(tl_onnx *reader, const graph_wire *g, tl_proto body) {
  tl_value_wire info;
  TL_TRY(tl_onnx_value_info(&reader->r, body, &info));
  return add_described(reader, g, &info);
}

/* Makes an input of an initializer that training_info binds, unless it is one already. */
static tl_status add_state(tl_onnx *reader, const graph_wire *g, tl_symbol key) {
  tl_value_wire info = {.name = tl_sym(reader->r.m, tl_onnx_display(&reader->names, key))};
  tl_value_id v = tl_onnx_lookup(&reader->names, key);
  if (tl_slot_get(&reader->names.mark, key))
    return add_described(reader, g, &info);
  if (v && tl_value_get(reader->r.m, v)->tensor)
    return TL_OK;
  return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                 "training_info binds '%.*s', which is not an initializer",
                 TL_SV_ARG(tl_sv_shown(info.name)));
}

static tl_status add_inputs(tl_onnx *reader, const graph_wire *g) {
  TL_TRY(mark_initializers(reader, g));
  for (uint32_t i = 0; i < g->n_parts; i++)
    if (reader->parts.at[g->first_part + i].number == INPUT)
      TL_TRY(add_input(reader, g, reader->parts.at[g->first_part + i].body));
  for (uint32_t i = 0; g->root && i < reader->training.bindings.n; i += 2)
    TL_TRY(add_state(reader, g, reader->training.bindings.at[i]));
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = reader->parts.at[g->first_part + i];
    if (is_initializer(&p))
      TL_TRY(add_initializer(reader, g, &p));
  }
  return TL_OK;
}

/* ---- outputs and descriptions ---------------------------------------------------------------- */

/* Adds the next values of states as outputs, behind the outputs of the file in x->values. */
static tl_status add_next_values(tl_onnx *reader) {
  tl_u32_vec *is_output = &reader->training.is_output;
  for (uint32_t i = 0; i < reader->values.n; i++)
    if (reader->values.at[i])
      TL_TRY(tl_slot_set(is_output, reader->values.at[i], 1));
  for (uint32_t i = 1; i < reader->training.bindings.n; i += 2) {
    tl_value_id v = tl_onnx_lookup(&reader->names, reader->training.bindings.at[i]);
    if (!v || tl_slot_get(is_output, v))
      continue; /* reported with the states, or there already */
    TL_TRY(tl_slot_set(is_output, v, 1));
    if (!tl_u32_vec_push(&reader->values, v))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status add_outputs(tl_onnx *reader, const graph_wire *g) {
  tl_node_id ret = tl_graph_get(reader->r.m, g->id)->ret;
  uint32_t first_pending = reader->names.pending.n;
  reader->values.n = 0;
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = reader->parts.at[g->first_part + i];
    tl_value_wire info;
    if (p.number != OUTPUT)
      continue;
    TL_TRY(tl_onnx_value_info(&reader->r, p.body, &info));
    if (info.name.n == 0)
      return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                     "a graph output has no name");
    tl_symbol key = tl_onnx_key(&reader->names, info.name);
    tl_value_id v = key == TL_NO_SYMBOL ? TL_NO_VALUE : tl_onnx_lookup(&reader->names, key);
    tl_pending wait = {key, ret, reader->values.n};
    if (key == TL_NO_SYMBOL || (!v && !tl_pending_vec_push(&reader->names.pending, wait)) ||
        !tl_u32_vec_push(&reader->values, v))
      return TL_NO_MEMORY;
  }
  if (g->root && reader->training.bindings.n)
    TL_TRY(add_next_values(reader));
  if (reader->values.n == 0 && g->root)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                   "the graph has no output");
  TL_TRY(tl_graph_set_outputs(reader->r.m, g->id, reader->values.at, reader->values.n));
  for (uint32_t i = first_pending; i < reader->names.pending.n; i++)
    reader->names.pending.at[i].node = ret;
  return TL_OK;
}

/* Applies declared types of outputs and inner values. Entries for unknown names are ignored. */
static tl_status describe_values(tl_onnx *reader, const graph_wire *g) {
  for (uint32_t i = 0; i < g->n_parts; i++) {
    tl_part p = reader->parts.at[g->first_part + i];
    tl_value_wire info;
    if (p.number != OUTPUT && p.number != VALUE_INFO)
      continue;
    TL_TRY(tl_onnx_value_info(&reader->r, p.body, &info));
    tl_symbol key = tl_onnx_key(&reader->names, info.name);
    if (key == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    tl_value_id v = key ? tl_onnx_lookup(&reader->names, key) : TL_NO_VALUE;
    if (v && tl_value_graph(reader->r.m, v) == g->id)
      TL_TRY(tl_onnx_describe_value(&reader->r, v, &info));
  }
  return TL_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tl_status add_nodes(tl_onnx *reader, tl_graph_id g, tl_proto w, uint32_t field);

/* Imports the graphs that were queued since first_body and stores their ids in the attributes. */
static tl_status import_bodies(tl_onnx *reader, tl_node_id n, uint32_t first_body) {
  const tl_frame *own = reader->calls.frame;
  for (uint32_t i = first_body; i < reader->attributes.bodies.n; i++) {
    tl_body_job job = reader->attributes.bodies.at[i];
    tl_graph_id body = TL_NO_GRAPH;
    reader->calls.frame = job.frame;
    tl_status status = tl_onnx_graph(reader, job.graph, n, &body);
    reader->calls.frame = own;
    TL_TRY(status);
    tl_attr attr = tl_node_get(reader->r.m, n)->attrs[job.attr];
    if (attr.kind == TL_ATTR_GRAPH) {
      attr.u.g = body;
    } else {
      uint32_t *ids = (uint32_t *)(void *)tl_arena_copy(&reader->r.m->arena, attr.u.ids,
                                                        attr.count * sizeof *attr.u.ids);
      if (!ids)
        return TL_NO_MEMORY;
      ids[job.index] = body;
      attr.u.ids = ids;
    }
    TL_TRY(tl_node_set_attr(reader->r.m, n, attr));
  }
  reader->attributes.bodies.n = first_body;
  return TL_OK;
}

static tl_status add_op(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_op_id op) {
  uint32_t first_body = reader->attributes.bodies.n;
  tl_node_id n;
  TL_TRY(tl_onnx_make_node(reader, g, w, op, &n));
  if (n == TL_NO_NODE)
    return TL_OK; /* it became a constant */
  if (reader->attributes.bodies.n > first_body)
    TL_TRY(import_bodies(reader, n, first_body));
  return tl_onnx_finish_node(reader, g, w, n);
}

/* Adds the nodes of the function in place of the call. */
static tl_status add_call(tl_onnx *reader, tl_graph_id g, const tl_node_wire *w, tl_function *fn) {
  tl_frame frame;
  TL_TRY(tl_onnx_open_call(reader, g, w, fn, &frame));
  tl_status status = add_nodes(reader, g, fn->body, TL_FUNCTION_NODE);
  if (status == TL_OK)
    status = tl_onnx_describe_call(reader, g);
  tl_onnx_close_call(reader);
  return status == TL_OK ? tl_onnx_check_call(reader, fn, w) : status;
}

static tl_status add_node(tl_onnx *reader, tl_graph_id g, tl_proto body) {
  tl_node_wire w;
  tl_op_id op;
  tl_function *call;
  TL_TRY(tl_onnx_decode_node(&reader->names, &reader->ports, body, &w));
  TL_TRY(tl_onnx_resolve(reader, &w, &op, &call));
  TL_TRY(call ? add_call(reader, g, &w, call) : add_op(reader, g, &w, op));
  tl_onnx_drop_node(&reader->names, &reader->ports, &w);
  return TL_OK;
}

/* Adds the nodes of a message; `field` is their field number. */
static tl_status add_nodes(tl_onnx *reader, tl_graph_id g, tl_proto w, uint32_t field) {
  tl_field f;
  while (w.p < w.end && tl_proto_next(&w, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(field, TL_WIRE_BYTES))
      TL_TRY(add_node(reader, g, f.body));
  return TL_OK;
}

/* Adds the nodes of training algorithms behind the model's own nodes. */
static tl_status add_algorithms(tl_onnx *reader, const graph_wire *g) {
  for (uint32_t i = 0; i < reader->training.nodes.n; i++) {
    if (!tl_u32_vec_push(&reader->training.first_nodes, tl_module_node_end(reader->r.m)))
      return TL_NO_MEMORY;
    if (reader->training.nodes.at[i].p)
      TL_TRY(add_nodes(reader, g->id, reader->training.nodes.at[i], NODE));
  }
  return tl_u32_vec_push(&reader->training.first_nodes, tl_module_node_end(reader->r.m))
             ? TL_OK
             : TL_NO_MEMORY;
}

static tl_status fill(tl_onnx *reader, const graph_wire *g) {
  static const tl_note_fields notes = {.known = UINT64_C(1) << NODE | 1u << NAME |
                                                1u << INITIALIZER | 1u << INPUT | 1u << OUTPUT |
                                                1u << VALUE_INFO | 1u << SPARSE,
                                       .doc = 10,
                                       .metadata = 16};
  uint32_t first_pending = reader->names.pending.n;
  bool sort;
  TL_TRY(add_inputs(reader, g));
  TL_TRY(add_nodes(reader, g->id, g->nodes, NODE));
  if (g->root)
    TL_TRY(add_algorithms(reader, g));
  TL_TRY(add_outputs(reader, g));
  TL_TRY(tl_onnx_settle(&reader->names, first_pending, &sort));
  if (sort)
    TL_TRY(tl_graph_sort(reader->r.m, g->id));
  TL_TRY(describe_values(reader, g));
  if (g->root)
    TL_TRY(tl_onnx_states(&reader->training));
  if (g->has_notes)
    TL_TRY(
        tl_onnx_carry_notes(&reader->r, g->body, &notes, &tl_graph_get(reader->r.m, g->id)->extra));
  return TL_OK;
}

tl_status tl_onnx_graph(tl_onnx *reader, tl_proto body, tl_node_id owner, tl_graph_id *out) {
  graph_wire g = {.body = body, .name = {"", 0}, .root = owner == TL_NO_NODE};
  uint32_t undo_mark = reader->names.undo.n;
  if (reader->names.depth == TL_ONNX_MAX_DEPTH)
    return tl_fail(reader->r.d, TL_LIMIT, TL_AT_FILE(reader->r.path),
                   "graphs are nested %d deep, at most %d", TL_ONNX_MAX_DEPTH + 1,
                   TL_ONNX_MAX_DEPTH);
  TL_TRY(scan(reader, &g));
  tl_symbol name = tl_onnx_symbol(&reader->r, g.name);
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  g.id = tl_graph_create(reader->r.m, g.root ? TL_GRAPH_ROOT : TL_GRAPH_BODY, name, owner);
  if (!g.id)
    return TL_NO_MEMORY;
  reader->names.depth++;
  TL_TRY(fill(reader, &g));
  tl_onnx_close_scope(&reader->names, undo_mark);
  reader->names.depth--;
  reader->parts.n = g.first_part;
  *out = g.id;
  return TL_OK;
}
