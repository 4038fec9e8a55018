/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf fields in a buffer. A nested message is written in place and its length patched when it
 * is closed. One large byte field of the message may stay outside: the buffer remembers where it
 * goes and counts its bytes in every enclosing length, so weights are never copied here. */
#ifndef TL_BACKEND_AIR_ENCODE_H
#define TL_BACKEND_AIR_ENCODE_H

#include "backend/wire.h"
#include "ir/tensor.h"

typedef struct tl_encoder {
  unsigned char *p; /* owned */
  size_t n;
  size_t cap;
  const tl_tensor *hole; /* borrowed; data that belongs at hole_at, NULL: none */
  size_t hole_at;
  bool failed; /* memory ran out; contents are incomplete */
} tl_encoder;

enum { TL_WIRE_VARINT = 0, TL_WIRE_LENGTH = 2, TL_WIRE_FIXED32 = 5 };

void tl_encoder_release(tl_encoder *b);
static inline void tl_encoder_clear(tl_encoder *b) {
  b->n = 0;
  b->hole = NULL;
}
/* Bytes of the message, the outside field included. */
static inline uint64_t tl_encoder_size(const tl_encoder *b) {
  return b->n + (b->hole ? b->hole->bytes : 0);
}

void tl_encode_raw(tl_encoder *b, const void *p, size_t n);
void tl_encode_varint(tl_encoder *b, uint64_t v);
/* Fields of the three wire types in use; always written, defaults included. */
void tl_encode_int(tl_encoder *b, unsigned field, int64_t v);
void tl_encode_float(tl_encoder *b, unsigned field, float v);
void tl_encode_bytes(tl_encoder *b, unsigned field, tl_sv v);
static inline void tl_encode_z(tl_encoder *b, unsigned field, const char *z) {
  tl_encode_bytes(b, field, tl_sv_from(z));
}
/* Packed integers and floats; nothing for n == 0. */
void tl_encode_ints(tl_encoder *b, unsigned field, const int64_t *v, uint32_t n);
void tl_encode_floats(tl_encoder *b, unsigned field, const float *v, uint32_t n);
/* A byte field with the data of a tensor; tensors beyond 4096 bytes become the outside field,
 * unless there is one already. */
void tl_encode_tensor(tl_encoder *b, unsigned field, const tl_tensor *t);
/* A nested message: open returns what close wants. */
size_t tl_encode_open(tl_encoder *b, unsigned field);
void tl_encode_close(tl_encoder *b, size_t at);

#endif
