/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites a node for the order that was decided for it. */
#ifndef TL_PASSES_LAYOUT_APPLY_H
#define TL_PASSES_LAYOUT_APPLY_H

#include "passes/layout/law.h"
#include "support/vec.h"

/* Rewrites attributes, lists and constants of a node for the order law->now; not its other
 * operands. Nodes that compute with constants alone, which folding then evaluates, are appended to
 * `made`. TL_NO_MEMORY, reported. */
tl_status tl_law_apply(const tl_law *law, tl_module *m, tl_node_id n,
                       tl_u32_vec *made) TL_NODISCARD;

#endif
