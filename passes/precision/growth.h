/* SPDX-License-Identifier: Apache-2.0 */
/* How a result grows or shrinks with the numbers of the model, where its interval says nothing: the
 * square of a number leaves the range of a lower dtype though the number does not, and its root is
 * back in it. No graph here. */
#ifndef TL_PASSES_PRECISION_GROWTH_H
#define TL_PASSES_PRECISION_GROWTH_H

#include "passes/precision/intervals.h"

enum {
  TL_GROWTH_BIG = 1 << 0,     /* may be beyond the lower dtype */
  TL_GROWTH_TINY = 1 << 1,    /* may become 0 in it */
  TL_GROWTH_INVERSE = 1 << 2  /* one over something: either of the two */
};

/* size: how large numbers may be, as a power of two; numbers of the model that nothing is known of
 * count as `TL_GROWTH_PLAIN`, for a model that is to be lowered has those in range. For INVERSE
 * that of what is divided by. */
typedef struct tl_growth {
  float size;
  uint8_t flags; /* TL_GROWTH_*; 0: fits */
} tl_growth;

#define TL_GROWTH_PLAIN 8.5f
#define TL_GROWTH_MOST 16.0f /* and larger ones are BIG */
#define TL_GROWTH_ENDLESS 1000.0f /* Exp and the like */

/* An operand. */
typedef struct tl_grown {
  tl_growth growth;
  tl_interval range;
  bool constant;
} tl_grown;

/* What comes of an op. */
typedef struct tl_growth_case {
  tl_range_kind kind;
  bool product; /* adds up products, whatever the kind */
  bool divides; /* one over its only operand */
  bool carries; /* a kind NONE that gives back what comes in */
  bool same;    /* the operands that are multiplied are one value, but for a factor or its order */
  double least;    /* low of the row */
  double elements; /* combined into one, 0: not known */
  const tl_grown *in; /* [n] */
  uint32_t n;
} tl_growth_case;

tl_growth tl_growth_plain(void);
tl_growth tl_growth_of_constant(const tl_interval *x);
tl_growth tl_growth_apply(const tl_growth_case *c);
/* What is left of it once the interval of the result, or what was measured, is known. */
tl_growth tl_growth_within(tl_growth g, const tl_interval *y, double data_max);

#endif
