/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the decision of mixed precision for the model of the command line to a viewer. */
#ifndef TL_TOOLS_EXPLAIN_DECISION_H
#define TL_TOOLS_EXPLAIN_DECISION_H

#include "passes/manager.h"
#include "passes/precision/precision.h"
#include "tools/cli/cli.h"

/* Looks at a decision; nothing of m and d outlives the call. */
typedef void (*tl_decision_fn)(void *user, tl_module *m, const tl_precision *d);

/* Loads cli->word, runs the pipeline until dtypes are decided and applied, and hands the decision
 * to `look` before it is applied. `remark` (may be NULL) receives the remarks of passes. Errors of
 * the model are reported, and `look` is then not called. */
tl_status tl_decision_show(tl_cli *cli, tl_decision_fn look, tl_remark_fn remark,
                           void *user) TL_NODISCARD;

#endif
