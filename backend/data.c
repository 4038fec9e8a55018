/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the streaming of tensor data (data.h). */
#include "backend/data.h"

#include "ir/tensor_expr.h"

tl_status tl_data_write(tl_writer *out, const tl_tensor *t) {
  tl_tensor_room room;
  size_t n;
  if (t->kind == TL_SOURCE_FILE)
    return tl_writer_copy(out, t->u.view.file, t->u.view.offset, t->bytes);
  for (uint64_t at = 0; at < t->bytes; at += n) {
    const void *p = tl_tensor_block(t, at, &room, &n);
    TL_TRY(tl_writer_write(out, p, n));
  }
  return TL_OK;
}

/* Appends the bytes of a computed tensor. The counting sweep needs its size only and computes
 * nothing. */
static void put_computed(tl_wire *w, const tl_tensor *t) {
  tl_tensor_room room;
  size_t n;
  if (!w->out) {
    tl_wire_raw(w, NULL, t->bytes); /* only counted */
    return;
  }
  for (uint64_t at = 0; at < t->bytes && !w->failed; at += n) {
    const void *p = tl_tensor_block(t, at, &room, &n);
    tl_wire_raw(w, p, n);
  }
}

void tl_wire_tensor(tl_wire *w, uint32_t field, const tl_tensor *t) {
  switch ((tl_source_kind)t->kind) {
  case TL_SOURCE_BYTES: tl_wire_bytes(w, field, t->u.data, t->bytes); break;
  case TL_SOURCE_FILE: tl_wire_view(w, field, t->u.view.file, t->u.view.offset, t->bytes); break;
  case TL_SOURCE_EXPR:
    tl_wire_begin(w, field);
    put_computed(w, t);
    tl_wire_end(w);
    break;
  case TL_SOURCE_STRINGS: break;
  }
}
