/* SPDX-License-Identifier: Apache-2.0 */
/* Records timelines of a step at each stage of the passes, for people and tools.
 * Passes add stages; the command line writes reports, traces and pages from them. Times are
 * microseconds from the start of the step. */
#ifndef TL_PASSES_TRAIN_TIME_RECORD_H
#define TL_PASSES_TRAIN_TIME_RECORD_H

#include "passes/train/time/step.h"

/* A task as it ran. */
typedef struct tl_ran_task {
  tl_sv name;
  tl_sv op;
  double start;
  double end;
  uint64_t bytes;
  uint32_t bucket; /* TL_NO_BUCKET: of none */
  uint16_t stream;
  uint8_t phase;  /* tl_phase */
  uint8_t engine; /* tl_engine */
} tl_ran_task;

/* A collective of gradients. */
typedef struct tl_ran_bucket {
  tl_sv name;
  uint64_t bytes;
  uint32_t tensors;
  double ready; /* when the last of its gradients was there */
  double start;
  double end;
  double exposed; /* of its time, while no AICORE task ran */
} tl_ran_bucket;

/* What tail optimisation did to reach a stage. */
typedef struct tl_tail_counts {
  uint32_t edges_added;
  uint32_t edges_removed;
  uint32_t edges_rejected; /* would have closed a circle */
  uint32_t hazard_edges;
  uint32_t splits; /* nodes that were taken apart, a bucket each */
} tl_tail_counts;

/* The step as it was at one stage; everything is owned by the record's arena. */
typedef struct tl_step_stage {
  const char *name; /* static: "given", "streams", "scheduled", "tail" */
  tl_step_report report;
  double bucket_free_bound; /* whatever the buckets: first gradient, all bytes at full rate, one
                               latency, the shortest update */
  tl_tail_counts tail;
  const tl_ran_task *tasks; /* [n] by stream, then start */
  uint32_t n;
  const tl_ran_bucket *buckets; /* [n_buckets] in their order */
  uint32_t n_buckets;
  const tl_sv *streams; /* [n_streams] */
  uint16_t n_streams;
} tl_step_stage;

/* A node that may run while the last bucket is reduced, or why not. */
typedef struct tl_tail_node {
  tl_sv name;
  const char *verdict; /* static: "overlaps", "data", "control", "earlier" ... */
  tl_sv because;       /* name of the node that it waits for, or empty */
} tl_tail_node;

/* given, streams, scheduled, tail */
enum { TL_MAX_STAGES = 4 };

/* All stages of one conversion. */
typedef struct tl_step_record {
  tl_arena arena;
  tl_step_stage stages[TL_MAX_STAGES];
  uint32_t n;
  const tl_tail_node *explained; /* [n_explained] */
  uint32_t n_explained;
  const char *machine; /* preset; static */
  uint32_t ranks;
  tl_sv last_bucket; /* that the explanation is about; empty: there is none */
} tl_step_record;

/* Makes an empty record; release it. */
void tl_step_record_init(tl_step_record *r);
/* Frees everything that stages hold. */
void tl_step_record_release(tl_step_record *r);
/* Drops all stages. */
void tl_step_record_clear(tl_step_record *r);

/* Adds a stage, or replaces the stage of that name, by simulating the step in the given order.
 * Everything is copied. E-SCHED-DEADLOCK, TL_NO_MEMORY; both reported. */
tl_status tl_step_record_add(tl_step_record *r, tl_module *m, const char *name, const tl_step *s,
                             const uint32_t *order, const tl_step_machine *machine) TL_NODISCARD;
/* Returns the stage of a name, NULL if there is none. */
tl_step_stage *tl_step_record_find(tl_step_record *r, const char *name);

#endif
