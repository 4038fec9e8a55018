/* SPDX-License-Identifier: Apache-2.0 */
/* Reads attribute maps of nodes. A kind of value that the IR has no kind for (bytes, nested
 * attributes, descs, graphs) is carried as the bytes of its AttrDef. */
#include "frontend/air/reader.h"

#include "ir/marks.h"
#include "ir/trace.h"

enum { MAX_NESTING = 64, GE_UNDEFINED = 28 /* internal number of no dtype */ };

/* What describes the ports of a node: the writer makes it anew from the op table. */
#define KEY(z)                                                                                     \
  { z, sizeof z - 1 }
static const tl_sv described[] = {
    KEY("_input_name_key"),    KEY("_input_name_value"), KEY("_output_name_key"),
    KEY("_output_name_value"), KEY("_opt_input"),        KEY("_ir_attr_names"),
    KEY("_ir_inputs_key"),     KEY("_ir_inputs_value"),  KEY("_ir_outputs_key"),
    KEY("_ir_outputs_value"),  KEY("is_input_const"),    KEY("_src_out_peer_index_for_ge_txt_load"),
};

static bool describes_ports(tl_sv key) {
  for (size_t i = 0; i < sizeof described / sizeof *described; i++)
    if (tl_sv_eq(key, described[i]))
      return true;
  return false;
}

/* Keys of an attribute that is a note of a node in the IR. */
static bool is_note(tl_sv key) {
  static const char *const notes[] = {TL_NOTE_STREAM, TL_NOTE_RECORD, TL_NOTE_WAIT,
                                      "_tailor_placement"};
  for (tl_trace t = 0; t < TL_N_TRACES; t++)
    if (tl_sv_is(key, tl_trace_key(t)))
      return true;
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    if (tl_sv_is(key, notes[i]))
      return true;
  return false;
}

/* Most keys tell by their first letters that they are neither. */
tl_air_use tl_air_use_of(tl_sv key) {
  if (key.n < 2 || (key.p[0] != '_' && key.p[0] != 'i' && key.p[0] != 'p' && key.p[0] != 't'))
    return TL_AIR_ATTR;
  if (describes_ports(key))
    return TL_AIR_PORTS;
  bool may_be_note = key.p[0] != '_' || key.p[1] == 'd' || key.p[1] == 't';
  return may_be_note && is_note(key) ? TL_AIR_NOTE : TL_AIR_ATTR;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool push_number(void *user, uint64_t value) {
  return tl_i64_vec_push(user, (int64_t)value);
}

/* Appends the numbers of a list's field to r->numbers; floats as their bits. */
static tl_status read_numbers(tl_air_reader *r, tl_proto list, uint32_t field, uint32_t size) {
  tl_field f;
  r->numbers.n = 0;
  while (tl_proto_next(&list, &f) == TL_STEP_FIELD)
    if (f.number == field && !tl_proto_numbers(&f, size, push_number, &r->numbers))
      return tl_air_malformed(r, f.start, "ListValue");
  return TL_OK;
}

static tl_status read_floats(tl_air_reader *r, tl_proto list, tl_attr *out) {
  TL_TRY(read_numbers(r, list, TL_LIST_F, 4));
  float *at = tl_arena_alloc(&r->m->arena, (r->numbers.n + 1) * sizeof *at);
  if (!at)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < r->numbers.n; i++) {
    uint32_t bits = (uint32_t)r->numbers.at[i];
    memcpy(at + i, &bits, sizeof bits);
  }
  out->kind = TL_ATTR_FLOATS;
  out->count = r->numbers.n;
  out->u.fs = at;
  return TL_OK;
}

static tl_status read_texts(tl_air_reader *r, tl_proto list, tl_attr *out) {
  tl_field f;
  r->ids.n = 0;
  while (tl_proto_next(&list, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(TL_LIST_S, TL_WIRE_BYTES))
      continue;
    tl_symbol s = tl_air_symbol(r, tl_proto_sv(f.body));
    if (s == TL_NO_SYMBOL || !tl_u32_vec_push(&r->ids, s))
      return TL_NO_MEMORY;
  }
  *out = tl_attr_ids(r->m, out->name, TL_ATTR_STRINGS, r->ids.at, r->ids.n);
  return out->kind == TL_ATTR_NONE ? TL_NO_MEMORY : TL_OK;
}

/* Makes a list of a number kind of r->numbers. */
static tl_status take_numbers(tl_air_reader *r, tl_attr_kind kind, tl_attr *out) {
  *out = tl_attr_ints(r->m, out->name, r->numbers.at, r->numbers.n);
  if (out->kind == TL_ATTR_NONE)
    return TL_NO_MEMORY;
  out->kind = (uint8_t)kind;
  return TL_OK;
}

/* The element type of a list is stated; GE drops a list that states none. */
static tl_status read_list(tl_air_reader *r, tl_proto list, tl_location where, tl_attr *out) {
  uint64_t type = 0;
  tl_field f;
  tl_proto walk = list;
  tl_step step;
  while ((step = tl_proto_next(&walk, &f)) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_LIST_TYPE, TL_WIRE_VARINT))
      type = f.value;
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "ListValue");
  switch (type) {
  case 0: r->n_lost++; return TL_OK;
  case 1: return read_texts(r, list, out);
  case 2: TL_TRY(read_numbers(r, list, TL_LIST_I, 0)); return take_numbers(r, TL_ATTR_INTS, out);
  case 3: return read_floats(r, list, out);
  case 4: TL_TRY(read_numbers(r, list, TL_LIST_B, 0)); return take_numbers(r, TL_ATTR_BOOLS, out);
  case 10:
    TL_TRY(read_numbers(r, list, TL_LIST_DT, 0));
    for (uint32_t i = 0; i < r->numbers.n; i++)
      r->numbers.at[i] = tl_dtype_from_ge(r->numbers.at[i]);
    return take_numbers(r, TL_ATTR_DTYPES, out);
  default: break;
  }
  if (type > 10)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "a list has the unknown val_type %llu",
                   (unsigned long long)type);
  const char *problem = tl_air_list_problem(list);
  if (problem)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "the list %s", problem);
  return TL_OK; /* carried */
}

static tl_status read_int_lists(tl_air_reader *r, tl_proto lists, tl_attr *out) {
  tl_field f;
  tl_proto walk = lists;
  tl_step step;
  uint32_t n = 0, i = 0;
  while ((step = tl_proto_next(&walk, &f)) == TL_STEP_FIELD)
    n += tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES);
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "ListListInt");
  tl_int_list *at = tl_arena_calloc(&r->m->arena, n + 1, sizeof *at);
  if (!at)
    return TL_NO_MEMORY;
  while (tl_proto_next(&lists, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(1, TL_WIRE_BYTES))
      continue;
    TL_TRY(read_numbers(r, f.body, 1, 0));
    tl_attr row = {.name = out->name};
    TL_TRY(take_numbers(r, TL_ATTR_INTS, &row));
    at[i++] = (tl_int_list){row.u.is, row.count};
  }
  out->kind = TL_ATTR_INT_LISTS;
  out->count = n;
  out->u.lists = at;
  return TL_OK;
}

/* Nested attributes are carried as bytes, which readers of the file will walk: their depth is
 * checked here. Every field of theirs that has a length is walked as if it were a message; text
 * that is none ends the walk. */
static bool too_deep(tl_proto body, int left) {
  tl_field f;
  if (left == 0)
    return true;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    if (f.type == TL_WIRE_BYTES && tl_proto_left(&f.body) > 1 && too_deep(f.body, left - 1))
      return true;
  return false;
}

static tl_status carry(tl_air_reader *r, tl_proto value, tl_location where, tl_attr *out) {
  if (too_deep(value, MAX_NESTING))
    return tl_fail(r->d, TL_LIMIT, where, "attributes nest more than %d deep", (int)MAX_NESTING);
  if (!tl_proto_left(&value)) { /* GE drops it */
    r->n_lost++;
    return TL_OK;
  }
  out->kind = TL_ATTR_CARRIED;
  out->u.s = tl_air_symbol(r, tl_proto_sv(value));
  return out->u.s == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Reads the one value of an AttrDef. out->kind stays NONE for one that GE drops. */
static tl_status read_value(tl_air_reader *r, tl_proto value, tl_location where, tl_attr *out) {
  tl_field f;
  tl_proto walk = value;
  tl_step step = tl_proto_next(&walk, &f);
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "AttrDef");
  if (step == TL_STEP_END) {
    r->n_lost++;
    return TL_OK;
  }
  switch (tl_field_tag(&f)) {
  case TL_TAG(TL_ATTRDEF_I, TL_WIRE_VARINT):
    *out = tl_attr_int(out->name, (int64_t)f.value);
    return TL_OK;
  case TL_TAG(TL_ATTRDEF_B, TL_WIRE_VARINT):
    *out = tl_attr_bool(out->name, f.value != 0);
    return TL_OK;
  case TL_TAG(TL_ATTRDEF_F, TL_WIRE_FIXED32): {
    uint32_t bits = (uint32_t)f.value;
    float number;
    memcpy(&number, &bits, sizeof number);
    *out = tl_attr_float(out->name, number);
    return TL_OK;
  }
  case TL_TAG(TL_ATTRDEF_S, TL_WIRE_BYTES): {
    tl_symbol s = tl_air_symbol(r, tl_proto_sv(f.body));
    *out = tl_attr_string(out->name, s);
    return s == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
  }
  case TL_TAG(TL_ATTRDEF_DT, TL_WIRE_VARINT):
    *out = tl_attr_dtype(out->name, tl_dtype_from_ge((int64_t)f.value));
    if (out->u.i != TL_DTYPE_NONE || f.value == GE_UNDEFINED)
      return TL_OK;
    break;
  case TL_TAG(TL_ATTRDEF_T, TL_WIRE_BYTES):
    out->kind = TL_ATTR_TENSOR;
    return tl_air_tensor(r, f.body, NULL, where, &out->u.t);
  case TL_TAG(TL_ATTRDEF_LIST_LIST_INT, TL_WIRE_BYTES): return read_int_lists(r, f.body, out);
  case TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES): {
    uint32_t lost = r->n_lost;
    TL_TRY(read_list(r, f.body, where, out));
    if (out->kind != TL_ATTR_NONE || lost != r->n_lost)
      return TL_OK;
    break;
  }
  default: break;
  }
  return carry(r, value, where, out);
}

/* ---- attributes of a node -------------------------------------------------------------------- */

/* Returns true for the count of slots of a dynamic output, which the writer adds by itself. */
static bool counts_outputs(tl_sv key, const tl_op *row) {
  tl_sv prefix = TL_SV("__dynamic_output_");
  return row && key.n > prefix.n && memcmp(key.p, prefix.p, prefix.n) == 0;
}

/* Gives a value of a dump the kind that the prototype declares: flags are integers there, and so
 * are element types in the dumps of Tailor. */
static void take_kind(const tl_op *row, tl_attr *a) {
  const tl_op_attr *known = row ? tl_op_attr_find(row, a->name) : NULL;
  if (!known)
    return;
  if (a->kind == TL_ATTR_INT && known->value.kind == TL_ATTR_BOOL)
    *a = tl_attr_bool(a->name, a->u.i != 0);
  else if (a->kind == TL_ATTR_INTS && known->value.kind == TL_ATTR_BOOLS)
    a->kind = TL_ATTR_BOOLS;
  else if (a->kind == TL_ATTR_INT && known->value.kind == TL_ATTR_DTYPE)
    *a = tl_attr_dtype(a->name, tl_dtype_from_ge(a->u.i));
}

static bool has_attr(const tl_air_reader *r, tl_symbol name) {
  for (uint32_t k = 0; k < r->attrs.n; k++)
    if (r->attrs.at[k].name == name)
      return true;
  return false;
}

/* Adds what a dump leaves out. Attributes that are element types: ops have at most one, that of
 * their first result. Nodes without the strings of their prototype are counted: a dump may be
 * made without strings. */
static tl_status complete(tl_air_reader *r, const tl_air_op *op, const tl_op *row) {
  bool unnamed = false;
  for (uint32_t i = 0; row && i < row->n_attrs; i++) {
    const tl_attr *known = &row->attrs[i].value;
    if ((known->kind != TL_ATTR_STRING && known->kind != TL_ATTR_DTYPE) || has_attr(r, known->name))
      continue;
    unnamed = unnamed || known->kind == TL_ATTR_STRING;
    tl_value_id first = op->n_outputs ? tl_node_get(r->m, op->node)->results : TL_NO_VALUE;
    tl_dtype type = first ? tl_type_dtype(r->m, tl_value_type(r->m, first)) : TL_DTYPE_NONE;
    if (known->kind == TL_ATTR_DTYPE && type != TL_DTYPE_NONE && type != TL_DTYPE_RESOURCE &&
        !tl_attr_vec_push(&r->attrs, tl_attr_dtype(known->name, type)))
      return TL_NO_MEMORY;
  }
  r->n_unnamed += unnamed;
  return TL_OK;
}

tl_status tl_air_attributes(tl_air_reader *r, const tl_air_op *op, tl_location where) {
  const tl_op *row = tl_op_row(tl_node_get(r->m, op->node)->op);
  r->attrs.n = 0;
  if (!row)
    TL_TRY(tl_air_check_ports(r, where));
  for (uint32_t i = 0; i < r->entries.n; i++) {
    tl_air_entry e = r->entries.at[i];
    if ((row && e.use == TL_AIR_PORTS) || e.use == TL_AIR_NOTE || counts_outputs(e.key, row))
      continue;
    tl_attr attr = {.name = tl_air_symbol(r, e.key)};
    if (attr.name == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    where.attr = e.key;
    if (e.use == TL_AIR_PORTS && tl_air_lists_ports(e.key))
      TL_TRY(carry(r, e.value, where, &attr));
    else
      TL_TRY(read_value(r, e.value, where, &attr));
    if (r->form == TL_AIR_DUMP)
      take_kind(row, &attr);
    if (attr.kind != TL_ATTR_NONE && !tl_attr_vec_push(&r->attrs, attr))
      return TL_NO_MEMORY;
  }
  return r->form == TL_AIR_DUMP ? complete(r, op, row) : TL_OK;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Writes a list of strings, or one string, as notes have lists. *n: how many. */
static void list_note(tl_proto value, tl_buf *out, uint32_t *n) {
  tl_field f;
  tl_sv text;
  *n = 0;
  tl_buf_clear(out);
  tl_buf_add_char(out, '[');
  if (tl_air_string(value, &text)) {
    tl_buf_add_quoted(out, text);
    ++*n;
  } else if (tl_proto_next(&value, &f) == TL_STEP_FIELD &&
             tl_field_tag(&f) == TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES)) {
    tl_proto list = f.body;
    while (tl_proto_next(&list, &f) == TL_STEP_FIELD) {
      if (tl_field_tag(&f) != TL_TAG(TL_LIST_S, TL_WIRE_BYTES))
        continue;
      text = tl_proto_sv(f.body);
      tl_buf_add_z(out, *n ? ", " : "");
      tl_buf_add_quoted(out, text);
      ++*n;
    }
  }
  tl_buf_add_char(out, ']');
}

/* A node that was not fused names itself as its only origin: nothing to note. */
static bool is_own_name(const tl_air_reader *r, const tl_air_op *op, tl_proto value) {
  tl_field f;
  bool own = false;
  if (tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    return false;
  tl_proto list = f.body;
  while (tl_proto_next(&list, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(TL_LIST_S, TL_WIRE_BYTES))
      continue;
    if (own || !tl_sv_eq(tl_proto_sv(f.body), tl_sym(r->m, op->name)))
      return false;
    own = true;
  }
  return own;
}

static bool put_note(tl_air_reader *r, const tl_air_op *op, const tl_air_entry *e, tl_buf *room) {
  char key[64];
  tl_sv text;
  uint32_t n;
  memcpy(key, e->key.p, e->key.n);
  key[e->key.n] = '\0';
  if (tl_sv_is(e->key, "_tailor_placement"))
    return !tl_air_string(e->value, &text) || !tl_sv_is(text, "host") ||
           tl_node_put_mark(r->m, op->node, TL_MARK_HOST);
  if (tl_sv_is(e->key, tl_trace_key(TL_TRACE_MULTI)))
    return tl_node_set_note(r->m, op->node, key, TL_SV("true"));
  if (e->key.p[0] == 't') /* tailor.: one string */
    return !tl_air_string(e->value, &text) || tl_node_set_note(r->m, op->node, key, text);
  bool names = tl_sv_is(e->key, tl_trace_key(TL_TRACE_NAMES));
  if (names && is_own_name(r, op, e->value))
    return true;
  list_note(e->value, room, &n);
  if (n == 0 && !names)
    return true; /* no name at all says that a compiler inserted the node */
  return !room->failed && tl_node_set_note(r->m, op->node, key, tl_buf_view(room));
}

tl_status tl_air_notes(tl_air_reader *r, const tl_air_op *op) {
  tl_buf room;
  bool good = true;
  tl_buf_init(&room);
  for (uint32_t i = 0; i < r->entries.n && good; i++)
    if (r->entries.at[i].use == TL_AIR_NOTE)
      good = put_note(r, op, &r->entries.at[i], &room);
  tl_buf_release(&room);
  return good ? TL_OK : TL_NO_MEMORY;
}
