/* SPDX-License-Identifier: Apache-2.0 */
/* Self-check of a finished AIR file: reads its bytes as a loader does and reports any fault.
 * It shares no encoding code with the writer, so that an error there cannot hide itself. It refuses
 * what a loader would reject or silently drop, and what fails only later: cycles, gaps in ids,
 * constants of the wrong size. It is one forward walk: our files are in topological order, so an
 * edge must lead to a node that was seen before. */
#include "backend/air/check_attrs.h"

enum { MAX_NAME = 255 };

/* ---- edges ---- */

/* Splits "name:index"; false when it is not of that form. */
static bool split_edge(tl_air_bytes edge, tl_air_bytes *name, int64_t *index) {
  const unsigned char *colon = edge.end;
  while (colon > edge.p && colon[-1] != ':')
    colon--;
  if (colon == edge.p)
    return false;
  *name = (tl_air_bytes){edge.p, colon - 1};
  return tl_parse_i64((tl_sv){(const char *)colon, (size_t)(edge.end - colon)}, index) &&
         *index >= -1;
}

/* Checks that an edge leads to an existing output of an earlier node of the same graph. */
static tl_status check_edge(const tl_air_checker *c, tl_air_bytes edge, bool control_allowed,
                            bool *control) {
  tl_air_bytes name;
  int64_t index;
  if (!split_edge(edge, &name, &index) || (index < 0 && !control_allowed))
    return tl_air_fault(c, "an edge is not NAME:INDEX");
  const tl_air_seen *s = tl_air_seen_find(&c->seen, name);
  if (!s || s->graph != c->graph)
    return tl_air_fault(c, "an edge names a node that does not come earlier in its graph");
  if (index >= s->n_outputs)
    return tl_air_fault(c, "an edge names an output beyond the producer's");
  *control = index < 0;
  return TL_OK;
}

/* ---- nodes ---- */

/* Takes one field of a node. "length" and "location" sort before "value", so they are known when
 * the tensor is checked. */
static tl_status read_field(tl_air_checker *c, tl_air_op_def *n, const tl_air_field *f) {
  uint64_t bits;
  switch (f->number) {
  case TL_NODE_NAME:
    n->name = c->node = f->body;
    n->hash = tl_air_seen_ahead(&c->seen, n->name);
    return TL_OK;
  case TL_NODE_TYPE: n->type = f->body; return TL_OK;
  case TL_NODE_INPUT:
    return tl_air_span_vec_push(&c->inputs, f->body) ? TL_OK
                                                     : tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  case TL_NODE_ID: n->id = (int64_t)f->value; return TL_OK;
  case TL_NODE_ATTR: return tl_air_check_entry(c, f->body, &n->last_key, n);
  case TL_NODE_INPUT_DESC:
    if (n->n_inputs++ == 0)
      n->input_desc = f->body;
    return tl_air_check_desc(c, f->body, &bits);
  case TL_NODE_OUTPUT_DESC:
    if (n->n_outputs++)
      return tl_air_check_desc(c, f->body, &bits);
    n->output_desc = f->body;
    return tl_air_check_desc(c, f->body, &n->output_bits);
  case TL_NODE_SUBGRAPH:
    return tl_air_span_vec_push(&c->subgraphs, f->body)
               ? TL_OK
               : tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  default: return TL_OK;
  }
}

/* Checks all edges of a node: data edges first, one for each input desc, then control edges. An
 * empty edge is an unconnected input. */
static tl_status check_edges(const tl_air_checker *c, tl_air_op_def *n) {
  uint32_t slot = 0;
  bool in_controls = false;
  for (uint32_t i = 0; i < c->inputs.n; i++) {
    tl_air_bytes edge = c->inputs.at[i];
    bool control = false;
    if (edge.p < edge.end)
      TL_TRY(check_edge(c, edge, true, &control));
    else
      n->has_gap = true;
    if (in_controls && !control)
      return tl_air_fault(c, "a data edge after a control edge");
    in_controls = control;
    slot += !control;
  }
  return slot == n->n_inputs ? TL_OK : tl_air_fault(c, "edges and input descs differ in number");
}

/* Checks a Data node: both descs are equal, and indexes are 0, 1, 2 ... in file order. */
static tl_status check_data(tl_air_checker *c, const tl_air_op_def *n) {
  if (n->n_inputs != 1 || n->n_outputs != 1 || !tl_air_same(n->input_desc, n->output_desc))
    return tl_air_fault(c, "a Data node needs one input and one output desc, both equal");
  return n->index == c->n_data++ ? TL_OK : tl_air_fault(c, "Data indexes are not dense");
}

static uint64_t dtype_of(tl_air_bytes desc) {
  tl_air_field f = tl_air_find_field(desc, TL_DESC_DTYPE);
  return f.wire == TL_WIRE_VARINT ? f.value : 0;
}

/* Attributes of the output need not be those of the value. */
static bool same_type(tl_air_bytes value, tl_air_bytes output) {
  return tl_air_same(value, output) ||
         (dtype_of(value) == dtype_of(output) &&
          tl_air_same(tl_air_find_field(value, TL_DESC_SHAPE).body,
                      tl_air_find_field(output, TL_DESC_SHAPE).body) &&
          tl_air_same(tl_air_find_field(value, TL_DESC_LAYOUT).body,
                      tl_air_find_field(output, TL_DESC_LAYOUT).body));
}

/* Checks that a Const's value and its output have the same dtype, shape and format. */
static tl_status check_const(const tl_air_checker *c, const tl_air_op_def *n) {
  tl_air_field tensor = n->value.p ? tl_air_find_field(n->value, TL_ATTRDEF_T) : (tl_air_field){0};
  tl_air_field desc = tensor.body.p ? tl_air_find_field(tensor.body, TL_TENSORDEF_DESC)
                                    : (tl_air_field){0};
  if (!desc.body.p || n->n_outputs != 1)
    return tl_air_fault(c, "a Const without a tensor value or output");
  return same_type(desc.body, n->output_desc)
             ? TL_OK
             : tl_air_fault(c, "a Const's value and output differ in type");
}

/* Checks that the length of a FileConstant is the size of its output. */
static tl_status check_file_constant(const tl_air_checker *c, const tl_air_op_def *n) {
  bool fits = n->n_outputs == 1 && n->outside && n->length > 0 && n->output_bits != UINT64_MAX &&
              (uint64_t)n->length == n->output_bits / 8 + (n->output_bits % 8 != 0);
  return fits ? TL_OK : tl_air_fault(c, "a FileConstant's length is not the size of its shape");
}

/* Returns the packed kinds of the prototype's inputs; empty if the node does not list them. */
static tl_air_bytes input_kinds(tl_air_bytes message) {
  tl_air_field f;
  while (tl_air_next_field(&message, &f)) {
    tl_air_bytes key;
    tl_air_bytes value;
    if (f.number == TL_NODE_ATTR && tl_air_open_entry(f.body, &key, &value) &&
        tl_air_is_text(key, "_ir_inputs_value"))
      return tl_air_find_field(tl_air_find_field(value, TL_ATTRDEF_LIST).body, TL_LIST_I).body;
  }
  return (tl_air_bytes){0};
}

/* Checks that only optional inputs are unconnected. A dynamic port takes the slots that the other
 * ports leave. From a second dynamic port on, slots cannot be assigned, and the check ends. */
static tl_status check_gaps(const tl_air_checker *c, const tl_air_op_def *n, tl_air_bytes message) {
  tl_air_bytes kinds = input_kinds(message);
  size_t others = kinds.p && kinds.p < kinds.end ? tl_air_length(kinds) - 1 : 0;
  uint32_t slot = 0;
  bool dynamic = false;
  for (const unsigned char *kind = kinds.p; kind < kinds.end && slot < n->n_inputs; kind++) {
    size_t count = 1;
    if (*kind == 2 && dynamic)
      return TL_OK;
    if (*kind == 2)
      count = n->n_inputs > others ? n->n_inputs - others : 0;
    dynamic = dynamic || *kind == 2;
    for (; count && slot < n->n_inputs; count--, slot++)
      if (*kind != 1 && tl_air_length(c->inputs.at[slot]) == 0)
        return tl_air_fault(c, "a required input is not connected");
  }
  return TL_OK;
}

/* Checks what holds for nodes of one type only. */
static tl_status check_kind(tl_air_checker *c, const tl_air_op_def *n, tl_air_bytes message) {
  if (tl_air_is_text(n->type, "Data") || tl_air_is_text(n->type, "RefData"))
    return check_data(c, n);
  if (tl_air_is_text(n->type, "Const"))
    return check_const(c, n);
  if (tl_air_is_text(n->type, "FileConstant"))
    return check_file_constant(c, n);
  if (tl_air_is_text(n->type, "NetOutput")) {
    c->n_outputs++;
    c->output_node = n->id;
    return n->n_inputs && !n->has_gap ? TL_OK : tl_air_fault(c, "a graph output is missing");
  }
  return n->has_gap ? check_gaps(c, n, message) : TL_OK;
}

/* Checks one node. Its edges lead to nodes seen before, so the node itself is added last. */
static tl_status check_node(tl_air_checker *c, tl_air_bytes message) {
  tl_air_op_def n = {.index = -1, .length = -1};
  tl_air_bytes rest = message;
  tl_air_field f;
  c->inputs.n = 0;
  while (tl_air_next_field(&rest, &f))
    TL_TRY(read_field(c, &n, &f));
  if (rest.p != rest.end)
    return tl_air_fault(c, "a malformed node");
  if (tl_air_length(n.name) == 0 || tl_air_length(n.name) > MAX_NAME || tl_air_length(n.type) == 0)
    return tl_air_fault(c, "a node without a name or type, or with a name beyond 255 bytes");
  if (n.id != c->position++)
    return tl_air_fault(c, "a node's id is not its position");
  if (tl_air_unpaired(&n) >= 0)
    return tl_air_fault(c, "lists of names and positions of unequal length");
  TL_TRY(check_edges(c, &n));
  TL_TRY(check_kind(c, &n, message));
  bool twice;
  if (!tl_air_seen_add(&c->seen, n.name, n.hash, c->graph, n.n_outputs, &twice))
    return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  return twice ? tl_air_fault(c, "a node name occurs twice") : TL_OK;
}

/* ---- graphs ---- */

/* Checks the inputs and outputs that a graph lists: inputs are all its Data nodes, outputs are the
 * edges of its NetOutput. That is its last node, so its edges are still in c->inputs. */
static tl_status check_ends(const tl_air_checker *c, tl_air_bytes message) {
  uint32_t n_outputs = 0;
  int64_t n_inputs = 0;
  bool control;
  tl_air_field f;
  while (tl_air_next_field(&message, &f) && f.number <= TL_GRAPH_OUTPUT) {
    if (f.number == TL_GRAPH_NAME)
      continue;
    TL_TRY(check_edge(c, f.body, false, &control));
    n_inputs += f.number == TL_GRAPH_INPUT;
    if (f.number != TL_GRAPH_OUTPUT)
      continue;
    if (n_outputs == c->inputs.n || !tl_air_same(f.body, c->inputs.at[n_outputs++]))
      return tl_air_fault(c, "graph outputs and NetOutput differ");
  }
  if (n_inputs != c->n_data)
    return tl_air_fault(c, "graph inputs and Data nodes differ in number");
  return n_outputs ? TL_OK : tl_air_fault(c, "a graph without outputs");
}

/* Checks the nodes of a graph, then its inputs and outputs. A second pass over the fields of the
 * graph is needed, because its inputs and outputs stand before the nodes that they name. */
static tl_status check_graph(tl_air_checker *c, tl_air_bytes message) {
  tl_air_bytes rest = message;
  tl_air_bytes last = {0};
  tl_air_field f;
  c->graph++;
  c->position = 0;
  c->n_data = 0;
  c->n_outputs = 0;
  while (tl_air_next_field(&rest, &f)) {
    if (f.number == TL_GRAPH_NAME && !tl_air_span_vec_push(&c->graph_names, f.body))
      return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
    if (f.number == TL_GRAPH_NODE)
      TL_TRY(check_node(c, f.body));
    if (f.number == TL_MODEL_ATTR)
      TL_TRY(tl_air_check_entry(c, f.body, &last, NULL));
  }
  c->node = (tl_air_bytes){0};
  if (rest.p != rest.end || c->graph_names.n != c->graph)
    return tl_air_fault(c, "a malformed graph, or one without a name");
  if (c->n_outputs != 1 || c->output_node + 1 != c->position)
    return tl_air_fault(c, "a graph whose last node is not its one NetOutput");
  return check_ends(c, message);
}

/* Checks the whole message. References between graphs are checked last, since a node may refer to a
 * later graph. */
static tl_status check_model(tl_air_checker *c, tl_air_bytes message) {
  tl_air_bytes last = {0};
  tl_air_field f;
  if (tl_air_length(message) > INT32_MAX)
    return tl_air_fault(c, "the file is beyond 2 GiB - 1");
  while (tl_air_next_field(&message, &f)) {
    if (f.number == TL_MODEL_GRAPH)
      TL_TRY(check_graph(c, f.body));
    else if (f.number == TL_MODEL_ATTR)
      TL_TRY(tl_air_check_entry(c, f.body, &last, NULL));
  }
  if (message.p != message.end || c->graph_names.n == 0)
    return tl_air_fault(c, "a malformed model, or one without a graph");
  tl_air_spans graphs = {c->graph_names.at, c->graph_names.n};
  tl_air_spans references = {c->subgraphs.at, c->subgraphs.n};
  const char *problem = NULL;
  if (!tl_air_check_subgraphs(graphs, references, &problem))
    return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  return problem ? tl_air_fault(c, problem) : TL_OK;
}

tl_status tl_air_check(tl_diag *d, const char *path, const unsigned char *p, uint64_t n) {
  tl_air_good_desc good[TL_AIR_GOOD_DESCS] = {{{NULL, NULL}, 0}};
  tl_air_checker c = {.diag = d, .path = path, .good = good};
  for (unsigned k = TL_DTYPE_F32; k < TL_N_DTYPES; k++) {
    const tl_dtype_info *info = tl_dtype_get((tl_dtype)k);
    if (info->ge_proto >= 0 && info->ge_proto <= TL_AIR_MAX_DTYPE) {
      c.known[info->ge_proto] = true;
      c.bits[info->ge_proto] = info->bits;
    }
  }
  tl_status status = check_model(&c, (tl_air_bytes){p, p + n});
  tl_air_seen_release(&c.seen);
  tl_air_span_vec_release(&c.graph_names);
  tl_air_span_vec_release(&c.subgraphs);
  tl_air_span_vec_release(&c.inputs);
  return status;
}
