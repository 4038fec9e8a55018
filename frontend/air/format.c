/* SPDX-License-Identifier: Apache-2.0 */
/* Notes what a file says of ports, inputs, constants and outputs and the writer would not say by
 * itself: formats, original shapes, ranges, attributes (ir/ge_format.h). */
#include "ir/ge_format.h"

#include "frontend/air/reader.h"
#include "ir/graph.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"

/* ---- one desc -------------------------------------------------------------------------------- */

/* Appends that the format is set: it is a fact of descs in other formats than Tailor's. */
static void add_is_set(tl_buf *more) {
  static const unsigned char field[] = {TL_TAG(TL_DESC_ATTR, TL_WIRE_BYTES),
                                        26,
                                        10,
                                        20,
                                        'o',
                                        'r',
                                        'i',
                                        'g',
                                        'i',
                                        'n',
                                        '_',
                                        'f',
                                        'o',
                                        'r',
                                        'm',
                                        'a',
                                        't',
                                        '_',
                                        'i',
                                        's',
                                        '_',
                                        's',
                                        'e',
                                        't',
                                        18,
                                        2,
                                        TL_TAG(TL_ATTRDEF_B, TL_WIRE_VARINT),
                                        1};
  tl_buf_add(more, field, sizeof field);
}

static void print_dims(const tl_air_reader *r, tl_buf *out) {
  for (uint32_t i = 0; i < r->numbers.n; i++)
    tl_buf_printf(out, "%s%lld", i ? "," : "", (long long)r->numbers.at[i]);
}

/* Notes what a desc says, under the port's key in the extra *slot. */
static bool note(tl_air_reader *r, const tl_air_desc *d, uint32_t *slot, bool result,
                 uint32_t port) {
  tl_buf text, dims, more;
  tl_port_note n = {.storage = TL_NUMBER_ND, .origin = TL_NUMBER_ND};
  tl_buf_init(&text);
  tl_buf_init(&dims);
  tl_buf_init(&more);
  if (d->is_strange) {
    tl_air_desc_fields(d->bytes, &more);
    n.whole = tl_buf_view(&more);
  } else {
    tl_air_facts of = tl_air_facts_read(d->bytes, &more);
    if (of.storage >= 0)
      n = (tl_port_note){.storage = of.storage, .origin = of.origin};
    bool unsaid = r->form == TL_AIR_DUMP && of.origin >= 0 && of.origin != TL_NUMBER_ND;
    if (of.is_set || unsaid) /* dumps leave out what follows from the format */
      add_is_set(&more);
    bool moved = tl_air_has_other_dims(r, &of, d->type);
    print_dims(r, &dims);
    if (moved)
      n.dims = tl_buf_view(&dims);
    n.more = tl_buf_view(&more);
  }
  tl_port_note_print(&n, &text);
  bool good = !text.failed && !dims.failed && !more.failed &&
              tl_port_note_set(r->m, slot, result, port, tl_buf_view(&text));
  tl_buf_release(&text);
  tl_buf_release(&dims);
  tl_buf_release(&more);
  return good;
}

/* Where notes go, and what the writer would do. */
typedef struct place {
  tl_location where;
  uint32_t *slot; /* extra */
  tl_ge_format expected;
} place;

/* Notes a desc unless the writer makes it by itself of the type and the expected format. */
static tl_status note_desc(tl_air_reader *r, tl_proto desc, const place *at, bool result,
                           uint32_t port) {
  tl_air_desc d;
  TL_TRY(tl_air_desc_read(r, desc, at->where, &d));
  tl_ge_format fit = d.type ? tl_ge_fitting(r->m, d.type, at->expected) : TL_GE_ND;
  if (d.own >> fit & 1)
    return TL_OK;
  return note(r, &d, at->slot, result, port) ? TL_OK : TL_NO_MEMORY;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

tl_status tl_air_note_ports(tl_air_reader *r, const tl_air_op *op) {
  tl_node *node = tl_node_get(r->m, op->node);
  uint32_t extra = node->extra;
  place at = {tl_air_at(r, op->name), &extra, tl_ge_declared(r->m, op->node)};
  for (uint32_t i = 0; i < node->n_operands && i < r->slots.n; i++) {
    uint32_t slot = r->slots.at[i];
    if (tl_operand(r->m, op->node, i) && slot < r->inputs.n)
      TL_TRY(note_desc(r, r->inputs.at[slot], &at, false, i));
  }
  for (uint32_t i = 0; i < op->n_outputs; i++)
    TL_TRY(note_desc(r, r->outputs.at[i], &at, true, i));
  node->extra = extra;
  return TL_OK;
}

/* ---- inputs, constants, outputs -------------------------------------------------------------- */

/* Returns the format that the writer gives a value that no node makes: an input of the main graph
 * NCHW, else that of the first node that reads it and declares one. */
static tl_ge_format expected_of(const tl_air_reader *r, tl_value_id v, bool main_input) {
  tl_type_id type = tl_value_type(r->m, v);
  tl_ge_format found = main_input ? tl_ge_fitting(r->m, type, TL_GE_NCHW) : TL_GE_ND;
  uint64_t first = UINT64_MAX;
  if (found != TL_GE_ND || tl_type_get(r->m, type)->rank < 4)
    return found;
  TL_FOR_USES(r->m, v, u) {
    tl_node_id user = tl_use_get(r->m, u)->user;
    tl_ge_format format = tl_ge_fitting(r->m, type, tl_ge_declared(r->m, user));
    if (format != TL_GE_ND && tl_node_get(r->m, user)->order < first) {
      found = format;
      first = tl_node_get(r->m, user)->order;
    }
  }
  return found;
}

/* Adds an attribute as metadata, its AttrDef as bytes. */
static bool keep_attr(tl_air_reader *r, uint32_t *slot, const char *prefix, const tl_air_entry *e) {
  tl_buf key;
  tl_buf_init(&key);
  tl_buf_add_z(&key, prefix);
  tl_buf_add_sv(&key, e->key);
  bool good = !key.failed && tl_extra_add(r->m, slot, tl_buf_view(&key), tl_proto_sv(e->value));
  tl_buf_release(&key);
  return good;
}

/* Attributes of inputs and constants that became something else of the IR. */
static bool became_something(tl_sv key) {
  static const char *const known[] = {"index",         "_parent_node_index",
                                      "value",         "location",
                                      "file_path",     "offset",
                                      "length",        "shape",
                                      "dtype",         "file_id",
                                      "_tailor_state", "_variable_placement",
                                      "original_shape"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (tl_sv_is(key, known[i]))
      return true;
  return false;
}

static bool is_kept(const tl_air_entry *e) {
  return e->use != TL_AIR_PORTS && !became_something(e->key) && tl_air_has_value(e->value);
}

void tl_air_keep_desc(const tl_air_reader *r, tl_air_op *op) {
  /* Both descs of a Data node are written alike: the first is what atc reads. */
  const tl_span_vec *descs = r->inputs.n ? &r->inputs : &r->outputs;
  op->desc = descs->n ? descs->at[0] : (tl_proto){NULL, NULL};
  for (uint32_t i = 0; i < r->entries.n && !op->has_more; i++)
    op->has_more = is_kept(&r->entries.at[i]);
}

/* Keeps the attributes among r->entries that neither the writer makes nor the IR has. */
static tl_status keep_attrs(tl_air_reader *r, uint32_t *slot, const char *prefix) {
  for (uint32_t i = 0; i < r->entries.n; i++)
    if (is_kept(&r->entries.at[i]) && !keep_attr(r, slot, prefix, &r->entries.at[i]))
      return TL_NO_MEMORY;
  return TL_OK;
}

/* GE has several types of inputs and constants; FileConstant says where the weights lie, which
 * options say anew. */
static bool note_type(tl_air_reader *r, const tl_air_op *op, uint32_t *slot) {
  tl_sv type = tl_sym(r->m, op->type);
  bool usual = tl_sv_is(type, "Data") || tl_sv_is(type, "Const") || tl_sv_is(type, "FileConstant");
  return usual || tl_extra_add(r->m, slot, TL_SV(TL_NOTE_TYPE), type);
}

static tl_status note_value(tl_air_reader *r, const tl_air_op *op, bool main_graph) {
  uint32_t extra = tl_value_get(r->m, op->value)->extra;
  place at = {tl_air_at(r, op->name), &extra,
              expected_of(r, op->value, op->role == TL_AIR_INPUT && main_graph)};
  if (op->desc.p)
    TL_TRY(note_desc(r, op->desc, &at, true, 0));
  if (!note_type(r, op, &extra))
    return TL_NO_MEMORY;
  if (op->has_more) {
    TL_TRY(tl_air_split(r, op->body));
    TL_TRY(keep_attrs(r, &extra, TL_AIR_METADATA));
  }
  tl_value_get(r->m, op->value)->extra = extra;
  return TL_OK;
}

/* The format of an output is that of its node, with which the file may differ. */
static tl_status note_outputs(tl_air_reader *r, const tl_air_op *op, tl_graph_id g,
                              uint32_t *slot) {
  tl_node_id ret = tl_graph_get(r->m, g)->ret;
  TL_TRY(tl_air_split(r, op->body));
  for (uint32_t i = 0; i < r->inputs.n; i++) {
    tl_proto parent;
    int64_t port = i; /* in a body the desc says which one */
    if (tl_air_find(r->inputs.at[i], TL_DESC_ATTR, "_parent_node_index", &parent))
      (void)tl_air_int(parent, &port);
    if (port < 0 || port >= (int64_t)tl_node_get(r->m, ret)->n_operands)
      continue;
    const tl_value *v = tl_value_get(r->m, tl_operand(r->m, ret, (uint32_t)port));
    bool made = v->kind == TL_VALUE_RESULT;
    place at = {tl_air_at(r, op->name), slot, made ? tl_ge_declared(r->m, v->def) : TL_GE_ND};
    TL_TRY(note_desc(r, r->inputs.at[i], &at, false, (uint32_t)port));
  }
  return keep_attrs(r, slot, TL_OUTPUT_METADATA);
}

/* Keeps the attributes of a graph. */
static tl_status note_graph(tl_air_reader *r, tl_proto body, uint32_t *slot) {
  tl_field f;
  tl_air_entry e;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_GRAPH_ATTR, TL_WIRE_BYTES) && tl_air_entry_read(f.body, &e) &&
        tl_air_has_value(e.value) && !keep_attr(r, slot, TL_AIR_METADATA, &e))
      return TL_NO_MEMORY;
  return TL_OK;
}

static bool begins_with(tl_sv name, tl_sv prefix, char then) {
  return name.n > prefix.n && memcmp(name.p, prefix.p, prefix.n) == 0 && name.p[prefix.n] == then;
}

/* Returns true if a body is named after its node, and its nodes after it, as the writer does. */
static bool has_usual_names(const tl_air_reader *r, tl_graph_id g) {
  tl_sv graph = tl_sym(r->m, tl_graph_get(r->m, g)->name);
  tl_node_id owner = tl_graph_get(r->m, g)->owner;
  if (!begins_with(graph, tl_sym(r->m, tl_node_get(r->m, owner)->name), '_'))
    return false;
  for (uint32_t i = 0; i < r->ops.n; i++)
    if (!begins_with(tl_sym(r->m, r->ops.at[i].name), graph, '/'))
      return false;
  return true;
}

/* Notes the names of a body and of its NetOutput, unless they are those that the writer gives. */
static bool note_names(tl_air_reader *r, tl_graph_id g, uint32_t *slot) {
  bool body = tl_graph_get(r->m, g)->kind == TL_GRAPH_BODY;
  bool usual = !body || has_usual_names(r, g);
  bool good = usual || tl_extra_add(r->m, slot, TL_SV(TL_NOTE_NAME),
                                    tl_sym(r->m, tl_graph_get(r->m, g)->name));
  for (uint32_t i = 0; i < r->ops.n && good; i++) {
    tl_sv name = tl_sym(r->m, r->ops.at[i].name);
    if (r->ops.at[i].role == TL_AIR_OUTPUT &&
        !(body && usual ? tl_sv_ends_with(name, "/Node_Output") : tl_sv_is(name, "Node_Output")))
      good = tl_extra_add(r->m, slot, TL_SV(TL_NOTE_OUTPUT), name);
  }
  return good;
}

tl_status tl_air_note_values(tl_air_reader *r, tl_graph_id g, tl_proto body) {
  bool main_graph = tl_graph_get(r->m, g)->kind == TL_GRAPH_ROOT;
  uint32_t extra = tl_graph_get(r->m, g)->extra;
  if (!note_names(r, g, &extra))
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < r->ops.n; i++) {
    const tl_air_op *op = &r->ops.at[i];
    if (op->role == TL_AIR_INPUT || op->role == TL_AIR_CONSTANT)
      TL_TRY(note_value(r, op, main_graph));
    else if (op->role == TL_AIR_OUTPUT)
      TL_TRY(note_outputs(r, op, g, &extra));
  }
  TL_TRY(note_graph(r, body, &extra));
  tl_graph_get(r->m, g)->extra = extra;
  return TL_OK;
}
