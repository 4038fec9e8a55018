/* SPDX-License-Identifier: Apache-2.0 */
/* Interval arithmetic for the kinds of ops in range_ops.tbl (intervals.h). */
#include "passes/precision/intervals.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

/* Relative slack: more than a few thousand roundings in f32 (2^-24 each) can add up to. */
static const double slack = 1e-3;
/* A clip within this bound is taken as intended: f16 holds it. */
static const double modest = 65504;

tl_interval tl_interval_unknown(void) { return (tl_interval){-INFINITY, INFINITY, 0}; }

double tl_interval_magnitude(const tl_interval *x) { return fmax(fabs(x->low), fabs(x->high)); }

/* Returns [low, high]; unknown if an end is NaN (such as inf - inf). */
static tl_interval between(double low, double high) {
  if (isnan(low) || isnan(high))
    return tl_interval_unknown();
  return (tl_interval){low, high, 0};
}

/* Returns [low, high] widened by the slack. Below the normal f32 numbers, an end moves to 0, since
 * subnormals may be flushed; beyond the greatest f32 it becomes infinite. */
static tl_interval about(double low, double high) {
  low = low > 0 && low < 1e-37 ? 0 : low;
  high = high < 0 && high > -1e-37 ? 0 : high;
  low -= fabs(low) * slack;
  high += fabs(high) * slack;
  return between(low < -3.4e38 ? -INFINITY : low, high > 3.4e38 ? INFINITY : high);
}

/* Returns the smallest interval that contains both. */
static tl_interval join(tl_interval a, tl_interval b) {
  return between(fmin(a.low, b.low), fmax(a.high, b.high));
}

/* Multiplies ends of intervals; 0 * inf is 0 here, because the infinity stands for an unknown
 * finite number. */
static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/* Returns the interval of products: the extremes are products of ends. */
static tl_interval multiply(tl_interval a, tl_interval b) {
  double ll = times(a.low, b.low), lh = times(a.low, b.high);
  double hl = times(a.high, b.low), hh = times(a.high, b.high);
  return about(fmin(fmin(ll, lh), fmin(hl, hh)), fmax(fmax(ll, lh), fmax(hl, hh)));
}

/* Divides intervals; unknown if the divisor may be 0. */
static tl_interval divide(tl_interval a, tl_interval b) {
  if (b.low <= 0 && b.high >= 0)
    return tl_interval_unknown();
  return multiply(a, between(1 / b.high, 1 / b.low));
}

/* Returns the interval of magnitudes. */
static tl_interval absolute(tl_interval x) {
  double low = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
  return between(low, tl_interval_magnitude(&x));
}

/* Raises x to a known power in (0, 1024]. Even powers use magnitudes; odd ones and nonnegative
 * bases are monotone; a negative base with a fractional power is unknown. */
static tl_interval power(tl_interval x, tl_interval e) {
  double k = e.low;
  if (e.low != e.high || k <= 0 || k > 1024)
    return tl_interval_unknown();
  if (fmod(k, 2) == 0) {
    tl_interval a = absolute(x);
    return about(tl_pow(a.low, k), tl_pow(a.high, k));
  }
  if (x.low >= 0 || fmod(k, 2) == 1)
    return about(tl_pow(x.low, k), tl_pow(x.high, k));
  return tl_interval_unknown();
}

tl_interval tl_interval_add(tl_interval a, tl_interval b) {
  return about(a.low + b.low, a.high + b.high);
}

tl_interval tl_interval_multiply(tl_interval a, tl_interval b) { return multiply(a, b); }

static tl_interval around_zero(double magnitude) { return about(-magnitude, magnitude); }

/* Returns the relative error bound of summing n terms in f32 in any order, n * 2^-23, relative to
 * the sum of magnitudes. Below 8000 terms the slack covers it. */
static double error_of(double n) { return n > 8000 ? 1.2e-7 * n : 0; }

/* Returns the interval of a sum of n numbers of x. A running sum (CumSum) also has its first
 * element alone. */
static tl_interval sum(tl_interval x, double n, bool running) {
  if (n < 1)
    return tl_interval_unknown();
  double e = error_of(n);
  double low = times(x.low, n);
  double high = times(x.high, n);
  if (x.low < 0 && x.high > 0) { /* terms of either sign may cancel */
    double error = fmax(e, slack) * times(tl_interval_magnitude(&x), n);
    low -= error;
    high += error;
  } else {
    low = low > 0 ? low * fmax(1 - e, 0) : low * (1 + e);
    high = high < 0 ? high * fmax(1 - e, 0) : high * (1 + e);
  }
  tl_interval y = about(low, high);
  return running ? join(about(x.low, x.high), y) : y;
}

/* Returns the interval of a sum of n products, plus a bias, by magnitudes. */
static tl_interval product(const tl_interval *in, uint32_t count, double n) {
  double w = times(tl_interval_magnitude(&in[0]), tl_interval_magnitude(&in[1]));
  double b = count > 2 ? tl_interval_magnitude(&in[2]) : 0;
  return n < 1 ? tl_interval_unknown() : around_zero(times(n, w) * (1 + error_of(n)) + b);
}

/* Each normalized number is at most sqrt(n): a number is at most sqrt(n) times the root mean square
 * of the n numbers it belongs to. */
static tl_interval norm(const tl_interval *in, uint32_t count, double n) {
  double scale = count > 1 ? tl_interval_magnitude(&in[1]) : 1;
  double shift = count > 2 ? tl_interval_magnitude(&in[2]) : 0;
  if (n < 1)
    return tl_interval_unknown();
  return around_zero(sqrt(n) * scale + shift);
}

/* GATED: one part of x, bent by a gate that is never below `least`, times another part of x. */
static tl_interval gated(tl_interval x, double least) {
  return multiply(between(least, fmax(x.high, 0)), x);
}

/* ROTATE: the sum of two numbers of operand 0, each times a number of one of the two tables. */
static tl_interval rotated(const tl_interval *in, uint32_t count) {
  if (count < 3)
    return tl_interval_unknown();
  double tables = tl_interval_magnitude(&in[1]) + tl_interval_magnitude(&in[2]);
  return around_zero(times(tl_interval_magnitude(&in[0]), tables));
}

/* MULADD: in[0] * in[1] + in[2]; with `last` the roles of in[1] and in[2] are exchanged. */
static tl_interval multiplied_and_added(const tl_interval *in, uint32_t count, bool last) {
  return count < 3 ? tl_interval_unknown()
                   : tl_interval_add(multiply(in[0], in[last ? 2 : 1]), in[last ? 1 : 2]);
}

/* Returns the interval of reductions other than sums, from the largest magnitude. */
static tl_interval reduced(tl_range_kind kind, tl_interval x, double n) {
  double most = tl_interval_magnitude(&x);
  if (n < 1)
    return tl_interval_unknown();
  switch (kind) {
  case TL_RANGE_SQUARES: return about(0, times(n, times(most, most)) * (1 + error_of(n)));
  case TL_RANGE_L2: return about(0, times(sqrt(n), most) * (1 + error_of(n)));
  case TL_RANGE_LOGSUM: /* log(sum(exp(x))) lies between max(x) and max(x) + log(n) */
    return between(x.low - fabs(x.low) * slack - slack,
                   x.high + tl_log(n) + fabs(x.high) * slack + slack);
  default: return most <= 1 ? between(-1, 1) : around_zero(tl_pow(most, n)); /* PROD */
  }
}

/* The result is tight if both limits keep it within f16. */
static tl_interval clip(const tl_interval *in, uint32_t n) {
  double low = n > 1 ? in[1].low : -INFINITY;
  double high = n > 2 ? in[2].high : INFINITY;
  tl_interval y = between(fmin(fmax(in[0].low, low), high), fmax(fmin(in[0].high, high), low));
  if (tl_interval_magnitude(&y) <= modest)
    y.flags = TL_RANGE_TIGHT;
  return y;
}

/* Returns the interval of kinds with two operands. */
static tl_interval binary(tl_range_kind kind, tl_interval a, tl_interval b) {
  switch (kind) {
  case TL_RANGE_ADD: return tl_interval_add(a, b);
  case TL_RANGE_SUB: return about(a.low - b.high, a.high - b.low);
  case TL_RANGE_MUL: return multiply(a, b);
  case TL_RANGE_DIV: return divide(a, b);
  case TL_RANGE_POW: return power(a, b);
  case TL_RANGE_MIN: return between(fmin(a.low, b.low), fmin(a.high, b.high));
  case TL_RANGE_MAX: return between(fmax(a.low, b.low), fmax(a.high, b.high));
  default: return join(a, b); /* UNION */
  }
}

/* Returns the interval of kinds with one operand; the rest are reductions. */
static tl_interval unary(tl_range_kind kind, double least, tl_interval x, double n) {
  switch (kind) {
  case TL_RANGE_SAME: return x;
  case TL_RANGE_MEAN: return about(x.low, x.high);
  case TL_RANGE_PADDED: return about(fmin(x.low, 0), fmax(x.high, 0));
  case TL_RANGE_RELU: return between(fmax(x.low, 0), fmax(x.high, 0));
  case TL_RANGE_GATE: return between(least, fmax(x.high, 0));
  case TL_RANGE_GATED: return gated(x, least);
  case TL_RANGE_NEG: return between(-x.high, -x.low);
  case TL_RANGE_ABS: return absolute(x);
  case TL_RANGE_SQUARE: return multiply(absolute(x), absolute(x));
  case TL_RANGE_SQRT: return about(sqrt(fmax(x.low, 0)), sqrt(fmax(x.high, 0)));
  case TL_RANGE_EXP: return about(tl_exp(x.low), tl_exp(x.high));
  case TL_RANGE_SUM:
  case TL_RANGE_CUMSUM: return sum(x, n, kind == TL_RANGE_CUMSUM);
  default: return reduced(kind, x, n);
  }
}

/* Bounds of sums grow with every element and are seldom reached, so they are not tight. */
static bool is_loose(tl_range_kind kind) { return kind >= TL_RANGE_SUM; }

tl_interval tl_interval_apply(tl_range_kind kind, double least, const tl_interval *in, uint32_t n,
                              double elements) {
  tl_interval y;
  uint8_t tight = TL_RANGE_TIGHT;
  if (kind == TL_RANGE_NONE || n == 0)
    return tl_interval_unknown();
  bool two = (kind >= TL_RANGE_ADD && kind <= TL_RANGE_DIV) || kind >= TL_RANGE_MATMUL ||
             kind == TL_RANGE_POW;
  if (two && n < 2)
    return tl_interval_unknown();
  if (kind == TL_RANGE_CLIP)
    y = clip(in, n);
  else if (kind >= TL_RANGE_MATMUL)
    y = product(in, n, elements);
  else if (kind == TL_RANGE_NORM)
    y = norm(in, n, elements);
  else if (kind == TL_RANGE_MULADD)
    y = multiplied_and_added(in, n, least > 0);
  else if (kind == TL_RANGE_ROTATE)
    y = rotated(in, n);
  else if (two || kind == TL_RANGE_UNION || kind == TL_RANGE_MIN || kind == TL_RANGE_MAX)
    y = n > 1 ? binary(kind, in[0], in[1]) : in[0];
  else
    y = unary(kind, least, in[0], elements);
  for (uint32_t i = 0; i < n; i++)
    tight &= in[i].flags;
  y.flags |= is_loose(kind) ? 0 : tight;
  return y;
}
