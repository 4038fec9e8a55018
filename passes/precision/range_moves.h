/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps data movement wide between a wide source and a node that stays wide: casts there gain
 * nothing. */
#ifndef TL_PASSES_PRECISION_RANGE_MOVES_H
#define TL_PASSES_PRECISION_RANGE_MOVES_H

#include "ir/module.h"

/* Sets why[n], by node id, for nodes that only move data from a wide source to nodes with a reason
 * to stay wide (why[n] not NULL). The arena holds the memory. TL_NO_MEMORY, not reported. O(nodes +
 * edges). */
tl_status tl_range_keep_moves(const tl_module *m, const char **why, tl_arena *arena) TL_NODISCARD;

#endif
