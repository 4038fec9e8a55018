/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that capture: a scope becomes one node, and what it was the definition of the node's op. */
#ifndef TL_PASSES_SCOPES_CAPTURE_H
#define TL_PASSES_SCOPES_CAPTURE_H

#include "passes/edit/pass.h"
#include "passes/engine/scope.h"

/* Runs the rules of kind TL_RULE_CAPTURE, in the order of their definition, over all scopes, outer
 * ones first; what is inside of a captured one is not looked at again. Remarks and counts as the
 * engine makes them (rewrite.h). */
tl_status tl_capture_scopes(tl_pass *p, tl_module *m, const tl_ruleset *rules,
                            tl_scopes *scopes) TL_NODISCARD;

#endif
