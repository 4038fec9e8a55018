/* SPDX-License-Identifier: Apache-2.0 */
/* Collects nodes without an NPU form and reports all of them at once. */
#ifndef TL_PASSES_NPU_UNMAPPED_H
#define TL_PASSES_NPU_UNMAPPED_H

#include "ir/module.h"

enum { TL_UNMAPPED_NAMES = 16 }; /* nodes named per op */

typedef struct tl_unmapped_group {
  tl_op_id op;
  const char *why; /* a clause */
  uint32_t count;
  tl_node_id nodes[TL_UNMAPPED_NAMES];
} tl_unmapped_group;

TL_VEC(tl_unmapped_vec, tl_unmapped_group);

/* Adds a node; why must outlive the list. TL_NO_MEMORY (unreported). */
tl_status tl_unmapped_add(tl_unmapped_vec *list, const tl_module *m, tl_node_id n, const char *why)
    TL_NODISCARD;
/* Reports one error that lists every op with its count, reason and some nodes; TL_UNSUPPORTED. */
tl_status tl_unmapped_report(const tl_unmapped_vec *list, tl_module *m) TL_NODISCARD;

#endif
