/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of the values of a module, node by node: growth.h for what it means. */
#ifndef TL_PASSES_PRECISION_RANGE_GROWTH_H
#define TL_PASSES_PRECISION_RANGE_GROWTH_H

#include "ir/module.h"
#include "passes/precision/growth.h"

typedef struct tl_range_growth {
  const tl_module *m;
  const tl_interval *values; /* by value id; those of constants that were read */
  double data_max;
  tl_growth *growth; /* by value id */
  tl_value_id *root; /* by value id: what it is but for a factor, a sign and its order */
} tl_range_growth;

/* TL_NO_MEMORY is not reported. */
tl_status tl_range_growth_start(tl_range_growth *g, tl_arena *arena) TL_NODISCARD;
/* Growth of the results of a node whose operands are known; sets root. elements: combined into one.
 * The interval of the result is not yet looked at. */
tl_growth tl_range_growth_of(tl_range_growth *g, tl_node_id n, double elements);
/* Does the node multiply a value by itself, in whatever form? */
bool tl_range_multiplies_itself(const tl_range_growth *g, tl_node_id n);

#endif
