/* SPDX-License-Identifier: Apache-2.0 */
/* Computes elementary functions over f32 arrays, without branches, so that compilers vectorise the
 * loops. The polynomials are least-squares fits, reweighted towards equal relative error. */
#include "ir/eval/math/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ir/eval/kernel/vectors.h"

enum { BLOCK = 64 };

/* So that each level has its own copy, in its own instructions. */
#define ALWAYS_INLINE __attribute__((always_inline))

ALWAYS_INLINE static inline uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

ALWAYS_INLINE static inline float from_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* exp(x) = 2^n exp(r). Adding and subtracting 1.5 * 2^23 rounds to the integer n, and the sum t
 * holds n in its low bits. ln 2 is subtracted in two parts (0.693359375 has few bits), which keeps
 * r exact. 2^n may be subnormal or above the largest float, so it is multiplied in two factors; the
 * offset of 256 keeps both exponents positive. */
ALWAYS_INLINE static inline float exp_one(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  float t = c * 1.44269504f + 12582912.0f;
  float n = t - 12582912.0f;
  float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 4.166839580e-02f + r * (8.368796714e-03f + r * 1.381443288e-03f);
  p = 4.999999340e-01f + r * (1.666651997e-01f + r * p);
  p = 1.0f + (r + r * r * p);
  uint32_t k = bits_of(t) - 0x4b400000u + 256;
  uint32_t half = k >> 1;
  return p * from_bits((half - 1) << 23) * from_bits((k - half - 1) << 23);
}

/* An odd polynomial near 0, where 1 - 2 / (exp(2a) + 1) would cancel. Both forms are computed and
 * one is selected, which vectorises where a branch would not. */
ALWAYS_INLINE static inline float tanh_one(float x) {
  float a = fabsf(x), z = x * x;
  float p = 2.170070302e-02f + z * (-8.177397750e-03f + z * 2.142961414e-03f);
  p = -3.333333080e-01f + z * (1.333320601e-01f + z * (-5.394676302e-02f + z * p));
  float small = x + x * z * p;
  float large = 1.0f - 2.0f / (exp_one(a + a) + 1.0f);
  large = x < 0 ? -large : large;
  return a < 0.625f ? small : large;
}

/* The exponent is never positive, so exp cannot overflow. */
ALWAYS_INLINE static inline float sigmoid_one(float x) {
  float e = exp_one(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* An odd polynomial near 0; beyond, erf(a) = 1 - exp(-q(a)) with a fitted polynomial q. At 3.95 the
 * result has rounded to 1. */
ALWAYS_INLINE static inline float erf_one(float x) {
  float z = x * x;
  float p = 5.201286079e-03f + z * (-8.145597482e-04f + z * 8.382390264e-05f);
  p = 1.128369733e-01f + z * (-2.685950011e-02f + z * p);
  float small = x + x * (1.283791666e-01f + z * (-3.761263385e-01f + z * p));
  float a = fabsf(x);
  float c = a > 3.95f ? 3.95f : a;
  float q = 4.156250808e-03f + c * (-4.313926608e-04f + c * 2.082853504e-05f);
  q = 1.082203694e-01f + c * (-2.508060638e-02f + c * q);
  q = -1.692040191e-04f + c * (1.129488401e+00f + c * (6.334008632e-01f + c * q));
  float large = 1.0f - exp_one(-q);
  large = x < 0 ? -large : large;
  return a < 0.92f ? small : large;
}

/* Defines the loop over an array at one level. The block shows the compiler that reads and writes
 * do not overlap, even when x and y are the same array. */
#define AT_LEVEL(NAME, ONE, TARGET)                                                                \
  TARGET static void NAME(const float *x, float *y, size_t n) {                                    \
    float block[BLOCK];                                                                            \
    for (; n >= BLOCK; x += BLOCK, y += BLOCK, n -= BLOCK) {                                       \
      for (size_t k = 0; k < BLOCK; k++)                                                           \
        block[k] = ONE(x[k]);                                                                      \
      memcpy(y, block, sizeof block);                                                              \
    }                                                                                              \
    for (size_t k = 0; k < n; k++)                                                                 \
      block[k] = ONE(x[k]);                                                                        \
    memcpy(y, block, n * sizeof *block);                                                           \
  }

/* Defines the function, which takes the widest level of the processor. */
#define OVER_BLOCKS(NAME, ONE)                                                                     \
  AT_LEVEL(ONE##_128, ONE, )                                                                       \
  AT_LEVEL(ONE##_256, ONE, TL_VECTORS_256)                                                         \
  AT_LEVEL(ONE##_512, ONE, TL_VECTORS_512)                                                         \
  void NAME(const float *x, float *y, size_t n) {                                                  \
    unsigned level = tl_vector_level();                                                            \
    (level == 2 ? ONE##_512 : level == 1 ? ONE##_256 : ONE##_128)(x, y, n);                        \
  }

OVER_BLOCKS(tl_expf_n, exp_one)
OVER_BLOCKS(tl_tanhf_n, tanh_one)
OVER_BLOCKS(tl_sigmoidf_n, sigmoid_one)
OVER_BLOCKS(tl_erff_n, erf_one)
