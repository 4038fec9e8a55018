/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the checks of attributes, tensors and tensor descs (check_attrs.h). */
#include "backend/air/check_attrs.h"

#include "support/hash.h"

/* val_type is 1 to 10. The two indices are those of tl_air_bookkeeping. */
enum { N_LIST_TYPES = 11, INPUT_KINDS = 3, OUTPUT_KINDS = 5 };

tl_status tl_air_fault(const tl_air_checker *c, const char *what) {
  tl_sv node = {(const char *)c->node.p, c->node.p ? (size_t)(c->node.end - c->node.p) : 0};
  return tl_fail(c->diag, TL_INTERNAL, TL_AT_NODE(c->path, node),
                 "the finished file fails its check: %s", what);
}

/* ---- attributes ---- */

/* A list declares its element type and holds elements of that type only. */
static const char *list_problem(tl_air_bytes list) {
  static const uint8_t fields[N_LIST_TYPES] = {0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12};
  tl_air_field f;
  uint64_t type = 0;
  uint32_t held = 0;
  while (tl_air_next_field(&list, &f)) {
    if (f.number == TL_LIST_TYPE)
      type = f.value;
    else
      held = f.number;
  }
  if (list.p != list.end)
    return "a malformed list";
  if (type < 1 || type >= N_LIST_TYPES)
    return "a list without a valid val_type would be dropped";
  return held && held != fields[type] ? "the elements of a list do not have its declared kind"
                                      : NULL;
}

/* Checks a TensorDef: its data has exactly the bytes that its desc asks for. If the node has a
 * location, the data is outside and the attribute "length" must have that size. */
static tl_status check_tensor(const tl_air_checker *c, tl_air_bytes tensor,
                              const tl_air_op_def *n) {
  tl_air_field desc = tl_air_find_field(tensor, TL_TENSORDEF_DESC);
  tl_air_field data = tl_air_find_field(tensor, TL_TENSORDEF_DATA);
  uint64_t bits;
  if (!desc.body.p)
    return tl_air_fault(c, "a tensor without a desc");
  TL_TRY(tl_air_check_desc(c, desc.body, &bits));
  if (bits == UINT64_MAX)
    return tl_air_fault(c, "a constant of unknown shape or size");
  uint64_t have = data.body.p ? tl_air_length(data.body) : 0;
  uint64_t needed = bits / 8 + (bits % 8 != 0);
  if (n->outside && have)
    return tl_air_fault(c, "a constant has its data both in the file and outside");
  if (n->outside && (needed == 0 || n->length < 0 || (uint64_t)n->length != needed))
    return tl_air_fault(c, "a constant's length is not the size of its shape");
  if (have != needed && !n->outside)
    return tl_air_fault(c, "a constant's data does not have the size of its shape");
  return TL_OK;
}

/* Checks a list that describes ports. Loaders drop both lists of a pair if their lengths differ,
 * and all of them for an unknown kind of port. A byte below 0x80 ends a varint: their number is
 * that of the elements. */
static const char *ports_problem(int which, tl_air_bytes list, tl_air_op_def *n) {
  unsigned most = which == INPUT_KINDS ? 2 : which == OUTPUT_KINDS ? 1 : 0xff;
  int64_t count = 0;
  tl_air_field f;
  while (tl_air_next_field(&list, &f)) {
    if (f.number == TL_LIST_TYPE && f.value)
      return "a bookkeeping list has a val_type";
    count += f.number == TL_LIST_S;
    for (const unsigned char *p = f.body.p; f.number == TL_LIST_I && p < f.body.end; p++) {
      count += *p < 0x80;
      if (*p > most)
        return "a malformed list of port kinds";
    }
  }
  if (which < 2 * TL_AIR_PAIRS)
    n->unpaired[which / 2] += which % 2 ? -count : count;
  return list.p == list.end ? NULL : "a malformed list";
}

/* The form in which the wire has each kind of value that loaders read, + 1; 0: they read none. Some
 * are only carried from a file that was read. */
static const uint8_t forms[] = {
    [TL_ATTRDEF_LIST] = TL_WIRE_LENGTH + 1, [TL_ATTRDEF_S] = TL_WIRE_LENGTH + 1,
    [TL_ATTRDEF_I] = TL_WIRE_VARINT + 1,    [TL_ATTRDEF_F] = TL_WIRE_FIXED32 + 1,
    [TL_ATTRDEF_B] = TL_WIRE_VARINT + 1,    [TL_ATTRDEF_BT] = TL_WIRE_LENGTH + 1,
    [TL_ATTRDEF_FUNC] = TL_WIRE_LENGTH + 1, [TL_ATTRDEF_TD] = TL_WIRE_LENGTH + 1,
    [TL_ATTRDEF_T] = TL_WIRE_LENGTH + 1, /* check_attr looks at those of nodes */
    [TL_ATTRDEF_G] = TL_WIRE_LENGTH + 1,    [TL_ATTRDEF_LIST_LIST_INT] = TL_WIRE_LENGTH + 1,
    [TL_ATTRDEF_DT] = TL_WIRE_VARINT + 1,   [TL_ATTRDEF_LIST_LIST_FLOAT] = TL_WIRE_LENGTH + 1};

const char *tl_air_value_problem(tl_air_bytes key, tl_air_bytes value, tl_air_op_def *n) {
  tl_air_field f;
  if (!tl_air_next_field(&value, &f))
    return "an attribute without a value would be dropped";
  if (value.p != value.end)
    return "an attribute with two values";
  if (f.number >= sizeof forms || f.wire + 1 != forms[f.number])
    return "an attribute of a kind or form that loaders cannot read";
  if (f.number != TL_ATTRDEF_LIST)
    return NULL;
  int which = n ? tl_air_bookkeeping(key) : -1;
  return which < 0 ? list_problem(f.body) : ports_problem(which, f.body, n);
}

int tl_air_unpaired(const tl_air_op_def *n) {
  for (int i = 0; i < TL_AIR_PAIRS; i++)
    if (n->unpaired[i])
      return 2 * i;
  return -1;
}

/* n: the node it belongs to; NULL in other maps. */
static tl_status check_attr(const tl_air_checker *c, tl_air_bytes key, tl_air_bytes value,
                            tl_air_op_def *n) {
  const char *problem = tl_air_value_problem(key, value, n);
  if (problem)
    return tl_air_fault(c, problem);
  bool tensor = n && *value.p == (TL_ATTRDEF_T << 3 | TL_WIRE_LENGTH);
  return tensor ? check_tensor(c, tl_air_find_field(value, TL_ATTRDEF_T).body, n) : TL_OK;
}

/* Remembers the attributes that later checks of the node need. */
static void note_attr(tl_air_op_def *n, tl_air_bytes key, tl_air_bytes value) {
  if (tl_air_length(key) < 5 || tl_air_length(key) > 8)
    return;
  if (tl_air_is_text(key, "value"))
    n->value = value;
  else if (tl_air_is_text(key, "location"))
    n->outside = true;
  else if (tl_air_is_text(key, "length"))
    n->length = (int64_t)tl_air_find_field(value, TL_ATTRDEF_I).value;
  else if (tl_air_is_text(key, "index"))
    n->index = (int64_t)tl_air_find_field(value, TL_ATTRDEF_I).value;
}

/* Keys must ascend, which also makes them unique. */
tl_status tl_air_check_entry(const tl_air_checker *c, tl_air_bytes entry, tl_air_bytes *last,
                             tl_air_op_def *n) {
  tl_air_bytes key;
  tl_air_bytes value;
  if (!tl_air_open_entry(entry, &key, &value))
    return tl_air_fault(c, "a malformed attribute entry");
  if (n)
    note_attr(n, key, value);
  tl_sv a = {(const char *)last->p, last->p ? tl_air_length(*last) : 0};
  if (last->p && tl_sv_compare(a, (tl_sv){(const char *)key.p, tl_air_length(key)}) >= 0)
    return tl_air_fault(c, "attributes out of order");
  *last = key;
  return check_attr(c, key, value, n);
}

/* Reads dims; *elements is their product, valid if *known. -1 is an unknown dim, and a single -2 an
 * unknown rank. */
static tl_status check_shape(const tl_air_checker *c, tl_air_bytes shape, uint64_t *elements,
                             bool *known) {
  tl_air_field f = tl_air_find_field(shape, 1);
  tl_air_bytes dims = f.body;
  uint64_t n_dims = 0;
  bool unknown_rank = false;
  *elements = 1;
  *known = true;
  while (dims.p < dims.end) {
    uint64_t v;
    if (!tl_air_read_varint(&dims, &v))
      return tl_air_fault(c, "a malformed shape");
    n_dims++;
    if ((int64_t)v < -2)
      return tl_air_fault(c, "a dim below -2");
    unknown_rank = unknown_rank || (int64_t)v == -2;
    *known = *known && (int64_t)v >= 0;
    if (*known && __builtin_mul_overflow(*elements, v, elements))
      return tl_air_fault(c, "a shape beyond 64 bits");
  }
  return unknown_rank && n_dims != 1 ? tl_air_fault(c, "unknown rank among dims") : TL_OK;
}

/* Checks a desc that is not in the cache. */
static tl_status read_desc(const tl_air_checker *c, tl_air_bytes desc, uint64_t *needed_bits) {
  tl_air_bytes last = {0};
  uint64_t dtype = 0;
  uint64_t elements = 1;
  bool known = true;
  bool layout = false;
  tl_air_field f;
  while (tl_air_next_field(&desc, &f)) {
    if (f.number == TL_DESC_DTYPE)
      dtype = f.value;
    else if (f.number == TL_DESC_SHAPE)
      TL_TRY(check_shape(c, f.body, &elements, &known));
    else if (f.number == TL_DESC_ATTR)
      TL_TRY(tl_air_check_entry(c, f.body, &last, NULL));
    layout = layout || f.number == TL_DESC_LAYOUT;
  }
  if (desc.p != desc.end || !layout)
    return tl_air_fault(c, "a malformed tensor desc");
  if (dtype > TL_AIR_MAX_DTYPE || (dtype && !c->known[dtype]))
    return tl_air_fault(c, "an unknown dtype");
  *needed_bits = UINT64_MAX;
  if (known && c->bits[dtype] && __builtin_mul_overflow(elements, c->bits[dtype], needed_bits))
    return tl_air_fault(c, "a tensor beyond 64 bits");
  return TL_OK;
}

/* Returns the cache slot of a desc. Its first 16 bytes are dtype and shape, which mostly differ. */
static tl_air_good_desc *good_slot(const tl_air_checker *c, tl_air_bytes desc) {
  size_t n = tl_air_length(desc) < 16 ? tl_air_length(desc) : 16;
  return &c->good[tl_hash_bytes(desc.p, n, 3) % TL_AIR_GOOD_DESCS];
}

tl_status tl_air_check_desc(const tl_air_checker *c, tl_air_bytes desc, uint64_t *needed_bits) {
  tl_air_good_desc *good = good_slot(c, desc);
  if (good->desc.p && tl_air_same(good->desc, desc)) {
    *needed_bits = good->bits;
    return TL_OK;
  }
  TL_TRY(read_desc(c, desc, needed_bits));
  *good = (tl_air_good_desc){desc, *needed_bits};
  return TL_OK;
}
