/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow floats: conversion between f32 and the 16-, 8- and 4-bit formats, and of every dtype to
 * f32. Everything is integer arithmetic on bit patterns, so that the bits do not depend on the
 * processor; runs of halves go through half.h, whose paths give the same bits. Formats: IEEE 754
 * binary16; bfloat16; OCP 8-bit Floating Point (E4M3, E5M2) and Microscaling (E8M0, E2M1); the FNUZ
 * variants have one zero, no infinity, and NaN where -0 would be. */
#include <math.h>

#include "ir/half.h"
#include "ir/host.h"
#include "support/assert.h"

/* A format of at most 16 bits: sign, exponent, fraction. */
typedef struct narrow_format {
  int exponent_bits;
  int fraction_bits;
  int bias;
  bool infinity;      /* the all-ones exponent is infinity and NaN as in IEEE 754 */
  bool unsigned_zero; /* FNUZ: the pattern of -0 is the only NaN */
  bool has_nan;       /* FN: all ones is NaN; false: every pattern is a number */
} narrow_format;

static const narrow_format half_format = {5, 10, 15, true, false, true};

/* NULL for dtypes that are no such format. */
static const narrow_format *format_of(tl_dtype d) {
  static const narrow_format e4m3fn = {4, 3, 7, false, false, true};
  static const narrow_format e4m3fnuz = {4, 3, 8, false, true, true};
  static const narrow_format e5m2 = {5, 2, 15, true, false, true};
  static const narrow_format e5m2fnuz = {5, 2, 16, false, true, true};
  static const narrow_format e2m1 = {2, 1, 1, false, false, false};
  static const narrow_format bfloat = {8, 7, 127, true, false, true};
  switch (d) {
  case TL_DTYPE_F16: return &half_format;
  case TL_DTYPE_BF16: return &bfloat;
  case TL_DTYPE_F8E4M3FN: return &e4m3fn;
  case TL_DTYPE_F8E4M3FNUZ: return &e4m3fnuz;
  case TL_DTYPE_F8E5M2: return &e5m2;
  case TL_DTYPE_F8E5M2FNUZ: return &e5m2fnuz;
  case TL_DTYPE_F4E2M1: return &e2m1;
  default: return NULL;
  }
}

static float float_from_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint32_t bits_of_float(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* magnitude: the pattern without its sign. */
static bool is_narrow_nan(const narrow_format *f, uint32_t magnitude, bool negative) {
  uint32_t fraction_mask = (1u << f->fraction_bits) - 1;
  uint32_t exponent_mask = (1u << f->exponent_bits) - 1;
  if (f->unsigned_zero)
    return negative && magnitude == 0;
  if (f->infinity)
    return magnitude >> f->fraction_bits == exponent_mask && (magnitude & fraction_mask);
  return f->has_nan && magnitude == (exponent_mask << f->fraction_bits | fraction_mask);
}

/* Exact: every number of these formats is one of f32, whose exponent has the bias 127. */
static float narrow_to_f32(const narrow_format *f, uint32_t bits) {
  uint32_t sign_bit = 1u << (f->exponent_bits + f->fraction_bits);
  uint32_t magnitude = bits & (sign_bit - 1);
  uint32_t sign = bits & sign_bit ? 0x80000000u : 0;
  uint32_t exponent = magnitude >> f->fraction_bits;
  uint32_t fraction = magnitude & ((1u << f->fraction_bits) - 1);
  if (is_narrow_nan(f, magnitude, sign != 0))
    return float_from_bits(sign | 0x7fc00000u | fraction << (23 - f->fraction_bits));
  if (f->infinity && exponent == (1u << f->exponent_bits) - 1)
    return float_from_bits(sign | 0x7f800000u);
  if (exponent == 0) /* a multiple of the least subnormal: exact in f32 */
    return (sign ? -1.0f : 1.0f) *
           ((float)fraction * float_from_bits((uint32_t)(128 - f->bias - f->fraction_bits) << 23));
  return float_from_bits(sign | (exponent + 127 - (uint32_t)f->bias) << 23 |
                         fraction << (23 - f->fraction_bits));
}

/* Returns the largest finite magnitude of the format, as a pattern. */
static uint32_t narrow_max(const narrow_format *f) {
  uint32_t all = (1u << (f->exponent_bits + f->fraction_bits)) - 1;
  if (f->infinity)
    return (((1u << f->exponent_bits) - 1) << f->fraction_bits) - 1;
  return f->has_nan && !f->unsigned_zero ? all - 1 : all;
}

/* Returns the pattern of what is too large: the greatest number, infinity, or UINT32_MAX for
 * NaN. */
static uint32_t narrow_overflow(const narrow_format *f, bool saturate) {
  if (saturate || !f->has_nan)
    return narrow_max(f);
  if (f->infinity)
    return ((1u << f->exponent_bits) - 1) << f->fraction_bits;
  return UINT32_MAX; /* NaN */
}

/* Returns the pattern of the quiet NaN without sign; zero in formats that have none. */
static uint32_t narrow_nan(const narrow_format *f) {
  uint32_t all = (1u << (f->exponent_bits + f->fraction_bits)) - 1;
  if (f->unsigned_zero)
    return all + 1;
  return f->infinity
             ? (((1u << f->exponent_bits) - 1) << f->fraction_bits | 1u << (f->fraction_bits - 1))
         : f->has_nan ? all
                      : 0;
}

/* Returns significand * 2^exponent as a pattern without sign; UINT32_MAX for NaN. The significand
 * has its top bit at 52 or below. Rounds once, to nearest even. */
static uint32_t round_narrow(const narrow_format *f, uint64_t significand, int exponent,
                             bool saturate) {
  if (!significand)
    return 0;
  int top = 63 - __builtin_clzll(significand);
  int value_exponent = exponent + top; /* of the leading bit */
  int least = 1 - f->bias;             /* exponent of the least normal number */
  /* exponent of the last bit kept; fixed for subnormals */
  int ulp = (value_exponent < least ? least : value_exponent) - f->fraction_bits;
  int drop = ulp - exponent; /* bits of the significand below it */
  uint64_t kept;
  if (drop <= 0)
    kept = significand << -drop;
  else if (drop > 54) /* below half of the least subnormal */
    kept = 0;
  else {
    uint64_t half = UINT64_C(1) << (drop - 1);
    uint64_t rest = significand & ((half << 1) - 1);
    kept = significand >> drop;
    kept += rest > half || (rest == half && (kept & 1));
  }
  /* kept counts units of 2^ulp; a carry moves into the exponent by itself */
  uint64_t pattern = value_exponent < least
                         ? kept
                         : kept + ((uint64_t)(value_exponent - least) << f->fraction_bits);
  return pattern > narrow_max(f) ? narrow_overflow(f, saturate) : (uint32_t)pattern;
}

/* Pattern with its sign in place. */
static uint32_t finish_narrow(const narrow_format *f, uint32_t magnitude, bool negative) {
  if (magnitude == UINT32_MAX)
    return narrow_nan(f);
  if (!negative || (f->unsigned_zero && magnitude == 0))
    return magnitude;
  return magnitude | 1u << (f->exponent_bits + f->fraction_bits);
}

/* Rounds once: every f32 is an f64 as well, so that both go this way. */
static uint32_t narrow_from_f64(const narrow_format *f, double v, bool saturate) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  bool negative = bits >> 63;
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 0x7ff && fraction)
    return f->has_nan ? narrow_nan(f) | (negative && !f->unsigned_zero
                                             ? 1u << (f->exponent_bits + f->fraction_bits)
                                             : 0)
                      : narrow_max(f);
  if (exponent == 0x7ff)
    return finish_narrow(f, narrow_overflow(f, saturate), negative); /* infinity */
  if (exponent == 0)
    return finish_narrow(f, 0, negative); /* f64 subnormals are far below every format */
  return finish_narrow(f, round_narrow(f, fraction | UINT64_C(1) << 52, exponent - 1075, saturate),
                       negative);
}

/* The exponent of f16 has the bias 15, that of f32 127: 112 more for normal numbers. */
float tl_f16_to_f32(uint16_t h) {
  uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  if (magnitude - 0x00800000u < 0x0f800000u - 0x00800000u) /* a normal number */
    return float_from_bits(sign | (magnitude + (112u << 23)));
  return narrow_to_f32(&half_format, h);
}

/* 13 bits of the fraction go; 0xfff plus the last bit kept rounds them to nearest even. */
uint16_t tl_f16_from_f32(float v) {
  uint32_t bits = bits_of_float(v);
  uint32_t magnitude = bits & 0x7fffffffu;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (magnitude - (113u << 23) < (142u << 23) - (113u << 23)) { /* stays normal, before rounding */
    uint32_t rounded = magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | rounded >> 13);
  }
  if (magnitude > 0x7f800000u) /* as processors have it: quiet, with what fits of the payload */
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  return (uint16_t)narrow_from_f64(&half_format, v, false);
}

uint16_t tl_f16_from_f64(double v) { return (uint16_t)narrow_from_f64(&half_format, v, false); }

/* The upper half of the f32; NaNs stay NaN by setting the quiet bit. */
uint16_t tl_bf16_from_f32(float v) {
  uint32_t bits = bits_of_float(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* E8M0 is a power of two without sign: 2^(e - 127), 255 is NaN. The least one is subnormal in
 * f32. */
static float e8m0_to_f32(uint8_t e) {
  if (e == 255)
    return float_from_bits(0x7fc00000u);
  return e ? float_from_bits((uint32_t)e << 23) : float_from_bits(0x00400000u);
}

/* What cannot be a power of two, as a negative number, becomes NaN; zero becomes the least one. */
static uint8_t e8m0_from_f64(double v, bool saturate, tl_e8m0_rounding mode) {
  if (v != v || v < 0)
    return 255;
  if (v > 1e300) /* far above 2^127, infinity included */
    return saturate ? 254 : 255;
  if (v == 0)
    return 0;
  int e;
  double m = frexp(v, &e); /* in [1/2, 1): the power of two below v is 2^(e-1) */
  int code = e - 1 + 127;
  if (mode == TL_E8M0_UP)
    code += m > 0.5;
  else if (mode == TL_E8M0_NEAREST)
    code += m >= 0.75;
  if (code > 254)
    return saturate ? 254 : 255;
  return (uint8_t)(code < 0 ? 0 : code);
}

/* Returns element i of `bits` bits; the first is in the low bits of its byte. */
static unsigned packed_at(const void *src, unsigned bits, uint64_t i) {
  uint64_t at = i * bits;
  return (unsigned)((const uint8_t *)src)[at >> 3] >> (at & 7) & ((1u << bits) - 1);
}

/* Stores element i of `bits` bits and leaves its neighbours. */
static void put_packed(void *dst, unsigned bits, uint64_t i, unsigned v) {
  uint64_t at = i * bits;
  uint8_t *byte = (uint8_t *)dst + (at >> 3);
  unsigned mask = ((1u << bits) - 1) << (at & 7);
  *byte = (uint8_t)((*byte & ~mask) | (v << (at & 7) & mask));
}

/* Converts a run of one type and returns. */
#define CONVERT(TYPE, EXPR)                                                                        \
  {                                                                                                \
    const TYPE *s = (const TYPE *)src + first;                                                     \
    for (uint64_t i = 0; i < n; i++)                                                               \
      dst[i] = (EXPR);                                                                             \
    return;                                                                                        \
  }

static void packed_to_f32(tl_dtype from, const void *src, float *dst, uint64_t first, uint64_t n) {
  unsigned bits = tl_dtype_get(from)->bits;
  for (uint64_t i = 0; i < n; i++) {
    int v = (int)packed_at(src, bits, first + i);
    if (from == TL_DTYPE_F4E2M1)
      dst[i] = narrow_to_f32(format_of(from), (uint32_t)v);
    else if (from == TL_DTYPE_I4 || from == TL_DTYPE_I2) /* two's complement */
      dst[i] = (float)(v >> (bits - 1) ? v - (1 << bits) : v);
    else
      dst[i] = (float)v;
  }
}

void tl_host_to_f32(tl_dtype from, const void *src, float *dst, uint64_t first, uint64_t n) {
  const narrow_format *f = format_of(from);
  switch (from) {
  case TL_DTYPE_F32: memcpy(dst, (const float *)src + first, (size_t)n * sizeof *dst); return;
  case TL_DTYPE_F64: CONVERT(double, (float)s[i])
  case TL_DTYPE_F16:
    tl_half_unit_fastest()->to_f32((const uint16_t *)src + first, dst, (size_t)n);
    return;
  case TL_DTYPE_BF16: CONVERT(uint16_t, tl_bf16_to_f32(s[i]))
  case TL_DTYPE_I8: CONVERT(int8_t, (float)s[i])
  case TL_DTYPE_I16: CONVERT(int16_t, (float)s[i])
  case TL_DTYPE_I32: CONVERT(int32_t, (float)s[i])
  case TL_DTYPE_I64: CONVERT(int64_t, (float)s[i])
  case TL_DTYPE_BOOL:
  case TL_DTYPE_U8: CONVERT(uint8_t, (float)s[i])
  case TL_DTYPE_U16: CONVERT(uint16_t, (float)s[i])
  case TL_DTYPE_U32: CONVERT(uint32_t, (float)s[i])
  case TL_DTYPE_U64: CONVERT(uint64_t, (float)s[i])
  case TL_DTYPE_F8E8M0: CONVERT(uint8_t, e8m0_to_f32(s[i]))
  case TL_DTYPE_F8E4M3FN:
  case TL_DTYPE_F8E4M3FNUZ:
  case TL_DTYPE_F8E5M2:
  case TL_DTYPE_F8E5M2FNUZ: CONVERT(uint8_t, narrow_to_f32(f, s[i]))
  default: packed_to_f32(from, src, dst, first, n); return;
  }
}

/* The formats of 8 and 4 bits; F4E2M1 always saturates, as it has neither infinity nor NaN. */
static void floats_from_f32(tl_dtype to, const float *src, void *dst, uint64_t first, uint64_t n,
                            bool saturate) {
  const narrow_format *f = format_of(to);
  TL_ASSERT(tl_dtype_is_float(to));
  for (uint64_t i = 0; i < n; i++) {
    if (to == TL_DTYPE_F4E2M1)
      put_packed(dst, 4, first + i, narrow_from_f64(f, src[i], true));
    else if (to == TL_DTYPE_F8E8M0)
      ((uint8_t *)dst)[first + i] = e8m0_from_f64((double)src[i], saturate, TL_E8M0_NEAREST);
    else
      ((uint8_t *)dst)[first + i] = (uint8_t)narrow_from_f64(f, src[i], saturate);
  }
}

/* dst need not be aligned: it may be the middle of a message. */
static inline void store_u16(void *dst, uint64_t i, uint16_t v) {
  memcpy((unsigned char *)dst + i * sizeof v, &v, sizeof v);
}

void tl_host_from_f32(tl_dtype to, const float *src, void *dst, uint64_t first, uint64_t n,
                      bool saturate) {
  switch (to) {
  case TL_DTYPE_F32: memcpy((float *)dst + first, src, (size_t)n * sizeof *src); return;
  case TL_DTYPE_F64:
    for (uint64_t i = 0; i < n; i++)
      ((double *)dst)[first + i] = src[i];
    return;
  case TL_DTYPE_F16:
    tl_half_unit_fastest()->from_f32(src, (uint16_t *)dst + first, (size_t)n);
    return;
  case TL_DTYPE_BF16:
    for (uint64_t i = 0; i < n; i++)
      store_u16(dst, first + i, tl_bf16_from_f32(src[i]));
    return;
  default: floats_from_f32(to, src, dst, first, n, saturate); return;
  }
}

void tl_host_from_f64(tl_dtype to, const double *src, void *dst, uint64_t first, uint64_t n,
                      tl_narrowing how) {
  const narrow_format *f = format_of(to);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = first + i;
    switch (to) {
    case TL_DTYPE_F64: ((double *)dst)[at] = src[i]; break;
    case TL_DTYPE_F32: ((float *)dst)[at] = (float)src[i]; break;
    case TL_DTYPE_F16:
    case TL_DTYPE_BF16: ((uint16_t *)dst)[at] = (uint16_t)narrow_from_f64(f, src[i], false); break;
    case TL_DTYPE_F4E2M1: put_packed(dst, 4, at, narrow_from_f64(f, src[i], true)); break;
    case TL_DTYPE_F8E8M0:
      ((uint8_t *)dst)[at] = e8m0_from_f64(src[i], how.saturate, how.rounding);
      break;
    default: ((uint8_t *)dst)[at] = (uint8_t)narrow_from_f64(f, src[i], how.saturate); break;
    }
  }
}

int tl_packed_get(tl_dtype d, const void *src, uint64_t i) {
  unsigned bits = tl_dtype_get(d)->bits;
  int v = (int)packed_at(src, bits, i);
  bool is_signed = d == TL_DTYPE_I4 || d == TL_DTYPE_I2;
  return is_signed && v >> (bits - 1) ? v - (1 << bits) : v;
}

void tl_packed_set(tl_dtype d, void *dst, uint64_t i, int v) {
  put_packed(dst, tl_dtype_get(d)->bits, i, (unsigned)v);
}
