/* SPDX-License-Identifier: Apache-2.0 */
/* Explains dtypes: what each tensor became and why, which casts that took, and which of them went
 * again. The forms are described in docs/precision.md. */
#ifndef TL_TOOLS_EXPLAIN_PRECISION_H
#define TL_TOOLS_EXPLAIN_PRECISION_H

#include "tools/cli/cli.h"

/* Returns true if the command line asks about precision. */
bool tl_cli_asks_precision(const tl_cli *cli);
/* Runs the pipeline over the model and prints the explanation. Settings must be resolved. */
tl_status tl_explain_precision(tl_cli *cli) TL_NODISCARD;

#endif
