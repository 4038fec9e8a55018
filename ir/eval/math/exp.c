/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log and their relatives. exp: x = n ln2/64 + r, a table of 2^(j/64), a short Taylor series.
 * log: a table of ten-bit inverses makes m * inverse - 1 small and exact, log1p by its series. */
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/tables.h"

#define ROUNDER 0x1.8p52 /* adding and subtracting it rounds to an integer */

tl_dd tl_exp_pair(tl_dd x, int *k) {
  double n = (x.hi * TL_STEPS_PER_UNIT + ROUNDER) - ROUNDER;
  int steps = (int)n, j = steps & 63;
  *k = (steps - j) / 64;
  tl_dd r = tl_two_sum(x.hi - n * TL_STEP_HI, -n * TL_STEP_LO);
  r = tl_two_sum(r.hi, r.lo + x.lo);
  double h = r.hi;
  double p = 1.0 / 120 + h * (1.0 / 720 + h * (1.0 / 5040));
  double q = r.lo + h * h * (0.5 + h * (1.0 / 6 + h * (1.0 / 24 + h * p)));
  tl_dd t = tl_pow2_table[j];
  return tl_fast_sum(t.hi, t.lo + t.hi * (h + q));
}

double tl_exp(double x) {
  if (x != x)
    return x;
  if (x > 710)
    return INFINITY;
  if (x < -746)
    return 0;
  int k;
  tl_dd e = tl_exp_pair((tl_dd){x, 0}, &k);
  return tl_scale(e.hi + e.lo, k);
}

double tl_exp2(double x) {
  if (x != x)
    return x;
  if (x > 1025)
    return INFINITY;
  if (x < -1076)
    return 0;
  int k;
  double n = (x + ROUNDER) - ROUNDER;
  tl_dd e = tl_exp_pair(tl_dd_mul_d(TL_LN2, x - n), &k);
  return tl_scale(e.hi + e.lo, k + (int)n);
}

/* x^2/2 + x^3/6 + ... for |x| < 0.35. */
static double expm1_rest(double x) {
  double p = 0;
  for (int n = 15; n >= 2; n--) /* Horner: 1/2 (1 + x/3 (1 + x/4 (...))) */
    p = (1.0 + x * p) / n;
  return x * x * p;
}

double tl_expm1(double x) {
  if (x != x || x == 0)
    return x;
  if (x < -50)
    return -1;
  if (fabs(x) < 0x1p-500)
    return x;
  if (fabs(x) < 0.35)
    return x + expm1_rest(x);
  if (x > 70)
    return tl_exp(x);
  int k;
  tl_dd e = tl_exp_pair((tl_dd){x, 0}, &k);
  double unit = tl_scale(1, k);
  tl_dd s = tl_two_sum(e.hi * unit, -1);
  return s.hi + (s.lo + e.lo * unit);
}

/* x^3/3 - x^4/4 + ... - x^10/10 */
static double log1p_rest(double x) {
  double p = 1.0 / 7 - x * (1.0 / 8 - x * (1.0 / 9 - x * (1.0 / 10)));
  return x * x * x * (1.0 / 3 - x * (1.0 / 4 - x * (1.0 / 5 - x * (1.0 / 6 - x * p))));
}

/* Significand around 1 and exponent of x > 0; the row of the table. */
static double split(double x, int *exponent, const tl_log_row **row) {
  const uint64_t start = UINT64_C(0x3fe6000000000000); /* 0.6875 */
  int shift = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    shift = -54;
  }
  uint64_t above = tl_bits_of(x) - start;
  int e = (int)(above >> 52);
  *exponent = (e >= 2048 ? e - 4096 : e) + shift;
  *row = &tl_log_table[above >> 45 & 127];
  return tl_from_bits(tl_bits_of(x) - (above & UINT64_C(0xfff0000000000000)));
}

tl_dd tl_log_pair(double x) {
  int e;
  const tl_log_row *row;
  double m = split(x, &e, &row);
  double upper = tl_from_bits(tl_bits_of(m) & ~UINT64_C(0x7ffffff));
  tl_dd r = tl_two_sum(upper * row->inverse - 1, (m - upper) * row->inverse);
  tl_dd square = tl_two_product(r.hi, r.hi);
  tl_dd sum = tl_dd_add(r, (tl_dd){-0.5 * square.hi, -0.5 * square.lo - r.hi * r.lo});
  sum = tl_dd_add(sum, (tl_dd){log1p_rest(r.hi), 0});
  sum = tl_dd_add(row->log, sum);
  return tl_dd_add(tl_fast_sum(e * TL_LN2_HI, e * TL_LN2_LO), sum);
}

tl_dd tl_log_pair2(tl_dd x) {
  double d = x.lo / x.hi;
  return tl_dd_add(tl_log_pair(x.hi), (tl_dd){d - 0.5 * d * d, 0});
}

/* True when x has no finite logarithm; *out is the result then. */
static int log_special(double x, double *out) {
  if (x > 0 && x < INFINITY)
    return 0;
  *out = x == 0 ? -INFINITY : x < 0 ? (double)NAN : x;
  return 1;
}

double tl_log(double x) {
  double special;
  if (log_special(x, &special))
    return special;
  tl_dd l = tl_log_pair(x);
  return l.hi + l.lo;
}

double tl_log2(double x) {
  double special;
  if (log_special(x, &special))
    return special;
  int e;
  double m = frexp(x, &e);
  if (m < 0.7) { /* around 1, so that the parts have one sign */
    m *= 2;
    e--;
  }
  tl_dd l = tl_dd_mul(tl_log_pair(m), TL_INV_LN2);
  l = tl_dd_add((tl_dd){e, 0}, l);
  return l.hi + l.lo;
}

double tl_log10(double x) {
  double special;
  if (log_special(x, &special))
    return special;
  tl_dd l = tl_dd_mul(tl_log_pair(x), TL_INV_LN10);
  return l.hi + l.lo;
}

double tl_log1p(double x) {
  if (x <= -1 || !(x < INFINITY))
    return x == -1 ? -INFINITY : x < -1 ? (double)NAN : x;
  if (fabs(x) < 0x1p-30)
    return fabs(x) < 0x1p-500 ? x : x - 0.5 * x * x;
  tl_dd l = tl_log_pair2(tl_two_sum(1, x));
  return l.hi + l.lo;
}

/* ---- pow ------------------------------------------------------------------------------------ */

static int is_odd(double y) { return fabs(y) < 0x1p53 && floor(y) == y && fmod(y, 2) != 0; }

/* x or y is 0, infinite or NaN, or x is 1. */
static double pow_special(double x, double y) {
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return x + y;
  double a = fabs(x);
  if (fabs(y) == INFINITY)
    return a == 1 ? 1 : (a > 1) == (y > 0) ? INFINITY : 0;
  double magnitude = (a == 0) == (y < 0) ? INFINITY : 0;
  return signbit(x) && is_odd(y) ? -magnitude : magnitude;
}

double tl_pow(double x, double y) {
  double a = fabs(x);
  if (!(a > 0 && a < INFINITY) || !(fabs(y) > 0 && fabs(y) < INFINITY) || x == 1)
    return pow_special(x, y);
  if (x < 0 && floor(y) != y)
    return (double)NAN;
  double sign = x < 0 && is_odd(y) ? -1 : 1;
  if (a == 1)
    return sign;
  if (fabs(y) > 0x1p65) /* |log x| is at least 2^-53 */
    return (a > 1) == (y > 0) ? sign * INFINITY : sign * 0;
  if (fabs(y) < 0x1p-200)
    return 1;
  tl_dd p = tl_dd_mul_d(tl_log_pair(a), y);
  if (fabs(p.hi) > 1000)
    return p.hi > 0 ? sign * INFINITY : sign * 0;
  int k;
  tl_dd e = tl_exp_pair(p, &k);
  return sign * tl_scale(e.hi + e.lo, k);
}
