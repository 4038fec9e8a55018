/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the state of the pass cast-motion, and tells which nodes can move data in another dtype. */
#ifndef TL_PASSES_PRECISION_CAST_CARRY_H
#define TL_PASSES_PRECISION_CAST_CARRY_H

#include "passes/edit/casts.h"
#include "passes/edit/values.h"
#include "passes/precision/form.h"

/* State of the pass. */
typedef struct tl_motion {
  tl_pass *p;
  tl_module *m;
  tl_merge_facts facts;
  tl_precision_forms *forms;
  tl_cast_set constants;
  bool lossy;
  bool clamp;
  const tl_op_info_set *chip; /* NULL: no chip will run the result */
  uint32_t visits;            /* values that the current cast may still visit */
  bool made;                  /* some new node has no NPU candidate yet */
} tl_motion;

/* Returns true if the op moves operand i to its result: both have the same type variable. */
bool tl_motion_moves(const tl_op *op, uint32_t i);
/* Returns true if the NPU kernel of node n (without a row in the chip's table: the prototype of its
 * op) takes dtype `to`. */
bool tl_motion_chip_has(tl_motion *motion, tl_node_id n, tl_dtype to);
/* Returns true if the node only moves data, and its op and its NPU kernel have dtype `to`. */
bool tl_motion_can_carry(tl_motion *motion, tl_node_id n, tl_dtype to);

#endif
