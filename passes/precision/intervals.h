/* SPDX-License-Identifier: Apache-2.0 */
/* Interval arithmetic: where the numbers of a result lie, given where those of the operands lie.
 * There is no graph here. Results are widened slightly so that rounding in f32 stays inside. */
#ifndef TL_PASSES_PRECISION_INTERVALS_H
#define TL_PASSES_PRECISION_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

enum {
  TL_RANGE_TIGHT = 1 << 0,   /* bounds close to what occurs: a decision may rest on them */
  TL_RANGE_FRAGILE = 1 << 1, /* an epsilon was added that becomes 0 in the low dtype */
  TL_RANGE_MASKED = 1 << 2   /* masks made some numbers very low; their size does not matter */
};

/* A closed interval; an unknown end is infinite. */
typedef struct tl_interval {
  double low;
  double high;
  uint8_t flags; /* TL_RANGE_* */
} tl_interval;

/* Kinds of ops, explained in range_ops.tbl. */
typedef enum tl_range_kind {
  TL_RANGE_NONE,
  TL_RANGE_FIXED,
  TL_RANGE_SAME,
  TL_RANGE_UNION,
  TL_RANGE_PADDED,
  TL_RANGE_RELU,
  TL_RANGE_GATE,
  TL_RANGE_CLIP,
  TL_RANGE_ADD,
  TL_RANGE_SUB,
  TL_RANGE_MUL,
  TL_RANGE_DIV,
  TL_RANGE_NEG,
  TL_RANGE_ABS,
  TL_RANGE_SQUARE,
  TL_RANGE_SQRT,
  TL_RANGE_EXP,
  TL_RANGE_POW,
  TL_RANGE_MIN,
  TL_RANGE_MAX,
  TL_RANGE_MEAN,
  TL_RANGE_AFFINE,
  TL_RANGE_ATTEND,
  TL_RANGE_GATED,
  TL_RANGE_ROTATE,
  TL_RANGE_MULADD,
  TL_RANGE_SUM,
  TL_RANGE_CUMSUM,
  TL_RANGE_SQUARES,
  TL_RANGE_L2,
  TL_RANGE_LOGSUM,
  TL_RANGE_PROD,
  TL_RANGE_NORM,
  TL_RANGE_MATMUL, /* from here on: products */
  TL_RANGE_GEMM,
  TL_RANGE_CONV,
  TL_RANGE_DECONV
} tl_range_kind;

enum { TL_RANGE_OPERANDS = 3 };

/* Returns the interval of all numbers, without flags. */
tl_interval tl_interval_unknown(void);
/* Returns the greatest magnitude in the interval; infinite if unknown. */
double tl_interval_magnitude(const tl_interval *x);
/* Return the interval of a + b and of a * b. */
tl_interval tl_interval_add(tl_interval a, tl_interval b);
tl_interval tl_interval_multiply(tl_interval a, tl_interval b);
/* Returns the interval of the result of an op of any kind but FIXED, AFFINE and ATTEND; for a
 * product by magnitudes alone. in: [n] the first operands, n <= TL_RANGE_OPERANDS; for an absent
 * operand the neutral interval. least: column `low` of the row. elements: number combined into one,
 * 0 if unknown. */
tl_interval tl_interval_apply(tl_range_kind kind, double least, const tl_interval *in, uint32_t n,
                              double elements);

#endif
