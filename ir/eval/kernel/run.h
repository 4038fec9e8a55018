/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the evaluator: walks a graph in order, hands operands to kernels, and releases each
 * value after its last use. The table of kernels is an argument, so that the driver need not know
 * the families of kernels (ir/eval has that table). */
#ifndef TL_IR_EVAL_KERNEL_RUN_H
#define TL_IR_EVAL_KERNEL_RUN_H

#include "ir/eval/kernel/row.h"
#include "ir/host.h"
#include "support/pool.h"

/* Sees every value right after its node ran, and every input of the main graph before the first
 * node. A status other than TL_OK stops the run. Inside a body it is called at each iteration. The
 * value is borrowed. */
typedef tl_status (*tl_eval_watch)(void *user, const tl_module *m, tl_value_id v,
                                   const tl_host *value);
/* Puts another value in the place of a result, after it was watched: those who use it get the
 * other. *value is an owned reference, which the function may release and replace by one of the
 * same dtype and shape. A status other than TL_OK stops the run. */
typedef tl_status (*tl_eval_replace)(void *user, const tl_module *m, tl_value_id v,
                                     tl_host **value);

/* Gives the results of a node of the root graph that are known from elsewhere, so that its kernel
 * need not run: fills results[0..n_results) with owned references and returns true. False: the
 * kernel runs. */
typedef bool (*tl_eval_known)(void *user, const tl_module *m, tl_node_id n, tl_host **results);

/* How often the bodies of a run may run in all, unless options say otherwise: seconds of work. A
 * loop whose condition never becomes false ends with an error. */
#define TL_EVAL_TRIPS UINT64_C(10000000)

typedef struct tl_eval_options {
  bool exact;
  tl_dtype emulate; /* F16 or BF16: every f32 and f64 value is rounded to that type when it is
                          made; NONE: no */
  tl_pool *pool;    /* NULL: one thread */
  const volatile int *cancel; /* non-zero stops the run with TL_IO; NULL: never */
  uint64_t seed;              /* of random ops without a seed of their own */
  uint64_t max_trips;         /* bodies (of loops, mostly) run at most as often; 0: TL_EVAL_TRIPS */
  tl_eval_watch watch;        /* NULL: nobody */
  tl_eval_replace replace;    /* of results of nodes, with watch_user; NULL: none is replaced */
  tl_eval_known known; /* results that need not be computed, with watch_user; NULL: all are */
  void *watch_user;
  _Atomic uint32_t *done; /* counts the nodes of the root graph that ran, for another thread; NULL:
                             nobody reads it */
} tl_eval_options;

/* What to run and with what; all pointers are borrowed. */
typedef struct tl_eval_job {
  const tl_eval_row *kernels;
  tl_module *m;
  const tl_eval_options *o;
  tl_host_heap *heap;
} tl_eval_job;

/* Returns the row of an op, NULL when it has no kernel. */
const tl_eval_row *tl_eval_row_of(const tl_eval_row *kernels, tl_op_id op);

/* Runs a root graph of the job; as tl_eval_graph (ir/eval/eval.h). */
tl_status tl_eval_run_graph(const tl_eval_job *job, tl_graph_id g, tl_host *const *inputs,
                            tl_host **outputs) TL_NODISCARD;
/* Runs one node of the job; as tl_eval_one (ir/eval/eval.h). */
tl_status tl_eval_run_one(const tl_eval_job *job, tl_node_id n, tl_host *const *operands,
                          tl_host **results) TL_NODISCARD;

#endif
