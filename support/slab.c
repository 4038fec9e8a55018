/* SPDX-License-Identifier: Apache-2.0 */
/* A chunked pool of records with stable addresses. Records are zeroed when they are handed out, not
 * when their chunk is allocated, because most of the first chunk of a small module is never
 * used. */
#include "support/slab.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "support/pages.h"

enum { LARGEST_BLOCK = 4 << 20 };

void tl_slab_init(tl_slab *s, size_t record_bytes) {
  memset(s, 0, sizeof *s);
  s->record = (uint32_t)record_bytes;
  s->next = 1;
}

void tl_slab_release(tl_slab *s) {
  for (uint32_t i = 0; i < s->n_blocks; i++)
    tl_pages_free(s->blocks[i].p, s->blocks[i].chunks, (size_t)TL_SLAB_CHUNK * s->record);
  free(s->blocks);
  free(s->chunks);
  tl_slab_init(s, s->record);
}

/* Makes room for `want` elements in the array that *array points to; 0 when memory is out. */
static int grow_array(void *array, size_t size, uint32_t *cap, uint32_t want) {
  void **at = array;
  uint32_t n = *cap ? *cap : 16;
  while (n < want)
    n *= 2;
  if (n == *cap)
    return 1;
  void *p = tl_memory_seen(realloc(*at, n * size), n * size);
  if (!p)
    return 0;
  *at = p;
  *cap = n;
  return 1;
}

/* Returns the chunks of the next block: a quarter of the pool, at most 4 MiB. So a large pool takes
 * few page faults, and no pool has much memory without records. */
static uint32_t block_chunks(const tl_slab *s, uint32_t want) {
  size_t chunk_bytes = (size_t)TL_SLAB_CHUNK * s->record;
  size_t most = (LARGEST_BLOCK + chunk_bytes - 1) / chunk_bytes;
  uint32_t chunks = s->n_chunks / 4;
  if (chunks > most)
    chunks = (uint32_t)most;
  return chunks > want ? chunks : want;
}

/* Adds one block of at least `want` consecutive chunks; 0 when memory or ids run out. */
static int add_block(tl_slab *s, uint32_t want) {
  size_t chunk_bytes = (size_t)TL_SLAB_CHUNK * s->record;
  uint32_t chunks = block_chunks(s, want);
  if (chunks > (UINT32_MAX >> TL_SLAB_SHIFT) - s->n_chunks)
    return 0;
  if (!grow_array(&s->chunks, sizeof *s->chunks, &s->chunk_cap, s->n_chunks + chunks) ||
      !grow_array(&s->blocks, sizeof *s->blocks, &s->block_cap, s->n_blocks + 1))
    return 0;
  char *block = tl_pages_alloc_raw(chunks, chunk_bytes);
  if (!block)
    return 0;
  s->blocks[s->n_blocks++] = (tl_slab_block){block, chunks};
  for (uint32_t i = 0; i < chunks; i++)
    s->chunks[s->n_chunks++] = block + i * chunk_bytes;
  return 1;
}

/* Zeroes the records up to id. A run did not fit before it, so these ids are never handed out, but
 * whoever walks over all ids reads them. */
static void skip_to(tl_slab *s, uint32_t id) {
  while (s->next < id) {
    s->next++;
    memset(tl_slab_at(s, s->next - 1), 0, s->record);
  }
}

/* A run must be contiguous in memory, so it never crosses from one block into the next. */
uint32_t tl_slab_alloc(tl_slab *s, uint32_t n) {
  if (n == 0)
    return 0;
  uint32_t end = s->n_chunks << TL_SLAB_SHIFT;
  if (end < s->next || end - s->next < n) {
    uint32_t chunks = (n >> TL_SLAB_SHIFT) + ((n & (TL_SLAB_CHUNK - 1)) != 0);
    /* The very first chunk loses id 0, so a full chunk does not fit there. */
    if (s->n_chunks == 0 && chunks * (uint64_t)TL_SLAB_CHUNK < (uint64_t)n + 1)
      chunks++;
    if (!add_block(s, chunks))
      return 0;
    if (end == 0)
      memset(tl_slab_at(s, 0), 0, s->record);
    skip_to(s, end);
  }
  uint32_t id = s->next;
  s->next += n;
  TL_ASSERT(s->next <= s->n_chunks << TL_SLAB_SHIFT);
  memset(tl_slab_at(s, id), 0, (size_t)n * s->record);
  return id;
}

int tl_slab_copy(tl_slab *to, const tl_slab *from) {
  uint32_t used = from->n_chunks ? (from->next + TL_SLAB_CHUNK - 1) >> TL_SLAB_SHIFT : 0;
  while (to->n_chunks < used)
    if (!add_block(to, used - to->n_chunks))
      return 0;
  for (uint32_t i = 0; i < used; i++) {
    uint32_t left = from->next - (i << TL_SLAB_SHIFT);
    uint32_t n = left < TL_SLAB_CHUNK ? left : TL_SLAB_CHUNK;
    memcpy(to->chunks[i], from->chunks[i], (size_t)n * from->record);
  }
  to->next = from->next;
  return 1;
}

size_t tl_slab_bytes(const tl_slab *s) { return (size_t)s->n_chunks * TL_SLAB_CHUNK * s->record; }
