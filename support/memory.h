/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that failed. Some of them show only where nothing can be reported, as in text that is
 * built: what is said or written afterwards may not be so. Whoever reports an error or gives a file
 * its name asks here first. */
#ifndef TL_SUPPORT_MEMORY_H
#define TL_SUPPORT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns p, and counts a failure when it is NULL. n: bytes that were asked for; an enormous
 * request is not counted, since a model may ask for it, and is judged where it is made. */
void *tl_memory_seen(void *p, size_t n);
/* Failures of this thread since it began. */
uint64_t tl_memory_failures(void);
/* Adds failures of a thread that worked for this one. */
void tl_memory_add_failures(uint64_t n);

#endif
