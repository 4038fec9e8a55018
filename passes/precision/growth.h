/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how results grow or shrink relative to the model's numbers, where intervals are
 * unknown. The square of a number may leave the range of a lower dtype although the number does
 * not, and the root of the square is back in range. There is no graph here. */
#ifndef TL_PASSES_PRECISION_GROWTH_H
#define TL_PASSES_PRECISION_GROWTH_H

#include "passes/precision/intervals.h"

enum {
  TL_GROWTH_BIG = 1 << 0,    /* may exceed the lower dtype */
  TL_GROWTH_TINY = 1 << 1,   /* may become 0 in the lower dtype */
  TL_GROWTH_INVERSE = 1 << 2 /* a reciprocal: may be either */
};

/* Estimated size of a value. size: log2 of the largest magnitude. Inputs of the model with unknown
 * numbers have TL_GROWTH_PLAIN, since a model to be lowered has its ordinary numbers in range. For
 * INVERSE the size of the divisor. */
typedef struct tl_growth {
  float size;
  uint8_t flags; /* TL_GROWTH_*; 0: fits */
} tl_growth;

#define TL_GROWTH_PLAIN 8.5f      /* log2: about 362, whose square (2^17) exceeds f16 */
#define TL_GROWTH_MOST 16.0f      /* log2; larger sizes are BIG: f16 ends at 2^16 */
#define TL_GROWTH_ENDLESS 1000.0f /* size of Exp and the like, which nothing bounds */

/* One operand of an op. */
typedef struct tl_grown {
  tl_growth growth;
  tl_interval range;
  bool constant;
} tl_grown;

/* Description of one op application. */
typedef struct tl_growth_case {
  tl_range_kind kind;
  bool product;    /* sums products, whatever the kind */
  bool divides;    /* computes the reciprocal of its only operand */
  bool carries;    /* kind NONE, but the result is as large as the operands */
  bool same;       /* the two factors are one value, apart from a factor or the order of elements */
  double least;    /* column `low` of range_ops.tbl */
  double elements; /* number of elements combined into one; 0: unknown */
  const tl_grown *in; /* [n] */
  uint32_t n;
} tl_growth_case;

/* Returns the size of ordinary numbers of a model. */
tl_growth tl_growth_plain(void);
/* Returns the size of a constant with interval x. */
tl_growth tl_growth_of_constant(const tl_interval *x);
/* Returns the size of the result of an op. O(operands). */
tl_growth tl_growth_apply(const tl_growth_case *c);
/* Returns g restricted by the interval of the result, computed or measured. data_max: greatest
 * magnitude allowed in the lower dtype. */
tl_growth tl_growth_within(tl_growth g, const tl_interval *y, double data_max);

#endif
