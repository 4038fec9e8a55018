/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a whole conversion again and again, failing the n-th allocation for every n, until one run
 * gets through: each failure must end in an ordinary error, leave no output, and (under ASan) leak
 * nothing. Allocation functions are wrapped by the linker (--wrap). */
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

static struct {
  unsigned long seen;
  unsigned long fail_at; /* 0: never */
} allocations;

static int fails(void) { return ++allocations.seen == allocations.fail_at; }

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }

/* One conversion; 0 or the exit code of the first failing step. mode: value of --precision-mode, or
 * NULL. optim: value of --optim-model, or NULL. */
static int convert(const char *model, const char *output, const char *mode, const char *optim) {
  tl_context *c = tl_context_create();
  if (!c)
    return TAILOR_ERROR_INTERNAL;
  tl_model *m = NULL;
  int code = mode ? tl_context_set(c, "precision-mode", mode) : 0;
  if (code == 0 && optim)
    code = tl_context_set(c, "optim-model", optim);
  if (code == 0)
    code = tl_model_load(c, model, &m);
  size_t n = strlen(output);
  int air = n > 4 && strcmp(output + n - 4, ".air") == 0;
  if (code == 0)
    code = tl_model_optimize(m, air ? TAILOR_FOR_AIR : TAILOR_FOR_ONNX);
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
    return TAILOR_ERROR_USAGE;
  for (unsigned long n = 1;; n++) {
    allocations.seen = 0;
    allocations.fail_at = n;
    const char *mode = argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
    int code = convert(argv[1], argv[2], mode, argc > 4 ? argv[4] : NULL);
    allocations.fail_at = 0;
    int reached = allocations.seen >= n;
    int exists = access(argv[2], F_OK) == 0;
    if (exists != (code == 0) || (!reached && code != 0)) {
      printf("FAIL allocation %lu: code %d, output %s\n", n, code, exists ? "exists" : "missing");
      failed++;
    }
    unlink(argv[2]);
    if (!reached || failed > 20) {
      printf("%lu passed, %lu failed, 0 skipped\n", n - failed, failed);
      return failed != 0;
    }
  }
}
