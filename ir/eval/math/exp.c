/* SPDX-License-Identifier: Apache-2.0 */
/* Computes exp, log, pow and their relatives. exp: x = n ln2/64 + r, a table of 2^(j/64), a short
 * Taylor series. log: a table of ten-bit inverses makes m * inverse - 1 small and exact, log1p by
 * its series. Both follow the table methods of P. T. P. Tang (1989, 1990), in pairs of doubles. */
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/tables.h"

#define ROUNDER 0x1.8p52 /* adding and subtracting it rounds a double below 2^51 to an integer */

/* n is split into 64 k + j. n * TL_STEP_HI is exact: n has at most 17 bits, TL_STEP_HI 32. p and q
 * hold the terms of the Taylor series of exp(r) behind 1 + r; |r| is below ln2/128. */
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

/* Beyond the bounds the result overflows or is 0 even as a subnormal. */
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

/* The fraction x - n is exact, so only its product with ln 2 is rounded, in a pair. */
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

/* Returns expm1(x) - x = x^2/2 + x^3/6 + ... for |x| < 0.35. */
static double expm1_rest(double x) {
  double p = 0;
  for (int n = 15; n >= 2; n--) /* Horner: 1/2 (1 + x/3 (1 + x/4 (...))) */
    p = (1.0 + x * p) / n;
  return x * x * p;
}

/* Near 0 the series avoids the cancellation of exp(x) - 1; elsewhere the difference is taken in
 * pairs. Above 70 the 1 is far below the last place. */
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

/* Returns log1p(x) - x + x^2/2 = x^3/3 - x^4/4 + ... - x^10/10. */
static double log1p_rest(double x) {
  double p = 1.0 / 7 - x * (1.0 / 8 - x * (1.0 / 9 - x * (1.0 / 10)));
  return x * x * x * (1.0 / 3 - x * (1.0 / 4 - x * (1.0 / 5 - x * (1.0 / 6 - x * p))));
}

/* Splits x > 0 into a significand in [0.6875, 1.375) and an exponent, and finds the row of the
 * table by its leading bits. The interval surrounds 1, so that log(x) near 1 has exponent 0 and
 * nothing cancels. Subnormals are scaled first. */
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

/* r = m * inverse - 1 is exact: the upper 26 bits of m times ten bits, and the rest added as a
 * pair. The terms up to r^2 are pairs, the small rest of the series is a double. */
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

/* log(hi + lo) = log(hi) + log1p(lo / hi); two terms of that series are enough. */
tl_dd tl_log_pair2(tl_dd x) {
  double d = x.lo / x.hi;
  return tl_dd_add(tl_log_pair(x.hi), (tl_dd){d - 0.5 * d * d, 0});
}

/* Returns true when x has no finite logarithm; *out is the result then. */
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

/* The exponent is added as an exact integer; only the significand's logarithm is multiplied. */
double tl_log2(double x) {
  double special;
  if (log_special(x, &special))
    return special;
  int e;
  double m = frexp(x, &e);
  if (m < 0.7) { /* around 1, so that exponent and logarithm have one sign and do not cancel */
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

/* For tiny x one or two terms of the series are exact enough; else 1 + x as a pair loses
 * nothing. */
double tl_log1p(double x) {
  if (x <= -1 || !(x < INFINITY))
    return x == -1 ? -INFINITY : x < -1 ? (double)NAN : x;
  if (fabs(x) < 0x1p-30)
    return fabs(x) < 0x1p-500 ? x : x - 0.5 * x * x;
  tl_dd l = tl_log_pair2(tl_two_sum(1, x));
  return l.hi + l.lo;
}

/* ---- pow ------------------------------------------------------------------------------------ */

/* Doubles from 2^53 on are all even. */
static int is_odd(double y) { return fabs(y) < 0x1p53 && floor(y) == y && fmod(y, 2) != 0; }

/* Handles x or y being 0, infinite or NaN, and x being 1, by C99 Annex F. */
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

/* pow(x, y) = exp(y log |x|) with the sign of an odd y. The logarithm is a pair, because exp
 * multiplies its error by |y log x|, up to 745. */
double tl_pow(double x, double y) {
  double a = fabs(x);
  if (!(a > 0 && a < INFINITY) || !(fabs(y) > 0 && fabs(y) < INFINITY) || x == 1)
    return pow_special(x, y);
  if (x < 0 && floor(y) != y)
    return (double)NAN;
  double sign = x < 0 && is_odd(y) ? -1 : 1;
  if (a == 1)
    return sign;
  if (fabs(y) > 0x1p65) /* overflow or 0: |log x| is at least 2^-53 */
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
