/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tensor descriptors as types. */
#include "frontend/air/reader.h"

#include "support/hash.h"

enum { UNKNOWN_RANK = -2, GE_LAST_DTYPE = 41 };

/* Returns the dtype of a serialized number; NONE for the undefined one and for one without a
 * counterpart. */
static tl_dtype dtype_of(uint64_t number) {
  for (tl_dtype d = TL_DTYPE_F32; number && d < TL_N_DTYPES; d++)
    if (tl_dtype_get(d)->ge_proto >= 0 && (uint64_t)tl_dtype_get(d)->ge_proto == number)
      return d;
  return TL_DTYPE_NONE;
}

static bool push_dim(void *user, uint64_t value) { return tl_i64_vec_push(user, (int64_t)value); }

static tl_status read_dims(tl_air_reader *r, tl_proto shape) {
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&shape, &f)) == TL_STEP_FIELD)
    if (f.number == TL_SHAPE_DIM && !tl_proto_numbers(&f, 0, push_dim, &r->numbers))
      return tl_air_malformed(r, f.start, "ShapeDef");
  return step == TL_STEP_BAD ? tl_air_malformed(r, shape.p, "ShapeDef") : TL_OK;
}

/* Puts the names of open dims back, which our writer notes beside the shape. */
static void name_dims(tl_air_reader *r, tl_proto desc) {
  tl_proto value;
  tl_field f;
  uint32_t i = 0;
  if (!tl_air_find(desc, TL_DESC_ATTR, "_tailor_dim_names", &value) ||
      tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    return;
  tl_proto list = f.body;
  for (; tl_proto_next(&list, &f) == TL_STEP_FIELD && i < r->numbers.n;)
    if (tl_field_tag(&f) == TL_TAG(TL_LIST_S, TL_WIRE_BYTES)) {
      if (r->numbers.at[i] == -1 && tl_proto_left(&f.body))
        r->numbers.at[i] = tl_dim_named(r->m, tl_proto_sv(f.body));
      i++;
    }
}

/* Returns false for a shape that no tensor has: a dim below -1, or too many of them. A single -2 is
 * an unknown rank. */
static bool settle_rank(const tl_air_reader *r, int *rank) {
  *rank = (int)r->numbers.n;
  if (r->numbers.n == 1 && r->numbers.at[0] == UNKNOWN_RANK) {
    *rank = TL_RANK_UNKNOWN;
    return true;
  }
  for (uint32_t i = 0; i < r->numbers.n; i++)
    if (r->numbers.at[i] < -1)
      return false;
  return r->numbers.n <= TL_MAX_RANK;
}

/* Reads dtype and shape. *number: the dtype of the file. */
static tl_status read_type(tl_air_reader *r, tl_proto desc, tl_location where, uint64_t *number,
                           tl_type_id *out) {
  tl_proto walk = desc;
  tl_field f;
  tl_step step;
  int rank;
  bool noted = false;
  r->numbers.n = 0;
  *number = 0;
  while ((step = tl_proto_next(&walk, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(TL_DESC_DTYPE, TL_WIRE_VARINT))
      *number = f.value;
    else if (tl_field_tag(&f) == TL_TAG(TL_DESC_SHAPE, TL_WIRE_BYTES))
      TL_TRY(read_dims(r, f.body));
    noted = noted || f.number == TL_DESC_ATTR;
  }
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "TensorDescriptor");
  if (!settle_rank(r, &rank))
    return tl_fail(
        r->d, TL_INVALID_MODEL, where,
        "a shape has a dim below -1 or more than %d dims\vGE writes -1 for an open size, "
        "and the single dim -2 for an unknown rank",
        (int)TL_MAX_RANK);
  if (noted && rank > 0)
    name_dims(r, desc);
  tl_dtype dtype = dtype_of(*number);
  *out = TL_NO_TYPE;
  if (dtype == TL_DTYPE_NONE)
    return TL_OK;
  *out = tl_type_tensor(r->m, dtype, rank, rank > 0 ? r->numbers.at : NULL);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Models have few distinct descs, so each is read once. The first bytes are dtype and shape. */
static tl_air_desc *room_of(tl_air_reader *r, tl_proto desc) {
  enum { HEAD = 40 };
  size_t n = tl_proto_left(&desc);
  uint64_t hash = tl_hash_bytes(desc.p, n < HEAD ? n : HEAD, n);
  return &r->descs[hash % TL_AIR_DESCS];
}

tl_status tl_air_desc_read(tl_air_reader *r, tl_proto desc, tl_location where, tl_air_desc *out) {
  tl_air_desc *room = room_of(r, desc);
  size_t n = tl_proto_left(&desc);
  uint64_t number;
  if (room->known && tl_proto_left(&room->bytes) == n && memcmp(room->bytes.p, desc.p, n) == 0) {
    *out = *room;
    return TL_OK;
  }
  *out = (tl_air_desc){.bytes = desc, .known = true};
  TL_TRY(read_type(r, desc, where, &number, &out->type));
  out->is_strange = number != 0 && number <= GE_LAST_DTYPE && out->type == TL_NO_TYPE;
  out->own = out->is_strange ? 0 : tl_air_own_formats(r, desc, out->type);
  *room = *out;
  return TL_OK;
}

tl_status tl_air_type(tl_air_reader *r, tl_proto desc, tl_location where, tl_type_id *out) {
  tl_air_desc d;
  TL_TRY(tl_air_desc_read(r, desc, where, &d));
  *out = d.type;
  return TL_OK;
}
