/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that capture: a scope becomes one node, its nodes become the definition of the node's
 * op. */
#ifndef TL_PASSES_SCOPES_CAPTURE_H
#define TL_PASSES_SCOPES_CAPTURE_H

#include "passes/edit/pass.h"
#include "passes/engine/scope.h"

/* Runs the rules of kind TL_RULE_CAPTURE over all scopes, in order of definition, outer scopes
 * first; scopes inside a captured one are not visited by that rule. Sends remarks and counts as the
 * rule engine does (rewrite.h). TL_NO_MEMORY, reported. The total work behind scattered scopes is
 * bounded. */
tl_status tl_capture_scopes(tl_pass *p, tl_module *m, tl_ruleset *rules,
                            tl_scopes *scopes) TL_NODISCARD;

#endif
