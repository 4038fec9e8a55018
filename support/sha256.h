/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), fed in pieces: the names of external weight files, and the key of a model
 * in a library of measurements. Computed by Nettle, which uses the processor's instructions for it
 * where there are some. */
#ifndef TL_SUPPORT_SHA256_H
#define TL_SUPPORT_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* A message that is being hashed. Room for the library's state, so that only sha256.c sees it. */
typedef struct tl_sha256 {
  uint64_t state[16];
} tl_sha256;

/* Starts an empty message. */
void tl_sha256_start(tl_sha256 *s);
/* Adds n bytes to the message. */
void tl_sha256_add(tl_sha256 *s, const void *p, size_t n);
/* Writes the digest as 64 lower-case hex digits and a NUL. The state is used up. */
void tl_sha256_finish(tl_sha256 *s, char out[65]);
/* Writes the digest of n bytes in one call. */
void tl_sha256_hex(const void *p, size_t n, char out[65]);

#endif
