/* SPDX-License-Identifier: Apache-2.0 */
/* Reads protobuf fields of a finished file, for its self-check.
 * It knows the wire format but no message, and shares no code with the writer. */
#ifndef TL_BACKEND_AIR_CHECK_FIELDS_H
#define TL_BACKEND_AIR_CHECK_FIELDS_H

#include "backend/air/check_names.h"
#include "backend/air/encode.h"

/* One field of a message. */
typedef struct tl_air_field {
  uint32_t number;
  uint32_t wire;
  uint64_t value;    /* varint */
  tl_air_bytes body; /* length-delimited */
} tl_air_field;

/* Reads a varint and moves b->p behind it; false if it does not end. */
bool tl_air_read_varint(tl_air_bytes *b, uint64_t *out);

/* As tl_air_next_field, for fields of any form. */
bool tl_air_next_any_field(tl_air_bytes *b, tl_air_field *f);

/* Reads the next field and moves b->p behind it. False at the end, or on malformed bytes; then b->p
 * is not b->end. Most fields have a key of one byte, and a number or a length of one byte. */
static inline bool tl_air_next_field(tl_air_bytes *b, tl_air_field *f) {
  const unsigned char *p = b->p;
  if (b->end - p < 2 || p[0] >= 0x80 || p[0] < 8 || p[1] >= 0x80)
    return tl_air_next_any_field(b, f);
  f->number = p[0] >> 3;
  f->wire = p[0] & 7;
  f->value = p[1];
  if (f->wire == TL_WIRE_LENGTH && p[1] <= b->end - p - 2)
    f->body = (tl_air_bytes){p + 2, p + 2 + p[1]};
  else if (f->wire == TL_WIRE_VARINT)
    f->body = (tl_air_bytes){p + 2, p + 2};
  else
    return tl_air_next_any_field(b, f);
  b->p = f->body.end;
  return true;
}

/* Returns the first field of that number in a message; body.p is NULL if there is none. */
tl_air_field tl_air_find_field(tl_air_bytes message, uint32_t number);

/* Splits a map entry into key and value; false if it is not exactly that. */
bool tl_air_open_entry(tl_air_bytes entry, tl_air_bytes *key, tl_air_bytes *value);

/* Returns the number of bytes. */
static inline size_t tl_air_length(tl_air_bytes b) { return (size_t)(b.end - b.p); }

/* Returns true if the bytes are those of a text. */
static inline bool tl_air_is_text(tl_air_bytes b, const char *z) {
  return tl_air_length(b) == strlen(z) && memcmp(b.p, z, tl_air_length(b)) == 0;
}

#endif
