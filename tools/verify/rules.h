/* SPDX-License-Identifier: Apache-2.0 */
/* opt --verify-numerics. */
#ifndef TL_TOOLS_VERIFY_RULES_H
#define TL_TOOLS_VERIFY_RULES_H

#include "tools/cli/cli.h"

/* Evaluates the model of the command before and after each rewrite that a rule makes. The first one
 * that changes results more than its class allows is reported, and cli->differs set. */
tl_status tl_verify_rules(tl_cli *cli) TL_NODISCARD;
/* Options that only --verify-numerics gives a meaning. */
tl_status tl_verify_rules_check(tl_cli *cli) TL_NODISCARD;

#endif
