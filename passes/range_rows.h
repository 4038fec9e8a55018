/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of range_ops.tbl, and where values go that masks and epsilons are in. */
#ifndef TL_PASSES_RANGE_ROWS_H
#define TL_PASSES_RANGE_ROWS_H

#include "ir/module.h"
#include "passes/precision_intervals.h"

/* Flags of rows; range_ops.tbl says what they mean. */
enum {
  TL_RANGE_GUARDED = 1 << 0,
  TL_RANGE_SHIFTS = 1 << 1,
  TL_RANGE_DEEP = 1 << 2,
  TL_RANGE_RISKY = 1 << 3,
  TL_RANGE_WEIGHS = 1 << 4,
  TL_RANGE_SEES_MASK = 1 << 5, /* MASKED of the table */
  TL_RANGE_BLIND = 1 << 6
};

typedef struct tl_range_op {
  uint8_t kind; /* tl_range_kind */
  uint8_t flags;
  bool listed; /* has a row of its own, also one that says NONE */
  double low;
  double high;
} tl_range_op;

enum { TL_RANGE_FAR = 4 }; /* nodes between a mask and its Softmax, an epsilon and its Div */

/* Row of an op, and of a node's op; one of kind NONE that is not listed when there is none. */
const tl_range_op *tl_range_op_at(tl_op_id op);
const tl_range_op *tl_range_op_of(const tl_module *m, tl_node_id n);
/* Does what is masked, or for attention the mask itself, go in as this operand? */
bool tl_range_takes_mask(const tl_module *m, tl_node_id n, uint32_t operand);
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
