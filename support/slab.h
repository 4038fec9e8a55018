/* SPDX-License-Identifier: Apache-2.0 */
/* Pool of equal-sized records addressed by 32-bit ids. Records never move, ids are never reused,
 * a run of records gets consecutive ids and consecutive memory. Id 0 is never handed out, nor are
 * ids that a run does not fit into; their records are zeroed and may be read as those of nothing,
 * that of id 0 once anything was handed out. */
#ifndef TL_SUPPORT_SLAB_H
#define TL_SUPPORT_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "support/status.h"

enum { TL_SLAB_SHIFT = 10, TL_SLAB_CHUNK = 1 << TL_SLAB_SHIFT };

typedef struct tl_slab_block {
  void *p;         /* of tl_pages_alloc */
  uint32_t chunks;
} tl_slab_block;

typedef struct tl_slab {
  char **chunks;   /* owned; each of TL_SLAB_CHUNK records */
  tl_slab_block *blocks; /* owned; what was allocated (a block spans several chunks) */
  uint32_t n_chunks;
  uint32_t chunk_cap;
  uint32_t n_blocks;
  uint32_t block_cap;
  uint32_t next;   /* the next id */
  uint32_t record; /* bytes */
} tl_slab;

void tl_slab_init(tl_slab *s, size_t record_bytes);
void tl_slab_release(tl_slab *s);

/* Returns the first id of n zeroed, contiguous records; 0 when memory or ids run out, or n == 0.
 */
uint32_t tl_slab_alloc(tl_slab *s, uint32_t n);

/* Makes `to`, an initialised pool without records, hold copies of all records under the same ids.
 * Returns 0 when memory is out. */
int tl_slab_copy(tl_slab *to, const tl_slab *from);

static inline void *tl_slab_at(const tl_slab *s, uint32_t id) {
  return s->chunks[id >> TL_SLAB_SHIFT] + (size_t)(id & (TL_SLAB_CHUNK - 1)) * s->record;
}

/* Bytes allocated for records. */
size_t tl_slab_bytes(const tl_slab *s);

#endif
