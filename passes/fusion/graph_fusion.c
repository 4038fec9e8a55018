/* SPDX-License-Identifier: Apache-2.0 */
/* graph-fusion: applies the rules of kind graph, each under its public pass name;
 * graph-fusion-turned: again, if Transposes between nodes have gone.
 *
 * Requires:  infer-shapes, clean-up.   Keeps: names and order of graph outputs.
 * After:     no graph-fusion rule that is switched on fits, unless the bound on rounds was reached.
 * Cost:      one sweep, then work in proportion to what changes.
 * Tests:     tests/golden/graph-fusion/ */
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"

/* Upper bound on sweeps. */
enum { ROUNDS = 10 };

tl_status tl_pass_graph_fusion(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  TL_TRY(tl_pass_rules(p, m, TL_RULE_GRAPH, &rules));
  TL_TRY(tl_rewrite(&(tl_rewriter){p, m, rules, TL_RULE_GRAPH, ROUNDS, NULL, NULL, NULL}));
  p->engine->unfused = p->changed == 0;
  return TL_OK;
}

/* Missed remarks were made by the first run, so explain is off. */
tl_status tl_pass_graph_fusion_turned(tl_pass *p, tl_module *m) {
  bool unfused = p->engine->unfused, explain = p->explain;
  if (!p->engine->turned)
    return TL_OK;
  p->explain = false;
  tl_status status = tl_pass_graph_fusion(p, m);
  p->explain = explain;
  p->engine->unfused = p->engine->unfused && unfused;
  return status;
}
