/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what notes say of ports and attributes (ir/ge_format.h): of a file that was read, what the
 * writer would not say by itself. */
#include <stdlib.h>

#include "backend/air/air.h"
#include "backend/air/check_fields.h"

#include "ir/graph.h"

bool tl_air_has_notes(const tl_module *m) {
  for (uint32_t i = 1; i < m->extras.n; i++)
    for (uint32_t k = 0; k < m->extras.at[i].n_metadata; k++)
      if (tl_sv_starts_with(tl_sym(m, m->extras.at[i].metadata[k].key), "desc."))
        return true;
  return false;
}

static bool read_note(tl_sv note, tl_port_note *out) {
  return note.p && tl_port_note_read(note, out) && !out->whole.p;
}

bool tl_air_noted_format(const tl_air *a, tl_value_id v, tl_port_note *out) {
  const tl_value *value = tl_value_get(a->m, v);
  uint64_t first = UINT64_MAX;
  tl_port_note note;
  if (value->kind == TL_VALUE_RESULT) {
    tl_sv own = tl_air_note_of(a, tl_node_get(a->m, value->def)->extra, true, value->index);
    if (!read_note(own, &note))
      return false;
    *out = (tl_port_note){.storage = note.storage, .origin = note.origin, .dims = note.dims};
    return true;
  }
  TL_FOR_USES(a->m, v, u) {
    const tl_use *use = tl_use_get(a->m, u);
    const tl_node *user = tl_node_get(a->m, use->user);
    if (user->order < first &&
        read_note(tl_air_note_of(a, user->extra, false, (uint32_t)(u - user->operands)), &note)) {
      *out = (tl_port_note){.storage = note.storage, .origin = note.origin, .dims = note.dims};
      first = user->order;
    }
  }
  return first != UINT64_MAX;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Returns true if dim i of a range of sizes, which is a pair, allows the dim of the type. */
static bool allows(tl_air_bytes pair, const tl_type *t, int i) {
  tl_air_field f = tl_air_find_field(pair, 1);
  uint64_t least, most;
  if (i >= t->rank || !f.body.p || !tl_air_read_varint(&f.body, &least) ||
      !tl_air_read_varint(&f.body, &most))
    return false;
  return !tl_dim_is_static(t->dims[i]) ||
         ((int64_t)least <= t->dims[i] && ((int64_t)most < 0 || t->dims[i] <= (int64_t)most));
}

/* A pass or an option may have changed a shape: then ranges of its sizes no longer hold. */
static bool still_holds(tl_air_bytes entry, const tl_type *t) {
  tl_air_bytes key, value;
  tl_air_field row;
  int i = 0;
  if (!tl_air_open_entry(entry, &key, &value) ||
      (!tl_air_is_text(key, "shape_range") && !tl_air_is_text(key, "origin_shape_range")))
    return true;
  tl_air_field lists = tl_air_find_field(value, TL_ATTRDEF_LIST_LIST_INT);
  while (lists.body.p && tl_air_next_field(&lists.body, &row))
    if (!allows(row.body, t, i++))
      return false;
  return true;
}

static void more_fields(tl_air *a, tl_sv more, const tl_type *t) {
  tl_air_bytes left = {(const unsigned char *)more.p, (const unsigned char *)more.p + more.n};
  tl_air_field f;
  for (const unsigned char *start = left.p; tl_air_next_field(&left, &f); start = left.p)
    if (f.number != TL_DESC_ATTR || f.wire != TL_WIRE_LENGTH || still_holds(f.body, t))
      tl_encode_raw(&a->buf, start, (size_t)(left.p - start));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A field of a desc, and its place in the order of the file. */
typedef struct placed {
  tl_air_bytes bytes; /* with its tag */
  tl_air_bytes key;   /* of an attribute */
  uint32_t number;
  uint32_t at;
} placed;

TL_VEC(placed_vec, placed);

static int by_place(const void *p, const void *q) {
  const placed *a = p;
  const placed *b = q;
  if (a->number != b->number)
    return a->number < b->number ? -1 : 1;
  int order = tl_sv_compare((tl_sv){(const char *)a->key.p, tl_air_length(a->key)},
                            (tl_sv){(const char *)b->key.p, tl_air_length(b->key)});
  return order ? order : (a->at > b->at) - (a->at < b->at);
}

static bool same_key(const placed *a, const placed *b) {
  return a->number == TL_DESC_ATTR && b->number == TL_DESC_ATTR &&
         tl_air_length(a->key) == tl_air_length(b->key) &&
         memcmp(a->key.p, b->key.p, tl_air_length(a->key)) == 0;
}

/* Puts the fields of a desc, which begin at byte `from` of the buffer, into the order that the
 * writer gives its own: by number, attributes by key, of equal keys the last one. Malformed
 * attributes are left out. */
static void sort_fields(tl_air *a, size_t from) {
  static const unsigned char none[1];
  tl_encoder *b = &a->buf;
  size_t n = b->failed ? 0 : b->n - from;
  const char *copy = n ? tl_arena_copy(&a->arena, b->p + from, n) : NULL;
  tl_air_field f;
  tl_air_bytes value;
  placed_vec fields = {0};
  if (!copy)
    return;
  tl_air_bytes left = {(const unsigned char *)copy, (const unsigned char *)copy + n};
  for (const unsigned char *start = left.p; tl_air_next_field(&left, &f); start = left.p) {
    placed one = {{start, left.p}, {none, none}, f.number, fields.n};
    if (f.number == TL_DESC_ATTR &&
        (f.wire != TL_WIRE_LENGTH || !tl_air_open_entry(f.body, &one.key, &value)))
      continue; /* only a text written by hand has one; loaders would refuse the file for it */
    b->failed = !placed_vec_push(&fields, one) || b->failed;
  }
  if (fields.n)
    qsort(fields.at, fields.n, sizeof *fields.at, by_place);
  if (!b->failed)
    b->n = from;
  for (uint32_t i = 0; i < fields.n && !b->failed; i++)
    if (i + 1 == fields.n || !same_key(&fields.at[i], &fields.at[i + 1]))
      tl_encode_raw(b, fields.at[i].bytes.p, tl_air_length(fields.at[i].bytes));
  placed_vec_release(&fields);
}

/* ---- descs ----------------------------------------------------------------------------------- */

/* Appends the original shape: as noted, or the shape. */
static void origin_shape(tl_encoder *b, const tl_type *t, tl_sv dims) {
  enum { INTS = 2 };
  size_t entry = tl_encode_open(b, TL_DESC_ATTR);
  tl_encode_z(b, 1, "origin_shape");
  size_t value = tl_encode_open(b, 2);
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  if (!dims.p)
    tl_air_dims(b, TL_LIST_I, t);
  size_t packed = dims.n ? tl_encode_open(b, TL_LIST_I) : 0;
  for (tl_sv rest = dims; dims.n && rest.p;) {
    int64_t dim = 0;
    if (tl_parse_i64(tl_sv_split(&rest, ','), &dim))
      tl_encode_varint(b, (uint64_t)dim);
  }
  if (dims.n)
    tl_encode_close(b, packed);
  tl_encode_int(b, TL_LIST_TYPE, INTS);
  tl_encode_close(b, list);
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}

void tl_air_desc_in(tl_air *a, unsigned field, const tl_type *t, const tl_port_note *n,
                    const tl_desc_extra *extra) {
  tl_encoder *b = &a->buf;
  size_t desc = tl_encode_open(b, field);
  if (tl_air_proto_dtype(t))
    tl_encode_int(b, TL_DESC_DTYPE, tl_air_proto_dtype(t));
  size_t shape = tl_encode_open(b, TL_DESC_SHAPE);
  tl_air_dims(b, 1, t);
  tl_encode_close(b, shape);
  tl_encode_z(b, TL_DESC_LAYOUT, tl_ge_format_name(n->storage));
  tl_air_desc_extra(a, t, extra);
  tl_air_int_entry(b, TL_DESC_ATTR, "format_for_int", n->storage);
  tl_air_string_entry(b, TL_DESC_ATTR, TL_SV("origin_format"),
                      tl_sv_from(tl_ge_format_name(n->origin)));
  tl_air_int_entry(b, TL_DESC_ATTR, "origin_format_for_int", n->origin);
  origin_shape(b, t, n->dims);
  tl_air_bool_entry(b, TL_DESC_ATTR, "origin_shape_initialized", true);
  tl_encode_z(b, TL_DESC_DEVICE, "NPU");
  if (t->kind == TL_KIND_TENSOR && t->rank > 0)
    tl_encode_int(b, TL_DESC_DIM_COUNT, t->rank);
  more_fields(a, n->more, t);
  if (n->more.n)
    sort_fields(a, desc);
  tl_encode_close(b, desc);
}

/* Appends a whole desc as the file had it. */
static void whole_desc(tl_air *a, unsigned field, tl_sv whole) {
  tl_air_bytes bytes = {(const unsigned char *)whole.p, (const unsigned char *)whole.p + whole.n};
  size_t desc = tl_encode_open(&a->buf, field);
  tl_encode_raw(&a->buf, whole.p, whole.n);
  if (!tl_air_find_field(bytes, TL_DESC_LAYOUT).body.p)
    tl_encode_z(&a->buf, TL_DESC_LAYOUT, "FORMAT_RESERVED");
  sort_fields(a, desc);
  tl_encode_close(&a->buf, desc);
}

bool tl_air_noted_desc(tl_air *a, unsigned field, const tl_type *t, tl_sv note,
                       const tl_desc_extra *extra) {
  tl_port_note n;
  if (!tl_port_note_read(note, &n))
    return false;
  if (!n.whole.p)
    tl_air_desc_in(a, field, t, &n, extra);
  else if (t->kind == TL_KIND_TENSOR)
    return false; /* by now its element type is known */
  else
    whole_desc(a, field, n.whole);
  return true;
}
