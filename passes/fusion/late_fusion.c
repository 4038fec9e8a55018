/* SPDX-License-Identifier: Apache-2.0 */
/* late-fusion: applies the rules of kind late, the second round of graph fusion.
 * Their patterns of two or three common ops are parts of larger patterns, which must match first.
 * Each rule has its public pass name.
 *
 * Requires:  graph-fusion, of which it takes what is left.   Keeps: names and order of outputs.
 * After:     no late rule that is switched on fits, unless the bound on rounds was reached.
 * Cost:      one sweep, then work in proportion to what changes.
 * Tests:     tests/golden/rules/ */
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"

/* Upper bound on sweeps. */
enum { ROUNDS = 10 };

tl_status tl_pass_late_fusion(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  TL_TRY(tl_pass_rules(p, m, TL_RULE_LATE, &rules));
  return tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_LATE, ROUNDS, NULL, NULL, NULL});
}
