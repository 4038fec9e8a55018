/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock and writes amounts. */
#include "support/measure.h"

#include <time.h>

uint64_t tl_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t tl_elapsed_ns(uint64_t start) {
  uint64_t now = tl_now_ns();
  return now > start ? now - start : 0;
}

/* Adds x / unit with one decimal, rounded half up. The quotient is split so that x * 10 cannot
 * overflow. */
static void add_tenths(tl_buf *out, uint64_t x, uint64_t unit, const char *name) {
  uint64_t tenths = x / unit * 10 + (x % unit * 10 + unit / 2) / unit;
  tl_buf_printf(out, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                (unsigned long long)(tenths % 10), name);
}

void tl_add_bytes(tl_buf *out, uint64_t bytes) {
  if (bytes < 1024)
    tl_buf_printf(out, "%llu bytes", (unsigned long long)bytes);
  else if (bytes < UINT64_C(1) << 20)
    add_tenths(out, bytes, 1024, "KiB");
  else if (bytes < UINT64_C(1) << 30)
    add_tenths(out, bytes, UINT64_C(1) << 20, "MiB");
  else
    add_tenths(out, bytes, UINT64_C(1) << 30, "GiB");
}

void tl_add_duration(tl_buf *out, uint64_t ns) {
  if (ns < 1000000000u)
    add_tenths(out, ns, 1000000, "ms");
  else
    add_tenths(out, ns, 1000000000u, "s");
}
