/* SPDX-License-Identifier: Apache-2.0 */
/* Explains rules: what fusions or expansions did to a model, and what they nearly did. */
#ifndef TL_TOOLS_EXPLAIN_EXPLAIN_H
#define TL_TOOLS_EXPLAIN_EXPLAIN_H

#include "passes/manager.h"
#include "tools/cli/cli.h"

/* Runs the pipeline over cli->word and adds what all fusions, or all expansions, did as JSON: a
 * list of passes with their events. report receives the passes of the canonical form. */
tl_status tl_explain_rules_json(tl_cli *cli, bool expand, tl_pipeline_report *report,
                                tl_buf *out) TL_NODISCARD;

#endif
