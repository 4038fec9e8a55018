/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the states and outputs that are right on one rank only. */
#ifndef TL_PASSES_TRAIN_COMM_SHARD_ROOTS_H
#define TL_PASSES_TRAIN_COMM_SHARD_ROOTS_H

#include "ir/module.h"
#include "support/vec.h"

/* Declares states that depend on the sum of one root as local to that rank. masked: values that are
 * right on every rank although they come from such a sum. E-WUS-GRAD: a state that depends on sums
 * of several roots, or another output that depends on any; TL_NO_MEMORY. All reported. O(nodes +
 * edges + outputs * states). */
tl_status tl_shards_trace(tl_module *m, tl_arena *arena, const tl_u32_vec *masked) TL_NODISCARD;

#endif
