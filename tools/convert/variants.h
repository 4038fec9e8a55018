/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a model in two precisions for --accelerate-train-mode. Each output becomes two,
 * NAME.low.EXT and NAME.high.EXT, which share one file of weights, and NAME.switch.json, the plan
 * that says when training goes from the first to the second. All files appear, or none. */
#ifndef TL_TOOLS_CONVERT_VARIANTS_H
#define TL_TOOLS_CONVERT_VARIANTS_H

#include "tools/cli/output.h"

/* Refuses outputs and reports that two variants cannot have. */
tl_status tl_variants_check(tl_cli *cli, const tl_output_vec *wanted) TL_NODISCARD;
/* Converts the model in both precisions. */
tl_status tl_variants_convert(tl_cli *cli, const tl_output_vec *wanted) TL_NODISCARD;

#endif
