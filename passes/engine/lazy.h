/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled rules of a lazy set (tl_ruleset.lazy). Loading only notes which rules the set has; a
 * rule is made, switched and put in order when a node first reaches it. */
#ifndef TL_PASSES_ENGINE_LAZY_H
#define TL_PASSES_ENGINE_LAZY_H

#include "passes/engine/rule.h"

/* Notes that the set has the compiled rule of built-in text i. TL_NO_MEMORY, reported. */
tl_status tl_lazy_add(tl_ruleset *s, uint32_t i) TL_NODISCARD;

/* States of a compiled rule: the set lacks it, has it, or has made it; then the state is
 * TL_LAZY_MADE plus its place in tl_ruleset.made. */
enum { TL_LAZY_LACKS, TL_LAZY_HAS, TL_LAZY_MADE };
/* Makes the rule i, which is in state TL_LAZY_HAS. */
tl_rule *tl_lazy_make(tl_ruleset *s, uint32_t i);
/* Returns the compiled rule i, made if it was not; NULL if the set lacks it, or when memory is out:
 * then the set is marked as lost. */
static inline tl_rule *tl_lazy_rule(tl_ruleset *s, uint32_t i) {
  uint32_t state = s->state ? s->state[i] : TL_LAZY_LACKS;
  if (state >= TL_LAZY_MADE)
    return s->made.at[state - TL_LAZY_MADE];
  return state == TL_LAZY_LACKS ? NULL : tl_lazy_make(s, i);
}
/* Returns the depth of the deepest lazy rule of a kind that is on. O(rules). */
uint8_t tl_lazy_depth(tl_ruleset *s, tl_rule_kind kind);
/* As tl_rules_have and tl_rules_define, for the lazy rules of the set. */
bool tl_lazy_have(tl_ruleset *s, unsigned kinds, bool any);
bool tl_lazy_define(const tl_ruleset *s, tl_op_id op);

#endif
