/* SPDX-License-Identifier: Apache-2.0 */
/* Gives nodes the orders that were decided, and puts Transposes where orders differ. */
#ifndef TL_PASSES_LAYOUT_PLACE_H
#define TL_PASSES_LAYOUT_PLACE_H

#include "passes/layout/region.h"

/* Rewrites the graph: the nodes with another order, and what readers of their sources read. Nodes
 * that folding evaluates are appended to `made`. TL_NO_MEMORY, reported. */
tl_status tl_layout_place(tl_layout *l, tl_u32_vec *made) TL_NODISCARD;

#endif
