/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages for big tables. A request of 4 MiB wastes at most half of itself by rounding; below
 * that, rounding would cost more memory than the page faults cost time. */
#include "support/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/memory.h"

static const size_t page = (size_t)2 << 20; /* huge pages of x86-64, arm64 with 4 KiB pages */
static const size_t big = (size_t)4 << 20;

static size_t rounded(size_t bytes) { return (bytes + page - 1) & ~(page - 1); }

/* Maps one page more than needed and gives back what lies outside an aligned range. */
static void *map_aligned(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * page)
    return NULL;
  bytes = rounded(bytes);
  char *p = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  size_t head = (page - ((uintptr_t)p & (page - 1))) & (page - 1);
  if (head)
    munmap(p, head);
  if (page - head)
    munmap(p + head + bytes, page - head);
  /* advice only: without huge pages it is just slower */
  (void)madvise(p + head, bytes, MADV_HUGEPAGE);
  return p + head;
}

void *tl_pages_alloc(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes))
    return NULL;
  void *p = bytes < big ? calloc(n ? n : 1, size) : map_aligned(bytes);
  return tl_memory_seen(p, bytes);
}

void *tl_pages_alloc_raw(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes))
    return NULL;
  void *p = bytes < big ? malloc(bytes ? bytes : 1) : map_aligned(bytes);
  return tl_memory_seen(p, bytes);
}

void tl_pages_free(void *p, size_t n, size_t size) {
  if (n * size < big)
    free(p);
  else if (p)
    munmap(p, rounded(n * size));
}

/* Moves mapped pages into a new range, so that never both tables have memory. */
static bool move_pages(void *p, size_t bytes, void *wide, size_t wide_bytes) {
  return mremap(p, rounded(bytes), rounded(wide_bytes), MREMAP_MAYMOVE | MREMAP_FIXED, wide) ==
         wide;
}

void *tl_pages_grow(void *p, size_t n, size_t more, size_t size) {
  bool mapped = n * size >= big;
  void *wide = tl_pages_alloc(more, size);
  if (wide && mapped && move_pages(p, n * size, wide, more * size))
    return wide;
  if (wide && mapped) /* a move that fails may have taken the new range away */
    wide = tl_pages_alloc(more, size);
  if (!wide)
    return NULL;
  if (n)
    memcpy(wide, p, n * size);
  tl_pages_free(p, n, size);
  return wide;
}
