/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for tables. Beyond the first megabytes the time of a large model goes into page
 * faults and address translation: big requests ask the kernel for huge pages, small ones are plain
 * heap. Who releases must know the size. */
#ifndef TL_SUPPORT_PAGES_H
#define TL_SUPPORT_PAGES_H

#include <stddef.h>

/* n * size zeroed bytes, NULL when memory is out or the product overflows. */
void *tl_pages_alloc(size_t n, size_t size);
/* The same without zeros: a small table of which little is used then costs no page that is not. */
void *tl_pages_alloc_raw(size_t n, size_t size);
/* Gives back what either returned for (n, size); p may be NULL. */
void tl_pages_free(void *p, size_t n, size_t size);
/* Grows to `more` elements, keeping the first n; p may be NULL when n is 0. NULL when memory is
 * out, p then stays valid. */
void *tl_pages_grow(void *p, size_t n, size_t more, size_t size);

/* Starts loading a cache line that will be needed soon; p may be any address. */
static inline void tl_prefetch(const void *p) { __builtin_prefetch(p); }

#endif
