/* SPDX-License-Identifier: Apache-2.0 */
/* Non-cryptographic hashing with fixed seeds. */
#include "support/hash.h"

#include <endian.h>
#include <string.h>

#include "support/wide.h"

/* Little-endian everywhere: hashes of seeds are computed when Tailor is built, maybe elsewhere. */
static uint64_t load64(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return le64toh(v);
}

/* Folds the 128-bit product: every bit of a and b reaches every bit of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
  uint64_t high, low = tl_mul_wide(a, b, 0, &high);
  return low ^ high;
}

/* Loads fewer than eight bytes, zeros behind them. */
static uint64_t load_tail(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++)
    v |= (uint64_t)p[i] << 8 * i;
  return v;
}

/* As load_tail, where at least eight bytes lie before p + n: no loop. */
static uint64_t load_end(const unsigned char *p, size_t n) {
  return n ? load64(p + n - 8) >> 8 * (8 - n) : 0;
}

/* Reads sixteen bytes a step with one multiplication, so that long names cost little more than
 * short ones. The length goes into the last step, since the tail is padded with zeros. */
uint64_t tl_hash_bytes(const void *data, size_t n, uint64_t seed) {
  const unsigned char *p = data;
  const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
  const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
  uint64_t h = seed ^ k0;
  size_t left = n;
  for (; left > 16; left -= 16, p += 16)
    h = fold(load64(p) ^ k1, load64(p + 8) ^ h);
  uint64_t a = left >= 8 ? load64(p) : n >= 8 ? load_end(p, left) : load_tail(p, left);
  uint64_t b = left > 8 ? load_end(p + 8, left - 8) : 0;
  return fold(k1 ^ n, fold(a ^ k1, b ^ h));
}
