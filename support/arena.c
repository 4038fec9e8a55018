/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator over a chain of malloc blocks, newest first. */
#include "support/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert.h"
#include "support/memory.h"
#include "support/watched.h"

/* With AddressSanitizer each allocation ends where it was asked to end, and nothing beyond it or
 * behind a mark that was rewound may be touched. */
#ifdef TL_WATCHED
enum { GAP = 16 };
#else
enum { GAP = 0 };
#endif

enum {
  FIRST_BLOCK = 4096,
  LARGEST_BLOCK = 1 << 20,
  LARGEST_SPARE = 1 << 21, /* a larger block is not kept for later */
  ALIGNMENT = 16
};

struct tl_arena_block {
  tl_arena_block *previous;
  size_t size; /* of the payload, bytes */
  size_t used;
  size_t pad; /* keeps the payload aligned */
};

_Static_assert(sizeof(struct tl_arena_block) % ALIGNMENT == 0, "payload must stay aligned");

static char *payload(tl_arena_block *block) { return (char *)(block + 1); }

static void free_block(tl_arena_block *block) {
  tl_open_bytes(payload(block), block->size);
  free(block);
}

/* Keeps a block for later, or frees it: the larger one of it and the spare block stays. New memory
 * comes page by page from the system, which a kernel that rewinds would pay at each call. */
static void keep_block(tl_arena *a, tl_arena_block *block) {
  if (block->size > LARGEST_SPARE || (a->spare && a->spare->size >= block->size)) {
    free_block(block);
    return;
  }
  if (a->spare)
    free_block(a->spare);
  tl_close_bytes(payload(block), block->size);
  a->spare = block;
}

void tl_arena_init(tl_arena *a, size_t first_size) {
  a->head = NULL;
  a->spare = NULL;
  a->next_size = first_size ? first_size : FIRST_BLOCK;
  a->total = 0;
}

void tl_arena_release(tl_arena *a) {
  while (a->head) {
    tl_arena_block *previous = a->head->previous;
    free_block(a->head);
    a->head = previous;
  }
  if (a->spare)
    free_block(a->spare);
  a->spare = NULL;
  a->total = 0;
}

/* Returns a block for a request: the spare one if it has room, else a new one. A request larger
 * than the usual block gets one of its own size. */
static tl_arena_block *find_block(tl_arena *a, size_t bytes) {
  tl_arena_block *block = a->spare;
  if (block && block->size >= bytes) {
    a->spare = NULL;
    return block;
  }
  size_t size = a->next_size > bytes ? a->next_size : bytes;
  if (size > SIZE_MAX - sizeof(tl_arena_block))
    return NULL;
  block = tl_memory_seen(malloc(sizeof *block + size), size);
  if (!block)
    return NULL;
  block->size = size;
  block->pad = 0;
  tl_close_bytes(payload(block), size);
  if (a->next_size < LARGEST_BLOCK)
    a->next_size *= 2;
  return block;
}

/* Adds a block. Sizes double up to a bound, so that n bytes cost O(log n) calls of malloc. */
static tl_arena_block *push_block(tl_arena *a, size_t bytes) {
  tl_arena_block *block = find_block(a, bytes);
  if (!block)
    return NULL;
  block->previous = a->head;
  block->used = 0;
  a->head = block;
  a->total += sizeof *block + block->size;
  return block;
}

/* Rounding the size up keeps every later address aligned. A request of 0 bytes takes some, so that
 * its address is unique. */
void *tl_arena_alloc(tl_arena *a, uint64_t wanted) {
  if (wanted > SIZE_MAX - ALIGNMENT - GAP)
    return NULL;
  size_t asked = (size_t)wanted;
  size_t bytes = GAP + (asked ? (asked + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT);
  tl_arena_block *block = a->head;
  if (!block || block->size - block->used < bytes) {
    block = push_block(a, bytes);
    if (!block)
      return NULL;
  }
  void *p = payload(block) + block->used;
  block->used += bytes;
  tl_open_bytes(p, asked);
  return p;
}

void *tl_arena_calloc(tl_arena *a, uint64_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes))
    return NULL;
  void *p = tl_arena_alloc(a, bytes);
  return p ? memset(p, 0, bytes) : NULL;
}

char *tl_arena_copy(tl_arena *a, const void *src, uint64_t bytes) {
  if (bytes == UINT64_MAX)
    return NULL;
  char *p = tl_arena_alloc(a, bytes + 1);
  if (!p)
    return NULL;
  if (bytes)
    memcpy(p, src, (size_t)bytes);
  p[bytes] = '\0';
  return p;
}

tl_arena_mark tl_arena_save(const tl_arena *a) {
  tl_arena_mark mark = {a->head, a->head ? a->head->used : 0};
  return mark;
}

void tl_arena_rewind(tl_arena *a, tl_arena_mark mark) {
  while (a->head != mark.block) {
    TL_ASSERT(a->head); /* the mark is of this arena, and nothing before it was given back */
    tl_arena_block *previous = a->head->previous;
    /* The last block is kept for reuse by a scratch arena that starts empty each time. */
    if (!previous && !mark.block) {
      a->head->used = 0;
      tl_close_bytes(payload(a->head), a->head->size);
      return;
    }
    a->total -= sizeof *a->head + a->head->size;
    keep_block(a, a->head);
    a->head = previous;
  }
  TL_ASSERT(!a->head || mark.used <= a->head->used);
  if (a->head) {
    a->head->used = mark.used;
    tl_close_bytes(payload(a->head) + mark.used, a->head->size - mark.used);
  }
}
