/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what tensor descriptors say beside dtype and shape: formats, original shapes, and whether
 * there is more than the writer would say by itself. */
#include "frontend/air/reader.h"
#include "ir/ge_format.h"

/* What tells the entries of a desc apart that need no note. */
typedef enum entry_kind { MORE, STORAGE, ORIGIN, ORIGIN_NUMBER, DIMS, IS_SET, MADE } entry_kind;

static entry_kind kind_of(tl_sv key) {
  static const struct {
    const char *key;
    entry_kind kind;
  } known[] = {{"format_for_int", STORAGE},
               {"origin_format", ORIGIN},
               {"origin_format_for_int", ORIGIN_NUMBER},
               {"origin_shape", DIMS},
               {"origin_format_is_set", IS_SET},
               {"origin_shape_initialized", MADE},
               {"_tailor_dim_names", MADE},
               {"_parent_node_index", MADE},
               {"_origin_output_tensor_name", MADE}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (tl_sv_is(key, known[i].key))
      return known[i].kind;
  return MORE;
}

/* Reads a format's number; one that is none, or the reserved one, says nothing. */
static void take_number(tl_proto value, int64_t *out) {
  int64_t number;
  if (tl_air_int(value, &number) && tl_ge_format_name(number) && number != TL_NUMBER_RESERVED)
    *out = number;
}

/* *kept: what the entry says. */
static entry_kind read_entry(tl_proto body, tl_air_facts *out, int64_t *number,
                             tl_air_entry *kept) {
  tl_air_entry e;
  tl_sv text;
  tl_field f;
  if (!tl_air_entry_read(body, &e) || !tl_air_has_value(e.value))
    return MADE; /* GE drops it */
  *kept = e;
  entry_kind kind = kind_of(e.key);
  if (kind == STORAGE)
    take_number(e.value, &out->storage);
  else if (kind == ORIGIN_NUMBER)
    take_number(e.value, number);
  else if (kind == ORIGIN && tl_air_string(e.value, &text))
    out->origin = tl_ge_format_number(text);
  else if (kind == DIMS && tl_proto_next(&e.value, &f) == TL_STEP_FIELD &&
           tl_field_tag(&f) == TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    out->dims = f.body;
  else if (kind == IS_SET)
    out->is_set = tl_proto_next(&e.value, &f) == TL_STEP_FIELD && f.value;
  return kind;
}

/* Returns true for a field that the writer makes of type and format, or that facts hold. *kept: the
 * attribute that it is otherwise; key NULL: it is none. */
static bool is_made(const tl_field *f, tl_air_facts *out, int64_t *layout, int64_t *origin_number,
                    tl_air_entry *kept) {
  kept->key.p = NULL;
  switch (tl_field_tag(f)) {
  case TL_TAG(TL_DESC_DTYPE, TL_WIRE_VARINT):
  case TL_TAG(TL_DESC_SHAPE, TL_WIRE_BYTES):
  case TL_TAG(TL_DESC_DIM_COUNT, TL_WIRE_VARINT): return true;
  case TL_TAG(TL_DESC_LAYOUT, TL_WIRE_BYTES):
    *layout = tl_ge_format_number(tl_proto_sv(f->body));
    if (*layout == TL_NUMBER_RESERVED)
      *layout = -1;
    return true;
  case TL_TAG(TL_DESC_DEVICE, TL_WIRE_BYTES): return tl_sv_is(tl_proto_sv(f->body), "NPU");
  case TL_TAG(TL_DESC_ATTR, TL_WIRE_BYTES):
    return read_entry(f->body, out, origin_number, kept) != MORE;
  default:
    return f->number <= TL_DESC_ATTR || f->number == TL_DESC_DIM_COUNT; /* another wire type */
  }
}

static void add_varint(tl_buf *b, uint64_t v) {
  for (; v > 0x7f; v >>= 7)
    tl_buf_add_char(b, (char)(v | 0x80));
  tl_buf_add_char(b, (char)v);
}

static void add_field(tl_buf *b, uint32_t number, tl_sv bytes) {
  add_varint(b, TL_TAG(number, TL_WIRE_BYTES));
  add_varint(b, bytes.n);
  tl_buf_add_sv(b, bytes);
}

/* Appends an attribute as all writers write it: the key, then the one value that counts. */
static void add_entry(tl_buf *b, const tl_air_entry *e) {
  tl_buf entry;
  tl_buf_init(&entry);
  add_field(&entry, 1, e->key);
  add_field(&entry, 2, tl_proto_sv(e->value));
  add_field(b, TL_DESC_ATTR, tl_buf_view(&entry));
  b->failed = b->failed || entry.failed;
  tl_buf_release(&entry);
}

void tl_air_desc_fields(tl_proto desc, tl_buf *out) {
  tl_air_entry e;
  tl_field f;
  while (tl_proto_next(&desc, &f) == TL_STEP_FIELD)
    if (f.number != TL_DESC_ATTR)
      tl_buf_add(out, f.start, (size_t)(desc.p - f.start));
    else if (f.type == TL_WIRE_BYTES && tl_air_entry_read(f.body, &e) && tl_air_has_value(e.value))
      add_entry(out, &e);
}

/* Reads the facts, and appends the other fields to *more (NULL: not wanted). The number wins over
 * the name, as in GE; a format stands for an original one that is not said. */
tl_air_facts tl_air_facts_read(tl_proto desc, tl_buf *more) {
  tl_air_facts out = {-1, -1, {NULL, NULL}, false, false};
  int64_t layout = -1;
  int64_t origin_number = -1;
  tl_field f;
  while (tl_proto_next(&desc, &f) == TL_STEP_FIELD) {
    tl_air_entry kept;
    if (is_made(&f, &out, &layout, &origin_number, &kept))
      continue;
    out.has_more = true;
    if (more && kept.key.p)
      add_entry(more, &kept);
    else if (more)
      tl_buf_add(more, f.start, (size_t)(desc.p - f.start));
  }
  if (out.storage < 0)
    out.storage = layout;
  if (origin_number >= 0)
    out.origin = origin_number;
  if (out.origin < 0 || out.origin == TL_NUMBER_RESERVED)
    out.origin = out.storage;
  if (out.storage < 0)
    out.storage = out.origin;
  return out;
}

static bool push_number(void *user, uint64_t value) {
  return tl_i64_vec_push(user, (int64_t)value);
}

/* Reads the original shape into r->numbers; false if it is that of the type, or none. */
bool tl_air_has_other_dims(tl_air_reader *r, const tl_air_facts *of, tl_type_id type) {
  const tl_type *t = tl_type_get(r->m, type);
  tl_field f;
  tl_proto list = of->dims;
  bool same = true;
  r->numbers.n = 0;
  while (list.p && tl_proto_next(&list, &f) == TL_STEP_FIELD)
    if (f.number == TL_LIST_I && !tl_proto_numbers(&f, 0, push_number, &r->numbers))
      return false;
  if (!list.p || r->numbers.n > TL_MAX_RANK)
    return false;
  if (t->rank < 0)
    return r->numbers.n != 1 || r->numbers.at[0] != -2;
  for (int i = 0; i < t->rank && (uint32_t)i < r->numbers.n; i++)
    same = same && r->numbers.at[i] == (tl_dim_is_static(t->dims[i]) ? t->dims[i] : -1);
  return !same || r->numbers.n != (uint32_t)t->rank;
}

uint8_t tl_air_own_formats(tl_air_reader *r, tl_proto desc, tl_type_id type) {
  tl_air_facts of = tl_air_facts_read(desc, NULL);
  uint8_t set = 0;
  if (of.has_more)
    return 0;
  if (!type)
    return UINT8_MAX;
  if (tl_air_has_other_dims(r, &of, type))
    return 0;
  for (tl_ge_format f = TL_GE_ND; f < TL_N_GE_FORMATS; f++) {
    int64_t number = tl_ge_own_number(f);
    bool same = of.storage < 0 || (of.storage == number && of.origin == number);
    if (same && (f != TL_GE_ND || !of.is_set))
      set |= (uint8_t)(1u << f);
  }
  return set;
}
