/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming protobuf writer. A message is described once by code that runs twice: the first sweep
 * only counts and remembers the length of every nested message, the second writes, taking the
 * lengths in the same order. Nothing is buffered but the lengths (8 bytes a nested message), so
 * weights go from a mapped file to the output without passing through here.
 *
 *   tl_wire_init(&w);
 *   describe(&w);                      counts
 *   tl_wire_start(&w, writer);         TL_NO_MEMORY if counting failed
 *   describe(&w);                      writes
 *   status = tl_wire_finish(&w);       sticky errors show here, releases the lengths
 *
 * Both sweeps must make the same calls with the same arguments. It writes what it is told: defaults
 * are left out by the caller. */
#ifndef TL_BACKEND_WIRE_H
#define TL_BACKEND_WIRE_H

#include "support/arena.h"
#include "support/file.h"
#include "support/vec.h"

TL_VEC(tl_length_vec, uint64_t);

typedef struct tl_wire {
  tl_writer *out;        /* borrowed; NULL while counting */
  tl_length_vec lengths; /* of nested messages, in the order they begin */
  tl_u32_vec open;       /* counting: indices into lengths of the messages not yet ended */
  uint32_t next;         /* writing: the next length to use */
  uint64_t base;         /* writing: where in the file the message starts */
  uint64_t counted;      /* bytes of the whole message, as far as it was counted */
  unsigned char *room;   /* writing: space handed out by the writer, not yet taken */
  size_t used;
  size_t left;
  bool failed; /* memory ran out or the writer refused */
} tl_wire;

/* Prepares for counting. */
void tl_wire_init(tl_wire *w);
/* Switches to writing. Every message must be ended. TL_NO_MEMORY. */
tl_status tl_wire_start(tl_wire *w, tl_writer *out) TL_NODISCARD;
/* Hands everything to the writer and releases the lengths. TL_INTERNAL when the two sweeps
 * differed, TL_IO when the writer failed (it has reported that). */
tl_status tl_wire_finish(tl_wire *w) TL_NODISCARD;
/* Releases without finishing; harmless afterwards or twice. */
void tl_wire_release(tl_wire *w);
/* Bytes counted, or written since the start of the file. */
uint64_t tl_wire_position(const tl_wire *w);

/* A nested message: everything between begin and end. */
void tl_wire_begin(tl_wire *w, uint32_t field);
void tl_wire_end(tl_wire *w);

/* One field each. Signed numbers are written as ten-byte varints when negative, as int32, int64 and
 * enum fields want them. */
void tl_wire_uint(tl_wire *w, uint32_t field, uint64_t v);
static inline void tl_wire_int(tl_wire *w, uint32_t field, int64_t v) {
  tl_wire_uint(w, field, (uint64_t)v);
}
void tl_wire_float(tl_wire *w, uint32_t field, float v);
void tl_wire_bytes(tl_wire *w, uint32_t field, const void *p, uint64_t n);
static inline void tl_wire_sv(tl_wire *w, uint32_t field, tl_sv s) {
  tl_wire_bytes(w, field, s.p, s.n);
}
/* The same, left out when empty. */
static inline void tl_wire_sv_if(tl_wire *w, uint32_t field, tl_sv s) {
  if (s.n)
    tl_wire_bytes(w, field, s.p, s.n);
}
/* Bytes of a file, copied in the kernel where that is possible. */
void tl_wire_view(tl_wire *w, uint32_t field, const tl_file *f, uint64_t offset, uint64_t length);
/* Repeated numbers in packed form; nothing for n == 0. */
void tl_wire_packed_ints(tl_wire *w, uint32_t field, const int64_t *v, uint32_t n);
void tl_wire_packed_floats(tl_wire *w, uint32_t field, const float *v, uint32_t n);
/* Complete fields, tags included, or any bytes inside an open message. */
void tl_wire_raw(tl_wire *w, const void *p, uint64_t n);
/* The contents of a message that occurs often: described once in either sweep, copied afterwards.
 * Zero before the counting sweep.
 *
 *   if (!tl_wire_recall(w, field, &kept)) {
 *     tl_wire_begin(w, field);
 *     uint64_t mark = tl_wire_mark(w, &kept);
 *     describe(w);
 *     tl_wire_keep(w, &kept, mark, most, arena);
 *     tl_wire_end(w);
 *   } */
typedef struct tl_wire_kept {
  const char *p; /* NULL until it was written */
  uint32_t n;    /* bytes; 0: not counted yet, or not worth keeping */
} tl_wire_kept;

enum { TL_WIRE_KEPT_BYTES = 4096 }; /* the largest that is kept */

/* Counts or writes the message again; false: it has to be described. */
bool tl_wire_recall(tl_wire *w, uint32_t field, const tl_wire_kept *k);
/* Where the contents begin. */
uint64_t tl_wire_mark(tl_wire *w, const tl_wire_kept *k);
/* Keeps the contents since the mark, up to `most` bytes; they live in `arena`. */
void tl_wire_keep(tl_wire *w, tl_wire_kept *k, uint64_t mark, uint64_t most, tl_arena *arena);
/* A bare varint, inside an open message that holds packed numbers. */
void tl_wire_bare(tl_wire *w, uint64_t v);

/* Bytes that a varint takes, 1 to 10. */
static inline uint32_t tl_varint_size(uint64_t v) {
  return (uint32_t)(70 - __builtin_clzll(v | 1)) / 7;
}

#endif
