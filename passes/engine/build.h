/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a match: the replacement of a rule takes the place of the matched nodes. */
#ifndef TL_PASSES_ENGINE_BUILD_H
#define TL_PASSES_ENGINE_BUILD_H

#include "passes/engine/match.h"

/* Nodes and values that a rewrite made, for the worklist. */
typedef struct tl_built {
  tl_node_id nodes[TL_RULE_NODES];
  uint32_t n_nodes;
  tl_value_id outputs[TL_RULE_VALUES]; /* values that replaced the outputs of the match */
  uint32_t n_outputs;
} tl_built;

/* Replaces a closed match (tl_match_is_closed). If the replacement does not fit, for example
 * because a type differs or a name cannot move, *done is false, the module is unchanged and x->miss
 * has the reason. TL_NO_MEMORY, reported. O(nodes of the rule + nodes moved). */
tl_status tl_match_apply(tl_match *match, tl_built *built, bool *done) TL_NODISCARD;

/* Records on new nodes which nodes they replace (ir/trace.h). Returns false if memory is out. */
bool tl_match_trace(const tl_match *match, const tl_built *b);
/* Returns a bit set of the new nodes that compute with constants only; folding removes them. */
uint32_t tl_match_weights(const tl_match *match, const tl_built *b);

#endif
