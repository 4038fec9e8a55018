/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that come from a training step and are none. */
#ifndef TL_PASSES_TRAIN_STEP_NO_STEP_H
#define TL_PASSES_TRAIN_STEP_NO_STEP_H

#include "ir/graph.h"

/* Do the graphs of several ranks stand side by side (pass verify-ranks)? Their collectives are
 * arithmetic then, and passes of training graphs are done. */
bool tl_comm_is_of_ranks(const tl_module *m);
/* Is it the graph of initial values (pass init-graph): broadcasts of states and nothing else?
 * O(nodes), and for a step it ends at the first node. */
bool tl_comm_is_init_graph(const tl_module *m);
/* Is it one or the other, and no step for passes of training graphs? */
bool tl_comm_is_no_step(const tl_module *m);

#endif
