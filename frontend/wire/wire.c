/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reading of the protobuf wire format (wire.h). */
#include "frontend/wire/wire.h"

bool tl_proto_varint(tl_proto *w, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && w->p < w->end; shift += 7) {
    unsigned char byte = *w->p++;
    value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return false;
}

/* Fast path for one byte: tags and lengths of almost every field fit in one. */
static inline bool take_varint(tl_proto *w, uint64_t *out) {
  if (w->p < w->end && *w->p < 0x80) {
    *out = *w->p++;
    return true;
  }
  return tl_proto_varint(w, out);
}

static bool take_fixed(tl_proto *w, uint32_t size, uint64_t *out) {
  if (tl_proto_left(w) < size)
    return false;
  uint64_t value = 0;
  for (uint32_t i = 0; i < size; i++)
    value |= (uint64_t)w->p[i] << (8 * i);
  w->p += size;
  *out = value;
  return true;
}

tl_step tl_proto_next(tl_proto *w, tl_field *f) {
  uint64_t tag;
  if (w->p == w->end)
    return TL_STEP_END;
  f->start = w->p;
  if (!take_varint(w, &tag) || tag >> 32 || tag >> 3 == 0)
    return TL_STEP_BAD;
  f->number = (uint32_t)(tag >> 3);
  f->type = (uint32_t)tag & 7;
  switch (f->type) {
  case TL_WIRE_VARINT: return take_varint(w, &f->value) ? TL_STEP_FIELD : TL_STEP_BAD;
  case TL_WIRE_FIXED64: return take_fixed(w, 8, &f->value) ? TL_STEP_FIELD : TL_STEP_BAD;
  case TL_WIRE_FIXED32: return take_fixed(w, 4, &f->value) ? TL_STEP_FIELD : TL_STEP_BAD;
  case TL_WIRE_BYTES:
    if (!take_varint(w, &f->value) || f->value > tl_proto_left(w))
      return TL_STEP_BAD;
    f->body = (tl_proto){w->p, w->p + f->value};
    w->p += f->value;
    return TL_STEP_FIELD;
  default: return TL_STEP_BAD;
  }
}

bool tl_proto_numbers(const tl_field *f, uint32_t size, tl_wire_number_fn each, void *user) {
  if (f->type != TL_WIRE_BYTES)
    return each(user, f->value);
  tl_proto run = f->body;
  while (run.p < run.end) {
    uint64_t value;
    if (!(size ? take_fixed(&run, size, &value) : take_varint(&run, &value)) || !each(user, value))
      return false;
  }
  return true;
}
