/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation functions as the linker gives them to the program (--wrap): the real ones, and a flag
 * that remembers a failure. A failure is also an error where it happens; here is the net under the
 * places that would take it for something else. */
#include "tools/cli/memory.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ENORMOUS = 16 << 20 };

static atomic_bool failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static void *seen(void *p, size_t n) {
  if (!p && n < ENORMOUS)
    atomic_store_explicit(&failed, true, memory_order_relaxed);
  return p;
}

void *__wrap_malloc(size_t n) { return seen(__real_malloc(n), n); }

void *__wrap_calloc(size_t n, size_t size) {
  size_t all;
  void *p = __real_calloc(n, size);
  return __builtin_mul_overflow(n, size, &all) ? p : seen(p, all);
}

void *__wrap_realloc(void *p, size_t n) { return seen(__real_realloc(p, n), n); }

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return seen(__real_aligned_alloc(alignment, n), n);
}

char *__wrap_strdup(const char *s) { return seen(__real_strdup(s), 0); }
char *__wrap_strndup(const char *s, size_t n) { return seen(__real_strndup(s, n), 0); }

bool tl_memory_failed(void) { return atomic_load_explicit(&failed, memory_order_relaxed); }

void tl_memory_watch(void) {
  cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
  cJSON_InitHooks(&hooks);
}
