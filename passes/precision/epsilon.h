/* SPDX-License-Identifier: Apache-2.0 */
/* What stays wide without any policy: a gray op whose epsilon would become 0. */
#ifndef TL_PASSES_PRECISION_EPSILON_H
#define TL_PASSES_PRECISION_EPSILON_H

#include "ir/module.h"

/* *why: a clause in the arena when an operand of node n is a scalar constant other than 0 that
 * `low` (F16 or BF16) rounds to 0, and the op, or one behind it, divides by it or the like; else
 * NULL. TL_NO_MEMORY, not reported. */
tl_status tl_precision_epsilon(tl_module *m, tl_node_id n, tl_dtype low, tl_arena *arena,
                               const char **why) TL_NODISCARD;

#endif
