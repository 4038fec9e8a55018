/* SPDX-License-Identifier: Apache-2.0 */
/* Running passes from a command: options to pipeline, hooks that print, remarks. */
#ifndef TL_TOOLS_PIPELINE_H
#define TL_TOOLS_PIPELINE_H

#include "passes/manager.h"
#include "tools/cli.h"

/* Runs what the options ask for up to `stage`; with `only_npu` just the passes that the stage adds
 * to the canonical ones, which ran before. */
tl_status tl_cli_run_passes(tl_cli *cli, tl_module *m, tl_stage stage, bool only_npu,
                            tl_pipeline_report *report) TL_NODISCARD;

/* Adds the names, comma-separated, of the passes that the NPU form adds to the canonical ones. */
void tl_cli_list_npu_passes(tl_stage stage, int level, tl_buf *out);

/* Kind of the pipeline to canonical outputs: TL_STAGE_ONNX under a precision mode. */
tl_stage tl_cli_canonical_stage(const tl_cli *cli);

#endif
