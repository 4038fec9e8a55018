/* SPDX-License-Identifier: Apache-2.0 */
/* What the splits of joins have in common. */
#ifndef TL_PASSES_TRAIN_TAIL_GROUPS_H
#define TL_PASSES_TRAIN_TAIL_GROUPS_H

#include "passes/train/tail/tail.h"

/* Numbers groups in the order in which buckets first occur: group[i] is that of element i, which
 * depends on bucket[i]. What depends on several or on none goes with the last bucket. Returns how
 * many there are. */
uint32_t tl_tail_group(tl_tail *t, const uint32_t *bucket, uint32_t n, uint32_t *group);

/* The SequenceConstruct behind an operand; TL_NO_NODE when something else made it. */
tl_node_id tl_tail_construct_of(const tl_tail *t, tl_node_id n, uint32_t operand);
/* A name that is free, after another one. */
tl_symbol tl_tail_fresh(tl_tail *t, tl_symbol base);
/* A node of one result and no attributes in front of `before`, of the region, type and, but for a
 * number, the name of `like`; its result. TL_NO_VALUE, noted, when memory is out. */
tl_value_id tl_tail_make_one(tl_tail *t, tl_node_id before, tl_node_id like, tl_op_id op,
                             const tl_value_id *operands, uint32_t n);

#endif
