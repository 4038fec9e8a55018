/* SPDX-License-Identifier: Apache-2.0 */
/* What only moves numbers between a wide source and a node that stays wide stays wide, too. */
#ifndef TL_PASSES_PRECISION_RANGE_MOVES_H
#define TL_PASSES_PRECISION_RANGE_MOVES_H

#include "ir/module.h"

/* why: by node id, NULL where nothing speaks against lowering; filled in for such nodes. Memory is
 * the arena's; TL_NO_MEMORY is not reported. O(nodes + edges). */
tl_status tl_range_keep_moves(const tl_module *m, const char **why,
                              tl_arena *arena) TL_NODISCARD;

#endif
