/* SPDX-License-Identifier: Apache-2.0 */
/* Computes with unevaluated sums of two doubles (about 106 bits), for the sources of elementary.h.
 * The error-free steps are those of Knuth and Dekker; they need neither fused operations nor a
 * rounding mode other than the default. The caller keeps magnitudes far from overflow. */
#ifndef TL_IR_EVAL_MATH_PAIR_H
#define TL_IR_EVAL_MATH_PAIR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The number hi + lo. */
typedef struct tl_dd {
  double hi;
  double lo; /* at most half a unit in the last place of hi */
} tl_dd;

/* Returns the bits of v; tl_from_bits is its inverse. */
static inline uint64_t tl_bits_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static inline double tl_from_bits(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Returns a + b exactly (Dekker); |a| >= |b| or a == 0. */
static inline tl_dd tl_fast_sum(double a, double b) {
  double s = a + b;
  return (tl_dd){s, b - (s - a)};
}

/* Returns a + b exactly, whichever is larger (Knuth). */
static inline tl_dd tl_two_sum(double a, double b) {
  double s = a + b, v = s - a;
  return (tl_dd){s, (a - (s - v)) + (b - v)};
}

/* Returns the upper 26 bits of a; the rest fits in 26 more. The factor is 2^27 + 1 (Veltkamp). */
static inline double tl_upper(double a) {
  double t = a * 134217729.0;
  return t - (t - a);
}

/* Returns a * b exactly (Dekker): the products of the halves are exact. */
static inline tl_dd tl_two_product(double a, double b) {
  double p = a * b;
  double ah = tl_upper(a), al = a - ah, bh = tl_upper(b), bl = b - bh;
  return (tl_dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline tl_dd tl_dd_neg(tl_dd a) { return (tl_dd){-a.hi, -a.lo}; }

/* The operations below round: relative error about 2^-100. */
static inline tl_dd tl_dd_add(tl_dd a, tl_dd b) {
  tl_dd s = tl_two_sum(a.hi, b.hi), t = tl_two_sum(a.lo, b.lo);
  s = tl_fast_sum(s.hi, s.lo + t.hi);
  return tl_fast_sum(s.hi, s.lo + t.lo);
}

static inline tl_dd tl_dd_mul(tl_dd a, tl_dd b) {
  tl_dd p = tl_two_product(a.hi, b.hi);
  return tl_fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline tl_dd tl_dd_mul_d(tl_dd a, double b) {
  tl_dd p = tl_two_product(a.hi, b);
  return tl_fast_sum(p.hi, p.lo + a.lo * b);
}

static inline tl_dd tl_dd_div(tl_dd a, tl_dd b) {
  double q = a.hi / b.hi;
  tl_dd rest = tl_dd_add(a, tl_dd_neg(tl_dd_mul_d(b, q)));
  return tl_fast_sum(q, (rest.hi + rest.lo) / b.hi);
}

static inline tl_dd tl_dd_sqrt(tl_dd a) {
  if (a.hi <= 0)
    return (tl_dd){0, 0};
  double s = sqrt(a.hi);
  tl_dd rest = tl_dd_add(a, tl_dd_neg(tl_two_product(s, s)));
  return tl_fast_sum(s, rest.hi / (2 * s));
}

/* Returns v * 2^k, rounded once when v is in [1/4, 4]: what becomes subnormal is first made small
 * but still normal, so that only the last product rounds. */
static inline double tl_scale(double v, int k) {
  k = k > 2200 ? 2200 : k < -2200 ? -2200 : k;
  while (k > 1023 || k < -1022) {
    int step = k > 0 ? 1023 : -960;
    v *= tl_from_bits((uint64_t)(step + 1023) << 52);
    k -= step;
  }
  return v * tl_from_bits((uint64_t)(k + 1023) << 52);
}

/* Returns exp(x) / 2^*k, in [1/2, 2.1], with a relative error below 2^-60. |x.hi| < 1100. */
tl_dd tl_exp_pair(tl_dd x, int *k);
/* Returns log(x) of a finite x > 0, with a relative error below 2^-65. */
tl_dd tl_log_pair(double x);
/* Returns log(x.hi + x.lo), as tl_log_pair; x.hi is a normal number. */
tl_dd tl_log_pair2(tl_dd x);

#endif
