/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of rules: state and parts shared by its files; for no other files. Every function that
 * returns a status has reported its error. */
#ifndef TL_PASSES_ENGINE_PARSER_H
#define TL_PASSES_ENGINE_PARSER_H

#include "ir/lex.h"
#include "passes/engine/rule.h"

/* Room for the largest rule while it is parsed; the rule then keeps only what it uses. */
typedef struct tl_rule_room {
  tl_rule_value values[TL_RULE_VALUES];
  tl_sv names[TL_RULE_NAMES];
  uint8_t let_index[TL_RULE_NAMES];
  tl_expr *lets[TL_RULE_NAMES];
  tl_rule_step steps[TL_RULE_NODES];
} tl_rule_room;

/* State of the parser: one token of lookahead. */
typedef struct tl_rule_parser {
  tl_lexer lexer;
  tl_token at;
  tl_ruleset *set;
  const char *path;
  const tl_rule_text *builtin; /* built-in text being parsed; NULL: a file */
  tl_rule *rule;               /* rule being parsed */
  tl_rule_room *room;          /* room for its parts */
  bool building;               /* inside the replacement */
  uint32_t exprs;    /* parts of expressions in this rule; bounds the recursion of evaluation */
  uint32_t choices;  /* alternative of each `either` in this spelling, 4 bits each */
  uint8_t spelling;  /* number of this spelling, from 1 */
  uint8_t n_eithers; /* number of `either` passed in this spelling */
  uint8_t alternatives[TL_RULE_EITHERS]; /* their numbers of alternatives */
  bool in_either;                        /* inside an alternative */
  tl_buf text;
} tl_rule_parser;

/* parse_expr.c */
/* tl_rule_enter_room empties the room and lends it to rule r; tl_rule_leave_room copies the used
 * part into the arena of the set. */
void tl_rule_enter_room(tl_rule_parser *p, tl_rule *r);
tl_status tl_rule_leave_room(tl_rule_parser *p, tl_rule *r);
/* Reports an error at a token; TL_INVALID_ARGUMENT. */
tl_status tl_rule_fail(tl_rule_parser *p, tl_token at, const char *fmt, ...) TL_PRINTF(3, 4);
/* Reports that `what` was expected at the current token. */
tl_status tl_rule_expected(tl_rule_parser *p, const char *what);
/* Reports TL_NO_MEMORY. */
tl_status tl_rule_memory(tl_rule_parser *p);
#ifdef TL_ANALYSIS /* as in support/diag.h */
#define tl_rule_fail(p, at, ...) ((void)tl_rule_fail(p, at, __VA_ARGS__), TL_INVALID_ARGUMENT)
#define tl_rule_expected(p, what) ((void)tl_rule_expected(p, what), TL_INVALID_ARGUMENT)
#define tl_rule_memory(p) ((void)tl_rule_memory(p), TL_NO_MEMORY)
#endif
/* Reads the next token. */
void tl_rule_advance(tl_rule_parser *p);
/* Returns true if the current token is this punctuation or word. */
bool tl_rule_at(const tl_rule_parser *p, const char *punct_or_word);
/* Skips the current token if it is this punctuation or word, and returns true then. */
bool tl_rule_accept(tl_rule_parser *p, const char *punct_or_word);
/* Skips this punctuation or word, which is an error if it is not there. */
tl_status tl_rule_expect(tl_rule_parser *p, const char *punct_or_word);
/* Skips the rest of a rule, from its name to its closing brace. */
tl_status tl_rule_skip(tl_rule_parser *p);
/* Interns the text of a token, without quotes and escapes. */
tl_status tl_rule_symbol(tl_rule_parser *p, tl_token t, tl_symbol *out);
/* Parses %name into the index of a value of the rule. An unknown name makes a new value with
 * `create` and is an error otherwise. */
tl_status tl_rule_value_index(tl_rule_parser *p, bool create, uint8_t *out);
/* The same for $name and the names of the rule. */
tl_status tl_rule_name_index(tl_rule_parser *p, bool create, uint8_t *out);
/* Parses an op: Conv, npu::Foo, "my domain"::Foo. Unqualified ones must be in the op table. */
tl_status tl_rule_op(tl_rule_parser *p, tl_op_id *out);
/* Parses an expression; its parts are in the arena of the set. */
tl_status tl_rule_expr(tl_rule_parser *p, tl_expr **out);
/* Parses a number with its sign, inf and nan included. */
tl_status tl_rule_number(tl_rule_parser *p, double *out);

/* parse_clauses.c: parse the kind of a rule, and its clauses (public name, priority, numerics and
 * so on). */
tl_status tl_rule_kind_word(tl_rule_parser *p, tl_rule *r);
tl_status tl_rule_clauses(tl_rule_parser *p, tl_rule *r);

/* keep.c: checks a rule and adds it to the set; with `override` it replaces rules of its name from
 * other files. name: its token, for the message. */
tl_status tl_rule_keep(tl_rule_parser *p, tl_rule *r, tl_token name, bool override);

/* spelling.c: alternatives in a pattern. Each spelling of a rule takes one alternative of each
 * `either`. */
/* Reads from the word `either` to the first statement of the alternative taken. */
tl_status tl_rule_open_either(tl_rule_parser *p);
/* Reads from the brace that closes this alternative to behind the last one. */
tl_status tl_rule_close_either(tl_rule_parser *p);
/* Chooses the first alternatives, or those of the built-in text. */
void tl_rule_first_spelling(tl_rule_parser *p);
/* Chooses the alternatives of the next spelling; *more is false if there is none. rule: its token,
 * for the message. */
tl_status tl_rule_next_spelling(tl_rule_parser *p, tl_token rule, bool *more);

/* parse_scope.c: parses the clauses on scopes, up to the word or brace behind them; the globs in
 * front of a rule that captures; the op behind it. */
tl_status tl_rule_scope(tl_rule_parser *p);
tl_status tl_rule_scope_start(tl_rule_parser *p);
tl_status tl_rule_scope_op(tl_rule_parser *p);
/* Parses the clause "general", which is for scope fusions only. */
tl_status tl_rule_general(tl_rule_parser *p, tl_rule *r);

#endif
