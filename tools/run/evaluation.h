/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what run and verify share: options of the evaluator, models ready to be evaluated, lists of
 * values. */
#ifndef TL_TOOLS_RUN_EVALUATION_H
#define TL_TOOLS_RUN_EVALUATION_H

#include "ir/eval/eval.h"
#include "tools/cli/cli.h"

TL_VEC(tl_host_vec, tl_host *);

/* State of evaluating models for one command. */
typedef struct tl_evaluation {
  tl_cli *cli;
  tl_module *store; /* owned; keeps files and text of values that were read */
  tl_pool *pool;    /* owned */
  tl_host_heap heap;
  tl_eval_options options;
  bool part; /* of work that says itself what it does */
  /* Sees each model that is loaded while it still has tl:: and npu:: ops; NULL: nobody. */
  tl_status (*loaded)(void *user, tl_module *m);
  void *loaded_user;
  /* Sizes of dims that nobody gives, of random inputs: of symbols that are the first dim of some
   * input, and of the others. 0: 1 */
  int64_t assumed_first;
  int64_t assumed_other;
} tl_evaluation;

/* Reads the options. What was made until a failure is released by tl_evaluation_release. */
tl_status tl_evaluation_init(tl_evaluation *e, tl_cli *cli) TL_NODISCARD;
/* Releases the heap, the pool and the store; values that view them must be released before. */
void tl_evaluation_release(tl_evaluation *e);

/* Loads a model, infers its types, which kernels rely on, and replaces tl:: and npu:: ops by what
 * they mean. */
tl_status tl_evaluation_load(tl_evaluation *e, const char *path, tl_module **out) TL_NODISCARD;
/* Loads a second model likewise. Options that name inputs apply to those that it has: it may have
 * been made with the same options, and lack some. */
tl_status tl_evaluation_load_other(tl_evaluation *e, const char *path,
                                   tl_module **out) TL_NODISCARD;
/* Loads a model like tl_evaluation_load, but runs the passes of AIR output first, so that its NPU
 * form is evaluated. */
tl_status tl_evaluation_load_npu(tl_evaluation *e, const char *path, tl_module **out) TL_NODISCARD;
/* Evaluates the main graph. inputs: one for each graph input, NULL for its default. Pushes the
 * outputs, which may view the module: the caller releases them before it destroys the module. */
tl_status tl_evaluation_run(tl_evaluation *e, tl_module *m, const tl_host_vec *inputs,
                            tl_host_vec *outputs) TL_NODISCARD;

/* Adds a value, which may be NULL, to a list that then owns it, too. False: no memory. */
bool tl_values_keep(tl_host_vec *values, tl_host *value) TL_NODISCARD;
/* Releases the values and the list. */
void tl_values_release(tl_host_vec *v);

#endif
