/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the collectives of each group in one order, the same on all ranks. */
#ifndef TL_PASSES_TRAIN_COMM_COMM_ORDER_H
#define TL_PASSES_TRAIN_COMM_COMM_ORDER_H

#include "ir/graph.h"

/* A collective of the main graph and its place among those of its group. The place depends on the
 * content of the graph alone, so that all ranks find the same. */
typedef struct tl_comm_place {
  tl_node_id node;
  tl_symbol group;
  double ready;   /* when it could start, in microseconds from the start of the step */
  uint64_t order; /* of those that could start at the same time */
} tl_comm_place;

/* Moves nodes so that the collectives of each group stand in the order of their places, whatever
 * order the file had. Data and control edges have priority: if they contradict the places, nothing
 * is moved. Sorts `at`. TL_NO_MEMORY, reported. O(nodes + edges + n log n). */
tl_status tl_comm_line_up(tl_module *m, tl_comm_place *at, uint32_t n) TL_NODISCARD;

#endif
