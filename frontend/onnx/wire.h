/* SPDX-License-Identifier: Apache-2.0 */
/* Walks protobuf messages in place. Every length is checked against the enclosing message before it
 * is believed; groups, which no ONNX message has, are refused. Nothing is copied or allocated. */
#ifndef TL_FRONTEND_ONNX_WIRE_H
#define TL_FRONTEND_ONNX_WIRE_H

#include "support/str.h"

enum { TL_WIRE_VARINT = 0, TL_WIRE_FIXED64 = 1, TL_WIRE_BYTES = 2, TL_WIRE_FIXED32 = 5 };

/* A message, or what is left of it. */
typedef struct tl_proto {
  const unsigned char *p;
  const unsigned char *end;
} tl_proto;

typedef struct tl_field {
  uint32_t number;
  uint32_t type;
  uint64_t value;             /* VARINT and FIXED kinds */
  tl_proto body;              /* BYTES */
  const unsigned char *start; /* of the tag; the field ends where the walk goes on */
} tl_field;

typedef enum tl_step { TL_STEP_BAD = -1, TL_STEP_END = 0, TL_STEP_FIELD = 1 } tl_step;

/* Takes the next field off *w. BAD: w->p is where the message is malformed. */
tl_step tl_proto_next(tl_proto *w, tl_field *f);
/* Takes a varint; false when it is cut off or longer than 10 bytes. */
bool tl_proto_varint(tl_proto *w, uint64_t *out);

/* Number and wire type in one, for switches: a known number with a foreign wire type then falls to
 * the default, as protobuf readers treat it (an unknown field). */
#define TL_TAG(number, type) ((number) << 3 | (type))
static inline uint32_t tl_field_tag(const tl_field *f) { return f->number << 3 | f->type; }
static inline tl_sv tl_proto_sv(tl_proto w) {
  return (tl_sv){(const char *)w.p, (size_t)(w.end - w.p)};
}
static inline size_t tl_proto_left(const tl_proto *w) { return (size_t)(w->end - w->p); }

/* Calls `each` for every number of a repeated field: one element as VARINT or FIXED, or a packed
 * run. size: bytes of a fixed element (4, 8), 0 for varints. False when malformed or `each` says
 * so. */
typedef bool (*tl_wire_number_fn)(void *user, uint64_t value);
bool tl_proto_numbers(const tl_field *f, uint32_t size, tl_wire_number_fn each, void *user);

#endif
