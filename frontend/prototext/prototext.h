/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form of protobuf and makes the bytes that the wire format has for it, so that one
 * reader serves both. What a message may contain is said by tables. Nesting is bounded, and the
 * bytes are never many more than the text. */
#ifndef TL_FRONTEND_PROTOTEXT_PROTOTEXT_H
#define TL_FRONTEND_PROTOTEXT_PROTOTEXT_H

#include "support/diag.h"
#include "support/str.h"

enum { TL_TEXT_MAX_DEPTH = 100 }; /* most messages within each other, as in protobuf's own reader */

typedef enum tl_text_kind {
  TL_TEXT_BYTES,
  TL_TEXT_INT, /* any integer of up to 64 bits */
  TL_TEXT_BOOL,
  TL_TEXT_FLOAT,
  TL_TEXT_ENUM,
  TL_TEXT_MESSAGE,
  TL_TEXT_SKIPPED /* known, and not wanted */
} tl_text_kind;

/* Returns the number of a value of an enum, -1 for a name that it lacks. */
typedef int64_t (*tl_text_enum_fn)(tl_sv name);

/* A field of a message. */
typedef struct tl_text_field {
  const char *name;
  uint16_t number;
  uint8_t kind;  /* tl_text_kind */
  bool repeated; /* numbers are written packed */
  const struct tl_text_message *message;
  tl_text_enum_fn values;
} tl_text_field;

/* A kind of message. */
typedef struct tl_text_message {
  const char *name;
  const tl_text_field *fields;
  uint32_t n_fields;   /* at most 64 */
  uint32_t line_field; /* number of a field that gets the line of the text; 0: none */
  bool one_of;         /* has one of its fields, no more */
} tl_text_message;

/* Appends the bytes of a text to *out, of which what is written stays after a failure. Fields that
 * the tables lack are skipped with one warning. TL_INVALID_MODEL with line and column, TL_LIMIT
 * for nesting, TL_NO_MEMORY. O(bytes times depth). */
tl_status tl_prototext_encode(tl_diag *d, const char *path, tl_sv text, const tl_text_message *root,
                              tl_buf *out) TL_NODISCARD;

/* A field at the top of a text, or within its first messages. */
typedef struct tl_text_peek {
  tl_sv name;
  uint32_t depth; /* 0 at the top */
} tl_text_peek;

/* Calls `each` for the names of fields at depth 0 and 1, as far as the text is well-formed,
 * until it returns false. Returns false for a text that does not begin as protobuf text does. */
typedef bool (*tl_text_peek_fn)(void *user, tl_text_peek peek);
bool tl_prototext_peek(tl_sv text, tl_text_peek_fn each, void *user);

#endif
