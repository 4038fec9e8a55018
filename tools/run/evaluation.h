/* SPDX-License-Identifier: Apache-2.0 */
/* What run and verify share: options of the evaluator, models ready to be evaluated, lists of
 * values. */
#ifndef TL_TOOLS_RUN_EVALUATION_H
#define TL_TOOLS_RUN_EVALUATION_H

#include "ir/eval/eval.h"
#include "tools/cli/cli.h"

TL_VEC(tl_host_vec, tl_host *);

typedef struct tl_evaluation {
  tl_cli *cli;
  tl_module *store; /* owned; keeps files and text of values that were read */
  tl_pool *pool;    /* owned */
  tl_host_heap heap;
  tl_eval_options options;
} tl_evaluation;

/* Reads the options. What was made until a failure is released by tl_evaluation_release. */
tl_status tl_evaluation_init(tl_evaluation *e, tl_cli *cli) TL_NODISCARD;
void tl_evaluation_release(tl_evaluation *e);

/* Loads a model, infers its types, which kernels rely on, and replaces tl:: and npu:: ops by what
 * they mean. */
tl_status tl_evaluation_load(tl_evaluation *e, const char *path, tl_module **out) TL_NODISCARD;
/* The same, of the model's NPU form: it goes through the passes of AIR output first. */
tl_status tl_evaluation_load_npu(tl_evaluation *e, const char *path, tl_module **out) TL_NODISCARD;
/* Evaluates the main graph. inputs: one a graph input, NULL for its default. Pushes the outputs,
 * which may view the module: release them first. */
tl_status tl_evaluation_run(tl_evaluation *e, tl_module *m, const tl_host_vec *inputs,
                            tl_host_vec *outputs) TL_NODISCARD;

/* Releases the values and the list. */
void tl_values_release(tl_host_vec *v);

#endif
