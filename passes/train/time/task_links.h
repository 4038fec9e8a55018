/* SPDX-License-Identifier: Apache-2.0 */
/* Computes successors and a topological order of tasks, which scheduling and bounds need. */
#ifndef TL_PASSES_TRAIN_TIME_TASK_LINKS_H
#define TL_PASSES_TRAIN_TIME_TASK_LINKS_H

#include "passes/train/time/timeline.h"

/* Owned arrays; tasks are the numbers of the task graph. */
typedef struct tl_task_links {
  uint32_t *first; /* [n + 1] where the successors of a task begin */
  uint32_t *succs;
  uint32_t *waits; /* [n] predecessors */
  uint32_t *topo;  /* [n] after tl_task_links_sort */
} tl_task_links;

/* Fills successors and counts of predecessors. Returns false if memory is out; release it in either
 * case. O(tasks + edges). */
bool tl_task_links_init(tl_task_links *l, const tl_task_graph *g);
/* Frees the arrays. */
void tl_task_links_release(tl_task_links *l);
/* Fills topo by Kahn's algorithm, first in, first out. TL_INVALID_MODEL on a cycle, unreported;
 * TL_NO_MEMORY, unreported. O(tasks + edges). */
tl_status tl_task_links_sort(tl_task_links *l, const tl_task_graph *g);

#endif
