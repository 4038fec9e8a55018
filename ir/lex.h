/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer of the textual IR (docs/textual-ir.md) and of rules. It allocates nothing, reads any
 * bytes and can be copied to look ahead. Which characters need no quotes is decided here, for
 * printer and parser alike. */
#ifndef TL_IR_LEX_H
#define TL_IR_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

typedef enum tl_token_kind {
  TL_TOKEN_END,
  TL_TOKEN_WORD,      /* Conv, com.microsoft, f32 */
  TL_TOKEN_NUMBER,    /* 1, -2.5e3, -inf, nan(0x7fc00001) */
  TL_TOKEN_STRING,    /* "..."; text is what stands between the quotes, escapes unresolved */
  TL_TOKEN_VALUE,     /* %name or %"name" */
  TL_TOKEN_ANONYMOUS, /* %$3; text "3" */
  TL_TOKEN_NODE,      /* @name or @"name" */
  TL_TOKEN_LABEL,     /* $3; text "3"; in rules $name too */
  TL_TOKEN_PUNCT,     /* one of ( ) [ ] { } , : = ? * or -> or ::; in rules also
                      ~ | ! < > + - / == != <= >= && || and ... */
  TL_TOKEN_BAD        /* problem says why */
} tl_token_kind;

/* A word with its place in the text. */
typedef struct tl_token {
  tl_sv text; /* without sigil and quotes; a view of the input */
  const char *problem;
  uint32_t line;   /* 1-based */
  uint32_t column; /* 1-based, bytes */
  uint8_t kind;    /* tl_token_kind */
  bool quoted;
} tl_token;

/* A position in a text, which is borrowed. */
typedef struct tl_lexer {
  const char *at;
  const char *end;
  const char *line_start;
  uint32_t line;
  bool rules; /* the words of rules (docs/rules.md) are known too */
} tl_lexer;

/* Starts at the beginning of a text of IR. */
tl_lexer tl_lex_start(tl_sv text);
/* As tl_lex_start, for a file of rules. */
tl_lexer tl_lex_start_rules(tl_sv text);
/* Skips blanks and comments and returns the next word. After END it returns END again. */
tl_token tl_lex_next(tl_lexer *lexer);
/* Returns true if the word is this text, and neither quoted nor a name. */
bool tl_token_is(const tl_token *t, const char *text);
/* Appends the bytes that a quoted text stands for; the lexer has checked its escapes. */
void tl_lex_unquote(tl_sv text, tl_buf *out);

/* Returns true when a value or node name can follow its sigil without quotes. */
bool tl_lex_is_plain_name(tl_sv s);
/* Returns true when s reads as one WORD. */
bool tl_lex_is_word(tl_sv s);

#endif
