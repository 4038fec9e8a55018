/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool under ThreadSanitizer: every index runs once, results do not depend on how many
 * threads there are. Built by tests/run.py from the support layer alone. */
#include <stdint.h>
#include <stdio.h>

#include "support/pool.h"

enum { TASKS = 5000 };

static tl_status square(void *user, size_t i, unsigned worker) {
  uint64_t *out = user;
  (void)worker;
  out[i] += (uint64_t)i * i;
  return TL_OK;
}

/* 0 when every task ran exactly once. */
static int try_pool(unsigned threads) {
  uint64_t out[TASKS] = {0};
  tl_pool *p = tl_pool_create(threads);
  int wrong = !p || tl_pool_run(p, TASKS, square, out) != TL_OK;
  for (uint64_t i = 0; i < TASKS; i++)
    wrong |= out[i] != i * i;
  tl_pool_destroy(p);
  return wrong;
}

int main(void) {
  static const unsigned threads[] = {1, 2, 3, 8};
  unsigned failed = 0;
  unsigned n = sizeof threads / sizeof *threads;
  for (unsigned t = 0; t < n; t++) {
    int wrong = try_pool(threads[t]);
    if (wrong)
      printf("FAIL %u threads: a task ran twice or not at all\n", threads[t]);
    failed += wrong != 0;
  }
  printf("%u passed, %u failed, 0 skipped\n", n - failed, failed);
  return failed != 0;
}
