/* SPDX-License-Identifier: Apache-2.0 */
/* One order of a step's tasks for all files that hold the same step. */
#ifndef TL_PASSES_TRAIN_TIME_STEP_ORDER_H
#define TL_PASSES_TRAIN_TIME_STEP_ORDER_H

#include "passes/train/time/timeline.h"
#include "support/arena.h"

/* Forward and backward by the numbers of the tasks; each of the others behind the last of those
 * that it needs. Of `order`, which is given ([n], with predecessors first) and replaced, only the
 * order of the collectives of each stream counts, and stays. False when memory is out.
 * O(tasks log tasks + edges). */
bool tl_step_own_order(tl_arena *arena, const tl_task_graph *g, uint32_t *order);

#endif
