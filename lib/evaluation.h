/* SPDX-License-Identifier: Apache-2.0 */
/* One model in the evaluator: what runs and comparisons share. */
#ifndef TL_LIB_EVALUATION_H
#define TL_LIB_EVALUATION_H

#include "ir/eval/eval.h"
#include "lib/handle.h"

/* A model that is run once. Zero-initialise; tl_lib_run_release releases it in any case. */
typedef struct tl_lib_run {
  tl_context *context;
  tl_module *module; /* owned; a fork in which kernels know all ops */
  tl_host_heap heap;
  bool has_heap;
  tl_host **inputs; /* owned; [n_inputs] */
  uint32_t n_inputs;
  tl_host **outputs; /* owned; [n_outputs] */
  uint32_t n_outputs;
} tl_lib_run;

/* Makes the module that is run. Reports what passes report. */
tl_status tl_lib_run_begin(tl_lib_run *r, tl_model *m) TL_NODISCARD;
/* Takes values for inputs by their names; random ones for others if settings ask for it. The bytes
 * are borrowed. TL_INVALID_ARGUMENT for a name or a type that does not fit. */
tl_status tl_lib_run_take(tl_lib_run *r, const tl_tensor_view *inputs, uint32_t n,
                          const tl_run_settings *settings) TL_NODISCARD;
/* Runs it. */
tl_status tl_lib_run_go(tl_lib_run *r, const tl_run_settings *settings) TL_NODISCARD;
void tl_lib_run_release(tl_lib_run *r);

#endif
