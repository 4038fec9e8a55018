/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies each rewrite by a rule with numbers (opt --verify-numerics). */
#ifndef TL_TOOLS_VERIFY_RULES_H
#define TL_TOOLS_VERIFY_RULES_H

#include "tools/cli/cli.h"

/* Evaluates the model of the command before and after each rewrite that a rule makes. Reports the
 * first one that changes results more than its class allows, and sets cli->differs. */
tl_status tl_verify_rules(tl_cli *cli) TL_NODISCARD;
/* Refuses options that have an effect only with --verify-numerics. */
tl_status tl_verify_rules_check(tl_cli *cli) TL_NODISCARD;

#endif
