/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the dtype of every tensor at every node under a precision mode. Deciding changes nothing:
 * casts.c applies the decision, tools explain it, tests compare it with a second model. */
#ifndef TL_PASSES_PRECISION_DECIDE_H
#define TL_PASSES_PRECISION_DECIDE_H

#include "passes/precision/decision.h"

/* Decides the whole module. Requires the pass select. All memory is the arena's. Reports errors
 * P0201 to P0204 per op, the first 20 of them. Returns TL_NO_MEMORY, TL_UNSUPPORTED or
 * TL_INVALID_ARGUMENT, reported. O(nodes + edges) times the columns of an op. */
tl_status tl_precision_decide(tl_module *m, const tl_options *options, tl_arena *arena,
                              tl_precision *out) TL_NODISCARD;

#endif
