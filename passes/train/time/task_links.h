/* SPDX-License-Identifier: Apache-2.0 */
/* Successors and a topological order of tasks: what scheduling and bounds are computed from. */
#ifndef TL_PASSES_TRAIN_TIME_TASK_LINKS_H
#define TL_PASSES_TRAIN_TIME_TASK_LINKS_H

#include "passes/train/time/timeline.h"

typedef struct tl_task_links {
  uint32_t *first; /* [n + 1] where the successors of a task begin */
  uint32_t *succs;
  uint32_t *waits; /* [n] predecessors */
  uint32_t *topo;  /* [n] after tl_task_links_sort */
} tl_task_links;

/* False when memory is out. Release it in either case. O(tasks + edges). */
bool tl_task_links_init(tl_task_links *l, const tl_task_graph *g);
void tl_task_links_release(tl_task_links *l);
/* Fills topo: of tasks that could follow, the one that could so first. TL_INVALID_MODEL on a
 * cycle, which is not reported, or TL_NO_MEMORY. */
tl_status tl_task_links_sort(tl_task_links *l, const tl_task_graph *g);

#endif
