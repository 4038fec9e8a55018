/* SPDX-License-Identifier: Apache-2.0 */
/* Weight-update sharding: each parameter has a rank that updates it and hands the result to the
 * others. */
#ifndef TL_PASSES_TRAIN_COMM_SHARDS_H
#define TL_PASSES_TRAIN_COMM_SHARDS_H

#include "passes/train/comm/collective.h"
#include "passes/train/step/info.h"

/* Input that says which rank this is; no default. */
#define TL_COMM_RANK_INPUT "tlr.rank_id"

/* root: [t->n], by gradient, the rank that updates its parameter: the largest first, each to the
 * rank that has least so far. E-WUS-RANKS: more ranks than gradients, or an unknown number.
 * E-WUS-GRAD: gradients that are sparse, or reduced already, or parameters without an update.
 * TL_NO_MEMORY. O(gradients * (log gradients + ranks)). */
tl_status tl_shards_plan(tl_module *m, const tl_train_info *t, const tl_train_config *c,
                         uint32_t *root) TL_NODISCARD;

/* Declares states that depend on the sum of one root to be that rank's. masked: values that are
 * right on every rank although they come from such a sum. E-WUS-GRAD: states that depend on sums of
 * several, and outputs that depend on any; TL_NO_MEMORY. O(nodes + edges), and outputs times
 * states. */
tl_status tl_shards_trace(tl_module *m, tl_arena *arena, const tl_u32_vec *masked) TL_NODISCARD;

/* Behind sums that only their roots have: what serves the parameters of one rank alone goes into a
 * branch that this rank takes, and broadcasts in a row give its results to all. Moments are
 * declared to be those of the root. `owner`: [n_owners] by node id, index of the only gradient that
 * a node of the updates depends on, or TL_TRAIN_SHARED. O(ranks * nodes). */
tl_status tl_shards_make(tl_pass *p, tl_comm *comm, const tl_train_info *t, const uint32_t *root,
                         const uint32_t *owner, uint32_t n_owners) TL_NODISCARD;

#endif
