/* SPDX-License-Identifier: Apache-2.0 */
/* Making one AllReduce out of several. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKET_FUSE_H
#define TL_PASSES_TRAIN_COMM_BUCKET_FUSE_H

#include "passes/edit/pass.h"

/* What tensors of a bucket start at a multiple of, one after the other. */
enum { TL_BUCKET_OFFSET_ALIGN = 512 };
/* Marks of a fused node: its tensors lie in one piece of memory, from these byte offsets on. */
#define TL_MARK_COALESCED "tailor.coalesced"
#define TL_MARK_OFFSETS "tailor.offsets"

/* Replaces n > 1 nodes of one key, which do not depend on each other, by one that is called after
 * the first: with an operand a tensor, or (concat) with all tensors joined before it and taken
 * apart behind. Control edges go over. The graph is to be sorted afterwards. Returns the new node;
 * TL_NO_NODE when memory is out, which is reported. */
tl_node_id tl_bucket_fuse(tl_module *m, const tl_node_id *nodes, uint32_t n, bool concat);

#endif
