/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the rule parser and nobody else. Every function that returns a status has
 * reported its error. */
#ifndef TL_PASSES_ENGINE_PARSE_H
#define TL_PASSES_ENGINE_PARSE_H

#include "ir/lex.h"
#include "passes/engine/rule.h"

/* As much as a rule may have, while it is parsed; it keeps only what it needs. */
typedef struct tl_rule_room {
  tl_rule_value values[TL_RULE_VALUES];
  tl_sv names[TL_RULE_NAMES];
  uint8_t let_index[TL_RULE_NAMES];
  tl_expr *lets[TL_RULE_NAMES];
  tl_rule_step steps[TL_RULE_NODES];
} tl_rule_room;

typedef struct tl_rule_parser {
  tl_lexer lexer;
  tl_token at;
  tl_ruleset *set;
  const char *path;
  const tl_rule_text *builtin; /* what is read; NULL: a file */
  tl_rule *rule;               /* being parsed */
  tl_rule_room *room;          /* its parts */
  bool building;               /* inside replace */
  bool skims;                  /* a rule ends with its pattern, and with it the text */
  uint32_t exprs;    /* parts of expressions in this rule: a long chain is deep to evaluate */
  uint32_t choices;  /* alternative of each `either` that this reading takes, 4 bits each */
  uint8_t spelling;  /* number of this reading, from 1 on */
  uint8_t n_eithers; /* passed in this reading */
  uint8_t alternatives[TL_RULE_EITHERS]; /* of those */
  bool in_either;                        /* inside of an alternative */
  tl_buf text;
} tl_rule_parser;

/* parse_expr.c */
/* Empties the room and gives it to the rule; moves what the rule used of it into the set. */
void tl_rule_enter_room(tl_rule_parser *p, tl_rule *r);
tl_status tl_rule_leave_room(tl_rule_parser *p, tl_rule *r);
tl_status tl_rule_fail(tl_rule_parser *p, tl_token at, const char *fmt, ...) TL_PRINTF(3, 4);
tl_status tl_rule_expected(tl_rule_parser *p, const char *what);
tl_status tl_rule_memory(tl_rule_parser *p);
void tl_rule_advance(tl_rule_parser *p);
bool tl_rule_at(const tl_rule_parser *p, const char *punct_or_word);
bool tl_rule_accept(tl_rule_parser *p, const char *punct_or_word);
tl_status tl_rule_expect(tl_rule_parser *p, const char *punct_or_word);
/* Passes over the rest of a rule, from its name to the brace that closes it. */
tl_status tl_rule_skip(tl_rule_parser *p);
tl_status tl_rule_symbol(tl_rule_parser *p, tl_token t, tl_symbol *out);
/* Index of a value of the rule; a new one when `create`, else an error. */
tl_status tl_rule_value_index(tl_rule_parser *p, bool create, uint8_t *out);
/* The same for $name. */
tl_status tl_rule_name_index(tl_rule_parser *p, bool create, uint8_t *out);
/* Conv, npu::Foo, "my domain"::Foo; unqualified ones must be known. */
tl_status tl_rule_op(tl_rule_parser *p, tl_op_id *out);
tl_status tl_rule_expr(tl_rule_parser *p, tl_expr **out);
/* A number with its sign. */
tl_status tl_rule_number(tl_rule_parser *p, double *out);

/* parse_clauses.c: the kind of a rule; its public name, priority, numerics and so on. */
tl_status tl_rule_kind_word(tl_rule_parser *p, tl_rule *r);
tl_status tl_rule_clauses(tl_rule_parser *p, tl_rule *r);

/* keep.c: checks a rule and adds it to the set; with `override` it takes the place of rules of its
 * name that come from elsewhere. name: where it stands, for the message. */
tl_status tl_rule_keep(tl_rule_parser *p, tl_rule *r, tl_token name, bool override);

/* spelling.c: alternatives in a pattern. Each reading of a rule takes one of each `either`. */
/* From the word `either` to the first statement of the alternative that is taken. */
tl_status tl_rule_open_either(tl_rule_parser *p);
/* From the brace that closes that alternative to behind the last one. */
tl_status tl_rule_close_either(tl_rule_parser *p);
void tl_rule_first_spelling(tl_rule_parser *p);
/* The choices of the next reading; *more is false when there is none. rule: for the message. */
tl_status tl_rule_next_spelling(tl_rule_parser *p, tl_token rule, bool *more);

/* parse_scope.c: what the rule asks of scopes, up to the word or brace behind; the globs in
 * front of a rule that captures; the op behind it. */
tl_status tl_rule_scope(tl_rule_parser *p);
tl_status tl_rule_scope_start(tl_rule_parser *p);
tl_status tl_rule_scope_op(tl_rule_parser *p);
/* The clause "general". */
tl_status tl_rule_general(tl_rule_parser *p, tl_rule *r);

#endif
