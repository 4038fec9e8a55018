/* SPDX-License-Identifier: Apache-2.0 */
/* scope-fusion: applies rules that depend on the scope of nodes. Rules of kind scope match nodes
 * within one scope, as graph fusion does. Rules that capture turn a scope as it stands into one
 * node, whose definition is kept beside the module.
 *
 * Requires:  infer-shapes, clean-up.   Keeps: names and order of graph outputs.
 * After:     no scope that a rule takes is left; a rule looks at each scope once.
 * Cost:      one sweep if a rule is on; if a pattern matches, also finding the scopes and visiting
 *            the nodes of scopes that rules name.
 * Tests:     tests/golden/scope-fusion/, tests/golden/rules/scope, tests/cli/scope.t */
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "passes/scopes/capture.h"

static tl_status fuse(tl_pass *p, tl_module *m, tl_ruleset *rules, tl_scopes *scopes) {
  tl_rewriter r = {.pass = p, .m = m, .set = rules, .kind = TL_RULE_SCOPE, .scopes = scopes};
  if (tl_rules_have(rules, TL_RULE_BIT(TL_RULE_SCOPE), p->explain))
    TL_TRY(tl_rewrite(&r));
  if (scopes->no_memory)
    return tl_no_memory(m);
  return tl_capture_scopes(p, m, rules, scopes);
}

tl_status tl_pass_scope_fusion(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  tl_scopes scopes = {.m = m};
  TL_TRY(tl_pass_rules(p, m, TL_RULE_SCOPE, &rules));
  if (!tl_rules_have(rules, TL_RULE_BIT(TL_RULE_SCOPE) | TL_RULE_BIT(TL_RULE_CAPTURE), p->explain))
    return TL_OK;
  tl_status status = fuse(p, m, rules, &scopes);
  tl_scopes_release(&scopes);
  return status;
}
