/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for tl_allocator_set of which the n-th request fails, alone or with all that follow.
 * A program that loads it (tests/oom/python.py) says which, and asks what was taken. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_ulong seen, fail_at, fail_from;
static atomic_long live;

/* Starts to count at 1. Request `at` fails, and `from` and all later ones; 0: none does. */
void allocator_start(unsigned long at, unsigned long from) {
  fail_at = at;
  fail_from = from;
  seen = 0;
}

/* Requests since the start. */
unsigned long allocator_seen(void) { return seen; }

/* Blocks that were taken and not given back, since the process began. */
long allocator_live(void) { return live; }

static int fails(void) {
  unsigned long n = ++seen, at = fail_at, from = fail_from;
  return n == at || (from && n >= from);
}

void *allocator_allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void *p = fails() ? NULL : aligned_alloc(alignment, whole);
  live += p != NULL;
  return p;
}

void *allocator_resize(void *user, void *p, size_t bytes) {
  (void)user;
  return fails() ? NULL : realloc(p, bytes);
}

void allocator_release(void *user, void *p) {
  (void)user;
  live--;
  free(p);
}
