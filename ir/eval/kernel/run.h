/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the evaluator: walks a graph in order, hands operands to kernels, lets values die
 * after their last use. It is given the table of kernels, which knows every family (ir/eval). */
#ifndef TL_IR_EVAL_KERNEL_RUN_H
#define TL_IR_EVAL_KERNEL_RUN_H

#include "ir/host.h"
#include "support/pool.h"

/* Sees every value right after its node ran (and every input of the main graph before the first);
 * a status other than OK stops the run. Bodies: called at each iteration. */
typedef tl_status (*tl_eval_watch)(void *user, const tl_module *m, tl_value_id v,
                                   const tl_host *value);

typedef struct tl_eval_options {
  bool exact;
  tl_dtype emulate;    /* F16 or BF16: every f32 and f64 value is rounded to that type when it is
                          made; NONE: no */
  tl_pool *pool;       /* NULL: one thread */
  const volatile int *cancel; /* non-zero stops the run with TL_IO; NULL: never */
  uint64_t seed;       /* of random ops without a seed of their own */
  tl_eval_watch watch; /* NULL: nobody */
  void *watch_user;
} tl_eval_options;

typedef struct tl_eval tl_eval; /* what a kernel sees (kernel.h) */
/* Kernel: computes the results of one node. */
typedef tl_status (*tl_eval_fn)(tl_eval *x);

/* By op id, TL_N_OPS of them, generated from the op table. */
typedef struct tl_eval_row {
  tl_eval_fn fn; /* NULL: the evaluator cannot run the op */
  int64_t arg;   /* fixed argument of the kernel, 0 if none */
  bool wide;     /* narrow floats reach the kernel as f32 */
} tl_eval_row;

/* What is run, and with what. */
typedef struct tl_eval_job {
  const tl_eval_row *kernels;
  tl_module *m;
  const tl_eval_options *o;
  tl_host_heap *heap;
} tl_eval_job;

/* Row of an op; NULL when it has no kernel. */
const tl_eval_row *tl_eval_row_of(const tl_eval_row *kernels, tl_op_id op);

/* tl_eval_graph and tl_eval_one (ir/eval/eval.h), of a job. */
tl_status tl_eval_run_graph(const tl_eval_job *job, tl_graph_id g, tl_host *const *inputs,
                            tl_host **outputs) TL_NODISCARD;
tl_status tl_eval_run_one(const tl_eval_job *job, tl_node_id n, tl_host *const *operands,
                          tl_host **results) TL_NODISCARD;

#endif
