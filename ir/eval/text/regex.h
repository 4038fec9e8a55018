/* SPDX-License-Identifier: Apache-2.0 */
/* Matches regular expressions in the syntax of RE2 against whole strings: literals, ., classes, \d
 * \w \s, groups, alternatives, repetitions, ^ $ \A \z \b \B. Not here: flags such as (?i), \pN, \C,
 * \Q...\E. Matching takes time proportional to pattern times text, whatever the pattern. */
#ifndef TL_IR_EVAL_TEXT_REGEX_H
#define TL_IR_EVAL_TEXT_REGEX_H

#include "support/arena.h"
#include "support/str.h"

typedef struct tl_regex tl_regex;

/* Compiles a pattern into the arena. Returns NULL on failure: *why then says what is wrong or
 * unknown, or is NULL when memory is out. Patterns and texts are UTF-8. */
const tl_regex *tl_regex_compile(tl_arena *a, tl_sv pattern, const char **why);
/* Sets *matched to whether the whole text matches. Scratch in `a` is rewound. TL_NO_MEMORY.
 * O(pattern * text). */
tl_status tl_regex_match(const tl_regex *r, tl_arena *a, tl_sv text, bool *matched) TL_NODISCARD;

#endif
