/* SPDX-License-Identifier: Apache-2.0 */
/* Reads constants as views of the file, or of the files of weights beside it. */
#include "frontend/air/reader.h"

static tl_data_source source_of(tl_air_reader *r) {
  return (tl_data_source){.d = r->d,
                          .path = r->path,
                          .m = r->m,
                          .file = r->file,
                          .start = r->model.p,
                          .mode = r->mode,
                          .beside = r->beside,
                          .opened = &r->externals};
}

/* Starts a tensor of a type that must have a size. */
static tl_status start(tl_air_reader *r, tl_type_id type, tl_location where, tl_tensor *t) {
  uint64_t elements;
  *t = (tl_tensor){.type = type, .dtype = (uint8_t)tl_type_dtype(r->m, type)};
  if (!type || !tl_type_elements(r->m, type, &elements) ||
      !tl_dtype_bytes((tl_dtype)t->dtype, elements, &t->bytes))
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "a constant of unknown element type or size\va constant needs a desc with a "
                   "dtype and a shape without open dims");
  return TL_OK;
}

static tl_status add(tl_air_reader *r, const tl_tensor *t, tl_tensor_id *out) {
  *out = tl_tensor_add(r->m, t);
  return *out == TL_NO_TENSOR ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_air_outside(tl_air_reader *r, tl_type_id type, const tl_air_place *place,
                         tl_location where, tl_tensor_id *out) {
  tl_tensor t;
  TL_TRY(start(r, type, where, &t));
  uint64_t length = place->length ? (uint64_t)place->length : t.bytes;
  if (place->length < 0 || place->offset < 0 || length != t.bytes)
    return tl_fail(
        r->d, TL_INVALID_MODEL, where,
        "the weight in '%.*s' has offset %lld and length %lld, its shape needs %llu bytes",
        TL_SV_ARG(place->location), (long long)place->offset, (long long)place->length,
        (unsigned long long)t.bytes);
  tl_data_source source = source_of(r);
  TL_TRY(tl_data_beside(&source, place->location, (uint64_t)place->offset, where, &t));
  return add(r, &t, out);
}

/* Takes the data of a message: a view of the file, or of the caller's memory. */
static tl_status inside(tl_air_reader *r, tl_tensor *t, tl_proto data, tl_location where,
                        tl_tensor_id *out) {
  if (tl_proto_left(&data) != t->bytes)
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "the data of a constant has %llu bytes, its shape needs %llu",
                   (unsigned long long)tl_proto_left(&data), (unsigned long long)t->bytes);
  tl_data_source source = source_of(r);
  TL_TRY(tl_data_inside(&source, data.p, t));
  return add(r, t, out);
}

tl_status tl_air_tensor(tl_air_reader *r, tl_proto def, const tl_air_place *outside,
                        tl_location where, tl_tensor_id *out) {
  tl_proto desc = {def.end, def.end};
  tl_proto data = desc;
  tl_proto walk = def;
  tl_type_id type;
  tl_tensor t;
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&walk, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(TL_TENSORDEF_DESC, TL_WIRE_BYTES))
      desc = f.body;
    else if (tl_field_tag(&f) == TL_TAG(TL_TENSORDEF_DATA, TL_WIRE_BYTES))
      data = f.body;
  }
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, walk.p, "TensorDef");
  TL_TRY(tl_air_type(r, desc, where, &type));
  if (outside && outside->location.p)
    return tl_air_outside(r, type, outside, where, out);
  TL_TRY(start(r, type, where, &t));
  return inside(r, &t, data, where, out);
}
