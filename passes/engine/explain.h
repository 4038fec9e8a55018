/* SPDX-License-Identifier: Apache-2.0 */
/* Remarks of the engine: what rules did, and under explain what they nearly did. */
#ifndef TL_PASSES_ENGINE_EXPLAIN_H
#define TL_PASSES_ENGINE_EXPLAIN_H

#include "passes/engine/build.h"
#include "passes/engine/rewrite.h"

/* Names of the nodes of a match, before it is applied. names: [TL_RULE_NODES]; returns how many. */
uint32_t tl_rule_list_nodes(tl_module *m, const tl_rule *r, const tl_node_id *nodes, tl_sv *names);

/* A rule was applied to the named nodes. */
void tl_rule_remark_applied(tl_pass *p, tl_module *m, const tl_rule *r, const tl_sv *names,
                            uint32_t n, const tl_built *b);
/* It was not, for the reason in miss. */
void tl_rule_remark_missed(tl_pass *p, tl_module *m, const tl_rule *r, tl_node_id root,
                           const tl_miss *miss);
/* Explains the module as it is now: for each node and public pass the rule that comes nearest to
 * fitting with its root there, if it comes near at all. Cost: every rule at every node. */
tl_status tl_rule_explain(const tl_rewriter *r, const tl_merge_facts *facts) TL_NODISCARD;

#endif
