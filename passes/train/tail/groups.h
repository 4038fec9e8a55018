/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what the splits of joins share: grouping by bucket, and making nodes. */
#ifndef TL_PASSES_TRAIN_TAIL_GROUPS_H
#define TL_PASSES_TRAIN_TAIL_GROUPS_H

#include "passes/train/tail/tail.h"

/* Numbers groups in the order in which buckets first occur: group[i] is the group of element i,
 * which depends on bucket[i]. Elements that depend on several buckets or on none join the group of
 * the last bucket. Returns the number of groups. O(n + buckets). */
uint32_t tl_tail_group(tl_tail *t, const uint32_t *bucket, uint32_t n, uint32_t *group);

/* Returns the SequenceConstruct behind an operand; TL_NO_NODE if something else made it. */
tl_node_id tl_tail_construct_of(const tl_tail *t, tl_node_id n, uint32_t operand);
/* Returns a free name derived from another one; TL_NO_SYMBOL, noted in t, if memory is out. */
tl_symbol tl_tail_fresh(tl_tail *t, tl_symbol base);
/* Makes a node of one result and no attributes in front of `before`, with the region, type and,
 * except for a number, the name of `like`. Returns its result; TL_NO_VALUE, noted in t, if memory
 * is out. */
tl_value_id tl_tail_make_one(tl_tail *t, tl_node_id before, tl_node_id like, tl_op_id op,
                             const tl_value_id *operands, uint32_t n);

#endif
