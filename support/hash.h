/* SPDX-License-Identifier: Apache-2.0 */
/* Non-cryptographic hashing and random numbers with fixed seeds, the same on every machine. */
#ifndef TL_SUPPORT_HASH_H
#define TL_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns a hash of n bytes. Loads are little-endian, so it is equal on every supported host. */
uint64_t tl_hash_bytes(const void *p, size_t n, uint64_t seed);

/* Returns a running hash with one more word mixed in. */
static inline uint64_t tl_hash_mix(uint64_t h, uint64_t v) {
  h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
  h *= UINT64_C(0xff51afd7ed558ccd);
  return h ^ (h >> 32);
}

/* Returns random number i of a key: the mixer of Steele, Lea and Flood (SplitMix, 2014) over a
 * counter, so that each number can be computed alone. */
static inline uint64_t tl_random_bits(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

#endif
