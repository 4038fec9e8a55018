/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one order of a step's tasks that is the same for all files that hold the same step. */
#ifndef TL_PASSES_TRAIN_TIME_STEP_ORDER_H
#define TL_PASSES_TRAIN_TIME_STEP_ORDER_H

#include "passes/train/time/timeline.h"
#include "support/arena.h"

/* Orders forward and backward by the numbers of the tasks, and puts each other task behind the last
 * one that it needs. order: [n], predecessors first; it is replaced, and only its order of the
 * collectives of each stream counts and stays. Returns false if memory is out. O(tasks log tasks +
 * edges). */
bool tl_step_own_order(tl_arena *arena, const tl_task_graph *g, uint32_t *order);

#endif
