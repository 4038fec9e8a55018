/* SPDX-License-Identifier: Apache-2.0 */
/* One order of collectives for all ranks. */
#ifndef TL_PASSES_TRAIN_COMM_COMM_ORDER_H
#define TL_PASSES_TRAIN_COMM_COMM_ORDER_H

#include "ir/graph.h"

/* A collective of the main graph and its place among those of its group: by what depends on the
 * content of the graph alone. */
typedef struct tl_comm_place {
  tl_node_id node;
  tl_symbol group;
  double ready;   /* when it could start, in microseconds from the start of the step */
  uint64_t order; /* of those that could start at the same time */
} tl_comm_place;

/* Moves nodes so that the collectives of each group stand one behind the other by their places,
 * whatever order the file had. Data and control edges go first: where they contradict the places,
 * nothing is moved. `at` is sorted. TL_NO_MEMORY, reported. O(nodes + edges + n log n). */
tl_status tl_comm_line_up(tl_module *m, tl_comm_place *at, uint32_t n) TL_NODISCARD;

#endif
