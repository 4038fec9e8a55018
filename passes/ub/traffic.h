/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates traffic between kernels and global memory from shapes.
 * A kernel reads each of its operands once and writes each result that somebody uses. What kernels
 * of several nodes need not read and write again is what buffer fusion saves. Tensors without a
 * fixed size count 0 bytes, and so do views, which move nothing. */
#ifndef TL_PASSES_UB_TRAFFIC_H
#define TL_PASSES_UB_TRAFFIC_H

#include "ir/chip/op_info.h"
#include "ir/module.h"

/* Attributes of nodes of a group; the device compiler's own names. */
#define TL_UB_SCOPE_ATTR "fusion_scope"
#define TL_UB_PASS_ATTR "pass_name_ub"

/* Returns the group that a node names in its attribute: above 0 a group; below 0 the device
 * compiler must leave it alone; 0: none. attr: symbol of TL_UB_SCOPE_ATTR, 0 if the module does not
 * have it. */
int64_t tl_ub_scope(const tl_module *m, tl_node_id n, tl_symbol attr);

/* Returns the bytes of a value, 0 if they are unknown. */
uint64_t tl_ub_bytes(const tl_module *m, tl_value_id v);
/* Returns the bytes that a node reads and writes as a kernel of its own. */
uint64_t tl_ub_node_traffic(const tl_module *m, tl_node_id n);
/* Returns the bytes that one kernel of these nodes saves compared with one kernel each. nodes: in
 * the order of the graph. O(n * n * operands). */
uint64_t tl_ub_saved(const tl_module *m, const tl_node_id *nodes, uint32_t n);

/* Sums over a module. */
typedef struct tl_ub_totals {
  uint32_t groups;
  uint32_t nodes;   /* in groups */
  uint64_t saved;   /* bytes */
  uint64_t traffic; /* bytes without any groups */
} tl_ub_totals;

/* Measures the groups of a module, by their attributes, and the traffic of all of it. TL_NO_MEMORY,
 * unreported. */
tl_status tl_ub_measure(const tl_module *m, const tl_op_info_set *info,
                        tl_ub_totals *t) TL_NODISCARD;

#endif
