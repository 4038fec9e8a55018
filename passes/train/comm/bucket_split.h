/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of AllReduces, and how they are split where members depend on each other. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKET_SPLIT_H
#define TL_PASSES_TRAIN_COMM_BUCKET_SPLIT_H

#include "passes/edit/pass.h"

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

/* Ends buckets before members that depend on one of theirs, which keeps the graph acyclic.
 * E-BKT-ORDER: a member depends on one behind it; W-BKT-SPLIT. O(nodes + edges). */
tl_status tl_bucket_split(tl_pass *p, tl_module *m, tl_bucket_set *set) TL_NODISCARD;

#endif
