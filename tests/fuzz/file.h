/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the bytes of an input to readers that open a file. */
#ifndef TL_TESTS_FUZZ_FILE_H
#define TL_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH = 64 };

/* Puts bytes into a file that is in memory alone, and its name into `path`, of FUZZ_PATH bytes.
 * Returns its descriptor, which the caller closes, -1 if there is no room. */
static inline int fuzz_file(const uint8_t *data, size_t size, char *path) {
  int fd = memfd_create("fuzz", 0);
  if (fd < 0)
    return -1;
  snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
  if (write(fd, data, size) == (ssize_t)size)
    return fd;
  close(fd);
  return -1;
}

#endif
