/* SPDX-License-Identifier: Apache-2.0 */
/* Plans which AllReduces become one: members in the order in which gradients become ready, cut into
 * buckets. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKET_PLAN_H
#define TL_PASSES_TRAIN_COMM_BUCKET_PLAN_H

#include "passes/edit/pass.h"
#include "passes/train/step/info.h"

/* An AllReduce that takes part. */
typedef struct tl_bucket_member {
  tl_node_id node;
  uint32_t key;    /* those of one key may share a bucket: group, fusion id, dtype */
  uint64_t order;  /* place of its gradient */
  uint64_t bytes;  /* bare */
  double ready;    /* microseconds from the start of the step */
  uint32_t bucket; /* those of one key and bucket become one; buckets of a key ascend in order */
} tl_bucket_member;

/* The AllReduces that may be joined, and all other collectives. */
typedef struct tl_bucket_set {
  tl_bucket_member *at; /* [n], by key, then by order */
  uint32_t n;
  tl_bucket_member *others; /* [n_others] the collectives that take no part; no key, no bucket */
  uint32_t n_others;
  bool fused; /* one of them has been through here */
} tl_bucket_set;

/* Mark of a collective that ar-bucket has handled: joined, or alone in its bucket. It is the name
 * that the device compiler uses. */
#define TL_MARK_FUSED "_hccl_fused_node"

/* Collects the AllReduces of the main graph that may be joined and have not been, cuts them into
 * buckets by strategy `how`, and lists all other collectives. Everything lives in the pass's
 * scratch. E-AR-FUSION, E-AR-GROUP, E-BKT-*, TL_NO_MEMORY; W-BKT-SPLIT where a member depends on an
 * earlier one of its bucket. O(nodes + edges), and the strategy's own cost. */
tl_status tl_bucket_plan_make(tl_pass *p, tl_module *m, tl_train_info *t, tl_bucket_strategy how,
                              tl_bucket_set *out) TL_NODISCARD;

/* Ends buckets before members that depend on one of theirs, which keeps the graph acyclic.
 * E-BKT-ORDER: a member depends on one behind it; W-BKT-SPLIT. O(nodes + edges). */
tl_status tl_bucket_split(tl_pass *p, tl_module *m, tl_bucket_set *set) TL_NODISCARD;

/* Returns the number of members from `first` on that share its key and bucket. */
uint32_t tl_bucket_length(const tl_bucket_set *set, uint32_t first);

#endif
