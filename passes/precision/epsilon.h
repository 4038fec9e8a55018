/* SPDX-License-Identifier: Apache-2.0 */
/* Finds gray ops whose epsilon would become 0 in the low dtype; these stay wide without any
 * policy. */
#ifndef TL_PASSES_PRECISION_EPSILON_H
#define TL_PASSES_PRECISION_EPSILON_H

#include "ir/module.h"

/* Sets *why to a clause in the arena if an f32 scalar constant among the operands of node n rounds
 * to 0 in `low` (F16 or BF16), and the op or a later one divides by the result or the like; else to
 * NULL. TL_NO_MEMORY, not reported. */
tl_status tl_precision_epsilon(tl_module *m, tl_node_id n, tl_dtype low, tl_arena *arena,
                               const char **why) TL_NODISCARD;

#endif
