/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the parser (ir/text) and nobody else: the token cursor, scopes and the
 * entry point of each part. Every function that returns a status has reported its error. */
#ifndef TL_IR_TEXT_PARSE_INTERNAL_H
#define TL_IR_TEXT_PARSE_INTERNAL_H

#include "ir/graph.h"
#include "ir/lex.h"
#include "ir/text/parse.h"

enum {
  TL_MAX_TYPE_DEPTH = 32,
  TL_MAX_NODE_ATTRS = 4096 /* names are compared pairwise */
};

TL_VEC(tl_attr_vec, tl_attr);
TL_VEC(tl_token_vec, tl_token);

typedef struct tl_named_file {
  tl_symbol path;
  const tl_file *file;
} tl_named_file;

TL_VEC(tl_named_file_vec, tl_named_file);

typedef struct tl_undo {
  tl_symbol key;
  uint32_t id; /* what the key named in the graph around, 0: nothing */
} tl_undo;

TL_VEC(tl_undo_vec, tl_undo);

typedef struct tl_parser {
  tl_lexer lexer; /* behind `at` */
  tl_token at;    /* the token to look at next */
  tl_module *m;
  tl_diag *diag;
  const char *path;
  tl_u32_vec bound; /* by key symbol: value (labels: node) it names now, 0: none */
  tl_undo_vec undo; /* in the order of binding */
  tl_named_file_vec files;
  tl_attr_vec attrs;    /* stack: attributes of the nodes being parsed */
  tl_token_vec results; /* stack: results of the nodes being parsed */
  tl_u32_vec ids;       /* scratch of one list */
  tl_buf text;          /* scratch of one string */
  bool beside;          /* m has another model already */
  uint32_t depth;       /* of bodies */
  uint32_t expressions; /* depth of constants inside constants */
} tl_parser;

/* parse_core.c */
void tl_parse_advance(tl_parser *p);
/* Reports `fmt` at a token and returns status. */
tl_status tl_parse_fail_at(tl_parser *p, tl_token at, tl_status status, const char *fmt, ...)
    TL_PRINTF(4, 5);
/* "expected X, found Y" at the current token. */
tl_status tl_parse_expected(tl_parser *p, const char *what);
tl_status tl_parse_memory(tl_parser *p);
#ifdef TL_ANALYSIS /* as in support/diag.h */
#define tl_parse_fail_at(p, at, status, ...)                                                       \
  ((void)tl_parse_fail_at(p, at, status, __VA_ARGS__), (status))
#define tl_parse_expected(p, what) ((void)tl_parse_expected(p, what), TL_INVALID_MODEL)
#define tl_parse_memory(p) ((void)tl_parse_memory(p), TL_NO_MEMORY)
#endif
bool tl_parse_is(const tl_parser *p, const char *punct_or_word);
bool tl_parse_accept(tl_parser *p, const char *punct_or_word);
tl_status tl_parse_expect(tl_parser *p, const char *punct);
/* The token behind the current one. */
tl_token tl_parse_peek(const tl_parser *p);
/* True when the current word starts a node statement, "Op(" or "domain::". */
bool tl_parse_starts_op(const tl_parser *p);
tl_status tl_parse_int(tl_parser *p, const char *what, int64_t *out);
tl_status tl_parse_count(tl_parser *p, const char *what, uint64_t *out);
/* Refuses what is said a second time, `what` at `at`: which of the two counts, nobody can tell. */
tl_status tl_parse_once(tl_parser *p, tl_token at, bool said, const char *what);
/* Interns the text of a token, escapes resolved. */
tl_status tl_parse_symbol_of(tl_parser *p, tl_token t, tl_symbol *out);
tl_status tl_parse_string(tl_parser *p, const char *what, tl_symbol *out);
tl_status tl_parse_word_or_string(tl_parser *p, const char *what, tl_symbol *out);
/* Scopes: key of a VALUE, ANONYMOUS or LABEL token; binding it; what it is bound to. */
tl_status tl_parse_bind(tl_parser *p, tl_token t, uint32_t id);
tl_status tl_parse_lookup(tl_parser *p, tl_token t, uint32_t *id);
void tl_parse_unwind(tl_parser *p, uint32_t mark);
/* A value reference; "_" gives TL_NO_VALUE when absent_allowed. */
tl_status tl_parse_value_ref(tl_parser *p, bool absent_allowed, tl_value_id *v);

/* parse_type.c */
tl_status tl_parse_type(tl_parser *p, tl_type_id *out);
/* True when the current tokens are a dtype and "[". */
bool tl_parse_starts_tensor_type(const tl_parser *p);
tl_status tl_parse_dtype(tl_parser *p, tl_dtype *out);

/* parse_tensor.c */
/* What follows "=" of a constant; declared: its type, or TL_NO_TYPE when the value states it. */
tl_status tl_parse_tensor(tl_parser *p, tl_type_id declared, tl_tensor_id *out);

/* parse_expr.c */
/* True when the current tokens start an expression over other constants, "cast(" ... */
bool tl_parse_starts_expr(const tl_parser *p);
/* The expression, as the contents of a constant of that type. */
tl_status tl_parse_expr(tl_parser *p, tl_type_id type, tl_tensor_id *out);

/* parse_attr.c */
/* "{...}" of node n, whose op row decides how plain numbers are read. */
tl_status tl_parse_attrs(tl_parser *p, tl_node_id n);

/* parse_node.c */
tl_status tl_parse_node(tl_parser *p, tl_graph_id g);
/* "doc", "meta", "raw", "denotation" clauses into the slot, which has none yet; none is fine. */
tl_status tl_parse_extra(tl_parser *p, uint32_t *slot);

/* parse.c */
/* A graph behind the word "graph". */
tl_status tl_parse_graph(tl_parser *p, tl_graph_kind kind, tl_node_id owner, tl_graph_id *out);

#endif
