/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes one node (OpDef) at a time: its slots, edges, attributes and descs. */
#include "backend/air/air.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "ir/options/custom_ops.h"
#include "ir/trace.h"

static void add_slot(tl_air *a, tl_slot_vec *v, tl_slot s) {
  if (!tl_slot_vec_push(v, s))
    a->buf.failed = true;
}

static void add_int(tl_air *a, tl_sv key, int64_t v) {
  tl_air_add_entry(a, (tl_entry){.key = key, .kind = TL_ENTRY_INT, .u.number = v});
}

/* Clears the state of the node before. */
static void start(tl_air *a) {
  tl_encoder_clear(&a->buf);
  a->inputs.n = 0;
  a->outputs.n = 0;
  a->entries.n = 0;
}

/* Encodes "<name>:<index>"; index -1 marks a control edge. Prints by hand since this runs for every
 * edge. */
static void encode_edge(tl_encoder *b, unsigned field, tl_sv name, int64_t index) {
  char text[24];
  size_t k = sizeof text;
  uint64_t v = index < 0 ? (uint64_t)-index : (uint64_t)index;
  do
    text[--k] = (char)('0' + v % 10);
  while (v /= 10);
  if (index < 0)
    text[--k] = '-';
  text[--k] = ':';
  tl_encode_varint(b, (uint64_t)field << 3 | TL_WIRE_LENGTH);
  tl_encode_varint(b, name.n + sizeof text - k);
  tl_encode_raw(b, name.p, name.n);
  tl_encode_raw(b, text + k, sizeof text - k);
}

/* Returns the name of the AIR node that holds a value; *index is the output of that node. Inputs
 * and constants are nodes with one output. */
static tl_sv holder(const tl_air *a, tl_value_id v, int64_t *index) {
  const tl_value *value = tl_value_get(a->m, v);
  bool made = value->kind == TL_VALUE_RESULT;
  *index = made ? value->index : 0;
  return made ? a->node_names[value->def] : a->value_names[v];
}

void tl_air_edge(tl_air *a, unsigned field, tl_value_id v) {
  int64_t index;
  tl_sv name = holder(a, v, &index);
  encode_edge(&a->buf, field, name, index);
}

/* Encodes the data edges; an empty edge is an unconnected optional input. */
static void encode_inputs(tl_air *a) {
  for (uint32_t i = 0; i < a->inputs.n; i++) {
    tl_value_id v = a->inputs.at[i].value;
    if (v)
      tl_air_edge(a, TL_NODE_INPUT, v);
    else
      tl_encode_bytes(&a->buf, TL_NODE_INPUT, TL_SV(""));
  }
}

/* Encodes the control edges, behind the data edges as loaders want it. */
static void encode_controls(tl_air *a, tl_node_id n) {
  for (tl_control_id c = tl_node_get(a->m, n)->control_in; c;) {
    const tl_control *edge = tl_control_get(a->m, c);
    encode_edge(&a->buf, TL_NODE_INPUT, a->node_names[edge->from], -1);
    c = edge->next_in;
  }
}

/* One bool per connected input: does it come from a constant? */
static void encode_const_flags(tl_air *a) {
  bool any = false;
  for (uint32_t i = 0; i < a->inputs.n; i++)
    any = any || a->inputs.at[i].value;
  size_t at = any ? tl_encode_open(&a->buf, TL_NODE_INPUT_CONST) : 0;
  for (uint32_t i = 0; i < a->inputs.n; i++)
    if (a->inputs.at[i].value)
      tl_encode_varint(&a->buf,
                       tl_value_get(a->m, a->inputs.at[i].value)->kind == TL_VALUE_CONSTANT);
  if (any)
    tl_encode_close(&a->buf, at);
}

/* Encodes the desc of an input, a constant or an output of a graph. note: of that port; p NULL:
 * none. */
static void encode_value_desc(tl_air *a, unsigned field, tl_value_id v, tl_sv note,
                              const tl_desc_extra *extra) {
  tl_type_id type = tl_value_type(a->m, v);
  tl_port_note format;
  if (note.p && tl_air_noted_desc(a, field, tl_type_get(a->m, type), note, extra))
    return;
  if (a->has_notes && tl_air_noted_format(a, v, &format))
    tl_air_desc_in(a, field, tl_type_get(a->m, type), &format, extra);
  else
    tl_air_desc(a, field, type, (tl_ge_format)a->formats[v], extra);
}

/* Encodes the desc of a port of a node; true if a note says what it is. */
static bool encode_noted(tl_air *a, unsigned field, tl_value_id v, tl_sv note) {
  return note.p && v &&
         tl_air_noted_desc(a, field, tl_type_get(a->m, tl_value_type(a->m, v)), note, NULL);
}

/* Encodes the desc of a result whose type or rank nothing has said. */
static void encode_open_desc(tl_air *a, tl_node_id n, uint32_t result, tl_ge_format format) {
  const tl_slot *slot = &a->outputs.at[result];
  tl_dim dims[TL_MAX_RANK];
  tl_type_id type = tl_value_type(a->m, slot->value);
  int rank = tl_air_unread_dims(a, n, result, dims);
  tl_dtype dtype = type ? tl_type_dtype(a->m, type) : (tl_dtype)slot->dtype;
  if (type && rank < 0)
    tl_air_desc(a, TL_NODE_OUTPUT_DESC, type, format, NULL);
  else
    tl_air_untyped_desc(a, TL_NODE_OUTPUT_DESC, dtype, rank, dims);
}

/* Encodes one desc for each slot. Its format is the node's, whatever the other end of the edge
 * has, unless a note of the port says another. */
static void encode_descs(tl_air *a, tl_node_id n) {
  tl_ge_format format = (tl_ge_format)a->node_formats[n];
  uint32_t extra = tl_node_get(a->m, n)->extra;
  for (uint32_t i = 0; i < a->inputs.n; i++)
    if (encode_noted(a, TL_NODE_INPUT_DESC, a->inputs.at[i].value,
                     tl_air_note_of(a, extra, false, i)))
      continue;
    else if (a->inputs.at[i].value)
      tl_air_desc(a, TL_NODE_INPUT_DESC, tl_value_type(a->m, a->inputs.at[i].value), format, NULL);
    else
      tl_encode_raw(&a->buf, a->unset_blob.p, a->unset_blob.n);
  for (uint32_t i = 0; i < a->outputs.n; i++) {
    tl_value_id v = a->outputs.at[i].value;
    tl_type_id type = tl_value_type(a->m, v);
    if (encode_noted(a, TL_NODE_OUTPUT_DESC, v, tl_air_note_of(a, extra, true, i)))
      continue;
    if (type && tl_type_get(a->m, type)->rank != TL_RANK_UNKNOWN)
      tl_air_desc(a, TL_NODE_OUTPUT_DESC, type, format, NULL);
    else
      encode_open_desc(a, n, i, format);
  }
}

static void encode_head(tl_air *a, tl_sv name, tl_sv type) {
  tl_encode_bytes(&a->buf, TL_NODE_NAME, name);
  tl_encode_bytes(&a->buf, TL_NODE_TYPE, type);
}

/* Encodes has_out_attr and the id. An id of 0 is the default of the field and is left out. */
static void encode_numbers(tl_air *a, int64_t id) {
  tl_encode_int(&a->buf, TL_NODE_HAS_OUT_ATTR, 1);
  if (id)
    tl_encode_int(&a->buf, TL_NODE_ID, id);
}

/* ---- slots ---- */

static const tl_attr *find_attr(const tl_air *a, const tl_node *node, tl_sv name) {
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (tl_sv_eq(tl_sym(a->m, node->attrs[i].name), name))
      return &node->attrs[i];
  return NULL;
}

/* Returns the number of operands of a dynamic port: the count that lowering has set as attribute,
 * else all operands that the other ports leave. Adds the count as attribute if it is missing. */
static uint32_t dynamic_count(tl_air *a, const tl_node *node, const tl_op *op,
                              const tl_air_row *row, uint32_t port, uint32_t used) {
  const tl_attr *given = find_attr(a, node, row->input_counts[port]);
  uint32_t after = op->n_operand_ports - port - 1u;
  uint32_t left = node->n_operands > used ? node->n_operands - used : 0;
  if (given && given->kind == TL_ATTR_INT && given->u.i >= 0 && given->u.i <= left)
    return (uint32_t)given->u.i;
  uint32_t n = left > after ? left - after : 0;
  if (!given)
    add_int(a, row->input_counts[port], n);
  return n;
}

/* Assigns operands to the ports of the prototype, in order. */
static void input_slots(tl_air *a, tl_node_id n, const tl_op *op, const tl_air_row *row) {
  const tl_node *node = tl_node_get(a->m, n);
  uint32_t used = 0;
  for (uint32_t port = 0; port < op->n_operand_ports; port++) {
    const tl_op_port *p = &op->operands[port];
    bool dynamic = p->kind == TL_PORT_VARIADIC;
    uint32_t count = dynamic ? dynamic_count(a, node, op, row, port, used) : 1;
    for (uint32_t i = 0; i < count; i++)
      add_slot(a, &a->inputs,
               (tl_slot){.value = tl_operand(a->m, n, used++),
                         .port = p->name,
                         .index = dynamic ? (int32_t)i : -1});
  }
}

/* Assigns results to the ports of the prototype, in order. A dynamic port takes what the other
 * ports leave. */
static void output_slots(tl_air *a, tl_node_id n, const tl_op *op, const tl_air_row *row) {
  uint32_t n_results = tl_node_get(a->m, n)->n_results;
  uint32_t used = 0;
  for (uint32_t port = 0; port < op->n_result_ports; port++) {
    const tl_op_port *p = &op->results[port];
    bool dynamic = p->kind == TL_PORT_VARIADIC;
    uint32_t after = op->n_result_ports - port - 1u;
    uint32_t left = n_results > used + after ? n_results - used - after : 0;
    uint32_t count = dynamic ? left : 1;
    if (dynamic)
      add_int(a, row->output_counts[port], count);
    for (uint32_t i = 0; i < count; i++) {
      tl_value_id v = tl_result(a->m, n, used);
      bool typed = tl_value_type(a->m, v) != TL_NO_TYPE;
      add_slot(a, &a->outputs,
               (tl_slot){.value = v,
                         .port = p->name,
                         .index = dynamic ? (int32_t)i : -1,
                         .dtype = typed ? 0 : tl_air_likely_dtype(a, n, used, op, p)});
      used++;
    }
  }
}

/* Adds a slot for each operand or result as a user's file names them. A dynamic port takes what the
 * ports behind it leave. */
static void informed_slots(tl_air *a, tl_node_id n, tl_op_info info, bool output) {
  const tl_node *node = tl_node_get(a->m, n);
  uint32_t n_slots = output ? info.row->n_outputs : info.row->n_inputs;
  uint32_t n_values = output ? node->n_results : node->n_operands, used = 0;
  for (uint32_t k = 0; k < n_slots; k++) {
    const tl_op_info_slot *slot = tl_op_info_slot_at(info, output, k);
    bool dynamic = slot->kind == TL_SLOT_DYNAMIC;
    uint32_t after = n_slots - k - 1, left = n_values - used;
    uint32_t count = dynamic ? (left > after ? left - after : 0) : left ? 1 : 0;
    for (uint32_t i = 0; i < count; i++, used++)
      add_slot(a, output ? &a->outputs : &a->inputs,
               (tl_slot){.value = output ? tl_result(a->m, n, used) : tl_operand(a->m, n, used),
                         .port = tl_op_info_text(info, slot->name),
                         .index = dynamic ? (int32_t)i : -1});
  }
}

/* Adds slots for an op that the op table does not list: as its operator information names them,
 * else x0, x1 ... and y0, y1 ... */
static void opaque_slots(tl_air *a, tl_node_id n) {
  const tl_node *node = tl_node_get(a->m, n);
  tl_op_info info = tl_options_custom_info(a->options, tl_op_name(a->m, node->op));
  if (info.row) {
    informed_slots(a, n, info, false);
    informed_slots(a, n, info, true);
    return;
  }
  for (uint32_t i = 0; i < node->n_operands; i++)
    add_slot(a, &a->inputs,
             (tl_slot){.value = tl_operand(a->m, n, i), .port = "x", .index = (int32_t)i});
  for (uint32_t i = 0; i < node->n_results; i++)
    add_slot(a, &a->outputs,
             (tl_slot){.value = node->results + i, .port = "y", .index = (int32_t)i});
}

/* Adds the names of the slots, for nodes whose number of slots the prototype does not fix. */
static void add_slot_names(tl_air *a, bool output) {
  uint32_t n = output ? a->outputs.n : a->inputs.n;
  if (n == 0)
    return;
  tl_air_add_entry(a, (tl_entry){.key = tl_sv_from(output ? "_output_name_key" : "_input_name_key"),
                                 .kind = TL_ENTRY_NAMES,
                                 .output = output});
  tl_air_add_entry(
      a, (tl_entry){.key = tl_sv_from(output ? "_output_name_value" : "_input_name_value"),
                    .kind = TL_ENTRY_POSITIONS,
                    .u.count = n});
}

static void add_const_entry(tl_air *a) {
  for (uint32_t i = 0; i < a->inputs.n; i++)
    if (a->inputs.at[i].value) {
      tl_air_add_entry(a, (tl_entry){.key = TL_SV("is_input_const"), .kind = TL_ENTRY_INPUT_CONST});
      return;
    }
}

/* ---- the four kinds of nodes ---- */

/* Adds streams and events of the schedule. Nodes of stream "U" (updates) also get the label by
 * which the device compiler puts them on a stream of their own. */
static void schedule_entries(tl_air *a, tl_node_id n) {
  static const char *const keys[] = {TL_NOTE_STREAM, TL_NOTE_RECORD, TL_NOTE_WAIT};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    tl_sv value = tl_node_note(a->m, n, keys[i]);
    if (value.n)
      tl_air_add_entry(
          a, (tl_entry){.key = tl_sv_from(keys[i]), .kind = TL_ENTRY_STRING, .u.value = value});
  }
  tl_sv stream = tl_node_note(a->m, n, TL_NOTE_STREAM);
  if (tl_sv_is(stream, "U"))
    tl_air_add_entry(
        a, (tl_entry){.key = TL_SV("_stream_label"), .kind = TL_ENTRY_STRING, .u.value = stream});
}

/* Adds the attributes of a node. A node that was not fused is its own origin. */
static void op_entries(tl_air *a, tl_node_id n, const tl_air_row *row) {
  const tl_node *node = tl_node_get(a->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind != TL_ATTR_GRAPH && node->attrs[i].kind != TL_ATTR_GRAPHS)
      tl_air_add_entry(a, (tl_entry){.key = tl_sym(a->m, node->attrs[i].name),
                                     .kind = TL_ENTRY_ATTR,
                                     .u.attr = &node->attrs[i]});
  if (!row || row->variadic_in)
    add_slot_names(a, false);
  if (!row || row->variadic_out)
    add_slot_names(a, true);
  add_const_entry(a);
  schedule_entries(a, n);
  tl_air_origin_entries(a, n);
}

/* Says whether host or device runs the node, if the training options allow both. */
static void placement_entry(tl_air *a, tl_node_id n) {
  if (a->options->train && a->options->train->mix_compile_mode)
    tl_air_add_entry(a, (tl_entry){.key = TL_SV("_tailor_placement"),
                                   .kind = TL_ENTRY_STRING,
                                   .u.value = tl_node_has_mark(a->m, n, TL_MARK_HOST)
                                                  ? TL_SV("host")
                                                  : TL_SV("device")});
}

/* Names the bodies in the order of the prototype's graph attributes, which loaders rely on. */
static void encode_subgraphs(tl_air *a, tl_node_id n, const tl_op *op) {
  for (uint32_t i = 0; op && i < op->n_attrs; i++) {
    const tl_attr *own = tl_node_attr(a->m, n, op->attrs[i].value.name);
    uint32_t count = 0;
    const tl_graph_id *at = own ? tl_attr_graphs(own, &count) : NULL;
    for (uint32_t k = 0; k < count; k++)
      tl_encode_bytes(&a->buf, TL_NODE_SUBGRAPH, a->graph_names[at[k]]);
  }
}

/* Fields follow the order of field numbers. */
void tl_air_op_node(tl_air *a, tl_node_id n, int64_t id) {
  const tl_node *node = tl_node_get(a->m, n);
  const tl_op *op = tl_op_row(node->op);
  const tl_air_row *row = op ? tl_air_row_get(a, node->op) : NULL;
  start(a);
  if (op && !row) {
    a->buf.failed = true;
    return;
  }
  if (op) {
    input_slots(a, n, op, row);
    output_slots(a, n, op, row);
  } else {
    opaque_slots(a, n);
  }
  op_entries(a, n, row);
  placement_entry(a, n);
  encode_head(a, a->node_names[n], tl_op_name(a->m, node->op));
  encode_inputs(a);
  encode_controls(a, n);
  tl_air_entries(a, TL_NODE_ATTR, row);
  encode_numbers(a, id);
  if (node->stream > 0)
    tl_encode_int(&a->buf, TL_NODE_STREAM, node->stream);
  encode_const_flags(a);
  encode_descs(a, n);
  encode_subgraphs(a, n, op);
}

/* Returns the note of the desc of a constant; p NULL without one. */
static tl_sv const_note(const tl_air *a, tl_value_id v) {
  return tl_air_note_of(a, tl_value_get(a->m, v)->extra, true, 0);
}

/* Returns the format that notes give a constant, NULL without one. */
static const tl_port_note *noted_format(tl_air *a, tl_value_id v) {
  tl_port_note n;
  tl_sv own = const_note(a, v);
  if (own.p && tl_port_note_read(own, &n) && !n.whole.p)
    n.more = (tl_sv){NULL, 0};
  else if (!tl_air_noted_format(a, v, &n))
    return NULL;
  tl_port_note *copy = tl_arena_alloc(&a->arena, sizeof *copy);
  a->buf.failed = a->buf.failed || !copy;
  if (copy)
    *copy = n;
  return copy;
}

/* Adds the value of a constant: with its data, or for a weight outside with its desc, length and
 * file. */
static void const_entries(tl_air *a, tl_value_id v, const tl_tensor *t) {
  const tl_air_weight *w = NULL;
  if (a->weight_of && a->weight_of[v])
    w = &a->weights.at[a->weight_of[v] - 1];
  tl_air_add_entry(a, (tl_entry){.key = TL_SV("value"),
                                 .kind = w ? TL_ENTRY_DATA_DESC : TL_ENTRY_DATA,
                                 .format = a->formats[v],
                                 .noted = a->has_notes ? noted_format(a, v) : NULL,
                                 .u.tensor = t});
  if (!w)
    return;
  add_int(a, TL_SV("length"), (int64_t)t->bytes);
  tl_air_add_entry(
      a, (tl_entry){.key = TL_SV("location"), .kind = TL_ENTRY_STRING, .u.value = w->file});
}

/* Adds the initial value of a state, and whether host or device holds the state. */
static void first_entries(tl_air *a, tl_value_id v) {
  const tl_tensor *t =
      tl_value_get(a->m, v)->tensor ? tl_tensor_get(a->m, tl_value_get(a->m, v)->tensor) : NULL;
  const tl_train_config *train = a->options->train;
  if (train)
    tl_air_add_entry(a, (tl_entry){.key = TL_SV("_variable_placement"),
                                   .kind = TL_ENTRY_STRING,
                                   .u.value = train->variable_placement == TL_PLACE_HOST
                                                  ? TL_SV("Host")
                                                  : TL_SV("Device")});
  if (t && a->weight_of && a->weight_of[v])
    add_int(a, TL_SV("offset"), (int64_t)a->weights.at[a->weight_of[v] - 1].offset);
  if (t)
    const_entries(a, v, t);
}

/* Returns how the file says which value a state gets: by the name of an output of the graph; a
 * value that is none is named after its node, with ":i" where that has several outputs. */
static tl_sv next_value_name(tl_air *a, tl_value_id v) {
  const tl_module *m = a->m;
  int64_t index;
  TL_FOR_USES(m, v, u)
    if (tl_node_is_return(m, tl_use_get(m, u)->user))
      return tl_value_name(m, v);
  tl_sv name = holder(a, v, &index);
  tl_node_id n = tl_value_producer(m, v);
  const tl_op *op = n ? tl_op_row(tl_node_get(m, n)->op) : NULL;
  if (!n || (tl_node_get(m, n)->n_results == 1 && (!op || op->n_result_ports == 1)))
    return name; /* a node has an output in the file for each port of its op */
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, name);
  tl_buf_printf(&text, ":%lld", (long long)index);
  name = (tl_sv){text.failed ? NULL : tl_arena_copy(&a->arena, text.p, text.n), text.n};
  a->buf.failed = a->buf.failed || !name.p;
  tl_buf_release(&text);
  return name.p ? name : TL_SV("");
}

/* Adds attributes of an input that is a training state: the output that holds its next value, and
 * its initial value. A parameter that another model updates has only an initial value here. */
static void state_entries(tl_air *a, tl_value_id v) {
  uint32_t state = a->state_of[v];
  if (state >= TL_AIR_STATE)
    tl_air_add_entry(
        a, (tl_entry){.key = TL_SV("_tailor_state"),
                      .kind = TL_ENTRY_STRING,
                      .u.value = next_value_name(a, a->m->states.at[state - TL_AIR_STATE].output)});
  if (state >= TL_AIR_STATE || (state && tl_value_get(a->m, v)->tensor))
    first_entries(a, v);
}

/* Returns the type of the node that holds an input or constant: the usual one, or what the file
 * that was read has. */
static tl_sv holder_type(const tl_air *a, tl_value_id v, tl_sv usual) {
  tl_sv type = tl_extra_get(a->m, tl_value_get(a->m, v)->extra, TL_NOTE_TYPE);
  return type.p ? type : usual;
}

void tl_air_data_node(tl_air *a, const tl_graph *g, uint32_t index, int64_t id) {
  tl_value_id v = g->inputs.at[index];
  const tl_air_row *row = tl_air_row_get(a, TL_OP_npu_Data);
  tl_desc_extra extra = {.parent = -1, .dim_names = true};
  start(a);
  a->buf.failed = a->buf.failed || !row;
  if (g->kind == TL_GRAPH_BODY) {
    uint32_t outer = tl_node_get(a->m, g->owner)->n_operands;
    add_int(a, TL_SV("_parent_node_index"), (int64_t)outer - g->inputs.n + index);
  }
  add_int(a, TL_SV("index"), index);
  tl_air_noted_attrs(a, tl_value_get(a->m, v)->extra, TL_AIR_METADATA);
  state_entries(a, v);
  encode_head(a, a->value_names[v], holder_type(a, v, TL_SV("Data")));
  tl_encode_bytes(&a->buf, TL_NODE_INPUT, TL_SV(""));
  tl_air_entries(a, TL_NODE_ATTR, row);
  encode_numbers(a, id);
  /* A format that the options ask for wins over that of the file. */
  bool asked = g->kind == TL_GRAPH_ROOT && a->options->input_format &&
               strcmp(a->options->input_format, "NCHW") != 0;
  uint32_t notes = asked ? 0 : tl_value_get(a->m, v)->extra;
  encode_value_desc(a, TL_NODE_INPUT_DESC, v, tl_air_note_of(a, notes, true, 0), &extra);
  encode_value_desc(a, TL_NODE_OUTPUT_DESC, v, tl_air_note_of(a, notes, true, 0), &extra);
}

/* Encodes a FileConstant: dtype, shape, and where the data lies. */
static void file_constant(tl_air *a, tl_value_id v, const tl_tensor *t, int64_t id) {
  const tl_air_weight *w = &a->weights.at[a->weight_of[v] - 1];
  const tl_type *type = tl_type_get(a->m, t->type);
  const tl_air_row *row = tl_air_row_get(a, TL_OP_npu_FileConstant);
  tl_attr shape = {.kind = TL_ATTR_INTS, .count = (uint32_t)type->rank, .u.is = type->dims};
  tl_attr dtype = tl_attr_dtype(0, (tl_dtype)t->dtype);
  start(a);
  a->buf.failed = a->buf.failed || !row;
  tl_air_add_entry(a, (tl_entry){.key = TL_SV("dtype"), .kind = TL_ENTRY_ATTR, .u.attr = &dtype});
  add_int(a, TL_SV("length"), (int64_t)t->bytes);
  tl_air_add_entry(
      a, (tl_entry){.key = TL_SV("location"), .kind = TL_ENTRY_STRING, .u.value = w->file});
  add_int(a, TL_SV("offset"), (int64_t)w->offset);
  tl_air_add_entry(a, (tl_entry){.key = TL_SV("shape"), .kind = TL_ENTRY_ATTR, .u.attr = &shape});
  tl_air_noted_attrs(a, tl_value_get(a->m, v)->extra, TL_AIR_METADATA);
  encode_head(a, a->value_names[v], TL_SV("FileConstant"));
  tl_air_entries(a, TL_NODE_ATTR, row);
  encode_numbers(a, id);
  encode_value_desc(a, TL_NODE_OUTPUT_DESC, v, const_note(a, v), NULL);
}

void tl_air_const_node(tl_air *a, tl_value_id v, int64_t id) {
  const tl_tensor *t = tl_tensor_get(a->m, tl_value_get(a->m, v)->tensor);
  if (a->form == TL_FORM_FILE_CONSTANT && a->weight_of[v]) {
    file_constant(a, v, t, id);
    return;
  }
  const tl_air_row *row = tl_air_row_get(a, TL_OP_npu_Const);
  start(a);
  a->buf.failed = a->buf.failed || !row;
  const_entries(a, v, t);
  tl_air_noted_attrs(a, tl_value_get(a->m, v)->extra, TL_AIR_METADATA);
  encode_head(a, a->value_names[v], holder_type(a, v, TL_SV("Const")));
  tl_air_entries(a, TL_NODE_ATTR, row);
  encode_numbers(a, id);
  encode_value_desc(a, TL_NODE_OUTPUT_DESC, v, const_note(a, v), NULL);
}

/* Encodes name and output index of each node whose result the graph returns. */
static void encode_sources(tl_air *a) {
  int64_t index;
  for (uint32_t i = 0; i < a->inputs.n; i++)
    tl_encode_bytes(&a->buf, TL_NODE_SRC_NAME, holder(a, a->inputs.at[i].value, &index));
  size_t at = tl_encode_open(&a->buf, TL_NODE_SRC_INDEX);
  for (uint32_t i = 0; i < a->inputs.n; i++) {
    holder(a, a->inputs.at[i].value, &index);
    tl_encode_varint(&a->buf, (uint64_t)index);
  }
  tl_encode_close(&a->buf, at);
}

void tl_air_output_node(tl_air *a, const tl_graph *g, int64_t id) {
  uint32_t n = tl_graph_n_outputs(a->m, g);
  bool body = g->kind == TL_GRAPH_BODY;
  start(a);
  for (uint32_t i = 0; i < n; i++)
    add_slot(
        a, &a->inputs,
        (tl_slot){.value = tl_graph_output(a->m, g, i), .port = "__input", .index = (int32_t)i});
  add_slot_names(a, false);
  add_const_entry(a);
  tl_air_noted_attrs(a, g->extra, TL_OUTPUT_METADATA);
  encode_head(a, a->node_names[g->ret], TL_SV("NetOutput"));
  encode_inputs(a);
  tl_air_entries(a, TL_NODE_ATTR, NULL);
  encode_numbers(a, id);
  encode_sources(a);
  encode_const_flags(a);
  for (uint32_t i = 0; i < n && i < a->inputs.n; i++) { /* fewer: memory is out */
    tl_value_id v = a->inputs.at[i].value;
    tl_desc_extra extra = {.parent = body ? (int64_t)i : -1, .dim_names = true};
    if (!body)
      extra.output_name = tl_value_name(a->m, v);
    encode_value_desc(a, TL_NODE_INPUT_DESC, v, tl_air_note_of(a, g->extra, false, i), &extra);
  }
}
