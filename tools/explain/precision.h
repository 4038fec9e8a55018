/* SPDX-License-Identifier: Apache-2.0 */
/* tailor explain, about dtypes: what each tensor became and why, which casts that took and which of
 * them went again. The forms are described in docs/precision.md. */
#ifndef TL_TOOLS_EXPLAIN_PRECISION_H
#define TL_TOOLS_EXPLAIN_PRECISION_H

#include "tools/cli/cli.h"

/* Is precision what the command line asks about? */
bool tl_cli_asks_precision(const tl_cli *cli);
/* Runs the pipeline over the model and prints. Settings are resolved. */
tl_status tl_explain_precision(tl_cli *cli) TL_NODISCARD;
/* The same as JSON, added to out. */
tl_status tl_explain_precision_json(tl_cli *cli, tl_buf *out) TL_NODISCARD;

#endif
