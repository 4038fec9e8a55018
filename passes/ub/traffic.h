/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic between kernels and global memory, estimated from shapes: a kernel reads each of its
 * operands once and writes each result that somebody uses. What kernels of several nodes do not
 * read and write again is what buffer fusion saves. Tensors without a fixed size count as nothing,
 * and so do views, which move nothing. */
#ifndef TL_PASSES_UB_TRAFFIC_H
#define TL_PASSES_UB_TRAFFIC_H

#include "ir/chip/op_info.h"
#include "ir/module.h"

/* Attributes of nodes of a group; the device compiler's own names. */
#define TL_UB_SCOPE_ATTR "fusion_scope"
#define TL_UB_PASS_ATTR "pass_name_ub"

/* The group that a node says it is in: above 0; below, the device compiler is to leave it alone; 0:
 * in none. attr: the name TL_UB_SCOPE_ATTR, 0 when the module does not have it. */
int64_t tl_ub_scope(const tl_module *m, tl_node_id n, tl_symbol attr);

/* Bytes of a value, 0 when they are not known. */
uint64_t tl_ub_bytes(const tl_module *m, tl_value_id v);
/* Bytes that a node of its own reads and writes. */
uint64_t tl_ub_node_traffic(const tl_module *m, tl_node_id n);
/* Bytes that a kernel of these nodes does not move, which as many kernels would. nodes: in the
 * order of the graph. */
uint64_t tl_ub_saved(const tl_module *m, const tl_node_id *nodes, uint32_t n);

typedef struct tl_ub_totals {
  uint32_t groups;
  uint32_t nodes;   /* in groups */
  uint64_t saved;   /* bytes */
  uint64_t traffic; /* bytes without any groups */
} tl_ub_totals;

/* Groups of a module, by their attributes, and the traffic of all of it. TL_NO_MEMORY, not
 * reported. */
tl_status tl_ub_measure(const tl_module *m, const tl_op_info_set *info,
                        tl_ub_totals *t) TL_NODISCARD;

#endif
