/* SPDX-License-Identifier: Apache-2.0 */
/* In which order the conditions of a rule are evaluated: cheap ones first, and a number that the
 * rule computes only when a condition needs it. All must hold, so that the order changes no result;
 * who asks why a rule did not match gets them in the order in which they are written. */
#ifndef TL_PASSES_ENGINE_COST_H
#define TL_PASSES_ENGINE_COST_H

#include "passes/engine/rule.h"

/* Returns the order, n_where + n_lets entries in the arena: index of a condition, or n_where + that
 * of a number computed for those behind it and for the replacement. NULL without memory, and for
 * rules with more of them than a byte can count. */
const uint8_t *tl_rule_order(tl_arena *arena, const tl_rule *r);

#endif
