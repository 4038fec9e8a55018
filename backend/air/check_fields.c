/* SPDX-License-Identifier: Apache-2.0 */
/* Reads protobuf fields of a finished file, as a loader does (check_fields.h). */
#include "backend/air/check_fields.h"

/* Most varints have one byte, so that case comes first. */
bool tl_air_read_varint(tl_air_bytes *b, uint64_t *out) {
  uint64_t v = 0;
  if (b->p < b->end && *b->p < 0x80) {
    *out = *b->p++;
    return true;
  }
  for (unsigned shift = 0; shift < 64 && b->p < b->end; shift += 7) {
    unsigned char byte = *b->p++;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = v;
      return true;
    }
  }
  return false;
}

/* A key has 3 bits of wire type, so a key beyond 35 bits has a field number beyond 32 bits.
 * Malformed bytes leave b->p one byte before the end, which tells them from the end of the
 * message. */
bool tl_air_next_any_field(tl_air_bytes *b, tl_air_field *f) {
  uint64_t key;
  if (b->p == b->end || !tl_air_read_varint(b, &key))
    return false;
  f->number = (uint32_t)(key >> 3);
  f->wire = (uint32_t)(key & 7);
  f->body = (tl_air_bytes){b->p, b->p};
  if (f->number == 0 || key >> 35)
    return b->p = b->end - 1, false;
  if (f->wire == TL_WIRE_VARINT)
    return tl_air_read_varint(b, &f->value);
  uint64_t n = 4;
  if (f->wire != TL_WIRE_FIXED32 && (f->wire != TL_WIRE_LENGTH || !tl_air_read_varint(b, &n)))
    return b->p = b->end - 1, false;
  if (n > (uint64_t)(b->end - b->p))
    return b->p = b->end - 1, false;
  f->body = (tl_air_bytes){b->p, b->p + n};
  b->p += n;
  return true;
}

tl_air_field tl_air_find_field(tl_air_bytes message, uint32_t number) {
  tl_air_field f;
  while (tl_air_next_field(&message, &f))
    if (f.number == number)
      return f;
  return (tl_air_field){0};
}

bool tl_air_open_entry(tl_air_bytes entry, tl_air_bytes *key, tl_air_bytes *value) {
  tl_air_field f;
  if (!tl_air_next_field(&entry, &f) || f.number != 1)
    return false;
  *key = f.body;
  if (!tl_air_next_field(&entry, &f) || f.number != 2)
    return false;
  *value = f.body;
  return entry.p == entry.end;
}
