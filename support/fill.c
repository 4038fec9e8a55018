/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in an output with a pool of threads (fill.h). */
#include "support/fill.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/pool.h"

/* More threads than these would wait for the file. */
enum { MOST_THREADS = 8 };

typedef struct filling {
  tl_writer *writer;
  tl_fill_fn fn;
  const void *user;
  uint64_t start; /* offset of the first byte in the file */
  uint64_t n;
  unsigned char *rooms; /* a block for each worker */
  int error;            /* of the first call that failed, by any thread; 0: none */
} filling;

/* Keeps one of the errors: they mostly have the same cause. */
static tl_status fail(filling *f, int error) {
  int none = 0;
  (void)__atomic_compare_exchange_n(&f->error, &none, error, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
  return TL_IO;
}

static tl_status fill_block(void *user, size_t i, unsigned worker) {
  filling *f = user;
  uint64_t at = (uint64_t)i * TL_FILL_BLOCK;
  size_t n = f->n - at < TL_FILL_BLOCK ? (size_t)(f->n - at) : TL_FILL_BLOCK;
  const unsigned char *p = f->rooms + (size_t)worker * TL_FILL_BLOCK;
  f->fn(f->user, at, n, f->rooms + (size_t)worker * TL_FILL_BLOCK);
  for (size_t done = 0; done < n;) {
    if (tl_writer_is_cancelled(f->writer))
      return fail(f, EINTR);
    ssize_t put =
        pwrite(tl_writer_descriptor(f->writer), p + done, n - done, (off_t)(f->start + at + done));
    if (put < 0 && errno != EINTR)
      return fail(f, errno);
    done += put > 0 ? (size_t)put : 0;
  }
  return TL_OK;
}

/* Two blocks a thread at least. */
static unsigned threads_for(uint64_t n) {
  uint64_t most = n / TL_FILL_BLOCK / 2;
  unsigned processors = tl_pool_processors();
  most = most < processors ? most : processors;
  return most < 1 ? 1 : most < MOST_THREADS ? (unsigned)most : MOST_THREADS;
}

tl_status tl_writer_fill(tl_writer *w, uint64_t n, tl_fill_fn fn, const void *user) {
  filling f = {.writer = w, .fn = fn, .user = user, .n = n};
  TL_TRY(tl_writer_lend(w, &f.start));
  tl_pool *pool = tl_pool_create(threads_for(n));
  f.rooms = pool ? malloc((size_t)tl_pool_threads(pool) * TL_FILL_BLOCK) : NULL;
  if (f.rooms)
    (void)tl_pool_run(pool, (size_t)((n + TL_FILL_BLOCK - 1) / TL_FILL_BLOCK), fill_block, &f);
  else
    f.error = ENOMEM;
  free(f.rooms);
  tl_pool_destroy(pool);
  return tl_writer_take_back(w, n, f.error);
}
