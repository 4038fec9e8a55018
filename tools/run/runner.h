/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a model to another runtime: CMD MODEL INPUTS OUTPUTS, see docs/evaluator.md. */
#ifndef TL_TOOLS_RUN_RUNNER_H
#define TL_TOOLS_RUN_RUNNER_H

#include "tools/run/evaluation.h"

/* Runs --runner on a model file. Textual IR is written as ONNX first. Pushes the outputs, one a
 * graph output. Everything it writes is in a new folder below the system's for temporary files,
 * which is removed. */
tl_status tl_runner_run(tl_evaluation *e, const char *path, tl_module *m, const tl_host_vec *inputs,
                        tl_host_vec *outputs) TL_NODISCARD;

/* Sees values as tl_eval_options.watch does. */
typedef struct tl_runner_watch {
  tl_eval_watch fn;
  void *user;
} tl_runner_watch;
/* As tl_runner_run, but the runtime gives all tensors that nodes of the main graph make and whose
 * dtypes are known: the model is written with them as further outputs. */
tl_status tl_runner_tensors(tl_evaluation *e, tl_module *m, const tl_host_vec *inputs,
                            tl_host_vec *outputs, const tl_runner_watch *watch) TL_NODISCARD;

#endif
