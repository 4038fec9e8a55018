/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the appending of protobuf fields (build.h). */
#include "frontend/wire/build.h"

#include "frontend/wire/wire.h"

enum { VARINT_MAX = 10 };

static size_t put_varint(unsigned char *p, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7)
    p[n++] = (unsigned char)(v | 0x80);
  p[n++] = (unsigned char)v;
  return n;
}

void tl_build_varint(tl_buf *b, uint64_t v) {
  unsigned char room[VARINT_MAX];
  tl_buf_add(b, room, put_varint(room, v));
}

void tl_build_int(tl_buf *b, uint32_t field, int64_t v) {
  tl_build_varint(b, TL_TAG(field, TL_WIRE_VARINT));
  tl_build_varint(b, (uint64_t)v);
}

void tl_build_bare_float(tl_buf *b, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  unsigned char room[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                           (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
  tl_buf_add(b, room, sizeof room);
}

void tl_build_float(tl_buf *b, uint32_t field, float v) {
  tl_build_varint(b, TL_TAG(field, TL_WIRE_FIXED32));
  tl_build_bare_float(b, v);
}

void tl_build_bytes(tl_buf *b, uint32_t field, tl_sv s) {
  tl_build_varint(b, TL_TAG(field, TL_WIRE_BYTES));
  tl_build_varint(b, s.n);
  tl_buf_add_sv(b, s);
}

size_t tl_build_open(tl_buf *b, uint32_t field) {
  tl_build_varint(b, TL_TAG(field, TL_WIRE_BYTES));
  tl_buf_add_char(b, 0); /* the length, if it is below 128 */
  return b->n;
}

void tl_build_close(tl_buf *b, size_t start) {
  unsigned char head[VARINT_MAX];
  if (b->failed)
    return;
  size_t length = b->n - start;
  size_t n = put_varint(head, length);
  tl_buf_add(b, head, n - 1); /* makes room */
  if (b->failed)
    return;
  if (n > 1)
    memmove(b->p + start - 1 + n, b->p + start, length);
  memcpy(b->p + start - 1, head, n);
}
