/* SPDX-License-Identifier: Apache-2.0 */
/* Plans which AllReduces become one: members in the order in which gradients become ready, cut into
 * buckets. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKET_PLAN_H
#define TL_PASSES_TRAIN_COMM_BUCKET_PLAN_H

#include "passes/edit/pass.h"
#include "passes/train/comm/bucket_split.h"
#include "passes/train/step/info.h"

/* Mark of a collective that ar-bucket has handled: joined, or alone in its bucket. It is the name
 * that the device compiler uses. */
#define TL_MARK_FUSED "_hccl_fused_node"

/* Collects the AllReduces of the main graph that may be joined and have not been, cuts them into
 * buckets by strategy `how`, and lists all other collectives. Everything lives in the pass's
 * scratch. E-AR-FUSION, E-AR-GROUP, E-BKT-*, TL_NO_MEMORY; W-BKT-SPLIT where a member depends on an
 * earlier one of its bucket. O(nodes + edges), and the strategy's own cost. */
tl_status tl_bucket_plan_make(tl_pass *p, tl_module *m, tl_train_info *t, tl_bucket_strategy how,
                              tl_bucket_set *out) TL_NODISCARD;

/* Returns the number of members from `first` on that share its key and bucket. */
uint32_t tl_bucket_length(const tl_bucket_set *set, uint32_t first);

#endif
