/* SPDX-License-Identifier: Apache-2.0 */
/* Converts runs of halves: one implementation for every processor and one for each vector width,
 * chosen at run time. tests/unit/test_half.c holds them to the same bits. */
#include "ir/half.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ir/host.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#if defined(__clang__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

_Static_assert(FLT_EVAL_METHOD == 0, "floats are computed as floats: see meson.build");

/* 65520 is half way between 65504 and 2^16; 2^-25 is half way to the least subnormal, 2^-24. A tie
 * rounds to even: up to infinity, and down to 0. */
const tl_float_bounds tl_f16_bounds = {0x477ff000, 0x33000000, 0x38800000};
/* 2^128 - 2^119 is half way to 2^128; 2^-134 is half way to the least subnormal, 2^-133. */
const tl_float_bounds tl_bf16_bounds = {0x7f7f8000, 0x00008000, 0x00800000};

/* ---- counting, in vectors of the compiler ---------------------------------------------------- */

/* The vectors are of the compiler (vector extensions), which splits them where the processor has
 * none. */
enum {
  LANES = 8,
  ROUND = 1024 /* vectors between two additions to the wide counts: far below 2^31 */
};

typedef int32_t int_lanes __attribute__((vector_size(LANES * 4)));
typedef float float_lanes __attribute__((vector_size(LANES * 4)));

typedef struct lane_counts {
  int_lanes nan, infinite, over, flushed, subnormal;
} lane_counts;

/* Adds the lanes, each of which is a count below 2^31. */
static uint64_t sum_of(const int_lanes *v) {
  uint64_t sum = 0;
  for (int i = 0; i < LANES; i++)
    sum += (uint64_t)(uint32_t)(*v)[i];
  return sum;
}

/* Counts whole vectors. A comparison gives -1 where it holds, so subtracting it counts. The sums
 * are local variables, so that they stay in registers. Floats are compared by their bits: for
 * magnitudes the order is the same. */
static inline __attribute__((always_inline)) void
count_vectors(const unsigned char *p, size_t vectors, const tl_float_bounds *b, lane_counts *out,
              float_lanes *least_out, float_lanes *greatest_out) {
  const int_lanes magnitude_mask = (int_lanes){0} + 0x7fffffff;
  const int_lanes infinity = (int_lanes){0} + 0x7f800000;
  const int_lanes over = (int_lanes){0} + (int32_t)b->over;
  const int_lanes flushed = (int_lanes){0} + (int32_t)b->flushed;
  const int_lanes normal = (int_lanes){0} + (int32_t)b->normal;
  lane_counts c = {0};
  float_lanes least = *least_out;
  float_lanes greatest = *greatest_out;
  for (size_t k = 0; k < vectors; k++, p += sizeof(int_lanes)) {
    int_lanes bits;
    memcpy(&bits, p, sizeof bits);
    int_lanes m = bits & magnitude_mask;
    int_lanes finite = m < infinity;
    c.nan -= m > infinity;
    c.infinite -= m == infinity;
    c.over -= finite & (m >= over);
    c.flushed -= (m > 0) & (m <= flushed);
    c.subnormal -= (m > flushed) & (m < normal);
    int_lanes lower = finite & ((float_lanes)bits < least);
    int_lanes higher = finite & ((float_lanes)bits > greatest);
    least = (float_lanes)((bits & lower) | ((int_lanes)least & ~lower));
    greatest = (float_lanes)((bits & higher) | ((int_lanes)greatest & ~higher));
  }
  *out = c;
  *least_out = least;
  *greatest_out = greatest;
}

/* Adds the counts of all lanes to the wide counts. */
static void add_lanes(const lane_counts *c, tl_float_counts *out) {
  out->nan += sum_of(&c->nan);
  out->infinite += sum_of(&c->infinite);
  out->over += sum_of(&c->over);
  out->flushed += sum_of(&c->flushed);
  out->subnormal += sum_of(&c->subnormal);
}

/* Counts n numbers; the last, partial vector is filled with NaN, whose count is taken back. */
static inline __attribute__((always_inline)) void
count_run(const void *src, size_t n, const tl_float_bounds *b, tl_float_counts *out) {
  const unsigned char *p = src;
  float_lanes least = (float_lanes){0} + out->least;
  float_lanes greatest = (float_lanes){0} + out->greatest;
  for (size_t left = n / LANES; left;) {
    size_t now = left < ROUND ? left : ROUND;
    lane_counts c;
    count_vectors(p, now, b, &c, &least, &greatest);
    add_lanes(&c, out);
    p += now * sizeof(int_lanes);
    left -= now;
  }
  float rest[LANES] = {0}; /* zeros count as nothing; they are no extremes */
  size_t tail = n % LANES;
  for (size_t i = 0; i < LANES; i++)
    rest[i] = tail ? NAN : 0.0f;
  memcpy(rest, p, tail * sizeof *rest);
  lane_counts c = {0};
  if (tail)
    count_vectors((const unsigned char *)rest, 1, b, &c, &least, &greatest);
  add_lanes(&c, out);
  out->nan -= tail ? LANES - tail : 0;
  for (int i = 0; i < LANES; i++) {
    out->least = least[i] < out->least ? least[i] : out->least;
    out->greatest = greatest[i] > out->greatest ? greatest[i] : out->greatest;
  }
}

/* ---- every processor ------------------------------------------------------------------------- */

/* memcpy, since bytes of a file need no alignment. */
static void portable_from_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  for (size_t i = 0; i < n; i++) {
    float v;
    memcpy(&v, s + i * sizeof v, sizeof v);
    uint16_t h = tl_f16_from_f32(v);
    memcpy(d + i * sizeof h, &h, sizeof h);
  }
}

static void portable_to_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  for (size_t i = 0; i < n; i++) {
    uint16_t h;
    memcpy(&h, s + i * sizeof h, sizeof h);
    float v = tl_f16_to_f32(h);
    memcpy(d + i * sizeof v, &v, sizeof v);
  }
}

static void portable_count(const void *src, size_t n, const tl_float_bounds *b,
                           tl_float_counts *out) {
  count_run(src, n, b, out);
}

static const tl_half_unit portable = {"portable", portable_from_f32, portable_to_f32,
                                      portable_count};

/* ---- x86 ------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* Whole vectors, then the rest by the portable code. The rounding mode of the instruction is
 * stated, so that it does not depend on that of the process. */
__attribute__((target("avx,f16c"))) static void f16c_from_f32(const void *src, void *dst,
                                                              size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps((const float *)(const void *)(s + i * 4));
    _mm_storeu_si128((__m128i *)(void *)(d + i * 2), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  portable_from_f32(s + i * 4, d + i * 2, n - i);
}

__attribute__((target("avx,f16c"))) static void f16c_to_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(s + i * 2));
    _mm256_storeu_ps((float *)(void *)(d + i * 4), _mm256_cvtph_ps(h));
  }
  portable_to_f32(s + i * 2, d + i * 4, n - i);
}

/* Returns true if all numbers of the vector are zero or normal in the narrower type. */
__attribute__((target("avx2"))) static inline bool avx2_usual(__m256 v, const tl_float_bounds *b) {
  __m256i m = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
  __m256i small = _mm256_sub_epi32(m, _mm256_set1_epi32(1)); /* that of zero is negative */
  __m256i bad = _mm256_or_si256(
      _mm256_cmpgt_epi32(m, _mm256_set1_epi32((int)b->over - 1)),
      _mm256_andnot_si256(small, _mm256_sub_epi32(small, _mm256_set1_epi32((int)b->normal - 1))));
  return _mm256_movemask_ps(_mm256_castsi256_ps(bad)) == 0;
}

/* Most vectors of weights hold nothing to count. */
__attribute__((target("avx2"))) static void
avx2_count(const void *src, size_t n, const tl_float_bounds *b, tl_float_counts *out) {
  const float *p = src;
  while (n) {
    __m256 least = _mm256_set1_ps(out->least), greatest = _mm256_set1_ps(out->greatest);
    for (; n >= LANES && avx2_usual(_mm256_loadu_ps(p), b); n -= LANES, p += LANES) {
      least = _mm256_min_ps(_mm256_loadu_ps(p), least);
      greatest = _mm256_max_ps(_mm256_loadu_ps(p), greatest);
    }
    float low[LANES], high[LANES];
    _mm256_storeu_ps(low, least);
    _mm256_storeu_ps(high, greatest);
    for (int i = 0; i < LANES; i++) {
      out->least = low[i] < out->least ? low[i] : out->least;
      out->greatest = high[i] > out->greatest ? high[i] : out->greatest;
    }
    size_t now = n < LANES ? n : LANES;
    count_run(p, now, b, out);
    p += now;
    n -= now;
  }
}

__attribute__((target("avx512f"))) static void avx512_from_f32(const void *src, void *dst,
                                                               size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m512 v = _mm512_loadu_ps((const float *)(const void *)(s + i * 4));
    _mm256_storeu_si256((__m256i *)(void *)(d + i * 2),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  portable_from_f32(s + i * 4, d + i * 2, n - i);
}

__attribute__((target("avx512f"))) static void avx512_to_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(s + i * 2));
    _mm512_storeu_ps((float *)(void *)(d + i * 4), _mm512_cvtph_ps(h));
  }
  portable_to_f32(s + i * 2, d + i * 4, n - i);
}

static unsigned ones(__mmask16 mask) { return (unsigned)__builtin_popcount(mask); }

/* Counts the numbers of the vector that `lanes` has. */
__attribute__((target("avx512f"))) static void
avx512_count_vector(__m512 v, __mmask16 lanes, const tl_float_bounds *b, tl_float_counts *out) {
  __m512i m = _mm512_and_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
  __m512i infinity = _mm512_set1_epi32(0x7f800000);
  __mmask16 nan = _mm512_mask_cmpgt_epi32_mask(lanes, m, infinity);
  __mmask16 infinite = _mm512_mask_cmpeq_epi32_mask(lanes, m, infinity);
  __mmask16 finite = (__mmask16)(lanes & ~nan & ~infinite);
  __mmask16 not_flushed =
      _mm512_mask_cmpgt_epi32_mask(finite, m, _mm512_set1_epi32((int)b->flushed));
  __mmask16 not_zero = _mm512_mask_cmpgt_epi32_mask(finite, m, _mm512_setzero_si512());
  out->nan += ones(nan);
  out->infinite += ones(infinite);
  out->over += ones(_mm512_mask_cmpge_epi32_mask(finite, m, _mm512_set1_epi32((int)b->over)));
  out->flushed += ones((__mmask16)(not_zero & ~not_flushed));
  out->subnormal +=
      ones(_mm512_mask_cmplt_epi32_mask(not_flushed, m, _mm512_set1_epi32((int)b->normal)));
}

/* Most vectors of weights hold nothing to count: one comparison tells that all their magnitudes
 * are normal in the narrow type. */
__attribute__((target("avx512f"))) static void
avx512_count(const void *src, size_t n, const tl_float_bounds *b, tl_float_counts *out) {
  const float *p = src;
  __m512i normal = _mm512_set1_epi32((int)b->normal);
  __m512i span = _mm512_set1_epi32((int)(b->over - b->normal));
  __m512i magnitude = _mm512_set1_epi32(0x7fffffff), infinity = _mm512_set1_epi32(0x7f800000);
  __m512 least = _mm512_set1_ps(out->least), greatest = _mm512_set1_ps(out->greatest);
  for (; n; p += 16) {
    __mmask16 lanes = (__mmask16)(n < 16 ? (1u << n) - 1 : 0xffffu);
    __m512 v = _mm512_maskz_loadu_ps(lanes, p);
    __m512i m = _mm512_and_epi32(_mm512_castps_si512(v), magnitude);
    __mmask16 usual = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(m, normal), span);
    if (usual != lanes) {
      avx512_count_vector(v, lanes, b, out);
      usual = _mm512_mask_cmplt_epi32_mask(lanes, m, infinity);
    }
    least = _mm512_mask_min_ps(least, usual, v, least);
    greatest = _mm512_mask_max_ps(greatest, usual, v, greatest);
    n -= n < 16 ? n : 16;
  }
  out->least = _mm512_reduce_min_ps(least);
  out->greatest = _mm512_reduce_max_ps(greatest);
}

static const tl_half_unit f16c = {"f16c", f16c_from_f32, f16c_to_f32, avx2_count};
static const tl_half_unit avx512 = {"avx512", avx512_from_f32, avx512_to_f32, avx512_count};

/* Asks what the C runtime found out: asking the processor itself costs microseconds in a virtual
 * machine, too much for every block of weights. Not every clang knows this ability; glibc does. */
static bool has_f16c(void) {
#if !defined(__clang__)
  return __builtin_cpu_supports("f16c");
#elif defined(CPU_FEATURE_ACTIVE)
  return CPU_FEATURE_ACTIVE(F16C);
#else
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
#endif
}

const tl_half_unit *const *tl_half_units(unsigned *n) {
  static const tl_half_unit *const units[] = {&portable, &f16c, &avx512};
  bool narrow = __builtin_cpu_supports("avx2") && has_f16c();
  *n = !narrow ? 1 : __builtin_cpu_supports("avx512f") ? 3 : 2;
  return units;
}

/* ---- Arm ------------------------------------------------------------------------------------- */

#elif defined(__aarch64__)

static void neon_from_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    float32x4_t v;
    memcpy(&v, s + i * 4, sizeof v);
    float16x4_t h = vcvt_f16_f32(v);
    memcpy(d + i * 2, &h, sizeof h);
  }
  portable_from_f32(s + i * 4, d + i * 2, n - i);
}

static void neon_to_f32(const void *src, void *dst, size_t n) {
  const unsigned char *s = src;
  unsigned char *d = dst;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    float16x4_t h;
    memcpy(&h, s + i * 2, sizeof h);
    float32x4_t v = vcvt_f32_f16(h);
    memcpy(d + i * 4, &v, sizeof v);
  }
  portable_to_f32(s + i * 2, d + i * 4, n - i);
}

static const tl_half_unit neon = {"neon", neon_from_f32, neon_to_f32, portable_count};

const tl_half_unit *const *tl_half_units(unsigned *n) {
  static const tl_half_unit *const units[] = {&portable, &neon};
  *n = 2;
  return units;
}

#else

const tl_half_unit *const *tl_half_units(unsigned *n) {
  static const tl_half_unit *const units[] = {&portable};
  *n = 1;
  return units;
}

#endif

/* Units are in ascending order of speed. */
const tl_half_unit *tl_half_unit_fastest(void) {
  unsigned n;
  const tl_half_unit *const *units = tl_half_units(&n);
  return units[n - 1];
}
