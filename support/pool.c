/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool. Workers sleep until the generation count changes, then draw indices from a
 * shared counter. Indices are drawn in order, so when item i failed, all items below i were drawn
 * before. */
#include "support/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/memory.h"

/* STACK: bytes of a worker's stack, as many as glibc usually gives; musl gives 128 KiB. */
enum { MAX_THREADS = 64, STACK = 8 << 20 };

/* A thread of the pool. */
typedef struct worker {
  tl_pool *pool;
  unsigned number;
  pthread_t thread;
} worker;

/* One job at a time; the caller works too. */
struct tl_pool {
  pthread_mutex_t lock;
  pthread_cond_t wake;         /* a job came, or the end */
  pthread_cond_t idle;         /* the last worker finished its part */
  worker workers[MAX_THREADS]; /* [1, n_threads) run; 0 is the caller */
  unsigned n_threads;
  unsigned busy;       /* workers still on this job */
  uint64_t generation; /* number of the job */
  bool stop;
  tl_pool_fn fn;
  void *user;
  size_t n;       /* items */
  size_t next;    /* first index not drawn */
  size_t failed;  /* lowest failing index, SIZE_MAX: none */
  uint64_t lacks; /* allocations that failed in workers */
  tl_status status;
};

/* Draws the next index. False when there is none left, or a failure has made the rest pointless. */
static bool draw(tl_pool *p, size_t *i) {
  pthread_mutex_lock(&p->lock);
  bool got = p->failed == SIZE_MAX && p->next < p->n;
  if (got)
    *i = p->next++;
  pthread_mutex_unlock(&p->lock);
  return got;
}

/* Keeps the failure of the lowest index, which a plain loop would have returned. */
static void record_failure(tl_pool *p, size_t i, tl_status status) {
  pthread_mutex_lock(&p->lock);
  if (i < p->failed) {
    p->failed = i;
    p->status = status;
  }
  pthread_mutex_unlock(&p->lock);
}

/* Draws items until there are none; workers and caller do the same. */
static void work(tl_pool *p, unsigned number) {
  size_t i;
  while (draw(p, &i)) {
    tl_status status = p->fn(p->user, i, number);
    if (status != TL_OK)
      record_failure(p, i, status);
  }
}

/* Sleeps, works on one job, tells the caller when it is the last one to finish, and sleeps
 * again. */
static void *worker_main(void *arg) {
  worker *self = arg;
  tl_pool *p = self->pool;
  uint64_t seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->stop && p->generation == seen)
      pthread_cond_wait(&p->wake, &p->lock);
    if (p->stop)
      break;
    seen = p->generation;
    pthread_mutex_unlock(&p->lock);
    uint64_t lacks = tl_memory_failures();
    work(p, self->number);
    pthread_mutex_lock(&p->lock);
    p->lacks += tl_memory_failures() - lacks;
    if (--p->busy == 0)
      pthread_cond_signal(&p->idle);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* The affinity mask counts, not the machine: a container may have fewer. */
unsigned tl_pool_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  int n = CPU_COUNT(&set);
  return n < 1 ? 1 : (unsigned)n;
}

/* Starts workers until there are `threads` with the caller. Fewer are slower, not wrong. */
static void start_workers(tl_pool *p, unsigned threads) {
  pthread_attr_t attributes;
  p->n_threads = 1;
  if (pthread_attr_init(&attributes) != 0)
    return;
  bool fits = pthread_attr_setstacksize(&attributes, STACK) == 0;
  for (; fits && p->n_threads < threads; p->n_threads++) {
    worker *w = &p->workers[p->n_threads];
    w->pool = p;
    w->number = p->n_threads;
    if (pthread_create(&w->thread, &attributes, worker_main, w) != 0)
      break;
  }
  pthread_attr_destroy(&attributes);
}

tl_pool *tl_pool_create(unsigned threads) {
  tl_pool *p = calloc(1, sizeof *p);
  if (!p)
    return NULL;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->idle, NULL);
  if (threads == 0)
    threads = tl_pool_processors();
  if (threads > MAX_THREADS)
    threads = MAX_THREADS;
  start_workers(p, threads);
  return p;
}

void tl_pool_destroy(tl_pool *p) {
  if (!p)
    return;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (unsigned i = 1; i < p->n_threads; i++)
    pthread_join(p->workers[i].thread, NULL);
  pthread_cond_destroy(&p->idle);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  free(p);
}

unsigned tl_pool_threads(const tl_pool *p) { return p->n_threads; }

/* The caller works too, as worker 0, and returns when no worker touches the job any more. */
tl_status tl_pool_run(tl_pool *p, size_t n, tl_pool_fn fn, void *user) {
  pthread_mutex_lock(&p->lock);
  p->fn = fn;
  p->user = user;
  p->n = n;
  p->next = 0;
  p->failed = SIZE_MAX;
  p->status = TL_OK;
  p->lacks = 0;
  p->busy = p->n_threads - 1;
  p->generation++;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  work(p, 0);
  pthread_mutex_lock(&p->lock);
  while (p->busy)
    pthread_cond_wait(&p->idle, &p->lock);
  pthread_mutex_unlock(&p->lock);
  tl_memory_add_failures(p->lacks);
  return p->status;
}
