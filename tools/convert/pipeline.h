/* SPDX-License-Identifier: Apache-2.0 */
/* Running passes from a command: options to pipeline, hooks that print, remarks. */
#ifndef TL_TOOLS_CONVERT_PIPELINE_H
#define TL_TOOLS_CONVERT_PIPELINE_H

#include "tools/cli/cli.h"

/* Runs the pipeline of the stage as the options ask for it. */
tl_status tl_cli_run(tl_cli *cli, tl_module *m, tl_stage stage,
                     tl_pipeline_report *report) TL_NODISCARD;
/* The rest of the way to NPU form, behind a canonical stage. */
tl_status tl_cli_run_npu(tl_cli *cli, tl_module *m, tl_pipeline_report *report) TL_NODISCARD;

/* Kind of the pipeline to canonical outputs: TL_STAGE_ONNX under a precision mode. */
tl_stage tl_cli_canonical_stage(const tl_cli *cli);

#endif
