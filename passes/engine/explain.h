/* SPDX-License-Identifier: Apache-2.0 */
/* Remarks of the engine: which rules fired and, under explain, which nearly matched. */
#ifndef TL_PASSES_ENGINE_EXPLAIN_H
#define TL_PASSES_ENGINE_EXPLAIN_H

#include "passes/engine/attempt.h"
#include "passes/engine/rewriter.h"
#include "passes/engine/trace.h"

/* Writes the names of the nodes of a match to names [TL_RULE_NODES] and returns their number. Call
 * it before the match is applied. */
uint32_t tl_rule_list_nodes(tl_module *m, const tl_rule *r, const tl_node_id *nodes, tl_sv *names);

/* Sends a remark that a rule was applied to the named nodes. */
void tl_rule_remark_applied(tl_pass *p, tl_module *m, const tl_rule *r, const tl_sv *names,
                            uint32_t n, const tl_built *b);
/* Sends a remark that a rule was not applied, for the reason in miss. */
void tl_rule_remark_missed(tl_pass *p, tl_module *m, const tl_rule *r, tl_node_id root,
                           const tl_miss *miss);
/* Rules that are matched to explain why they do not fit. */
typedef struct tl_rule_trial {
  const tl_rewriter *r;
  const tl_merge_facts *facts;
  tl_arena scratch; /* of one match; the caller rewinds it */
  tl_match match;
  bool lacks; /* the current node may be rewritten: it has no NPU form yet */
} tl_rule_trial;

/* Matches a rule for explanation. Returns true with the reason in *miss if the rule fails, is off
 * or not needed; false if it fits and is on, which means that a limit prevented it, or if it is off
 * and fails as well: then *miss says why it fails. */
bool tl_rule_misses(tl_rule_trial *t, const tl_rule *rule, tl_node_id n, tl_miss *miss);
/* Compares misses x of rule a and y of rule b. Returns true if x is nearer: deeper relative to the
 * size of its pattern. */
bool tl_rule_is_nearer(const tl_rule *a, const tl_miss *x, const tl_rule *b, const tl_miss *y);
/* Sends a remark, for each node and public pass, about the rule that comes nearest to matching with
 * its root there, if it is near; for the first nodes alone where the pass has a bound.
 * TL_NO_MEMORY, reported. O(rules * nodes). */
tl_status tl_rule_explain(const tl_rewriter *r, const tl_merge_facts *facts) TL_NODISCARD;

#endif
