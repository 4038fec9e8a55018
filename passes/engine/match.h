/* SPDX-License-Identifier: Apache-2.0 */
/* Matching: does the pattern of a rule fit at a node, do its conditions hold, and if not, why? A
 * match binds values, nodes and names of the rule. Nothing here changes the module. */
#ifndef TL_PASSES_ENGINE_MATCH_H
#define TL_PASSES_ENGINE_MATCH_H

#include "passes/engine/attempt.h"

/* Returns true if the rule's pattern matches with its root at `root` and its conditions hold.
 * x->structural tells if the pattern alone matched, which is what statistics count. Bounded by a
 * budget of bindings. */
bool tl_rule_match(tl_match *match, tl_node_id root);
/* Matches again and lets one number or attribute differ. If all else fits, notes what differs
 * as the reason of the failure, as deep as the whole pattern. */
void tl_rule_note_difference(tl_match *match, tl_node_id root);
/* Returns true if the match may be replaced: inner values have no other users, and marks, streams,
 * control edges and scopes allow it (closed.c). */
bool tl_match_is_closed(tl_match *match);

#endif
