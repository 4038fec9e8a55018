/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the streaming of tensor data (data.h). */
#include "backend/data.h"

#include "ir/tensor_expr.h"
#include "support/fill.h"

/* Computes bytes [at, at + n). */
static void compute(const void *user, uint64_t at, size_t n, void *out) {
  const tl_tensor *t = user;
  size_t size = tl_dtype_get((tl_dtype)t->dtype)->bits / 8u;
  tl_tensor_read(t, at / size, n / size, out);
  tl_order_turn((tl_dtype)t->dtype, out, n);
}

/* Writes what memory has in long runs, in the byte order of files; returns the bytes of these. */
static uint64_t gather(tl_writer *out, const tl_tensor *t) {
  tl_sv runs[TL_MOST_RUNS];
  uint32_t k;
  uint64_t at = 0, n;
  while (!tl_order_differs((tl_dtype)t->dtype) &&
         (k = tl_tensor_runs(t, at, runs, TL_MOST_RUNS, &n)) != 0) {
    if (tl_writer_gather(out, runs, k) != TL_OK)
      break;
    at += n;
  }
  return at;
}

/* Little is computed straight into the writer's buffer, much by several threads. */
static tl_status put_expression(tl_writer *out, const tl_tensor *t) {
  uint64_t at = gather(out, t);
  size_t n;
  if (at == 0 && t->bytes >= TL_FILL_LEAST)
    return tl_writer_fill(out, t->bytes, compute, t);
  for (; at < t->bytes; at += n) {
    n = t->bytes - at < TL_TENSOR_BLOCK ? (size_t)(t->bytes - at) : TL_TENSOR_BLOCK;
    unsigned char *room = tl_writer_room(out, n);
    if (!room)
      return tl_writer_write(out, NULL, 0); /* its error */
    compute(t, at, n, room);
    tl_writer_advance(out, n);
  }
  return TL_OK;
}

tl_status tl_data_write_elements(tl_writer *out, tl_dtype d, const void *p, uint64_t bytes) {
  tl_tensor_room block;
  const unsigned char *from = p;
  if (!tl_order_differs(d))
    return tl_writer_write(out, p, (size_t)bytes);
  for (uint64_t n; bytes; bytes -= n, from += n) {
    n = bytes < TL_TENSOR_BLOCK ? bytes : TL_TENSOR_BLOCK;
    memcpy(block.bytes, from, (size_t)n);
    tl_order_turn(d, block.bytes, n);
    (void)tl_writer_write(out, block.bytes, (size_t)n);
  }
  return tl_writer_write(out, NULL, 0); /* its error */
}

tl_status tl_data_write(tl_writer *out, const tl_tensor *t) {
  if (t->kind == TL_SOURCE_FILE)
    return tl_writer_copy(out, t->u.view.file, t->u.view.offset, t->bytes);
  if (t->kind == TL_SOURCE_BYTES)
    return tl_data_write_elements(out, (tl_dtype)t->dtype, t->u.data, t->bytes);
  return t->kind == TL_SOURCE_EXPR ? put_expression(out, t) : TL_OK;
}

/* Appends the bytes of a computed tensor. The counting sweep needs its size only and computes
 * nothing. */
static void put_computed(tl_wire *w, const tl_tensor *t) {
  if (!w->out) {
    tl_wire_raw(w, NULL, t->bytes); /* only counted */
    return;
  }
  tl_writer *out = tl_wire_direct(w);
  w->failed = !out || put_expression(out, t) != TL_OK;
}

void tl_wire_tensor(tl_wire *w, uint32_t field, const tl_tensor *t) {
  switch ((tl_source_kind)t->kind) {
  case TL_SOURCE_BYTES: tl_wire_elements(w, field, (tl_dtype)t->dtype, t->u.data, t->bytes); break;
  case TL_SOURCE_FILE: tl_wire_view(w, field, t->u.view.file, t->u.view.offset, t->bytes); break;
  case TL_SOURCE_EXPR:
    tl_wire_begin(w, field);
    put_computed(w, t);
    tl_wire_end(w);
    break;
  case TL_SOURCE_STRINGS: break;
  }
}
