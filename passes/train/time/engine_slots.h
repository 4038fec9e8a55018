/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps when engines are free again; each takes as many tasks at a time as it has slots. */
#ifndef TL_PASSES_TRAIN_TIME_ENGINE_SLOTS_H
#define TL_PASSES_TRAIN_TIME_ENGINE_SLOTS_H

#include "passes/train/time/task_graph.h"

/* Slots of all engines in one array. */
typedef struct tl_engine_slots {
  double *at;                        /* owned; when each slot is free */
  uint32_t first[TL_N_ENGINES + 1u]; /* where the slots of an engine begin */
} tl_engine_slots;

/* Makes all slots free at time 0. Returns false if memory is out; release it in any case. */
bool tl_engine_slots_init(tl_engine_slots *s, const tl_task_graph *g);
/* Frees the slots. */
void tl_engine_slots_release(tl_engine_slots *s);
/* Returns the slot of an engine that is free first; of equal ones the first. O(slots of the
 * engine). */
double *tl_engine_slot(const tl_engine_slots *s, unsigned engine);
/* Returns the number of tasks that an engine takes at a time, at least 1. */
static inline uint32_t tl_engine_degree(const tl_task_graph *g, unsigned engine) {
  return g->degree[engine] ? g->degree[engine] : 1;
}

#endif
