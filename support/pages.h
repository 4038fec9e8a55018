/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for large tables. Beyond the first megabytes a large model spends its time on page faults
 * and address translation, so big requests ask the kernel for huge pages; small ones are plain
 * heap. Whoever releases memory must know its size. */
#ifndef TL_SUPPORT_PAGES_H
#define TL_SUPPORT_PAGES_H

#include <stddef.h>

/* Returns n * size zeroed bytes; NULL when memory is out or the product overflows. */
void *tl_pages_alloc(size_t n, size_t size);
/* As tl_pages_alloc without zeros: pages of a table that are never touched then cost nothing. */
void *tl_pages_alloc_raw(size_t n, size_t size);
/* Frees what either function returned for (n, size); p may be NULL. */
void tl_pages_free(void *p, size_t n, size_t size);
/* Grows a table of n elements to `more` and keeps the first n; p may be NULL when n is 0. Returns
 * the new address, NULL when memory is out; p then stays valid. */
void *tl_pages_grow(void *p, size_t n, size_t more, size_t size);

/* Starts loading a cache line that will be needed soon; p may be any address. */
static inline void tl_prefetch(const void *p) { __builtin_prefetch(p); }

#endif
