/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a whole conversion again and again, failing the n-th allocation for every n, alone and with
 * all that follow, until one run gets through: each failure must end in an ordinary error that says
 * "out of memory" and nothing else, leave no output, and (under ASan) leak nothing. Allocation
 * functions are wrapped by the linker (--wrap).
 *
 * An arena takes a block for hundreds of requests, of which only the one that needs the block fails
 * this way. So requests of each place in the program that asks an arena fail as well: the first,
 * the second, the fourth and so on. */
#include <unistd.h>

#include "support/arena.h"
#include "support/memory.h"
#include "tests/oom/failing.h"

/* ---- requests to arenas ---------------------------------------------------------------------- */

void *__real_tl_arena_alloc(tl_arena *a, size_t bytes);
void *__real_tl_arena_calloc(tl_arena *a, size_t n, size_t size);
char *__real_tl_arena_copy(tl_arena *a, const void *src, size_t bytes);
void *__wrap_tl_arena_alloc(tl_arena *a, size_t bytes);
void *__wrap_tl_arena_calloc(tl_arena *a, size_t n, size_t size);
char *__wrap_tl_arena_copy(tl_arena *a, const void *src, size_t bytes);

enum { MOST_PLACES = 1 << 14 };

typedef struct place {
  const void *call;
  unsigned long seen;   /* requests of this run */
  unsigned long failed; /* requests up to the one that failed last; 0: none did */
} place;

static struct {
  place at[MOST_PLACES]; /* a hash table */
  int on;
  int done; /* a request of this run has failed */
} places;

/* Returns true if the request of a place is its first, second, fourth and so on, and did not fail
 * in an earlier run. Of each run one request fails. */
static int place_fails(const void *call) {
  size_t at = (size_t)call * 0x9e3779b97f4a7c15u >> 50;
  if (!places.on || places.done)
    return 0;
  while (places.at[at].call && places.at[at].call != call)
    at = (at + 1) % MOST_PLACES;
  place *p = &places.at[at];
  p->call = call;
  if (++p->seen < (p->failed ? 2 * p->failed : 1))
    return 0;
  p->failed = p->seen;
  places.done = 1;
  (void)tl_memory_seen(NULL, 1);
  return 1;
}

void *__wrap_tl_arena_alloc(tl_arena *a, size_t bytes) {
  return place_fails(__builtin_return_address(0)) ? NULL : __real_tl_arena_alloc(a, bytes);
}

void *__wrap_tl_arena_calloc(tl_arena *a, size_t n, size_t size) {
  return place_fails(__builtin_return_address(0)) ? NULL : __real_tl_arena_calloc(a, n, size);
}

char *__wrap_tl_arena_copy(tl_arena *a, const void *src, size_t bytes) {
  return place_fails(__builtin_return_address(0)) ? NULL : __real_tl_arena_copy(a, src, bytes);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* One conversion; 0, the exit code of the first failing step, or NO_CONTEXT. mode: value of
 * --precision-mode, or NULL. optim: value of --optim-model, or NULL. */
static int convert(const char *model, const char *output, const char *mode, const char *optim,
                   said *s) {
  tl_context *c = tl_context_create();
  if (!c)
    return NO_CONTEXT;
  tl_context_on_message(c, hear, s);
  tl_model *m = NULL;
  int code = mode ? tl_context_set(c, "precision-mode", mode) : 0;
  if (code == 0 && optim)
    code = tl_context_set(c, "optim-model", optim);
  if (code == 0)
    code = tl_model_load(c, model, &m);
  size_t n = strlen(output);
  int air = n > 4 && strcmp(output + n - 4, ".air") == 0;
  if (code == 0)
    code = tl_model_optimize(m, air ? TL_FOR_AIR : TL_FOR_ONNX);
  if (code == 0)
    code = tl_model_save(m, output);
  tl_model_destroy(m);
  tl_context_destroy(c);
  return code;
}

/* Makes one allocation fail, the n-th or, if places.on, one of an arena. Returns whether there was
 * one left to fail; counts in *failed what went wrong. */
static int run(int argc, char **argv, unsigned long n, unsigned long *failed) {
  said s = {0};
  const char *mode = argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
  allocations.seen = 0;
  allocations.fail_at = places.on ? 0 : n;
  places.done = 0;
  for (size_t i = 0; i < MOST_PLACES; i++)
    places.at[i].seen = 0;
  int code = convert(argv[1], argv[2], mode, argc > 4 ? argv[4] : NULL, &s);
  allocations.fail_at = 0;
  int reached = places.on ? places.done : allocations.seen >= n;
  int exists = access(argv[2], F_OK) == 0;
  if (exists != (code == 0) || (!reached && code != 0) || (code && !is_told(code, &s))) {
    printf("FAIL %s %lu: code %d, output %s, %u times out of memory, '%s'\n",
           places.on               ? "place"
           : allocations.and_later ? "allocations from"
                                   : "allocation",
           n, code, exists ? "exists" : "missing", s.lacks, s.other);
    ++*failed;
  }
  unlink(argv[2]);
  return reached;
}

/* oom MODEL OUTPUT [MODE [OPTIMIZER]], MODE '-' for none: prints what went wrong, and the closing
 * line that the runner adds up. With OOM_EVERY=N in the environment every N-th allocation fails,
 * and every tenth part of that many places that ask an arena. */
int main(int argc, char **argv) {
  unsigned long failed = 0;
  unsigned long total = 0;
  const char *given = getenv("OOM_EVERY");
  unsigned long every = given ? strtoul(given, NULL, 10) : 1;
  if (argc < 3 || argc > 5)
    return TL_ERROR_USAGE;
  for (int kind = 0; kind < 3; kind++) {
    allocations.and_later = kind == 1;
    places.on = kind == 2;
    unsigned long step = places.on ? every / 10 : every;
    for (unsigned long n = 1; failed <= 20 && run(argc, argv, n, &failed); n += step ? step : 1)
      total++;
  }
  printf("%lu passed, %lu failed, 0 skipped\n", total + 1 - failed, failed);
  return failed != 0;
}
