/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations that failed. Some fail where nothing can be reported, as in text that is being
 * built, and what is said or written afterwards may be incomplete. Whoever reports an error or
 * gives a file its name therefore asks here first. */
#ifndef TL_SUPPORT_MEMORY_H
#define TL_SUPPORT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns p, and counts a failure when it is NULL. n: bytes that were asked for. An enormous
 * request is not counted, since a model may cause it; its caller reports it. */
void *tl_memory_seen(void *p, size_t n);
/* Returns the failures of this thread since it began. */
uint64_t tl_memory_failures(void);
/* Adds the failures of a thread that worked for this one. */
void tl_memory_add_failures(uint64_t n);

#endif
