/* SPDX-License-Identifier: Apache-2.0 */
/* How many elements an op combines into one. */
#ifndef TL_PASSES_PRECISION_RANGE_SIZES_H
#define TL_PASSES_PRECISION_RANGE_SIZES_H

#include "ir/module.h"

/* Elements of operand 0 that are added up to one, for reductions, norms and products of
 * range_ops.tbl; 0: not known, or the op is none. */
double tl_range_combined(const tl_module *m, tl_node_id n);

#endif
