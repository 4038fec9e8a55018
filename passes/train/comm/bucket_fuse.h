/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one AllReduce out of several. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKET_FUSE_H
#define TL_PASSES_TRAIN_COMM_BUCKET_FUSE_H

#include "passes/edit/pass.h"

/* Alignment in bytes of the tensors of a bucket, which lie one behind the other. */
enum { TL_BUCKET_OFFSET_ALIGN = 512 };
/* Marks of a fused node: its tensors lie in one piece of memory, from these byte offsets on. */
#define TL_MARK_COALESCED "tailor.coalesced"
#define TL_MARK_OFFSETS "tailor.offsets"

/* Replaces n > 1 nodes of one key, which must not depend on each other, by one that has the name of
 * the first. It takes one operand a tensor, or, if `concat`, all tensors joined before it and split
 * behind it. Control edges move to it. The caller sorts the graph afterwards. Returns the new node;
 * TL_NO_NODE if memory is out, which is reported. */
tl_node_id tl_bucket_fuse(tl_module *m, const tl_node_id *nodes, uint32_t n, bool concat);

#endif
