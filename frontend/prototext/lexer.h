/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers, strings and signs of protobuf text, one at a time. */
#ifndef TL_FRONTEND_PROTOTEXT_LEXER_H
#define TL_FRONTEND_PROTOTEXT_LEXER_H

#include "support/str.h"

/* Where reading stands. */
typedef struct tl_text_lexer {
  const char *at;
  const char *end;
  const char *line_start;
  uint32_t line; /* 1-based */
} tl_text_lexer;

/* Skips blanks and comments, and returns the byte that follows, 0 at the end. */
char tl_text_next(tl_text_lexer *l);
/* Takes a sign if it follows. */
bool tl_text_take(tl_text_lexer *l, char sign);
/* Takes a name, a number, or what looks like one; empty if none follows. Stays in the text. */
tl_sv tl_text_word(tl_text_lexer *l);
/* Takes strings that follow each other and appends their bytes, if out is not NULL. Returns
 * NULL, or what is wrong. */
const char *tl_text_string(tl_text_lexer *l, tl_buf *out);

/* Read a word as an integer (decimal, 0x or 0 octal) or as a float; false if it is none. */
bool tl_text_integer(tl_sv word, bool negative, int64_t *out);
bool tl_text_float(tl_sv word, bool negative, float *out);

#endif
