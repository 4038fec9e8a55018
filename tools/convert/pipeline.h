/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes for a command: options to pipeline, hooks that print, remarks. */
#ifndef TL_TOOLS_CONVERT_PIPELINE_H
#define TL_TOOLS_CONVERT_PIPELINE_H

#include "tools/cli/cli.h"

/* Runs the pipeline of the stage as the options ask for it. */
tl_status tl_cli_run(tl_cli *cli, tl_module *m, tl_stage stage,
                     tl_pipeline_report *report) TL_NODISCARD;
/* The same with one more hook, which is called behind that of the command; its status other than
 * TL_OK ends the pipeline. */
tl_status tl_cli_run_observed(tl_cli *cli, tl_module *m, tl_stage stage, tl_pass_hook hook,
                              void *user) TL_NODISCARD;
/* Runs the rest of the way to NPU form, behind a canonical stage. */
tl_status tl_cli_run_npu(tl_cli *cli, tl_module *m, tl_pipeline_report *report) TL_NODISCARD;

/* Returns the stage that makes canonical outputs: TL_STAGE_ONNX under a precision mode, else
 * TL_STAGE_ALL. */
tl_stage tl_cli_canonical_stage(const tl_cli *cli);

#endif
