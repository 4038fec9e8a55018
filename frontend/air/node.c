/* SPDX-License-Identifier: Apache-2.0 */
/* Reads nodes (OpDef): their parts, the node of the IR, and its operands by the names of ports. */
#include "frontend/air/reader.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"

static int by_key(const void *p, const void *q) {
  const tl_air_entry *a = p, *b = q;
  return tl_sv_compare(a->key, b->key);
}

/* Refuses a key that the map has twice: which of the values counts, readers do not agree on. Files
 * of ours have the keys in order, and need no copy. */
static tl_status check_keys(const tl_air_reader *r, tl_sv node) {
  const tl_air_entry *at = r->entries.at;
  uint32_t n = r->entries.n, i = 1;
  while (i < n && by_key(&at[i - 1], &at[i]) < 0)
    i++;
  if (i >= n)
    return TL_OK;
  tl_air_entry *sorted = malloc(n * sizeof *sorted);
  if (!sorted)
    return TL_NO_MEMORY;
  memcpy(sorted, at, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_key);
  for (i = 1; i < n && by_key(&sorted[i - 1], &sorted[i]) < 0;)
    i++;
  tl_status status = TL_OK;
  if (i < n) {
    tl_location where = {.file = r->path,
                         .node = node,
                         .attr = sorted[i].key,
                         .offset = (uint64_t)(sorted[i].value.p - r->model.p),
                         .has_offset = true};
    status = tl_fail(r->d, TL_INVALID_MODEL, where, "the node has this attribute twice");
  }
  free(sorted);
  return status;
}

tl_status tl_air_split(tl_air_reader *r, tl_proto body) {
  tl_field f;
  tl_air_entry e;
  tl_step step;
  bool good = true;
  tl_sv name = {NULL, 0};
  r->edges.n = r->inputs.n = r->outputs.n = r->bodies.n = r->entries.n = 0;
  r->stream = -1;
  while ((step = tl_proto_step(&body, &f)) == TL_STEP_FIELD && good)
    switch (tl_field_tag(&f)) {
    case TL_TAG(TL_NODE_NAME, TL_WIRE_BYTES): name = tl_proto_sv(f.body); break;
    case TL_TAG(TL_NODE_INPUT, TL_WIRE_BYTES): good = tl_span_vec_push(&r->edges, f.body); break;
    case TL_TAG(TL_NODE_ATTR, TL_WIRE_BYTES):
      if (!tl_air_entry_read(f.body, &e))
        return tl_air_malformed(r, f.body.p, "an attribute");
      e.use = (uint8_t)tl_air_use_of(e.key);
      good = tl_air_entry_vec_push(&r->entries, e);
      break;
    case TL_TAG(TL_NODE_INPUT_DESC, TL_WIRE_BYTES):
      good = tl_span_vec_push(&r->inputs, f.body);
      break;
    case TL_TAG(TL_NODE_OUTPUT_DESC, TL_WIRE_BYTES):
      good = tl_span_vec_push(&r->outputs, f.body);
      break;
    case TL_TAG(TL_NODE_STREAM, TL_WIRE_VARINT):
      if (f.value > 0 && f.value <= INT32_MAX)
        r->stream = (int32_t)f.value;
      break;
    case TL_TAG(TL_NODE_SUBGRAPH, TL_WIRE_BYTES):
      good = tl_span_vec_push(&r->bodies, f.body);
      break;
    default: break;
    }
  if (!good)
    return TL_NO_MEMORY;
  return step == TL_STEP_BAD ? tl_air_malformed(r, body.p, "OpDef") : check_keys(r, name);
}

tl_status tl_air_name_value(tl_air_reader *r, tl_value_id v, tl_symbol s) {
  if (s != TL_NO_SYMBOL && (s == 0 || tl_slot_get(&r->named, s)))
    s = tl_module_fresh_name(r->m, tl_sym(r->m, s));
  if (s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_set_name(r->m, v, s);
  return tl_slot_set(&r->named, s, v);
}

/* Returns "<node>:<i>", the name of a result of a node that has several. */
static tl_symbol result_name(tl_air_reader *r, const tl_air_op *op, uint32_t i) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, tl_sym(r->m, op->name));
  tl_buf_printf(&text, ":%u", i);
  tl_symbol name = text.failed ? TL_NO_SYMBOL : tl_module_intern(r->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return name;
}

/* Names the results after their node and types them. */
static tl_status describe_results(tl_air_reader *r, const tl_air_op *op) {
  tl_value_id first = tl_node_get(r->m, op->node)->results;
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    tl_type_id type;
    TL_TRY(tl_air_type(r, r->outputs.at[i], tl_air_at(r, op->name), &type));
    tl_value_set_type(r->m, first + i, type);
    tl_symbol name = op->n_outputs > 1 ? result_name(r, op, i) : op->name;
    TL_TRY(tl_air_name_value(r, first + i, name));
  }
  return TL_OK;
}

/* Says of a constant of a dump that it has no data. */
static tl_status note_no_data(tl_air_reader *r, const tl_air_op *op) {
  tl_symbol key = tl_module_intern(r->m, TL_SV(TL_AIR_NO_DATA));
  if (key == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  return tl_node_set_attr(r->m, op->node, tl_attr_string(key, op->name));
}

tl_status tl_air_make_node(tl_air_reader *r, tl_graph_id g, tl_air_op *op) {
  tl_location where = tl_air_at(r, op->name);
  TL_TRY(tl_air_split(r, op->body));
  op->n_outputs = r->outputs.n;
  tl_node_spec spec = {.name = op->name, .n_results = op->n_outputs};
  spec.op = tl_op_intern(r->m, TL_SYM_npu, op->type); /* of the table, else one that is carried */
  if (spec.op == UINT32_MAX)
    return TL_NO_MEMORY;
  op->node = tl_graph_append(r->m, g, &spec);
  if (!op->node)
    return TL_NO_MEMORY;
  TL_TRY(describe_results(r, op));
  TL_TRY(tl_air_attributes(r, op, where));
  TL_TRY(tl_node_set_attrs(r->m, op->node, r->attrs.at, r->attrs.n));
  if (op->no_data)
    TL_TRY(note_no_data(r, op));
  tl_node_get(r->m, op->node)->stream = r->stream;
  return tl_air_notes(r, op);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Splits "NODE:INDEX" at the last colon. */
static bool split_edge(tl_proto edge, tl_sv *name, int64_t *index) {
  const unsigned char *colon = edge.end;
  while (colon > edge.p && colon[-1] != ':')
    colon--;
  if (colon == edge.p)
    return false;
  *name = (tl_sv){(const char *)edge.p, (size_t)(colon - 1 - edge.p)};
  return tl_parse_i64((tl_sv){(const char *)colon, (size_t)(edge.end - colon)}, index);
}

/* Returns the value that output `index` of a node is; TL_NO_VALUE beyond its outputs. */
static tl_value_id output_of(const tl_air_reader *r, const tl_air_op *op, int64_t index) {
  if (op->role == TL_AIR_INPUT || op->role == TL_AIR_CONSTANT)
    return index == 0 ? op->value : TL_NO_VALUE;
  bool has = op->role == TL_AIR_OP && index < (int64_t)op->n_outputs;
  return has ? tl_node_get(r->m, op->node)->results + (uint32_t)index : TL_NO_VALUE;
}

tl_status tl_air_edge_source(tl_air_reader *r, const tl_air_op *user, tl_proto edge,
                             tl_air_source *out) {
  tl_sv name;
  int64_t index;
  tl_location where = user ? tl_air_at(r, user->name) : TL_AT_FILE(r->path);
  if (!split_edge(edge, &name, &index))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "the edge '%.*s' is not NODE:INDEX",
                   TL_SV_ARG(tl_proto_sv(edge)));
  tl_symbol s = tl_symbol_find(&r->m->symbols, name);
  uint32_t at = s == TL_NO_SYMBOL ? 0 : tl_slot_get(&r->op_of, s);
  if (!at)
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "the edge '%.*s' names a node that its graph does not have",
                   TL_SV_ARG(tl_proto_sv(edge)));
  const tl_air_op *source = &r->ops.at[at - 1];
  bool node = source->role == TL_AIR_OP;
  *out = (tl_air_source){.node = node ? source->node : TL_NO_NODE,
                         .control = index < 0,
                         .waits = node && !source->node};
  if (out->control || out->waits)
    return TL_OK;
  out->value = output_of(r, source, index);
  if (out->value)
    return TL_OK;
  return tl_fail(r->d, TL_INVALID_MODEL, where, "the edge '%.*s' names an output that node lacks",
                 TL_SV_ARG(tl_proto_sv(edge)));
}

/* Reads the values of the slots into r->values, and the nodes of control edges into r->ids.
 * *waits: a node that is read has not been made. */
static tl_status read_edges(tl_air_reader *r, const tl_air_op *op, bool *waits) {
  r->values.n = r->ids.n = 0;
  *waits = false;
  for (uint32_t i = 0; i < r->edges.n; i++) {
    tl_air_source from = {0};
    if (tl_proto_left(&r->edges.at[i]))
      TL_TRY(tl_air_edge_source(r, op, r->edges.at[i], &from));
    *waits = from.waits;
    if (*waits)
      return TL_OK;
    if (from.node && from.control && !tl_u32_vec_push(&r->ids, from.node))
      return TL_NO_MEMORY;
    if (from.control)
      continue;
    if (r->values.n >= r->inputs.n)
      return tl_fail(r->d, TL_INVALID_MODEL, tl_air_at(r, op->name),
                     "the node has %u inputs but descs of %u", r->values.n + 1, r->inputs.n);
    if (!tl_u32_vec_push(&r->values, from.value))
      return TL_NO_MEMORY;
  }
  for (uint32_t i = 0; i < r->ids.n; i++)
    if (!tl_control_add(r->m, r->ids.at[i], op->node, TL_CONTROL_USER))
      return TL_NO_MEMORY;
  return TL_OK;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool push_number(void *user, uint64_t value) {
  return tl_i64_vec_push(user, (int64_t)value);
}

/* Returns the ListValue of an entry of the node; an empty one without it. */
static tl_proto list_of(const tl_air_reader *r, const char *key) {
  tl_proto value;
  tl_field f;
  if (tl_air_lookup(r, key, &value) && tl_proto_next(&value, &f) == TL_STEP_FIELD &&
      tl_field_tag(&f) == TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    return f.body;
  return (tl_proto){r->model.p, r->model.p};
}

/* Reads r->ids from two lists. Lists that do not fit each other count as absent, as in GE. */
static tl_status read_names(tl_air_reader *r, tl_proto keys, tl_proto values) {
  tl_field f;
  uint32_t n = 0, n_keys = 0;
  r->numbers.n = r->ids.n = 0;
  while (tl_proto_next(&values, &f) == TL_STEP_FIELD)
    if (f.number == TL_LIST_I && !tl_proto_numbers(&f, 0, push_number, &r->numbers))
      return tl_air_malformed(r, f.start, "_input_name_value");
  for (uint32_t i = 0; i < r->inputs.n; i++)
    if (!tl_u32_vec_push(&r->ids, 0))
      return TL_NO_MEMORY;
  for (tl_proto walk = keys; tl_proto_next(&walk, &f) == TL_STEP_FIELD;)
    n_keys += f.number == TL_LIST_S;
  if (n_keys != r->numbers.n)
    return TL_OK;
  while (tl_proto_next(&keys, &f) == TL_STEP_FIELD) {
    if (f.number != TL_LIST_S)
      continue;
    int64_t slot = r->numbers.at[n++];
    if (slot < 0 || slot >= (int64_t)r->ids.n)
      continue;
    r->ids.at[slot] = tl_air_symbol(r, tl_proto_sv(f.body));
    if (r->ids.at[slot] == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static bool same_bytes(tl_proto a, tl_proto b) {
  return tl_proto_left(&a) == tl_proto_left(&b) && memcmp(a.p, b.p, tl_proto_left(&a)) == 0;
}

/* Fills r->ids with the name of the port of each input slot, 0 where none is stated. Nodes of an op
 * have the same names mostly. */
static tl_status slot_names(tl_air_reader *r, tl_op_id op) {
  tl_proto keys = list_of(r, "_input_name_key");
  tl_proto values = list_of(r, "_input_name_value");
  tl_air_port_names *room = &r->ports[op % TL_AIR_PORT_LISTS];
  if (room->keys.p && room->n == r->inputs.n && same_bytes(room->keys, keys) &&
      same_bytes(room->values, values)) {
    r->ids.n = 0;
    for (uint32_t i = 0; i < room->n; i++)
      if (!tl_u32_vec_push(&r->ids, room->ids[i]))
        return TL_NO_MEMORY;
    return TL_OK;
  }
  TL_TRY(read_names(r, keys, values));
  *room = (tl_air_port_names){.keys = keys, .values = values, .n = r->ids.n};
  room->ids = tl_arena_alloc(&r->m->arena, (r->ids.n + 1) * sizeof *room->ids);
  if (!room->ids)
    return TL_NO_MEMORY;
  if (r->ids.n)
    memcpy(room->ids, r->ids.at, r->ids.n * sizeof *room->ids);
  return TL_OK;
}

/* Returns true if a slot's name is the port's, with a number behind it for a dynamic port. */
static bool is_of_port(tl_sv name, const tl_op_port *port) {
  tl_sv stem = tl_sv_from(port->name);
  if (port->kind != TL_PORT_VARIADIC)
    return tl_sv_eq(name, stem);
  if (name.n <= stem.n || memcmp(name.p, stem.p, stem.n) != 0)
    return false;
  for (size_t i = stem.n; i < name.n; i++)
    if (name.p[i] < '0' || name.p[i] > '9')
      return false;
  return true;
}

/* Finds the slots of a port, mostly right where the last port's ended. *count: how many follow each
 * other from the returned one on. */
static uint32_t slots_of(const tl_air_reader *r, const tl_op_port *port, uint32_t from,
                         uint32_t *count) {
  uint32_t n = r->ids.n;
  *count = 0;
  for (uint32_t k = 0; k < n && !*count; k++) {
    uint32_t at = from + k < n ? from + k : from + k - n;
    if (!is_of_port(tl_sym(r->m, r->ids.at[at]), port))
      continue;
    for (from = at; at + *count < n && is_of_port(tl_sym(r->m, r->ids.at[at + *count]), port);)
      ++*count;
  }
  return from;
}

/* Puts the values of the slots into the order of the prototype's ports. *placed: how many slots
 * found their port. Counts of several dynamic ports are attributes, which tell them
 * apart. */
static tl_status arrange(tl_air_reader *r, const tl_air_op *op, const tl_op *row, tl_u32_vec *out,
                         uint32_t *placed) {
  uint32_t at = 0;
  *placed = 0;
  for (uint32_t p = 0; p < row->n_operand_ports; p++) {
    const tl_op_port *port = &row->operands[p];
    uint32_t count;
    uint32_t first = slots_of(r, port, at, &count);
    bool dynamic = port->kind == TL_PORT_VARIADIC;
    for (uint32_t i = 0; i < (dynamic || count ? count : 1); i++) {
      bool there = count && first + i < r->values.n;
      if (!tl_u32_vec_push(out, there ? r->values.at[first + i] : 0) ||
          !tl_u32_vec_push(&r->slots, there ? first + i : UINT32_MAX))
        return TL_NO_MEMORY;
    }
    at = count ? first + count : at;
    *placed += count;
    if (!dynamic || p + 1 == row->n_operand_ports)
      continue;
    tl_buf key;
    tl_buf_init(&key);
    tl_buf_printf(&key, "__dynamic_input_%s_cnt", port->name);
    tl_symbol name = key.failed ? TL_NO_SYMBOL : tl_module_intern(r->m, tl_buf_view(&key));
    tl_buf_release(&key);
    if (name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    TL_TRY(tl_node_set_attr(r->m, op->node, tl_attr_int(name, count)));
  }
  return TL_OK;
}

/* Without names the slots are the ports in order. */
static bool has_names(const tl_air_reader *r) {
  for (uint32_t i = 0; i < r->ids.n; i++)
    if (r->ids.at[i])
      return true;
  return false;
}

static tl_status set_operands(tl_air_reader *r, const tl_air_op *op, const tl_u32_vec *v) {
  uint32_t n = v->n;
  while (n && !v->at[n - 1])
    n--;
  return tl_node_set_operands(r->m, op->node, v->at, n);
}

static tl_status place_operands(tl_air_reader *r, const tl_air_op *op) {
  const tl_op *row = tl_op_row(tl_node_get(r->m, op->node)->op);
  tl_u32_vec operands = {0};
  uint32_t placed;
  r->slots.n = 0;
  if (row)
    TL_TRY(slot_names(r, tl_node_get(r->m, op->node)->op));
  if (!row || !has_names(r)) {
    for (uint32_t i = 0; i < r->values.n; i++)
      if (!tl_u32_vec_push(&r->slots, i))
        return TL_NO_MEMORY;
    return set_operands(r, op, &r->values);
  }
  tl_status status = arrange(r, op, row, &operands, &placed);
  if (status == TL_OK && placed != r->ids.n)
    status = tl_fail(r->d, TL_UNSUPPORTED, tl_air_at(r, op->name),
                     "%s has a port that this version does not know\vits ports are listed by "
                     "'tailor ops npu::%s'",
                     row->name, row->name);
  if (status == TL_OK)
    status = set_operands(r, op, &operands);
  tl_u32_vec_release(&operands);
  return status;
}

tl_status tl_air_connect(tl_air_reader *r, const tl_air_op *op, bool *waits) {
  TL_TRY(read_edges(r, op, waits));
  return *waits ? TL_OK : place_operands(r, op);
}
