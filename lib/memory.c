/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of the caller. The linker sends every allocation of the shared library through here
 * (--wrap), also those of tables that otherwise are mapped pages. The rest of the library does not
 * know of it. */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/base.h>

#include "support/memory.h"

enum { ALIGNMENT = 16 }; /* what malloc promises */

/* Weak: programs link the static library without --wrap, and it takes its memory from malloc. */
void *__real_malloc(size_t n) __attribute__((weak));
void *__real_calloc(size_t n, size_t size) __attribute__((weak));
void *__real_realloc(void *p, size_t n) __attribute__((weak));
void *__real_aligned_alloc(size_t alignment, size_t n) __attribute__((weak));
void __real_free(void *p) __attribute__((weak));
char *__real_realpath(const char *path, char *resolved) __attribute__((weak));
void *__real_tl_pages_alloc(size_t n, size_t size) __attribute__((weak));
void *__real_tl_pages_alloc_raw(size_t n, size_t size) __attribute__((weak));
void *__real_tl_pages_grow(void *p, size_t n, size_t more, size_t size) __attribute__((weak));
void __real_tl_pages_free(void *p, size_t n, size_t size) __attribute__((weak));

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
char *__wrap_realpath(const char *path, char *resolved);
void *__wrap_tl_pages_alloc(size_t n, size_t size);
void *__wrap_tl_pages_alloc_raw(size_t n, size_t size);
void *__wrap_tl_pages_grow(void *p, size_t n, size_t more, size_t size);
void __wrap_tl_pages_free(void *p, size_t n, size_t size);

/* Set at most once, before the first allocation, and constant from then on. */
static tl_allocator given;
static atomic_bool allocated; /* something was allocated */

static void *allocate(size_t n, size_t alignment) {
  if (!atomic_load_explicit(&allocated, memory_order_relaxed))
    atomic_store_explicit(&allocated, true, memory_order_relaxed);
  if (given.allocate)
    return given.allocate(given.user, n ? n : 1, alignment);
  return alignment > ALIGNMENT ? __real_aligned_alloc(alignment, n) : __real_malloc(n);
}

static void *zeroed(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes))
    return NULL;
  void *p = given.allocate ? allocate(bytes, ALIGNMENT) : __real_calloc(n, size);
  if (p && given.allocate)
    memset(p, 0, bytes);
  return tl_memory_seen(p, bytes);
}

void *__wrap_malloc(size_t n) { return tl_memory_seen(allocate(n, ALIGNMENT), n); }

void *__wrap_calloc(size_t n, size_t size) {
  atomic_store_explicit(&allocated, true, memory_order_relaxed);
  return zeroed(n, size);
}

void *__wrap_realloc(void *p, size_t n) {
  if (!p)
    return __wrap_malloc(n);
  return tl_memory_seen(
      given.allocate ? given.resize(given.user, p, n ? n : 1) : __real_realloc(p, n), n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return tl_memory_seen(allocate(n, alignment), n);
}

void __wrap_free(void *p) {
  if (!given.allocate)
    __real_free(p);
  else if (p)
    given.release(given.user, p);
}

char *__wrap_strndup(const char *s, size_t most) {
  size_t n = strnlen(s, most);
  char *copy = __wrap_malloc(n + 1);
  if (!copy)
    return NULL;
  memcpy(copy, s, n);
  copy[n] = '\0';
  return copy;
}

char *__wrap_strdup(const char *s) { return __wrap_strndup(s, SIZE_MAX); }

/* What the C library allocates is copied, as it is freed like everything else. */
char *__wrap_realpath(const char *path, char *resolved) {
  char room[PATH_MAX];
  if (resolved)
    return __real_realpath(path, resolved);
  return __real_realpath(path, room) ? __wrap_strdup(room) : NULL;
}

/* ---- large tables ---------------------------------------------------------------------------- */

void *__wrap_tl_pages_alloc(size_t n, size_t size) {
  return given.allocate ? zeroed(n, size) : __real_tl_pages_alloc(n, size);
}

void *__wrap_tl_pages_alloc_raw(size_t n, size_t size) {
  size_t bytes;
  if (!given.allocate)
    return __real_tl_pages_alloc_raw(n, size);
  return __builtin_mul_overflow(n, size, &bytes) ? NULL : __wrap_malloc(bytes);
}

void *__wrap_tl_pages_grow(void *p, size_t n, size_t more, size_t size) {
  if (!given.allocate)
    return __real_tl_pages_grow(p, n, more, size);
  void *wide = zeroed(more, size);
  if (!wide)
    return NULL;
  if (n)
    memcpy(wide, p, n * size);
  __wrap_free(p);
  return wide;
}

void __wrap_tl_pages_free(void *p, size_t n, size_t size) {
  if (given.allocate)
    __wrap_free(p);
  else
    __real_tl_pages_free(p, n, size);
}

/* ---- the caller's ---------------------------------------------------------------------------- */

int tl_allocator_set(const tl_allocator *a) {
  if (!__real_malloc)
    return TL_ERROR_UNSUPPORTED;
  if (!a || !a->allocate || !a->resize || !a->release || given.allocate ||
      atomic_load_explicit(&allocated, memory_order_relaxed))
    return TL_ERROR_USAGE;
  given = *a;
  return TL_SUCCESS;
}
