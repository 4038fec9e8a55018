/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about the graph of initial values (pass init-graph). */
#ifndef TL_PASSES_TRAIN_COMM_INIT_GRAPH_H
#define TL_PASSES_TRAIN_COMM_INIT_GRAPH_H

#include "ir/module.h"
#include "ir/options/train_config.h"

/* Returns the number of states of one rank that the graph of initial values would broadcast: the
 * parameters, or all states with broadcast_states. O(states). */
uint32_t tl_init_graph_states(const tl_module *m, const tl_train_config *c);

#endif
