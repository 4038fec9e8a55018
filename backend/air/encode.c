/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the protobuf buffer of the AIR writer (encode.h). */
#include "backend/air/encode.h"

#include "ir/tensor_expr.h"

/* FIRST_BYTES: first capacity. INLINE_BYTES: largest tensor that is copied in any case. MAX_VARINT:
 * a 64-bit number in groups of 7 bits. */
enum { FIRST_BYTES = 16384, INLINE_BYTES = 4096, MAX_VARINT = 10 };

void tl_encoder_release(tl_encoder *b) {
  free(b->p);
  *b = (tl_encoder){0};
}

/* Doubles the capacity until `more` bytes fit; stops before the size could overflow. */
static bool grow(tl_encoder *b, size_t more) {
  size_t cap = b->cap ? b->cap : FIRST_BYTES;
  while (cap - b->n < more && cap <= SIZE_MAX / 2)
    cap *= 2;
  unsigned char *p = cap - b->n < more ? NULL : realloc(b->p, cap);
  if (!p) {
    b->failed = true;
    return false;
  }
  b->p = p;
  b->cap = cap;
  return true;
}

/* Returns true if `more` bytes fit, after growing the buffer if they do not. */
static inline bool has_room(tl_encoder *b, size_t more) {
  return b->cap - b->n >= more || grow(b, more);
}

/* Writes a varint at p, low groups first, and returns the position behind it. */
static inline unsigned char *put_varint(unsigned char *p, uint64_t v) {
  while (v >= 0x80) {
    *p++ = (unsigned char)(v | 0x80);
    v >>= 7;
  }
  *p++ = (unsigned char)v;
  return p;
}

void tl_encode_raw(tl_encoder *b, const void *p, size_t n) {
  if (n == 0 || !has_room(b, n))
    return;
  memcpy(b->p + b->n, p, n);
  b->n += n;
}

void tl_encode_varint(tl_encoder *b, uint64_t v) {
  if (!has_room(b, MAX_VARINT))
    return;
  if (v < 0x80)
    b->p[b->n++] = (unsigned char)v;
  else
    b->n = (size_t)(put_varint(b->p + b->n, v) - b->p);
}

void tl_encode_int(tl_encoder *b, unsigned field, int64_t v) {
  if (!has_room(b, 2 * MAX_VARINT))
    return;
  unsigned char *p = put_varint(b->p + b->n, (uint64_t)field << 3 | TL_WIRE_VARINT);
  b->n = (size_t)(put_varint(p, (uint64_t)v) - b->p);
}

void tl_encode_float(tl_encoder *b, unsigned field, float v) {
  tl_encode_varint(b, (uint64_t)field << 3 | TL_WIRE_FIXED32);
  tl_order_turn(TL_DTYPE_F32, &v, sizeof v);
  tl_encode_raw(b, &v, sizeof v);
}

void tl_encode_bytes(tl_encoder *b, unsigned field, tl_sv v) {
  if (!has_room(b, 2 * MAX_VARINT + v.n))
    return;
  unsigned char *p = put_varint(b->p + b->n, (uint64_t)field << 3 | TL_WIRE_LENGTH);
  p = put_varint(p, v.n);
  if (v.n)
    memcpy(p, v.p, v.n);
  b->n = (size_t)(p - b->p) + v.n;
}

void tl_encode_ints(tl_encoder *b, unsigned field, const int64_t *v, uint32_t n) {
  if (n == 0)
    return;
  size_t at = tl_encode_open(b, field);
  for (uint32_t i = 0; i < n; i++)
    tl_encode_varint(b, (uint64_t)v[i]);
  tl_encode_close(b, at);
}

void tl_encode_floats(tl_encoder *b, unsigned field, const float *v, uint32_t n) {
  if (n == 0)
    return;
  tl_encode_bytes(b, field, (tl_sv){(const char *)v, n * sizeof *v});
  if (!b->failed)
    tl_order_turn(TL_DTYPE_F32, b->p + b->n - n * sizeof *v, n * sizeof *v);
}

/* Copies the data of a tensor, one block of a view or of a computed tensor at a time. */
static void encode_blocks(tl_encoder *b, unsigned field, const tl_tensor *t) {
  tl_tensor_room room;
  size_t n;
  tl_encode_varint(b, (uint64_t)field << 3 | TL_WIRE_LENGTH);
  tl_encode_varint(b, t->bytes);
  for (uint64_t at = 0; at < t->bytes; at += n) {
    const void *p = tl_tensor_file_block(t, at, &room, &n);
    tl_encode_raw(b, p, n);
  }
}

void tl_encode_tensor(tl_encoder *b, unsigned field, const tl_tensor *t) {
  if (t->bytes <= INLINE_BYTES || b->hole) {
    encode_blocks(b, field, t);
    return;
  }
  tl_encode_varint(b, (uint64_t)field << 3 | TL_WIRE_LENGTH);
  tl_encode_varint(b, t->bytes);
  b->hole = t;
  b->hole_at = b->n;
}

/* Reserves one byte for the length, which suffices for most messages; tl_encode_close moves the
 * contents if the length needs more. */
size_t tl_encode_open(tl_encoder *b, unsigned field) {
  if (!has_room(b, MAX_VARINT + 1))
    return b->n;
  unsigned char *p = put_varint(b->p + b->n, (uint64_t)field << 3 | TL_WIRE_LENGTH);
  *p++ = 0;
  b->n = (size_t)(p - b->p);
  return b->n;
}

void tl_encode_close(tl_encoder *b, size_t at) {
  if (b->failed)
    return;
  /* A hole within the message counts for its length, although its data is not in the buffer. */
  bool holed = b->hole && b->hole_at >= at;
  uint64_t length = b->n - at + (holed ? b->hole->bytes : 0);
  if (length < 0x80) {
    b->p[at - 1] = (unsigned char)length;
    return;
  }
  size_t more = tl_varint_size(length) - 1;
  if (!has_room(b, more))
    return;
  memmove(b->p + at + more, b->p + at, b->n - at);
  put_varint(b->p + at - 1, length);
  b->n += more;
  b->hole_at += holed ? more : 0;
}
