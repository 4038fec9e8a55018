/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the n-th allocation of a program fail, alone or with all that follow, and tells whether the
 * library said so. Included once by a program whose allocation functions the linker wraps (--wrap).
 */
#ifndef TL_TESTS_OOM_FAILING_H
#define TL_TESTS_OOM_FAILING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tailor/tailor.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

enum { NO_CONTEXT = -1 };

static struct {
  unsigned long seen;
  unsigned long fail_at; /* 0: never */
  int and_later;         /* so do all later ones */
} allocations;

static int fails(void) {
  unsigned long n = ++allocations.seen;
  return n == allocations.fail_at ||
         (allocations.and_later && allocations.fail_at && n > allocations.fail_at);
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return fails() ? NULL : __real_aligned_alloc(alignment, n);
}

char *__wrap_strdup(const char *s) { return fails() ? NULL : __real_strdup(s); }
char *__wrap_strndup(const char *s, size_t n) { return fails() ? NULL : __real_strndup(s, n); }

/* What was said during one conversion. */
typedef struct said {
  unsigned lacks;  /* errors that name memory */
  char other[512]; /* an error that does not, or a message behind one that does; "" for none */
} said;

static void hear(void *user, const tl_message *m) {
  said *s = user;
  if (m->severity == TL_SEVERITY_ERROR && strstr(m->text, "out of memory"))
    s->lacks++;
  else if (m->severity == TL_SEVERITY_ERROR || s->lacks)
    snprintf(s->other, sizeof s->other, "%s", m->text);
}

/* A context that could not be made says nothing; all else does, and nothing but that. */
static int is_told(int code, const said *s) {
  if (code == NO_CONTEXT)
    return !s->lacks && !s->other[0];
  return code == TL_ERROR_INTERNAL && s->lacks == 1 && !s->other[0];
}

#endif
