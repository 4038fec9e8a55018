/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the counting and the writing sweep of the protobuf writer (wire.h). */
#include "backend/wire.h"

#include "support/assert.h"

/* CHUNK: bytes that are requested from the writer at a time. MAX_FIELD_HEAD: two varints. */
enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5, CHUNK = 16384, MAX_FIELD_HEAD = 20 };

void tl_wire_init(tl_wire *w) { *w = (tl_wire){.failed = false}; }

void tl_wire_release(tl_wire *w) {
  tl_length_vec_release(&w->lengths);
  tl_u32_vec_release(&w->open);
}

/* Commits the filled part of the room. The writer may move its buffer, so the room is given up. */
static void take_room(tl_wire *w) {
  if (w->used)
    tl_writer_advance(w->out, w->used);
  w->room = NULL;
  w->used = 0;
  w->left = 0;
}

/* Returns space for n <= CHUNK bytes, NULL after a failure. */
static inline unsigned char *space(tl_wire *w, size_t n) {
  if (n > w->left) {
    take_room(w);
    w->room = w->failed ? NULL : tl_writer_room(w->out, CHUNK);
    if (!w->room) {
      w->failed = true;
      return NULL;
    }
    w->left = CHUNK;
  }
  return w->room + w->used;
}

/* Takes n bytes of the room that `space` returned. */
static inline void advance(tl_wire *w, size_t n) {
  w->used += n;
  w->left -= n;
}

/* Writes a varint, low groups first, and returns its size. */
static inline size_t put_varint(unsigned char *p, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7)
    p[n++] = (unsigned char)(v | 0x80);
  p[n++] = (unsigned char)v;
  return n;
}

/* Returns the key of a field: its number and wire type. */
static inline uint64_t tag_of(uint32_t field, uint32_t type) { return (uint64_t)field << 3 | type; }

tl_status tl_wire_start(tl_wire *w, tl_writer *out) {
  if (w->failed)
    return TL_NO_MEMORY;
  TL_ASSERT(w->open.n == 0);
  w->out = out;
  w->base = tl_writer_position(out);
  return TL_OK;
}

tl_status tl_wire_finish(tl_wire *w) {
  take_room(w);
  uint64_t written = tl_writer_position(w->out) - w->base;
  bool same = w->next == w->lengths.n && written == w->counted;
  tl_wire_release(w);
  if (w->failed)
    return TL_IO;
  return same ? TL_OK : TL_INTERNAL;
}

uint64_t tl_wire_position(const tl_wire *w) {
  return w->out ? tl_writer_position(w->out) + w->used : w->counted;
}

/* Opens a message. Until it ends, its slot in lengths holds the position where its contents start.
 */
static void count_begin(tl_wire *w) {
  if (w->failed)
    return;
  w->failed = !tl_u32_vec_push(&w->open, w->lengths.n) ||
              !tl_length_vec_push(&w->lengths, w->counted);
}

/* Writes tag and length of a length-delimited field. */
static void put_head(tl_wire *w, uint32_t field, uint64_t n) {
  unsigned char *p = space(w, MAX_FIELD_HEAD);
  if (!p)
    return;
  size_t used = put_varint(p, tag_of(field, WIRE_BYTES));
  advance(w, used + put_varint(p + used, n));
}

void tl_wire_begin(tl_wire *w, uint32_t field) {
  if (!w->out) {
    w->counted += tl_varint_size(tag_of(field, WIRE_BYTES));
    count_begin(w);
  } else {
    uint32_t i = w->next++;
    put_head(w, field, i < w->lengths.n ? w->lengths.at[i] : 0);
  }
}

/* Only the counting sweep has work here: the writing sweep has written the length in begin. */
void tl_wire_end(tl_wire *w) {
  if (w->out || w->failed)
    return;
  uint64_t *slot = &w->lengths.at[w->open.at[--w->open.n]];
  *slot = w->counted - *slot;
  w->counted += tl_varint_size(*slot);
}

void tl_wire_bare(tl_wire *w, uint64_t v) {
  if (!w->out) {
    w->counted += tl_varint_size(v);
    return;
  }
  unsigned char *p = space(w, MAX_FIELD_HEAD);
  if (p)
    advance(w, put_varint(p, v));
}

void tl_wire_uint(tl_wire *w, uint32_t field, uint64_t v) {
  if (!w->out) {
    w->counted += tl_varint_size(tag_of(field, WIRE_VARINT)) + tl_varint_size(v);
    return;
  }
  unsigned char *p = space(w, MAX_FIELD_HEAD);
  if (!p)
    return;
  size_t used = put_varint(p, tag_of(field, WIRE_VARINT));
  advance(w, used + put_varint(p + used, v));
}

void tl_wire_float(tl_wire *w, uint32_t field, float v) {
  if (!w->out) {
    w->counted += tl_varint_size(tag_of(field, WIRE_FIXED32)) + sizeof v;
    return;
  }
  unsigned char *p = space(w, MAX_FIELD_HEAD);
  if (!p)
    return;
  size_t used = put_varint(p, tag_of(field, WIRE_FIXED32));
  memcpy(p + used, &v, sizeof v);
  tl_order_turn(TL_DTYPE_F32, p + used, sizeof v);
  advance(w, used + sizeof v);
}

/* Small pieces go through the room; large ones are passed on, so that they are not copied twice. */
void tl_wire_raw(tl_wire *w, const void *p, uint64_t n) {
  if (!w->out) {
    w->counted += n;
  } else if (n && n <= CHUNK) {
    unsigned char *to = space(w, (size_t)n);
    if (to) {
      memcpy(to, p, (size_t)n);
      advance(w, (size_t)n);
    }
  } else if (n) {
    take_room(w);
    if (!w->failed)
      w->failed = tl_writer_write(w->out, p, (size_t)n) != TL_OK;
  }
}

tl_writer *tl_wire_direct(tl_wire *w) {
  take_room(w);
  return w->failed ? NULL : w->out;
}

/* Counts or writes tag and length of a length-delimited field. */
static void add_head(tl_wire *w, uint32_t field, uint64_t n) {
  if (w->out)
    put_head(w, field, n);
  else
    w->counted += tl_varint_size(tag_of(field, WIRE_BYTES)) + tl_varint_size(n);
}

void tl_wire_bytes(tl_wire *w, uint32_t field, const void *p, uint64_t n) {
  add_head(w, field, n);
  tl_wire_raw(w, p, n);
}

void tl_wire_view(tl_wire *w, uint32_t field, const tl_file *f, uint64_t offset, uint64_t length) {
  add_head(w, field, length);
  if (length <= CHUNK || !w->out) {
    tl_wire_raw(w, f->data + offset, length);
    return;
  }
  take_room(w);
  if (!w->failed)
    w->failed = tl_writer_copy(w->out, f, offset, length) != TL_OK;
}

void tl_wire_elements(tl_wire *w, uint32_t field, tl_dtype d, const void *p, uint64_t n) {
  add_head(w, field, n);
  if (!w->out || !tl_order_differs(d)) {
    tl_wire_raw(w, p, n);
    return;
  }
  const unsigned char *from = p;
  for (uint64_t at = 0, k; at < n && !w->failed; at += k) {
    k = n - at < CHUNK ? n - at : CHUNK;
    unsigned char *room = space(w, (size_t)k);
    if (!room)
      return;
    memcpy(room, from + at, (size_t)k);
    tl_order_turn(d, room, k);
    advance(w, (size_t)k);
  }
}

void tl_wire_packed_ints(tl_wire *w, uint32_t field, const int64_t *v, uint32_t n) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < n; i++)
    bytes += tl_varint_size((uint64_t)v[i]);
  if (n == 0)
    return;
  add_head(w, field, bytes);
  for (uint32_t i = 0; i < n; i++)
    tl_wire_bare(w, (uint64_t)v[i]);
}

void tl_wire_packed_floats(tl_wire *w, uint32_t field, const float *v, uint32_t n) {
  if (n)
    tl_wire_elements(w, field, TL_DTYPE_F32, v, (uint64_t)n * sizeof *v);
}

bool tl_wire_recall(tl_wire *w, uint32_t field, const tl_wire_kept *k) {
  if (w->out ? !k->p : !k->n)
    return false;
  tl_wire_bytes(w, field, k->p, k->n);
  return true;
}

uint64_t tl_wire_mark(tl_wire *w, const tl_wire_kept *k) {
  if (!w->out)
    return w->counted;
  if (k->n)
    (void)space(w, k->n + MAX_FIELD_HEAD); /* so that the contents stay in one room, for the copy */
  return w->used;
}

void tl_wire_keep(tl_wire *w, tl_wire_kept *k, uint64_t mark, uint64_t most, tl_arena *arena) {
  uint64_t n = (w->out ? w->used : w->counted) - mark;
  if (w->failed)
    return;
  if (!w->out) {
    k->n = n <= TL_WIRE_KEPT_BYTES && n <= most ? (uint32_t)n : 0;
  } else if (k->n) {
    k->p = tl_arena_copy(arena, w->room + mark, k->n);
    w->failed = !k->p || n != k->n;
  }
}
