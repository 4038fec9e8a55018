/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the growth (growth.h) of all values of a module, node by node. */
#ifndef TL_PASSES_PRECISION_RANGE_GROWTH_H
#define TL_PASSES_PRECISION_RANGE_GROWTH_H

#include "ir/module.h"
#include "passes/precision/growth.h"

/* Growth of all values; m, values and data_max are set by the caller. */
typedef struct tl_range_growth {
  const tl_module *m;
  const tl_interval *values; /* by value id; of constants: only of those already read */
  double data_max;
  tl_growth *growth; /* by value id */
  tl_value_id *root; /* by value id: the value it equals apart from a factor, a sign and the order
                      * of elements */
} tl_range_growth;

/* Allocates the tables; every value starts with plain growth and as its own root. TL_NO_MEMORY, not
 * reported. */
tl_status tl_range_growth_start(tl_range_growth *g, tl_arena *arena) TL_NODISCARD;
/* Returns the growth of the results of a node whose operands are known, and sets their roots.
 * elements: number combined into one. The interval of the result is not considered yet. */
tl_growth tl_range_growth_of(tl_range_growth *g, tl_node_id n, double elements);
/* Returns true if the node multiplies a value by itself, directly or up to a factor or order. */
bool tl_range_multiplies_itself(const tl_range_growth *g, tl_node_id n);

#endif
