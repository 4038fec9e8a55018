/* SPDX-License-Identifier: Apache-2.0 */
/* Where the numbers of a result lie, given where those of the operands lie. No graph here. Results
 * are a little wider than they need be, so that rounding in f32 stays within. */
#ifndef TL_PASSES_PRECISION_INTERVALS_H
#define TL_PASSES_PRECISION_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

enum {
  TL_RANGE_TIGHT = 1 << 0,   /* not much wider than what occurs: worth deciding by */
  TL_RANGE_FRAGILE = 1 << 1, /* an epsilon was added that the low dtype does not have */
  TL_RANGE_MASKED = 1 << 2   /* masks made some numbers very low; they mean nothing */
};

/* Ends are infinite where nothing is known. */
typedef struct tl_interval {
  double low;
  double high;
  uint8_t flags; /* TL_RANGE_* */
} tl_interval;

/* Kinds of range_ops.tbl, which explains them. */
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
  TL_RANGE_MATMUL, /* from here on products */
  TL_RANGE_GEMM,
  TL_RANGE_CONV,
  TL_RANGE_DECONV
} tl_range_kind;

enum { TL_RANGE_OPERANDS = 3 };

tl_interval tl_interval_unknown(void);
/* Greatest magnitude in it; infinite when unknown. */
double tl_interval_magnitude(const tl_interval *x);
/* Sum and product of two, as the ops. */
tl_interval tl_interval_add(tl_interval a, tl_interval b);
tl_interval tl_interval_multiply(tl_interval a, tl_interval b);
/* Result of a kind other than FIXED, AFFINE, ATTEND; of a product by magnitudes alone. in: [n] of
 * the first operands, n at most TL_RANGE_OPERANDS; absent ones are those of an operand that changes
 * nothing. least: low of the row. elements: how many are combined into one, 0 when that is not
 * known. */
tl_interval tl_interval_apply(tl_range_kind kind, double least, const tl_interval *in, uint32_t n,
                              double elements);

#endif
