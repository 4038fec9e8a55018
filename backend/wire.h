/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf as a stream, knowing every length before it writes and without buffering
 * messages. The code that describes a message runs twice: the first sweep counts and remembers the
 * length of every nested message, the second writes and takes the lengths in the same order. Only
 * the lengths are buffered (8 bytes for each nested message), so weights go from a mapped file
 * straight to the output.
 *
 *   tl_wire_init(&w);
 *   describe(&w);                      counts
 *   tl_wire_start(&w, writer);         TL_NO_MEMORY if counting failed
 *   describe(&w);                      writes
 *   status = tl_wire_finish(&w);       returns sticky errors, releases the lengths
 *
 * Both sweeps must make the same calls with the same arguments. Default values are written like any
 * other; the caller leaves them out where the format wants that. */
#ifndef TL_BACKEND_WIRE_H
#define TL_BACKEND_WIRE_H

#include "ir/byte_order.h"
#include "support/arena.h"
#include "support/file.h"
#include "support/vec.h"

TL_VEC(tl_length_vec, uint64_t);

/* State of both sweeps over one message. */
typedef struct tl_wire {
  tl_writer *out;        /* borrowed; NULL while counting */
  tl_length_vec lengths; /* of nested messages, in the order they begin */
  tl_u32_vec open;       /* counting: indices into lengths of the messages not yet ended */
  uint32_t next;         /* writing: the next length to use */
  uint64_t base;         /* writing: where in the file the message starts */
  uint64_t counted;      /* bytes of the whole message, as far as it was counted */
  unsigned char *room;   /* writing: space in the writer's buffer that is not committed yet */
  size_t used;           /* bytes of room that are filled */
  size_t left;           /* bytes of room that are free */
  bool failed;           /* memory ran out or the writer refused */
} tl_wire;

/* Prepares for counting. */
void tl_wire_init(tl_wire *w);
/* Switches to writing. Every message must be ended. TL_NO_MEMORY. */
tl_status tl_wire_start(tl_wire *w, tl_writer *out) TL_NODISCARD;
/* Passes everything to the writer and releases the lengths. TL_INTERNAL if the two sweeps differed
 * (unreported), TL_IO if the writer failed (the writer has reported it). */
tl_status tl_wire_finish(tl_wire *w) TL_NODISCARD;
/* Releases without finishing; harmless afterwards or twice. */
void tl_wire_release(tl_wire *w);
/* Returns the bytes counted so far or, while writing, the position in the file. */
uint64_t tl_wire_position(const tl_wire *w);

/* Begin and end a nested message. Every begin needs its end, before tl_wire_start as well. */
void tl_wire_begin(tl_wire *w, uint32_t field);
void tl_wire_end(tl_wire *w);

/* Append one field. Negative numbers become varints of ten bytes, as protobuf defines it for int32,
 * int64 and enum fields. */
void tl_wire_uint(tl_wire *w, uint32_t field, uint64_t v);
static inline void tl_wire_int(tl_wire *w, uint32_t field, int64_t v) {
  tl_wire_uint(w, field, (uint64_t)v);
}
void tl_wire_float(tl_wire *w, uint32_t field, float v);
void tl_wire_bytes(tl_wire *w, uint32_t field, const void *p, uint64_t n);
/* Appends a byte field with n bytes of elements in memory, as files have them. */
void tl_wire_elements(tl_wire *w, uint32_t field, tl_dtype d, const void *p, uint64_t n);
static inline void tl_wire_sv(tl_wire *w, uint32_t field, tl_sv s) {
  tl_wire_bytes(w, field, s.p, s.n);
}
/* Appends a byte field unless it is empty. */
static inline void tl_wire_sv_if(tl_wire *w, uint32_t field, tl_sv s) {
  if (s.n)
    tl_wire_bytes(w, field, s.p, s.n);
}
/* Appends a byte field with a range of a file (bytes), which the kernel copies where it can. */
void tl_wire_view(tl_wire *w, uint32_t field, const tl_file *f, uint64_t offset, uint64_t length);
/* Append n repeated numbers in packed form; nothing for n == 0. */
void tl_wire_packed_ints(tl_wire *w, uint32_t field, const int64_t *v, uint32_t n);
void tl_wire_packed_floats(tl_wire *w, uint32_t field, const float *v, uint32_t n);
/* Appends bytes as they are: complete fields with tags, or contents of an open message. */
void tl_wire_raw(tl_wire *w, const void *p, uint64_t n);

/* While writing: returns the writer, to which the caller may append contents of an open message
 * itself; NULL after a failure. A failure of his he notes in w->failed. */
tl_writer *tl_wire_direct(tl_wire *w);

/* Contents of a message that occurs often: encoded once per sweep, copied afterwards. All zero
 * before the counting sweep.
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

/* Counts or writes a kept message; false if the caller has to describe it. */
bool tl_wire_recall(tl_wire *w, uint32_t field, const tl_wire_kept *k);
/* Returns where the contents begin, for tl_wire_keep. */
uint64_t tl_wire_mark(tl_wire *w, const tl_wire_kept *k);
/* Keeps the contents since the mark if they have at most `most` and TL_WIRE_KEPT_BYTES bytes. The
 * copy lives in `arena`. */
void tl_wire_keep(tl_wire *w, tl_wire_kept *k, uint64_t mark, uint64_t most, tl_arena *arena);
/* Appends a varint without a tag, inside an open message that holds packed numbers. */
void tl_wire_bare(tl_wire *w, uint64_t v);

/* Returns the bytes that a varint takes, 1 to 10: its bits divided by 7, rounded up. */
static inline uint32_t tl_varint_size(uint64_t v) {
  return (uint32_t)(70 - __builtin_clzll(v | 1)) / 7;
}

#endif
