/* SPDX-License-Identifier: Apache-2.0 */
/* Walks protobuf messages in place, without copies or allocations.
 * Every length is checked against the enclosing message before use. Groups, which neither
 * ONNX nor GE has, are refused. */
#ifndef TL_FRONTEND_WIRE_WIRE_H
#define TL_FRONTEND_WIRE_WIRE_H

#include "support/str.h"

enum { TL_WIRE_VARINT = 0, TL_WIRE_FIXED64 = 1, TL_WIRE_BYTES = 2, TL_WIRE_FIXED32 = 5 };

/* A message, or what is left of it. */
typedef struct tl_proto {
  const unsigned char *p;
  const unsigned char *end;
} tl_proto;

/* One field of a message. */
typedef struct tl_field {
  uint32_t number;
  uint32_t type;
  uint64_t value;             /* VARINT and FIXED kinds */
  tl_proto body;              /* BYTES */
  const unsigned char *start; /* of the tag; the field ends where the walk goes on */
} tl_field;

/* Outcome of tl_proto_next. */
typedef enum tl_step { TL_STEP_BAD = -1, TL_STEP_END = 0, TL_STEP_FIELD = 1 } tl_step;

/* Reads the next field and advances *w. TL_STEP_BAD: w->p is where the message is malformed. */
tl_step tl_proto_next(tl_proto *w, tl_field *f);
/* Reads a varint of at most two bytes; false for a longer one. p has two bytes. */
static inline bool tl_proto_short(const unsigned char **p, uint32_t *out) {
  uint32_t low = (*p)[0], high = (*p)[1];
  bool two = low >= 0x80;
  *out = two ? (low & 0x7f) | high << 7 : low;
  *p += two ? 2 : 1;
  return !two || high < 0x80;
}
/* As tl_proto_next, for loops over many fields: those with a short tag and length are read here. */
static inline tl_step tl_proto_step(tl_proto *w, tl_field *f) {
  enum { LONGEST = 4 }; /* tag and length */
  const unsigned char *p = w->p;
  uint32_t tag, length;
  if (p == w->end)
    return TL_STEP_END;
  if (w->end - p < LONGEST || !tl_proto_short(&p, &tag) || (tag & 7) != TL_WIRE_BYTES || tag < 8 ||
      !tl_proto_short(&p, &length) || length > (size_t)(w->end - p))
    return tl_proto_next(w, f);
  f->start = w->p;
  f->number = tag >> 3;
  f->type = TL_WIRE_BYTES;
  f->value = length;
  f->body = (tl_proto){p, p + length};
  w->p = f->body.end;
  return TL_STEP_FIELD;
}
/* Reads a varint and advances *w; false if it is cut off or longer than 10 bytes. */
bool tl_proto_varint(tl_proto *w, uint64_t *out);

/* Combines number and wire type for switches. A known number with another wire type goes to the
 * default case: protobuf readers treat it as an unknown field. */
#define TL_TAG(number, type) ((number) << 3 | (type))
static inline uint32_t tl_field_tag(const tl_field *f) { return f->number << 3 | f->type; }
/* Returns the bytes of a message as a view. */
static inline tl_sv tl_proto_sv(tl_proto w) {
  return (tl_sv){(const char *)w.p, (size_t)(w.end - w.p)};
}
/* Returns the bytes that are left of a message. */
static inline size_t tl_proto_left(const tl_proto *w) { return (size_t)(w->end - w->p); }

/* Calls `each` for every number of a repeated field, which is one element (VARINT or FIXED) or a
 * packed run. size: bytes of a fixed element (4 or 8), 0 for varints. False if the field is
 * malformed or `each` returns false. */
typedef bool (*tl_wire_number_fn)(void *user, uint64_t value);
bool tl_proto_numbers(const tl_field *f, uint32_t size, tl_wire_number_fn each, void *user);

#endif
