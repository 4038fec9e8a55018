/* SPDX-License-Identifier: Apache-2.0 */
/* Makes random numbers of a key and a position. */
#include "lib/values/random.h"

#include "lib/values/elements.h"
#include "support/hash.h"

/* Returns a number in [-1, 1): 24 random bits in steps of 2^-23, which f32 holds exactly, so that a
 * model gets the same numbers in f32 and f64. */
static double fraction_at(uint64_t key, uint64_t i) {
  return (double)(tl_random_bits(key, i) >> 40) * 0x1p-23 - 1;
}

static void fill_complex(tl_host *t, uint64_t key) {
  for (uint64_t i = 0; i < 2 * t->n; i++) {
    if (t->dtype == TL_DTYPE_C64)
      ((float *)t->data)[i] = (float)fraction_at(key, i);
    else
      ((double *)t->data)[i] = fraction_at(key, i);
  }
}

/* The top bit makes integers 0 or 1. */
static void fill(tl_host *t, uint64_t key) {
  tl_dtype d = (tl_dtype)t->dtype;
  for (uint64_t i = 0; i < t->n; i++) {
    if (d == TL_DTYPE_BOOL)
      tl_put_int(t, i, i % 2 == 0);
    else if (tl_dtype_is_integer(d))
      tl_put_int(t, i, (int64_t)(tl_random_bits(key, i) >> 63));
    else
      tl_put_float(t, i, fraction_at(key, i));
  }
}

void tl_fill_random(tl_host *t, tl_sv name, uint64_t seed) {
  uint64_t key = tl_hash_bytes(name.p, name.n, seed);
  if (t->dtype == TL_DTYPE_C64 || t->dtype == TL_DTYPE_C128)
    fill_complex(t, key);
  else
    fill(t, key);
}
