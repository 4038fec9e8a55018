/* SPDX-License-Identifier: Apache-2.0 */
/* Where a gradient is added up over ranks, if steps add gradients up over batches first. */
#ifndef TL_PASSES_TRAIN_STEP_REDUCE_SITE_H
#define TL_PASSES_TRAIN_STEP_REDUCE_SITE_H

#include "ir/options/train_config.h"
#include "passes/train/step/info.h"

/* What a node that adds v to what earlier batches gave makes of it: the buffer of an accumulator of
 * ONNX Runtime, or the sum of v and a state. TL_NO_VALUE: it does no such thing, or nobody sees the
 * buffer. */
tl_value_id tl_accumulated(const tl_module *m, tl_node_id n, tl_value_id v);

/* The same, or the first result of a node that does no such thing. */
tl_value_id tl_accumulated_or_first(const tl_module *m, tl_node_id n, tl_value_id v);

typedef struct tl_reduce_site {
  tl_value_id value; /* what is added up over ranks; TL_NO_VALUE: nothing, or not in this graph */
  tl_value_id kept;  /* BOUNDARY: the next value of the buffer, which stays this rank's own */
  bool found;        /* false: nothing accumulates this gradient */
} tl_reduce_site;

/* The site of a gradient, other than the gradient itself. Between it and the accumulator there may
 * be what commutes with sums: scalar factors, casts to wider types, reshapes. */
tl_reduce_site tl_reduce_site_of(const tl_module *m, const tl_train_grad *g, tl_ar_site site);

/* Is `kept`, an output of the graph, all that comes of node n? False, too, when the budget of nodes
 * is used up. */
bool tl_leads_only_to(const tl_module *m, tl_node_id n, tl_value_id kept, int *budget);

#endif
