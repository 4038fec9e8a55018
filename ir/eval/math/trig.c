/* SPDX-License-Identifier: Apache-2.0 */
/* Computes circular functions and their inverses. Arguments are reduced with as many bits of 2/pi
 * as they need (Payne and Hanek, 1983), whatever their size; the inverses share one arc tangent of
 * a quotient. */
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/tables.h"
#include "support/wide.h"

/* ---- reduction ------------------------------------------------------------------------------ */

/* Returns 64 bits of the table from bit `at` on. The double shift avoids one by 64, which is
 * undefined. */
static uint64_t bits_at(unsigned at) {
  const uint64_t *w = &tl_two_over_pi[at >> 6];
  unsigned shift = at & 63;
  return w[0] << shift | w[1] >> 1 >> (63 - shift);
}

/* Converts a fraction of 192 bits (a, b, c), below 1/2, to a pair: 53 bits of it each. */
static tl_dd pair_of(uint64_t a, uint64_t b, uint64_t c) {
  int shift = 0;
  if (!a) {
    a = b;
    b = c;
    c = 0;
    shift = 64;
  }
  if (!a)
    return (tl_dd){0, 0};
  int zeros = __builtin_clzll(a);
  if (zeros) {
    a = a << zeros | b >> (64 - zeros);
    b = b << zeros | c >> (64 - zeros);
  }
  double unit = tl_scale(1, -53 - zeros - shift);
  double hi = (double)(a >> 11) * unit;
  double lo = (double)((a & 0x7ff) << 42 | b >> 22) * unit * 0x1p-53;
  return tl_fast_sum(hi, lo);
}

/* Finds quadrant and remainder: |x| = quadrant * pi/2 + *r modulo 2 pi, |*r| <= pi/4; x is finite.
 * The 53 bits of x times 192 bits of 2/pi, taken from where the product has its units, give the
 * quadrant in the top two bits and the fraction below. */
static unsigned reduce(double x, tl_dd *r) {
  x = fabs(x);
  if (x < 0.785) {
    *r = (tl_dd){x, 0};
    return 0;
  }
  uint64_t bits = tl_bits_of(x);
  uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  /* bits of 2/pi above these give multiples of 4 quadrants */
  unsigned at = (unsigned)(bits >> 52) - 1075 + 62;
  uint64_t high, c = tl_mul_wide(m, bits_at(at + 128), 0, &high);
  uint64_t b = tl_mul_wide(m, bits_at(at + 64), high, &high);
  uint64_t a = m * bits_at(at) + high;
  unsigned quadrant = (unsigned)(a >> 62);
  a = a << 2 | b >> 62;
  b = b << 2 | c >> 62;
  c <<= 2;
  /* nearer to the next quadrant: complement to the distance from there */
  uint64_t negative = a >> 63 ? UINT64_MAX : 0;
  tl_dd f = pair_of(a ^ negative, b ^ negative, c ^ negative);
  *r = tl_dd_mul(negative ? tl_dd_neg(f) : f, TL_HALF_PI);
  return (quadrant + (negative ? 1 : 0)) & 3;
}

/* ---- sin, cos, tan -------------------------------------------------------------------------- */

/* Returns sin(r) for |r| <= pi/4 by its Taylor series, as a pair that is not yet rounded. */
static tl_dd sin_small(tl_dd r) {
  double z = r.hi * r.hi, p = 0;
  for (int n = 19; n >= 3; n -= 2) /* Horner over -1/(n (n-1)) */
    p = (1.0 + z * p) / -(n * (n - 1));
  return tl_fast_sum(r.hi, r.hi * z * p + r.lo * (1 - 0.5 * z));
}

/* Returns cos(r) for |r| <= pi/4 in the same way. */
static tl_dd cos_small(tl_dd r) {
  tl_dd z = tl_two_product(r.hi, r.hi);
  double p = 0;
  for (int n = 18; n >= 4; n -= 2)
    p = (1.0 + z.hi * p) / -(n * (n - 1));
  tl_dd s = tl_fast_sum(1, -0.5 * z.hi);
  return tl_fast_sum(s.hi, s.lo - (0.5 * z.lo + 0.5 * z.hi * z.hi * p + r.hi * r.lo));
}

/* Returns sin(|x| + quarter * pi/2). */
static double shifted_sin(double x, unsigned quarter) {
  tl_dd r;
  unsigned q = reduce(x, &r) + quarter;
  tl_dd v = q & 1 ? cos_small(r) : sin_small(r);
  return q & 2 ? -(v.hi + v.lo) : v.hi + v.lo;
}

/* x - x is NaN for infinities and NaN, as C99 has it. */
double tl_sin(double x) {
  if (!(fabs(x) < INFINITY))
    return x - x;
  if (fabs(x) < 0x1p-27)
    return x;
  return x < 0 ? -shifted_sin(x, 0) : shifted_sin(x, 0);
}

double tl_cos(double x) {
  if (!(fabs(x) < INFINITY))
    return x - x;
  return shifted_sin(x, 1);
}

double tl_tan(double x) {
  if (!(fabs(x) < INFINITY))
    return x - x;
  if (fabs(x) < 0x1p-27)
    return x;
  tl_dd r;
  unsigned q = reduce(x, &r);
  tl_dd s = sin_small(r), c = cos_small(r);
  tl_dd t = q & 1 ? tl_dd_neg(tl_dd_div(c, s)) : tl_dd_div(s, c);
  return x < 0 ? -(t.hi + t.lo) : t.hi + t.lo;
}

/* ---- inverses ------------------------------------------------------------------------------- */

/* Returns atan(y/x) for 0 <= y <= x, with x of moderate size: c is the nearest multiple of 1/16,
 * and atan(y/x) = atan(c) + atan((y - c x) / (x + c y)), whose argument is at most 1/32. */
static tl_dd angle_low(tl_dd y, tl_dd x) {
  int i = (int)(y.hi / x.hi * 16 + 0.5);
  double c = i / 16.0;
  tl_dd t = tl_dd_div(tl_dd_add(y, tl_dd_neg(tl_dd_mul_d(x, c))), tl_dd_add(x, tl_dd_mul_d(y, c)));
  double z = t.hi * t.hi;
  double p = 1.0 / 7 - z * (1.0 / 9 - z * (1.0 / 11 - z * (1.0 / 13)));
  double rest = -t.hi * z * (1.0 / 3 - z * (1.0 / 5 - z * p));
  return tl_dd_add(tl_atan_table[i], tl_fast_sum(t.hi, t.lo + rest));
}

/* Returns the angle of the point (x, y); both are at least 0, and not both 0. */
static tl_dd angle(tl_dd y, tl_dd x) {
  if (y.hi <= x.hi)
    return angle_low(y, x);
  return tl_dd_add(TL_HALF_PI, tl_dd_neg(angle_low(x, y)));
}

/* Returns pi - a. */
static tl_dd supplement(tl_dd a) {
  return tl_dd_add((tl_dd){2 * TL_HALF_PI.hi, 2 * TL_HALF_PI.lo}, tl_dd_neg(a));
}

/* Returns sqrt(1 - x^2), as sqrt((1 - x) (1 + x)), which does not cancel near 1. */
static tl_dd cofactor(double x) {
  return tl_dd_sqrt(tl_dd_mul(tl_two_sum(1, -x), tl_two_sum(1, x)));
}

double tl_asin(double x) {
  double a = fabs(x);
  if (!(a <= 1))
    return x != x ? x : (double)NAN;
  if (a < 0x1p-27)
    return x;
  tl_dd v = angle((tl_dd){a, 0}, cofactor(a));
  return copysign(v.hi + v.lo, x);
}

double tl_acos(double x) {
  double a = fabs(x);
  if (!(a <= 1))
    return x != x ? x : (double)NAN;
  tl_dd v = angle(cofactor(a), (tl_dd){a < 0x1p-200 ? 0 : a, 0});
  if (x < 0)
    v = supplement(v);
  return v.hi + v.lo;
}

double tl_atan(double x) {
  double a = fabs(x);
  if (x != x || a < 0x1p-27)
    return x;
  if (a > 0x1p66)
    return copysign(TL_HALF_PI.hi, x);
  tl_dd v = angle((tl_dd){a, 0}, (tl_dd){1, 0});
  return copysign(v.hi + v.lo, x);
}

/* Handles y or x being 0 or infinite, and quotients below 2^-60 or above 2^60, where one of them
 * does not matter. y_wins: the angle is pi/2. */
static double atan2_far(double y, double x, int y_wins) {
  double a = y_wins ? TL_HALF_PI.hi : x < 0 || (x == 0 && signbit(x)) ? 2 * TL_HALF_PI.hi : 0;
  if (fabs(x) == INFINITY && fabs(y) == INFINITY)
    a = x > 0 ? 0.5 * TL_HALF_PI.hi : 1.5 * TL_HALF_PI.hi;
  if (a == 0 && fabs(x) < INFINITY && x != 0)
    a = fabs(y) / x;
  return copysign(a, y);
}

/* Only the quotient matters, so both are scaled by the exponent of x, which keeps products
 * finite. */
double tl_atan2(double y, double x) {
  if (x != x || y != y)
    return x + y;
  int ex = 0, ey = 0;
  double mx = frexp(fabs(x), &ex), my = frexp(fabs(y), &ey);
  if (x == 0 || y == 0 || !(fabs(x) < INFINITY) || !(fabs(y) < INFINITY) || ey - ex > 60 ||
      ex - ey > 60)
    return atan2_far(
        y, x, y != 0 && (x == 0 || fabs(y) == INFINITY || (fabs(x) < INFINITY && ey - ex > 60)));
  tl_dd v = angle((tl_dd){ldexp(my, ey - ex), 0}, (tl_dd){mx, 0});
  if (x < 0)
    v = supplement(v);
  return copysign(v.hi + v.lo, y);
}
