/* SPDX-License-Identifier: Apache-2.0 */
/* What an applied rule made, and the record on new nodes of the nodes that they replace. */
#ifndef TL_PASSES_ENGINE_TRACE_H
#define TL_PASSES_ENGINE_TRACE_H

#include "passes/engine/attempt.h"

/* Nodes and values that a rewrite made, for the worklist. */
typedef struct tl_built {
  tl_node_id nodes[TL_RULE_NODES];
  uint32_t n_nodes;
  tl_value_id outputs[TL_RULE_VALUES]; /* values that replaced the outputs of the match */
  uint32_t n_outputs;
} tl_built;

/* Records on new nodes which nodes they replace (ir/trace.h). Returns false if memory is out. */
bool tl_match_trace(const tl_match *match, const tl_built *b);
/* Returns a bit set of the new nodes that compute with constants only; folding removes them. */
uint64_t tl_match_weights(const tl_match *match, const tl_built *b);

#endif
