/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a gradient is reduced over ranks if a step accumulates gradients over several
 * batches. */
#ifndef TL_PASSES_TRAIN_STEP_REDUCE_SITE_H
#define TL_PASSES_TRAIN_STEP_REDUCE_SITE_H

#include "ir/options/train_config.h"
#include "passes/train/step/info.h"

/* Returns what a node makes of v if it adds v to the sum of earlier batches: the buffer of an
 * accumulator of ONNX Runtime, or the sum of v and a state. TL_NO_VALUE if the node does not
 * accumulate v, or gives no buffer. */
tl_value_id tl_accumulated(const tl_module *m, tl_node_id n, tl_value_id v);

/* The same, but returns the first result of a node that does not accumulate v. */
tl_value_id tl_accumulated_or_first(const tl_module *m, tl_node_id n, tl_value_id v);

/* Result of tl_reduce_site_of. */
typedef struct tl_reduce_site {
  tl_value_id value; /* what is added up over ranks; TL_NO_VALUE: nothing, or not in this graph */
  tl_value_id kept;  /* BOUNDARY: the next value of the buffer, which stays this rank's own */
  bool found;        /* false: nothing accumulates this gradient */
} tl_reduce_site;

/* Returns the site of a gradient, other than the gradient itself. Between the gradient and the
 * accumulator there may be nodes that commute with sums: scalar factors, casts to wider types,
 * reshapes. */
tl_reduce_site tl_reduce_site_of(const tl_module *m, const tl_train_grad *g, tl_ar_site site);

/* Returns true if all that node n leads to is `kept`, an output of the graph. Returns false as well
 * when *budget, the number of nodes still to be visited, is used up. */
bool tl_leads_only_to(const tl_module *m, tl_node_id n, tl_value_id kept, int *budget);

#endif
