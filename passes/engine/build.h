/* SPDX-License-Identifier: Apache-2.0 */
/* Building: the replacement of a rule takes the place of what matched. */
#ifndef TL_PASSES_ENGINE_BUILD_H
#define TL_PASSES_ENGINE_BUILD_H

#include "passes/engine/match.h"

/* What a rewrite made, for the worklist. */
typedef struct tl_built {
  tl_node_id nodes[TL_RULE_NODES];
  uint32_t n_nodes;
  tl_value_id outputs[TL_RULE_VALUES]; /* the values that took the place of the outputs */
  uint32_t n_outputs;
} tl_built;

/* Replaces a closed match. *done is false, with the module unchanged and a note in x->miss, when
 * the replacement does not fit (a type that differs, a name that cannot move). */
tl_status tl_match_apply(tl_match *x, tl_built *built, bool *done) TL_NODISCARD;

/* Records on the nodes that a graph rule made what they were; false when memory is out. */
bool tl_match_trace(const tl_match *x, const tl_built *b);
/* Bits of the new nodes that compute with constants alone, which folding takes away. */
uint32_t tl_match_weights(const tl_match *x, const tl_built *b);

#endif
