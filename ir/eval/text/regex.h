/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in the syntax of RE2, for whole-string matches: literals, ., classes, \d \w
 * \s, groups, alternatives, repetitions, ^ $ \A \z \b \B. Not here: flags such as (?i), \pN, \C,
 * \Q...\E. Matching takes time proportional to pattern times text, whatever the pattern. */
#ifndef TL_IR_EVAL_TEXT_REGEX_H
#define TL_IR_EVAL_TEXT_REGEX_H

#include "support/arena.h"
#include "support/str.h"

typedef struct tl_regex tl_regex;

/* The compiled pattern in the arena, or NULL: *why says what is wrong or unknown, and is NULL
 * itself when memory is out. Patterns and texts are UTF-8. */
const tl_regex *tl_regex_compile(tl_arena *a, tl_sv pattern, const char **why);
/* *matched: the whole text matches. TL_NO_MEMORY. */
tl_status tl_regex_match(const tl_regex *r, tl_arena *a, tl_sv text, bool *matched) TL_NODISCARD;

#endif
