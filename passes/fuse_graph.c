/* SPDX-License-Identifier: Apache-2.0 */
/* graph-fusion: the rules of kind graph, each under its public pass name.
 *
 * Requires:  infer-shapes, clean-up.   Keeps: names and order of graph outputs.
 * After:     no graph-fusion rule that is switched on fits, unless the bound on rounds was reached.
 * Cost:      one sweep, then work in proportion to what changes.
 * Tests:     tests/golden/graph-fusion/ */
#include "passes/passes.h"
#include "passes/rewrite.h"

enum { ROUNDS = 10 };

tl_status tl_pass_fuse_graph(tl_pass *p, tl_module *m) {
  tl_ruleset set;
  tl_ruleset_init(&set, m);
  tl_status status = tl_rules_add_builtin(&set);
  if (status == TL_OK)
    status = tl_rules_configure(&set, p->options->fusion);
  if (status == TL_OK)
    status = tl_rewrite(&(tl_rewriter){p, m, &set, TL_RULE_GRAPH, ROUNDS});
  tl_ruleset_release(&set);
  return status;
}
