/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of range_ops.tbl, and where values go that masks and epsilons are in. */
#ifndef TL_PASSES_PRECISION_RANGE_ROWS_H
#define TL_PASSES_PRECISION_RANGE_ROWS_H

#include "ir/module.h"
#include "passes/precision/intervals.h"

/* Flags of rows; range_ops.tbl says what they mean. */
enum {
  TL_RANGE_GUARDED = 1 << 0,
  TL_RANGE_SHIFTS = 1 << 1,
  TL_RANGE_DEEP = 1 << 2,
  TL_RANGE_RISKY = 1 << 3,
  TL_RANGE_WEIGHS = 1 << 4,
  TL_RANGE_SEES_MASK = 1 << 5, /* MASKED of the table */
  TL_RANGE_BLIND = 1 << 6,
  TL_RANGE_SQUARED = 1 << 7,
  TL_RANGE_TURNS = 1 << 8,
  TL_RANGE_LOGS = 1 << 9,
  TL_RANGE_DIVIDES = 1 << 10,
  TL_RANGE_COUNTS = 1 << 11,
  TL_RANGE_PLACES = 1 << 12,
  TL_RANGE_STEPS = 1 << 13,
  TL_RANGE_PLAIN = 1 << 14,
  TL_RANGE_PRODUCT = 1 << 15,
  TL_RANGE_PART = 1 << 16,
  TL_RANGE_WEIGHTED = 1 << 17,
  TL_RANGE_STATS = 1 << 18
};

typedef struct tl_range_op {
  uint8_t kind; /* tl_range_kind */
  uint32_t flags;
  bool listed; /* has a row of its own, also one that says NONE */
  double low;
  double high;
} tl_range_op;

enum { TL_RANGE_FAR = 4 }; /* nodes between a mask and its Softmax, an epsilon and its Div */

/* Row of an op, and of a node's op; one of kind NONE that is not listed when there is none. */
const tl_range_op *tl_range_op_at(tl_op_id op);
const tl_range_op *tl_range_op_of(const tl_module *m, tl_node_id n);
/* Does the op add up products of its operands? */
bool tl_range_is_product(const tl_range_op *row);
/* Do numbers come out as they came in, but for arithmetic element by element or sums of them? False
 * for products, norms, and what is bounded whatever comes in. */
bool tl_range_carries(const tl_range_op *row);
/* Does what is masked, or for attention the mask itself, go in as this operand? */
bool tl_range_takes_mask(const tl_module *m, tl_node_id n, uint32_t operand);
/* Does what goes in as this operand end up as a mask of Softmax or attention and nowhere else? */
bool tl_range_masks_softmax(const tl_module *m, tl_node_id n, uint32_t operand);
/* Is some use of v, through at most `left` ops with a flag of `through` or that only move data, of
 * an op with one of `flags`? */
bool tl_range_reaches(const tl_module *m, tl_value_id v, unsigned flags, unsigned through,
                      unsigned left);
/* Are all uses of v, also behind ops that masks go through, those of a mask, and is there one? Who
 * compares a mask, or gives it out, wants its numbers. */
bool tl_range_only_masks(const tl_module *m, tl_value_id v);
/* Is a zero for an operand that is none the ruin of the op (*itself), or of one behind it? */
bool tl_range_needs_operands(const tl_module *m, tl_node_id n, bool *itself);

#endif
