/* SPDX-License-Identifier: Apache-2.0 */
/* What the conditions of a rule say of its values and names: the numbers, dtypes, words and lists
 * that are written in them. Graphs made of these fit the conditions sooner than random ones. */
#ifndef TL_TOOLS_RULES_HINTS_H
#define TL_TOOLS_RULES_HINTS_H

#include "passes/engine/rule.h"

enum { TL_MOST_HINTS = 256 };

typedef enum tl_hint_kind {
  TL_HINT_NUMBER, /* contents of a constant, or an attribute */
  TL_HINT_DTYPE,
  TL_HINT_RANK,
  TL_HINT_DIM,
  TL_HINT_WORD, /* a string attribute */
  TL_HINT_LIST, /* integers */
  TL_HINT_USER  /* ops that have to stand behind a value: `list` is the call that says so */
} tl_hint_kind;

/* What an expression mentions: bits of values and of names; names of `let` stand for what their
 * expressions mention. */
typedef struct tl_mentions {
  uint64_t values;
  uint32_t names;
} tl_mentions;

typedef struct tl_hint {
  tl_hint_kind kind;
  tl_mentions about;
  double number;       /* NUMBER, RANK, DIM; DTYPE: the tl_dtype */
  tl_symbol word;      /* WORD */
  const tl_expr *list; /* LIST, USER */
} tl_hint;

typedef struct tl_hints {
  tl_hint at[TL_MOST_HINTS];
  uint32_t n;
} tl_hints;

/* Collects the hints of a rule. */
void tl_hints_find(const tl_rule *r, tl_hints *out);
/* Returns what an expression of the rule mentions. */
tl_mentions tl_hints_mentions(const tl_rule *r, const tl_expr *e);

#endif
