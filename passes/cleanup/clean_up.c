/* SPDX-License-Identifier: Apache-2.0 */
/* clean-up: applies the rules of kind cleanup to a fixpoint; clean-up-turned: again, if Transposes
 * have gone; clean-up-fused: again, behind fusions.
 *
 * Requires:  infer-shapes, which conditions ask.   Keeps: names and order of graph outputs.
 * After:     no clean-up rule fits, unless the bound on rounds was reached.
 * Cost:      one sweep, then work in proportion to what changes.
 * Tests:     tests/golden/rules/ */
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"

/* Upper bound on sweeps; a terminating rule set stays far below it. */
enum { ROUNDS = 64 };

tl_status tl_pass_clean_up(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  TL_TRY(tl_pass_rules(p, m, TL_RULE_CLEANUP, &rules));
  return tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_CLEANUP, ROUNDS, NULL, NULL, NULL});
}

/* Runs the same rules again. Missed remarks were made by the first run, so explain is off. */
static tl_status again(tl_pass *p, tl_module *m) {
  bool explain = p->explain;
  p->explain = false;
  tl_status status = tl_pass_clean_up(p, m);
  p->explain = explain;
  return status;
}

tl_status tl_pass_clean_up_turned(tl_pass *p, tl_module *m) {
  return p->engine->turned ? again(p, m) : TL_OK;
}

tl_status tl_pass_clean_up_fused(tl_pass *p, tl_module *m) {
  return p->engine->unfused ? TL_OK : again(p, m);
}
