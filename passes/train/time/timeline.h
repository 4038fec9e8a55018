/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates a step on the machine: tasks on in-order streams that compete for engines.
 * Times are microseconds from the start of the step. */
#ifndef TL_PASSES_TRAIN_TIME_TIMELINE_H
#define TL_PASSES_TRAIN_TIME_TIMELINE_H

#include "passes/train/time/task_graph.h"
#include "support/diag.h"

/* Result of a simulation. */
typedef struct tl_timeline {
  double *start; /* [n], owned */
  double *end;   /* [n], owned */
} tl_timeline;

/* Simulates the tasks; each stream takes its tasks in the order of `order` ([n], a permutation). If
 * several tasks could start at the same time, the one on the lower stream starts. E-SCHED-DEADLOCK,
 * which names tasks that wait for each other, if the streams block each other; TL_NO_MEMORY; both
 * reported. */
tl_status tl_timeline_run(tl_diag *d, const tl_task_graph *g, const uint32_t *order,
                          tl_timeline *out) TL_NODISCARD;
/* Frees the times. */
void tl_timeline_release(tl_timeline *t);
/* Returns when the last task ends. */
double tl_timeline_step(const tl_task_graph *g, const tl_timeline *t);

/* Finds an order by list scheduling. Whenever an engine is free, it takes, of the tasks that can
 * start, first one that a collective waits for, then the one with the longest path to the end of
 * the step; with a memory limit, a task that fits is preferred. Collectives keep the order they
 * have in `order`, which is replaced. The result depends on the numbers of the tasks and not on
 * `order`, unless `order` beats all others: the step never gets longer. The search stops when an
 * order reaches a lower bound: the longest path, or all work on the AICORE. *step (may be NULL):
 * when the last task ends. E-SCHED-DEADLOCK, TL_NO_MEMORY; both reported. O(n log n + edges). */
tl_status tl_timeline_schedule(tl_diag *d, const tl_task_graph *g, uint32_t *order,
                               double *step) TL_NODISCARD;

/* Figures of a timeline, in microseconds unless a ratio. */
typedef struct tl_step_report {
  double step;
  double compute_busy; /* AICORE */
  double comm_busy;
  double exposed_comm;  /* a collective runs and no AICORE task does */
  double overlap;       /* 1 - exposed / busy; NAN without collectives */
  double tail;          /* from the end of the last backward task to the end of the step */
  double critical_path; /* bound: unlimited streams and engines */
  double total_compute; /* bound: all AICORE work */
  double last_comm;  /* bound: collectives one after the other, then the work that needs the last */
  double bound;      /* the largest of the three */
  double efficiency; /* bound / step, at most 1 */
} tl_step_report;

/* Computes the figures of a timeline. TL_NO_MEMORY, unreported. */
tl_status tl_timeline_report(const tl_task_graph *g, const uint32_t *order, const tl_timeline *t,
                             tl_step_report *out) TL_NODISCARD;

#endif
