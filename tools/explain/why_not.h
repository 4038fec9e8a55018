/* SPDX-License-Identifier: Apache-2.0 */
/* tailor explain MODEL --why-not=PASS --node=NAME: the first condition in the way of rules at a
 * node, and what would satisfy it. */
#ifndef TL_TOOLS_EXPLAIN_WHY_NOT_H
#define TL_TOOLS_EXPLAIN_WHY_NOT_H

#include "tools/cli/cli.h"

/* Runs the passes and prints the answer, as text or as JSON. Settings must be resolved.
 * TL_INVALID_ARGUMENT, reported, for an unknown pass or node; TL_UNSUPPORTED for a pass without
 * rules. */
tl_status tl_explain_why_not(tl_cli *cli) TL_NODISCARD;

#endif
