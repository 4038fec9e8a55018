/* SPDX-License-Identifier: Apache-2.0 */
/* fusion_result.json, for --fusion-result and --export-compile-stat. */
#ifndef TL_TOOLS_FUSION_RESULT_H
#define TL_TOOLS_FUSION_RESULT_H

#include "ir/module.h"
#include "tools/cli.h"

/* Where the report goes, NULL when none is wanted. */
const char *tl_fusion_result_path(const tl_cli *cli);
/* Checks that the report would not overwrite what the module was read from, and removes an old one,
 * so that a run that fails leaves none. */
tl_status tl_fusion_result_begin(tl_cli *cli, const tl_module *m) TL_NODISCARD;
/* Writes the report, if one is wanted and something was counted. */
tl_status tl_fusion_result_write(tl_cli *cli) TL_NODISCARD;

#endif
