/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by Nettle. Portable C takes thirteen times as long where the processor has instructions
 * for it. OpenSSL's libcrypto is as fast, but a start of the command would pay for a library of
 * several megabytes. */
#include "support/sha256.h"

#include <nettle/sha2.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(tl_sha256), "the state fits its room");
_Static_assert(_Alignof(struct sha256_ctx) <= _Alignof(tl_sha256), "the state is aligned");

static struct sha256_ctx *context(tl_sha256 *s) { return (struct sha256_ctx *)(void *)s; }

void tl_sha256_start(tl_sha256 *s) { sha256_init(context(s)); }

void tl_sha256_add(tl_sha256 *s, const void *p, size_t n) { sha256_update(context(s), n, p); }

void tl_sha256_finish(tl_sha256 *s, char out[65]) {
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[SHA256_DIGEST_SIZE];
  sha256_digest(context(s), sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[2 * sizeof digest] = '\0';
}

void tl_sha256_hex(const void *p, size_t n, char out[65]) {
  tl_sha256 s;
  tl_sha256_start(&s);
  tl_sha256_add(&s, p, n);
  tl_sha256_finish(&s, out);
}
