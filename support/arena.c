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

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

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

void tl_arena_init(tl_arena *a, size_t first_size) {
  a->head = NULL;
  a->next_size = first_size ? first_size : FIRST_BLOCK;
  a->total = 0;
}

void tl_arena_release(tl_arena *a) {
  while (a->head) {
    tl_arena_block *previous = a->head->previous;
    free_block(a->head);
    a->head = previous;
  }
  a->total = 0;
}

/* Adds a block. A request larger than the usual block gets one of its own size. Sizes double up to
 * a bound, so that n bytes cost O(log n) calls of malloc. */
static tl_arena_block *push_block(tl_arena *a, size_t bytes) {
  size_t size = a->next_size > bytes ? a->next_size : bytes;
  if (size > SIZE_MAX - sizeof(tl_arena_block))
    return NULL;
  tl_arena_block *block = tl_memory_seen(malloc(sizeof *block + size), size);
  if (!block)
    return NULL;
  block->previous = a->head;
  block->size = size;
  block->used = 0;
  block->pad = 0;
  tl_close_bytes(payload(block), size);
  a->head = block;
  a->total += sizeof *block + size;
  if (a->next_size < LARGEST_BLOCK)
    a->next_size *= 2;
  return block;
}

/* Rounding the size up keeps every later address aligned. A request of 0 bytes takes some, so that
 * its address is unique. */
void *tl_arena_alloc(tl_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT - GAP)
    return NULL;
  size_t asked = bytes;
  bytes = GAP + (bytes ? (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT);
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

void *tl_arena_calloc(tl_arena *a, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes))
    return NULL;
  void *p = tl_arena_alloc(a, bytes);
  return p ? memset(p, 0, bytes) : NULL;
}

char *tl_arena_copy(tl_arena *a, const void *src, size_t bytes) {
  if (bytes == SIZE_MAX)
    return NULL;
  char *p = tl_arena_alloc(a, bytes + 1);
  if (!p)
    return NULL;
  if (bytes)
    memcpy(p, src, bytes);
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
    free_block(a->head);
    a->head = previous;
  }
  TL_ASSERT(!a->head || mark.used <= a->head->used);
  if (a->head) {
    a->head->used = mark.used;
    tl_close_bytes(payload(a->head) + mark.used, a->head->size - mark.used);
  }
}
