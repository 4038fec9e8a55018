/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which ops are linear in which operands (linear_ops.tbl). */
#ifndef TL_PASSES_TRAIN_SCALE_LINEAR_H
#define TL_PASSES_TRAIN_SCALE_LINEAR_H

#include "ir/op.h"

typedef enum tl_linear_kind {
  TL_LINEAR_MAP,
  TL_LINEAR_ALIKE,
  TL_LINEAR_SCATTER,
  TL_LINEAR_PRODUCT,
  TL_LINEAR_FACTORS,
  TL_LINEAR_QUOTIENT,
  TL_LINEAR_INVERSE,
  TL_LINEAR_COMPARE,
  TL_LINEAR_CONSTANT
} tl_linear_kind;

/* A row: the op is linear in operand `port` in the way `how`. */
typedef struct tl_linear {
  tl_op_id op;
  uint8_t how; /* tl_linear_kind, as the table describes it */
  uint8_t port;
} tl_linear;

/* Returns the row of an op; NULL if nothing is known of it. O(rows). */
const tl_linear *tl_linear_find(tl_op_id op);

#endif
