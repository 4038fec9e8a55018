/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cast-motion that moves casts before nodes with several results. */
#ifndef TL_PASSES_PRECISION_CAST_LIFT_H
#define TL_PASSES_PRECISION_CAST_LIFT_H

#include "passes/precision/cast_carry.h"

/* Moves narrowing casts in graph g before nodes that only move data, if all results of these nodes
 * are cast to the same dtype: one cast of the moved value then replaces all of them. The number of
 * casts never grows. TL_NO_MEMORY, reported. O(nodes + edges). */
tl_status tl_motion_lift(tl_motion *motion, const tl_graph *g) TL_NODISCARD;

#endif
