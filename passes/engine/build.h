/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a match: the replacement of a rule takes the place of the matched nodes. */
#ifndef TL_PASSES_ENGINE_BUILD_H
#define TL_PASSES_ENGINE_BUILD_H

#include "passes/engine/trace.h"

/* Replaces a closed match (tl_match_is_closed). If the replacement does not fit, for example
 * because a type differs or a name cannot move, *done is false, the module is unchanged and x->miss
 * has the reason. TL_NO_MEMORY, reported. O(nodes of the rule + nodes moved). */
tl_status tl_match_apply(tl_match *match, tl_built *built, bool *done) TL_NODISCARD;

#endif
