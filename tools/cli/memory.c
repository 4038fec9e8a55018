/* SPDX-License-Identifier: Apache-2.0 */
/* Counts failed allocations of the whole program, which the linker sends through here (--wrap).
 * Each function is the real one with tl_memory_seen behind it. A failure is reported where it
 * happens; this is the net for places that take it for something else. */
#include "tools/cli/memory.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

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
DIR *__real_opendir(const char *path);
char *__real_realpath(const char *path, char *to);
DIR *__wrap_opendir(const char *path);
char *__wrap_realpath(const char *path, char *to);

void *__wrap_malloc(size_t n) { return tl_memory_seen(__real_malloc(n), n); }

void *__wrap_calloc(size_t n, size_t size) {
  /* A product that overflows is no lack of memory: calloc refuses it, and the caller judges it. */
  size_t all;
  void *p = __real_calloc(n, size);
  return __builtin_mul_overflow(n, size, &all) ? p : tl_memory_seen(p, all);
}

void *__wrap_realloc(void *p, size_t n) { return tl_memory_seen(__real_realloc(p, n), n); }

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return tl_memory_seen(__real_aligned_alloc(alignment, n), n);
}

char *__wrap_strdup(const char *s) { return tl_memory_seen(__real_strdup(s), 0); }
char *__wrap_strndup(const char *s, size_t n) { return tl_memory_seen(__real_strndup(s, n), 0); }

/* What the C library allocates for its caller. */
static void *seen_inside(void *p) { return p || errno != ENOMEM ? p : tl_memory_seen(NULL, 0); }

DIR *__wrap_opendir(const char *path) { return seen_inside(__real_opendir(path)); }
char *__wrap_realpath(const char *path, char *to) { return seen_inside(__real_realpath(path, to)); }

bool tl_memory_failed(void) { return tl_memory_failures() > 0; }

void tl_memory_watch(void) {
  cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
  cJSON_InitHooks(&hooks);
}
