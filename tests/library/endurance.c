/* SPDX-License-Identifier: Apache-2.0 */
/* Many conversions in one process: endurance FOLDER [N]. Models are loaded from memory and from
 * files, optimized, saved and run, and every fourth one is broken. After the first tenth neither
 * the memory of the process nor its open files grow, and the first bytes are those of the last. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>

#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "endurance.c:%d: %s\n", __LINE__, #condition);                               \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

enum {
#if defined(WITH_SANITIZERS) /* they keep what was freed for a while */
  FEW = 200,
  KEEPS_FREED = 1,
#else
  FEW = 1000,
  KEEPS_FREED = 0,
#endif
  SLACK = 2048 /* KiB: what an allocator may keep in another order of calls */
};

static const char good[] =
    "graph @g(%x: f32[2,4]) -> (%y) {\n"
    "  const %w: f32[4,4] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]\n"
    "  const %b: f32[4] = [1, 2, 3, 4]\n"
    "  %m = MatMul(%x, %w)\n  %s = Add(%m, %b)\n  %r = Relu(%s)\n"
    "  %e = Erf(%r)\n  %y = Softmax(%e)\n}\n";
static const char bad[] = "graph @g(%x: f32[2,4]) -> (%y) {\n  const %w: f32[3] = [1, 2, 3]\n"
                          "  %y = MatMul(%x, %w)\n}\n";

/* Returns the kilobytes of the process that are in memory and no file's. */
static long resident(void) {
  char line[256];
  long kib = -1;
  FILE *f = fopen("/proc/self/status", "r");
  NEED(f);
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "RssAnon: %ld", &kib) == 1)
      break;
  fclose(f);
  NEED(kib > 0);
  return kib;
}

static int open_files(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  NEED(d);
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

/* Optimizes a model that is given, and hands out its bytes in AIR. */
static void convert(tl_model *m, void **bytes, size_t *n) {
  NEED(tl_model_optimize(m, TL_FOR_AIR) == TL_SUCCESS);
  NEED(tl_model_save_bytes(m, "m.air", bytes, n) == TL_SUCCESS);
}

static void run(tl_model *m) {
  tl_tensors *out;
  NEED(tl_model_run(m, NULL, 0, &(tl_run_settings){.random_inputs = 1, .threads = 1}, &out) ==
       TL_SUCCESS);
  tl_tensors_destroy(out);
}

/* One conversion: from memory, from a file, broken, or run before it is converted. */
static void once(int i, const char *path, void **bytes, size_t *n) {
  tl_context *c = tl_context_create();
  tl_model *m = NULL;
  NEED(c);
  int status = i % 4 == 1   ? tl_model_load(c, path, &m)
               : i % 4 == 2 ? tl_model_load_bytes(c, "bad.tir", bad, sizeof bad - 1, &m)
                            : tl_model_load_bytes(c, "m.tir", good, sizeof good - 1, &m);
  if (i % 4 == 2) {
    NEED(status != TL_SUCCESS || tl_model_optimize(m, TL_FOR_AIR) != TL_SUCCESS);
  } else {
    NEED(status == TL_SUCCESS);
    if (i % 4 == 3)
      run(m);
    convert(m, bytes, n);
  }
  tl_model_destroy(m);
  tl_context_destroy(c);
}

int main(int argc, char **argv) {
  char path[4096];
  void *first = NULL;
  size_t first_n = 0;
  NEED(argc >= 2);
  int count = argc > 2 ? atoi(argv[2]) : FEW, warm = count / 10, files = 0;
  long memory = 0;
  snprintf(path, sizeof path, "%s/m.tir", argv[1]);
  FILE *f = fopen(path, "w");
  NEED(f && fputs(good, f) >= 0 && fclose(f) == 0);
  for (int i = 0; i < count; i++) {
    void *bytes = NULL;
    size_t n = 0;
    once(i, path, &bytes, &n);
    if (i == 0) {
      first = bytes;
      first_n = n;
    } else if (bytes) {
      NEED(i % 4 == 1 || (n == first_n && memcmp(bytes, first, n) == 0));
      tl_free(bytes);
    }
    if (i == warm) {
      memory = resident();
      files = open_files();
    }
  }
  NEED(open_files() == files);
  long grown = resident() - memory;
  if (grown > SLACK && !KEEPS_FREED)
    fprintf(stderr, "%d conversions: %ld KiB of memory more than after %d\n", count, grown, warm);
  NEED(grown <= SLACK || KEEPS_FREED);
  tl_free(first);
  puts("all of it works");
  return 0;
}
