/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the growth of results by kind of op (growth.h). */
#include "passes/precision/growth.h"

#include <math.h>

#include "ir/eval/math/elementary.h"

enum { BIG = TL_GROWTH_BIG, TINY = TL_GROWTH_TINY, INVERSE = TL_GROWTH_INVERSE };

/* A number of at least this size hides an added number that became 0. */
static const double noticeable = 1e-3;
/* Squares of numbers from 2^-7 on are at least 2^-14, the least normal f16. */
static const double squarable = 0x1p-7;

tl_growth tl_growth_plain(void) { return (tl_growth){TL_GROWTH_PLAIN, 0}; }

/* Returns a growth with its size limited to 0..ENDLESS and BIG set accordingly. A reciprocal is not
 * BIG: its size is that of the divisor. */
static tl_growth sized(double size, unsigned flags) {
  size = fmin(fmax(size, 0), (double)TL_GROWTH_ENDLESS);
  flags &= ~(unsigned)BIG;
  flags |= size > (double)TL_GROWTH_MOST && !(flags & INVERSE) ? BIG : 0u;
  return (tl_growth){(float)size, (uint8_t)flags};
}

/* Returns log2 of the magnitude, at least 0: numbers below 1 do not make others smaller. 1e300
 * stands for infinity. */
static double size_of(const tl_interval *x) {
  double most = tl_interval_magnitude(x);
  return most > 1 ? tl_log2(fmin(most, 1e300)) : 0;
}

tl_growth tl_growth_of_constant(const tl_interval *x) { return (tl_growth){(float)size_of(x), 0}; }

/* Returns the least magnitude in the interval. */
static double least_of(const tl_interval *x) {
  return x->low > 0 ? x->low : x->high < 0 ? -x->high : 0;
}

/* Returns log2 of a factor. A constant may be below 1 and then reduces the size. */
static double scale_of(const tl_grown *grown) {
  double most = tl_interval_magnitude(&grown->range);
  return grown->constant && most > 0 && isfinite(most) ? tl_log2(most) : (double)grown->growth.size;
}

/* ---- products and quotients ------------------------------------------------------------------ */

/* Products of ordinary numbers stay ordinary: trained models keep their activations in range. */
static tl_growth ordinary_product(const tl_growth_case *c) {
  double size = (double)c->in[0].growth.size + (double)c->in[1].growth.size;
  return (tl_growth){(float)fmin(size, (double)TL_GROWTH_PLAIN), 0};
}

/* Raises to a power of at least 2: squares of small numbers may vanish. */
static tl_growth square(const tl_grown *grown, double power) {
  unsigned flags = grown->growth.flags;
  if (least_of(&grown->range) < squarable)
    flags |= TINY;
  return sized((double)grown->growth.size * power, flags);
}

/* Returns true for a constant whose elements are all equal and positive. */
static bool is_uniform(const tl_grown *grown) {
  return grown->constant && grown->range.low == grown->range.high && grown->range.high > 0 &&
         isfinite(grown->range.high);
}

/* Multiplication and sums of products. The product with a reciprocal is a quotient, equal weights
 * make a sum or mean, and equal factors make a square; other products of ordinary numbers stay
 * ordinary. */
static tl_growth multiplied(const tl_growth_case *c) {
  const tl_grown *a = &c->in[0];
  const tl_grown *b = &c->in[1];
  unsigned flags = (unsigned)a->growth.flags | b->growth.flags;
  double more = c->product && c->elements > 1 ? tl_log2(c->elements) : 0;
  if (c->same) {
    tl_growth y = square(a, 2);
    return sized((double)y.size + more, y.flags);
  }
  if (!flags && c->product && is_uniform(b)) /* a sum or mean written as a product with equal
                                              * weights */
    return sized((double)a->growth.size + more + tl_log2(tl_interval_magnitude(&b->range)), 0);
  if (!flags && c->product && is_uniform(a))
    return sized((double)b->growth.size + more + tl_log2(tl_interval_magnitude(&a->range)), 0);
  if (!flags)
    return ordinary_product(c);
  bool over = (a->growth.flags & INVERSE) != 0;
  if (over != ((b->growth.flags & INVERSE) != 0)) { /* the product with a reciprocal is a
                                                     * quotient */
    const tl_grown *other = over ? b : a;
    if (other->constant || (other->growth.size < 1 && !other->growth.flags))
      return sized((double)(over ? a : b)->growth.size, INVERSE);
    double size = (double)other->growth.size - (double)(over ? a : b)->growth.size;
    return sized(size > 0 ? size : (double)TL_GROWTH_PLAIN, 0);
  }
  return sized(scale_of(a) + scale_of(b) + more, flags);
}

/* Returns the growth of a constant or small number (log2 `size`) over x. A divisor that is bounded
 * away from 0 gives an ordinary number. */
static tl_growth one_over(const tl_grown *grown, double size) {
  if (grown->growth.flags & INVERSE)
    return sized((double)grown->growth.size + size, 0);
  if (!grown->growth.flags && least_of(&grown->range) >= noticeable)
    return tl_growth_plain();
  return sized(fmax((double)grown->growth.size, 1), INVERSE);
}

/* Division: constants scale, ordinary divisors away from 0 keep the growth, two large or small
 * numbers cancel. */
static tl_growth divided(const tl_growth_case *c) {
  const tl_grown *a = &c->in[0];
  const tl_grown *b = &c->in[1];
  if (b->constant)
    return a->growth.flags ? sized((double)a->growth.size - scale_of(b), a->growth.flags)
                           : a->growth;
  if (!(b->growth.flags & ~BIG) && least_of(&b->range) >= noticeable)
    return a->growth.flags & b->growth.flags & BIG ? tl_growth_plain() : a->growth;
  if (a->constant || (a->growth.size < 1 && !a->growth.flags))
    return one_over(b, (double)a->growth.size);
  double size = (double)a->growth.size - (double)b->growth.size;
  if (b->growth.flags & INVERSE)
    return sized((double)a->growth.size + (double)b->growth.size, a->growth.flags);
  if (b->growth.flags && size < -(double)TL_GROWTH_PLAIN + 0.5 && !(a->growth.flags & BIG))
    return sized(-size, INVERSE);
  return a->growth.flags ? sized(size, 0) : tl_growth_plain();
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns true if this operand is large enough that a vanished other operand does not matter. */
static bool hides(const tl_grown *grown) {
  return grown->constant ? least_of(&grown->range) >= noticeable : !grown->growth.flags;
}

/* Sums and selections have the growth of their largest operand; TINY is dropped where another
 * operand hides it. */
static tl_growth joined(const tl_growth_case *c) {
  double size = 0;
  unsigned flags = 0;
  bool hidden = false;
  bool adds = c->kind == TL_RANGE_ADD || c->kind == TL_RANGE_SUB || c->kind == TL_RANGE_MAX ||
              c->kind == TL_RANGE_MULADD;
  for (uint32_t i = 0; i < c->n; i++) {
    size = fmax(size, (double)c->in[i].growth.size);
    flags |= c->in[i].growth.flags;
    hidden = hidden || hides(&c->in[i]);
  }
  if (adds && hidden)
    flags &= ~(unsigned)TINY;
  return sized(flags ? size : fmin(size, (double)TL_GROWTH_MOST), flags);
}

/* A product and then a sum; the flag `least` of the row tells which operand is added. */
static tl_growth muladd(const tl_growth_case *c) {
  uint32_t shift = c->least > 0 ? 1 : 2;
  tl_grown both[2] = {c->in[0], c->in[shift == 1 ? 2 : 1]};
  tl_growth_case part = {.kind = TL_RANGE_MUL, .in = both, .n = 2, .same = c->same};
  tl_grown terms[2] = {{multiplied(&part), tl_interval_unknown(), false}, c->in[shift]};
  part = (tl_growth_case){.kind = TL_RANGE_ADD, .in = terms, .n = 2};
  return joined(&part);
}

/* Sums of n elements grow by a factor of n (share 1) or sqrt(n) (share 0.5); n is 256 if
 * unknown. */
static tl_growth summed(const tl_growth_case *c, double share) {
  double n = c->elements > 1 ? c->elements : c->elements < 1 ? 256 : 1;
  return sized((double)c->in[0].growth.size + share * tl_log2(n), c->in[0].growth.flags);
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* Power with a constant exponent; any other exponent may give anything. */
static tl_growth raised(const tl_growth_case *c) {
  const tl_grown *grown = &c->in[0];
  const tl_grown *e = &c->in[1];
  double k = e->range.low;
  if (k != e->range.high)
    return sized((double)TL_GROWTH_ENDLESS, TINY);
  tl_growth y = fabs(k) >= 2 ? square(grown, fabs(k))
                             : sized((double)grown->growth.size * fabs(k),
                                     grown->growth.flags & ~(unsigned)(k < 1 ? TINY : 0));
  if (k < 0) {
    tl_grown below = {y, tl_interval_unknown(), false};
    return one_over(&below, 0);
  }
  return y;
}

/* A root undoes a square: half the size, and no longer tiny. */
static tl_growth root(const tl_grown *grown) {
  return sized((double)grown->growth.size / 2, grown->growth.flags & ~(unsigned)TINY);
}

/* Returns the largest size and all flags of the operands. No fmaxf: gcc 12 for aarch64 ends with an
 * internal error when it makes vectors of that and the flags. */
static tl_growth carried(const tl_growth_case *c) {
  tl_growth y = {0, 0};
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->in[i].growth.size > y.size)
      y.size = c->in[i].growth.size;
    y.flags |= c->in[i].growth.flags;
  }
  return y;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Reductions by kind. */
static tl_growth reduced(const tl_growth_case *c) {
  tl_growth y;
  switch (c->kind) {
  case TL_RANGE_SUM:
  case TL_RANGE_CUMSUM: return summed(c, 1);
  case TL_RANGE_SQUARES:
    y = square(&c->in[0], 2);
    return sized((double)y.size + tl_log2(fmax(c->elements, 1)), y.flags);
  case TL_RANGE_L2: return summed(c, 0.5);
  case TL_RANGE_PROD: return sized((double)TL_GROWTH_ENDLESS, TINY);
  default: return tl_growth_plain(); /* LOGSUM */
  }
}

tl_growth tl_growth_apply(const tl_growth_case *c) {
  bool product = c->product || c->kind >= TL_RANGE_MATMUL;
  if (c->n == 0)
    return tl_growth_plain();
  if ((product || c->kind == TL_RANGE_MUL) && c->n > 1)
    return multiplied(c);
  if (c->divides && c->n == 1)
    return one_over(&c->in[0], 0);
  switch (c->kind) {
  case TL_RANGE_FIXED:
  case TL_RANGE_NORM: return (tl_growth){0, 0};
  case TL_RANGE_DIV: return c->n > 1 ? divided(c) : tl_growth_plain();
  case TL_RANGE_ADD:
  case TL_RANGE_SUB:
  case TL_RANGE_MIN:
  case TL_RANGE_MAX:
  case TL_RANGE_UNION: return joined(c);
  case TL_RANGE_MULADD: return c->n > 2 ? muladd(c) : tl_growth_plain();
  case TL_RANGE_POW: return c->n > 1 ? raised(c) : tl_growth_plain();
  case TL_RANGE_SQUARE: return square(&c->in[0], 2);
  case TL_RANGE_SQRT: return root(&c->in[0]);
  case TL_RANGE_EXP: return sized((double)TL_GROWTH_ENDLESS, 0);
  case TL_RANGE_NONE: return c->carries ? carried(c) : tl_growth_plain();
  case TL_RANGE_ATTEND:
  case TL_RANGE_ROTATE: return carried(c);
  default: break;
  }
  return c->kind >= TL_RANGE_SUM ? reduced(c) : c->in[0].growth;
}

tl_growth tl_growth_within(tl_growth g, const tl_interval *y, double data_max) {
  double most = tl_interval_magnitude(y);
  unsigned flags = g.flags;
  if (isfinite(most) && most <= data_max)
    flags &= ~(unsigned)(BIG | INVERSE);
  if (least_of(y) >= 0x1p-14)
    flags &= ~(unsigned)TINY;
  double size = isfinite(most) && most <= data_max ? fmin((double)g.size, size_of(y))
                                                   : (double)g.size;
  return (tl_growth){(float)size, (uint8_t)flags};
}
