/* SPDX-License-Identifier: Apache-2.0 */
/* What tools ask about the graph of initial values (pass init-graph). */
#ifndef TL_PASSES_TRAIN_COMM_INIT_GRAPH_H
#define TL_PASSES_TRAIN_COMM_INIT_GRAPH_H

#include "ir/module.h"
#include "ir/options/train_config.h"

/* Number of states of one rank that the graph of initial values of this step would broadcast: the
 * parameters, with broadcast_states all. O(states). */
uint32_t tl_init_graph_states(const tl_module *m, const tl_train_config *c);

#endif
