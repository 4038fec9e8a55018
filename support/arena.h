/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator: many small objects with one lifetime. Nothing is freed alone; a mark can be
 * rewound and the whole arena released. Every allocation is aligned to 16 bytes. */
#ifndef TL_SUPPORT_ARENA_H
#define TL_SUPPORT_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "support/status.h"

typedef struct tl_arena_block tl_arena_block;

typedef struct tl_arena {
  tl_arena_block *head;  /* owned; the block being filled */
  size_t next_size;      /* bytes of the next block, doubles up to a bound */
  size_t total;          /* bytes obtained from malloc, but for the spare block */
  tl_arena_block *spare; /* owned; of what was rewound, to be used again; NULL: none */
} tl_arena;

/* A fill state to return to; valid until the arena is rewound behind it or released. */
typedef struct tl_arena_mark {
  tl_arena_block *block;
  size_t used;
} tl_arena_mark;

/* Prepares an empty arena; nothing is allocated until first use. first_size: bytes, 0 = 4096. */
void tl_arena_init(tl_arena *a, size_t first_size);

/* Frees every block. The arena may be used again. */
void tl_arena_release(tl_arena *a);

/* Sizes have 64 bits on each machine: one that is beyond a smaller address space is refused, as
 * lack of memory is, and not cut. */

/* Returns `bytes` of uninitialised memory (a unique pointer for 0), NULL when memory is out. */
void *tl_arena_alloc(tl_arena *a, uint64_t bytes) TL_NODISCARD;

/* Returns zeroed memory for n elements of `size` bytes; NULL on overflow or lack of memory. */
void *tl_arena_calloc(tl_arena *a, uint64_t n, size_t size) TL_NODISCARD;

/* Copies `bytes` from src and appends a NUL that is not counted; NULL when memory is out. */
char *tl_arena_copy(tl_arena *a, const void *src, uint64_t bytes) TL_NODISCARD;

/* Returns the fill state. */
tl_arena_mark tl_arena_save(const tl_arena *a);
/* Frees everything that was allocated since the mark was taken. Marks nest. */
void tl_arena_rewind(tl_arena *a, tl_arena_mark mark);

#endif
