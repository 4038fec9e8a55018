/* SPDX-License-Identifier: Apache-2.0 */
/* Non-cryptographic hashing and random numbers with fixed seeds, the same on every machine, and
 * SHA-256 for names of external weight files. */
#ifndef TL_SUPPORT_HASH_H
#define TL_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of n bytes; little-endian loads, so equal on every supported host. */
uint64_t tl_hash_bytes(const void *p, size_t n, uint64_t seed);

/* Mixes one more word into a running hash. */
static inline uint64_t tl_hash_mix(uint64_t h, uint64_t v) {
  h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
  h *= UINT64_C(0xff51afd7ed558ccd);
  return h ^ (h >> 32);
}

/* The i-th of the random numbers of a key: the mixer of Steele, Lea and Flood over a counter, so
 * that every one is found alone. */
static inline uint64_t tl_random_bits(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* SHA-256 (FIPS 180-4), fed in pieces. */
typedef struct tl_sha256 {
  uint32_t state[8];
  uint64_t n;               /* bytes so far */
  unsigned char pending[64]; /* the n % 64 bytes of the block that is not full */
} tl_sha256;

void tl_sha256_start(tl_sha256 *s);
void tl_sha256_add(tl_sha256 *s, const void *p, size_t n);
/* The digest as 64 lower-case hex digits and a NUL. */
void tl_sha256_finish(tl_sha256 *s, char out[65]);
/* All of it for n bytes in one piece. */
void tl_sha256_hex(const void *p, size_t n, char out[65]);

#endif
