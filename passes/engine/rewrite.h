/* SPDX-License-Identifier: Apache-2.0 */
/* The rule engine: finds matches, applies them in a fixed order, and looks again where something
 * changed. One sweep collects the candidates of all rules. They are applied in the order (priority,
 * rule, position), each matched again just before. Changed nodes form the worklist of the next
 * round; the number of rounds and of rewrites is bounded. Deterministic: the order of work depends
 * on the module and the rules only. */
#ifndef TL_PASSES_ENGINE_REWRITE_H
#define TL_PASSES_ENGINE_REWRITE_H

#include "passes/engine/rewriter.h"

/* Runs the rules of a kind over every graph of the module. Sends remarks on what fired and, under
 * explain, on near misses; adds counts to the pass's statistics. Errors are reported. Cost: one
 * sweep, plus work proportional to what changed. */
tl_status tl_rewrite(const tl_rewriter *r) TL_NODISCARD;

#endif
