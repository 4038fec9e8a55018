/* SPDX-License-Identifier: Apache-2.0 */
/* Weight-update sharding: each parameter is updated by one rank, which broadcasts the result to the
 * others. */
#ifndef TL_PASSES_TRAIN_COMM_SHARDS_H
#define TL_PASSES_TRAIN_COMM_SHARDS_H

#include "passes/train/comm/collective.h"
#include "passes/train/step/info.h"

/* Input that says which rank this is; no default. */
#define TL_COMM_RANK_INPUT "tlr.rank_id"

/* Fills root[i], the rank that updates the parameter of gradient i: the largest first, each to the
 * rank that has least so far. root: [t->n]. E-WUS-RANKS: more ranks than gradients, or an unknown
 * number of ranks. E-WUS-GRAD: a gradient that is sparse or reduced already, or a parameter without
 * an update. TL_NO_MEMORY. All reported. O(gradients * (log gradients + ranks)). */
tl_status tl_shards_plan(tl_module *m, const tl_train_info *t, const tl_train_config *c,
                         uint32_t *root) TL_NODISCARD;

/* Makes the branches behind sums that only their roots have: what serves the parameters of one rank
 * alone goes into an If that this rank takes, and broadcasts in a row give its results to all.
 * Declares moments as local to the root. owner: [n_owners] by node id, the index of the only
 * gradient that a node of the updates depends on, or TL_TRAIN_SHARED. O(ranks * nodes). */
tl_status tl_shards_make(tl_pass *p, tl_comm *comm, const tl_train_info *t, const uint32_t *root,
                         const uint32_t *owner, uint32_t n_owners) TL_NODISCARD;

#endif
