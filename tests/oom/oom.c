/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a whole conversion again and again, failing the n-th allocation for every n, until one run
 * gets through: each failure must end in an ordinary error that says "out of memory" and nothing
 * else, leave no output, and (under ASan) leak nothing. Allocation functions are wrapped by the
 * linker (--wrap). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
} allocations;

static int fails(void) { return ++allocations.seen == allocations.fail_at; }

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
  if (m->severity == TL_SEVERITY_ERROR && strstr(m->text, ": error: out of memory"))
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

/* oom MODEL OUTPUT [MODE [OPTIMIZER]], MODE '-' for none: prints what went wrong, and the closing
 * line that the runner adds up. */
int main(int argc, char **argv) {
  unsigned long failed = 0;
  if (argc < 3 || argc > 5)
    return TL_ERROR_USAGE;
  for (unsigned long n = 1;; n++) {
    allocations.seen = 0;
    allocations.fail_at = n;
    said s = {0};
    const char *mode = argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
    int code = convert(argv[1], argv[2], mode, argc > 4 ? argv[4] : NULL, &s);
    allocations.fail_at = 0;
    int reached = allocations.seen >= n;
    int exists = access(argv[2], F_OK) == 0;
    int wrong = exists != (code == 0) || (!reached && code != 0) || (code && !is_told(code, &s));
    if (wrong) {
      printf("FAIL allocation %lu: code %d, output %s, %u times out of memory, '%s'\n", n, code,
             exists ? "exists" : "missing", s.lacks, s.other);
      failed++;
    }
    unlink(argv[2]);
    if (!reached || failed > 20) {
      printf("%lu passed, %lu failed, 0 skipped\n", n - failed, failed);
      return failed != 0;
    }
  }
}
