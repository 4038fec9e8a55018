/* SPDX-License-Identifier: Apache-2.0 */
/* clean-up: the rules of kind cleanup, to a fixed point.
 *
 * Requires:  infer-shapes, which conditions ask.   Keeps: names and order of graph outputs.
 * After:     no clean-up rule fits, unless the bound on rounds was reached.
 * Cost:      one sweep, then work in proportion to what changes.
 * Tests:     tests/golden/clean-up/ */
#include "passes/passes.h"
#include "passes/rewrite.h"

enum { ROUNDS = 64 };

tl_status tl_pass_clean_up(tl_pass *p, tl_module *m) {
  tl_ruleset set;
  tl_ruleset_init(&set, m);
  tl_status status = tl_rules_add_builtin(&set);
  if (status == TL_OK)
    status = tl_rules_configure(&set, p->options->fusion);
  if (status == TL_OK)
    status = tl_rewrite(&(tl_rewriter){p, m, &set, TL_RULE_CLEANUP, ROUNDS});
  tl_ruleset_release(&set);
  return status;
}
