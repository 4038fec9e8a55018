/* SPDX-License-Identifier: Apache-2.0 */
/* Collects nodes without an NPU form and reports all of them in one error. */
#ifndef TL_PASSES_NPU_UNMAPPED_H
#define TL_PASSES_NPU_UNMAPPED_H

#include "ir/module.h"

enum { TL_UNMAPPED_NAMES = 16 }; /* upper bound on nodes named per op */

typedef struct tl_unmapped_group {
  tl_op_id op;
  const char *why; /* a clause */
  uint32_t count;
  tl_node_id nodes[TL_UNMAPPED_NAMES];
} tl_unmapped_group;

TL_VEC(tl_unmapped_vec, tl_unmapped_group);

/* Adds a node. `why`, a clause, must outlive the list; nodes are grouped by op and by this pointer.
 * Returns TL_NO_MEMORY, not reported. O(groups). */
tl_status tl_unmapped_add(tl_unmapped_vec *list, const tl_module *m, tl_node_id n,
                          const char *why) TL_NODISCARD;
/* Reports one error that lists every group with its count, reason and some nodes. Returns
 * TL_UNSUPPORTED, or TL_NO_MEMORY, reported. */
tl_status tl_unmapped_report(const tl_unmapped_vec *list, tl_module *m) TL_NODISCARD;
/* Warns which ops are those of the user's package. Returns TL_NO_MEMORY, reported. */
tl_status tl_custom_warn(const tl_unmapped_vec *list, tl_module *m) TL_NODISCARD;
/* Reports the same as a warning, and counts the nodes in m->chip_fit. Returns TL_NO_MEMORY,
 * reported. */
tl_status tl_unmapped_warn(const tl_unmapped_vec *list, tl_module *m) TL_NODISCARD;

#endif
