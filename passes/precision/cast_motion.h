/* SPDX-License-Identifier: Apache-2.0 */
/* State of cast-motion, shared by its files. */
#ifndef TL_PASSES_PRECISION_CAST_MOTION_H
#define TL_PASSES_PRECISION_CAST_MOTION_H

#include "passes/edit/casts.h"
#include "passes/edit/values.h"
#include "passes/precision/precision.h"

typedef struct tl_motion {
  tl_pass *p;
  tl_module *m;
  tl_merge_facts facts;
  tl_precision_forms *forms;
  tl_cast_set constants;
  bool lossy;
  bool clamp;
  const tl_op_info_set *chip; /* NULL: no chip is to run it */
  uint32_t visits;            /* left for the cast at hand */
  bool made;                  /* a node that has no NPU candidate yet */
} tl_motion;

/* Operands that the op moves: those of the type variable of its result. */
bool tl_motion_moves(const tl_op *op, uint32_t i);
/* Does the node only move data, and does it do so with this dtype, on this chip too? */
bool tl_motion_can_carry(tl_motion *x, tl_node_id n, tl_dtype to);

/* Casts to a narrower float behind what only moves data go before it, where all that is made of the
 * data is cast so: one cast of what is moved takes the place of all behind it. There are never more
 * casts. O(nodes + edges). */
tl_status tl_motion_lift(tl_motion *x, const tl_graph *g) TL_NODISCARD;

#endif
