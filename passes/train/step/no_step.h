/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises graphs that come from a training step and are no step themselves. */
#ifndef TL_PASSES_TRAIN_STEP_NO_STEP_H
#define TL_PASSES_TRAIN_STEP_NO_STEP_H

#include "ir/graph.h"

/* Returns true if the graphs of several ranks stand side by side (pass verify-ranks). Their
 * collectives are arithmetic by then, and the passes of training graphs have run. */
bool tl_comm_is_of_ranks(const tl_module *m);
/* Returns true for the graph of initial values (pass init-graph): broadcasts of states and casts
 * only. O(nodes), but it ends at the first other node. */
bool tl_comm_is_init_graph(const tl_module *m);
/* Returns true for either of the two: passes of training graphs leave such a module alone. */
bool tl_comm_is_no_step(const tl_module *m);

#endif
