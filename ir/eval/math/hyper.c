/* SPDX-License-Identifier: Apache-2.0 */
/* Computes hyperbolic functions and their inverses, erf, sigmoid and softplus. Small arguments go
 * by series, others by exp and log in pairs of doubles, so that differences lose nothing. */
#include "ir/eval/math/elementary.h"
#include "ir/eval/math/tables.h"

/* Returns sinh(x) - x for |x| < 0.7. */
static double sinh_rest(double x) {
  double z = x * x, p = 0;
  for (int n = 17; n >= 3; n -= 2) /* Horner over 1/(n (n-1)) */
    p = (1.0 + z * p) / (n * (n - 1));
  return x * z * p;
}

/* Returns cosh(x) for |x| < 0.7. */
static tl_dd cosh_small(double x) {
  tl_dd z = tl_two_product(x, x);
  double p = 0;
  for (int n = 18; n >= 4; n -= 2)
    p = (1.0 + z.hi * p) / (n * (n - 1));
  tl_dd s = tl_fast_sum(1, 0.5 * z.hi);
  return tl_fast_sum(s.hi, s.lo + (0.5 * z.lo + 0.5 * z.hi * z.hi * p));
}

/* Returns (e^a + sign e^-a) / 2 for a > 0. Once e^a exceeds 2^60, e^-a does not matter. */
static double exp_sum(double a, double sign) {
  if (a > 711)
    return INFINITY;
  int k;
  tl_dd e = tl_exp_pair((tl_dd){a, 0}, &k);
  if (k < 60) {
    tl_dd inverse = tl_dd_div((tl_dd){1, 0}, e);
    double unit = sign * tl_scale(1, -2 * k);
    e = tl_dd_add(e, (tl_dd){inverse.hi * unit, inverse.lo * unit});
  }
  return tl_scale(e.hi + e.lo, k - 1);
}

double tl_sinh(double x) {
  double a = fabs(x);
  if (x != x || a < 0x1p-28)
    return x;
  return a < 0.7 ? x + sinh_rest(x) : copysign(exp_sum(a, -1), x);
}

double tl_cosh(double x) { return x != x ? x : exp_sum(fabs(x), 1); }

/* sinh / cosh near 0, else 1 - 2 / (e^2a + 1); above 22 the result rounds to 1. */
double tl_tanh(double x) {
  double a = fabs(x);
  if (x != x || a < 0x1p-28)
    return x;
  if (a < 0.5) {
    tl_dd t = tl_dd_div(tl_fast_sum(x, sinh_rest(x)), cosh_small(x));
    return t.hi + t.lo;
  }
  if (a > 22)
    return copysign(1, x);
  int k;
  tl_dd e = tl_exp_pair((tl_dd){2 * a, 0}, &k);
  double unit = tl_scale(1, k);
  tl_dd under = tl_dd_add((tl_dd){e.hi * unit, e.lo * unit}, (tl_dd){1, 0});
  tl_dd t = tl_dd_add((tl_dd){1, 0}, tl_dd_div((tl_dd){-2, 0}, under));
  return copysign(t.hi + t.lo, x);
}

/* Returns log(2a), which is asinh(a) and acosh(a) for large a. */
static double log_twice(double a) {
  tl_dd l = tl_dd_add(tl_log_pair(a), TL_LN2);
  return l.hi + l.lo;
}

/* asinh(a) = log(a + sqrt(a^2 + 1)), with a - a^3/6 for tiny a. */
double tl_asinh(double x) {
  double a = fabs(x);
  if (!(a < INFINITY) || a < 0x1p-500)
    return x;
  if (a < 0x1p-26)
    return x - x * x * x / 6;
  if (a > 0x1p30)
    return copysign(log_twice(a), x);
  tl_dd root = tl_dd_sqrt(tl_dd_add(tl_two_product(a, a), (tl_dd){1, 0}));
  tl_dd l = tl_log_pair2(tl_dd_add(root, (tl_dd){a, 0}));
  return copysign(l.hi + l.lo, x);
}

/* acosh(x) = log(x + sqrt((x - 1) (x + 1))); the product does not cancel near 1 as x^2 - 1
 * would. */
double tl_acosh(double x) {
  if (!(x >= 1 && x < INFINITY))
    return x < 1 ? (double)NAN : x;
  if (x > 0x1p30)
    return log_twice(x);
  tl_dd root = tl_dd_sqrt(tl_dd_mul(tl_two_sum(x, -1), tl_two_sum(x, 1)));
  tl_dd l = tl_log_pair2(tl_dd_add(root, (tl_dd){x, 0}));
  return l.hi + l.lo;
}

/* atanh(a) = (log(1 + a) - log(1 - a)) / 2; both arguments are exact as pairs. */
double tl_atanh(double x) {
  double a = fabs(x);
  if (!(a < 1))
    return a == 1 ? copysign(INFINITY, x) : x != x ? x : (double)NAN;
  if (a < 0x1p-26)
    return a < 0x1p-500 ? x : x + x * x * x / 3;
  tl_dd up = tl_log_pair2(tl_two_sum(1, a)), down = tl_log_pair2(tl_two_sum(1, -a));
  tl_dd l = tl_dd_add(up, tl_dd_neg(down));
  return copysign(0.5 * (l.hi + l.lo), x);
}

/* ---- erf ------------------------------------------------------------------------------------ */

/* 2 / sqrt(pi) (x - x^3/3 + x^5/10 - ...) for |x| < 1/16. */
static double erf_small(double x) {
  if (fabs(x) < 0x1p-200)
    return x * TL_TWO_OVER_SQRT_PI.hi;
  double z = x * x;
  double p = 1.0 / 42 - z * (1.0 / 216 - z * (1.0 / 1320));
  double rest = -x * z * (1.0 / 3 - z * (1.0 / 10 - z * p));
  tl_dd v = tl_dd_mul(tl_fast_sum(x, rest), TL_TWO_OVER_SQRT_PI);
  return v.hi + v.lo;
}

/* Expands erf in a Taylor series around c, the nearest multiple of 1/8: erf(c) plus the integral of
 * slope * exp(-2 c t - t^2) from 0 to h. The coefficients b[n] of that exponential obey (n+1)
 * b[n+1] = -2 c b[n] - 2 b[n-1]. From 5.93 on the result rounds to 1. */
double tl_erf(double x) {
  double a = fabs(x);
  if (x != x)
    return x;
  if (a < 0.0625)
    return erf_small(x);
  if (a >= 5.93)
    return copysign(1, x);
  int i = (int)(a * 8 + 0.5);
  double c = i * 0.125, h = a - c, u = -2 * c * h, w = -2 * h * h;
  double before = 0, term = 1, sum = 0;
  for (int n = 1; n <= 14; n++) {
    double next = (u * term + w * before) / n;
    before = term;
    term = next;
    sum += term / (n + 1);
  }
  const tl_erf_row *row = &tl_erf_table[i];
  double g = h * row->slope;
  return copysign(row->value.hi + (row->value.lo + (g + g * sum)), x);
}

/* The exponent is never positive, so exp cannot overflow. */
double tl_sigmoid(double x) {
  double e = tl_exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/* max(x, 0) + log1p(exp(-|x|)) equals log(1 + exp(x)) without overflow. */
double tl_softplus(double x) { return (x > 0 ? x : 0) + tl_log1p(tl_exp(-fabs(x))); }
