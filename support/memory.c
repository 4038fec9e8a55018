/* SPDX-License-Identifier: Apache-2.0 */
/* Counts failed allocations, for each thread: threads with models of their own do not disturb each
 * other. */
#include "support/memory.h"

enum { ENORMOUS = 16 << 20 }; /* a request of this size may come from the model */

static _Thread_local uint64_t failures;

void *tl_memory_seen(void *p, size_t n) {
  if (!p && n < ENORMOUS)
    failures++;
  return p;
}

uint64_t tl_memory_failures(void) { return failures; }

void tl_memory_add_failures(uint64_t n) { failures += n; }
