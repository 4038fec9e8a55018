/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 64-bit numbers in full, also where compilers know no numbers of 128 bits. */
#ifndef TL_SUPPORT_WIDE_H
#define TL_SUPPORT_WIDE_H

#include <stdint.h>

/* Does what tl_mul_wide does with numbers of 64 bits. */
static inline uint64_t tl_mul_wide_by_halves(uint64_t a, uint64_t b, uint64_t c, uint64_t *high) {
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t low = a0 * b0, left = a1 * b0 + (low >> 32), right = a0 * b1 + (uint32_t)left;
  *high = a1 * b1 + (left >> 32) + (right >> 32);
  low = right << 32 | (uint32_t)low;
  *high += low + c < low;
  return low + c;
}

/* Returns the lower half of a * b + c; *high receives the upper one. */
static inline uint64_t tl_mul_wide(uint64_t a, uint64_t b, uint64_t c, uint64_t *high) {
#ifdef __SIZEOF_INT128__
  __extension__ unsigned __int128 product = (unsigned __int128)a * b + c;
  *high = (uint64_t)(product >> 64);
  return (uint64_t)product;
#else
  return tl_mul_wide_by_halves(a, b, c, high);
#endif
}

#endif
