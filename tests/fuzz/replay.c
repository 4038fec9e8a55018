/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files to a fuzz target without libFuzzer, so that seeds and saved crashers are tests of
 * every build. Arguments are files; ends with the number of files tried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"

enum { MAX_BYTES = 1 << 20 };

/* Returns the file's size in bytes, or -1. */
static long read_file(const char *path, uint8_t *into) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return -1;
  size_t n = fread(into, 1, MAX_BYTES, f);
  int bad = ferror(f);
  fclose(f);
  return bad ? -1 : (long)n;
}

/* Each input ends where its block ends, so that sanitizers see a read beyond it, and starts at an
 * odd address, so that they see a load that assumes alignment. */
static int replay(const char *path, uint8_t *room) {
  long n = read_file(path, room);
  uint8_t *exact = n < 0 ? NULL : malloc((size_t)n + 1);
  if (!exact) {
    fprintf(stderr, "%s: cannot be read\n", path);
    return 0;
  }
  uint8_t *input = exact + 1;
  memcpy(input, room, (size_t)n);
  LLVMFuzzerTestOneInput(input, (size_t)n);
  free(exact);
  return 1;
}

int main(int argc, char **argv) {
  uint8_t *room = malloc(MAX_BYTES);
  int passed = 0;
  if (!room)
    return 70;
  for (int i = 1; i < argc; i++) {
    fprintf(stderr, "%s\n", argv[i]);
    passed += replay(argv[i], room);
  }
  free(room);
  printf("%d passed, %d failed, 0 skipped\n", passed, argc - 1 - passed);
  return passed == argc - 1 ? 0 : 1;
}
