/* SPDX-License-Identifier: Apache-2.0 */
/* A thread pool. Work is a range of indices; each index writes its own slot, so that results do not
 * depend on the number of threads or on scheduling. Not for nested use. */
#ifndef TL_SUPPORT_POOL_H
#define TL_SUPPORT_POOL_H

#include <stddef.h>

#include "support/status.h"

typedef struct tl_pool tl_pool;

/* Returns how many processors this process may use; at least 1. */
unsigned tl_pool_processors(void);

/* Does item i. worker: 0 .. tl_pool_threads - 1, for scratch memory; results must not depend on
 * it. */
typedef tl_status (*tl_pool_fn)(void *user, size_t i, unsigned worker);

/* Starts a pool. threads: including the caller's; 0 = one per processor this process may use,
 * at most 64. Fewer are used where threads cannot be started. NULL when memory is out. */
tl_pool *tl_pool_create(unsigned threads);
/* Waits for the threads and frees the pool. NULL is allowed. */
void tl_pool_destroy(tl_pool *p);

/* Returns the number of workers, the caller included; at least 1. */
unsigned tl_pool_threads(const tl_pool *p);

/* Runs fn for i in [0, n) and waits. After a failure no further items start, but every item below
 * a failed one is done: the status returned is that of the lowest failing index, as it would be
 * in a plain loop. */
tl_status tl_pool_run(tl_pool *p, size_t n, tl_pool_fn fn, void *user);

#endif
