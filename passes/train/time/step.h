/* SPDX-License-Identifier: Apache-2.0 */
/* Represents the step as tasks: one per node of the step's graph, with its stream and engine.
 * Streams are M (main), C:GROUP for the collectives of each group, and U (updates). U holds what
 * depends on reduced gradients, so that backward never waits for them. */
#ifndef TL_PASSES_TRAIN_TIME_STEP_H
#define TL_PASSES_TRAIN_TIME_STEP_H

#include "passes/train/step/info.h"
#include "passes/train/time/cost.h"

/* The machine and the options under which a step is built. */
typedef struct tl_step_machine {
  const tl_costs *cost;
  bool hcom_parallel;            /* is there a stream U? */
  uint16_t degree[TL_N_ENGINES]; /* tasks that an engine takes at a time; 0: 1 */
  uint64_t memory_limit;         /* bytes, 0: none */
  const bool *retired;           /* by node id: left out of the step; NULL: none */
} tl_step_machine;

/* No task of the step. */
#define TL_NO_TASK UINT32_MAX

/* A step as tasks. Tasks are numbered by depth in the graph, then by name: neither the order of
 * nodes in a file nor anything of a rank decides a tie. */
typedef struct tl_step {
  tl_task_graph g;
  tl_task *tasks;         /* [g.n] those of g */
  const tl_node_id *node; /* [n] of a task */
  const uint32_t *task;   /* by node id; TL_NO_TASK: not of the step */
  uint32_t *given;        /* [n] tasks in the order of the nodes, if a pass chose that; else in one
                             that the content of the graph tells (step_order.h) */
  const tl_sv *streams;   /* [g.n_streams] */
  const bool *checks;     /* by node id: serves predicates alone; of collectives: a flag */
  uint32_t n_buckets;
} tl_step;

/* Builds the tasks of the step; regions come from `info`. Everything of *out lives in `arena`,
 * names view the module's symbols. TL_NO_MEMORY, reported. O(nodes log nodes + edges). */
tl_status tl_step_build(tl_module *m, tl_arena *arena, const tl_train_info *info,
                        const tl_step_machine *machine, tl_step *out) TL_NODISCARD;

/* Reads the order of the nodes and numbers buckets by it, for a step whose nodes were moved after
 * it was built. TL_NO_MEMORY, reported. */
tl_status tl_step_read_order(tl_module *m, tl_arena *arena, tl_step *s) TL_NODISCARD;

/* Moves the nodes into the order of their tasks, and notes in the module that this order was
 * chosen. */
void tl_step_reorder(tl_module *m, const tl_step *s, const uint32_t *order);
/* Returns the node of the step's graph that n is, or that owns the bodies around n. */
tl_node_id tl_node_outer(const tl_module *m, tl_node_id n);
/* Returns true for a collective of gradients: its attribute `fusion` is not 0. */
bool tl_node_is_bucket(const tl_module *m, tl_node_id n);
/* Returns the attribute of a node by name, NULL if it is not set. O(attributes). */
const tl_attr *tl_node_attr_named(const tl_module *m, tl_node_id n, const char *name);

#endif
