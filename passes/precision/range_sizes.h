/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how many elements an op combines into one. */
#ifndef TL_PASSES_PRECISION_RANGE_SIZES_H
#define TL_PASSES_PRECISION_RANGE_SIZES_H

#include "ir/module.h"

/* Returns the number of elements of operand 0 that are summed into one, for reductions, norms and
 * products of range_ops.tbl; 0 if unknown or for other ops. */
double tl_range_combined(const tl_module *m, tl_node_id n);

#endif
