/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes attribute maps of nodes: attributes, port names, and defaults of the op's prototype.
 * Entries ascend by the bytes of their keys, so that equal modules give equal files. */
#include "backend/air/air.h"

#include "ir/trace.h"

/* Values of ListValue.val_type; loaders drop a list of attributes without one. */
enum { LIST_STRINGS = 1, LIST_INTS, LIST_FLOATS, LIST_BOOLS, LIST_TENSORS = 7, LIST_DTYPES = 10 };

/* Attributes hold GE's internal numbers of dtypes, while descs hold serialized ones. */
static int64_t internal_dtype(int64_t dtype) { return tl_dtype_get((tl_dtype)dtype)->ge_internal; }

/* Encodes a TensorDef, for a weight outside the file without its data. */
static void encode_tensor(tl_air *a, const tl_tensor *t, const tl_entry *e, bool with_data) {
  size_t value = tl_encode_open(&a->buf, TL_ATTRDEF_T);
  if (e && e->noted)
    tl_air_desc_in(a, TL_TENSORDEF_DESC, tl_type_get(a->m, t->type), e->noted, NULL);
  else
    tl_air_desc(a, TL_TENSORDEF_DESC, t->type, e ? (tl_ge_format)e->format : TL_GE_ND, NULL);
  if (with_data && t->bytes)
    tl_encode_tensor(&a->buf, TL_TENSORDEF_DATA, t);
  tl_encode_close(&a->buf, value);
}

/* Encodes a list attribute with its element type. */
static void encode_list(tl_air *a, const tl_attr *attr) {
  tl_encoder *b = &a->buf;
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  int type = LIST_INTS;
  switch ((tl_attr_kind)attr->kind) {
  case TL_ATTR_FLOATS:
    tl_encode_floats(b, TL_LIST_F, attr->u.fs, attr->count);
    type = LIST_FLOATS;
    break;
  case TL_ATTR_STRINGS:
    for (uint32_t i = 0; i < attr->count; i++)
      tl_encode_bytes(b, TL_LIST_S, tl_sym(a->m, attr->u.ids[i]));
    type = LIST_STRINGS;
    break;
  case TL_ATTR_BOOLS:
    tl_encode_ints(b, TL_LIST_B, attr->u.is, attr->count);
    type = LIST_BOOLS;
    break;
  case TL_ATTR_DTYPES: {
    size_t at = tl_encode_open(b, TL_LIST_DT);
    for (uint32_t i = 0; i < attr->count; i++)
      tl_encode_varint(b, (uint64_t)internal_dtype(attr->u.is[i]));
    tl_encode_close(b, at);
    type = LIST_DTYPES;
    break;
  }
  default: tl_encode_ints(b, TL_LIST_I, attr->u.is, attr->count); break;
  }
  tl_encode_int(b, TL_LIST_TYPE, type);
  tl_encode_close(b, list);
}

/* Encodes a list of lists; both messages of it have field 1. */
static void encode_int_lists(tl_encoder *b, const tl_attr *attr) {
  size_t value = tl_encode_open(b, TL_ATTRDEF_LIST_LIST_INT);
  for (uint32_t i = 0; i < attr->count; i++) {
    size_t row = tl_encode_open(b, 1);
    tl_encode_ints(b, 1, attr->u.lists[i].at, attr->u.lists[i].n);
    tl_encode_close(b, row);
  }
  tl_encode_close(b, value);
}

/* Encodes the contents of an AttrDef. */
static void encode_attr(tl_air *a, const tl_attr *attr) {
  tl_encoder *b = &a->buf;
  switch ((tl_attr_kind)attr->kind) {
  case TL_ATTR_INT: tl_encode_int(b, TL_ATTRDEF_I, attr->u.i); break;
  case TL_ATTR_FLOAT: tl_encode_float(b, TL_ATTRDEF_F, attr->u.f); break;
  case TL_ATTR_STRING: tl_encode_bytes(b, TL_ATTRDEF_S, tl_sym(a->m, attr->u.s)); break;
  case TL_ATTR_BOOL: tl_encode_int(b, TL_ATTRDEF_B, attr->u.i != 0); break;
  case TL_ATTR_DTYPE: tl_encode_int(b, TL_ATTRDEF_DT, internal_dtype(attr->u.i)); break;
  case TL_ATTR_TENSOR: encode_tensor(a, tl_tensor_get(a->m, attr->u.t), NULL, true); break;
  case TL_ATTR_INT_LISTS: encode_int_lists(b, attr); break;
  case TL_ATTR_CARRIED: {
    tl_sv bytes = tl_sym(a->m, attr->u.s);
    tl_encode_raw(b, bytes.p, bytes.n);
    break;
  }
  default: encode_list(a, attr); break;
  }
}

/* ---- one entry of a map ---- */

/* Encodes port names; a slot of a dynamic port is "<port><index>". This runs for every node, so it
 * prints numbers by hand into a local array. */
static void encode_slot_names(tl_encoder *b, const tl_slot_vec *slots) {
  char text[128];
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  for (uint32_t i = 0; i < slots->n; i++) {
    const tl_slot *s = &slots->at[i];
    tl_sv name = tl_sv_from(s->port);
    if (s->index < 0 || name.n > 100) {
      tl_encode_bytes(b, TL_LIST_S, name);
      continue;
    }
    memcpy(text, name.p, name.n);
    char digits[12];
    size_t k = sizeof digits;
    uint32_t v = (uint32_t)s->index;
    do
      digits[--k] = (char)('0' + v % 10);
    while (v /= 10);
    memcpy(text + name.n, digits + k, sizeof digits - k);
    tl_encode_bytes(b, TL_LIST_S, (tl_sv){text, name.n + sizeof digits - k});
  }
  tl_encode_close(b, list);
}

/* Encodes the packed list 0, 1 ... n - 1. */
static void encode_positions(tl_encoder *b, uint32_t n) {
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  size_t packed = tl_encode_open(b, TL_LIST_I);
  for (uint32_t i = 0; i < n; i++)
    tl_encode_varint(b, i);
  tl_encode_close(b, packed);
  tl_encode_close(b, list);
}

/* One bool per connected input: does it come from a constant? */
static void encode_input_const(tl_air *a) {
  size_t list = tl_encode_open(&a->buf, TL_ATTRDEF_LIST);
  size_t packed = tl_encode_open(&a->buf, TL_LIST_B);
  for (uint32_t i = 0; i < a->inputs.n; i++)
    if (a->inputs.at[i].value)
      tl_encode_varint(&a->buf,
                       tl_value_get(a->m, a->inputs.at[i].value)->kind == TL_VALUE_CONSTANT);
  tl_encode_close(&a->buf, packed);
  tl_encode_int(&a->buf, TL_LIST_TYPE, LIST_BOOLS);
  tl_encode_close(&a->buf, list);
}

static void encode_origin(tl_encoder *b, tl_sv name) {
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  tl_encode_bytes(b, TL_LIST_S, name);
  tl_encode_int(b, TL_LIST_TYPE, LIST_STRINGS);
  tl_encode_close(b, list);
}

/* Encodes the names of a trace as a list of strings. */
static void encode_trace(tl_encoder *b, tl_sv names) {
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  tl_trace_items at = tl_trace_start(names);
  tl_buf room;
  tl_sv name;
  tl_buf_init(&room);
  while (tl_trace_next(&at, &room, &name))
    tl_encode_bytes(b, TL_LIST_S, name);
  b->failed = b->failed || room.failed;
  tl_buf_release(&room);
  tl_encode_int(b, TL_LIST_TYPE, LIST_STRINGS);
  tl_encode_close(b, list);
}

/* Encodes one map entry: key in field 1, AttrDef in field 2. */
static void encode_entry(tl_air *a, unsigned field, const tl_entry *e) {
  tl_encoder *b = &a->buf;
  size_t entry = tl_encode_open(b, field);
  tl_encode_bytes(b, 1, e->key);
  size_t value = tl_encode_open(b, 2);
  switch ((tl_entry_kind)e->kind) {
  case TL_ENTRY_RAW: tl_encode_raw(b, e->u.value.p, e->u.value.n); break;
  case TL_ENTRY_ATTR: encode_attr(a, e->u.attr); break;
  case TL_ENTRY_INT: tl_encode_int(b, TL_ATTRDEF_I, e->u.number); break;
  case TL_ENTRY_STRING: tl_encode_bytes(b, TL_ATTRDEF_S, e->u.value); break;
  case TL_ENTRY_INPUT_CONST: encode_input_const(a); break;
  case TL_ENTRY_NAMES: encode_slot_names(b, e->output ? &a->outputs : &a->inputs); break;
  case TL_ENTRY_POSITIONS: encode_positions(b, e->u.count); break;
  case TL_ENTRY_DATA: encode_tensor(a, e->u.tensor, e, true); break;
  case TL_ENTRY_DATA_DESC: encode_tensor(a, e->u.tensor, e, false); break;
  case TL_ENTRY_ORIGIN: encode_origin(b, e->u.value); break;
  case TL_ENTRY_TRACE: encode_trace(b, e->u.value); break;
  }
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}

/* ---- entries that all nodes of an op share ---- */

/* Moves the AttrDef in a->buf into an entry. */
static void add_raw(tl_air *a, const char *key) {
  tl_entry e = {.key = tl_sv_from(key), .kind = TL_ENTRY_RAW, .u.value = tl_air_keep(a)};
  a->buf.failed = !tl_entry_vec_push(&a->entries, e) || a->buf.failed;
}

static bool is_listed(const tl_op_port *p, bool optional_only) {
  return !optional_only || p->kind == TL_PORT_OPTIONAL;
}

/* Adds the list of port names, or nothing if no port is listed. */
static void add_port_names(tl_air *a, const char *key, const tl_op_port *ports, uint32_t n,
                           bool optional_only) {
  bool any = false;
  size_t list = tl_encode_open(&a->buf, TL_ATTRDEF_LIST);
  for (uint32_t i = 0; i < n; i++)
    if (is_listed(&ports[i], optional_only)) {
      tl_encode_z(&a->buf, TL_LIST_S, ports[i].name);
      any = true;
    }
  tl_encode_close(&a->buf, list);
  if (any)
    add_raw(a, key);
  else
    tl_encoder_clear(&a->buf);
}

/* Adds the kinds of ports as GE numbers them: inputs 0 required, 1 optional, 2 dynamic; outputs 0
 * required, 1 dynamic. */
static void add_port_kinds(tl_air *a, const char *key, const tl_op_port *ports, uint32_t n,
                           bool output) {
  if (n == 0)
    return;
  size_t list = tl_encode_open(&a->buf, TL_ATTRDEF_LIST);
  size_t packed = tl_encode_open(&a->buf, TL_LIST_I);
  for (uint32_t i = 0; i < n; i++) {
    bool dynamic = ports[i].kind == TL_PORT_VARIADIC;
    unsigned kind = ports[i].kind == TL_PORT_OPTIONAL ? 1 : 0;
    tl_encode_varint(&a->buf, output ? dynamic : dynamic ? 2 : kind);
  }
  tl_encode_close(&a->buf, packed);
  tl_encode_close(&a->buf, list);
  add_raw(a, key);
}

static void add_positions(tl_air *a, const char *key, uint32_t n) {
  tl_entry e = {.key = tl_sv_from(key), .kind = TL_ENTRY_POSITIONS, .u.count = n};
  if (n && !tl_entry_vec_push(&a->entries, e))
    a->buf.failed = true;
}

/* Adds the names of all attributes of the prototype. Graphs are fields of the node, not
 * attributes. */
static void add_attr_names(tl_air *a, const tl_op *op) {
  bool any = false;
  size_t list = tl_encode_open(&a->buf, TL_ATTRDEF_LIST);
  for (uint32_t i = 0; i < op->n_attrs; i++)
    if (op->attrs[i].value.kind != TL_ATTR_GRAPH && op->attrs[i].value.kind != TL_ATTR_GRAPHS) {
      tl_encode_bytes(&a->buf, TL_LIST_S, tl_sym(a->m, op->attrs[i].value.name));
      any = true;
    }
  tl_encode_close(&a->buf, list);
  if (any)
    add_raw(a, "_ir_attr_names");
  else
    tl_encoder_clear(&a->buf);
}

/* Adds the defaults of attributes; an attribute of the node replaces its default
 * (tl_air_entries). */
static void add_defaults(tl_air *a, const tl_op *op) {
  for (uint32_t i = 0; i < op->n_attrs; i++) {
    if (!op->attrs[i].has_default)
      continue;
    encode_attr(a, &op->attrs[i].value);
    tl_entry e = {.key = tl_sym(a->m, op->attrs[i].value.name), .u.value = tl_air_keep(a)};
    a->buf.failed = !tl_entry_vec_push(&a->entries, e) || a->buf.failed;
  }
}

uint64_t tl_air_rank(tl_sv key) {
  uint64_t rank = 0;
  for (size_t i = 0; i < sizeof rank; i++)
    rank = rank << 8 | (i < key.n ? (unsigned char)key.p[i] : 0);
  return rank;
}

void tl_air_add_entry(tl_air *a, tl_entry e) {
  e.rank = tl_air_rank(e.key);
  if (!tl_entry_vec_push(&a->entries, e))
    a->buf.failed = true;
}

static inline int compare_keys(uint64_t a, tl_sv a_key, uint64_t b, tl_sv b_key) {
  return a != b ? (a > b) - (a < b) : tl_sv_compare(a_key, b_key);
}

/* Insertion sort, which is fast for about a dozen entries that are nearly in order. */
static void sort_entries(tl_entry_vec *v) {
  for (uint32_t i = 1; i < v->n; i++) {
    tl_entry e = v->at[i];
    uint32_t k = i;
    for (; k && compare_keys(v->at[k - 1].rank, v->at[k - 1].key, e.rank, e.key) > 0; k--)
      v->at[k] = v->at[k - 1];
    v->at[k] = e;
  }
}

static bool has_dynamic_port(const tl_op_port *ports, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (ports[i].kind == TL_PORT_VARIADIC)
      return true;
  return false;
}

/* Returns the keys of attributes that count the slots of dynamic ports; [n], in the arena. */
static const tl_sv *count_keys(tl_air *a, const tl_op_port *ports, uint32_t n, const char *side) {
  tl_sv *keys = tl_arena_calloc(&a->arena, n, sizeof *keys);
  tl_buf text;
  tl_buf_init(&text);
  for (uint32_t i = 0; keys && i < n; i++) {
    tl_buf_clear(&text);
    tl_buf_printf(&text, "__dynamic_%s_%s_cnt", side, ports[i].name);
    keys[i] = (tl_sv){tl_arena_copy(&a->arena, text.p, text.n), text.n};
    text.failed = text.failed || !keys[i].p;
  }
  a->buf.failed = a->buf.failed || !keys || text.failed;
  tl_buf_release(&text);
  return keys;
}

/* Sorts the collected entries and encodes them once, for all nodes of the op. */
static void finish_row(tl_air *a, tl_air_row *row) {
  tl_row_entry *to = tl_arena_calloc(&a->arena, a->entries.n + 1u, sizeof *to);
  for (uint32_t i = 0; i < a->entries.n; i++)
    a->entries.at[i].rank = tl_air_rank(a->entries.at[i].key);
  sort_entries(&a->entries);
  for (uint32_t i = 0; to && i < a->entries.n; i++) {
    const tl_entry *e = &a->entries.at[i];
    to[i] = (tl_row_entry){e->key, e->rank, (uint32_t)a->buf.n};
    encode_entry(a, TL_NODE_ATTR, e);
  }
  a->buf.failed = a->buf.failed || !to;
  if (a->buf.failed)
    return;
  to[a->entries.n].at = (uint32_t)a->buf.n;
  row->entries = to;
  row->n_entries = a->entries.n;
  row->bytes = tl_air_keep(a).p;
  a->entries.n = 0;
}

/* Builds the shared entries of an op. With a dynamic port the names of slots differ between nodes;
 * they are added per node (nodes.c). */
static const tl_air_row *make_row(tl_air *a, const tl_op *op) {
  tl_air_row *row = tl_arena_calloc(&a->arena, 1, sizeof *row);
  if (!row)
    return NULL;
  tl_encoder_clear(&a->buf);
  row->variadic_in = has_dynamic_port(op->operands, op->n_operand_ports);
  row->variadic_out = has_dynamic_port(op->results, op->n_result_ports);
  if (row->variadic_in)
    row->input_counts = count_keys(a, op->operands, op->n_operand_ports, "input");
  if (row->variadic_out)
    row->output_counts = count_keys(a, op->results, op->n_result_ports, "output");
  a->entries.n = 0;
  if (!row->variadic_in) {
    add_port_names(a, "_input_name_key", op->operands, op->n_operand_ports, false);
    add_positions(a, "_input_name_value", op->n_operand_ports);
  }
  add_attr_names(a, op);
  add_port_names(a, "_ir_inputs_key", op->operands, op->n_operand_ports, false);
  add_port_kinds(a, "_ir_inputs_value", op->operands, op->n_operand_ports, false);
  add_port_names(a, "_ir_outputs_key", op->results, op->n_result_ports, false);
  add_port_kinds(a, "_ir_outputs_value", op->results, op->n_result_ports, true);
  add_port_names(a, "_opt_input", op->operands, op->n_operand_ports, true);
  if (!row->variadic_out) {
    add_port_names(a, "_output_name_key", op->results, op->n_result_ports, false);
    add_positions(a, "_output_name_value", op->n_result_ports);
  }
  add_defaults(a, op);
  finish_row(a, row);
  return a->buf.failed ? NULL : row;
}

const tl_air_row *tl_air_row_get(tl_air *a, tl_op_id op) {
  if (!a->rows[op])
    a->rows[op] = make_row(a, tl_op_row(op));
  return a->rows[op];
}

/* ---- entries of one node ---- */

static void copy_entries(tl_air *a, const tl_air_row *row, uint32_t first, uint32_t end) {
  if (end > first)
    tl_encode_raw(&a->buf, row->bytes + row->entries[first].at,
                  row->entries[end].at - row->entries[first].at);
}

/* Merges two sorted lists. Runs of the row between two own entries are copied in one piece. */
void tl_air_entries(tl_air *a, unsigned field, const tl_air_row *row) {
  uint32_t n = row ? row->n_entries : 0;
  uint32_t i = 0;
  sort_entries(&a->entries);
  for (uint32_t k = 0; k < a->entries.n; k++) {
    const tl_entry *own = &a->entries.at[k];
    uint32_t first = i;
    int order = 1;
    for (; i < n; i++) {
      order = compare_keys(row->entries[i].rank, row->entries[i].key, own->rank, own->key);
      if (order >= 0)
        break;
    }
    copy_entries(a, row, first, i);
    i += i < n && order == 0;
    if (k == 0 || !tl_sv_eq(own->key, own[-1].key))
      encode_entry(a, field, own);
  }
  if (row)
    copy_entries(a, row, i, n);
}
