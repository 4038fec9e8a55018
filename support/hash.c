/* SPDX-License-Identifier: Apache-2.0 */
/* Non-cryptographic hashing with fixed seeds, and SHA-256. */
#include "support/hash.h"

#include <string.h>

static uint64_t load64(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

/* Folds the 128-bit product: every bit of a and b reaches every bit of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_tail(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  if (n)
    memcpy(&v, p, n);
  return v;
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
  uint64_t a = left >= 8 ? load64(p) : load_tail(p, left);
  uint64_t b = left > 8 ? load_tail(p + 8, left - 8) : 0;
  return fold(k1 ^ n, fold(a ^ k1, b ^ h));
}

/* The constants of FIPS 180-4: the first 32 bits of the fractions of cube roots of primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t v, unsigned n) { return (v >> n) | (v << (32 - n)); }

/* The message schedule W[0..63] of one block. */
static void fill_schedule(uint32_t w[64], const unsigned char *p) {
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
           p[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    uint32_t a = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t b = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
}

/* One block of 64 bytes; s[] is a..h of the standard. */
static void compress(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64];
  uint32_t s[8];
  fill_schedule(w, block);
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t e = rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25);
    uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t t1 = s[7] + e + choose + round_constants[i] + w[i];
    uint32_t a = rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22);
    uint32_t t2 = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++)
    state[i] += s[i];
}

void tl_sha256_start(tl_sha256 *s) {
  *s = (tl_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                             0x1f83d9ab, 0x5be0cd19}};
}

/* Completes the pending block first, then takes whole blocks from the data itself. */
void tl_sha256_add(tl_sha256 *s, const void *data, size_t n) {
  const unsigned char *p = data;
  size_t held = s->n % 64;
  s->n += n;
  if (held && n) {
    size_t more = n < 64 - held ? n : 64 - held;
    memcpy(s->pending + held, p, more);
    p += more;
    n -= more;
    if (held + more < 64)
      return;
    compress(s->state, s->pending);
  }
  for (; n >= 64; n -= 64, p += 64)
    compress(s->state, p);
  if (n)
    memcpy(s->pending, p, n);
}

/* Padding: a one bit, zeros, and the length in bits in the last eight bytes; two blocks when it
 * does not fit one. */
void tl_sha256_finish(tl_sha256 *s, char out[65]) {
  static const char digits[] = "0123456789abcdef";
  unsigned char tail[128] = {0};
  size_t left = s->n % 64;
  memcpy(tail, s->pending, left);
  tail[left] = 0x80;
  size_t blocks = left < 56 ? 1 : 2;
  uint64_t bits = s->n * 8;
  for (size_t i = 0; i < 8; i++)
    tail[blocks * 64 - 1 - i] = (unsigned char)(bits >> (8 * i));
  for (size_t i = 0; i < blocks; i++)
    compress(s->state, tail + 64 * i);
  for (size_t i = 0; i < 64; i++)
    out[i] = digits[(s->state[i / 8] >> (28 - 4 * (i % 8))) & 15];
  out[64] = '\0';
}

void tl_sha256_hex(const void *data, size_t n, char out[65]) {
  tl_sha256 s;
  tl_sha256_start(&s);
  tl_sha256_add(&s, data, n);
  tl_sha256_finish(&s, out);
}
