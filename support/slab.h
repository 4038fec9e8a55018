/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of equal-sized records addressed by 32-bit ids. Records never move, ids are never reused,
 * and a run of records has consecutive ids and consecutive memory. Id 0 is never handed out, nor
 * are ids that a run does not fit into. Their records are zeroed and may be read (that of id 0 once
 * anything was handed out). */
#ifndef TL_SUPPORT_SLAB_H
#define TL_SUPPORT_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "support/assert.h"
#include "support/status.h"

enum { TL_SLAB_SHIFT = 10, TL_SLAB_CHUNK = 1 << TL_SLAB_SHIFT };

/* What one allocation holds. */
typedef struct tl_slab_block {
  void *p; /* of tl_pages_alloc */
  uint32_t chunks;
} tl_slab_block;

/* A pool; tl_slab_init prepares it. */
typedef struct tl_slab {
  char **chunks;         /* owned; each of TL_SLAB_CHUNK records */
  tl_slab_block *blocks; /* owned; what was allocated (a block spans several chunks) */
  uint32_t n_chunks;
  uint32_t chunk_cap;
  uint32_t n_blocks;
  uint32_t block_cap;
  uint32_t next;   /* the next id */
  uint32_t record; /* bytes */
} tl_slab;

/* Prepares an empty pool of records of the given size. Allocates nothing. */
void tl_slab_init(tl_slab *s, size_t record_bytes);
/* Frees all records; the pool is empty and may be used again. */
void tl_slab_release(tl_slab *s);

/* Returns the first id of n zeroed, contiguous records; 0 when memory or ids run out, or when n is
 * 0. */
uint32_t tl_slab_alloc(tl_slab *s, uint32_t n);

/* Copies all records of `from` under the same ids into `to`, an initialised pool without records.
 * Returns 0 when memory is out. */
int tl_slab_copy(tl_slab *to, const tl_slab *from);

/* Returns the chunk of an id below s->next. */
static inline uint32_t tl_slab_chunk(const tl_slab *s, uint32_t id) {
  TL_ASSERT(id < s->next && id >> TL_SLAB_SHIFT < s->n_chunks);
  (void)s;
  return id >> TL_SLAB_SHIFT;
}

/* Returns the record of an id below s->next. */
static inline void *tl_slab_at(const tl_slab *s, uint32_t id) {
  return s->chunks[tl_slab_chunk(s, id)] + (size_t)(id & (TL_SLAB_CHUNK - 1)) * s->record;
}

/* As tl_slab_at, of a pool of records of this type: their size is known to the compiler then. */
#define TL_SLAB_AT(s, type, id)                                                                    \
  ((type *)(void *)(s)->chunks[tl_slab_chunk((s), (id))] + ((id) & (TL_SLAB_CHUNK - 1)))

/* Returns the bytes allocated for records. */
size_t tl_slab_bytes(const tl_slab *s);

#endif
