/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes protobuf fields into a growing buffer, one node of an AIR file at a time.
 * A nested message is written in place, and its length is patched when it is closed. The data of
 * one large tensor per buffer stays outside (the "hole"): the buffer remembers where the data goes
 * and counts its bytes in every enclosing length, so large weights are not copied here. Errors are
 * sticky in `failed`, and the functions do nothing useful after one. */
#ifndef TL_BACKEND_AIR_ENCODE_H
#define TL_BACKEND_AIR_ENCODE_H

#include "backend/wire.h"
#include "ir/tensor.h"

/* A buffer with one encoded message. */
typedef struct tl_encoder {
  unsigned char *p; /* owned */
  size_t n;
  size_t cap;
  const tl_tensor *hole; /* borrowed; tensor whose data belongs at hole_at; NULL: none */
  size_t hole_at;        /* offset in p */
  bool failed;           /* memory ran out; contents are incomplete */
} tl_encoder;

enum { TL_WIRE_VARINT = 0, TL_WIRE_LENGTH = 2, TL_WIRE_FIXED32 = 5 };

/* Frees the buffer and resets *b. */
void tl_encoder_release(tl_encoder *b);
/* Empties the buffer; keeps its memory, and keeps `failed`. */
static inline void tl_encoder_clear(tl_encoder *b) {
  b->n = 0;
  b->hole = NULL;
}
/* Returns the bytes of the message, including the data of the hole. */
static inline uint64_t tl_encoder_size(const tl_encoder *b) {
  return b->n + (b->hole ? b->hole->bytes : 0);
}

/* Appends n bytes that are encoded already. */
void tl_encode_raw(tl_encoder *b, const void *p, size_t n);
/* Appends a number without a tag. */
void tl_encode_varint(tl_encoder *b, uint64_t v);
/* Append a field with its tag: a varint, a 32-bit float, or bytes. Default values are written too.
 */
void tl_encode_int(tl_encoder *b, unsigned field, int64_t v);
void tl_encode_float(tl_encoder *b, unsigned field, float v);
void tl_encode_bytes(tl_encoder *b, unsigned field, tl_sv v);
static inline void tl_encode_z(tl_encoder *b, unsigned field, const char *z) {
  tl_encode_bytes(b, field, tl_sv_from(z));
}
/* Append a packed list of n integers or floats; nothing for n == 0. */
void tl_encode_ints(tl_encoder *b, unsigned field, const int64_t *v, uint32_t n);
void tl_encode_floats(tl_encoder *b, unsigned field, const float *v, uint32_t n);
/* Appends a byte field with the data of a tensor. A tensor beyond 4096 bytes becomes the hole
 * unless there is one already. */
void tl_encode_tensor(tl_encoder *b, unsigned field, const tl_tensor *t);
/* Open and close a nested message. Open returns the offset of its contents, which close takes. */
size_t tl_encode_open(tl_encoder *b, unsigned field);
void tl_encode_close(tl_encoder *b, size_t at);

#endif
