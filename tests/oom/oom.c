/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a whole conversion again and again, failing the n-th allocation for every n, until one run
 * gets through: each failure must end in an ordinary error that says "out of memory" and nothing
 * else, leave no output, and (under ASan) leak nothing. Allocation functions are wrapped by the
 * linker (--wrap). */
#include <unistd.h>

#include "tests/oom/failing.h"

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
