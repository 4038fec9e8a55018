/* SPDX-License-Identifier: Apache-2.0 */
/* A step as the simulation sees it: tasks, what each waits for, and the engines of the machine.
 * Times are in microseconds. */
#ifndef TL_PASSES_TRAIN_TIME_TASK_GRAPH_H
#define TL_PASSES_TRAIN_TIME_TASK_GRAPH_H

#include <stdbool.h>

#include "support/str.h"

typedef enum tl_engine {
  TL_ENGINE_AICORE,
  TL_ENGINE_AICPU,
  TL_ENGINE_LINK0, /* within a server */
  TL_ENGINE_LINK1, /* between servers */
  TL_ENGINE_HOST,
  TL_N_ENGINES
} tl_engine;

typedef enum tl_phase {
  TL_PHASE_FORWARD,
  TL_PHASE_BACKWARD,
  TL_PHASE_COMM,
  TL_PHASE_UPDATE,
  TL_PHASE_CHECK, /* of overflow */
  TL_N_PHASES
} tl_phase;

/* Bucket of a task that reduces no gradient. */
#define TL_NO_BUCKET UINT32_MAX

/* A node of the step, as the simulation sees it. */
typedef struct tl_task {
  tl_sv name;
  double us;
  uint64_t bytes;  /* COMM: of the collective */
  uint64_t memory; /* bytes of its results, which live until the last task that waits for it */
  uint32_t bucket; /* COMM: number of the bucket, else TL_NO_BUCKET */
  uint16_t stream;
  uint8_t engine; /* tl_engine */
  uint8_t phase;  /* tl_phase */
} tl_task;

/* Tasks and what each waits for. Borrowed. */
typedef struct tl_task_graph {
  const tl_task *tasks; /* [n] */
  uint32_t n;
  const uint32_t *first; /* [n + 1] where the predecessors of a task begin */
  const uint32_t *preds;
  uint16_t n_streams;
  uint16_t degree[TL_N_ENGINES]; /* tasks that an engine takes at a time; 0: 1 */
  double interference; /* by which AICORE tasks are slower while a collective runs; below 1: not */
  double event_us;     /* between a task and one on another stream that waits for it */
  uint64_t memory_limit; /* bytes that should be alive at a time; 0: no bound */
} tl_task_graph;

#endif
