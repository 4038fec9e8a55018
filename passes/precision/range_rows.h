/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the rows of range_ops.tbl, and questions about where masks and epsilons flow. */
#ifndef TL_PASSES_PRECISION_RANGE_ROWS_H
#define TL_PASSES_PRECISION_RANGE_ROWS_H

#include "ir/module.h"
#include "passes/precision/intervals.h"

/* Flags of rows; range_ops.tbl explains them. */
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
  TL_RANGE_STATS = 1 << 18,
  TL_RANGE_WHOLE = 1 << 19
};

/* One row of range_ops.tbl. */
typedef struct tl_range_op {
  uint8_t kind; /* tl_range_kind */
  uint32_t flags;
  bool listed; /* has a row in the table, even one of kind NONE */
  double low;
  double high;
} tl_range_op;

/* Upper bound on nodes between a mask and its Softmax, or an epsilon and its Div. */
enum { TL_RANGE_FAR = 4 };

/* Return the row of an op, or of a node's op; an unlisted row of kind NONE if the table has
 * none. */
const tl_range_op *tl_range_op_at(tl_op_id op);
const tl_range_op *tl_range_op_of(const tl_module *m, tl_node_id n);
/* Returns true if the op sums products of its operands. */
bool tl_range_is_product(const tl_range_op *row);
/* Returns true if the magnitude of the result follows that of the operands: elementwise arithmetic,
 * movement, sums. False for products, norms and results that are always bounded. */
bool tl_range_carries(const tl_range_op *row);
/* Returns true if this operand of n is masked data of a Softmax, or the mask operand of
 * attention. */
bool tl_range_takes_mask(const tl_module *m, tl_node_id n, uint32_t operand);
/* Returns true if this operand of n ends up only in masks of Softmax or attention. */
bool tl_range_masks_softmax(const tl_module *m, tl_node_id n, uint32_t operand);
/* Returns true if v reaches an op with one of `flags`, through at most `left` ops that have a flag
 * of `through` or only move data. */
bool tl_range_reaches(const tl_module *m, tl_value_id v, unsigned flags, unsigned through,
                      unsigned left);
/* Returns true if v has a use as a mask and all its uses are masks, directly or behind ops that
 * masks pass through. Comparing a mask or returning it needs its numbers and gives false. */
bool tl_range_only_masks(const tl_module *m, tl_value_id v);
/* Returns true if an operand that wrongly becomes 0 ruins the op (*itself) or an op behind it. */
bool tl_range_needs_operands(const tl_module *m, tl_node_id n, bool *itself);

#endif
