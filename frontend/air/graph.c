/* SPDX-License-Identifier: Apache-2.0 */
/* Reads graphs (GraphDef): lists their nodes, makes inputs, constants, nodes and outputs of them,
 * and gives each node the bodies that it names. */
#include "frontend/air/load.h"
#include "frontend/air/reader.h"

#include <stdlib.h>

#include "ir/ge_format.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"

/* ---- listing nodes --------------------------------------------------------------------------- */

static uint8_t role_of(tl_sv type) {
  if (tl_sv_is(type, "Data") || tl_sv_is(type, "RefData"))
    return TL_AIR_INPUT;
  if (tl_sv_is(type, "Const") || tl_sv_is(type, "Constant") || tl_sv_is(type, "FileConstant"))
    return TL_AIR_CONSTANT;
  return tl_sv_is(type, "NetOutput") ? TL_AIR_OUTPUT : TL_AIR_OP;
}

/* Returns true for a constant whose data a dump leaves out. It stays a node, so that the graph
 * can be looked at. */
static bool lacks_data(tl_proto body) {
  tl_proto value;
  return !tl_air_find(body, TL_NODE_ATTR, "value", &value) &&
         !tl_air_find(body, TL_NODE_ATTR, "location", &value) &&
         !tl_air_find(body, TL_NODE_ATTR, "file_path", &value) &&
         !tl_air_find(body, TL_NODE_ATTR, "file_id", &value);
}

/* Reads what the list of nodes needs: name and type. They come first, and of a binary file the rest
 * is not looked at yet, since the list is made of the whole graph. */
static tl_status scan_op(tl_air_reader *r, tl_proto body, tl_air_op *out) {
  tl_field f;
  tl_step step = TL_STEP_FIELD;
  tl_proto walk = body;
  tl_sv name = {"", 0};
  tl_sv type = {"", 0};
  bool binary = r->form == TL_AIR_BINARY;
  *out = (tl_air_op){.body = body, .index = -1};
  while (!(binary && name.n && type.n) && (step = tl_proto_step(&walk, &f)) == TL_STEP_FIELD)
    switch (tl_field_tag(&f)) {
    case TL_TAG(TL_NODE_NAME, TL_WIRE_BYTES): name = tl_proto_sv(f.body); break;
    case TL_TAG(TL_NODE_TYPE, TL_WIRE_BYTES): type = tl_proto_sv(f.body); break;
    case TL_TAG(TL_NODE_LINE, TL_WIRE_VARINT): out->line = binary ? 0 : (uint32_t)f.value; break;
    default: break;
    }
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "OpDef");
  if (name.n == 0 || type.n == 0) {
    tl_location where = {.file = r->path, .node = name, .line = out->line};
    return tl_fail(r->d, TL_INVALID_MODEL, where, "a node without a %s", name.n ? "type" : "name");
  }
  out->name = tl_air_symbol(r, name);
  out->type = tl_air_symbol(r, type);
  out->role = role_of(type);
  if (out->role == TL_AIR_CONSTANT && !binary && lacks_data(body)) {
    out->role = TL_AIR_OP;
    out->no_data = true;
    r->n_empty++;
  }
  return out->name == TL_NO_SYMBOL || out->type == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Lists the nodes of a graph and indexes them by name. The index of the graph before is forgotten
 * first. */
static tl_status list_ops(tl_air_reader *r, tl_proto body) {
  tl_field f;
  tl_step step;
  tl_air_op op;
  for (uint32_t i = 0; i < r->ops.n; i++)
    r->op_of.at[r->ops.at[i].name] = 0;
  r->ops.n = 0;
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(TL_GRAPH_NODE, TL_WIRE_BYTES))
      continue;
    TL_TRY(scan_op(r, f.body, &op));
    if (tl_slot_get(&r->op_of, op.name)) {
      tl_location where = TL_AT_NODE(r->path, tl_sym(r->m, op.name));
      where.line = op.line;
      return tl_fail(r->d, TL_INVALID_MODEL, where, "two nodes of one graph have this name");
    }
    if (++r->n_nodes > TL_AIR_MAX_NODES)
      return tl_fail(r->d, TL_LIMIT, TL_AT_FILE(r->path), "the model has more than %d nodes",
                     (int)TL_AIR_MAX_NODES);
    if (!tl_air_op_vec_push(&r->ops, op))
      return TL_NO_MEMORY;
    TL_TRY(tl_slot_set(&r->op_of, op.name, r->ops.n));
  }
  return step == TL_STEP_BAD ? tl_air_malformed(r, body.p, "GraphDef") : TL_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Reads the position of a Data node: in a body that of the parent's input that it stands for. */
static tl_status read_index(const tl_air_reader *r, tl_air_op *op, bool in_body) {
  tl_proto value;
  const char *key = in_body ? "_parent_node_index" : "index";
  if (!tl_air_lookup(r, key, &value) || !tl_air_int(value, &op->index)) {
    op->index = -1;
    return in_body ? tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                             "an input of a body without the attribute _parent_node_index")
                   : TL_OK;
  }
  return TL_OK;
}

/* By index; inputs without one follow, in the order of the file. */
static int by_index(const void *p, const void *q) {
  const tl_air_op *a = *(tl_air_op *const *)p;
  const tl_air_op *b = *(tl_air_op *const *)q;
  if ((a->index < 0) != (b->index < 0))
    return a->index < 0 ? 1 : -1;
  if (a->index != b->index)
    return a->index < b->index ? -1 : 1;
  return (a > b) - (a < b);
}

static int by_place(const void *p, const void *q) {
  const tl_air_op *a = *(tl_air_op *const *)p;
  const tl_air_op *b = *(tl_air_op *const *)q;
  return (a > b) - (a < b);
}

/* atc takes the indexes of inputs if they are 0, 1 ..., and else numbers inputs in the order of the
 * file. */
static void order_inputs(tl_air_reader *r, tl_air_op **data, uint32_t n) {
  bool any = false;
  bool dense = true;
  qsort(data, n, sizeof *data, by_index);
  for (uint32_t i = 0; i < n; i++) {
    any = any || data[i]->index >= 0;
    dense = dense && data[i]->index == (int64_t)i;
  }
  if (dense)
    return;
  qsort(data, n, sizeof *data, by_place);
  if (any)
    tl_warn(
        r->d, TL_AT_FILE(r->path),
        "the indexes of the %u inputs are not 0 to %u, so they count for nothing: the inputs are "
        "taken in the order of the file, as atc does",
        n, n - 1);
}

static tl_status input_type(tl_air_reader *r, tl_air_op *op, tl_type_id *out) {
  TL_TRY(tl_air_split(r, op->body));
  const tl_span_vec *descs = r->inputs.n ? &r->inputs : &r->outputs; /* atc reads the input's */
  *out = TL_NO_TYPE;
  return descs->n ? tl_air_type(r, descs->at[0], tl_air_at(r, op->name), out) : TL_OK;
}

static tl_status read_value(tl_air_reader *r, const tl_air_op *op, tl_tensor_id *out);

/* Notes that an input of the main graph is a training state, of which the outputs are not known
 * yet. */
static tl_status note_state(tl_air_reader *r, tl_graph_id g) {
  tl_proto value;
  tl_sv output;
  const tl_graph *graph = tl_graph_get(r->m, g);
  if (graph->kind != TL_GRAPH_ROOT || !tl_air_lookup(r, "_tailor_state", &value) ||
      !tl_air_string(value, &output))
    return TL_OK;
  tl_symbol s = tl_air_symbol(r, output);
  return s == TL_NO_SYMBOL ? TL_NO_MEMORY : tl_slot_set(&r->states, graph->inputs.n, s);
}

static tl_status add_input(tl_air_reader *r, tl_graph_id g, tl_air_op *op) {
  tl_type_id type;
  tl_tensor_id initial;
  TL_TRY(input_type(r, op, &type));
  tl_air_keep_desc(r, op);
  TL_TRY(read_value(r, op, &initial)); /* of a training state */
  TL_TRY(note_state(r, g));
  op->value = tl_graph_add_input(r->m, g, 0, type, initial);
  return op->value ? tl_air_name_value(r, op->value, op->name) : TL_NO_MEMORY;
}

/* Returns how many operands of a node come before those that its bodies have as inputs: the
 * condition of If, the index of Case. */
static uint32_t operands_before(const tl_air_reader *r, tl_node_id owner) {
  const tl_op *row = tl_op_row(tl_node_get(r->m, owner)->op);
  return row && row->n_operand_ports ? row->n_operand_ports - 1u : 0;
}

/* Adds unused inputs of a body until it has n. A body of GE need not have each operand of its node
 * as an input; a body of the IR does. */
static tl_status fill_inputs(tl_air_reader *r, tl_graph_id g, uint32_t n) {
  tl_node_id owner = tl_graph_get(r->m, g)->owner;
  for (uint32_t i = tl_graph_get(r->m, g)->inputs.n; i < n; i++) {
    tl_value_id outer = tl_operand(r->m, owner, operands_before(r, owner) + i);
    tl_type_id type = outer ? tl_value_type(r->m, outer) : TL_NO_TYPE;
    tl_value_id v = tl_graph_add_input(r->m, g, 0, type, TL_NO_TENSOR);
    if (!v || !tl_extra_add(r->m, &tl_value_get(r->m, v)->extra, TL_SV(TL_NOTE_ABSENT), TL_SV("1")))
      return TL_NO_MEMORY;
    TL_TRY(tl_air_name_value(r, v, tl_module_intern(r->m, TL_SV("unused"))));
  }
  return TL_OK;
}

static tl_status add_body_input(tl_air_reader *r, tl_graph_id g, tl_air_op *op) {
  tl_node_id owner = tl_graph_get(r->m, g)->owner;
  int64_t position = op->index - (int64_t)operands_before(r, owner);
  if (op->index >= (int64_t)tl_node_get(r->m, owner)->n_operands ||
      position < (int64_t)tl_graph_get(r->m, g)->inputs.n)
    return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                   "_parent_node_index is %lld: the node around the body has no such input, or "
                   "another input of the body has it as well",
                   (long long)op->index);
  TL_TRY(fill_inputs(r, g, (uint32_t)position));
  return add_input(r, g, op);
}

static tl_status add_inputs(tl_air_reader *r, tl_graph_id g) {
  tl_node_id owner = tl_graph_get(r->m, g)->owner;
  tl_air_op **data = tl_arena_alloc(&r->m->arena, (r->ops.n + 1) * sizeof *data);
  uint32_t n = 0;
  if (!data)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < r->ops.n; i++)
    if (r->ops.at[i].role == TL_AIR_INPUT) {
      TL_TRY(tl_air_split(r, r->ops.at[i].body));
      TL_TRY(read_index(r, &r->ops.at[i], owner != TL_NO_NODE));
      data[n++] = &r->ops.at[i];
    }
  if (owner)
    qsort(data, n, sizeof *data, by_index);
  else
    order_inputs(r, data, n);
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(owner ? add_body_input(r, g, data[i]) : add_input(r, g, data[i]));
  if (!owner)
    return TL_OK;
  uint32_t outer = tl_node_get(r->m, owner)->n_operands;
  uint32_t before = operands_before(r, owner); /* an absent condition is no operand at the end */
  return outer > before ? fill_inputs(r, g, outer - before) : TL_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Reads where the data of a constant lies. */
static tl_air_place place_of(const tl_air_reader *r) {
  tl_air_place place = {.location = {NULL, 0}};
  tl_proto value;
  if (!(tl_air_lookup(r, "location", &value) && tl_air_string(value, &place.location) &&
        place.location.n) &&
      !(tl_air_lookup(r, "file_path", &value) && tl_air_string(value, &place.location) &&
        place.location.n))
    return (tl_air_place){.location = {NULL, 0}};
  if (tl_air_lookup(r, "offset", &value))
    (void)tl_air_int(value, &place.offset);
  if (tl_air_lookup(r, "length", &value))
    (void)tl_air_int(value, &place.length);
  return place;
}

/* Reads the tensor of the attribute value, NO_TENSOR without one. */
static tl_status read_value(tl_air_reader *r, const tl_air_op *op, tl_tensor_id *out) {
  tl_proto value;
  tl_field f;
  tl_air_place place = place_of(r);
  *out = TL_NO_TENSOR;
  if (!tl_air_lookup(r, "value", &value) || tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_T, TL_WIRE_BYTES))
    return TL_OK;
  return tl_air_tensor(r, f.body, &place, tl_air_at(r, op->name), out);
}

/* A FileConstant states its type in its desc, and has no value. */
static tl_status file_constant(tl_air_reader *r, const tl_air_op *op, tl_tensor_id *out) {
  tl_air_place place = place_of(r);
  tl_type_id type;
  if (!place.location.p)
    return tl_fail(r->d, TL_UNSUPPORTED, tl_air_at(r, op->name),
                   "a FileConstant names its file by file_id, which only the runtime knows");
  if (r->outputs.n == 0)
    return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name), "a constant without a desc");
  TL_TRY(tl_air_type(r, r->outputs.at[0], tl_air_at(r, op->name), &type));
  return tl_air_outside(r, type, &place, tl_air_at(r, op->name), out);
}

static tl_status add_constant(tl_air_reader *r, tl_graph_id g, tl_air_op *op) {
  tl_tensor_id tensor;
  tl_proto value;
  TL_TRY(tl_air_split(r, op->body));
  /* A constant that a node of the model became stays a node, with what it says of its origin. */
  if (tl_air_lookup(r, "original_type", &value)) {
    op->role = TL_AIR_OP;
    return TL_OK;
  }
  tl_air_keep_desc(r, op);
  TL_TRY(read_value(r, op, &tensor));
  if (!tensor && tl_sv_is(tl_sym(r->m, op->type), "FileConstant"))
    TL_TRY(file_constant(r, op, &tensor));
  if (!tensor)
    return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                   "a constant without the attribute value");
  op->value = tl_graph_add_constant(r->m, g, 0, tensor);
  return op->value ? tl_air_name_value(r, op->value, op->name) : TL_NO_MEMORY;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Returns true if `own` is `name` as the writer spells it: with _ for what GE does not allow. */
static bool is_spelling_of(tl_sv own, tl_sv name) {
  if (own.n != name.n)
    return false;
  for (size_t i = 0; i < own.n; i++)
    if (own.p[i] != name.p[i] && own.p[i] != '_')
      return false;
  return true;
}

/* Returns true if the output may take its name of the model from which the file was made: its value
 * is the result of a node, an input that has the name as GE spells it, or a weight whose node has
 * the name with a hash of its content behind it. */
static bool may_rename(const tl_air_reader *r, tl_value_id v, tl_sv name) {
  enum { HASH = 65 }; /* digits of SHA-256, and '_' */
  tl_sv own = tl_value_name(r->m, v);
  switch (tl_value_get(r->m, v)->kind) {
  case TL_VALUE_RESULT: return true;
  case TL_VALUE_INPUT: return is_spelling_of(own, name);
  case TL_VALUE_CONSTANT:
    return own.n == name.n + HASH && memcmp(own.p, name.p, name.n) == 0 && own.p[name.n] == '_';
  default: return false;
  }
}

/* Frees a name for an output: the result of a node that is named so gets another name. Sets *free
 * to false if an input, a weight or another output has it. */
static tl_status free_name(tl_air_reader *r, tl_symbol s, bool *free) {
  tl_value_id holder = tl_slot_get(&r->named, s);
  *free = !holder ||
          (tl_value_get(r->m, holder)->kind == TL_VALUE_RESULT && !tl_slot_get(&r->for_output, s));
  if (!holder || !*free)
    return TL_OK;
  tl_symbol other = tl_module_fresh_name(r->m, tl_sym(r->m, s));
  if (other == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_set_name(r->m, holder, other);
  return tl_slot_set(&r->named, other, holder);
}

static tl_status name_output(tl_air_reader *r, tl_proto desc, tl_value_id v) {
  tl_proto value;
  tl_sv name;
  bool free;
  if (!tl_air_find(desc, TL_DESC_ATTR, "_origin_output_tensor_name", &value) ||
      !tl_air_string(value, &name) || name.n == 0 || !may_rename(r, v, name))
    return TL_OK;
  tl_symbol s = tl_air_symbol(r, name);
  if (s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (tl_slot_get(&r->named, s) == v)
    return tl_slot_set(&r->for_output, s, 1);
  TL_TRY(free_name(r, s, &free));
  if (!free)
    return TL_OK;
  TL_TRY(tl_slot_set(&r->named, tl_value_get(r->m, v)->name, TL_NO_VALUE));
  tl_value_set_name(r->m, v, s);
  TL_TRY(tl_slot_set(&r->for_output, s, 1));
  return tl_slot_set(&r->named, s, v);
}

/* Takes the output's name, and the names of its open dims, from its desc. */
static tl_status describe_output(tl_air_reader *r, tl_proto desc, tl_value_id v) {
  tl_proto value;
  tl_type_id type;
  if (tl_air_find(desc, TL_DESC_ATTR, "_tailor_dim_names", &value)) {
    TL_TRY(tl_air_type(r, desc, TL_AT_FILE(r->path), &type));
    tl_value_set_type(r->m, v, type);
  }
  return name_output(r, desc, v);
}

/* Puts the values of NetOutput into r->values, in a body by the outputs of the node around it. */
static tl_status outputs_of_node(tl_air_reader *r, const tl_air_op *op, bool in_body) {
  TL_TRY(tl_air_split(r, op->body));
  r->values.n = 0;
  for (uint32_t i = 0; i < r->inputs.n; i++)
    if (!tl_u32_vec_push(&r->values, TL_NO_VALUE))
      return TL_NO_MEMORY;
  for (uint32_t i = 0, k = 0; i < r->edges.n; i++) {
    tl_air_source from = {0};
    tl_proto value;
    int64_t at = k;
    if (tl_proto_left(&r->edges.at[i]))
      TL_TRY(tl_air_edge_source(r, op, r->edges.at[i], &from));
    if (from.control)
      continue;
    tl_value_id v = from.value;
    if (in_body && k < r->inputs.n &&
        tl_air_find(r->inputs.at[k], TL_DESC_ATTR, "_parent_node_index", &value))
      (void)tl_air_int(value, &at);
    if (k >= r->inputs.n || at < 0 || at >= (int64_t)r->inputs.n || r->values.at[at])
      return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                     "the outputs of the graph do not fit their descs");
    if (v)
      TL_TRY(describe_output(r, r->inputs.at[k], v));
    r->values.at[at] = v;
    k++;
  }
  return TL_OK;
}

/* Without a NetOutput node the graph itself lists its outputs. */
static tl_status listed_outputs(tl_air_reader *r, tl_proto body) {
  tl_field f;
  r->values.n = 0;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD) {
    tl_air_source from;
    if (tl_field_tag(&f) != TL_TAG(TL_GRAPH_OUTPUT, TL_WIRE_BYTES))
      continue;
    TL_TRY(tl_air_edge_source(r, NULL, f.body, &from));
    if (from.value && !tl_u32_vec_push(&r->values, from.value))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status set_outputs(tl_air_reader *r, tl_proto body, tl_graph_id g) {
  const tl_air_op *output = NULL;
  for (uint32_t i = 0; i < r->ops.n; i++) {
    if (r->ops.at[i].role != TL_AIR_OUTPUT)
      continue;
    if (output)
      return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, r->ops.at[i].name),
                     "a graph with two NetOutput nodes");
    output = &r->ops.at[i];
  }
  TL_TRY(output ? outputs_of_node(r, output, tl_graph_get(r->m, g)->owner != TL_NO_NODE)
                : listed_outputs(r, body));
  for (uint32_t i = 0; i < r->values.n; i++)
    if (!r->values.at[i])
      return tl_fail(r->d, TL_INVALID_MODEL, TL_AT_FILE(r->path),
                     "output %u of graph '%.*s' has no "
                     "value",
                     i, TL_SV_ARG(tl_sym(r->m, tl_graph_get(r->m, g)->name)));
  return tl_graph_set_outputs(r->m, g, r->values.at, r->values.n);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Makes the graph that a node names a body of it. A graph belongs to one node, so bodies cannot
 * contain themselves. */
static tl_status claim_body(tl_air_reader *r, const tl_air_op *op, tl_proto text,
                            tl_graph_id *out) {
  tl_symbol name = tl_symbol_find(&r->m->symbols, tl_proto_sv(text));
  uint32_t at = name == TL_NO_SYMBOL ? 0 : tl_slot_get(&r->graph_of, name);
  if (!at || r->graphs.at[at - 1].id)
    return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                   at ? "the graph '%.*s' is used twice" : "the file has no graph '%.*s'",
                   TL_SV_ARG(tl_proto_sv(text)));
  *out = tl_graph_create(r->m, TL_GRAPH_BODY, name, op->node);
  r->graphs.at[at - 1].id = *out;
  return *out ? TL_OK : TL_NO_MEMORY;
}

/* Sets graph attributes in the order of the prototype; Case has one list of all. */
static tl_status set_bodies(tl_air_reader *r, const tl_air_op *op) {
  const tl_op *row = tl_op_row(tl_node_get(r->m, op->node)->op);
  uint32_t k = 0;
  r->ids.n = 0;
  for (uint32_t i = 0; i < r->bodies.n; i++) {
    tl_graph_id g;
    TL_TRY(claim_body(r, op, r->bodies.at[i], &g));
    if (!tl_u32_vec_push(&r->ids, g))
      return TL_NO_MEMORY;
  }
  for (uint32_t i = 0; row && i < row->n_attrs && k < r->ids.n; i++) {
    tl_attr attr = row->attrs[i].value;
    if (attr.kind == TL_ATTR_GRAPH) {
      attr = tl_attr_graph(attr.name, r->ids.at[k++]);
    } else if (attr.kind == TL_ATTR_GRAPHS) {
      attr = tl_attr_ids(r->m, attr.name, TL_ATTR_GRAPHS, r->ids.at + k, r->ids.n - k);
      k = r->ids.n;
    } else {
      continue;
    }
    if (attr.kind == TL_ATTR_NONE)
      return TL_NO_MEMORY;
    TL_TRY(tl_node_set_attr(r->m, op->node, attr));
  }
  if (k == r->ids.n)
    return TL_OK;
  return tl_fail(r->d, TL_UNSUPPORTED, tl_air_at(r, op->name),
                 "%.*s owns graphs, which the op table does not know of it",
                 TL_SV_ARG(tl_sym(r->m, op->type)));
}

/* ---- one graph ------------------------------------------------------------------------------- */

/* Makes the inputs and constants of a graph, which nodes read. */
static tl_status make_parts(tl_air_reader *r, tl_graph_id g) {
  TL_TRY(add_inputs(r, g));
  for (uint32_t i = 0; i < r->ops.n; i++)
    if (r->ops.at[i].role == TL_AIR_CONSTANT)
      TL_TRY(add_constant(r, g, &r->ops.at[i]));
  return TL_OK;
}

/* Finishes a node that was just split: its operands, notes of its ports, its bodies. One that reads
 * a node behind it waits. */
static tl_status finish_node(tl_air_reader *r, tl_air_op *op) {
  TL_TRY(tl_air_connect(r, op, &op->waits));
  if (op->waits)
    return TL_OK;
  TL_TRY(tl_air_note_ports(r, op));
  return r->bodies.n ? set_bodies(r, op) : TL_OK;
}

/* Files have nodes in topological order mostly. */
static tl_status make_nodes(tl_air_reader *r, tl_graph_id g) {
  bool waiting = false;
  for (uint32_t i = 0; i < r->ops.n; i++) {
    tl_air_op *op = &r->ops.at[i];
    if (op->role != TL_AIR_OP)
      continue;
    TL_TRY(tl_air_make_node(r, g, op));
    TL_TRY(finish_node(r, op));
    waiting = waiting || op->waits;
  }
  for (uint32_t i = 0; i < r->ops.n && waiting; i++) {
    if (!r->ops.at[i].waits)
      continue;
    TL_TRY(tl_air_split(r, r->ops.at[i].body));
    TL_TRY(finish_node(r, &r->ops.at[i]));
  }
  return TL_OK;
}

static tl_status read_graph(tl_air_reader *r, const tl_air_graph *graph) {
  tl_graph_id g = graph->id;
  tl_proto body = graph->body;
  TL_TRY(list_ops(r, body));
  TL_TRY(make_parts(r, g));
  TL_TRY(make_nodes(r, g));
  TL_TRY(set_outputs(r, body, g));
  TL_TRY(tl_graph_sort(r->m, g));
  return tl_air_note_values(r, g, body);
}

/* Depth of a graph below the main one. */
static uint32_t depth_of(const tl_air_reader *r, tl_graph_id g) {
  uint32_t depth = 0;
  for (tl_node_id n; (n = tl_graph_get(r->m, g)->owner) != TL_NO_NODE; depth++)
    g = tl_node_get(r->m, n)->graph;
  return depth;
}

/* A graph is read once the node that names it has been; rounds go on while there are such
 * graphs. */
tl_status tl_air_graphs(tl_air_reader *r) {
  uint8_t *read = tl_arena_calloc(&r->m->arena, r->graphs.n + 1, 1);
  if (!read)
    return TL_NO_MEMORY;
  r->graphs.at[0].id = tl_graph_create(r->m, TL_GRAPH_ROOT, r->graphs.at[0].name, TL_NO_NODE);
  if (!r->graphs.at[0].id)
    return TL_NO_MEMORY;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t i = 0; i < r->graphs.n; i++) {
      if (read[i] || !r->graphs.at[i].id)
        continue;
      if (depth_of(r, r->graphs.at[i].id) >= TL_MAX_BODY_DEPTH)
        return tl_fail(r->d, TL_LIMIT, TL_AT_FILE(r->path), "graphs nest more than %d deep",
                       (int)TL_MAX_BODY_DEPTH);
      read[i] = 1;
      more = true;
      TL_TRY(read_graph(r, &r->graphs.at[i]));
    }
  }
  for (uint32_t i = 0; i < r->graphs.n; i++)
    if (!read[i])
      tl_warn(r->d, TL_AT_FILE(r->path), "no node names the graph '%.*s'; it is dropped",
              TL_SV_ARG(tl_sym(r->m, r->graphs.at[i].name)));
  return TL_OK;
}
