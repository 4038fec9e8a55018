/* SPDX-License-Identifier: Apache-2.0 */
/* Notes why a match failed, for remarks. */
#ifndef TL_PASSES_ENGINE_WHY_H
#define TL_PASSES_ENGINE_WHY_H

#include "passes/engine/attempt.h"

/* Records why a match failed, unless a deeper reason is already there. */
void tl_match_note(tl_match *match, uint32_t depth, const char *code, const char *fmt, ...)
    TL_PRINTF(4, 5);

/* Returns true if a reason at this depth would be kept, and its text is asked for. */
bool tl_match_tells(const tl_match *match, uint32_t depth);

/* Records a number or an attribute that differs: what the rule wants, what is there. */
void tl_rule_note_number(tl_match *match, uint32_t depth, const tl_excuse *e);
void tl_rule_note_attr(tl_match *match, uint32_t depth, const tl_excuse *e);
/* Records a condition that does not hold, with the values that decide it. */
void tl_rule_note_condition(tl_match *match, uint32_t depth, const tl_expr *condition);

#endif
